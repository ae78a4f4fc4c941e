//! Components that are exported and imported, for the tests of both.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::collections::BTreeMap;

use ecs::{Component, ComponentRegistry, Entity, Storage, Value, World, json};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    pub x: f64,
    pub y: f64,
}

impl Component for Position {
    fn type_name() -> &'static str {
        "Position"
    }

    fn export(&self) -> Value {
        json!(self)
    }
}

/// Accepts null for its float.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heat(pub Option<f64>);

impl Component for Heat {
    fn type_name() -> &'static str {
        "Heat"
    }

    fn export(&self) -> Value {
        json!(self)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label(pub String);

impl Component for Label {
    fn type_name() -> &'static str {
        "Étiquette\u{1}"
    }

    fn export(&self) -> Value {
        json!(self)
    }

    fn storage() -> Storage {
        Storage::Sparse
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tag {}

impl Component for Tag {
    fn type_name() -> &'static str {
        "Tag"
    }

    fn export(&self) -> Value {
        json!({})
    }
}

/// Holds entities in many places.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Links {
    pub target: Option<Entity>,
    pub list: Vec<Option<Entity>>,
    pub map: BTreeMap<String, Entity>,
    pub nested: Nested,
    /// Looks like an id, but is none.
    pub count: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nested {
    pub pairs: Vec<Pair>,
    #[serde(rename = "a/b~c")]
    pub odd: Option<Entity>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub left: Entity,
    pub right: Option<Entity>,
}

impl Component for Links {
    fn type_name() -> &'static str {
        "Links"
    }

    fn export(&self) -> Value {
        json!(self)
    }

    fn entity_fields() -> &'static [&'static str] {
        &[
            "/target",
            "/list/*",
            "/map/*",
            "/nested/pairs/*/left",
            "/nested/pairs/1/right",
            "/nested/a~1b~0c",
            "/no/such/place",
        ]
    }
}

/// The whole component is an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parent(pub Entity);

impl Component for Parent {
    fn type_name() -> &'static str {
        "Parent"
    }

    fn export(&self) -> Value {
        json!(self)
    }

    fn entity_fields() -> &'static [&'static str] {
        &[""]
    }
}

pub fn types() -> ComponentRegistry {
    ComponentRegistry::new()
        .with::<Position>()
        .with::<Heat>()
        .with::<Label>()
        .with::<Tag>()
        .with::<Links>()
        .with::<Parent>()
        .with_named::<Position>("Goal")
        .with_data("Loot")
}

/// The exported text, streamed.
pub fn text(world: &World) -> String {
    let mut text = Vec::new();
    world.export_to(&mut text, ecs::Dangling::Error).unwrap();
    String::from_utf8(text).unwrap()
}
