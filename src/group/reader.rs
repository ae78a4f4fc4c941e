//! Who entered a group and who left it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::address::Address;
use super::error::GroupError;
use crate::store::groups::GroupChange;
use crate::world::World;

/// Reads who entered a group and who left it since it last read: each passage exactly once, in the order they happened.
/// An entity that came and went in between gives both.
///
/// For a reader that lags the world keeps a million passages (2^20, 16 bytes each); of older ones it keeps the
/// [number](Self::missed). Who reads `missed() > 0` looks at [`Group::members`](crate::Group::members) and goes on from
/// there. Where nobody reads, nothing is kept.
///
/// ```
/// # use ecs::{Component, GroupChange, Value, World, json};
/// # struct Health(i32);
/// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
/// let mut world = World::new();
/// let living = world.register_group::<Health>("living")?;
/// let mut passages = living.reader(&mut world)?;
/// let entity = world.spawn(Health(1));
/// world.despawn(entity);
/// assert_eq!(passages.next(&mut world)?, Some(GroupChange::Entered(entity)));
/// assert_eq!(passages.next(&mut world)?, Some(GroupChange::Left(entity)));
/// assert_eq!(passages.next(&mut world)?, None);
/// # Ok::<(), ecs::GroupError>(())
/// ```
pub struct GroupReader {
    address: Address,
    cursor: Arc<AtomicU64>,
    missed: u64,
}

impl GroupReader {
    pub(super) fn new(address: Address, cursor: Arc<AtomicU64>) -> Self {
        Self {
            address,
            cursor,
            missed: 0,
        }
    }

    /// The next passage. The entity may be gone by now, or have come back: that is a passage of its own.
    ///
    /// # Errors
    /// [`GroupError::ForeignWorld`], [`GroupError::Removed`].
    pub fn next(&mut self, world: &mut World) -> Result<Option<GroupChange>, GroupError> {
        let read = self.address.state_mut(world)?.next(&self.cursor);
        self.missed += read.missed;
        Ok(read.entry)
    }

    /// How many passages this reader came too late for; see [`GroupReader`].
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl std::fmt::Debug for GroupReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupReader")
            .field("group", &self.address.name)
            .field("missed", &self.missed)
            .finish_non_exhaustive()
    }
}
