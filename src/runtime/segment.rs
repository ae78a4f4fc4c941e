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
use super::beside::{Chosen, Job, Level, Plan, access_of, may_overlap, run};
use super::declared::Lender;
use super::error::{Failure, Phase};
use super::rest::Rest;
use super::shared::Shared;
use super::statistics::{Stopwatch, record};
use super::unit::{Slot, Unit, flag, may_run, read_clock};
use crate::base::lock::Ordering;
use crate::parallel::access::AccessSet;
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
        let mut slots = std::mem::take(&mut self.rest.beside.slots);
        slots.clear();
        if number == 0 {
            slots.extend_from_slice(&self.rest.beside.floating);
        }
        let mut position = first;
        while position < end {
            let slot = self.rest.order.slot(position);
            match self.unit(slot) {
                Some(_) if self.rest.beside.has_floated(slot) => {}
                Some(unit) if may_overlap(unit) => slots.push(unit.own.cold.key.slot),
                Some(_) => break,
                None => {}
            }
            position += 1;
        }
        let mut plan = self.plan(number, &slots);
        self.rest.beside.slots = slots;
        let outcome = self.run_levels(&mut plan);
        self.deliver(&plan.slots);
        if let Some(place) = self.rest.beside.plans.get_mut(number) {
            *place = plan;
        }
        outcome.map(|()| position)
    }

    /// Hands over what the systems have queued and sent, in their order, behind what was sent before.
    fn deliver(&mut self, slots: &[u32]) {
        if self.shared.inlet.is_ready() {
            self.rest.take_sent(self.world, self.shared);
        }
        for &slot in slots {
            if let Some(Unit { system, own }) = unit_mut(self.units, slot)
                && let Some(declared) = system.declared()
            {
                declared.deliver(self.world, slot as usize);
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

    /// The plan of a segment: the one of the last pass, if it is for the same systems.
    fn plan(&mut self, number: usize, slots: &[u32]) -> Plan {
        let plans = &mut self.rest.beside.plans;
        if plans.len() <= number {
            plans.resize_with(number + 1, Plan::default);
        }
        let known = std::mem::take(&mut plans[number]);
        if let Some(state) = self.rest.beside.shuffle {
            return self.shuffled_plan(slots, state);
        }
        let current = (self.rest.order.version(), self.world.id());
        if (known.version, known.world) == current && known.slots == slots {
            return known;
        }
        self.make_plan(slots)
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

    #[cold]
    fn make_plan(&mut self, slots: &[u32]) -> Plan {
        let access: Vec<AccessSet> = slots
            .iter()
            .map(|&slot| {
                let Some(unit) = unit_mut(self.units, slot) else {
                    return AccessSet::default();
                };
                resolve(unit, self.world);
                access_of(&unit.own)
            })
            .collect();
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
                    took: Duration::MAX,
                });
            }
            if let Some(level) = levels.last_mut() {
                level.end = at + 1;
            }
        }
        Plan {
            version: self.rest.order.version(),
            world: self.world.id(),
            slots: slots.to_vec(),
            by_level: by_level.iter().map(|&place| slots[place]).collect(),
            levels,
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
            let slots = plan.by_level.get(first..level.end).unwrap_or_default();
            first = level.end;
            let mut chosen = std::mem::take(&mut self.rest.beside.chosen);
            let refused = self.choose(slots, &mut chosen).err();
            if !chosen.is_empty() {
                self.lend(&chosen);
                level.took = self.run_level(&mut chosen, level.took);
            }
            let outcome = self.settle(&mut chosen);
            self.rest.beside.chosen = chosen;
            outcome?;
            if let Some(failure) = refused {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Finds out who is due. Whoever cannot be asked ends the pass; those before it still run.
    fn choose(&mut self, slots: &[u32], chosen: &mut Vec<Chosen>) -> Result<(), Failure> {
        let bell = self.shared.routes.bell().flag();
        for &slot in slots {
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
            if own.flags & !(flag::STARTED | flag::DECLARED) != 0 && !may_run(own, self.world)? {
                continue;
            }
            if let Some(declared) = system.declared() {
                match declared.bind(self.world) {
                    Ok(_) => {}
                    Err(fault) => return Err(own.fail(Phase::Update, fault.into())),
                }
            }
            chosen.push(Chosen {
                slot,
                now,
                timing,
                result: None,
            });
        }
        Ok(())
    }

    fn lend(&mut self, chosen: &[Chosen]) {
        let commands = |one: &&Chosen| {
            let unit = self.unit(one.slot as usize);
            let access = unit.and_then(|unit| unit.own.cold.access.as_ref());
            access.is_some_and(|access| access.queues_commands)
        };
        let among = chosen.iter().filter(commands).count();
        let mut lender = Lender {
            world: self.world,
            turn: 0,
            among: u32::try_from(among).unwrap_or(u32::MAX),
        };
        for one in chosen {
            if let Some(unit) = unit_mut(self.units, one.slot)
                && let Some(declared) = unit.system.declared()
            {
                declared.lend(&mut lender);
            }
        }
    }

    /// Puts everything back, and gives the first failure in order. A failure is logged when it is made.
    fn settle(&mut self, chosen: &mut Vec<Chosen>) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for one in chosen.drain(..) {
            let Some(Unit { system, own }) = unit_mut(self.units, one.slot) else {
                continue;
            };
            if let Some(declared) = system.declared() {
                declared.settle(self.world);
            }
            match one.result {
                None => own.timing = one.timing,
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    let failure = own.fail(Phase::Update, error);
                    outcome = outcome.and(Err(failure));
                }
            }
        }
        self.world.end_lending();
        outcome
    }

    /// Runs what was chosen, and tells how long it took all together.
    fn run_level(&mut self, chosen: &mut Vec<Chosen>, took: Duration) -> Duration {
        let beside = &mut self.rest.beside;
        let workers = beside.workers.as_ref().filter(|_| chosen.len() > 1);
        let Some(workers) = workers else {
            self.run_here(chosen);
            return took;
        };
        // To hand over a task takes its time too: a sixty-fourth of what waking takes.
        let tasks = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
        let worth = beside.worth + (beside.worth / 64).saturating_mul(tasks);
        if workers.count() == 0 || took < worth {
            let begin = Instant::now();
            self.run_here(chosen);
            return begin.elapsed();
        }
        let workers = workers.clone();
        self.run_on(&workers, chosen)
    }

    fn run_here(&mut self, chosen: &mut [Chosen]) {
        let mut watch = Stopwatch::new(self.rest.timed);
        for one in chosen {
            if self.is_stopping() {
                return;
            }
            let Some(unit) = unit_mut(self.units, one.slot) else {
                continue;
            };
            let goes_on = run(unit, one, self.world, self.shared);
            watch.ended(&unit.own);
            if !goes_on {
                return;
            }
        }
    }

    /// Units and world are handed over and come back.
    fn run_on(&mut self, workers: &Workers, chosen: &mut Vec<Chosen>) -> Duration {
        let beside = &mut self.rest.beside;
        let mut kept = beside
            .shelf
            .take()
            .unwrap_or_else(|| Arc::new(World::new()));
        exchange(&mut kept, self.world);
        let mut jobs = std::mem::take(&mut beside.jobs);
        for one in chosen.drain(..) {
            let slot = self.units.get_mut(one.slot as usize);
            if let Some(unit) = slot.and_then(|slot| slot.unit.take()) {
                jobs.push(Job {
                    unit,
                    shared: Arc::clone(self.shared),
                    world: Some(Arc::clone(&kept)),
                    chosen: one,
                    stoppable: self.rest.stoppable,
                    took: Duration::ZERO,
                });
            }
        }
        let wanted = jobs.len().saturating_sub(1);
        let board = Arc::clone(&beside.board);
        let help: Arc<dyn Help> = Arc::clone(&beside.board) as Arc<dyn Help>;
        board.fill(&mut jobs);
        workers.call(Arc::clone(&help), wanted);
        board.work();
        workers.call_off(&help);
        board.clear(&mut jobs);
        let mut took = Duration::ZERO;
        for job in jobs.drain(..) {
            let Job {
                unit,
                world,
                chosen: one,
                took: job_took,
                ..
            } = job;
            drop(world);
            took += job_took;
            if self.rest.timed && one.result.is_some() {
                record(&unit.own, job_took);
            }
            if let Some(slot) = self.units.get_mut(one.slot as usize) {
                slot.unit = Some(unit);
            }
            chosen.push(one);
        }
        exchange(&mut kept, self.world);
        self.rest.beside.jobs = jobs;
        self.rest.beside.shelf = Some(kept);
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
/// of all systems that may overlap must be of one world. A fault is found again when the system is due.
fn resolve(Unit { system, own }: &mut Unit, world: &mut World) {
    if let Some(declared) = system.declared()
        && declared.bind(world).is_ok()
    {
        own.cold.access = Some(Arc::new(declared.access().clone()));
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
