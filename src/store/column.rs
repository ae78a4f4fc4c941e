//! Typed columns behind an erased interface.
//!
//! A [`Column`] holds the components of one kind, one row each, as a `Vec<T>` inside a box. Code that knows `T`
//! asks for the vector and gets it by one comparison of type ids and a cast: a virtual call for every component
//! would double the cost of spawning and of look-ups.
//!
//! # Invariants of the unsafe code
//! 1. `Column::data` is a `Values<T>` with `T` the type whose id is `Column::type_id`. Both are set in
//!    [`Column::new`] from one [`ComponentType`], which only `ComponentType::of::<T>` makes, and neither changes.
//! 2. So after `self.type_id == TypeId::of::<T>()` the box's pointer is a valid, aligned `Values<T>`, borrowed as
//!    `self` is.
#![allow(
    clippy::cast_ptr_alignment,
    reason = "the box is a `Values<T>`, as its type id says"
)]
#![allow(
    unsafe_code,
    reason = "the keyed downcast, measured against `Any`: spawning 16 components 1.9 times faster"
)]

use std::any::TypeId;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::component::{Component, ComponentType};
use super::kinds::{Kind, KindId};
use crate::base::caught::FirstPanic;

/// When a row's component came, and when it was last written, in the world's ticks.
#[derive(Default)]
pub(crate) struct Ticks {
    pub(crate) added: Vec<u64>,
    pub(crate) changed: Vec<u64>,
}

impl Ticks {
    fn push(&mut self, now: u64) {
        self.added.push(now);
        self.changed.push(now);
    }

    fn swap_remove(&mut self, row: usize) -> (u64, u64) {
        (self.added.swap_remove(row), self.changed.swap_remove(row))
    }

    fn resize(&mut self, len: usize, now: u64) {
        self.added.resize(len, now);
        self.changed.resize(len, now);
    }
}

/// The components of one kind in one archetype (or of a sparse kind in the world), row by row.
pub(crate) struct Column {
    kind: KindId,
    type_id: TypeId,
    ticks: Option<Box<Ticks>>,
    data: Box<dyn ErasedColumn>,
}

impl Column {
    pub(super) fn new(id: KindId, kind: &Kind) -> Self {
        Self {
            kind: id,
            type_id: kind.ty.type_id,
            ticks: kind.tracked.then(Box::default),
            data: (kind.ty.new_column)(),
        }
    }

    #[inline]
    pub(crate) fn kind(&self) -> KindId {
        self.kind
    }

    #[inline]
    fn downcast<T: Component>(&self) -> Option<&Values<T>> {
        if self.type_id != TypeId::of::<T>() {
            return None;
        }
        let data: *const dyn ErasedColumn = &raw const *self.data;
        // SAFETY: invariant 2.
        Some(unsafe { &*data.cast::<Values<T>>() })
    }

    #[inline]
    fn downcast_mut<T: Component>(&mut self) -> Option<&mut Values<T>> {
        if self.type_id != TypeId::of::<T>() {
            return None;
        }
        let data: *mut dyn ErasedColumn = &raw mut *self.data;
        // SAFETY: invariant 2.
        Some(unsafe { &mut *data.cast::<Values<T>>() })
    }

    /// The column's values, if they are `T`s.
    #[inline]
    pub(crate) fn values<T: Component>(&self) -> Option<&[T]> {
        self.downcast::<T>().map(|values| values.rows.as_slice())
    }

    /// The column's values and the ticks of their last writes, to be changed.
    #[inline]
    pub(crate) fn values_mut<T: Component>(&mut self) -> Option<(&mut [T], Option<&mut [u64]>)> {
        if self.type_id != TypeId::of::<T>() {
            return None;
        }
        let data: *mut dyn ErasedColumn = &raw mut *self.data;
        // SAFETY: invariant 2; `data` and `ticks` are different fields.
        let values = unsafe { &mut *data.cast::<Values<T>>() };
        Some((
            &mut values.rows,
            self.ticks
                .as_mut()
                .map(|ticks| ticks.changed.as_mut_slice()),
        ))
    }

    /// The vector itself. Whoever changes its length keeps the archetype in lockstep and calls
    /// [`fill_ticks`](Self::fill_ticks).
    #[inline]
    pub(super) fn rows_mut<T: Component>(&mut self) -> Option<&mut Vec<T>> {
        self.downcast_mut::<T>().map(|values| &mut values.rows)
    }

    #[inline]
    pub(crate) fn ticks(&self) -> Option<&Ticks> {
        self.ticks.as_deref()
    }

    /// Starts to keep ticks; the rows that are there count as written now.
    pub(super) fn track(&mut self, now: u64) {
        if self.ticks.is_none() {
            self.ticks = Some(Box::default());
            self.fill_ticks(now);
        }
    }

    /// Makes the ticks as long as the values.
    #[inline]
    pub(super) fn fill_ticks(&mut self, now: u64) {
        if let Some(ticks) = &mut self.ticks {
            ticks.resize(self.data.len(), now);
        }
    }

    /// Appends a value.
    #[inline]
    pub(super) fn push<T: Component>(&mut self, value: T, now: u64) {
        if let Some(ticks) = &mut self.ticks {
            ticks.push(now);
        }
        match self.rows_mut::<T>() {
            Some(rows) => rows.push(value),
            None => wrong_column(self.kind),
        }
    }

    /// Puts a value in a row's place and gives the old one.
    #[inline]
    pub(super) fn replace<T: Component>(&mut self, row: usize, value: T, now: u64) -> T {
        self.mark(row, now);
        match self.rows_mut::<T>() {
            Some(rows) => std::mem::replace(&mut rows[row], value),
            None => wrong_column(self.kind),
        }
    }

    /// Notes that a row was written.
    #[inline]
    pub(crate) fn mark(&mut self, row: usize, now: u64) {
        if let Some(ticks) = &mut self.ticks
            && let Some(tick) = ticks.changed.get_mut(row)
        {
            *tick = now;
        }
    }

    /// Appends a value, or puts it in the place of the one that is in `row`, which is dropped.
    #[inline]
    pub(super) fn put<T: Component>(
        &mut self,
        row: usize,
        value: T,
        now: u64,
        panics: &mut FirstPanic,
    ) {
        match self.rows_mut::<T>() {
            Some(rows) => {
                if let Some(place) = rows.get_mut(row) {
                    let old = std::mem::replace(place, value);
                    self.mark(row, now);
                    panics.drop_value(old);
                } else {
                    rows.push(value);
                    if let Some(ticks) = &mut self.ticks {
                        ticks.push(now);
                    }
                }
            }
            None => wrong_column(self.kind),
        }
    }

    /// Moves a row to the end of `target`, a column of the same kind; the last row fills the gap.
    #[inline]
    pub(super) fn move_row(&mut self, row: usize, target: &mut Self) {
        if let Some(ticks) = &mut self.ticks {
            let (added, changed) = ticks.swap_remove(row);
            if let Some(target) = &mut target.ticks {
                target.added.push(added);
                target.changed.push(changed);
            }
        }
        self.data.move_row(row, target);
    }

    /// Removes a row and gives it back.
    #[inline]
    pub(super) fn take<T: Component>(&mut self, row: usize) -> Option<T> {
        if self.type_id != TypeId::of::<T>() {
            return None;
        }
        self.forget_ticks(row);
        self.rows_mut::<T>().map(|rows| rows.swap_remove(row))
    }

    /// Removes a row and gives it back in a box.
    pub(super) fn take_boxed(&mut self, row: usize) -> Box<dyn Component> {
        self.forget_ticks(row);
        self.data.take_boxed(row)
    }

    /// Removes a row and drops it.
    #[inline]
    pub(super) fn drop_row(&mut self, row: usize, panics: &mut FirstPanic) {
        self.forget_ticks(row);
        self.data.drop_row(row, panics);
    }

    fn forget_ticks(&mut self, row: usize) {
        if let Some(ticks) = &mut self.ticks {
            ticks.swap_remove(row);
        }
    }

    /// Drops all rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize, panics: &mut FirstPanic) {
        if let Some(ticks) = &mut self.ticks {
            ticks.added.truncate(len);
            ticks.changed.truncate(len);
        }
        self.data.truncate(len, panics);
    }

    /// Appends a boxed value of the column's type; another type comes back.
    pub(super) fn push_boxed(
        &mut self,
        value: Box<dyn Component>,
        now: u64,
    ) -> Result<(), Box<dyn Component>> {
        self.data.push_boxed(value)?;
        if let Some(ticks) = &mut self.ticks {
            ticks.push(now);
        }
        Ok(())
    }

    /// Puts a boxed value of the column's type in a row's place; another type comes back as the error.
    pub(super) fn replace_boxed(
        &mut self,
        row: usize,
        value: Box<dyn Component>,
        now: u64,
    ) -> Result<Box<dyn Component>, Box<dyn Component>> {
        let old = self.data.replace_boxed(row, value)?;
        self.mark(row, now);
        Ok(old)
    }

    #[inline]
    pub(crate) fn component(&self, row: usize) -> Option<&dyn Component> {
        self.data.component(row)
    }

    pub(crate) fn component_mut(&mut self, row: usize, now: u64) -> Option<&mut dyn Component> {
        self.mark(row, now);
        self.data.component_mut(row)
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.data.reserve(additional);
        if let Some(ticks) = &mut self.ticks {
            ticks.added.reserve(additional);
            ticks.changed.reserve(additional);
        }
    }

    pub(super) fn shrink(&mut self) {
        self.data.shrink();
        if let Some(ticks) = &mut self.ticks {
            ticks.added.shrink_to_fit();
            ticks.changed.shrink_to_fit();
        }
    }

    /// Bytes that the column has allocated: values, and ticks where it keeps them.
    pub(crate) fn allocated(&self) -> usize {
        let ticks = self.ticks.as_ref().map_or(0, |ticks| {
            size_of::<Ticks>()
                + (ticks.added.capacity() + ticks.changed.capacity()) * size_of::<u64>()
        });
        self.data.allocated() + ticks
    }

    /// Where the values and the ticks of their writes lie, for the hand-out of a sparse set.
    pub(super) fn raw_parts(&mut self) -> RawColumn {
        RawColumn {
            type_id: self.type_id,
            len: self.data.len(),
            values: self.data.raw_values(),
            changed: self
                .ticks
                .as_mut()
                .map(|ticks| NonNull::from(ticks.changed.as_mut_slice()).cast()),
            added: self
                .ticks
                .as_mut()
                .map(|ticks| NonNull::from(ticks.added.as_mut_slice()).cast()),
        }
    }
}

/// Addresses of a column's parts; using them is the business of `sparse.rs`.
#[derive(Clone, Copy)]
pub(super) struct RawColumn {
    pub(super) type_id: TypeId,
    pub(super) len: usize,
    pub(super) values: NonNull<()>,
    pub(super) changed: Option<NonNull<u64>>,
    pub(super) added: Option<NonNull<u64>>,
}

#[cold]
fn wrong_column(kind: KindId) -> ! {
    unreachable!(
        "a value was sent to a column of another type, kind {}",
        kind.0
    )
}

/// A column's vector. Values are dropped one by one under a catch: two that panic inside one `Vec` would abort.
pub(super) struct Values<T> {
    rows: Vec<T>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<T> Values<T> {
    fn drop_from(&mut self, len: usize, panics: &mut FirstPanic) {
        if !needs_drop::<T>() {
            self.rows.truncate(len);
            return;
        }
        while self.rows.len() > len
            && let Some(value) = self.rows.pop()
        {
            panics.drop_value(value);
        }
    }
}

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            let mut panics = FirstPanic::default();
            self.drop_from(0, &mut panics);
            panics.resume();
        }
    }
}

/// What can be done with a column whose type is not known.
pub(super) trait ErasedColumn: Send + Sync {
    fn len(&self) -> usize;
    fn move_row(&mut self, row: usize, target: &mut Column);
    fn take_boxed(&mut self, row: usize) -> Box<dyn Component>;
    fn drop_row(&mut self, row: usize, panics: &mut FirstPanic);
    fn truncate(&mut self, len: usize, panics: &mut FirstPanic);
    fn push_boxed(&mut self, value: Box<dyn Component>) -> Result<(), Box<dyn Component>>;
    fn replace_boxed(
        &mut self,
        row: usize,
        value: Box<dyn Component>,
    ) -> Result<Box<dyn Component>, Box<dyn Component>>;
    fn component(&self, row: usize) -> Option<&dyn Component>;
    fn component_mut(&mut self, row: usize) -> Option<&mut dyn Component>;
    fn reserve(&mut self, additional: usize);
    fn shrink(&mut self);
    fn allocated(&self) -> usize;
    fn raw_values(&mut self) -> NonNull<()>;
}

impl<T: Component> ErasedColumn for Values<T> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn move_row(&mut self, row: usize, target: &mut Column) {
        match target.rows_mut::<T>() {
            Some(rows) => rows.push(self.rows.swap_remove(row)),
            None => wrong_column(target.kind),
        }
    }

    fn take_boxed(&mut self, row: usize) -> Box<dyn Component> {
        Box::new(self.rows.swap_remove(row))
    }

    fn drop_row(&mut self, row: usize, panics: &mut FirstPanic) {
        panics.drop_value(self.rows.swap_remove(row));
    }

    fn truncate(&mut self, len: usize, panics: &mut FirstPanic) {
        self.drop_from(len, panics);
    }

    fn push_boxed(&mut self, value: Box<dyn Component>) -> Result<(), Box<dyn Component>> {
        self.rows.push(*value.downcast::<T>()?);
        Ok(())
    }

    fn replace_boxed(
        &mut self,
        row: usize,
        value: Box<dyn Component>,
    ) -> Result<Box<dyn Component>, Box<dyn Component>> {
        let mut value = value.downcast::<T>()?;
        std::mem::swap(&mut self.rows[row], &mut value);
        Ok(value)
    }

    fn component(&self, row: usize) -> Option<&dyn Component> {
        self.rows.get(row).map(|value| value as &dyn Component)
    }

    fn component_mut(&mut self, row: usize) -> Option<&mut dyn Component> {
        self.rows
            .get_mut(row)
            .map(|value| value as &mut dyn Component)
    }

    fn reserve(&mut self, additional: usize) {
        self.rows.reserve(additional);
    }

    fn shrink(&mut self) {
        self.rows.shrink_to_fit();
    }

    fn allocated(&self) -> usize {
        if size_of::<T>() == 0 {
            0
        } else {
            self.rows.capacity() * size_of::<T>()
        }
    }

    fn raw_values(&mut self) -> NonNull<()> {
        NonNull::from(self.rows.as_mut_slice()).cast()
    }
}

/// The type that a kind's values have, for debug output.
impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Column")
            .field("kind", &self.kind)
            .field("rows", &self.data.len())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Column>();
    let _ = ComponentType::of::<super::component::Data>;
};
