//! The naive model: what each entity has, and what was told, one change after the other.

use std::collections::{BTreeMap, BTreeSet};

use ecs::{Entity, GroupChange};

use crate::kinds::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Added,
    Replaced,
    Removed,
}

pub(crate) type Told = (Entity, Kind, What);

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) beings: BTreeMap<Entity, BTreeSet<Kind>>,
    /// All that was ever told.
    pub(crate) told: Vec<Told>,
}

impl Model {
    fn change(&mut self, entity: Entity, kind: Kind, what: What) {
        let kinds = self.beings.get_mut(&entity).unwrap();
        match what {
            What::Added => assert!(kinds.insert(kind)),
            What::Replaced => assert!(kinds.contains(&kind)),
            What::Removed => assert!(kinds.remove(&kind)),
        }
        self.told.push((entity, kind, what));
    }

    pub(crate) fn spawn(&mut self, entity: Entity, kinds: &[Kind]) {
        assert!(self.beings.insert(entity, BTreeSet::new()).is_none());
        for kind in kinds {
            self.change(entity, *kind, What::Added);
        }
    }

    /// Others under the same names go, then what is inserted comes, in its order.
    pub(crate) fn insert(&mut self, entity: Entity, new: &[Kind]) {
        let had = self.beings[&entity].clone();
        for old in &had {
            let rival = |kind: &&Kind| kind.name() == old.name() && *kind != old;
            if new.iter().any(|kind| rival(&kind)) {
                self.change(entity, *old, What::Removed);
            }
        }
        for kind in new {
            let there = had.contains(kind);
            let what = if there { What::Replaced } else { What::Added };
            self.change(entity, *kind, what);
        }
    }

    pub(crate) fn remove(&mut self, entity: Entity, kind: Kind) {
        self.change(entity, kind, What::Removed);
    }

    /// Sparse sets first, in the order they were made; then the columns by name.
    pub(crate) fn despawn(&mut self, entity: Entity) {
        for kind in [Kind::S, Kind::Q, Kind::A, Kind::B, Kind::O, Kind::P] {
            if self.beings[&entity].contains(&kind) {
                self.change(entity, kind, What::Removed);
            }
        }
        self.beings.remove(&entity);
    }

    pub(crate) fn has(&self, entity: Entity, kind: Kind) -> bool {
        let kinds = self.beings.get(&entity);
        kinds.is_some_and(|kinds| kinds.contains(&kind))
    }
}

/// A group, found out anew with each change.
pub(crate) struct NaiveGroup {
    kinds: Vec<Kind>,
    beings: BTreeMap<Entity, BTreeSet<Kind>>,
    told: usize,
    pub(crate) passages: Vec<GroupChange>,
}

impl NaiveGroup {
    /// A group that is registered now.
    pub(crate) fn new(kinds: &[Kind], model: &Model) -> Self {
        Self {
            kinds: kinds.to_vec(),
            beings: model.beings.clone(),
            told: model.told.len(),
            passages: Vec::new(),
        }
    }

    fn is_member(&self, entity: Entity) -> bool {
        let kinds = self.beings.get(&entity);
        kinds.is_some_and(|kinds| self.kinds.iter().all(|kind| kinds.contains(kind)))
    }

    pub(crate) fn members(&self) -> BTreeSet<Entity> {
        let all = self.beings.keys().copied();
        all.filter(|entity| self.is_member(*entity)).collect()
    }

    /// Follows what was told since the last call.
    pub(crate) fn follow(&mut self, model: &Model) {
        for (entity, kind, what) in &model.told[self.told..] {
            let before = self.is_member(*entity);
            let kinds = self.beings.entry(*entity).or_default();
            match what {
                What::Added => drop(kinds.insert(*kind)),
                What::Replaced => {}
                What::Removed => drop(kinds.remove(kind)),
            }
            match (before, self.is_member(*entity)) {
                (false, true) => self.passages.push(GroupChange::Entered(*entity)),
                (true, false) => self.passages.push(GroupChange::Left(*entity)),
                _ => {}
            }
        }
        self.told = model.told.len();
    }
}
