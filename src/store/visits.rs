//! What a query reaches of an archetype, kept from one visit to the next.
//!
//! A query goes through the same columns again and again. So where the vectors that it reaches are is looked up once for
//! each archetype that matches, and kept until somebody else has had the columns to change them as he likes: a visit is
//! then a comparison and a pointer for each term.
//!
//! # Invariants of the unsafe code
//!
//! They rest on those of `columns.rs`: while a round of columns stands they are those they were. The box of a column's vector
//! then is where it was (`column.rs`, 1), wherever what is in the vector lies.
//!
//! 1. All pointers in `Visit::kept` were made in the round `Visit::round`, by the one `Keeper` of [`renew`], and to
//!    columns of that round: it looks for the column's number among those that it knows. Should the visitor exchange a
//!    column after that, [`renew`] sees it, as it has the columns settled again, and the round is another. A pointer was made
//!    by `Column::place::<T>`, so there is a `Values<T>` of the `T` of the pointer, which passes for no other type.
//! 2. Of the pointers that one `Keeper` makes, one to write is the only one to its column. It takes the column for `'c`,
//!    which is all of the time in which there is a `Keeper<'c, '_>`, and so does each that is made to read; those can only
//!    be made of columns that are shared for as long.
//! 3. A pointer cannot be copied, and is used through a borrow of itself, for as long as what it gives lives: to write
//!    through an exclusive one.
//! 4. A `Room<'w, 'b>` is made in [`visit_again`] alone, where the rounds are equal; it stands for the columns, borrowed for
//!    `'w`, which [`visit_again`] takes for itself. It goes to [`Visitor::open`] together with what was kept for these columns. There, as in `Visitor::keep`, the
//!    lifetime `'b` is a parameter: who implements them can tell it from no other, so he has no pointers for the room but
//!    these, and can keep none for later.
#![allow(
    unsafe_code,
    reason = "the pointers that are kept, measured against looking them up: visits with two terms take half the instructions"
)]

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::column::Column;
use super::columns::{Brand, Columns, NO_ROUND};
use super::component::Component;
use super::values::Values;

/// Who visits an archetype.
pub(crate) trait Visitor<'w> {
    /// What it reaches, to be kept.
    type Kept<'b>: Send + Sync + 'b;
    /// The same, as it is during the visit.
    type Parts;

    /// Looks up what it reaches; `None` if that cannot be kept.
    fn keep<'c, 'b>(
        &self,
        columns: &'c mut [Column],
        keeper: &Keeper<'c, 'b>,
    ) -> Option<Self::Kept<'b>>;

    fn open<'b>(&self, kept: &'w mut Self::Kept<'b>, room: Room<'w, 'b>) -> Self::Parts;
}

/// What was kept of an archetype.
pub(crate) struct Visit<K> {
    round: u64,
    /// Nothing, if the visitor reaches what cannot be kept.
    kept: Option<K>,
}

impl<K> Default for Visit<K> {
    fn default() -> Self {
        Self {
            round: NO_ROUND,
            kept: None,
        }
    }
}

#[cfg(test)]
impl<K> Visit<K> {
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }
}

/// An archetype's columns for a visitor.
pub(crate) enum Visited<'w, P> {
    /// As far as it reaches them.
    Parts(P),
    /// All, as nothing is kept of them.
    Columns(&'w mut [Column]),
}

/// Visits columns with what was kept of them; gives both back if that is nothing, or not true any more.
#[inline]
pub(crate) fn visit_again<'w, V: Visitor<'w>>(
    visit: &'w mut Visit<V::Kept<'static>>,
    columns: &'w mut Columns,
    visitor: &V,
) -> Result<V::Parts, (&'w mut Visit<V::Kept<'static>>, &'w mut Columns)> {
    if visit.round != columns.round() || visit.kept.is_none() {
        return Err((visit, columns));
    }
    let Some(kept) = &mut visit.kept else {
        unreachable!("it was there")
    };
    let room = Room {
        columns: PhantomData,
        brand: PhantomData,
    };
    Ok(visitor.open(kept, room))
}

/// Visits columns with what was kept of them, or can be.
#[inline]
pub(crate) fn visit<'w, V: Visitor<'w>>(
    visit: &'w mut Visit<V::Kept<'static>>,
    columns: &'w mut Columns,
    visitor: &V,
) -> Visited<'w, V::Parts> {
    match visit_again(visit, columns, visitor) {
        Ok(parts) => Visited::Parts(parts),
        Err((visit, columns)) => {
            renew(visit, columns, visitor);
            match visit_again(visit, columns, visitor) {
                Ok(parts) => Visited::Parts(parts),
                Err((_, columns)) => Visited::Columns(columns.lend()),
            }
        }
    }
}

/// Looks up what a visitor reaches, if the columns have not come back as they were.
#[inline(never)]
fn renew<'w, V: Visitor<'w>>(
    visit: &mut Visit<V::Kept<'static>>,
    columns: &mut Columns,
    visitor: &V,
) {
    columns.settle();
    if visit.round != columns.round() {
        let round = columns.round();
        let (all, known) = columns.lend_known();
        let keeper = Keeper {
            known,
            columns: PhantomData,
            brand: PhantomData,
        };
        *visit = Visit {
            round,
            kept: visitor.keep(all, &keeper),
        };
        // They are in another round if the visitor has put others in their place.
        columns.settle();
    }
}

/// Makes the pointers of one visitor to the columns of one archetype.
#[doc(hidden)]
pub struct Keeper<'c, 'b> {
    known: &'c [u64],
    columns: PhantomData<fn(&'c ()) -> &'c ()>,
    brand: Brand<'b>,
}

impl<'c, 'b> Keeper<'c, 'b> {
    /// A pointer to what a column holds, to read it.
    pub(crate) fn to_read<T: Component>(&self, column: &'c Column) -> Option<ToRead<'b, T>> {
        Some(ToRead {
            values: self.values(column)?,
            kind: PhantomData,
            brand: self.brand,
        })
    }

    /// A pointer to what a column holds, to write it. Not where ticks tell what was written.
    pub(crate) fn to_write<T: Component>(&self, column: &'c mut Column) -> Option<ToWrite<'b, T>> {
        if column.ticks().is_some() {
            return None;
        }
        Some(ToWrite {
            values: self.values(column)?,
            kind: PhantomData,
            brand: self.brand,
        })
    }

    fn values<T: Component>(&self, column: &Column) -> Option<NonNull<Values<T>>> {
        self.known
            .contains(&column.number())
            .then(|| column.place())?
    }
}

/// Where the vector of a column is that a query reads.
#[doc(hidden)]
pub struct ToRead<'b, T> {
    values: NonNull<Values<T>>,
    kind: PhantomData<fn(T) -> T>,
    brand: Brand<'b>,
}

/// Where the vector of a column is that a query writes.
#[doc(hidden)]
pub struct ToWrite<'b, T> {
    values: NonNull<Values<T>>,
    kind: PhantomData<fn(T) -> T>,
    brand: Brand<'b>,
}

// SAFETY: what it points to is reached with a `Room` alone, so by who has the columns; components are `Send` and `Sync`.
unsafe impl<T: Component> Send for ToRead<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Component> Sync for ToRead<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Component> Send for ToWrite<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Component> Sync for ToWrite<'_, T> {}

/// Leave to reach into the columns that pointers with the same lifetime `'b` belong to.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Room<'w, 'b> {
    columns: PhantomData<&'w mut Columns>,
    brand: Brand<'b>,
}

impl<'b, T: Component> ToRead<'b, T> {
    #[inline]
    pub(crate) fn rows<'w>(&'w self, _: Room<'w, 'b>) -> &'w [T] {
        // SAFETY: invariants 1 and 4: the `Values<T>` are there, and nobody else has the columns for `'w`. Invariants 2
        // and 3: who has a pointer of the same visitor to this column reads too.
        let values = unsafe { self.values.as_ref() };
        &values.rows
    }
}

impl<'b, T: Component> ToWrite<'b, T> {
    #[inline]
    pub(crate) fn rows<'w>(&'w mut self, _: Room<'w, 'b>) -> &'w mut [T] {
        // SAFETY: invariants 1 and 4: the `Values<T>` are there, and nobody else has the columns for `'w`. Invariants 2
        // and 3: there is no other pointer of the same visitor to this column, and this one is taken for `'w`.
        let values = unsafe { self.values.as_mut() };
        &mut values.rows
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::store::component::ComponentType;
    use crate::store::kinds::{KindId, Kinds};

    struct Number(u32);

    impl Component for Number {
        fn type_name() -> &'static str {
            "Number"
        }

        fn export(&self) -> serde_json::Value {
            self.0.into()
        }
    }

    /// Writes a column, and counts how often it looked for it.
    #[derive(Default)]
    struct Writer {
        at: usize,
        looked: Cell<u32>,
    }

    impl<'w> Visitor<'w> for Writer {
        type Kept<'b> = ToWrite<'b, Number>;
        type Parts = &'w mut [Number];

        fn keep<'c, 'b>(
            &self,
            columns: &'c mut [Column],
            keeper: &Keeper<'c, 'b>,
        ) -> Option<ToWrite<'b, Number>> {
            self.looked.set(self.looked.get() + 1);
            keeper.to_write(columns.get_mut(self.at)?)
        }

        fn open<'b>(
            &self,
            kept: &'w mut ToWrite<'b, Number>,
            room: Room<'w, 'b>,
        ) -> &'w mut [Number] {
            kept.rows(room)
        }
    }

    struct Setting {
        kinds: Kinds,
        ids: [KindId; 2],
    }

    impl Setting {
        fn new() -> Self {
            let mut kinds = Kinds::default();
            let ty = ComponentType::of::<Number>();
            let ids = ["one", "other"].map(|name| kinds.intern(Some(name), ty, 0).unwrap());
            Self { kinds, ids }
        }

        fn column(&self, at: usize, value: u32) -> Column {
            let mut column = Column::new(self.ids[at], self.kinds.get(self.ids[at]));
            column.push(Number(value), 0);
            column
        }

        fn columns(&self, values: [u32; 2]) -> Columns {
            Columns::new([self.column(0, values[0]), self.column(1, values[1])].into())
        }
    }

    /// Adds one to what the writer finds, and says what was there; `None` if it was given the columns.
    fn add(
        kept: &mut Visit<ToWrite<'static, Number>>,
        columns: &mut Columns,
        writer: &Writer,
    ) -> Option<u32> {
        match visit(kept, columns, writer) {
            Visited::Parts(numbers) => {
                numbers[0].0 += 1;
                Some(numbers[0].0 - 1)
            }
            Visited::Columns(_) => None,
        }
    }

    #[test]
    fn what_was_kept_is_used_as_long_as_the_columns_are_the_same() {
        let setting = Setting::new();
        let mut columns = setting.columns([10, 20]);
        let (mut kept, writer) = (Visit::default(), Writer::default());
        assert_eq!(add(&mut kept, &mut columns, &writer), Some(10));
        assert_eq!(add(&mut kept, &mut columns, &writer), Some(11));
        columns.lend()[0].push(Number(0), 0);
        assert_eq!(add(&mut kept, &mut columns, &writer), Some(12));
        assert_eq!(writer.looked.get(), 1);
        // Another column in its place, and the first one back.
        let first = std::mem::replace(&mut columns.lend()[0], setting.column(0, 30));
        assert_eq!(add(&mut kept, &mut columns, &writer), Some(30));
        assert_eq!(writer.looked.get(), 2);
        columns.lend()[0] = first;
        assert_eq!(add(&mut kept, &mut columns, &writer), Some(13));
        assert_eq!(writer.looked.get(), 3);
        // The same visitor comes to other columns.
        let mut others = setting.columns([40, 50]);
        assert_eq!(add(&mut kept, &mut others, &writer), Some(40));
        assert_eq!(add(&mut kept, &mut columns, &writer), Some(14));
    }

    #[test]
    fn what_cannot_be_kept_is_looked_for_once() {
        let setting = Setting::new();
        let mut columns = setting.columns([10, 20]);
        columns.lend()[1].track(1);
        let writer = Writer {
            at: 1,
            ..Writer::default()
        };
        let mut kept = Visit::default();
        for _ in 0..3 {
            assert_eq!(add(&mut kept, &mut columns, &writer), None);
        }
        assert_eq!(writer.looked.get(), 1);
    }

    #[test]
    fn no_pointer_is_made_to_a_column_of_another_place() {
        let setting = Setting::new();
        let mut columns = setting.columns([10, 20]);
        let mut foreign = setting.column(0, 30);
        columns.settle();
        let (own, known) = columns.lend_known();
        let keeper = Keeper {
            known,
            columns: PhantomData,
            brand: PhantomData,
        };
        assert!(keeper.to_write::<Number>(&mut foreign).is_none());
        assert!(keeper.to_read::<Number>(&own[1]).is_some());
    }

    #[test]
    fn a_column_that_begins_to_keep_ticks_is_another() {
        let setting = Setting::new();
        let mut columns = setting.columns([10, 20]);
        let (mut kept, writer) = (Visit::default(), Writer::default());
        assert_eq!(add(&mut kept, &mut columns, &writer), Some(10));
        columns.lend()[0].track(1);
        assert_eq!(add(&mut kept, &mut columns, &writer), None);
    }
}
