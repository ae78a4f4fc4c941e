//! Log lines: their levels, where they go, and lines held until there is a place for them.

#[cfg(any(feature = "log", feature = "tracing"))]
mod forward;
mod held;
mod level;
mod standard;

use std::fmt;
use std::sync::Arc;

use crate::base::lock::Mutex;
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
    destination: Mutex<Option<Arc<Destination>>>,
}

impl Logger {
    /// A logger with the standard destination. Whether each stream is coloured is decided now.
    pub fn standard() -> Self {
        Self {
            sink: Arc::new(Sink {
                destination: Mutex::new(Some(standard::destination())),
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
        let old = std::mem::replace(&mut *self.sink.destination.lock(), new);
        release(old);
    }

    fn write(&self, message: &str, level: Level<'_>) {
        let destination = self.sink.destination.lock().clone();
        let Some(destination) = destination else {
            return;
        };
        let outcome = match &self.prefix {
            None => user::call(|| destination(message, level.as_str())),
            Some(handle) => {
                let message = format!("[{handle}] {message}");
                user::call(|| destination(&message, level.as_str()))
            }
        };
        // There is no place left to report it to.
        drop(outcome);
        release(Some(destination));
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
