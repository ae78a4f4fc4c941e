//! Resources: named blocks of bytes, and typed singletons.

use std::any::TypeId;
use std::sync::Arc;

use super::World;
use super::values::{LentResource, Resource, Singleton};

impl World {
    /// Adds a block of bytes under a name (any name, `""` too) and hands back the one that it replaces.
    ///
    /// The bytes are not copied. Whoever holds the replaced block keeps it as it was.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// world.add_resource("tiles", vec![1, 2, 3]);
    /// let tiles = world.resource_bytes("tiles").unwrap();
    /// drop(world);
    /// assert_eq!(tiles[..], [1, 2, 3]);
    /// assert!(ecs::World::new().resource_bytes("tiles").is_none());
    /// ```
    pub fn add_resource(
        &mut self,
        name: impl Into<String>,
        bytes: impl Into<Resource>,
    ) -> Option<Arc<Resource>> {
        self.add_shared_resource(name, Arc::new(bytes.into()))
    }

    /// Adds a shared block of bytes under a name and hands back the one that it replaces.
    pub fn add_shared_resource(
        &mut self,
        name: impl Into<String>,
        block: Arc<Resource>,
    ) -> Option<Arc<Resource>> {
        self.resources.blocks.insert(name.into(), block)
    }

    /// Adds a set of shared blocks; of two under one name the later one stays.
    pub fn add_resources<N: Into<String>>(
        &mut self,
        blocks: impl IntoIterator<Item = (N, Arc<Resource>)>,
    ) {
        self.resources
            .blocks
            .extend(blocks.into_iter().map(|(name, block)| (name.into(), block)));
    }

    /// The block under a name, shared, without a copy.
    pub fn resource_bytes(&self, name: &str) -> Option<Arc<Resource>> {
        self.resources.blocks.get(name).cloned()
    }

    /// Removes the block under a name and hands it back.
    pub fn remove_resource_bytes(&mut self, name: &str) -> Option<Arc<Resource>> {
        self.resources.blocks.remove(name)
    }

    /// Takes the world's one `T` out, to lend it, or puts it back.
    pub(crate) fn swap_resource<T: 'static>(&mut self, lent: &mut LentResource, written: bool) {
        self.resources.swap::<T>(lent, written);
    }

    /// Puts the world's one `T` and hands back the one that was there.
    ///
    /// ```
    /// struct Gravity(f32);
    /// let mut world = ecs::World::new();
    /// world.insert_resource(Gravity(9.81));
    /// world.resource_mut::<Gravity>().unwrap().0 = 1.62;
    /// assert_eq!(world.resource::<Gravity>().unwrap().0, 1.62);
    /// ```
    pub fn insert_resource<T: Send + Sync + 'static>(&mut self, value: T) -> Option<T> {
        self.resources.writes += 1;
        let singleton = Singleton {
            value: Box::new(value),
            written: self.resources.writes,
        };
        let old = self
            .resources
            .singletons
            .insert(TypeId::of::<T>(), singleton)?;
        old.value.downcast().ok().map(|old| *old)
    }

    /// The world's `T`.
    pub fn resource<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.resources.get()
    }

    /// The world's `T`, to be changed; it counts as written.
    pub fn resource_mut<T: Send + Sync + 'static>(&mut self) -> Option<&mut T> {
        self.resources.get_mut()
    }

    /// Removes the world's `T` and hands it back.
    pub fn remove_resource<T: Send + Sync + 'static>(&mut self) -> Option<T> {
        let singleton = self.resources.singletons.remove(&TypeId::of::<T>())?;
        singleton.value.downcast().ok().map(|value| *value)
    }
}
