//! Messages, well-formed and not, to a manager and to a container, against the table of the message format.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ecs::{Container, Manager, MessageError, MessageErrorKind, MessageLimits, Register, Value};
use ecs::{Context, System, SystemResult};

use crate::json::{self, depth, type_name};
use crate::script::Script;

/// A container and a system.
type Place = (&'static str, &'static str);

const PLACES: [Place; 4] = [
    ("main", "s"),
    ("main", "né\u{0}\n\"\\"),
    ("Main", "s"),
    ("Main", "t"),
];

/// What arrived where, in order.
type Arrivals = BTreeMap<Place, Vec<Value>>;

/// Whom a message is given to.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Manager,
    /// The container "main".
    Container,
}

pub(crate) fn run_manager(bytes: &[u8]) {
    run(bytes, Asked::Manager);
}

pub(crate) fn run_container(bytes: &[u8]) {
    run(bytes, Asked::Container);
}

struct Reader(Place, Arc<Mutex<Arrivals>>);

impl System for Reader {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        while let Some(message) = cx.this.next_message() {
            self.1
                .lock()
                .unwrap()
                .entry(self.0)
                .or_default()
                .push(message);
        }
        Ok(())
    }
}

/// Sends all messages that the bytes describe, and compares each answer, and at the end everything that arrived, with
/// what the table says.
fn run(bytes: &[u8], asked: Asked) {
    let manager = Manager::new();
    let arrivals = Arc::new(Mutex::new(Arrivals::new()));
    for place in PLACES {
        let container = manager.container(place.0).unwrap();
        let reader = Reader(place, Arc::clone(&arrivals));
        let mut claim = container.claim().unwrap();
        claim
            .add_system(reader.named(place.1).every_pass())
            .unwrap();
    }
    let mut expected = Arrivals::new();
    for message in messages(bytes) {
        let verdict = verdict(&message, asked);
        let main = manager.container("main").unwrap();
        check_alone(&message, asked, &verdict);
        let answer = match asked {
            Asked::Manager => manager.message_submit(message.clone()),
            Asked::Container => main.message_submit(message.clone()),
        };
        check_answer(answer, &message, &verdict);
        if asked == Asked::Container {
            direct(&main, &message, &mut expected);
        }
        if let Ok(place) = verdict {
            expected.entry(place).or_default().push(message);
        }
    }
    for container in manager.containers() {
        container.update().unwrap();
    }
    // spec: ERR-01, DEL-01, DEL-02, MSG-12
    assert_eq!(*arrivals.lock().unwrap(), expected);
}

/// To a mailbox of its own a message needs no destination, only the depth counts.
fn direct(main: &Container, message: &Value, expected: &mut Arrivals) {
    let Err(error) = main.mailbox("s").unwrap().send(message.clone()) else {
        // spec: MSG-15
        assert!(depth(message) <= 64);
        expected.entry(PLACES[0]).or_default().push(message.clone());
        return;
    };
    // spec: MSG-16
    assert_eq!(error.kind(), ecs::SendErrorKind::TooDeep);
    assert!(depth(message) > 64);
    let returned = (depth(message) <= 127).then(|| message.clone());
    assert_eq!(error.into_message(), returned);
}

/// The check by itself finds what the sending finds, but for names that lead nowhere.
fn check_alone(message: &Value, asked: Asked, verdict: &Result<Place, String>) {
    let limits = MessageLimits::default();
    let found = match asked {
        Asked::Manager => ecs::check_manager_message(message, limits)
            .map(|(container, system)| (Some(container.to_owned()), system.to_owned())),
        Asked::Container => {
            ecs::check_container_message(message, limits).map(|system| (None, system.to_owned()))
        }
    };
    match (found, verdict) {
        (Err(kind), Err(text)) => assert!(text.ends_with(&format!(": {kind}")), "{kind}: {text}"),
        (Ok((container, system)), Ok(place)) => {
            assert!(container.is_none_or(|container| container == place.0));
            assert_eq!(system, place.1);
        }
        // spec: MSG-13
        (Ok(_), Err(text)) => assert!(text.ends_with(" not found."), "{text}"),
        (Err(kind), Ok(_)) => panic!("{kind}, of a message that should pass: {message}"),
    }
}

fn check_answer(
    answer: Result<(), MessageError>,
    message: &Value,
    verdict: &Result<Place, String>,
) {
    match (answer, verdict) {
        (Ok(()), Ok(_)) => {}
        (Err(error), Err(text)) => {
            // spec: ERR-02, ERR-03, MSG-10
            assert_eq!(&error.to_string(), text);
            assert_eq!(
                matches!(error.kind(), MessageErrorKind::TooDeep),
                text.ends_with("deeply")
            );
            let returned = (depth(message) <= 127).then(|| message.clone());
            assert_eq!(error.into_message(), returned, "handed back");
        }
        (answer, verdict) => panic!("{answer:?} instead of {verdict:?}: {message}"),
    }
}

/// The table of `message.destination`, row by row: where the message goes, or the text of the error.
fn verdict(message: &Value, asked: Asked) -> Result<Place, String> {
    let me = match asked {
        Asked::Manager => "ecs::Manager::message_submit()",
        Asked::Container => "ecs::Container(\"main\")::message_submit()",
    };
    let refuse = |condition: String| Err(format!("{me}: {condition}"));
    // spec: MSG-01
    let Some(fields) = message.as_object() else {
        let got = type_name(message);
        return refuse(format!("message must be a JSON object, got {got}"));
    };
    // spec: MSG-02
    let Some(destination) = fields.get("destination") else {
        return refuse("message.destination is missing".to_owned());
    };
    // spec: MSG-03
    if !destination.is_object() {
        let got = type_name(destination);
        return refuse(format!(
            "message.destination must be a JSON object, got {got}"
        ));
    }
    // spec: MSG-04, MSG-05, MSG-06, MSG-07, MSG-08, MSG-09, MSG-11
    let mut names = [String::from("main"), String::new()];
    for (name, key) in names.iter_mut().zip(["container", "system"]) {
        if key == "container" && asked == Asked::Container {
            continue;
        }
        match destination.get(key) {
            None => return refuse(format!("message.destination.{key} is missing")),
            Some(Value::String(text)) if text.is_empty() => {
                return refuse(format!("message.destination.{key} is empty"));
            }
            Some(Value::String(text)) => name.clone_from(text),
            Some(other) => {
                let got = type_name(other);
                return refuse(format!("message.destination.{key} must be text, got {got}"));
            }
        }
    }
    // spec: MSG-16
    if depth(message) > 64 {
        return refuse("message is nested too deeply".to_owned());
    }
    let [container, system] = names;
    // spec: MSG-13
    if !PLACES.iter().any(|place| place.0 == container) {
        return refuse(format!("Container {container} not found."));
    }
    let place = PLACES
        .iter()
        .find(|place| place.0 == container && place.1 == system);
    place.copied().ok_or_else(|| {
        format!("ecs::Container({container:?})::message_submit(): System {system} not found.")
    })
}

/// The bytes as one text, and as a script of near misses.
fn messages(bytes: &[u8]) -> Vec<Value> {
    let mut messages: Vec<Value> = parse(bytes).into_iter().collect();
    let mut script = Script::new(bytes);
    while !script.is_empty() && messages.len() < 20 {
        messages.push(near_miss(&mut script));
    }
    messages
}

/// The text as a message, if it is one. The parser by itself, without limits but its own 127 levels, is the oracle.
fn parse(text: &[u8]) -> Option<Value> {
    let limits = MessageLimits::default();
    let parsed = ecs::parse_message(text, limits);
    let plain = serde_json::from_slice::<Value>(text);
    let kind = parsed.as_ref().err().map(MessageError::kind);
    // spec: MSG-14
    match (kind, &plain) {
        (Some(MessageErrorKind::TooLong { length, limit }), _) => {
            assert_eq!((*length, *limit), (text.len(), limits.max_bytes));
            assert!(length > limit);
        }
        (Some(MessageErrorKind::TooDeep), Ok(value)) => assert!(depth(value) > 64),
        (Some(MessageErrorKind::TooDeep | MessageErrorKind::NotJson { .. }), Err(_)) => {}
        (None, Ok(value)) => {
            assert!(depth(value) <= 64);
            assert_eq!(parsed.as_ref().ok(), Some(value));
        }
        (kind, plain) => panic!("{kind:?} for {plain:?}"),
    }
    plain.ok()
}

/// A message that is right, or wrong in one place or another.
fn near_miss(script: &mut Script<'_>) -> Value {
    let place = PLACES[script.below(PLACES.len())];
    let mut destination = json::object(script, 1);
    for (key, name) in [("container", place.0), ("system", place.1)] {
        match script.below(12) {
            0 => {}
            1 => _ = destination.insert(key.to_uppercase(), name.into()),
            2 => _ = destination.insert(key.to_owned(), json::value(script, 2)),
            3 => _ = destination.insert(key.to_owned(), json::text(script).into()),
            _ => _ = destination.insert(key.to_owned(), name.into()),
        }
    }
    let destination = match script.below(12) {
        0 => json::value(script, 2),
        1 => Value::Array(vec![Value::Object(destination)]),
        2 => Value::String(Value::Object(destination).to_string()),
        _ => Value::Object(destination),
    };
    let mut fields = json::object(script, 2);
    match script.below(12) {
        0 => {}
        1 => _ = fields.insert("Destination".to_owned(), destination),
        _ => _ = fields.insert("destination".to_owned(), destination),
    }
    if script.chance(40) {
        // Around the limit, around the highest one there is, and beyond.
        let levels = [62, 63, 64, 126, 127, 400][script.below(6)];
        fields.insert("deep".to_owned(), json::nested(Value::Null, levels));
    }
    match script.below(12) {
        0 => json::value(script, 2),
        1 => Value::Array(vec![Value::Object(fields)]),
        _ => Value::Object(fields),
    }
}
