//! A queue of operations that wait: typed, in the order given, without an allocation for each.
//!
//! ```text
//!   order    [ 0 e7 ][ 1 e7 ][ 0 e9 ][ 2 -- ]     which store, which entity, whose
//!   stores   0  Spawn<(A, B)>   a b   a b
//!            1  Insert<C>       c
//!            2  Call<closure>   f
//! ```
//!
//! Each kind of operation has a store of its own, in which what its steps carry lies in their order; so the first of a
//! store always belongs to the next of its steps. Stores stay when they are empty, and keep their memory.

use std::any::{Any, TypeId};
use std::collections::VecDeque;

use super::error::CommandErrorKind;
use crate::base::caught::FirstPanic;
use crate::base::entity::Entity;
use crate::base::hash::TypeMap;
use crate::base::user::{self, Mark};
use crate::store::bundle::Parts;

/// Something that can be done later to a `W`.
pub(crate) trait Operation<W>: Send + Sync + Sized + 'static {
    /// What it does, as errors name it.
    const VERB: &'static str;

    /// With what, as errors name it.
    fn subject() -> &'static str;

    fn apply(self, target: &mut W, step: &Step) -> Result<(), StepFault>;

    /// Lets go of what the step carries, piece by piece.
    fn discard(self, panics: &mut FirstPanic);

    fn effect() -> Effect {
        Effect::Other
    }
}

/// What an operation does to the components of its entity.
pub(crate) enum Effect {
    /// The entity begins, with these.
    Begins(Parts),
    /// These come.
    Adds(Parts),
    /// These go.
    Removes(Parts),
    /// The entity ends.
    Ends,
    /// None, or none that can be told.
    Other,
}

/// Why a step was not done.
pub(crate) enum StepFault {
    /// The entity is gone, or never was: an error only where the caller asked for one.
    Gone,
    Other(Box<CommandErrorKind>),
}

/// One operation that waits. What it carries lies in its store.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) entity: Option<Entity>,
    /// Bit 31: it is an error when the entity is gone.
    store: u32,
    /// Who queued it, as the queue was told.
    pub(crate) author: u32,
}

const STRICT: u32 = 1 << 31;

/// The author of what nobody in particular queued.
pub(crate) const NOBODY: usize = u32::MAX as usize;

impl Step {
    fn store(self) -> usize {
        (self.store & !STRICT) as usize
    }

    /// What a fault of this step is to be reported as.
    fn error(self, fault: StepFault) -> Option<CommandErrorKind> {
        match fault {
            StepFault::Gone => (self.store & STRICT != 0).then_some(CommandErrorKind::NoEntity),
            StepFault::Other(kind) => Some(*kind),
        }
    }
}

/// A step that was not done.
pub(crate) struct Failed {
    pub(crate) step: Step,
    pub(crate) verb: &'static str,
    pub(crate) subject: &'static str,
    pub(crate) kind: CommandErrorKind,
}

/// See the module's head.
pub(crate) struct Queue<W: 'static> {
    order: Vec<Step>,
    stores: Vec<Box<dyn ErasedStore<W>>>,
    places: TypeMap<u32>,
    /// The store that was used last.
    last: u32,
    author: usize,
    /// By store of another queue: the store here. Kept for its memory.
    map: Vec<u32>,
}

impl<W: 'static> Default for Queue<W> {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            stores: Vec::new(),
            places: TypeMap::default(),
            last: 0,
            author: NOBODY,
            map: Vec::new(),
        }
    }
}

impl<W: 'static> Queue<W> {
    /// How many steps wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Who queues from here on.
    #[inline]
    pub(crate) fn set_author(&mut self, author: usize) {
        self.author = author;
    }

    pub(crate) fn author(&self) -> usize {
        self.author
    }

    /// What an author has queued is nobody's from here on.
    pub(crate) fn disown(&mut self, author: usize) {
        let steps = self.order.iter_mut();
        let own = steps.filter(|step| step.author as usize == author);
        own.for_each(|step| step.author = u32::MAX);
    }

    /// Queues a step.
    #[inline]
    pub(crate) fn push<O: Operation<W>>(
        &mut self,
        entity: Option<Entity>,
        strict: bool,
        operation: O,
    ) {
        let author = u32::try_from(self.author).unwrap_or(u32::MAX);
        let store = match self.store_at::<O>(self.last) {
            Some(store) => {
                store.waiting.push_back(operation);
                self.last
            }
            None => self.push_elsewhere(operation),
        };
        let store = if strict { store | STRICT } else { store };
        self.order.push(Step {
            entity,
            store,
            author,
        });
    }

    #[inline]
    fn store_at<O: Operation<W>>(&mut self, at: u32) -> Option<&mut Store<O>> {
        let store: &mut dyn Any = &mut **self.stores.get_mut(at as usize)?;
        store.downcast_mut()
    }

    #[inline(never)]
    fn push_elsewhere<O: Operation<W>>(&mut self, operation: O) -> u32 {
        let key = TypeId::of::<Store<O>>();
        self.last = match self.places.get(&key) {
            Some(place) => *place,
            None => self.add(key, Box::new(Store::<O>::default())),
        };
        if let Some(store) = self.store_at::<O>(self.last) {
            store.waiting.push_back(operation);
        }
        self.last
    }

    #[cold]
    fn add(&mut self, key: TypeId, store: Box<dyn ErasedStore<W>>) -> u32 {
        // One for each type of the program's.
        let place = u32::try_from(self.stores.len()).unwrap_or(STRICT - 1);
        self.stores.push(store);
        self.places.insert(key, place);
        place
    }

    /// Takes all steps of another queue behind its own, for an author. Both keep their memory.
    pub(crate) fn append(&mut self, other: &mut Self, author: usize) {
        if other.is_empty() {
            return;
        }
        let author = u32::try_from(author).unwrap_or(u32::MAX);
        let mut map = std::mem::take(&mut self.map);
        map.clear();
        for store in &mut other.stores {
            let key = store.key();
            let place = match self.places.get(&key) {
                Some(place) => *place,
                None => self.add(key, store.another()),
            };
            self.stores[place as usize].append(&mut **store);
            map.push(place);
        }
        self.order.extend(other.order.drain(..).map(|step| Step {
            store: map[step.store()] | (step.store & STRICT),
            author,
            ..step
        }));
        self.map = map;
    }

    /// Does what waits, in order. Each step that fails is handed to `failed`; the others are done all the same.
    pub(crate) fn run(&mut self, target: &mut W, failed: &mut dyn FnMut(&W, Failed)) {
        let mark = Mark::enter();
        let Self { order, stores, .. } = self;
        for steps in order.chunk_by(|a, b| a.store() == b.store()) {
            let Some(store) = steps.first().and_then(|step| stores.get_mut(step.store())) else {
                continue;
            };
            let mut done = 0;
            while done < steps.len() {
                let outcome = user::call_under(&mark, || store.run(target, steps, &mut done));
                let step = steps[done.max(1) - 1];
                let error = match outcome {
                    Ok(Ok(())) => break,
                    Ok(Err(fault)) => step.error(fault),
                    Err(panic) => Some(CommandErrorKind::Panicked {
                        text: panic.to_string(),
                    }),
                };
                if let Some(kind) = error {
                    let (verb, subject) = store.names();
                    failed(
                        target,
                        Failed {
                            step,
                            verb,
                            subject,
                            kind,
                        },
                    );
                }
            }
        }
        order.clear();
    }

    /// The effects of the steps that name an entity, the last one first.
    pub(crate) fn effects_on(&self, entity: Entity) -> impl Iterator<Item = Effect> + '_ {
        let steps = self.order.iter().rev();
        steps
            .filter(move |step| step.entity == Some(entity))
            .map(|step| self.stores[step.store()].effect())
    }

    /// Gives memory back that what waits does not need.
    pub(crate) fn shrink(&mut self) {
        self.order.shrink_to_fit();
        self.map = Vec::new();
        for store in &mut self.stores {
            store.shrink();
        }
    }
}

impl<W: 'static> Drop for Queue<W> {
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for store in &mut self.stores {
            store.clear(&mut panics);
        }
        panics.resume();
    }
}

struct Store<O> {
    waiting: VecDeque<O>,
}

impl<O> Default for Store<O> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
        }
    }
}

/// What can be done with a store whose operation is not known.
trait ErasedStore<W>: Any + Send + Sync {
    fn key(&self) -> TypeId;
    fn names(&self) -> (&'static str, &'static str);
    fn effect(&self) -> Effect;

    /// An empty one of the same kind.
    fn another(&self) -> Box<dyn ErasedStore<W>>;

    fn append(&mut self, other: &mut dyn ErasedStore<W>);

    /// Does steps from number `done` on, counting, until one fails.
    fn run(&mut self, target: &mut W, steps: &[Step], done: &mut usize) -> Result<(), StepFault>;

    fn clear(&mut self, panics: &mut FirstPanic);
    fn shrink(&mut self);
}

impl<W: 'static, O: Operation<W>> ErasedStore<W> for Store<O> {
    fn key(&self) -> TypeId {
        TypeId::of::<Self>()
    }

    fn names(&self) -> (&'static str, &'static str) {
        (O::VERB, O::subject())
    }

    fn effect(&self) -> Effect {
        O::effect()
    }

    fn another(&self) -> Box<dyn ErasedStore<W>> {
        Box::new(Self::default())
    }

    fn append(&mut self, other: &mut dyn ErasedStore<W>) {
        let other: &mut dyn Any = other;
        if let Some(other) = other.downcast_mut::<Self>() {
            self.waiting.append(&mut other.waiting);
        }
    }

    fn run(&mut self, target: &mut W, steps: &[Step], done: &mut usize) -> Result<(), StepFault> {
        while let Some(step) = steps.get(*done) {
            *done += 1;
            if let Some(operation) = self.waiting.pop_front() {
                operation.apply(target, step)?;
            }
        }
        Ok(())
    }

    fn clear(&mut self, panics: &mut FirstPanic) {
        while let Some(operation) = self.waiting.pop_front() {
            operation.discard(panics);
        }
    }

    fn shrink(&mut self) {
        self.waiting.shrink_to_fit();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Writes a text, or a number; a negative one fails.
    struct Text(&'static str);
    struct Number(i32);

    impl Operation<Vec<String>> for Text {
        const VERB: &'static str = "text";

        fn subject() -> &'static str {
            "a text"
        }

        fn apply(self, target: &mut Vec<String>, step: &Step) -> Result<(), StepFault> {
            target.push(format!("{} of {}", self.0, step.author));
            Ok(())
        }

        fn discard(self, _: &mut FirstPanic) {}
    }

    impl Operation<Vec<String>> for Number {
        const VERB: &'static str = "number";

        fn subject() -> &'static str {
            "a number"
        }

        fn apply(self, target: &mut Vec<String>, step: &Step) -> Result<(), StepFault> {
            if self.0 < 0 {
                return Err(StepFault::Gone);
            }
            target.push(format!("{} of {}", self.0, step.author));
            Ok(())
        }

        fn discard(self, _: &mut FirstPanic) {}
    }

    fn run(queue: &mut Queue<Vec<String>>) -> (String, Vec<(&'static str, u32)>) {
        let mut target = Vec::new();
        let mut failed = Vec::new();
        queue.run(&mut target, &mut |_, failure| {
            failed.push((failure.verb, failure.step.author));
        });
        assert!(queue.is_empty());
        (target.join(", "), failed)
    }

    #[test]
    fn a_queue_takes_over_what_others_have_in_their_order() {
        let mut queue = Queue::default();
        let mut others = [Queue::default(), Queue::default()];
        for round in 0..3 {
            queue.set_author(9);
            queue.push(None, false, Number(round));
            for (at, other) in others.iter_mut().enumerate() {
                // The second one meets the kinds in the other order.
                if at == 0 {
                    other.push(None, false, Number(10));
                    other.push(None, true, Number(-1));
                }
                other.push(None, false, Text("a"));
                other.push(None, false, Number(-1));
                other.push(None, false, Number(11));
                other.push(None, false, Text("b"));
            }
            for (author, other) in (0..).zip(&mut others) {
                queue.append(other, author);
                assert!(other.is_empty());
            }
            queue.push(None, false, Text("end"));
            let (done, failed) = run(&mut queue);
            assert_eq!(
                done,
                format!(
                    "{round} of 9, 10 of 0, a of 0, 11 of 0, b of 0, a of 1, 11 of 1, b of 1, end of 9"
                )
            );
            assert_eq!(failed, [("number", 0)], "only where it was asked for");
        }
        let mut nothing = Queue::default();
        queue.append(&mut nothing, 3);
        assert!(queue.is_empty());
    }
}
