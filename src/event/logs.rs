//! The logs of all types of events.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::buffer::EventBuffer;
use super::log::{AnyLog, Batch, Delivered, EventLog};
use crate::base::caught::FirstPanic;
use crate::base::hash::TypeMap;

/// The logs of a world, one for each type of event that was ever sent, read or listened to.
#[derive(Default)]
pub(crate) struct EventLogs {
    index: TypeMap<usize>,
    /// The type that was asked for last: many of one type are sent in a row.
    last: Option<(TypeId, usize)>,
    logs: Vec<Box<dyn AnyLog>>,
    /// A delivery would find something to do.
    busy: bool,
    /// How many events were sent.
    sent: u64,
    /// Some reader has missed events, which was not told yet.
    overflowed: bool,
}

/// The number of a type's log in its world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogNumber(usize);

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
        let at = self.number::<E>();
        let log: &mut dyn Any = &mut *self.logs[at];
        let log = log
            .downcast_mut()
            .expect("a type's log is of that type, as `make` put it");
        (log, &mut self.sent)
    }

    #[inline]
    fn number<E: Send + Sync + 'static>(&mut self) -> usize {
        let id = TypeId::of::<E>();
        if let Some((last, at)) = self.last
            && last == id
        {
            return at;
        }
        let at = match self.index.get(&id) {
            Some(&at) => at,
            None => self.make::<E>(),
        };
        self.last = Some((id, at));
        at
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
        self.log_mut::<E>().0.subscribe(false)
    }

    /// A place of a listener.
    pub(crate) fn listen<E: Send + Sync + 'static>(&mut self) -> (LogNumber, Arc<AtomicU64>) {
        let number = self.number::<E>();
        (LogNumber(number), self.log_mut::<E>().0.subscribe(true))
    }

    /// The numbers of the events of a log that are readable: the first, and the one after the last.
    pub(crate) fn readable(&self, log: LogNumber) -> (u64, u64) {
        self.logs.get(log.0).map_or((0, 0), |log| log.numbers())
    }

    /// The place of an event among those of all types, and the number of the first event after it in its log that does
    /// not follow at once, if there is one.
    pub(crate) fn stamp(&self, log: LogNumber, number: u64) -> (u64, Option<u64>) {
        let log = self.logs.get(log.0);
        log.map_or((0, None), |log| log.stamp(number))
    }

    /// The readable events of a log, which stay as they are while the batch is kept.
    pub(crate) fn batch(&self, log: LogNumber) -> Option<Arc<dyn Batch>> {
        self.logs.get(log.0).map(|log| log.batch())
    }

    /// A type of whose events readers have missed some, and the limit; each type once.
    pub(crate) fn take_overflow(&mut self) -> Option<(&'static str, usize)> {
        if !self.overflowed {
            return None;
        }
        let overflow = self.logs.iter_mut().find_map(|log| log.take_overflow());
        self.overflowed = overflow.is_some();
        overflow
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
            let Delivered { keeps, overflowed } = log.deliver(panics);
            busy |= keeps;
            self.overflowed |= overflowed;
        }
        self.busy = busy;
    }
}
