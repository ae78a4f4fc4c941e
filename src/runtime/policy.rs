//! What part a system takes in a pass.

/// What part a system takes in a pass; see [`Registration::policy`](crate::Registration::policy).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// It is updated in its place in the order, after the root step.
    #[default]
    Sequential,
    /// It waits for nobody as far as that cannot be told: a typed system that asks for nothing but
    /// [`Own`](crate::Own) runs at the beginning of the updates, beside the first systems that may overlap, wherever it
    /// stands in the order. One that touches the world is ordered by what it shares, as a sequential one is; one that was
    /// ordered behind another system, or that has a timer, a queued listener or a run condition, runs in its place.
    Independent,
    /// It is initialised and shut down, and never updated: it holds data and has listeners. Its timers do not fire, its
    /// messages wait, and it cannot have queued listeners, which have no place to be called in.
    Storage,
}
