//! Lines of a system that has no container yet.

use std::fmt;
use std::sync::Arc;

use super::{Level, Logger};
use crate::base::lock::Mutex;

/// A logger for a system that is not registered yet: its lines are held and come out at the registration.
///
/// Give one clone to the registration and keep another in the system. Lines logged before are delivered when the
/// system is registered, in order, each with `[<handle>] ` in front, before the system is started; later ones go
/// straight to the container's destination. A registration that is rejected delivers nothing, and the lines stay held.
/// There is no cap: a system that logs without end before it is registered holds it all in memory.
///
/// ```
/// use ecs::{Context, HeldLines, OwnedContainer, Register, System, SystemResult};
///
/// struct Loader { lines: HeldLines }
///
/// impl Loader {
///     fn new() -> Self {
///         let lines = HeldLines::new();
///         lines.log("made");
///         Self { lines }
///     }
/// }
/// impl System for Loader {
///     fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) }
/// }
///
/// let container = OwnedContainer::new("main")?;
/// # container.set_silent();
/// let loader = Loader::new();
/// let lines = loader.lines.clone();
/// assert_eq!(lines.len(), 1);
/// container.claim()?.add_system(loader.named("game/Loader").held_lines(&lines))?;
/// assert!(lines.is_empty()); // the container has logged `[game/Loader] made`
/// # Ok::<(), ecs::BoxError>(())
/// ```
#[derive(Clone, Default)]
pub struct HeldLines(Arc<Mutex<State>>);

enum State {
    Held(Vec<Line>),
    Attached(Logger),
}

struct Line {
    level: Box<str>,
    message: Box<str>,
}

impl Default for State {
    fn default() -> Self {
        Self::Held(Vec::new())
    }
}

impl HeldLines {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Logs or holds a line at level info.
    pub fn log(&self, message: impl AsRef<str>) {
        self.log_at(Level::Info, message);
    }

    /// Logs or holds a line at a level.
    pub fn log_at<'l>(&self, level: impl Into<Level<'l>>, message: impl AsRef<str>) {
        let (level, message) = (level.into(), message.as_ref());
        // User code (`into`, `as_ref`) is done; what the lock protects is only our own.
        let logger = match &mut *self.0.lock() {
            State::Held(lines) => {
                lines.push(Line {
                    level: level.as_str().into(),
                    message: message.into(),
                });
                return;
            }
            State::Attached(logger) => logger.clone(),
        };
        logger.log_at(level, message);
    }

    /// How many lines are held.
    pub fn len(&self) -> usize {
        match &*self.0.lock() {
            State::Held(lines) => lines.len(),
            State::Attached(_) => 0,
        }
    }

    /// Whether no line is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Delivers what is held to this logger, whose prefix is the system's handle, and passes later lines on to it.
    ///
    /// Lines that another thread logs meanwhile may come out between the held ones: to hold them back would let a
    /// destination that logs here keep this call for ever.
    pub(crate) fn attach(&self, logger: &Logger) {
        let before = std::mem::replace(&mut *self.0.lock(), State::Attached(logger.clone()));
        if let State::Held(lines) = before {
            for line in lines {
                logger.log_at(&*line.level, &*line.message);
            }
        }
    }
}

impl fmt::Debug for HeldLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldLines")
            .field("held", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collecting() -> (Logger, Arc<std::sync::Mutex<Vec<String>>>) {
        let lines = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (logger, kept) = (Logger::standard(), Arc::clone(&lines));
        logger.set_destination(move |message, level| {
            kept.lock().unwrap().push(format!("{level}: {message}"));
        });
        (logger, lines)
    }

    #[test]
    fn held_lines_come_out_in_order_with_the_handle_and_later_ones_at_once() {
        let (logger, lines) = collecting();
        let held = HeldLines::new();
        held.log("one");
        held.clone().log_at("error", "two");
        assert_eq!(held.len(), 2);
        assert!(lines.lock().unwrap().is_empty());
        held.attach(&logger.with_prefix("s"));
        // spec: LOG-09
        assert_eq!(*lines.lock().unwrap(), ["info: [s] one", "error: [s] two"]);
        assert!(held.is_empty());
        held.log("three");
        assert_eq!(lines.lock().unwrap().last().unwrap(), "info: [s] three");
    }

    #[test]
    fn a_failing_destination_does_not_stop_the_remaining_lines() {
        let logger = Logger::standard();
        let calls = Arc::new(std::sync::Mutex::new(0));
        let counted = Arc::clone(&calls);
        logger.set_destination(move |message, _| {
            *counted.lock().unwrap() += 1;
            assert!(message == "[s] fine", "on purpose");
        });
        let held = HeldLines::new();
        held.log("bad");
        held.log("fine");
        held.attach(&logger.with_prefix("s"));
        // spec: LOG-09
        assert_eq!(*calls.lock().unwrap(), 2);
    }
}
