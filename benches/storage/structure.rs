//! Spawning, despawning, and moving entities between archetypes.

use std::hint::black_box;

use ecs::{Entity, World};

use super::data::{
    Extra, Fleeting, Id, Matrix, Part, Position, Rotation, Slots, Vector, Velocity, row, shuffle,
    whole,
};
use super::harness::{Clock, Table, Target};
use super::parts::{Sparse, Tables};

const MANY: usize = 10_000;
const BATCH: usize = 100_000;

pub(crate) fn run(table: &Table) {
    spawn(table);
    batch(table, "pages kept", true);
    insert(table);
    despawn(table);
    add_and_remove(table);
    moves(table);
}

/// Spawns one by one into a world that held as many before.
macro_rules! spawn_one {
    ($table:ident, $name:literal, $target:expr, $($n:literal $column:ident),*) => {{
        let mut slots = Slots::<u32>::default();
        let mut ids: Vec<u32> = Vec::new();
        $(let mut $column: Vec<Part<$n>> = Vec::new();)*
        let hand = |clock: &mut Clock| {
            clock.time(|| {
                for turn in 0..MANY {
                    let value = black_box(Vector::of(turn));
                    let id = slots.alloc(row(ids.len()));
                    ids.push(id.index);
                    $($column.push(Part(value));)*
                    black_box(id);
                }
            });
            let mut sum = 0;
            $(sum += $column.drain(..).map(|part| whole(part.0.x)).sum::<u64>() * ($n + 1);)*
            for index in ids.drain(..) {
                slots.release(index);
            }
            sum
        };
        let mut world = World::new();
        let ours = |clock: &mut Clock| {
            clock.time(|| {
                for turn in 0..MANY {
                    let value = black_box(Vector::of(turn));
                    black_box(world.spawn(($(Part::<$n>(value),)*)));
                }
            });
            let mut sum = 0;
            $(sum += world.query::<&Part<$n>>().map(|part| whole(part.0.x)).sum::<u64>() * ($n + 1);)*
            world.clear();
            sum
        };
        $table.pair($name, MANY, $target, hand, ours);
    }};
}

fn spawn(table: &Table) {
    spawn_one!(table, "spawn 1 component", Target::Ratio(2.4), 0 a);
    spawn_one!(table, "spawn 2 components", Target::None, 0 a, 1 b);
    spawn_one!(
        table, "spawn 8 components", Target::Ratio(1.3),
        0 a, 1 b, 2 c, 3 d, 4 e, 5 f, 6 g, 7 h
    );
    spawn_one!(
        table, "spawn 16 components", Target::Ratio(2.1),
        0 a, 1 b, 2 c, 3 d, 4 e, 5 f, 6 g, 7 h, 8 i, 9 j, 10 k, 11 l, 12 m, 13 n, 14 o, 15 p
    );
    let mut slots = Slots::<u32>::default();
    let mut ids: Vec<u32> = Vec::new();
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..MANY {
                let id = slots.alloc(row(ids.len()));
                ids.push(id.index);
                black_box(id);
            }
        });
        let made = ids.len() as u64;
        for index in ids.drain(..) {
            slots.release(index);
        }
        made
    };
    let mut world = World::new();
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..MANY {
                black_box(world.spawn(()));
            }
        });
        let made = world.len() as u64;
        world.clear();
        made
    };
    table.pair("spawn without components", MANY, Target::None, hand, ours);
}

/// Two columns and slots, by hand.
#[derive(Default)]
pub(crate) struct Moving {
    pub(crate) slots: Slots<u32>,
    pub(crate) ids: Vec<u32>,
    pub(crate) positions: Vec<Position>,
    pub(crate) velocities: Vec<Velocity>,
}

impl Moving {
    pub(crate) fn with(count: usize) -> (Self, Vec<Id>) {
        let mut moving = Self::default();
        let ids = (0..count).map(|turn| {
            let id = moving.slots.alloc(row(moving.ids.len()));
            moving.ids.push(id.index);
            moving.positions.push(Position(Vector::of(turn)));
            moving.velocities.push(Velocity(Vector::of(1)));
            id
        });
        let ids = ids.collect();
        (moving, ids)
    }

    fn sum_and_clear(&mut self) -> u64 {
        self.velocities.clear();
        for index in self.ids.drain(..) {
            self.slots.release(index);
        }
        self.positions.drain(..).map(|p| whole(p.0.x)).sum()
    }

    fn extend(&mut self) {
        let first = self.ids.len();
        self.slots
            .alloc_rows(first, BATCH, &mut self.ids, |row| row);
        self.positions.reserve(BATCH);
        self.velocities.reserve(BATCH);
        for turn in 0..BATCH {
            let (position, velocity) = moving(turn);
            self.positions.push(position);
            self.velocities.push(velocity);
        }
    }

    fn append(&mut self, (mut positions, mut velocities): (Vec<Position>, Vec<Velocity>)) {
        let first = self.ids.len();
        self.slots
            .alloc_rows(first, positions.len(), &mut self.ids, |row| row);
        self.positions.append(&mut positions);
        self.velocities.append(&mut velocities);
    }
}

#[inline]
fn moving(turn: usize) -> (Position, Velocity) {
    (Position(Vector::of(turn)), Velocity(Vector::of(1)))
}

fn sum(world: &mut World) -> u64 {
    world.query::<&Position>().map(|p| whole(p.0.x)).sum()
}

/// Whole batches, into memory that is there (`keep`) or has to come from the system.
pub(crate) fn batch(table: &Table, pages: &str, keep: bool) {
    let columns = || -> (Vec<_>, Vec<_>) { (0..BATCH).map(moving).unzip() };
    let mut by_hand = Moving::default();
    let mut world = World::new();
    let hand = |clock: &mut Clock| {
        if !keep {
            by_hand = Moving::default();
        }
        clock.time(|| by_hand.extend());
        by_hand.sum_and_clear()
    };
    let ours = |clock: &mut Clock| {
        if !keep {
            world = World::new();
        }
        clock.time(|| world.spawn_batch((0..BATCH).map(moving)).len());
        let sum = sum(&mut world);
        world.clear();
        sum
    };
    let name = format!("spawn batch 100k, {pages}");
    table.pair(&name, BATCH, Target::None, hand, ours);

    let hand = |clock: &mut Clock| {
        if !keep {
            by_hand = Moving::default();
        }
        let columns = columns();
        clock.time(|| by_hand.append(columns));
        by_hand.sum_and_clear()
    };
    let ours = |clock: &mut Clock| {
        if !keep {
            world = World::new();
        }
        let columns = columns();
        clock.time(|| drop(world.spawn_columns(columns)));
        let sum = sum(&mut world);
        world.clear();
        sum
    };
    let name = format!("spawn columns 100k, {pages}");
    let target = if keep {
        Target::Ratio(1.6)
    } else {
        Target::None
    };
    table.pair(&name, BATCH, target, hand, ours);
}

fn large(turn: usize) -> (Matrix, Position, Rotation, Velocity) {
    let vector = Vector::of(turn);
    (
        Matrix([[vector.x; 4]; 4]),
        Position(vector),
        Rotation(vector),
        Velocity(vector),
    )
}

type Large = (Vec<Matrix>, Vec<Position>, Vec<Rotation>, Vec<Velocity>);

fn insert(table: &Table) {
    let hand = |clock: &mut Clock| {
        let (slots, ids, columns) = clock.time(|| {
            let mut slots = Slots::<u32>::default();
            let mut ids = Vec::with_capacity(MANY);
            slots.alloc_rows(0, MANY, &mut ids, |row| row);
            let mut columns: Large = (
                Vec::with_capacity(MANY),
                Vec::with_capacity(MANY),
                Vec::with_capacity(MANY),
                Vec::with_capacity(MANY),
            );
            for turn in 0..MANY {
                let (matrix, position, rotation, velocity) = large(turn);
                columns.0.push(matrix);
                columns.1.push(position);
                columns.2.push(rotation);
                columns.3.push(velocity);
            }
            (slots, ids, columns)
        });
        black_box((&slots, &ids));
        columns.1.iter().map(|p| whole(p.0.x)).sum()
    };
    let by_rows = |clock: &mut Clock| {
        let mut world = World::new();
        clock.time(|| world.spawn_batch((0..MANY).map(large)).len());
        sum(&mut world)
    };
    let by_columns = |clock: &mut Clock| {
        let mut world = World::new();
        clock.time(|| {
            let vectors = || (0..MANY).map(Vector::of);
            let columns: Large = (
                vectors().map(|v| Matrix([[v.x; 4]; 4])).collect(),
                vectors().map(Position).collect(),
                vectors().map(Rotation).collect(),
                vectors().map(Velocity).collect(),
            );
            drop(world.spawn_columns(columns));
        });
        sum(&mut world)
    };
    table.pair(
        "insert 10k × 4, by rows",
        MANY,
        Target::Ratio(1.0),
        hand,
        by_rows,
    );
    table.pair(
        "insert 10k × 4, by columns",
        MANY,
        Target::Ratio(0.55),
        hand,
        by_columns,
    );
}

fn despawn(table: &Table) {
    let hand = |clock: &mut Clock| {
        let (mut moving, mut ids) = Moving::with(MANY);
        shuffle(&mut ids);
        clock.time(|| {
            for id in &ids {
                let Some(row) = moving.slots.locate(*id) else {
                    continue;
                };
                let at = row as usize;
                moving.ids.swap_remove(at);
                moving.positions.swap_remove(at);
                moving.velocities.swap_remove(at);
                if let Some(&moved) = moving.ids.get(at) {
                    moving.slots.set(moved, row);
                }
                moving.slots.release(id.index);
            }
        });
        (moving.positions.len() + moving.velocities.len()) as u64
    };
    let ours = |clock: &mut Clock| {
        let mut world = World::new();
        let mut ids: Vec<Entity> = world.spawn_batch((0..MANY).map(moving)).collect();
        shuffle(&mut ids);
        clock.time(|| {
            for id in &ids {
                world.despawn(*id);
            }
        });
        world.len() as u64
    };
    table.pair("despawn 10k", MANY, Target::Ratio(1.9), hand, ours);
}

fn add_and_remove(table: &Table) {
    let extra = Vector::of(3);
    let (mut tables, ids) = Tables::of((0..MANY).map(|turn| Position(Vector::of(turn))));
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            for id in &ids {
                tables.add(*id, Extra(black_box(extra)));
            }
            let taken = ids.iter().filter_map(|id| tables.remove(*id));
            taken.map(|extra| whole(extra.0.x)).sum()
        })
    };
    let mut world = World::new();
    let entities: Vec<Entity> = world
        .spawn_batch((0..MANY).map(|turn| (Position(Vector::of(turn)),)))
        .collect();
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            for id in &entities {
                let done = world.insert(*id, Extra(black_box(extra)));
                debug_assert!(done.is_ok(), "the entity is there");
            }
            let taken = entities.iter().filter_map(|id| world.remove::<Extra>(*id));
            taken.map(|extra| whole(extra.0.x)).sum()
        })
    };
    table.pair(
        "add and remove 10k, table",
        MANY,
        Target::Ratio(3.2),
        hand,
        ours,
    );

    let mut slots = Slots::<u32>::default();
    let ids: Vec<Id> = (0..MANY).map(|turn| slots.alloc(row(turn))).collect();
    let mut sparse = Sparse::<Fleeting>::default();
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            for id in &ids {
                if slots.locate(*id).is_some() {
                    sparse.insert(id.index, Fleeting(black_box(extra)));
                }
            }
            let live = ids.iter().filter(|id| slots.locate(**id).is_some());
            let taken = live.filter_map(|id| sparse.remove(id.index));
            taken.map(|extra| whole(extra.0.x)).sum()
        })
    };
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            for id in &entities {
                let done = world.insert(*id, Fleeting(black_box(extra)));
                debug_assert!(done.is_ok(), "the entity is there");
            }
            let taken = entities
                .iter()
                .filter_map(|id| world.remove::<Fleeting>(*id));
            taken.map(|extra| whole(extra.0.x)).sum()
        })
    };
    table.pair(
        "add and remove 10k, sparse",
        MANY,
        Target::Ratio(1.3),
        hand,
        ours,
    );
}

const STEPS: usize = 16;
const WALKERS: usize = 200;

/// One entity gets a component more with each move.
fn moves(table: &Table) {
    let mut slots = Slots::<[u32; 2]>::default();
    let mut tables: Vec<(Vec<u32>, Vec<Vec<Vector>>)> = (0..=STEPS)
        .map(|width| (Vec::new(), vec![Vec::new(); width]))
        .collect();
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            for turn in 0..WALKERS {
                let value = black_box(Vector::of(turn));
                let id = slots.alloc([0, 0]);
                tables[0].0.push(id.index);
                for step in 0..STEPS {
                    let Some([number, at]) = slots.locate(id) else {
                        continue;
                    };
                    let target = number as usize + 1;
                    debug_assert_eq!(target, step + 1);
                    let Ok([from, to]) = tables.get_disjoint_mut([number as usize, target]) else {
                        continue;
                    };
                    let new_row = row(to.0.len());
                    to.0.push(from.0.swap_remove(at as usize));
                    for (from, to) in from.1.iter_mut().zip(&mut to.1) {
                        to.push(from.swap_remove(at as usize));
                    }
                    to.1[step].push(value);
                    if let Some(&moved) = from.0.get(at as usize) {
                        slots.set(moved, [number, at]);
                    }
                    slots.set(id.index, [row(target), new_row]);
                }
            }
        });
        let last = &mut tables[STEPS];
        last.0.drain(..).for_each(|index| slots.release(index));
        let sum = last.1.iter().flatten().map(|v| whole(v.x)).sum();
        last.1.iter_mut().for_each(Vec::clear);
        sum
    };
    let mut world = World::new();
    macro_rules! walk {
        ($id:ident $value:ident $world:ident: $($n:literal)*) => {
            $(let done = $world.insert($id, Part::<$n>($value));
            debug_assert!(done.is_ok(), "the entity is there");)*
        };
    }
    macro_rules! add_up {
        ($world:ident: $($n:literal)*) => {
            0 $(+ $world.query::<&Part<$n>>().map(|part| whole(part.0.x)).sum::<u64>())*
        };
    }
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            for turn in 0..WALKERS {
                let value = black_box(Vector::of(turn));
                let id = world.spawn(());
                walk!(id value world: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            }
        });
        let sum = add_up!(world: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        world.clear();
        sum
    };
    let name = "16 archetype moves, per move";
    table.pair(name, WALKERS * STEPS, Target::Ratio(3.3), hand, ours);
}
