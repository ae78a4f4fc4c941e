//! Systems that run beside each other: a run of typed systems in the order, level by level.
//!
//! ```text
//!   order      exclusive | typed typed typed typed | exclusive | typed ...
//!                          `------ segment ------'               a segment ends where something exclusive stands
//!
//!   one level  choose    which of its systems are due: mail, clock, schedule, switch and condition, in order
//!              lend      what they write is taken out of the world, in order
//!              run       in order on this thread, or on the workers as well
//!              settle    everything is put back, in order
//!   segment's  deliver   what the systems have queued, in the order of the systems
//!   end
//! ```
//!
//! Steps, levels and their order are the same whether there are workers or not, and however many; only *run* differs.
//!
//! A failure, or a stop that ends the pass, lets the systems under way finish; no further one begins, and one that was
//! chosen and has not begun is as it was before. Everything lent is put back in any case.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrangement::{pairs, topological};
use super::beside::{Chosen, Ground, Jobs, Level, Member, Plan, access_of, may_overlap, run};
use super::declared::{Lender, Steps};
use super::error::{Failure, Phase};
use super::rest::Rest;
use super::shared::Shared;
use super::statistics::{Stopwatch, record};
use super::unit::{Slot, Unit, flag, may_run, read_clock};
use crate::base::lock::Ordering;
use crate::base::user::Mark;
use crate::parallel::crew::{Help, Workers};
use crate::parallel::levels::levels;
use crate::world::World;

/// The part of a pass in which typed systems run.
pub(super) struct Segment<'a> {
    pub(super) world: &'a mut World,
    pub(super) units: &'a mut [Slot],
    pub(super) rest: &'a mut Rest,
    pub(super) shared: &'a Arc<Shared>,
    /// Mail has arrived that not every unit has looked for.
    pub(super) mail: bool,
}

impl Segment<'_> {
    /// Runs the typed systems from a position on, up to the first that is none, or to `end`. Tells where it ended.
    /// `number` counts the segments of the pass; the first one takes all independent systems along that share nothing. By
    /// itself, or the hot loop it is called from would make room for it.
    #[inline(never)]
    pub(super) fn run(
        &mut self,
        number: usize,
        first: usize,
        end: usize,
    ) -> Result<usize, Failure> {
        let plans = &mut self.rest.beside.plans;
        if plans.len() <= number {
            plans.resize_with(number + 1, Plan::default);
        }
        let known = std::mem::take(&mut plans[number]);
        let (mut plan, position) = match self.fits(&known, number, first, end) {
            Some(position) => (known, position),
            None => self.plan(number, first, end),
        };
        let outcome = self.run_levels(&mut plan);
        self.deliver(&plan.deliver);
        if let Some(place) = self.rest.beside.plans.get_mut(number) {
            *place = plan;
        }
        outcome.map(|()| position)
    }

    /// The systems of a segment are those that may overlap from a position on; `meet` is told of each and may end it. Tells
    /// where it ended.
    fn walk(&self, first: usize, end: usize, mut meet: impl FnMut(u32) -> bool) -> usize {
        let floats = !self.rest.beside.floating.is_empty();
        for (at, &number) in self.rest.order.range(first..end).iter().enumerate() {
            let slot = number as usize;
            match self.unit(slot) {
                Some(_) if floats && self.rest.beside.has_floated(slot) => {}
                Some(unit) if may_overlap(unit) && meet(number) => {}
                Some(_) => return first + at,
                None => {}
            }
        }
        end
    }

    /// Whether a plan is that of the systems from a position on; then, where these end.
    fn fits(&self, plan: &Plan, number: usize, first: usize, end: usize) -> Option<usize> {
        let current = (self.rest.order.version(), self.world.id());
        if (plan.version, plan.world) != current || self.rest.beside.shuffle.is_some() {
            return None;
        }
        let mut slots = &*plan.slots;
        if number == 0 {
            slots = slots.strip_prefix(&*self.rest.beside.floating)?;
        }
        let mut planned = slots.iter();
        let mut same = true;
        let position = self.walk(first, end, |slot| {
            same = planned.next() == Some(&slot);
            same
        });
        (same && planned.next().is_none()).then_some(position)
    }

    /// Makes the plan of the systems from a position on, and tells where these end.
    #[cold]
    fn plan(&mut self, number: usize, first: usize, end: usize) -> (Plan, usize) {
        let mut slots = Vec::new();
        if number == 0 {
            slots.extend_from_slice(&self.rest.beside.floating);
        }
        let position = self.walk(first, end, |slot| {
            slots.push(slot);
            true
        });
        let plan = match self.rest.beside.shuffle {
            Some(state) => self.shuffled_plan(&slots, state),
            None => self.make_plan(&slots),
        };
        (plan, position)
    }

    /// Hands over what the systems have queued and sent, in their order, behind what was sent before.
    fn deliver(&mut self, members: &[Member]) {
        if self.shared.inlet.is_ready() {
            self.rest.take_sent(self.world, self.shared);
        }
        for &Member { slot, steps } in members {
            let Some(Unit { system, own }) = unit_mut(self.units, slot) else {
                continue;
            };
            if steps.include(Steps::DELIVER)
                && let Some(declared) = system.declared()
            {
                declared.deliver(self.world, slot as usize);
            }
            if steps.include(Steps::SEND) {
                own.deliver_sent(self.world);
            }
        }
    }

    fn unit(&self, slot: usize) -> Option<&Unit> {
        self.units.get(slot)?.unit.as_ref()
    }

    fn is_stopping(&self) -> bool {
        self.rest.stoppable && self.shared.stop_hint()
    }

    /// A plan for one of the orders that the wishes allow.
    #[cold]
    fn shuffled_plan(&mut self, slots: &[u32], mut state: u64) -> Plan {
        let wishes = self.wishes(slots);
        let order = topological(slots.len(), &wishes, |ready| {
            let mut places = std::mem::take(ready).into_vec();
            if places.is_empty() {
                return None;
            }
            places.sort();
            state = next_random(state);
            let drawn = usize::try_from(state % places.len() as u64).unwrap_or(0);
            let Reverse(place) = places.swap_remove(drawn);
            *ready = places.into();
            Some(place)
        });
        self.rest.beside.shuffle = Some(state);
        let shuffled: Vec<u32> = order.iter().map(|&place| slots[place]).collect();
        self.make_plan(&shuffled)
    }

    fn make_plan(&mut self, slots: &[u32]) -> Plan {
        let mut members = Vec::with_capacity(slots.len());
        let mut access = Vec::with_capacity(slots.len());
        for &slot in slots {
            let unit = unit_mut(self.units, slot);
            let (steps, reached) = unit
                .map(|unit| (resolve(unit, self.world), access_of(&unit.own)))
                .unwrap_or_default();
            members.push(Member { slot, steps });
            access.push(reached);
        }
        let wishes = self.wishes(slots);
        let levels_of = levels(&access, |place| {
            let before = wishes.iter().filter(|(_, second)| *second == place);
            before.map(|(first, _)| *first).collect()
        });
        let mut by_level: Vec<usize> = (0..slots.len()).collect();
        by_level.sort_by_key(|&place| levels_of[place]);
        let mut levels: Vec<Level> = Vec::new();
        for (at, &place) in by_level.iter().enumerate() {
            if levels_of[place] == levels.len() {
                levels.push(Level {
                    end: at,
                    steps: Steps::NONE,
                    took: Duration::MAX,
                    count: 0,
                });
            }
            if let Some(level) = levels.last_mut() {
                level.end = at + 1;
                level.steps = level.steps.and(members[place].steps);
            }
        }
        let hands_over = Steps::DELIVER.and(Steps::SEND);
        let deliver = members.iter().filter(|one| one.steps.include(hands_over));
        Plan {
            version: self.rest.order.version(),
            world: self.world.id(),
            slots: slots.to_vec(),
            by_level: by_level.iter().map(|&place| members[place]).collect(),
            levels,
            deliver: deliver.copied().collect(),
        }
    }

    /// The wishes between these systems, as places in the list.
    fn wishes(&self, slots: &[u32]) -> Vec<(usize, usize)> {
        let units = slots.iter().map(|&slot| self.unit(slot as usize));
        let places = units.enumerate().filter_map(|(place, unit)| {
            let unit = unit?;
            Some((&*unit.own.cold.handle, place))
        });
        pairs(&self.rest.arrangement.wishes, &places.collect())
    }

    fn run_levels(&mut self, plan: &mut Plan) -> Result<(), Failure> {
        let mut first = 0;
        for level in &mut plan.levels {
            if self.is_stopping() {
                return Ok(());
            }
            let members = plan.by_level.get(first..level.end).unwrap_or_default();
            first = level.end;
            let mut chosen = std::mem::take(&mut self.rest.beside.chosen);
            chosen.clear();
            let refused = self.choose(members, &mut chosen).err();
            let lends = level.steps.include(Steps::LEND);
            if lends {
                self.lend(&chosen);
            }
            if !chosen.is_empty() {
                self.run_level(level, &mut chosen);
            }
            if lends {
                self.settle(&chosen);
            }
            let outcome = self.judge(&chosen);
            self.rest.beside.chosen = chosen;
            outcome?;
            if let Some(failure) = refused {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Finds out who is due. Whoever cannot be asked ends the pass; those before it still run.
    fn choose(&mut self, members: &[Member], chosen: &mut Vec<Chosen>) -> Result<(), Failure> {
        const JUST_STARTED: u16 = flag::STARTED | flag::DECLARED;
        let bell = self.shared.routes.bell().flag();
        for &Member { slot, steps } in members {
            let Some(Unit { system, own }) = unit_mut(self.units, slot) else {
                continue;
            };
            if !own.is(flag::STARTED) {
                continue;
            }
            if self.mail || bell.load(Ordering::Relaxed) {
                own.cold.inbox.collect();
            }
            let now = read_clock(own)?;
            let timing = own.timing;
            if !own.timing.check(now) {
                continue;
            }
            if own.flags != JUST_STARTED && !may_run(own, self.world)? {
                continue;
            }
            if steps.include(Steps::BIND)
                && let Some(declared) = system.declared()
                && let Err(fault) = declared.bind(self.world)
            {
                return Err(own.fail(Phase::Update, fault.into()));
            }
            chosen.push(Chosen {
                slot,
                steps,
                begun: false,
                now,
                timing,
            });
        }
        Ok(())
    }

    fn lend(&mut self, chosen: &[Chosen]) {
        let with_ids = chosen
            .iter()
            .filter(|one| one.steps.include(Steps::LEND_IDS));
        let mut lender = Lender {
            among: u32::try_from(with_ids.count()).unwrap_or(u32::MAX),
            world: self.world,
            turn: 0,
        };
        for one in chosen.iter().filter(|one| one.steps.include(Steps::LEND)) {
            if let Some(unit) = unit_mut(self.units, one.slot)
                && let Some(declared) = unit.system.declared()
            {
                declared.lend(&mut lender);
            }
        }
    }

    /// Puts everything back.
    fn settle(&mut self, chosen: &[Chosen]) {
        for one in chosen.iter().filter(|one| one.steps.include(Steps::LEND)) {
            if let Some(unit) = unit_mut(self.units, one.slot)
                && let Some(declared) = unit.system.declared()
            {
                declared.settle(self.world);
            }
        }
        self.world.end_lending();
    }

    /// Gives the first failure in order. A failure is logged when it is made. Whoever has not begun is as before.
    fn judge(&mut self, chosen: &[Chosen]) -> Result<(), Failure> {
        for one in chosen.iter().filter(|one| !one.begun) {
            if let Some(unit) = unit_mut(self.units, one.slot) {
                unit.own.timing = one.timing;
            }
        }
        let mut outcome = Ok(());
        for (place, error) in self.rest.beside.failed.drain(..) {
            if let Some(one) = chosen.get(place)
                && let Some(unit) = unit_mut(self.units, one.slot)
            {
                let failure = unit.own.fail(Phase::Update, error);
                outcome = outcome.and(Err(failure));
            }
        }
        outcome
    }

    /// Runs what was chosen, and notes how long it took all together, where that decides anything.
    fn run_level(&mut self, level: &mut Level, chosen: &mut [Chosen]) {
        let beside = &self.rest.beside;
        let workers = beside.workers.as_ref().filter(|_| chosen.len() > 1);
        let Some(workers) = workers else {
            self.run_here(chosen);
            return;
        };
        // To hand over a task takes its time too: a sixty-fourth of what waking takes.
        let tasks = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
        let worth = beside.worth + (beside.worth / 64).saturating_mul(tasks);
        level.took = if workers.count() == 0 || level.took < worth {
            let begin = Instant::now();
            self.run_here(chosen);
            begin.elapsed()
        } else {
            let workers = workers.clone();
            self.run_on(&workers, chosen, level.share())
        };
        level.count = chosen.len();
    }

    fn run_here(&mut self, chosen: &mut [Chosen]) {
        let mark = Mark::enter();
        let mut watch = Stopwatch::new(self.rest.timed);
        for (place, one) in chosen.iter_mut().enumerate() {
            if self.is_stopping() {
                return;
            }
            let Some(unit) = unit_mut(self.units, one.slot) else {
                continue;
            };
            let result = run(unit, one, self.world, self.shared, &mark);
            watch.ended(&unit.own);
            if let Err(error) = result {
                self.rest.beside.failed.push((place, error));
                return;
            }
        }
    }

    /// Units and world are handed over and come back. Tells how long they took together.
    fn run_on(&mut self, workers: &Workers, chosen: &mut [Chosen], share: usize) -> Duration {
        let beside = &mut self.rest.beside;
        let mut kept = beside
            .shelf
            .take()
            .unwrap_or_else(|| Arc::new(World::new()));
        exchange(&mut kept, self.world);
        let Jobs { idle, full } = &mut beside.jobs;
        for one in &*chosen {
            let mut job = idle.pop().unwrap_or_default();
            if let Some(slot) = self.units.get_mut(one.slot as usize) {
                std::mem::swap(&mut slot.unit, &mut job.unit);
            }
            job.chosen = *one;
            full.push(job);
        }
        let ground = Ground {
            shared: Arc::clone(self.shared),
            world: Arc::clone(&kept),
            stoppable: self.rest.stoppable,
            timed: self.rest.timed,
        };
        let board = &beside.board;
        let help: Arc<dyn Help> = Arc::clone(board) as Arc<dyn Help>;
        // One at least, whatever the shares: it was found to be worth it.
        let wanted = (full.len() - 1).min(full.len().div_ceil(share)).max(1);
        board.fill(full, ground, share, workers.count() + 1);
        workers.call(Arc::clone(&help), wanted);
        board.work();
        workers.call_off(&help);
        let took = board.clear(full);
        for (place, (mut job, one)) in full.drain(..).zip(chosen).enumerate() {
            one.begun = job.chosen.begun;
            if let Some(slot) = self.units.get_mut(one.slot as usize) {
                std::mem::swap(&mut slot.unit, &mut job.unit);
                if self.rest.timed
                    && one.begun
                    && let Some(unit) = &slot.unit
                {
                    record(&unit.own, job.took);
                }
            }
            if let Some(error) = job.error.take() {
                beside.failed.push((place, error));
            }
            idle.push(job);
        }
        exchange(&mut kept, self.world);
        beside.shelf = Some(kept);
        took
    }
}

/// The next state of a small generator, which is also the number that it gives.
fn next_random(state: u64) -> u64 {
    let mut x = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Resolves what a system reaches in a world that may be another one than before: kinds have other numbers there, so those
/// of all systems that may overlap must be of one world. A fault is found again when the system is due. Tells what is to be
/// done around its runs.
fn resolve(Unit { system, own }: &mut Unit, world: &mut World) -> Steps {
    let Some(declared) = system.declared() else {
        return Steps::NONE;
    };
    if declared.bind(world).is_ok() {
        own.cold.access = Some(Arc::new(declared.access().clone()));
        declared.steps()
    } else {
        declared.steps().and(Steps::BIND)
    }
}

fn unit_mut(units: &mut [Slot], slot: u32) -> Option<&mut Unit> {
    units.get_mut(slot as usize)?.unit.as_mut()
}

/// Puts the world on the shelf, or takes it back. Nobody else holds the shelf then: every job lets go of it before it is
/// counted as done.
fn exchange(shelf: &mut Arc<World>, world: &mut World) {
    match Arc::get_mut(shelf) {
        Some(shelved) => std::mem::swap(shelved, world),
        None => unreachable!("every job has let go of the world"),
    }
}
