//! A group, as its users hold it.

use super::address::Address;
use super::error::GroupError;
use super::kinds::GroupKinds;
use super::reader::GroupReader;
use crate::base::entity::Entity;
use crate::query::fetch::Query;
use crate::query::iter::QueryIter;
use crate::query::prepared::Prepared;
use crate::world::World;

/// A named set of kinds, and the entities that have them all: the group's members.
///
/// The world keeps the membership while components come and go: a change of one of the group's kinds costs a few
/// instructions more, any other change nothing. So members are counted, looked up and listed without a search. Iterating
/// goes through the columns, as a prepared query does, which the handle holds.
///
/// `K` names the kinds and `Q` what iterating gives of each member: `&mut T` for each kind, unless
/// [`with_query`](Self::with_query) asked for something else.
///
/// Get it from [`World::register_group`] or [`World::group`]; several handles to one group are fine.
///
/// ```
/// # use ecs::{Component, Entity, GroupChange, Value, World, json};
/// # struct Position(f32); struct Velocity(f32);
/// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
/// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
/// let mut world = World::new();
/// let ball = world.spawn((Position(0.0), Velocity(1.0)));
/// let mut balls = world.register_group::<(Position, Velocity)>("balls")?;
/// let mut passages = balls.reader(&mut world)?;
/// assert_eq!(balls.members(&world)?, [ball]);
/// for (position, velocity) in balls.iter(&mut world)? {
///     position.0 += velocity.0;
/// }
/// world.remove::<Velocity>(ball);
/// assert!(!balls.contains(&world, ball)?);
/// assert_eq!(passages.next(&mut world)?, Some(GroupChange::Left(ball)));
/// # Ok::<(), ecs::GroupError>(())
/// ```
pub struct Group<K: GroupKinds, Q: Query = <K as GroupKinds>::Members> {
    address: Address,
    members: Prepared<Q, K::Present>,
}

impl<K: GroupKinds, Q: Query> Group<K, Q> {
    pub(super) fn new(address: Address, world: &mut World) -> Result<Self, GroupError> {
        let members = Prepared::new(&mut world.store)?;
        Ok(Self { address, members })
    }

    /// The group's name.
    pub fn name(&self) -> &str {
        &self.address.name
    }

    /// How many members it has.
    ///
    /// # Errors
    /// [`GroupError::ForeignWorld`], [`GroupError::Removed`].
    pub fn len(&self, world: &World) -> Result<usize, GroupError> {
        Ok(self.members(world)?.len())
    }

    /// Whether it has no member.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    pub fn is_empty(&self, world: &World) -> Result<bool, GroupError> {
        Ok(self.members(world)?.is_empty())
    }

    /// Whether an entity is a member. Constant time.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    pub fn contains(&self, world: &World, entity: Entity) -> Result<bool, GroupError> {
        Ok(self.address.state(world)?.contains(entity))
    }

    /// The members. A new one comes last; where one leaves, the last takes its place. So the same program gives the same
    /// order on every run.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    pub fn members<'w>(&self, world: &'w World) -> Result<&'w [Entity], GroupError> {
        Ok(self.address.state(world)?.members())
    }

    /// What the group's query gives for each member, in the order of queries: archetype by archetype.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    #[allow(
        clippy::iter_not_returning_iterator,
        reason = "it refuses another world first"
    )]
    pub fn iter<'w>(
        &'w mut self,
        world: &'w mut World,
    ) -> Result<QueryIter<'w, Q, K::Present>, GroupError> {
        self.address.state(world)?;
        Ok(self.members.iter(world)?)
    }

    /// What the group's query gives for one member.
    ///
    /// # Errors
    /// [`GroupError::Query`] with [`QueryError::NoMatch`](crate::QueryError::NoMatch) for an entity that is none, and
    /// those of [`len`](Self::len).
    pub fn get<'w>(
        &'w mut self,
        world: &'w mut World,
        entity: Entity,
    ) -> Result<Q::Item<'w>, GroupError> {
        self.address.state(world)?;
        Ok(self.members.get_mut(world, entity)?)
    }

    /// Another handle to the group, whose iteration gives something else of each member: any query, also of kinds that
    /// the group does not name. A member that does not match it is passed over.
    ///
    /// # Errors
    /// [`GroupError::Query`] for a query that contradicts itself, and those of [`len`](Self::len).
    ///
    /// ```
    /// # use ecs::{Component, Entity, Value, World, json};
    /// # struct Position(f32); struct Velocity(f32);
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let ball = world.spawn((Position(0.5), Velocity(1.0)));
    /// let balls = world.register_group::<(Position, Velocity)>("balls")?;
    /// let mut places = balls.with_query::<(Entity, &Position)>(&mut world)?;
    /// let found: Vec<_> = places.iter(&mut world)?.map(|(entity, at)| (entity, at.0)).collect();
    /// assert_eq!(found, [(ball, 0.5)]);
    /// # Ok::<(), ecs::GroupError>(())
    /// ```
    pub fn with_query<R: Query>(&self, world: &mut World) -> Result<Group<K, R>, GroupError> {
        self.address.state(world)?;
        Group::new(self.address.clone(), world)
    }

    /// A reader of the entries and exits from now on.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    pub fn reader(&self, world: &mut World) -> Result<GroupReader, GroupError> {
        let cursor = self.address.state_mut(world)?.subscribe();
        Ok(GroupReader::new(self.address.clone(), cursor))
    }
}

impl<K: GroupKinds, Q: Query> std::fmt::Debug for Group<K, Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
