//! Sending events: from any thread, and from container code.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;

use super::container::Container;
use super::context::Context;
use super::own::Own;
use super::rest::Rest;
use super::shared::Shared;
use super::unit::OwnState;
use crate::base::lock::Ordering;
use crate::base::user;
use crate::event::NamedEvent;
use crate::world::World;

/// Sends events of one type to a container, from any thread. Cloning is cheap.
///
/// An event that is sent here is delivered by the next pass: see [`Container::send_event`]. One thread's events keep
/// their order, also those of several types.
///
/// ```
/// struct Arrived(&'static str);
///
/// let main = ecs::OwnedContainer::new("main")?;
/// let arrivals = main.event_sender::<Arrived>();
/// let mut reader = main.claim()?.world().event_reader::<Arrived>();
/// std::thread::spawn(move || arrivals.send(Arrived("wolf"))).join().unwrap();
/// main.update()?;
/// let mut claim = main.claim()?;
/// assert_eq!(reader.read(claim.world())?.next().unwrap().0, "wolf");
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub struct EventSender<E> {
    shared: Arc<Shared>,
    event: PhantomData<fn(E)>,
}

impl<E: Send + Sync + 'static> EventSender<E> {
    /// Sends an event. False: the container was stopped, and the event was dropped.
    pub fn send(&self, event: E) -> bool {
        self.shared.push_event(event)
    }
}

impl<E> Clone for EventSender<E> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            event: PhantomData,
        }
    }
}

impl<E> fmt::Debug for EventSender<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSender")
            .field("container", &self.shared.handle)
            .finish_non_exhaustive()
    }
}

impl Container {
    /// Sends an event, of any type, from any thread. False: the container was stopped, and the event was dropped.
    ///
    /// It is delivered at the beginning of the next pass, after the deferred functions and before the start-up step:
    /// [listeners](crate::Listener) are called, and [readers](crate::EventReader) see it. What is sent meanwhile waits
    /// for the pass after. An event that nobody reads or listens to is dropped there.
    ///
    /// ```
    /// struct Click { x: i32 }
    ///
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// main.claim()?.add_system(
    ///     ecs::system("clicks", |_| Ok(())).listen::<Click>(|_, cx, click| {
    ///         cx.world.insert_resource(click.x);
    ///         Ok(())
    ///     }),
    /// )?;
    /// main.update()?; // starts the system
    /// main.send_event(Click { x: 3 });
    /// main.update()?;
    /// assert_eq!(main.claim()?.world().resource(), Some(&3));
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn send_event<E: Send + Sync + 'static>(&self, event: E) -> bool {
        self.shared.push_event(event)
    }

    /// Sends a [`NamedEvent`].
    ///
    /// ```
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// main.send_named_event("OnMouseClick", ecs::json!({ "x": 3 }));
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn send_named_event(&self, name: impl Into<Arc<str>>, payload: Value) -> bool {
        self.send_event(NamedEvent::new(name, payload))
    }

    /// A sender of one type of events, to give away.
    pub fn event_sender<E: Send + Sync + 'static>(&self) -> EventSender<E> {
        EventSender {
            shared: Arc::clone(&self.shared),
            event: PhantomData,
        }
    }
}

impl Context<'_> {
    /// Sends an event to the next pass. See [`Container::send_event`].
    ///
    /// ```
    /// struct Hit(u32);
    ///
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// # main.claim()?.add_system(
    /// ecs::system("sword", |cx| {
    ///     cx.send_event(Hit(3));
    ///     Ok(())
    /// })
    /// # )?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn send_event<E: Send + Sync + 'static>(&mut self, event: E) {
        if self.shared.inlet.is_ready() {
            // What was sent before through `cx.this` or a sender stays in front.
            self.lent.rest.take_sent(self.world, self.shared);
        }
        self.world.send_event(event);
    }

    /// Sends a [`NamedEvent`] to the next pass.
    pub fn send_named_event(&mut self, name: impl Into<Arc<str>>, payload: Value) {
        self.send_event(NamedEvent::new(name, payload));
    }
}

impl Own<'_> {
    /// Sends an event to the next pass, also while a query is being iterated. False: the container was stopped. See
    /// [`Container::send_event`]. Those of typed systems are delivered in the order of the systems, whichever ran first.
    ///
    /// ```
    /// # use ecs::{Component, Entity, Value, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// struct Died(Entity);
    ///
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// # main.claim()?.add_system(
    /// ecs::system("reaper", |cx| {
    ///     for (entity, health) in cx.world.query::<(Entity, &Health)>() {
    ///         if health.0 <= 0 {
    ///             cx.this.send_event(Died(entity));
    ///         }
    ///     }
    ///     Ok(())
    /// })
    /// # )?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn send_event<E: Send + Sync + 'static>(&self, event: E) -> bool {
        match &self.state {
            Some(own) if own.typed && !self.shared.stop_flag().load(Ordering::Acquire) => {
                own.cold.outbox.lock().push(event);
                true
            }
            _ => self.shared.push_event(event),
        }
    }
}

impl Shared {
    /// As with deferred functions: from the request of a stop on, events are dropped at once.
    pub(crate) fn push_event<E: Send + Sync + 'static>(&self, event: E) -> bool {
        let refused = if self.stop_flag().load(Ordering::Acquire) {
            Err(event)
        } else {
            self.inlet.push(event)
        };
        match refused {
            Ok(()) => true,
            Err(event) => {
                let _ = user::release(event);
                false
            }
        }
    }
}

impl OwnState {
    /// Sends on what waits in the outbox.
    pub(crate) fn deliver_sent(&mut self, world: &mut World) {
        self.cold.outbox.get_mut().send(world.events_mut());
    }
}

impl Rest {
    /// Sends on what came through the inlet.
    #[cold]
    pub(crate) fn take_sent(&mut self, world: &mut World, shared: &Shared) {
        shared.inlet.take_into(&mut self.sent);
        self.sent.send(world.events_mut());
    }
}
