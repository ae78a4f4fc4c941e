//! What the library asks of JSON values that others built.

use serde_json::Value;

/// The deepest nesting that is safe to walk, print, compare and drop the ordinary way, and that the parser reads.
pub(crate) const HIGHEST_DEPTH: usize = 127;

/// The name of a value's JSON type, as error texts give it.
pub(crate) const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value has at most this many levels. It calls itself no deeper than that, at most
/// [`HIGHEST_DEPTH`] times, and allocates nothing.
pub(crate) fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(elements) => {
            levels > 0
                && elements
                    .iter()
                    .all(|element| is_within(element, levels - 1))
        }
        Value::Object(fields) => {
            levels > 0 && fields.values().all(|field| is_within(field, levels - 1))
        }
        _ => true,
    }
}

/// Drops a value of any depth without recursion: what lies below a level is moved out before the level is dropped.
pub(crate) fn take_apart(value: Value) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(elements) => waiting.extend(elements),
            Value::Object(fields) => waiting.extend(fields.into_iter().map(|(_, field)| field)),
            _ => {}
        }
    }
}
