//! Iteration: rows, chunks, batches.

use super::error::QueryError;
use super::fetch::Query;
use super::filter::Filter;
use super::lent::{Ground, Run};
use super::state::{QueryState, Scratch};
use super::stop::Stop;
use super::walk::Walk;
use crate::store::Store;
use crate::store::visits::Visit;

/// The matches of a query, in the order in which their archetypes were made, then row by row.
///
/// As an iterator it yields rows. A `for` loop over them costs what a loop over the columns' slices by index costs.
/// `for_each` (and all that folds) is faster where a loop over slices can be vectorised; so is a `for` loop over
/// [`chunks`](Self::chunks) and one over the rows of each:
///
/// ```
/// # use ecs::{Component, Value, World, json};
/// # struct Position(f32); struct Velocity(f32);
/// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
/// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
/// # let mut world = World::new();
/// # world.spawn((Position(0.0), Velocity(1.0)));
/// for chunk in world.query::<(&mut Position, &Velocity)>().chunks() {
///     for (position, velocity) in chunk {
///         position.0 += velocity.0;
///     }
/// }
/// ```
pub struct QueryIter<'w, Q: Query, F: Filter = ()> {
    rows: Q::Rows<'w>,
    /// What is behind the rows at hand. It lies elsewhere so that a loop over rows keeps them in registers: the
    /// compiler puts a struct in memory, all of it, as soon as one call gets the address of a part.
    course: &'w mut Course<'w, Q, F>,
}

/// Where a run stands between two archetypes, or in one that is taken row by row.
struct Course<'w, Q: Query, F: Filter> {
    slow: Option<Slow<'w, Q>>,
    walk: Walk<'w, Q, F>,
    scratch: &'w mut Scratch,
}

/// An archetype whose rows are taken one by one.
struct Slow<'w, Q: Query> {
    fetch: Q::Fetch<'w>,
    ids: &'w [u32],
    /// Rows that `fetch` has behind it.
    taken: usize,
    /// The next row to look at.
    row: usize,
    selected: bool,
}

impl<'w, Q: Query> Slow<'w, Q> {
    fn new(stop: Stop<'w, Q>) -> Self {
        Self {
            fetch: stop.fetch,
            ids: stop.ids,
            taken: 0,
            row: 0,
            selected: stop.by_row,
        }
    }

    /// The next row that passes, and how many rows lie between it and the last one taken.
    #[inline]
    fn next_row(&mut self, bits: &[u64]) -> Option<(usize, u32)> {
        let row = if self.selected {
            next_bit(bits, self.row)?
        } else {
            self.row
        };
        let id = *self.ids.get(row)?;
        let skip = row - self.taken;
        self.row = row + 1;
        self.taken = self.row;
        Some((skip, id))
    }
}

#[inline]
fn next_bit(bits: &[u64], from: usize) -> Option<usize> {
    let mut at = from / 64;
    let mut word = bits.get(at)? & (u64::MAX << (from % 64));
    while word == 0 {
        at += 1;
        word = *bits.get(at)?;
    }
    Some(at * 64 + word.trailing_zeros() as usize)
}

impl<'w, Q: Query, F: Filter> QueryIter<'w, Q, F> {
    /// Begins a run of a state that is current.
    pub(crate) fn new(state: &'w mut QueryState<Q, F>, store: &'w mut Store) -> Self {
        let since = state.core.last_run;
        let now = store.advance_tick();
        state.core.last_run = now;
        Self::run(state, Ground::Whole(store), Run { since, now })
    }

    /// Runs a state that is current.
    #[inline]
    pub(crate) fn run(state: &'w mut QueryState<Q, F>, ground: Ground<'w>, run: Run) -> Self {
        // The arena drops nothing.
        const { assert!(!std::mem::needs_drop::<Course<'_, Q, F>>()) };
        let QueryState {
            core,
            scratch,
            arena,
            visits,
        } = state;
        let arena = arena.begin();
        if visits.len() != core.matches.len() && !core.by_row {
            fit_visits(visits, core.matches.len());
        }
        Self {
            rows: Q::Rows::default(),
            course: arena.alloc(Course {
                slow: None,
                walk: Walk::new(core, visits, ground, run, arena),
                scratch,
            }),
        }
    }

    /// The matches chunk by chunk: the columns of each archetype as slices.
    ///
    /// A chunk counts as written as a whole, where it is mutable and its kind is tracked. A query with a filter
    /// that tells rows apart, or over a sparse kind, gives chunks of one row.
    ///
    /// An iterator that has begun goes on behind the archetype that it was in.
    pub fn chunks(self) -> Chunks<'w, Q, F> {
        self.course.slow = None;
        Chunks {
            course: self.course,
        }
    }

    /// The matches in pieces of at most `size` rows (at least one), which may go to different threads.
    ///
    /// Together they yield what the iterator yields, each item once. Where a kind is tracked, a batch counts as written
    /// when it is given out.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Position(f32);
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// # let mut world = World::new();
    /// # world.spawn_batch((0..1000).map(|x| Position(x as f32)));
    /// std::thread::scope(|scope| {
    ///     for batch in world.query::<&mut Position>().batches(256) {
    ///         scope.spawn(move || batch.for_each(|position| position.0 *= 2.0));
    ///     }
    /// });
    /// # assert_eq!(world.query::<&Position>().map(|p| p.0).sum::<f32>(), 999_000.0);
    /// ```
    pub fn batches(self, size: usize) -> Batches<'w, Q, F> {
        Batches {
            size: size.max(1),
            rest: None,
            iter: self,
        }
    }

    /// The one match.
    ///
    /// # Errors
    /// [`QueryError::NoneMatches`], [`QueryError::SeveralMatch`].
    pub fn single(mut self) -> Result<Q::Item<'w>, QueryError> {
        if self.course.slow.is_some() || self.rows.size_hint().0 > 0 {
            // Of an archetype that was begun, rows are counted by taking them.
            let first = self.next().ok_or(QueryError::NoneMatches)?;
            return match self.next() {
                None => Ok(first),
                Some(_) => Err(QueryError::SeveralMatch),
            };
        }
        // Rows are counted before one is taken, so that what is refused does not count as written.
        let mut found = None;
        let Course { walk, scratch, .. } = self.course;
        while let Some(stop) = walk.advance(scratch) {
            let bits = &scratch.bits;
            let (row, more) = if stop.by_row {
                let row = next_bit(bits, 0).unwrap_or(0);
                (row, next_bit(bits, row + 1).is_some())
            } else {
                (0, stop.ids.len() > 1)
            };
            if more || found.is_some() {
                return Err(QueryError::SeveralMatch);
            }
            found = Some((stop, row));
        }
        let (mut stop, row) = found.ok_or(QueryError::NoneMatches)?;
        let id = stop.ids.get(row).ok_or(QueryError::NoneMatches)?;
        Q::pick(&mut stop.fetch, row, *id).ok_or(QueryError::NoneMatches)
    }
}

/// Makes a place for each match, to keep what its visits find.
#[cold]
#[inline(never)]
fn fit_visits<K>(visits: &mut Vec<Visit<K>>, matches: usize) {
    visits.resize_with(matches, Visit::default);
}

impl<'w, Q: Query, F: Filter> Course<'w, Q, F> {
    /// The rows of the next archetype, or the next row of one that is taken row by row.
    #[inline(never)]
    fn step(&mut self) -> Option<Q::Rows<'w>> {
        if self.slow.is_none() && !self.walk.is_by_row() {
            let stop = self.walk.advance_whole(self.scratch)?;
            if !stop.marks_rows {
                return Some(Q::rows(stop.fetch));
            }
            self.slow = Some(Slow::new(stop));
        }
        self.step_by_row()
    }

    #[inline(never)]
    fn step_by_row(&mut self) -> Option<Q::Rows<'w>> {
        loop {
            if let Some(slow) = &mut self.slow {
                while let Some((skip, id)) = slow.next_row(&self.scratch.bits) {
                    if let Some(row) = Q::pick_slices(&mut slow.fetch, skip, id) {
                        return Some(Q::iterate(row));
                    }
                }
                self.slow = None;
            }
            let stop = self.walk.advance(self.scratch)?;
            if stop.by_row || stop.marks_rows {
                self.slow = Some(Slow::new(stop));
            } else {
                return Some(Q::rows(stop.fetch));
            }
        }
    }
}

impl<'w, Q: Query, F: Filter> Iterator for QueryIter<'w, Q, F> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.rows.next() {
                return Some(item);
            }
            self.rows = self.course.step()?;
        }
    }

    #[inline]
    fn fold<B, G: FnMut(B, Self::Item) -> B>(self, init: B, mut f: G) -> B {
        let acc = self.rows.fold(init, &mut f);
        let Course {
            slow,
            walk,
            scratch,
        } = self.course;
        if slow.is_some() || walk.is_by_row() {
            fold_by_row(slow.take(), walk, scratch, acc, f)
        } else {
            walk.fold_whole(scratch, acc, f)
        }
    }
}

/// Folds what is left row by row. An archetype that was begun so because it keeps ticks may be followed by whole ones.
#[inline(never)]
fn fold_by_row<'w, Q: Query, F: Filter, B>(
    mut slow: Option<Slow<'w, Q>>,
    walk: &mut Walk<'w, Q, F>,
    scratch: &mut Scratch,
    mut acc: B,
    mut f: impl FnMut(B, Q::Item<'w>) -> B,
) -> B {
    loop {
        if let Some(mut slow) = slow.take() {
            while let Some((skip, id)) = slow.next_row(&scratch.bits) {
                if let Some(item) = Q::pick(&mut slow.fetch, skip, id) {
                    acc = f(acc, item);
                }
            }
        }
        let Some(stop) = walk.advance(scratch) else {
            return acc;
        };
        if stop.by_row {
            slow = Some(Slow::new(stop));
        } else {
            acc = Q::fold(stop.fetch, acc, &mut f);
        }
    }
}

/// Iterator over the chunks of a query. See [`QueryIter::chunks`].
pub struct Chunks<'w, Q: Query, F: Filter = ()> {
    course: &'w mut Course<'w, Q, F>,
}

/// Entities of one archetype that match a query: a slice for each term.
pub struct Chunk<'w, Q: Query> {
    slices: Q::Slices<'w>,
}

impl<'w, Q: Query> Chunk<'w, Q> {
    /// The slices, in the order of the query's terms; all are of one length.
    pub fn into_slices(self) -> Q::Slices<'w> {
        self.slices
    }
}

impl<'w, Q: Query> IntoIterator for Chunk<'w, Q> {
    type Item = Q::Item<'w>;
    type IntoIter = Q::Rows<'w>;

    #[inline]
    fn into_iter(self) -> Q::Rows<'w> {
        Q::iterate(self.slices)
    }
}

impl<'w, Q: Query, F: Filter> Iterator for Chunks<'w, Q, F> {
    type Item = Chunk<'w, Q>;

    #[inline]
    fn next(&mut self) -> Option<Chunk<'w, Q>> {
        let course = &mut *self.course;
        loop {
            if let Some(slow) = &mut course.slow {
                while let Some((skip, id)) = slow.next_row(&course.scratch.bits) {
                    if let Some(slices) = Q::pick_slices(&mut slow.fetch, skip, id) {
                        return Some(Chunk { slices });
                    }
                }
                course.slow = None;
            }
            let stop = course.walk.advance(course.scratch)?;
            if stop.by_row {
                course.slow = Some(Slow::new(stop));
            } else {
                return Some(Chunk {
                    slices: Q::slices(stop.fetch),
                });
            }
        }
    }
}

/// Iterator over the batches of a query. See [`QueryIter::batches`].
pub struct Batches<'w, Q: Query, F: Filter = ()> {
    size: usize,
    /// What is left of an archetype, and its rows.
    rest: Option<(Q::Fetch<'w>, usize)>,
    iter: QueryIter<'w, Q, F>,
}

/// Some matches of a query, to be worked on wherever one likes.
pub struct Batch<'w, Q: Query>(BatchRows<'w, Q>);

enum BatchRows<'w, Q: Query> {
    Rows(Q::Rows<'w>),
    Items(std::vec::IntoIter<Q::Item<'w>>),
}

impl<'w, Q: Query> Iterator for Batch<'w, Q> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            BatchRows::Rows(rows) => rows.next(),
            BatchRows::Items(items) => items.next(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            BatchRows::Rows(rows) => rows.size_hint(),
            BatchRows::Items(items) => items.size_hint(),
        }
    }

    #[inline]
    fn fold<B, G: FnMut(B, Self::Item) -> B>(self, init: B, f: G) -> B {
        match self.0 {
            BatchRows::Rows(rows) => rows.fold(init, f),
            BatchRows::Items(items) => items.fold(init, f),
        }
    }
}

impl<'w, Q: Query, F: Filter> Iterator for Batches<'w, Q, F> {
    type Item = Batch<'w, Q>;

    fn next(&mut self) -> Option<Batch<'w, Q>> {
        loop {
            if let Some((fetch, len)) = self.rest.take() {
                let size = self.size.min(len);
                let (now, later) = Q::split(fetch, size);
                if len > size {
                    self.rest = Some((later, len - size));
                }
                return Some(Batch(BatchRows::Rows(Q::rows(now))));
            }
            if let Some(slow) = &mut self.iter.course.slow {
                let mut items = Vec::new();
                while items.len() < self.size
                    && let Some((skip, id)) = slow.next_row(&self.iter.course.scratch.bits)
                {
                    items.extend(Q::pick(&mut slow.fetch, skip, id));
                }
                if !items.is_empty() {
                    return Some(Batch(BatchRows::Items(items.into_iter())));
                }
                self.iter.course.slow = None;
            }
            // What an iteration that was begun has left comes first.
            let begun: Vec<_> = self.iter.rows.by_ref().take(self.size).collect();
            if !begun.is_empty() {
                return Some(Batch(BatchRows::Items(begun.into_iter())));
            }
            let stop = self.iter.course.walk.advance(self.iter.course.scratch)?;
            if stop.by_row {
                self.iter.course.slow = Some(Slow::new(stop));
            } else {
                self.rest = Some((stop.fetch, stop.ids.len()));
            }
        }
    }
}
