//! The parameters whose work waits: commands and events.

use std::any::{TypeId, type_name};

use super::param::{Binder, Param, Scene};
use crate::base::BoxError;
use crate::event::{EventBuffer, EventIter, EventWriter};
use crate::parallel::access::Thing;
use crate::parallel::fault::ParamFault;
use crate::runtime::declared::{Lender, Steps};
use crate::world::{CommandBuffer, Commands, EventReader, World};

impl Param for Commands<'_> {
    type Item<'a> = Commands<'a>;
    type State = CommandBuffer;
    const STEPS: Steps = Steps::LEND.and(Steps::LEND_IDS).and(Steps::DELIVER);

    fn bind(binder: &mut Binder<'_>) -> Result<CommandBuffer, ParamFault> {
        binder
            .access
            .begin_parameter(type_name::<Commands<'static>>());
        binder.access.add(Thing::Commands, "", true)?;
        Ok(CommandBuffer::default())
    }

    fn follow(_: &mut CommandBuffer, _: &World) -> bool {
        true
    }

    fn lend(buffer: &mut CommandBuffer, lender: &mut Lender<'_>) {
        lender.world.lend_ids(buffer, lender.turn, lender.among);
        lender.turn += 1;
    }

    fn fetch<'a>(
        buffer: &'a mut CommandBuffer,
        _: &mut Scene<'a>,
    ) -> Result<Commands<'a>, BoxError> {
        Ok(buffer.commands())
    }

    fn settle(buffer: &mut CommandBuffer, world: &mut World) {
        world.admit_ids(buffer);
    }

    fn deliver(buffer: &mut CommandBuffer, world: &mut World, author: usize) {
        world.take_commands(buffer, author);
    }

    fn retire(buffer: &mut CommandBuffer, world: &mut World) {
        world.retire(buffer);
    }
}

/// The events of a type that this system has not read yet, as a parameter of a typed system: each delivered event once,
/// in order. What is not taken waits for the next run.
///
/// It receives what is delivered from its registration on.
///
/// ```
/// use ecs::{EventWriter, Events, OwnedContainer, parallel};
///
/// struct Hit(u32);
///
/// let container = OwnedContainer::new("main")?;
/// let mut claim = container.claim()?;
/// claim.add_system(parallel("gun", |mut hits: EventWriter<Hit>| hits.send(Hit(3))).every_pass())?;
/// let mut total = 0;
/// claim.add_system(parallel("count", move |mut hits: Events<Hit>| {
///     total += hits.read().map(|hit| hit.0).sum::<u32>();
/// }).every_pass())?;
/// claim.update()?;
/// claim.update()?; // what was sent in one pass is delivered at the beginning of the next
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub struct Events<'a, E> {
    reader: &'a mut EventReader<E>,
    world: &'a World,
}

impl<E: Send + Sync + 'static> Events<'_, E> {
    /// What was delivered and not read yet. What is taken from the iterator is read.
    pub fn read(&mut self) -> EventIter<'_, E> {
        match self.reader.read(self.world) {
            Ok(events) => events,
            Err(_) => unreachable!("the parameter follows the world"),
        }
    }

    /// How many events were missed, because the system was too far behind.
    pub fn missed(&self) -> u64 {
        self.reader.missed()
    }
}

impl<E: Send + Sync + 'static> Param for Events<'_, E> {
    type Item<'a> = Events<'a, E>;
    type State = EventReader<E>;
    const STEPS: Steps = Steps::BIND;

    fn bind(binder: &mut Binder<'_>) -> Result<EventReader<E>, ParamFault> {
        binder
            .access
            .begin_parameter(type_name::<Events<'static, E>>());
        let event = Thing::Event(TypeId::of::<E>());
        binder.access.add(event, type_name::<E>(), false)?;
        Ok(binder.world.event_reader())
    }

    fn follow(reader: &mut EventReader<E>, world: &World) -> bool {
        reader.is_of(world)
    }

    fn lend(_: &mut EventReader<E>, _: &mut Lender<'_>) {}

    fn fetch<'a>(
        reader: &'a mut EventReader<E>,
        scene: &mut Scene<'a>,
    ) -> Result<Events<'a, E>, BoxError> {
        Ok(Events {
            reader,
            world: scene.world,
        })
    }

    fn settle(_: &mut EventReader<E>, _: &mut World) {}
}

impl<E: Send + Sync + 'static> Param for EventWriter<'_, E> {
    type Item<'a> = EventWriter<'a, E>;
    type State = EventBuffer<E>;
    const STEPS: Steps = Steps::DELIVER;

    fn bind(binder: &mut Binder<'_>) -> Result<EventBuffer<E>, ParamFault> {
        let parameter = type_name::<EventWriter<'static, E>>();
        binder.access.begin_parameter(parameter);
        let event = Thing::Event(TypeId::of::<E>());
        binder.access.add(event, type_name::<E>(), true)?;
        Ok(EventBuffer::default())
    }

    fn follow(_: &mut EventBuffer<E>, _: &World) -> bool {
        true
    }

    fn lend(_: &mut EventBuffer<E>, _: &mut Lender<'_>) {}

    fn fetch<'a>(
        buffer: &'a mut EventBuffer<E>,
        _: &mut Scene<'a>,
    ) -> Result<EventWriter<'a, E>, BoxError> {
        Ok(buffer.writer())
    }

    fn settle(_: &mut EventBuffer<E>, _: &mut World) {}

    fn deliver(buffer: &mut EventBuffer<E>, world: &mut World, _: usize) {
        world.events_mut().append(buffer);
    }
}
