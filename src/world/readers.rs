//! Readers of what a query cannot show: removals of components, and changes of resources.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::World;
use crate::base::entity::Entity;
use crate::query::error::QueryError;
use crate::store::component::{Component, ComponentType};
use crate::store::kinds::KindId;

/// Reads which entities lost their `T` since it last read: by removal, by despawning, by a component of another
/// type under the name, by clearing. Each loss is read exactly once, in the order they happened.
///
/// While a reader lives, the world keeps what it has not read, however much that is. Drop a reader that is not
/// needed.
///
/// ```
/// # use ecs::{Component, Value, World, json};
/// # struct Health(i32);
/// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
/// let mut world = World::new();
/// let mut lost = world.removed_reader::<Health>()?;
/// let entity = world.spawn(Health(1));
/// world.despawn(entity);
/// assert_eq!(lost.next(&mut world)?, Some(entity));
/// assert_eq!(lost.next(&mut world)?, None);
/// # Ok::<(), ecs::QueryError>(())
/// ```
pub struct RemovedReader<T> {
    world: u64,
    kind: KindId,
    cursor: Arc<AtomicU64>,
    component: PhantomData<fn() -> T>,
}

impl<T: Component> RemovedReader<T> {
    /// The next entity that lost its `T`. It may be gone, or have a `T` again.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`].
    #[allow(
        clippy::should_implement_trait,
        reason = "it needs the world, which an iterator would keep borrowed"
    )]
    pub fn next(&mut self, world: &mut World) -> Result<Option<Entity>, QueryError> {
        if self.world != world.store.id() {
            return Err(QueryError::ForeignWorld);
        }
        Ok(world.store.changes.next_loss(self.kind, &self.cursor))
    }
}

/// Reads whether the world's `T` was written since it last asked.
///
/// ```
/// # use ecs::World;
/// struct Score(u32);
/// let mut world = World::new();
/// world.insert_resource(Score(0));
/// let mut reader = world.resource_reader::<Score>();
/// assert!(reader.changed(&world)?, "the first look sees what is there");
/// assert!(!reader.changed(&world)?);
/// world.resource_mut::<Score>().unwrap().0 += 1;
/// assert!(reader.changed(&world)?);
/// # Ok::<(), ecs::QueryError>(())
/// ```
pub struct ResourceReader<T> {
    world: u64,
    seen: u64,
    resource: PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> ResourceReader<T> {
    /// Whether the resource is there and was written (or inserted) since the last call.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`].
    pub fn changed(&mut self, world: &World) -> Result<bool, QueryError> {
        if self.world != world.store.id() {
            return Err(QueryError::ForeignWorld);
        }
        let Some(written) = world.resources.written::<T>() else {
            return Ok(false);
        };
        let changed = written > self.seen;
        self.seen = written;
        Ok(changed)
    }
}

impl World {
    /// A reader of the losses of `T` from now on.
    ///
    /// # Errors
    /// [`QueryError::EmptyTypeName`].
    pub fn removed_reader<T: Component>(&mut self) -> Result<RemovedReader<T>, QueryError> {
        let ty = ComponentType::of::<T>();
        let kind = self
            .store
            .intern(None, ty)
            .ok_or(QueryError::EmptyTypeName {
                rust_name: ty.rust_name(),
            })?;
        let cursor = self.store.changes.subscribe(kind);
        Ok(RemovedReader {
            world: self.store.id(),
            kind,
            cursor,
            component: PhantomData,
        })
    }

    /// A reader of the changes of the world's `T`, which has seen nothing yet.
    pub fn resource_reader<T: Send + Sync + 'static>(&self) -> ResourceReader<T> {
        ResourceReader {
            world: self.store.id(),
            seen: 0,
            resource: PhantomData,
        }
    }
}
