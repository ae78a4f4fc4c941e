//! What a world exports.

mod saving;

use std::io::{self, Write};
use std::process::Command;

use ecs::{Component, Dangling, Data, Entity, ExportError, Value, World, json};
use saving::{Heat, Label, Links, Nested, Pair, Parent, Position, Tag, text};

const AT: Position = Position { x: 1.5, y: -0.0 };

#[test]
fn a_world_is_exported_by_handle_and_type_name() {
    let mut world = World::new();
    // spec: EXP-01
    assert_eq!(world.export().to_string(), "{}", "nothing is left in");
    // spec: EXP-01
    assert_eq!(text(&world), "{}");

    let door = world.spawn_named("door", (AT, Tag {})).unwrap();
    world.entity("empty").unwrap();
    world.insert_named(door, "Loot", Data(Value::Null)).unwrap();
    world
        .insert_named(door, "Goal", Position { x: 2.0, y: 3.0 })
        .unwrap();
    let expected = concat!(
        r#"{"Entities":{"door":{"Components":{"Goal":{"x":2.0,"y":3.0},"Loot":null,"#,
        r#""Position":{"x":1.5,"y":-0.0},"Tag":{}},"Handle":"door"},"empty":{"Handle":"empty"}}}"#
    );
    // spec: EXP-01
    assert_eq!(world.export().to_string(), expected);
    // spec: EXP-01, EXP-06
    assert_eq!(text(&world), expected);

    // spec: EXP-01
    assert_eq!(
        world.export_entity("empty").unwrap().to_string(),
        r#"{"Handle":"empty"}"#
    );
    // spec: EXP-01
    assert_eq!(
        world.export_entity(door).unwrap(),
        json!({"Handle": "door", "Components": {"Goal": {"x": 2.0, "y": 3.0}, "Loot": null, "Position": {"x": 1.5, "y": -0.0}, "Tag": {}}})
    );
    world.despawn(door);
    // spec: EXP-01
    assert_eq!(world.export_entity(door), None);
    assert_eq!(world.export_entity("door"), None);
    assert_eq!(world.export_entity(""), None);
    // spec: EXP-01
    assert_eq!(text(&world), r#"{"Entities":{"empty":{"Handle":"empty"}}}"#);
}

/// Exporting borrows the world shared: nothing can be added or removed in it.
///
/// spec: EXP-02
#[test]
fn exporting_changes_nothing() {
    let mut world = World::new();
    world.spawn_named("door", (AT, Label("x".into()))).unwrap();
    let unnamed = world.spawn(Parent(world.find("door").unwrap()));
    let mut changed = world
        .prepare_filtered::<Entity, (ecs::Changed<Position>,)>()
        .unwrap();
    assert_eq!(changed.iter(&mut world).unwrap().count(), 1);
    let before = world.statistics();
    let shared: &World = &world;
    let first = text(shared);
    let _ = (shared.export(), shared.export_entity(unnamed));
    // spec: EXP-02
    assert_eq!(world.statistics(), before);
    // spec: EXP-02
    assert_eq!(text(&world), first);
    // spec: EXP-02
    assert_eq!(changed.iter(&mut world).unwrap().count(), 0);
}

/// Builds one world in one of several orders, with detours.
fn build(order: usize) -> World {
    let mut world = World::new();
    if order == 1 {
        // A detour: entities that are gone again, archetypes in another order.
        let gone = world.spawn((Tag {}, Heat(None)));
        world.spawn_batch((0..10).map(|_| (AT, Tag {})));
        world.despawn(gone);
        world.clear();
    }
    let handles = ["b", "a", "é", "a\u{0}", "B", "aa", "😀", "\u{ffff}"];
    let mut handles = handles.map(str::to_owned);
    if order == 1 {
        handles.reverse();
    }
    for handle in &handles {
        let entity = world.entity(handle).unwrap();
        if order == 0 {
            let bundle = (AT, Heat(Some(0.1)), Label(handle.clone()));
            world.insert(entity, bundle).unwrap();
        } else {
            world.insert(entity, (Label("old".into()), Tag {})).unwrap();
            world.insert(entity, Heat(Some(0.1))).unwrap();
            world.insert(entity, AT).unwrap();
            world.remove::<Tag>(entity).unwrap();
            world.replace(entity, Label(handle.clone())).unwrap();
        }
        let data = [("Zoo", 1), ("Loot", 2), ("loot", 3), ("Éa", 4)];
        let mut data = data.to_vec();
        if order == 1 {
            data.reverse();
        }
        for (name, value) in data {
            world
                .insert_named(entity, name, Data(json!(value)))
                .unwrap();
        }
    }
    let first = world.find("a").unwrap();
    for handle in handles {
        world.insert(&*handle, Parent(first)).unwrap();
    }
    world
}

#[test]
fn equal_worlds_give_equal_text_whatever_the_order() {
    let (first, second) = (text(&build(0)), text(&build(1)));
    // spec: EXP-03
    assert_eq!(first, second);
    // spec: EXP-03
    assert_eq!(build(1).export().to_string(), first);
    let keys = [
        "\"B\"",
        "\"a\"",
        "\"a\\u0000\"",
        "\"aa\"",
        "\"b\"",
        "\"é\"",
        "\"\u{ffff}\"",
        "\"😀\"",
    ];
    let places = keys.map(|key| first.find(&format!("{key}:{{\"Components\"")).unwrap());
    // spec: EXP-03
    assert!(
        places.is_sorted(),
        "sorted by bytes, not by letters or UTF-16"
    );
    let names = [
        "\"Heat\":",
        "\"Loot\":",
        "\"Parent\":",
        "\"Position\":",
        "\"Zoo\":",
        "\"loot\":",
        "\"Éa\":",
        "\"Étiquette\\u0001\":",
    ];
    let places = names.map(|name| first.find(name).unwrap());
    // spec: EXP-03
    assert!(places.is_sorted());
}

/// Hash seeds differ between processes; the export does not. (flecs#2190)
#[test]
fn two_processes_give_equal_text() {
    const CHILD: &str = "ARCHECS_EXPORT_CHILD";
    if std::env::var_os(CHILD).is_some() {
        println!("<<<{}>>>", text(&build(1)));
        return;
    }
    let run = || {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "two_processes_give_equal_text", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let (_, printed) = printed.split_once("<<<").unwrap();
        printed.split_once(">>>").unwrap().0.to_owned()
    };
    let first = run();
    // spec: EXP-03
    assert_eq!(first, run());
    // spec: EXP-03
    assert_eq!(first, text(&build(0)));
}

#[test]
fn odd_characters_and_numbers_give_valid_json() {
    let handles = [
        "\u{0}\u{1f}\u{7f}\u{80}",
        "\"\\/",
        "\u{2028}\u{feff}",
        "😀é",
        " ",
        "\u{fffd}",
    ];
    let mut world = World::new();
    for handle in handles {
        let entity = world.spawn_named(handle, Label(handle.into())).unwrap();
        world
            .insert_named(entity, handle, Data(json!(handle)))
            .unwrap();
        world
            .insert(
                entity,
                Position {
                    x: f64::NAN,
                    y: f64::NEG_INFINITY,
                },
            )
            .unwrap();
    }
    let exported: Value = serde_json::from_str(&text(&world)).unwrap();
    // spec: EXP-04
    assert_eq!(exported, world.export());
    let entities = exported["Entities"].as_object().unwrap();
    // spec: EXP-04
    assert_eq!(entities.len(), handles.len());
    for handle in handles {
        let components = &entities[handle]["Components"];
        // spec: EXP-04
        assert_eq!(components[handle], handle);
        assert_eq!(components[Label::type_name()], handle);
        // spec: EXP-04
        assert_eq!(components["Position"], json!({ "x": null, "y": null }));
    }
}

/// Fails after some bytes.
struct Failing(usize);

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 && !bytes.is_empty() {
            return Err(io::Error::other("the disk is full"));
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failing_writer_is_an_error_at_every_byte() {
    let world = build(0);
    let whole = text(&world);
    for room in (0..whole.len()).step_by(7) {
        let error = world.export_to(Failing(room), Dangling::Null).unwrap_err();
        let ExportError::Write(cause) = &error else {
            panic!("{error}")
        };
        // spec: EXP-06
        assert!(cause.is_io() && error.to_string().contains("the disk is full"));
    }
    // spec: EXP-06
    assert!(
        world
            .export_to(Failing(whole.len()), Dangling::Null)
            .is_ok()
    );
}

/// Counts what is written at once.
#[derive(Default)]
struct Pieces {
    largest: usize,
    all: usize,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.largest = self.largest.max(bytes.len());
        self.all += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn streaming_builds_no_tree() {
    let mut world = World::new();
    world.spawn_batch((0..1000).map(|at| Position {
        x: f64::from(at),
        y: 0.0,
    }));
    let mut pieces = Pieces::default();
    world.export_to(&mut pieces, Dangling::Null).unwrap();
    // spec: EXP-06
    assert!(
        pieces.all > 50_000 && pieces.largest < 100,
        "{}",
        pieces.largest
    );
}

#[test]
fn entities_in_fields_are_exported_as_handles() {
    let mut world = World::new();
    let door = world.spawn_named("door", ()).unwrap();
    let unnamed = world.spawn(());
    let dead = world.spawn(());
    world.despawn(dead);
    let mut other = World::new();
    let foreign = other.spawn(());
    let links = Links {
        target: Some(door),
        list: vec![Some(unnamed), None, Some(dead), Some(foreign)],
        map: [("to".to_owned(), door), ("~/*".to_owned(), unnamed)].into(),
        nested: Nested {
            pairs: vec![
                Pair {
                    left: door,
                    right: Some(door),
                },
                Pair {
                    left: unnamed,
                    right: Some(door),
                },
            ],
            odd: Some(door),
        },
        count: door.to_bits(),
    };
    let handle = world.handle(unnamed).unwrap().to_string();
    world.insert(door, (links, Parent(door))).unwrap();
    let components = &world.export()["Entities"]["door"]["Components"];
    // spec: EXP-07
    assert_eq!(
        components["Links"],
        json!({
            "target": "door",
            "list": [handle, null, null, null],
            "map": {"to": "door", "~/*": handle},
            "nested": {
                "pairs": [
                    {"left": "door", "right": door.to_bits()},
                    {"left": handle, "right": "door"},
                ],
                "a/b~c": "door",
            },
            "count": door.to_bits(),
        }),
        "only the named places are mapped"
    );
    // spec: EXP-07
    assert_eq!(components["Parent"], "door", "also to itself");

    let refused = world.export_to(io::sink(), Dangling::Error).unwrap_err();
    let ExportError::DanglingReference { path } = &refused else {
        panic!("{refused}")
    };
    // spec: EXP-07
    assert_eq!(path, "/Entities/door/Components/Links/list/2");
    world.despawn(unnamed);
    world.despawn(door);
    let odd = world.spawn_named("~/é", Parent(door)).unwrap();
    let refused = world.export_to(io::sink(), Dangling::Error).unwrap_err();
    // spec: EXP-07
    assert_eq!(
        refused.to_string(),
        "/Entities/~0~1é/Components/Parent: the component refers to an entity that does not exist"
    );
    // spec: EXP-07
    assert_eq!(
        world.export_entity(odd).unwrap()["Components"]["Parent"],
        Value::Null
    );
}

#[test]
fn handles_are_sorted_by_their_bytes_however_alike_they_are() {
    let alike = [
        "x/unit/",
        "x/unit/0",
        "x/unit/0\0",
        "x/unit/00000000",
        "x/unit/000000001",
        "x/unit/00000000\0",
    ];
    let other = ["a", "ä", "x", "x/unit/00000000!", "0"];
    for (with_others, generated) in [(false, 0), (true, 0), (true, 200)] {
        let mut world = World::new();
        for name in alike.iter().rev() {
            world.spawn_named(name, ()).unwrap();
        }
        for name in other.iter().filter(|_| with_others) {
            world.spawn_named(name, ()).unwrap();
        }
        for _ in 0..generated {
            world.spawn(());
        }
        let mut text = Vec::new();
        world.export_to(&mut text, Dangling::Null).unwrap();
        // The value keeps its keys in a map that sorts them itself.
        // spec: EXP-03
        assert_eq!(String::from_utf8(text).unwrap(), world.export().to_string());
    }
}
