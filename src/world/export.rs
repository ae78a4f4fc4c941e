//! The world as JSON.

use std::cell::RefCell;
use std::io;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::World;
use super::error::ExportError;
use super::key::EntityKey;
use super::references;
use crate::base::entity::Entity;
use crate::store::Store;
use crate::store::handles::EntityHandle;

/// What becomes of a reference to an entity that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dangling {
    /// It becomes null.
    #[default]
    Null,
    /// It is an error.
    Error,
}

impl World {
    /// All entities with their components as JSON: `{"Entities": {handle: {"Handle": …, "Components": {…}}}}`.
    ///
    /// Keys are sorted by their bytes, so equal worlds give equal text, whatever the order they were built in.
    /// What is empty is left out. References to entities that are gone become null.
    ///
    /// # Panics
    /// When a component's `export` does.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// world.spawn_named("door", Health(7))?;
    /// let expected = json!({"Entities": {"door": {"Components": {"Health": 7}, "Handle": "door"}}});
    /// assert_eq!(world.export(), expected);
    /// # Ok::<(), ecs::EntityError>(())
    /// ```
    pub fn export(&self) -> Value {
        let mut object = Map::new();
        object.extend(
            self.export_entities()
                .map(|entities| ("Entities".to_owned(), entities)),
        );
        Value::Object(object)
    }

    /// One entity as JSON: `{"Handle": …, "Components": {…}}`; `None` when it is not alive.
    pub fn export_entity(&self, key: impl EntityKey) -> Option<Value> {
        let entity = key
            .find(&self.store)
            .filter(|entity| self.store.entities.is_live(*entity))?;
        let fault = RefCell::new(None);
        let handle = self.store.handles.of(entity, &self.store.entities);
        serde_json::to_value(EntityExport {
            store: &self.store,
            entity,
            handle: &handle,
            dangling: Dangling::Null,
            fault: &fault,
        })
        .ok()
    }

    /// Writes what [`export`](Self::export) gives, without building it first: one component at a time.
    ///
    /// # Errors
    /// [`ExportError::Write`], and [`ExportError::DanglingReference`] where `dangling` asks for it; what was
    /// written until then stays written.
    pub fn export_to(&self, writer: impl io::Write, dangling: Dangling) -> Result<(), ExportError> {
        let export = EntitiesExport::new(self, dangling);
        let document = WorldExport(&export);
        export.finish(serde_json::to_writer(writer, &document))
    }

    /// The `Entities` of an export; `None` when there are none.
    pub(crate) fn export_entities(&self) -> Option<Value> {
        let export = EntitiesExport::new(self, Dangling::Null);
        (!self.is_empty()).then(|| serde_json::to_value(&export).unwrap_or_default())
    }
}

struct WorldExport<'a, 'w>(&'a EntitiesExport<'w>);

impl Serialize for WorldExport<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.0.is_empty() {
            map.serialize_entry("Entities", self.0)?;
        }
        map.end()
    }
}

/// The `Entities` object of an export, to be serialised.
pub(crate) struct EntitiesExport<'w> {
    store: &'w Store,
    entities: Vec<(EntityHandle<'w>, Entity)>,
    /// The order of the entities, sorted by handle: of each the first bytes that not all have, which decide most
    /// comparisons, and its place in `entities`.
    order: Vec<(u64, u32)>,
    dangling: Dangling,
    fault: RefCell<Option<ExportError>>,
}

/// The first eight bytes as a number in the order of the bytes; a shorter text ends in noughts.
fn first_bytes(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(text) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

/// How many bytes all texts begin with alike.
fn shared_bytes<'a>(mut texts: impl Iterator<Item = &'a [u8]>) -> usize {
    let Some(first) = texts.next() else {
        return 0;
    };
    texts.fold(first.len(), |shared, text| {
        let alike = first[..shared].iter().zip(text);
        alike.take_while(|(a, b)| a == b).count()
    })
}

impl<'w> EntitiesExport<'w> {
    pub(crate) fn new(world: &'w World, dangling: Dangling) -> Self {
        let entities: Vec<_> = world
            .entities()
            .map(|entity| (entity.handle(), entity.id()))
            .collect();
        let handles = || entities.iter().map(|(handle, _)| handle.as_bytes());
        let shared = shared_bytes(handles());
        let keys = handles().map(|handle| first_bytes(handle.get(shared..).unwrap_or_default()));
        let mut order: Vec<_> = keys.zip(0..).collect();
        let handle = |at: u32| {
            entities
                .get(at as usize)
                .map(|(handle, _)| handle.as_bytes())
        };
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| handle(a.1).cmp(&handle(b.1))));
        Self {
            store: &world.store,
            entities,
            order,
            dangling,
            fault: RefCell::new(None),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The outcome of serialising: a dangling reference, if that is what ended it.
    pub(crate) fn finish(&self, outcome: serde_json::Result<()>) -> Result<(), ExportError> {
        outcome.map_err(|error| self.fault.take().unwrap_or(ExportError::Write(error)))
    }
}

impl Serialize for EntitiesExport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entities.len()))?;
        let sorted = self.order.iter();
        for (handle, entity) in sorted.filter_map(|(_, at)| self.entities.get(*at as usize)) {
            let export = EntityExport {
                store: self.store,
                entity: *entity,
                handle,
                dangling: self.dangling,
                fault: &self.fault,
            };
            map.serialize_entry(handle.as_str(), &export)?;
        }
        map.end()
    }
}

struct EntityExport<'a> {
    store: &'a Store,
    entity: Entity,
    handle: &'a str,
    dangling: Dangling,
    fault: &'a RefCell<Option<ExportError>>,
}

impl Serialize for EntityExport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.store.components_of(self.entity).next().is_some() {
            map.serialize_entry("Components", &ComponentsExport { of: self })?;
        }
        map.serialize_entry("Handle", self.handle)?;
        map.end()
    }
}

struct ComponentsExport<'a> {
    of: &'a EntityExport<'a>,
}

impl Serialize for ComponentsExport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let store = self.of.store;
        let mut map = serializer.serialize_map(None)?;
        for (kind, component) in store.components_of(self.of.entity) {
            let kind = store.kinds.get(kind);
            let mut value = component.export();
            for field in kind.ty.entity_fields() {
                references::visit(&mut value, field, &mut |place, path| {
                    self.reference(place, &kind.name, path)
                })
                .map_err(|()| {
                    S::Error::custom("a component refers to an entity that does not exist")
                })?;
            }
            map.serialize_entry(&*kind.name, &value)?;
        }
        map.end()
    }
}

impl ComponentsExport<'_> {
    /// Puts the handle in the place of an id.
    fn reference(&self, place: &mut Value, type_name: &str, path: &str) -> Result<(), ()> {
        let Some(bits) = place.as_u64() else {
            return Ok(());
        };
        let store = self.of.store;
        let entity = Entity::from_bits(bits).filter(|entity| store.entities.is_live(*entity));
        match (entity, self.of.dangling) {
            (Some(entity), _) => {
                *place = Value::from(store.handles.of(entity, &store.entities).as_str());
            }
            (None, Dangling::Null) => *place = Value::Null,
            (None, Dangling::Error) => {
                let path =
                    references::pointer(&["Entities", self.of.handle, "Components", type_name])
                        + path;
                *self.of.fault.borrow_mut() = Some(ExportError::DanglingReference { path });
                return Err(());
            }
        }
        Ok(())
    }
}
