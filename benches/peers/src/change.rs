//! Despawning; adding and removing a component.

use std::hint::black_box;

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;
use shipyard::Remove as _;

use crate::bench::{Bench, Engine, Sides};
use crate::data::{Extra, Fleeting, Position, bits, columns, moving};
use crate::flecs::side as flecs_side;
use crate::harness::Clock;
use crate::parts::{Id, Slots, Sparse, Tables, Vector, row, shuffle};
use crate::spawn::MANY;

fn shuffled<T>(ids: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut ids: Vec<T> = ids.into_iter().collect();
    shuffle(&mut ids);
    ids
}

/// A thousand stay, so that what is left can be compared.
const STAY: usize = 1_000;

/// In random order, from a world that is filled anew each time.
fn despawn(count: usize) -> Sides {
    let rows = move || (0..count + STAY).map(moving);
    Sides::default()
        .with(Engine::Hand, move |clock: &mut Clock| {
            let mut slots = Slots::<u32>::default();
            let (mut ids, (mut positions, mut velocities)) = (Vec::new(), columns(count + STAY));
            let all = shuffled((0..count + STAY).map(|turn| {
                let id = slots.alloc(row(turn));
                ids.push(id.index);
                id
            }));
            clock.time(|| {
                for id in &all[..count] {
                    let Some(row) = slots.locate(*id) else {
                        continue;
                    };
                    let at = row as usize;
                    ids.swap_remove(at);
                    positions.swap_remove(at);
                    velocities.swap_remove(at);
                    if let Some(&moved) = ids.get(at) {
                        slots.set(moved, row);
                    }
                    slots.release(id.index);
                }
            });
            positions.iter().map(|p| bits(&p.0)).sum()
        })
        .with(Engine::Ours, move |clock: &mut Clock| {
            let mut world = ecs::World::new();
            let all = shuffled(world.spawn_batch(rows()));
            clock.time(|| {
                for id in &all[..count] {
                    world.despawn(*id);
                }
            });
            world.query::<&Position>().map(|p| bits(&p.0)).sum()
        })
        .with(Engine::Hecs, move |clock: &mut Clock| {
            let mut world = hecs::World::new();
            let all = shuffled(world.spawn_batch(rows()));
            clock.time(|| {
                for id in &all[..count] {
                    let _ = world.despawn(*id);
                }
            });
            let rows = world.query_mut::<&Position>().into_iter();
            rows.map(|p| bits(&p.0)).sum()
        })
        .with(Engine::Bevy, move |clock: &mut Clock| {
            let mut world = BevyWorld::new();
            let all = shuffled(world.spawn_batch(rows()));
            clock.time(|| {
                for id in &all[..count] {
                    world.despawn(*id);
                }
            });
            let mut query = world.query::<&Position>();
            query.iter(&world).map(|p| bits(&p.0)).sum()
        })
        .with(Engine::Shipyard, move |clock: &mut Clock| {
            let mut world = shipyard::World::new();
            let all = shuffled(world.bulk_add_entity(rows()));
            clock.time(|| {
                for id in &all[..count] {
                    world.delete_entity(*id);
                }
            });
            let mut query = world.iter::<&Position>();
            query.iter().map(|p| bits(&p.0)).sum()
        })
        .with(Engine::Flecs, move |clock: &mut Clock| {
            let world = World::new();
            let (positions, velocities) = columns(count + STAY);
            let mut bulk = world.entity_bulk(row(count + STAY));
            let all = shuffled(bulk.set(&positions).set(&velocities).build());
            clock.time(|| {
                for id in &all[..count] {
                    world.entity_from_id(*id).destruct();
                }
            });
            let mut sum = 0;
            world.each::<&Position>(|p| sum += bits(&p.0));
            sum
        })
}

/// All engines on one kind that comes and goes.
macro_rules! add_and_remove {
    ($kind:ident, $count:ident, $flecs:expr) => {{
        let rows = move || (0..$count).map(|turn| moving(turn).0);
        let extra = || $kind(black_box(Vector::of(3)));
        Sides::default()
            .with(Engine::Ours, {
                let mut world = ecs::World::new();
                let all: Vec<_> = world.spawn_batch(rows()).collect();
                move |clock: &mut Clock| {
                    clock.time(|| {
                        for id in &all {
                            assert!(world.insert(*id, extra()).is_ok());
                        }
                        let taken = all.iter().filter_map(|id| world.remove::<$kind>(*id));
                        taken.map(|extra| bits(&extra.0)).sum()
                    })
                }
            })
            .with(Engine::Bevy, {
                let mut world = BevyWorld::new();
                let all: Vec<_> = world.spawn_batch(rows()).collect();
                move |clock: &mut Clock| {
                    clock.time(|| {
                        for id in &all {
                            world.entity_mut(*id).insert(extra());
                        }
                        let taken = all.iter().filter_map(|id| world.entity_mut(*id).take::<$kind>());
                        taken.map(|extra| bits(&extra.0)).sum()
                    })
                }
            })
            .with(Engine::Shipyard, {
                let mut world = shipyard::World::new();
                let all: Vec<_> = world.bulk_add_entity(rows()).collect();
                move |clock: &mut Clock| {
                    clock.time(|| {
                        world.run(|entities: shipyard::EntitiesView<'_>, mut extras: shipyard::ViewMut<'_, $kind>| {
                            for id in &all {
                                entities.add_component(*id, &mut extras, extra());
                            }
                            let taken = all.iter().filter_map(|id| extras.remove(*id));
                            taken.map(|extra| bits(&extra.0)).sum()
                        })
                    })
                }
            })
            .with(Engine::Flecs, {
                let world: World = $flecs;
                let all = world.entity_bulk(row($count)).set(&columns($count).0).build();
                let query = world.new_query::<&$kind>();
                flecs_side(world, query, move |world, query, clock| {
                    clock.time(|| {
                        for id in &all {
                            world.entity_from_id(*id).set(extra());
                        }
                    });
                    // Its removal gives nothing back, and another look-up would not be the same work.
                    let mut sum = 0;
                    query.each(|extra| sum += bits(&extra.0));
                    clock.time(|| {
                        for id in &all {
                            world.entity_from_id(*id).remove($kind::id());
                        }
                    });
                    sum
                })
            })
    }};
}

fn table(count: usize) -> Sides {
    add_and_remove!(Extra, count, World::new())
        .with(Engine::Hand, {
            let (mut tables, ids) = Tables::of((0..count).map(|turn| moving(turn).0));
            move |clock: &mut Clock| {
                clock.time(|| {
                    for id in &ids {
                        tables.add(*id, Extra(black_box(Vector::of(3))));
                    }
                    let taken = ids.iter().filter_map(|id| tables.remove(*id));
                    taken.map(|extra| bits(&extra.0)).sum()
                })
            }
        })
        .with(Engine::Hecs, {
            let mut world = hecs::World::new();
            let rows = (0..count).map(|turn| (moving(turn).0,));
            let all: Vec<_> = world.spawn_batch(rows).collect();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for id in &all {
                        let extra = Extra(black_box(Vector::of(3)));
                        assert!(world.insert_one(*id, extra).is_ok());
                    }
                    let taken = all
                        .iter()
                        .filter_map(|id| world.remove_one::<Extra>(*id).ok());
                    taken.map(|extra| bits(&extra.0)).sum()
                })
            }
        })
}

fn sparse(count: usize) -> Sides {
    let flecs = || {
        let world = World::new();
        let kind = world.component::<Fleeting>();
        kind.add_trait::<flecs::Sparse>();
        kind.add_trait::<flecs::DontFragment>();
        world
    };
    add_and_remove!(Fleeting, count, flecs()).with(Engine::Hand, {
        let mut slots = Slots::<u32>::default();
        let ids: Vec<Id> = (0..count).map(|turn| slots.alloc(row(turn))).collect();
        let mut sparse = Sparse::<Fleeting>::default();
        move |clock: &mut Clock| {
            clock.time(|| {
                for id in &ids {
                    if slots.locate(*id).is_some() {
                        sparse.insert(id.index, Fleeting(black_box(Vector::of(3))));
                    }
                }
                let live = ids.iter().filter(|id| slots.locate(**id).is_some());
                let taken = live.filter_map(|id| sparse.remove(id.index));
                taken.map(|extra| bits(&extra.0)).sum()
            })
        }
    })
}

pub(crate) fn run(bench: &mut Bench) {
    for &(size, count) in bench.sizes(&[("1k", 1_000), ("10k", MANY), ("100k", 100_000)]) {
        bench.row(&format!("despawn {size}"), count, || despawn(count));
    }
    for &(size, count) in bench.sizes(&[("10k", MANY), ("100k", 100_000)]) {
        let name = |storage| format!("add and remove {size}, {storage}");
        bench.row(&name("table"), count, || table(count));
        bench.row(&name("sparse"), count, || sparse(count));
    }
}
