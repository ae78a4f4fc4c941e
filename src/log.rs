//! Log lines: their levels, where they go, and lines held until there is a place for them.

#[cfg(any(feature = "log", feature = "tracing"))]
mod forward;
mod held;
mod level;
mod standard;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use crate::base::lock::RwLock;
use crate::base::user;

use standard::Destination;

#[cfg(feature = "log")]
pub use forward::forward_to_log;
#[cfg(feature = "tracing")]
pub use forward::forward_to_tracing;
pub use held::HeldLines;
pub use level::Level;

/// Writes log lines to a container's destination, from any thread, also from a `Drop`.
///
/// All clones of a container's logger share one destination. At first that is the standard one: it writes
/// `[level] message`, lines at error and warning to standard error, the others to standard output; each line is
/// flushed. The tag is coloured where the stream was a terminal and the environment variable `NO_COLOR` was unset or
/// empty when the logger was made.
///
/// Each line goes to exactly one destination, one that was installed while the call lasted. No lock is held while a
/// destination runs: it may log, and it may replace itself. A destination that panics loses its line and nothing else:
/// logging never panics.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use ecs::{Level, Logger};
///
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let logger = Logger::standard();
/// let kept = Arc::clone(&lines);
/// logger.set_destination(move |message, level| kept.lock().unwrap().push(format!("{level}: {message}")));
/// logger.log("ready");
/// logger.with_prefix("game/Loader").log_at(Level::Warning, "slow disk");
/// assert_eq!(*lines.lock().unwrap(), ["info: ready", "warning: [game/Loader] slow disk"]);
/// ```
#[derive(Clone)]
pub struct Logger {
    sink: Arc<Sink>,
    prefix: Option<Arc<str>>,
}

struct Sink {
    /// None swallows.
    destination: RwLock<Option<Arc<Destination>>>,
}

impl Logger {
    /// A logger with the standard destination. Whether each stream is coloured is decided now.
    pub fn standard() -> Self {
        Self {
            sink: Arc::new(Sink {
                destination: RwLock::new(Some(standard::destination())),
            }),
            prefix: None,
        }
    }

    /// Writes a line at level info.
    pub fn log(&self, message: impl AsRef<str>) {
        self.write(message.as_ref(), Level::Info);
    }

    /// Writes a line at a level.
    pub fn log_at<'l>(&self, level: impl Into<Level<'l>>, message: impl AsRef<str>) {
        self.write(message.as_ref(), level.into());
    }

    /// The same destination, with `[<handle>] ` in front of every message instead of this logger's own prefix.
    #[must_use]
    pub fn with_prefix(&self, handle: impl Into<Arc<str>>) -> Self {
        Self {
            sink: Arc::clone(&self.sink),
            prefix: Some(handle.into()),
        }
    }

    /// Replaces the destination, for all clones. The new one receives exactly (message, level), plain text.
    ///
    /// A line whose call begins after this has returned goes to the new destination. The old one is dropped when its
    /// last running call has returned, maybe by the thread that made that call.
    pub fn set_destination(&self, destination: impl Fn(&str, &str) + Send + Sync + 'static) {
        self.replace(Some(Arc::new(destination)));
    }

    /// Swallows all lines from now on, for all clones.
    pub fn set_silent(&self) {
        self.replace(None);
    }

    fn replace(&self, new: Option<Arc<Destination>>) {
        let old = std::mem::replace(&mut *self.sink.destination.write(), new);
        release(old);
    }

    fn write(&self, message: &str, level: Level<'_>) {
        let destination = self.sink.destination.read().clone();
        let Some(destination) = destination else {
            return;
        };
        let call = |message: &str| {
            // A panic has no place left to be reported to.
            drop(user::call(|| destination(message, level.as_str())));
        };
        match &self.prefix {
            None => call(message),
            Some(handle) => with_line(|line| {
                for part in ["[", handle, "] ", message] {
                    line.push_str(part);
                }
                call(line);
            }),
        }
        release(Some(destination));
    }
}

thread_local! {
    /// The text of the last line that this thread put together: its memory serves the next one.
    static LINE: Cell<String> = const { Cell::new(String::new()) };
}

/// What a line may leave allocated for the next one of its thread.
const KEPT: usize = 1 << 12;

/// Gives `write` an empty text to put a line together in. A line that a destination writes in turn finds a text of its
/// own, and so does one from a thread's last destructors.
fn with_line(write: impl FnOnce(&mut String)) {
    let mut line = LINE.try_with(Cell::take).unwrap_or_default();
    write(&mut line);
    if line.capacity() <= KEPT {
        line.clear();
        _ = LINE.try_with(|kept| kept.set(line));
    }
}

/// Lets go of a destination; the last to do so drops a user's closure.
fn release(destination: Option<Arc<Destination>>) {
    // A panic of its `Drop` has no place to be reported to.
    drop(user::release(destination));
}

impl Drop for Sink {
    fn drop(&mut self) {
        release(self.destination.get_mut().take());
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
