//! A repeating schedule.

use std::time::Duration;

use super::length::{DEFAULT_INTERVAL, IntervalError, interval_micros};
use super::moment::Moment;

/// A repeating schedule: due once every interval, exact on average, without bursts after a stall.
///
/// It holds no clock: every call takes the present instant.
///
/// - It is first due one full interval after the instant it was made or restarted at.
/// - Checked late, it moves on by exactly the whole intervals that passed. When more than two did, it is due once
///   and counts again from the instant of the check.
/// - An interval of zero is due at every check.
/// - An instant before the last due one counts as no time passed.
///
/// ```
/// use std::time::Duration;
/// use ecs::{Moment, Timing};
///
/// let at = |seconds: u64| Moment::from_micros(seconds * 1_000_000);
/// let mut schedule = Timing::new(Duration::from_secs(7200), at(0))?;
/// assert!(!schedule.is_due(at(48 * 60)));
/// assert!(schedule.is_due(at(7201)));
/// assert!(!schedule.is_due(at(7202)));
/// assert!(schedule.is_due(at(14400)), "the late check has not shifted it");
/// # Ok::<(), ecs::IntervalError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The instant the schedule was last due at, or started, and the interval behind it: the next due instant. Past the
    /// end of the clock's range it has wrapped.
    due: u64,
    /// At most `MAX_INTERVAL`, so three of them fit 64 bits with room to spare.
    interval: u64,
}

impl Default for Timing {
    /// [`DEFAULT_INTERVAL`], from [`Moment::ZERO`].
    fn default() -> Self {
        Self::from_micros(DEFAULT_INTERVAL.subsec_micros().into(), 0)
    }
}

impl Timing {
    /// A schedule that starts at `now`.
    ///
    /// # Errors
    ///
    /// [`IntervalError`] when the interval is above [`MAX_INTERVAL`](crate::MAX_INTERVAL).
    pub fn new(interval: Duration, now: Moment) -> Result<Self, IntervalError> {
        Ok(Self::from_micros(
            interval_micros(interval)?,
            now.as_micros(),
        ))
    }

    pub(crate) const fn from_micros(interval: u64, now: u64) -> Self {
        Self {
            due: now.wrapping_add(interval),
            interval,
        }
    }

    /// The instant the schedule was last due at, or started.
    const fn last(&self) -> u64 {
        self.due.wrapping_sub(self.interval)
    }

    /// The time between two due instants.
    pub const fn interval(&self) -> Duration {
        Duration::from_micros(self.interval)
    }

    pub(crate) const fn interval_micros(&self) -> u64 {
        self.interval
    }

    /// Changes the interval; the next due instant is the last one plus the new interval.
    ///
    /// # Errors
    ///
    /// [`IntervalError`] when it is above [`MAX_INTERVAL`](crate::MAX_INTERVAL); the schedule stays as it was.
    pub fn set_interval(&mut self, interval: Duration) -> Result<(), IntervalError> {
        *self = Self::from_micros(interval_micros(interval)?, self.last());
        Ok(())
    }

    /// Starts again: the next due instant is one full interval after `now`.
    pub const fn restart(&mut self, now: Moment) {
        *self = Self::from_micros(self.interval, now.as_micros());
    }

    /// The instant at which the schedule was last due, or started.
    pub const fn last_due(&self) -> Moment {
        Moment::from_micros(self.last())
    }

    /// The next due instant; `None` past [`Moment::MAX`].
    pub const fn next_due(&self) -> Option<Moment> {
        match self.last().checked_add(self.interval) {
            Some(next) => Some(Moment::from_micros(next)),
            None => None,
        }
    }

    /// Whether the schedule is due at `now`; if so, it moves on.
    #[inline]
    pub fn is_due(&mut self, now: Moment) -> bool {
        self.check(now.as_micros())
    }

    #[inline]
    pub(crate) fn check(&mut self, now: u64) -> bool {
        if self.interval == 0 {
            return true;
        }
        self.check_whole(now, now.saturating_sub(self.last()))
    }

    /// Whether the schedule is not due at `now`, as one comparison tells: of most that are not due.
    #[inline]
    pub(crate) fn is_early(&self, now: u64) -> bool {
        now < self.due
    }

    /// As [`check`](Self::check), for an instant that is none before the last due one: that of a clock that never goes back.
    #[inline]
    pub(crate) fn check_forward(&mut self, now: u64) -> bool {
        self.interval == 0 || self.check_whole(now, now.wrapping_sub(self.last()))
    }

    /// Whether at least a whole interval has passed, which is not zero; if so, the schedule moves on.
    #[inline]
    fn check_whole(&mut self, now: u64, passed: u64) -> bool {
        if passed < self.interval {
            return false;
        }
        // One or two whole intervals are told apart without a division.
        let late = passed - self.interval;
        let last = if late < self.interval {
            self.due
        } else if late < 2 * self.interval {
            self.due.wrapping_add(self.interval)
        } else {
            now
        };
        self.due = last.wrapping_add(self.interval);
        true
    }

    /// A lower bound of the next due instant, for a cache: it may be early at the end of the clock's range.
    #[inline]
    pub(crate) const fn due_hint(&self) -> u64 {
        if self.interval == 0 {
            0
        } else {
            self.last().saturating_add(self.interval)
        }
    }
}
