//! What a world imports.

mod saving;

use ecs::{
    Dangling, Data, Entity, ImportError, ImportErrorKind, ImportLimits, Imported, Value, World,
    json,
};
use saving::{Heat, Label, Links, Nested, Pair, Parent, Position, Tag, text, types};

const AT: Position = Position { x: 0.1, y: -0.0 };

fn import_text(world: &mut World, text: &str) -> Result<Imported, ImportError> {
    world.import_text(&types(), text, ImportLimits::default())
}

/// A world with chosen and generated handles, and entities that refer to each other.
fn original() -> World {
    let mut world = World::new();
    let a = world
        .spawn_named("a", (AT, Tag {}, Label("é\u{0}".into())))
        .unwrap();
    let generated = world.spawn(Heat(Some(1e300)));
    let b = world.spawn_named("b/~", Heat(None)).unwrap();
    world.insert_named(b, "Goal", AT).unwrap();
    let loot = Data(json!({ "z": [1, -0.0, u64::MAX, i64::MIN, 0.1 + 0.2], "a": null }));
    world.insert_named(b, "Loot", loot).unwrap();
    world.spawn_named("😀", ()).unwrap();
    let links = |target, left| Links {
        target: Some(target),
        list: vec![None, Some(generated), Some(a)],
        map: [("m".to_owned(), b)].into(),
        nested: Nested {
            pairs: vec![
                Pair { left, right: None },
                Pair {
                    left: a,
                    right: Some(b),
                },
            ],
            odd: Some(generated),
        },
        count: 7,
    };
    // a -> b -> a, and the unnamed one to itself.
    world.insert(a, (links(b, a), Parent(b))).unwrap();
    world.insert(b, links(a, generated)).unwrap();
    world.insert(generated, Parent(generated)).unwrap();
    world
}

#[test]
fn export_import_export_is_byte_identical() {
    let world = original();
    let saved = text(&world);
    for by_text in [true, false] {
        let mut copy = World::new();
        // Ids differ from the original's.
        copy.spawn_batch((0..5).map(|_| Tag {}));
        copy.clear();
        let imported = if by_text {
            import_text(&mut copy, &saved).unwrap()
        } else {
            copy.import(&types(), &world.export()).unwrap()
        };
        // spec: EXP-05, EXP-07
        assert_eq!(text(&copy), saved);
        let handles: Vec<_> = imported
            .entities
            .iter()
            .map(|entity| copy.handle(*entity).unwrap().to_string())
            .collect();
        // spec: EXP-05
        assert!(handles.is_sorted() && handles.len() == 4, "{handles:?}");
        // spec: EXP-05
        assert!(imported.systems.is_empty() && imported.handle.is_none());

        let [a, b] = ["a", "b/~"].map(|handle| copy.find(handle).unwrap());
        // spec: EXP-07
        assert_eq!(copy.get::<Links>(a).unwrap().target, Some(b));
        assert_eq!(copy.get::<Links>(b).unwrap().target, Some(a));
        let generated = copy.get::<Links>(a).unwrap().nested.odd.unwrap();
        // spec: EXP-07
        assert_eq!(copy.get::<Parent>(generated), Some(&Parent(generated)));
        let handle = copy.handle(generated).unwrap().to_string();
        // spec: EXP-05
        assert!(world.find(&handle).is_some(), "the generated handle's text");
        // spec: EXP-05
        assert_eq!(
            copy.spawn_named(&handle, ()).unwrap_err().to_string(),
            format!(
                "ecs::World::spawn_named(): entity \"{handle}\" exists already; look it up, or choose another handle"
            )
        );
        assert_eq!(
            copy.get::<Position>(a).unwrap().y.to_bits(),
            (-0.0_f64).to_bits()
        );

        // A second generation, from the copy.
        let mut third = World::new();
        import_text(&mut third, &text(&copy)).unwrap();
        // spec: EXP-05
        assert_eq!(text(&third), saved);
    }
}

/// A load into the world that was saved: dead ids and their handles come back, new ids collide with nothing.
/// (Arch.Extended#59)
#[test]
fn a_world_takes_its_own_export_back() {
    let mut world = original();
    let saved = text(&world);
    let old: Vec<Entity> = world.query::<Entity>().collect();
    for _ in 0..3 {
        world.clear();
        let imported = import_text(&mut world, &saved).unwrap();
        // spec: EXP-05, ENT-10
        assert_eq!(text(&world), saved);
        // spec: ENT-03
        assert!(old.iter().all(|entity| !world.contains(*entity)));
        assert_eq!(imported.entities.len(), old.len());
        // spec: ENT-09
        assert!(
            world.statistics().slots <= old.len() + 1,
            "slots are used again"
        );
        let new = world.spawn(Tag {});
        // spec: EXP-05, ENT-02
        assert!(!old.contains(&new) && !imported.entities.contains(&new));
        world.despawn(new);
    }
}

#[test]
fn an_import_joins_what_is_there() {
    let mut world = World::new();
    let home = world.spawn_named("home", AT).unwrap();
    let saved = r#"{"Handle":"main","Systems":{"s":{"x":1},"r":null},"Entities":{
        "n": {"Handle":"n","Components":{"Links":{"target":"home","list":["n"],"map":{},"nested":{"pairs":[],"a/b~c":null},"count":3}}},
        "m": {"Components":{"Parent":"n"}},
        "k": {}}}"#;
    let imported = import_text(&mut world, saved).unwrap();
    // spec: EXP-05
    assert_eq!(imported.handle.as_deref(), Some("main"));
    // spec: EXP-05
    assert_eq!(
        Value::Object(imported.systems),
        json!({"s": {"x": 1}, "r": null})
    );
    let links = world.get::<Links>("n").unwrap();
    // spec: EXP-07
    assert_eq!(links.target, Some(home), "into the world that was there");
    // spec: EXP-07
    assert_eq!(links.list, [world.find("n")]);
    // spec: EXP-07
    assert_eq!(
        world.get::<Parent>("m").unwrap().0,
        world.find("n").unwrap()
    );
    assert_eq!(world.len(), 4);

    // Twice: refused, and nothing doubled or overwritten. (bevy#4793)
    world.get_mut::<Links>("n").unwrap().count = 4;
    let kind = refused(&mut world, saved, "/Entities/k");
    // spec: EXP-05
    assert!(matches!(kind, ImportErrorKind::HandleTaken { handle } if handle == "k"));
    assert_eq!(world.get::<Links>("n").unwrap().count, 4);
}

/// Imports a text that must be refused at a place, and checks that nothing changed.
#[track_caller]
fn refused(world: &mut World, saved: &str, path: &str) -> ImportErrorKind {
    let before = (text(world), world.statistics());
    let order: Vec<Entity> = world.query::<Entity>().collect();
    let error = import_text(world, saved).unwrap_err();
    // spec: EXP-05
    assert_eq!(error.path, path, "{error}");
    // spec: EXP-05
    assert_eq!((text(world), world.statistics()), before);
    // spec: EXP-05
    assert_eq!(world.query::<Entity>().collect::<Vec<_>>(), order);
    error.kind
}

/// The refusals of one text in a fresh world and in one that is in use, whose next id must be the same as without.
macro_rules! refusals {
    ($($text:expr, $path:expr, $kind:pat $(if $guard:expr)?),* $(,)?) => {$(
        let mut world = original();
        let dead = world.spawn(());
        world.despawn(dead);
        let kind = refused(&mut world, $text, $path);
        // spec: EXP-05
        assert!(matches!(&kind, $kind $(if $guard)?), "{kind:?}");
        let next = world.spawn(());
        // spec: EXP-05
        assert_eq!(next.index(), dead.index(), "the free slot is where it was");
        // spec: EXP-05
        assert_eq!(next.to_bits() - dead.to_bits(), 1 << 32, "and its next id too");
        refused(&mut World::new(), $text, $path);
    )*};
}

fn entity(handle: &str, components: &str) -> String {
    format!(
        r#"{{"Entities":{{"ok":{{"Components":{{"Tag":{{}}}}}},"{handle}":{{"Components":{{{components}}}}}}}}}"#
    )
}

#[test]
fn an_import_of_the_wrong_shape_is_refused_at_its_place() {
    use ImportErrorKind as Kind;
    refusals! {
        "", "", Kind::NotJson(_),
        "{", "", Kind::NotJson(_),
        r#"{"Entities":{"a"#, "/Entities", Kind::NotJson(_),
        r#"{"Entities":{"zz":[1,tru]}}"#, "/Entities/zz/1", Kind::NotJson(_),
        "{} {}", "", Kind::NotJson(_),
        r#"{"Entities":{"zz":{"Components":{"Loot":1e999}}}}"#, "/Entities/zz/Components/Loot", Kind::NotJson(_),
        "[]", "", Kind::NotAnObject { got: "array" },
        "null", "", Kind::NotAnObject { got: "null" },
        r#"{"Entities":7}"#, "/Entities", Kind::NotAnObject { got: "number" },
        r#"{"Entities":{"x~/":"text"}}"#, "/Entities/x~0~1", Kind::NotAnObject { got: "string" },
        r#"{"Entities":{"x":{"Components":true}}}"#, "/Entities/x/Components", Kind::NotAnObject { got: "boolean" },
        r#"{"Systems":[]}"#, "/Systems", Kind::NotAnObject { got: "array" },
        r#"{"Handle":7}"#, "/Handle", Kind::UnexpectedMember,
        r#"{"entities":{}}"#, "/entities", Kind::UnexpectedMember,
        r#"{"Entities":{"x":{"Name":1}}}"#, "/Entities/x/Name", Kind::UnexpectedMember,
        r#"{"Entities":{"x":{"Handle":"y"}}}"#, "/Entities/x/Handle", Kind::HandleMismatch { expected } if expected == "x",
        r#"{"Entities":{"x":{"Handle":null}}}"#, "/Entities/x/Handle", Kind::HandleMismatch { .. },
        r#"{"Entities":{"ok":{},"":{}}}"#, "/Entities/", Kind::EmptyHandle,
        r#"{"Entities":{"ok":{},"x":{},"x":{}}}"#, "/Entities/x", Kind::DuplicateKey { key } if key == "x",
        r#"{"Entities":{"x":{"Components":{"Tag":{},"\u0054ag":{}}}}}"#, "/Entities/x/Components/Tag", Kind::DuplicateKey { key } if key == "Tag",
        r#"{"Systems":{"s":{"a":1,"a":2}}}"#, "/Systems/s/a", Kind::DuplicateKey { .. },
    }
}

#[test]
fn a_bad_component_is_refused_at_its_place() {
    use ImportErrorKind as Kind;
    let null = &entity("x", r#""Position":{"x":null,"y":1}"#);
    let surplus = &entity("x/~", r#""Heat":1,"Position":{"x":1,"y":1,"z":1}"#);
    let unknown = &entity("x", r#""Tag":{},"Unheard/of":{}"#);
    let nameless = &entity("x", r#""":{}"#);
    let own_name = &entity("x", r#""Data":{}"#);
    let id = &entity("x", r#""Parent":7"#);
    refusals! {
        // spec: EXP-04
        null, "/Entities/x/Components/Position", Kind::BadValue { rust_name, .. } if rust_name.ends_with("Position"),
        surplus, "/Entities/x~1~0/Components/Position", Kind::BadValue { .. },
        unknown, "/Entities/x/Components/Unheard~1of", Kind::UnknownType { type_name } if type_name == "Unheard/of",
        nameless, "/Entities/x/Components/", Kind::UnknownType { type_name } if type_name.is_empty(),
        own_name, "/Entities/x/Components/Data", Kind::UnknownType { .. },
        id, "/Entities/x/Components/Parent", Kind::BadValue { .. },
    }
    // A number is no handle, not even the id of a living entity or the text of a handle.
    let mut world = original();
    world.spawn_named("7", ()).unwrap();
    for number in [7, world.find("a").unwrap().to_bits()] {
        let saved = entity("x", &format!(r#""Parent":{number}"#));
        let kind = refused(&mut world, &saved, "/Entities/x/Components/Parent");
        // spec: EXP-07
        assert!(matches!(kind, Kind::BadValue { .. }));
    }
    let mut world = World::new();
    import_text(&mut world, &entity("x", r#""Heat":null"#)).unwrap();
    // spec: EXP-04
    assert_eq!(
        world.get::<Heat>("x"),
        Some(&Heat(None)),
        "its type accepts null"
    );

    let tolerant = types().unknown_as_data();
    let nameless = tolerant.clone();
    let mut world = World::new();
    world
        .import(
            &tolerant,
            &json!({"Entities": {"x": {"Components": {"New": [1]}}}}),
        )
        .unwrap();
    // spec: EXP-05, COMP-09
    assert_eq!(world.get_named::<Data>("x", "New").unwrap().0, json!([1]));
    let value = json!({"Entities": {"y": {"Components": {"": [1]}}}});
    // spec: EXP-05, COMP-06
    assert!(world.import(&nameless, &value).is_err());
}

#[test]
fn a_reference_to_nobody_is_an_error_or_null() {
    use ImportErrorKind as Kind;
    let nested = r#""Links":{"target":"ok","list":[null,"x","gone"],"map":{},"nested":{"pairs":[],"a/b~c":null},"count":3}"#;
    let nested = &entity("x", nested);
    let whole = &entity("x", r#""Parent":"""#);
    refusals! {
        // spec: EXP-07
        nested, "/Entities/x/Components/Links/list/2", Kind::DanglingReference { handle } if handle == "gone",
        whole, "/Entities/x/Components/Parent", Kind::DanglingReference { handle } if handle.is_empty(),
    }
    let limits = ImportLimits {
        dangling: Dangling::Null,
        ..ImportLimits::default()
    };
    let mut world = World::new();
    world.import_text(&types(), nested, limits).unwrap();
    let [ok, x] = ["ok", "x"].map(|handle| world.find(handle));
    let links = world.get::<Links>("x").unwrap();
    // spec: EXP-07
    assert_eq!(
        (links.target, &*links.list),
        (ok, [None, x, None].as_slice())
    );
    // A reference to an entity of the past is one to nobody.
    let mut world = original();
    let dead = world.spawn(());
    let handle = world.handle(dead).unwrap().to_string();
    world.despawn(dead);
    let saved = entity("x", &format!(r#""Parent":"{handle}""#));
    let kind = refused(&mut world, &saved, "/Entities/x/Components/Parent");
    // spec: EXP-07
    assert!(matches!(kind, Kind::DanglingReference { .. }));
}

#[test]
fn size_and_depth_have_limits() {
    let mut world = World::new();
    let mut limits = ImportLimits {
        max_bytes: 15,
        max_depth: 2,
        ..ImportLimits::default()
    };
    let mut import = |limits, text: &str| world.import_text(&types(), text, limits);
    assert!(import(limits, r#"{"Entities":{}}"#).is_ok());
    let error = import(limits, r#"{"Entities":{} }"#).unwrap_err();
    // spec: EXP-05
    assert_eq!(
        error.to_string(),
        "the import: 16 bytes are more than the limit of 15"
    );
    limits.max_bytes = 1000;
    let error = import(limits, r#"{"Entities":{"a":{}}}"#).unwrap_err();
    // spec: EXP-05
    assert_eq!(
        error.to_string(),
        "/Entities/a: nested more deeply than the limit of 2"
    );
    limits.max_depth = usize::MAX;
    limits.max_bytes = usize::MAX;
    for (levels, fits) in [(123, true), (124, false), (300_000, false)] {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let text = format!(r#"{{"Entities":{{"d{levels}":{{"Components":{{"Loot":{deep}}}}}}}}}"#);
        let outcome = import(limits, &text);
        // spec: EXP-05
        assert_eq!(outcome.is_ok(), fits, "{levels} levels");
        if let Err(error) = outcome {
            // spec: EXP-05
            assert!(matches!(
                error.kind,
                ImportErrorKind::TooDeep { limit: 127 }
            ));
            let path = format!("/Entities/d{levels}/Components/Loot{}", "/0".repeat(123));
            assert_eq!(error.path, path);
        }
    }
}

/// A parser's limit protects parsing only. (`serde_json#162`)
#[test]
fn a_value_built_in_code_may_be_too_deep_as_well() {
    let mut deep = Value::Null;
    for _ in 0..300_000 {
        deep = Value::Array(vec![deep]);
    }
    let mut saved = json!({"Entities": {"x": {"Components": {}}}});
    saved["Entities"]["x"]["Components"]["Loot"] = deep;
    let mut world = World::new();
    let error = world.import(&types(), &saved).unwrap_err();
    // spec: EXP-05
    assert!(matches!(
        error.kind,
        ImportErrorKind::TooDeep { limit: 127 }
    ));
    // spec: EXP-05
    assert!(error.path.is_empty() && world.is_empty());
    let mut deep = saved["Entities"]["x"]["Components"]["Loot"].take();
    while let Value::Array(inner) = &mut deep {
        deep = inner.pop().unwrap();
    }

    let mut saved = json!({"Entities": {"x": {"Components": {"Loot": []}}}});
    let place = &mut saved["Entities"]["x"]["Components"]["Loot"];
    (0..122).for_each(|_| *place = json!([place.take()]));
    world.import(&types(), &saved).unwrap();
    // spec: EXP-05
    assert_eq!(
        world.export()["Entities"]["x"]["Components"],
        saved["Entities"]["x"]["Components"]
    );
}

#[test]
fn handles_of_ids_to_come_are_refused_and_slots_may_run_out() {
    let mut world = World::with_slot_limit(3);
    let first = world.spawn(());
    let handle = world.handle(first).unwrap().to_string();
    // spec: EXP-05, ENT-10
    let kind = refused(
        &mut world,
        &entity(&handle, ""),
        &format!("/Entities/{handle}"),
    );
    assert!(matches!(kind, ImportErrorKind::HandleTaken { .. }));
    let three = r#"{"Entities":{"a":{},"b":{},"c":{}}}"#;
    // spec: EXP-05, ENT-03
    let kind = refused(&mut world, three, "/Entities");
    assert!(matches!(kind, ImportErrorKind::OutOfSlots));
    world.despawn(first);
    import_text(&mut world, three).unwrap();
    assert_eq!(world.len(), 3);

    let mut world = World::new();
    let named = world.spawn(());
    let handle = world.handle(named).unwrap().to_string();
    world.despawn(named);
    let reserved = world.reserve_entity().unwrap();
    world.spawn_reserved(reserved, ()).unwrap();
    let coming = world.handle(reserved).unwrap().to_string();
    let mut twin = World::new();
    // spec: EXP-05
    import_text(&mut twin, &entity(&coming, "")).unwrap();
    // spec: EXP-05, ENT-10
    import_text(&mut world, &entity(&handle, "")).unwrap();
    assert!(world.find(&handle).is_some_and(|entity| entity != named));
}

#[test]
fn two_pointers_may_lead_to_one_entity() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Team(Vec<Entity>);
    impl ecs::Component for Team {
        fn type_name() -> &'static str {
            "Team"
        }
        fn export(&self) -> Value {
            json!(self)
        }
        fn entity_fields() -> &'static [&'static str] {
            &["/*", "/0"]
        }
    }
    let types = ecs::ComponentRegistry::new().with::<Team>();
    let mut world = World::new();
    let a = world.spawn_named("a", ()).unwrap();
    world.insert(a, Team(vec![a, a])).unwrap();
    let saved = world.export();
    assert_eq!(
        saved["Entities"]["a"]["Components"]["Team"],
        json!(["a", "a"])
    );
    let mut copy = World::new();
    copy.import(&types, &saved).unwrap();
    // spec: EXP-05, EXP-07
    assert_eq!(copy.export(), saved);
}
