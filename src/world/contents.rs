//! What is in a world, apart from its structure.

use super::cache::QueryCache;
use super::entities::refuse;
use super::key::EntityKey;
use super::values::Resources;
use crate::base::entity::Entity;
use crate::query::error::QueryError;
use crate::query::fetch::Query;
use crate::query::filter::{Filter, Timeless};
use crate::query::iter::QueryIter;
use crate::query::lent::Ground;
use crate::query::prepared::Prepared;
use crate::store::Store;
use crate::store::component::Component;

/// The components and resources of a world, to be read and written. What would change the world's structure goes
/// through the [`Commands`](crate::Commands) beside it; see [`World::split`](crate::World::split).
pub struct Contents<'w> {
    pub(super) store: &'w mut Store,
    pub(super) queries: &'w mut QueryCache,
    pub(super) resources: &'w mut Resources,
}

impl Contents<'_> {
    /// See [`World::query`](crate::World::query).
    ///
    /// # Panics
    /// As there; [`try_query`](Self::try_query) returns an error.
    #[inline]
    #[track_caller]
    pub fn query<Q: Query + 'static>(&mut self) -> QueryIter<'_, Q> {
        self.query_filtered()
    }

    /// See [`World::try_query`](crate::World::try_query).
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn try_query<Q: Query + 'static>(&mut self) -> Result<QueryIter<'_, Q>, QueryError> {
        self.try_query_filtered()
    }

    /// See [`World::query_filtered`](crate::World::query_filtered).
    ///
    /// # Panics
    /// As there; [`try_query_filtered`](Self::try_query_filtered) returns an error.
    #[inline]
    #[track_caller]
    pub fn query_filtered<Q, F>(&mut self) -> QueryIter<'_, Q, F>
    where
        Q: Query + 'static,
        F: Timeless + 'static,
    {
        match self.try_query_filtered() {
            Ok(iter) => iter,
            Err(fault) => refuse(&fault),
        }
    }

    /// See [`World::try_query_filtered`](crate::World::try_query_filtered).
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn try_query_filtered<Q, F>(&mut self) -> Result<QueryIter<'_, Q, F>, QueryError>
    where
        Q: Query + 'static,
        F: Timeless + 'static,
    {
        let state = self.queries.state::<Q, F>(self.store)?;
        Ok(QueryIter::new(state, self.store))
    }

    /// See [`World::query_one`](crate::World::query_one).
    ///
    /// # Errors
    /// As there.
    pub fn query_one<Q: Query + 'static>(
        &mut self,
        entity: Entity,
    ) -> Result<Q::Item<'_>, QueryError> {
        let [item] = self.query_many::<Q, 1>([entity])?;
        Ok(item)
    }

    /// See [`World::query_many`](crate::World::query_many).
    ///
    /// # Errors
    /// As there.
    pub fn query_many<Q: Query + 'static, const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[Q::Item<'_>; N], QueryError> {
        let state = self.queries.state::<Q, ()>(self.store)?;
        let run = state.look(self.store);
        state.get_many_mut(Ground::Whole(self.store), entities, run)
    }

    /// Runs a query that was prepared.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`].
    ///
    /// ```
    /// # use ecs::{Changed, Component, Entity, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// # let mut world = World::new();
    /// let mut hurt = world.prepare_filtered::<Entity, Changed<Health>>()?;
    /// let (mut contents, mut commands) = world.split();
    /// for entity in contents.run(&mut hurt)? {
    ///     commands.despawn(entity);
    /// }
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    pub fn run<'q, Q: Query, F: Filter>(
        &'q mut self,
        query: &'q mut Prepared<Q, F>,
    ) -> Result<QueryIter<'q, Q, F>, QueryError> {
        query.run(self.store)
    }

    /// The entity's `T`. See [`World::get`](crate::World::get).
    #[inline]
    pub fn get<T: Component>(&self, key: impl EntityKey) -> Option<&T> {
        self.store.get(key.find(self.store)?)
    }

    /// The entity's `T`, to be changed; it counts as written.
    #[inline]
    pub fn get_mut<T: Component>(&mut self, key: impl EntityKey) -> Option<&mut T> {
        let entity = key.find(self.store)?;
        self.store.get_mut(entity)
    }

    /// Whether the entity has a `T` now.
    pub fn has<T: Component>(&self, key: impl EntityKey) -> bool {
        self.get::<T>(key).is_some()
    }

    /// Whether the entity is alive now.
    pub fn contains(&self, key: impl EntityKey) -> bool {
        let entity = key.find(self.store);
        entity.is_some_and(|entity| self.store.entities.is_live(entity))
    }

    /// The entity of a handle, chosen or generated.
    pub fn find(&self, handle: &str) -> Option<Entity> {
        self.store.handles.find(handle, &self.store.entities)
    }

    /// The world's one `T`.
    pub fn resource<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.resources.get()
    }

    /// The world's one `T`, to be changed; it counts as written.
    pub fn resource_mut<T: Send + Sync + 'static>(&mut self) -> Option<&mut T> {
        self.resources.get_mut()
    }
}

impl std::fmt::Debug for Contents<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contents")
            .field("entities", &self.store.entities.len())
            .finish_non_exhaustive()
    }
}
