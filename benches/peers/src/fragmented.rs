//! Iteration over 26 archetypes that share one kind.

use std::hint::black_box;

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;

use crate::bench::{Bench, Engine, Sides};
use crate::data::{
    Load, P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16, P17, P18, P19,
    P20, P21, P22, P23, P24, P25,
};
use crate::flecs::side as flecs_side;
use crate::harness::Clock;
use crate::parts::{Vector, small};

const FRAGMENTS: usize = 26;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as queries give it")]
fn load_bits(load: &Load) -> u64 {
    load.0.to_bits().into()
}

/// Runs `$spawn` for `$size` entities of each of 26 kinds.
macro_rules! fill {
    ($size:expr, |$load:ident, $part:ident| $spawn:expr) => {
        fill!(
            $size, $load, $part, $spawn,
            P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20 P21 P22 P23
            P24 P25
        )
    };
    ($size:expr, $load:ident, $part:ident, $spawn:expr, $($kind:ident)*) => {
        $(for turn in 0..$size {
            let $load = Load(small(turn));
            let $part = $kind(Vector::of(turn));
            $spawn;
        })*
    };
}

/// Adds one to a kind that 26 archetypes of so many rows share.
fn fragmented(size: usize, repeats: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            let table = (0..size).map(|turn| Load(small(turn)));
            let mut tables: Vec<Vec<Load>> = vec![table.collect(); FRAGMENTS];
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..repeats {
                        for table in black_box(&mut tables) {
                            for load in table {
                                load.0 += 1.0;
                            }
                        }
                    }
                });
                tables.iter().flatten().map(load_bits).sum()
            }
        })
        .with(Engine::Ours, {
            let mut world = ecs::World::new();
            fill!(size, |load, part| world.spawn((load, part)));
            let mut prepared = world.prepare::<&mut Load>().expect("a plain query");
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..repeats {
                        let rows = prepared.iter(black_box(&mut world));
                        let rows = rows.expect("the same world");
                        rows.for_each(|load| load.0 += 1.0);
                    }
                });
                world.query::<&Load>().map(load_bits).sum()
            }
        })
        .with(Engine::Hecs, {
            let mut world = hecs::World::new();
            fill!(size, |load, part| world.spawn((load, part)));
            let mut prepared = hecs::PreparedQuery::<&mut Load>::new();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..repeats {
                        let rows = prepared.query_mut(black_box(&mut world));
                        rows.for_each(|load| load.0 += 1.0);
                    }
                });
                world.query_mut::<&Load>().into_iter().map(load_bits).sum()
            }
        })
        .with(Engine::Bevy, {
            let mut world = BevyWorld::new();
            fill!(size, |load, part| world.spawn((load, part)));
            let mut query = world.query::<&mut Load>();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..repeats {
                        let rows = query.iter_mut(black_box(&mut world));
                        rows.for_each(|mut load| load.0 += 1.0);
                    }
                });
                world.query::<&Load>().iter(&world).map(load_bits).sum()
            }
        })
        .with(Engine::Shipyard, {
            use shipyard::{IntoIter as _, ViewMut};
            let mut world = shipyard::World::new();
            fill!(size, |load, part| world.add_entity((load, part)));
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..repeats {
                        black_box(&mut world).run(|mut loads: ViewMut<'_, Load>| {
                            (&mut loads).iter().for_each(|load| load.0 += 1.0);
                        });
                    }
                });
                world.iter::<&Load>().iter().map(load_bits).sum()
            }
        })
        .with(Engine::Flecs, {
            let world = World::new();
            fill!(size, |load, part| world.entity().set(load).set(part));
            let query = world.query::<&mut Load>().set_cached().build();
            flecs_side(world, query, move |world, query, clock| {
                clock.time(|| {
                    for _ in 0..repeats {
                        black_box(query).run(|mut tables| {
                            while tables.next() {
                                for load in tables.field_mut::<Load>(0).as_mut_slice() {
                                    load.0 += 1.0;
                                }
                            }
                        });
                    }
                });
                let mut sum = 0;
                world.each::<&Load>(|load| sum += load_bits(load));
                sum
            })
        })
}

pub(crate) fn run(bench: &mut Bench) {
    for (size, repeats) in [(20, 200), (200, 20), (2_000, 2)] {
        let name = format!("fragmented, 26 archetypes of {size}");
        bench.row(&name, FRAGMENTS * size * repeats, || {
            fragmented(size, repeats)
        });
    }
}
