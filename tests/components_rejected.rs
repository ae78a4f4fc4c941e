//! What is rejected when a component is attached: in which order, with which text, and that nothing changes.

mod kinds;

use ecs::{Component, ComponentError, World};
use kinds::{Coin, Health, Held, Ledger, Nameless, Speed, for_both_storages};

for_both_storages! {
    attaching_takes_ownership
    an_empty_type_name_comes_first
    then_the_handle_then_the_entity
    boxed_by_id_and_by_handle
}

fn attaching_takes_ownership<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let entity = world.spawn(());
    world.insert(entity, Held::<S>(ledger.witness())).unwrap();
    world
        .insert_boxed(entity, Box::new(Coin::<S>(ledger.witness())))
        .unwrap();
    // spec: COMP-02, COMP-12
    ledger.assert_none_dropped();
    drop(world);
    ledger.assert_all_dropped_once();

    // Rejected: dropped once, too.
    let mut world = World::new();
    let stale = world.spawn(());
    world.despawn(stale);
    let ledger = Ledger::default();
    assert!(world.insert(stale, Held::<S>(ledger.witness())).is_err());
    assert!(
        world
            .insert("nobody", (Held::<S>(ledger.witness()), Health::<S>(1)))
            .is_err()
    );
    assert!(world.replace("", Held::<S>(ledger.witness())).is_err());
    assert!(
        world
            .insert_boxed(stale, Box::new(Held::<S>(ledger.witness())))
            .is_err()
    );
    assert!(
        world
            .insert_named(stale, "x", Held::<S>(ledger.witness()))
            .is_err()
    );
    assert!(
        world
            .insert_named("a", "", Held::<S>(ledger.witness()))
            .is_err()
    );
    assert!(
        world
            .insert_named_boxed("a", "x", Box::new(Held::<S>(ledger.witness())))
            .is_err()
    );
    // spec: COMP-02, COMP-12
    assert_eq!(ledger.drops(), [1; 7]);
    assert!(world.is_empty());
}

fn an_empty_type_name_comes_first<const S: bool>() {
    let mut world = World::new();
    let alive = world.spawn_named("alive", Health::<S>(1)).unwrap();
    let dead = world.spawn_named("dead", ()).unwrap();
    world.despawn(dead);
    let before = (world.export().to_string(), world.statistics());
    let ledger = Ledger::default();
    let held = || Held::<S>(ledger.witness());

    // Before anything else the type name, then the handle, then the entity.
    for key in ["", "nobody", "dead", "alive"] {
        let errors = [
            (
                "insert",
                world.insert(key, Nameless(ledger.witness())).unwrap_err(),
            ),
            (
                "insert",
                world
                    .insert(key, (held(), Nameless(ledger.witness())))
                    .unwrap_err(),
            ),
            (
                "replace",
                world
                    .replace(key, Nameless(ledger.witness()))
                    .err()
                    .unwrap(),
            ),
            (
                "insert_boxed",
                world
                    .insert_boxed(key, Box::new(Nameless(ledger.witness())))
                    .err()
                    .unwrap(),
            ),
            (
                "insert_named",
                world.insert_named(key, "", held()).err().unwrap(),
            ),
            (
                "insert_named_boxed",
                world
                    .insert_named_boxed(key, "", Box::new(held()))
                    .err()
                    .unwrap(),
            ),
        ];
        for (function, error) in errors {
            // spec: COMP-06, ERR-02
            assert_eq!(
                error.to_string(),
                format!("ecs::World::{function}(): component type is empty")
            );
        }
    }
    for id in [alive, dead] {
        // spec: COMP-06
        assert_eq!(
            world
                .insert(id, Nameless(ledger.witness()))
                .unwrap_err()
                .to_string(),
            "ecs::World::insert(): component type is empty"
        );
        assert_eq!(
            world
                .insert_named(id, "", held())
                .err()
                .unwrap()
                .to_string(),
            "ecs::World::insert_named(): component type is empty"
        );
    }
    // spec: COMP-02
    ledger.assert_all_dropped_once();
    // spec: COMP-06, ERR-01
    assert_eq!((world.export().to_string(), world.statistics()), before);
    assert_eq!(world.components("").count(), 0);
    assert!(!world.has_named(alive, ""));
    assert!(world.component(alive, "").is_none());
}

fn then_the_handle_then_the_entity<const S: bool>() {
    let mut world = World::new();
    let alive = world.spawn_named("alive", Health::<S>(1)).unwrap();
    let dead = world.spawn_named("dead", ()).unwrap();
    world.despawn(dead);
    let before = (world.export().to_string(), world.statistics());
    let ledger = Ledger::default();
    let held = || Held::<S>(ledger.witness());
    let errors = [
        ("insert", world.insert("", held()).unwrap_err()),
        ("replace", world.replace("", held()).err().unwrap()),
        (
            "insert_boxed",
            world.insert_boxed("", Box::new(held())).err().unwrap(),
        ),
        (
            "insert_named",
            world.insert_named("", "X", held()).err().unwrap(),
        ),
        (
            "insert_named_boxed",
            world
                .insert_named_boxed(String::new(), "X", Box::new(held()))
                .err()
                .unwrap(),
        ),
    ];
    for (function, error) in errors {
        // spec: COMP-06, ERR-02
        assert_eq!(
            error.to_string(),
            format!("ecs::World::{function}(): component entity handle is empty")
        );
        assert!(matches!(error, ComponentError::EmptyHandle { .. }));
    }
    for key in ["nobody", "dead", "Alive", "alive ", "ałive"] {
        let errors = [
            ("insert", world.insert(key, held()).unwrap_err()),
            ("replace", world.replace(key, held()).err().unwrap()),
            (
                "insert_boxed",
                world.insert_boxed(key, Box::new(held())).err().unwrap(),
            ),
            (
                "insert_named",
                world.insert_named(key, "X", held()).err().unwrap(),
            ),
            (
                "insert_named_boxed",
                world
                    .insert_named_boxed(key, "X", Box::new(held()))
                    .err()
                    .unwrap(),
            ),
        ];
        for (function, error) in errors {
            // spec: COMP-06, ERR-02
            assert_eq!(
                error.to_string(),
                format!("ecs::World::{function}(): entity \"{key}\" does not exist")
            );
            // spec: ERR-04
            assert!(
                matches!(&error, ComponentError::NoEntity { handle, .. } if handle == key),
                "{error:?}"
            );
        }
    }
    let error = world.insert(dead, held()).unwrap_err();
    // spec: COMP-06
    assert!(
        error
            .to_string()
            .starts_with("ecs::World::insert(): entity \"")
            && error.to_string().ends_with("\" does not exist"),
        "{error}"
    );
    let twice = world.insert("nobody", (held(), held())).unwrap_err();
    // spec: COMP-06
    assert!(matches!(twice, ComponentError::Bundle { .. }), "{twice}");

    // spec: COMP-02
    ledger.assert_all_dropped_once();
    // spec: COMP-06, ERR-01
    assert_eq!((world.export().to_string(), world.statistics()), before);
    assert_eq!(world.components("X").count(), 0);
    assert_eq!(world.find("nobody"), None);
    // spec: COMP-06
    assert!(world.insert("alive", Held::<S>(ledger.witness())).is_ok());
    assert!(world.contains(alive));
}

fn boxed_by_id_and_by_handle<const S: bool>() {
    let mut texts = Vec::new();
    for by_handle in [false, true] {
        let mut world = World::new();
        let entity = world.spawn_named("e", Health::<S>(1)).unwrap();
        let dead = world.spawn(());
        let dead_handle = world.handle(dead).unwrap().to_string();
        world.despawn(dead);
        let mut insert = |alive: bool, component: Box<dyn Component>| {
            let outcome = match (by_handle, alive) {
                (true, true) => world.insert_boxed("e", component),
                (true, false) => world.insert_boxed(dead_handle.as_str(), component),
                (false, true) => world.insert_boxed(entity, component),
                (false, false) => world.insert_boxed(dead, component),
            };
            match outcome {
                Ok(old) => format!("{:?}", old.map(|old| old.export())),
                Err(error) => error.to_string().replace(&dead_handle, "<dead>"),
            }
        };
        let ledger = Ledger::default();
        let outcomes = [
            insert(true, Box::new(Speed::<S>(3))),
            insert(true, Box::new(Speed::<S>(4))),
            insert(true, Box::new(Nameless(ledger.witness()))),
            insert(false, Box::new(Speed::<S>(4))),
            insert(false, Box::new(Nameless(ledger.witness()))),
        ];
        texts.push((outcomes, world.export().to_string()));
        ledger.assert_all_dropped_once();
    }
    // spec: COMP-11, COMP-12
    assert_eq!(texts[0], texts[1]);
    assert_eq!(
        texts[0].0[3],
        "ecs::World::insert_boxed(): entity \"<dead>\" does not exist"
    );
}
