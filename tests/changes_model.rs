//! Change detection under random writes and moves, against the latest write of each entity as a plain map keeps it:
//! whatever way a component was written, and wherever its entity went, each reader sees it once.

mod kinds;
#[path = "common/random.rs"]
mod random;

use std::collections::{BTreeMap, BTreeSet};

use ecs::{Changed, Entity, Mut, Prepared, With, Without, World};
use kinds::readers::{Reader, changed, see};
use kinds::{Health, Speed, Weight};
use random::Random;

/// When each entity's component was last written, in steps of the test.
struct Model {
    written: BTreeMap<Entity, u64>,
    step: u64,
}

impl Model {
    fn write(&mut self, entity: Entity) {
        self.written.insert(entity, self.step);
    }

    fn since(&self, step: u64) -> BTreeSet<u32> {
        let later = self.written.iter().filter(|(_, at)| **at > step);
        later.map(|(entity, _)| entity.index()).collect()
    }
}

type Part<F> = Prepared<(Entity, &'static mut Health<false>), F>;

/// Writes what a query matches, in one of the ways to do so.
fn write_part<F: ecs::Filter>(
    part: &mut Part<F>,
    way: usize,
    world: &mut World,
    model: &mut Model,
) {
    let iter = part.iter(world).unwrap();
    match way {
        0 => iter.for_each(|(entity, health)| {
            health.0 += 1;
            model.write(entity);
        }),
        1 => {
            for (entity, health) in iter {
                health.0 += 1;
                model.write(entity);
            }
        }
        2 => {
            for chunk in iter.chunks() {
                let (entities, healths) = chunk.into_slices();
                for (entity, health) in entities.iter().zip(healths) {
                    health.0 += 1;
                    model.write(entity);
                }
            }
        }
        3 => {
            for (entity, health) in iter.batches(3).flatten() {
                health.0 += 1;
                model.write(entity);
            }
        }
        _ => {
            // Left early: only what was given out is written.
            for (entity, health) in iter.take(3) {
                health.0 += 1;
                model.write(entity);
            }
        }
    }
}

#[test]
fn every_write_is_seen_once_wherever_its_entity_went() {
    for seed in 1..=150 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut world = World::new();
        let mut model = Model {
            written: BTreeMap::new(),
            step: 1,
        };
        let mut readers: Vec<(Reader<false>, u64)> = vec![(changed::<false>(&mut world), 0)];
        let mut all: Part<()> = world.prepare().unwrap();
        let mut fast: Part<With<Speed<false>>> = world.prepare_filtered().unwrap();
        let mut light: Part<Without<Weight<false>>> = world.prepare_filtered().unwrap();
        let mut fresh: Part<Changed<Health<false>>> = world.prepare_filtered().unwrap();
        let mut marked = world.prepare::<(Entity, Mut<'_, Health<false>>)>().unwrap();
        let mut ids: Vec<Entity> = Vec::new();
        for _ in 0..120 {
            model.step += 1;
            let at = random.below(ids.len().max(1));
            let id = ids.get(at).copied();
            match (random.below(14), id) {
                (0 | 1, _) => {
                    let id = world.spawn((Health::<false>(0), Speed::<false>(0)));
                    model.write(id);
                    ids.push(id);
                }
                (2, _) => {
                    for id in world.spawn_batch((0..5).map(Health::<false>)) {
                        model.write(id);
                        ids.push(id);
                    }
                }
                (3, Some(id)) => {
                    world.despawn(id);
                    model.written.remove(&id);
                    ids.swap_remove(at);
                }
                (4, Some(id)) => {
                    world.remove::<Speed<false>>(id);
                }
                (5, Some(id)) => {
                    world.insert(id, Weight::<false>(1)).unwrap();
                }
                (6, Some(id)) => {
                    world.remove::<Weight<false>>(id);
                }
                (7, Some(id)) => {
                    world.get_mut::<Health<false>>(id).unwrap().0 += 1;
                    model.write(id);
                }
                (8, Some(id)) => {
                    world.insert(id, Health::<false>(7)).unwrap();
                    model.write(id);
                }
                (9, _) => {
                    let way = random.below(5);
                    match random.below(3) {
                        0 => write_part(&mut all, way, &mut world, &mut model),
                        1 => write_part(&mut fast, way, &mut world, &mut model),
                        _ => write_part(&mut light, way, &mut world, &mut model),
                    }
                }
                (10, _) => write_part(&mut fresh, random.below(2), &mut world, &mut model),
                (11, _) => marked
                    .iter(&mut world)
                    .unwrap()
                    .for_each(|(id, mut health)| {
                        if health.0 % 2 == 0 {
                            health.0 += 1;
                            model.write(id);
                        }
                    }),
                (12, _) if readers.len() < 4 => readers.push((changed::<false>(&mut world), 0)),
                _ => {
                    let which = random.below(readers.len());
                    let (reader, since) = &mut readers[which];
                    // spec: LOOK-09
                    assert_eq!(
                        see(reader, &mut world),
                        model.since(*since),
                        "seed {seed}, step {}",
                        model.step
                    );
                    *since = model.step;
                }
            }
        }
    }
}

#[test]
fn a_row_that_moves_under_the_mark_of_a_whole_column_keeps_its_own() {
    let mut world = World::new();
    let mut reader = changed::<false>(&mut world);
    let still = world.spawn((Health::<false>(0), Speed::<false>(0)));
    let here: Vec<_> = (0..3).map(|n| world.spawn(Health::<false>(n))).collect();
    see(&mut reader, &mut world);
    let mut slow = world
        .prepare_filtered::<&mut Health<false>, Without<Speed<false>>>()
        .unwrap();
    slow.iter(&mut world)
        .unwrap()
        .for_each(|health| health.0 += 1);
    world.remove::<Speed<false>>(still).unwrap();
    let seen = see(&mut reader, &mut world);
    // spec: LOOK-09
    assert_eq!(seen, here.iter().map(|id| id.index()).collect());
    assert!(see(&mut reader, &mut world).is_empty());
}
