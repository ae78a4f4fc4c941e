//! The walk of a query over the archetypes that match, in the order of their creation.
#![allow(
    clippy::inline_always,
    reason = "measured: a visit of an archetype is a few dozen instructions, or hundreds when it is not one piece"
)]

use bumpalo::Bump;
use smallvec::SmallVec;

use super::cells::{Ahead, EntityRows, NumberedView, view_of};
use super::fetch::Query;
use super::filter::{Filter, FilterRows};
use super::lent::{Ground, Run};
use super::state::{KeptVisit, QueryCore, Scratch};
use super::stop::{Caller, Piece, Stop, stop};
use crate::store::Store;
use crate::store::archetype::Archetype;
use crate::store::column::Column;
use crate::store::entities::Slot;
use crate::store::sparse::SparseSet;
use crate::store::visits::visit_again;

/// The matching archetypes that are left, each given out once.
pub(super) struct Walk<'w, Q: Query, F: Filter> {
    state: &'w QueryCore<Q, F>,
    pieces: Pieces<'w, Q>,
    /// The next match.
    next: usize,
    slots: &'w [Slot],
    views: &'w [NumberedView<'w>],
    since: u64,
    now: u64,
}

/// The archetypes that lie ahead.
enum Pieces<'w, Q: Query> {
    Whole {
        archetypes: Ahead<'w, Archetype>,
        /// By match; none where rows are told apart.
        visits: Ahead<'w, KeptVisit<Q>>,
    },
    Lent {
        archetypes: &'w [Archetype],
        columns: Ahead<'w, Column>,
    },
}

impl<'w, Q: Query> Pieces<'w, Q> {
    /// Takes an archetype out: the one with this number, the match in this place.
    #[inline(always)]
    fn take(&mut self, number: usize, place: usize, written: usize) -> Option<Piece<'w, Q>> {
        match self {
            Self::Whole { archetypes, visits } => {
                Some(Piece::Whole(archetypes.take(number)?, visits.take(place)))
            }
            Self::Lent {
                archetypes,
                columns,
            } => Some(Piece::Lent(
                archetypes.get(number)?,
                columns.take_many(place * written, written)?,
            )),
        }
    }
}

impl<'w, Q: Query, F: Filter> Walk<'w, Q, F> {
    /// Begins a run.
    pub(super) fn new(
        state: &'w QueryCore<Q, F>,
        visits: &'w mut [KeptVisit<Q>],
        ground: Ground<'w>,
        Run { since, now }: Run,
        arena: &'w Bump,
    ) -> Self {
        let (slots, pieces, views): (_, _, &'w [NumberedView<'w>]) = match ground {
            Ground::Whole(store) => {
                let Store {
                    archetypes,
                    entities,
                    sparse,
                    ..
                } = store;
                let views = if state.by_row {
                    state.views(sparse, arena)
                } else {
                    &[]
                };
                let pieces = Pieces::Whole {
                    archetypes: Ahead::new(archetypes),
                    visits: Ahead::new(visits),
                };
                (entities.slots(), pieces, views)
            }
            Ground::Lent(store, loan) => {
                let (columns, sets) = loan.parts();
                let views = if state.by_row {
                    state.views_lent(store, sets, arena)
                } else {
                    &[]
                };
                let pieces = Pieces::Lent {
                    archetypes: &store.archetypes,
                    columns: Ahead::new(columns),
                };
                (store.entities.slots(), pieces, views)
            }
        };
        Self {
            state,
            pieces,
            next: 0,
            slots,
            views,
            since,
            now,
        }
    }

    /// Goes to the next archetype with rows. For one that is taken row by row, the scratch's bits say which rows pass.
    #[inline]
    pub(super) fn advance(&mut self, scratch: &mut Scratch) -> Option<Stop<'w, Q>> {
        if self.state.by_row {
            self.advance_by_row(scratch)
        } else {
            self.advance_whole(scratch)
        }
    }

    /// The same where rows are not told apart.
    #[inline(always)]
    pub(super) fn advance_whole(&mut self, scratch: &mut Scratch) -> Option<Stop<'w, Q>> {
        debug_assert!(!self.state.by_row);
        loop {
            let (place, _, piece) = self.step(scratch)?;
            if piece.archetype().len() != 0 {
                return Some(self.stop(place, &[], piece));
            }
        }
    }

    #[inline(always)]
    fn stop(
        &self,
        place: usize,
        views: &'w [NumberedView<'w>],
        piece: Piece<'w, Q>,
    ) -> Stop<'w, Q> {
        stop(self.state, self.slots, views, self.now, place, piece)
    }

    /// Takes the next match out: its place, the archetype's number, and that.
    #[inline(always)]
    fn step(&mut self, scratch: &mut Scratch) -> Option<(usize, usize, Piece<'w, Q>)> {
        let place = self.next;
        let number = *self.state.matches.get(place)? as usize;
        self.next += 1;
        scratch.visited += 1;
        let piece = self.pieces.take(number, place, self.state.written.len())?;
        Some((place, number, piece))
    }

    #[inline(never)]
    fn advance_by_row(&mut self, scratch: &mut Scratch) -> Option<Stop<'w, Q>> {
        loop {
            let (place, number, piece) = self.step(scratch)?;
            if piece.archetype().len() != 0 && self.select(number, &piece, &mut scratch.bits) {
                return Some(self.stop(place, self.views, piece));
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
        &mut self,
        scratch: &mut Scratch,
        init: B,
        mut f: impl FnMut(B, Q::Item<'w>) -> B,
    ) -> B {
        let Self {
            state,
            pieces,
            slots,
            now,
            next,
            ..
        } = self;
        let (state, slots, now) = (*state, *slots, *now);
        debug_assert!(!state.by_row);
        let matches = state.matches.get(*next..).unwrap_or_default();
        scratch.visited += matches.len() as u64;
        let mut acc = init;
        match pieces {
            Pieces::Whole { archetypes, visits } => {
                // All archetypes before the next match were taken, or passed over.
                let mut archetypes = std::mem::take(archetypes).left();
                let visits = std::mem::take(visits).left();
                let skips = state.skips.get(*next..).unwrap_or_default();
                debug_assert!(skips.len() == visits.len() && skips.len() == matches.len());
                for (at, (&skip, kept)) in skips.iter().zip(visits).enumerate() {
                    let Some([archetype, behind @ ..]) = archetypes.get_mut(skip as usize..) else {
                        break;
                    };
                    archetypes = behind;
                    let (ids, columns) = archetype.parts_mut();
                    let rows = EntityRows { ids, slots };
                    let caller = Caller {
                        state,
                        place: *next + at,
                        rows,
                    };
                    acc = match visit_again(kept, columns, &caller) {
                        Ok(fetch) => Q::fold(fetch, acc, &mut f),
                        Err((kept, columns)) => caller.fold_anew(kept, columns, now, acc, &mut f),
                    };
                }
            }
            lent @ Pieces::Lent { .. } => {
                for (place, &number) in matches.iter().enumerate() {
                    let (place, number) = (*next + place, number as usize);
                    let Some(piece) = lent.take(number, place, state.written.len()) else {
                        break;
                    };
                    let stop = stop(state, slots, &[], now, place, piece);
                    acc = Q::fold(stop.fetch, acc, &mut f);
                }
            }
        }
        acc
    }

    /// Goes to one archetype ahead, without asking which of its rows pass.
    pub(super) fn go_to(&mut self, place: usize) -> Option<Stop<'w, Q>> {
        let number = *self.state.matches.get(place)? as usize;
        let piece = self.pieces.take(number, place, self.state.written.len())?;
        Some(self.stop(place, self.views, piece))
    }

    /// Which rows of an archetype pass; false when none does.
    fn select(&self, number: usize, piece: &Piece<'_, Q>, bits: &mut Vec<u64>) -> bool {
        let archetype = piece.archetype();
        let needed = || {
            self.state
                .needs_sparse
                .iter()
                .filter_map(|set| view_of(self.views, *set))
        };
        if needed().any(|view| view.count(number) == 0) {
            return false;
        }
        let rows = FilterRows {
            archetype,
            lent: piece.lent(),
            views: self.views,
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

impl<Q: Query, F: Filter> QueryCore<Q, F> {
    /// Whether it writes a sparse set.
    fn writes_set(&self, number: u32) -> bool {
        let mut requests = self.bound.list.iter();
        requests.any(|request| request.writes() && request.sparse == Some(number))
    }

    /// The sparse sets that a run reaches.
    #[inline(never)]
    fn views<'w>(&self, sets: &'w mut [SparseSet], arena: &'w Bump) -> &'w [NumberedView<'w>] {
        let sets = sets.iter_mut().zip(0..);
        let reached = sets.filter(|(_, number)| self.bound.sets.contains(number));
        let views: SmallVec<[_; 4]> = reached
            .map(|(set, number)| {
                let written = self.writes_set(number);
                (number, if written { set.view_mut() } else { set.view() })
            })
            .collect();
        arena.alloc_slice_copy(&views)
    }

    /// The same where those that are written are lent.
    #[inline(never)]
    fn views_lent<'w>(
        &self,
        store: &'w Store,
        lent: &'w mut [(u32, SparseSet)],
        arena: &'w Bump,
    ) -> &'w [NumberedView<'w>] {
        let sets = self.bound.sets.iter().copied();
        let shared = sets.filter(|number| !self.writes_set(*number));
        let shared = shared.filter_map(|number| {
            let set = store.sparse.get(number as usize)?;
            Some((number, set.view()))
        });
        let lent = lent
            .iter_mut()
            .map(|(number, set)| (*number, set.view_mut()));
        let views: SmallVec<[_; 4]> = shared.chain(lent).collect();
        arena.alloc_slice_copy(&views)
    }

    /// Whether one row of a match passes, as a run would judge it.
    pub(super) fn passes(
        &self,
        ground: &Ground<'_>,
        views: &[NumberedView<'_>],
        place: usize,
        row: usize,
        since: u64,
    ) -> bool {
        let number = self.matches.get(place).copied();
        let archetypes = &ground.store().archetypes;
        let Some(archetype) = number.and_then(|number| archetypes.get(number as usize)) else {
            return false;
        };
        let Some(&id) = archetype.ids().get(row) else {
            return false;
        };
        let rows = FilterRows {
            archetype,
            lent: ground.columns(place, self.written.len()),
            views,
            since,
        };
        let lens = F::lens(&self.filter, &rows);
        let needed = |set: &u32| view_of(views, *set).is_some_and(|view| view.has(id));
        self.needs_sparse.iter().all(needed)
            && F::word(&lens, row - row % 64) & (1 << (row % 64)) != 0
    }
}
