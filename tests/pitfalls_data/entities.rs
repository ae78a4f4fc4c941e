//! Ids, handles, reservations, deletion.

use std::collections::HashSet;

use ecs::{Entity, EntityError, World};

use super::{A, B, S};

/// evenio#31
#[test]
fn the_row_that_fills_the_gap_is_found() {
    let mut world = World::new();
    let ids = [0, 1, 2].map(|at| world.spawn((A(at), B(at), S(at))));
    world.despawn(ids[0]);
    // spec: ENT-04, LOOK-01
    assert_eq!(world.get::<A>(ids[2]), Some(&A(2)));
    world.insert(ids[2], A(20)).unwrap();
    world.remove::<B>(ids[1]);
    // spec: LOOK-01
    assert_eq!(
        (world.get::<A>(ids[2]), world.get::<B>(ids[2])),
        (Some(&A(20)), Some(&B(2)))
    );
    assert_eq!(world.get::<A>(ids[1]), Some(&A(1)));
    assert!(world.despawn(ids[2]) && world.get::<S>(ids[1]) == Some(&S(1)));
}

/// Every operation with an id that is nobody's.
fn is_nobody(world: &mut World, entity: Entity) {
    let before = (world.export().to_string(), world.statistics());
    // spec: ENT-03, ENT-09, LOOK-01
    assert!(!world.contains(entity) && world.handle(entity).is_none());
    assert!(world.get::<A>(entity).is_none() && world.get_mut::<A>(entity).is_none());
    assert!(world.get_named::<A>(entity, "A").is_none() && !world.has_named(entity, "A"));
    assert!(world.component(entity, "A").is_none() && world.component_mut(entity, "A").is_none());
    assert!(world.remove::<A>(entity).is_none() && world.remove_named(entity, "A").is_none());
    assert!(world.insert(entity, A(9)).is_err() && world.replace(entity, A(9)).is_err());
    assert!(world.insert_named(entity, "A", A(9)).is_err());
    assert!(world.query_one::<Entity>(entity).is_err());
    assert!(world.export_entity(entity).is_none());
    let refused = world.spawn_reserved(entity, A(9)).unwrap_err();
    // spec: ENT-03
    assert!(matches!(refused, EntityError::NotReserved { .. }));
    assert!(!world.despawn(entity));
    // spec: ENT-03
    assert_eq!((world.export().to_string(), world.statistics()), before);
}

/// hecs#265
#[test]
fn forged_ids_are_nobody() {
    let mut world = World::new();
    world.spawn_batch((0..3).map(|at| (A(at), S(at))));
    let live = world.spawn(A(1));
    let bits = live.to_bits();
    let forged = [
        bits + 1,
        bits + 1_000_000,
        bits | u64::from(u32::MAX),
        bits + (1 << 32),
        bits + (5 << 32),
        bits + (1 << 52),
        u64::MAX,
        (u64::MAX << 32) | u64::from(live.index()),
    ];
    for bits in forged {
        if let Some(entity) = Entity::from_bits(bits) {
            is_nobody(&mut world, entity);
        }
    }
    // spec: ENT-03
    assert_eq!(Entity::from_bits(bits), Some(live));
    assert_eq!(world.len(), 4);
}

#[test]
fn forged_handles_find_nobody() {
    let mut world = World::new();
    let ids: Vec<_> = world.spawn_batch((0..3).map(A)).collect();
    for entity in &ids {
        let text = world.handle(*entity).unwrap().to_string();
        let parsed: ecs::Uuid = text.parse().unwrap();
        // spec: ENT-02
        assert_eq!(parsed.as_u128() >> 76 & 0xF, 4, "version 4");
        // spec: ENT-02
        assert_eq!(parsed.as_u128() >> 62 & 0b11, 0b10, "its variant");
        for at in 0..text.len() {
            for other in 0..128_u8 {
                let mut bytes = text.clone().into_bytes();
                if std::mem::replace(&mut bytes[at], other) == other {
                    continue;
                }
                let forged = String::from_utf8(bytes).unwrap();
                // spec: ENT-10
                assert_eq!(world.find(&forged), None, "{forged}");
            }
        }
        for forged in [
            text.to_uppercase(),
            format!("{text} "),
            format!("{{{text}}}"),
            text.replace('-', ""),
            text[1..].to_owned(),
            format!("urn:uuid:{text}"),
        ] {
            // spec: ENT-10
            assert_eq!(world.find(&forged), None, "{forged}");
        }
    }
    for _ in 0..1000 {
        // spec: ENT-02
        assert_eq!(world.find(ecs::Uuid::new().to_text().as_str()), None);
    }
    let other = World::new();
    // spec: ENT-02
    assert_eq!(other.find(&world.handle(ids[0]).unwrap()), None);
    assert_eq!(world.find(&"x".repeat(10_000_000)), None);
}

/// jecs#325, evenio#46
#[test]
fn reserved_ids_are_issued_once() {
    let mut world = World::new();
    let gone = world.spawn(A(1));
    world.despawn(gone);
    let first = world.reserve_entity().unwrap();
    let given_up = world.reserve_entity().unwrap();
    let named = world.entity("named").unwrap();
    assert!(!world.despawn(given_up), "a reserved id is not alive yet");
    let third = world.reserve_entity().unwrap();
    let plain = world.spawn(A(2));
    let batch: Vec<_> = world.spawn_batch((0..5).map(A)).collect();
    world.clear();
    // spec: ENT-09
    assert!(
        world.spawn_reserved(first, (A(3), S(4))).is_ok(),
        "`clear` leaves it reserved"
    );
    assert!(world.spawn_reserved(third, ()).is_ok());
    // spec: ENT-03, ENT-06
    assert!(
        world.spawn_reserved(given_up, ()).is_err(),
        "it was given up"
    );
    assert!(world.spawn_reserved(first, ()).is_err(), "it lives");
    let last = world.spawn(());
    let all: HashSet<Entity> = [gone, first, given_up, third, plain, last, named]
        .into_iter()
        .chain(batch)
        .collect();
    // spec: ENT-03, ENT-06
    assert_eq!(all.len(), 12, "no id was issued twice");
    assert_eq!(world.len(), 3);
    assert_eq!(world.get::<A>(first), Some(&A(3)));
}

/// Arch#162, bevy#14648
#[test]
fn a_stale_id_stays_stale_through_every_way_of_deletion() {
    let ways: [fn(&mut World, &[Entity]); 5] = [
        |world, ids| {
            for id in ids {
                world.despawn(*id);
            }
        },
        |world, _| world.clear(),
        |world, ids| {
            let handles: Vec<_> = ids
                .iter()
                .map(|id| world.handle(*id).unwrap().to_string())
                .collect();
            for handle in &handles {
                world.despawn(handle);
            }
        },
        |world, _| {
            world.clear();
            world.shrink_to_fit();
            world.reclaim();
        },
        |world, _| *world = World::new(),
    ];
    for (way, delete) in ways.into_iter().enumerate() {
        let mut world = World::new();
        let mut stale = Vec::new();
        let mut lost = world.removed_reader::<A>().unwrap();
        for round in 0..5 {
            let mut ids: Vec<_> = world.spawn_batch((0..3).map(|at| (A(at), S(at)))).collect();
            ids.push(world.spawn_named("door", A(round)).unwrap());
            let handles: Vec<_> = ids
                .iter()
                .map(|id| world.handle(*id).unwrap().to_string())
                .collect();
            delete(&mut world, &ids);
            // spec: ENT-04, ENT-09
            assert!(handles.iter().all(|handle| world.find(handle).is_none()));
            // spec: ENT-04, COMP-12
            assert_eq!(
                world.components("S").count() + world.components("A").count(),
                0
            );
            if way != 4 {
                let told: Vec<_> = std::iter::from_fn(|| lost.next(&mut world).unwrap()).collect();
                // spec: LOOK-15
                assert_eq!(told, ids);
            }
            stale.extend(ids);
            for entity in &stale {
                is_nobody(&mut world, *entity);
            }
        }
        let new: Vec<_> = world.spawn_batch((0..20).map(A)).collect();
        // spec: ENT-03, ENT-09
        assert!(new.iter().all(|entity| !stale.contains(entity)));
        for entity in stale {
            is_nobody(&mut world, entity);
        }
    }
}

/// DefaultEcs#189
#[test]
fn a_reused_slot_shows_nothing_of_the_dead() {
    let mut world = World::new();
    let dead = world.spawn_named("door", (A(1), B(2), S(3))).unwrap();
    world.insert_named(dead, "Other", A(4)).unwrap();
    world.despawn(dead);
    let new = world.spawn(B(5));
    assert_eq!(new.index(), dead.index());
    let there = world.entities().next().unwrap();
    // spec: ENT-03, ENT-04
    assert_eq!(
        there.components().map(|(name, _)| name).collect::<Vec<_>>(),
        ["B"]
    );
    // spec: ENT-04
    assert!(world.find("door").is_none() && world.handle(new).unwrap().len() == 36);
    assert!(world.get::<S>(new).is_none() && world.get_named::<A>(new, "Other").is_none());
    let door = world.entity("door").unwrap();
    assert_ne!(door, new);
    is_nobody(&mut world, dead);
}
