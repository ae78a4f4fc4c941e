//! Sparse sets: the components of a kind that comes and goes often, outside the archetypes.
//!
//! ```text
//! index   [ -, 1, -, 0 ]      by entity index: row + 1 in `column`, 0 for none
//! ids     [ 3, 1 ]            by row: the entity's index
//! column  [ a, b ]            by row: the component, with ticks where the kind is tracked
//! stamps  [ 0, 0 ]            by row: the last query run that handed the row out mutably, whatever lay there then;
//!                            it grows when a run needs it, and may be longer than the others
//! counts  [ 1, 1, 0 ]         by archetype: how many of its entities have the component
//! ```
//!
//! A query walks archetypes, and reaches the set's rows in whatever order the entities lie. A safe `&mut [T]`
//! cannot be handed out in an arbitrary order, so [`Handout`] does it, and refuses a row that this run of the
//! query has already given away.
//!
//! # Invariants of the unsafe code
//! 1. A `Handout<'w>` is made from `&'w mut SparseSet` and is the only way to the column's values and ticks for
//!    `'w`; copies of it share the same stamps.
//! 2. `len` is the length of values and ticks, and stamps are no fewer; none of them moves or changes its length during
//!    `'w`, because the set is borrowed.
//! 3. Row `i`'s value and ticks are reached mutably only by the one `take` that changed `stamps[i]` to `round`, and
//!    are read by nobody who does not see another stamp there first. `round` is new for every hand-out.
//! 4. `Handout` holds `Cell`s and pointers, so it is neither `Send` nor `Sync`: stamps are changed by one thread.
#![allow(
    unsafe_code,
    reason = "mutable rows in the order of the archetypes, without copying the set"
)]

use std::any::TypeId;
use std::cell::Cell;
use std::marker::PhantomData;

use super::column::{Column, RawColumn};
use super::component::Component;
use super::kinds::{Kind, KindId};
use super::values::wrong_column;
use crate::base::caught::FirstPanic;

#[doc(hidden)]
pub(crate) struct SparseSet {
    index: Vec<u32>,
    ids: Vec<u32>,
    column: Column,
    counts: Vec<u32>,
    stamps: Vec<u64>,
    round: u64,
}

impl SparseSet {
    pub(super) fn new(id: KindId, kind: &Kind) -> Self {
        Self {
            index: Vec::new(),
            ids: Vec::new(),
            column: Column::new(id, kind),
            counts: Vec::new(),
            stamps: Vec::new(),
            round: 0,
        }
    }

    pub(crate) fn kind(&self) -> KindId {
        self.column.kind()
    }

    #[inline]
    pub(crate) fn row(&self, entity: u32) -> Option<usize> {
        row_of(&self.index, entity)
    }

    /// By entity: the row plus one, or 0; see [`row_of`].
    pub(crate) fn index(&self) -> &[u32] {
        &self.index
    }

    pub(crate) fn column(&self) -> &Column {
        &self.column
    }

    pub(super) fn column_mut(&mut self) -> &mut Column {
        &mut self.column
    }

    /// The entities that have the component, in no order that means anything.
    pub(crate) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Puts a value; gives the one that it replaces.
    #[inline]
    pub(super) fn insert<T: Component>(
        &mut self,
        entity: u32,
        archetype: usize,
        value: T,
        now: u64,
    ) -> Option<T> {
        let Some(rows) = self.column.rows_mut::<T>() else {
            wrong_column()
        };
        // All that may have to grow is asked first, so that the common case calls nothing and saves no registers.
        let place = self.index.get_mut(entity as usize);
        let count = self.counts.get_mut(archetype);
        if let (Some(place @ 0), Some(count)) = (place, count)
            && rows.len() < rows.capacity()
            && self.ids.len() < self.ids.capacity()
        {
            rows.push(value);
            self.ids.push(entity);
            *place = self.ids.len() as u32;
            *count += 1;
            self.column.push_tick(now);
            return None;
        }
        self.insert_slowly(entity, archetype, value, now)
    }

    #[inline(never)]
    fn insert_slowly<T: Component>(
        &mut self,
        entity: u32,
        archetype: usize,
        value: T,
        now: u64,
    ) -> Option<T> {
        if let Some(row) = self.row(entity) {
            return Some(self.column.replace(row, value, now));
        }
        self.column.push(value, now);
        if self.index.len() <= entity as usize {
            self.grow_index(entity);
        }
        self.note_insert(entity, archetype);
        None
    }

    #[cold]
    #[inline(never)]
    fn grow_index(&mut self, entity: u32) {
        // All that there is room for, or each entity that is new to the set would have to grow it again.
        let missing = (entity as usize + 1).saturating_sub(self.index.len());
        self.index.reserve(missing);
        self.index.resize(self.index.capacity(), 0);
    }

    #[cold]
    #[inline(never)]
    fn grow_counts(&mut self, archetype: usize) {
        self.counts.resize(archetype + 1, 0);
    }

    /// Puts a boxed value of the set's type; gives the one that it replaces.
    pub(super) fn insert_boxed(
        &mut self,
        entity: u32,
        archetype: usize,
        value: Box<dyn Component>,
        now: u64,
    ) -> Result<Option<Box<dyn Component>>, Box<dyn Component>> {
        if let Some(row) = self.row(entity) {
            return self.column.replace_boxed(row, value, now).map(Some);
        }
        self.column.push_boxed(value, now)?;
        if self.index.len() <= entity as usize {
            self.grow_index(entity);
        }
        self.note_insert(entity, archetype);
        Ok(None)
    }

    #[inline]
    fn note_insert(&mut self, entity: u32, archetype: usize) {
        self.ids.push(entity);
        if let Some(place) = self.index.get_mut(entity as usize) {
            *place = self.ids.len() as u32;
        }
        self.count_in(archetype);
    }

    #[inline]
    fn count_in(&mut self, archetype: usize) {
        if self.counts.len() <= archetype {
            self.grow_counts(archetype);
        }
        self.counts[archetype] += 1;
    }

    /// Forgets an entity and says which row of the column goes; the caller takes it from there at once.
    #[inline]
    fn note_remove(&mut self, entity: u32, archetype: usize) -> Option<usize> {
        let place = self.index.get_mut(entity as usize)?;
        let row = (*place as usize).checked_sub(1)?;
        *place = 0;
        let last = self.ids.pop()?;
        if let Some(id) = self.ids.get_mut(row) {
            *id = last;
            self.index[last as usize] = row as u32 + 1;
        }
        self.counts[archetype] -= 1;
        Some(row)
    }

    #[inline]
    pub(super) fn take<T: Component>(&mut self, entity: u32, archetype: usize) -> Option<T> {
        let row = self.note_remove(entity, archetype)?;
        self.column.take(row)
    }

    pub(super) fn take_boxed(
        &mut self,
        entity: u32,
        archetype: usize,
    ) -> Option<Box<dyn Component>> {
        let row = self.note_remove(entity, archetype)?;
        Some(self.column.take_boxed(row))
    }

    pub(super) fn drop_entity(
        &mut self,
        entity: u32,
        archetype: usize,
        panics: &mut FirstPanic,
    ) -> bool {
        let Some(row) = self.note_remove(entity, archetype) else {
            return false;
        };
        self.column.drop_row(row, panics);
        true
    }

    /// Notes that an entity went from one archetype to another.
    pub(super) fn moved(&mut self, entity: u32, from: usize, to: usize) {
        if self.row(entity).is_some() {
            self.counts[from] -= 1;
            self.count_in(to);
        }
    }

    /// Notes that the archetypes got new numbers; `None` for those that are gone (they were empty).
    pub(super) fn renumber(&mut self, new: &[Option<u32>]) {
        let old = std::mem::take(&mut self.counts);
        for (archetype, count) in old.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            if let Some(Some(to)) = new.get(archetype) {
                let to = *to as usize;
                if self.counts.len() <= to {
                    self.counts.resize(to + 1, 0);
                }
                self.counts[to] = count;
            }
        }
    }

    pub(super) fn clear(&mut self, panics: &mut FirstPanic) {
        self.index.clear();
        self.ids.clear();
        self.stamps.clear();
        self.counts.clear();
        self.column.truncate(0, panics);
    }

    pub(super) fn shrink(&mut self) {
        while self.index.last() == Some(&0) {
            self.index.pop();
        }
        self.index.shrink_to_fit();
        self.ids.shrink_to_fit();
        self.stamps.truncate(self.ids.len());
        self.stamps.shrink_to_fit();
        self.column.shrink();
    }

    pub(crate) fn allocated(&self) -> usize {
        (self.index.capacity() + self.ids.capacity() + self.counts.capacity()) * size_of::<u32>()
            + self.stamps.capacity() * size_of::<u64>()
            + self.column.allocated()
    }

    pub(crate) fn view(&self) -> SparseView<'_> {
        SparseView {
            index: &self.index,
            counts: &self.counts,
            rows: SparseRows::Shared(&self.column),
        }
    }

    /// The set for one run of a query that writes it.
    pub(crate) fn view_mut(&mut self) -> SparseView<'_> {
        self.round += 1;
        if self.stamps.len() < self.ids.len() {
            self.stamps.resize(self.ids.len(), 0);
        }
        let stamps = Cell::from_mut(self.stamps.as_mut_slice()).as_slice_of_cells();
        let handout = Handout {
            raw: self.column.raw_parts(),
            stamps,
            round: self.round,
            set: PhantomData,
        };
        SparseView {
            index: &self.index,
            counts: &self.counts,
            rows: SparseRows::Exclusive(handout),
        }
    }
}

#[inline]
pub(crate) fn row_of(index: &[u32], entity: u32) -> Option<usize> {
    match index.get(entity as usize) {
        None | Some(0) => None,
        Some(row) => Some(*row as usize - 1),
    }
}

/// A sparse set as a query sees it.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct SparseView<'w> {
    index: &'w [u32],
    counts: &'w [u32],
    rows: SparseRows<'w>,
}

#[derive(Clone, Copy)]
enum SparseRows<'w> {
    Shared(&'w Column),
    Exclusive(Handout<'w>),
}

impl<'w> SparseView<'w> {
    /// How many entities of an archetype have the component.
    pub(crate) fn count(&self, archetype: usize) -> u32 {
        self.counts.get(archetype).copied().unwrap_or(0)
    }

    pub(crate) fn has(&self, entity: u32) -> bool {
        row_of(self.index, entity).is_some()
    }

    pub(crate) fn get<T: Component>(&self, entity: u32) -> Option<&'w T> {
        let row = row_of(self.index, entity)?;
        match self.rows {
            SparseRows::Shared(column) => column.values::<T>()?.get(row),
            SparseRows::Exclusive(handout) => handout.take(row).map(|(value, _)| &*value),
        }
    }

    /// The component and the tick of its last write; `None` also when it was handed out before, or the view is a
    /// shared one.
    pub(crate) fn take<T: Component>(
        &self,
        entity: u32,
    ) -> Option<(&'w mut T, Option<&'w mut u64>)> {
        match self.rows {
            SparseRows::Shared(_) => None,
            SparseRows::Exclusive(handout) => handout.take(row_of(self.index, entity)?),
        }
    }

    /// The ticks (added, changed) of an entity's component; `None` when there is none, none are kept, or the
    /// component is handed out.
    pub(crate) fn ticks(&self, entity: u32) -> Option<(u64, u64)> {
        let row = row_of(self.index, entity)?;
        match self.rows {
            SparseRows::Shared(column) => column.ticks()?.of(row),
            SparseRows::Exclusive(handout) => handout.ticks(row),
        }
    }
}

/// Hands out rows of a set mutably, each at most once.
#[derive(Clone, Copy)]
struct Handout<'w> {
    raw: RawColumn,
    stamps: &'w [Cell<u64>],
    round: u64,
    set: PhantomData<&'w mut SparseSet>,
}

impl<'w> Handout<'w> {
    fn take<T: Component>(&self, row: usize) -> Option<(&'w mut T, Option<&'w mut u64>)> {
        if self.raw.type_id != TypeId::of::<T>() || row >= self.raw.len {
            return None;
        }
        if self.stamps.get(row)?.replace(self.round) == self.round {
            return None;
        }
        // SAFETY: the type was compared and `row` is in bounds (invariant 2); the stamp was another, so nobody has
        // this row, and nobody gets it again during `'w` (invariants 1 and 3).
        let value = unsafe { self.raw.values.cast::<T>().add(row).as_mut() };
        // SAFETY: as above, for the row's tick.
        let tick = self
            .raw
            .changed
            .map(|changed| unsafe { changed.add(row).as_mut() });
        Some((value, tick))
    }

    fn ticks(&self, row: usize) -> Option<(u64, u64)> {
        if row >= self.raw.len || self.stamps.get(row)?.get() == self.round {
            return None;
        }
        // SAFETY: `row` is in bounds (invariant 2) and not handed out (invariant 3).
        Some(unsafe {
            (
                self.raw.added?.add(row).read(),
                self.raw.changed?.add(row).read(),
            )
        })
    }
}
