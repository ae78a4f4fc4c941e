//! Iteration over 32 archetypes, of which a half has a kind that is filtered by or optional.

use std::hint::black_box;

use bevy_ecs::query::Without;
use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;
use shipyard::{IntoIter as _, View, ViewMut};

use crate::bench::{Bench, Engine, Sides};
use crate::data::{P1, P2, P3, P4, Position, Velocity, bits};
use crate::flecs::side as flecs_side;
use crate::harness::Clock;
use crate::parts::Vector;

const PER_ARCHETYPE: usize = 320;
const ARCHETYPES: usize = 32;
const STEP: Vector = Vector {
    x: 1.0,
    y: 2.0,
    z: 3.0,
};

/// Calls `spawn` with each entity's position, and which of five kinds it has beside.
fn mixed(mut spawn: impl FnMut(Position, [bool; 5])) {
    for number in 0..ARCHETYPES {
        for turn in 0..PER_ARCHETYPE {
            let has = std::array::from_fn(|bit| number & (1 << bit) != 0);
            spawn(Position(Vector::of(turn)), has);
        }
    }
}

/// Fills a world, by what spawns an entity and what adds a kind to it.
macro_rules! fill {
    (|$position:ident| $spawn:expr, |$id:ident, $kind:ident| $add:expr) => {
        mixed(|$position, has| {
            let $id = $spawn;
            fill!(has, $id, $kind, $add, 0 Velocity 1 P1 2 P2 3 P3 4 P4);
        })
    };
    ($has:ident, $id:ident, $kind:ident, $add:expr, $($bit:literal $type:ident)*) => {
        $(if $has[$bit] {
            let $kind = $type(Vector::of(1));
            $add;
        })*
    };
}

fn our_world() -> ecs::World {
    let mut world = ecs::World::new();
    fill!(|position| world.spawn(position), |id, kind| assert!(
        world.insert(id, kind).is_ok()
    ));
    world
}

fn hecs_world() -> hecs::World {
    let mut world = hecs::World::new();
    fill!(|position| world.spawn((position,)), |id, kind| {
        assert!(world.insert_one(id, kind).is_ok());
    });
    world
}

fn bevy_world() -> BevyWorld {
    let mut world = BevyWorld::new();
    fill!(|position| world.spawn(position).id(), |id, kind| world
        .entity_mut(id)
        .insert(kind));
    world
}

fn shipyard_world() -> shipyard::World {
    let mut world = shipyard::World::new();
    fill!(|position| world.add_entity(position), |id, kind| world
        .add_component(id, kind));
    world
}

fn flecs_world() -> World {
    let world = World::new();
    fill!(|position| world.entity().set(position), |id, kind| id
        .set(kind));
    world
}

/// By hand: a table's positions, and velocities if it has them.
struct Table {
    positions: Vec<Position>,
    velocities: Option<Vec<Velocity>>,
}

fn tables() -> Vec<Table> {
    let table = |number: usize| Table {
        positions: (0..PER_ARCHETYPE)
            .map(|turn| Position(Vector::of(turn)))
            .collect(),
        velocities: (number & 1 == 1).then(|| vec![Velocity(Vector::of(1)); PER_ARCHETYPE]),
    };
    (0..ARCHETYPES).map(table).collect()
}

const REPEATS: usize = 20;

/// The repetitions of a round, each with a step that the compiler does not know.
fn repeat(mut once: impl FnMut(Vector)) {
    for _ in 0..REPEATS {
        once(black_box(STEP));
    }
}

/// A position and a velocity, if there is one.
#[inline]
fn advance(position: &mut Position, velocity: Option<&Velocity>, step: &Vector) {
    match velocity {
        Some(velocity) => position.0.add(&velocity.0),
        None => position.0.add(step),
    }
}

fn sum<'a>(positions: impl Iterator<Item = &'a Position>) -> u64 {
    positions.map(|position| bits(&position.0)).sum()
}

fn hand(mut work: impl FnMut(&mut [Table], Vector) + 'static) -> impl FnMut(&mut Clock) -> u64 {
    let mut tables = tables();
    move |clock| {
        clock.time(|| repeat(|step| work(black_box(&mut tables), step)));
        sum(tables.iter().flat_map(|table| &table.positions))
    }
}

fn ours<Q: ecs::Query + 'static, F: ecs::Filter + 'static>(
    mut work: impl FnMut(ecs::QueryIter<'_, Q, F>, Vector) + 'static,
) -> impl FnMut(&mut Clock) -> u64 {
    let mut world = our_world();
    let mut prepared = world.prepare_filtered::<Q, F>().expect("a plain query");
    move |clock| {
        clock.time(|| {
            repeat(|step| {
                let rows = prepared.iter(black_box(&mut world));
                work(rows.expect("the same world"), step);
            });
        });
        sum(world.query::<&Position>())
    }
}

fn hecs<Q: hecs::Query + 'static>(
    mut work: impl FnMut(hecs::PreparedQueryIter<'_, Q>, Vector) + 'static,
) -> impl FnMut(&mut Clock) -> u64 {
    let mut world = hecs_world();
    let mut prepared = hecs::PreparedQuery::<Q>::new();
    move |clock| {
        clock.time(|| repeat(|step| work(prepared.query_mut(black_box(&mut world)), step)));
        sum(world.query_mut::<&Position>().into_iter())
    }
}

fn shipyard(
    mut work: impl FnMut(ViewMut<'_, Position>, View<'_, Velocity>, Vector) + 'static,
) -> impl FnMut(&mut Clock) -> u64 {
    let mut world = shipyard_world();
    move |clock| {
        clock.time(|| {
            repeat(|step| {
                let run = |positions: ViewMut<'_, Position>, velocities: View<'_, Velocity>| {
                    work(positions, velocities, step);
                };
                black_box(&mut world).run(run);
            });
        });
        sum(world.iter::<&Position>().iter())
    }
}

fn flecs_sum(world: &World) -> u64 {
    let mut sum = 0;
    world.each::<&Position>(|position| sum += bits(&position.0));
    sum
}

fn without() -> Sides {
    Sides::default()
        .with(
            Engine::Hand,
            hand(|tables, step| {
                for table in tables.iter_mut().filter(|table| table.velocities.is_none()) {
                    for position in &mut table.positions {
                        position.0.add(&step);
                    }
                }
            }),
        )
        .with(
            Engine::Ours,
            ours::<&mut Position, ecs::Without<Velocity>>(|rows, step| {
                rows.for_each(|position| position.0.add(&step));
            }),
        )
        .with(
            Engine::Hecs,
            hecs::<hecs::Without<&mut Position, &Velocity>>(|rows, step| {
                rows.for_each(|position| position.0.add(&step));
            }),
        )
        .with(Engine::Bevy, {
            let mut world = bevy_world();
            let mut query = world.query_filtered::<&mut Position, Without<Velocity>>();
            move |clock: &mut Clock| {
                clock.time(|| {
                    repeat(|step| {
                        let rows = query.iter_mut(black_box(&mut world));
                        rows.for_each(|mut position| position.0.add(&step));
                    });
                });
                sum(world.query::<&Position>().iter(&world))
            }
        })
        .with(
            Engine::Shipyard,
            shipyard(|mut positions, velocities, step| {
                let rows = (&mut positions, !&velocities).iter();
                rows.for_each(|(position, ())| position.0.add(&step));
            }),
        )
        .with(Engine::Flecs, {
            let world = flecs_world();
            let mut query = world.query::<&mut Position>();
            let query = query.without(Velocity::id()).set_cached().build();
            flecs_side(world, query, |world, query, clock| {
                clock.time(|| {
                    repeat(|step| {
                        black_box(query).run(|mut tables| {
                            while tables.next() {
                                for position in tables.field_mut::<Position>(0).as_mut_slice() {
                                    position.0.add(&step);
                                }
                            }
                        });
                    });
                });
                flecs_sum(world)
            })
        })
}

fn optional() -> Sides {
    type Rows<'w> = (&'w mut Position, Option<&'w Velocity>);
    Sides::default()
        .with(
            Engine::Hand,
            hand(|tables, step| {
                for table in tables {
                    if let Some(velocities) = &table.velocities {
                        for (position, velocity) in table.positions.iter_mut().zip(velocities) {
                            position.0.add(&velocity.0);
                        }
                    } else {
                        for position in &mut table.positions {
                            position.0.add(&step);
                        }
                    }
                }
            }),
        )
        .with(
            Engine::Ours,
            ours::<Rows<'_>, ()>(|rows, step| {
                rows.for_each(|(position, velocity)| advance(position, velocity, &step));
            }),
        )
        .with(
            Engine::Hecs,
            hecs::<Rows<'_>>(|rows, step| {
                rows.for_each(|(position, velocity)| advance(position, velocity, &step));
            }),
        )
        .with(Engine::Bevy, {
            let mut world = bevy_world();
            let mut query = world.query::<Rows<'_>>();
            move |clock: &mut Clock| {
                clock.time(|| {
                    repeat(|step| {
                        let rows = query.iter_mut(black_box(&mut world));
                        rows.for_each(|(mut position, velocity)| {
                            advance(&mut position, velocity, &step);
                        });
                    });
                });
                sum(world.query::<&Position>().iter(&world))
            }
        })
        .with(
            Engine::Shipyard,
            shipyard(|mut positions, velocities, step| {
                let rows = (&mut positions, velocities.as_optional()).iter();
                rows.for_each(|(position, velocity)| advance(position, velocity, &step));
            }),
        )
        .with(Engine::Flecs, {
            let world = flecs_world();
            let mut query = world.query::<(&mut Position, Option<&Velocity>)>();
            let query = query.set_cached().build();
            flecs_side(world, query, |world, query, clock| {
                clock.time(|| {
                    repeat(|step| {
                        black_box(query).each(|(position, velocity)| {
                            advance(position, velocity, &step);
                        });
                    });
                });
                flecs_sum(world)
            })
        })
}

pub(crate) fn run(bench: &mut Bench) {
    let all = PER_ARCHETYPE * ARCHETYPES * REPEATS;
    bench.row("filter Without over 32 archetypes", all / 2, without);
    bench.row("optional over 32 archetypes", all, optional);
}
