//! One archetype as a query reaches it: what its terms hold, looked up or kept since the last visit.
#![allow(
    clippy::inline_always,
    reason = "measured: a visit of an archetype is a few dozen instructions, or hundreds when it is not one piece"
)]

use super::access::MAX_TERMS;
use super::cells::{Cells, EntityRows, NumberedView, entity_at};
use super::fetch::Query;
use super::filter::Filter;
use super::state::{KeptVisit, QueryCore};
use crate::base::entity::Entity;
use crate::store::archetype::Archetype;
use crate::store::column::Column;
use crate::store::columns::Columns;
use crate::store::entities::Slot;
use crate::store::visits::{Keeper, Room, Visited, Visitor, visit};

/// One archetype, with the columns that are lent of it if it is shared.
pub(super) enum Piece<'w, Q: Query> {
    Whole(&'w mut Archetype, Option<&'w mut KeptVisit<Q>>),
    Lent(&'w Archetype, &'w mut [Column]),
}

impl<Q: Query> Piece<'_, Q> {
    #[inline(always)]
    pub(super) fn archetype(&self) -> &Archetype {
        match self {
            Self::Whole(archetype, _) => archetype,
            Self::Lent(archetype, _) => archetype,
        }
    }

    pub(super) fn lent(&self) -> &[Column] {
        match self {
            Self::Whole(..) => &[],
            Self::Lent(_, columns) => columns,
        }
    }
}

/// One archetype as a query reaches it.
pub(super) struct Stop<'w, Q: Query> {
    pub(super) fetch: Q::Fetch<'w>,
    pub(super) ids: &'w [u32],
    pub(super) slots: &'w [Slot],
    /// Rows are to be taken one by one: those that `bits` names, or all of them.
    pub(super) by_row: bool,
    /// A column written without marks of its own keeps ticks: a row that is not yielded must not be marked.
    pub(super) marks_rows: bool,
}

impl<Q: Query> Stop<'_, Q> {
    /// The entities whose rows pass.
    pub(super) fn selected(&self, bits: &[u64]) -> impl Iterator<Item = Entity> {
        self.ids.iter().enumerate().filter_map(move |(row, &id)| {
            let passes = !self.by_row
                || bits
                    .get(row / 64)
                    .is_some_and(|word| word & (1 << (row % 64)) != 0);
            passes.then(|| entity_at(self.slots, id)).flatten()
        })
    }
}

/// The same work with as many cells as a query needs.
macro_rules! with_cells {
    ($query:ident, |$kinds:ident| $work:block) => {
        match $query::KINDS {
            0 | 1 => with_cells!(@ $kinds 1 $work),
            2 => with_cells!(@ $kinds 2 $work),
            3 => with_cells!(@ $kinds 3 $work),
            4 => with_cells!(@ $kinds 4 $work),
            5..=8 => with_cells!(@ $kinds 8 $work),
            _ => with_cells!(@ $kinds MAX_TERMS $work),
        }
    };
    (@ $kinds:ident $number:tt $work:block) => {{
        const $kinds: usize = $number;
        $work
    }};
}

/// An archetype, taken apart for the terms of the query.
#[inline(always)]
pub(super) fn stop<'w, Q: Query, F: Filter>(
    state: &QueryCore<Q, F>,
    slots: &'w [Slot],
    views: &[NumberedView<'w>],
    now: u64,
    place: usize,
    piece: Piece<'w, Q>,
) -> Stop<'w, Q> {
    let (archetype, kept) = match piece {
        Piece::Whole(archetype, kept) => (archetype, kept),
        Piece::Lent(archetype, lent) => {
            let positions = state.positions_at(place);
            return stop_lent(state, slots, views, now, positions, archetype, lent);
        }
    };
    let (ids, columns) = archetype.parts_mut();
    let rows = EntityRows { ids, slots };
    let (fetch, marks_rows) = if let Some(kept) = kept {
        Caller { state, place, rows }.fetch(kept, columns, now)
    } else {
        let positions = state.positions_at(place);
        fetch_of(state, columns.lend(), rows, views, now, positions)
    };
    Stop {
        fetch,
        ids,
        slots,
        by_row: state.by_row,
        marks_rows,
    }
}

/// What the terms hold of an archetype's columns, and whether its rows are to be marked.
#[inline(always)]
fn fetch_of<'w, Q: Query, F: Filter>(
    state: &QueryCore<Q, F>,
    columns: &'w mut [Column],
    rows: EntityRows<'w>,
    views: &[NumberedView<'w>],
    now: u64,
    positions: &[u16],
) -> (Q::Fetch<'w>, bool) {
    with_cells!(Q, |KINDS| {
        let mut cells = Cells::<KINDS>::new(columns, rows, positions, views, now);
        (Q::fetch(&state.query, &mut cells), cells.marks_rows)
    })
}

/// A query that visits the archetype of one of its matches.
pub(super) struct Caller<'s, 'w, Q: Query, F: Filter> {
    pub(super) state: &'s QueryCore<Q, F>,
    pub(super) place: usize,
    pub(super) rows: EntityRows<'w>,
}

impl<'w, Q: Query, F: Filter> Caller<'_, 'w, Q, F> {
    /// What the terms hold of the archetype, and whether its rows are to be marked.
    #[inline(always)]
    fn fetch(
        &self,
        kept: &'w mut KeptVisit<Q>,
        columns: &'w mut Columns,
        now: u64,
    ) -> (Q::Fetch<'w>, bool) {
        match visit(kept, columns, self) {
            Visited::Parts(fetch) => (fetch, false),
            Visited::Columns(columns) => {
                let positions = self.state.positions_at(self.place);
                fetch_of(self.state, columns, self.rows, &[], now, positions)
            }
        }
    }

    /// Folds the rows of an archetype of which nothing is kept that is true. Takes itself by value: what others do with
    /// the caller then stays in registers.
    #[cold]
    #[inline(never)]
    pub(super) fn fold_anew<B>(
        self,
        kept: &'w mut KeptVisit<Q>,
        columns: &'w mut Columns,
        now: u64,
        acc: B,
        f: &mut impl FnMut(B, Q::Item<'w>) -> B,
    ) -> B {
        let (fetch, _) = self.fetch(kept, columns, now);
        Q::fold(fetch, acc, f)
    }
}

impl<'w, Q: Query, F: Filter> Visitor<'w> for Caller<'_, 'w, Q, F> {
    type Kept<'b> = Q::Kept<'b>;
    type Parts = Q::Fetch<'w>;

    fn keep<'c, 'b>(
        &self,
        columns: &'c mut [Column],
        keeper: &Keeper<'c, 'b>,
    ) -> Option<Self::Kept<'b>> {
        let positions = self.state.positions_at(self.place);
        let rows = EntityRows {
            ids: &[],
            slots: &[],
        };
        with_cells!(Q, |KINDS| {
            let mut cells = Cells::<KINDS>::new(columns, rows, positions, &[], 0);
            Q::keep(&self.state.query, &mut cells, keeper)
        })
    }

    #[inline(always)]
    fn open<'b>(&self, kept: &'w mut Self::Kept<'b>, room: Room<'w, 'b>) -> Self::Parts {
        Q::open(kept, self.rows, room)
    }
}

/// The same where the archetype is shared, and what is written of it is lent.
#[inline(never)]
fn stop_lent<'w, Q: Query, F: Filter>(
    state: &QueryCore<Q, F>,
    slots: &'w [Slot],
    views: &[NumberedView<'w>],
    now: u64,
    positions: &[u16],
    archetype: &'w Archetype,
    lent: &'w mut [Column],
) -> Stop<'w, Q> {
    let ids = archetype.ids();
    let rows = EntityRows { ids, slots };
    let requests = positions.iter().enumerate();
    let requests = requests.map(|(at, &position)| (position, state.written.contains(&(at as u8))));
    let mut cells = Cells::<MAX_TERMS>::lent(archetype, lent, rows, requests, views, now);
    let fetch = Q::fetch(&state.query, &mut cells);
    Stop {
        fetch,
        ids,
        slots,
        by_row: state.by_row,
        marks_rows: cells.marks_rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::iter::QueryIter;
    use crate::query::mutable::Mut;
    use crate::query::state::QueryState;
    use crate::store::Store;
    use crate::store::component::{Component, ComponentType, Named, Storage, TypeName};
    use crate::store::visits::Visit;

    struct Number<const SPARSE: bool>(u32);

    impl<const SPARSE: bool> Component for Number<SPARSE> {
        fn type_name() -> &'static str {
            if SPARSE { "Sparse" } else { "Number" }
        }

        fn export(&self) -> serde_json::Value {
            self.0.into()
        }

        fn storage() -> Storage {
            if SPARSE {
                Storage::Sparse
            } else {
                Storage::Table
            }
        }
    }

    struct Other;

    impl TypeName for Other {
        const NAME: &'static str = "Other";
    }

    type Second<T> = Named<T, Other>;

    /// Of which archetypes a query has kept something after each of two runs, the kind being tracked in between.
    fn kept<Q: Query>() -> [Vec<bool>; 2] {
        let mut store = Store::new();
        store.spawn(Number::<false>(1)).unwrap();
        store
            .spawn((
                Number::<false>(2),
                Named::new(Number::<false>(3)) as Second<_>,
            ))
            .unwrap();
        let mut state = QueryState::<Q, ()>::new(&mut store).unwrap();
        [(), ()].map(|()| {
            QueryIter::new(&mut state, &mut store).for_each(drop);
            let kind = store
                .intern(None, ComponentType::of::<Number<false>>())
                .unwrap();
            store.track(kind);
            state.visits.iter().map(Visit::is_kept).collect()
        })
    }

    #[test]
    fn all_that_is_not_marked_is_kept() {
        type Table = Number<false>;
        let all = vec![true, true];
        let none = vec![false, false];
        assert_eq!(kept::<&Table>(), [all.clone(), all.clone()]);
        assert_eq!(kept::<&mut Table>(), [all.clone(), none.clone()]);
        assert_eq!(kept::<Mut<'_, Table>>(), [all.clone(), none]);
        let both = kept::<(Entity, &Table, Option<Second<&mut Table>>)>();
        assert_eq!(both, [all.clone(), all]);
        // The archetype without kinds comes first.
        let [optional, tracked] = kept::<Option<(&mut Table, Second<&Table>)>>();
        assert_eq!(optional, [true, true, true]);
        assert_eq!(tracked, [true, true, false]);
    }

    #[test]
    fn nothing_is_kept_where_rows_are_told_apart() {
        let kept = kept::<(&Number<false>, &Number<true>)>();
        assert!(kept.iter().all(Vec::is_empty), "{kept:?}");
    }
}
