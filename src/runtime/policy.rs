//! What part a system takes in a pass.

/// What part a system takes in a pass; see [`Registration::policy`](crate::Registration::policy).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// It is updated in its place in the order, after the root step.
    #[default]
    Sequential,
    /// It does not wait for the root step where it does not touch the world; with others it is ordered by what they
    /// share. As long as nothing runs beside it, it is as a sequential one.
    Independent,
    /// It is initialised and shut down, and never updated: it holds data and has listeners. Its timers do not fire, its
    /// messages wait, and it cannot have queued listeners, which have no place to be called in.
    Storage,
}
