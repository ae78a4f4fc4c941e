//! Iteration: rows, chunks, many small archetypes, filters, options, changes.

use std::hint::black_box;

use ecs::{Changed, Entity, Mut, Without, World};

use super::data::{Id, Load, Part, Position, Slots, Vector, Velocity, row, shuffle, small, whole};
use super::harness::{Clock, Table, Target};

pub(crate) fn run(table: &Table) {
    simple(table, 1_000, "1k", 100);
    simple(table, 10_000, "10k", 20);
    simple(table, 100_000, "100k", 2);
    simple(table, 1_000_000, "1M", 1);
    fragmented(table);
    many_archetypes(table);
    some_changed(table);
    all_changed(table);
}

/// Slices of components as the floats that they are made of.
#[allow(
    unsafe_code,
    reason = "what a user does with a crate for plain data, without the crate"
)]
mod flat {
    use super::{Position, Velocity};

    pub(super) fn positions(rows: &mut [Position]) -> &mut [f32] {
        // SAFETY: a `Position` is a transparent `Vector`, and that is three floats (`repr(C)`, no padding).
        unsafe { std::slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), rows.len() * 3) }
    }

    pub(super) fn velocities(rows: &[Velocity]) -> &[f32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(rows.as_ptr().cast(), rows.len() * 3) }
    }
}

#[inline]
fn add_flat(positions: &mut [Position], velocities: &[Velocity]) {
    let velocities = flat::velocities(velocities);
    for (position, velocity) in flat::positions(positions).iter_mut().zip(velocities) {
        *position += velocity;
    }
}

fn sum<'a>(positions: impl Iterator<Item = &'a Position>) -> u64 {
    let sums = positions.map(|p| f64::from(p.0.x) + f64::from(p.0.z));
    sums.sum::<f64>().to_bits()
}

type Moving<'w> = (&'w mut Position, &'w Velocity);

/// Position += velocity, both of 12 bytes, by hand.
struct Columns(Vec<Position>, Vec<Velocity>);

impl Columns {
    fn of(count: usize) -> Self {
        let positions = (0..count).map(|turn| Position(Vector::of(turn)));
        let velocities = (0..count).map(|_| Velocity(Vector::of(1)));
        Self(positions.collect(), velocities.collect())
    }

    #[inline]
    fn for_each(&mut self) {
        let rows = self.0.iter_mut().zip(&self.1);
        rows.for_each(|(position, velocity)| position.0.add(&velocity.0));
    }

    #[inline]
    fn for_loop(&mut self) {
        for (position, velocity) in self.0.iter_mut().zip(&self.1) {
            position.0.add(&velocity.0);
        }
    }
}

fn world_of(columns: &Columns) -> World {
    let mut world = World::new();
    let spawned = world.spawn_columns((columns.0.clone(), columns.1.clone()));
    drop(spawned);
    world
}

fn simple(table: &Table, count: usize, size: &str, repeats: usize) {
    let compare = |way: &str, target, by_hand: fn(&mut Columns), ours: fn(&mut World)| {
        let name = format!("iterate {size}, {way}");
        if !table.wants(&name) {
            return;
        }
        let mut columns = Columns::of(count);
        let mut world = world_of(&columns);
        let hand = |clock: &mut Clock| {
            clock.time(|| (0..repeats).for_each(|_| by_hand(black_box(&mut columns))));
            sum(columns.0.iter())
        };
        let ours = |clock: &mut Clock| {
            clock.time(|| (0..repeats).for_each(|_| ours(black_box(&mut world))));
            sum(world.query::<&Position>())
        };
        table.pair(&name, count * repeats, target, hand, ours);
    };
    let rows = Target::Ratio(if count == 1_000_000 { 1.02 } else { 1.03 });
    compare("for_each", rows, Columns::for_each, |world| {
        world
            .query::<Moving<'_>>()
            .for_each(|(position, velocity)| position.0.add(&velocity.0));
    });
    compare("for over chunks", rows, Columns::for_loop, |world| {
        for chunk in world.query::<Moving<'_>>().chunks() {
            for (position, velocity) in chunk {
                position.0.add(&velocity.0);
            }
        }
    });
    compare("flat for", Target::Ratio(1.5), Columns::for_loop, |world| {
        for (position, velocity) in world.query::<Moving<'_>>() {
            position.0.add(&velocity.0);
        }
    });
    let slices = Target::Ratio(if count == 1_000_000 { 1.05 } else { 1.1 });
    compare(
        "chunks as flat floats",
        slices,
        |columns| add_flat(&mut columns.0, &columns.1),
        |world| {
            for chunk in world.query::<Moving<'_>>().chunks() {
                let (positions, velocities) = chunk.into_slices();
                add_flat(positions, velocities);
            }
        },
    );
}

const FRAGMENT: usize = 20;
const FRAGMENTS: usize = 26;

/// Many small archetypes that share one kind.
fn fragmented(table: &Table) {
    const REPEATS: usize = 200;
    let ways = [
        "fragmented 26 × 20, prepared",
        "fragmented 26 × 20, from the world",
    ];
    if !ways.iter().any(|way| table.wants(way)) {
        return;
    }
    let world = || {
        let mut world = World::new();
        macro_rules! fill {
            ($($n:literal)*) => {
                $(for turn in 0..FRAGMENT {
                    world.spawn((Load(small(turn)), Part::<$n>(Vector::of(turn))));
                })*
            };
        }
        fill!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25);
        world
    };
    let loads = |world: &mut World| world.query::<&Load>().map(|load| whole(load.0)).sum();
    let by_tables = || {
        let mut tables: Vec<Vec<Load>> = (0..FRAGMENTS)
            .map(|_| (0..FRAGMENT).map(|turn| Load(small(turn))).collect())
            .collect();
        move |clock: &mut Clock| {
            clock.time(|| {
                for _ in 0..REPEATS {
                    for table in black_box(&mut tables) {
                        for load in table {
                            load.0 += 1.0;
                        }
                    }
                }
            });
            tables.iter().flatten().map(|load| whole(load.0)).sum()
        }
    };
    let items = FRAGMENT * FRAGMENTS * REPEATS;
    let mut ours = world();
    if let Ok(mut prepared) = ours.prepare::<&mut Load>() {
        let side = |clock: &mut Clock| {
            clock.time(|| {
                for _ in 0..REPEATS {
                    if let Ok(all) = prepared.iter(black_box(&mut ours)) {
                        all.for_each(|load| load.0 += 1.0);
                    }
                }
            });
            loads(&mut ours)
        };
        table.pair(ways[0], items, Target::Ratio(1.4), by_tables(), side);
    }
    let mut ours = world();
    let side = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..REPEATS {
                let all = black_box(&mut ours).query::<&mut Load>();
                all.for_each(|load| load.0 += 1.0);
            }
        });
        loads(&mut ours)
    };
    table.pair(ways[1], items, Target::None, by_tables(), side);
}

const PER_ARCHETYPE: usize = 320;

/// A table of 32: positions, and velocities if its number has bit 0.
struct Mixed {
    positions: Vec<Position>,
    velocities: Option<Vec<Velocity>>,
}

fn mixed() -> (Vec<Mixed>, World) {
    let mut tables = Vec::new();
    let mut world = World::new();
    let of = Vector::of;
    for number in 0..32_usize {
        let has = |bit: usize| number & (1 << bit) != 0;
        tables.push(Mixed {
            positions: (0..PER_ARCHETYPE).map(|turn| Position(of(turn))).collect(),
            velocities: has(0).then(|| vec![Velocity(of(1)); PER_ARCHETYPE]),
        });
        let bundles = (0..PER_ARCHETYPE).map(|turn| Position(of(turn)));
        let ids: Vec<Entity> = world.spawn_batch(bundles).collect();
        for id in ids {
            let done = [
                has(0).then(|| world.insert(id, Velocity(of(1)))),
                has(1).then(|| world.insert(id, Part::<1>(of(1)))),
                has(2).then(|| world.insert(id, Part::<2>(of(1)))),
                has(3).then(|| world.insert(id, Part::<3>(of(1)))),
                has(4).then(|| world.insert(id, Part::<4>(of(1)))),
            ];
            assert!(done.into_iter().flatten().all(|done| done.is_ok()));
        }
    }
    (tables, world)
}

fn mixed_sum(tables: &[Mixed]) -> u64 {
    let rows = tables.iter().flat_map(|table| &table.positions);
    rows.map(|p| whole(p.0.x)).sum()
}

fn world_sum(world: &mut World) -> u64 {
    world.query::<&Position>().map(|p| whole(p.0.x)).sum()
}

fn many_archetypes(table: &Table) {
    const REPEATS: usize = 20;
    let step = Vector {
        x: 1.0,
        y: 2.0,
        z: 3.0,
    };
    let (mut tables, mut world) = mixed();
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..REPEATS {
                let step = black_box(step);
                for table in black_box(&mut tables) {
                    if table.velocities.is_none() {
                        for position in &mut table.positions {
                            position.0.add(&step);
                        }
                    }
                }
            }
        });
        mixed_sum(&tables)
    };
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..REPEATS {
                let step = black_box(step);
                let matches =
                    black_box(&mut world).query_filtered::<&mut Position, Without<Velocity>>();
                matches.for_each(|position| position.0.add(&step));
            }
        });
        world_sum(&mut world)
    };
    let items = PER_ARCHETYPE * 16 * REPEATS;
    let name = "filter Without over 32 archetypes";
    table.pair(name, items, Target::Ratio(1.1), hand, ours);

    let (mut tables, mut world) = mixed();
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..REPEATS {
                let step = black_box(step);
                for table in black_box(&mut tables) {
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
            }
        });
        mixed_sum(&tables)
    };
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..REPEATS {
                let step = black_box(step);
                let matches = black_box(&mut world).query::<(&mut Position, Option<&Velocity>)>();
                matches.for_each(|(position, velocity)| match velocity {
                    Some(velocity) => position.0.add(&velocity.0),
                    None => position.0.add(&step),
                });
            }
        });
        world_sum(&mut world)
    };
    let items = PER_ARCHETYPE * 32 * REPEATS;
    let name = "optional over 32 archetypes";
    table.pair(name, items, Target::Ratio(1.0), hand, ours);
}

const TRACKED: usize = 100_000;

/// A tracked column by hand: values, and when each was written.
struct Tracked {
    slots: Slots<u32>,
    values: Vec<Load>,
    ticks: Vec<u64>,
    now: u64,
    last: u64,
}

impl Tracked {
    fn write(&mut self, ids: &[Id]) {
        for id in ids {
            if let Some(row) = self.slots.locate(*id) {
                self.values[row as usize].0 += 1.0;
                self.ticks[row as usize] = self.now;
            }
        }
    }

    fn read_changed(&mut self) -> u64 {
        let mut sum = 0;
        for (value, tick) in self.values.iter().zip(&self.ticks) {
            if *tick > self.last {
                sum += whole(value.0);
            }
        }
        self.last = self.now;
        self.now += 1;
        sum
    }
}

fn tracked() -> (Tracked, Vec<Id>, World, Vec<Entity>) {
    let mut slots = Slots::default();
    let mut ids: Vec<Id> = (0..TRACKED).map(|turn| slots.alloc(row(turn))).collect();
    let by_hand = Tracked {
        slots,
        values: (0..TRACKED).map(|turn| Load(small(turn))).collect(),
        ticks: vec![1; TRACKED],
        now: 1,
        last: 0,
    };
    let mut world = World::new();
    world.track::<Load>();
    let bundles = (0..TRACKED).map(|turn| Load(small(turn)));
    let mut entities: Vec<Entity> = world.spawn_batch(bundles).collect();
    shuffle(&mut ids);
    shuffle(&mut entities);
    (by_hand, ids, world, entities)
}

fn some_changed(table: &Table) {
    const NAMES: [&str; 2] = [
        "change detection, 1 % of 100k, per round",
        "change detection, 1 % of 100k, reading only, per round",
    ];
    let few = TRACKED / 100;
    for (name, with_writes) in [(NAMES[0], true), (NAMES[1], false)] {
        if !table.wants(name) {
            continue;
        }
        let (mut by_hand, ids, mut world, entities) = tracked();
        let mut turn = 0;
        let hand = |clock: &mut Clock| {
            let ids = &ids[turn * few..][..few];
            turn = (turn + 1) % 100;
            if !with_writes {
                by_hand.write(ids);
            }
            clock.time(|| {
                if with_writes {
                    by_hand.write(ids);
                }
                by_hand.read_changed()
            })
        };
        let mut our_turn = 0;
        let Ok(mut prepared) = world.prepare_filtered::<&Load, Changed<Load>>() else {
            continue;
        };
        let ours = |clock: &mut Clock| {
            let write = |world: &mut World, turn: usize| {
                for id in &entities[turn * few..][..few] {
                    if let Some(load) = world.get_mut::<Load>(*id) {
                        load.0 += 1.0;
                    }
                }
            };
            if !with_writes {
                write(&mut world, our_turn);
            }
            let sum = clock.time(|| {
                if with_writes {
                    write(&mut world, our_turn);
                }
                let changed = prepared.iter(&mut world);
                changed.map_or(0, |changed| {
                    changed.fold(0, |sum, load| sum + whole(load.0))
                })
            });
            our_turn = (our_turn + 1) % 100;
            sum
        };
        table.pair(name, 1, Target::Ratio(1.0), hand, ours);
    }
}

fn all_changed(table: &Table) {
    let compare = |way: &str, target, ours: fn(&mut World)| {
        let name = format!("change detection, all of 100k written, {way}");
        if !table.wants(&name) {
            return;
        }
        let (mut by_hand, _, mut world, _) = tracked();
        let hand = |clock: &mut Clock| {
            let Tracked {
                values, ticks, now, ..
            } = black_box(&mut by_hand);
            *now += 1;
            clock.time(|| {
                for (value, tick) in values.iter_mut().zip(ticks) {
                    value.0 += 1.0;
                    *tick = *now;
                }
            });
            by_hand.values.iter().map(|load| whole(load.0)).sum()
        };
        let ours = |clock: &mut Clock| {
            clock.time(|| ours(black_box(&mut world)));
            world.query::<&Load>().map(|load| whole(load.0)).sum()
        };
        table.pair(&name, TRACKED, target, hand, ours);
    };
    compare("&mut for_each", Target::Ratio(1.2), |world| {
        world.query::<&mut Load>().for_each(|load| load.0 += 1.0);
    });
    compare("Mut for_each", Target::Ratio(1.2), |world| {
        world
            .query::<Mut<'_, Load>>()
            .for_each(|mut load| load.0 += 1.0);
    });
}
