//! Floor 0: what everything else stands on.

pub(crate) mod caught;
pub(crate) mod entity;
pub(crate) mod hash;
pub(crate) mod json;
pub(crate) mod lock;
#[cfg(all(test, loom))]
pub(crate) mod model;
pub(crate) mod origin;
#[cfg(all(test, shuttle))]
pub(crate) mod schedules;
pub(crate) mod user;
pub(crate) mod uuid;

/// Any error of user code.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
