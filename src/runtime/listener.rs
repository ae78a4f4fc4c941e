//! Listeners on their way to a system, and what the system keeps of them.

use std::any::{Any, TypeId, type_name};
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::SystemError;
use super::context::Context;
use super::system::{System, SystemResult, SystemType};
use super::turn::Turn;
use crate::base::origin::Origin;
use crate::base::user;
use crate::event::{Batch, EventLogs, LogNumber, NamedEvent};
use crate::world::World;

/// What is called with the events of a turn: all of them by one call, so that what they are is found out once.
pub(crate) type Callback =
    Box<dyn FnMut(&mut dyn System, &mut Turn<'_, '_>) -> SystemResult + Send>;

/// What a system is to be called with when an event of a type arrives, before it belongs to the system.
///
/// A listener is called in the root step of the pass that delivers the event: after the deferred functions, before the
/// start-up step and all updates, whether its system is due or not, switched on or not. A [queued](Self::queued) one is
/// called in its system's own place in the order, just before its update. Either gets each event that is delivered
/// while it is registered exactly once, those of all types in the order sent.
///
/// ```
/// use ecs::Listener;
///
/// struct Hit { damage: u32 }
///
/// let listener = Listener::to::<Hit>(|cx, hit| {
///     cx.log(format!("{} points", hit.damage));
///     Ok(())
/// });
/// # let main = ecs::OwnedContainer::new("main")?;
/// # main.set_silent();
/// let mut claim = main.claim()?;
/// claim.add_system(ecs::system("log", |_| Ok(())))?;
/// claim.context().add_listener("log", listener)?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
#[must_use = "a listener does nothing until it belongs to a system"]
pub struct Listener {
    subscribe: fn(&mut EventLogs) -> (LogNumber, Arc<AtomicU64>),
    label: Label,
    queued: bool,
    callback: Callback,
    /// The system type that the callback takes.
    takes: Option<(TypeId, &'static str)>,
}

/// What is listened to: a type, or the events of a name.
#[derive(Clone)]
pub(crate) enum Label {
    Type(&'static str),
    Name(Arc<str>),
}

impl Label {
    pub(crate) fn text(&self) -> Arc<str> {
        match self {
            Self::Type(name) => (*name).into(),
            Self::Name(name) => Arc::clone(name),
        }
    }
}

impl Listener {
    /// A listener to the events of a type.
    pub fn to<E: Send + Sync + 'static>(
        mut callback: impl FnMut(&mut Context<'_>, &E) -> SystemResult + Send + 'static,
    ) -> Self {
        let callback: Callback =
            Box::new(move |_, turn| turn.each(|cx, event: &E| callback(cx, event)));
        Self::typed::<E>(None, callback)
    }

    /// As [`to`](Self::to), with a callback that reaches the fields of its system.
    pub fn to_for<S: System, E: Send + Sync + 'static>(
        mut callback: impl FnMut(&mut S, &mut Context<'_>, &E) -> SystemResult + Send + 'static,
    ) -> Self {
        let takes = Some((TypeId::of::<S>(), type_name::<S>()));
        let callback: Callback = Box::new(move |system, turn| {
            let system = inner(system)?;
            turn.each(|cx, event: &E| callback(system, cx, event))
        });
        Self::typed::<E>(takes, callback)
    }

    /// A listener to the [named events](NamedEvent) of one name.
    ///
    /// ```
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// # main.set_silent();
    /// let listener = ecs::Listener::to_named("OnMouseClick", |cx, click| {
    ///     cx.log(format!("clicked at {}", click["x"]));
    ///     Ok(())
    /// });
    /// main.claim()?.add_system(ecs::system("log", |_| Ok(())).listener(listener.queued()))?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn to_named(
        name: impl Into<Arc<str>>,
        mut callback: impl FnMut(&mut Context<'_>, &Value) -> SystemResult + Send + 'static,
    ) -> Self {
        let name = name.into();
        let wanted = Arc::clone(&name);
        Self::to(
            move |cx, event: &NamedEvent| match event.payload_of(&wanted) {
                Some(payload) => callback(cx, payload),
                None => Ok(()),
            },
        )
        .with_name(name)
    }

    /// As [`to_named`](Self::to_named), with a callback that reaches the fields of its system.
    pub fn to_named_for<S: System>(
        name: impl Into<Arc<str>>,
        mut callback: impl FnMut(&mut S, &mut Context<'_>, &Value) -> SystemResult + Send + 'static,
    ) -> Self {
        let name = name.into();
        let wanted = Arc::clone(&name);
        Self::to_for(move |system: &mut S, cx, event: &NamedEvent| {
            match event.payload_of(&wanted) {
                Some(payload) => callback(system, cx, payload),
                None => Ok(()),
            }
        })
        .with_name(name)
    }

    /// The listener is called in its system's own place in the order, just before its update, with the events that were
    /// delivered until then. While the system is not due, switched off, or its run condition does not hold, events
    /// wait, as many as [`World::set_event_limit`](crate::World::set_event_limit) says.
    pub fn queued(mut self) -> Self {
        self.queued = true;
        self
    }

    fn typed<E: Send + Sync + 'static>(
        takes: Option<(TypeId, &'static str)>,
        callback: Callback,
    ) -> Self {
        Self {
            subscribe: EventLogs::listen::<E>,
            label: Label::Type(type_name::<E>()),
            queued: false,
            callback,
            takes,
        }
    }

    fn with_name(mut self, name: Arc<str>) -> Self {
        self.label = Label::Name(name);
        self
    }

    pub(crate) fn is_queued(&self) -> bool {
        self.queued
    }

    /// Whether it fits a system of this type, that is updated or is not.
    pub(crate) fn check(
        &self,
        origin: &dyn Fn() -> Origin,
        handle: &Arc<str>,
        of: SystemType,
        updated: bool,
    ) -> Result<(), SystemError> {
        match self.takes {
            Some((id, expected)) if id != of.id => Err(SystemError::ListenerType {
                origin: origin(),
                system: Arc::clone(handle),
                event: self.label.text(),
                expected,
                found: of.name,
            }),
            _ if self.queued && !updated => Err(SystemError::QueuedOnStorage {
                origin: origin(),
                system: Arc::clone(handle),
                event: self.label.text(),
            }),
            _ => Ok(()),
        }
    }

    /// The listener as its system keeps it. It hears what is delivered from now on.
    pub(crate) fn register(self, world: &mut World) -> Listening {
        let (log, cursor) = (self.subscribe)(world.events_mut());
        Listening {
            world: world.id(),
            log,
            cursor,
            until: 0,
            missed: 0,
            subscribe: self.subscribe,
            label: self.label,
            queued: self.queued,
            callback: Some(self.callback),
        }
    }
}

fn inner<S: System>(system: &mut dyn System) -> Result<&mut S, &'static str> {
    let system: &mut dyn Any = system;
    // Checked when the listener was added.
    system
        .downcast_mut()
        .ok_or("the listener belongs to a system of another type")
}

/// A registered listener.
pub(crate) struct Listening {
    /// The world in whose log it stands.
    world: u64,
    pub(crate) log: LogNumber,
    cursor: Arc<AtomicU64>,
    /// The number after the last event that it gets in this turn.
    until: u64,
    /// Events it should have got, and did not, because it was behind by more than the limit.
    pub(crate) missed: u64,
    subscribe: fn(&mut EventLogs) -> (LogNumber, Arc<AtomicU64>),
    pub(crate) label: Label,
    pub(crate) queued: bool,
    /// Taken out while it is called.
    callback: Option<Callback>,
}

impl Listening {
    /// Hears what this world delivers from now on, if it is another one.
    pub(crate) fn follow(&mut self, world: &mut World) {
        if self.world != world.id() {
            self.world = world.id();
            (self.log, self.cursor) = (self.subscribe)(world.events_mut());
        }
    }

    /// A turn begins: what is readable now is for it, what is delivered meanwhile is not.
    pub(crate) fn begin(&mut self, logs: &EventLogs) {
        let (first, end) = logs.readable(self.log);
        self.skip_to(first);
        self.until = end;
    }

    /// What is before `number` is gone.
    fn skip_to(&mut self, number: u64) {
        let missed = number.saturating_sub(self.place());
        if missed > 0 {
            self.missed += missed;
            self.cursor.store(number, Ordering::Relaxed);
        }
    }

    /// The number of the next event it has not got.
    pub(crate) fn place(&self) -> u64 {
        self.cursor.load(Ordering::Relaxed)
    }

    /// The number after the last one that it gets in this turn.
    pub(crate) fn until(&self) -> u64 {
        self.until
    }

    /// Those of these events that it is to be called with, and what is called.
    pub(crate) fn take(&mut self, numbers: Range<u64>) -> Option<(Range<u64>, Callback)> {
        let from = self.place().max(numbers.start);
        let to = self.until.min(numbers.end);
        if from >= to {
            return None;
        }
        self.skip_to(from);
        Some((from..to, self.callback.take()?))
    }

    /// It was called, and has got what is before `next`.
    pub(crate) fn put_back(&mut self, callback: Callback, next: u64) {
        self.callback = Some(callback);
        self.cursor.store(next, Ordering::Relaxed);
    }

    pub(crate) fn release(self) {
        let _ = user::release(self);
    }
}

/// Events of one log that were sent in a row, before all others that are to be heard.
pub(crate) struct Stretch {
    pub(crate) log: LogNumber,
    from: u64,
    to: u64,
    first: u64,
    batch: Option<Batch>,
}

impl Drop for Stretch {
    fn drop(&mut self) {
        // A listener may have dropped the world: then the events go here.
        let _ = user::release(self.batch.take());
    }
}

impl Stretch {
    /// The stretch to be heard next, of candidates that are each a log, the number of the next event, and the number
    /// after the last one. `None`: there is nothing left.
    pub(crate) fn next(
        logs: &EventLogs,
        candidates: impl Iterator<Item = (LogNumber, u64, u64)>,
    ) -> Option<Self> {
        let mut best: Option<(u64, LogNumber, u64, u64)> = None;
        for (log, from, to) in candidates {
            // A delivery that a listener has asked for may have dropped events beyond the limit.
            let from = from.max(logs.readable(log).0);
            if from >= to {
                continue;
            }
            let (stamp, run) = logs.stamp(log, from);
            if best.is_none_or(|(least, ..)| stamp < least) {
                best = Some((stamp, log, from, run.unwrap_or(to).min(to)));
            }
        }
        let (_, log, from, to) = best?;
        Some(Self {
            log,
            from,
            to,
            first: logs.readable(log).0,
            batch: Some(logs.batch(log)?),
        })
    }

    /// The numbers of its events, all at once for who hears alone; several take turns with each event.
    pub(crate) fn turns(&self, listeners: usize) -> impl Iterator<Item = Range<u64>> + use<> {
        let count = if listeners == 1 {
            self.to - self.from
        } else {
            1
        };
        let to = self.to;
        iter::successors(Some(self.from), move |from| Some(from + count))
            .take_while(move |&from| from < to)
            .map(move |from| from..from + count)
    }

    /// The events that its own are among, and the number of the first.
    pub(crate) fn batch(&self) -> (Option<&Batch>, u64) {
        (self.batch.as_ref(), self.first)
    }
}
