//! Readers of changes, for the tests of change detection.

use std::collections::BTreeSet;

use ecs::{Changed, Entity, Filter, Prepared, World};

use super::{Health, Speed, Weight};

pub(crate) type Reader<const S: bool, F = Changed<Health<S>>> = Prepared<Entity, F>;

/// What a reader sees now.
pub(crate) fn see<F: Filter>(reader: &mut Prepared<Entity, F>, world: &mut World) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    for entity in reader.iter(world).unwrap() {
        // spec: LOOK-09
        assert!(
            seen.insert(entity.index()),
            "{entity:?} is seen once in a run"
        );
    }
    seen
}

pub(crate) fn changed<const S: bool>(world: &mut World) -> Reader<S> {
    world.prepare_filtered().unwrap()
}

pub(crate) fn set(ids: &[Entity]) -> BTreeSet<u32> {
    ids.iter().map(|id| id.index()).collect()
}

/// Entities in three archetypes.
pub(crate) fn spawn<const S: bool>(world: &mut World, count: i64) -> Vec<Entity> {
    (0..count)
        .map(|n| match n % 3 {
            0 => world.spawn(Health::<S>(n)),
            1 => world.spawn((Health::<S>(n), Speed::<false>(n))),
            _ => world.spawn((Health::<S>(n), Weight::<true>(n))),
        })
        .collect()
}
