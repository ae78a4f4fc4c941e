//! The names of log lines' levels.

use std::fmt;

/// The level of a log line: one of the usual four, or any other name, which passes through unchanged.
///
/// Text is a level too: `logger.log_at("trace", …)`.
///
/// ```
/// use ecs::Level;
///
/// assert_eq!(Level::from("error"), Level::Error);
/// assert_eq!(Level::from("trace").as_str(), "trace");
/// assert_eq!(Level::default(), Level::Info);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level<'a> {
    /// `error`
    Error,
    /// `warning`
    Warning,
    /// `info`, the level of a line that names none.
    #[default]
    Info,
    /// `debug`
    Debug,
    /// Any other name.
    Other(&'a str),
}

impl<'a> Level<'a> {
    /// Its name.
    pub const fn as_str(self) -> &'a str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Other(name) => name,
        }
    }
}

impl<'a> From<&'a str> for Level<'a> {
    fn from(name: &'a str) -> Self {
        match name {
            "error" => Self::Error,
            "warning" => Self::Warning,
            "info" => Self::Info,
            "debug" => Self::Debug,
            _ => Self::Other(name),
        }
    }
}

impl<'a> From<&'a String> for Level<'a> {
    fn from(name: &'a String) -> Self {
        Self::from(name.as_str())
    }
}

impl fmt::Display for Level<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
