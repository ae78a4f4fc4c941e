//! JSON text to a value, refusing what a lenient reader would repair: keys that stand twice, and deep nesting.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::base::json::HIGHEST_DEPTH;
use crate::world::error::{ImportError, ImportErrorKind};
use crate::world::references::push_segment;

/// Parses a text; the fault names its place.
pub(super) fn parse(text: &str, max_depth: usize) -> Result<Value, ImportError> {
    let max_depth = max_depth.min(HIGHEST_DEPTH);
    let context = Context {
        path: RefCell::default(),
        fault: RefCell::default(),
        max_depth,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let parsed = Strict {
        context: &context,
        depth: 0,
    }
    .deserialize(&mut reader);
    let parsed = parsed.and_then(|value| reader.end().map(|()| value));
    parsed.map_err(|error| {
        context.fault.take().unwrap_or_else(|| {
            // The parser's own limit is met first where ours is as high.
            let kind = if error.to_string().starts_with("recursion limit") {
                ImportErrorKind::TooDeep { limit: max_depth }
            } else {
                ImportErrorKind::NotJson(error)
            };
            ImportError {
                path: context.path.take(),
                kind,
            }
        })
    })
}

struct Context {
    /// Where the reader is.
    path: RefCell<String>,
    fault: RefCell<Option<ImportError>>,
    max_depth: usize,
}

impl Context {
    fn blame<E: serde::de::Error>(&self, kind: ImportErrorKind) -> E {
        let path = self.path.borrow().clone();
        let error = E::custom(&kind);
        self.fault
            .borrow_mut()
            .get_or_insert(ImportError { path, kind });
        error
    }
}

#[derive(Clone, Copy)]
struct Strict<'c> {
    context: &'c Context,
    depth: usize,
}

impl Strict<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        let limit = self.context.max_depth;
        if self.depth == limit {
            return Err(self.context.blame(ImportErrorKind::TooDeep { limit }));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        let length = self.context.path.borrow().len();
        loop {
            push_segment(&mut self.context.path.borrow_mut(), &list.len().to_string());
            match elements.next_element_seed(inner)? {
                Some(element) => list.push(element),
                None => break,
            }
            self.context.path.borrow_mut().truncate(length);
        }
        self.context.path.borrow_mut().truncate(length);
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        let length = self.context.path.borrow().len();
        while let Some(key) = members.next_key::<String>()? {
            push_segment(&mut self.context.path.borrow_mut(), &key);
            match map.entry(key) {
                Entry::Vacant(place) => place.insert(members.next_value_seed(inner)?),
                Entry::Occupied(place) => {
                    let key = place.key().clone();
                    return Err(self.context.blame(ImportErrorKind::DuplicateKey { key }));
                }
            };
            self.context.path.borrow_mut().truncate(length);
        }
        Ok(Value::Object(map))
    }
}
