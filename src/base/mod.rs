//! Floor 0: what everything else stands on.

pub(crate) mod lock;
pub(crate) mod user;
pub(crate) mod uuid;
