//! Observing what comes and goes.

use std::any::type_name;
use std::cell::Cell;
use std::mem::{replace, take};
use std::sync::Arc;

use super::World;
use super::commands::Commands;
use super::error::{ObserverError, ObserverErrors, ObserverInfo};
use super::observers::{Observer, ObserverKey, Tell};
use super::on::{ObserverLimits, On};
use super::queue::{NOBODY, Queue};
use crate::base::BoxError;
use crate::base::entity::Entity;
use crate::base::user;
use crate::query::error::QueryError;
use crate::store::component::{Component, ComponentType};
use crate::store::reserve::Reserve;

/// Takes an error, to be made if it is wanted.
type Failed<'a> = dyn FnMut(&dyn Fn() -> ObserverError) + 'a;

/// A user's function that observes.
struct Function<F>(F);

impl<F> Tell<World> for Function<F>
where
    F: FnMut(&World, Entity, &mut Commands<'_>) -> Result<(), BoxError> + Send,
{
    #[inline]
    fn one(
        &mut self,
        world: &World,
        entity: Entity,
        queue: &mut Queue<World>,
        reserve: &mut Reserve,
    ) -> Result<(), BoxError> {
        (self.0)(world, entity, &mut Commands::new(queue, reserve))
    }
}

/// Observers that were called in so many of the last rounds are named, when they go on without end.
const NAMED: u32 = 8;

impl World {
    /// Has a function called for each component of a kind that comes, is replaced or goes, from now on.
    ///
    /// It is not called in the middle of the change, but when changes are told: by
    /// [`run_observers`](Self::run_observers), in a container also whenever commands are applied. Until then the world
    /// keeps the changes of the kind, 16 bytes each. They are told in the order in which they happened, and the
    /// observers of one change in the order of their registration.
    ///
    /// The function sees the world as it is when it is told, which may be later than the change: the component may have
    /// been replaced, or be gone with its entity. What it wants to change it queues. That it fails, or panics, keeps no
    /// other observer from being told.
    ///
    /// # Errors
    /// [`QueryError::EmptyTypeName`].
    ///
    /// ```
    /// # use ecs::{Component, On, Value, World, json};
    /// # struct Health(i32); struct Corpse;
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// # impl Component for Corpse { fn type_name() -> &'static str { "Corpse" } fn export(&self) -> Value { json!({}) } }
    /// let mut world = World::new();
    /// world.observe::<Health>(On::Removed, |world, entity, commands| {
    ///     if world.contains(entity) {
    ///         commands.insert(entity, Corpse);
    ///     }
    ///     Ok(())
    /// })?;
    /// let wolf = world.spawn(Health(1));
    /// world.remove::<Health>(wolf);
    /// assert!(!world.has::<Corpse>(wolf)); // it is told later
    /// world.run_observers()?;
    /// assert!(world.has::<Corpse>(wolf));
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn observe<T: Component>(
        &mut self,
        on: On,
        observer: impl FnMut(&World, Entity, &mut Commands<'_>) -> Result<(), BoxError> + Send + 'static,
    ) -> Result<ObserverKey, QueryError> {
        self.add_observer(None, ComponentType::of::<T>(), on, observer)
    }

    /// The same for components of a type under another name than its own.
    ///
    /// # Errors
    /// [`QueryError::EmptyTypeName`].
    ///
    /// ```
    /// # use ecs::{Data, On, World, json};
    /// let mut world = World::new();
    /// world.observe_named::<Data>("Loot", On::Added, |_, entity, commands| {
    ///     commands.despawn(entity);
    ///     Ok(())
    /// })?;
    /// let chest = world.spawn(());
    /// world.insert_named(chest, "Loot", Data(json!({ "gold": 7 })))?;
    /// world.run_observers()?;
    /// assert!(!world.contains(chest));
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn observe_named<T: Component>(
        &mut self,
        type_name: &str,
        on: On,
        observer: impl FnMut(&World, Entity, &mut Commands<'_>) -> Result<(), BoxError> + Send + 'static,
    ) -> Result<ObserverKey, QueryError> {
        self.add_observer(Some(type_name), ComponentType::of::<T>(), on, observer)
    }

    fn add_observer<F>(
        &mut self,
        name: Option<&str>,
        ty: ComponentType,
        on: On,
        observer: F,
    ) -> Result<ObserverKey, QueryError>
    where
        F: FnMut(&World, Entity, &mut Commands<'_>) -> Result<(), BoxError> + Send + 'static,
    {
        let Some(kind) = self.store.intern(name, ty) else {
            let rust_name = ty.rust_name();
            return Err(QueryError::EmptyTypeName { rust_name });
        };
        self.store.observe(kind, on.change());
        let since = self.store.changes.next_observed();
        let observers = self.observers.get_or_insert_default();
        Ok(observers.add(
            self.store.id(),
            kind,
            on,
            since,
            type_name::<F>(),
            Box::new(Function(observer)),
        ))
    }

    /// Takes an observer out and drops it; false when it is out already. It is told nothing more, not even what has
    /// happened already.
    ///
    /// ```
    /// # use ecs::{Component, On, Value, World, json};
    /// # struct Health(i32);
    /// # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let key = world.observe::<Health>(On::Added, |_, _, _| panic!("never called"))?;
    /// world.spawn(Health(1));
    /// assert!(world.unobserve(key));
    /// world.run_observers()?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn unobserve(&mut self, key: ObserverKey) -> bool {
        if key.world != self.store.id() {
            return false;
        }
        let observers = self.observers.as_mut();
        let Some(observer) = observers.and_then(|observers| observers.take(key)) else {
            return false;
        };
        self.store
            .end_observing(observer.kind, observer.on.change());
        true
    }

    /// Sets how far observers may go on setting each other off.
    pub fn set_observer_limits(&mut self, limits: ObserverLimits) {
        self.observers.get_or_insert_default().limits = limits;
    }

    /// Tells observers what has happened. In a container that happens by itself, whenever commands are applied.
    ///
    /// It goes by rounds: what has happened is told, then the commands are applied that observers queued, and what these
    /// have changed is told in the next round. Commands that others queued in the world wait as before.
    ///
    /// # Errors
    /// [`ObserverErrors`]: an observer failed, a command of one failed, or there is [no end](ObserverError::Endless) to
    /// it: more rounds or changes than the [limits](ObserverLimits) allow. Then the changes of the last round have
    /// happened, but are told to nobody, and what functions queued in it waits as commands of the world; the world is as
    /// valid as ever.
    ///
    /// ```
    /// # use ecs::{Component, ObserverError, On, Value, World, json};
    /// # struct Rabbit;
    /// # impl Component for Rabbit { fn type_name() -> &'static str { "Rabbit" } fn export(&self) -> Value { json!({}) } }
    /// let mut world = World::new();
    /// world.observe::<Rabbit>(On::Added, |_, _, commands| {
    ///     commands.spawn(Rabbit);
    ///     Ok(())
    /// })?;
    /// world.spawn(Rabbit);
    /// let errors = world.run_observers().unwrap_err();
    /// assert!(matches!(errors.first(), ObserverError::Endless { rounds: 64, .. }));
    /// assert_eq!(world.len(), 65);
    /// # Ok::<(), ecs::QueryError>(())
    /// ```
    pub fn run_observers(&mut self) -> Result<(), ObserverErrors> {
        let mut errors = None;
        self.tell_observers("run_observers", &mut |make| {
            ObserverErrors::add(&mut errors, make);
        });
        errors.map_or(Ok(()), Err)
    }

    /// Whether commands wait, or changes that observers are to be told.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.has_commands() || self.store.changes.untold() > 0
    }

    /// The same as [`run_observers`](Self::run_observers); each error is handed over.
    pub(crate) fn tell_observers(&mut self, function: &'static str, failed: &mut Failed<'_>) {
        let first = self.store.changes.untold();
        let Some(observers) = self.observers.as_mut().filter(|_| first > 0) else {
            return;
        };
        if observers.is_running() {
            return;
        }
        // Held by the run and not noted in the world: a function may put another world in this one's place.
        let run = Arc::clone(&observers.run);
        let id = self.store.id();
        // Observers queue beside what waits here already.
        let waiting = replace(&mut self.queue, take(&mut observers.queue));
        let (mut rounds, mut caused) = (0, 0);
        while self.store.id() == id && (self.store.changes.untold() > 0 || self.has_commands()) {
            if rounds > 0 {
                caused += self.store.changes.untold();
            }
            let Some(observers) = &self.observers else {
                break;
            };
            if !observers.limits.allow(rounds, first, caused) {
                let untold = self.forget_untold();
                failed(&|| self.endless(function, rounds, untold));
                break;
            }
            rounds += 1;
            self.tell(function, failed);
            self.follow(function, failed);
        }
        drop(run);
        if self.store.id() != id {
            // This is another world, with what waits in it. What waited in the former one goes.
            let _ = user::release(waiting);
            return;
        }
        let mut queue = replace(&mut self.queue, waiting);
        // There is something left only where there was no end: it waits as what anybody has queued.
        self.queue.append(&mut queue, NOBODY);
        if let Some(observers) = &mut self.observers {
            observers.queue = queue;
        }
    }

    /// One round: tells what has happened.
    fn tell(&mut self, function: &'static str, failed: &mut Failed<'_>) {
        let Some(mut observers) = self.observers.take() else {
            return;
        };
        self.store.entities.fill(&mut self.reserve);
        let mut reserve = take(&mut self.reserve);
        let first = self.store.changes.take_observed(observers.buffer());
        std::mem::swap(&mut observers.queue, &mut self.queue);
        let mut failed = |observer: &Observer<Self>, entity, error| {
            let error = Cell::new(Some(error));
            failed(&|| ObserverError::Failed {
                at: self.origin(function),
                observer: self.observer_info(observer),
                entity,
                handle: self.store.handles.of(entity, &self.store.entities).into(),
                error: error.take().unwrap_or_else(|| "told already".into()),
            });
            // One that nobody wanted.
            let _ = user::release(error);
        };
        observers.tell(self, &mut reserve, first, &mut failed);
        std::mem::swap(&mut observers.queue, &mut self.queue);
        self.reserve = reserve;
        self.observers = Some(observers);
    }

    /// Applies what observers have queued.
    fn follow(&mut self, function: &'static str, failed: &mut Failed<'_>) {
        self.flush(function, &mut |world, author, make| {
            let observers = world.observers.as_ref();
            let observer = observers.and_then(|observers| observers.list.get(author as usize));
            let observer = observer.and_then(Option::as_ref);
            failed(&|| ObserverError::Command {
                observer: observer.map(|observer| world.observer_info(observer)),
                error: make(),
            });
        });
    }

    fn observer_info(&self, observer: &Observer<Self>) -> ObserverInfo {
        ObserverInfo {
            function: observer.function,
            type_name: self.store.kinds.get(observer.kind).name.to_string(),
            on: observer.on,
        }
    }

    /// Forgets what is still to be told, and says how much that was.
    #[cold]
    fn forget_untold(&mut self) -> usize {
        let mut untold = Vec::new();
        self.store.changes.take_observed(&mut untold);
        untold.len()
    }

    /// Says who goes on without end.
    fn endless(&self, function: &'static str, rounds: u32, untold: usize) -> ObserverError {
        let observers = self.observers.as_ref();
        let total = observers.map_or(0, |observers| observers.rounds);
        // None of an earlier run.
        let before = total - u64::from(rounds.min(NAMED));
        let all = observers.map_or(&[][..], |observers| &*observers.list);
        let last = all
            .iter()
            .flatten()
            .filter(|observer| observer.round > before);
        ObserverError::Endless {
            at: self.origin(function),
            observers: last.map(|observer| self.observer_info(observer)).collect(),
            rounds,
            untold,
        }
    }
}
