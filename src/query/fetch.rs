//! The terms of queries.

use super::access::{Access, Bound, Requests, Term};
use super::cells::{Cells, EntityIter, EntityRows};
use super::held::{Place, ReadFetch, ReadPart, WriteFetch, read_fetch, write_fetch};
use super::mutable::{MarkFetch, Mut, MutRows, MutSlice};
use crate::base::entity::Entity;
use crate::store::component::{Component, ComponentType, Named, Storage, TypeName};
use crate::store::visits::{Keeper, Room, ToRead, ToWrite};

/// What a query asks for: one of the terms below, or a tuple of up to 12 of them (nested ones included).
///
/// | term | gives | matches |
/// | --- | --- | --- |
/// | `&T` | `&T` | entities with a `T` under its own name |
/// | `&mut T` | `&mut T` | the same; every row it yields counts as written |
/// | `Mut<T>` | [`Mut<T>`] | the same; a row counts as written when it is written through it |
/// | `Named<&T, N>`, `Named<&mut T, N>` | `&T`, `&mut T` | entities with a `T` under the name `N` |
/// | `Option<Q>` | `Option` of what `Q` gives | all entities |
/// | [`Entity`] | the id | all entities |
///
/// Where a kind is tracked, an iteration that folds (`for_each` and the like) marks an archetype's rows as it enters it,
/// so that a panic in its middle leaves rows marked that were not reached.
///
/// A query that would reach one component twice, once of these times mutably, is refused when it is built,
/// whatever the order of its terms. Two names of one type are two components.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query term",
    label = "ask for `&T`, `&mut T`, `Mut<T>`, `Option<…>`, `Entity`, `Named<&T, N>`, or a tuple of these"
)]
pub trait Query {
    /// What one entity gives.
    type Item<'w>;
    /// What a chunk of entities gives: a slice for each component.
    type Slices<'w>;
    #[doc(hidden)]
    type State: Send + Sync + 'static;
    #[doc(hidden)]
    type Fetch<'w>;
    /// What is kept of an archetype from one visit to the next.
    #[doc(hidden)]
    type Kept<'b>: Send + Sync + 'b;
    /// Iterator over the rows of a chunk.
    type Rows<'w>: Iterator<Item = Self::Item<'w>> + Default;
    /// How many kinds it asks for, at most.
    #[doc(hidden)]
    const KINDS: usize;

    #[doc(hidden)]
    fn collect(requests: &mut Requests<'_>);
    #[doc(hidden)]
    fn bind(bound: &Bound) -> Self::State;
    /// The terms without which an entity does not match.
    #[doc(hidden)]
    fn needs(state: &Self::State, need: &mut dyn FnMut(Term));
    #[doc(hidden)]
    fn fetch<'w, const WIDTH: usize>(
        state: &Self::State,
        cells: &mut Cells<'w, '_, WIDTH>,
    ) -> Self::Fetch<'w>;
    /// Looks up what can be kept, as `fetch` does; nothing of a sparse kind, nor where ticks are written.
    #[doc(hidden)]
    fn keep<'c, 'b, const WIDTH: usize>(
        state: &Self::State,
        cells: &mut Cells<'c, '_, WIDTH>,
        keeper: &Keeper<'c, 'b>,
    ) -> Option<Self::Kept<'b>>;
    /// What `fetch` would give, of what was kept.
    #[doc(hidden)]
    fn open<'w, 'b>(
        kept: &'w mut Self::Kept<'b>,
        rows: EntityRows<'w>,
        room: Room<'w, 'b>,
    ) -> Self::Fetch<'w>;
    /// All rows of an archetype; those that are written without marks of their own count as written.
    #[doc(hidden)]
    fn rows(fetch: Self::Fetch<'_>) -> Self::Rows<'_>;
    /// Folds all rows of an archetype.
    #[doc(hidden)]
    #[inline]
    fn fold<'w, B>(fetch: Self::Fetch<'w>, init: B, f: impl FnMut(B, Self::Item<'w>) -> B) -> B {
        Self::rows(fetch).fold(init, f)
    }
    /// The same beside the rows of other terms, of which there are as many.
    #[doc(hidden)]
    #[inline]
    fn fold_beside<'w, L: Iterator, B>(
        fetch: Self::Fetch<'w>,
        left: L,
        init: B,
        f: impl FnMut(B, (L::Item, Self::Item<'w>)) -> B,
    ) -> B {
        left.zip(Self::rows(fetch)).fold(init, f)
    }
    /// The columns of an archetype; likewise.
    #[doc(hidden)]
    fn slices(fetch: Self::Fetch<'_>) -> Self::Slices<'_>;
    #[doc(hidden)]
    fn split(fetch: Self::Fetch<'_>, at: usize) -> (Self::Fetch<'_>, Self::Fetch<'_>);
    /// Takes the row that lies `skip` rows ahead, whose entity has index `id`.
    #[doc(hidden)]
    fn pick<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Item<'w>>;
    /// The same as a chunk of one row.
    #[doc(hidden)]
    fn pick_slices<'w>(
        fetch: &mut Self::Fetch<'w>,
        skip: usize,
        id: u32,
    ) -> Option<Self::Slices<'w>>;
    /// Whether the row of an entity has what the term asks for, where its archetype may have it.
    #[doc(hidden)]
    fn holds(fetch: &Self::Fetch<'_>, id: u32) -> bool;
    /// Iterates what [`slices`](Self::slices) gave.
    #[doc(hidden)]
    fn iterate(slices: Self::Slices<'_>) -> Self::Rows<'_>;
}

/// A query that changes nothing, so that it needs the world only shared.
pub trait ReadOnlyQuery: Query {
    /// What it reads of one archetype.
    #[doc(hidden)]
    type Part<'w>;
    #[doc(hidden)]
    fn part<'w>(state: &Self::State, place: &Place<'w, '_>) -> Self::Part<'w>;
    /// The item of one row.
    #[doc(hidden)]
    fn at<'w>(part: &Self::Part<'w>, row: usize, entity: Entity) -> Option<Self::Item<'w>>;
}

/// A reference term under its own name or another: how both are written once.
fn named_term<T: Component>(bound: &Bound, name: Option<&'static str>) -> Term {
    bound.term(name.unwrap_or(T::type_name()), &ComponentType::of::<T>())
}

macro_rules! reference_terms {
    ($(($($generic:ident: $limit:ident),*) $term:ty, $name:expr;)*) => {$(
        impl<$($generic: $limit),*> Query for $term {
            reference_terms!(@read $name);
        }

        impl<$($generic: $limit),*> ReadOnlyQuery for $term {
            type Part<'w> = ReadPart<'w, T>;

            fn part<'w>(state: &Term, place: &Place<'w, '_>) -> Self::Part<'w> {
                ReadPart::new(*state, place)
            }

            #[inline]
            fn at<'w>(part: &Self::Part<'w>, row: usize, entity: Entity) -> Option<Self::Item<'w>> {
                part.get(row, entity)
            }
        }
    )*};
    (@read $name:expr) => {
        type Item<'w> = &'w T;
        type Slices<'w> = &'w [T];
        type State = Term;
        type Fetch<'w> = ReadFetch<'w, T>;
        type Rows<'w> = std::slice::Iter<'w, T>;
        const KINDS: usize = 1;

        fn collect(requests: &mut Requests<'_>) {
            requests.add($name, ComponentType::of::<T>(), Access::Read);
        }

        fn bind(bound: &Bound) -> Term {
            named_term::<T>(bound, $name)
        }

        fn needs(state: &Term, need: &mut dyn FnMut(Term)) {
            need(*state);
        }

        #[inline]
        fn fetch<'w, const WIDTH: usize>(state: &Term, cells: &mut Cells<'w, '_, WIDTH>) -> Self::Fetch<'w> {
            read_fetch(*state, cells)
        }

        type Kept<'b> = ToRead<'b, T>;

        fn keep<'c, 'b, const WIDTH: usize>(
            state: &Term,
            cells: &mut Cells<'c, '_, WIDTH>,
            keeper: &Keeper<'c, 'b>,
        ) -> Option<Self::Kept<'b>> {
            keeper.to_read(cells.shared(*state)?)
        }

        #[inline]
        fn open<'w, 'b>(kept: &'w mut Self::Kept<'b>, _: EntityRows<'w>, room: Room<'w, 'b>) -> Self::Fetch<'w> {
            ReadFetch::Table(kept.rows(room))
        }

        #[inline]
        fn rows(fetch: Self::Fetch<'_>) -> Self::Rows<'_> {
            fetch.slice().iter()
        }

        #[inline]
        fn slices(fetch: Self::Fetch<'_>) -> Self::Slices<'_> {
            fetch.slice()
        }

        fn split(fetch: Self::Fetch<'_>, at: usize) -> (Self::Fetch<'_>, Self::Fetch<'_>) {
            fetch.split(at)
        }

        #[inline]
        fn pick<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Item<'w>> {
            fetch.pick(skip, id)
        }

        fn pick_slices<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Slices<'w>> {
            fetch.pick(skip, id).map(std::slice::from_ref)
        }

        #[inline]
        fn holds(fetch: &Self::Fetch<'_>, id: u32) -> bool {
            match fetch {
                ReadFetch::Table(_) => true,
                ReadFetch::Sparse(view) => view.as_ref().is_some_and(|view| view.has(id)),
            }
        }

        #[inline]
        fn iterate(slices: Self::Slices<'_>) -> Self::Rows<'_> {
            slices.iter()
        }
    };
}

reference_terms! {
    (T: Component) &T, None;
    (T: Component, N: TypeName) Named<&T, N>, Some(N::NAME);
}

macro_rules! mutable_terms {
    ($(($($generic:ident: $limit:ident),*) $term:ty, $name:expr;)*) => {$(
        impl<$($generic: $limit),*> Query for $term {
            type Item<'w> = &'w mut T;
            type Slices<'w> = &'w mut [T];
            type State = Term;
            type Fetch<'w> = WriteFetch<'w, T>;
            type Rows<'w> = std::slice::IterMut<'w, T>;
            const KINDS: usize = 1;

            fn collect(requests: &mut Requests<'_>) {
                requests.add($name, ComponentType::of::<T>(), Access::Write);
            }

            fn bind(bound: &Bound) -> Term {
                named_term::<T>(bound, $name)
            }

            fn needs(state: &Term, need: &mut dyn FnMut(Term)) {
                need(*state);
            }

            #[inline]
            fn fetch<'w, const WIDTH: usize>(state: &Term, cells: &mut Cells<'w, '_, WIDTH>) -> Self::Fetch<'w> {
                write_fetch(*state, cells)
            }

            type Kept<'b> = ToWrite<'b, T>;

            fn keep<'c, 'b, const WIDTH: usize>(
                state: &Term,
                cells: &mut Cells<'c, '_, WIDTH>,
                keeper: &Keeper<'c, 'b>,
            ) -> Option<Self::Kept<'b>> {
                keeper.to_write(cells.exclusive(*state)?)
            }

            #[inline]
            fn open<'w, 'b>(kept: &'w mut Self::Kept<'b>, _: EntityRows<'w>, room: Room<'w, 'b>) -> Self::Fetch<'w> {
                WriteFetch::Table { values: kept.rows(room), marks: None, now: 0 }
            }

            #[inline]
            fn rows(fetch: Self::Fetch<'_>) -> Self::Rows<'_> {
                fetch.slice().iter_mut()
            }

            #[inline]
            fn slices(fetch: Self::Fetch<'_>) -> Self::Slices<'_> {
                fetch.slice()
            }

            fn split(fetch: Self::Fetch<'_>, at: usize) -> (Self::Fetch<'_>, Self::Fetch<'_>) {
                fetch.split(at)
            }

            #[inline]
            fn pick<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Item<'w>> {
                fetch.pick(skip, id)
            }

            fn pick_slices<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Slices<'w>> {
                fetch.pick(skip, id).map(std::slice::from_mut)
            }

            #[inline]
            fn holds(fetch: &Self::Fetch<'_>, id: u32) -> bool {
                match fetch {
                    WriteFetch::Table { .. } => true,
                    WriteFetch::Sparse { view, .. } => view.as_ref().is_some_and(|view| view.has(id)),
                }
            }

            #[inline]
            fn iterate(slices: Self::Slices<'_>) -> Self::Rows<'_> {
                slices.iter_mut()
            }
        }
    )*};
}

mutable_terms! {
    (T: Component) &mut T, None;
    (T: Component, N: TypeName) Named<&mut T, N>, Some(N::NAME);
}

impl<T: Component> Query for Mut<'_, T> {
    type Item<'w> = Mut<'w, T>;
    type Slices<'w> = MutSlice<'w, T>;
    type State = Term;
    type Fetch<'w> = MarkFetch<'w, T>;
    type Rows<'w> = MutRows<'w, T>;
    const KINDS: usize = 1;

    fn collect(requests: &mut Requests<'_>) {
        requests.add(None, ComponentType::of::<T>(), Access::Mark);
    }

    fn bind(bound: &Bound) -> Term {
        named_term::<T>(bound, None)
    }

    fn needs(state: &Term, need: &mut dyn FnMut(Term)) {
        need(*state);
    }

    #[inline]
    fn fetch<'w, const WIDTH: usize>(
        state: &Term,
        cells: &mut Cells<'w, '_, WIDTH>,
    ) -> Self::Fetch<'w> {
        let now = cells.now;
        match T::storage() {
            Storage::Table => {
                let (values, marks) = cells.mark(*state);
                MarkFetch::Table(MutSlice {
                    values,
                    ticks: marks.map(|marks| marks.rows),
                    now,
                })
            }
            Storage::Sparse => MarkFetch::Sparse {
                view: cells.view(*state),
                now,
            },
        }
    }

    type Kept<'b> = ToWrite<'b, T>;

    fn keep<'c, 'b, const WIDTH: usize>(
        state: &Term,
        cells: &mut Cells<'c, '_, WIDTH>,
        keeper: &Keeper<'c, 'b>,
    ) -> Option<Self::Kept<'b>> {
        keeper.to_write(cells.exclusive(*state)?)
    }

    #[inline]
    fn open<'w, 'b>(
        kept: &'w mut Self::Kept<'b>,
        _: EntityRows<'w>,
        room: Room<'w, 'b>,
    ) -> Self::Fetch<'w> {
        MarkFetch::Table(MutSlice {
            values: kept.rows(room),
            ticks: None,
            now: 0,
        })
    }

    #[inline]
    fn rows(fetch: Self::Fetch<'_>) -> Self::Rows<'_> {
        fetch.slice().into_iter()
    }

    #[inline]
    fn slices(fetch: Self::Fetch<'_>) -> Self::Slices<'_> {
        fetch.slice()
    }

    fn split(fetch: Self::Fetch<'_>, at: usize) -> (Self::Fetch<'_>, Self::Fetch<'_>) {
        let (left, right) = fetch.slice().split_at(at);
        (MarkFetch::Table(left), MarkFetch::Table(right))
    }

    #[inline]
    fn pick<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Item<'w>> {
        fetch.pick(skip, id)
    }

    fn pick_slices<'w>(
        fetch: &mut Self::Fetch<'w>,
        skip: usize,
        id: u32,
    ) -> Option<Self::Slices<'w>> {
        fetch.pick(skip, id).map(Mut::into_slice)
    }

    #[inline]
    fn holds(fetch: &Self::Fetch<'_>, id: u32) -> bool {
        match fetch {
            MarkFetch::Table(_) => true,
            MarkFetch::Sparse { view, .. } => view.as_ref().is_some_and(|view| view.has(id)),
        }
    }

    #[inline]
    fn iterate(slices: Self::Slices<'_>) -> Self::Rows<'_> {
        slices.into_iter()
    }
}

impl Query for Entity {
    type Item<'w> = Entity;
    type Slices<'w> = EntityRows<'w>;
    type State = ();
    type Fetch<'w> = EntityRows<'w>;
    type Rows<'w> = EntityIter<'w>;
    const KINDS: usize = 0;

    fn collect(_: &mut Requests<'_>) {}

    fn bind(_: &Bound) {}

    fn needs((): &(), _: &mut dyn FnMut(Term)) {}

    #[inline]
    fn fetch<'w, const WIDTH: usize>((): &(), cells: &mut Cells<'w, '_, WIDTH>) -> Self::Fetch<'w> {
        cells.rows
    }

    type Kept<'b> = ();

    fn keep<'c, const WIDTH: usize>(
        (): &(),
        _: &mut Cells<'c, '_, WIDTH>,
        _: &Keeper<'c, '_>,
    ) -> Option<()> {
        Some(())
    }

    #[inline]
    fn open<'w>((): &'w mut (), rows: EntityRows<'w>, _: Room<'w, '_>) -> Self::Fetch<'w> {
        rows
    }

    #[inline]
    fn rows(fetch: Self::Fetch<'_>) -> Self::Rows<'_> {
        fetch.iter()
    }

    #[inline]
    fn slices(fetch: Self::Fetch<'_>) -> Self::Slices<'_> {
        fetch
    }

    fn split(fetch: Self::Fetch<'_>, at: usize) -> (Self::Fetch<'_>, Self::Fetch<'_>) {
        let (left, right) = fetch.ids.split_at(at);
        (
            EntityRows { ids: left, ..fetch },
            EntityRows {
                ids: right,
                ..fetch
            },
        )
    }

    #[inline]
    fn pick<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, _: u32) -> Option<Self::Item<'w>> {
        let entity = fetch.get(skip);
        fetch.ids = fetch.ids.get(skip + 1..).unwrap_or_default();
        entity
    }

    fn pick_slices<'w>(
        fetch: &mut Self::Fetch<'w>,
        skip: usize,
        _: u32,
    ) -> Option<Self::Slices<'w>> {
        let ids = fetch.ids.get(skip..=skip)?;
        fetch.ids = fetch.ids.get(skip + 1..).unwrap_or_default();
        Some(EntityRows {
            ids,
            slots: fetch.slots,
        })
    }

    #[inline]
    fn holds(_: &Self::Fetch<'_>, _: u32) -> bool {
        true
    }

    #[inline]
    fn iterate(slices: Self::Slices<'_>) -> Self::Rows<'_> {
        slices.iter()
    }
}

impl ReadOnlyQuery for Entity {
    type Part<'w> = ();

    fn part((): &(), _: &Place<'_, '_>) {}

    #[inline]
    fn at<'w>((): &Self::Part<'w>, _: usize, entity: Entity) -> Option<Self::Item<'w>> {
        Some(entity)
    }
}
