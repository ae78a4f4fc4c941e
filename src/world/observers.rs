//! Observers: who is told of changes, and in which order.
//!
//! ```text
//!   store    notes each change that somebody observes, in the order in which it happens
//!   routes   by kind and change: the numbers of its observers, in the order of their registration
//!   list     by number: the observers
//! ```
//!
//! A table is kept for a world `W` without knowing it, as commands are.

use std::slice;
use std::sync::{Arc, Mutex};

use super::on::{ObserverLimits, On};
use super::queue::Queue;
use crate::base::BoxError;
use crate::base::caught::FirstPanic;
use crate::base::entity::Entity;
use crate::base::lock;
use crate::base::user::{self, Mark, Panic};
use crate::store::changes::Observed;
use crate::store::kinds::KindId;
use crate::store::reserve::Reserve;

/// An observer, to be taken out with [`World::unobserve`](crate::World::unobserve).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObserverKey {
    pub(super) world: u64,
    number: u32,
    /// Tells it from others that had the number.
    serial: u64,
}

/// What an observer is called by, with the world and where its commands and their ids are kept.
pub(super) trait Tell<W>: Send {
    /// Tells it of one change.
    fn one(
        &mut self,
        world: &W,
        entity: Entity,
        queue: &mut Queue<W>,
        reserve: &mut Reserve,
    ) -> Result<(), BoxError>;

    /// Tells it of one change after the other, and ends behind the one with which it fails.
    fn many(
        &mut self,
        world: &W,
        left: &mut slice::Iter<'_, Observed>,
        queue: &mut Queue<W>,
        reserve: &mut Reserve,
    ) -> Result<(), BoxError> {
        for seen in left {
            lock::assert_none_held();
            self.one(world, seen.entity, queue, reserve)?;
        }
        Ok(())
    }
}

pub(super) struct Observer<W: 'static> {
    pub(super) kind: KindId,
    pub(super) on: On,
    /// The Rust type of its function.
    pub(super) function: &'static str,
    /// The number of the first change that it is told.
    pub(super) since: u64,
    /// The round of all runs in which it was called last; 0: in none.
    pub(super) round: u64,
    serial: u64,
    /// In a lock, so that a world may be looked at by several threads; nobody ever waits for it.
    call: Mutex<Box<dyn Tell<W>>>,
}

impl<W: 'static> Observer<W> {
    /// Tells it of changes in a row. A panic is caught around many calls; after one it goes on with the next change.
    #[inline(never)]
    fn tell(
        &mut self,
        world: &W,
        run: &[Observed],
        queue: &mut Queue<W>,
        reserve: &mut Reserve,
        mark: &Mark,
        failed: &mut dyn FnMut(&Self, Entity, BoxError),
    ) {
        let mut left = run.iter();
        while let Ok(call) = self.call.get_mut() {
            let call = || call.many(world, &mut left, queue, reserve);
            let Err(error) = outcome(user::call_under(mark, call)) else {
                return;
            };
            if let Some(seen) = run[..run.len() - left.len()].last() {
                failed(self, seen.entity, error);
            }
        }
    }
}

/// A panic is an error as any other.
#[inline]
fn outcome(called: Result<Result<(), BoxError>, Panic>) -> Result<(), BoxError> {
    match called {
        Ok(result) => result,
        Err(panic) => Err(Box::new(panic)),
    }
}

/// See the module's head.
pub(super) struct Observers<W: 'static> {
    pub(super) list: Vec<Option<Observer<W>>>,
    routes: Vec<[Vec<u32>; 3]>,
    pub(super) limits: ObserverLimits,
    /// Shared with a run that is under way. What changes meanwhile is told in its next round.
    pub(super) run: Arc<()>,
    /// How many rounds there were in all runs.
    pub(super) rounds: u64,
    /// What observers have queued lies here between two runs: nothing. Kept for its memory.
    pub(super) queue: Queue<W>,
    telling: Vec<Observed>,
    issued: u64,
}

impl<W: 'static> Default for Observers<W> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            routes: Vec::new(),
            limits: ObserverLimits::default(),
            run: Arc::default(),
            rounds: 0,
            queue: Queue::default(),
            telling: Vec::new(),
            issued: 0,
        }
    }
}

impl<W: 'static> Drop for Observers<W> {
    /// One by one, as queues do it.
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for observer in self.list.drain(..) {
            panics.drop_value(observer);
        }
        panics.resume();
    }
}

impl<W: 'static> Observers<W> {
    /// Whether observers are being told.
    pub(super) fn is_running(&self) -> bool {
        Arc::strong_count(&self.run) > 1
    }

    /// Adds an observer, behind the others of the change.
    pub(super) fn add(
        &mut self,
        world: u64,
        kind: KindId,
        on: On,
        since: u64,
        function: &'static str,
        call: Box<dyn Tell<W>>,
    ) -> ObserverKey {
        self.issued += 1;
        let free = self.list.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.list.push(None);
            self.list.len() - 1
        });
        let serial = self.issued;
        self.list[number] = Some(Observer {
            kind,
            on,
            function,
            since,
            round: 0,
            serial,
            call: Mutex::new(call),
        });
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let kind = kind.0 as usize;
        if self.routes.len() <= kind {
            self.routes.resize_with(kind + 1, Default::default);
        }
        self.routes[kind][on.change() as usize].push(number);
        ObserverKey {
            world,
            number,
            serial,
        }
    }

    /// Takes an observer out, for the caller to drop.
    pub(super) fn take(&mut self, key: ObserverKey) -> Option<Observer<W>> {
        let place = self.list.get_mut(key.number as usize)?;
        let observer = place.take_if(|observer| observer.serial == key.serial)?;
        let route = &mut self.routes[observer.kind.0 as usize][observer.on.change() as usize];
        route.retain(|number| *number != key.number);
        Some(observer)
    }

    /// The buffer for what is to be told.
    pub(super) fn buffer(&mut self) -> &mut Vec<Observed> {
        &mut self.telling
    }

    /// Tells what is in the buffer; its first change has the number `first`. Each call that fails is handed to `failed`,
    /// the others are made all the same.
    pub(super) fn tell(
        &mut self,
        world: &W,
        reserve: &mut Reserve,
        first: u64,
        failed: &mut dyn FnMut(&Observer<W>, Entity, BoxError),
    ) {
        let Self {
            list,
            routes,
            queue,
            telling,
            rounds,
            ..
        } = self;
        *rounds += 1;
        let mark = Mark::enter();
        let mut left = telling.as_slice();
        let mut number = first;
        while let [seen, behind @ ..] = left {
            let routes = routes.get(seen.kind.0 as usize);
            let route = routes.map_or(&[][..], |routes| &routes[seen.change as usize]);
            // Who is told alone is told of all that is alike; several take turns with each change.
            if let [alone] = route
                && behind.first().is_some_and(|next| seen.is_alike(next))
            {
                let alike = left.iter().take_while(|one| seen.is_alike(one)).count();
                let (run, others) = left.split_at(alike);
                queue.set_author(*alone as usize);
                if let Some(Some(observer)) = list.get_mut(*alone as usize) {
                    let before = observer.since.saturating_sub(number);
                    let before = usize::try_from(before).unwrap_or(usize::MAX);
                    if let Some(run @ [_, ..]) = run.get(before..) {
                        observer.round = *rounds;
                        observer.tell(world, run, queue, reserve, &mark, failed);
                    }
                }
                number += alike as u64;
                left = others;
                continue;
            }
            for observer in route {
                queue.set_author(*observer as usize);
                let Some(Some(observer)) = list.get_mut(*observer as usize) else {
                    continue;
                };
                if number < observer.since {
                    continue;
                }
                observer.round = *rounds;
                let Ok(call) = observer.call.get_mut() else {
                    continue;
                };
                let call = || call.one(world, seen.entity, queue, reserve);
                if let Err(error) = outcome(user::call_under(&mark, call)) {
                    failed(observer, seen.entity, error);
                }
            }
            number += 1;
            left = behind;
        }
        telling.clear();
    }

    /// Bytes that are kept for what is told.
    pub(super) fn allocated(&self) -> usize {
        self.telling.capacity() * size_of::<Observed>()
    }

    pub(super) fn shrink(&mut self) {
        self.queue.shrink();
        self.telling.shrink_to_fit();
    }
}
