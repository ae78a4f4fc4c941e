//! Looking components up: by type, by name, by id, by handle. Nothing is changed by it.

mod kinds;

use std::sync::OnceLock;

use ecs::{Component, Data, Entity, Storage, Value, World, json};
use kinds::{Coin, Health, Held, Ledger, Note, Speed, for_both_storages};

for_both_storages! {
    by_entity_and_name_as_a_type
    by_name_without_a_type
    has_compares_the_name
    looking_changes_nothing
    all_under_a_name
}

struct Scene {
    world: World,
    door: Entity,
    plain: Entity,
    plain_handle: String,
    dead: Entity,
    dead_handle: String,
}

fn scene<const S: bool>() -> Scene {
    let mut world = World::new();
    let door = world
        .spawn_named("door", (Health::<S>(1), Speed::<false>(2)))
        .unwrap();
    let plain = world.spawn(Speed::<S>(3));
    let dead = world.spawn(Health::<S>(4));
    let plain_handle = world.handle(plain).unwrap().to_string();
    let dead_handle = world.handle(dead).unwrap().to_string();
    world.despawn(dead);
    world.insert_named(door, "Armour", Health::<S>(5)).unwrap();
    world.insert_named(door, "Loot", Data(json!(6))).unwrap();
    Scene {
        world,
        door,
        plain,
        plain_handle,
        dead,
        dead_handle,
    }
}

fn by_entity_and_name_as_a_type<const S: bool>() {
    let Scene {
        mut world,
        door,
        plain,
        plain_handle,
        dead,
        dead_handle,
    } = scene::<S>();
    // spec: LOOK-01
    assert_eq!(world.get::<Health<S>>(door), Some(&Health(1)));
    assert_eq!(world.get::<Health<S>>("door"), Some(&Health(1)));
    assert_eq!(
        world.get::<Health<S>>(String::from("door")),
        Some(&Health(1))
    );
    assert_eq!(world.get::<Speed<S>>(&plain_handle), Some(&Speed(3)));
    assert_eq!(
        world.get::<Speed<S>>(world.handle(plain).unwrap()),
        Some(&Speed(3))
    );
    assert_eq!(
        world.get_named::<Health<S>>("door", "Armour"),
        Some(&Health(5))
    );
    assert_eq!(
        world.get_named::<Health<S>>(door, "Health"),
        Some(&Health(1))
    );
    assert_eq!(world.get_named::<Data>(door, "Loot"), Some(&Data(json!(6))));
    world.get_mut::<Health<S>>("door").unwrap().0 = 10;
    world
        .get_named_mut::<Health<S>>("door", "Armour")
        .unwrap()
        .0 = 50;
    // spec: LOOK-01
    assert_eq!(world.get::<Health<S>>(door), Some(&Health(10)));
    assert_eq!(
        world.get_named::<Health<S>>(door, "Armour"),
        Some(&Health(50))
    );

    for (key, name) in [
        ("door", "Weight"),
        ("door", "never used"),
        ("door", "health"),
        ("door", "Healt"),
        ("door", "Health\0"),
        ("door", ""),
        ("", "Health"),
        ("", ""),
        ("Door", "Health"),
        ("nobody", "Health"),
        (&dead_handle, "Health"),
        (&plain_handle, "Health"),
        ("door", "Speed"),
        ("door", "Loot"),
    ] {
        // spec: LOOK-01
        assert!(
            world.get_named::<Health<S>>(key, name).is_none(),
            "{key:?} {name:?}"
        );
        assert!(
            world.get_named_mut::<Health<S>>(key, name).is_none(),
            "{key:?} {name:?}"
        );
        if let Some(id) = world.find(key) {
            assert!(world.get_named::<Health<S>>(id, name).is_none());
            assert!(world.get_named_mut::<Health<S>>(id, name).is_none());
        }
    }
    for key in ["", "nobody", &dead_handle, &plain_handle] {
        // spec: LOOK-01
        assert!(world.get::<Health<S>>(key).is_none());
        assert!(world.get_mut::<Health<S>>(key).is_none());
    }
    // spec: LOOK-01
    assert!(world.get::<Health<S>>(dead).is_none());
    assert!(world.get::<Held<S>>(door).is_none());
    // Another type under the same name, in either storage.
    let ledger = Ledger::default();
    world.insert(door, Note::<S>(ledger.witness())).unwrap();
    // spec: LOOK-01
    assert!(world.get::<Coin<S>>(door).is_none());
    assert!(world.get_named::<Coin<S>>(door, "Purse").is_none());
    assert!(world.get_named_mut::<Coin<S>>(door, "Purse").is_none());
    assert!(world.get_named::<Note<S>>(door, "Purse").is_some());
}

fn by_name_without_a_type<const S: bool>() {
    let Scene {
        mut world,
        door,
        dead,
        dead_handle,
        ..
    } = scene::<S>();
    for (name, text) in [("Health", "1"), ("Speed", "2"), ("Armour", "5")] {
        let component: &dyn Component = world.component("door", name).unwrap();
        // spec: LOOK-02
        assert_eq!(component.export(), json!(text));
        assert_eq!(world.component(door, name).unwrap().export(), json!(text));
    }
    // spec: LOOK-02
    assert_eq!(
        world.component(door, "Armour").unwrap().downcast_ref(),
        Some(&Health::<S>(5))
    );
    assert!(
        world
            .component(door, "Armour")
            .unwrap()
            .downcast_ref::<Speed<S>>()
            .is_none()
    );
    world
        .component_mut("door", "Loot")
        .unwrap()
        .downcast_mut::<Data>()
        .unwrap()
        .0 = json!(60);
    assert_eq!(world.component(door, "Loot").unwrap().export(), json!(60));
    for (key, name) in [
        ("door", ""),
        ("", "Health"),
        ("door", "?"),
        ("nobody", "Health"),
        (&dead_handle, "Health"),
    ] {
        // spec: LOOK-02
        assert!(world.component(key, name).is_none());
        assert!(world.component_mut(key, name).is_none());
    }
    assert!(world.component(dead, "Health").is_none());
}

fn has_compares_the_name<const S: bool>() {
    let Scene {
        world,
        door,
        plain,
        dead,
        dead_handle,
        ..
    } = scene::<S>();
    for name in ["Health", "Speed", "Armour", "Loot"] {
        // spec: LOOK-03
        assert!(world.has_named(door, name));
        assert!(world.has_named("door", name));
    }
    // spec: LOOK-03
    assert!(world.has_named(plain, "Speed"));
    for (key, name) in [
        ("door", ""),
        ("", "Health"),
        ("door", "Weight"),
        ("nobody", "Health"),
        (&dead_handle, "Health"),
    ] {
        assert!(!world.has_named(key, name), "{key:?} {name:?}");
    }
    assert!(!world.has_named(dead, "Health"));
    assert!(world.has::<Health<S>>("door") && !world.has::<Health<S>>(plain));
}

fn looking_changes_nothing<const S: bool>() {
    let Scene {
        mut world,
        door,
        dead,
        ..
    } = scene::<S>();
    world.track::<Health<S>>();
    let mut changed = world
        .prepare_filtered::<Entity, ecs::Changed<Health<S>>>()
        .unwrap();
    assert_eq!(changed.iter(&mut world).unwrap().count(), 1);
    let before = (world.export().to_string(), world.statistics());
    for key in ["door", "nobody", ""] {
        for name in ["Health", "new name", "", "Purse"] {
            let _ = world.get_named::<Health<S>>(key, name);
            let _ = world.get_named::<Coin<S>>(key, name);
            let _ = world.component(key, name);
            let _ = world.has_named(key, name);
            let _ = world.components(name).count();
        }
        let _ = world.get::<Coin<S>>(key);
        let _ = world.has::<Note<S>>(key);
        let _ = world.find(key);
        let _ = world.contains(key);
        let _ = world.export_entity(key);
    }
    for id in [door, dead] {
        let _ = world.get::<Health<S>>(id);
        let _ = world.handle(id);
    }
    // spec: LOOK-04
    assert_eq!((world.export().to_string(), world.statistics()), before);
    assert_eq!(world.find("nobody"), None);
    // spec: LOOK-04, LOOK-09
    assert_eq!(changed.iter(&mut world).unwrap().count(), 0);
}

#[test]
fn a_world_can_be_read_by_many_threads_at_once() {
    let Scene { world, door, .. } = scene::<true>();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    // spec: LOOK-04
                    assert_eq!(world.get::<Health<true>>(door), Some(&Health(1)));
                    assert_eq!(world.find("door"), Some(door));
                    assert!(world.component("door", "Loot").is_some());
                }
            });
        }
    });
}

fn all_under_a_name<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let mut expected: Vec<(Entity, String)> = Vec::new();
    for n in 0..12 {
        let id = world.spawn(Health::<false>(n));
        match n % 4 {
            0 => world.insert(id, Coin::<S>(ledger.witness())).unwrap(),
            1 => world.insert(id, Note::<false>(ledger.witness())).unwrap(),
            2 => drop(
                world
                    .insert_named(id, "Purse", Data(json!("data")))
                    .unwrap(),
            ),
            _ => drop(world.insert_named(id, "Purses", Speed::<S>(1)).unwrap()),
        }
        if n % 4 != 3 {
            expected.push((
                id,
                world.component(id, "Purse").unwrap().export().to_string(),
            ));
        }
    }
    world.despawn(expected.remove(4).0);
    let mut found: Vec<(Entity, String)> = world
        .components("Purse")
        .map(|(id, component)| (id, component.export().to_string()))
        .collect();
    let again: Vec<Entity> = world.components("Purse").map(|(id, _)| id).collect();
    // spec: LOOK-12, LOOK-06
    assert_eq!(again, found.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    found.sort();
    expected.sort();
    // spec: LOOK-12
    assert_eq!(found, expected);
    for name in ["", "Purs", "purse", "Nothing"] {
        assert_eq!(world.components(name).count(), 0);
    }
    world.clear();
    // spec: LOOK-12
    assert_eq!(world.components("Purse").count(), 0);
}

#[test]
fn names_that_differ_in_one_byte_are_different() {
    // Short names and long ones, of every length around the words that a comparison takes at once.
    for len in 1..=40 {
        let name = |odd: Option<usize>| -> String {
            let letters = ('a'..='w').cycle().take(len).enumerate();
            letters
                .map(|(at, letter)| if odd == Some(at) { '#' } else { letter })
                .collect()
        };
        let mut world = World::new();
        let id = world.spawn(());
        for odd in 0..len {
            let n = i64::try_from(odd).unwrap();
            world
                .insert_named(id, &name(Some(odd)), Health::<false>(n))
                .unwrap();
        }
        for odd in 0..len {
            let found = world.get_named::<Health<false>>(id, &name(Some(odd)));
            // spec: LOOK-01
            assert_eq!(found.map(|found| found.0), i64::try_from(odd).ok(), "{len}");
        }
        // spec: LOOK-03
        assert!(!world.has_named(id, &name(None)), "{len}");
        assert!(!world.has_named(id, &name(Some(0))[1..]), "{len}");
    }
}

#[test]
fn data_has_a_name_of_its_own() {
    let mut world = World::new();
    let id = world.spawn(Data(json!({ "x": 1 })));
    let storage = |component: &dyn Component| component.component_type().storage();
    // spec: COMP-12
    assert_eq!(
        (storage(&Data(json!(1))), storage(&Health::<true>(1))),
        (Storage::Table, Storage::Sparse)
    );
    // spec: COMP-09
    assert_eq!(
        world.get_named::<Data>(id, "Data"),
        Some(&Data(json!({ "x": 1 })))
    );
}

/// One of many sparse kinds.
#[derive(Debug, PartialEq)]
struct Mark<const N: usize>(usize);

impl<const N: usize> Component for Mark<N> {
    fn type_name() -> &'static str {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        &NAMES.get_or_init(|| (0..MARKS).map(|n| format!("mark {n}")).collect())[N]
    }

    fn export(&self) -> Value {
        json!(self.0)
    }

    fn storage() -> Storage {
        Storage::Sparse
    }
}

const MARKS: usize = 48;

/// More kinds than a note of the last one can tell apart.
#[test]
fn many_sparse_kinds_are_told_apart_in_any_order() {
    macro_rules! each {
        ($call:ident $world:expr, $entity:expr) => {
            each!(@ $call $world, $entity; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
                24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47)
        };
        (@ $call:ident $world:expr, $entity:expr; $($n:literal)*) => {$( $call::<$n>($world, $entity); )*};
    }
    fn insert<const N: usize>(world: &mut World, entity: Entity) {
        world.insert(entity, Mark::<N>(N)).unwrap();
    }
    fn look<const N: usize>(world: &mut World, entity: Entity) {
        // spec: LOOK-01
        assert_eq!(world.get::<Mark<N>>(entity), Some(&Mark(N)));
        assert_eq!(world.get_mut::<Mark<N>>(entity).map(|mark| mark.0), Some(N));
        assert!(world.has::<Mark<N>>(entity));
    }
    fn take<const N: usize>(world: &mut World, entity: Entity) {
        // spec: LOOK-01
        assert_eq!(world.remove::<Mark<N>>(entity), Some(Mark(N)));
        assert_eq!(world.get::<Mark<N>>(entity), None);
    }
    let mut world = World::new();
    let entity = world.spawn(());
    each!(insert &mut world, entity);
    each!(look &mut world, entity);
    each!(insert &mut world, entity);
    each!(look &mut world, entity);
    each!(take &mut world, entity);
}
