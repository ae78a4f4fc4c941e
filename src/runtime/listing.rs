//! The systems as a list, to look at.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::Context;
use super::policy::Policy;
use super::system::{SystemKey, Which};
use super::unit::{OwnState, flag};
use crate::message::Mailbox;
use crate::parallel::access::SystemAccess;
use crate::time::Moment;

/// The systems of a container in update order; see [`Context::systems`](crate::Context::systems).
#[derive(Clone)]
pub struct Systems<'a> {
    context: &'a Context<'a>,
    position: usize,
}

impl<'a> Systems<'a> {
    pub(crate) fn new(context: &'a Context<'_>) -> Self {
        Self {
            context,
            position: 0,
        }
    }
}

impl<'a> Iterator for Systems<'a> {
    type Item = SystemInfo<'a>;

    fn next(&mut self) -> Option<SystemInfo<'a>> {
        let order = &self.context.lent.rest.order;
        while self.position < order.len() {
            let slot = order.slot(self.position);
            self.position += 1;
            if let Some(own) = self.context.own_in_slot(slot) {
                return Some(SystemInfo::new(own));
            }
        }
        None
    }
}

impl fmt::Debug for Systems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl Context<'_> {
    /// The systems in update order, the running one included.
    pub fn systems(&self) -> Systems<'_> {
        Systems::new(self)
    }

    /// What can be told about one system.
    pub fn system_info(&self, which: impl Which) -> Option<SystemInfo<'_>> {
        self.own(self.lent.rest.key(&which)?).map(SystemInfo::new)
    }
}

/// What can be told about a registered system.
#[derive(Clone, Copy)]
pub struct SystemInfo<'a> {
    pub(crate) own: &'a OwnState,
}

impl<'a> SystemInfo<'a> {
    pub(crate) fn new(own: &'a OwnState) -> Self {
        Self { own }
    }

    /// The handle.
    pub fn handle(&self) -> &'a Arc<str> {
        &self.own.cold.handle
    }

    /// The key.
    pub fn key(&self) -> SystemKey {
        self.own.cold.key
    }

    /// The Rust type.
    pub fn type_name(&self) -> &'static str {
        self.own.cold.of.name
    }

    /// Whether `initialize` was called.
    pub fn is_started(&self) -> bool {
        self.own.is(flag::STARTED)
    }

    /// Whether `shutdown` was called.
    pub fn is_shut_down(&self) -> bool {
        self.own.is(flag::SHUT)
    }

    /// Whether it is switched on.
    pub fn is_on(&self) -> bool {
        !self.own.is(flag::OFF)
    }

    /// The time between two updates.
    pub fn interval(&self) -> Duration {
        self.own.timing.interval()
    }

    /// The instant of its clock at which the next update is due; `None` past the end of the clock's range.
    pub fn next_due(&self) -> Option<Moment> {
        self.own.timing.next_due()
    }

    /// The number of updates begun.
    pub fn updates(&self) -> u64 {
        self.own.updates
    }

    /// What part it takes in a pass.
    pub fn policy(&self) -> Policy {
        self.own.cold.policy
    }

    /// What its listeners listen to, in the order in which they were added: Rust types, and names of named events.
    pub fn listens_to(&self) -> impl Iterator<Item = Arc<str>> + use<'a> {
        let listeners = &self.own.cold.listeners;
        listeners.iter().map(|listening| listening.label.text())
    }

    /// How many events its listeners have missed, because they were behind by more than the limit. Counted when it is
    /// their turn.
    pub fn missed_events(&self) -> u64 {
        let listeners = &self.own.cold.listeners;
        listeners.iter().map(|listening| listening.missed).sum()
    }

    /// The number of failures in `initialize`, `update`, timers, listeners, the run condition and queued commands.
    pub fn failures(&self) -> u64 {
        self.own.cold.failures
    }

    /// The elapsed time of the last update; the interval before the first one.
    pub fn elapsed(&self) -> Duration {
        Duration::from_micros(self.own.elapsed.micros())
    }

    /// The names of its timers, in the order in which they were added.
    pub fn timers(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.own.timers.names()
    }

    /// What the system reads and writes of the world, if it says so; nothing for one that may do anything.
    pub fn access(&self) -> &'a [SystemAccess] {
        let access = self.own.cold.access.as_ref();
        access.map_or(&[], |access| access.list())
    }

    /// Whether it may do anything, and so runs alone.
    pub fn is_exclusive(&self) -> bool {
        !self.own.is(flag::DECLARED)
    }

    /// Its mailbox, to send to directly.
    pub fn mailbox(&self) -> &'a Mailbox {
        self.own.cold.inbox.mailbox()
    }
}

impl fmt::Debug for SystemInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemInfo")
            .field("handle", self.handle())
            .field("type_name", &self.type_name())
            .field("key", &self.key())
            .field("started", &self.is_started())
            .field("on", &self.is_on())
            .field("interval", &self.interval())
            .field("updates", &self.updates())
            .field("failures", &self.failures())
            .finish_non_exhaustive()
    }
}
