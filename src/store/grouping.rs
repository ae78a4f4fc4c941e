//! Making, finding and ending groups.

use super::Store;
use super::groups::{GroupId, GroupState, MAX_KINDS, Place};
use super::kinds::KindId;

impl Store {
    /// Makes a group; what is there already counts. The order of its first members is that of queries.
    ///
    /// Linear in the entities that have some of the kinds.
    pub(crate) fn make_group(&mut self, name: &str, kinds: &[KindId]) -> GroupId {
        debug_assert!(kinds.len() <= MAX_KINDS, "the caller asks first");
        let mut state = GroupState::new(name, kinds);
        self.fill(&mut state);
        let groups = &mut self.changes.groups;
        let number = groups.iter().position(Option::is_none);
        let number = number.unwrap_or_else(|| {
            groups.push(None);
            groups.len() - 1
        });
        let id = GroupId {
            number: number as u32,
            serial: state.serial,
        };
        groups[number] = Some(state);
        for (at, kind) in kinds.iter().enumerate() {
            let (group, bit) = (id.number, 1 << at);
            self.changes.add_place(*kind, Place { group, bit });
        }
        self.forget_paths();
        id
    }

    /// Tells a new group what there is.
    fn fill(&self, state: &mut GroupState) {
        let kinds = state.kinds.clone();
        let mut sets = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            if let Some(set) = self.kinds.get(*kind).sparse {
                sets.push((1 << at, &self.sparse[set as usize]));
            }
        }
        for (number, archetype) in self.archetypes.iter().enumerate() {
            let columns = kinds.iter().enumerate();
            let columns = columns.filter(|(_, kind)| archetype.position(**kind).is_some());
            let bits: Vec<u32> = columns.map(|(at, _)| 1 << at).collect();
            let sets = sets.iter().filter(|(_, set)| set.view().count(number) > 0);
            let sets: Vec<_> = sets.collect();
            if bits.is_empty() && sets.is_empty() {
                continue;
            }
            let entities = archetype.ids().iter();
            for entity in entities.filter_map(|index| self.entities.at(*index)) {
                let loose = sets
                    .iter()
                    .filter(|(_, set)| set.row(entity.index()).is_some());
                for bit in bits.iter().copied().chain(loose.map(|(bit, _)| *bit)) {
                    state.gain(bit, entity);
                }
            }
        }
    }

    /// Takes a group out; false when it is gone already.
    pub(crate) fn remove_group(&mut self, id: GroupId) -> bool {
        let there = self.group(id).is_some();
        if there {
            self.changes.remove_group(id.number);
            self.forget_paths();
        }
        there
    }

    pub(crate) fn group(&self, id: GroupId) -> Option<&GroupState> {
        let group = self.changes.groups.get(id.number as usize)?.as_ref();
        group.filter(|group| group.serial == id.serial)
    }

    pub(crate) fn group_mut(&mut self, id: GroupId) -> Option<&mut GroupState> {
        let group = self.changes.groups.get_mut(id.number as usize)?.as_mut();
        group.filter(|group| group.serial == id.serial)
    }

    /// All groups, in the order of their numbers.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (GroupId, &GroupState)> {
        let groups = self.changes.groups.iter().enumerate();
        groups.filter_map(|(number, group)| {
            let group = group.as_ref()?;
            let id = GroupId {
                number: number as u32,
                serial: group.serial,
            };
            Some((id, group))
        })
    }
}
