//! Time: instants, clocks, schedules, timer sets and elapsed time, all in whole microseconds held in 64 bits.

mod clock;
mod elapsed;
mod length;
mod moment;
mod timers;
mod timing;

pub use clock::{Clock, ClockError, ManualClock, RealClock, SharedClock};
pub use elapsed::{FixedStep, FixedStepError, Steps};
pub use length::{DEFAULT_INTERVAL, IntervalError, MAX_INTERVAL};
pub use moment::Moment;
pub use timing::Timing;

pub(crate) use elapsed::Elapsed;
pub(crate) use length::{interval_micros, to_micros};
pub(crate) use timers::TimerSet;
