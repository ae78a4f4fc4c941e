//! The world itself, and what it is made of.

use std::sync::Arc;

use super::cache::QueryCache;
use super::observers::Observers;
use super::queue::Queue;
use super::values::Resources;
use crate::base::origin::Origin;
use crate::event::EventLogs;
use crate::store::Store;
use crate::store::reserve::Reserve;

/// Entities, their components, and resources: plain data that needs no container, threads or time.
///
/// | operation | cost |
/// | --- | --- |
/// | spawn, despawn, insert, remove | proportional to the entity's components (sparse kinds: to the inserted ones) |
/// | get by id | constant; by handle text one hash look-up more |
/// | generated handle of an entity, entity of a handle | arithmetic, nothing is stored |
/// | query | visits the archetypes that match, in the order they were made, rows in order |
///
/// A live entity takes 16 bytes and the bytes of its components; 16 more for each component of a kind whose
/// changes are tracked. The same program makes the same order on every run.
///
/// ```
/// use ecs::{Component, Value, World, json};
///
/// struct Position { x: f32 }
/// impl Component for Position {
///     fn type_name() -> &'static str { "Position" }
///     fn export(&self) -> Value { json!({ "x": self.x }) }
/// }
/// struct Velocity { x: f32 }
/// impl Component for Velocity {
///     fn type_name() -> &'static str { "Velocity" }
///     fn export(&self) -> Value { json!({ "x": self.x }) }
/// }
///
/// let mut world = World::new();
/// let door = world.spawn_named("door", (Position { x: 0.0 }, Velocity { x: 1.5 }))?;
/// for (position, velocity) in world.query::<(&mut Position, &Velocity)>() {
///     position.x += velocity.x;
/// }
/// assert_eq!(world.get::<Position>("door").unwrap().x, 1.5);
/// assert_eq!(world.get::<Position>(door).unwrap().x, 1.5);
/// # Ok::<(), ecs::EntityError>(())
/// ```
pub struct World {
    pub(crate) store: Store,
    pub(super) queries: QueryCache,
    pub(super) resources: Resources,
    pub(super) events: EventLogs,
    /// Commands that wait, and the ids that they have for new entities.
    pub(super) queue: Queue<Self>,
    pub(super) reserve: Reserve,
    /// What was the queue before the last commit; kept for its memory.
    pub(super) spare: Queue<Self>,
    pub(super) observers: Option<Box<Observers<Self>>>,
    container: Option<Arc<str>>,
}

impl World {
    /// An empty world.
    ///
    /// At most 4,094 worlds that live at the same time are sure to refuse each other's entity ids.
    pub fn new() -> Self {
        Self {
            store: Store::new(),
            queries: QueryCache::default(),
            resources: Resources::default(),
            events: EventLogs::default(),
            queue: Queue::default(),
            reserve: Reserve::default(),
            spare: Queue::default(),
            observers: None,
            container: None,
        }
    }

    /// Names the container whose world this is: errors then carry its functions' names.
    #[inline]
    pub(crate) fn set_container(&mut self, handle: &Arc<str>) {
        if !self
            .container
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, handle))
        {
            self.container = Some(Arc::clone(handle));
        }
    }

    /// The store, when it is to issue ids: it knows of those that commands have been given.
    #[inline]
    pub(super) fn issuing(&mut self) -> &mut Store {
        if self.reserve.is_out() {
            self.admit();
        }
        &mut self.store
    }

    #[cold]
    pub(super) fn admit(&mut self) {
        self.store.entities.admit(&mut self.reserve);
    }

    /// In whose name commands are queued now.
    pub(crate) fn author(&self) -> usize {
        self.queue.author()
    }

    /// Ends a tick, for a reader that begins to run.
    pub(crate) fn advance_tick(&mut self) -> u64 {
        self.store.advance_tick()
    }

    pub(crate) fn origin(&self, function: &'static str) -> Origin {
        Origin::new(self.container.as_ref(), function)
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("container", &self.container)
            .field("entities", &self.len())
            .field("archetypes", &self.store.archetypes.len())
            .finish_non_exhaustive()
    }
}
