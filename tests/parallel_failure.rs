//! What becomes of a pass in which typed systems fail or panic, or that is stopped in the middle of a level.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use common::wait::{Flag, spawn};
use common::{Trace, log_of, manual, us};
use ecs::{
    Claim, Commands, Component, Context, ManualClock, Matches, Mut, OwnedContainer, ParallelSystem,
    Param, Phase, Register, Res, ResMut, StopOutcome, SystemResult, Typed, UpdateError, Value,
    Workers, World, json, parallel, system,
};

/// Kinds by number, so that each system of a level writes one of its own.
struct Kind<const N: usize>(i64);

impl<const N: usize> Component for Kind<N> {
    fn type_name() -> &'static str {
        ["K0", "K1", "K2", "K3", "K4", "K5", "K6", "K7"][N]
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

struct Made(usize);

impl Component for Made {
    fn type_name() -> &'static str {
        "Made"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

struct One<const N: usize>(i64);

/// What the systems do when they are called.
#[derive(Clone, Default)]
struct Plan(Arc<PlanOf>);

#[derive(Default)]
struct PlanOf {
    /// By number of the system.
    fails: [AtomicU32; 8],
    runs: [AtomicU32; 8],
    /// So many of the first four begin before one of them goes on.
    together: std::sync::Mutex<Option<Arc<Barrier>>>,
}

const FINE: u32 = 0;
const ERROR: u32 = 1;
const PANIC: u32 = 2;

impl Plan {
    fn fail(&self, number: usize, how: u32) {
        self.0.fails[number].store(how, Ordering::Relaxed);
    }

    fn meet(&self, count: usize) {
        *self.0.together.lock().unwrap() = (count > 0).then(|| Arc::new(Barrier::new(count)));
    }

    fn runs(&self) -> [u32; 8] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(|number| self.0.runs[number].load(Ordering::Relaxed))
    }

    fn update<const N: usize>(&self) -> SystemResult {
        self.0.runs[N].fetch_add(1, Ordering::Relaxed);
        let together = self.0.together.lock().unwrap().clone();
        if let Some(together) = together.filter(|_| N < 4) {
            together.wait();
        }
        match self.0.fails[N].load(Ordering::Relaxed) {
            ERROR => Err(format!("error of {N}").into()),
            PANIC => panic!("panic of {N}"),
            _ => Ok(()),
        }
    }
}

/// Adds a system that writes its own kind and resource, queues a spawn, and does in the middle of that what the plan says.
fn add<const N: usize>(claim: &mut Claim, plan: &Plan) {
    claim.world().insert_resource(One::<N>(0));
    for n in 0..3 {
        claim.world().spawn(Kind::<N>(n));
    }
    let plan = plan.clone();
    let update = move |mut all: Matches<'_, Mut<'_, Kind<N>>>,
                       mut one: ResMut<'_, One<N>>,
                       mut commands: Commands<'_>|
          -> SystemResult {
        commands.spawn(Made(N));
        one.0 += 1;
        let mut rows = 0;
        for mut row in &mut all {
            row.0 += 10;
            rows += 1;
            if rows == 2 {
                plan.update::<N>()?;
            }
        }
        assert_eq!(rows, 3, "everything that was lent is back");
        Ok(())
    };
    let system = parallel(format!("s{N}"), update);
    claim.add_system(system.interval(us(10))).unwrap();
}

fn stage(workers: usize) -> (OwnedContainer, ManualClock, Plan) {
    let (owned, clock) = manual("main");
    let plan = Plan::default();
    let mut claim = owned.claim().unwrap();
    claim.set_workers(&Workers::new(workers).unwrap());
    claim.context().set_worth_waking(Duration::ZERO);
    add::<0>(&mut claim, &plan);
    add::<1>(&mut claim, &plan);
    add::<2>(&mut claim, &plan);
    add::<3>(&mut claim, &plan);
    add::<4>(&mut claim, &plan);
    add::<5>(&mut claim, &plan);
    add::<6>(&mut claim, &plan);
    add::<7>(&mut claim, &plan);
    claim.initialize_systems().unwrap();
    drop(claim);
    clock.advance(us(10)).unwrap();
    (owned, clock, plan)
}

/// Everything is in its place, and was written as often as its system was called.
fn assert_whole(claim: &mut Claim, runs: [u32; 8]) {
    fn of<const N: usize>(claim: &mut Claim, runs: [u32; 8]) {
        assert_eq!(claim.world().query::<&Kind<N>>().count(), 3);
        let one = claim.world().resource::<One<N>>().expect("it is back");
        assert_eq!(one.0, i64::from(runs[N]));
    }
    of::<0>(claim, runs);
    of::<1>(claim, runs);
    of::<2>(claim, runs);
    of::<3>(claim, runs);
    of::<4>(claim, runs);
    of::<5>(claim, runs);
    of::<6>(claim, runs);
    of::<7>(claim, runs);
    let mut made: [u32; 8] = [0; 8];
    for Made(of) in claim.world().query::<&Made>() {
        made[*of] += 1;
    }
    // Also those of who failed.
    // spec: CMD-07, PAR-10
    assert_eq!(made, runs);
}

fn failed_system(outcome: Result<(), UpdateError>) -> String {
    match outcome {
        Err(UpdateError::Failed { failure, .. }) => {
            assert!(matches!(failure.phase(), Phase::Update));
            failure.handle().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn whoever_has_not_begun_is_due_in_the_next_pass() {
    for workers in [0, 1, 2, 5, 20] {
        for failing in 0..8 {
            for how in [ERROR, PANIC] {
                let (owned, clock, plan) = stage(workers);
                let log = log_of(&owned);
                plan.fail(failing, how);
                let failed = failed_system(owned.update());
                assert_eq!(failed, format!("s{failing}"));
                // spec: PAR-10, FAIL-01
                assert_eq!(log.take().len(), 1);
                let runs = plan.runs();
                assert!(runs[failing] == 1 && runs.iter().all(|runs| *runs <= 1));
                if workers == 0 {
                    let begun: u32 = runs.iter().sum();
                    assert_eq!(begun as usize, failing + 1, "the rest is not begun");
                }
                assert_whole(&mut owned.claim().unwrap(), runs);
                // No time has gone by: due is who was found due and did not begin.
                plan.fail(failing, FINE);
                owned.update().unwrap();
                // spec: PAR-10
                assert_eq!(plan.runs(), [1; 8], "{runs:?}");
                clock.advance(us(10)).unwrap();
                owned.update().unwrap();
                assert_eq!(plan.runs(), [2; 8]);
                assert_whole(&mut owned.claim().unwrap(), [2; 8]);
                assert!(log.take().is_empty());
            }
        }
    }
}

#[test]
fn those_under_way_finish_and_the_first_in_order_is_returned() {
    for failing in 1_u32..16 {
        let (owned, _, plan) = stage(3);
        let log = log_of(&owned);
        // The first four begin, none goes on before.
        plan.meet(4);
        let fails = |number: usize| failing & (1 << number) != 0;
        for number in (0..4).filter(|number| fails(*number)) {
            plan.fail(number, if number % 2 == 0 { ERROR } else { PANIC });
        }
        let failed = failed_system(owned.update());
        // spec: PAR-10
        assert_eq!(failed, format!("s{}", failing.trailing_zeros()));
        let runs = plan.runs();
        assert_eq!(runs[..4], [1; 4]);
        if failing == 0b1111 {
            // spec: PAR-10
            assert_eq!(runs[4..], [0; 4], "no further one begins");
        }
        let lines = log.take();
        for number in 0..4 {
            let own = format!("[s{number}]");
            let named = lines.iter().filter(|line| line.contains(&own)).count();
            // spec: PAR-10
            assert_eq!(named, usize::from(fails(number)), "{lines:?}");
        }
        assert_eq!(lines.len(), failing.count_ones() as usize);
        assert_whole(&mut owned.claim().unwrap(), runs);
        plan.meet(0);
        for number in 0..4 {
            plan.fail(number, FINE);
        }
        owned.update().unwrap();
        assert_eq!(plan.runs(), [1; 8]);
    }
}

#[test]
fn a_panic_in_every_pass_never_shrinks_the_crew() {
    let workers = Workers::new(3).unwrap();
    let (owned, clock, plan) = stage(0);
    owned.claim().unwrap().set_workers(&workers);
    for pass in 0..100 {
        plan.fail(pass % 8, PANIC);
        assert!(owned.update().is_err());
        plan.fail(pass % 8, FINE);
        owned.update().unwrap();
        clock.advance(us(10)).unwrap();
    }
    // All three are still there: four systems wait for each other.
    plan.meet(4);
    owned.update().unwrap();
    // spec: PAR-11
    assert_eq!(plan.runs(), [101; 8]);
}

/// So short that several are handed over at once.
#[test]
fn of_those_handed_over_together_none_begins_after_a_failure() {
    const COUNT: usize = 200;
    for workers in [0, 1, 3] {
        let (owned, clock) = manual("main");
        let runs: Arc<Vec<AtomicU32>> = Arc::new((0..COUNT).map(|_| AtomicU32::new(0)).collect());
        let failing = Arc::new(AtomicU32::new(u32::MAX));
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        claim.context().set_timed(true);
        for number in 0..COUNT {
            let (runs, failing) = (Arc::clone(&runs), Arc::clone(&failing));
            let update = move || -> SystemResult {
                runs[number].fetch_add(1, Ordering::Relaxed);
                if failing.load(Ordering::Relaxed) as usize == number {
                    return Err("it is its turn".into());
                }
                Ok(())
            };
            let system = parallel(format!("s{number}"), update);
            claim.add_system(system.interval(us(10))).unwrap();
        }
        drop(claim);
        for pass in 1..40 {
            clock.advance(us(10)).unwrap();
            let number = (pass * 37) % 100;
            failing.store(number, Ordering::Relaxed);
            // spec: PAR-10
            assert_eq!(failed_system(owned.update()), format!("s{number}"));
            let of = |place: usize| runs[place].load(Ordering::Relaxed);
            assert_eq!(of(number as usize), pass);
            assert!((0..COUNT).all(|place| (pass - 1..=pass).contains(&of(place))));
            if workers == 0 {
                // spec: PAR-10
                assert_eq!(of(number as usize + 1), pass - 1);
            }
            // Only updates that took place are measured.
            let measured = owned.run_statistics();
            assert!(
                measured
                    .iter()
                    .map(|(_, of)| of.runs)
                    .eq((0..COUNT).map(|place| u64::from(of(place))))
            );
            // Whoever has not begun is still due, and nobody else is.
            failing.store(u32::MAX, Ordering::Relaxed);
            owned.update().unwrap();
            assert!((0..COUNT).all(|place| of(place) == pass));
        }
    }
}

#[test]
fn a_condition_that_panics_ends_the_pass_after_those_before_it() {
    for workers in [0, 3] {
        let (owned, clock, plan) = stage(workers);
        let mut claim = owned.claim().unwrap();
        let mut asked = 0;
        let condition = move |_: &World| {
            asked += 1;
            assert!(asked != 1, "not now");
            true
        };
        claim.context().set_run_condition("s4", condition).unwrap();
        let failed = claim.update().unwrap_err();
        let failure = failed.failure().unwrap();
        assert_eq!(failure.handle(), "s4");
        assert!(matches!(failure.phase(), Phase::Condition));
        // Who has a condition, which may look at everything, waits for all who write, and they for it.
        // spec: PAR-10
        assert_eq!(plan.runs(), [1, 1, 1, 1, 0, 0, 0, 0]);
        assert_whole(&mut claim, plan.runs());
        claim.update().unwrap();
        // Its turn was taken, as that of a system that runs alone is.
        assert_eq!(plan.runs(), [1, 1, 1, 1, 0, 1, 1, 1]);
        clock.advance(us(10)).unwrap();
        claim.update().unwrap();
        assert_eq!(plan.runs(), [2, 2, 2, 2, 1, 2, 2, 2]);
    }
}

#[test]
fn a_condition_that_panics_in_a_level_lets_those_before_it_run_and_fail() {
    for workers in [0, 3] {
        let (owned, _) = manual("main");
        let log = log_of(&owned);
        let trace = Trace::default();
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        for name in ["good", "bad", "asked", "late"] {
            let trace = trace.clone();
            let reader = parallel(name, move |_: Matches<'_, &Kind<0>>| -> SystemResult {
                trace.add(name);
                if name == "bad" {
                    return Err("bad".into());
                }
                Ok(())
            });
            let reader = reader.every_pass();
            let reader = match name {
                "asked" => reader.run_if(|_| panic!("asked")),
                _ => reader,
            };
            claim.add_system(reader).unwrap();
        }
        let failed = claim.update().unwrap_err();
        // spec: PAR-10
        assert_eq!(failed.failure().unwrap().handle(), "bad");
        let mut ran = trace.take();
        ran.sort_unstable();
        assert_eq!(ran, ["bad", "good"]);
        // spec: PAR-10
        assert_eq!(log.take().len(), 2, "the other failure is logged");
    }
}

struct Missing;

#[test]
fn a_resource_that_is_missing_is_an_error_with_both_names() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(parallel("reader", |_: Res<'_, Missing>| ()).every_pass())
        .unwrap();
    claim
        .add_system(parallel("writer", |_: ResMut<'_, Missing>| ()).every_pass())
        .unwrap();
    claim
        .add_system(
            parallel("asks", |found: Option<Res<'_, Missing>>| {
                assert!(found.is_none());
            })
            .every_pass(),
        )
        .unwrap();
    for name in ["reader", "writer"] {
        let error = claim.update().unwrap_err().to_string();
        // spec: PAR-04
        assert!(error.contains(name) && error.contains("Missing"), "{error}");
        claim.context().set_system_on(name, false).unwrap();
    }
    claim.update().unwrap();
}

/// A system that looks at the world in its shutdown.
struct Last {
    trace: Trace,
}

impl ParallelSystem for Last {
    type Params = (
        Matches<'static, &'static mut Kind<0>>,
        ResMut<'static, Missing>,
    );

    fn update(&mut self, (mut all, _): <Self::Params as Param>::Item<'_>) -> SystemResult {
        all.for_each(|row| row.0 += 1);
        self.trace.add("update");
        Ok(())
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let rows = cx.world.query::<&Kind<0>>().count();
        let back = cx.world.resource::<Missing>().is_some();
        self.trace.add(format!("shutdown {rows} {back}"));
        Ok(())
    }
}

#[test]
fn a_stop_from_inside_of_a_level_ends_it_after_those_under_way() {
    for workers in [0, 1, 4] {
        for claimed in [false, true] {
            let (owned, _) = manual("main");
            let trace = Trace::default();
            let mut claim = owned.claim().unwrap();
            claim.set_workers(&Workers::new(workers).unwrap());
            claim.context().set_worth_waking(Duration::ZERO);
            claim.world().spawn((Kind::<0>(0), Kind::<1>(0)));
            claim.world().insert_resource(Missing);
            let container = claim.container().clone();
            let stopper = parallel("stopper", move |mut all: Matches<'_, &mut Kind<1>>| {
                all.for_each(|row| row.0 += 1);
                // spec: STOP-05, PAR-10
                assert_eq!(container.stop(), StopOutcome::Requested);
            });
            claim.add_system(stopper.every_pass()).unwrap();
            let last = Last {
                trace: trace.clone(),
            };
            claim
                .add_system(Typed::new(last).named("last").every_pass())
                .unwrap();
            let after = parallel("after", |_: Matches<'_, &Kind<1>>| -> SystemResult {
                panic!("never")
            });
            claim.add_system(after.every_pass()).unwrap();
            claim
                .add_system(system("alone", |_| panic!("never")).every_pass())
                .unwrap();
            if claimed {
                claim.update().unwrap();
                drop(claim);
            } else {
                drop(claim);
                owned.update().unwrap();
            }
            assert_eq!(owned.stop(), StopOutcome::Complete);
            let seen = trace.line();
            let expected = ["shutdown 1 true", "update shutdown 1 true"];
            assert!(expected.contains(&&*seen), "{seen}");
            if workers == 0 {
                assert_eq!(seen, expected[0]);
            }
        }
    }
}

#[test]
fn a_stop_from_another_thread_waits_for_the_level_and_ends_the_pass() {
    for workers in [0, 1, 4] {
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        claim.world().spawn((Kind::<0>(0), Kind::<1>(0)));
        claim.world().insert_resource(Missing);
        let trace = Trace::default();
        let (inside, go_on) = (Flag::default(), Flag::default());
        let (entered, released) = (inside.clone(), go_on.clone());
        let held = parallel("held", move |mut all: Matches<'_, &mut Kind<1>>| {
            entered.set();
            released.wait("the stop to be requested");
            all.for_each(|row| row.0 += 1);
        });
        claim.add_system(held.every_pass()).unwrap();
        let last = Last {
            trace: trace.clone(),
        };
        claim
            .add_system(Typed::new(last).named("last").every_pass())
            .unwrap();
        let after = parallel("after", |_: Matches<'_, &Kind<1>>| -> SystemResult {
            panic!("never")
        });
        claim.add_system(after.every_pass()).unwrap();
        drop(claim);
        let container = owned.clone();
        let stopping = spawn(move || {
            inside.wait("the system to run");
            container.request_stop();
            go_on.set();
            container.stop()
        });
        owned.update().unwrap();
        assert_eq!(stopping.join("the stop"), StopOutcome::Complete);
        let seen = trace.line();
        assert!(seen.ends_with("shutdown 1 true"), "{seen}");
    }
}

#[test]
fn the_first_failure_ends_a_container_on_its_own_thread() {
    let (owned, clock, plan) = stage(2);
    plan.fail(2, PANIC);
    plan.fail(5, ERROR);
    clock.advance(us(10)).unwrap();
    owned.start_with(Duration::ZERO).unwrap();
    common::wait::until("the failure", || owned.failure().is_some());
    assert_eq!(owned.stop(), StopOutcome::Complete);
    let failed = owned.failure().unwrap();
    let failed = failed.handle();
    assert!(failed == "s2" || (failed == "s5" && plan.runs()[2] == 0));
}
