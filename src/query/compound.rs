//! Terms made of terms: `Option` and tuples.

use std::iter::Zip;

use smallvec::SmallVec;

use super::access::{Bound, Requests, Term};
use super::cells::{Cells, EntityRows};
use super::fetch::{Query, ReadOnlyQuery};
use super::held::Place;
use crate::base::entity::Entity;
use crate::store::visits::{Keeper, Room};

/// Rows that are all there, or all not.
///
/// Which of the two stands in a field of its own, and not in an enum: there it would be part of a pointer that moves from
/// row to row, and be asked anew for each.
pub struct OptionRows<'w, Q: Query> {
    present: bool,
    rows: Q::Rows<'w>,
    /// How many there are, where none is present.
    absent: usize,
}

impl<'w, Q: Query> OptionRows<'w, Q> {
    #[inline]
    fn present(rows: Q::Rows<'w>) -> Self {
        Self {
            present: true,
            rows,
            absent: 0,
        }
    }

    #[inline]
    fn absent(len: usize) -> Self {
        Self {
            present: false,
            rows: <Q::Rows<'w>>::default(),
            absent: len,
        }
    }
}

impl<Q: Query> Default for OptionRows<'_, Q> {
    fn default() -> Self {
        Self::absent(0)
    }
}

impl<'w, Q: Query> Iterator for OptionRows<'w, Q> {
    type Item = Option<Q::Item<'w>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.present {
            self.rows.next().map(Some)
        } else {
            self.absent = self.absent.checked_sub(1)?;
            Some(None)
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.present {
            self.rows.size_hint()
        } else {
            (self.absent, Some(self.absent))
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        if self.present {
            self.rows.fold(init, |acc, item| f(acc, Some(item)))
        } else {
            (0..self.absent).fold(init, |acc, _| f(acc, None))
        }
    }
}

/// What an optional term holds of an archetype, and how many rows that has.
#[doc(hidden)]
pub struct OptionFetch<F> {
    fetch: Option<F>,
    len: usize,
    /// Rows that were passed over without the term, and that `fetch` has yet to skip.
    passed: usize,
}

/// The slices of an optional term, and how many rows the chunk has, whether or not the component is there.
pub struct OptionSlices<S> {
    /// The slices, where the chunk's archetype has the component.
    pub slices: Option<S>,
    /// The rows of the chunk.
    pub len: usize,
}

impl<F> OptionFetch<F> {
    /// What the term gives for a row, if all of it is there. A part that is must not be taken where another is not:
    /// it would count as written, and the next row would find it gone ahead.
    #[inline]
    fn at<'w, Q: Query<Fetch<'w> = F>, R>(
        &mut self,
        skip: usize,
        id: u32,
        pick: impl FnOnce(&mut F, usize, u32) -> Option<R>,
    ) -> Option<R> {
        let inner = self.fetch.as_mut()?;
        let skip = skip + self.passed;
        if Q::holds(inner, id) {
            self.passed = 0;
            pick(inner, skip, id)
        } else {
            self.passed = skip + 1;
            None
        }
    }
}

#[doc(hidden)]
pub struct OptionState<S> {
    inner: S,
    needs: SmallVec<[Term; 4]>,
}

impl<S> OptionState<S> {
    /// Whether the archetype may have all that the term asks for.
    #[inline]
    fn are_there<const WIDTH: usize>(&self, cells: &Cells<'_, '_, WIDTH>) -> bool {
        self.needs.iter().all(|term| cells.has(*term))
    }
}

impl<Q: Query> Query for Option<Q> {
    type Item<'w> = Option<Q::Item<'w>>;
    type Slices<'w> = OptionSlices<Q::Slices<'w>>;
    type State = OptionState<Q::State>;
    type Fetch<'w> = OptionFetch<Q::Fetch<'w>>;
    type Rows<'w> = OptionRows<'w, Q>;
    const KINDS: usize = Q::KINDS;

    fn collect(requests: &mut Requests<'_>) {
        requests.optionally(Q::collect);
    }

    fn bind(bound: &Bound) -> Self::State {
        let inner = Q::bind(bound);
        let mut needs = SmallVec::new();
        Q::needs(&inner, &mut |term| needs.push(term));
        OptionState { inner, needs }
    }

    fn needs(_: &Self::State, _: &mut dyn FnMut(Term)) {}

    #[inline]
    fn fetch<'w, const WIDTH: usize>(
        state: &Self::State,
        cells: &mut Cells<'w, '_, WIDTH>,
    ) -> Self::Fetch<'w> {
        OptionFetch {
            fetch: state
                .are_there(cells)
                .then(|| Q::fetch(&state.inner, cells)),
            len: cells.rows.len(),
            passed: 0,
        }
    }

    type Kept<'b> = Option<Q::Kept<'b>>;

    fn keep<'c, 'b, const WIDTH: usize>(
        state: &Self::State,
        cells: &mut Cells<'c, '_, WIDTH>,
        keeper: &Keeper<'c, 'b>,
    ) -> Option<Self::Kept<'b>> {
        if state.are_there(cells) {
            Q::keep(&state.inner, cells, keeper).map(Some)
        } else {
            Some(None)
        }
    }

    #[inline]
    fn open<'w, 'b>(
        kept: &'w mut Self::Kept<'b>,
        rows: EntityRows<'w>,
        room: Room<'w, 'b>,
    ) -> Self::Fetch<'w> {
        OptionFetch {
            fetch: kept.as_mut().map(|kept| Q::open(kept, rows, room)),
            len: rows.len(),
            passed: 0,
        }
    }

    #[inline]
    fn rows(fetch: Self::Fetch<'_>) -> Self::Rows<'_> {
        match fetch.fetch {
            Some(inner) => OptionRows::present(Q::rows(inner)),
            None => OptionRows::absent(fetch.len),
        }
    }

    /// Asks once whether the rows are there, and not for each of them.
    #[inline]
    fn fold_beside<'w, L: Iterator, B>(
        fetch: Self::Fetch<'w>,
        left: L,
        init: B,
        mut f: impl FnMut(B, (L::Item, Self::Item<'w>)) -> B,
    ) -> B {
        match fetch.fetch {
            Some(inner) => Q::fold_beside(inner, left, init, |acc, (left, item)| {
                f(acc, (left, Some(item)))
            }),
            None => left.fold(init, |acc, left| f(acc, (left, None))),
        }
    }

    #[inline]
    fn slices(fetch: Self::Fetch<'_>) -> Self::Slices<'_> {
        OptionSlices {
            slices: fetch.fetch.map(Q::slices),
            len: fetch.len,
        }
    }

    fn split(fetch: Self::Fetch<'_>, at: usize) -> (Self::Fetch<'_>, Self::Fetch<'_>) {
        let (left, right) = fetch.fetch.map(|inner| Q::split(inner, at)).unzip();
        (
            OptionFetch {
                fetch: left,
                len: at,
                passed: 0,
            },
            OptionFetch {
                fetch: right,
                len: fetch.len - at,
                passed: 0,
            },
        )
    }

    #[inline]
    fn pick<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Item<'w>> {
        Some(fetch.at::<Q, _>(skip, id, Q::pick))
    }

    fn pick_slices<'w>(
        fetch: &mut Self::Fetch<'w>,
        skip: usize,
        id: u32,
    ) -> Option<Self::Slices<'w>> {
        let slices = fetch.at::<Q, _>(skip, id, Q::pick_slices);
        Some(OptionSlices { slices, len: 1 })
    }

    #[inline]
    fn holds(_: &Self::Fetch<'_>, _: u32) -> bool {
        true
    }

    #[inline]
    fn iterate(slices: Self::Slices<'_>) -> Self::Rows<'_> {
        match slices.slices {
            Some(inner) => OptionRows::present(Q::iterate(inner)),
            None => OptionRows::absent(slices.len),
        }
    }
}

impl<Q: ReadOnlyQuery> ReadOnlyQuery for Option<Q> {
    type Part<'w> = Q::Part<'w>;

    fn part<'w>(state: &Self::State, place: &Place<'w, '_>) -> Self::Part<'w> {
        Q::part(&state.inner, place)
    }

    #[inline]
    fn at<'w>(part: &Self::Part<'w>, row: usize, entity: Entity) -> Option<Self::Item<'w>> {
        Some(Q::at(part, row, entity))
    }
}

/// A tuple of terms, as a nest of `Zip`s over their rows: these walk slices with one comparison for all.
#[doc(hidden)]
pub trait Tuple: Query {
    type Nest<'w>: Iterator;

    fn nothing<'w>() -> Self::Nest<'w>;
    fn flatten(row: <Self::Nest<'_> as Iterator>::Item) -> Self::Item<'_>;
}

/// Iterator over the rows of a tuple of terms.
pub struct TupleRows<'w, Q: Tuple>(Q::Nest<'w>);

impl<Q: Tuple> Default for TupleRows<'_, Q> {
    fn default() -> Self {
        Self(Q::nothing())
    }
}

impl<'w, Q: Tuple> Iterator for TupleRows<'w, Q> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(Q::flatten)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        self.0.fold(init, |acc, row| f(acc, Q::flatten(row)))
    }
}

/// `nest!(type: A B C)` is `Zip<Zip<A::Rows, B::Rows>, C::Rows>`, and so on for values and patterns.
macro_rules! nest {
    (type: $w:lifetime $first:ident $($rest:ident)*) => { nest!(@type $w ($first::Rows<$w>) $($rest)*) };
    (@type $w:lifetime ($nest:ty) $next:ident $($rest:ident)*) => { nest!(@type $w (Zip<$nest, $next::Rows<$w>>) $($rest)*) };
    (@type $w:lifetime ($nest:ty)) => { $nest };
    (value: $first:expr $(, $rest:expr)*) => { $first$(.zip($rest))* };
    (pattern: $first:ident $($rest:ident)*) => { nest!(@pattern ($first) $($rest)*) };
    (@pattern ($nest:pat) $next:ident $($rest:ident)*) => { nest!(@pattern (($nest, $next)) $($rest)*) };
    (@pattern ($nest:pat)) => { $nest };
}

/// Folds the rows of a tuple: the last term is folded beside the nest of the others.
macro_rules! fold_nest {
    (($init:expr, $f:expr) $first:ident $a:ident $($rest:tt)+) => { fold_nest!(@ ($init, $f) ($first::rows($a)) $($rest)+) };
    (($init:expr, $f:expr) $only:ident $a:ident) => { $only::fold($a, $init, $f) };
    (@ ($init:expr, $f:expr) ($nest:expr) $last:ident $a:ident) => { $last::fold_beside($a, $nest, $init, $f) };
    (@ ($init:expr, $f:expr) ($nest:expr) $next:ident $a:ident $($rest:tt)+) => {
        fold_nest!(@ ($init, $f) ($nest.zip($next::rows($a))) $($rest)+)
    };
}

macro_rules! tuples {
    ($(($($term:ident $at:tt $left:ident $right:ident),+);)*) => {$(
        impl<$($term: Query),+> Tuple for ($($term,)+) {
            type Nest<'w> = nest!(type: 'w $($term)+);

            fn nothing<'w>() -> Self::Nest<'w> {
                nest!(value: $($term::Rows::default()),+)
            }

            #[inline]
            fn flatten(row: <Self::Nest<'_> as Iterator>::Item) -> Self::Item<'_> {
                let nest!(pattern: $($left)+) = row;
                ($($left,)+)
            }
        }

        impl<$($term: Query),+> Query for ($($term,)+) {
            type Item<'w> = ($($term::Item<'w>,)+);
            type Slices<'w> = ($($term::Slices<'w>,)+);
            type State = ($($term::State,)+);
            type Fetch<'w> = ($($term::Fetch<'w>,)+);
            type Rows<'w> = TupleRows<'w, Self>;
            const KINDS: usize = 0 $(+ $term::KINDS)+;

            fn collect(requests: &mut Requests<'_>) {
                $($term::collect(requests);)+
            }

            fn bind(bound: &Bound) -> Self::State {
                ($($term::bind(bound),)+)
            }

            fn needs(state: &Self::State, need: &mut dyn FnMut(Term)) {
                $($term::needs(&state.$at, need);)+
            }

            #[inline]
            fn fetch<'w, const WIDTH: usize>(state: &Self::State, cells: &mut Cells<'w, '_, WIDTH>) -> Self::Fetch<'w> {
                ($($term::fetch(&state.$at, cells),)+)
            }

            type Kept<'b> = ($($term::Kept<'b>,)+);

            fn keep<'c, 'b, const WIDTH: usize>(
                state: &Self::State,
                cells: &mut Cells<'c, '_, WIDTH>,
                keeper: &Keeper<'c, 'b>,
            ) -> Option<Self::Kept<'b>> {
                Some(($($term::keep(&state.$at, cells, keeper)?,)+))
            }

            #[inline]
            fn open<'w, 'b>(kept: &'w mut Self::Kept<'b>, rows: EntityRows<'w>, room: Room<'w, 'b>) -> Self::Fetch<'w> {
                ($($term::open(&mut kept.$at, rows, room),)+)
            }

            #[inline]
            fn rows(fetch: Self::Fetch<'_>) -> Self::Rows<'_> {
                TupleRows(nest!(value: $($term::rows(fetch.$at)),+))
            }

            #[inline]
            fn fold<'w, Acc>(
                fetch: Self::Fetch<'w>,
                init: Acc,
                mut f: impl FnMut(Acc, Self::Item<'w>) -> Acc,
            ) -> Acc {
                let ($($left,)+) = fetch;
                fold_nest!((init, |acc, row| f(acc, Self::flatten(row))) $($term $left)+)
            }

            #[inline]
            fn slices(fetch: Self::Fetch<'_>) -> Self::Slices<'_> {
                ($($term::slices(fetch.$at),)+)
            }

            fn split(fetch: Self::Fetch<'_>, at: usize) -> (Self::Fetch<'_>, Self::Fetch<'_>) {
                $(let ($left, $right) = $term::split(fetch.$at, at);)+
                (($($left,)+), ($($right,)+))
            }

            #[inline]
            fn pick<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Item<'w>> {
                Some(($($term::pick(&mut fetch.$at, skip, id)?,)+))
            }

            fn pick_slices<'w>(fetch: &mut Self::Fetch<'w>, skip: usize, id: u32) -> Option<Self::Slices<'w>> {
                Some(($($term::pick_slices(&mut fetch.$at, skip, id)?,)+))
            }

            #[inline]
            fn holds(fetch: &Self::Fetch<'_>, id: u32) -> bool {
                $($term::holds(&fetch.$at, id))&&+
            }

            #[inline]
            fn iterate(slices: Self::Slices<'_>) -> Self::Rows<'_> {
                TupleRows(nest!(value: $($term::iterate(slices.$at)),+))
            }
        }

        impl<$($term: ReadOnlyQuery),+> ReadOnlyQuery for ($($term,)+) {
            type Part<'w> = ($($term::Part<'w>,)+);

            fn part<'w>(state: &Self::State, place: &Place<'w, '_>) -> Self::Part<'w> {
                ($($term::part(&state.$at, place),)+)
            }

            #[inline]
            fn at<'w>(part: &Self::Part<'w>, row: usize, entity: Entity) -> Option<Self::Item<'w>> {
                Some(($($term::at(&part.$at, row, entity)?,)+))
            }
        }
    )*};
}

tuples! {
    (A 0 a a1);
    (A 0 a a1, B 1 b b1);
    (A 0 a a1, B 1 b b1, C 2 c c1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1, F 5 f f1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1, F 5 f f1, G 6 g g1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1, F 5 f f1, G 6 g g1, H 7 h h1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1, F 5 f f1, G 6 g g1, H 7 h h1, I 8 i i1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1, F 5 f f1, G 6 g g1, H 7 h h1, I 8 i i1, J 9 j j1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1, F 5 f f1, G 6 g g1, H 7 h h1, I 8 i i1, J 9 j j1, K 10 k k1);
    (A 0 a a1, B 1 b b1, C 2 c c1, D 3 d d1, E 4 e e1, F 5 f f1, G 6 g g1, H 7 h h1, I 8 i i1, J 9 j j1, K 10 k k1, L 11 l l1);
}
