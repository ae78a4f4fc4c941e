//! Many at once: into a fresh world, into a world that held as many before, with pages kept or from the system.

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;

use crate::bench::{Bench, Engine, Sides};
use crate::data::{Matrix, Position, Rotation, Velocity, bits, columns, large, moving};
use crate::harness::Clock;
use crate::parts::{Slots, Vector, small};

/// Columns with ids and slots.
#[derive(Default)]
struct Hand<C> {
    slots: Slots<u32>,
    ids: Vec<u32>,
    columns: C,
}

impl<C> Hand<C> {
    fn reserve_rows(&mut self, first: usize, count: usize) {
        self.ids.reserve(count);
        self.slots
            .alloc_rows(first, count, &mut self.ids, |row| row);
    }

    fn release_rows(&mut self) {
        for index in self.ids.drain(..) {
            self.slots.release(index);
        }
    }
}

/// What `world` has in its positions and velocities, for each engine.
fn hand_sum(columns: &(Vec<Position>, Vec<Velocity>)) -> u64 {
    let rows = columns.0.iter().zip(&columns.1);
    rows.map(|(p, v)| bits(&p.0) + bits(&v.0)).sum()
}

fn our_sum(world: &mut ecs::World) -> u64 {
    let rows = world.query::<(&Position, &Velocity)>();
    rows.map(|(p, v)| bits(&p.0) + bits(&v.0)).sum()
}

fn hecs_sum(world: &mut hecs::World) -> u64 {
    let rows = world.query_mut::<(&Position, &Velocity)>().into_iter();
    rows.map(|(p, v)| bits(&p.0) + bits(&v.0)).sum()
}

fn bevy_sum(world: &mut BevyWorld) -> u64 {
    let mut query = world.query::<(&Position, &Velocity)>();
    let rows = query.iter(world);
    rows.map(|(p, v)| bits(&p.0) + bits(&v.0)).sum()
}

fn shipyard_sum(world: &shipyard::World) -> u64 {
    let mut rows = world.iter::<(&Position, &Velocity)>();
    rows.iter().map(|(p, v)| bits(&p.0) + bits(&v.0)).sum()
}

fn flecs_sum(query: &Query<(&'static Position, &'static Velocity)>) -> u64 {
    let mut sum = 0;
    query.each(|(p, v)| sum += bits(&p.0) + bits(&v.0));
    sum
}

/// The columns that `hecs` takes as a whole.
fn hecs_columns(count: usize) -> hecs::ColumnBatch {
    let mut kinds = hecs::ColumnBatchType::new();
    kinds.add::<Position>().add::<Velocity>();
    let builder = kinds.into_batch(u32::try_from(count).unwrap_or(u32::MAX));
    hecs_fill(&builder, (0..count).map(|turn| moving(turn).0));
    hecs_fill(&builder, (0..count).map(|turn| moving(turn).1));
    hecs_build(builder)
}

fn hecs_fill<T: hecs::Component>(
    builder: &hecs::ColumnBatchBuilder,
    values: impl Iterator<Item = T>,
) {
    let mut writer = builder.writer::<T>().expect("the kind is declared");
    for value in values {
        assert!(writer.push(value).is_ok(), "there is room for all");
    }
}

fn hecs_build(builder: hecs::ColumnBatchBuilder) -> hecs::ColumnBatch {
    let built = builder.build();
    built.unwrap_or_else(|_| unreachable!("all columns are full"))
}

/// By hand, into columns that are reserved before.
fn hand_batch(count: usize, by_columns: bool, keep: bool) -> impl FnMut(&mut Clock) -> u64 {
    let mut hand = Hand::<(Vec<Position>, Vec<Velocity>)>::default();
    move |clock| {
        if !keep {
            hand = Hand::default();
        }
        let filled = by_columns.then(|| columns(count));
        clock.time(|| {
            hand.reserve_rows(0, count);
            let (positions, velocities) = &mut hand.columns;
            if let Some(mut filled) = filled {
                positions.append(&mut filled.0);
                velocities.append(&mut filled.1);
                return;
            }
            positions.reserve(count);
            velocities.reserve(count);
            for (position, velocity) in (0..count).map(moving) {
                positions.push(position);
                velocities.push(velocity);
            }
        });
        let sum = hand_sum(&hand.columns);
        hand.columns.0.clear();
        hand.columns.1.clear();
        hand.release_rows();
        sum
    }
}

/// Two components each, from an iterator or (`by_columns`) from what the engine takes as columns, filled before.
/// `keep`: the world, and with it its memory, is the one of the rounds before.
fn batch(count: usize, by_columns: bool, keep: bool) -> Sides {
    let filled = move || by_columns.then(|| columns(count));
    let rows = move || (0..count).map(moving);
    Sides::default()
        .with(Engine::Hand, hand_batch(count, by_columns, keep))
        .with(Engine::Ours, {
            let mut world = ecs::World::new();
            move |clock: &mut Clock| {
                if !keep {
                    world = ecs::World::new();
                }
                let filled = filled();
                clock.time(|| match filled {
                    Some(columns) => world.spawn_columns(columns).map_or(0, |made| made.len()),
                    None => world.spawn_batch(rows()).len(),
                });
                let sum = our_sum(&mut world);
                world.clear();
                sum
            }
        })
        .with(Engine::Hecs, {
            let mut world = hecs::World::new();
            move |clock: &mut Clock| {
                if !keep {
                    world = hecs::World::new();
                }
                let filled = by_columns.then(|| hecs_columns(count));
                clock.time(|| match filled {
                    Some(columns) => drop(world.spawn_column_batch(columns)),
                    None => drop(world.spawn_batch(rows())),
                });
                let sum = hecs_sum(&mut world);
                world.clear();
                sum
            }
        })
        .with(Engine::Bevy, {
            let mut world = BevyWorld::new();
            move |clock: &mut Clock| {
                if !keep {
                    world = BevyWorld::new();
                }
                let filled = filled();
                clock.time(|| match filled {
                    Some((positions, velocities)) => {
                        drop(world.spawn_batch(positions.into_iter().zip(velocities)));
                    }
                    None => drop(world.spawn_batch(rows())),
                });
                let sum = bevy_sum(&mut world);
                world.clear_entities();
                sum
            }
        })
        .with(Engine::Shipyard, move |clock: &mut Clock| {
            // A new one each time: its bulk insertion takes new ids always, so that a world that is cleared and filled
            // again only grows; and from the 33rd time on its query found none of the entities.
            let mut world = shipyard::World::new();
            let filled = filled();
            clock.time(|| match filled {
                Some((positions, velocities)) => {
                    let rows = positions.into_iter().zip(velocities);
                    world.bulk_add_entity(rows).len()
                }
                None => world.bulk_add_entity(rows()).len(),
            });
            shipyard_sum(&world)
        })
        .with(Engine::Flecs, flecs_batch(count, keep, filled))
}

/// Bulk creation takes columns; where rows come from an iterator, filling these is part of the work.
fn flecs_batch(
    count: usize,
    keep: bool,
    filled: impl Fn() -> Option<(Vec<Position>, Vec<Velocity>)> + 'static,
) -> impl FnMut(&mut Clock) -> u64 + 'static {
    let prepare = || {
        let world = World::new();
        let query = world.new_query::<(&Position, &Velocity)>();
        Box::new((query, world))
    };
    let mut both = prepare();
    move |clock| {
        if !keep {
            both = prepare();
        }
        let (query, world) = &*both;
        let filled = filled();
        clock.time(|| {
            let (positions, velocities) = filled.unwrap_or_else(|| columns(count));
            let mut bulk = world.entity_bulk(u32::try_from(count).unwrap_or(u32::MAX));
            bulk.set(&positions).set(&velocities).build()
        });
        let sum = flecs_sum(query);
        world.delete_entities_with(Position::id());
        sum
    }
}

const LARGE: usize = 10_000;

/// Four components each into a fresh world, which is made before and dropped after the timed part.
fn insert(by_columns: bool) -> Sides {
    let rows = || (0..LARGE).map(large);
    let vectors = || (0..LARGE).map(Vector::of);
    let matrices = || (0..LARGE).map(|turn| Matrix([[small(turn); 4]; 4]));
    let collected = move || -> (Vec<_>, Vec<_>, Vec<_>, Vec<_>) {
        (
            matrices().collect(),
            vectors().map(Position).collect(),
            vectors().map(Rotation).collect(),
            vectors().map(Velocity).collect(),
        )
    };
    Sides::default()
        .with(Engine::Hand, move |clock: &mut Clock| {
            type Columns = (Vec<Matrix>, Vec<Position>, Vec<Rotation>, Vec<Velocity>);
            let mut hand = Hand::<Columns>::default();
            clock.time(|| {
                hand.reserve_rows(0, LARGE);
                hand.columns = if by_columns {
                    collected()
                } else {
                    rows().collect()
                };
            });
            let columns = &hand.columns;
            columns
                .1
                .iter()
                .zip(&columns.3)
                .map(|(p, v)| bits(&p.0) + bits(&v.0))
                .sum()
        })
        .with(Engine::Ours, move |clock: &mut Clock| {
            let mut world = ecs::World::new();
            clock.time(|| {
                if by_columns {
                    drop(world.spawn_columns(collected()));
                } else {
                    world.spawn_batch(rows());
                }
            });
            our_sum(&mut world)
        })
        .with(Engine::Hecs, move |clock: &mut Clock| {
            let mut world = hecs::World::new();
            clock.time(|| {
                if by_columns {
                    let mut kinds = hecs::ColumnBatchType::new();
                    kinds.add_bundle::<(Matrix, Position, Rotation, Velocity)>();
                    let builder = kinds.into_batch(u32::try_from(LARGE).unwrap_or(u32::MAX));
                    hecs_fill(&builder, matrices());
                    hecs_fill(&builder, vectors().map(Position));
                    hecs_fill(&builder, vectors().map(Rotation));
                    hecs_fill(&builder, vectors().map(Velocity));
                    drop(world.spawn_column_batch(hecs_build(builder)));
                } else {
                    drop(world.spawn_batch(rows()));
                }
            });
            hecs_sum(&mut world)
        })
        .with(Engine::Bevy, move |clock: &mut Clock| {
            let mut world = BevyWorld::new();
            clock.time(|| drop(world.spawn_batch(rows())));
            bevy_sum(&mut world)
        })
        .with(Engine::Shipyard, move |clock: &mut Clock| {
            let mut world = shipyard::World::new();
            clock.time(|| world.bulk_add_entity(rows()).len());
            shipyard_sum(&world)
        })
        .with(Engine::Flecs, move |clock: &mut Clock| {
            let world = World::new();
            clock.time(|| {
                let columns = collected();
                let mut bulk = world.entity_bulk(u32::try_from(LARGE).unwrap_or(u32::MAX));
                let bulk = bulk.set(&columns.0).set(&columns.1);
                bulk.set(&columns.2).set(&columns.3).build()
            });
            flecs_sum(&world.new_query())
        })
}

/// The rows that the process for cold pages runs too.
pub(crate) fn batches(bench: &mut Bench, pages: &str, keep: bool) {
    for &(size, count) in bench.sizes(&[("10k", 10_000), ("100k", 100_000), ("1M", 1_000_000)]) {
        // A size apart is enough to see growth by, where the world is new each time.
        if !keep && size != "100k" {
            continue;
        }
        for (way, by_columns) in [("batch", false), ("columns", true)] {
            let name = format!("spawn {way} {size}, {pages}");
            bench.row(&name, count, || batch(count, by_columns, keep));
        }
    }
}

pub(crate) fn run(bench: &mut Bench) {
    bench.row("insert 10k × 4, fresh world, by rows", LARGE, || {
        insert(false)
    });
    bench.row("insert 10k × 4, fresh world, by columns", LARGE, || {
        insert(true)
    });
    batches(bench, "pages kept", true);
}
