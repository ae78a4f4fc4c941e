//! Groups: which entities have all of some kinds, kept as components come and go.
//!
//! ```text
//! words    by entity index   MEMBER | row in `members`, or which of the group's kinds the entity has, one bit each
//! members  by row            the entities that have them all; fewer than 2^31
//! ```
//!
//! A component that comes sets its bit and one that goes clears it, so the word of an entity that ended is 0 again, and
//! whoever gets its slot next starts from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::kinds::KindId;
use super::log::{Log, Read};
use crate::base::entity::Entity;

const MEMBER: u32 = 1 << 31;
/// The most kinds of a group: as many as a query can have terms.
pub(crate) const MAX_KINDS: usize = 16;
/// The most entries and exits that are kept for a reader that lags.
pub(crate) const MAX_KEPT: usize = 1 << 20;

/// An entity came into a group, or left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupChange {
    /// It has all kinds of the group now.
    Entered(Entity),
    /// It had them all, and lost one, or all.
    Left(Entity),
}

/// A kind's place in a group.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) group: u32,
    pub(super) bit: u32,
}

/// A group of a world: its number, and what tells it from others that had the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupId {
    pub(super) number: u32,
    pub(super) serial: u64,
}

pub(crate) struct GroupState {
    pub(super) serial: u64,
    pub(crate) name: Arc<str>,
    /// In the order in which they were given.
    pub(crate) kinds: Box<[KindId]>,
    full: u32,
    words: Vec<u32>,
    members: Vec<Entity>,
    log: Option<Log<GroupChange>>,
}

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

impl GroupState {
    pub(super) fn new(name: &str, kinds: &[KindId]) -> Self {
        Self {
            serial: NEXT_SERIAL.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            kinds: kinds.into(),
            full: (1 << kinds.len()) - 1,
            words: Vec::new(),
            members: Vec::new(),
            log: None,
        }
    }

    /// The entity got the kind of a bit.
    pub(super) fn gain(&mut self, bit: u32, entity: Entity) {
        let index = entity.index() as usize;
        if self.words.len() <= index {
            self.words.resize(index + 1, 0);
        }
        let word = &mut self.words[index];
        debug_assert!(*word & (MEMBER | bit) == 0, "a component comes once");
        *word |= bit;
        if *word == self.full {
            *word = MEMBER | self.members.len() as u32;
            self.members.push(entity);
            self.tell(GroupChange::Entered(entity));
        }
    }

    /// The entity's component of that kind went.
    pub(super) fn lose(&mut self, bit: u32, entity: Entity) {
        let Some(word) = self.words.get_mut(entity.index() as usize) else {
            return;
        };
        if *word & MEMBER == 0 {
            *word &= !bit;
            return;
        }
        let row = (*word & !MEMBER) as usize;
        *word = self.full & !bit;
        self.members.swap_remove(row);
        if let Some(moved) = self.members.get(row) {
            self.words[moved.index() as usize] = MEMBER | row as u32;
        }
        self.tell(GroupChange::Left(entity));
    }

    fn tell(&mut self, change: GroupChange) {
        if let Some(log) = &mut self.log
            && !log.push(change)
        {
            self.log = None;
        }
    }

    /// The members. Each new one is the last; where one leaves, the last takes its place.
    pub(crate) fn members(&self) -> &[Entity] {
        &self.members
    }

    pub(crate) fn contains(&self, entity: Entity) -> bool {
        let word = self.words.get(entity.index() as usize).copied();
        word.filter(|word| word & MEMBER != 0)
            .is_some_and(|word| self.members.get((word & !MEMBER) as usize) == Some(&entity))
    }

    pub(crate) fn subscribe(&mut self) -> Arc<AtomicU64> {
        let log = self.log.get_or_insert_with(|| Log::new(MAX_KEPT));
        log.subscribe()
    }

    pub(crate) fn next(&mut self, cursor: &AtomicU64) -> Read<GroupChange> {
        match &mut self.log {
            Some(log) => log.next(cursor),
            None => Read {
                entry: None,
                missed: 0,
            },
        }
    }

    pub(super) fn shrink(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        self.words.shrink_to_fit();
        self.members.shrink_to_fit();
    }

    pub(super) fn allocated(&self) -> usize {
        self.words.capacity() * size_of::<u32>()
            + self.members.capacity() * size_of::<Entity>()
            + self.log.as_ref().map_or(0, Log::allocated)
    }
}
