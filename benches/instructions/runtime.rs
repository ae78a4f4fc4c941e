//! Passes, timers, deferred functions.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ecs::{
    Claim, Component, Context, ManualClock, Matches, OwnedContainer, Register, System,
    SystemResult, Value, json, parallel,
};

use super::{Path, measured, path};

pub(super) const PATHS: &[Path] = &[
    path("pass_of_1_system", 1, pass),
    path("pass_of_1000_systems", 1_000, pass),
    path("pass_of_1000_systems_none_due", 1_000, pass_none_due),
    path("pass_of_1000_typed_systems", 1_000, pass_typed),
    path("pass_of_8_systems_that_write", 8, pass_writing),
    path("timer_not_due", 1_000, timer_not_due),
    path("timer_due", 1_000, timer_due),
    path("deferred_function", 1_000, deferred_function),
    path("add_and_remove_a_system", 100, add_and_remove_a_system),
];

#[derive(Default)]
struct Counting(usize);

impl System for Counting {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.0 += 1;
        black_box(cx);
        Ok(())
    }
}

struct Scene {
    claim: Claim,
    clock: ManualClock,
    // Dropped after the claim, which holds the container's body.
    _owned: OwnedContainer,
}

fn scene() -> Scene {
    let owned = OwnedContainer::new("main").unwrap();
    let mut claim = owned.claim().unwrap();
    let clock = ManualClock::new();
    claim.set_clock(&clock).unwrap();
    Scene {
        claim,
        clock,
        _owned: owned,
    }
}

fn with_systems(items: usize, interval: Duration) -> Scene {
    let mut scene = scene();
    for number in 0..items {
        let system = Counting::default().named(format!("s{number}"));
        scene.claim.add_system(system.interval(interval)).unwrap();
    }
    scene.claim.update().unwrap();
    scene
}

fn runs(claim: &mut Claim, system: &str) -> usize {
    claim.system::<Counting>(system).unwrap().0
}

fn pass(items: usize) {
    let mut scene = with_systems(items, Duration::ZERO);
    let claim = &mut scene.claim;
    let before = runs(claim, "s0");
    measured(|| claim.update().unwrap());
    assert_eq!(runs(claim, "s0"), before + 1);
    assert_eq!(runs(claim, &format!("s{}", items - 1)), before + 1);
}

/// Typed systems that ask for nothing, on one thread.
fn pass_typed(items: usize) {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let mut scene = scene();
    for number in 0..items {
        let count = || {
            RUNS.fetch_add(1, Ordering::Relaxed);
        };
        let system = parallel(format!("s{number}"), count);
        scene.claim.add_system(system.every_pass()).unwrap();
    }
    let claim = &mut scene.claim;
    claim.update().unwrap();
    measured(|| claim.update().unwrap());
    assert_eq!(RUNS.load(Ordering::Relaxed), 2 * items);
}

struct Kind<const N: usize>(usize);

impl<const N: usize> Component for Kind<N> {
    fn type_name() -> &'static str {
        ["A", "B", "C", "D", "E", "F", "G", "H"][N]
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

fn add_writer<const N: usize>(claim: &mut Claim) {
    claim.world().spawn(Kind::<N>(0));
    let write = |mut all: Matches<'_, &mut Kind<N>>| all.for_each(|kind| kind.0 += 1);
    let system = parallel(Kind::<N>::type_name(), write);
    claim.add_system(system.every_pass()).unwrap();
}

/// Typed systems that each write the one component of a kind, so that all stand on one level.
fn pass_writing(items: usize) {
    let mut scene = scene();
    let claim = &mut scene.claim;
    let writers = [
        add_writer::<0>,
        add_writer::<1>,
        add_writer::<2>,
        add_writer::<3>,
        add_writer::<4>,
        add_writer::<5>,
        add_writer::<6>,
        add_writer::<7>,
    ];
    assert_eq!(writers.len(), items);
    for add in writers {
        add(claim);
    }
    claim.update().unwrap();
    measured(|| claim.update().unwrap());
    let world = claim.world();
    assert!(world.query::<&Kind<0>>().all(|kind| kind.0 == 2));
    assert!(world.query::<&Kind<7>>().all(|kind| kind.0 == 2));
}

fn pass_none_due(items: usize) {
    let mut scene = with_systems(items, Duration::from_secs(1));
    let claim = &mut scene.claim;
    let before = runs(claim, "s0");
    measured(|| claim.update().unwrap());
    assert_eq!(runs(claim, "s0"), before);
}

fn with_timers(items: usize) -> Scene {
    let mut scene = scene();
    let mut system = Counting::default().named("timers").every_pass();
    for number in 0..items {
        let each = Duration::from_secs(1);
        system = system.timer_every(format!("t{number}"), each, |system, cx| {
            system.0 += 1_000;
            black_box(cx);
            Ok(())
        });
    }
    scene.claim.add_system(system).unwrap();
    scene.claim.update().unwrap();
    scene
}

fn timer_not_due(items: usize) {
    let mut scene = with_timers(items);
    let (claim, clock) = (&mut scene.claim, &scene.clock);
    clock.advance(Duration::from_millis(999)).unwrap();
    let before = runs(claim, "timers");
    measured(|| claim.update().unwrap());
    assert_eq!(runs(claim, "timers"), before + 1);
}

fn timer_due(items: usize) {
    let mut scene = with_timers(items);
    let (claim, clock) = (&mut scene.claim, &scene.clock);
    clock.advance(Duration::from_secs(1)).unwrap();
    let before = runs(claim, "timers");
    measured(|| claim.update().unwrap());
    assert_eq!(runs(claim, "timers"), before + 1 + 1_000 * items);
}

fn deferred_function(items: usize) {
    let mut scene = with_systems(1, Duration::ZERO);
    let claim = &mut scene.claim;
    let container = claim.container().clone();
    let work = |claim: &mut Claim| {
        for _ in 0..items {
            container.defer(|cx| {
                let system = cx.system_mut::<Counting>("s0").ok_or("no system")?;
                system.0 += 1_000;
                Ok(())
            });
        }
        claim.update().unwrap();
    };
    // Once beforehand: the queue's memory is then there.
    work(claim);
    let before = runs(claim, "s0");
    measured(|| work(claim));
    assert_eq!(runs(claim, "s0"), before + 1 + 1_000 * items);
}

fn add_and_remove_a_system(items: usize) {
    let mut scene = with_systems(1_000, Duration::ZERO);
    let claim = &mut scene.claim;
    let handles: Vec<String> = (0..items).map(|number| format!("new{number}")).collect();
    measured(|| {
        for handle in &handles {
            claim
                .add_system(Counting::default().named(handle.as_str()))
                .unwrap();
        }
        claim.update().unwrap();
        for handle in &handles {
            assert!(claim.remove_system(handle.as_str()));
        }
    });
    assert_eq!(claim.context().systems().count(), 1_000);
}
