//! The columns of one archetype, taken apart for the terms of a query.
#![allow(
    clippy::inline_always,
    reason = "measured: else 75 ns for every archetype visited"
)]

use super::access::Term;
use crate::base::entity::Entity;
use crate::store::archetype::Archetype;
use crate::store::column::Column;
use crate::store::component::Component;
use crate::store::entities::Slot;
use crate::store::sparse::SparseView;
use crate::store::ticks::Marks;

/// Says that an archetype has no column for a request.
pub(super) const ABSENT: u16 = u16::MAX;

/// Up to so many requests the columns are taken apart without a loop.
const UNROLLED: usize = 4;

/// What is left of a mutable slice whose elements are given out one by one, in ascending order.
pub(super) struct Ahead<'w, T> {
    left: &'w mut [T],
    /// The number of the first that is left.
    base: usize,
}

impl<T> Default for Ahead<'_, T> {
    fn default() -> Self {
        Self {
            left: &mut [],
            base: 0,
        }
    }
}

impl<'w, T> Ahead<'w, T> {
    pub(super) fn new(all: &'w mut [T]) -> Self {
        Self { left: all, base: 0 }
    }

    /// Takes an element out. One that lies behind, or beyond the end, is not there, and nothing is lost by asking.
    #[inline(always)]
    pub(super) fn take(&mut self, number: usize) -> Option<&'w mut T> {
        let ahead = number.wrapping_sub(self.base);
        if ahead >= self.left.len() {
            return None;
        }
        let (element, left) = std::mem::take(&mut self.left)
            .get_mut(ahead..)?
            .split_first_mut()?;
        self.left = left;
        self.base = number + 1;
        Some(element)
    }
}

impl<'w, T> Ahead<'w, T> {
    /// All that are left.
    pub(super) fn left(self) -> &'w mut [T] {
        self.left
    }

    /// Takes as many elements as are asked for, from `first` on.
    pub(super) fn take_many(&mut self, first: usize, count: usize) -> Option<&'w mut [T]> {
        let (elements, left) = std::mem::take(&mut self.left)
            .get_mut(first.checked_sub(self.base)?..)?
            .split_at_mut_checked(count)?;
        self.left = left;
        self.base = first + count;
        Some(elements)
    }
}

enum Cell<'w> {
    Empty,
    Shared(&'w Column),
    Exclusive(&'w mut Column),
}

/// The entities of an archetype, row by row: what `Entity` means in a chunk.
#[derive(Clone, Copy)]
pub struct EntityRows<'w> {
    pub(super) ids: &'w [u32],
    pub(super) slots: &'w [Slot],
}

impl<'w> EntityRows<'w> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The entity of a row of the chunk.
    #[inline]
    pub fn get(&self, row: usize) -> Option<Entity> {
        entity_at(self.slots, *self.ids.get(row)?)
    }

    /// The slots of the entities, as [`Entity::index`] gives them.
    pub fn indices(&self) -> &'w [u32] {
        self.ids
    }

    /// The entities in order.
    pub fn iter(&self) -> EntityIter<'w> {
        EntityIter {
            ids: self.ids.iter(),
            slots: self.slots,
        }
    }
}

impl<'w> IntoIterator for &EntityRows<'w> {
    type Item = Entity;
    type IntoIter = EntityIter<'w>;

    fn into_iter(self) -> EntityIter<'w> {
        self.iter()
    }
}

impl<'w> IntoIterator for EntityRows<'w> {
    type Item = Entity;
    type IntoIter = EntityIter<'w>;

    fn into_iter(self) -> EntityIter<'w> {
        self.iter()
    }
}

/// Iterator over the entities of a chunk.
#[derive(Clone, Default)]
pub struct EntityIter<'w> {
    ids: std::slice::Iter<'w, u32>,
    slots: &'w [Slot],
}

impl Iterator for EntityIter<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        let id = *self.ids.next()?;
        entity_at(self.slots, id)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ids.size_hint()
    }
}

impl ExactSizeIterator for EntityIter<'_> {}

#[inline]
pub(super) fn entity_at(slots: &[Slot], index: u32) -> Option<Entity> {
    Entity::from_parts(index, slots.get(index as usize)?.generation())
}

/// A sparse set that a query reaches, by its number in the store.
pub(super) type NumberedView<'w> = (u32, SparseView<'w>);

#[inline]
pub(super) fn view_of<'w>(views: &[NumberedView<'w>], set: u32) -> Option<SparseView<'w>> {
    views
        .iter()
        .find(|(number, _)| *number == set)
        .map(|(_, view)| *view)
}

/// The parts of one archetype that a query reaches, at most `N`. Each is taken by the term it belongs to.
///
/// It is made anew for every archetype, so it is small where the query is, and everything about it is inlined: else
/// a query over many small archetypes does little more than move it about.
#[doc(hidden)]
pub struct Cells<'w, 'v, const N: usize> {
    columns: [Cell<'w>; N],
    views: &'v [NumberedView<'w>],
    pub(super) rows: EntityRows<'w>,
    pub(super) now: u64,
    /// A column that is written without marks of its own keeps ticks.
    pub(super) marks_rows: bool,
}

impl<'w, 'v, const N: usize> Cells<'w, 'v, N> {
    /// Positions ascend, because requests and columns are sorted alike.
    #[inline(always)]
    pub(super) fn new(
        columns: &'w mut [Column],
        rows: EntityRows<'w>,
        positions: &[u16],
        views: &'v [NumberedView<'w>],
        now: u64,
    ) -> Self {
        let mut cells = Self::empty(rows, views, now);
        let mut columns = Ahead::new(columns);
        let mut place = |cell: &mut Cell<'w>, position: u16| {
            // There is no column with the number `ABSENT`.
            if let Some(column) = columns.take(position as usize) {
                *cell = Cell::Exclusive(column);
            }
        };
        // Where the number of requests is known the loop is unrolled.
        if let (true, Some(positions)) = (N <= UNROLLED, positions.first_chunk::<N>()) {
            for (cell, &position) in cells.columns.iter_mut().zip(positions) {
                place(cell, position);
            }
        } else {
            for (cell, &position) in cells.columns.iter_mut().zip(positions) {
                place(cell, position);
            }
        }
        cells
    }

    #[inline(always)]
    fn empty(rows: EntityRows<'w>, views: &'v [NumberedView<'w>], now: u64) -> Self {
        Self {
            columns: [const { Cell::Empty }; N],
            views,
            rows,
            now,
            marks_rows: false,
        }
    }

    /// The same where the archetype is shared. For each request: where in the archetype, and whether what it reaches is
    /// the next of the columns that are lent.
    pub(super) fn lent(
        archetype: &'w Archetype,
        lent: &'w mut [Column],
        rows: EntityRows<'w>,
        requests: impl Iterator<Item = (u16, bool)>,
        views: &'v [NumberedView<'w>],
        now: u64,
    ) -> Self {
        let mut cells = Self::empty(rows, views, now);
        let mut lent = lent.iter_mut();
        for (at, (position, is_lent)) in requests.enumerate() {
            // A column is lent also for an archetype that has none.
            let own = is_lent.then(|| lent.next()).flatten();
            if position == ABSENT {
                continue;
            }
            let Some(cell) = cells.columns.get_mut(at) else {
                continue;
            };
            match (own, archetype.columns().get(position as usize)) {
                (Some(column), _) => *cell = Cell::Exclusive(column),
                (None, Some(column)) => *cell = Cell::Shared(column),
                (None, None) => {}
            }
        }
        cells
    }

    /// The cell of a term. A query with one kind at most has but one.
    #[inline(always)]
    fn cell(&mut self, term: Term) -> Option<&mut Cell<'w>> {
        self.columns
            .get_mut(if N == 1 { 0 } else { term.request as usize })
    }

    /// The column of a term that reads. Several may read one column.
    #[inline(always)]
    pub(super) fn shared(&mut self, term: Term) -> Option<&'w Column> {
        let cell = self.cell(term)?;
        let column: &'w Column = match std::mem::replace(cell, Cell::Empty) {
            Cell::Empty => return None,
            Cell::Shared(column) => column,
            Cell::Exclusive(column) => column,
        };
        *cell = Cell::Shared(column);
        Some(column)
    }

    /// The column of a term that writes; it is taken.
    #[inline(always)]
    pub(super) fn exclusive(&mut self, term: Term) -> Option<&'w mut Column> {
        match std::mem::replace(self.cell(term)?, Cell::Empty) {
            Cell::Exclusive(column) => Some(column),
            _ => None,
        }
    }

    /// What a term reads.
    #[inline(always)]
    pub(super) fn read<T: Component>(&mut self, term: Term) -> &'w [T] {
        let column = self.shared(term);
        column.and_then(Column::values).unwrap_or_default()
    }

    /// What a term writes that has marks of its own.
    #[inline(always)]
    pub(super) fn mark<T: Component>(&mut self, term: Term) -> (&'w mut [T], Option<Marks<'w>>) {
        let column = self.exclusive(term);
        column.and_then(Column::values_mut).unwrap_or_default()
    }

    /// What a term writes that has none.
    #[inline(always)]
    pub(super) fn write<T: Component>(&mut self, term: Term) -> (&'w mut [T], Option<Marks<'w>>) {
        let (values, marks) = self.mark(term);
        self.marks_rows |= marks.is_some();
        (values, marks)
    }

    /// The set of a sparse term.
    pub(super) fn view(&self, term: Term) -> Option<SparseView<'w>> {
        view_of(self.views, term.sparse?)
    }

    /// Whether the archetype, or for a sparse kind any entity of it, may have the term's kind.
    #[inline]
    pub(super) fn has(&self, term: Term) -> bool {
        term.sparse.is_some()
            || !matches!(
                self.columns.get(term.request as usize),
                None | Some(Cell::Empty)
            )
    }
}

/// Takes one element out of a mutable slice, `skip` elements ahead, and leaves those behind it.
#[inline]
#[allow(clippy::mut_mut, reason = "the slice itself moves on")]
pub(super) fn take_row<'w, T>(rows: &mut &'w mut [T], skip: usize) -> Option<&'w mut T> {
    let (value, rest) = std::mem::take(rows).get_mut(skip..)?.split_first_mut()?;
    *rows = rest;
    Some(value)
}
