//! Floor 5: what lets systems run beside each other. Knows no system: it sorts access sets into levels, and hands tasks to
//! worker threads.

pub(crate) mod access;
pub(crate) mod crew;
pub(crate) mod fault;
pub(crate) mod levels;
