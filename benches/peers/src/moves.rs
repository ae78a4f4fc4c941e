//! Entities that get one component after the other, and so move through as many archetypes.

use std::hint::black_box;

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;

use crate::bench::{Bench, Engine, Sides};
use crate::data::{P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, bits};
use crate::harness::Clock;
use crate::parts::{Id, Slots, Vector, row};

const STEPS: usize = 16;
const WALKERS: usize = 200;

/// By hand: a table for each number of components, and slots that name the table.
struct Steps {
    slots: Slots<[u32; 2]>,
    tables: Vec<(Vec<u32>, Vec<Vec<Vector>>)>,
}

impl Steps {
    fn new() -> Self {
        let tables = (0..=STEPS).map(|width| (Vec::new(), vec![Vec::new(); width]));
        Self {
            slots: Slots::default(),
            tables: tables.collect(),
        }
    }

    fn spawn(&mut self) -> Id {
        let id = self.slots.alloc([0, row(self.tables[0].0.len())]);
        self.tables[0].0.push(id.index);
        id
    }

    fn step(&mut self, id: Id, value: Vector) {
        let Some([number, at]) = self.slots.locate(id) else {
            return;
        };
        let target = number as usize + 1;
        let Ok([from, to]) = self.tables.get_disjoint_mut([target - 1, target]) else {
            return;
        };
        let new_row = row(to.0.len());
        to.0.push(from.0.swap_remove(at as usize));
        for (from, to) in from.1.iter_mut().zip(&mut to.1) {
            to.push(from.swap_remove(at as usize));
        }
        to.1[target - 1].push(value);
        if let Some(&moved) = from.0.get(at as usize) {
            self.slots.set(moved, [number, at]);
        }
        self.slots.set(id.index, [row(target), new_row]);
    }

    fn sum_and_clear(&mut self) -> u64 {
        let Self { slots, tables } = self;
        let (ids, columns) = &mut tables[STEPS];
        ids.drain(..).for_each(|index| slots.release(index));
        let sum = columns.iter().flatten().map(bits).sum();
        columns.iter_mut().for_each(Vec::clear);
        sum
    }
}

fn walk(mut one: impl FnMut(Vector)) {
    for turn in 0..WALKERS {
        one(black_box(Vector::of(turn)));
    }
}

/// All walkers start without any component.
macro_rules! moves {
    ($($part:ident)*) => {
        Sides::default()
            .with(Engine::Hand, {
                let mut steps = Steps::new();
                move |clock: &mut Clock| {
                    clock.time(|| walk(|value| {
                        let id = steps.spawn();
                        $(steps.step(id, $part(value).0);)*
                    }));
                    steps.sum_and_clear()
                }
            })
            .with(Engine::Ours, {
                let mut world = ecs::World::new();
                move |clock: &mut Clock| {
                    clock.time(|| walk(|value| {
                        let id = world.spawn(());
                        $(assert!(world.insert(id, $part(value)).is_ok());)*
                    }));
                    let sum = 0 $(+ world.query::<&$part>().map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear();
                    sum
                }
            })
            .with(Engine::Hecs, {
                let mut world = hecs::World::new();
                move |clock: &mut Clock| {
                    clock.time(|| walk(|value| {
                        let id = world.spawn(());
                        $(assert!(world.insert_one(id, $part(value)).is_ok());)*
                    }));
                    let sum = 0 $(+ world.query_mut::<&$part>().into_iter().map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear();
                    sum
                }
            })
            .with(Engine::Bevy, {
                let mut world = BevyWorld::new();
                move |clock: &mut Clock| {
                    clock.time(|| walk(|value| {
                        world.spawn_empty()$(.insert($part(value)))*;
                    }));
                    let sum = 0 $(+ world.query::<&$part>().iter(&world).map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear_entities();
                    sum
                }
            })
            .with(Engine::Shipyard, {
                let mut world = shipyard::World::new();
                move |clock: &mut Clock| {
                    clock.time(|| walk(|value| {
                        let id = world.add_entity(());
                        $(world.add_component(id, $part(value));)*
                    }));
                    let sum = 0 $(+ world.iter::<&$part>().iter().map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear();
                    sum
                }
            })
            .with(Engine::Flecs, {
                let world = World::new();
                move |clock: &mut Clock| {
                    clock.time(|| walk(|value| {
                        let entity = world.entity();
                        $(entity.set($part(value));)*
                    }));
                    let mut sum = 0;
                    $(world.each::<&$part>(|part| sum += bits(&part.0));)*
                    world.delete_entities_with(P0::id());
                    sum
                }
            })
    };
}

pub(crate) fn run(bench: &mut Bench) {
    bench.row(
        "16 archetype moves, per move",
        WALKERS * STEPS,
        || moves!(P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15),
    );
}
