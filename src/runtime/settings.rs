//! Timers, intervals, clocks and switches of the container's systems.

use std::time::Duration;

use super::SystemError;
use super::context::Context;
use super::listener::Listener;
use super::own;
use super::policy::Policy;
use super::system::Which;
use super::timer::Timer;
use super::unit::flag;
use crate::base::origin::Origin;
use crate::base::user;
use crate::parallel::crew::Workers;
use crate::time::SharedClock;
use crate::world::World;

impl Context<'_> {
    /// Adds a timer to any system of the container; it first fires one length from now by that system's clock.
    ///
    /// # Errors
    ///
    /// [`SystemError`]: there is no such system, the length is out of range, or the callback takes a system of another
    /// type. Nothing is added then.
    pub fn add_timer(&mut self, which: impl Which, timer: Timer) -> Result<(), SystemError> {
        let shared = self.shared;
        let running = self.this.key();
        let own = match self.named_own(which, "add_timer") {
            Ok(own) => own,
            Err(error) => return user::refuse(timer, error),
        };
        let runs = running == Some(own.cold.key);
        own::add_timer(own, timer, runs, shared)
    }

    /// Cancels every timer of this name of a system. An unknown system has none.
    pub fn clear_timer(&mut self, which: impl Which, name: &str) {
        if let Ok(own) = self.named_own(which, "clear_timer") {
            own::clear_timer(own, name);
        }
    }

    /// Adds a listener to any system of the container. It hears what is delivered from now on.
    ///
    /// # Errors
    ///
    /// [`SystemError`]: there is no such system, the callback takes a system of another type, or the listener is queued
    /// and the system is never updated. Nothing is added then.
    pub fn add_listener(
        &mut self,
        which: impl Which,
        listener: Listener,
    ) -> Result<(), SystemError> {
        let shared = self.shared;
        let own = match self.named_own(which, "add_listener") {
            Ok(own) => own,
            Err(error) => return user::refuse(listener, error),
        };
        let origin = || Origin::new(Some(&shared.handle), "add_listener");
        let updated = own.cold.policy != Policy::Storage;
        let key = own.cold.key;
        if let Err(error) = listener.check(&origin, &own.cold.handle, own.cold.of, updated) {
            return user::refuse(listener, error);
        }
        let queued = listener.is_queued();
        let listening = listener.register(self.world);
        self.lent.rest.hearing.stands_in(self.world.id());
        if let Some(own) = self.own_mut(key) {
            own.cold.listeners.push(listening);
            own.flags |= if queued { flag::SPECIAL } else { 0 };
        }
        self.lent.rest.hearing.made_for = None;
        Ok(())
    }

    /// Changes the interval of a system. The next update is due one new interval after the last one was.
    ///
    /// # Errors
    ///
    /// [`SystemError`]: there is no such system, or the interval is out of range. Nothing has changed then.
    pub fn set_interval(
        &mut self,
        which: impl Which,
        interval: Duration,
    ) -> Result<(), SystemError> {
        let shared = self.shared;
        own::set_interval(self.named_own(which, "set_interval")?, interval, shared)
    }

    /// Switches a system off or on. While it is off it is not updated and its timers do not fire; messages wait, and
    /// the schedule goes on. An update that runs is not interrupted.
    ///
    /// # Errors
    ///
    /// [`SystemError::NotFound`].
    pub fn set_system_on(&mut self, which: impl Which, on: bool) -> Result<(), SystemError> {
        own::set_flag(self.named_own(which, "set_system_on")?, flag::OFF, !on);
        Ok(())
    }

    /// Gives a system a run condition in place of its former one.
    /// See [`Registration::run_if`](crate::Registration::run_if).
    ///
    /// # Errors
    ///
    /// [`SystemError::NotFound`].
    pub fn set_run_condition(
        &mut self,
        which: impl Which,
        condition: impl FnMut(&World) -> bool + Send + 'static,
    ) -> Result<(), SystemError> {
        let own = match self.named_own(which, "set_run_condition") {
            Ok(own) => own,
            Err(error) => return user::refuse(condition, error),
        };
        let old = own.cold.condition.replace(Box::new(condition));
        own::set_flag(own, flag::CONDITION, true);
        let _ = user::release(old);
        self.lent.rest.order.touch();
        Ok(())
    }

    /// Replaces the clock of every system, and of every system registered later; `None` is the real one. Schedules,
    /// timers and elapsed times start again from the new clock's present.
    ///
    /// # Errors
    ///
    /// [`SystemError::Clock`] when the clock panics on being read. Nothing has changed then.
    pub fn set_clock(&mut self, clock: impl Into<Option<SharedClock>>) -> Result<(), SystemError> {
        let clock = clock.into().unwrap_or_default();
        let now = match own::read(&clock, &self.shared.handle, self.shared, "set_clock") {
            Ok(now) => now,
            Err(error) => return user::refuse(clock, error),
        };
        let units = self
            .lent
            .before
            .iter_mut()
            .chain(&mut *self.lent.after)
            .chain(&mut self.lent.rest.pending);
        for unit in units.filter_map(|slot| slot.unit.as_mut()) {
            unit.own.set_clock(clock.clone(), now);
        }
        if let Some(own) = &mut self.this.state {
            own.set_clock(clock.clone(), now);
        }
        let _ = user::release(std::mem::replace(&mut self.lent.rest.clock, clock));
        Ok(())
    }

    /// Replaces the clock of one system; `None` is the real one.
    ///
    /// # Errors
    ///
    /// [`SystemError`]: there is no such system, or the clock panics on being read. Nothing has changed then.
    pub fn set_system_clock(
        &mut self,
        which: impl Which,
        clock: impl Into<Option<SharedClock>>,
    ) -> Result<(), SystemError> {
        let shared = self.shared;
        let own = match self.named_own(which, "set_system_clock") {
            Ok(own) => own,
            Err(error) => return user::refuse(clock, error),
        };
        own::set_clock(own, clock.into(), shared, "set_system_clock")
    }

    /// Gives the container worker threads, on which its typed systems may run beside each other; `None` takes them away.
    /// See [`Workers`]. What comes of a pass is the same with and without.
    pub fn set_workers<'w>(&mut self, workers: impl Into<Option<&'w Workers>>) {
        let workers = workers.into().cloned();
        let old = std::mem::replace(&mut self.lent.rest.beside.workers, workers);
        // The last one to go waits for the threads.
        drop(old);
    }

    /// For tests: the typed systems that stand together run in another order in each pass, one of those that
    /// [`succeeds`](Self::succeeds) and [`precedes`](Self::precedes) allow, drawn with this seed; `None` ends that. Systems
    /// that conflict and that nobody ordered run in the order of their registration else, and a program that depends on it
    /// without saying so shows here. Systems that run alone keep their places.
    pub fn set_shuffled(&mut self, seed: Option<u64>) {
        self.lent.rest.beside.shuffle = seed;
    }

    /// A level of systems that takes less time than this stays on one thread, and a sixty-fourth more for each of its
    /// systems: waking a thread costs some microseconds, handing a system over a fraction of one. The default is 20
    /// microseconds; zero hands over everything that can be.
    pub fn set_worth_waking(&mut self, time: Duration) {
        self.lent.rest.beside.worth = time;
    }
}
