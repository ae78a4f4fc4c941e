//! One pass: deferred functions, events, start-up step, updates in order.
//!
//! The loop goes over positions of the order up to the length at its beginning. User code changes the order only by
//! leaving tombstones, by putting a replacement in a position, and by appending; so an index stays good, and nothing is
//! copied. Each unit is split off its storage while it runs; nothing needs to be put back after a panic.

use std::ops::Range;
use std::sync::Arc;

use super::beside::may_overlap;
use super::body::{Body, Site, split_off};
use super::hearing::hear_queued;
use super::policy::Policy;
use super::rest::Mode;
use super::segment::Segment;
use super::shared::Shared;
use super::statistics::Stopwatch;
use super::system::System;
use super::unit::{self, OwnState, Unit, flag, may_run, read_clock};
use super::{Failure, Phase};
use crate::base::BoxError;
use crate::base::lock::Ordering;
use crate::base::user::{self, Mark};

impl Body {
    /// Runs one pass. When a stop ended it, what it removed waits for the teardown, which comes next.
    pub(crate) fn pass(&mut self, shared: &Arc<Shared>, stoppable: bool) -> Result<(), Failure> {
        self.rest.stoppable = stoppable;
        self.adopt_world(shared);
        let outcome = self.run_deferred(shared).and_then(|()| {
            self.settle_all();
            self.rest.mode = Mode::Pass;
            let end = self.rest.order.len();
            self.deliver_events(shared)?;
            self.start_up(end, shared)?;
            // What was queued so far is there for the first update.
            if self.world.is_unsettled() {
                self.commit_unless_stopping(shared)?;
            }
            self.update_all(end, shared)
        });
        shared.running.nobody();
        self.end(shared, outcome)
    }

    /// Runs the start-up step by itself.
    pub(crate) fn step(&mut self, shared: &Arc<Shared>, stoppable: bool) -> Result<(), Failure> {
        self.rest.stoppable = stoppable;
        self.adopt_world(shared);
        self.settle();
        self.rest.mode = Mode::Pass;
        let outcome = self.start_up(self.rest.order.len(), shared);
        self.end(shared, outcome)
    }

    /// Updates one system, due or not; starts it before if need be.
    pub(crate) fn update_one(&mut self, slot: usize, shared: &Arc<Shared>) -> Result<(), Failure> {
        self.rest.stoppable = true;
        self.adopt_world(shared);
        self.settle();
        self.rest.mode = Mode::Pass;
        let started = self.split(slot, shared);
        let outcome = started
            .map_or(Ok(()), |(unit, mut site)| start(unit, &mut site))
            .and_then(|()| self.commit_unless_stopping(shared))
            .and_then(|()| match self.split(slot, shared) {
                Some((unit, mut site)) => update_now(unit, &mut site),
                None => Ok(()),
            });
        self.end(shared, outcome)
    }

    /// Ends a pass or a part of one: what was asked for in it is done, also where it failed. When a stop ended it, the
    /// teardown comes next, before any other user code (STOP-05), and does that.
    fn end(&mut self, shared: &Arc<Shared>, outcome: Result<(), Failure>) -> Result<(), Failure> {
        let outcome = if self.world.is_unsettled() {
            let committed = self.commit_unless_stopping(shared);
            outcome.and(committed)
        } else {
            outcome
        };
        if !self.is_stopping(shared) {
            self.finish(shared);
        }
        outcome
    }

    #[cold]
    fn commit_unless_stopping(&mut self, shared: &Arc<Shared>) -> Result<(), Failure> {
        if self.is_stopping(shared) {
            return Ok(());
        }
        self.commit(shared)
    }

    /// What they change counts as changed just before the pass (DEF-09): the mode is still idle.
    fn run_deferred(&mut self, shared: &Arc<Shared>) -> Result<(), Failure> {
        if !shared.deferred.is_ready() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.rest.batch);
        shared.deferred.take_into(&mut batch);
        let mut outcome = Ok(());
        let mark = Mark::enter();
        for function in batch.drain(..) {
            if self.is_stopping(shared) {
                function.discard();
                continue;
            }
            let mut cx = self.context(shared);
            if let Err(failure) = function.run(&mut cx, &mark)
                && outcome.is_ok()
            {
                outcome = Err(failure);
            }
        }
        self.rest.batch = batch;
        outcome
    }

    fn start_up(&mut self, end: usize, shared: &Arc<Shared>) -> Result<(), Failure> {
        if !std::mem::take(&mut self.rest.unstarted) {
            return Ok(());
        }
        // What a listener has registered is left to the next pass.
        self.rest.unstarted = !self.rest.new.is_empty();
        for position in 0..end {
            if self.is_stopping(shared) {
                break;
            }
            let slot = self.rest.order.slot(position);
            if let Some((unit, mut site)) = self.split(slot, shared)
                && let Err(failure) = start(unit, &mut site)
            {
                self.rest.unstarted = true;
                return Err(failure);
            }
        }
        Ok(())
    }

    fn update_all(&mut self, end: usize, shared: &Arc<Shared>) -> Result<(), Failure> {
        // Whoever silences the bell looks into every inbox before it forgets the ring. A pass that ends early leaves the
        // note for the next one.
        self.rest.mail |= shared.routes.bell().silence();
        let mark = Mark::enter();
        let Self { units, rest, .. } = self;
        rest.beside
            .find_floating(&rest.order, units, &rest.arrangement);
        let mut next = 0;
        let mut segments = 0;
        if !rest.beside.floating.is_empty() {
            next = self.segment(shared).run(segments, 0, end)?;
            segments += 1;
        }
        let mut watch = Stopwatch::new(self.rest.timed);
        while let Some(position) = self.update_plain(next..end, shared, &mark)? {
            next = position + 1;
            let slot = self.rest.order.slot(position);
            if self.rest.beside.has_floated(slot) {
                continue;
            }
            let Some((unit, site)) = self.split(slot, shared) else {
                continue;
            };
            if may_overlap(unit) {
                next = self.segment(shared).run(segments, position, end)?;
                segments += 1;
                // The next update begins here.
                watch = Stopwatch::new(self.rest.timed);
            } else if !visit_special(unit, site, &mut watch, &mark)? {
                return Ok(());
            }
        }
        // What was sent during the start-up step to a system registered in it waits behind a ring that is forgotten by
        // now: the next pass looks for it.
        self.rest.mail &= !self.rest.new.is_empty();
        Ok(())
    }

    fn segment<'a>(&'a mut self, shared: &'a Arc<Shared>) -> Segment<'a> {
        Segment {
            world: &mut self.world,
            units: &mut self.units,
            mail: self.rest.mail,
            rest: &mut self.rest,
            shared,
        }
    }

    /// Updates the units at these positions of the order. It ends at the first that asks for a second look, tells where that
    /// stands, and knows nothing of what such units need; when updates are timed, all ask for it.
    fn update_plain(
        &mut self,
        positions: Range<usize>,
        shared: &Arc<Shared>,
        mark: &Mark,
    ) -> Result<Option<usize>, Failure> {
        if self.rest.timed {
            return Ok((!positions.is_empty()).then_some(positions.start));
        }
        let mail = self.rest.mail || shared.routes.bell().is_rung();
        let straight = self.rest.order.straight();
        let run = || match (mail, positions.start < straight) {
            (false, true) => self.update_run::<false, true>(positions, shared, mark),
            (true, true) => self.update_run::<true, true>(positions, shared, mark),
            (false, false) => self.update_run::<false, false>(positions, shared, mark),
            (true, false) => self.update_run::<true, false>(positions, shared, mark),
        };
        user::call_under(mark, run)
            .unwrap_or_else(|panic| Err(self.fail_running(shared, panic.into())))
    }

    /// What fails in the unit that was called last, which has had no other chance to tell.
    #[cold]
    fn fail_running(&mut self, shared: &Shared, error: BoxError) -> Failure {
        let slot = self.units.get_mut(shared.running.slot());
        match slot.and_then(|slot| slot.unit.as_mut()) {
            Some(unit) => unit.own.fail(Phase::Update, error),
            None => {
                unreachable!("a unit that was called in a pass stays in its slot until the end")
            }
        }
    }

    /// The hot loop. Without mail it listens to the bell before each unit that is due: a stop rings it as mail does. Once it
    /// has rung, that unit gets the second look, which is right for any, and the loop goes on with mail, until the next pass
    /// silences the bell.
    ///
    /// Where the order is straight it goes over the units themselves. A panic of an update is caught around the loop, as it
    /// ends the pass anyway: whose it is, the note of what runs tells.
    #[inline(never)]
    fn update_run<const MAIL: bool, const STRAIGHT: bool>(
        &mut self,
        positions: Range<usize>,
        shared: &Arc<Shared>,
        mark: &Mark,
    ) -> Result<Option<usize>, Failure> {
        let bell = shared.routes.bell().flag();
        let Self { world, units, rest } = self;
        let units = units.as_mut_slice();
        let (mut end, mut found) = (positions.end, None);
        if STRAIGHT {
            let straight = rest.order.straight().min(units.len());
            if straight < end {
                (end, found) = (straight, Some(straight));
            }
        }
        for position in positions.start..end {
            let slot = if STRAIGHT {
                position
            } else {
                rest.order.slot(position)
            };
            let Some((running, around)) = split_off(units, slot) else {
                return Ok(Some(position));
            };
            let unit = running.unit.as_mut();
            // One comparison for both.
            let (unit, now) = if let Some(unit) = unit
                && unit.own.clock.is_manual()
            {
                let Some(now) = unit.own.clock.read_manual() else {
                    return Ok(Some(position));
                };
                // Who is not due is passed over, whatever else there is about it; but typed systems are one segment.
                if !MAIL && unit.own.timing.is_early(now) && !unit.own.is(flag::DECLARED) {
                    continue;
                }
                (unit, now)
            } else {
                let Some((unit, now)) = read_real(&mut running.unit) else {
                    return Ok(Some(position));
                };
                if !MAIL && unit.own.timing.is_early(now) {
                    continue;
                }
                (unit, now)
            };
            let mut is_plain = unit.own.flags == flag::STARTED;
            if !is_plain {
                if unit.own.states() != flag::STARTED {
                    return Ok(Some(position));
                }
                is_plain = unit.own.only_steps_on(now);
            }
            if MAIL {
                if rest.stoppable && shared.stop_hint() {
                    return Ok(Some(position));
                }
                unit.own.cold.inbox.collect();
            } else if bell.load(Ordering::Relaxed) {
                return Ok(Some(position));
            }
            if !is_plain {
                update_watched(unit, around.site(world, rest, shared), now, mark)?;
            } else if unit.own.timing.check_forward(now) {
                let Unit { system, own } = unit;
                shared.running.note(slot);
                world.set_author(slot);
                own.elapsed.step(now);
                own.updates += 1;
                let mut site = around.site(world, rest, shared);
                let mut cx = site.context(own);
                if let Err(error) = user::call_caught(mark, || system.update(&mut cx)) {
                    return Err(own.fail(Phase::Update, error));
                }
            }
        }
        Ok(found)
    }
}

/// The reading of a started unit's real clock. Not worth a place in the loop: it takes many times what the call does.
#[inline(never)]
fn read_real(unit: &mut Option<Unit>) -> Option<(&mut Unit, u64)> {
    let unit = unit
        .as_mut()
        .filter(|unit| unit.own.states() == flag::STARTED)?;
    let now = unit.own.clock.read_real()?;
    Some((unit, now))
}

/// A second look at a unit: it may not be started, may be off, have a condition, timers, queued listeners, a clock of the
/// user's, be one that is never updated, be at its first update or be timed. False: a stop ends the pass.
#[inline(never)]
fn visit_special(
    unit: &mut Unit,
    site: Site<'_>,
    watch: &mut Stopwatch,
    mark: &Mark,
) -> Result<bool, Failure> {
    // A replacement that was registered in this pass: the next one starts it. What it gets meanwhile becomes readable
    // at its first update (DEL-04).
    if !unit.own.is(flag::STARTED) {
        return Ok(true);
    }
    if site.rest.mail || site.shared.routes.bell().is_rung() {
        if site.is_stopping() {
            return Ok(false);
        }
        unit.own.cold.inbox.collect();
    }
    let now = read_clock(&mut unit.own)?;
    if unit.own.timing.check(now) && may_run(&mut unit.own, site.world)? {
        let outcome = note_and_update(unit, site, now, mark);
        watch.ended(&unit.own);
        outcome?;
    }
    Ok(true)
}

/// Updates a unit that is due, with all that an update may take.
#[inline(never)]
fn update_watched(unit: &mut Unit, site: Site<'_>, now: u64, mark: &Mark) -> Result<(), Failure> {
    if unit.own.timing.check(now) {
        note_and_update(unit, site, now, mark)
    } else {
        Ok(())
    }
}

fn note_and_update(unit: &mut Unit, site: Site<'_>, now: u64, mark: &Mark) -> Result<(), Failure> {
    let slot = unit.own.cold.key.slot as usize;
    site.shared.running.note(slot);
    site.world.set_author(slot);
    update(unit, site, now, mark)
}

/// Initialises a unit that waits for it.
fn start(unit: &mut Unit, site: &mut Site<'_>) -> Result<(), Failure> {
    let Unit { system, own } = unit;
    if own.is(flag::STARTED | flag::NEW | flag::LEAVING) || site.rest.torn {
        return Ok(());
    }
    own.flags |= flag::STARTED;
    let slot = own.cold.key.slot as usize;
    let _runs = site.shared.running.enter(slot);
    site.world.set_author(slot);
    let mut cx = site.context(own);
    match unit::call(|| system.initialize(&mut cx)) {
        Ok(()) => Ok(()),
        Err(error) => Err(own.fail(Phase::Initialize, error)),
    }
}

/// `update_system` after the start: outside the order, due or not.
fn update_now(unit: &mut Unit, site: &mut Site<'_>) -> Result<(), Failure> {
    // Its `initialize` may have removed it, or asked for a stop.
    if unit.own.is(flag::LEAVING) || site.is_stopping() {
        return Ok(());
    }
    if unit.own.cold.policy == Policy::Storage {
        return Ok(());
    }
    unit.own.cold.inbox.collect();
    let now = read_clock(&mut unit.own)?;
    let slot = unit.own.cold.key.slot as usize;
    let _runs = site.shared.running.enter(slot);
    site.world.set_author(slot);
    let mut watch = Stopwatch::new(site.rest.timed);
    let outcome = update(unit, site.reborrow(), now, &Mark::enter());
    watch.ended(&unit.own);
    outcome
}

/// One update: elapsed time, timers, queued listeners if it can have any, `update`, all from one clock reading.
#[inline(never)]
fn update(unit: &mut Unit, mut site: Site<'_>, now: u64, mark: &Mark) -> Result<(), Failure> {
    let Unit { system, own } = unit;
    own.measure(now);
    if own.timers.may_be_due(own.elapsed.now()) {
        // A site of its own: this one need not lie in memory where no timer is due.
        let goes_on = fire(&mut **system, own, site.reborrow(), mark)?;
        if !goes_on {
            return Ok(());
        }
    }
    if own.is(flag::SPECIAL) && !hear_queued(&mut **system, own, &mut site, mark)? {
        return Ok(());
    }
    own.updates += 1;
    let mut cx = site.context(own);
    match unit::call_under(mark, || system.update(&mut cx)) {
        Ok(()) => Ok(()),
        Err(error) => Err(own.fail(Phase::Update, error)),
    }
}

/// Fires the timers that are due, in the order in which they were added, and tells whether the update goes on: not when
/// one of them has removed its system or switched it off, or asked for a stop.
fn fire(
    system: &mut dyn System,
    own: &mut OwnState,
    mut site: Site<'_>,
    mark: &Mark,
) -> Result<bool, Failure> {
    own.timers.begin();
    let mut outcome = Ok(true);
    // A callback may replace the clock; the reading is then the new clock's.
    while let Some(mut due) = own.timers.next_due(own.elapsed.now()) {
        // `update_system` also updates a system that is off.
        let ends = flag::LEAVING | (!own.flags & flag::OFF);
        let mut cx = site.context(own);
        let result = unit::call_under(mark, || (due.callback)(system, &mut cx));
        let name = result.is_err().then(|| Arc::clone(&due.name));
        if let Some(callback) = own.timers.fired(due) {
            let _ = user::release(callback);
        }
        if let (Err(error), Some(name)) = (result, name) {
            outcome = Err(own.fail(Phase::Timer(name), error));
            break;
        }
        if own.is(ends) || site.is_stopping() {
            outcome = Ok(false);
            break;
        }
    }
    own.timers.end();
    outcome
}
