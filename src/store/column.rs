//! Typed columns behind an erased interface.
//!
//! A [`Column`] holds the components of one kind, one row each, as a `Vec<T>` inside a box. Code that knows `T`
//! asks for the vector and gets it by one comparison of type ids and a cast: a virtual call for every component
//! would double the cost of spawning and of look-ups.
//!
//! One bundle after the other goes into the same columns. So where its parts belong is looked up once, as a [`Place`] for
//! each, and kept until somebody else has the columns: a part is then pushed as onto a vector by hand.
//!
//! # Invariants of the unsafe code
//! 1. `Erased::data` is a `Values<T>` with `T` the type whose id is `Erased::type_id`. Both are set in
//!    [`Erased::new`] from one [`ComponentType`], which only `ComponentType::of::<T>` makes, and neither changes.
//!    `data` came from a box, is owned, and lies where it is until the `Erased` is dropped.
//! 2. So after `self.type_id == TypeId::of::<T>()` the pointer is a valid, aligned `Values<T>`, borrowed as
//!    `self` is.
//! 3. [`Columns::round`] is a number that no other columns of the process have or had, or 0. It is 0 as soon as columns
//!    were lent, for who has one might put another in its place (who drops a row has none), and stands again when each is seen to be the
//!    same. So while it stands the columns are those they were when it was given. No two `Column`s have the same
//!    `number`, and it stays with their values.
//! 4. `Kept::places` are of the type `B::Places<'static>` with `B` the type whose id is `Kept::bundle`, unless
//!    `Kept::round` is [`NO_ROUND`], which columns never have. All `Place`s in them were made in this round of the
//!    columns: a `PlaceTaker` is the only one to make a `Place`, and the lifetime that both carry cannot be told from any
//!    other by who implements `Bundle::places`, so that he can return only what this taker gave. Nor does a `Place` of one
//!    type pass for one of another, related by lifetimes or not.
//! 5. A `Room` is made only where the rounds are equal, and borrows the columns mutably: then all columns of the `Place`s
//!    are there (3) and nobody else reaches them. `Open` holds both and gives them to `Bundle::append` alone, which
//!    cannot tell their lifetime from any other either.
#![allow(
    clippy::cast_ptr_alignment,
    reason = "the box is a `Values<T>`, as its type id says"
)]
#![allow(
    unsafe_code,
    reason = "the keyed downcast, measured against `Any`: spawning 16 components 1.9 times faster; the places that are kept, \
              measured against looking them up: another 2 times"
)]

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::bundle::Bundle;
use super::component::{Component, ComponentType, Storage};
use super::kinds::{Kind, KindId};
use super::ticks::{Marks, Ticks};
use super::values::{ErasedColumn, Values, wrong_column};
use crate::base::caught::FirstPanic;

/// The number of the next column, or round of columns.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A vector of components, and of what type they are.
pub(super) struct Erased {
    type_id: TypeId,
    data: NonNull<dyn ErasedColumn>,
}

// SAFETY: it owns what it points to (invariant 1), which is `Send`.
unsafe impl Send for Erased {}
// SAFETY: as above, and `Sync`.
unsafe impl Sync for Erased {}

impl Drop for Erased {
    fn drop(&mut self) {
        // SAFETY: invariant 1; nobody reaches it after this.
        drop(unsafe { Box::from_raw(self.data.as_ptr()) });
    }
}

impl Erased {
    fn new(ty: &ComponentType) -> Self {
        Self {
            type_id: ty.type_id,
            data: NonNull::from(Box::leak((ty.new_column)())),
        }
    }

    #[inline]
    fn data(&self) -> &dyn ErasedColumn {
        // SAFETY: invariant 1, borrowed as `self` is.
        unsafe { self.data.as_ref() }
    }

    #[inline]
    fn data_mut(&mut self) -> &mut dyn ErasedColumn {
        // SAFETY: invariant 1, borrowed as `self` is.
        unsafe { self.data.as_mut() }
    }

    #[inline]
    fn typed<T: Component>(&self) -> Option<NonNull<Values<T>>> {
        (self.type_id == TypeId::of::<T>()).then_some(self.data.cast())
    }

    #[inline]
    fn rows<T: Component>(&self) -> Option<&Vec<T>> {
        let values = self.typed::<T>()?;
        // SAFETY: invariant 2.
        Some(unsafe { &values.as_ref().rows })
    }

    #[inline]
    pub(super) fn rows_mut<T: Component>(&mut self) -> Option<&mut Vec<T>> {
        let mut values = self.typed::<T>()?;
        // SAFETY: invariant 2.
        Some(unsafe { &mut values.as_mut().rows })
    }
}

/// The components of one kind in one archetype (or of a sparse kind in the world), row by row.
pub(crate) struct Column {
    kind: KindId,
    /// No other column of the process has or had it.
    number: u64,
    values: Erased,
    ticks: Option<Box<Ticks>>,
}

impl Column {
    pub(super) fn new(id: KindId, kind: &Kind) -> Self {
        Self {
            kind: id,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
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
            ticks.resize(self.values.data().len(), now);
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
        self.values.data_mut().move_row(row, &mut target.values);
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
        self.values.data_mut().take_boxed(row)
    }

    /// Removes a row and drops it.
    #[inline]
    pub(super) fn drop_row(&mut self, row: usize, panics: &mut FirstPanic) {
        self.forget_ticks(row);
        self.values.data_mut().drop_row(row, panics);
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
        self.values.data_mut().truncate(len, panics);
    }

    /// Appends a boxed value of the column's type; another type comes back.
    pub(super) fn push_boxed(
        &mut self,
        value: Box<dyn Component>,
        now: u64,
    ) -> Result<(), Box<dyn Component>> {
        self.values.data_mut().push_boxed(value)?;
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
        let old = self.values.data_mut().replace_boxed(row, value)?;
        self.mark(row, now);
        Ok(old)
    }

    #[inline]
    pub(crate) fn component(&self, row: usize) -> Option<&dyn Component> {
        self.values.data().component(row)
    }

    pub(crate) fn component_mut(&mut self, row: usize, now: u64) -> Option<&mut dyn Component> {
        self.mark(row, now);
        self.values.data_mut().component_mut(row)
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.values.data_mut().reserve(additional);
        if let Some(ticks) = &mut self.ticks {
            ticks.reserve(additional);
        }
    }

    pub(super) fn shrink(&mut self) {
        self.values.data_mut().shrink();
        if let Some(ticks) = &mut self.ticks {
            ticks.shrink();
        }
    }

    /// Bytes that the column has allocated: values, and ticks where it keeps them.
    pub(crate) fn allocated(&self) -> usize {
        let ticks = self.ticks.as_ref().map_or(0, |ticks| ticks.allocated());
        self.values.data().allocated() + ticks
    }

    /// Where the values and the ticks of their writes lie, for the hand-out of a sparse set.
    pub(super) fn raw_parts(&mut self) -> RawColumn {
        let ticks = self.ticks.as_mut().map(|ticks| ticks.raw_parts());
        let (added, changed) = ticks.unzip();
        RawColumn {
            type_id: self.values.type_id,
            len: self.values.data().len(),
            values: self.values.data_mut().raw_values(),
            changed,
            added,
        }
    }
}

/// The columns of an archetype, in the order of their type names.
pub(super) struct Columns {
    all: Box<[Column]>,
    /// See invariant 3.
    round: u64,
    /// The round that was given last, and which columns there were.
    last: u64,
    known: Box<[u64]>,
}

impl Columns {
    pub(super) fn new(all: Box<[Column]>) -> Self {
        Self {
            all,
            round: 0,
            last: 0,
            known: Box::default(),
        }
    }

    #[inline]
    pub(super) fn shared(&self) -> &[Column] {
        &self.all
    }

    /// Lends the columns to be changed in any way.
    #[inline]
    pub(super) fn lend(&mut self) -> &mut [Column] {
        self.round = 0;
        &mut self.all
    }

    /// Removes a row and drops its components.
    #[inline]
    pub(super) fn drop_row(&mut self, row: usize, panics: &mut FirstPanic) {
        for column in &mut self.all {
            column.drop_row(row, panics);
        }
    }

    /// Gives the round a number: the last one, if all columns are what they were.
    fn settle(&mut self) {
        if self.last == 0 || !self.are_known() {
            self.known = self.all.iter().map(|column| column.number).collect();
            self.last = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        self.round = self.last;
    }

    fn are_known(&self) -> bool {
        let mut both = self.all.iter().zip(&self.known);
        both.all(|(column, number)| column.number == *number)
    }

    /// Bytes that are allocated beside what the columns themselves have.
    pub(super) fn heads(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.known)
    }
}

const NO_ROUND: u64 = u64::MAX;

/// A lifetime that equals no other.
type Brand<'b> = PhantomData<fn(&'b ()) -> &'b ()>;

/// Where the parts of a bundle belong, as long as nobody else had the columns.
pub(super) struct Kept {
    bundle: TypeId,
    round: u64,
    places: Box<dyn Any + Send + Sync>,
}

impl Kept {
    /// For a bundle, nothing yet.
    pub(super) fn new<B: Bundle>() -> Self {
        Self {
            bundle: TypeId::of::<B>(),
            round: NO_ROUND,
            places: Box::new(()),
        }
    }

    #[inline]
    pub(super) fn is_of<B: Bundle>(&self) -> bool {
        self.bundle == TypeId::of::<B>()
    }

    /// Whether the columns are in the round of the places.
    #[inline]
    pub(super) fn is_in(&self, columns: &Columns) -> bool {
        self.round == columns.round
    }

    /// Looks the places of `B` up, if the columns have not come back as they were.
    #[inline(never)]
    pub(super) fn renew<B: Bundle>(&mut self, columns: &mut Columns, destinations: &[u32]) {
        columns.settle();
        if self.is_in(columns) {
            return;
        }
        let places = B::places(&mut PlaceTaker {
            columns: &columns.all,
            destinations,
            next: 0,
            brand: PhantomData,
        });
        if let Some(places) = places {
            *self = Self {
                bundle: TypeId::of::<B>(),
                round: columns.round,
                places: Box::new(places),
            };
        }
    }

    /// The places of `B`, if they are known for the columns as they are now.
    #[inline]
    pub(super) fn open<'a, B: Bundle>(&'a self, columns: &'a mut Columns) -> Option<Open<'a, B>> {
        if !self.is_of::<B>() || !self.is_in(columns) {
            return None;
        }
        let places: *const (dyn Any + Send + Sync) = &raw const *self.places;
        // SAFETY: invariant 4, borrowed as `self` is.
        let places = unsafe { &*places.cast::<B::Places<'static>>() };
        let room = Room {
            columns: PhantomData,
            brand: PhantomData,
        };
        Some(Open { places, room })
    }
}

/// The places of a bundle and the room that they belong to: nobody gets one without the other.
pub(super) struct Open<'a, B: Bundle> {
    places: &'a B::Places<'static>,
    room: Room<'a, 'static>,
}

impl<B: Bundle> Open<'_, B> {
    /// Appends the parts of a bundle to their columns.
    #[inline]
    pub(super) fn append(mut self, bundle: B) {
        bundle.append(self.places, &mut self.room);
    }
}

/// Finds the places of a bundle's parts, in their order.
#[doc(hidden)]
pub struct PlaceTaker<'a, 'b> {
    columns: &'a [Column],
    destinations: &'a [u32],
    next: usize,
    brand: Brand<'b>,
}

impl<'b> PlaceTaker<'_, 'b> {
    #[inline]
    pub(super) fn take<T: Component>(&mut self) -> Option<Place<'b, T>> {
        let at = *self.destinations.get(self.next)? as usize;
        self.next += 1;
        if T::storage() == Storage::Sparse {
            return None;
        }
        Some(Place {
            values: self.columns.get(at)?.values.typed()?,
            kind: PhantomData,
            brand: self.brand,
        })
    }
}

/// Where a column keeps its vector.
#[doc(hidden)]
pub struct Place<'b, T> {
    values: NonNull<Values<T>>,
    /// It takes a `T` and no subtype of it: by the pointer alone it would pass for one to a supertype's vector.
    kind: PhantomData<fn(T) -> T>,
    brand: Brand<'b>,
}

// SAFETY: what it points to is reached with a `Room` alone, so by who has the columns; components are `Send`.
unsafe impl<T: Component> Send for Place<'_, T> {}
// SAFETY: it can be used with a `Room` alone, which borrows the columns mutably: by one thread at a time.
unsafe impl<T: Component> Sync for Place<'_, T> {}

/// Leave to push into the columns that `Place`s with the same lifetime `'b` belong to.
#[doc(hidden)]
pub struct Room<'a, 'b> {
    columns: PhantomData<&'a mut Columns>,
    brand: Brand<'b>,
}

impl<'b, T: Component> Place<'b, T> {
    /// Appends a value to a column without ticks.
    #[inline]
    pub(super) fn push(&self, value: T, _room: &mut Room<'_, 'b>) {
        // SAFETY: invariants 4 and 5: the `Values<T>` are there, and borrowed mutably by the room.
        let values = unsafe { &mut *self.values.as_ptr() };
        values.rows.push(value);
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

/// The type that a kind's values have, for debug output.
impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Column")
            .field("kind", &self.kind)
            .field("rows", &self.values.data().len())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Column>();
    let _ = ComponentType::of::<super::component::Data>;
};
