//! Events: what happened, for whoever wants to know.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::World;
use crate::base::caught::FirstPanic;
use crate::event::{EventIter, EventLogs, EventWriter};
use crate::query::error::QueryError;

/// Reads the events of one type, each exactly once, in the order sent. Every reader stands at a place of its own.
///
/// A reader sees what is delivered while it lives. It keeps what it has not read, up to a limit
/// ([`World::set_event_limit`]); drop a reader that is not needed.
///
/// ```
/// struct Hit(u32);
///
/// let mut world = ecs::World::new();
/// let mut hits = world.event_reader::<Hit>();
/// world.send_events((1..=5).map(Hit));
/// world.deliver_events();
/// assert_eq!(hits.read(&world)?.take(2).map(|hit| hit.0).sum::<u32>(), 3);
/// assert_eq!(hits.read(&world)?.len(), 3); // who stops early goes on there
/// for hit in hits.read(&world)? {
///     assert!(hit.0 > 2);
/// }
/// assert_eq!(hits.read(&world)?.len(), 0);
/// # Ok::<(), ecs::QueryError>(())
/// ```
pub struct EventReader<E> {
    world: u64,
    cursor: Arc<AtomicU64>,
    missed: u64,
    event: PhantomData<fn() -> E>,
}

impl<E: Send + Sync + 'static> EventReader<E> {
    /// The events that were delivered and not yet read. What is taken from the iterator is read; what is left when it
    /// is dropped waits.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`].
    #[inline]
    pub fn read<'a>(&'a mut self, world: &'a World) -> Result<EventIter<'a, E>, QueryError> {
        if self.world != world.store.id() {
            return Err(QueryError::ForeignWorld);
        }
        // The log is there since the reader was made, and logs stay.
        let log = world.events.log().ok_or(QueryError::ForeignWorld)?;
        let (events, missed) = log.read(&self.cursor);
        self.missed += missed;
        Ok(events)
    }

    pub(crate) fn is_of(&self, world: &World) -> bool {
        self.world == world.store.id()
    }

    /// How many events this reader has missed so far, because it was behind by more than the limit. Counted when it
    /// reads.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl<E> fmt::Debug for EventReader<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReader")
            .field("missed", &self.missed)
            .finish_non_exhaustive()
    }
}

impl World {
    /// Sends an event. It can be read after the next [`deliver_events`](Self::deliver_events), which a container calls
    /// at the beginning of each pass.
    ///
    /// In a container, systems send with `cx.send_event` or `cx.this.send_event`: these keep the order also with what
    /// other threads have sent before.
    ///
    /// ```
    /// struct Hit(u32);
    ///
    /// let mut world = ecs::World::new();
    /// world.send_event(Hit(1)); // nobody reads it: the next delivery drops it
    /// world.deliver_events();
    /// let mut hits = world.event_reader::<Hit>();
    /// world.send_event(Hit(2));
    /// assert_eq!(hits.read(&world)?.len(), 0);
    /// world.deliver_events();
    /// assert_eq!(hits.read(&world)?.map(|hit| hit.0).sum::<u32>(), 2);
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    #[inline]
    pub fn send_event<E: Send + Sync + 'static>(&mut self, event: E) {
        self.events.send(event);
    }

    /// Sends events, in order: faster than one by one.
    ///
    /// ```
    /// # let mut world = ecs::World::new();
    /// let mut numbers = world.event_reader::<u32>();
    /// world.send_events([3, 4, 5_u32]);
    /// world.deliver_events();
    /// assert!(numbers.read(&world)?.eq(&[3, 4, 5]));
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    #[inline]
    pub fn send_events<E: Send + Sync + 'static>(&mut self, events: impl IntoIterator<Item = E>) {
        self.events.send_all(events);
    }

    /// A writer of events of a type: faster than sending one by one, where they do not come from an iterator.
    ///
    /// ```
    /// struct Hit(u32);
    ///
    /// let mut world = ecs::World::new();
    /// let mut hits = world.event_reader::<Hit>();
    /// let mut sword = world.event_writer();
    /// sword.send(Hit(3));
    /// sword.send(Hit(4));
    /// world.deliver_events();
    /// assert_eq!(hits.read(&world)?.map(|hit| hit.0).sum::<u32>(), 7);
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    pub fn event_writer<E: Send + Sync + 'static>(&mut self) -> EventWriter<'_, E> {
        self.events.writer()
    }

    /// Makes readable what was sent since the last delivery, and forgets what all readers have read. What nobody can
    /// read is dropped.
    ///
    /// A container does this at the beginning of each pass, and then calls the listeners. Where a listener is being
    /// called with an event, events of that type wait for the next delivery.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// let mut names = world.event_reader::<String>();
    /// world.send_event(String::from("wolf"));
    /// world.deliver_events();
    /// world.deliver_events(); // what was not read is kept
    /// assert_eq!(names.read(&world)?.next().map(String::as_str), Some("wolf"));
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    pub fn deliver_events(&mut self) {
        let mut panics = FirstPanic::default();
        self.events.deliver(&mut panics);
        panics.resume();
    }

    /// A reader of the events of a type that are delivered from now on. See [`EventReader`].
    pub fn event_reader<E: Send + Sync + 'static>(&mut self) -> EventReader<E> {
        EventReader {
            world: self.store.id(),
            cursor: self.events.subscribe::<E>(),
            missed: 0,
            event: PhantomData,
        }
    }

    /// How many events of a type are kept at most for readers and queued listeners that lag behind; the default is
    /// [`DEFAULT_EVENT_LIMIT`](crate::DEFAULT_EVENT_LIMIT). A delivery that finds more drops the oldest, and those who
    /// have not read them [count](EventReader::missed) them; a container logs that once. What a delivery has just made
    /// readable it does not drop, however much that is: who reads after each delivery misses nothing.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// let mut numbers = world.event_reader::<u32>();
    /// world.set_event_limit::<u32>(3);
    /// for number in 1..=5_u32 {
    ///     world.send_event(number);
    ///     world.deliver_events();
    /// }
    /// assert!(numbers.read(&world)?.eq(&[3, 4, 5]));
    /// assert_eq!(numbers.missed(), 2);
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    pub fn set_event_limit<E: Send + Sync + 'static>(&mut self, limit: usize) {
        self.events.set_limit::<E>(limit);
    }

    /// A number that no other world of the process has.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.store.id()
    }

    /// The logs, for the runtime and for systems that share the world.
    #[inline]
    pub(crate) fn events(&self) -> &EventLogs {
        &self.events
    }

    #[inline]
    pub(crate) fn events_mut(&mut self) -> &mut EventLogs {
        &mut self.events
    }
}
