//! Where time comes from.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::length::to_micros;
use super::moment::Moment;
use crate::base::user;

/// A source of time.
///
/// - `now` may be called from any thread at any time and must not block.
/// - It should never go back. One that does is taken as a clock that stands still until it has caught up.
/// - It must not call into the container that reads it.
///
/// ```
/// use ecs::{Clock, Moment};
///
/// /// A clock that follows the frames of a film.
/// struct Frames(std::sync::atomic::AtomicU64);
///
/// impl Clock for Frames {
///     fn now(&self) -> Moment {
///         Moment::from_micros(self.0.load(std::sync::atomic::Ordering::Relaxed) * 41_667)
///     }
/// }
/// # assert_eq!(Frames(2.into()).now(), Moment::from_micros(83_334));
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> Moment;
}

/// The machine's monotonic clock, the default everywhere. Its origin is its first use in the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RealClock;

impl RealClock {
    #[inline]
    fn micros() -> u64 {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        let passed = ORIGIN.get_or_init(Instant::now).elapsed();
        // Whole seconds of a process's life fit 64 bits of microseconds for half a million years.
        passed.as_secs() * 1_000_000 + u64::from(passed.subsec_micros())
    }
}

impl Clock for RealClock {
    fn now(&self) -> Moment {
        Moment::from_micros(Self::micros())
    }
}

/// A clock that moves only when told to: tests of two hours need no sleep.
///
/// Clones are one clock.
///
/// ```
/// use std::time::Duration;
/// use ecs::{Clock, ManualClock, Moment};
///
/// let clock = ManualClock::new();
/// let same = clock.clone();
/// clock.advance(Duration::from_secs(7200))?;
/// assert_eq!(same.now(), Moment::from_micros(7_200_000_000));
/// assert!(clock.set(Moment::ZERO).is_err(), "it does not go back");
/// # Ok::<(), ecs::ClockError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    micros: Arc<AtomicU64>,
}

/// A manual clock was told to go back, or past the end of its range. It has not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClockError {
    /// The instant asked for lies before the present one.
    #[error("ecs::ManualClock::set(): {to} is earlier than the present {now}")]
    GoesBack {
        /// The clock's present instant.
        now: Moment,
        /// The instant asked for.
        to: Moment,
    },
    /// The clock would pass [`Moment::MAX`].
    #[error("ecs::ManualClock::advance(): {by:?} after {now} is past the end of the clock's range")]
    PastTheEnd {
        /// The clock's present instant.
        now: Moment,
        /// The length asked for.
        by: Duration,
    },
}

impl ManualClock {
    /// A clock that stands at [`Moment::ZERO`].
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that stands at the given instant.
    pub fn at(now: Moment) -> Self {
        Self {
            micros: Arc::new(AtomicU64::new(now.as_micros())),
        }
    }

    /// Moves the clock on and returns the new instant.
    ///
    /// The length is cut to whole microseconds, except that one above zero and below one microsecond counts as one.
    ///
    /// # Errors
    ///
    /// [`ClockError::PastTheEnd`] when the clock would pass [`Moment::MAX`]; it stays where it is.
    pub fn advance(&self, by: Duration) -> Result<Moment, ClockError> {
        let step = to_micros(by);
        self.micros
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                now.checked_add(step?)
            })
            // The update succeeded, so the sum exists.
            .map(|before| Moment::from_micros(before.wrapping_add(step.unwrap_or(0))))
            .map_err(|now| ClockError::PastTheEnd {
                now: Moment::from_micros(now),
                by,
            })
    }

    /// Sets the clock to an instant that is not earlier than the present one.
    ///
    /// # Errors
    ///
    /// [`ClockError::GoesBack`] when it is; the clock stays where it is.
    pub fn set(&self, to: Moment) -> Result<(), ClockError> {
        self.micros
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now <= to.as_micros()).then_some(to.as_micros())
            })
            .map(drop)
            .map_err(|now| ClockError::GoesBack {
                now: Moment::from_micros(now),
                to,
            })
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        Moment::from_micros(self.micros.load(Ordering::Acquire))
    }
}

/// A clock in the form in which systems and containers share it.
///
/// Every call that takes a clock takes a [`ManualClock`] or a reference to one, a [`RealClock`], a `SharedClock`,
/// or `None` for the real clock. A clock of your own goes through [`SharedClock::new`].
///
/// ```
/// use ecs::{Clock, ManualClock, Moment, SharedClock};
///
/// let manual = ManualClock::at(Moment::from_micros(5));
/// let shared = SharedClock::from(&manual);
/// assert_eq!(shared.now(), Moment::from_micros(5));
/// ```
#[derive(Clone, Default)]
pub struct SharedClock(Kind);

/// The two clocks of the library stand in the enum, so that reading them is no virtual call.
#[derive(Clone, Default)]
enum Kind {
    #[default]
    Real,
    Manual(ManualClock),
    Custom(Arc<dyn Clock>),
}

impl SharedClock {
    /// Shares a clock of your own.
    pub fn new(clock: impl Clock) -> Self {
        Self::from_arc(Arc::new(clock))
    }

    /// Shares a clock that is already behind an `Arc`.
    pub fn from_arc(clock: Arc<dyn Clock>) -> Self {
        Self(Kind::Custom(clock))
    }

    /// The present instant.
    ///
    /// # Panics
    ///
    /// When a clock of your own does.
    pub fn now(&self) -> Moment {
        match &self.0 {
            Kind::Real => RealClock.now(),
            Kind::Manual(clock) => clock.now(),
            Kind::Custom(clock) => clock.now(),
        }
    }

    /// The present microseconds; a panic of a user's clock comes back as an error.
    #[inline]
    pub(crate) fn read(&self) -> Result<u64, user::Panic> {
        match &self.0 {
            Kind::Manual(clock) => Ok(clock.micros.load(Ordering::Acquire)),
            Kind::Real => Ok(RealClock::micros()),
            Kind::Custom(clock) => Self::read_custom(clock.as_ref()),
        }
    }

    /// The present microseconds of a manual clock, which never goes back; `None` for another.
    #[inline]
    pub(crate) fn read_manual(&self) -> Option<u64> {
        match &self.0 {
            Kind::Manual(clock) => Some(clock.micros.load(Ordering::Acquire)),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn is_manual(&self) -> bool {
        matches!(self.0, Kind::Manual(_))
    }

    /// The present microseconds of the real clock, which never goes back; `None` for another.
    #[inline]
    pub(crate) fn read_real(&self) -> Option<u64> {
        matches!(self.0, Kind::Real).then(RealClock::micros)
    }

    #[cold]
    fn read_custom(clock: &dyn Clock) -> Result<u64, user::Panic> {
        user::call(|| clock.now().as_micros())
    }
}

impl fmt::Debug for SharedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Real => "SharedClock(real)",
            Kind::Manual(_) => "SharedClock(manual)",
            Kind::Custom(_) => "SharedClock(custom)",
        })
    }
}

impl From<RealClock> for SharedClock {
    fn from(_: RealClock) -> Self {
        Self(Kind::Real)
    }
}

impl From<ManualClock> for SharedClock {
    fn from(clock: ManualClock) -> Self {
        Self(Kind::Manual(clock))
    }
}

impl From<&ManualClock> for SharedClock {
    fn from(clock: &ManualClock) -> Self {
        Self(Kind::Manual(clock.clone()))
    }
}

// The forms below let a parameter `impl Into<Option<SharedClock>>` take a clock or `None`.

impl From<RealClock> for Option<SharedClock> {
    fn from(clock: RealClock) -> Self {
        Some(clock.into())
    }
}

impl From<ManualClock> for Option<SharedClock> {
    fn from(clock: ManualClock) -> Self {
        Some(clock.into())
    }
}

impl From<&ManualClock> for Option<SharedClock> {
    fn from(clock: &ManualClock) -> Self {
        Some(clock.into())
    }
}
