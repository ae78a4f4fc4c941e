//! One by one into a world that held as many before: 1, 8 and 16 components.

use std::hint::black_box;

use flecs_ecs::prelude::*;

use crate::bench::{Bench, Engine, Sides};
use crate::data::{P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, bits};
use crate::harness::Clock;
use crate::parts::{Slots, Vector, row};

pub(crate) const MANY: usize = 10_000;

/// `hecs` has tuples of 15 at most; a bundle of one's own it knows as well.
#[derive(hecs::Bundle)]
struct Sixteen {
    p0: P0,
    p1: P1,
    p2: P2,
    p3: P3,
    p4: P4,
    p5: P5,
    p6: P6,
    p7: P7,
    p8: P8,
    p9: P9,
    p10: P10,
    p11: P11,
    p12: P12,
    p13: P13,
    p14: P14,
    p15: P15,
}

fn sixteen(v: Vector) -> Sixteen {
    Sixteen {
        p0: P0(v),
        p1: P1(v),
        p2: P2(v),
        p3: P3(v),
        p4: P4(v),
        p5: P5(v),
        p6: P6(v),
        p7: P7(v),
        p8: P8(v),
        p9: P9(v),
        p10: P10(v),
        p11: P11(v),
        p12: P12(v),
        p13: P13(v),
        p14: P14(v),
        p15: P15(v),
    }
}

/// Calls `spawn` with each vector, as nothing that the compiler could know.
#[inline]
fn each(mut spawn: impl FnMut(Vector)) {
    for turn in 0..MANY {
        spawn(black_box(Vector::of(turn)));
    }
}

/// All engines on one set of kinds. What differs by engine beside the names is how it takes a bundle of many.
macro_rules! spawn {
    ($($part:ident $column:ident)*; hecs $hecs:expr; bevy $bevy:expr) => {
        Sides::default()
            .with(Engine::Hand, {
                let mut slots = Slots::<u32>::default();
                let mut ids: Vec<u32> = Vec::new();
                $(let mut $column: Vec<$part> = Vec::new();)*
                move |clock: &mut Clock| {
                    clock.time(|| each(|v| {
                        let id = slots.alloc(row(ids.len()));
                        ids.push(id.index);
                        $($column.push($part(v));)*
                        black_box(id);
                    }));
                    let sum = 0 $(+ $column.drain(..).map(|part| bits(&part.0)).sum::<u64>())*;
                    ids.drain(..).for_each(|index| slots.release(index));
                    sum
                }
            })
            .with(Engine::Ours, {
                let mut world = ecs::World::new();
                move |clock: &mut Clock| {
                    clock.time(|| each(|v| {
                        black_box(world.spawn(($($part(v),)*)));
                    }));
                    let sum = 0 $(+ world.query::<&$part>().map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear();
                    sum
                }
            })
            .with(Engine::Hecs, {
                let mut world = hecs::World::new();
                move |clock: &mut Clock| {
                    clock.time(|| each(|v| {
                        black_box(world.spawn($hecs(v)));
                    }));
                    let sum = 0 $(+ world.query_mut::<&$part>().into_iter().map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear();
                    sum
                }
            })
            .with(Engine::Bevy, {
                let mut world = bevy_ecs::world::World::new();
                move |clock: &mut Clock| {
                    clock.time(|| each(|v| {
                        black_box(world.spawn($bevy(v)).id());
                    }));
                    let sum = 0 $(+ world.query::<&$part>().iter(&world).map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear_entities();
                    sum
                }
            })
            .with(Engine::Shipyard, {
                let mut world = shipyard::World::new();
                move |clock: &mut Clock| {
                    clock.time(|| {
                        world.run(
                            |mut entities: shipyard::EntitiesViewMut<'_>, $(mut $column: shipyard::ViewMut<'_, $part>),*| {
                                each(|v| {
                                    let id = entities.add_entity(($(&mut $column,)*), ($($part(v),)*));
                                    black_box(id);
                                });
                            },
                        );
                    });
                    let sum = 0 $(+ world.iter::<&$part>().iter().map(|part| bits(&part.0)).sum::<u64>())*;
                    world.clear();
                    sum
                }
            })
            .with(Engine::Flecs, {
                let world = World::new();
                let queries = ($(world.new_query::<&$part>(),)*);
                let both = Box::new((queries, world));
                move |clock: &mut Clock| {
                    let (($($column,)*), world) = &*both;
                    clock.time(|| each(|v| {
                        black_box(world.entity()$(.set($part(v)))*.id());
                    }));
                    let mut sum = 0;
                    $($column.each(|part| sum += bits(&part.0));)*
                    world.delete_entities_with(P0::id());
                    sum
                }
            })
    };
}

pub(crate) fn run(bench: &mut Bench) {
    bench.row(
        "spawn 1 component",
        MANY,
        || spawn!(P0 a; hecs |v| (P0(v),); bevy P0),
    );
    bench.row("spawn 8 components", MANY, || {
        spawn!(
            P0 a P1 b P2 c P3 d P4 e P5 f P6 g P7 h;
            hecs |v| (P0(v), P1(v), P2(v), P3(v), P4(v), P5(v), P6(v), P7(v));
            bevy |v| (P0(v), P1(v), P2(v), P3(v), P4(v), P5(v), P6(v), P7(v))
        )
    });
    bench.row("spawn 16 components", MANY, || {
        spawn!(
            P0 a P1 b P2 c P3 d P4 e P5 f P6 g P7 h P8 i P9 j P10 k P11 l P12 m P13 n P14 o P15 p;
            hecs sixteen;
            bevy |v| (
                (P0(v), P1(v), P2(v), P3(v), P4(v), P5(v), P6(v), P7(v)),
                (P8(v), P9(v), P10(v), P11(v), P12(v), P13(v), P14(v), P15(v)),
            )
        )
    });
}
