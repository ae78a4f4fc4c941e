//! Where any thread puts events, of all types in one order, until the container takes them.
//!
//! ```text
//! senders, any thread                     the container
//!   Inlet ──push──▶ waiting ──swap──▶ a batch of its own ──▶ the world's logs
//!          (leaf lock)
//! ```
//!
//! The batch is swapped whole, so both keep the memory of their lists and steady sending allocates nothing.

#[cfg(all(test, loom))]
mod models;

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::mem;

use super::kept::Kept;
use super::logs::EventLogs;
use crate::base::hash::TypeMap;
use crate::base::lock::{AtomicBool, Mutex, Ordering};
use crate::base::user;

pub(crate) struct Inlet {
    queue: Mutex<Queue>,
    /// Something waits. Written under the lock only.
    ready: AtomicBool,
}

#[derive(Default)]
struct Queue {
    closed: bool,
    waiting: SentEvents,
}

/// Events of several types in the order sent: a list for each type, and how the lists are to be read.
#[derive(Default)]
pub(crate) struct SentEvents {
    index: TypeMap<usize>,
    lists: Vec<Box<dyn AnyList>>,
    runs: Vec<Run>,
}

/// So many events of one list.
struct Run {
    list: usize,
    count: usize,
}

type List<E> = Kept<VecDeque<E>>;

trait AnyList: Any + Send {
    fn send(&mut self, count: usize, logs: &mut EventLogs);
}

impl<E: Send + Sync + 'static> AnyList for List<E> {
    fn send(&mut self, count: usize, logs: &mut EventLogs) {
        let count = count.min(self.len());
        logs.send_all(self.drain(..count));
    }
}

impl SentEvents {
    pub(crate) fn push<E: Send + Sync + 'static>(&mut self, event: E) {
        let id = TypeId::of::<E>();
        let list = *self.index.entry(id).or_insert_with(|| {
            self.lists.push(Box::new(List::<E>::default()));
            self.lists.len() - 1
        });
        let events: &mut dyn Any = &mut *self.lists[list];
        let events: &mut List<E> = events
            .downcast_mut()
            .expect("a type's list is of that type, as it was put two lines above");
        events.push_back(event);
        match self.runs.last_mut() {
            Some(run) if run.list == list => run.count += 1,
            _ => self.runs.push(Run { list, count: 1 }),
        }
    }

    /// Sends all of them, in order, and keeps the memory.
    pub(crate) fn send(&mut self, logs: &mut EventLogs) {
        for Run { list, count } in self.runs.drain(..) {
            self.lists[list].send(count, logs);
        }
    }
}

impl Inlet {
    pub(crate) fn new() -> Self {
        Self {
            queue: Mutex::new(Queue::default()),
            ready: AtomicBool::new(false),
        }
    }

    /// Accepts an event for the next delivery. A closed inlet hands it back.
    pub(crate) fn push<E: Send + Sync + 'static>(&self, event: E) -> Result<(), E> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(event);
        }
        queue.waiting.push(event);
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Swaps what waits with the caller's empty batch.
    pub(crate) fn take_into(&self, batch: &mut SentEvents) {
        let mut queue = self.queue.lock();
        self.ready.store(false, Ordering::Relaxed);
        mem::swap(&mut queue.waiting, batch);
    }

    /// Accepts nothing any more, and drops what waits.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut queue = self.queue.lock();
            queue.closed = true;
            self.ready.store(false, Ordering::Relaxed);
            mem::take(&mut queue.waiting)
        };
        let _ = user::release(waiting);
    }
}
