//! Removals of components, kept for those who read them.
//!
//! A kind has a log only while a reader of it is alive. An entry stays until every living reader has passed it; a
//! reader that is dropped holds nothing back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::kinds::KindId;
use crate::base::entity::Entity;

#[derive(Default)]
pub(crate) struct Removals {
    logs: Vec<Log>,
}

struct Log {
    kind: KindId,
    entries: VecDeque<Entity>,
    /// The number of the first entry, counted from the log's beginning.
    first: u64,
    readers: Vec<Weak<AtomicU64>>,
}

impl Log {
    /// Forgets what all living readers have passed; false when there is no reader left.
    fn trim(&mut self) -> bool {
        let mut slowest = None;
        self.readers.retain(|reader| {
            let cursor = reader
                .upgrade()
                .map(|cursor| cursor.load(Ordering::Relaxed));
            slowest = slowest.into_iter().chain(cursor).min();
            cursor.is_some()
        });
        let keep_from = slowest.unwrap_or(u64::MAX);
        while self.first < keep_from && self.entries.pop_front().is_some() {
            self.first += 1;
        }
        slowest.is_some()
    }
}

impl Removals {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// Notes that a component went.
    #[inline]
    pub(super) fn note(&mut self, kind: KindId, entity: Entity) {
        if !self.logs.is_empty() {
            self.note_in_log(kind, entity);
        }
    }

    fn note_in_log(&mut self, kind: KindId, entity: Entity) {
        let Some(at) = self.logs.iter().position(|log| log.kind == kind) else {
            return;
        };
        let log = &mut self.logs[at];
        // A full buffer is the moment to ask whether anybody still reads, before it grows.
        if log.entries.len() == log.entries.capacity() && !log.trim() {
            self.logs.swap_remove(at);
            return;
        }
        log.entries.push_back(entity);
    }

    /// A new reader of a kind, which has seen nothing yet.
    pub(crate) fn subscribe(&mut self, kind: KindId) -> Arc<AtomicU64> {
        let at = self
            .logs
            .iter()
            .position(|log| log.kind == kind)
            .unwrap_or_else(|| {
                self.logs.push(Log {
                    kind,
                    entries: VecDeque::new(),
                    first: 0,
                    readers: Vec::new(),
                });
                self.logs.len() - 1
            });
        let log = &mut self.logs[at];
        log.trim();
        let cursor = Arc::new(AtomicU64::new(log.first + log.entries.len() as u64));
        log.readers.push(Arc::downgrade(&cursor));
        cursor
    }

    /// The next entry for a reader.
    pub(crate) fn next(&mut self, kind: KindId, cursor: &AtomicU64) -> Option<Entity> {
        let log = self.logs.iter_mut().find(|log| log.kind == kind)?;
        let at = cursor.load(Ordering::Relaxed);
        let entity = log
            .entries
            .get(usize::try_from(at.checked_sub(log.first)?).ok()?)
            .copied();
        if entity.is_some() {
            cursor.store(at + 1, Ordering::Relaxed);
        } else {
            log.trim();
        }
        entity
    }
}
