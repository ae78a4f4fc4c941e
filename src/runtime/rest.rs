//! What of a container's body is lent whole to every context: all but the world and the units.

use std::sync::Arc;

use ahash::AHashMap;

use super::arrangement::Arrangement;
use super::beside::Beside;
use super::channels::Hearing;
use super::deferred::Deferred;
use super::order::Order;
use super::system::{SystemKey, sealed};
use super::unit::Slot;
use crate::event::SentEvents;
use crate::time::SharedClock;

/// What of the body is lent whole to every context.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "notes of the pass, each by itself"
)]
pub(crate) struct Rest {
    pub(crate) order: Order,
    pub(crate) index: AHashMap<Arc<str>, SystemKey>,
    pub(crate) pending: Vec<Slot>,
    /// The number of the first slot that is pending, or would be: that of all that are not.
    pub(crate) first_pending: usize,
    /// Empty slots, their generation raised.
    pub(crate) free: Vec<u32>,
    /// Removed in the running pass or step, to be shut down and released at its end; or removed outside one, too deep
    /// inside other releases.
    pub(crate) leaving: Vec<u32>,
    /// How many releases outside a pass run inside each other.
    pub(crate) releasing: u32,
    /// Registered in the running pass or step.
    pub(crate) new: Vec<u32>,
    pub(crate) mode: Mode,
    /// The container was shut down: nothing is started or routed any more.
    pub(crate) torn: bool,
    /// Some unit may not be started yet.
    pub(crate) unstarted: bool,
    /// Mail has arrived that not every unit has looked for.
    pub(crate) mail: bool,
    /// A stop ends the pass after the running call (an application-driven pass) instead of after the pass.
    pub(crate) stoppable: bool,
    pub(crate) clock: SharedClock,
    pub(crate) batch: Vec<Deferred>,
    /// Events on their way from the inlet to the world. Empty in between; keeps its memory.
    pub(crate) sent: SentEvents,
    pub(crate) hearing: Hearing,
    /// Updates are timed.
    pub(crate) timed: bool,
    pub(crate) beside: Beside,
    pub(crate) arrangement: Arrangement,
    /// Registrations so far.
    pub(crate) registered: u64,
}

/// Whether changes to the systems take effect at once, or at the end of what is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Idle,
    Pass,
    Teardown,
}

impl Rest {
    pub(crate) fn key(&self, which: &impl sealed::Which) -> Option<SystemKey> {
        which.key(&|handle| self.index.get(handle).copied())
    }
}
