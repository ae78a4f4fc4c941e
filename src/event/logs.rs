//! The logs of all types of events.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::buffer::EventBuffer;
use super::log::{AnyLog, Batch, EventLog};
use crate::base::caught::FirstPanic;
use crate::base::hash::TypeMap;

/// The logs of a world, one for each type of event that was ever sent, read or listened to.
#[derive(Default)]
pub(crate) struct EventLogs {
    index: TypeMap<usize>,
    logs: Vec<Box<dyn AnyLog>>,
    /// A delivery would find something to do.
    busy: bool,
    /// How many events were stamped: the number of the last one among those of all types.
    sent: u64,
}

impl EventLogs {
    /// The log of a type. `None`: nobody has sent such an event or asked for one.
    #[inline]
    pub(crate) fn log<E: Send + Sync + 'static>(&self) -> Option<&EventLog<E>> {
        let at = *self.index.get(&TypeId::of::<E>())?;
        let log: &dyn Any = &**self.logs.get(at)?;
        log.downcast_ref()
    }

    /// The log of a type, made if need be.
    #[inline]
    fn log_mut<E: Send + Sync + 'static>(&mut self) -> (&mut EventLog<E>, &mut u64) {
        let at = match self.index.get(&TypeId::of::<E>()) {
            Some(&at) => at,
            None => self.make::<E>(),
        };
        let log: &mut dyn Any = &mut *self.logs[at];
        let log = log
            .downcast_mut()
            .expect("a type's log is of that type, as `make` put it");
        (log, &mut self.sent)
    }

    #[cold]
    fn make<E: Send + Sync + 'static>(&mut self) -> usize {
        let at = self.logs.len();
        self.logs.push(Box::new(EventLog::<E>::default()));
        self.index.insert(TypeId::of::<E>(), at);
        at
    }

    #[inline]
    pub(crate) fn send<E: Send + Sync + 'static>(&mut self, event: E) {
        self.busy = true;
        let (log, sent) = self.log_mut();
        log.push(event, sent);
    }

    #[inline]
    pub(crate) fn send_all<E: Send + Sync + 'static>(
        &mut self,
        events: impl IntoIterator<Item = E>,
    ) {
        self.busy = true;
        let (log, sent) = self.log_mut();
        log.extend(events, sent);
    }

    /// Sends what was collected, in order, and leaves the buffer empty with its memory.
    pub(crate) fn append<E: Send + Sync + 'static>(&mut self, buffer: &mut EventBuffer<E>) {
        if !buffer.is_empty() {
            self.send_all(buffer.events.drain(..));
        }
    }

    pub(crate) fn subscribe<E: Send + Sync + 'static>(&mut self) -> Arc<AtomicU64> {
        let (log, sent) = self.log_mut::<E>();
        let sent = *sent;
        log.subscribe(false, sent)
    }

    pub(crate) fn set_limit<E: Send + Sync + 'static>(&mut self, limit: usize) {
        self.log_mut::<E>().0.set_limit(limit);
    }

    /// Whether a [`deliver`](Self::deliver) would find something to do.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Makes readable what was sent, and forgets what all readers have passed.
    pub(crate) fn deliver(&mut self, panics: &mut FirstPanic) {
        if !self.busy {
            return;
        }
        let mut busy = false;
        for log in &mut self.logs {
            busy |= log.deliver(panics);
        }
        self.busy = busy;
    }
}
