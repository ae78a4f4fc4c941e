//! Systems that run beside each other: what is kept for them, and how one of them is run. [`Segment`] goes through them.
//!
//! [`Segment`]: super::segment::Segment

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrangement::Arrangement;
use super::order::Order;
use super::own::Own;
use super::policy::Policy;
use super::shared::Shared;
use super::system::SystemResult;
use super::unit::{OwnState, Slot, Unit, flag};
use crate::parallel::access::AccessSet;
use crate::parallel::crew::{Board, Task, Workers};
use crate::time::Timing;
use crate::world::World;

/// Below this a level is not worth waking anybody for.
pub(crate) const WORTH_WAKING: Duration = Duration::from_micros(20);

/// What a container keeps for systems that run beside each other.
pub(crate) struct Beside {
    pub(crate) workers: Option<Workers>,
    /// A level that takes less time than this stays on one thread.
    pub(crate) worth: Duration,
    pub(super) board: Arc<Board<Job>>,
    /// Holds the world while tasks share it, and an empty one else; made when it is first needed.
    pub(super) shelf: Option<Arc<World>>,
    /// The state of the generator that shuffles the typed systems of each segment.
    pub(crate) shuffle: Option<u64>,
    /// By number of the segment in the pass.
    pub(super) plans: Vec<Plan>,
    /// The independent systems that share nothing with the world and wait for nobody in this pass.
    pub(super) floating: Vec<u32>,
    /// By slot: whether it is among these.
    is_floating: Vec<bool>,
    /// Those that may be among them, as of this version of the order.
    may_float: Vec<u32>,
    may_float_since: u64,
    // Kept for their memory.
    pub(super) slots: Vec<u32>,
    pub(super) chosen: Vec<Chosen>,
    pub(super) jobs: Vec<Job>,
}

impl Default for Beside {
    fn default() -> Self {
        Self {
            workers: None,
            worth: WORTH_WAKING,
            shuffle: None,
            board: Arc::new(Board::new()),
            shelf: None,
            plans: Vec::new(),
            floating: Vec::new(),
            is_floating: Vec::new(),
            may_float: Vec::new(),
            may_float_since: 0,
            slots: Vec::new(),
            chosen: Vec::new(),
            jobs: Vec::new(),
        }
    }
}

impl Beside {
    /// Finds the independent systems at the beginning of a pass.
    #[inline]
    pub(super) fn find_floating(
        &mut self,
        order: &Order,
        units: &[Slot],
        arrangement: &Arrangement,
    ) {
        if self.may_float_since != order.version() {
            self.may_float_since = order.version();
            let units = order
                .iter()
                .filter_map(|slot| units.get(slot)?.unit.as_ref());
            let independent = units.filter(|unit| {
                let cold = &unit.own.cold;
                cold.policy == Policy::Independent && !arrangement.waits(&cold.handle)
            });
            self.may_float.clear();
            self.may_float
                .extend(independent.map(|unit| unit.own.cold.key.slot));
        }
        for &slot in &self.floating {
            self.is_floating[slot as usize] = false;
        }
        self.floating.clear();
        if !self.may_float.is_empty() {
            self.is_floating.resize(units.len(), false);
            // Timers and listeners come and go without a change of the order.
            let floats = |slot: u32| {
                let unit = units.get(slot as usize).and_then(|slot| slot.unit.as_ref());
                unit.is_some_and(|unit| floats(&unit.own))
            };
            let floating = self.may_float.iter().filter(|slot| floats(**slot));
            self.floating.extend(floating);
            for &slot in &self.floating {
                self.is_floating[slot as usize] = true;
            }
        }
    }

    /// Whether a system was among the first of the pass: it has had its turn.
    #[inline]
    pub(super) fn has_floated(&self, slot: usize) -> bool {
        self.is_floating.get(slot).is_some_and(|floats| *floats)
    }
}

/// Whether a system waits for nobody in the pass: it is independent, and neither world nor commands nor events are among
/// what it asks for.
pub(super) fn floats(own: &OwnState) -> bool {
    let access = own.cold.access.as_ref();
    own.cold.policy == Policy::Independent
        && own.cold.condition.is_none()
        && access.is_some_and(|access| access.is_private())
        && may_overlap_own(own)
}

/// The levels of a segment.
#[derive(Default)]
pub(super) struct Plan {
    /// The order's version that it was made for.
    pub(super) version: u64,
    /// The world that it was made in.
    pub(super) world: u64,
    /// The systems in order.
    pub(super) slots: Vec<u32>,
    /// The same, level by level.
    pub(super) by_level: Vec<u32>,
    pub(super) levels: Vec<Level>,
}

pub(super) struct Level {
    /// Where it ends in `by_level`.
    pub(super) end: usize,
    /// What its systems took together when it last ran.
    pub(super) took: Duration,
}

/// A system that is due in the level at hand.
pub(super) struct Chosen {
    pub(super) slot: u32,
    pub(super) now: u64,
    /// As it was before it was found due.
    pub(super) timing: Timing,
    /// `None`: it has not begun.
    pub(super) result: Option<SystemResult>,
}

/// A system on its way through the hands of whoever runs it.
pub(super) struct Job {
    pub(super) unit: Unit,
    pub(super) shared: Arc<Shared>,
    pub(super) world: Option<Arc<World>>,
    pub(super) chosen: Chosen,
    pub(super) stoppable: bool,
    pub(super) took: Duration,
}

impl Task for Job {
    fn run(&mut self) -> bool {
        // Taken, so that nobody holds the world when the job is put back.
        let Some(world) = self.world.take() else {
            return true;
        };
        if self.stoppable && self.shared.stop_hint() {
            return false;
        }
        let begin = Instant::now();
        let goes_on = run(&mut self.unit, &mut self.chosen, &world, &self.shared);
        self.took = begin.elapsed();
        goes_on
    }
}

/// Whether a unit may run beside others now. Timers and queued listeners take a whole context, so who has one runs alone.
pub(super) fn may_overlap(unit: &Unit) -> bool {
    may_overlap_own(&unit.own)
}

pub(super) fn may_overlap_own(own: &OwnState) -> bool {
    own.flags & (flag::DECLARED | flag::SPECIAL) == flag::DECLARED && own.timers.is_empty()
}

/// One update. False when it failed.
pub(super) fn run(
    unit: &mut Unit,
    chosen: &mut Chosen,
    world: &World,
    shared: &Arc<Shared>,
) -> bool {
    let Unit { system, own } = unit;
    own.elapsed
        .measure(chosen.now, own.timing.interval_micros());
    own.updates += 1;
    shared.running.note(chosen.slot as usize);
    let own = Own {
        state: Some(own),
        shared,
        is_typed: true,
    };
    let result = match system.declared() {
        Some(declared) => declared.run(world, Some(own)),
        None => Ok(()),
    };
    let goes_on = result.is_ok();
    chosen.result = Some(result);
    goes_on
}

/// What a unit reaches, its run condition included.
pub(super) fn access_of(own: &OwnState) -> AccessSet {
    let access = own.cold.access.as_deref();
    let mut access = access.cloned().unwrap_or_default();
    access.sees_all = own.is(flag::CONDITION);
    access
}
