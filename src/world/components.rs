//! Attaching, finding and removing components.

use super::World;
use super::key::{EntityKey, missing};
use crate::base::entity::Entity;
use crate::store::Store;
use crate::store::bundle::Bundle;
use crate::store::component::{Component, ComponentType};
use crate::store::error::{BundleFault, ComponentError};
use crate::store::kinds::KindId;

impl World {
    /// Attaches the components of a bundle; those of the same type names that were there are dropped.
    ///
    /// # Errors
    /// [`ComponentError`]: the bundle contradicts itself, or there is no such entity. Nothing has changed then, and
    /// the components are dropped.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(u32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let entity = world.spawn_named("door", ())?;
    /// world.insert(entity, Health(10))?; // by the id
    /// world.insert("door", Health(7))?; // or by the handle; it replaces the other
    /// assert_eq!(world.get::<Health>(entity).unwrap().0, 7);
    /// assert!(world.insert("window", Health(1)).is_err());
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    #[inline]
    pub fn insert<B: Bundle>(
        &mut self,
        key: impl EntityKey,
        bundle: B,
    ) -> Result<(), ComponentError> {
        let outcome = match key.find(&self.store) {
            Some(entity) => self.store.insert(entity, bundle),
            None => Err(Store::reject(bundle)),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(fault) => Err(self.not_inserted(key, fault)),
        }
    }

    #[cold]
    fn not_inserted(&self, key: impl EntityKey, fault: Option<Box<BundleFault>>) -> ComponentError {
        let at = self.origin("insert");
        match fault {
            Some(fault) => ComponentError::Bundle { at, fault: *fault },
            None => missing(&key, &self.store, at),
        }
    }

    /// Attaches a component and hands back the one of the same type name that it replaces, whatever its type.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(u32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let entity = world.spawn(Health(10));
    /// let old = world.replace(entity, Health(7))?.unwrap();
    /// assert_eq!(old.downcast_ref::<Health>().unwrap().0, 10);
    /// # Ok::<(), ecs::ComponentError>(())
    /// ```
    pub fn replace<T: Component>(
        &mut self,
        key: impl EntityKey,
        component: T,
    ) -> Result<Option<Box<dyn Component>>, ComponentError> {
        self.attach(&key, None, Box::new(component), "replace")
    }

    /// Attaches a boxed component under its type's own name, and hands back the one that it replaces.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_boxed(
        &mut self,
        key: impl EntityKey,
        component: Box<dyn Component>,
    ) -> Result<Option<Box<dyn Component>>, ComponentError> {
        self.attach(&key, None, component, "insert_boxed")
    }

    /// Attaches a component under a type name of the caller's choice, and hands back the one that it replaces.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); an empty type name is rejected.
    pub fn insert_named<T: Component>(
        &mut self,
        key: impl EntityKey,
        type_name: &str,
        component: T,
    ) -> Result<Option<Box<dyn Component>>, ComponentError> {
        self.attach(&key, Some(type_name), Box::new(component), "insert_named")
    }

    /// Attaches a boxed component under a type name of the caller's choice, and hands back the one that it
    /// replaces.
    ///
    /// # Errors
    /// As [`insert_named`](Self::insert_named).
    pub fn insert_named_boxed(
        &mut self,
        key: impl EntityKey,
        type_name: &str,
        component: Box<dyn Component>,
    ) -> Result<Option<Box<dyn Component>>, ComponentError> {
        self.attach(&key, Some(type_name), component, "insert_named_boxed")
    }

    fn attach(
        &mut self,
        key: &impl EntityKey,
        name: Option<&str>,
        component: Box<dyn Component>,
        function: &'static str,
    ) -> Result<Option<Box<dyn Component>>, ComponentError> {
        let ty: ComponentType = component.component_type();
        if name.unwrap_or(ty.type_name()).is_empty() {
            drop(component);
            return Err(ComponentError::Bundle {
                at: self.origin(function),
                fault: BundleFault::EmptyTypeName,
            });
        }
        let entity = key
            .find(&self.store)
            .filter(|entity| self.store.entities.is_live(*entity));
        let component = if let Some(entity) = entity
            && let Some(kind) = self.store.intern(name, ty)
        {
            match self.store.insert_boxed(entity, kind, component) {
                Ok(replaced) => return Ok(replaced),
                Err(component) => component,
            }
        } else {
            component
        };
        drop(component);
        Err(missing(key, &self.store, self.origin(function)))
    }

    /// Removes the entity's `T` and hands it back; `None` when there is none.
    #[inline]
    pub fn remove<T: Component>(&mut self, key: impl EntityKey) -> Option<T> {
        let entity = key.find(&self.store)?;
        self.store.remove(entity)
    }

    /// Removes the entity's component under a type name and hands it back; `None` when there is none.
    pub fn remove_named(
        &mut self,
        key: impl EntityKey,
        type_name: &str,
    ) -> Option<Box<dyn Component>> {
        let entity = key.find(&self.store)?;
        let kind = self.store.kind_at(entity, type_name)?;
        self.store.take_boxed(entity, kind)
    }

    /// The entity's `T`, under the type's own name.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(u32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// world.spawn_named("door", Health(10))?;
    /// assert_eq!(world.get::<Health>("door").map(|health| health.0), Some(10));
    /// assert!(world.get::<Health>("window").is_none());
    /// # Ok::<(), ecs::EntityError>(())
    /// ```
    #[inline]
    pub fn get<T: Component>(&self, key: impl EntityKey) -> Option<&T> {
        self.store.get(key.find(&self.store)?)
    }

    /// The entity's `T`, to be changed; it counts as written.
    ///
    /// What was borrowed cannot outlive a replacement:
    ///
    /// ```compile_fail,E0502
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(u32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// # let mut world = World::new();
    /// # let entity = world.spawn(Health(10));
    /// let health = world.get::<Health>(entity).unwrap();
    /// # // spec: LOOK-11
    /// world.insert(entity, Health(7)).unwrap();
    /// println!("{}", health.0);
    /// ```
    #[inline]
    pub fn get_mut<T: Component>(&mut self, key: impl EntityKey) -> Option<&mut T> {
        let entity = key.find(&self.store)?;
        self.store.get_mut(entity)
    }

    /// The entity's component under a type name, if it is a `T`.
    #[inline]
    pub fn get_named<T: Component>(&self, key: impl EntityKey, type_name: &str) -> Option<&T> {
        self.store.get_named(key.find(&self.store)?, type_name)
    }

    /// The entity's component under a type name, if it is a `T`, to be changed; it counts as written.
    pub fn get_named_mut<T: Component>(
        &mut self,
        key: impl EntityKey,
        type_name: &str,
    ) -> Option<&mut T> {
        let entity = key.find(&self.store)?;
        self.store.get_named_mut(entity, type_name)
    }

    /// The entity's component under a type name, whatever its type.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(u32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// world.spawn_named("door", Health(10))?;
    /// assert!(world.has_named("door", "Health"));
    /// assert_eq!(world.component("door", "Health").unwrap().export(), 10);
    /// assert_eq!(world.get_named::<Health>("door", "Health").unwrap().0, 10);
    /// # Ok::<(), ecs::EntityError>(())
    /// ```
    pub fn component(&self, key: impl EntityKey, type_name: &str) -> Option<&dyn Component> {
        self.store.component(key.find(&self.store)?, type_name)
    }

    /// The entity's component under a type name, whatever its type, to be changed; it counts as written.
    pub fn component_mut(
        &mut self,
        key: impl EntityKey,
        type_name: &str,
    ) -> Option<&mut dyn Component> {
        let entity = key.find(&self.store)?;
        self.store.component_mut(entity, type_name)
    }

    /// Whether the entity has a `T` under its own name. [`has_named`](Self::has_named) compares the name alone.
    #[inline]
    pub fn has<T: Component>(&self, key: impl EntityKey) -> bool {
        key.find(&self.store)
            .is_some_and(|entity| self.store.has::<T>(entity))
    }

    /// Whether the entity has a component under a type name; only the name is compared.
    pub fn has_named(&self, key: impl EntityKey, type_name: &str) -> bool {
        key.find(&self.store)
            .is_some_and(|entity| self.store.kind_at(entity, type_name).is_some())
    }

    /// All components under a type name, with their entities, whatever their Rust types: archetypes in the order
    /// they were made, then sparse sets.
    pub fn components(&self, type_name: &str) -> NamedComponents<'_> {
        NamedComponents {
            world: self,
            kinds: self.store.kinds.named(type_name),
            archetype: 0,
            set: 0,
            row: 0,
        }
    }

    /// Keeps change ticks for `T` from now on: 16 bytes for each. A query with [`Changed`](crate::Changed) or
    /// [`Added`](crate::Added) does so by itself; what is written before that is news to it as well, because its
    /// first run sees everything.
    pub fn track<T: Component>(&mut self) {
        if let Some(kind) = self.store.intern(None, ComponentType::of::<T>()) {
            self.store.track(kind);
        }
    }
}

/// Iterator over all components of one type name. See [`World::components`].
pub struct NamedComponents<'w> {
    world: &'w World,
    kinds: &'w [KindId],
    archetype: usize,
    set: usize,
    row: usize,
}

impl<'w> NamedComponents<'w> {
    fn item(
        &self,
        index: u32,
        component: Option<&'w dyn Component>,
    ) -> Option<(Entity, &'w dyn Component)> {
        Some((self.world.store.entities.at(index)?, component?))
    }
}

impl<'w> Iterator for NamedComponents<'w> {
    type Item = (Entity, &'w dyn Component);

    fn next(&mut self) -> Option<Self::Item> {
        let store = &self.world.store;
        while let Some(archetype) = store.archetypes.get(self.archetype) {
            let position = self.kinds.iter().find_map(|kind| archetype.position(*kind));
            if let Some(at) = position
                && let Some(&index) = archetype.ids().get(self.row)
            {
                self.row += 1;
                return self.item(index, archetype.columns()[at].component(self.row - 1));
            }
            self.archetype += 1;
            self.row = 0;
        }
        while let Some(kind) = self.kinds.get(self.set) {
            let set = store
                .kinds
                .get(*kind)
                .sparse
                .map(|set| &store.sparse[set as usize]);
            if let Some(set) = set
                && let Some(&index) = set.ids().get(self.row)
            {
                self.row += 1;
                return self.item(index, set.column().component(self.row - 1));
            }
            self.set += 1;
            self.row = 0;
        }
        None
    }
}
