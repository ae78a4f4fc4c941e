//! Bundles: components that are attached together.
#![allow(
    clippy::inline_always,
    reason = "else the row writer is built in memory for every entity: spawning takes half as many instructions again"
)]
// Not where nothing is optimised: there each call leaves a copy of the parts in the caller's frame.

use std::mem;

use smallvec::SmallVec;

use super::column::Column;
use super::columns::{Place, PlaceTaker, Room};
use super::component::{Component, ComponentType, Named, Storage, TypeName};
use super::sparse::SparseSet;
use crate::base::caught::FirstPanic;

/// Components that are attached together: a component, a [`Named`] one, or a tuple of up to 16 bundles.
///
/// The type names of a bundle differ; one that has a name twice is refused wherever it is used.
///
/// ```
/// # use ecs::{Component, Value, World, json};
/// # struct Position(f32); struct Velocity(f32);
/// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
/// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
/// let mut world = World::new();
/// let moving = world.spawn((Position(0.0), Velocity(1.0)));
/// let resting = world.spawn(Position(0.0));
/// world.insert(resting, Velocity(2.0))?;
/// # assert!(world.has::<Velocity>(resting) && world.has::<Velocity>(moving));
/// # Ok::<(), ecs::ComponentError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle of components",
    label = "a bundle is a component, or a tuple of up to 16 bundles"
)]
pub trait Bundle: Send + Sync + Sized + 'static {
    /// References to the vectors of all parts, for batches.
    #[doc(hidden)]
    type Columns<'a>;

    /// The components alone, in tuples as the standard library can unzip.
    #[doc(hidden)]
    type Components;

    /// Their vectors. The standard library fills them without a look at their capacity, where it trusts the iterator.
    #[doc(hidden)]
    type Vectors: Default + Extend<Self::Components>;

    /// Where the vectors of all parts are, to be kept from one spawn to the next.
    #[doc(hidden)]
    type Places<'b>: Send + Sync + 'b;

    #[doc(hidden)]
    fn parts(parts: &mut Parts);

    /// Whether any part belongs into a column. The compiler knows, and leaves out what no other bundle needs.
    #[doc(hidden)]
    fn in_columns() -> bool;

    #[doc(hidden)]
    fn columns<'a>(columns: &mut ColumnTaker<'a>) -> Option<Self::Columns<'a>>;

    #[doc(hidden)]
    fn components(self) -> Self::Components;

    /// Exchanges all vectors.
    #[doc(hidden)]
    fn exchange(columns: &mut Self::Columns<'_>, vectors: &mut Self::Vectors);

    #[doc(hidden)]
    fn places<'b>(places: &mut PlaceTaker<'_, 'b>) -> Option<Self::Places<'b>>;

    /// Appends the parts to their columns.
    #[doc(hidden)]
    fn append<'b>(self, places: &Self::Places<'b>, room: &mut Room<'_, 'b>);

    #[doc(hidden)]
    fn put(self, row: &mut RowWriter<'_>);

    /// Drops the parts of a bundle that was refused one by one: two panics at once would abort.
    #[doc(hidden)]
    fn discard(self, panics: &mut FirstPanic);
}

/// One part of a bundle: its type, and its name where that is not the type's own.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) name: Option<&'static str>,
    pub(crate) ty: ComponentType,
}

impl Part {
    pub(crate) fn name(&self) -> &'static str {
        self.name.unwrap_or(self.ty.type_name)
    }
}

/// The parts of a bundle, in the order of the tuple.
#[doc(hidden)]
#[derive(Default)]
pub struct Parts(pub(crate) SmallVec<[Part; 16]>);

/// Writes the parts of one bundle to the places where they belong.
#[doc(hidden)]
pub struct RowWriter<'a> {
    pub(super) columns: &'a mut [Column],
    pub(super) sparse: &'a mut [SparseSet],
    pub(super) destinations: &'a [u32],
    pub(super) next: usize,
    pub(super) row: usize,
    pub(super) id: u32,
    pub(super) archetype: usize,
    pub(super) now: u64,
    /// Keeps the panics of components that are replaced; nothing is, where there is none.
    pub(super) replaced: Option<&'a mut FirstPanic>,
}

impl RowWriter<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put<T: Component>(&mut self, value: T) {
        let at = self.destinations[self.next] as usize;
        self.next += 1;
        match T::storage() {
            Storage::Table => self.put_in_column(at, value),
            Storage::Sparse => {
                let old = self.sparse[at].insert(self.id, self.archetype, value, self.now);
                if let Some(panics) = &mut self.replaced {
                    panics.drop_value(old);
                }
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put_in_column<T: Component>(&mut self, at: usize, value: T) {
        match &mut self.replaced {
            None => self.columns[at].push(value, self.now),
            Some(panics) => self.columns[at].put(self.row, value, self.now, panics),
        }
    }
}

/// Gives out the vectors of an archetype, each once, in the order of a bundle's parts.
#[doc(hidden)]
pub struct ColumnTaker<'a> {
    columns: SmallVec<[Option<&'a mut Column>; 16]>,
    destinations: &'a [u32],
    next: usize,
}

impl<'a> ColumnTaker<'a> {
    pub(super) fn new(columns: &'a mut [Column], destinations: &'a [u32]) -> Self {
        Self {
            columns: columns.iter_mut().map(Some).collect(),
            destinations,
            next: 0,
        }
    }

    pub(super) fn take<T: Component>(&mut self) -> Option<&'a mut Vec<T>> {
        let at = *self.destinations.get(self.next)? as usize;
        self.next += 1;
        match T::storage() {
            Storage::Table => self.columns.get_mut(at)?.take()?.rows_mut(),
            Storage::Sparse => None,
        }
    }
}

impl<T: Component> Bundle for T {
    type Columns<'a> = &'a mut Vec<T>;
    type Components = T;
    type Vectors = Vec<T>;
    type Places<'b> = Place<'b, T>;

    fn parts(parts: &mut Parts) {
        parts.0.push(Part {
            name: None,
            ty: ComponentType::of::<T>(),
        });
    }

    #[inline]
    fn in_columns() -> bool {
        T::storage() == Storage::Table
    }

    fn columns<'a>(columns: &mut ColumnTaker<'a>) -> Option<&'a mut Vec<T>> {
        columns.take()
    }

    #[inline]
    fn components(self) -> T {
        self
    }

    fn exchange(columns: &mut Self::Columns<'_>, vectors: &mut Vec<T>) {
        mem::swap(*columns, vectors);
    }

    #[inline]
    fn places<'b>(places: &mut PlaceTaker<'_, 'b>) -> Option<Place<'b, T>> {
        places.take()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn append<'b>(self, place: &Place<'b, T>, room: &mut Room<'_, 'b>) {
        place.push(self, room);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put(self, row: &mut RowWriter<'_>) {
        row.put(self);
    }

    fn discard(self, panics: &mut FirstPanic) {
        panics.drop_value(self);
    }
}

impl<T: Component, N: TypeName> Bundle for Named<T, N> {
    type Columns<'a> = &'a mut Vec<T>;
    type Components = T;
    type Vectors = Vec<T>;
    type Places<'b> = Place<'b, T>;

    fn parts(parts: &mut Parts) {
        parts.0.push(Part {
            name: Some(N::NAME),
            ty: ComponentType::of::<T>(),
        });
    }

    #[inline]
    fn in_columns() -> bool {
        T::storage() == Storage::Table
    }

    fn columns<'a>(columns: &mut ColumnTaker<'a>) -> Option<&'a mut Vec<T>> {
        columns.take()
    }

    #[inline]
    fn components(self) -> T {
        self.value
    }

    fn exchange(columns: &mut Self::Columns<'_>, vectors: &mut Vec<T>) {
        mem::swap(*columns, vectors);
    }

    #[inline]
    fn places<'b>(places: &mut PlaceTaker<'_, 'b>) -> Option<Place<'b, T>> {
        places.take()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn append<'b>(self, place: &Place<'b, T>, room: &mut Room<'_, 'b>) {
        place.push(self.value, room);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put(self, row: &mut RowWriter<'_>) {
        row.put(self.value);
    }

    fn discard(self, panics: &mut FirstPanic) {
        panics.drop_value(self.value);
    }
}

/// A column's worth of components for each part: what [`World::spawn_columns`](crate::World::spawn_columns) takes.
///
/// Implemented for tuples of up to 16 `Vec`s of components (kinds with [`Storage::Table`] only).
pub trait ColumnBatch: Sized {
    /// The bundle that one row makes.
    #[doc(hidden)]
    type Row: Bundle;

    /// The length of all vectors; `None` when they differ.
    #[doc(hidden)]
    fn rows(&self) -> Option<usize>;

    #[doc(hidden)]
    fn append(self, columns: &mut ColumnTaker<'_>);

    /// Drops the rows of columns that were refused one by one.
    #[doc(hidden)]
    fn discard(self, panics: &mut FirstPanic);
}

fn append<T: Component>(mut values: Vec<T>, columns: &mut ColumnTaker<'_>) {
    debug_assert!(T::storage() == Storage::Table, "the caller asks first");
    if let Some(column) = columns.take::<T>() {
        // Nothing is copied where the given vector can take the place of the column's: that has no less room.
        if column.is_empty() && column.capacity() <= values.capacity() {
            *column = values;
        } else {
            column.append(&mut values);
        }
    }
}

macro_rules! tuples {
    ($($([$($part:ident $at:tt),*])*;)*) => {$(
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no parts")]
        #[allow(non_snake_case, reason = "a vector has the name of its part's type")]
        impl<$($($part: Bundle),*),*> Bundle for ($($($part,)*)*) {
            type Columns<'a> = ($($($part::Columns<'a>,)*)*);
            type Components = ($(($($part::Components,)*),)*);
            type Vectors = ($(($($part::Vectors,)*),)*);
            type Places<'b> = ($($($part::Places<'b>,)*)*);

            fn parts(parts: &mut Parts) {
                $($($part::parts(parts);)*)*
            }

            #[inline]
            fn in_columns() -> bool {
                false $($(|| $part::in_columns())*)*
            }

            fn columns<'a>(columns: &mut ColumnTaker<'a>) -> Option<Self::Columns<'a>> {
                Some(($($($part::columns(columns)?,)*)*))
            }

            #[inline]
            fn components(self) -> Self::Components {
                ($(($(self.$at.components(),)*),)*)
            }

            fn exchange(columns: &mut Self::Columns<'_>, vectors: &mut Self::Vectors) {
                let ($(($($part,)*),)*) = vectors;
                $($($part::exchange(&mut columns.$at, $part);)*)*
            }

            #[inline]
            fn places<'b>(places: &mut PlaceTaker<'_, 'b>) -> Option<Self::Places<'b>> {
                Some(($($($part::places(places)?,)*)*))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append<'b>(self, places: &Self::Places<'b>, room: &mut Room<'_, 'b>) {
                $($(self.$at.append(&places.$at, room);)*)*
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn put(self, row: &mut RowWriter<'_>) {
                $($(self.$at.put(row);)*)*
            }

            fn discard(self, panics: &mut FirstPanic) {
                $($(self.$at.discard(panics);)*)*
            }
        }
    )*};
}

macro_rules! column_tuples {
    ($(($($part:ident $at:tt),+);)*) => {$(
        impl<$($part: Component),+> ColumnBatch for ($(Vec<$part>,)+) {
            type Row = ($($part,)+);

            fn rows(&self) -> Option<usize> {
                let rows = self.0.len();
                ($(self.$at.len() == rows)&&+).then_some(rows)
            }

            fn append(self, columns: &mut ColumnTaker<'_>) {
                $(append(self.$at, columns);)+
            }

            fn discard(self, panics: &mut FirstPanic) {
                $(self.$at.into_iter().for_each(|value| panics.drop_value(value));)+
            }
        }
    )*};
}

// In groups, as the standard library unzips tuples of up to 12.
tuples! {
    [];
    [A 0];
    [A 0, B 1];
    [A 0, B 1, C 2];
    [A 0, B 1, C 2, D 3];
    [A 0, B 1, C 2, D 3, E 4];
    [A 0, B 1, C 2, D 3, E 4, F 5];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8, J 9];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8, J 9, K 10];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8, J 9, K 10, L 11];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8, J 9, K 10, L 11, M 12];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8, J 9, K 10, L 11, M 12, N 13];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8, J 9, K 10, L 11, M 12, N 13, O 14];
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7] [I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15];
}

column_tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
}
