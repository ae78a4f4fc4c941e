//! The walk of a query over the archetypes that match, in the order of their creation.
#![allow(
    clippy::inline_always,
    reason = "measured: a visit of an archetype is a few dozen instructions, or hundreds when it is not one piece"
)]

use smallvec::SmallVec;

use super::access::MAX_TERMS;
use super::cells::{Ahead, Cells, EntityRows, NumberedView, entity_at, view_of};
use super::fetch::Query;
use super::filter::{Filter, FilterRows};
use super::state::{QueryCore, Scratch};
use crate::base::entity::Entity;
use crate::store::Store;
use crate::store::archetype::Archetype;
use crate::store::entities::Slot;

/// The matching archetypes that are left, each given out once.
pub(super) struct Walk<'w, Q: Query, F: Filter> {
    state: &'w QueryCore<Q, F>,
    ahead: Ahead<'w, Archetype>,
    /// The next match.
    next: usize,
    slots: &'w [Slot],
    views: SmallVec<[NumberedView<'w>; 4]>,
    since: u64,
    now: u64,
}

/// One archetype as a query reaches it.
pub(super) struct Stop<'w, Q: Query> {
    pub(super) fetch: Q::Fetch<'w>,
    pub(super) ids: &'w [u32],
    slots: &'w [Slot],
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

impl<'w, Q: Query, F: Filter> Walk<'w, Q, F> {
    /// Begins a run that asks what changed after the tick `since`.
    pub(super) fn new(
        state: &'w QueryCore<Q, F>,
        store: &'w mut Store,
        since: u64,
        now: u64,
    ) -> Self {
        let Store {
            archetypes,
            entities,
            sparse,
            ..
        } = store;
        let mut views = SmallVec::new();
        if state.by_row {
            let reached = sparse
                .iter_mut()
                .enumerate()
                .map(|(number, set)| (number as u32, set));
            for (number, set) in reached.filter(|(number, _)| state.bound.sets.contains(number)) {
                let written = state
                    .bound
                    .list
                    .iter()
                    .any(|request| request.writes() && request.sparse == Some(number));
                views.push((number, if written { set.view_mut() } else { set.view() }));
            }
        }
        Self {
            state,
            ahead: Ahead::new(archetypes),
            next: 0,
            slots: entities.slots(),
            views,
            since,
            now,
        }
    }

    /// Goes to the next archetype with rows. For one that is taken row by row, the scratch's bits say which rows pass.
    #[inline]
    pub(super) fn advance(&mut self, scratch: &mut Scratch) -> Option<Stop<'w, Q>> {
        if self.state.by_row {
            return self.advance_by_row(scratch);
        }
        loop {
            let number = *self.state.matches.get(self.next)? as usize;
            self.next += 1;
            scratch.visited += 1;
            let archetype = self.ahead.take(number)?;
            if archetype.len() != 0 {
                return Some(stop(
                    self.state,
                    self.slots,
                    &[],
                    self.now,
                    number,
                    archetype,
                ));
            }
        }
    }

    #[inline(never)]
    fn advance_by_row(&mut self, scratch: &mut Scratch) -> Option<Stop<'w, Q>> {
        loop {
            let number = *self.state.matches.get(self.next)? as usize;
            self.next += 1;
            scratch.visited += 1;
            let archetype = self.ahead.take(number)?;
            if archetype.len() != 0 && self.select(number, archetype, &mut scratch.bits) {
                let views = &self.views;
                return Some(stop(
                    self.state, self.slots, views, self.now, number, archetype,
                ));
            }
        }
    }

    /// Whether a filter or a sparse kind tells rows apart.
    #[inline]
    pub(super) fn is_by_row(&self) -> bool {
        self.state.by_row
    }

    /// Folds all rows of the archetypes that are left, whole: no filter and no sparse kind tells rows apart.
    ///
    /// The way of a query over many small archetypes: what a visit needs stays in registers.
    #[inline]
    pub(super) fn fold_whole<B>(
        self,
        scratch: &mut Scratch,
        init: B,
        mut f: impl FnMut(B, Q::Item<'w>) -> B,
    ) -> B {
        let Self {
            state,
            mut ahead,
            slots,
            now,
            ..
        } = self;
        debug_assert!(!state.by_row);
        let matches = state.matches.get(self.next..).unwrap_or_default();
        scratch.visited += matches.len() as u64;
        let mut acc = init;
        for &number in matches {
            let Some(archetype) = ahead.take(number as usize) else {
                break;
            };
            let stop = stop(state, slots, &[], now, number as usize, archetype);
            acc = Q::rows(stop.fetch).fold(acc, &mut f);
        }
        acc
    }

    /// Goes to one archetype ahead, without asking which of its rows pass.
    pub(super) fn go_to(&mut self, place: usize) -> Option<Stop<'w, Q>> {
        let number = *self.state.matches.get(place)? as usize;
        let archetype = self.ahead.take(number)?;
        let views: &[NumberedView<'w>] = if self.state.by_row { &self.views } else { &[] };
        Some(stop(
            self.state, self.slots, views, self.now, number, archetype,
        ))
    }

    /// Which rows of an archetype pass; false when none does.
    fn select(&self, number: usize, archetype: &Archetype, bits: &mut Vec<u64>) -> bool {
        let needed = || {
            self.state
                .needs_sparse
                .iter()
                .filter_map(|set| view_of(&self.views, *set))
        };
        if needed().any(|view| view.count(number) == 0) {
            return false;
        }
        let rows = FilterRows {
            archetype,
            views: &self.views,
            since: self.since,
        };
        let lens = F::lens(&self.state.filter, &rows);
        let len = archetype.len();
        bits.clear();
        let mut any = 0;
        for first in (0..len).step_by(64) {
            let left = len - first;
            let mut word =
                F::word(&lens, first) & if left < 64 { (1 << left) - 1 } else { u64::MAX };
            for view in needed() {
                let mut rest = word;
                while rest != 0 {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    if !view.has(archetype.ids()[first + bit]) {
                        word &= !(1 << bit);
                    }
                }
            }
            any |= word;
            bits.push(word);
        }
        any != 0
    }
}

/// An archetype, taken apart for the terms of the query.
#[inline(always)]
fn stop<'w, Q: Query, F: Filter>(
    state: &QueryCore<Q, F>,
    slots: &'w [Slot],
    views: &[NumberedView<'w>],
    now: u64,
    number: usize,
    archetype: &'w mut Archetype,
) -> Stop<'w, Q> {
    macro_rules! wide {
        ($kinds:expr) => {
            stop_with::<Q, F, { $kinds }>(state, slots, views, now, number, archetype)
        };
    }
    match Q::KINDS {
        0 | 1 => wide!(1),
        2 => wide!(2),
        3 => wide!(3),
        4 => wide!(4),
        5..=8 => wide!(8),
        _ => wide!(MAX_TERMS),
    }
}

#[inline(always)]
fn stop_with<'w, Q: Query, F: Filter, const KINDS: usize>(
    state: &QueryCore<Q, F>,
    slots: &'w [Slot],
    views: &[NumberedView<'w>],
    now: u64,
    number: usize,
    archetype: &'w mut Archetype,
) -> Stop<'w, Q> {
    let (ids, columns) = archetype.parts_mut();
    let rows = EntityRows { ids, slots };
    let positions = state.positions_of(number);
    let mut cells = Cells::<KINDS>::new(columns, rows, &state.accesses, positions, views, now);
    let marks_rows = cells.marks_rows;
    let fetch = Q::fetch(&state.query, &mut cells);
    Stop {
        fetch,
        ids,
        slots,
        by_row: state.by_row,
        marks_rows,
    }
}

impl<Q: Query, F: Filter> QueryCore<Q, F> {
    /// Whether one row of a match passes, as a run would judge it.
    pub(super) fn passes(
        &self,
        store: &Store,
        views: &[NumberedView<'_>],
        place: usize,
        row: usize,
    ) -> bool {
        let number = self.matches.get(place).copied();
        let Some(archetype) = number.and_then(|number| store.archetypes.get(number as usize))
        else {
            return false;
        };
        let Some(&id) = archetype.ids().get(row) else {
            return false;
        };
        let rows = FilterRows {
            archetype,
            views,
            since: self.last_run,
        };
        let lens = F::lens(&self.filter, &rows);
        let needed = |set: &u32| view_of(views, *set).is_some_and(|view| view.has(id));
        self.needs_sparse.iter().all(needed)
            && F::word(&lens, row - row % 64) & (1 << (row % 64)) != 0
    }
}
