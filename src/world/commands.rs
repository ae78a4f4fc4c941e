//! Structural change that waits for its turn.
//!
//! ```text
//!   world      queue    steps that wait; apply_commands swaps it with `spare` and does them
//!              spare    empty; steps that are queued meanwhile find it in the queue's place
//!              reserve  ids for entities that are to be spawned
//! ```

use std::marker::PhantomData;
use std::sync::Mutex;

use super::World;
use super::contents::Contents;
use super::error::{CommandError, CommandErrors};
use super::key::EntityKey;
use super::operations::{
    Call, Despawn, Insert, InsertResource, Remove, RemoveResource, SendEvent, Spawn, SpawnNamed,
};
use super::queue::{Effect, Failed, Operation, Queue};
use crate::base::entity::Entity;
use crate::store::bundle::Bundle;
use crate::store::component::{Component, ComponentType};
use crate::store::reserve::Reserve;

/// Takes the error of an author's command, to be made if it is wanted.
type Report<'a> = dyn FnMut(&World, u32, &dyn Fn() -> CommandError) + 'a;

/// Commands that wait to be applied to a world.
pub(crate) type CommandQueue = Queue<World>;

/// Queues structural change: spawning, despawning, inserting, removing, and whatever a function does.
///
/// Commands are applied in the order given: by [`World::apply_commands`], or in a container at the end of the pass
/// and wherever a [`CommitPoint`](crate::CommitPoint) stands. Queuing allocates nothing once the queue has the size
/// it needs.
///
/// A command for an entity that is gone when its turn comes does nothing; one that is queued through
/// [`strict`](Self::strict) is an error then. No command that fails keeps the others from being applied.
///
/// ```
/// # use ecs::{Component, Entity, Value, World, json};
/// # struct Health(i32);
/// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
/// let mut world = World::new();
/// world.spawn_batch([0, 3, 0].map(Health));
///
/// let (mut contents, mut commands) = world.split();
/// for (entity, health) in contents.query::<(Entity, &Health)>() {
///     if health.0 == 0 {
///         commands.despawn(entity);
///     }
/// }
/// let ghost = commands.spawn(Health(1)); // the id is known at once,
/// commands.insert(ghost, Health(2)); // and later commands may use it
/// assert_eq!(world.len(), 3);
///
/// world.apply_commands()?;
/// assert_eq!(world.len(), 2);
/// assert_eq!(world.get::<Health>(ghost).unwrap().0, 2);
/// # Ok::<(), ecs::CommandErrors>(())
/// ```
pub struct Commands<'a> {
    queue: &'a mut CommandQueue,
    reserve: &'a mut Reserve,
    strict: bool,
}

impl<'a> Commands<'a> {
    pub(crate) fn new(queue: &'a mut CommandQueue, reserve: &'a mut Reserve) -> Self {
        Self {
            queue,
            reserve,
            strict: false,
        }
    }

    /// Commands that fail when their entity is gone, and say so, instead of doing nothing.
    ///
    /// ```
    /// # use ecs::{CommandErrorKind, World};
    /// let mut world = World::new();
    /// let gone = world.spawn(());
    /// world.despawn(gone);
    /// world.commands().despawn(gone);
    /// world.commands().strict().despawn(gone);
    /// let errors = world.apply_commands().unwrap_err();
    /// assert_eq!(errors.count(), 1);
    /// assert_eq!(errors.first().kind, CommandErrorKind::NoEntity);
    /// ```
    pub fn strict(&mut self) -> Commands<'_> {
        Commands {
            queue: self.queue,
            reserve: self.reserve,
            strict: true,
        }
    }

    #[inline]
    fn push<O: Operation<World>>(&mut self, entity: impl Into<Option<Entity>>, operation: O) {
        self.queue.push(entity.into(), self.strict, operation);
    }

    /// Spawns an entity with the components of a bundle. Its id can be used by later commands; it is alive once they
    /// are applied.
    ///
    /// A bundle that contradicts itself is reported when the command is applied, and so is it when the world has no
    /// slot for the entity; the id is never alive then.
    #[inline]
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        let entity = self.reserve.take();
        self.push(entity, Spawn(bundle));
        entity
    }

    /// Spawns an entity without components.
    pub fn spawn_empty(&mut self) -> Entity {
        self.spawn(())
    }

    /// Spawns an entity under a chosen handle. Whether the handle is free is seen when the command is applied; the id
    /// is never alive if it is not.
    pub fn spawn_named<B: Bundle>(&mut self, handle: impl Into<Box<str>>, bundle: B) -> Entity {
        let entity = self.reserve.take();
        self.push(entity, SpawnNamed(handle.into(), bundle));
        entity
    }

    /// Ends an entity.
    pub fn despawn(&mut self, entity: Entity) {
        self.push(entity, Despawn);
    }

    /// Attaches the components of a bundle; those of the same type names that are there then are dropped.
    #[inline]
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        self.push(entity, Insert(bundle));
    }

    /// Attaches a component, and gives a reference that finds it.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let wolf = world.spawn(());
    /// let health = world.commands().insert_ref(wolf, Health(20));
    /// assert!(health.get(&world).is_none());
    /// world.apply_commands()?;
    /// assert_eq!(health.get(&world).unwrap().0, 20);
    /// # Ok::<(), ecs::CommandErrors>(())
    /// ```
    pub fn insert_ref<T: Component>(&mut self, entity: Entity, component: T) -> ComponentRef<T> {
        self.insert(entity, component);
        ComponentRef::new(entity)
    }

    /// Removes the entity's `T` and drops it. That it has none is no fault.
    #[inline]
    pub fn remove<T: Component>(&mut self, entity: Entity) {
        self.push(entity, Remove::<T>(PhantomData));
    }

    /// Calls a function with the world. Its panic is an error; it may return early, but not fail.
    ///
    /// What it queues itself waits for the next commit.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// world.commands().queue(|world| {
    ///     world.spawn_batch([(), (), ()]);
    /// });
    /// world.apply_commands()?;
    /// assert_eq!(world.len(), 3);
    /// # Ok::<(), ecs::CommandErrors>(())
    /// ```
    pub fn queue(&mut self, function: impl FnOnce(&mut World) + Send + 'static) {
        self.push(None, Call(Mutex::new(function)));
    }

    /// Puts the world's one `T`; the one that is there then is dropped.
    pub fn insert_resource<T: Send + Sync + 'static>(&mut self, value: T) {
        self.push(None, InsertResource(value));
    }

    /// Removes the world's `T` and drops it.
    pub fn remove_resource<T: Send + Sync + 'static>(&mut self) {
        self.push(None, RemoveResource::<T>(PhantomData));
    }

    /// Sends an event, when the commands before it have been applied. See [`World::send_event`].
    ///
    /// ```
    /// struct Died(ecs::Entity);
    ///
    /// let mut world = ecs::World::new();
    /// let wolf = world.spawn(());
    /// let mut deaths = world.event_reader::<Died>();
    /// let mut commands = world.commands();
    /// commands.despawn(wolf);
    /// commands.send_event(Died(wolf));
    /// world.apply_commands()?;
    /// world.deliver_events();
    /// assert!(deaths.read(&world)?.next().unwrap().0 == wolf);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn send_event<E: Send + Sync + 'static>(&mut self, event: E) {
        self.push(None, SendEvent(event));
    }

    /// Whether the entity will have a `T`, as far as the commands tell that wait here; `None` when they say nothing
    /// about it, so that it has one if it has one now. What functions will do is not known.
    ///
    /// It looks through all commands that wait.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let wolf = world.spawn(());
    /// let (contents, mut commands) = world.split();
    /// assert_eq!(commands.has::<Health>(wolf), None);
    /// commands.insert(wolf, Health(20));
    /// assert_eq!(commands.has::<Health>(wolf), Some(true));
    /// assert!(!contents.has::<Health>(wolf)); // not yet
    /// commands.remove::<Health>(wolf);
    /// assert_eq!(commands.has::<Health>(wolf), Some(false));
    /// ```
    pub fn has<T: Component>(&self, entity: Entity) -> Option<bool> {
        let ty = ComponentType::of::<T>();
        let mut newest = None;
        for effect in self.queue.effects_on(entity) {
            if matches!(effect, Effect::Ends) {
                // Whatever comes after that finds nobody.
                return Some(false);
            }
            newest = newest.or_else(|| effect.on(ty.type_name(), ty.id()));
        }
        newest
    }

    /// Whether the entity's spawn waits here. It looks through all commands that wait.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// let entity = world.commands().spawn_empty();
    /// assert!(world.commands().is_pending(entity));
    /// world.apply_commands()?;
    /// assert!(!world.commands().is_pending(entity) && world.contains(entity));
    /// # Ok::<(), ecs::CommandErrors>(())
    /// ```
    pub fn is_pending(&self, entity: Entity) -> bool {
        let mut effects = self.queue.effects_on(entity);
        effects.any(|effect| matches!(effect, Effect::Begins(_)))
    }

    /// How many commands wait here.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits here.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl std::fmt::Debug for Commands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commands")
            .field("waiting", &self.len())
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

/// Commands that are queued without a world at hand, by a system that runs beside others, and handed over when it has
/// run.
#[doc(hidden)]
#[derive(Default)]
pub struct CommandBuffer {
    queue: CommandQueue,
    reserve: Reserve,
}

impl CommandBuffer {
    #[inline]
    pub(crate) fn commands(&mut self) -> Commands<'_> {
        Commands::new(&mut self.queue, &mut self.reserve)
    }
}

impl World {
    /// Gives ids to a buffer that is number `turn` of as many as `among`. Until all of them are handed over, the world
    /// issues no ids otherwise.
    pub(crate) fn lend_ids(&mut self, buffer: &mut CommandBuffer, turn: u32, among: u32) {
        self.issuing()
            .entities
            .lend(&mut buffer.reserve, turn, among);
    }

    /// Makes slots for the ids that were taken from a buffer.
    pub(crate) fn admit_ids(&mut self, buffer: &mut CommandBuffer) {
        self.store.entities.admit(&mut buffer.reserve);
    }

    /// Queues what waits in a buffer behind what waits here.
    pub(crate) fn take_commands(&mut self, buffer: &mut CommandBuffer, author: usize) {
        self.store.entities.admit(&mut buffer.reserve);
        self.queue.append(&mut buffer.queue, author);
    }

    /// All that were lent ids have been admitted.
    pub(crate) fn end_lending(&mut self) {
        self.store.entities.close_gaps();
    }

    /// Takes back the ids of a buffer that is not used any more.
    pub(crate) fn retire(&mut self, buffer: &mut CommandBuffer) {
        self.store.entities.give_back(&mut buffer.reserve);
    }
}

impl World {
    /// The commands of this world: they wait until [`apply_commands`](Self::apply_commands), or in a container until
    /// the next commit.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// let entity = world.commands().spawn_empty();
    /// assert!(!world.contains(entity));
    /// world.apply_commands()?;
    /// assert!(world.contains(entity));
    /// # Ok::<(), ecs::CommandErrors>(())
    /// ```
    #[inline]
    pub fn commands(&mut self) -> Commands<'_> {
        self.store.entities.fill(&mut self.reserve);
        Commands::new(&mut self.queue, &mut self.reserve)
    }

    /// What is in the world, to be read and written, and beside it commands for its structure: so they can be queued
    /// while a query runs.
    ///
    /// ```
    /// # use ecs::{Component, Entity, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// # let mut world = World::new();
    /// let (mut contents, mut commands) = world.split();
    /// for (entity, health) in contents.query::<(Entity, &mut Health)>() {
    ///     health.0 -= 1;
    ///     if health.0 < 0 {
    ///         commands.despawn(entity);
    ///     }
    /// }
    /// ```
    #[inline]
    pub fn split(&mut self) -> (Contents<'_>, Commands<'_>) {
        self.store.entities.fill(&mut self.reserve);
        (
            Contents {
                store: &mut self.store,
                queries: &mut self.queries,
                resources: &mut self.resources,
            },
            Commands::new(&mut self.queue, &mut self.reserve),
        )
    }

    /// Applies the commands that wait, in the order given. What they queue themselves waits for the next time.
    ///
    /// # Errors
    /// [`CommandErrors`]: some failed. All the others are applied all the same.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// world.commands().queue(|_| panic!("no luck"));
    /// world.commands().spawn_empty();
    /// let errors = world.apply_commands().unwrap_err();
    /// assert!(errors.to_string().ends_with("panicked: no luck"));
    /// assert_eq!(world.len(), 1);
    /// ```
    pub fn apply_commands(&mut self) -> Result<(), CommandErrors> {
        let mut errors = None;
        self.flush("apply_commands", &mut |_, _, make| {
            CommandErrors::add(&mut errors, make);
        });
        errors.map_or(Ok(()), Err)
    }

    /// Who queues from here on: a number by which a failure is told.
    #[inline]
    pub(crate) fn set_author(&mut self, author: usize) {
        self.queue.set_author(author);
    }

    /// An author is gone, and its number may become another one's.
    pub(crate) fn disown(&mut self, author: usize) {
        self.queue.disown(author);
    }

    /// Whether commands wait.
    #[inline]
    pub(crate) fn has_commands(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The same; each error is handed over with its author, to be made if it is wanted.
    pub(crate) fn flush(&mut self, function: &'static str, failed: &mut Report<'_>) {
        if self.queue.is_empty() {
            return;
        }
        self.issuing();
        let author = self.queue.author();
        let mut running = std::mem::replace(&mut self.queue, std::mem::take(&mut self.spare));
        running.run(self, &mut |world, failure| {
            let make = || world.command_error(function, &failure);
            failed(world, failure.step.author, &make);
        });
        self.queue.set_author(author);
        self.spare = running;
    }

    fn command_error(&self, function: &'static str, failed: &Failed) -> CommandError {
        let entity = failed.step.entity;
        let handle = |entity| self.store.handles.of(entity, &self.store.entities).into();
        CommandError {
            at: self.origin(function),
            command: failed.verb,
            type_name: failed.subject,
            entity,
            handle: entity.map(handle),
            kind: failed.kind.clone(),
        }
    }

    /// A reference to the entity's `T`; `None` when it has none.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// world.spawn_named("wolf", Health(20))?;
    /// let health = world.component_ref::<Health>("wolf").unwrap();
    /// health.get_mut(&mut world).unwrap().0 -= 1;
    /// assert_eq!(health.get(&world).unwrap().0, 19);
    /// world.despawn("wolf");
    /// assert!(health.get(&world).is_none());
    /// # Ok::<(), ecs::EntityError>(())
    /// ```
    pub fn component_ref<T: Component>(&self, key: impl EntityKey) -> Option<ComponentRef<T>> {
        let entity = key.find(&self.store)?;
        self.has::<T>(entity).then(|| ComponentRef::new(entity))
    }
}

/// Which component of which entity: a small `Copy` value that keeps nothing alive and borrows nothing.
///
/// It finds the entity's `T` in constant time, whether it was made for one that is there or for one that is yet to be
/// inserted by a command. It finds none when the component was removed, nor when the entity is gone, whatever became of
/// its slot.
pub struct ComponentRef<T> {
    entity: Entity,
    component: PhantomData<fn() -> T>,
}

impl<T: Component> ComponentRef<T> {
    fn new(entity: Entity) -> Self {
        Self {
            entity,
            component: PhantomData,
        }
    }

    /// The entity.
    pub fn entity(self) -> Entity {
        self.entity
    }

    /// The component, if it is there.
    #[inline]
    pub fn get(self, world: &World) -> Option<&T> {
        world.get(self.entity)
    }

    /// The component, if it is there, to be changed; it counts as written.
    #[inline]
    pub fn get_mut(self, world: &mut World) -> Option<&mut T> {
        world.get_mut(self.entity)
    }
}

impl<T> Clone for ComponentRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ComponentRef<T> {}

impl<T> PartialEq for ComponentRef<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entity == other.entity
    }
}

impl<T> Eq for ComponentRef<T> {}

impl<T> std::hash::Hash for ComponentRef<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.entity.hash(state);
    }
}

impl<T: Component> std::fmt::Debug for ComponentRef<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ComponentRef")
            .field("entity", &self.entity)
            .field("type_name", &T::type_name())
            .finish()
    }
}
