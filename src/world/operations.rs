//! What can be queued: the operations of commands.

use std::any::{TypeId, type_name};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use super::World;
use super::error::CommandErrorKind;
use super::queue::{Effect, Operation, Step, StepFault};
use crate::base::caught::FirstPanic;
use crate::base::entity::Entity;
use crate::store::SpawnFault;
use crate::store::bundle::{Bundle, Parts};
use crate::store::component::Component;
use crate::store::error::BundleFault;
use crate::store::handles::Refusal;

fn other(kind: CommandErrorKind) -> StepFault {
    StepFault::Other(Box::new(kind))
}

fn entity_of(step: &Step) -> Result<Entity, StepFault> {
    step.entity.ok_or(StepFault::Gone)
}

fn parts_of<B: Bundle>() -> Parts {
    let mut parts = Parts::default();
    B::parts(&mut parts);
    parts
}

/// Makes the entity of a reserved id.
pub(super) struct Spawn<B>(pub(super) B);

impl<B: Bundle> Operation<World> for Spawn<B> {
    const VERB: &'static str = "spawn";

    fn subject() -> &'static str {
        type_name::<B>()
    }

    #[inline]
    fn apply(self, world: &mut World, step: &Step) -> Result<(), StepFault> {
        let entity = entity_of(step)?;
        match world.store.spawn_reserved(entity, self.0) {
            Ok(true) => Ok(()),
            outcome => Err(world.not_spawned(entity, outcome)),
        }
    }

    fn discard(self, panics: &mut FirstPanic) {
        self.0.discard(panics);
    }

    fn effect() -> Effect {
        Effect::Begins(parts_of::<B>())
    }
}

/// The same under a chosen handle.
pub(super) struct SpawnNamed<B>(pub(super) Box<str>, pub(super) B);

impl<B: Bundle> Operation<World> for SpawnNamed<B> {
    const VERB: &'static str = "spawn_named";

    fn subject() -> &'static str {
        type_name::<B>()
    }

    fn apply(self, world: &mut World, step: &Step) -> Result<(), StepFault> {
        let Self(handle, bundle) = self;
        let entity = entity_of(step)?;
        if let Err(refusal) = world.store.handles.check(&handle, &world.store.entities) {
            world.store.release_id(entity);
            let mut panics = FirstPanic::default();
            bundle.discard(&mut panics);
            panics.resume();
            let handle = handle.into_string();
            return Err(other(match refusal {
                Refusal::Empty => CommandErrorKind::EmptyHandle,
                Refusal::Taken(_) => CommandErrorKind::HandleTaken { handle },
                Refusal::NotIssued => CommandErrorKind::HandleNotIssued { handle },
            }));
        }
        Spawn(bundle).apply(world, step)?;
        let chosen = world.store.choose_handle(&handle, entity);
        debug_assert!(chosen.is_ok(), "the handle was checked");
        Ok(())
    }

    fn discard(self, panics: &mut FirstPanic) {
        self.1.discard(panics);
    }

    fn effect() -> Effect {
        Effect::Begins(parts_of::<B>())
    }
}

impl World {
    /// What went wrong where an id was to become an entity.
    #[cold]
    fn not_spawned(&mut self, entity: Entity, outcome: Result<bool, Box<SpawnFault>>) -> StepFault {
        let limit = self.store.entities.limit();
        match outcome.map_err(|fault| *fault) {
            Err(SpawnFault::Bundle(fault)) => {
                self.store.release_id(entity);
                other(CommandErrorKind::Bundle(fault))
            }
            Ok(_) if entity.index() < limit => StepFault::Gone,
            Ok(_) | Err(SpawnFault::OutOfSlots) => other(CommandErrorKind::OutOfSlots { limit }),
        }
    }
}

/// Ends the entity.
pub(super) struct Despawn;

impl Operation<World> for Despawn {
    const VERB: &'static str = "despawn";

    fn subject() -> &'static str {
        "an entity"
    }

    #[inline]
    fn apply(self, world: &mut World, step: &Step) -> Result<(), StepFault> {
        if world.despawn(entity_of(step)?) {
            Ok(())
        } else {
            Err(StepFault::Gone)
        }
    }

    fn discard(self, _: &mut FirstPanic) {}

    fn effect() -> Effect {
        Effect::Ends
    }
}

/// Attaches components.
pub(super) struct Insert<B>(pub(super) B);

impl<B: Bundle> Operation<World> for Insert<B> {
    const VERB: &'static str = "insert";

    fn subject() -> &'static str {
        type_name::<B>()
    }

    #[inline]
    fn apply(self, world: &mut World, step: &Step) -> Result<(), StepFault> {
        match world.store.insert(entity_of(step)?, self.0) {
            Ok(()) => Ok(()),
            Err(fault) => Err(not_inserted(fault)),
        }
    }

    fn discard(self, panics: &mut FirstPanic) {
        self.0.discard(panics);
    }

    fn effect() -> Effect {
        Effect::Adds(parts_of::<B>())
    }
}

#[cold]
fn not_inserted(fault: Option<Box<BundleFault>>) -> StepFault {
    match fault {
        Some(fault) => other(CommandErrorKind::Bundle(*fault)),
        None => StepFault::Gone,
    }
}

/// Removes a component.
pub(super) struct Remove<T>(pub(super) PhantomData<fn() -> T>);

impl<T: Component> Operation<World> for Remove<T> {
    const VERB: &'static str = "remove";

    fn subject() -> &'static str {
        type_name::<T>()
    }

    #[inline]
    fn apply(self, world: &mut World, step: &Step) -> Result<(), StepFault> {
        let entity = entity_of(step)?;
        if world.remove::<T>(entity).is_some() || world.contains(entity) {
            Ok(())
        } else {
            Err(StepFault::Gone)
        }
    }

    fn discard(self, _: &mut FirstPanic) {}

    fn effect() -> Effect {
        Effect::Removes(parts_of::<T>())
    }
}

/// Calls a function. In a lock, so that a world may be looked at by several threads; nobody ever waits for it.
pub(super) struct Call<F>(pub(super) Mutex<F>);

impl<F: FnOnce(&mut World) + Send + 'static> Operation<World> for Call<F> {
    const VERB: &'static str = "queue";

    fn subject() -> &'static str {
        type_name::<F>()
    }

    fn apply(self, world: &mut World, step: &Step) -> Result<(), StepFault> {
        let function = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What it queues is its author's, too.
        world.queue.set_author(step.author as usize);
        function(world);
        Ok(())
    }

    fn discard(self, panics: &mut FirstPanic) {
        panics.drop_value(self.0);
    }
}

/// Puts the world's one `T`.
pub(super) struct InsertResource<T>(pub(super) T);

impl<T: Send + Sync + 'static> Operation<World> for InsertResource<T> {
    const VERB: &'static str = "insert_resource";

    fn subject() -> &'static str {
        type_name::<T>()
    }

    fn apply(self, world: &mut World, _: &Step) -> Result<(), StepFault> {
        drop(world.insert_resource(self.0));
        Ok(())
    }

    fn discard(self, panics: &mut FirstPanic) {
        panics.drop_value(self.0);
    }
}

/// Removes the world's one `T`.
pub(super) struct RemoveResource<T>(pub(super) PhantomData<fn() -> T>);

impl<T: Send + Sync + 'static> Operation<World> for RemoveResource<T> {
    const VERB: &'static str = "remove_resource";

    fn subject() -> &'static str {
        type_name::<T>()
    }

    fn apply(self, world: &mut World, _: &Step) -> Result<(), StepFault> {
        drop(world.remove_resource::<T>());
        Ok(())
    }

    fn discard(self, _: &mut FirstPanic) {}
}

/// Sends an event.
pub(super) struct SendEvent<E>(pub(super) E);

impl<E: Send + Sync + 'static> Operation<World> for SendEvent<E> {
    const VERB: &'static str = "send_event";

    fn subject() -> &'static str {
        type_name::<E>()
    }

    fn apply(self, world: &mut World, _: &Step) -> Result<(), StepFault> {
        world.send_event(self.0);
        Ok(())
    }

    fn discard(self, panics: &mut FirstPanic) {
        panics.drop_value(self.0);
    }
}

impl Effect {
    /// Whether the entity has a component of the name and type afterwards, if it lives; `None` where that was decided
    /// before.
    pub(super) fn on(&self, name: &str, type_id: TypeId) -> Option<bool> {
        let (Self::Begins(parts) | Self::Adds(parts) | Self::Removes(parts)) = self else {
            return None;
        };
        let named = parts.0.iter().find(|part| part.name() == name);
        match (self, named) {
            (Self::Begins(_), None) => Some(false),
            (Self::Removes(_), Some(part)) => (part.ty.id() == type_id).then_some(false),
            (_, Some(part)) => Some(part.ty.id() == type_id),
            (_, None) => None,
        }
    }
}
