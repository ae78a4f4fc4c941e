//! Passes over systems that do nothing, and messages: what the runtime costs beside the systems' own work.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bevy_ecs::schedule::{MultiThreadedExecutor, Schedule, SingleThreadedExecutor};
use bevy_ecs::world::World as BevyWorld;
use bevy_tasks::{ComputeTaskPool, TaskPool};
use ecs::{
    BoxError, Claim, Clock as _, ManualClock, Moment, OwnedContainer, RealClock, Timing, Workers,
};
use flecs_ecs::prelude::*;
use shipyard::Workload;

use crate::bench::{Bench, Engine, Sides};
use crate::harness::Clock;

/// What a system does: it is counted, so that none is left out.
#[inline]
fn count(calls: &AtomicU64) {
    calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// How many were called since this was last asked.
fn taken(calls: &AtomicU64) -> u64 {
    calls.swap(0, Ordering::Relaxed)
}

/// By hand: boxed functions, each with a check whether it is due. The real clock is read for each, as by whoever lets
/// them have intervals of their own.
fn hand(systems: usize, manual: bool, passes: usize) -> impl FnMut(&mut Clock) -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    type Boxed = Box<dyn FnMut() -> Result<(), BoxError>>;
    let one = |_| -> (Timing, Boxed) {
        let timing = Timing::new(Duration::ZERO, Moment::ZERO).expect("a plain interval");
        let work = || {
            count(&CALLS);
            Ok(())
        };
        (timing, Box::new(work))
    };
    let mut list: Vec<(Timing, Boxed)> = (0..systems).map(one).collect();
    let manual = manual.then(ManualClock::new);
    move |clock| {
        clock.time_wall(|| {
            for _ in 0..passes {
                for (timing, work) in black_box(&mut list) {
                    let now = match &manual {
                        Some(manual) => manual.now(),
                        None => RealClock.now(),
                    };
                    if timing.is_due(now) {
                        work().expect("nothing fails");
                    }
                }
            }
        });
        taken(&CALLS)
    }
}

/// So many systems in a container of ours.
fn container(systems: usize, manual: bool, calls: &'static AtomicU64) -> (Claim, OwnedContainer) {
    let owned = OwnedContainer::new("empty").expect("a handle");
    let mut claim = owned.claim().expect("it is idle");
    if manual {
        claim
            .set_clock(ManualClock::new())
            .expect("it has not begun");
    }
    for number in 0..systems {
        let system = ecs::system(format!("system {number}"), |_| {
            count(calls);
            Ok(())
        });
        claim.add_system(system.every_pass()).expect("a new handle");
    }
    (claim, owned)
}

fn empty(systems: usize, manual: bool, passes: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, hand(systems, manual, passes))
        .with(Engine::Ours, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let both = Box::new(container(systems, manual, &CALLS));
            let mut both = both;
            move |clock: &mut Clock| {
                let (claim, _) = &mut *both;
                clock.time_wall(|| {
                    for _ in 0..passes {
                        claim.update().expect("nothing fails");
                    }
                });
                taken(&CALLS)
            }
        })
        .with(Engine::Bevy, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let mut world = BevyWorld::new();
            let mut schedule = Schedule::default();
            schedule.set_executor(SingleThreadedExecutor::new());
            for _ in 0..systems {
                schedule.add_systems(|| count(&CALLS));
            }
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    for _ in 0..passes {
                        schedule.run(&mut world);
                    }
                });
                taken(&CALLS)
            }
        })
        .with(Engine::Shipyard, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let world = shipyard::World::new();
            let mut workload = Workload::new("empty");
            for _ in 0..systems {
                // Counted by all of its threads at once.
                let system = || {
                    CALLS.fetch_add(1, Ordering::Relaxed);
                };
                workload = workload.with_system(system);
            }
            workload.add_to_world(&world).expect("a new name");
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    for _ in 0..passes {
                        world.run_workload("empty").expect("nothing is borrowed");
                    }
                });
                taken(&CALLS)
            }
        })
        .with(Engine::Flecs, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let world = World::new();
            for _ in 0..systems {
                world.system::<()>().run(|_| count(&CALLS));
            }
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    for _ in 0..passes {
                        world.progress();
                    }
                });
                taken(&CALLS)
            }
        })
}

/// The same where systems may run beside each other. By hand: a task of `rayon`'s for each. Ours with one worker, which is
/// woken for what is worth it, or always; the others with as many threads as they want.
fn beside(systems: usize, always: bool, passes: usize) -> Sides {
    fn add(calls: &AtomicU64) {
        calls.fetch_add(1, Ordering::Relaxed);
    }
    Sides::default()
        .with(Engine::Hand, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            type Boxed = Box<dyn Fn() + Send + Sync>;
            let boxed = |_| -> Boxed { Box::new(|| add(&CALLS)) };
            let list: Vec<Boxed> = (0..systems).map(boxed).collect();
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    for _ in 0..passes {
                        rayon::scope(|scope| {
                            for work in black_box(&list) {
                                scope.spawn(|_| work());
                            }
                        });
                    }
                });
                taken(&CALLS)
            }
        })
        .with(Engine::Ours, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let owned = OwnedContainer::new("beside").expect("a handle");
            let mut claim = owned.claim().expect("it is idle");
            claim
                .set_clock(ManualClock::new())
                .expect("it has not begun");
            claim.set_workers(&Workers::new(1).expect("a thread"));
            if always {
                claim.context().set_worth_waking(Duration::ZERO);
            }
            for number in 0..systems {
                let system = ecs::parallel(format!("system {number}"), || add(&CALLS));
                claim.add_system(system.every_pass()).expect("a new handle");
            }
            move |clock: &mut Clock| {
                let _owner = &owned;
                clock.time_wall(|| {
                    for _ in 0..passes {
                        claim.update().expect("nothing fails");
                    }
                });
                taken(&CALLS)
            }
        })
        .with(Engine::Bevy, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            ComputeTaskPool::get_or_init(TaskPool::default);
            let mut world = BevyWorld::new();
            let mut schedule = Schedule::default();
            schedule.set_executor(MultiThreadedExecutor::new());
            for _ in 0..systems {
                schedule.add_systems(|| add(&CALLS));
            }
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    for _ in 0..passes {
                        schedule.run(&mut world);
                    }
                });
                taken(&CALLS)
            }
        })
        .with(Engine::Shipyard, {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let world = shipyard::World::new();
            let mut workload = Workload::new("empty");
            for _ in 0..systems {
                workload = workload.with_system(|| add(&CALLS));
            }
            workload.add_to_world(&world).expect("a new name");
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    for _ in 0..passes {
                        world.run_workload("empty").expect("nothing is borrowed");
                    }
                });
                taken(&CALLS)
            }
        })
}

const MESSAGES: usize = 1_000;

/// Messages that were made before, sent and read; by hand from a vector to another. No peer has such.
fn messages() -> Sides {
    let batch = || {
        let message = ecs::json!({
            "destination": { "container": "main", "system": "reader" },
            "n": 1
        });
        vec![message; MESSAGES]
    };
    Sides::default()
        .with(Engine::Hand, {
            let mut mailbox = Vec::new();
            move |clock: &mut Clock| {
                let batch = batch();
                clock.time(|| {
                    mailbox.extend(batch);
                    let read = mailbox.drain(..).map(black_box);
                    read.count() as u64
                })
            }
        })
        .with(Engine::Ours, {
            static READ: AtomicU64 = AtomicU64::new(0);
            let manager = ecs::Manager::new();
            let main = manager.container("main").expect("a handle");
            let reader = ecs::system("reader", |cx| {
                while let Some(message) = cx.this.next_message() {
                    black_box(message);
                    count(&READ);
                }
                Ok(())
            });
            let mut claim = main.claim().expect("it is idle");
            claim.add_system(reader.every_pass()).expect("a new handle");
            drop(claim);
            move |clock: &mut Clock| {
                let batch = batch();
                clock.time(|| {
                    for message in batch {
                        manager.message_submit(message).expect("it is well formed");
                    }
                    main.update().expect("nothing fails");
                });
                taken(&READ)
            }
        })
}

pub(crate) fn run(bench: &mut Bench) {
    for &(systems, passes) in bench.sizes(&[
        (1, 2_000),
        (10, 1_000),
        (100, 200),
        (1_000, 20),
        (10_000, 2),
    ]) {
        for (clock, manual) in [("manual", true), ("real", false)] {
            let name = format!("pass of {systems} empty systems, {clock} clock");
            bench.row(&name, systems * passes, || empty(systems, manual, passes));
        }
    }
    for &(systems, passes) in bench.sizes(&[(10, 1_000), (100, 100), (1_000, 10)]) {
        for (woken, always) in [("", false), (", all handed over", true)] {
            let name = format!("pass of {systems} empty systems on threads{woken}");
            bench.row(&name, systems * passes, || beside(systems, always, passes));
        }
    }
    bench.row("message, made before, sent and read", MESSAGES, messages);
}
