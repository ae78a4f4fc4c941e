//! Three systems that swap, each its two kinds.

use std::hint::black_box;
use std::mem::swap;

use bevy_ecs::schedule::{MultiThreadedExecutor, Schedule, SingleThreadedExecutor};
use bevy_ecs::system::Query as BevyQuery;
use bevy_ecs::world::World as BevyWorld;
use bevy_tasks::{ComputeTaskPool, TaskPool};
use ecs::OwnedContainer;
use flecs_ecs::prelude::*;
use shipyard::{IntoIter as _, IntoWorkload as _, ViewMut};

use crate::bench::{Bench, Engine, Sides};
use crate::data::{A, B, C, D, E};
use crate::harness::Clock;
use crate::parts::small;

const EACH: usize = 10_000;

/// Four sets of entities, by what spawns an entity of two and one of three kinds.
macro_rules! fill {
    (|$two:ident| $spawn_two:expr, |$three:ident| $spawn_three:expr, |$four:ident| $spawn_four:expr, |$five:ident| $spawn_five:expr) => {
        for turn in 0..EACH {
            let value = small(turn);
            let $two = (A(value), B(value + 1.0));
            $spawn_two;
            let $three = (A(value), B(value + 1.0), C(value + 2.0));
            $spawn_three;
            let $four = (A(value), B(value + 1.0), C(value + 2.0), D(value + 3.0));
            $spawn_four;
            let $five = (A(value), B(value + 1.0), C(value + 2.0), E(value + 4.0));
            $spawn_five;
        }
    };
}

fn weigh(values: [f32; 3]) -> u64 {
    let [first, second, third] = values.map(|value| u64::from(value.to_bits()));
    first + 3 * second + 5 * third
}

/// By hand: the four sets, each as its columns.
#[derive(Default)]
struct Sets {
    two: (Vec<A>, Vec<B>),
    three: (Vec<A>, Vec<B>, Vec<C>),
    four: (Vec<A>, Vec<B>, Vec<C>, Vec<D>),
    five: (Vec<A>, Vec<B>, Vec<C>, Vec<E>),
}

impl Sets {
    fn new() -> Self {
        let mut sets = Self::default();
        fill!(
            |bundle| sets.two.extend([bundle]),
            |bundle| sets.three.extend([bundle]),
            |bundle| sets.four.extend([bundle]),
            |bundle| sets.five.extend([bundle])
        );
        sets
    }

    fn swap_first(&mut self) {
        let swap_all = |a: &mut Vec<A>, b: &mut Vec<B>| {
            a.iter_mut()
                .zip(b)
                .for_each(|(a, b)| swap(&mut a.0, &mut b.0));
        };
        swap_all(&mut self.two.0, &mut self.two.1);
        swap_all(&mut self.three.0, &mut self.three.1);
        swap_all(&mut self.four.0, &mut self.four.1);
        swap_all(&mut self.five.0, &mut self.five.1);
    }

    /// The first beside the other two, which share a kind.
    fn swap_on_threads(&mut self) {
        fn swap_all(a: &mut [A], b: &mut [B]) {
            a.iter_mut()
                .zip(b)
                .for_each(|(a, b)| swap(&mut a.0, &mut b.0));
        }
        let Self {
            two,
            three,
            four,
            five,
        } = self;
        let first = || {
            swap_all(&mut two.0, &mut two.1);
            swap_all(&mut three.0, &mut three.1);
            swap_all(&mut four.0, &mut four.1);
            swap_all(&mut five.0, &mut five.1);
        };
        let others = || {
            let rows = four.2.iter_mut().zip(&mut four.3);
            rows.for_each(|(c, d)| swap(&mut c.0, &mut d.0));
            let rows = five.2.iter_mut().zip(&mut five.3);
            rows.for_each(|(c, e)| swap(&mut c.0, &mut e.0));
        };
        rayon::join(first, others);
    }

    fn swap_fourth(&mut self) {
        let rows = self.four.2.iter_mut().zip(&mut self.four.3);
        rows.for_each(|(c, d)| swap(&mut c.0, &mut d.0));
    }

    fn swap_fifth(&mut self) {
        let rows = self.five.2.iter_mut().zip(&mut self.five.3);
        rows.for_each(|(c, e)| swap(&mut c.0, &mut e.0));
    }

    fn sum(&self) -> u64 {
        let rows = self.four.0.iter().zip(&self.four.1).zip(&self.four.2);
        let four: u64 = rows.map(|((a, b), c)| weigh([a.0, b.0, c.0])).sum();
        let rows = self.five.0.iter().zip(&self.five.1).zip(&self.five.2);
        let five: u64 = rows.map(|((a, b), c)| weigh([a.0, b.0, c.0])).sum();
        let rows = self.three.0.iter().zip(&self.three.1).zip(&self.three.2);
        four + five + rows.map(|((a, b), c)| weigh([a.0, b.0, c.0])).sum::<u64>()
    }
}

/// A system that swaps two kinds.
macro_rules! swapping {
    (ours $first:ident $second:ident) => {
        ecs::system(concat!(stringify!($first), stringify!($second)), |cx| {
            let rows = cx.world.query::<(&mut $first, &mut $second)>();
            rows.for_each(|(a, b)| swap(&mut a.0, &mut b.0));
            Ok(())
        })
        .every_pass()
    };
    (typed $first:ident $second:ident) => {
        ecs::parallel(
            concat!(stringify!($first), stringify!($second)),
            |mut rows: ecs::Matches<'_, (&mut $first, &mut $second)>| {
                rows.for_each(|(a, b)| swap(&mut a.0, &mut b.0));
            },
        )
        .every_pass()
    };
    (bevy $first:ident $second:ident) => {
        |mut rows: BevyQuery<'_, '_, (&mut $first, &mut $second)>| {
            let rows = rows.iter_mut();
            rows.for_each(|(mut a, mut b)| swap(&mut a.0, &mut b.0));
        }
    };
    (shipyard $first:ident $second:ident) => {
        |mut a: ViewMut<'_, $first>, mut b: ViewMut<'_, $second>| {
            let rows = (&mut a, &mut b).iter();
            rows.for_each(|(a, b)| swap(&mut a.0, &mut b.0));
        }
    };
}

/// Swaps in pairs over 40,000, 10,000 and 10,000 entities.
#[allow(clippy::too_many_lines, reason = "a part for each engine")]
fn swaps() -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            let mut sets = Sets::new();
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    let sets = black_box(&mut sets);
                    sets.swap_first();
                    sets.swap_fourth();
                    sets.swap_fifth();
                });
                sets.sum()
            }
        })
        .with(Engine::Ours, {
            let owned = OwnedContainer::new("swaps").expect("a handle");
            let mut claim = owned.claim().expect("it is idle");
            let world = claim.world();
            fill!(
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle)
            );
            claim.add_system(swapping!(ours A B)).expect("a new handle");
            claim.add_system(swapping!(ours C D)).expect("a new handle");
            claim.add_system(swapping!(ours C E)).expect("a new handle");
            move |clock: &mut Clock| {
                let _owner = &owned;
                clock.time_wall(|| claim.update()).expect("nothing fails");
                let rows = claim.world().query::<(&A, &B, &C)>();
                rows.map(|(a, b, c)| weigh([a.0, b.0, c.0])).sum()
            }
        })
        .with(Engine::Hecs, {
            let mut world = hecs::World::new();
            fill!(
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle)
            );
            // It has no systems: three functions, as its users write them.
            let mut first = hecs::PreparedQuery::<(&mut A, &mut B)>::new();
            let mut fourth = hecs::PreparedQuery::<(&mut C, &mut D)>::new();
            let mut fifth = hecs::PreparedQuery::<(&mut C, &mut E)>::new();
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    let rows = first.query_mut(&mut world);
                    rows.for_each(|(a, b)| swap(&mut a.0, &mut b.0));
                    let rows = fourth.query_mut(&mut world);
                    rows.for_each(|(c, d)| swap(&mut c.0, &mut d.0));
                    let rows = fifth.query_mut(&mut world);
                    rows.for_each(|(c, e)| swap(&mut c.0, &mut e.0));
                });
                let rows = world.query_mut::<(&A, &B, &C)>().into_iter();
                rows.map(|(a, b, c)| weigh([a.0, b.0, c.0])).sum()
            }
        })
        .with(Engine::Bevy, {
            let mut world = BevyWorld::new();
            fill!(
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle)
            );
            let mut schedule = Schedule::default();
            schedule.set_executor(SingleThreadedExecutor::new());
            schedule.add_systems((
                swapping!(bevy A B),
                swapping!(bevy C D),
                swapping!(bevy C E),
            ));
            move |clock: &mut Clock| {
                clock.time_wall(|| schedule.run(&mut world));
                let mut query = world.query::<(&A, &B, &C)>();
                let rows = query.iter(&world);
                rows.map(|(a, b, c)| weigh([a.0, b.0, c.0])).sum()
            }
        })
        .with(Engine::Shipyard, {
            let mut world = shipyard::World::new();
            fill!(
                |bundle| world.add_entity(bundle),
                |bundle| world.add_entity(bundle),
                |bundle| world.add_entity(bundle),
                |bundle| world.add_entity(bundle)
            );
            let swaps = || {
                (
                    swapping!(shipyard A B),
                    swapping!(shipyard C D),
                    swapping!(shipyard C E),
                )
                    .into_workload()
            };
            world.add_workload(swaps);
            move |clock: &mut Clock| {
                clock
                    .time_wall(|| world.run_workload(swaps))
                    .expect("nothing is borrowed");
                let mut query = world.iter::<(&A, &B, &C)>();
                let rows = query.iter();
                rows.map(|(a, b, c)| weigh([a.0, b.0, c.0])).sum()
            }
        })
        .with(Engine::Flecs, {
            let world = World::new();
            fill!(
                |bundle| world.entity().set(bundle.0).set(bundle.1),
                |bundle| world.entity().set(bundle.0).set(bundle.1).set(bundle.2),
                |bundle| world
                    .entity()
                    .set(bundle.0)
                    .set(bundle.1)
                    .set(bundle.2)
                    .set(bundle.3),
                |bundle| world
                    .entity()
                    .set(bundle.0)
                    .set(bundle.1)
                    .set(bundle.2)
                    .set(bundle.3)
            );
            world
                .system::<(&mut A, &mut B)>()
                .each(|(a, b)| swap(&mut a.0, &mut b.0));
            world
                .system::<(&mut C, &mut D)>()
                .each(|(c, d)| swap(&mut c.0, &mut d.0));
            world
                .system::<(&mut C, &mut E)>()
                .each(|(c, e)| swap(&mut c.0, &mut e.0));
            move |clock: &mut Clock| {
                clock.time_wall(|| world.progress());
                let mut sum = 0;
                world.each::<(&A, &B, &C)>(|(a, b, c)| sum += weigh([a.0, b.0, c.0]));
                sum
            }
        })
}

/// The same where systems may run beside each other; ours with one worker.
fn swaps_on_threads() -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            let mut sets = Sets::new();
            move |clock: &mut Clock| {
                clock.time_wall(|| black_box(&mut sets).swap_on_threads());
                sets.sum()
            }
        })
        .with(Engine::Ours, {
            let owned = OwnedContainer::new("swaps").expect("a handle");
            let mut claim = owned.claim().expect("it is idle");
            claim.set_workers(&ecs::Workers::new(1).expect("a thread"));
            let world = claim.world();
            fill!(
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle)
            );
            claim
                .add_system(swapping!(typed A B))
                .expect("a new handle");
            claim
                .add_system(swapping!(typed C D))
                .expect("a new handle");
            claim
                .add_system(swapping!(typed C E))
                .expect("a new handle");
            move |clock: &mut Clock| {
                let _owner = &owned;
                clock.time_wall(|| claim.update()).expect("nothing fails");
                let rows = claim.world().query::<(&A, &B, &C)>();
                rows.map(|(a, b, c)| weigh([a.0, b.0, c.0])).sum()
            }
        })
        .with(Engine::Bevy, {
            ComputeTaskPool::get_or_init(TaskPool::default);
            let mut world = BevyWorld::new();
            fill!(
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle),
                |bundle| world.spawn(bundle)
            );
            let mut schedule = Schedule::default();
            schedule.set_executor(MultiThreadedExecutor::new());
            schedule.add_systems((
                swapping!(bevy A B),
                swapping!(bevy C D),
                swapping!(bevy C E),
            ));
            move |clock: &mut Clock| {
                clock.time_wall(|| schedule.run(&mut world));
                let mut query = world.query::<(&A, &B, &C)>();
                let rows = query.iter(&world);
                rows.map(|(a, b, c)| weigh([a.0, b.0, c.0])).sum()
            }
        })
}

pub(crate) fn run(bench: &mut Bench) {
    bench.row(
        "schedule: 3 systems that swap, 60k rows, on threads",
        6 * EACH,
        swaps_on_threads,
    );
    bench.row("schedule: 3 systems that swap, 60k rows", 6 * EACH, swaps);
}
