//! Ids, handles and queries across worlds and through clearing, shrinking and reclaiming; handles that are
//! identifiers.

mod kinds;

use ecs::{Changed, Entity, EntityError, QueryError, World};
use kinds::{Coin, Health, Held, Ledger, Marker, Speed, Weight};

type H = Health<false>;

#[track_caller]
fn assert_unknown(world: &mut World, id: Entity) {
    let before = world.export().to_string();
    assert!(!world.contains(id));
    assert!(world.handle(id).is_none());
    assert!(world.get::<H>(id).is_none());
    assert!(world.get_mut::<H>(id).is_none());
    assert!(world.component(id, "Health").is_none());
    assert!(!world.has_named(id, "Health"));
    assert!(world.remove::<H>(id).is_none());
    assert!(world.remove_named(id, "Health").is_none());
    assert!(!world.despawn(id));
    assert!(world.insert(id, Health::<false>(9)).is_err());
    assert!(
        world
            .insert_named(id, "Health", Health::<false>(9))
            .is_err()
    );
    assert!(world.spawn_reserved(id, Health::<false>(9)).is_err());
    assert!(matches!(
        world.query_one::<&mut H>(id),
        Err(QueryError::NoMatch { .. })
    ));
    assert_eq!(world.export().to_string(), before);
}

#[test]
fn ids_of_another_world_are_refused() {
    let mut worlds: Vec<World> = (0..8).map(|_| World::new()).collect();
    let ids: Vec<Vec<Entity>> = worlds
        .iter_mut()
        .map(|world| (0..20).map(|n| world.spawn(Health::<false>(n))).collect())
        .collect();
    let (left, right) = worlds.split_at_mut(1);
    for (world, ids) in right.iter_mut().zip(&ids[1..]) {
        for id in ids {
            // spec: ENT-08
            assert_unknown(&mut left[0], *id);
        }
        for id in &ids[..3] {
            assert!(world.contains(*id));
        }
        assert_unknown(world, left[0].entities().next().unwrap().id());
    }
}

#[test]
fn ids_of_a_dropped_world_are_refused_by_every_later_one() {
    let mut old = Vec::new();
    for round in 0..5000 {
        let mut world = World::new();
        let id = world.spawn(Health::<false>(round));
        // spec: ENT-08
        assert!(
            !old.contains(&id),
            "an id was issued twice, in round {round}"
        );
        if let Some(first) = old.first() {
            assert!(!world.contains(*first));
        }
        if old.len() < 50 {
            old.push(id);
        }
    }
}

#[test]
fn prepared_queries_of_another_world_are_refused() {
    let mut here = World::new();
    let mut there = World::new();
    let a = here.spawn((Health::<false>(1), Speed::<false>(2), Weight::<false>(3)));
    // The other world meets the kinds in another order.
    there.spawn(Weight::<false>(30));
    there.spawn((Speed::<false>(20), Marker::<true>(())));
    let b = there.spawn((Health::<false>(10), Speed::<false>(20)));
    let mut health = here.prepare::<&H>().unwrap();
    let mut pair = here
        .prepare::<(&mut Speed<false>, Option<&Weight<false>>)>()
        .unwrap();
    let mut changed = here.prepare_filtered::<Entity, Changed<H>>().unwrap();
    let mut removed = here.removed_reader::<H>().unwrap();
    let mut resource = here.resource_reader::<u32>();
    let before = there.export().to_string();
    // spec: ENT-08
    assert_eq!(
        health.iter(&mut there).err(),
        Some(QueryError::ForeignWorld)
    );
    assert_eq!(health.view(&there).err(), Some(QueryError::ForeignWorld));
    assert!(health.get(&there, b).is_none());
    assert!(health.get(&there, a).is_none());
    assert_eq!(
        health.single(&mut there).err(),
        Some(QueryError::ForeignWorld)
    );
    assert_eq!(
        health.get_mut(&mut there, b).err(),
        Some(QueryError::ForeignWorld)
    );
    assert_eq!(
        pair.get_many_mut(&mut there, [b]).err(),
        Some(QueryError::ForeignWorld)
    );
    assert_eq!(
        pair.for_each_pair(&mut there, |_, _| panic!("nothing is misread")),
        Err(QueryError::ForeignWorld)
    );
    assert_eq!(
        changed.iter(&mut there).err(),
        Some(QueryError::ForeignWorld)
    );
    assert_eq!(removed.next(&mut there), Err(QueryError::ForeignWorld));
    assert_eq!(resource.changed(&there), Err(QueryError::ForeignWorld));
    assert_eq!(there.export().to_string(), before);
    // spec: ENT-08
    assert_eq!(health.iter(&mut here).unwrap().map(|h| h.0).sum::<i64>(), 1);
    assert_eq!(changed.iter(&mut here).unwrap().collect::<Vec<_>>(), [a]);
    assert!(health.get(&here, b).is_none());
}

#[test]
fn swapped_worlds_keep_their_ids_and_queries() {
    let mut here = World::new();
    let mut there = World::new();
    let a = here
        .spawn_named("a", (Health::<false>(1), Speed::<false>(2)))
        .unwrap();
    let b = there
        .spawn_named("b", (Speed::<false>(20), Health::<false>(10)))
        .unwrap();
    let mut of_a = here.prepare::<(&H, &Speed<false>)>().unwrap();
    // Queries without preparation keep their state in the world, which moves with it.
    assert_eq!(here.query::<&mut H>().count(), 1);
    assert_eq!(there.query::<&mut H>().count(), 1);
    std::mem::swap(&mut here, &mut there);
    // spec: ENT-08
    assert!(!here.contains(a) && here.contains(b));
    assert_eq!(here.find("a"), None);
    assert_eq!(of_a.iter(&mut here).err(), Some(QueryError::ForeignWorld));
    let (health, speed) = of_a.single(&mut there).unwrap();
    assert_eq!((health.0, speed.0), (1, 2));
    assert_eq!(here.query::<&mut H>().next().unwrap().0, 10);
    assert_eq!(there.query::<&mut H>().next().unwrap().0, 1);
    // A world put into the other's place.
    let gone = std::mem::take(&mut there);
    drop(gone);
    there.spawn((Speed::<false>(5), Health::<false>(6)));
    // spec: ENT-08
    assert_eq!(of_a.iter(&mut there).err(), Some(QueryError::ForeignWorld));
    assert_unknown(&mut there, a);
}

#[test]
fn stale_ids_stay_stale_through_every_way_of_deletion() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let mut stale: Vec<Entity> = Vec::new();
    let mut reserved = world.reserve_entity().unwrap();
    for round in 0..12 {
        let live: Vec<Entity> = (0..10)
            .map(|n| match n % 3 {
                0 => world.spawn((Health::<false>(n), Held::<false>(ledger.witness()))),
                1 => world.spawn(Coin::<true>(ledger.witness())),
                _ => world
                    .spawn_named(&format!("n{n}"), (Speed::<true>(n), Weight::<false>(n)))
                    .unwrap(),
            })
            .collect();
        for id in &live {
            // spec: ENT-09, ENT-03
            assert!(!stale.contains(id));
        }
        match round % 4 {
            0 => world.clear(),
            1 => live.iter().for_each(|id| assert!(world.despawn(*id))),
            2 => {
                for n in 0..10 {
                    world.despawn(format!("n{n}"));
                }
                world.clear();
            }
            _ => {
                live.iter().rev().for_each(|id| assert!(world.despawn(*id)));
                world.reserve::<(Health<false>, Held<false>)>(100).unwrap();
            }
        }
        stale.extend(live);
        // spec: ENT-09
        assert!(world.is_empty());
        ledger.assert_all_dropped_once();
        match round % 3 {
            0 => world.shrink_to_fit(),
            1 => drop(world.reclaim()),
            _ => {}
        }
        for id in &stale {
            // spec: ENT-09, ENT-03
            assert_unknown(&mut world, *id);
        }
        assert_eq!(world.find("n2"), None);
        // spec: ENT-09
        assert!(!world.contains(reserved));
        world.spawn_reserved(reserved, Health::<false>(1)).unwrap();
        assert_eq!(world.get::<H>(reserved), Some(&Health(1)));
        world.despawn(reserved);
        stale.push(reserved);
        reserved = world.reserve_entity().unwrap();
    }
}

#[test]
fn empty_archetypes_are_reclaimed_and_the_rest_is_kept() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..8)
        .map(|bits| {
            let id = world.spawn(Speed::<true>(bits));
            if bits & 1 != 0 {
                world.insert(id, Health::<false>(bits)).unwrap();
            }
            if bits & 2 != 0 {
                world.insert(id, Weight::<false>(bits)).unwrap();
            }
            if bits & 4 != 0 {
                world.insert(id, Marker::<false>(())).unwrap();
            }
            id
        })
        .collect();
    let mut query = world
        .prepare::<(Entity, &Weight<false>, &Speed<true>)>()
        .unwrap();
    assert_eq!(query.iter(&mut world).unwrap().count(), 4);
    for at in [1, 2, 5, 6] {
        world.despawn(ids[at]);
    }
    let before = (world.statistics().archetypes, world.export().to_string());
    let reclaimed = world.reclaim();
    // spec: ENT-09
    assert!(reclaimed >= 3, "{reclaimed}");
    assert_eq!(world.statistics().archetypes, before.0 - reclaimed);
    assert_eq!(world.export().to_string(), before.1);
    assert_eq!(world.reclaim(), 0);
    let found: Vec<_> = query
        .iter(&mut world)
        .unwrap()
        .map(|(id, weight, speed)| (id, weight.0, speed.0))
        .collect();
    // spec: ENT-09
    assert_eq!(found, [(ids[3], 3, 3), (ids[7], 7, 7)]);
    for at in [1, 2, 5, 6] {
        assert_unknown(&mut world, ids[at]);
    }
    // The archetypes come back when they are needed.
    world.insert(ids[0], Weight::<false>(100)).unwrap();
    world.remove::<Health<false>>(ids[3]).unwrap();
    world
        .insert(ids[7], (Health::<true>(5), Weight::<false>(70)))
        .unwrap();
    let fresh = world.spawn((Weight::<false>(8), Speed::<true>(8)));
    let mut found: Vec<_> = query
        .iter(&mut world)
        .unwrap()
        .map(|(id, weight, speed)| (id, weight.0, speed.0))
        .collect();
    found.sort_unstable_by_key(|row| row.1);
    // spec: ENT-09, LOOK-07
    assert_eq!(
        found,
        [
            (ids[3], 3, 3),
            (fresh, 8, 8),
            (ids[7], 70, 7),
            (ids[0], 100, 0)
        ]
    );
}

#[test]
fn reserving_and_shrinking_change_memory_only() {
    let mut world = World::new();
    world.spawn_batch((0..10).map(|n| (Health::<false>(n), Speed::<true>(n))));
    let text = world.export().to_string();
    let small = world.statistics().bytes;
    world
        .reserve::<(Health<false>, Weight<false>)>(10_000)
        .unwrap();
    let large = world.statistics().bytes;
    // spec: ENT-09
    assert!(large >= small + 160_000, "{small} {large}");
    world.shrink_to_fit();
    assert!(
        world.statistics().bytes < small + 4096,
        "{}",
        world.statistics().bytes
    );
    assert_eq!(world.export().to_string(), text);
    world.clear();
    // spec: ENT-09
    assert_eq!(world.len(), 0);
    assert_eq!(world.entities().count(), 0);
    assert_eq!(world.query::<&H>().count(), 0);
    assert_eq!(world.query::<&Speed<true>>().count(), 0);
}

#[test]
fn no_other_character_at_any_place_finds_an_entity() {
    let mut world = World::new();
    for _ in 0..3 {
        let ids: Vec<Entity> = (0..200).map(|n| world.spawn(Health::<false>(n))).collect();
        for id in [ids[0], ids[63], ids[199]] {
            let handle = world.handle(id).unwrap().to_string();
            let mut tried = 0;
            for place in 0..handle.len() {
                for other in 0..128_u8 {
                    let mut text = handle.clone().into_bytes();
                    if text[place] == other {
                        continue;
                    }
                    text[place] = other;
                    let text = String::from_utf8(text).unwrap();
                    // spec: ENT-10
                    assert_eq!(world.find(&text), None, "{text:?} for {handle:?}");
                    tried += 1;
                }
            }
            assert_eq!(tried, 36 * 127);
            // spec: ENT-10
            assert_eq!(world.find(&handle.to_uppercase()), None);
            for text in [
                format!("{handle} "),
                format!(" {handle}"),
                format!("{{{handle}}}"),
                format!("urn:uuid:{handle}"),
                handle.replace('-', ""),
                handle[..35].to_owned(),
                format!("{handle}{handle}"),
                format!("{}é", &handle[..34]),
                handle.replacen('-', "–", 1),
            ] {
                // spec: ENT-10
                assert_eq!(world.find(&text), None, "{text:?}");
            }
            assert_eq!(world.find(&handle), Some(id));
        }
        world.clear();
    }
}

/// The generated handle of an id, live or not, as an error tells it.
fn handle_of(world: &mut World, id: Entity) -> String {
    match world.insert(id, ()) {
        Err(ecs::ComponentError::NoEntity { handle, .. }) => handle,
        other => panic!("the id should not be alive: {other:?}"),
    }
}

#[test]
fn choosing_an_identifier() {
    let _before = World::new();
    let mut world = World::new();
    let live = world.spawn(Health::<false>(1));
    let live_text = world.handle(live).unwrap().to_string();
    let dead = world.spawn(());
    let dead_text = world.handle(dead).unwrap().to_string();
    world.despawn(dead);
    // spec: ENT-10
    assert_eq!(handle_of(&mut world, dead), dead_text);
    let heir = world.spawn_named("heir", ()).unwrap();
    assert_eq!(heir.index(), dead.index());
    // spec: ENT-03
    assert_eq!(
        handle_of(&mut world, dead),
        dead_text,
        "not that of the slot's heir"
    );
    world.despawn(heir);
    let handle = world.handle(live).unwrap();
    assert!(handle == *live_text && handle != *dead_text && handle == live_text.as_str());
    assert!(handle == world.handle(live).unwrap());
    let other = world.spawn(());
    assert!(world.handle(other).unwrap() != world.handle(live).unwrap());
    world.despawn(other);
    let reserved = world.reserve_entity().unwrap();
    assert_ne!(reserved, dead);
    let reserved_text = handle_of(&mut world, reserved);
    let next_slot = Entity::from_bits(live.to_bits() + 50).unwrap();
    let next_slot_text = handle_of(&mut world, next_slot);
    let next_use = Entity::from_bits(live.to_bits() + (1 << 32)).unwrap();
    let next_use_text = handle_of(&mut world, next_use);
    // The id of a slot as the world before this one would issue it.
    let foreign = Entity::from_bits(live.to_bits() - (1 << 52)).unwrap();
    let foreign_text = handle_of(&mut world, foreign);

    // Live: it names that entity, and nobody else.
    // spec: ENT-10
    assert_eq!(world.entity(&live_text).unwrap(), live);
    assert!(matches!(
        world.spawn_named(&live_text, ()),
        Err(EntityError::HandleTaken { .. })
    ));
    let before = (world.len(), world.statistics().slots);
    for text in [
        &reserved_text,
        &next_slot_text,
        &next_use_text,
        &foreign_text,
    ] {
        for error in [
            world.entity(text).unwrap_err(),
            world.spawn_named(text, Health::<false>(5)).unwrap_err(),
        ] {
            // spec: ENT-10
            assert!(
                matches!(&error, EntityError::HandleNotIssued { handle, .. } if handle == text),
                "{error:?}"
            );
        }
        assert_eq!(world.find(text), None);
    }
    // spec: ENT-10, ERR-01
    assert_eq!((world.len(), world.statistics().slots), before);

    // Dead: free to use, like any other name.
    let heir = world.spawn_named(&dead_text, Health::<false>(2)).unwrap();
    // spec: ENT-10
    assert_eq!(world.find(&dead_text), Some(heir));
    assert_eq!(world.handle(heir).unwrap(), dead_text.as_str());
    assert_eq!(world.entity(&dead_text).unwrap(), heir);
    assert!(world.spawn_named(&dead_text, ()).is_err());
    assert!(!world.contains(dead));
    world.despawn(heir);
    assert_eq!(world.find(&dead_text), None);
    let second_heir = world.entity(&dead_text).unwrap();
    assert_ne!(second_heir, heir);

    // Issued later, the reserved one has its own handle.
    world.spawn_reserved(reserved, ()).unwrap();
    // spec: ENT-10, ENT-02
    assert_eq!(world.find(&reserved_text), Some(reserved));
    while !world.contains(next_slot) {
        assert!(world.len() < 100, "ids are issued slot by slot");
        world.spawn(());
    }
    // spec: ENT-10, ENT-02
    assert_eq!(world.find(&next_slot_text), Some(next_slot));
    assert_eq!(world.handle(next_slot).unwrap(), next_slot_text.as_str());
}

#[test]
fn a_foreign_identifier_is_an_ordinary_name() {
    let mut world = World::new();
    let text = uuid::Uuid::new_v4().to_string();
    let entity = world.spawn_named(&text, Health::<false>(1)).unwrap();
    // spec: ENT-10
    assert_eq!(world.find(&text), Some(entity));
    assert_eq!(world.handle(entity).unwrap(), text.as_str());
    let upper = world.entity(&text.to_uppercase()).unwrap();
    assert_ne!(upper, entity);
    for other in [
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "550e8400-e29b-11d4-a716-446655440000",
        "nöt-an-identifier",
    ] {
        let entity = world.entity(other).unwrap();
        assert_eq!(world.handle(entity).unwrap(), other);
        assert_eq!(world.find(other), Some(entity));
        assert!(world.despawn(other));
        assert_eq!(world.find(other), None);
    }
    // spec: ENT-10, ENT-01
    assert!(world.spawn_named(&text, ()).is_err());
    // An entity with a chosen handle has no second one.
    let generated = {
        let plain = world.spawn(());
        let text = world.handle(plain).unwrap().to_string();
        world.despawn(plain);
        let named = world.entity("named").unwrap();
        assert_eq!(named.index(), plain.index());
        text
    };
    assert_eq!(world.find(&generated), None);
}
