//! Iteration over eight kinds at once.

use std::hint::black_box;

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;

use crate::bench::{Bench, Engine, Sides};
use crate::data::{P0, P1, P2, P3, P4, P5, P6, P7, bits};
use crate::flecs::side as flecs_side;
use crate::harness::Clock;
use crate::parts::{Vector, row};

const COUNT: usize = 10_000;
const REPEATS: usize = 10;

type Bundle = (P0, P1, P2, P3, P4, P5, P6, P7);
type Wide<'w> = (
    &'w mut P0,
    &'w P1,
    &'w P2,
    &'w P3,
    &'w P4,
    &'w P5,
    &'w P6,
    &'w P7,
);

fn bundle(turn: usize) -> Bundle {
    let v = Vector::of(turn & 7);
    (P0(v), P1(v), P2(v), P3(v), P4(v), P5(v), P6(v), P7(v))
}

#[inline]
#[allow(clippy::many_single_char_names, reason = "one for each column")]
fn add((first, a, b, c, d, e, f, g): Wide<'_>) {
    let first = &mut first.0;
    first.x += a.0.x + b.0.x + c.0.x + d.0.x + e.0.x + f.0.x + g.0.x;
    first.y += a.0.y + b.0.y + c.0.y + d.0.y + e.0.y + f.0.y + g.0.y;
    first.z += a.0.z + b.0.z + c.0.z + d.0.z + e.0.z + f.0.z + g.0.z;
}

type Seven = (
    Vec<P1>,
    Vec<P2>,
    Vec<P3>,
    Vec<P4>,
    Vec<P5>,
    Vec<P6>,
    Vec<P7>,
);

#[allow(clippy::many_single_char_names, reason = "one for each column")]
fn hand() -> (Vec<P0>, Seven) {
    let rest = (0..COUNT).map(|turn| {
        let (_, a, b, c, d, e, f, g) = bundle(turn);
        (a, b, c, d, e, f, g)
    });
    (
        (0..COUNT).map(|turn| bundle(turn).0).collect(),
        rest.collect(),
    )
}

#[allow(clippy::too_many_lines, reason = "a part for each engine")]
fn sides() -> Sides {
    let rows = || (0..COUNT).map(bundle);
    Sides::default()
        .with(Engine::Hand, {
            let (mut first, rest) = hand();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..REPEATS {
                        let rows = black_box(&mut first).iter_mut();
                        let rows = rows.zip(&rest.0).zip(&rest.1).zip(&rest.2).zip(&rest.3);
                        let rows = rows.zip(&rest.4).zip(&rest.5).zip(&rest.6);
                        rows.for_each(|(((((((first, a), b), c), d), e), f), g)| {
                            add((first, a, b, c, d, e, f, g));
                        });
                    }
                });
                first.iter().map(|part| bits(&part.0)).sum()
            }
        })
        .with(Engine::Ours, {
            let mut world = ecs::World::new();
            world.spawn_batch(rows());
            let mut prepared = world.prepare::<Wide<'_>>().expect("a plain query");
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..REPEATS {
                        let rows = prepared.iter(black_box(&mut world));
                        rows.expect("the same world").for_each(add);
                    }
                });
                world.query::<&P0>().map(|part| bits(&part.0)).sum()
            }
        })
        .with(Engine::Hecs, {
            let mut world = hecs::World::new();
            drop(world.spawn_batch(rows()));
            let mut prepared = hecs::PreparedQuery::<Wide<'_>>::new();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..REPEATS {
                        prepared.query_mut(black_box(&mut world)).for_each(add);
                    }
                });
                let parts = world.query_mut::<&P0>().into_iter();
                parts.map(|part| bits(&part.0)).sum()
            }
        })
        .with(Engine::Bevy, {
            let mut world = BevyWorld::new();
            drop(world.spawn_batch(rows()));
            let mut query = world.query::<Wide<'_>>();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..REPEATS {
                        let rows = query.iter_mut(black_box(&mut world));
                        rows.for_each(|(mut first, a, b, c, d, e, f, g)| {
                            add((&mut first, a, b, c, d, e, f, g));
                        });
                    }
                });
                let mut parts = world.query::<&P0>();
                parts.iter(&world).map(|part| bits(&part.0)).sum()
            }
        })
        .with(Engine::Shipyard, {
            use shipyard::{IntoIter as _, View, ViewMut};
            type Rest<'v> = (
                View<'v, P1>,
                View<'v, P2>,
                View<'v, P3>,
                View<'v, P4>,
                View<'v, P5>,
                View<'v, P6>,
                View<'v, P7>,
            );
            let mut world = shipyard::World::new();
            world.bulk_add_entity(rows());
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..REPEATS {
                        let world = black_box(&mut world);
                        world.run(
                            |mut first: ViewMut<'_, P0>, (a, b, c, d, e, f, g): Rest<'_>| {
                                let rows = (&mut first, &a, &b, &c, &d, &e, &f, &g).iter();
                                rows.for_each(|(first, a, b, c, d, e, f, g)| {
                                    add((first, a, b, c, d, e, f, g));
                                });
                            },
                        );
                    }
                });
                world.iter::<&P0>().iter().map(|part| bits(&part.0)).sum()
            }
        })
        .with(Engine::Flecs, {
            let world = World::new();
            let (first, rest) = hand();
            let mut bulk = world.entity_bulk(row(COUNT));
            let bulk = bulk.set(&first).set(&rest.0).set(&rest.1).set(&rest.2);
            bulk.set(&rest.3)
                .set(&rest.4)
                .set(&rest.5)
                .set(&rest.6)
                .build();
            let mut query = world.query::<(&mut P0, &P1, &P2, &P3, &P4, &P5, &P6, &P7)>();
            let query = query.set_cached().build();
            flecs_side(world, query, |world, query, clock| {
                clock.time(|| {
                    for _ in 0..REPEATS {
                        black_box(query).each(add);
                    }
                });
                let mut sum = 0;
                world.each::<&P0>(|part| sum += bits(&part.0));
                sum
            })
        })
}

pub(crate) fn run(bench: &mut Bench) {
    bench.row("iterate 10k, 8 kinds at once", COUNT * REPEATS, sides);
}
