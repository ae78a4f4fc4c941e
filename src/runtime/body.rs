//! The body of a container: world and systems, with the mechanics of adding and removing. Whoever holds it (a claim,
//! a pass, a teardown) is alone with it.
//!
//! Units lie in slots. While one runs, its slot is split off and the slots on both sides are lent to its context:
//!
//! ```text
//!   units     [ 0  1  2 ][ 3 ][ 4  5 ]   pending [ 6  7 ]
//!               before    runs  after      what was registered while the storage was lent; its slot numbers go on
//!                                          where the storage ends, and it is appended when nothing is lent
//! ```

use std::any::Any;
use std::sync::Arc;

use super::context::{Context, Lent};
use super::own::Own;
use super::rest::{Mode, Rest};
use super::shared::Shared;
use super::system::{System, sealed};
use super::unit::{self, OwnState, Slot, Unit, flag, place, shut};
use crate::base::user;
use crate::world::{NOBODY, World};

pub(crate) struct Body {
    pub(crate) world: World,
    pub(crate) units: Vec<Slot>,
    pub(crate) rest: Rest,
}

/// One unit split off the storage and the rest of the body around it: what contexts for it are made of.
pub(crate) struct Site<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) before: &'a mut [Slot],
    pub(crate) after: &'a mut [Slot],
    pub(crate) rest: &'a mut Rest,
    pub(crate) shared: &'a Arc<Shared>,
}

impl Site<'_> {
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Site<'_> {
        Site {
            world: self.world,
            before: self.before,
            after: self.after,
            rest: self.rest,
            shared: self.shared,
        }
    }

    #[inline]
    pub(crate) fn context<'b>(&'b mut self, own: &'b mut OwnState) -> Context<'b> {
        Context {
            world: self.world,
            this: Own {
                state: Some(own),
                shared: self.shared,
            },
            lent: Lent {
                before: self.before,
                after: self.after,
                rest: self.rest,
            },
            shared: self.shared,
        }
    }

    /// A stop was asked for that ends this pass in its middle.
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.rest.stoppable && self.shared.stop_hint()
    }
}

/// The slots on both sides of one that is split off.
pub(crate) struct Around<'a> {
    before: &'a mut [Slot],
    after: &'a mut [Slot],
}

impl<'a> Around<'a> {
    #[inline]
    pub(crate) fn site(
        self,
        world: &'a mut World,
        rest: &'a mut Rest,
        shared: &'a Arc<Shared>,
    ) -> Site<'a> {
        Site {
            world,
            before: self.before,
            after: self.after,
            rest,
            shared,
        }
    }
}

/// Splits a slot off. `None` at a tombstone, and for one that is still pending.
#[inline]
pub(crate) fn split_off(units: &mut [Slot], slot: usize) -> Option<(&mut Slot, Around<'_>)> {
    if slot >= units.len() {
        return None;
    }
    let (before, tail) = units.split_at_mut(slot);
    let (running, after) = tail.split_first_mut()?;
    Some((running, Around { before, after }))
}

impl Body {
    pub(crate) fn new(world: World) -> Self {
        let mut rest = Rest::default();
        rest.hearing.world = world.id();
        Self {
            world,
            units: Vec::new(),
            rest,
        }
    }

    /// A context in which no system runs.
    pub(crate) fn context<'a>(&'a mut self, shared: &'a Arc<Shared>) -> Context<'a> {
        self.settle();
        self.adopt_world(shared);
        Context {
            world: &mut self.world,
            this: Own {
                state: None,
                shared,
            },
            lent: Lent {
                before: &mut self.units,
                after: &mut [],
                rest: &mut self.rest,
            },
            shared,
        }
    }

    /// A world that user code put in the old one's place belongs to this container from here on. No system runs.
    pub(crate) fn adopt_world(&mut self, shared: &Shared) {
        self.world.set_container(&shared.handle);
        self.world.set_author(NOBODY);
    }

    /// A stop was asked for that ends the pass in its middle.
    pub(crate) fn is_stopping(&self, shared: &Shared) -> bool {
        self.rest.stoppable && shared.stop_hint()
    }

    /// See [`split_off`]; `None` for an empty slot too.
    pub(crate) fn split<'a>(
        &'a mut self,
        slot: usize,
        shared: &'a Arc<Shared>,
    ) -> Option<(&'a mut Unit, Site<'a>)> {
        let (running, around) = split_off(&mut self.units, slot)?;
        let unit = running.unit.as_mut()?;
        Some((unit, around.site(&mut self.world, &mut self.rest, shared)))
    }

    /// A registered system as its own type.
    pub(crate) fn system_mut<S: System>(&mut self, which: &impl sealed::Which) -> Option<&mut S> {
        self.settle();
        let key = self.rest.key(which)?;
        let slot = self
            .units
            .get_mut(key.slot as usize)
            .filter(|slot| slot.generation == key.generation)?;
        let system: &mut dyn Any = &mut *slot
            .unit
            .as_mut()
            .filter(|unit| !unit.own.is(flag::LEAVING))?
            .system;
        system.downcast_mut()
    }

    /// Appends what is pending, by itself.
    #[inline]
    fn admit_pending(&mut self) {
        if !self.rest.pending.is_empty() {
            self.units.append(&mut self.rest.pending);
            self.rest.first_pending = self.units.len();
        }
    }

    /// Appends what is pending. Nothing is lent now.
    #[inline]
    pub(crate) fn settle(&mut self) {
        let rest = &self.rest;
        if !rest.pending.is_empty()
            || rest.order.has_tombstones()
            || rest.arrangement.is_behind(&rest.order)
        {
            self.settle_some();
        }
    }

    fn settle_some(&mut self) {
        self.admit_pending();
        let Self { units, rest, .. } = self;
        rest.order.settle_some(|slot, to| place(units, slot, to));
        rest.arrangement.arrange(&mut rest.order, units);
    }

    /// The same before a pass, which is to meet no tombstone.
    pub(crate) fn settle_all(&mut self) {
        self.admit_pending();
        let Self { units, rest, .. } = self;
        rest.order.settle(|slot, to| place(units, slot, to));
        rest.arrangement.arrange(&mut rest.order, units);
    }

    /// Ends a pass, a step or a teardown: releases what was removed, admits what was registered.
    pub(crate) fn finish(&mut self, shared: &Arc<Shared>) {
        if !self.rest.leaving.is_empty() && !self.release_leaving(shared) {
            return;
        }
        self.rest.mode = Mode::Idle;
        self.settle();
        while let Some(slot) = self.rest.new.pop() {
            if let Some(unit) = self
                .units
                .get_mut(slot as usize)
                .and_then(|slot| slot.unit.as_mut())
            {
                unit.own.flags &= !flag::NEW;
            }
        }
    }

    /// Releases what was removed. False: a stop came first, and the teardown does the rest.
    #[cold]
    fn release_leaving(&mut self, shared: &Arc<Shared>) -> bool {
        // A shutdown may remove further systems; the list grows behind the index.
        let mut next = 0;
        while let Some(&slot) = self.rest.leaving.get(next) {
            next += 1;
            self.admit_pending();
            self.shut(slot as usize, shared);
            let stops = |body: &Self| body.rest.mode == Mode::Pass && body.is_stopping(shared);
            if !stops(self) {
                // Before its slot is another system's. Like what fails in a shutdown, nothing more comes of it.
                let _ = self.commit(shared);
            }
            self.release(slot as usize);
            if stops(self) {
                // The teardown comes before any other user code (STOP-05), and releases the rest at its end.
                self.rest.leaving.drain(..next);
                return false;
            }
        }
        self.rest.leaving.clear();
        true
    }

    /// Calls `shutdown` on a unit that was started and not shut down yet. A failure is logged and swallowed.
    pub(crate) fn shut(&mut self, slot: usize, shared: &Arc<Shared>) {
        if let Some((unit, mut site)) = self.split(slot, shared) {
            let _runs = shared.running.enter(slot);
            site.world.set_author(slot);
            shut(unit, |own| site.context(own));
        }
    }

    fn release(&mut self, slot: usize) {
        // What its own commands have queued is left.
        self.world.disown(slot);
        if let Some(slot_of) = self.units.get_mut(slot)
            && let Some(unit) = slot_of.vacate(slot, &mut self.rest.free)
        {
            unit::release(unit);
        }
    }

    /// Shuts all systems down, the last registered first. They stay where they are.
    pub(crate) fn teardown(&mut self, shared: &Arc<Shared>) {
        shared.deferred.close();
        shared.inlet.close();
        self.rest.mode = Mode::Teardown;
        self.rest.torn = true;
        self.admit_pending();
        for position in (0..self.rest.order.len()).rev() {
            let slot = self.rest.order.slot(position);
            self.shut(slot, shared);
            if let Some((unit, _)) = self.split(slot, shared) {
                shared.routes.remove(&unit.own.cold.handle);
                unit.own.cold.inbox.close();
            }
        }
        let _ = self.commit(shared);
        self.finish(shared);
    }

    /// Drops everything, the last registered system first, the world at last.
    pub(crate) fn dismantle(mut self, shared: &Shared) {
        shared.routes.close();
        self.settle();
        let order: Vec<usize> = self.rest.order.iter().rev().collect();
        for slot in order {
            if let Some(unit) = self.units.get_mut(slot).and_then(|slot| slot.unit.take()) {
                unit::release(unit);
            }
        }
        let Self { world, units, rest } = self;
        let _ = user::release(units);
        let _ = user::release(rest);
        let _ = user::release(world);
    }
}
