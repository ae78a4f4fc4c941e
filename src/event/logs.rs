//! The logs of all types of events.

use std::any::{Any, TypeId};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::buffer::{EventBuffer, EventWriter};
use super::log::{AnyLog, Batch, Delivered, EventLog};
use crate::base::caught::FirstPanic;
use crate::base::hash::TypeMap;

/// The logs of a world, one for each type of event that was ever sent, read or listened to.
#[derive(Default)]
pub(crate) struct EventLogs {
    index: TypeMap<LogNumber>,
    logs: Vec<Box<dyn AnyLog>>,
    /// The log that is being sent to, if one is: many of one type are sent in a row. They are counted when the row ends.
    open: LogNumber,
    /// How many events were sent before those of the open log's last run.
    sent: u64,
    /// A delivery would find something to do.
    busy: bool,
    /// Some reader has missed events, which was not told yet.
    overflowed: bool,
}

/// The number of a type's log in its world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogNumber(usize);

/// That of no log.
impl Default for LogNumber {
    fn default() -> Self {
        Self(usize::MAX)
    }
}

impl EventLogs {
    /// The log of a type. `None`: nobody has sent such an event or asked for one.
    #[inline]
    pub(crate) fn log<E: Send + Sync + 'static>(&self) -> Option<&EventLog<E>> {
        let number = *self.index.get(&TypeId::of::<E>())?;
        let log: &dyn Any = &**self.logs.get(number.0)?;
        log.downcast_ref()
    }

    /// The log of a type, made if need be.
    fn log_mut<E: Send + Sync + 'static>(&mut self) -> &mut EventLog<E> {
        find(&mut self.index, &mut self.logs).1
    }

    /// The open log, if it is this type's.
    #[inline]
    fn opened<E: Send + Sync + 'static>(&mut self) -> Option<&mut EventLog<E>> {
        let log: &mut dyn Any = &mut **self.logs.get_mut(self.open.0)?;
        log.downcast_mut()
    }

    /// Opens the log of a type.
    #[inline(never)]
    fn open<E: Send + Sync + 'static>(&mut self) -> &mut EventLog<E> {
        self.close();
        self.busy = true;
        let (number, log) = find(&mut self.index, &mut self.logs);
        self.open = number;
        log.begin(self.sent);
        log
    }

    /// Counts what was sent to the open log.
    fn close(&mut self) {
        let open = mem::take(&mut self.open);
        let next = self.logs.get(open.0).and_then(|log| log.next_stamp());
        self.sent = next.unwrap_or(self.sent);
    }

    #[inline]
    pub(crate) fn send<E: Send + Sync + 'static>(&mut self, event: E) {
        match self.opened() {
            Some(log) => log.push(event),
            None => self.open().push(event),
        }
    }

    /// What sends events of a type one after the other without looking for their log each time.
    pub(crate) fn writer<E: Send + Sync + 'static>(&mut self) -> EventWriter<'_, E> {
        self.open().writer()
    }

    #[inline]
    pub(crate) fn send_all<E: Send + Sync + 'static>(
        &mut self,
        events: impl IntoIterator<Item = E>,
    ) {
        match self.opened() {
            Some(log) => log.extend(events),
            None => self.open().extend(events),
        }
    }

    /// Sends what was collected, in order, and leaves the buffer empty with its memory.
    pub(crate) fn append<E: Send + Sync + 'static>(&mut self, buffer: &mut EventBuffer<E>) {
        if !buffer.is_empty() {
            self.send_all(buffer.events.drain(..));
        }
    }

    pub(crate) fn subscribe<E: Send + Sync + 'static>(&mut self) -> Arc<AtomicU64> {
        self.log_mut::<E>().subscribe(false)
    }

    /// A place of a listener.
    pub(crate) fn listen<E: Send + Sync + 'static>(&mut self) -> (LogNumber, Arc<AtomicU64>) {
        let (number, log) = find::<E>(&mut self.index, &mut self.logs);
        (number, log.subscribe(true))
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
    pub(crate) fn batch(&self, log: LogNumber) -> Option<Batch> {
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
        self.log_mut::<E>().set_limit(limit);
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
        self.close();
        let mut busy = false;
        for log in &mut self.logs {
            let Delivered { keeps, overflowed } = log.deliver(panics);
            busy |= keeps;
            self.overflowed |= overflowed;
        }
        self.busy = busy;
    }
}

/// The log of a type, made if need be, and its number.
fn find<'a, E: Send + Sync + 'static>(
    index: &mut TypeMap<LogNumber>,
    logs: &'a mut Vec<Box<dyn AnyLog>>,
) -> (LogNumber, &'a mut EventLog<E>) {
    let number = *index.entry(TypeId::of::<E>()).or_insert_with(|| {
        logs.push(Box::new(EventLog::<E>::default()));
        LogNumber(logs.len() - 1)
    });
    let log: &mut dyn Any = &mut *logs[number.0];
    let log = log
        .downcast_mut()
        .expect("a type's log is of that type, as it was put above");
    (number, log)
}
