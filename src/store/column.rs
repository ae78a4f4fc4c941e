//! Typed columns behind an erased interface.
//!
//! A [`Column`] holds the components of one kind, one row each, as a `Vec<T>` inside a box. Code that knows `T`
//! asks for the vector and gets it by one comparison of type ids and a cast: a virtual call for every component
//! would double the cost of spawning and of look-ups.
//!
//! # Invariants of the unsafe code
//! 1. `Erased::data` is a `Values<T>` with `T` the type whose id is `Erased::type_id`. Both are set in
//!    [`Erased::new`] from one [`ComponentType`], which only `ComponentType::of::<T>` makes, and neither changes.
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
use super::ticks::{Marks, Ticks};
use crate::base::caught::FirstPanic;

/// A vector of components, and of what type they are.
pub(super) struct Erased {
    type_id: TypeId,
    data: Box<dyn ErasedColumn>,
}

impl Erased {
    fn new(ty: &ComponentType) -> Self {
        Self {
            type_id: ty.type_id,
            data: (ty.new_column)(),
        }
    }

    #[inline]
    fn rows<T: Component>(&self) -> Option<&Vec<T>> {
        if self.type_id != TypeId::of::<T>() {
            return None;
        }
        let data: *const dyn ErasedColumn = &raw const *self.data;
        // SAFETY: invariant 2.
        Some(unsafe { &(*data.cast::<Values<T>>()).rows })
    }

    #[inline]
    fn rows_mut<T: Component>(&mut self) -> Option<&mut Vec<T>> {
        if self.type_id != TypeId::of::<T>() {
            return None;
        }
        let data: *mut dyn ErasedColumn = &raw mut *self.data;
        // SAFETY: invariant 2.
        Some(unsafe { &mut (*data.cast::<Values<T>>()).rows })
    }
}

/// The components of one kind in one archetype (or of a sparse kind in the world), row by row.
pub(crate) struct Column {
    kind: KindId,
    values: Erased,
    ticks: Option<Box<Ticks>>,
}

impl Column {
    pub(super) fn new(id: KindId, kind: &Kind) -> Self {
        Self {
            kind: id,
            values: Erased::new(&kind.ty),
            ticks: kind.tracked.then(Box::default),
        }
    }

    /// Whether its values are of a type.
    #[inline]
    pub(super) fn is_of(&self, type_id: TypeId) -> bool {
        self.values.type_id == type_id
    }

    #[inline]
    pub(crate) fn kind(&self) -> KindId {
        self.kind
    }

    /// The column's values, if they are `T`s.
    #[inline]
    pub(crate) fn values<T: Component>(&self) -> Option<&[T]> {
        self.values.rows::<T>().map(Vec::as_slice)
    }

    /// The column's values and the marks of their writes, to be changed.
    #[inline]
    pub(crate) fn values_mut<T: Component>(&mut self) -> Option<(&mut [T], Option<Marks<'_>>)> {
        let marks = self.ticks.as_mut().map(|ticks| ticks.marks());
        Some((self.values.rows_mut::<T>()?, marks))
    }

    /// The vector itself. Whoever changes its length keeps the archetype in lockstep and calls
    /// [`fill_ticks`](Self::fill_ticks) or [`push_tick`](Self::push_tick).
    #[inline]
    pub(super) fn rows_mut<T: Component>(&mut self) -> Option<&mut Vec<T>> {
        self.values.rows_mut()
    }

    /// Keeps a tick for the row that was pushed last.
    #[inline]
    pub(super) fn push_tick(&mut self, now: u64) {
        if let Some(ticks) = &mut self.ticks {
            ticks.push(now);
        }
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
            ticks.resize(self.values.data.len(), now);
        }
    }

    /// Appends a value.
    #[inline]
    pub(super) fn push<T: Component>(&mut self, value: T, now: u64) {
        self.push_tick(now);
        match self.rows_mut::<T>() {
            Some(rows) => rows.push(value),
            None => wrong_column(),
        }
    }

    /// Puts a value in a row's place and gives the old one.
    #[inline]
    pub(super) fn replace<T: Component>(&mut self, row: usize, value: T, now: u64) -> T {
        self.mark(row, now);
        match self.rows_mut::<T>() {
            Some(rows) => std::mem::replace(&mut rows[row], value),
            None => wrong_column(),
        }
    }

    /// Notes that a row was written.
    #[inline]
    pub(crate) fn mark(&mut self, row: usize, now: u64) {
        if let Some(ticks) = &mut self.ticks {
            ticks.mark(row, now);
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
                    self.push_tick(now);
                }
            }
            None => wrong_column(),
        }
    }

    /// Moves a row to the end of `target`, a column of the same kind; the last row fills the gap.
    #[inline]
    pub(super) fn move_row(&mut self, row: usize, target: &mut Self) {
        if let Some(ticks) = &mut self.ticks {
            ticks.move_row(row, target.ticks.as_deref_mut());
        }
        self.values.data.move_row(row, &mut target.values);
    }

    /// Removes a row and gives it back.
    #[inline]
    pub(super) fn take<T: Component>(&mut self, row: usize) -> Option<T> {
        let rows = self.values.rows_mut::<T>()?;
        if let Some(ticks) = &mut self.ticks {
            ticks.forget(row);
        }
        Some(rows.swap_remove(row))
    }

    /// Removes a row and gives it back in a box.
    pub(super) fn take_boxed(&mut self, row: usize) -> Box<dyn Component> {
        self.forget_ticks(row);
        self.values.data.take_boxed(row)
    }

    /// Removes a row and drops it.
    #[inline]
    pub(super) fn drop_row(&mut self, row: usize, panics: &mut FirstPanic) {
        self.forget_ticks(row);
        self.values.data.drop_row(row, panics);
    }

    #[inline]
    fn forget_ticks(&mut self, row: usize) {
        if let Some(ticks) = &mut self.ticks {
            ticks.forget(row);
        }
    }

    /// Drops all rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize, panics: &mut FirstPanic) {
        if let Some(ticks) = &mut self.ticks {
            ticks.truncate(len);
        }
        self.values.data.truncate(len, panics);
    }

    /// Appends a boxed value of the column's type; another type comes back.
    pub(super) fn push_boxed(
        &mut self,
        value: Box<dyn Component>,
        now: u64,
    ) -> Result<(), Box<dyn Component>> {
        self.values.data.push_boxed(value)?;
        self.push_tick(now);
        Ok(())
    }

    /// Puts a boxed value of the column's type in a row's place; another type comes back as the error.
    pub(super) fn replace_boxed(
        &mut self,
        row: usize,
        value: Box<dyn Component>,
        now: u64,
    ) -> Result<Box<dyn Component>, Box<dyn Component>> {
        let old = self.values.data.replace_boxed(row, value)?;
        self.mark(row, now);
        Ok(old)
    }

    #[inline]
    pub(crate) fn component(&self, row: usize) -> Option<&dyn Component> {
        self.values.data.component(row)
    }

    pub(crate) fn component_mut(&mut self, row: usize, now: u64) -> Option<&mut dyn Component> {
        self.mark(row, now);
        self.values.data.component_mut(row)
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.values.data.reserve(additional);
        if let Some(ticks) = &mut self.ticks {
            ticks.reserve(additional);
        }
    }

    pub(super) fn shrink(&mut self) {
        self.values.data.shrink();
        if let Some(ticks) = &mut self.ticks {
            ticks.shrink();
        }
    }

    /// Bytes that the column has allocated: values, and ticks where it keeps them.
    pub(crate) fn allocated(&self) -> usize {
        let ticks = self.ticks.as_ref().map_or(0, |ticks| ticks.allocated());
        self.values.data.allocated() + ticks
    }

    /// Where the values and the ticks of their writes lie, for the hand-out of a sparse set.
    pub(super) fn raw_parts(&mut self) -> RawColumn {
        let ticks = self.ticks.as_mut().map(|ticks| ticks.raw_parts());
        let (added, changed) = ticks.unzip();
        RawColumn {
            type_id: self.values.type_id,
            len: self.values.data.len(),
            values: self.values.data.raw_values(),
            changed,
            added,
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
pub(super) fn wrong_column() -> ! {
    unreachable!("a value was sent to a column of another type")
}

/// Moves a row from one vector to the end of another; the last row fills the gap.
///
/// A vector that grows is the business of a function of its own, so that what is left calls nothing and saves no
/// registers. That holds only because both vectors are arguments: the compiler then knows that they are two.
#[inline]
fn move_between<T>(from: &mut Vec<T>, row: usize, to: &mut Vec<T>) {
    if to.len() < to.capacity() {
        to.push(from.swap_remove(row));
    } else {
        move_and_grow(from, row, to);
    }
}

#[cold]
#[inline(never)]
fn move_and_grow<T>(from: &mut Vec<T>, row: usize, to: &mut Vec<T>) {
    to.push(from.swap_remove(row));
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
    fn move_row(&mut self, row: usize, target: &mut Erased);
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

    fn move_row(&mut self, row: usize, target: &mut Erased) {
        match target.rows_mut::<T>() {
            Some(rows) => move_between(&mut self.rows, row, rows),
            None => wrong_column(),
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
            .field("rows", &self.values.data.len())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Column>();
    let _ = ComponentType::of::<super::component::Data>;
};
