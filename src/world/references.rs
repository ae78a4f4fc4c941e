//! Entities in component fields: ids in the component, handles in the export.

use serde_json::Value;

/// Calls `map` with the value at each place that a JSON pointer names, and with the path to it; `*` stands for every
/// element of an array or member of an object.
pub(super) fn visit<E>(
    value: &mut Value,
    pointer: &str,
    map: &mut impl FnMut(&mut Value, &str) -> Result<(), E>,
) -> Result<(), E> {
    walk(value, pointer, &mut String::new(), map)
}

fn walk<E>(
    value: &mut Value,
    pointer: &str,
    path: &mut String,
    map: &mut impl FnMut(&mut Value, &str) -> Result<(), E>,
) -> Result<(), E> {
    let Some(rest) = pointer.strip_prefix('/') else {
        return map(value, path);
    };
    let (segment, rest) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let length = path.len();
    match value {
        Value::Array(elements) if segment == "*" => {
            for (at, element) in elements.iter_mut().enumerate() {
                push_segment(path, &at.to_string());
                walk(element, rest, path, map)?;
                path.truncate(length);
            }
        }
        Value::Object(members) if segment == "*" => {
            for (key, member) in members.iter_mut() {
                push_segment(path, key);
                walk(member, rest, path, map)?;
                path.truncate(length);
            }
        }
        Value::Array(elements) => {
            if let Some(element) = segment
                .parse::<usize>()
                .ok()
                .and_then(|at| elements.get_mut(at))
            {
                push_segment(path, segment);
                walk(element, rest, path, map)?;
            }
        }
        Value::Object(members) => {
            let key = segment.replace("~1", "/").replace("~0", "~");
            if let Some(member) = members.get_mut(&key) {
                push_segment(path, &key);
                walk(member, rest, path, map)?;
            }
        }
        _ => {}
    }
    path.truncate(length);
    Ok(())
}

/// Adds a step to a JSON pointer.
pub(super) fn push_segment(path: &mut String, segment: &str) {
    path.push('/');
    if segment.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        path.push_str(&segment.replace('~', "~0").replace('/', "~1"));
    } else {
        path.push_str(segment);
    }
}

/// A JSON pointer of these steps.
pub(super) fn pointer(segments: &[&str]) -> String {
    let mut path = String::new();
    for segment in segments {
        push_segment(&mut path, segment);
    }
    path
}
