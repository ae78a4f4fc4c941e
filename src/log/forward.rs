//! Destinations that pass lines on to the logging libraries of the ecosystem.

use super::Level;

/// A destination that forwards lines to the [`log`] crate, under this target: the container's handle, say.
///
/// Error, warning, info and debug lines keep their level, and so does `trace`. A line of any other level is forwarded
/// at info with `[<level>] ` in front.
///
/// ```
/// let logger = ecs::Logger::standard();
/// logger.set_destination(ecs::forward_to_log("main"));
/// ```
#[cfg(feature = "log")]
pub fn forward_to_log(target: impl Into<String>) -> impl Fn(&str, &str) + Send + Sync + 'static {
    let target = target.into();
    move |message, level| {
        let (known, other) = match Level::from(level) {
            Level::Error => (log::Level::Error, None),
            Level::Warning => (log::Level::Warn, None),
            Level::Info => (log::Level::Info, None),
            Level::Debug => (log::Level::Debug, None),
            Level::Other("trace") => (log::Level::Trace, None),
            Level::Other(name) => (log::Level::Info, Some(name)),
        };
        match other {
            None => log::log!(target: &target, known, "{message}"),
            Some(name) => log::log!(target: &target, known, "[{name}] {message}"),
        }
    }
}

/// A destination that forwards lines to the [`tracing`] crate, as events of target `ecs` with the fields `message`,
/// `container` (the name given here) and `level` (the level's own name).
///
/// Error, warning, info and debug lines keep their level, and so does `trace`. A line of any other level is an event at
/// info; its field `level` tells its name.
///
/// ```
/// let logger = ecs::Logger::standard();
/// logger.set_destination(ecs::forward_to_tracing("main"));
/// ```
#[cfg(feature = "tracing")]
pub fn forward_to_tracing(
    container: impl Into<String>,
) -> impl Fn(&str, &str) + Send + Sync + 'static {
    let container = container.into();
    move |message, level| {
        // The level of an event is a constant: one event for each.
        macro_rules! event {
            ($known:ident) => {
                tracing::event!(target: "ecs", tracing::Level::$known, container, level, "{message}")
            };
        }
        match Level::from(level) {
            Level::Error => event!(ERROR),
            Level::Warning => event!(WARN),
            Level::Debug => event!(DEBUG),
            Level::Other("trace") => event!(TRACE),
            Level::Info | Level::Other(_) => event!(INFO),
        }
    }
}
