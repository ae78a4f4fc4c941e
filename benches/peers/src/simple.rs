//! Iteration over one archetype: row by row, internally, by chunks, over a wide one; and up to 10M rows.

use std::hint::black_box;

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;

use crate::bench::{Bench, Engine, Sides};
use crate::data::{Position, Velocity, bits, columns};
use crate::flecs::side as flecs_side;
use crate::harness::Clock;
use crate::parts::row;

/// Slices of components as the floats that they are made of.
mod flat {
    #![allow(
        unsafe_code,
        reason = "what a user does with a crate for plain data, without the crate"
    )]

    use super::{Position, Velocity};

    /// Adds all floats of one slice to those of another.
    #[inline]
    pub(super) fn add(positions: &mut [Position], velocities: &[Velocity]) {
        let (rows, other_rows) = (positions.len() * 3, velocities.len() * 3);
        // SAFETY: a `Position` is a transparent `Vector`, and that is three floats (`repr(C)`, no padding).
        let positions =
            unsafe { std::slice::from_raw_parts_mut(positions.as_mut_ptr().cast::<f32>(), rows) };
        // SAFETY: as above.
        let velocities =
            unsafe { std::slice::from_raw_parts(velocities.as_ptr().cast::<f32>(), other_rows) };
        for (position, velocity) in positions.iter_mut().zip(velocities) {
            *position += velocity;
        }
    }
}

/// How a workload goes over its rows.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// A plain `for` over rows.
    For,
    /// What the engine has for a closure over rows, where that is faster.
    ForEach,
    /// The columns of each archetype as slices.
    Chunks,
}

fn sum<'a>(positions: impl Iterator<Item = &'a Position>) -> u64 {
    positions.map(|position| bits(&position.0)).sum()
}

/// position += velocity. An engine that has not the way is left out.
fn simple(count: usize, repeats: usize, way: Way) -> Sides {
    let filled = move || columns(count);
    let sides = Sides::default()
        .with(Engine::Hand, hand(filled(), repeats, way))
        .with(Engine::Ours, ours(filled(), repeats, way))
        .with(Engine::Bevy, bevy(filled(), repeats, way))
        .with(Engine::Flecs, flecs(&filled(), repeats, way));
    if way == Way::Chunks {
        return sides;
    }
    sides
        .with(Engine::Hecs, hecs(filled(), repeats, way))
        .with(Engine::Shipyard, shipyard(filled(), repeats, way))
}

type Columns = (Vec<Position>, Vec<Velocity>);

fn hand(columns: Columns, repeats: usize, way: Way) -> impl FnMut(&mut Clock) -> u64 {
    let (mut positions, velocities) = columns;
    move |clock| {
        clock.time(|| {
            for _ in 0..repeats {
                let positions = black_box(&mut positions);
                let rows = positions.iter_mut().zip(&velocities);
                match way {
                    Way::For => {
                        for (position, velocity) in rows {
                            position.0.add(&velocity.0);
                        }
                    }
                    Way::ForEach => {
                        rows.for_each(|(position, velocity)| position.0.add(&velocity.0));
                    }
                    Way::Chunks => flat::add(positions, &velocities),
                }
            }
        });
        sum(positions.iter())
    }
}

fn ours(columns: Columns, repeats: usize, way: Way) -> impl FnMut(&mut Clock) -> u64 {
    let mut world = ecs::World::new();
    drop(world.spawn_columns(columns));
    let prepared = world.prepare::<(&mut Position, &Velocity)>();
    let mut prepared = prepared.expect("a plain query");
    move |clock| {
        clock.time(|| {
            for _ in 0..repeats {
                let rows = prepared
                    .iter(black_box(&mut world))
                    .expect("the same world");
                match way {
                    Way::For => {
                        for (position, velocity) in rows {
                            position.0.add(&velocity.0);
                        }
                    }
                    Way::ForEach => {
                        rows.for_each(|(position, velocity)| position.0.add(&velocity.0));
                    }
                    Way::Chunks => {
                        for chunk in rows.chunks() {
                            let (positions, velocities) = chunk.into_slices();
                            flat::add(positions, velocities);
                        }
                    }
                }
            }
        });
        sum(world.query::<&Position>())
    }
}

fn hecs(columns: Columns, repeats: usize, way: Way) -> impl FnMut(&mut Clock) -> u64 {
    let mut world = hecs::World::new();
    drop(world.spawn_batch(columns.0.into_iter().zip(columns.1)));
    let mut prepared = hecs::PreparedQuery::<(&mut Position, &Velocity)>::new();
    move |clock| {
        clock.time(|| {
            for _ in 0..repeats {
                let rows = prepared.query_mut(black_box(&mut world));
                if way == Way::For {
                    for (position, velocity) in rows {
                        position.0.add(&velocity.0);
                    }
                } else {
                    rows.for_each(|(position, velocity)| position.0.add(&velocity.0));
                }
            }
        });
        sum(world.query_mut::<&Position>().into_iter())
    }
}

fn bevy(columns: Columns, repeats: usize, way: Way) -> impl FnMut(&mut Clock) -> u64 {
    let mut world = BevyWorld::new();
    drop(world.spawn_batch(columns.0.into_iter().zip(columns.1)));
    let mut query = world.query::<(&mut Position, &Velocity)>();
    move |clock| {
        clock.time(|| {
            for _ in 0..repeats {
                let world = black_box(&mut world);
                match way {
                    Way::For => {
                        for (mut position, velocity) in query.iter_mut(world) {
                            position.0.add(&velocity.0);
                        }
                    }
                    Way::ForEach => {
                        let rows = query.iter_mut(world);
                        rows.for_each(|(mut position, velocity)| position.0.add(&velocity.0));
                    }
                    Way::Chunks => {
                        // Without its ticks, as it offers and as the others run that are not told to track.
                        let chunks = query.contiguous_iter_mut(world).expect("a dense query");
                        for (mut positions, velocities) in chunks {
                            flat::add(positions.bypass_change_detection(), velocities);
                        }
                    }
                }
            }
        });
        let mut query = world.query::<&Position>();
        sum(query.iter(&world))
    }
}

fn shipyard(columns: Columns, repeats: usize, way: Way) -> impl FnMut(&mut Clock) -> u64 {
    use shipyard::{IntoIter as _, View, ViewMut};
    let mut world = shipyard::World::new();
    world.bulk_add_entity(columns.0.into_iter().zip(columns.1));
    move |clock| {
        clock.time(|| {
            for _ in 0..repeats {
                let world = black_box(&mut world);
                world.run(
                    |mut positions: ViewMut<'_, Position>, velocities: View<'_, Velocity>| {
                        let rows = (&mut positions, &velocities).iter();
                        if way == Way::For {
                            for (position, velocity) in rows {
                                position.0.add(&velocity.0);
                            }
                        } else {
                            rows.for_each(|(position, velocity)| position.0.add(&velocity.0));
                        }
                    },
                );
            }
        });
        let mut query = world.iter::<&Position>();
        sum(query.iter())
    }
}

fn flecs(columns: &Columns, repeats: usize, way: Way) -> impl FnMut(&mut Clock) -> u64 + 'static {
    let world = World::new();
    let mut bulk = world.entity_bulk(row(columns.0.len()));
    bulk.set(&columns.0).set(&columns.1).build();
    let query = world
        .query::<(&mut Position, &Velocity)>()
        .set_cached()
        .build();
    flecs_side(world, query, move |world, query, clock| {
        clock.time(|| {
            for _ in 0..repeats {
                let query = black_box(query);
                match way {
                    Way::ForEach => query.each(|(position, velocity)| position.0.add(&velocity.0)),
                    Way::For | Way::Chunks => query.run(|mut tables| {
                        while tables.next() {
                            let mut positions = tables.field_mut::<Position>(0);
                            let velocities = tables.field::<Velocity>(1);
                            let (positions, velocities) =
                                (positions.as_mut_slice(), velocities.as_slice());
                            if way == Way::Chunks {
                                flat::add(positions, velocities);
                                continue;
                            }
                            for (position, velocity) in positions.iter_mut().zip(velocities) {
                                position.0.add(&velocity.0);
                            }
                        }
                    }),
                }
            }
        });
        let mut sum = 0;
        world.each::<&Position>(|position| sum += bits(&position.0));
        sum
    })
}

pub(crate) fn run(bench: &mut Bench) {
    let ways = [
        ("for", Way::For),
        ("for_each", Way::ForEach),
        ("chunks as floats", Way::Chunks),
    ];
    let sizes = [
        ("1k", 1_000, 200),
        ("10k", 10_000, 20),
        ("100k", 100_000, 2),
        ("1M", 1_000_000, 1),
        ("10M", 10_000_000, 1),
    ];
    for (size, count, repeats) in sizes {
        for (way, how) in ways {
            let name = format!("iterate {size}, {way}");
            bench.row(&name, count * repeats, || simple(count, repeats, how));
        }
    }
}
