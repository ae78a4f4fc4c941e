//! Registering groups, and finding them by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::address::Address;
use super::error::GroupError;
use super::handle::Group;
use super::kinds::GroupKinds;
use crate::base::entity::Entity;
use crate::store::Store;
use crate::store::bundle::Part;
use crate::store::error::BundleFault;
use crate::store::groups::{GroupId, GroupState, MAX_KINDS};
use crate::store::kinds::KindId;
use crate::world::World;

/// What a world says of a group.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GroupInfo<'w> {
    /// Its name.
    pub name: &'w str,
    /// Its members; see [`Group::members`].
    pub members: &'w [Entity],
    kinds: KindNames<'w>,
}

#[derive(Clone, Copy)]
struct KindNames<'w> {
    store: &'w Store,
    kinds: &'w [KindId],
}

impl std::fmt::Debug for KindNames<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<'w> KindNames<'w> {
    fn names(self) -> impl Iterator<Item = &'w str> {
        let Self { store, kinds } = self;
        kinds.iter().map(|kind| &*store.kinds.get(*kind).name)
    }
}

impl<'w> GroupInfo<'w> {
    /// The type names of its kinds, in the order they were registered.
    pub fn type_names(&self) -> impl Iterator<Item = &'w str> {
        self.kinds.names()
    }
}

impl World {
    /// Registers a group: a name for a set of kinds, whose members the world keeps from now on. Entities that have the
    /// kinds already are members at once.
    ///
    /// A name that is registered gives the same group again, if the kinds are the same, in whatever order.
    ///
    /// Linear in the entities that have some of the kinds. A group takes 4 bytes for each entity slot and 8 for each
    /// member.
    ///
    /// # Errors
    /// [`GroupError::EmptyName`], [`GroupError::KindCount`], [`GroupError::Kinds`], [`GroupError::OtherKinds`].
    pub fn register_group<K: GroupKinds>(&mut self, name: &str) -> Result<Group<K>, GroupError> {
        let function = "register_group";
        let kinds = self.group_kinds::<K>(name, function)?;
        let known = self.find_group(name);
        let id = match known {
            Some(id) => id,
            None => self.store.make_group(name, &kinds),
        };
        self.typed_group(id, &kinds, function)
    }

    /// The group of a name.
    ///
    /// # Errors
    /// [`GroupError::Unknown`], and those of [`register_group`](Self::register_group).
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// world.register_group::<Health>("living")?;
    /// world.spawn(Health(1));
    /// assert_eq!(world.group::<Health>("living")?.len(&world)?, 1);
    /// assert!(world.group::<Health>("undead").is_err());
    /// # Ok::<(), ecs::GroupError>(())
    /// ```
    pub fn group<K: GroupKinds>(&mut self, name: &str) -> Result<Group<K>, GroupError> {
        let function = "group";
        let kinds = self.group_kinds::<K>(name, function)?;
        match self.find_group(name) {
            Some(id) => self.typed_group(id, &kinds, function),
            None => Err(GroupError::Unknown {
                at: self.origin(function),
                name: name.to_owned(),
            }),
        }
    }

    /// Forgets a group; false when there is none of this name. Handles to it, and its readers, are errors from then on,
    /// also when the name is registered again.
    pub fn remove_group(&mut self, name: &str) -> bool {
        let known = self.find_group(name);
        known.is_some_and(|id| self.store.remove_group(id))
    }

    /// All groups of the world.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// world.register_group::<Health>("living")?;
    /// world.spawn(Health(1));
    /// for group in world.groups() {
    ///     assert_eq!((group.name, group.members.len()), ("living", 1));
    ///     assert!(group.type_names().eq(["Health"]));
    /// }
    /// # Ok::<(), ecs::GroupError>(())
    /// ```
    pub fn groups(&self) -> impl Iterator<Item = GroupInfo<'_>> {
        self.store.groups().map(|(_, group)| GroupInfo {
            name: &group.name,
            members: group.members(),
            kinds: self.names_of(&group.kinds),
        })
    }

    fn names_of<'w>(&'w self, kinds: &'w [KindId]) -> KindNames<'w> {
        let store = &self.store;
        KindNames { store, kinds }
    }

    fn find_group(&self, name: &str) -> Option<GroupId> {
        let mut groups = self.store.groups();
        let found = groups.find(|(_, group)| *group.name == *name);
        found.map(|(id, _)| id)
    }

    fn group_kinds<K: GroupKinds>(
        &mut self,
        name: &str,
        function: &'static str,
    ) -> Result<Vec<KindId>, GroupError> {
        let at = self.origin(function);
        if name.is_empty() {
            return Err(GroupError::EmptyName { at });
        }
        let name = name.to_owned();
        let parts = match Store::check_bundle::<K>() {
            Ok(parts) => parts.0,
            Err(fault) => return Err(GroupError::Kinds { at, name, fault }),
        };
        let given = parts.len();
        if !(1..=MAX_KINDS).contains(&given) {
            let most = MAX_KINDS;
            return Err(GroupError::KindCount {
                at,
                name,
                given,
                most,
            });
        }
        let intern = |part: &Part| {
            let kind = self.store.intern(part.name, part.ty);
            kind.ok_or(BundleFault::EmptyTypeName)
        };
        let kinds: Result<Vec<KindId>, BundleFault> = parts.iter().map(intern).collect();
        kinds.map_err(|fault| GroupError::Kinds { at, name, fault })
    }

    /// A handle to a group, if its kinds are those.
    fn typed_group<K: GroupKinds>(
        &mut self,
        id: GroupId,
        kinds: &[KindId],
        function: &'static str,
    ) -> Result<Group<K>, GroupError> {
        let same = |group: &&GroupState| -> bool {
            let sets = [&*group.kinds, kinds].map(|kinds| kinds.iter().collect::<BTreeSet<_>>());
            sets[0] == sets[1]
        };
        let group = self.store.group(id);
        if let Some(group) = group.filter(same) {
            let address = Address {
                world: self.store.id(),
                id,
                name: Arc::clone(&group.name),
            };
            return Group::new(address, self);
        }
        let names = |kinds: &[KindId]| self.names_of(kinds).names().map(str::to_owned).collect();
        Err(GroupError::OtherKinds {
            at: self.origin(function),
            name: group.map_or_else(String::new, |group| group.name.to_string()),
            registered: group.map_or_else(Vec::new, |group| names(&group.kinds)),
            given: names(kinds),
        })
    }
}
