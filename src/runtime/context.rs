//! What container code is given: the world, the running system's own things, and the systems around it. What it may do
//! with them stands beside what each call is about: registry, settings, listing, export.

use std::any::Any;
use std::sync::Arc;

use super::SystemError;
use super::own::Own;
use super::rest::Rest;
use super::shared::Shared;
use super::system::{System, SystemKey, Which};
use super::unit::{OwnState, Slot, Unit, flag};
use crate::base::origin::Origin;
use crate::world::World;

/// Exclusive access to a container, as its own code has it.
///
/// `world` and `this` are fields of their own, so that `for … in cx.world.query::<…>() { cx.this.log(…) }` compiles.
///
/// Nothing here runs a pass or a start-up step: those calls belong to the container and to a claim.
///
/// ```compile_fail,E0599
/// fn nested(cx: &mut ecs::Context<'_>) { cx.update(); } // spec: RUN-09
/// ```
pub struct Context<'a> {
    /// Entities, components and resources.
    pub world: &'a mut World,
    /// The running system's messages, timers, time and log.
    pub this: Own<'a>,
    pub(crate) lent: Lent<'a>,
    pub(crate) shared: &'a Arc<Shared>,
}

/// All units but the running one, and the rest of the body.
pub(crate) struct Lent<'a> {
    pub(crate) before: &'a mut [Slot],
    /// Those behind the running one; empty when none runs.
    pub(crate) after: &'a mut [Slot],
    pub(crate) rest: &'a mut Rest,
}
impl Lent<'_> {
    pub(crate) fn slot(&self, number: usize) -> Option<&Slot> {
        if number < self.before.len() {
            return self.before.get(number);
        }
        if let Some(pending) = number.checked_sub(self.rest.first_pending) {
            return self.rest.pending.get(pending);
        }
        let behind = number.checked_sub(self.before.len() + 1)?;
        self.after.get(behind)
    }

    pub(crate) fn slot_mut(&mut self, number: usize) -> Option<&mut Slot> {
        if number < self.before.len() {
            return self.before.get_mut(number);
        }
        if let Some(pending) = number.checked_sub(self.rest.first_pending) {
            return self.rest.pending.get_mut(pending);
        }
        let behind = number.checked_sub(self.before.len() + 1)?;
        self.after.get_mut(behind)
    }

    /// A registered unit that does not run.
    pub(crate) fn unit(&self, key: SystemKey) -> Option<&Unit> {
        let unit = self
            .slot(key.slot as usize)
            .filter(|slot| slot.generation == key.generation)?
            .unit
            .as_ref()?;
        (!unit.own.is(flag::LEAVING)).then_some(unit)
    }

    pub(crate) fn unit_mut(&mut self, key: SystemKey) -> Option<&mut Unit> {
        let slot = self
            .slot_mut(key.slot as usize)
            .filter(|slot| slot.generation == key.generation)?;
        slot.unit
            .as_mut()
            .filter(|unit| !unit.own.is(flag::LEAVING))
    }

    /// Puts a unit into a free slot, or behind the end. `make` gets the key.
    pub(crate) fn insert(&mut self, make: impl FnOnce(SystemKey) -> Unit) -> SystemKey {
        if let Some(number) = self.rest.free.pop()
            && let Some(slot) = self.slot_mut(number as usize)
        {
            let key = SystemKey {
                slot: number,
                generation: slot.generation,
            };
            slot.unit = Some(make(key));
            return key;
        }
        let number = self.rest.first_pending + self.rest.pending.len();
        // Four thousand million units do not fit in memory.
        let key = SystemKey {
            slot: u32::try_from(number).unwrap_or(u32::MAX),
            generation: 0,
        };
        self.rest.pending.push(Slot {
            generation: 0,
            unit: Some(make(key)),
        });
        key
    }
}
impl Context<'_> {
    /// The state of a registered unit, the running one included.
    pub(crate) fn own(&self, key: SystemKey) -> Option<&OwnState> {
        match &self.this.state {
            Some(own) if self.runs(own, key) => (!own.is(flag::LEAVING)).then_some(&**own),
            _ => self.lent.unit(key).map(|unit| &unit.own),
        }
    }

    pub(crate) fn own_mut(&mut self, key: SystemKey) -> Option<&mut OwnState> {
        let runs = self
            .this
            .state
            .as_ref()
            .is_some_and(|own| self.runs(own, key));
        if runs {
            return self
                .this
                .state
                .as_deref_mut()
                .filter(|own| !own.is(flag::LEAVING));
        }
        self.lent.unit_mut(key).map(|unit| &mut unit.own)
    }

    /// Whether the running unit is meant. `this` is a public field: it may have come from another context.
    fn runs(&self, own: &OwnState, key: SystemKey) -> bool {
        own.cold.key == key && Arc::ptr_eq(self.this.shared, self.shared)
    }

    pub(crate) fn named_own(
        &mut self,
        which: impl Which,
        function: &'static str,
    ) -> Result<&mut OwnState, SystemError> {
        let shared = self.shared;
        let key = self.lent.rest.key(&which);
        key.and_then(|key| self.own_mut(key))
            .ok_or_else(|| SystemError::NotFound {
                origin: Origin::new(Some(&shared.handle), function),
                system: which.text(),
            })
    }

    /// The key of a registered system.
    pub fn system_key(&self, which: impl Which) -> Option<SystemKey> {
        let key = self.lent.rest.key(&which)?;
        self.own(key).map(|_| key)
    }

    /// A registered system as its own type; `None` when the type is another one, and for the running system.
    pub fn system<S: System>(&self, which: impl Which) -> Option<&S> {
        let unit = self.lent.unit(self.lent.rest.key(&which)?)?;
        let system: &dyn Any = &*unit.system;
        system.downcast_ref()
    }

    /// A registered system as its own type, to change; `None` when the type is another one, and for the running system.
    pub fn system_mut<S: System>(&mut self, which: impl Which) -> Option<&mut S> {
        let key = self.lent.rest.key(&which)?;
        let system: &mut dyn Any = &mut *self.lent.unit_mut(key)?.system;
        system.downcast_mut()
    }

    /// The state of the unit in a slot, for a listing.
    pub(crate) fn own_in_slot(&self, slot: usize) -> Option<&OwnState> {
        if let Some(slot) = self.lent.slot(slot) {
            return slot.unit.as_ref().map(|unit| &unit.own);
        }
        let own = self.this.state.as_deref()?;
        let runs = own.cold.key.slot as usize == slot && self.runs(own, own.cold.key);
        runs.then_some(own)
    }

    /// Removes the components that the running system has marked, in the order marked, and says how many went.
    /// See [`Own::mark_removal`](crate::Own::mark_removal).
    pub fn clear_marks(&mut self) -> usize {
        let Self { world, this, .. } = self;
        this.state
            .as_mut()
            .map_or(0, |own| own.cold.marks.clear(world))
    }

    /// Logs a line at level info. Short for `cx.this.log(…)`.
    pub fn log(&self, message: impl AsRef<str>) {
        self.this.log(message);
    }
}
