//! How much time an update covers, and fixed steps cut from it.

use std::ops::Range;
use std::time::Duration;

use super::length::{IntervalError, interval_micros};

/// The elapsed time of one system: measured once per update, whoever reads it and however often.
///
/// What is read is `now - before` in wrapping arithmetic, so that both can be set to say any length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elapsed {
    /// The clock reading of the update before the present one.
    before: u64,
    /// The clock reading of the present update; between updates, of the last one, or the instant the measurement
    /// began.
    now: u64,
    /// No update has been measured since the measurement began.
    fresh: bool,
    /// Some update has been measured, before the measurement last began or since.
    updated: bool,
}

impl Elapsed {
    /// A measurement that begins; until the first update has ended it reads as the interval.
    pub(crate) fn new(now: u64, interval: u64) -> Self {
        Self {
            before: now.wrapping_sub(interval),
            now,
            fresh: true,
            updated: false,
        }
    }

    /// An update begins at `now`. A clock that went back stands still.
    #[inline]
    pub(crate) fn measure(&mut self, now: u64, interval: u64) {
        self.before = self.now;
        self.now = self.now.max(now);
        if self.fresh {
            self.begin(interval);
        }
    }

    /// As [`measure`](Self::measure), for the second update or a later one and a clock that never goes back.
    #[inline]
    pub(crate) fn step(&mut self, now: u64) {
        self.before = self.now;
        self.now = now;
    }

    /// The first update since the measurement began.
    #[cold]
    fn begin(&mut self, interval: u64) {
        self.fresh = false;
        self.updated = true;
        self.before = self.now.wrapping_sub(interval);
    }

    #[inline]
    pub(crate) fn micros(&self) -> u64 {
        self.now.wrapping_sub(self.before)
    }

    /// The reading of the present update; of the last one, or the beginning, between updates.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Whether an update was measured since the measurement began.
    pub(crate) fn is_measured(&self) -> bool {
        !self.fresh
    }

    /// The interval changed: what is read before the first update follows it. What the last update read stays; it may
    /// be running (ELA-01).
    pub(crate) fn interval_changed(&mut self, interval: u64) {
        if !self.updated {
            self.before = self.now.wrapping_sub(interval);
        }
    }

    /// Begins again. It may be in the middle of an update, whose own value stays (ELA-01).
    pub(crate) fn restart(&mut self, now: u64) {
        *self = Self {
            updated: self.updated,
            ..Self::new(now, self.micros())
        };
    }
}

/// The step of a [`FixedStep`] is zero or above the longest interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FixedStepError {
    /// A step of zero fits any number of times.
    #[error("ecs::FixedStep::new(): step is zero")]
    Zero,
    /// The step is above [`MAX_INTERVAL`](crate::MAX_INTERVAL).
    #[error("ecs::FixedStep::new(): step of {} microseconds is out of range", .0.length.as_micros())]
    TooLong(IntervalError),
}

/// Cuts elapsed time into steps of one fixed length and carries the remainder.
///
/// The steps taken, what was dropped and the remainder always add up to the time given: there is no drift.
///
/// ```
/// use std::time::Duration;
/// use ecs::FixedStep;
///
/// let ms = Duration::from_millis;
/// let mut physics = FixedStep::new(ms(10))?.max_steps(5);
/// // In an update: `for _ in physics.take(cx.this.elapsed()) { self.simulate(physics_step); }`
/// assert_eq!(physics.take(ms(25)).count(), 2);
/// assert_eq!(physics.take(ms(25)).count(), 3, "the 5 ms left over were carried");
/// let steps = physics.take(ms(1000));
/// assert_eq!((steps.count(), steps.dropped()), (5, ms(950)));
/// # Ok::<(), ecs::FixedStepError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedStep {
    step: u64,
    /// Below `step`.
    remainder: u64,
    cap: u64,
}

impl FixedStep {
    /// Steps of the given length, without a cap.
    ///
    /// # Errors
    ///
    /// [`FixedStepError`] when the step is zero or above [`MAX_INTERVAL`](crate::MAX_INTERVAL).
    pub fn new(step: Duration) -> Result<Self, FixedStepError> {
        match interval_micros(step).map_err(FixedStepError::TooLong)? {
            0 => Err(FixedStepError::Zero),
            step => Ok(Self {
                step,
                remainder: 0,
                cap: u64::MAX,
            }),
        }
    }

    /// At most so many steps are handed out at once; what does not fit is dropped and reported by
    /// [`Steps::dropped`].
    #[must_use]
    pub fn max_steps(mut self, cap: u64) -> Self {
        self.cap = cap;
        self
    }

    /// The length of a step.
    pub fn step(&self) -> Duration {
        Duration::from_micros(self.step)
    }

    /// Time that was given and is not yet a whole step.
    pub fn remainder(&self) -> Duration {
        Duration::from_micros(self.remainder)
    }

    /// Adds the time an update covers and takes out the whole steps.
    pub fn take(&mut self, elapsed: Duration) -> Steps {
        let elapsed = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        // Divide first: the sum of both might not fit.
        let (mut whole, rest) = (elapsed / self.step, elapsed % self.step);
        let carried = self.remainder + rest;
        whole += carried / self.step;
        self.remainder = carried % self.step;
        let count = whole.min(self.cap);
        Steps {
            count,
            dropped: (whole - count) * self.step,
        }
    }
}

/// The whole steps that an update contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Steps {
    count: u64,
    dropped: u64,
}

impl Steps {
    /// The number of steps to take now.
    pub fn count(self) -> u64 {
        self.count
    }

    /// Time that the cap of the [`FixedStep`] has thrown away.
    pub fn dropped(self) -> Duration {
        Duration::from_micros(self.dropped)
    }
}

impl IntoIterator for Steps {
    type Item = u64;
    type IntoIter = Range<u64>;

    /// The numbers of the steps, from 0.
    fn into_iter(self) -> Range<u64> {
        0..self.count
    }
}
