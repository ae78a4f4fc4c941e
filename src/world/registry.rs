//! The component types that an import knows.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::base::hash::SeededMap;
use crate::store::component::{Component, ComponentType, Data};

/// The component types that an import can rebuild, by type name.
///
/// ```
/// use ecs::{Component, ComponentRegistry, Value, World, json};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Position { x: f32 }
/// impl Component for Position {
///     fn type_name() -> &'static str { "Position" }
///     fn export(&self) -> Value { json!(self) }
/// }
///
/// let mut world = World::new();
/// world.spawn_named("door", Position { x: 1.5 })?;
/// let saved = world.export();
///
/// let types = ComponentRegistry::new().with::<Position>();
/// let mut copy = World::new();
/// copy.import(&types, &saved)?;
/// assert_eq!(copy.get::<Position>("door").unwrap().x, 1.5);
/// assert_eq!(copy.export().to_string(), saved.to_string());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct ComponentRegistry {
    readers: SeededMap<String, Reader>,
    unknown_as_data: bool,
}

/// How the components of a type are read.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) ty: ComponentType,
    pub(super) read: fn(Value) -> serde_json::Result<Box<dyn Component>>,
}

impl Reader {
    fn of<T: Component + DeserializeOwned>() -> Self {
        Self {
            ty: ComponentType::of::<T>(),
            read: |value| Ok(Box::new(serde_json::from_value::<T>(value)?)),
        }
    }

    fn data() -> Self {
        Self {
            ty: ComponentType::of::<Data>(),
            read: |value| Ok(Box::new(Data(value))),
        }
    }
}

impl ComponentRegistry {
    /// A registry that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `T` under its own name.
    #[must_use]
    pub fn with<T: Component + DeserializeOwned>(self) -> Self {
        self.with_named::<T>(T::type_name())
    }

    /// Adds `T` under another name; the last type under a name counts.
    #[must_use]
    pub fn with_named<T: Component + DeserializeOwned>(mut self, type_name: &str) -> Self {
        self.readers.insert(type_name.to_owned(), Reader::of::<T>());
        self
    }

    /// Reads components under this name as [`Data`].
    #[must_use]
    pub fn with_data(mut self, type_name: &str) -> Self {
        self.readers.insert(type_name.to_owned(), Reader::data());
        self
    }

    /// Reads components under names that are not registered as [`Data`], instead of refusing them.
    #[must_use]
    pub fn unknown_as_data(mut self) -> Self {
        self.unknown_as_data = true;
        self
    }

    pub(super) fn reader(&self, type_name: &str) -> Option<Reader> {
        self.readers
            .get(type_name)
            .copied()
            .or_else(|| self.unknown_as_data.then(Reader::data))
    }
}

impl std::fmt::Debug for ComponentRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut names: Vec<_> = self.readers.keys().collect();
        names.sort();
        f.debug_struct("ComponentRegistry")
            .field("types", &names)
            .finish_non_exhaustive()
    }
}
