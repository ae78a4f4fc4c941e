//! Systems that run beside each other: what is kept for them, and how one of them is run. [`Segment`] goes through them.
//!
//! [`Segment`]: super::segment::Segment

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrangement::Arrangement;
use super::declared::Steps;
use super::order::Order;
use super::own::Own;
use super::policy::Policy;
use super::shared::Shared;
use super::system::SystemResult;
use super::unit::{OwnState, Slot, Unit, flag};
use crate::base::BoxError;
use crate::base::user::Mark;
use crate::parallel::access::AccessSet;
use crate::parallel::crew::{Board, LARGEST_SHARE, Task, Workers};
use crate::time::Timing;
use crate::world::World;

/// Below this a level is not worth waking anybody for.
pub(crate) const WORTH_WAKING: Duration = Duration::from_micros(20);

/// What a container keeps for systems that run beside each other.
pub(crate) struct Beside {
    pub(crate) workers: Option<Workers>,
    /// A level that takes less time than this stays on one thread.
    pub(crate) worth: Duration,
    pub(super) board: Arc<Board<Box<Job>>>,
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
    pub(super) chosen: Vec<Chosen>,
    /// What failed in the level at hand, by its place among those chosen, in order.
    pub(super) failed: Vec<(usize, BoxError)>,
    pub(super) jobs: Jobs,
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
            chosen: Vec::new(),
            failed: Vec::new(),
            jobs: Jobs::default(),
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
    pub(super) by_level: Vec<Member>,
    pub(super) levels: Vec<Level>,
    /// Those that may have queued or sent something at the end, in order.
    pub(super) deliver: Vec<Member>,
}

/// A system of a plan, and what is to be done around its runs.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) slot: u32,
    pub(super) steps: Steps,
}

pub(super) struct Level {
    /// Where it ends in `by_level`.
    pub(super) end: usize,
    /// What its systems need, all together.
    pub(super) steps: Steps,
    /// What its systems took together when it last ran, and how many they were.
    pub(super) took: Duration,
    pub(super) count: usize,
}

/// To hand over tasks takes its time too, so they are handed over together that take about this long.
const WORTH_HANDING_OVER: Duration = Duration::from_micros(2);

impl Level {
    /// How many of its systems are worth to be handed over at once: one, where nothing is known.
    pub(super) fn share(&self) -> usize {
        let nanos = self.took.as_nanos().max(1);
        let share = WORTH_HANDING_OVER.as_nanos() * self.count as u128 / nanos;
        usize::try_from(share).map_or(LARGEST_SHARE, |share| share.clamp(1, LARGEST_SHARE))
    }
}

/// A system that is due in the level at hand.
#[derive(Clone, Copy, Default)]
pub(super) struct Chosen {
    pub(super) slot: u32,
    pub(super) steps: Steps,
    pub(super) begun: bool,
    pub(super) now: u64,
    /// As it was before it was found due.
    pub(super) timing: Timing,
}

/// Jobs in the hands of this thread.
#[derive(Default)]
#[expect(
    clippy::vec_box,
    reason = "they change hands several times in each level, and are kept for their memory"
)]
pub(super) struct Jobs {
    /// Empty ones, for the next level.
    pub(super) idle: Vec<Box<Job>>,
    /// On their way to the board, or from it.
    pub(super) full: Vec<Box<Job>>,
}

/// A system on its way through the hands of whoever runs it.
#[derive(Default)]
pub(super) struct Job {
    /// Changes places with nothing where it is registered: so it is moved as few times as can be.
    pub(super) unit: Option<Unit>,
    pub(super) chosen: Chosen,
    pub(super) error: Option<BoxError>,
    /// Measured when systems are timed.
    pub(super) took: Duration,
}

/// What the jobs of a level share.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) shared: Arc<Shared>,
    pub(super) world: Arc<World>,
    pub(super) stoppable: bool,
    pub(super) timed: bool,
}

impl Task for Box<Job> {
    type Scene = Ground;

    fn run(&mut self, ground: &Ground) -> bool {
        let Job { unit, chosen, .. } = &mut **self;
        let Some(unit) = unit else {
            return true;
        };
        let Ground { shared, world, .. } = ground;
        if ground.stoppable && shared.stop_hint() {
            return false;
        }
        let begin = ground.timed.then(Instant::now);
        let result = run(unit, chosen, world, shared, &Mark::enter());
        if let Some(begin) = begin {
            self.took = begin.elapsed();
        }
        self.error = result.err();
        self.error.is_none()
    }
}

/// Whether a unit may run beside others now. Timers and queued listeners take a whole context, so who has one runs alone.
pub(super) fn may_overlap(unit: &Unit) -> bool {
    may_overlap_own(&unit.own)
}

pub(super) fn may_overlap_own(own: &OwnState) -> bool {
    own.flags & (flag::DECLARED | flag::SPECIAL) == flag::DECLARED && own.timers.is_empty()
}

/// One update.
#[inline]
pub(super) fn run(
    unit: &mut Unit,
    chosen: &mut Chosen,
    world: &World,
    shared: &Arc<Shared>,
    mark: &Mark,
) -> SystemResult {
    let Unit { system, own } = unit;
    chosen.begun = true;
    own.measure(chosen.now);
    own.updates += 1;
    shared.running.note(chosen.slot as usize);
    let Some(declared) = system.declared() else {
        return Ok(());
    };
    Own::typed(Some(own), shared, |own| {
        declared.run(world, Some(own), mark)
    })
}

/// What a unit reaches, its run condition included.
pub(super) fn access_of(own: &OwnState) -> AccessSet {
    let access = own.cold.access.as_deref();
    let mut access = access.cloned().unwrap_or_default();
    access.sees_all = own.is(flag::CONDITION);
    access
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_are_handed_over_together_that_take_two_microseconds() {
        let share = |count, took| {
            let level = Level {
                end: count,
                steps: Steps::NONE,
                took,
                count,
            };
            level.share()
        };
        assert_eq!(share(0, Duration::MAX), 1);
        assert_eq!(share(10, Duration::from_micros(1)), 20);
        assert_eq!(share(10, Duration::from_micros(10)), 2);
        assert_eq!(share(10, Duration::from_micros(11)), 1);
        assert_eq!(share(10, Duration::from_millis(1)), 1);
        assert_eq!(share(10, Duration::ZERO), LARGEST_SHARE);
        assert_eq!(share(0, Duration::ZERO), 1);
    }
}
