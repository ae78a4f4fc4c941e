//! Reaching a component of single entities by id, in random order.

use std::hint::black_box;

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;
use shipyard::{Get as _, View};

use crate::bench::{Bench, Engine, Sides};
use crate::data::{Position, Velocity, bits, columns, moving};
use crate::harness::Clock;
use crate::parts::{Id, Slots, row, shuffle};

/// By hand: slot, generation, and one hop through the table that the slot names.
struct Tables {
    slots: Slots<[u32; 2]>,
    tables: Vec<(Vec<Position>, Vec<Velocity>)>,
}

impl Tables {
    #[inline]
    fn position(&self, id: Id) -> Option<&Position> {
        let [table, row] = self.slots.locate(id)?;
        self.tables.get(table as usize)?.0.get(row as usize)
    }
}

/// The work: the positions of so many entities that are all there.
#[inline]
fn add_up<'a, I>(ids: &[I], mut get: impl FnMut(&I) -> Option<&'a Position>) -> u64 {
    ids.iter().filter_map(|id| Some(bits(&get(id)?.0))).sum()
}

fn shuffled<T>(ids: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut ids: Vec<T> = ids.into_iter().collect();
    shuffle(&mut ids);
    ids
}

fn hand(count: usize) -> impl FnMut(&mut Clock) -> u64 {
    let mut slots = Slots::default();
    let ids = shuffled((0..count).map(|turn| slots.alloc([0, row(turn)])));
    let tables = Tables {
        slots,
        tables: vec![columns(count)],
    };
    move |clock| {
        let tables = black_box(&tables);
        clock.time(|| add_up(&ids, |id| tables.position(*id)))
    }
}

fn ours(count: usize) -> (ecs::World, Vec<ecs::Entity>) {
    let mut world = ecs::World::new();
    let spawned = world.spawn_columns(columns(count));
    let ids = shuffled(spawned.expect("columns of one length"));
    (world, ids)
}

fn hecs(count: usize) -> (hecs::World, Vec<hecs::Entity>) {
    let mut world = hecs::World::new();
    let ids = shuffled(world.spawn_batch((0..count).map(moving)));
    (world, ids)
}

fn bevy(count: usize) -> (BevyWorld, Vec<bevy_ecs::entity::Entity>) {
    let mut world = BevyWorld::new();
    let ids = shuffled(world.spawn_batch((0..count).map(moving)));
    (world, ids)
}

fn shipyard(count: usize) -> (shipyard::World, Vec<shipyard::EntityId>) {
    let mut world = shipyard::World::new();
    let ids = shuffled(world.bulk_add_entity((0..count).map(moving)));
    (world, ids)
}

fn flecs(count: usize) -> (World, Vec<Entity>) {
    let world = World::new();
    let columns = columns(count);
    let mut bulk = world.entity_bulk(row(count));
    let ids = shuffled(bulk.set(&columns.0).set(&columns.1).build());
    (world, ids)
}

/// Through what the engine has for many look-ups of one kind.
fn prepared(count: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, hand(count))
        .with(Engine::Ours, {
            let (mut world, ids) = ours(count);
            let mut prepared = world.prepare::<&Position>().expect("a plain query");
            move |clock: &mut Clock| {
                clock.time(|| {
                    let view = prepared.view(black_box(&world)).expect("the same world");
                    add_up(&ids, |id| view.get(*id))
                })
            }
        })
        .with(Engine::Hecs, {
            let (mut world, ids) = hecs(count);
            let mut prepared = hecs::PreparedQuery::<&Position>::new();
            move |clock: &mut Clock| {
                clock.time(|| {
                    let view = prepared.view_mut(black_box(&mut world));
                    ids.iter()
                        .filter_map(|id| Some(bits(&view.get(*id)?.0)))
                        .sum()
                })
            }
        })
        .with(Engine::Bevy, {
            let (mut world, ids) = bevy(count);
            let mut query = world.query::<&Position>();
            move |clock: &mut Clock| {
                clock.time(|| {
                    let view = query.query(black_box(&world));
                    add_up(&ids, |id| view.get_inner(*id).ok())
                })
            }
        })
        .with(Engine::Shipyard, {
            let (world, ids) = shipyard(count);
            move |clock: &mut Clock| {
                clock.time(|| {
                    black_box(&world).run(|positions: View<'_, Position>| {
                        ids.iter()
                            .filter_map(|id| Some(bits(&(&positions).get(*id).ok()?.0)))
                            .sum()
                    })
                })
            }
        })
        .with(Engine::Flecs, {
            let (world, ids) = flecs(count);
            move |clock: &mut Clock| {
                let references = ids
                    .iter()
                    .map(|id| world.entity_from_id(*id).cached_ref(Position::id()));
                let mut references: Vec<_> = references.collect();
                clock.time(|| {
                    let found = references.iter_mut();
                    found.map(|found| found.get(|p| bits(&p.0))).sum()
                })
            }
        })
}

/// Straight from the world.
fn direct(count: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, hand(count))
        .with(Engine::Ours, {
            let (world, ids) = ours(count);
            move |clock: &mut Clock| {
                let world = black_box(&world);
                clock.time(|| add_up(&ids, |id| world.get::<Position>(*id)))
            }
        })
        .with(Engine::Hecs, {
            let (world, ids) = hecs(count);
            move |clock: &mut Clock| {
                let world = black_box(&world);
                clock.time(|| {
                    ids.iter()
                        .filter_map(|id| Some(bits(&world.get::<&Position>(*id).ok()?.0)))
                        .sum()
                })
            }
        })
        .with(Engine::Bevy, {
            let (world, ids) = bevy(count);
            move |clock: &mut Clock| {
                let world = black_box(&world);
                clock.time(|| add_up(&ids, |id| world.get::<Position>(*id)))
            }
        })
        .with(Engine::Shipyard, {
            let (world, ids) = shipyard(count);
            move |clock: &mut Clock| {
                let world = black_box(&world);
                clock.time(|| {
                    ids.iter()
                        .filter_map(|id| Some(bits(&world.get::<&Position>(*id).ok()?.0)))
                        .sum()
                })
            }
        })
        .with(Engine::Flecs, {
            let (world, ids) = flecs(count);
            move |clock: &mut Clock| {
                clock.time(|| {
                    let found = ids.iter().map(|id| {
                        let entity = world.entity_from_id(*id);
                        entity.get::<&Position>(|position| bits(&position.0))
                    });
                    found.sum()
                })
            }
        })
}

pub(crate) fn run(bench: &mut Bench) {
    for (size, count) in [("10k", 10_000), ("100k", 100_000), ("1M", 1_000_000)] {
        let name = |way| format!("get by id, random {size}, {way}");
        bench.row(&name("prepared"), count, || prepared(count));
        bench.row(&name("from the world"), count, || direct(count));
    }
}
