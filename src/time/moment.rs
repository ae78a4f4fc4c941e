//! An instant of a clock.

use std::fmt;
use std::time::Duration;

use super::length::to_micros;

/// An instant of a [`Clock`](crate::Clock): whole microseconds since that clock's own origin.
///
/// Instants of different clocks cannot be compared in a meaningful way.
///
/// ```
/// use std::time::Duration;
/// use ecs::Moment;
///
/// let noon = Moment::from_micros(43_200_000_000);
/// let later = noon.checked_add(Duration::from_secs(1)).unwrap();
/// assert_eq!(later.since(noon), Duration::from_secs(1));
/// assert_eq!(noon.since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// The last instant that can be told.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant so many microseconds after the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The instant a length later, or `None` past [`Moment::MAX`].
    ///
    /// The length is cut to whole microseconds, except that one above zero and below one microsecond counts as one.
    pub const fn checked_add(self, length: Duration) -> Option<Self> {
        match to_micros(length) {
            None => None,
            Some(micros) => match self.0.checked_add(micros) {
                None => None,
                Some(sum) => Some(Self(sum)),
            },
        }
    }

    /// The time since an earlier instant; zero when that one is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs", self.0)
    }
}
