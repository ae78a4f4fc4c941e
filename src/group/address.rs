//! Where a group is.

use std::sync::Arc;

use super::error::GroupError;
use crate::store::groups::{GroupId, GroupState};
use crate::world::World;

/// Where a group is, and in which world.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) world: u64,
    pub(super) id: GroupId,
    pub(super) name: Arc<str>,
}

impl Address {
    pub(super) fn check(&self, world: &World) -> Result<(), GroupError> {
        if self.world == world.store.id() {
            return Ok(());
        }
        let name = String::from(&*self.name);
        Err(GroupError::ForeignWorld { name })
    }

    pub(super) fn state<'w>(&self, world: &'w World) -> Result<&'w GroupState, GroupError> {
        self.check(world)?;
        world.store.group(self.id).ok_or_else(|| self.removed())
    }

    pub(super) fn state_mut<'w>(
        &self,
        world: &'w mut World,
    ) -> Result<&'w mut GroupState, GroupError> {
        self.check(world)?;
        let group = world.store.group_mut(self.id);
        group.ok_or_else(|| self.removed())
    }

    #[cold]
    fn removed(&self) -> GroupError {
        let name = String::from(&*self.name);
        GroupError::Removed { name }
    }
}
