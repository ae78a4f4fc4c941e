//! Imports: arbitrary text, and exports with at most one fault.

use std::collections::BTreeSet;

use ecs::{Dangling, ImportErrorKind, ImportLimits, Value, World, json};
use serde_json::Map;

use crate::json;
use crate::saving::{Heat, types};
use crate::script::Script;

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        for dangling in [Dangling::Error, Dangling::Null] {
            let _ = import(text, dangling);
        }
    }
    near_valid(&mut Script::new(bytes));
}

/// A world that has something already.
fn inhabited() -> World {
    let mut world = World::new();
    world.spawn_named("there", Heat(Some(1.5))).unwrap();
    world.spawn(());
    world
}

fn text_of(world: &World) -> String {
    let mut text = Vec::new();
    world.export_to(&mut text, Dangling::Error).unwrap();
    let text = String::from_utf8(text).unwrap();
    // spec: EXP-06
    assert_eq!(text, world.export().to_string());
    text
}

/// What is accepted survives; what is refused leaves no trace.
fn import(text: &str, dangling: Dangling) -> Result<(), ImportErrorKind> {
    let limits = ImportLimits {
        dangling,
        ..ImportLimits::default()
    };
    let mut world = inhabited();
    let before = text_of(&world);
    let imported = world.import_text(&types(), text, limits);
    let after = text_of(&world);
    match imported {
        Ok(imported) => {
            // spec: EXP-05
            assert_eq!(world.len(), 2 + imported.entities.len());
            again(&after);
            Ok(())
        }
        Err(error) => {
            // spec: EXP-05
            assert_eq!(before, after);
            assert_eq!(world.len(), 2);
            let _ = error.to_string();
            Err(error.kind)
        }
    }
}

/// An export, imported into an empty world, gives the same export.
fn again(text: &str) {
    let mut copy = World::new();
    copy.import_text(&types(), text, ImportLimits::default())
        .unwrap();
    // spec: EXP-03, EXP-05
    assert_eq!(text_of(&copy), text);
    let mut copy = World::new();
    let value = serde_json::from_str(text).unwrap();
    copy.import(&types(), &value).unwrap();
    // spec: EXP-03, EXP-05
    assert_eq!(text_of(&copy), text);
}

const HANDLES: [&str; 5] = [
    "a",
    "b/~",
    "né\u{0}\n\"\\",
    "550e8400-e29b-41d4-a716-446655440000",
    "c",
];

/// A valid export is accepted; with one fault in it, it is refused for that.
fn near_valid(script: &mut Script<'_>) {
    let handles: BTreeSet<&str> = (0..=script.below(4))
        .map(|_| HANDLES[script.below(HANDLES.len())])
        .collect();
    let handles: Vec<&str> = handles.into_iter().collect();
    let mut entities = Map::new();
    for handle in &handles {
        let mut entity = Map::new();
        if script.chance(200) {
            entity.insert("Handle".to_owned(), (*handle).into());
        }
        if script.chance(200) {
            let components = (0..script.below(5)).map(|_| component(script, &handles));
            entity.insert("Components".to_owned(), Value::Object(components.collect()));
        }
        entities.insert((*handle).to_owned(), Value::Object(entity));
    }
    let mut document = json!({ "Entities": entities });
    if script.chance(100) {
        document["Handle"] = json::text(script).into();
        document["Systems"] = Value::Object(json::object(script, 2));
    }
    let victim = handles[script.below(handles.len())];
    let fault = break_one_place(&mut document, victim, script);
    let outcome = import(&document.to_string(), Dangling::Error);
    match (outcome, fault) {
        (Ok(()), None) => {}
        // spec: EXP-05
        (Err(kind), Some(expected)) => assert!(expected(&kind), "{kind} for {document}"),
        (Ok(()), Some(_)) => panic!("accepted: {document}"),
        (Err(kind), None) => panic!("{kind} for the valid {document}"),
    }
}

fn component(script: &mut Script<'_>, handles: &[&str]) -> (String, Value) {
    let float = |script: &mut Script<'_>| json!(f64::from(script.byte()) / 7.0);
    let one = |script: &mut Script<'_>| json!(handles[script.below(handles.len())]);
    let (name, value) = match script.below(7) {
        0 => (
            "Position",
            json!({ "x": float(script), "y": float(script) }),
        ),
        1 => ("Goal", json!({ "x": float(script), "y": float(script) })),
        2 if script.chance(100) => ("Heat", Value::Null),
        2 => ("Heat", float(script)),
        3 => ("Étiquette\u{1}", json!(json::text(script))),
        4 => (
            "Links",
            json!({
                "target": one(script),
                "list": [one(script), null, "there"],
                "map": { "k": one(script) },
                "nested": { "pairs": [{ "left": one(script), "right": null }], "a/b~c": one(script) },
                "count": script.byte(),
            }),
        ),
        5 => ("Parent", one(script)),
        _ => ("Loot", json::value(script, 3)),
    };
    (name.to_owned(), value)
}

type Expected = fn(&ImportErrorKind) -> bool;

/// Puts one fault in, or none, and says how it must be refused.
fn break_one_place(
    document: &mut Value,
    victim: &str,
    script: &mut Script<'_>,
) -> Option<Expected> {
    let entity = document["Entities"][victim].as_object_mut().unwrap();
    let mut put = |name: &str, value: Value| {
        let components = entity.entry("Components").or_insert_with(|| json!({}));
        components[name] = value;
    };
    let bad: Expected = |kind| matches!(kind, ImportErrorKind::BadValue { .. });
    let unexpected: Expected = |kind| matches!(kind, ImportErrorKind::UnexpectedMember);
    let no_object: Expected = |kind| matches!(kind, ImportErrorKind::NotAnObject { .. });
    Some(match script.below(18) {
        0 => {
            put("No such", Value::Null);
            |kind| matches!(kind, ImportErrorKind::UnknownType { .. })
        }
        1 => {
            put("", Value::Null);
            |kind| matches!(kind, ImportErrorKind::UnknownType { .. })
        }
        2 => {
            put("Position", json!({ "x": 1, "y": "1" }));
            bad
        }
        3 => {
            put("Tag", json!(7));
            bad
        }
        4 => {
            // An id where a handle belongs.
            put("Parent", json!(script.byte()));
            bad
        }
        5 => {
            put("Parent", json!("nobody"));
            |kind| matches!(kind, ImportErrorKind::DanglingReference { .. })
        }
        6 => {
            document["Entities"][victim] = json::value(script, 0);
            no_object
        }
        7 => {
            document["Entities"][victim]["Components"] = json::value(script, 0);
            no_object
        }
        8 => {
            document["Entities"][victim]["Handle"] = json!(format!("{victim}!"));
            |kind| matches!(kind, ImportErrorKind::HandleMismatch { .. })
        }
        9 => {
            document["Entities"][victim]["handle"] = json!(victim);
            unexpected
        }
        10 => {
            document["entities"] = json!({});
            unexpected
        }
        11 => {
            document["Handle"] = json!(7);
            unexpected
        }
        12 => {
            document["Entities"]["there"] = json!({});
            |kind| matches!(kind, ImportErrorKind::HandleTaken { .. })
        }
        13 => {
            document["Entities"][""] = json!({});
            |kind| matches!(kind, ImportErrorKind::EmptyHandle)
        }
        14 => {
            put("Loot", json::nested(Value::Null, 61 + script.below(60)));
            |kind| matches!(kind, ImportErrorKind::TooDeep { .. })
        }
        15 => {
            document["Systems"] = json::value(script, 0);
            no_object
        }
        _ => return None,
    })
}
