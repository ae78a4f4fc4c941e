//! Queries that run beside others: what they write is lent to them.
//!
//! Several queries may run at the same time on one store as long as no kind that one of them writes is reached by
//! another. All of them hold the store shared; what a query writes is taken out of the store before, and put back
//! after:
//!
//! ```text
//!   at home    store      [ a ][ b ][ c ]      loan   [ - ]      a loan's own columns are empty and stay so
//!   lent       store      [ a ][ - ][ c ]      loan   [ b ]      `b` is reached through the loan alone
//! ```
//!
//! Only the heads of the columns are swapped, a few words each; archetypes without rows are passed over. Meanwhile the
//! store keeps its structure, for nobody can change it while it is shared.

use super::cells::ABSENT;
use super::fetch::Query;
use super::filter::Filter;
use super::state::QueryCore;
use crate::store::Store;
use crate::store::archetype::Archetype;
use crate::store::column::Column;
use crate::store::sparse::SparseSet;

/// What a query writes, out of its store while it is lent.
#[derive(Default)]
pub(crate) struct Loan {
    /// For each match one column for each table kind that is written, in the order of the requests.
    columns: Vec<Column>,
    /// The sparse sets that are written, with their numbers.
    sets: Vec<(u32, SparseSet)>,
    matches: usize,
    epoch: u64,
}

/// The ticks of a run: what changed after `since` is news to it, and what it writes is marked with `now`.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) since: u64,
    pub(crate) now: u64,
}

/// Where a query runs.
pub(crate) enum Ground<'w> {
    Whole(&'w mut Store),
    Lent(&'w Store, &'w mut Loan),
}

impl Ground<'_> {
    #[inline]
    pub(super) fn store(&self) -> &Store {
        match self {
            Self::Whole(store) => store,
            Self::Lent(store, _) => store,
        }
    }

    /// The columns that are lent for a match of a query that writes so many.
    pub(super) fn columns(&self, place: usize, written: usize) -> &[Column] {
        match self {
            Self::Whole(_) => &[],
            Self::Lent(_, loan) => loan
                .columns
                .get(place * written..(place + 1) * written)
                .unwrap_or_default(),
        }
    }

    pub(super) fn set(&self, number: u32) -> Option<&SparseSet> {
        let lent = match self {
            Self::Whole(_) => None,
            Self::Lent(_, loan) => loan.sets.iter().find(|(lent, _)| *lent == number),
        };
        match lent {
            Some((_, set)) => Some(set),
            None => self.store().sparse.get(number as usize),
        }
    }
}

impl Loan {
    /// What is lent: columns by match, sets.
    pub(super) fn parts(&mut self) -> (&mut [Column], &mut [(u32, SparseSet)]) {
        (&mut self.columns, &mut self.sets)
    }

    /// Takes what the query writes out of its store, whose archetypes the query knows, or puts it back.
    pub(crate) fn swap<Q: Query, F: Filter>(&mut self, query: &QueryCore<Q, F>, store: &mut Store) {
        self.learn(query, store);
        let written = query.written.len();
        if written != 0 {
            for (columns, &number) in self.columns.chunks_mut(written).zip(&query.matches) {
                let positions = query.positions_of(number as usize);
                if let Some(archetype) = store.archetypes.get_mut(number as usize)
                    && archetype.len() != 0
                {
                    swap_columns(archetype, columns, &query.written, positions);
                }
            }
        }
        for (number, set) in &mut self.sets {
            if let Some(home) = store.sparse.get_mut(*number as usize) {
                std::mem::swap(home, set);
            }
        }
    }

    /// Makes empty columns for matches that are new. All columns are at home then.
    fn learn<Q: Query, F: Filter>(&mut self, query: &QueryCore<Q, F>, store: &Store) {
        if self.epoch != store.epoch() {
            *self = Self {
                epoch: store.epoch(),
                ..Self::default()
            };
        }
        if self.matches == query.matches.len() && self.matches != 0 {
            return;
        }
        let requests = || query.bound.list.iter().filter(|request| request.writes());
        for _ in self.matches..query.matches.len() {
            let tables = requests().filter(|request| request.sparse.is_none());
            self.columns
                .extend(tables.map(|request| store.spare_column(request.kind)));
        }
        self.matches = query.matches.len();
        if self.sets.is_empty() {
            let sets = requests().filter_map(|request| Some((request.sparse?, request.kind)));
            self.sets
                .extend(sets.map(|(number, kind)| (number, store.spare_set(kind))));
        }
    }
}

fn swap_columns(
    archetype: &mut Archetype,
    columns: &mut [Column],
    written: &[u8],
    positions: &[u16],
) {
    let home = archetype.columns_mut();
    for (column, &request) in columns.iter_mut().zip(written) {
        let position = positions.get(request as usize).copied().unwrap_or(ABSENT);
        if let Some(home) = home.get_mut(position as usize) {
            std::mem::swap(home, column);
        }
    }
}
