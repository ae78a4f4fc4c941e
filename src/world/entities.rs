//! Making, finding, listing and ending entities.

use super::World;
use super::key::EntityKey;
use crate::base::caught::refused;
use crate::base::entity::Entity;
use crate::store::bundle::{Bundle, ColumnBatch};
use crate::store::component::Component;
use crate::store::error::EntityError;
use crate::store::handles::{EntityHandle, Refusal};
use crate::store::{SpawnFault, Spawned};

impl World {
    /// A world with room for at most `limit` entity slots.
    ///
    /// A slot is used again after its entity goes; one that has been used about a million times is retired and
    /// still counts.
    pub fn with_slot_limit(limit: u32) -> Self {
        let mut world = Self::new();
        world.store.set_slot_limit(limit);
        world
    }

    /// Makes an entity with the components of a bundle.
    ///
    /// # Panics
    /// When the bundle's type contradicts itself (a type name twice, or empty), and when all of 2^32 slots (or the
    /// limit that was set) are taken. [`try_spawn`](Self::try_spawn) returns these as errors.
    #[inline]
    #[track_caller]
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        match self.issuing().spawn(bundle) {
            Ok(entity) => entity,
            Err(fault) => refuse(&self.entity_error("spawn", fault)),
        }
    }

    /// Makes an entity with the components of a bundle.
    ///
    /// # Errors
    /// [`EntityError::Bundle`], [`EntityError::OutOfSlots`]; the components are dropped.
    pub fn try_spawn<B: Bundle>(&mut self, bundle: B) -> Result<Entity, EntityError> {
        self.issuing()
            .spawn(bundle)
            .map_err(|fault| self.entity_error("try_spawn", fault))
    }

    /// Makes an entity under a chosen handle.
    ///
    /// # Errors
    /// [`EntityError::EmptyHandle`]; [`EntityError::HandleTaken`] when the text names an entity already, also by
    /// its generated handle; [`EntityError::HandleNotIssued`]; and those of [`try_spawn`](Self::try_spawn).
    /// Nothing has changed then, and the components are dropped.
    pub fn spawn_named<B: Bundle>(
        &mut self,
        handle: &str,
        bundle: B,
    ) -> Result<Entity, EntityError> {
        if let Err(error) = self.check_handle(handle, "spawn_named") {
            return Err(refused(error, |panics| bundle.discard(panics)));
        }
        let entity = self
            .issuing()
            .spawn(bundle)
            .map_err(|fault| self.entity_error("spawn_named", fault))?;
        self.name(handle, entity, "spawn_named")?;
        Ok(entity)
    }

    /// The entity of a handle; it is made, without components, if there is none.
    ///
    /// # Errors
    /// [`EntityError::EmptyHandle`], [`EntityError::HandleNotIssued`], [`EntityError::OutOfSlots`].
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// let door = world.entity("door")?;
    /// assert_eq!(world.entity("door")?, door);
    /// # Ok::<(), ecs::EntityError>(())
    /// ```
    pub fn entity(&mut self, handle: &str) -> Result<Entity, EntityError> {
        if let Some(entity) = self.find(handle) {
            return Ok(entity);
        }
        self.check_handle(handle, "entity")?;
        let entity = self
            .issuing()
            .spawn(())
            .map_err(|fault| self.entity_error("entity", fault))?;
        self.name(handle, entity, "entity")?;
        Ok(entity)
    }

    /// The entity of a handle, chosen or generated.
    pub fn find(&self, handle: &str) -> Option<Entity> {
        self.store.handles.find(handle, &self.store.entities)
    }

    /// The handle of an entity: the chosen one, or the generated one. `None` when it is not alive.
    ///
    /// A generated handle is a version 4 identifier, the same for the entity's whole life. It is computed when it
    /// is asked for, and unlike those of every other world. It is no secret.
    ///
    /// ```
    /// let mut world = ecs::World::new();
    /// let entity = world.spawn(());
    /// let handle = world.handle(entity).unwrap().to_string();
    /// assert_eq!(handle.len(), 36);
    /// assert_eq!(world.find(&handle), Some(entity));
    /// ```
    pub fn handle(&self, entity: Entity) -> Option<EntityHandle<'_>> {
        self.contains(entity)
            .then(|| self.store.handles.of(entity, &self.store.entities))
    }

    /// An id for an entity that comes later, with [`spawn_reserved`](Self::spawn_reserved). Until then it is not
    /// alive. [`despawn`](Self::despawn) gives it up.
    ///
    /// # Errors
    /// [`EntityError::OutOfSlots`].
    pub fn reserve_entity(&mut self) -> Result<Entity, EntityError> {
        self.issuing()
            .reserve_id()
            .map_err(|fault| self.entity_error("reserve_entity", fault))
    }

    /// Makes the entity of a reserved id.
    ///
    /// # Errors
    /// [`EntityError::NotReserved`] for any id that does not wait for its components, [`EntityError::Bundle`].
    pub fn spawn_reserved<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
    ) -> Result<(), EntityError> {
        match self.issuing().spawn_reserved(entity, bundle) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let handle = self.store.handles.of(entity, &self.store.entities).into();
                Err(EntityError::NotReserved {
                    at: self.origin("spawn_reserved"),
                    handle,
                })
            }
            Err(fault) => Err(self.entity_error("spawn_reserved", fault)),
        }
    }

    /// Makes an entity for each bundle.
    ///
    /// When the iterator panics, the entities of the bundles that it gave so far are there. An iterator whose length the
    /// standard library trusts (a range, a vector, what maps one) takes half the time of another.
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn); [`try_spawn_batch`](Self::try_spawn_batch) returns errors.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Position(f32);
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let ids: Vec<_> = world.spawn_batch((0..1000).map(|x| (Position(x as f32),))).collect();
    /// assert_eq!(world.get::<Position>(ids[10]).unwrap().0, 10.0);
    /// ```
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, bundles: I) -> SpawnedEntities<'_>
    where
        I: IntoIterator,
        I::Item: Bundle,
    {
        match self.issuing().spawn_batch(bundles.into_iter()) {
            Ok(spawned) => SpawnedEntities {
                world: self,
                spawned,
                next: 0,
            },
            Err(fault) => refuse(&self.entity_error("spawn_batch", fault)),
        }
    }

    /// Makes an entity for each bundle, or none.
    ///
    /// # Errors
    /// [`EntityError::Bundle`], [`EntityError::OutOfSlots`] when there are not enough for all; of an iterator that goes on
    /// for ever no more is taken then.
    pub fn try_spawn_batch<I>(&mut self, bundles: I) -> Result<SpawnedEntities<'_>, EntityError>
    where
        I: IntoIterator,
        I::Item: Bundle,
    {
        match self.issuing().spawn_batch(bundles.into_iter()) {
            Ok(spawned) => Ok(SpawnedEntities {
                world: self,
                spawned,
                next: 0,
            }),
            Err(fault) => Err(self.entity_error("try_spawn_batch", fault)),
        }
    }

    /// Makes an entity for each row of whole columns: the fastest way to make many.
    ///
    /// # Errors
    /// [`EntityError::Bundle`] when the columns differ in length or a kind has sparse storage,
    /// [`EntityError::OutOfSlots`].
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Position(f32); struct Velocity(f32);
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
    /// let mut world = World::new();
    /// let positions: Vec<_> = (0..100).map(|x| Position(x as f32)).collect();
    /// let velocities: Vec<_> = (0..100).map(|_| Velocity(1.0)).collect();
    /// assert_eq!(world.spawn_columns((positions, velocities))?.len(), 100);
    /// # Ok::<(), ecs::EntityError>(())
    /// ```
    pub fn spawn_columns<C: ColumnBatch>(
        &mut self,
        columns: C,
    ) -> Result<SpawnedEntities<'_>, EntityError> {
        match self.issuing().spawn_columns(columns) {
            Ok(spawned) => Ok(SpawnedEntities {
                world: self,
                spawned,
                next: 0,
            }),
            Err(fault) => Err(self.entity_error("spawn_columns", fault)),
        }
    }

    /// Ends an entity (or gives a reserved id up): its handle goes, and its components are dropped. False when
    /// there is no such entity.
    pub fn despawn(&mut self, key: impl EntityKey) -> bool {
        let Some(entity) = key.find(&self.store) else {
            return false;
        };
        let live = self.store.despawn(entity);
        if !live {
            self.issuing().release_id(entity);
        }
        live
    }

    /// Whether the entity is alive.
    pub fn contains(&self, key: impl EntityKey) -> bool {
        key.find(&self.store)
            .is_some_and(|entity| self.store.entities.is_live(entity))
    }

    /// How many entities are alive.
    pub fn len(&self) -> usize {
        self.store.entities.len()
    }

    /// Whether no entity is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entities, in the order in which queries visit them.
    pub fn entities(&self) -> impl Iterator<Item = EntityRef<'_>> + Clone {
        let ids = self
            .store
            .archetypes
            .iter()
            .flat_map(super::super::store::archetype::Archetype::ids);
        ids.filter_map(|index| {
            Some(EntityRef {
                world: self,
                id: self.store.entities.at(*index)?,
            })
        })
    }

    /// Despawns every entity. Their ids are stale; reserved ones stay reserved, and memory stays for what comes.
    pub fn clear(&mut self) {
        self.store.clear();
    }

    /// Makes room for `additional` more entities of a bundle.
    ///
    /// # Errors
    /// [`EntityError::Bundle`], [`EntityError::OutOfSlots`] when the world may never hold so many.
    pub fn reserve<B: Bundle>(&mut self, additional: usize) -> Result<(), EntityError> {
        self.issuing()
            .reserve::<B>(additional)
            .map_err(|fault| self.entity_error("reserve", fault))
    }

    /// Gives memory back that what is there does not need.
    pub fn shrink_to_fit(&mut self) {
        self.admit();
        self.store.entities.give_back(&mut self.reserve);
        self.queue.shrink();
        self.spare.shrink();
        if let Some(observers) = &mut self.observers {
            observers.shrink();
        }
        self.store.shrink();
    }

    /// Removes the archetypes that hold no entity, and says how many they were.
    ///
    /// Prepared queries find the rest again when they next run. Linear in the number of archetypes and entities.
    pub fn reclaim(&mut self) -> usize {
        self.store.reclaim()
    }

    /// What the world holds, and how much memory it takes.
    pub fn statistics(&self) -> WorldStatistics {
        let archetypes = self.store.archetypes.iter();
        let columns: usize = archetypes
            .map(crate::store::archetype::Archetype::allocated)
            .sum();
        let sparse: usize = self
            .store
            .sparse
            .iter()
            .map(crate::store::sparse::SparseSet::allocated)
            .sum();
        WorldStatistics {
            entities: self.len(),
            slots: self.store.entities.slots().len(),
            archetypes: self.store.archetypes.len(),
            bytes: self.store.entities.allocated()
                + columns
                + sparse
                + self.store.changes.allocated()
                + self
                    .observers
                    .as_ref()
                    .map_or(0, |observers| observers.allocated()),
        }
    }

    fn check_handle(&self, handle: &str, function: &'static str) -> Result<(), EntityError> {
        let checked = self.store.handles.check(handle, &self.store.entities);
        checked.map_err(|refusal| self.handle_error(handle, refusal, function))
    }

    fn name(
        &mut self,
        handle: &str,
        entity: Entity,
        function: &'static str,
    ) -> Result<(), EntityError> {
        let chosen = self.store.choose_handle(handle, entity);
        chosen.map_err(|refusal| self.handle_error(handle, refusal, function))
    }

    fn handle_error(&self, handle: &str, refusal: Refusal, function: &'static str) -> EntityError {
        let (at, handle) = (self.origin(function), handle.to_owned());
        match refusal {
            Refusal::Empty => EntityError::EmptyHandle { at },
            Refusal::Taken(_) => EntityError::HandleTaken { at, handle },
            Refusal::NotIssued => EntityError::HandleNotIssued { at, handle },
        }
    }

    #[cold]
    #[allow(clippy::boxed_local, reason = "faults come in a box")]
    pub(super) fn entity_error(
        &self,
        function: &'static str,
        fault: Box<SpawnFault>,
    ) -> EntityError {
        let at = self.origin(function);
        match *fault {
            SpawnFault::Bundle(fault) => EntityError::Bundle { at, fault },
            SpawnFault::OutOfSlots => EntityError::OutOfSlots {
                at,
                limit: self.store.entities.limit(),
            },
        }
    }
}

#[cold]
#[track_caller]
pub(super) fn refuse(fault: &dyn std::error::Error) -> ! {
    panic!("{fault}")
}

/// What a world holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorldStatistics {
    /// Live entities.
    pub entities: usize,
    /// Entity slots: live, reserved, free and retired.
    pub slots: usize,
    /// Archetypes, empty ones included.
    pub archetypes: usize,
    /// Bytes allocated for slots, columns, change ticks and sparse sets, groups, and what readers and observers have not
    /// been told yet. Chosen
    /// handles, resources, and what the components themselves have allocated are not counted.
    pub bytes: usize,
}

/// The entities that a batch made, in order; an iterator over their ids.
pub struct SpawnedEntities<'w> {
    world: &'w World,
    spawned: Spawned,
    next: usize,
}

impl Iterator for SpawnedEntities<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        if self.next == self.spawned.len {
            return None;
        }
        let row = self.spawned.first + self.next;
        self.next += 1;
        let index = *self.world.store.archetypes[self.spawned.archetype]
            .ids()
            .get(row)?;
        self.world.store.entities.at(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.spawned.len - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for SpawnedEntities<'_> {}

/// A live entity, to be read.
#[derive(Clone, Copy)]
pub struct EntityRef<'w> {
    world: &'w World,
    id: Entity,
}

impl<'w> EntityRef<'w> {
    /// Its id.
    pub fn id(&self) -> Entity {
        self.id
    }

    /// Its handle.
    pub fn handle(&self) -> EntityHandle<'w> {
        self.world
            .store
            .handles
            .of(self.id, &self.world.store.entities)
    }

    /// Its components with their type names, sorted by the bytes of the names.
    pub fn components(&self) -> impl Iterator<Item = (&'w str, &'w dyn Component)> {
        let store = &self.world.store;
        let components = store.components_of(self.id);
        components.map(|(kind, component)| (&*store.kinds.get(kind).name, component))
    }

    /// Its `T`.
    pub fn get<T: Component>(&self) -> Option<&'w T> {
        self.world.store.get(self.id)
    }
}

impl std::fmt::Debug for EntityRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntityRef")
            .field("id", &self.id)
            .field("handle", &self.handle())
            .finish_non_exhaustive()
    }
}
