//! Reaching components of single entities: by id, by handle, by names.

use std::hint::black_box;

use ahash::AHashMap;
use ecs::{Entity, World};

use super::data::{Id, Position, Slots, Vector, Velocity, row, shuffle, whole};
use super::harness::{Clock, Table, Target};

pub(crate) fn run(table: &Table) {
    by_id(table, 10_000, "10k", [2.0, 1.0]);
    by_id(table, 100_000, "100k", [2.0, 1.0]);
    by_text(table, 1_000, "1k");
    by_text(table, 10_000, "10k");
    by_text(table, 100_000, "100k");
    handles(table, 10_000);
}

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

    #[inline]
    fn position_mut(&mut self, id: Id) -> Option<&mut Position> {
        let [table, row] = self.slots.locate(id)?;
        self.tables.get_mut(table as usize)?.0.get_mut(row as usize)
    }
}

fn worlds(count: usize) -> (Tables, Vec<Id>, World, Vec<Entity>) {
    let mut slots = Slots::default();
    let mut ids: Vec<Id> = (0..count).map(|turn| slots.alloc([0, row(turn)])).collect();
    let positions = (0..count).map(|turn| Position(Vector::of(turn)));
    let velocities = vec![Velocity(Vector::of(1)); count];
    let by_hand = Tables {
        slots,
        tables: vec![(positions.collect(), velocities)],
    };
    let mut world = World::new();
    let bundles = (0..count).map(|turn| (Position(Vector::of(turn)), Velocity(Vector::of(1))));
    let mut entities: Vec<Entity> = world.spawn_batch(bundles).collect();
    shuffle(&mut ids);
    shuffle(&mut entities);
    (by_hand, ids, world, entities)
}

fn by_id(table: &Table, count: usize, size: &str, targets: [f64; 2]) {
    let name = |way: &str| format!("get by id, random {size}, {way}");
    let ways = ["from the world", "prepared view", "mutably from the world"].map(name);
    if !ways.iter().any(|way| table.wants(way)) {
        return;
    }
    let (mut by_hand, ids, mut world, entities) = worlds(count);
    let mut hand = |clock: &mut Clock| {
        let tables = black_box(&by_hand);
        clock
            .time(|| {
                let found = ids.iter().filter_map(|id| tables.position(*id));
                found.map(|position| position.0.x).fold(0.0, f32::max)
            })
            .to_bits()
            .into()
    };
    let from_world = |clock: &mut Clock| {
        let world = black_box(&world);
        clock
            .time(|| {
                let found = entities.iter().filter_map(|id| world.get::<Position>(*id));
                found.map(|position| position.0.x).fold(0.0, f32::max)
            })
            .to_bits()
            .into()
    };
    table.pair(
        &ways[0],
        count,
        Target::Ratio(targets[0]),
        &mut hand,
        from_world,
    );
    if let Ok(mut prepared) = world.prepare::<&Position>() {
        let prepared = |clock: &mut Clock| {
            let world = black_box(&world);
            clock
                .time(|| {
                    let Ok(view) = prepared.view(world) else {
                        return 0.0;
                    };
                    let found = entities.iter().filter_map(|id| view.get(*id));
                    found.map(|position| position.0.x).fold(0.0, f32::max)
                })
                .to_bits()
                .into()
        };
        table.pair(
            &ways[1],
            count,
            Target::Ratio(targets[1]),
            &mut hand,
            prepared,
        );
    }
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            for id in &ids {
                if let Some(position) = by_hand.position_mut(*id) {
                    position.0.y += 1.0;
                }
            }
        });
        by_hand.tables[0].0.iter().map(|p| whole(p.0.y)).sum()
    };
    let from_world = |clock: &mut Clock| {
        clock.time(|| {
            for id in &entities {
                if let Some(position) = world.get_mut::<Position>(*id) {
                    position.0.y += 1.0;
                }
            }
        });
        world.query::<&Position>().map(|p| whole(p.0.y)).sum()
    };
    table.pair(&ways[2], count, Target::None, hand, from_world);
}

fn by_text(table: &Table, count: usize, size: &str) {
    let name = |way: &str| format!("get by {way}, {size} chosen handles");
    let ways = [
        "handle and type name",
        "handle and type",
        "id and type name",
    ]
    .map(name);
    if !ways.iter().any(|way| table.wants(way)) {
        return;
    }
    let mut map: AHashMap<String, u32> = AHashMap::new();
    let mut positions = Vec::new();
    let mut world = World::new();
    let mut handles = Vec::new();
    let mut entities = Vec::new();
    for turn in 0..count {
        let handle = format!("unit/{turn:06}");
        let position = Position(Vector::of(turn));
        map.insert(handle.clone(), row(turn));
        positions.push(position);
        let spawned = world.spawn_named(&handle, (position, Velocity(Vector::of(1))));
        entities.extend(spawned);
        handles.push(handle);
    }
    assert_eq!(entities.len(), count, "every handle is free");
    shuffle(&mut handles);
    shuffle(&mut entities);
    // Texts that were read in another order than they were stored in, as a message's would be.
    let handles: Vec<String> = handles
        .iter()
        .map(|handle| handle.as_str().into())
        .collect();
    let type_name = black_box("PositionComponent");
    let mut hand = |clock: &mut Clock| {
        let (map, positions) = black_box((&map, &positions));
        clock.time(|| {
            let rows = handles.iter().filter_map(|handle| map.get(handle.as_str()));
            let found = rows.filter_map(|row| positions.get(*row as usize));
            found.map(|position| whole(position.0.x)).sum()
        })
    };
    let both = |clock: &mut Clock| {
        let world = black_box(&world);
        clock.time(|| {
            let found = handles
                .iter()
                .filter_map(|handle| world.get_named::<Position>(handle.as_str(), type_name));
            found.map(|position| whole(position.0.x)).sum()
        })
    };
    table.pair(&ways[0], count, Target::Ratio(2.2), &mut hand, both);
    let typed = |clock: &mut Clock| {
        let world = black_box(&world);
        clock.time(|| {
            let found = handles
                .iter()
                .filter_map(|handle| world.get::<Position>(handle.as_str()));
            found.map(|position| whole(position.0.x)).sum()
        })
    };
    table.pair(&ways[1], count, Target::None, &mut hand, typed);
    let by_id = |clock: &mut Clock| {
        let world = black_box(&world);
        clock.time(|| {
            let found = entities
                .iter()
                .filter_map(|id| world.get_named::<Position>(*id, type_name));
            found.map(|position| whole(position.0.x)).sum()
        })
    };
    let most = if count <= 10_000 { 5.0 } else { 28.0 };
    table.pair(&ways[2], count, Target::Absolute(most), hand, by_id);
}

/// Generated handles, beside identifiers that were made at the spawn and are kept in a vector and a map.
fn handles(table: &Table, count: usize) {
    let ways = ["generated handle as text", "entity of a generated handle"];
    if !ways.iter().any(|way| table.wants(way)) {
        return;
    }
    let (_, _, world, entities) = worlds(count);
    let mut stored = vec![uuid::Uuid::nil(); count];
    let mut map = AHashMap::new();
    let mut texts = Vec::new();
    for (turn, id) in entities.iter().enumerate() {
        let text = world.handle(*id).map(|handle| handle.to_string());
        let text = text.unwrap_or_default();
        let Ok(parsed) = uuid::Uuid::try_parse(&text) else {
            continue;
        };
        stored[turn] = parsed;
        map.insert(parsed, row(turn));
        texts.push(text);
    }
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            let mut sum = 0;
            for id in &stored {
                let mut buffer = uuid::Uuid::encode_buffer();
                let text = black_box(id.hyphenated().encode_lower(&mut buffer));
                sum += u64::from(text.as_bytes()[35]);
            }
            sum
        })
    };
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            let mut sum = 0;
            for id in &entities {
                if let Some(handle) = world.handle(*id) {
                    let text = black_box(handle.as_str());
                    sum += u64::from(text.as_bytes()[35]);
                }
            }
            sum
        })
    };
    table.pair(ways[0], count, Target::Absolute(14.0), hand, ours);
    let hand = |clock: &mut Clock| {
        clock.time(|| {
            let parsed = texts
                .iter()
                .filter_map(|text| uuid::Uuid::try_parse(text).ok());
            parsed.filter_map(|id| map.get(&id)).count() as u64
        })
    };
    let ours = |clock: &mut Clock| {
        clock.time(|| {
            let found = texts.iter().filter_map(|text| world.find(text.as_str()));
            found.count() as u64
        })
    };
    table.pair(ways[1], count, Target::Absolute(19.0), hand, ours);
}
