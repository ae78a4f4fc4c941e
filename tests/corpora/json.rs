//! JSON values made from a script.

use ecs::Value;
use serde_json::{Map, Number};

use crate::script::Script;

/// Texts that look alike, and what is hard to quote.
pub(crate) const TEXTS: [&str; 12] = [
    "main",
    "s",
    "t",
    "",
    "Main",
    "main ",
    "né\u{0}\n\"\\",
    "destination",
    "system",
    "container",
    "550e8400-e29b-41d4-a716-446655440000",
    "\u{1f600}\u{2028}",
];

pub(crate) fn text(script: &mut Script<'_>) -> String {
    let known = TEXTS[script.below(TEXTS.len())];
    if script.chance(30) {
        let mut changed = known.to_owned();
        changed.push(char::from(script.byte()));
        return changed;
    }
    known.to_owned()
}

fn number(script: &mut Script<'_>) -> Number {
    match script.below(8) {
        0 => script.byte().into(),
        1 => (-i64::from(script.byte())).into(),
        2 => u64::MAX.into(),
        3 => i64::MIN.into(),
        4 => float(-0.0),
        5 => float(f64::MAX),
        6 => float(f64::MIN_POSITIVE / 2.0),
        _ => {
            let bits = (0..8).fold(0, |bits, _| bits << 8 | u64::from(script.byte()));
            float(f64::from_bits(bits))
        }
    }
}

fn float(number: f64) -> Number {
    Number::from_f64(number).unwrap_or(Number::from(7))
}

/// Any value with at most so many levels.
pub(crate) fn value(script: &mut Script<'_>, levels: usize) -> Value {
    match script.below(if levels == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => Value::Bool(script.chance(128)),
        2 => Value::Number(number(script)),
        3 | 4 => Value::String(text(script)),
        5 => (0..script.below(4))
            .map(|_| value(script, levels - 1))
            .collect(),
        _ => Value::Object(object(script, levels - 1)),
    }
}

pub(crate) fn object(script: &mut Script<'_>, levels: usize) -> Map<String, Value> {
    (0..script.below(4))
        .map(|_| (text(script), value(script, levels)))
        .collect()
}

/// Wraps a value in so many arrays.
pub(crate) fn nested(mut value: Value, levels: usize) -> Value {
    for _ in 0..levels {
        value = Value::Array(vec![value]);
    }
    value
}

/// The levels of a value, counted the plain way.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
