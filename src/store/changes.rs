//! What comes and goes, told to those who asked: readers of losses, groups, and observers.
//!
//! Every way a component comes or goes ends in [`Changes::note`], in the order in which it happens. Losses are rare
//! enough to ask there whether anybody listens. Bundles and edges know beforehand which of their additions somebody
//! wants (see [`Changes::wants_gains`]), so that where nobody does, nothing is asked.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use smallvec::SmallVec;

use super::groups::{GroupState, Place};
use super::kinds::KindId;
use super::log::Log;
use crate::base::entity::Entity;

/// What happened to an entity's component of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Replaced,
    Removed,
}

/// A change that observers are still to be told.
#[derive(Clone, Copy)]
pub(crate) struct Observed {
    pub(crate) entity: Entity,
    pub(crate) kind: KindId,
    pub(crate) change: Change,
}

impl Observed {
    /// Whether the same has happened to the other entity.
    #[inline]
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.kind == other.kind && self.change == other.change
    }
}

#[derive(Default)]
pub(crate) struct Changes {
    /// By kind: who wants to know. Empty while nobody does.
    wants: Vec<Wants>,
    /// By number; `None` where a group was taken out.
    pub(super) groups: Vec<Option<GroupState>>,
    /// What observers are still to be told, and the number of its first.
    observed: Vec<Observed>,
    told: u64,
}

/// Who wants to know of a kind.
#[derive(Default)]
struct Wants {
    losses: Option<Log<Entity>>,
    /// By [`Change`]: how many observers.
    observers: [u32; 3],
    groups: SmallVec<[Place; 1]>,
}

impl Wants {
    fn gains(&self) -> bool {
        self.observers[Change::Added as usize] + self.observers[Change::Replaced as usize] > 0
            || !self.groups.is_empty()
    }

    fn anything(&self) -> bool {
        self.gains() || self.observers[Change::Removed as usize] > 0 || self.losses.is_some()
    }
}

impl Changes {
    /// Whether nobody wants to know of anything.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.wants.is_empty()
    }

    /// Whether somebody wants to know when components of a kind come.
    pub(super) fn wants_gains(&self, kind: KindId) -> bool {
        self.wants.get(kind.0 as usize).is_some_and(Wants::gains)
    }

    /// Those of some kinds for which somebody does.
    pub(super) fn wanted_gains(&self, kinds: &[KindId]) -> Box<[KindId]> {
        let wanted = kinds.iter().copied();
        wanted.filter(|kind| self.wants_gains(*kind)).collect()
    }

    /// Notes what happened to a component.
    #[inline]
    pub(super) fn note(&mut self, kind: KindId, entity: Entity, change: Change) {
        if !self.wants.is_empty() {
            self.tell(kind, entity, change);
        }
    }

    #[inline(never)]
    fn tell(&mut self, kind: KindId, entity: Entity, change: Change) {
        let Some(wants) = self.wants.get_mut(kind.0 as usize) else {
            return;
        };
        if wants.observers[change as usize] > 0 {
            self.observed.push(Observed {
                entity,
                kind,
                change,
            });
        }
        for place in &wants.groups {
            if let Some(Some(group)) = self.groups.get_mut(place.group as usize) {
                match change {
                    Change::Added => group.gain(place.bit, entity),
                    Change::Replaced => {}
                    Change::Removed => group.lose(place.bit, entity),
                }
            }
        }
        if change == Change::Removed
            && let Some(losses) = &mut wants.losses
            && !losses.push(entity)
        {
            wants.losses = None;
            self.settle();
        }
    }

    /// Notes the losses of all kinds of an entity.
    #[inline]
    pub(super) fn note_losses(&mut self, kinds: impl Iterator<Item = KindId>, entity: Entity) {
        if !self.is_empty() {
            self.tell_losses(kinds, entity);
        }
    }

    #[inline(never)]
    fn tell_losses(&mut self, kinds: impl Iterator<Item = KindId>, entity: Entity) {
        kinds.for_each(|kind| self.tell(kind, entity, Change::Removed));
    }

    /// Forgets those who want nothing any more.
    fn settle(&mut self) {
        while self.wants.last().is_some_and(|wants| !wants.anything()) {
            self.wants.pop();
        }
    }

    fn wants_of(&mut self, kind: KindId) -> &mut Wants {
        let at = kind.0 as usize;
        if self.wants.len() <= at {
            self.wants.resize_with(at + 1, Wants::default);
        }
        &mut self.wants[at]
    }

    /// A new reader of a kind's losses, which has seen nothing yet.
    pub(crate) fn subscribe(&mut self, kind: KindId) -> Arc<AtomicU64> {
        let losses = &mut self.wants_of(kind).losses;
        losses
            .get_or_insert_with(|| Log::new(usize::MAX))
            .subscribe()
    }

    /// The next loss for a reader.
    pub(crate) fn next_loss(&mut self, kind: KindId, cursor: &AtomicU64) -> Option<Entity> {
        let losses = self.wants.get_mut(kind.0 as usize)?.losses.as_mut()?;
        losses.next(cursor).entry
    }

    pub(super) fn add_place(&mut self, kind: KindId, place: Place) {
        self.wants_of(kind).groups.push(place);
    }

    pub(super) fn remove_group(&mut self, group: u32) {
        for wants in &mut self.wants {
            wants.groups.retain(|place| place.group != group);
        }
        if let Some(place) = self.groups.get_mut(group as usize) {
            *place = None;
        }
        self.settle();
    }

    /// One more observer, or one less, of a change of a kind.
    pub(super) fn count_observer(&mut self, kind: KindId, change: Change, by: i32) {
        let count = &mut self.wants_of(kind).observers[change as usize];
        *count = count.saturating_add_signed(by);
        self.settle();
    }

    /// How many changes observers are still to be told.
    #[inline]
    pub(crate) fn untold(&self) -> usize {
        self.observed.len()
    }

    /// The number of the next change that observers are to be told.
    pub(crate) fn next_observed(&self) -> u64 {
        self.told + self.observed.len() as u64
    }

    /// Takes what observers are to be told, for an empty buffer, and gives the number of its first.
    pub(crate) fn take_observed(&mut self, buffer: &mut Vec<Observed>) -> u64 {
        debug_assert!(buffer.is_empty(), "what was told is forgotten");
        std::mem::swap(&mut self.observed, buffer);
        let first = self.told;
        self.told += buffer.len() as u64;
        first
    }

    pub(super) fn shrink(&mut self) {
        self.observed.shrink_to_fit();
        self.groups
            .iter_mut()
            .flatten()
            .for_each(GroupState::shrink);
    }

    /// Bytes that are kept for readers, groups and observers.
    pub(crate) fn allocated(&self) -> usize {
        let wants = self.wants.iter();
        let losses = wants.filter_map(|wants| wants.losses.as_ref());
        let groups = self.groups.iter().flatten();
        self.wants.capacity() * size_of::<Wants>()
            + self.groups.capacity() * size_of::<Option<GroupState>>()
            + self.observed.capacity() * size_of::<Observed>()
            + losses.map(Log::allocated).sum::<usize>()
            + groups.map(GroupState::allocated).sum::<usize>()
    }
}
