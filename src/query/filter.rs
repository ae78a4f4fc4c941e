//! Filters: which of the matching entities a query yields.

use std::marker::PhantomData;

use super::access::Requests;
use super::cells::{NumberedView, view_of};
use super::later::later;
use crate::store::archetype::Archetype;
use crate::store::column::Column;
use crate::store::component::{Component, ComponentType, Named, TypeName};
use crate::store::kinds::KindId;
use crate::store::sparse::SparseView;

/// Narrows a query: one of the filters below, or a tuple of them, all of which must hold.
///
/// | filter | lets through |
/// | --- | --- |
/// | [`With<T>`] | entities that have a `T` |
/// | [`Without<T>`] | entities that have none |
/// | [`Or<(A, B, …)>`](Or) | what at least one of the filters lets through |
/// | [`Changed<T>`] | entities whose `T` was written (or added) since the reader last ran |
/// | [`Added<T>`] | entities that got their `T` since the reader last ran |
///
/// A filter borrows nothing: `Changed<T>` may stand beside `&mut T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query filter",
    label = "use `With<T>`, `Without<T>`, `Or<(…)>`, `Changed<T>`, `Added<T>`, or a tuple of these"
)]
pub trait Filter {
    #[doc(hidden)]
    type State: Send + Sync + 'static;
    /// The filter in one archetype.
    #[doc(hidden)]
    type Lens<'a>;

    #[doc(hidden)]
    fn collect(requests: &mut Requests<'_>) -> Self::State;
    /// Whether rows of one archetype can differ in passing.
    #[doc(hidden)]
    fn by_row(state: &Self::State) -> bool;
    /// Whether an archetype may have rows that pass, as far as its table kinds tell.
    #[doc(hidden)]
    fn admits(state: &Self::State, archetype: &Archetype) -> bool;
    #[doc(hidden)]
    fn lens<'a>(state: &Self::State, rows: &FilterRows<'a, '_>) -> Self::Lens<'a>;
    /// Which of the 64 rows from `first` on pass, as bits; bits past the last row mean nothing.
    #[doc(hidden)]
    fn word(lens: &Self::Lens<'_>, first: usize) -> u64;
}

/// A kind that a filter asks about: a component type, or [`Named<T, N>`](crate::Named) for a type under another name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "ask for a component type, or for `Named<T, N>`"
)]
pub trait AskedKind {
    #[doc(hidden)]
    fn name() -> Option<&'static str>;
    #[doc(hidden)]
    fn component() -> ComponentType;
}

impl<T: Component> AskedKind for T {
    fn name() -> Option<&'static str> {
        None
    }

    fn component() -> ComponentType {
        ComponentType::of::<T>()
    }
}

impl<T: Component, N: TypeName> AskedKind for Named<T, N> {
    fn name() -> Option<&'static str> {
        Some(N::NAME)
    }

    fn component() -> ComponentType {
        ComponentType::of::<T>()
    }
}

/// A filter that does not ask what changed, so that it needs no reader to remember when it last ran.
#[diagnostic::on_unimplemented(
    message = "`{Self}` asks what changed since a reader last ran, and this call has no reader",
    label = "prepare the query with `World::prepare_filtered` and keep it"
)]
pub trait Timeless: Filter {}

/// The rows of one archetype, as a filter sees them.
#[doc(hidden)]
pub struct FilterRows<'a, 'v> {
    pub(super) archetype: &'a Archetype,
    /// Columns of the archetype that are lent to the query, and empty in it.
    pub(super) lent: &'a [Column],
    pub(super) views: &'v [NumberedView<'a>],
    pub(super) since: u64,
}

impl<'a> FilterRows<'a, '_> {
    fn column(&self, kind: KindId) -> Option<&'a Column> {
        let lent = self.lent.iter().find(|column| column.kind() == kind);
        lent.or_else(|| {
            let at = self.archetype.position(kind)?;
            self.archetype.columns().get(at)
        })
    }
}

/// A kind that a filter asks about.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Wanted {
    kind: Option<KindId>,
    sparse: Option<u32>,
}

impl Wanted {
    fn collect<T: AskedKind>(requests: &mut Requests<'_>) -> Self {
        let kind = requests.kind(T::name(), T::component());
        let sparse = kind.and_then(|kind| requests.sparse(kind));
        if let (Some(kind), Some(_)) = (kind, sparse) {
            requests.look_at(kind);
        }
        Self { kind, sparse }
    }

    fn collect_tracked<T: AskedKind>(requests: &mut Requests<'_>) -> Self {
        let wanted = Self::collect::<T>(requests);
        if let Some(kind) = wanted.kind {
            requests.store.track(kind);
            requests.look_at(kind);
        }
        wanted
    }

    fn in_table(self, archetype: &Archetype) -> bool {
        self.kind
            .is_some_and(|kind| archetype.position(kind).is_some())
    }

    fn lens<'a>(self, rows: &FilterRows<'a, '_>) -> PresenceLens<'a> {
        match self.sparse {
            None => PresenceLens::Table(self.in_table(rows.archetype)),
            Some(set) => PresenceLens::Sparse {
                view: view_of(rows.views, set),
                ids: rows.archetype.ids(),
            },
        }
    }

    fn tick_lens<'a>(self, rows: &FilterRows<'a, '_>, which: Which) -> TickLens<'a> {
        let since = rows.since;
        match self.sparse {
            None => {
                let column = self.kind.and_then(|kind| rows.column(kind));
                let ticks = column.and_then(Column::ticks);
                let ticks = match (ticks, which) {
                    (None, _) => &[],
                    (Some(ticks), Which::Added) => ticks.added(),
                    (Some(ticks), Which::Changed) if ticks.whole() > since => return TickLens::All,
                    (Some(ticks), Which::Changed) => ticks.changed(),
                };
                TickLens::Table { ticks, since }
            }
            Some(set) => {
                let view = view_of(rows.views, set);
                TickLens::Sparse {
                    view,
                    ids: rows.archetype.ids(),
                    which,
                    since,
                }
            }
        }
    }
}

/// Whether rows have a kind.
#[doc(hidden)]
pub enum PresenceLens<'a> {
    Table(bool),
    Sparse {
        view: Option<SparseView<'a>>,
        ids: &'a [u32],
    },
}

impl PresenceLens<'_> {
    fn word(&self, first: usize) -> u64 {
        match self {
            Self::Table(present) => {
                if *present {
                    u64::MAX
                } else {
                    0
                }
            }
            Self::Sparse { view: None, .. } => 0,
            Self::Sparse {
                view: Some(view),
                ids,
            } => bits(ids, first, |id| view.has(*id)),
        }
    }
}

#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Which {
    Added,
    Changed,
}

/// Whether rows were written or added since a tick.
#[doc(hidden)]
pub enum TickLens<'a> {
    /// All of them were.
    All,
    Table {
        ticks: &'a [u64],
        since: u64,
    },
    Sparse {
        view: Option<SparseView<'a>>,
        ids: &'a [u32],
        which: Which,
        since: u64,
    },
}

impl TickLens<'_> {
    #[inline]
    fn word(&self, first: usize) -> u64 {
        match self {
            Self::All => u64::MAX,
            Self::Table { ticks, since } => later(ticks, first, *since),
            Self::Sparse { view: None, .. } => 0,
            Self::Sparse {
                view: Some(view),
                ids,
                which,
                since,
            } => bits(ids, first, |id| {
                view.ticks(*id).is_some_and(|(added, changed)| match which {
                    Which::Added => added > *since,
                    Which::Changed => changed > *since,
                })
            }),
        }
    }
}

fn bits<T>(rows: &[T], first: usize, test: impl Fn(&T) -> bool) -> u64 {
    let rows = rows.get(first..).unwrap_or_default().iter().take(64);
    rows.enumerate()
        .fold(0, |word, (bit, row)| word | (u64::from(test(row)) << bit))
}

/// Lets through entities that have a `T`.
pub struct With<T>(PhantomData<fn() -> T>);

/// Lets through entities that have no `T`.
pub struct Without<T>(PhantomData<fn() -> T>);

/// Lets through what at least one filter of the tuple lets through.
pub struct Or<F>(PhantomData<fn() -> F>);

/// Lets through entities whose `T` was written since the reader last ran; an added one counts as written.
///
/// The prepared query is the reader. Its first run sees everything present, and its own writes are not news to it.
/// From the first such query on the kind keeps ticks: 16 bytes for each component.
pub struct Changed<T>(PhantomData<fn() -> T>);

/// Lets through entities that got their `T` since the reader last ran. See [`Changed`].
pub struct Added<T>(PhantomData<fn() -> T>);

impl<T: AskedKind> Filter for With<T> {
    type State = Wanted;
    type Lens<'a> = PresenceLens<'a>;

    fn collect(requests: &mut Requests<'_>) -> Wanted {
        Wanted::collect::<T>(requests)
    }

    fn by_row(state: &Wanted) -> bool {
        state.sparse.is_some()
    }

    fn admits(state: &Wanted, archetype: &Archetype) -> bool {
        state.sparse.is_some() || state.in_table(archetype)
    }

    fn lens<'a>(state: &Wanted, rows: &FilterRows<'a, '_>) -> PresenceLens<'a> {
        state.lens(rows)
    }

    fn word(lens: &PresenceLens<'_>, first: usize) -> u64 {
        lens.word(first)
    }
}

impl<T: AskedKind> Filter for Without<T> {
    type State = Wanted;
    type Lens<'a> = PresenceLens<'a>;

    fn collect(requests: &mut Requests<'_>) -> Wanted {
        Wanted::collect::<T>(requests)
    }

    fn by_row(state: &Wanted) -> bool {
        state.sparse.is_some()
    }

    fn admits(state: &Wanted, archetype: &Archetype) -> bool {
        state.sparse.is_some() || !state.in_table(archetype)
    }

    fn lens<'a>(state: &Wanted, rows: &FilterRows<'a, '_>) -> PresenceLens<'a> {
        state.lens(rows)
    }

    fn word(lens: &PresenceLens<'_>, first: usize) -> u64 {
        !lens.word(first)
    }
}

macro_rules! tick_filters {
    ($($name:ident)*) => {$(
        impl<T: AskedKind> Filter for $name<T> {
            type State = Wanted;
            type Lens<'a> = TickLens<'a>;

            fn collect(requests: &mut Requests<'_>) -> Wanted {
                Wanted::collect_tracked::<T>(requests)
            }

            fn by_row(_: &Wanted) -> bool {
                true
            }

            fn admits(state: &Wanted, archetype: &Archetype) -> bool {
                state.sparse.is_some() || state.in_table(archetype)
            }

            fn lens<'a>(state: &Wanted, rows: &FilterRows<'a, '_>) -> TickLens<'a> {
                state.tick_lens(rows, Which::$name)
            }

            #[inline]
            fn word(lens: &TickLens<'_>, first: usize) -> u64 {
                lens.word(first)
            }
        }
    )*};
}

tick_filters!(Added Changed);

impl<T: AskedKind> Timeless for With<T> {}
impl<T: AskedKind> Timeless for Without<T> {}

macro_rules! tuples {
    ($(($($filter:ident $at:tt),*);)*) => {$(
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple filters nothing")]
        impl<$($filter: Filter),*> Filter for ($($filter,)*) {
            type State = ($($filter::State,)*);
            type Lens<'a> = ($($filter::Lens<'a>,)*);

            fn collect(requests: &mut Requests<'_>) -> Self::State {
                ($($filter::collect(requests),)*)
            }

            fn by_row(state: &Self::State) -> bool {
                false $(|| $filter::by_row(&state.$at))*
            }

            fn admits(state: &Self::State, archetype: &Archetype) -> bool {
                true $(&& $filter::admits(&state.$at, archetype))*
            }

            fn lens<'a>(state: &Self::State, rows: &FilterRows<'a, '_>) -> Self::Lens<'a> {
                ($($filter::lens(&state.$at, rows),)*)
            }

            #[inline]
            fn word(lens: &Self::Lens<'_>, first: usize) -> u64 {
                u64::MAX $(& $filter::word(&lens.$at, first))*
            }
        }

        impl<$($filter: Timeless),*> Timeless for ($($filter,)*) {}
    )*};
}

macro_rules! alternatives {
    ($(($($filter:ident $at:tt),+);)*) => {$(
        impl<$($filter: Filter),+> Filter for Or<($($filter,)+)> {
            type State = ($($filter::State,)+);
            type Lens<'a> = ($($filter::Lens<'a>,)+);

            fn collect(requests: &mut Requests<'_>) -> Self::State {
                ($($filter::collect(requests),)+)
            }

            fn by_row(state: &Self::State) -> bool {
                $($filter::by_row(&state.$at))||+
            }

            fn admits(state: &Self::State, archetype: &Archetype) -> bool {
                $($filter::admits(&state.$at, archetype))||+
            }

            fn lens<'a>(state: &Self::State, rows: &FilterRows<'a, '_>) -> Self::Lens<'a> {
                ($($filter::lens(&state.$at, rows),)+)
            }

            fn word(lens: &Self::Lens<'_>, first: usize) -> u64 {
                $($filter::word(&lens.$at, first))|+
            }
        }

        impl<$($filter: Timeless),+> Timeless for Or<($($filter,)+)> {}
    )*};
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

alternatives! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
