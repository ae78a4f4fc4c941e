//! Change detection: who has it tells the values that were written since it last looked.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy_ecs::query::Changed;
use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;
use shipyard::{Get as _, IntoIter as _, ViewMut};

use crate::bench::{Bench, Engine, Sides};
use crate::data::Watched;
use crate::harness::Clock;
use crate::parts::{Id, Slots, row, shuffle, small};

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as queries give it")]
fn value_bits(value: &Watched) -> u64 {
    value.0.to_bits().into()
}

fn values(count: usize) -> impl Iterator<Item = Watched> {
    (0..count).map(|turn| Watched(small(turn)))
}

/// By hand: values, and when each was written.
struct Hand {
    slots: Slots<u32>,
    values: Vec<Watched>,
    ticks: Vec<u64>,
    now: u64,
    last: u64,
}

impl Hand {
    fn new(count: usize) -> (Self, Vec<Id>) {
        let mut slots = Slots::default();
        let ids = (0..count).map(|turn| slots.alloc(row(turn))).collect();
        let hand = Self {
            slots,
            values: values(count).collect(),
            ticks: vec![0; count],
            now: 1,
            last: 0,
        };
        (hand, ids)
    }

    fn write(&mut self, ids: &[Id]) {
        for id in ids {
            if let Some(row) = self.slots.locate(*id) {
                self.values[row as usize].0 += 1.0;
                self.ticks[row as usize] = self.now;
            }
        }
    }

    fn changed(&mut self) -> u64 {
        let rows = self.values.iter().zip(&self.ticks);
        let changed = rows.filter(|(_, tick)| **tick > self.last);
        let sum = changed.map(|(value, _)| value_bits(value)).sum();
        self.last = self.now;
        self.now += 1;
        sum
    }
}

/// The ids of a hundredth, another one in each round.
struct Turns<T> {
    ids: Vec<T>,
    turn: usize,
}

impl<T> Turns<T> {
    fn new(ids: impl IntoIterator<Item = T>) -> Self {
        let mut ids: Vec<T> = ids.into_iter().collect();
        shuffle(&mut ids);
        Self { ids, turn: 0 }
    }

    fn next(&mut self) -> &[T] {
        let few = self.ids.len() / 100;
        self.turn = (self.turn + 1) % 100;
        &self.ids[self.turn * few..][..few]
    }
}

/// One of a hundred is written through its id, and then the written ones are read.
fn some(count: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            let (mut hand, ids) = Hand::new(count);
            let mut turns = Turns::new(ids);
            move |clock: &mut Clock| {
                let few = turns.next();
                clock.time(|| {
                    hand.write(few);
                    hand.changed()
                })
            }
        })
        .with(Engine::Ours, {
            let mut world = ecs::World::new();
            world.track::<Watched>();
            let mut turns = Turns::new(world.spawn_batch(values(count)));
            let prepared = world.prepare_filtered::<&Watched, ecs::Changed<Watched>>();
            let mut prepared = prepared.expect("a plain query");
            // At first all are news.
            drop(prepared.iter(&mut world));
            move |clock: &mut Clock| {
                let few = turns.next();
                clock.time(|| {
                    for id in few {
                        if let Some(value) = world.get_mut::<Watched>(*id) {
                            value.0 += 1.0;
                        }
                    }
                    let changed = prepared.iter(&mut world).expect("the same world");
                    changed.map(value_bits).sum()
                })
            }
        })
        .with(Engine::Hecs, {
            let mut world = hecs::World::new();
            let mut turns = Turns::new(world.spawn_batch(values(count).map(|value| (value,))));
            let mut tracker = hecs::ChangeTracker::<Watched>::new();
            drop(tracker.track(&mut world));
            move |clock: &mut Clock| {
                let few = turns.next();
                clock.time(|| {
                    for id in few {
                        if let Ok(value) = world.query_one_mut::<&mut Watched>(*id) {
                            value.0 += 1.0;
                        }
                    }
                    let mut changes = tracker.track(&mut world);
                    changes
                        .changed()
                        .map(|(_, _, value)| value_bits(value))
                        .sum()
                })
            }
        })
        .with(Engine::Bevy, {
            let mut world = BevyWorld::new();
            let mut turns = Turns::new(world.spawn_batch(values(count)));
            let mut query = world.query_filtered::<&Watched, Changed<Watched>>();
            world.clear_trackers();
            move |clock: &mut Clock| {
                let few = turns.next();
                clock.time(|| {
                    for id in few {
                        if let Some(mut value) = world.get_mut::<Watched>(*id) {
                            value.0 += 1.0;
                        }
                    }
                    let sum = query.iter(&world).map(value_bits).sum();
                    world.clear_trackers();
                    sum
                })
            }
        })
        .with(Engine::Shipyard, {
            let mut world = shipyard::World::new();
            let mut turns = Turns::new(world.bulk_add_entity(values(count)));
            move |clock: &mut Clock| {
                let few = turns.next();
                clock.time(|| {
                    world.run(|mut watched: ViewMut<'_, Watched>| {
                        for id in few {
                            if let Ok(mut value) = (&mut watched).get(*id) {
                                value.0 += 1.0;
                            }
                        }
                        let sum = watched.modified().iter().map(value_bits).sum();
                        watched.clear_all_modified();
                        sum
                    })
                })
            }
        })
        .with(Engine::Flecs, flecs_some(count))
}

/// Its queries tell changed tables, not entities; who wants to know these has an observer.
fn flecs_some(count: usize) -> impl FnMut(&mut Clock) -> u64 {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let world = World::new();
    let values: Vec<Watched> = values(count).collect();
    let mut turns = Turns::new(world.entity_bulk(row(count)).set(&values).build());
    world.observer::<flecs::OnSet, &Watched>().each(|value| {
        let seen = SEEN.load(Ordering::Relaxed) + value_bits(value);
        SEEN.store(seen, Ordering::Relaxed);
    });
    move |clock| {
        SEEN.store(0, Ordering::Relaxed);
        let few = turns.next();
        clock.time(|| {
            for id in few {
                let entity = world.entity_from_id(*id);
                entity.get::<&mut Watched>(|value| value.0 += 1.0);
                entity.modified(Watched::id());
            }
            SEEN.load(Ordering::Relaxed)
        })
    }
}

/// Each of them is written by a query over them, and tracked.
fn all(count: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            let (mut hand, _) = Hand::new(count);
            move |clock: &mut Clock| {
                let hand = black_box(&mut hand);
                hand.now += 1;
                clock.time(|| {
                    for (value, tick) in hand.values.iter_mut().zip(&mut hand.ticks) {
                        value.0 += 1.0;
                        *tick = hand.now;
                    }
                });
                hand.values.iter().map(value_bits).sum()
            }
        })
        .with(Engine::Ours, {
            let mut world = ecs::World::new();
            world.track::<Watched>();
            world.spawn_batch(values(count));
            let mut prepared = world.prepare::<&mut Watched>().expect("a plain query");
            move |clock: &mut Clock| {
                clock.time(|| {
                    let rows = prepared.iter(black_box(&mut world));
                    let rows = rows.expect("the same world");
                    rows.for_each(|value| value.0 += 1.0);
                });
                world.query::<&Watched>().map(value_bits).sum()
            }
        })
        .with(Engine::Bevy, {
            let mut world = BevyWorld::new();
            drop(world.spawn_batch(values(count)));
            let mut query = world.query::<&mut Watched>();
            move |clock: &mut Clock| {
                clock.time(|| {
                    let rows = query.iter_mut(black_box(&mut world));
                    rows.for_each(|mut value| value.0 += 1.0);
                });
                world.query::<&Watched>().iter(&world).map(value_bits).sum()
            }
        })
        .with(Engine::Shipyard, {
            let mut world = shipyard::World::new();
            world.bulk_add_entity(values(count));
            move |clock: &mut Clock| {
                clock.time(|| {
                    black_box(&mut world).run(|mut watched: ViewMut<'_, Watched>| {
                        (&mut watched).iter().for_each(|mut value| value.0 += 1.0);
                    });
                });
                world.iter::<&Watched>().iter().map(value_bits).sum()
            }
        })
        .with(Engine::Flecs, {
            let world = World::new();
            let values: Vec<Watched> = values(count).collect();
            world.entity_bulk(row(count)).set(&values).build();
            let mut reader = world.query::<&Watched>();
            let reader = reader.detect_changes().set_cached().build();
            let query = world.query::<&mut Watched>().set_cached().build();
            // In the order in which they have to go.
            let all = Box::new((reader, query, world));
            move |clock: &mut Clock| {
                let (reader, query, _) = &*all;
                clock.time(|| black_box(query).each(|value| value.0 += 1.0));
                assert!(reader.is_changed(), "it looks after the writing");
                let mut sum = 0;
                reader.each(|value| sum += value_bits(value));
                sum
            }
        })
}

pub(crate) fn run(bench: &mut Bench) {
    for (size, count) in [("10k", 10_000), ("100k", 100_000), ("1M", 1_000_000)] {
        let name = format!("change detection, 1 % of {size} written by id, all looked at");
        bench.row(&name, count, || some(count));
        let name = format!("change detection, all of {size} written");
        bench.row(&name, count, || all(count));
    }
}
