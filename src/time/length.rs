//! Lengths of time: their limits, and the one conversion to microseconds.

use std::time::Duration;

/// The interval of a system that was given none: 33,333 microseconds, about 30 updates a second.
pub const DEFAULT_INTERVAL: Duration = Duration::from_micros(33_333);

/// The longest interval and the longest timer: 100 years of 365.25 days.
pub const MAX_INTERVAL: Duration = Duration::from_hours(36_525 * 24);

/// An interval is above [`MAX_INTERVAL`]. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "ecs::Timing::set_interval(): interval of {} microseconds is out of range (0 to {})",
    .length.as_micros(),
    MAX_INTERVAL.as_micros()
)]
#[non_exhaustive]
pub struct IntervalError {
    /// The length asked for.
    pub length: Duration,
}

impl IntervalError {
    #[cold]
    pub(crate) fn new(length: Duration) -> Self {
        Self { length }
    }
}

/// Whole microseconds of a length (the rule of INT-09), `None` when they do not fit in 64 bits.
///
/// Seconds and the microseconds of the rest, because `Duration::as_micros` calculates in 128 bits.
pub(crate) const fn to_micros(length: Duration) -> Option<u64> {
    let Some(seconds) = length.as_secs().checked_mul(1_000_000) else {
        return None;
    };
    match seconds.checked_add(length.subsec_micros() as u64) {
        Some(0) if length.subsec_nanos() > 0 => Some(1),
        micros => micros,
    }
}

/// Microseconds of an interval or a timer's length, refused above [`MAX_INTERVAL`].
pub(crate) fn interval_micros(length: Duration) -> Result<u64, IntervalError> {
    match to_micros(length) {
        Some(micros) if length <= MAX_INTERVAL => Ok(micros),
        _ => Err(IntervalError::new(length)),
    }
}
