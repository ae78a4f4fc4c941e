//! The columns of an archetype, and where the parts of a bundle belong in them.
//!
//! One bundle after the other goes into the same columns. So where its parts belong is looked up once, as a [`Place`] for
//! each, and kept until somebody else has the columns: a part is then pushed as onto a vector by hand.
//!
//! # Invariants of the unsafe code
//!
//! 1. [`Columns::round`] is a number that no other columns of the process have or had, or 0. It is 0 as soon as columns
//!    were lent, for who has one might put another in its place (who drops a row has none), and stands again when each is
//!    seen to be the same. So while it stands the columns are those they were when it was given. No two `Column`s have the
//!    same `number`, and nothing takes the values of one without it: nobody holds two `Erased` to exchange them, and what has
//!    one in `values.rs` has the vector of another, of the same type.
//! 2. `Kept::places` are of the type `B::Places<'static>` with `B` the type whose id is `Kept::bundle`, unless
//!    `Kept::round` is [`NO_ROUND`], which columns never have. All `Place`s in them were made in this round of the
//!    columns: a `PlaceTaker` is the only one to make a `Place`, and both carry a lifetime that is a parameter of
//!    `Bundle::places`, so that who implements it cannot tell it from any other and can return only what this taker gave.
//!    Nor does a `Place` of one type pass for one of another, related by lifetimes or not. A `KeptOf<B>` is made in
//!    [`Kept::of`] alone, where `Kept::bundle` is `B`'s, and borrows the `Kept` for itself, so that it stays so.
//! 3. A `Room` is made only where the rounds are equal, and borrows the columns mutably: then all columns of the `Place`s
//!    are there (1) and nobody else reaches them. `Open` holds both and gives them to `Bundle::append` alone, of which
//!    their lifetime is a parameter too.
//!
//! Whether a place may be used is one question, whether it should another: it knows of no ticks. That a bundle whose kinds
//! get ticks is not plain any more is seen to where they get them, by forgetting all bundles.
#![allow(
    unsafe_code,
    reason = "the places that are kept, measured against looking them up: spawning 16 components 2 times faster"
)]

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::bundle::Bundle;
use super::column::{Column, next_number};
use super::component::{Component, Storage};
use super::values::Values;
use crate::base::caught::FirstPanic;

/// The columns of an archetype, in the order of their type names.
pub(crate) struct Columns {
    all: Box<[Column]>,
    /// See invariant 1.
    round: u64,
    /// The round that was given last, or will be, and which columns there were.
    last: u64,
    known: Box<[u64]>,
}

impl Columns {
    pub(super) fn new(all: Box<[Column]>) -> Self {
        Self {
            round: 0,
            last: next_number(),
            known: all.iter().map(Column::number).collect(),
            all,
        }
    }

    #[inline]
    pub(super) fn shared(&self) -> &[Column] {
        &self.all
    }

    /// Lends the columns to be changed in any way.
    #[inline]
    pub(crate) fn lend(&mut self) -> &mut [Column] {
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

    #[inline]
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// Lends the columns as [`lend`](Self::lend) does, with the numbers of those that there were in the last round.
    pub(super) fn lend_known(&mut self) -> (&mut [Column], &[u64]) {
        self.round = 0;
        (&mut self.all, &self.known)
    }

    /// Gives the round a number: the last one, if all columns are what they were.
    pub(super) fn settle(&mut self) {
        if !self.are_known() {
            for (known, column) in self.known.iter_mut().zip(&self.all) {
                *known = column.number();
            }
            self.last = next_number();
        }
        self.round = self.last;
    }

    fn are_known(&self) -> bool {
        let mut both = self.all.iter().zip(&self.known);
        both.all(|(column, number)| column.number() == *number)
    }

    /// Bytes that are allocated beside what the columns themselves have.
    pub(super) fn heads(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.known)
    }
}

/// Columns never have this round.
pub(super) const NO_ROUND: u64 = u64::MAX;

/// A lifetime that equals no other.
pub(super) type Brand<'b> = PhantomData<fn(&'b ()) -> &'b ()>;

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

    /// What is kept, if it is of `B`.
    #[inline]
    pub(super) fn of<B: Bundle>(&mut self) -> Option<KeptOf<'_, B>> {
        self.is_of::<B>().then_some(KeptOf {
            kept: self,
            bundle: PhantomData,
        })
    }
}

/// What is kept of the places of `B`; who has it need not ask of which bundle they are.
pub(super) struct KeptOf<'a, B> {
    kept: &'a mut Kept,
    bundle: PhantomData<fn(B) -> B>,
}

impl<'a, B: Bundle> KeptOf<'a, B> {
    /// Whether the columns are in the round of the places.
    #[inline]
    pub(super) fn is_in(&self, columns: &Columns) -> bool {
        self.kept.round == columns.round
    }

    /// Looks the places up, if the columns have not come back as they were.
    #[inline(never)]
    pub(super) fn renew(&mut self, columns: &mut Columns, destinations: &[u32]) {
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
            *self.kept = Kept {
                bundle: TypeId::of::<B>(),
                round: columns.round,
                places: Box::new(places),
            };
        }
    }

    /// The places, if they are known for the columns as they are now.
    #[inline]
    pub(super) fn open(self, columns: &'a mut Columns) -> Option<Open<'a, B>> {
        if !self.is_in(columns) {
            return None;
        }
        let places: *const (dyn Any + Send + Sync) = &raw const *self.kept.places;
        // SAFETY: invariant 2: `self` was made where the bundle is `B`, which has not changed; borrowed as the `Kept` is.
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
            values: self.columns.get(at)?.place()?,
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
        // SAFETY: invariants 2 and 3: the `Values<T>` are there, and borrowed mutably by the room.
        let values = unsafe { &mut *self.values.as_ptr() };
        values.rows.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::component::ComponentType;
    use crate::store::kinds::{KindId, Kinds};

    struct Nothing;

    impl Component for Nothing {
        fn type_name() -> &'static str {
            "Nothing"
        }

        fn export(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
    }

    #[test]
    fn a_round_comes_back_only_with_the_columns_that_it_was_given_for() {
        let mut kinds = Kinds::default();
        let ty = ComponentType::of::<Nothing>();
        let ids = ["one", "other"].map(|name| kinds.intern(Some(name), ty, 0).unwrap());
        let column = |id: KindId| Column::new(id, kinds.get(id));
        let mut columns = Columns::new(ids.map(column).into());
        let heads = 2 * (size_of::<Column>() + size_of::<u64>());
        assert_eq!(columns.heads(), heads);
        assert_eq!(columns.round, 0);
        columns.settle();
        let first = columns.round;
        assert_ne!(first, 0);
        columns.lend();
        assert_eq!(columns.round, 0);
        columns.settle();
        assert_eq!(columns.round, first, "each is in its place");
        let taken = std::mem::replace(&mut columns.lend()[1], column(ids[1]));
        columns.settle();
        let second = columns.round;
        assert!(![0, first].contains(&second), "one is another");
        columns.lend()[1] = taken;
        columns.settle();
        assert!(![0, first, second].contains(&columns.round));
    }
}
