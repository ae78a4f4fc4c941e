//! The ways to run a query that is kept.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ecs::{Entity, Filter, Mut, Prepared, Query, QueryError, Without, World};

use super::parts::{A, B, D, Parts, Seen, Z, meet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Style {
    ForEach,
    Loop,
    Begun,
    Some,
    Forget,
    Chunks,
    SomeChunks,
    Batches,
    Panic,
    Contents,
    AfterBegun,
    Parallel,
}
pub(crate) const STYLES: [Style; 12] = [
    Style::ForEach,
    Style::Loop,
    Style::Begun,
    Style::Some,
    Style::Forget,
    Style::Chunks,
    Style::SomeChunks,
    Style::Batches,
    Style::Panic,
    Style::Contents,
    Style::AfterBegun,
    Style::Parallel,
];

pub(crate) trait Kept {
    fn run(
        &mut self,
        world: &mut World,
        style: Style,
        at: usize,
        delta: i64,
    ) -> Result<(Vec<Seen>, bool), QueryError>;
    fn many(
        &mut self,
        world: &mut World,
        ids: [Entity; 3],
        delta: i64,
    ) -> Result<Vec<Seen>, QueryError>;
    fn single(&mut self, world: &mut World, delta: i64) -> Result<Seen, QueryError>;
}

impl<Q: Query, F: Filter> Kept for Prepared<Q, F>
where
    for<'w> Q::Item<'w>: Parts<'w>,
{
    fn run(
        &mut self,
        world: &mut World,
        style: Style,
        at: usize,
        delta: i64,
    ) -> Result<(Vec<Seen>, bool), QueryError> {
        let mut seen = Vec::new();
        let mut whole = true;
        match style {
            Style::ForEach | Style::Parallel => self
                .iter(world)?
                .for_each(|item| seen.push(meet(item, delta))),
            Style::Loop => {
                for item in self.iter(world)? {
                    seen.push(meet(item, delta));
                }
            }
            Style::Begun => {
                let mut iter = self.iter(world)?;
                for item in iter.by_ref().take(at) {
                    seen.push(meet(item, delta));
                }
                iter.for_each(|item| seen.push(meet(item, delta)));
            }
            Style::Some | Style::Forget => {
                let mut iter = self.iter(world)?;
                let mut items = Vec::new();
                items.extend(iter.by_ref().take(at));
                if style == Style::Forget {
                    mem::forget(iter);
                }
                seen.extend(items.into_iter().map(|item| meet(item, delta)));
                whole = false;
            }
            Style::Chunks => {
                let chunks: Vec<_> = self.iter(world)?.chunks().collect();
                for chunk in chunks {
                    seen.extend(chunk.into_iter().map(|item| meet(item, delta)));
                }
            }
            Style::SomeChunks => {
                for chunk in self.iter(world)?.chunks().take(at) {
                    for item in chunk {
                        seen.push(meet(item, delta));
                    }
                }
                whole = false;
            }
            Style::Batches => {
                let batches: Vec<_> = self.iter(world)?.batches(at).collect();
                for batch in batches.into_iter().rev() {
                    batch.for_each(|item| seen.push(meet(item, delta)));
                }
            }
            Style::AfterBegun => {
                let mut iter = self.iter(world)?;
                for item in iter.by_ref().take(at) {
                    seen.push(meet(item, delta));
                }
                for batch in iter.batches(at + 1) {
                    batch.for_each(|item| seen.push(meet(item, delta)));
                }
            }
            Style::Panic => {
                let iter = self.iter(world)?;
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    iter.for_each(|item| {
                        if seen.len() == at {
                            std::panic::resume_unwind(Box::new(()));
                        }
                        seen.push(meet(item, delta));
                    });
                }));
                whole = outcome.is_ok();
            }
            Style::Contents => {
                let (mut contents, mut commands) = world.split();
                for item in contents.run(self)? {
                    commands.queue(|_| ());
                    seen.push(meet(item, delta));
                }
                world.apply_commands().unwrap();
            }
        }
        Ok((seen, whole))
    }

    fn many(
        &mut self,
        world: &mut World,
        ids: [Entity; 3],
        delta: i64,
    ) -> Result<Vec<Seen>, QueryError> {
        Ok(self
            .get_many_mut(world, ids)?
            .map(|item| meet(item, delta))
            .into())
    }

    fn single(&mut self, world: &mut World, delta: i64) -> Result<Seen, QueryError> {
        Ok(meet(Prepared::single(self, world)?, delta))
    }
}

/// The same for a query whose batches may go to other threads.
pub(crate) struct Spread<P>(pub(crate) P);
macro_rules! spread {
    ($($q:ty, $f:ty;)*) => {$(
        impl Kept for Spread<Prepared<$q, $f>> {
            fn run(&mut self, world: &mut World, style: Style, at: usize, delta: i64) -> Result<(Vec<Seen>, bool), QueryError> {
                if style != Style::Parallel {
                    return self.0.run(world, style, at, delta);
                }
                let seen = std::sync::Mutex::new(Vec::new());
                self.0.iter(world)?.par_for_each(at, |item| seen.lock().unwrap().push(meet(item, delta)));
                Ok((seen.into_inner().unwrap(), true))
            }
            fn many(&mut self, world: &mut World, ids: [Entity; 3], delta: i64) -> Result<Vec<Seen>, QueryError> {
                self.0.many(world, ids, delta)
            }
            fn single(&mut self, world: &mut World, delta: i64) -> Result<Seen, QueryError> {
                Kept::single(&mut self.0, world, delta)
            }
        }
    )*};
}
spread! {
    (Entity, &'static mut A), ();
    (Entity, Option<&'static mut A>, Mut<'static, B>), ();
    (&'static mut D, Entity, Option<(&'static mut B, &'static A)>), Without<Z>;
}

/// A query of the cache of its world.
pub(crate) struct Cached<Q>(pub(crate) std::marker::PhantomData<fn() -> Q>);
impl<Q: Query + 'static> Kept for Cached<Q>
where
    for<'w> Q::Item<'w>: Parts<'w>,
{
    fn run(
        &mut self,
        world: &mut World,
        style: Style,
        at: usize,
        delta: i64,
    ) -> Result<(Vec<Seen>, bool), QueryError> {
        let mut seen = Vec::new();
        if style == Style::Loop {
            for item in world.query::<Q>() {
                seen.push(meet(item, delta));
            }
        } else if style == Style::Batches {
            for batch in world.query::<Q>().batches(at) {
                batch.for_each(|item| seen.push(meet(item, delta)));
            }
        } else {
            world
                .query::<Q>()
                .for_each(|item| seen.push(meet(item, delta)));
        }
        Ok((seen, true))
    }
    fn many(
        &mut self,
        world: &mut World,
        ids: [Entity; 3],
        delta: i64,
    ) -> Result<Vec<Seen>, QueryError> {
        Ok(world
            .query_many::<Q, 3>(ids)?
            .map(|item| meet(item, delta))
            .into())
    }
    fn single(&mut self, world: &mut World, delta: i64) -> Result<Seen, QueryError> {
        Ok(meet(world.query::<Q>().single()?, delta))
    }
}
