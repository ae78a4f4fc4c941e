//! Systems that ask for what they need in types, and may therefore run beside others.

mod function;
mod param;
mod params;
mod queued;

pub use self::function::{IntoResult, ParallelSystem, ParamFunction, Typed, parallel};
pub use self::param::Param;
pub use self::params::{Matches, Res, ResMut};
pub use self::queued::Events;
