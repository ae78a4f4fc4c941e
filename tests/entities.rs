//! Entities: ids, handles, making and ending them.

#![allow(
    clippy::cast_possible_wrap,
    clippy::many_single_char_names,
    reason = "small numbers and short names"
)]

mod kinds;

use std::collections::HashSet;

use ecs::{Entity, EntityError, World};
use kinds::{Health, Held, Ledger, Marker, Nameless, Speed};

type H = Health<false>;
type S = Speed<false>;

fn order(world: &World) -> Vec<Entity> {
    world.entities().map(|entity| entity.id()).collect()
}

/// Everything that can be asked of a stale id, and everything that must do nothing.
#[track_caller]
fn assert_stale(world: &mut World, stale: Entity) {
    let before = (world.len(), world.export().to_string());
    // spec: ENT-03
    assert!(!world.contains(stale));
    assert!(world.handle(stale).is_none());
    assert!(world.get::<H>(stale).is_none());
    assert!(world.get_mut::<H>(stale).is_none());
    assert!(world.get_named::<H>(stale, "Health").is_none());
    assert!(world.get_named_mut::<H>(stale, "Health").is_none());
    assert!(world.component(stale, "Health").is_none());
    assert!(world.component_mut(stale, "Health").is_none());
    assert!(!world.has::<H>(stale));
    assert!(!world.has_named(stale, "Health"));
    assert!(world.export_entity(stale).is_none());
    assert!(world.query_one::<Entity>(stale).is_err());
    assert!(world.query_one::<&mut H>(stale).is_err());
    assert!(world.prepare::<&H>().unwrap().get(world, stale).is_none());
    // spec: ENT-03
    assert!(world.remove::<H>(stale).is_none());
    assert!(world.remove_named(stale, "Health").is_none());
    assert!(!world.despawn(stale));
    assert!(world.insert(stale, Health::<false>(666)).is_err());
    assert!(world.replace(stale, Health::<false>(666)).is_err());
    assert!(world.spawn_reserved(stale, Health::<false>(666)).is_err());
    assert_eq!((world.len(), world.export().to_string()), before);
}

#[test]
fn an_entity_is_a_small_copy_id() {
    fn copy<T: Copy + Send + Sync + 'static>(value: T) -> T {
        value
    }
    let mut world = World::new();
    let entity = copy(world.spawn(()));
    // spec: ENT-01
    assert!(world.contains(entity));
    assert_eq!(size_of::<Entity>(), 8);
    assert_eq!(size_of::<Option<Entity>>(), 8);
    assert_eq!(Entity::from_bits(entity.to_bits()), Some(entity));
}

#[test]
fn entity_looks_up_or_makes() {
    let mut world = World::new();
    let door = world.entity("door").unwrap();
    // spec: ENT-01
    assert_eq!(world.handle(door).unwrap(), "door");
    assert_eq!(world.entity("door").unwrap(), door);
    assert_eq!(world.find("door"), Some(door));
    assert_eq!(world.len(), 1);
    let window = world.spawn_named("window", Health::<false>(1)).unwrap();
    // spec: ENT-01
    assert_eq!(world.entity("window").unwrap(), window);
    assert_eq!(world.len(), 2);
    assert_eq!(world.find("Window"), None);
    assert_eq!(world.find("window "), None);
}

#[test]
fn a_taken_handle_is_rejected() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let door = world.spawn_named("door", Health::<false>(1)).unwrap();
    let generated = world.spawn(Health::<false>(2));
    let text = world.handle(generated).unwrap().to_string();
    let before = (world.export().to_string(), world.statistics());
    for handle in ["door", text.as_str()] {
        let error = world
            .spawn_named(handle, Held::<false>(ledger.witness()))
            .unwrap_err();
        // spec: ENT-01, ENT-10, ERR-01
        assert!(
            matches!(&error, EntityError::HandleTaken { handle: taken, .. } if taken == handle),
            "{error:?}"
        );
        assert!(
            error
                .to_string()
                .starts_with(&format!("ecs::World::spawn_named(): entity \"{handle}\"")),
            "{error}"
        );
        // spec: ERR-01
        assert_eq!((world.export().to_string(), world.statistics()), before);
    }
    // spec: COMP-02
    assert_eq!(ledger.drops(), [1, 1]);
    // spec: ENT-01
    assert_eq!(world.entity(&text).unwrap(), generated);
    assert_eq!(world.entity("door").unwrap(), door);
    assert_eq!(world.len(), 2);
}

#[test]
fn a_generated_handle_is_a_stable_identifier() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..10_000)
        .map(|n| world.spawn(Health::<false>(n)))
        .collect();
    let handles: Vec<String> = entities
        .iter()
        .map(|entity| world.handle(*entity).unwrap().to_string())
        .collect();
    let mut seen = HashSet::new();
    for (entity, handle) in entities.iter().zip(&handles) {
        let parsed = uuid::Uuid::parse_str(handle).unwrap();
        // spec: ENT-02
        assert_eq!(parsed.get_version_num(), 4, "{handle}");
        assert_eq!(parsed.get_variant(), uuid::Variant::RFC4122, "{handle}");
        assert_eq!(parsed.hyphenated().to_string(), *handle);
        assert!(seen.insert(handle.clone()), "{handle} twice");
        assert_eq!(world.find(handle), Some(*entity));
    }
    for (n, entity) in entities.iter().enumerate() {
        match n % 4 {
            0 => world.insert(*entity, Speed::<false>(1)).unwrap(),
            1 => drop(world.remove::<H>(*entity)),
            2 => assert!(world.despawn(*entity)),
            _ => {}
        }
    }
    world.shrink_to_fit();
    world.reclaim();
    for (n, (entity, handle)) in entities.iter().zip(&handles).enumerate() {
        if n % 4 == 2 {
            // spec: ENT-04
            assert_eq!(world.find(handle), None);
        } else {
            // spec: ENT-02
            assert_eq!(world.handle(*entity).unwrap(), handle.as_str());
            assert_eq!(world.find(handle), Some(*entity));
        }
    }
}

#[test]
fn worlds_generate_unlike_handles() {
    let mut worlds: Vec<World> = (0..20).map(|_| World::new()).collect();
    let mut seen = HashSet::new();
    for world in &mut worlds {
        for _ in 0..100 {
            let entity = world.spawn(());
            // spec: ENT-02
            assert!(seen.insert(world.handle(entity).unwrap().to_string()));
        }
    }
    let foreign = {
        let first = worlds[0].entities().next().unwrap();
        first.handle().to_string()
    };
    for world in &worlds[1..] {
        // spec: ENT-02, ENT-08
        assert_eq!(world.find(&foreign), None);
    }
}

#[test]
fn a_stale_id_never_reaches_the_next_holder_of_its_slot() {
    let mut world = World::new();
    let mut stale = vec![world.spawn(Health::<false>(0))];
    assert!(world.despawn(stale[0]));
    for n in 1..200 {
        let next = world.spawn(Health::<false>(n));
        // spec: ENT-03
        assert_eq!(next.index(), stale[0].index(), "the slot is used again");
        assert!(!stale.contains(&next));
        if n % 40 == 0 {
            for id in &stale {
                assert_stale(&mut world, *id);
            }
        }
        assert_eq!(world.get::<H>(next), Some(&Health(n)));
        assert!(world.despawn(next));
        stale.push(next);
    }
    for id in &stale {
        assert_stale(&mut world, *id);
    }
}

#[test]
fn a_slot_whose_generation_is_used_up_is_retired() {
    let mut world = World::with_slot_limit(1);
    let first = world.spawn(());
    let first_text = world.handle(first).unwrap().to_string();
    world.despawn(first);
    let mut kept = Vec::new();
    let mut uses = 0_u32;
    let error = loop {
        match world.try_spawn(()) {
            Ok(entity) => {
                if uses.is_multiple_of(100_000) {
                    kept.push(entity);
                }
                if let Some(first) = kept.first().filter(|first| **first != entity) {
                    // spec: ENT-03
                    assert!(!world.contains(*first));
                }
                assert!(world.despawn(entity));
            }
            Err(error) => break error,
        }
        uses += 1;
        assert!(uses <= 1 << 20, "a generation came back");
    };
    // spec: ENT-03
    assert!(uses > 1 << 18, "retired after {uses} uses only");
    assert!(matches!(error, EntityError::OutOfSlots { limit: 1, .. }));
    assert!(
        error
            .to_string()
            .starts_with("ecs::World::try_spawn(): no entity slot is left"),
        "{error}"
    );
    assert_eq!(world.len(), 0);
    for id in kept {
        assert_stale(&mut world, id);
    }
    // spec: ENT-03
    assert!(world.entity("door").is_err());
    assert!(world.spawn_named("door", ()).is_err());
    assert!(world.reserve_entity().is_err());
    // spec: ENT-10
    assert!(
        matches!(
            world.entity(&first_text),
            Err(EntityError::OutOfSlots { .. })
        ),
        "the text of an id that is gone is free"
    );
    assert_eq!(world.find("door"), None);
    world.clear();
    // spec: ENT-03, ENT-09
    assert!(world.try_spawn(()).is_err());
}

#[test]
fn running_out_of_slots_is_an_error_that_changes_nothing() {
    let mut world = World::with_slot_limit(3);
    let ledger = Ledger::default();
    let ids: Vec<Entity> = (0..3).map(|n| world.spawn(Health::<false>(n))).collect();
    let before = (world.export().to_string(), world.len());
    for error in [
        world
            .try_spawn(Held::<false>(ledger.witness()))
            .unwrap_err(),
        world
            .spawn_named("x", Held::<false>(ledger.witness()))
            .unwrap_err(),
        world.entity("x").unwrap_err(),
        world.reserve_entity().unwrap_err(),
        world
            .spawn_columns((vec![Health::<false>(1)],))
            .err()
            .unwrap(),
    ] {
        // spec: ENT-03
        assert!(
            matches!(error, EntityError::OutOfSlots { limit: 3, .. }),
            "{error:?}"
        );
    }
    // spec: COMP-02
    ledger.assert_all_dropped_once();
    // spec: ERR-01
    assert_eq!((world.export().to_string(), world.len()), before);
    assert_eq!(world.find("x"), None);
    world.despawn(ids[1]);
    // spec: ENT-03
    assert!(world.try_spawn(()).is_ok());
    assert!(world.try_spawn(()).is_err());
}

#[test]
fn despawn_removes_everything_once() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let make = |world: &mut World, name: &str| {
        world
            .spawn_named(
                name,
                (
                    Held::<false>(ledger.witness()),
                    kinds::Coin::<true>(ledger.witness()),
                    Health::<false>(7),
                ),
            )
            .unwrap()
    };
    let ids = ["a", "b", "c"].map(|name| make(&mut world, name));
    // spec: ENT-04
    assert!(world.despawn(ids[0]));
    assert_eq!(ledger.drops(), [1, 1, 0, 0, 0, 0]);
    assert_stale(&mut world, ids[0]);
    assert_eq!(world.find("a"), None);
    assert!(!world.despawn("a"));
    // spec: ENT-04
    assert!(world.despawn("c"));
    assert_eq!(ledger.drops(), [1, 1, 0, 0, 1, 1]);
    // The one that filled the gap is whole.
    assert_eq!(world.get::<Held<false>>("b").unwrap().0.number(), 2);
    assert_eq!(
        world.get::<kinds::Coin<true>>(ids[1]).unwrap().0.number(),
        3
    );
    // spec: ENT-04
    let again = world.entity("a").unwrap();
    assert_ne!(again, ids[0]);
    assert_eq!(
        world
            .entities()
            .find(|e| e.id() == again)
            .unwrap()
            .components()
            .count(),
        0
    );
    drop(world);
    ledger.assert_all_dropped_once();
}

#[test]
fn an_empty_handle_is_rejected() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let named = world
        .spawn_named("", Held::<false>(ledger.witness()))
        .unwrap_err();
    let looked_up = world.entity("").unwrap_err();
    // spec: ENT-05
    assert_eq!(
        named.to_string(),
        "ecs::World::spawn_named(): entity handle is empty"
    );
    assert_eq!(
        looked_up.to_string(),
        "ecs::World::entity(): entity handle is empty"
    );
    assert!(world.is_empty());
    assert_eq!(world.find(""), None);
    assert!(!world.contains(""));
    assert!(!world.despawn(""));
    assert_eq!(ledger.drops(), [1]);
}

#[test]
fn bundles_batches_and_reserved_ids() {
    let mut world = World::new();
    let one = world.spawn((Health::<false>(1), (Speed::<true>(2), Marker::<false>(()))));
    // spec: ENT-06
    assert_eq!(world.get::<H>(one), Some(&Health(1)));
    assert_eq!(world.get::<Speed<true>>(one), Some(&Speed(2)));
    assert!(world.has::<Marker<false>>(one));
    let batch: Vec<Entity> = world
        .spawn_batch((0..100).map(|n| (Health::<false>(n), Speed::<false>(-n))))
        .collect();
    let sparse: Vec<Entity> = world
        .spawn_batch((0..100).map(|n| (Health::<false>(n), Speed::<true>(-n))))
        .collect();
    let columns: Vec<Entity> = world
        .spawn_columns(((0..100).map(Health::<false>).collect::<Vec<_>>(),))
        .unwrap()
        .collect();
    let all: HashSet<Entity> = batch
        .iter()
        .chain(&sparse)
        .chain(&columns)
        .copied()
        .collect();
    // spec: ENT-06
    assert_eq!(all.len(), 300);
    assert_eq!(world.len(), 301);
    for n in 0..100_usize {
        assert_eq!(world.get::<H>(batch[n]).unwrap().0, n as i64);
        assert_eq!(world.get::<S>(batch[n]).unwrap().0, -(n as i64));
        assert_eq!(world.get::<Speed<true>>(sparse[n]).unwrap().0, -(n as i64));
        assert_eq!(world.get::<H>(columns[n]).unwrap().0, n as i64);
        assert!(!world.has::<S>(columns[n]));
    }
    // spec: ENT-06
    assert_eq!(
        world.spawn_batch(std::iter::empty::<Health<false>>()).len(),
        0
    );
    let uneven = world
        .spawn_columns((vec![Health::<false>(1)], vec![Speed::<false>(1), Speed(2)]))
        .err()
        .unwrap();
    assert_eq!(
        uneven.to_string(),
        "ecs::World::spawn_columns(): the columns differ in length"
    );
    assert_eq!(world.len(), 301);
}

#[test]
fn reserved_ids_are_nobody_until_they_are_spawned() {
    let mut world = World::new();
    let a = world.reserve_entity().unwrap();
    let b = world.reserve_entity().unwrap();
    // spec: ENT-06
    assert_eq!(world.len(), 0);
    assert!(!world.contains(a));
    assert!(world.handle(a).is_none());
    assert!(world.insert(a, Health::<false>(1)).is_err());
    // Giving one up, and reserving again: no id is issued twice.
    assert!(!world.despawn(b));
    let c = world.reserve_entity().unwrap();
    let d = world.spawn(Health::<false>(4));
    assert_eq!([a, b, c, d].into_iter().collect::<HashSet<_>>().len(), 4);
    // spec: ENT-06
    world.spawn_reserved(c, Health::<false>(3)).unwrap();
    world.spawn_reserved(a, Health::<true>(1)).unwrap();
    assert_eq!(world.get::<H>(c), Some(&Health(3)));
    assert_eq!(world.get::<Health<true>>(a), Some(&Health(1)));
    assert_eq!(world.len(), 3);
    // spec: ENT-06, ENT-03
    for refused in [a, b, c, d] {
        let error = world
            .spawn_reserved(refused, Health::<false>(9))
            .unwrap_err();
        assert!(
            matches!(error, EntityError::NotReserved { .. }),
            "{error:?}"
        );
    }
    let ledger = Ledger::default();
    let e = world.reserve_entity().unwrap();
    let error = world
        .spawn_reserved(e, Nameless(ledger.witness()))
        .unwrap_err();
    // spec: COMP-06, ENT-06
    assert_eq!(
        error.to_string(),
        "ecs::World::spawn_reserved(): component type is empty"
    );
    assert_eq!(ledger.drops(), [1]);
    assert!(!world.contains(e));
    world.spawn_reserved(e, ()).unwrap();
    assert!(world.contains(e));
}

#[test]
fn entities_are_iterated_in_order_with_handles_and_components() {
    fn build() -> (World, Vec<Entity>) {
        let mut world = World::new();
        let mut ids = Vec::new();
        for n in 0..10 {
            ids.push(world.spawn(Health::<false>(n)));
            ids.push(world.spawn((Speed::<true>(n), Health::<false>(n))));
            ids.push(world.spawn_named(&format!("e{n}"), ()).unwrap());
            ids.push(world.spawn((Speed::<false>(n), Marker::<false>(()))));
        }
        for at in [3, 0, 12, 30] {
            world.despawn(ids[at]);
        }
        (world, ids)
    }
    let (world, ids) = build();
    let (twin, twins) = build();
    let places = |ids: &[Entity], order: &[Entity]| -> Vec<usize> {
        order
            .iter()
            .map(|id| ids.iter().position(|known| known == id).unwrap())
            .collect()
    };
    // spec: ENT-07, LOOK-06
    assert_eq!(places(&ids, &order(&world)), places(&twins, &order(&twin)));
    assert_eq!(order(&world).len(), 36);
    assert_eq!(order(&world).into_iter().collect::<HashSet<_>>().len(), 36);
    for entity in world.entities() {
        let names: Vec<&str> = entity.components().map(|(name, _)| name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        // spec: ENT-07
        assert_eq!(names, sorted);
        assert_eq!(world.find(&entity.handle()), Some(entity.id()));
        for (name, component) in entity.components() {
            assert_eq!(component.component_type().type_name(), name);
            assert_eq!(
                component.export(),
                world.component(entity.id(), name).unwrap().export()
            );
        }
        let has = |name: &str| world.has_named(entity.id(), name);
        assert_eq!(
            names,
            ["Health", "Marker", "Speed"]
                .into_iter()
                .filter(|name| has(name))
                .collect::<Vec<_>>()
        );
    }
    let mut queried = world;
    let by_query: Vec<Entity> = queried.query::<Entity>().collect();
    // spec: ENT-07
    assert_eq!(by_query, order(&queried));
}

#[test]
fn a_new_entity_shows_nothing_of_the_dead_one() {
    let mut world = World::new();
    let old = world
        .spawn_named(
            "old",
            (Health::<false>(1), Speed::<true>(2), Marker::<true>(())),
        )
        .unwrap();
    let mut readers = world.prepare::<&Speed<true>>().unwrap();
    world.despawn(old);
    let new = world.spawn(());
    // spec: ENT-03, ENT-04
    assert_eq!(new.index(), old.index());
    let entity = world.entities().next().unwrap();
    assert_eq!(entity.components().count(), 0);
    assert_ne!(entity.handle(), "old");
    assert!(world.component(new, "Speed").is_none());
    assert_eq!(readers.iter(&mut world).unwrap().count(), 0);
    assert_eq!(world.components("Speed").count(), 0);
}

#[test]
fn a_batch_that_never_ends_is_refused_when_the_slots_do_not_suffice() {
    let mut world = World::with_slot_limit(3);
    world.spawn(());
    // spec: ENT-03, ENT-06
    assert!(matches!(
        world.try_spawn_batch(std::iter::repeat_with(|| ())),
        Err(EntityError::OutOfSlots { limit: 3, .. })
    ));
    assert_eq!(world.len(), 1);
    assert_eq!(world.spawn_batch([(), ()]).len(), 2);
}
