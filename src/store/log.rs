//! What happened, in order, kept for those who read it.
//!
//! An entry stays until every living reader has passed it; a reader that is dropped holds nothing back. Where nobody
//! reads, nothing is kept.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

pub(crate) struct Log<E> {
    entries: VecDeque<E>,
    /// The number of the first entry, counted from the log's beginning.
    first: u64,
    readers: Vec<Weak<AtomicU64>>,
    /// How many entries are kept for readers that lag; then the oldest go.
    most: usize,
}

/// What a reader finds.
pub(crate) struct Read<E> {
    pub(crate) entry: Option<E>,
    /// Entries before it that were not kept for this reader.
    pub(crate) missed: u64,
}

impl<E: Copy> Log<E> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            readers: Vec::new(),
            most,
        }
    }

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

    /// Adds an entry for the readers; false when there turns out to be none.
    #[inline]
    pub(super) fn push(&mut self, entry: E) -> bool {
        // A full buffer is the moment to ask whether anybody still reads, before it grows.
        let full = self.entries.capacity().min(self.most);
        if self.entries.len() == full && !self.make_room() {
            return false;
        }
        self.entries.push_back(entry);
        true
    }

    #[cold]
    fn make_room(&mut self) -> bool {
        if !self.trim() {
            // Nothing is left in it, and its memory goes too.
            self.entries = VecDeque::new();
            return false;
        }
        if self.entries.len() >= self.most {
            self.entries.pop_front();
            self.first += 1;
        }
        true
    }

    /// A new reader, for whom nothing has happened yet.
    pub(super) fn subscribe(&mut self) -> Arc<AtomicU64> {
        self.trim();
        let cursor = Arc::new(AtomicU64::new(self.first + self.entries.len() as u64));
        self.readers.push(Arc::downgrade(&cursor));
        cursor
    }

    /// The next entry for a reader.
    pub(super) fn next(&mut self, cursor: &AtomicU64) -> Read<E> {
        let seen = cursor.load(Ordering::Relaxed);
        let missed = self.first.saturating_sub(seen);
        let at = seen.max(self.first);
        let place = usize::try_from(at - self.first).ok();
        let entry = place.and_then(|place| self.entries.get(place)).copied();
        cursor.store(at + u64::from(entry.is_some()), Ordering::Relaxed);
        if entry.is_none() {
            self.trim();
        }
        Read { entry, missed }
    }

    pub(super) fn allocated(&self) -> usize {
        self.entries.capacity() * size_of::<E>()
    }
}
