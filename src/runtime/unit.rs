//! One registered system with everything that belongs to it.

use std::sync::Arc;

use super::context::Context;
use super::error::{Failure, Phase};
use super::listener::Listening;
use super::policy::Policy;
use super::run_times::RunTimes;
use super::system::{System, SystemKey, SystemResult, SystemType};
use crate::base::BoxError;
use crate::base::lock::Mutex;
use crate::base::user::{self, Mark};
use crate::event::SentEvents;
use crate::log::{Level, Logger};
use crate::message::Inbox;
use crate::parallel::access::AccessSet;
use crate::time::{Elapsed, SharedClock, TimerSet, Timing};
use crate::world::{RemovalMarks, World};

/// A timer's callback; the plain form ignores the system.
pub(crate) type Callback = Box<dyn FnMut(&mut dyn System, &mut Context<'_>) -> SystemResult + Send>;

/// A system's run condition.
pub(crate) type Condition = Box<dyn FnMut(&World) -> bool + Send>;

/// A place in the storage of units. Its number and generation are the system's key.
///
/// A generation that is used up is never given out again: the slot stays empty.
pub(crate) struct Slot {
    pub(crate) generation: u32,
    pub(crate) unit: Option<Unit>,
}

/// The system, and beside it what is lent to its context while it runs.
///
/// The pass walks the units in order and reads the first fields of each on every pass; what is needed only when
/// something happens lies behind `cold`.
pub(crate) struct Unit {
    pub(crate) system: Box<dyn System>,
    pub(crate) own: OwnState,
}

pub(crate) struct OwnState {
    pub(crate) flags: u16,
    /// A typed system runs, perhaps beside others: what it sends waits in an outbox of its own.
    pub(crate) typed: bool,
    pub(crate) clock: SharedClock,
    pub(crate) timing: Timing,
    pub(crate) elapsed: Elapsed,
    pub(crate) timers: TimerSet<Callback>,
    pub(crate) updates: u64,
    pub(crate) cold: Box<Cold>,
}

pub(crate) struct Cold {
    pub(crate) handle: Arc<str>,
    pub(crate) key: SystemKey,
    /// Where the key's slot stands in the order.
    pub(crate) position: u32,
    /// The number of the registration that its place in the order goes back to.
    pub(crate) sequence: u64,
    /// How long its updates take, if that is asked for.
    pub(crate) times: Option<Arc<RunTimes>>,
    /// What it reaches, if it says so.
    pub(crate) access: Option<Arc<AccessSet>>,
    pub(crate) of: SystemType,
    pub(crate) logger: Logger,
    pub(crate) inbox: Inbox,
    pub(crate) condition: Option<Condition>,
    pub(crate) failures: u64,
    pub(crate) marks: RemovalMarks,
    pub(crate) policy: Policy,
    pub(crate) listeners: Vec<Listening>,
    /// What it has sent while it may have run beside others: delivered in the order of the systems.
    pub(crate) outbox: Mutex<SentEvents>,
    /// A listener is being called before the updates: the last clock reading is an old one.
    pub(crate) in_root_step: bool,
}

/// The states of a unit, as bits: a unit that the pass may update without a second look has exactly `STARTED`, or
/// `WATCHED` besides.
pub(crate) mod flag {
    /// `initialize` was called.
    pub(crate) const STARTED: u16 = 1;
    /// Switched off by its user.
    pub(crate) const OFF: u16 = 2;
    /// It has a run condition.
    pub(crate) const CONDITION: u16 = 4;
    /// Registered in the running pass or step, which leaves it alone.
    pub(crate) const NEW: u16 = 8;
    /// Removed or replaced; waits for its release.
    pub(crate) const LEAVING: u16 = 16;
    /// `shutdown` was called.
    pub(crate) const SHUT: u16 = 32;
    /// It has queued listeners, or is never updated: `cold` tells.
    pub(crate) const SPECIAL: u16 = 64;
    /// It says what it reaches, so that it may run beside others.
    pub(crate) const DECLARED: u16 = 128;
    /// It may have timers, or its measurement of time begins: an update is more than one step on.
    pub(crate) const WATCHED: u16 = 256;
}

impl OwnState {
    #[inline]
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// All flags but the one that is about the next update's time.
    pub(crate) fn states(&self) -> u16 {
        self.flags & !flag::WATCHED
    }

    /// Whether an update at `now`, of a clock that never goes back, is one step on and no more.
    #[inline]
    pub(crate) fn only_steps_on(&self, now: u64) -> bool {
        self.elapsed.is_measured() && !self.timers.may_be_due(now)
    }

    /// An update begins at `now`.
    #[inline]
    pub(crate) fn measure(&mut self, now: u64) {
        if self.is(flag::WATCHED) {
            self.measure_watched(now);
        } else {
            self.elapsed.step(now.max(self.elapsed.now()));
        }
    }

    #[cold]
    fn measure_watched(&mut self, now: u64) {
        self.elapsed.measure(now, self.timing.interval_micros());
        if self.timers.is_empty() {
            self.flags &= !flag::WATCHED;
        }
    }

    /// Sets the system's clock; schedule, timers and measurement start at its present instant.
    pub(crate) fn set_clock(&mut self, clock: SharedClock, now: u64) {
        // A clock may be a user's value whose drop fails; there is nobody to tell.
        let _ = user::release(std::mem::replace(&mut self.clock, clock));
        self.restart(now);
    }

    pub(crate) fn restart(&mut self, now: u64) {
        self.timing = Timing::from_micros(self.timing.interval_micros(), now);
        self.timers.restart(now);
        self.elapsed.restart(now);
        self.flags |= flag::WATCHED;
    }

    /// Logs what failed, once, and makes the failure of it.
    #[cold]
    pub(crate) fn fail(&mut self, phase: Phase, error: BoxError) -> Failure {
        let error = match Failure::from_another(error) {
            Ok(failure) => return failure,
            Err(own) => own,
        };
        self.cold.failures += 1;
        let failure = Failure::new(&self.cold.handle, self.cold.of.name, phase, error);
        log_failure(&self.cold.logger, &failure);
        failure
    }
}

/// The one line of a failure, through a logger that puts the handle in front. The text of a user's error is user code.
#[cold]
pub(crate) fn log_failure(logger: &Logger, failure: &Failure) {
    let text = user::call(|| failure.error().to_string())
        .unwrap_or_else(|panic| format!("its error text {panic}"));
    logger.log_at(
        Level::Error,
        format!("failed in {}: {text}", failure.phase()),
    );
}

/// User code that returns a result: its panic is its error.
#[inline]
pub(crate) fn call(code: impl FnOnce() -> SystemResult) -> SystemResult {
    user::call(code).unwrap_or_else(|panic| Err(panic.into()))
}

/// As [`call`], under a mark that the caller holds over the whole pass.
#[inline]
pub(crate) fn call_under(mark: &Mark, code: impl FnOnce() -> SystemResult) -> SystemResult {
    match user::call_under(mark, code) {
        Ok(result) => result,
        Err(panic) => Err(panic.into()),
    }
}

/// Drops a unit piece by piece, each user value by itself, so that a panic of one leaves no other behind.
pub(crate) fn release(unit: Unit) {
    let Unit { system, mut own } = unit;
    for callback in own.timers.take_all() {
        let _ = user::release(callback);
    }
    let _ = user::release(system);
    let _ = user::release(own.cold.condition.take());
    for listening in own.cold.listeners.drain(..) {
        listening.release();
    }
    let _ = user::release(own);
}

/// Calls `shutdown` on a unit that was started and not shut down yet.
pub(crate) fn shut<'a>(unit: &'a mut Unit, context: impl FnOnce(&'a mut OwnState) -> Context<'a>) {
    let Unit { system, own } = unit;
    if own.flags & (flag::STARTED | flag::SHUT) != flag::STARTED {
        return;
    }
    own.flags |= flag::SHUT;
    own.cold.inbox.collect();
    let (handle, type_name) = (Arc::clone(&own.cold.handle), own.cold.of.name);
    let logger = own.cold.logger.clone();
    let mut cx = context(own);
    if let Err(error) = call(|| system.shutdown(&mut cx)) {
        let failure = Failure::new(&handle, type_name, Phase::Shutdown, error);
        log_failure(&logger, &failure);
        let _ = user::release(failure);
    }
}

impl Slot {
    /// Takes the unit out, and makes the slot ready for another one under the next generation.
    pub(crate) fn vacate(&mut self, number: usize, free: &mut Vec<u32>) -> Option<Unit> {
        let unit = self.unit.take()?;
        // The last generation is not followed by another one: the slot is retired.
        if let (Some(next), Ok(number)) = (self.generation.checked_add(1), u32::try_from(number)) {
            self.generation = next;
            free.push(number);
        }
        Some(unit)
    }
}

/// Tells a unit its position in the order.
pub(crate) fn place(units: &mut [Slot], slot: usize, position: u32) {
    if let Some(unit) = units.get_mut(slot).and_then(|slot| slot.unit.as_mut()) {
        unit.own.cold.position = position;
    }
}

/// Whether a unit that is due is one to be updated, is switched on, and its run condition holds.
#[cold]
pub(crate) fn may_run(own: &mut OwnState, world: &World) -> Result<bool, Failure> {
    if own.is(flag::OFF) || own.cold.policy == Policy::Storage {
        return Ok(false);
    }
    let Some(condition) = &mut own.cold.condition else {
        return Ok(true);
    };
    match user::call(|| condition(world)) {
        Ok(holds) => Ok(holds),
        Err(panic) => Err(own.fail(Phase::Condition, panic.into())),
    }
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "a tenth of what a unit costs that is not due"
)]
pub(crate) fn read_clock(own: &mut OwnState) -> Result<u64, Failure> {
    match own.clock.read() {
        Ok(now) => Ok(now),
        Err(panic) => Err(own.fail(Phase::Update, panic.into())),
    }
}
