//! Adding and removing systems.

use std::sync::Arc;

use super::SystemError;
use super::context::{Context, Lent};
use super::listener::Listener;
use super::own::{self, Own};
use super::policy::Policy;
use super::registration::{IntoRegistration, Parts, Registration};
use super::rest::Mode;
use super::system::{System, SystemKey, SystemType, Which};
use super::timer::Timer;
use super::unit::{self, Callback, Cold, OwnState, Unit, flag, shut};
use crate::base::lock::Mutex;
use crate::base::origin::Origin;
use crate::base::user;
use crate::base::uuid::Uuid;
use crate::time::{DEFAULT_INTERVAL, Elapsed, SharedClock, TimerSet, Timing, to_micros};
use crate::world::RemovalMarks;

/// A system has been registered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registered {
    /// Its handle, the generated one if none was given.
    pub handle: Arc<str>,
    /// Its key, for access in constant time.
    pub key: SystemKey,
}
impl Context<'_> {
    /// Registers a system. It can be found, exported and messaged when the call returns.
    ///
    /// In a pass or a start-up step it is started by the next step, and updated from the next pass on. Under the handle
    /// of a registered system it replaces that one, in its place in the order; when that one is shut down, its
    /// successor is registered already.
    ///
    /// # Errors
    ///
    /// [`SystemError`]: the handle is empty, the interval or a timer's length is out of range. Nothing has changed
    /// then, and the system was dropped.
    pub fn add_system(&mut self, system: impl IntoRegistration) -> Result<Registered, SystemError> {
        let registration = system.into_registration();
        let of = system_type(&registration);
        self.register(Box::new(registration.system), of, registration.parts)
    }

    fn register(
        &mut self,
        mut system: Box<dyn System>,
        of: SystemType,
        mut parts: Parts,
    ) -> Result<Registered, SystemError> {
        let handle = parts
            .handle
            .take()
            .unwrap_or_else(|| Uuid::new().to_text().as_str().into());
        let origin = || Origin::new(Some(&self.shared.handle), "add_system");
        let clock = parts
            .clock
            .take()
            .unwrap_or_else(|| self.lent.rest.clock.clone());
        let checked = parts
            .check(&origin, &handle, of)
            .and_then(|()| self.bind(&mut *system, &handle))
            .and_then(|()| self.resolve(&parts.asked, &handle))
            .and_then(|wishes| {
                let now = own::read(&clock, &handle, self.shared, "add_system")?;
                self.wish(&wishes, "add_system")?;
                Ok(now)
            });
        let now = match checked {
            Ok(now) => now,
            Err(error) => {
                let _ = user::release(system);
                let _ = user::release(clock);
                parts.release();
                return Err(error);
            }
        };
        let lines = std::mem::take(&mut parts.lines);
        let logger = self.shared.logger.with_prefix(Arc::clone(&handle));
        let replaced = self.lent.rest.index.get(&handle).copied();
        let key = self.insert(system, of, parts, Arc::clone(&handle), clock, now);
        if let Some(old) = replaced {
            self.leave(old, true);
        }
        for held in lines {
            held.attach(&logger);
        }
        Ok(Registered { handle, key })
    }

    /// Resolves the parameters of a typed system.
    fn bind(&mut self, system: &mut dyn System, handle: &Arc<str>) -> Result<(), SystemError> {
        let Some(declared) = system.declared() else {
            return Ok(());
        };
        let bound = declared.bind(self.world);
        bound.map(drop).map_err(|fault| SystemError::Parameters {
            origin: Origin::new(Some(&self.shared.handle), "add_system"),
            system: Arc::clone(handle),
            fault,
        })
    }

    fn insert(
        &mut self,
        mut system: Box<dyn System>,
        of: SystemType,
        parts: Parts,
        handle: Arc<str>,
        clock: SharedClock,
        now: u64,
    ) -> SystemKey {
        let interval = to_micros(parts.interval.unwrap_or(DEFAULT_INTERVAL)).unwrap_or(0);
        let inbox = self.shared.routes.new_inbox(Arc::clone(&handle));
        let mailbox = inbox.mailbox().clone();
        let in_pass = self.lent.rest.mode != Mode::Idle;
        let access = system
            .declared()
            .map(|declared| Arc::new(declared.access().clone()));
        let special =
            parts.policy == Policy::Storage || parts.listeners.iter().any(Listener::is_queued);
        let flags = [
            (parts.off, flag::OFF),
            (parts.condition.is_some(), flag::CONDITION),
            (in_pass, flag::NEW),
            (special, flag::SPECIAL),
            (access.is_some(), flag::DECLARED),
            (true, flag::WATCHED),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let flags = flags.fold(0, |flags, (_, flag)| flags | flag);
        let timers = timers_from(parts.timers, now);
        let logger = self.shared.logger.with_prefix(Arc::clone(&handle));
        let policy = parts.policy;
        let world = &mut *self.world;
        let listeners = parts.listeners.into_iter();
        let listeners: Vec<_> = listeners.map(|listener| listener.register(world)).collect();
        if !listeners.is_empty() {
            self.lent.rest.hearing.stands_in(self.world.id());
        }
        let replaced = self
            .lent
            .rest
            .index
            .get(&handle)
            .and_then(|&old| self.place_in_order(old));
        let name = Arc::clone(&handle);
        let timed = self.lent.rest.timed;
        let run_times = timed.then(|| self.shared.timings.begin(&handle));
        let condition = parts.condition;
        let key = self.lent.insert(|key| {
            let cold = Box::new(Cold {
                handle,
                key,
                position: 0,
                sequence: 0,
                times: run_times,
                access,
                of,
                logger,
                inbox,
                condition,
                failures: 0,
                marks: RemovalMarks::default(),
                policy,
                listeners,
                outbox: Mutex::default(),
                in_root_step: false,
            });
            let timing = Timing::from_micros(interval, now);
            let elapsed = Elapsed::new(now, interval);
            Unit {
                system,
                own: OwnState {
                    flags,
                    typed: false,
                    clock,
                    timing,
                    elapsed,
                    timers,
                    updates: 0,
                    cold,
                },
            }
        });
        let rest = &mut *self.lent.rest;
        rest.registered += 1;
        let (position, sequence) = match replaced {
            Some((position, sequence)) => {
                rest.order.replace(position, key.slot);
                (position, sequence)
            }
            None => (rest.order.push(key.slot), rest.registered),
        };
        self.shared.running.name(key.slot as usize, &name);
        rest.index.insert(name, key);
        rest.unstarted = true;
        if in_pass {
            rest.new.push(key.slot);
        }
        let torn = rest.torn;
        if !torn {
            self.shared.routes.insert(&mailbox);
        }
        if let Some(unit) = self.lent.unit_mut(key) {
            unit.own.cold.position = position;
            unit.own.cold.sequence = sequence;
            if torn {
                // It is never started: nobody would read what is sent to it.
                unit.own.cold.inbox.close();
            }
        }
        key
    }

    fn place_in_order(&self, key: SystemKey) -> Option<(u32, u64)> {
        self.own(key)
            .map(|own| (own.cold.position, own.cold.sequence))
    }

    /// Removes a system. It is gone when the call returns: not found, not exported, not messaged, not updated.
    /// An unknown handle is a silent no-op; the result tells whether there was a system.
    ///
    /// In a pass or a start-up step its `shutdown` runs when the outermost of them ends, and it is dropped then;
    /// outside one, during this call. Of several that left in one pass, each is shut down and dropped in the order in
    /// which they left.
    pub fn remove_system(&mut self, which: impl Which) -> bool {
        let Some(key) = self.lent.rest.key(&which) else {
            return false;
        };
        match (&self.this.state, self.own(key)) {
            (_, None) => false,
            // In its own shutdown it removes nothing, and no successor either.
            (Some(this), Some(own))
                if this.is(flag::SHUT) && this.cold.handle == own.cold.handle =>
            {
                false
            }
            _ => {
                self.leave(key, false);
                true
            }
        }
    }

    /// Removes the running system. The code that runs may finish.
    pub fn remove_this(&mut self) -> bool {
        self.this.key().is_some_and(|key| self.remove_system(key))
    }

    /// Takes a unit out of the container; releases it now or at the end of what is running.
    fn leave(&mut self, key: SystemKey, replaced: bool) {
        let Some(own) = self.own_mut(key) else {
            return;
        };
        own.flags |= flag::LEAVING;
        if replaced {
            own.cold.inbox.close();
            let handle = Arc::clone(&own.cold.handle);
            if self.lent.rest.torn {
                // The successor takes no mail, so it has not taken the route over.
                self.shared.routes.remove(&handle);
            }
        } else {
            // What waited can still be read in `shutdown`.
            own.cold.inbox.collect();
            let (handle, position) = (Arc::clone(&own.cold.handle), own.cold.position);
            let own_times = own.cold.times.is_some();
            self.shared.routes.remove(&handle);
            self.lent.rest.index.remove(&handle);
            self.lent.rest.order.remove(position);
            self.lent.rest.arrangement.forget(&handle);
            if own_times {
                self.shared.timings.end(&handle);
            }
        }
        if self.lent.rest.mode == Mode::Idle {
            self.release(key.slot);
        } else {
            self.lent.rest.leaving.push(key.slot);
        }
    }

    /// Outside a pass: shuts a unit down that has left, and drops it, all during the call; also where the call comes
    /// from such a shutdown. A chain of removals that goes deeper than [`DEEPEST_RELEASE`] goes on when the calls at
    /// its end have returned, or it would need a stack as deep.
    fn release(&mut self, number: u32) {
        if self.lent.rest.releasing == DEEPEST_RELEASE {
            self.lent.rest.leaving.push(number);
            return;
        }
        self.lent.rest.releasing += 1;
        self.release_one(number);
        self.lent.rest.releasing -= 1;
        if self.lent.rest.releasing == 0 {
            while let Some(number) = self.lent.rest.leaving.pop() {
                self.release(number);
            }
        }
    }

    /// In a context of its own.
    fn release_one(&mut self, number: u32) {
        let Some(mut unit) = self
            .lent
            .slot_mut(number as usize)
            .and_then(|slot| slot.unit.take())
        else {
            return;
        };
        let runs = self.shared.running.enter(number as usize);
        shut(&mut unit, |own| Context {
            world: self.world,
            this: Own {
                state: Some(own),
                shared: self.shared,
            },
            lent: Lent {
                before: self.lent.before,
                after: self.lent.after,
                rest: self.lent.rest,
            },
            shared: self.shared,
        });
        drop(runs);
        self.world.disown(number as usize);
        // Only now may the slot be used again: the shutdown may have registered systems.
        if let Some(slot) = self.lent.slot_mut(number as usize)
            && let Some(next) = slot.generation.checked_add(1)
        {
            slot.generation = next;
            self.lent.rest.free.push(number);
        }
        unit::release(unit);
    }
}

/// How many releases outside a pass run inside each other.
const DEEPEST_RELEASE: u32 = 32;

/// The timers of a registration, counting from `now`.
fn timers_from(timers: Vec<Timer>, now: u64) -> TimerSet<Callback> {
    let mut set = TimerSet::new();
    for timer in timers {
        let length = to_micros(timer.length).unwrap_or(0);
        set.add(timer.name, length, timer.repeats, timer.callback, now);
    }
    set
}

fn system_type<S: System>(_: &Registration<S>) -> SystemType {
    SystemType::of::<S>()
}
