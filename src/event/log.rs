//! The events of one type, kept for those who read them.
//!
//! ```text
//!            delivered                        incoming
//!   [ 7  8  9 10 11 ]               [ 12 13 ]
//!     ^first    ^a cursor            sent since the last delivery; nobody sees them yet
//!     the slowest cursor
//! ```
//!
//! Events are numbered in the order sent. A delivery forgets what all living readers have passed, and then makes what is
//! incoming readable. Without a reader it drops what is incoming at once.
//!
//! What was delivered lies behind an `Arc`: a listener is called with a reference into it while it has the world, and
//! so this log, in its hands. A delivery that finds it shared so does nothing; the next one does.

use std::any::{Any, type_name};
use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::mem;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::DEFAULT_EVENT_LIMIT;
use super::buffer::EventWriter;
use super::kept::{Kept, drop_each};
use super::stamps::Stamps;
use crate::base::caught::FirstPanic;

pub(crate) struct EventLog<E> {
    incoming: Kept<Vec<E>>,
    /// In one piece, so that a reader goes through a plain slice.
    delivered: Arc<Kept<VecDeque<E>>>,
    /// The number of the first event of `delivered`.
    first: u64,
    cursors: Vec<Cursor>,
    /// How many events from before a delivery it keeps at most.
    limit: usize,
    /// Somebody lost events by the limit, which was not told yet.
    overflowed: Overflow,
    /// The places of the events among those of all types: listeners hear all types in the order sent.
    stamps: Stamps,
}

/// Where a reader stands: the number of the next event it reads. Dead when nobody else holds it.
struct Cursor {
    at: Arc<AtomicU64>,
    listens: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Never,
    News,
    Told,
}

impl<E> Default for EventLog<E> {
    fn default() -> Self {
        Self {
            incoming: Kept::default(),
            delivered: Arc::default(),
            first: 0,
            cursors: Vec::new(),
            limit: DEFAULT_EVENT_LIMIT,
            overflowed: Overflow::Never,
            stamps: Stamps::default(),
        }
    }
}

fn offset(number: u64, first: u64) -> Option<usize> {
    usize::try_from(number.checked_sub(first)?).ok()
}

impl<E> EventLog<E> {
    #[inline]
    pub(super) fn push(&mut self, event: E) {
        self.incoming.push(event);
    }

    #[inline]
    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = E>) {
        self.incoming.extend(events);
    }

    #[inline]
    pub(super) fn writer(&mut self) -> EventWriter<'_, E> {
        EventWriter {
            events: &mut self.incoming,
        }
    }

    /// What is sent from here on follows at once, the first as the one with this stamp.
    pub(super) fn begin(&mut self, stamp: u64) {
        self.stamps.begin(self.incoming.len() as u64, stamp);
    }

    fn end(&self) -> u64 {
        self.first + self.delivered.len() as u64
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// A cursor of a new reader, which sees what is delivered from now on.
    pub(super) fn subscribe(&mut self, listens: bool) -> Arc<AtomicU64> {
        // Before the list grows is the moment to ask who is left.
        if self.cursors.len() == self.cursors.capacity() {
            self.cursors
                .retain(|cursor| Arc::strong_count(&cursor.at) > 1);
        }
        self.stamps.used |= listens;
        let at = Arc::new(AtomicU64::new(self.end()));
        self.cursors.push(Cursor {
            at: Arc::clone(&at),
            listens,
        });
        at
    }

    /// What a reader has not read yet. It passes what it takes of it. Also: how many events it has missed since it last
    /// read.
    #[inline]
    pub(crate) fn read<'a>(&'a self, cursor: &'a AtomicU64) -> (EventIter<'a, E>, u64) {
        let at = cursor.load(Ordering::Relaxed);
        let from = at.max(self.first);
        let start = offset(from, self.first).map_or(0, |start| start.min(self.delivered.len()));
        let events = self.delivered.as_slices().0.get(start..);
        let end = self.end();
        cursor.store(end, Ordering::Relaxed);
        let iter = EventIter {
            events: events.unwrap_or_default().iter(),
            cursor,
            end,
        };
        (iter, from - at)
    }

    /// Where the slowest living reader stands. `None`: there is none.
    fn slowest(&mut self) -> Option<u64> {
        let mut slowest = None::<u64>;
        let mut listens = false;
        self.cursors.retain(|cursor| {
            let lives = Arc::strong_count(&cursor.at) > 1;
            if lives {
                let at = cursor.at.load(Ordering::Relaxed);
                slowest = Some(slowest.map_or(at, |slowest| slowest.min(at)));
                listens |= cursor.listens;
            }
            lives
        });
        self.stamps.used = listens;
        slowest
    }
}

/// A log whose type is forgotten.
pub(super) trait AnyLog: Any + Send + Sync {
    /// Forgets what was read and makes readable what was sent.
    fn deliver(&mut self, panics: &mut FirstPanic) -> Delivered;
    /// The numbers of the events that are readable.
    fn numbers(&self) -> (u64, u64);
    /// The stamp after the last event that was sent and not delivered.
    fn next_stamp(&self) -> Option<u64>;
    /// See [`Stamps::of`].
    fn stamp(&self, number: u64) -> (u64, Option<u64>);
    fn batch(&self) -> Batch;
    /// The type's name, once, when readers have missed events.
    fn take_overflow(&mut self) -> Option<(&'static str, usize)>;
}

/// What a delivery leaves.
pub(super) struct Delivered {
    /// Some events are kept.
    pub(super) keeps: bool,
    /// Readers have missed events for the first time.
    pub(super) overflowed: bool,
}

/// Delivered events whose type is forgotten, kept while somebody is called with them.
pub(crate) struct Batch(Arc<dyn Any + Send + Sync>);

impl Batch {
    /// All of them, as what they are.
    #[inline]
    pub(crate) fn events<E: Send + Sync + 'static>(&self) -> Option<&[E]> {
        let kept: &Kept<VecDeque<E>> = self.0.downcast_ref()?;
        Some(kept.as_slices().0)
    }
}

impl<E: Send + Sync + 'static> AnyLog for EventLog<E> {
    fn deliver(&mut self, panics: &mut FirstPanic) -> Delivered {
        let mut delivered = Delivered {
            keeps: true,
            overflowed: false,
        };
        let slowest = self.slowest();
        let Some(kept) = Arc::get_mut(&mut self.delivered) else {
            return delivered;
        };
        let end = self.first + kept.len() as u64;
        let passed = slowest.unwrap_or(end).min(end);
        let mut forgotten = offset(passed, self.first).unwrap_or(0);
        // The limit is for what was readable before: a burst of any size can be read.
        let left = kept.len() - forgotten;
        let over = (left + self.incoming.len())
            .saturating_sub(self.limit)
            .min(left);
        if over > 0 {
            forgotten += over;
            if self.overflowed == Overflow::Never {
                self.overflowed = Overflow::News;
                delivered.overflowed = true;
            }
        }
        self.first += forgotten as u64;
        self.stamps.deliver(self.first, end);
        if slowest.is_none() {
            self.first += self.incoming.len() as u64;
            drop_each(kept.drain(..), panics);
            drop_each(self.incoming.drain(..), panics);
            delivered.keeps = false;
            return delivered;
        }
        drop_each(kept.drain(..forgotten), panics);
        if kept.is_empty() {
            // The two lists change places, and both keep their memory.
            let memory = Vec::from(mem::take(&mut kept.0));
            kept.0 = mem::replace(&mut self.incoming.0, memory).into();
        } else {
            // With room for twice as much the ring seldom meets its end, and moving it then costs each event little.
            let twice = kept.len() + self.incoming.len();
            kept.reserve(twice);
            kept.extend(self.incoming.drain(..));
            kept.make_contiguous();
        }
        delivered.keeps = !kept.is_empty();
        delivered
    }

    fn numbers(&self) -> (u64, u64) {
        (self.first, self.end())
    }

    fn next_stamp(&self) -> Option<u64> {
        self.stamps.next(self.incoming.len() as u64)
    }

    fn stamp(&self, number: u64) -> (u64, Option<u64>) {
        self.stamps.of(number)
    }

    fn batch(&self) -> Batch {
        Batch(Arc::<Kept<VecDeque<E>>>::clone(&self.delivered))
    }

    fn take_overflow(&mut self) -> Option<(&'static str, usize)> {
        if self.overflowed != Overflow::News {
            return None;
        }
        self.overflowed = Overflow::Told;
        Some((type_name::<E>(), self.limit))
    }
}

/// The events that a reader has not read yet; see [`EventReader::read`](crate::EventReader::read). What is taken from
/// it is read, what is left when it is dropped is not.
pub struct EventIter<'a, E> {
    events: slice::Iter<'a, E>,
    cursor: &'a AtomicU64,
    end: u64,
}

impl<'a, E> Iterator for EventIter<'a, E> {
    type Item = &'a E;

    #[inline]
    fn next(&mut self) -> Option<&'a E> {
        self.events.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.events.size_hint()
    }
}

impl<E> ExactSizeIterator for EventIter<'_, E> {}
impl<E> FusedIterator for EventIter<'_, E> {}

impl<E> Drop for EventIter<'_, E> {
    #[inline]
    fn drop(&mut self) {
        let left = self.events.len() as u64;
        self.cursor.store(self.end - left, Ordering::Relaxed);
    }
}

impl<E> std::fmt::Debug for EventIter<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventIter")
            .field("left", &self.events.len())
            .finish_non_exhaustive()
    }
}
