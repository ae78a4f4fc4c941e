//! What can be observed, and how far observers go.

use crate::store::changes::Change;

/// What an observer is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum On {
    /// An entity got a component of the kind, and had none.
    Added,
    /// A component took the place of another one of the same kind. Writing to one is no replacement.
    Replaced,
    /// A component went: by removal, by despawning, by a component of another type under the name, by clearing.
    Removed,
}

impl On {
    pub(super) fn change(self) -> Change {
        match self {
            Self::Added => Change::Added,
            Self::Replaced => Change::Replaced,
            Self::Removed => Change::Removed,
        }
    }
}

/// How far observers may go on setting each other off; see [`World::run_observers`](crate::World::run_observers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObserverLimits {
    /// The most rounds of one run; 64 unless told otherwise.
    pub rounds: u32,
    /// The most changes that observers cause in one run, unless sixteen for each change of the first round are more; a
    /// million (2^20) unless told otherwise.
    pub changes: usize,
}

impl Default for ObserverLimits {
    fn default() -> Self {
        Self {
            rounds: 64,
            changes: 1 << 20,
        }
    }
}

impl ObserverLimits {
    /// Whether there may be another round, after so many.
    pub(super) fn allow(&self, rounds: u32, first: usize, caused: usize) -> bool {
        rounds < self.rounds && caused <= self.changes.max(first.saturating_mul(16))
    }
}
