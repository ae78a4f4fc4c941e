//! Floor 3: queries over the store.

#![allow(
    clippy::cast_possible_truncation,
    reason = "archetypes number fewer than 2^32, columns of an archetype fewer than 2^16"
)]

pub(crate) mod access;
pub(crate) mod cells;
pub(crate) mod compound;
pub(crate) mod error;
pub(crate) mod fetch;
pub(crate) mod filter;
mod held;
pub(crate) mod iter;
mod later;
pub(crate) mod lent;
pub(crate) mod mutable;
#[cfg(feature = "rayon")]
mod parallel;
pub(crate) mod prepared;
pub(crate) mod state;
mod stop;
mod walk;
