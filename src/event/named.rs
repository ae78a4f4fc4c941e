//! Events that get their name at run time.

use std::sync::Arc;

use serde_json::Value;

/// An event with a name chosen at run time and a JSON payload, for code that has no Rust type in common: scripts,
/// other processes. It is an event like any other type; a reader of it reads those of all names.
///
/// ```
/// use ecs::{NamedEvent, World, json};
///
/// let mut world = World::new();
/// let mut clicks = world.event_reader::<NamedEvent>();
/// world.send_event(NamedEvent::new("OnMouseClick", json!({ "x": 3 })));
/// world.deliver_events();
/// let click = clicks.read(&world)?.next().ok_or("no click")?;
/// assert_eq!((click.name(), &click.payload()["x"]), ("OnMouseClick", &json!(3)));
/// # Ok::<(), ecs::BoxError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NamedEvent {
    name: Arc<str>,
    payload: Value,
}

impl NamedEvent {
    /// An event of this name. A name that is kept as an `Arc<str>` is not copied.
    pub fn new(name: impl Into<Arc<str>>, payload: Value) -> Self {
        Self {
            name: name.into(),
            payload,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says, if its name is this one.
    pub(crate) fn payload_of(&self, name: &str) -> Option<&Value> {
        (*self.name == *name).then_some(&self.payload)
    }

    /// What it says.
    pub fn payload(&self) -> &Value {
        &self.payload
    }
}
