//! Components: attaching, replacing and removing. Each promise for table and sparse kinds.

#![allow(
    clippy::cast_possible_wrap,
    clippy::many_single_char_names,
    reason = "small numbers and short names"
)]

mod kinds;

use ecs::{Data, Entity, RemovalMarks, World, json};
use kinds::{Coin, Health, Held, Ledger, Note, Speed, for_both_storages};

for_both_storages! {
    components_are_stored_and_found
    kept_for_each_entity
    one_type_under_several_names
    removal_hands_back_once
    the_box_keeps_what_the_entity_loses
    sparse_or_not_the_outcome_is_the_same
    marks_remove_what_was_marked
    sequences_in_the_order_given
}

#[test]
fn a_column_is_contiguous() {
    let mut world = World::new();
    for n in 0..100 {
        world.spawn((Health::<false>(n), Speed::<false>(n)));
    }
    for chunk in world.query::<(&Health<false>, &Speed<false>)>().chunks() {
        let (healths, _) = chunk.into_slices();
        // spec: COMP-01
        assert_eq!(healths.len(), 100);
    }
    let addresses: Vec<usize> = world
        .query::<&Health<false>>()
        .map(|health| std::ptr::from_ref(health).addr())
        .collect();
    // spec: COMP-01
    assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] == 8));
}

fn components_are_stored_and_found<const S: bool>() {
    let mut world = World::new();
    let a = world.spawn(Health::<S>(1));
    let b = world.spawn(());
    world.insert(b, Health::<S>(2)).unwrap();
    // spec: COMP-01, COMP-12
    assert_eq!(world.get::<Health<S>>(a), Some(&Health(1)));
    assert_eq!(world.get::<Health<S>>(b), Some(&Health(2)));
    assert_eq!(world.component(a, "Health").unwrap().export(), json!("1"));
    world.get_mut::<Health<S>>(a).unwrap().0 += 10;
    assert_eq!(world.get::<Health<S>>(a), Some(&Health(11)));
    assert_eq!(world.get::<Health<S>>(b), Some(&Health(2)));
}

/// Replaces a component of one storage by one of the other Rust type under the same name.
fn replace_by_another_type<const OLD: bool, const NEW: bool>() {
    for by in 0..6 {
        let ledger = Ledger::default();
        let mut world = World::new();
        let other = world.spawn(Coin::<OLD>(ledger.witness()));
        let entity = world
            .spawn_named(
                "e",
                (
                    Coin::<OLD>(ledger.witness()),
                    Health::<OLD>(5),
                    Speed::<NEW>(6),
                ),
            )
            .unwrap();
        let last = world.spawn((
            Coin::<OLD>(ledger.witness()),
            Health::<OLD>(7),
            Speed::<NEW>(8),
        ));
        let new = Note::<NEW>(ledger.witness());
        let old = match by {
            0 => world.replace(entity, new).unwrap(),
            1 => world.insert_boxed("e", Box::new(new)).unwrap(),
            2 => world.insert_named(entity, "Purse", new).unwrap(),
            3 => world
                .insert_named_boxed("e", "Purse", Box::new(new))
                .unwrap(),
            4 => {
                world.insert(entity, new).unwrap();
                None
            }
            _ => {
                world
                    .insert(entity, (Health::<OLD>(50), new, Speed::<NEW>(60)))
                    .unwrap();
                None
            }
        };
        if by < 4 {
            // spec: COMP-03
            let old = old.expect("the replaced one is handed back");
            assert_eq!(old.downcast_ref::<Coin<OLD>>().unwrap().0.number(), 1);
            ledger.assert_none_dropped();
            drop(old);
        }
        // spec: COMP-03
        assert_eq!(ledger.drops(), [0, 1, 0, 0], "way {by}");
        assert!(world.get::<Coin<OLD>>(entity).is_none());
        assert!(!world.has::<Coin<OLD>>(entity));
        assert_eq!(world.get::<Note<NEW>>(entity).unwrap().0.number(), 3);
        let names: Vec<_> = world
            .entities()
            .find(|found| found.id() == entity)
            .unwrap()
            .components()
            .map(|(name, _)| name)
            .collect();
        // spec: COMP-03
        assert_eq!(names, ["Health", "Purse", "Speed"]);
        let (health, speed) = if by == 5 { (50, 60) } else { (5, 6) };
        assert_eq!(world.get::<Health<OLD>>(entity).unwrap().0, health);
        assert_eq!(world.get::<Speed<NEW>>(entity).unwrap().0, speed);
        // spec: COMP-04
        assert_eq!(world.get::<Coin<OLD>>(other).unwrap().0.number(), 0);
        assert_eq!(world.get::<Coin<OLD>>(last).unwrap().0.number(), 2);
        assert_eq!(world.get::<Health<OLD>>(last).unwrap().0, 7);
        assert_eq!(world.components("Purse").count(), 3);
        assert_eq!(world.query::<&Coin<OLD>>().count(), 2);
        assert_eq!(world.query::<&Note<NEW>>().count(), 1);
        // And back again.
        world.insert(entity, Coin::<OLD>(ledger.witness())).unwrap();
        // spec: COMP-03
        assert_eq!(ledger.drops(), [0, 1, 0, 1, 0]);
        assert_eq!(world.get::<Coin<OLD>>(entity).unwrap().0.number(), 4);
        assert!(world.get::<Note<NEW>>(entity).is_none());
        assert_eq!(
            world.remove_named(entity, "Purse").unwrap().export(),
            json!("Witness(4)")
        );
        assert!(!world.has_named(entity, "Purse"));
        drop(world);
        ledger.assert_all_dropped_once();
    }
}

#[test]
fn another_type_replaces_table_by_table() {
    replace_by_another_type::<false, false>();
}

#[test]
fn another_type_replaces_table_by_sparse() {
    replace_by_another_type::<false, true>();
}

#[test]
fn another_type_replaces_sparse_by_table() {
    replace_by_another_type::<true, false>();
}

#[test]
fn another_type_replaces_sparse_by_sparse() {
    replace_by_another_type::<true, true>();
}

fn the_box_keeps_what_the_entity_loses<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let entity = world.spawn(Held::<S>(ledger.witness()));
    let old = world
        .replace(entity, Held::<S>(ledger.witness()))
        .unwrap()
        .unwrap();
    // spec: COMP-03, COMP-12
    assert_eq!(old.downcast_ref::<Held<S>>().unwrap().0.number(), 0);
    assert_eq!(world.get::<Held<S>>(entity).unwrap().0.number(), 1);
    world.despawn(entity);
    drop(world);
    // spec: COMP-03
    assert_eq!(ledger.drops(), [0, 1]);
    drop(old);
    ledger.assert_all_dropped_once();
    let mut world = World::new();
    let entity = world.spawn(());
    // spec: COMP-03
    assert!(world.replace(entity, Health::<S>(1)).unwrap().is_none());
}

fn kept_for_each_entity<const S: bool>() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let ids: Vec<Entity> = (0..20)
        .map(|n| {
            if n % 2 == 0 {
                world.spawn(Coin::<S>(ledger.witness()))
            } else {
                world.spawn(Note::<S>(ledger.witness()))
            }
        })
        .collect();
    world.insert_named(ids[4], "Purse", Data(json!(4))).unwrap();
    for (n, id) in ids.iter().enumerate() {
        // spec: COMP-04, COMP-12
        assert!(world.has_named(*id, "Purse"));
        let coin = world.get::<Coin<S>>(*id).map(|coin| coin.0.number());
        let note = world.get::<Note<S>>(*id).map(|note| note.0.number());
        let expected = match n {
            4 => (None, None),
            n if n % 2 == 0 => (Some(n), None),
            n => (None, Some(n)),
        };
        assert_eq!((coin, note), expected);
    }
    // spec: COMP-04
    assert_eq!(
        world.get_named::<Data>(ids[4], "Purse"),
        Some(&Data(json!(4)))
    );
    assert_eq!(world.components("Purse").count(), 20);
}

fn one_type_under_several_names<const S: bool>() {
    let mut world = World::new();
    let entity = world.spawn(Health::<S>(1));
    for (n, name) in ["Armour", "Shield", "Łuska", "a\u{0}b", "Healt", "Health "]
        .iter()
        .enumerate()
    {
        let old = world
            .insert_named(entity, name, Health::<S>(10 + n as i64))
            .unwrap();
        assert!(old.is_none());
    }
    // spec: COMP-05, COMP-12
    assert_eq!(world.get::<Health<S>>(entity), Some(&Health(1)));
    assert_eq!(
        world.get_named::<Health<S>>(entity, "Armour"),
        Some(&Health(10))
    );
    assert_eq!(
        world.get_named::<Health<S>>(entity, "Łuska"),
        Some(&Health(12))
    );
    assert_eq!(
        world.get_named::<Health<S>>(entity, "a\u{0}b"),
        Some(&Health(13))
    );
    world
        .get_named_mut::<Health<S>>(entity, "Shield")
        .unwrap()
        .0 = 99;
    assert_eq!(
        world.get_named::<Health<S>>(entity, "Shield"),
        Some(&Health(99))
    );
    assert_eq!(world.get::<Health<S>>(entity), Some(&Health(1)));
    assert_eq!(world.query::<&Health<S>>().count(), 1);
    // spec: COMP-05
    assert_eq!(world.remove::<Health<S>>(entity), Some(Health(1)));
    assert!(!world.has_named(entity, "Health"));
    assert_eq!(world.entities().next().unwrap().components().count(), 6);
    assert!(world.remove_named(entity, "Healt").is_some());
    assert_eq!(
        world.get_named::<Health<S>>(entity, "Health "),
        Some(&Health(15))
    );
}

fn removal_hands_back_once<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let ids: Vec<Entity> = (0..4)
        .map(|n| world.spawn((Held::<S>(ledger.witness()), Health::<false>(n))))
        .collect();
    let removed = world.remove::<Held<S>>(ids[1]).unwrap();
    // spec: COMP-07, COMP-12
    assert_eq!(removed.0.number(), 1);
    ledger.assert_none_dropped();
    assert!(world.remove::<Held<S>>(ids[1]).is_none());
    assert!(world.remove_named(ids[1], "Held").is_none());
    let boxed = world.remove_named(ids[3], "Held").unwrap();
    // spec: COMP-07
    assert_eq!(boxed.downcast_ref::<Held<S>>().unwrap().0.number(), 3);
    for (key, name) in [
        ("nobody", "Held"),
        ("", "Held"),
        ("nobody", ""),
        ("nobody", "?"),
    ] {
        // spec: COMP-07
        assert!(world.remove_named(key, name).is_none());
    }
    assert!(world.remove_named(ids[0], "").is_none());
    assert!(world.remove_named(ids[0], "never used").is_none());
    assert!(world.remove::<Held<S>>("nobody").is_none());
    assert!(world.remove::<Speed<S>>(ids[0]).is_none());
    ledger.assert_none_dropped();
    for (n, id) in ids.iter().enumerate() {
        // spec: COMP-07
        assert_eq!(world.get::<Health<false>>(*id).unwrap().0, n as i64);
        assert_eq!(world.has::<Held<S>>(*id), n % 2 == 0);
    }
    drop((removed, boxed, world));
    ledger.assert_all_dropped_once();
}

struct Loot;

impl ecs::TypeName for Loot {
    const NAME: &'static str = "Loot";
}

#[test]
fn json_under_a_name() {
    let mut world = World::new();
    let a = world.spawn_named("a", Health::<false>(1)).unwrap();
    let b = world.spawn_named("b", ()).unwrap();
    world
        .insert_named("a", "Loot", Data(json!({"gold": 7})))
        .unwrap();
    world.insert_named(b, "Loot", Data(json!([1, 2]))).unwrap();
    world.insert_named(b, "Tag", Data(json!(null))).unwrap();
    // spec: COMP-09
    assert_eq!(
        world.get_named::<Data>(a, "Loot"),
        Some(&Data(json!({"gold": 7})))
    );
    assert_eq!(
        world.component("b", "Loot").unwrap().export(),
        json!([1, 2])
    );
    assert!(world.get::<Data>(a).is_none());
    let found: Vec<_> = world
        .components("Loot")
        .map(|(entity, data)| (entity, data.export()))
        .collect();
    // spec: COMP-09, LOOK-12
    assert_eq!(found.len(), 2);
    assert!(found.contains(&(a, json!({"gold": 7}))) && found.contains(&(b, json!([1, 2]))));
    assert_eq!(
        world.export_entity("b").unwrap(),
        json!({"Handle": "b", "Components": {"Loot": [1, 2], "Tag": null}})
    );
    for data in world.query::<ecs::Named<&mut Data, Loot>>() {
        data.0 = json!("taken");
    }
    // spec: COMP-09
    assert_eq!(world.component(a, "Loot").unwrap().export(), json!("taken"));
    assert_eq!(
        world.remove_named(a, "Loot").unwrap().export(),
        json!("taken")
    );
    assert!(!world.has_named(a, "Loot"));
}

fn marks_remove_what_was_marked<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let ids: Vec<Entity> = (0..10)
        .map(|n| world.spawn((Health::<S>(n), Held::<S>(ledger.witness()))))
        .collect();
    let mut marks = RemovalMarks::default();
    for (entity, health, _) in world.query::<(Entity, &Health<S>, &Held<S>)>() {
        match health.0 {
            n if n < 3 => marks.mark::<Held<S>>(entity),
            n if n < 5 => marks.mark_named(entity, "Held"),
            n if n < 6 => {
                marks.mark::<Held<S>>(entity);
                marks.mark_named(entity, "Held");
                marks.mark::<Speed<S>>(entity);
                marks.mark_named(entity, "");
            }
            _ => {}
        }
    }
    marks.mark::<Held<S>>(ids[9]);
    world.despawn(ids[9]);
    // spec: COMP-10
    assert_eq!(ledger.drops().iter().sum::<u32>(), 1);
    assert_eq!((marks.len(), marks.is_empty()), (10, false));
    assert_eq!(marks.clear(&mut world), 6);
    assert!(marks.is_empty());
    assert_eq!(ledger.drops(), [1, 1, 1, 1, 1, 1, 0, 0, 0, 1]);
    assert_eq!(world.query::<&Held<S>>().count(), 3);
    assert_eq!(world.query::<&Health<S>>().count(), 9);
    // spec: COMP-10
    assert_eq!(marks.clear(&mut world), 0);
    assert_eq!(world.query::<&Held<S>>().count(), 3);
}

fn sparse_or_not_the_outcome_is_the_same<const S: bool>() {
    let mut world = World::new();
    let moved = world.spawn((Health::<false>(1), Speed::<false>(2)));
    let before = world.statistics().archetypes;
    for n in 0..100 {
        world
            .insert(moved, Held::<S>(Ledger::default().witness()))
            .unwrap();
        world.insert(moved, kinds::Weight::<S>(n)).unwrap();
        assert_eq!(
            world.remove::<kinds::Weight<S>>(moved),
            Some(kinds::Weight(n))
        );
        assert!(world.remove::<Held<S>>(moved).is_some());
    }
    if S {
        // spec: COMP-12
        assert_eq!(
            world.statistics().archetypes,
            before,
            "a sparse kind moves no entity"
        );
    }
    // spec: COMP-12
    assert_eq!(world.get::<Health<false>>(moved), Some(&Health(1)));
    assert_eq!(world.entities().next().unwrap().components().count(), 2);
}

fn sequences_in_the_order_given<const S: bool>() {
    let mut world = World::new();
    let entity = world.spawn(Health::<S>(1));
    world.remove::<Health<S>>(entity);
    world.insert(entity, Health::<S>(5)).unwrap();
    // spec: COMP-03, COMP-07
    assert_eq!(world.get::<Health<S>>(entity), Some(&Health(5)));
    world.insert(entity, Speed::<S>(1)).unwrap();
    world.remove::<Speed<S>>(entity);
    assert!(!world.has::<Speed<S>>(entity));
    world.insert(entity, Speed::<S>(1)).unwrap();
    assert!(world.remove::<Speed<S>>(entity).is_some());
    assert!(world.remove::<Health<S>>(entity).is_some());
    // spec: COMP-07
    assert_eq!(world.entities().next().unwrap().components().count(), 0);
}
