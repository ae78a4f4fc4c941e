//! Queries on a world: ad hoc, and prepared.

use super::World;
use super::entities::refuse;
use crate::base::entity::Entity;
use crate::query::error::QueryError;
use crate::query::fetch::{Query, ReadOnlyQuery};
use crate::query::filter::{Filter, Timeless};
use crate::query::iter::QueryIter;
use crate::query::lent::Ground;
use crate::query::prepared::{Prepared, View};

impl World {
    /// The entities that match a query. See [`Query`] for what can be asked, and [`QueryIter`] for the ways to
    /// iterate.
    ///
    /// The world keeps the prepared state by the query's type, so a run visits no archetype that does not match.
    ///
    /// # Panics
    /// When the query's type contradicts itself: it would hold one component twice, once of these times mutably.
    /// [`try_query`](Self::try_query) returns that as an error.
    ///
    /// ```
    /// # use ecs::{Component, Entity, Value, World, json};
    /// # struct Position(f32); struct Velocity(f32);
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
    /// # let mut world = World::new();
    /// for (entity, position, velocity) in world.query::<(Entity, &mut Position, Option<&Velocity>)>() {
    ///     position.0 += velocity.map_or(0.0, |velocity| velocity.0);
    /// }
    /// ```
    ///
    /// While it runs the world is borrowed: its structure cannot change under it. [`split`](Self::split) gives a query
    /// and commands that wait; [`RemovalMarks`](crate::RemovalMarks) note what is to be removed.
    ///
    /// ```compile_fail,E0499
    /// # use ecs::{Component, Entity, Value, World, json};
    /// # struct Health(u32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// # let mut world = World::new();
    /// for (entity, health) in world.query::<(Entity, &Health)>() {
    /// # // spec: LOOK-10
    ///     world.despawn(entity);
    /// }
    /// ```
    #[inline]
    #[track_caller]
    pub fn query<Q: Query + 'static>(&mut self) -> QueryIter<'_, Q> {
        match self.try_query::<Q>() {
            Ok(iter) => iter,
            Err(fault) => refuse(&fault),
        }
    }

    /// The entities that match a query.
    ///
    /// # Errors
    /// [`QueryError::Aliasing`], [`QueryError::TooManyTerms`], [`QueryError::EmptyTypeName`].
    #[inline]
    pub fn try_query<Q: Query + 'static>(&mut self) -> Result<QueryIter<'_, Q>, QueryError> {
        self.try_query_filtered::<Q, ()>()
    }

    /// The entities that match a query and pass a filter.
    ///
    /// # Panics
    /// As [`query`](Self::query).
    ///
    /// ```
    /// # use ecs::{Component, Value, With, Without, World, json};
    /// # struct Position(f32); struct Frozen;
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// # impl Component for Frozen { fn type_name() -> &'static str { "Frozen" } fn export(&self) -> Value { json!({}) } }
    /// # let mut world = World::new();
    /// # world.spawn((Position(0.0), Frozen)); world.spawn(Position(0.0));
    /// let moving = world.query_filtered::<&Position, Without<Frozen>>().count();
    /// assert_eq!(moving, 1);
    /// ```
    #[track_caller]
    pub fn query_filtered<Q: Query + 'static, F: Timeless + 'static>(
        &mut self,
    ) -> QueryIter<'_, Q, F> {
        match self.try_query_filtered::<Q, F>() {
            Ok(iter) => iter,
            Err(fault) => refuse(&fault),
        }
    }

    /// The entities that match a query and pass a filter.
    ///
    /// # Errors
    /// As [`try_query`](Self::try_query).
    #[inline]
    pub fn try_query_filtered<Q, F>(&mut self) -> Result<QueryIter<'_, Q, F>, QueryError>
    where
        Q: Query + 'static,
        F: Timeless + 'static,
    {
        let state = self.queries.state::<Q, F>(&mut self.store)?;
        Ok(QueryIter::new(state, &mut self.store))
    }

    /// What a query gives for one entity.
    ///
    /// # Errors
    /// [`QueryError::NoMatch`], and those of [`try_query`](Self::try_query).
    pub fn query_one<Q: Query + 'static>(
        &mut self,
        entity: Entity,
    ) -> Result<Q::Item<'_>, QueryError> {
        let [item] = self.query_many::<Q, 1>([entity])?;
        Ok(item)
    }

    /// What a query gives for several distinct entities at once.
    ///
    /// # Errors
    /// [`QueryError::NoMatch`], [`QueryError::Repeated`], and those of [`try_query`](Self::try_query).
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let (a, b) = (world.spawn(Health(1)), world.spawn(Health(2)));
    /// let [first, second] = world.query_many::<&mut Health, 2>([a, b])?;
    /// std::mem::swap(first, second);
    /// assert_eq!(world.get::<Health>(a).unwrap().0, 2);
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    pub fn query_many<Q: Query + 'static, const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[Q::Item<'_>; N], QueryError> {
        let state = self.queries.state::<Q, ()>(&mut self.store)?;
        let run = state.look(&self.store);
        state.get_many_mut(Ground::Whole(&mut self.store), entities, run)
    }

    /// A query that is built once and kept, see [`Prepared`].
    ///
    /// # Errors
    /// As [`try_query`](Self::try_query).
    pub fn prepare<Q: Query>(&mut self) -> Result<Prepared<Q>, QueryError> {
        Prepared::new(&mut self.store)
    }

    /// A filtered query that is built once and kept, see [`Prepared`].
    ///
    /// # Errors
    /// As [`try_query`](Self::try_query).
    pub fn prepare_filtered<Q: Query, F: Filter>(&mut self) -> Result<Prepared<Q, F>, QueryError> {
        Prepared::new(&mut self.store)
    }
}

impl<Q: Query, F: Filter> Prepared<Q, F> {
    /// Runs the query.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`].
    #[inline]
    #[allow(
        clippy::iter_not_returning_iterator,
        reason = "it refuses another world first"
    )]
    pub fn iter<'w>(&'w mut self, world: &'w mut World) -> Result<QueryIter<'w, Q, F>, QueryError> {
        self.run(&mut world.store)
    }

    /// What the query gives for one entity. Does not count as a run.
    ///
    /// # Errors
    /// [`QueryError::NoMatch`], [`QueryError::ForeignWorld`].
    pub fn get_mut<'w>(
        &'w mut self,
        world: &'w mut World,
        entity: Entity,
    ) -> Result<Q::Item<'w>, QueryError> {
        let [item] = self.get_many_mut(world, [entity])?;
        Ok(item)
    }

    /// What the query gives for several distinct entities at once. Does not count as a run.
    ///
    /// # Errors
    /// [`QueryError::NoMatch`], [`QueryError::Repeated`], [`QueryError::ForeignWorld`].
    pub fn get_many_mut<'w, const N: usize>(
        &'w mut self,
        world: &'w mut World,
        entities: [Entity; N],
    ) -> Result<[Q::Item<'w>; N], QueryError> {
        let state = self.state();
        let run = state.look(&world.store);
        state.get_many_mut(Ground::Whole(&mut world.store), entities, run)
    }

    /// The one match.
    ///
    /// # Errors
    /// [`QueryError::NoneMatches`], [`QueryError::SeveralMatch`], [`QueryError::ForeignWorld`].
    pub fn single<'w>(&'w mut self, world: &'w mut World) -> Result<Q::Item<'w>, QueryError> {
        self.iter(world)?.single()
    }

    /// Calls `work` with each pair of matches, each unordered pair once: first with second, first with third, and
    /// so on in the order of iteration.
    ///
    /// Quadratic in the matches, and the ids of the matches are collected first.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`].
    pub fn for_each_pair(
        &mut self,
        world: &mut World,
        work: impl FnMut(Q::Item<'_>, Q::Item<'_>),
    ) -> Result<(), QueryError> {
        self.state().for_each_pair(&mut world.store, work)
    }
}

impl<Q: ReadOnlyQuery> Prepared<Q> {
    /// Random access to the matches: looks up the columns of every archetype once, and then costs little more than an
    /// array of slots. For a single look there is [`get`](Self::get). It keeps its memory, so that only the first view
    /// and one of a world that has grown by many archetypes allocate.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`].
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let entity = world.spawn(Health(1));
    /// let mut healths = world.prepare::<&Health>()?;
    /// let view = healths.view(&world)?;
    /// assert_eq!(view.get(entity).unwrap().0, 1);
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    pub fn view<'w>(&'w mut self, world: &'w World) -> Result<View<'w, Q>, QueryError> {
        self.look(&world.store)
    }

    /// What the query gives for one entity; `None` when it is not alive, does not match, or is of another world.
    pub fn get<'w>(&'w mut self, world: &'w World, entity: Entity) -> Option<Q::Item<'w>> {
        self.look_at(&world.store, entity)
    }
}
