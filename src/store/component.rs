//! What a component is, and what the store knows of its type.

use std::any::{Any, TypeId};
use std::marker::PhantomData;

use serde_json::{Value, json};

use super::values::{ErasedColumn, Values};

/// How the components of a kind are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Storage {
    /// In a column of the entity's archetype, beside its other components: the fastest to iterate.
    #[default]
    Table,
    /// In one set for the whole world: inserted and removed in constant time without moving the entity, for kinds
    /// that come and go often. Iteration looks the entity up in the set; a query over more than four of these kinds
    /// allocates each time it runs.
    Sparse,
}

/// A piece of data that can be attached to an entity.
///
/// # Contract
/// - [`type_name`](Self::type_name) is never empty and always the same for one type. The store, export and import
///   know the component by it.
/// - An entity has at most one component of each type name; a second one replaces the first, whatever its Rust
///   type.
/// - [`export`](Self::export) describes the value. To be read back, it must be what the type's `Deserialize`
///   accepts.
/// - [`storage`](Self::storage) and [`entity_fields`](Self::entity_fields) are constants of the type. One that
///   answers differently from call to call costs panics and components beside the wrong entity, though never the
///   safety of memory.
/// - The type may be zero-sized, over-aligned, large, and its `Drop` may panic: every value is dropped exactly
///   once.
///
/// ```
/// use ecs::{Component, Value, World, json};
///
/// #[derive(Debug, PartialEq)]
/// struct Position { x: f32, y: f32 }
///
/// impl Component for Position {
///     fn type_name() -> &'static str { "PositionComponent" }
///     fn export(&self) -> Value { json!({ "x": self.x, "y": self.y }) }
/// }
///
/// let mut world = World::new();
/// let entity = world.spawn((Position { x: 1.0, y: 2.0 },));
/// assert_eq!(world.get::<Position>(entity), Some(&Position { x: 1.0, y: 2.0 }));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "give `{Self}` a type name and an export: `impl ecs::Component for {Self}`"
)]
pub trait Component: AnyComponent {
    /// The name that components of this type are stored and looked up under.
    fn type_name() -> &'static str
    where
        Self: Sized;

    /// The component as JSON. What is nested more deeply than 127 levels cannot be imported, and a value of many
    /// thousand levels overflows the stack of whoever prints or drops it.
    fn export(&self) -> Value;

    /// How components of this type are kept; [`Storage::Table`] unless told otherwise.
    fn storage() -> Storage
    where
        Self: Sized,
    {
        Storage::Table
    }

    /// JSON pointers to the places of [`export`](Self::export) that hold an [`Entity`](crate::Entity).
    ///
    /// `/target` is the field `target`, `/links/*` every element of the array (or member of the object) `links`,
    /// and the empty text the whole value. What stands there is exported as the entity's handle and mapped back
    /// on import; a null there is left alone, and a number is an error there.
    fn entity_fields() -> &'static [&'static str]
    where
        Self: Sized,
    {
        &[]
    }
}

/// What every component can say of its own type; implemented for all of them, needed only behind `dyn Component`.
pub trait AnyComponent: Any + Send + Sync {
    /// The description of the component's Rust type.
    fn component_type(&self) -> ComponentType;
}

impl<T: Component> AnyComponent for T {
    fn component_type(&self) -> ComponentType {
        ComponentType::of::<T>()
    }
}

impl dyn Component {
    /// The component as its own type; `None` if it is another.
    pub fn downcast_ref<T: Component>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// The component as its own type, to be changed; `None` if it is another.
    pub fn downcast_mut<T: Component>(&mut self) -> Option<&mut T> {
        (self as &mut dyn Any).downcast_mut()
    }

    /// The boxed component as its own type.
    ///
    /// # Errors
    /// The box itself, if the component is of another type.
    pub fn downcast<T: Component>(self: Box<Self>) -> Result<Box<T>, Box<Self>> {
        if (*self).type_id() == TypeId::of::<T>() {
            let any: Box<dyn Any> = self;
            Ok(any
                .downcast()
                .unwrap_or_else(|_| unreachable!("the type id was compared")))
        } else {
            Err(self)
        }
    }
}

/// A component's Rust type as the store knows it. Only [`ComponentType::of`] makes one, so it never lies.
#[derive(Clone, Copy)]
pub struct ComponentType {
    type_id: TypeId,
    pub(super) rust_name: &'static str,
    pub(super) type_name: &'static str,
    pub(super) storage: Storage,
    pub(super) entity_fields: &'static [&'static str],
    new_column: fn() -> Box<dyn ErasedColumn>,
}

impl ComponentType {
    /// The description of `T`.
    pub fn of<T: Component>() -> Self {
        Self {
            type_id: TypeId::of::<T>(),
            rust_name: std::any::type_name::<T>(),
            type_name: T::type_name(),
            storage: T::storage(),
            entity_fields: T::entity_fields(),
            new_column: || Box::new(Values::<T>::default()),
        }
    }

    /// The type name that the type gives itself.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// The name of the Rust type, for messages to people.
    pub fn rust_name(&self) -> &'static str {
        self.rust_name
    }

    /// How its components are kept.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    #[inline]
    pub(crate) fn id(&self) -> TypeId {
        self.type_id
    }

    /// The vector of a new column.
    pub(super) fn new_column(&self) -> Box<dyn ErasedColumn> {
        (self.new_column)()
    }

    pub(crate) fn entity_fields(&self) -> &'static [&'static str] {
        self.entity_fields
    }
}

impl std::fmt::Debug for ComponentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ComponentType")
            .field("type_name", &self.type_name)
            .field("rust_name", &self.rust_name)
            .field("storage", &self.storage)
            .finish_non_exhaustive()
    }
}

/// A component without a Rust type of its own: JSON under a type name chosen at run time.
///
/// Attach it with [`World::insert_named`](crate::World::insert_named).
///
/// ```
/// use ecs::{Data, World, json};
///
/// let mut world = World::new();
/// let entity = world.spawn(());
/// world.insert_named(entity, "Loot", Data(json!({ "gold": 7 })))?;
/// assert_eq!(world.get_named::<Data>(entity, "Loot").unwrap().0["gold"], 7);
/// # Ok::<(), ecs::ComponentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Data(pub Value);

impl Component for Data {
    fn type_name() -> &'static str {
        "Data"
    }

    fn export(&self) -> Value {
        self.0.clone()
    }
}

impl Default for Data {
    fn default() -> Self {
        Self(json!({}))
    }
}

/// A type name as a type, for [`Named`].
pub trait TypeName: Send + Sync + 'static {
    /// The name.
    const NAME: &'static str;
}

/// A component under another type name than its own: in bundles as a value, in queries as `Named<&T, N>`.
///
/// ```
/// use ecs::{Component, Named, TypeName, Value, World, json};
///
/// struct Speed(f32);
/// impl Component for Speed {
///     fn type_name() -> &'static str { "Speed" }
///     fn export(&self) -> Value { json!(self.0) }
/// }
/// struct Wind;
/// impl TypeName for Wind { const NAME: &'static str = "Wind"; }
///
/// let mut world = World::new();
/// world.spawn((Speed(1.0), Named::<_, Wind>::new(Speed(3.0))));
/// for (speed, wind) in world.query::<(&mut Speed, Named<&Speed, Wind>)>() {
///     speed.0 += wind.0;
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Named<T, N> {
    pub(crate) value: T,
    name: PhantomData<fn() -> N>,
}

impl<T, N: TypeName> Named<T, N> {
    /// The value, to be stored under the name `N`.
    pub const fn new(value: T) -> Self {
        Self {
            value,
            name: PhantomData,
        }
    }
}
