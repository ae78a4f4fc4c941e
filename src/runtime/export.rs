//! A container as JSON.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::context::Context;

impl Context<'_> {
    /// The container as JSON: `{"Handle": …, "Entities": {…}, "Systems": {…}}`, empty parts left out.
    ///
    /// The value of a system is what its `export` returned, and null for the system that is running: it is busy with
    /// this call. [`export_with`](Self::export_with) takes that value from the caller.
    ///
    /// # Panics
    ///
    /// When a user's `export` does; the container is in order then.
    pub fn export(&self) -> Value {
        self.export_with(Value::Null)
    }

    /// As [`export`](Self::export), with the value of the system that is running, often `self.export()`.
    ///
    /// # Panics
    ///
    /// When a user's `export` does; the container is in order then.
    pub fn export_with(&self, running: Value) -> Value {
        let mut export = Map::new();
        export.insert("Handle".to_owned(), Value::from(&*self.shared.handle));
        if let Some(entities) = self.world.export_entities() {
            export.insert("Entities".to_owned(), entities);
        }
        let mut running = Some(running);
        let mut systems = Map::new();
        for info in self.systems() {
            let value = match self.lent.slot(info.key().slot as usize) {
                Some(slot) => slot.unit.as_ref().map(|unit| unit.system.export()),
                None => running.take(),
            };
            systems.insert(
                Arc::as_ref(info.handle()).to_owned(),
                value.unwrap_or_default(),
            );
        }
        if !systems.is_empty() {
            export.insert("Systems".to_owned(), Value::Object(systems));
        }
        Value::Object(export)
    }
}
