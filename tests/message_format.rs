//! What a message must look like, and what is said to one that does not; text from outside; depth.

use ecs::{
    Inbox, MessageErrorKind, MessageLimits, SendErrorKind, check_container_message,
    check_manager_message, parse_message,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn limits() -> MessageLimits {
    MessageLimits::default()
}

fn manager(message: &Value) -> Result<(&str, &str), String> {
    check_manager_message(message, limits()).map_err(|kind| kind.to_string())
}

fn container(message: &Value) -> Result<&str, String> {
    check_container_message(message, limits()).map_err(|kind| kind.to_string())
}

/// One value of every JSON type, with the type's name.
fn types() -> [(Value, &'static str); 6] {
    [
        (json!(null), "null"),
        (json!(true), "boolean"),
        (json!(1.5), "number"),
        (json!("text"), "string"),
        (json!([]), "array"),
        (json!({}), "object"),
    ]
}

/// A value nested so deep: arrays and objects in turn.
fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, level| {
        if level % 2 == 0 {
            Value::Array(vec![inner])
        } else {
            Value::Object(Map::from_iter([("k".to_owned(), inner)]))
        }
    })
}

/// A well-formed message, the whole of it nested so deep.
fn message_of(levels: usize) -> Value {
    let mut message = json!({ "destination": { "container": "c", "system": "s" } });
    message["deep"] = nested(levels - 1);
    message
}

#[test]
fn a_message_is_an_object_with_a_destination_object() {
    for (message, name) in types() {
        let expected = match name {
            "object" => "message.destination is missing".to_owned(),
            _ => format!("message must be a JSON object, got {name}"),
        };
        // spec: MSG-01, MSG-02, MSG-10, ERR-03
        assert_eq!(manager(&message), Err(expected.clone()));
        // spec: MSG-01, MSG-02, MSG-10, ERR-03
        assert_eq!(container(&message), Err(expected));
    }
    for (destination, name) in types() {
        let message = json!({ "destination": destination });
        let expected = |field: &str| match name {
            "object" => format!("message.destination.{field} is missing"),
            _ => format!("message.destination must be a JSON object, got {name}"),
        };
        // spec: MSG-03, MSG-04
        assert_eq!(manager(&message), Err(expected("container")));
        // spec: MSG-03, MSG-07
        assert_eq!(container(&message), Err(expected("system")));
    }
}

#[test]
fn the_container_is_text_for_a_manager_and_not_read_by_a_container() {
    for (value, name) in types() {
        let message = json!({ "destination": { "container": value, "system": "s" } });
        if name == "string" {
            assert_eq!(manager(&message), Ok(("text", "s")));
        } else {
            let expected = format!("message.destination.container must be text, got {name}");
            // spec: MSG-05
            assert_eq!(manager(&message), Err(expected));
        }
        // spec: MSG-11
        assert_eq!(container(&message), Ok("s"));
    }
    let empty = json!({ "destination": { "container": "", "system": "s" } });
    // spec: MSG-06
    assert_eq!(
        manager(&empty),
        Err("message.destination.container is empty".to_owned())
    );
    // spec: MSG-11
    assert_eq!(container(&empty), Ok("s"));
}

#[test]
fn the_system_is_text() {
    let absent = json!({ "destination": { "container": "c" } });
    // spec: MSG-07
    assert_eq!(
        manager(&absent),
        Err("message.destination.system is missing".to_owned())
    );
    assert_eq!(
        container(&absent),
        Err("message.destination.system is missing".to_owned())
    );
    for (value, name) in types() {
        let message = json!({ "destination": { "container": "c", "system": value } });
        if name == "string" {
            assert_eq!(
                (manager(&message), container(&message)),
                (Ok(("c", "text")), Ok("text"))
            );
        } else {
            let expected = format!("message.destination.system must be text, got {name}");
            // spec: MSG-08
            assert_eq!(manager(&message), Err(expected.clone()));
            // spec: MSG-08
            assert_eq!(container(&message), Err(expected));
        }
    }
    let empty = json!({ "destination": { "container": "c", "system": "" } });
    // spec: MSG-09
    assert_eq!(
        manager(&empty),
        Err("message.destination.system is empty".to_owned())
    );
    // spec: MSG-09
    assert_eq!(
        container(&empty),
        Err("message.destination.system is empty".to_owned())
    );
}

#[test]
fn the_first_failure_in_the_order_of_the_table_is_named() {
    // Each message has a later fault as well: it is too deep, and lacks what the later rows ask for.
    let deep = nested(101);
    let refused = |message: &Value| check_manager_message(message, limits()).unwrap_err();
    // spec: MSG-01
    assert_eq!(
        refused(&deep),
        MessageErrorKind::NotAnObject { got: "array" }
    );
    let mut message = json!({ "deep": deep });
    // spec: MSG-02
    assert_eq!(refused(&message), MessageErrorKind::DestinationMissing);
    message["destination"] = deep.clone();
    // spec: MSG-03
    assert_eq!(
        refused(&message),
        MessageErrorKind::DestinationNotAnObject { got: "array" }
    );
    message["destination"] = json!({ "system": deep });
    // spec: MSG-04
    assert_eq!(refused(&message), MessageErrorKind::ContainerMissing);
    message["destination"]["container"] = json!(7);
    // spec: MSG-05
    assert_eq!(
        refused(&message),
        MessageErrorKind::ContainerNotText { got: "number" }
    );
    message["destination"]["container"] = json!("");
    // spec: MSG-06
    assert_eq!(refused(&message), MessageErrorKind::ContainerEmpty);
    message["destination"] = json!({ "container": "c" });
    // spec: MSG-07
    assert_eq!(refused(&message), MessageErrorKind::SystemMissing);
    message["destination"]["system"] = json!(null);
    // spec: MSG-08
    assert_eq!(
        refused(&message),
        MessageErrorKind::SystemNotText { got: "null" }
    );
    message["destination"]["system"] = json!("");
    // spec: MSG-09
    assert_eq!(refused(&message), MessageErrorKind::SystemEmpty);
    message["destination"]["system"] = json!("s");
    // spec: MSG-16
    assert_eq!(refused(&message), MessageErrorKind::TooDeep);
    message["deep"].take();
    assert_eq!(manager(&message), Ok(("c", "s")));
}

#[test]
fn odd_handles_are_text_like_any_other() {
    for name in ["\0", " ", "\"quoted\"", "ü/😀", "not found.\n"] {
        let message = json!({ "destination": { "container": name, "system": name } });
        assert_eq!(manager(&message), Ok((name, name)));
    }
}

#[test]
fn depth_counts_arrays_and_objects_of_the_whole_message() {
    for levels in [2, 63, 64] {
        assert_eq!(manager(&message_of(levels)), Ok(("c", "s")));
    }
    for levels in [65, 127, 128, 1000] {
        // spec: MSG-14, MSG-16
        assert_eq!(
            manager(&message_of(levels)),
            Err("message is nested too deeply".to_owned())
        );
        // spec: MSG-14, MSG-16
        assert_eq!(
            container(&message_of(levels)),
            Err("message is nested too deeply".to_owned())
        );
    }
    let highest = MessageLimits {
        max_depth: usize::MAX,
        ..limits()
    };
    let depth = MessageLimits::HIGHEST_DEPTH;
    assert!(check_manager_message(&message_of(depth), highest).is_ok());
    assert!(check_manager_message(&message_of(depth + 1), highest).is_err());
    let flat = MessageLimits {
        max_depth: 0,
        ..limits()
    };
    assert!(check_manager_message(&message_of(2), flat).is_err());
    let mut wide = message_of(2);
    wide["list"] = json!(vec![nested(60); 100]);
    assert!(manager(&wide).is_ok());
}

#[test]
fn a_value_300_000_deep_overflows_no_stack() {
    // As little stack as a thread may reasonably have: one frame for each level would need far more.
    let small = std::thread::Builder::new().stack_size(256 * 1024);
    let thread = small.spawn(|| {
        let inbox = Inbox::new("s", limits());
        for arrays_only in [true, false] {
            let deep = if arrays_only {
                (0..300_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
            } else {
                nested(300_000)
            };
            let mut message = json!({ "destination": { "container": "c", "system": "s" } });
            message["deep"] = deep;
            // spec: MSG-14
            assert_eq!(
                manager(&message),
                Err("message is nested too deeply".to_owned())
            );
            let error = inbox.mailbox().send(message).unwrap_err();
            // spec: MSG-16
            assert_eq!(
                error.to_string(),
                "ecs::Mailbox(\"s\")::send(): message is nested too deeply"
            );
            assert_eq!(error.kind(), SendErrorKind::TooDeep);
            // What could overflow the stack of whoever drops it is not handed back.
            assert_eq!(error.into_message(), None);
        }
        let text = "[".repeat(300_000);
        let unlimited = MessageLimits {
            max_bytes: usize::MAX,
            max_depth: usize::MAX,
        };
        // spec: MSG-14
        assert_eq!(
            *parse_message(text, unlimited).unwrap_err().kind(),
            MessageErrorKind::TooDeep
        );
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn text_from_outside_has_a_limit_of_length() {
    let fitting = format!("\"{}\"", "x".repeat(64 * 1024 - 2));
    assert!(parse_message(&fitting, limits()).is_ok());
    let error = parse_message(format!("{fitting} "), limits()).unwrap_err();
    // spec: MSG-14
    assert_eq!(
        error.to_string(),
        "ecs::parse_message(): message is 65537 bytes long, more than 65536"
    );
    assert_eq!(error.into_message(), None);
    let narrow = MessageLimits {
        max_bytes: 4,
        ..limits()
    };
    assert!(parse_message("null", narrow).is_ok());
    // spec: MSG-14
    assert_eq!(
        *parse_message(" null", narrow).unwrap_err().kind(),
        MessageErrorKind::TooLong {
            length: 5,
            limit: 4
        }
    );
}

#[test]
fn text_from_outside_has_a_limit_of_depth() {
    let arrays = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let objects = |levels| format!("{}1{}", "{\"k\":".repeat(levels), "}".repeat(levels));
    for text in [
        arrays(64),
        objects(64),
        format!("[{}]", vec![arrays(63); 50].join(",")),
    ] {
        assert!(parse_message(&text, limits()).is_ok(), "{text}");
    }
    for text in [
        arrays(65),
        objects(65),
        "[".repeat(65),
        format!("[[],{}]", objects(64)),
    ] {
        let error = parse_message(&text, limits()).unwrap_err();
        // spec: MSG-14, MSG-16
        assert_eq!(
            error.to_string(),
            "ecs::parse_message(): message is nested too deeply"
        );
    }
    let highest = MessageLimits {
        max_depth: 1_000_000,
        ..limits()
    };
    let depth = MessageLimits::HIGHEST_DEPTH;
    assert!(parse_message(arrays(depth), highest).is_ok());
    let error = parse_message(arrays(depth + 1), highest).unwrap_err();
    assert_eq!(*error.kind(), MessageErrorKind::TooDeep);
    // Brackets in texts open nothing, whatever escapes stand before their end.
    for inner in ["[[[[", r"\\", r#"\"[[[["#, r#"\\\"{{{{"#, r"\u005b[[[["] {
        let text = format!("[\"{inner}\",\"[[[[\",\"{inner}\"]");
        let shallow = MessageLimits {
            max_depth: 1,
            ..limits()
        };
        assert!(parse_message(&text, shallow).is_ok(), "{text}");
    }
}

#[test]
fn odd_text_from_outside_is_a_value_or_a_clean_error() {
    let parsed = |text: &str| parse_message(text, limits());
    // spec: MSG-14
    assert_eq!(
        parsed(r#"{"a":1,"b":0,"a":2}"#).unwrap(),
        json!({ "a": 2, "b": 0 })
    );
    let twice = r#"{"destination":7,"destination":{"container":"c","system":"x","system":"s"}}"#;
    // spec: MSG-14
    assert_eq!(manager(&parsed(twice).unwrap()), Ok(("c", "s")));
    // spec: MSG-14
    assert_eq!(
        parsed("123456789012345678901234567890").unwrap(),
        json!(1.234_567_890_123_456_8e29)
    );
    assert_eq!(parsed("18446744073709551615").unwrap(), json!(u64::MAX));
    assert_eq!(
        parsed("-0.0").unwrap().as_f64().map(f64::is_sign_negative),
        Some(true)
    );
    assert_eq!(parsed("1e-400").unwrap(), json!(0.0));
    for text in [
        "1e400",
        "-1e400",
        r#""\ud800""#,
        r#""\udc00 ""#,
        r#""\ud800A""#,
        r#"{"\udfff":1}"#,
        "",
        " ",
        "nul",
        "{",
        "[1,]",
        "{'a':1}",
        "NaN",
        "Infinity",
        "01",
        "1 2",
        "{}]",
        "]]]]",
        "\u{feff}{}",
        "\"\n\"",
        "\"unfinished",
        "\"unfinished\\",
    ] {
        let error = parsed(text).unwrap_err();
        // spec: MSG-14
        assert!(
            matches!(error.kind(), MessageErrorKind::NotJson { .. }),
            "{text:?}: {error}"
        );
        let said = error.to_string();
        assert!(
            said.starts_with("ecs::parse_message(): message is not JSON: "),
            "{said}"
        );
        assert!(!said.contains('\n'), "{said}");
    }
    for bytes in [&b"\xff"[..], b"\"\xed\xa0\x80\"", b"\"\xc3", b"[\x80]"] {
        let error = parse_message(bytes, limits()).unwrap_err();
        // spec: MSG-14
        assert!(
            matches!(error.kind(), MessageErrorKind::NotJson { .. }),
            "{error}"
        );
    }
}

#[test]
fn errors_can_travel() {
    fn travels<E: std::error::Error + Send + Sync + 'static>() {}
    // spec: ERR-04
    travels::<ecs::MessageError>();
    travels::<MessageErrorKind>();
    travels::<ecs::SendError>();
    travels::<ecs::ParseUuidError>();
    let error = parse_message("[", limits()).unwrap_err();
    assert!(format!("{error:?}").contains("NotJson"));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        r#"[\[\]{}\\"]{0,8}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        let key = prop_oneof![
            any::<String>(),
            Just("container".to_owned()),
            Just("system".to_owned())
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn any_value_passes_when_its_depth_is_allowed(value in values(), max_depth in 0..10_usize) {
        let limits = MessageLimits { max_depth, ..limits() };
        let parsed = parse_message(value.to_string(), limits);
        let mut inbox = Inbox::new("s", limits);
        let sent = inbox.mailbox().send(value.clone());
        if depth(&value) <= max_depth {
            // spec: MSG-14
            prop_assert_eq!(&parsed.unwrap(), &value);
            prop_assert!(sent.is_ok());
            inbox.collect();
            // spec: MSG-12
            prop_assert_eq!(inbox.pop(), Some(value));
        } else {
            // spec: MSG-14
            let refused = parsed.unwrap_err();
            prop_assert_eq!(refused.kind(), &MessageErrorKind::TooDeep);
            prop_assert_eq!(sent.unwrap_err().into_message(), Some(value));
        }
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, text in r#"[\[\]{}",:\\0-9eu.tfn-]{0,60}"#) {
        for text in [&bytes[..], text.as_bytes()] {
            let plain = serde_json::from_slice::<Value>(text);
            // spec: MSG-14
            match parse_message(text, limits()) {
                Ok(value) => prop_assert_eq!(value, plain.unwrap()),
                Err(error) => prop_assert!(plain.is_err() || plain.is_ok_and(|v| depth(&v) > 64), "{error}"),
            }
        }
    }

    #[test]
    fn both_checks_agree_on_any_value(value in values()) {
        let wrapped = json!({ "destination": value });
        for message in [&value, &wrapped] {
            if let Ok((_, system)) = check_manager_message(message, limits()) {
                prop_assert_eq!(check_container_message(message, limits()), Ok(system));
            }
        }
    }
}
