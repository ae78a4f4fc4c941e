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
use super::lent::{Ground, Run};
use super::state::{QueryCore, Scratch};
use crate::base::entity::Entity;
use crate::store::Store;
use crate::store::archetype::Archetype;
use crate::store::column::Column;
use crate::store::entities::Slot;

/// The matching archetypes that are left, each given out once.
pub(super) struct Walk<'w, Q: Query, F: Filter> {
    state: &'w QueryCore<Q, F>,
    pieces: Pieces<'w>,
    /// The next match.
    next: usize,
    slots: &'w [Slot],
    views: SmallVec<[NumberedView<'w>; 4]>,
    since: u64,
    now: u64,
}

/// The archetypes that lie ahead.
enum Pieces<'w> {
    Whole(Ahead<'w, Archetype>),
    Lent {
        archetypes: &'w [Archetype],
        columns: Ahead<'w, Column>,
    },
}

/// One archetype, with the columns that are lent of it if it is shared.
enum Piece<'w> {
    Whole(&'w mut Archetype),
    Lent(&'w Archetype, &'w mut [Column]),
}

impl<'w> Pieces<'w> {
    /// Takes an archetype out: the one with this number, the match in this place.
    #[inline(always)]
    fn take(&mut self, number: usize, place: usize, written: usize) -> Option<Piece<'w>> {
        match self {
            Self::Whole(ahead) => Some(Piece::Whole(ahead.take(number)?)),
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

impl Piece<'_> {
    #[inline(always)]
    fn archetype(&self) -> &Archetype {
        match self {
            Self::Whole(archetype) => archetype,
            Self::Lent(archetype, _) => archetype,
        }
    }

    fn lent(&self) -> &[Column] {
        match self {
            Self::Whole(_) => &[],
            Self::Lent(_, columns) => columns,
        }
    }
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
    /// Begins a run.
    pub(super) fn new(
        state: &'w QueryCore<Q, F>,
        ground: Ground<'w>,
        Run { since, now }: Run,
    ) -> Self {
        let mut views = SmallVec::new();
        let (slots, pieces) = match ground {
            Ground::Whole(store) => {
                let Store {
                    archetypes,
                    entities,
                    sparse,
                    ..
                } = store;
                if state.by_row {
                    let reached = sparse.iter_mut().enumerate();
                    let reached = reached.map(|(number, set)| (number as u32, set));
                    for (number, set) in
                        reached.filter(|(number, _)| state.bound.sets.contains(number))
                    {
                        let written = state.writes_set(number);
                        views.push((number, if written { set.view_mut() } else { set.view() }));
                    }
                }
                (entities.slots(), Pieces::Whole(Ahead::new(archetypes)))
            }
            Ground::Lent(store, loan) => {
                let (columns, sets) = loan.parts();
                for &number in &state.bound.sets {
                    if !state.writes_set(number)
                        && let Some(set) = store.sparse.get(number as usize)
                    {
                        views.push((number, set.view()));
                    }
                }
                views.extend(
                    sets.iter_mut()
                        .map(|(number, set)| (*number, set.view_mut())),
                );
                let pieces = Pieces::Lent {
                    archetypes: &store.archetypes,
                    columns: Ahead::new(columns),
                };
                (store.entities.slots(), pieces)
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
            return self.advance_by_row(scratch);
        }
        loop {
            let (number, piece) = self.step(scratch)?;
            if piece.archetype().len() != 0 {
                return Some(stop(self.state, self.slots, &[], self.now, number, piece));
            }
        }
    }

    /// Takes the next match out.
    #[inline(always)]
    fn step(&mut self, scratch: &mut Scratch) -> Option<(usize, Piece<'w>)> {
        let place = self.next;
        let number = *self.state.matches.get(place)? as usize;
        self.next += 1;
        scratch.visited += 1;
        let piece = self.pieces.take(number, place, self.state.written.len())?;
        Some((number, piece))
    }

    #[inline(never)]
    fn advance_by_row(&mut self, scratch: &mut Scratch) -> Option<Stop<'w, Q>> {
        loop {
            let (number, piece) = self.step(scratch)?;
            if piece.archetype().len() != 0 && self.select(number, &piece, &mut scratch.bits) {
                let views = &self.views;
                return Some(stop(self.state, self.slots, views, self.now, number, piece));
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
            pieces,
            slots,
            now,
            ..
        } = self;
        debug_assert!(!state.by_row);
        let matches = state.matches.get(self.next..).unwrap_or_default();
        scratch.visited += matches.len() as u64;
        let mut acc = init;
        match pieces {
            Pieces::Whole(mut ahead) => {
                for &number in matches {
                    let Some(archetype) = ahead.take(number as usize) else {
                        break;
                    };
                    let piece = Piece::Whole(archetype);
                    let stop = stop(state, slots, &[], now, number as usize, piece);
                    acc = Q::rows(stop.fetch).fold(acc, &mut f);
                }
            }
            mut lent @ Pieces::Lent { .. } => {
                for (place, &number) in matches.iter().enumerate() {
                    let (place, number) = (self.next + place, number as usize);
                    let Some(piece) = lent.take(number, place, state.written.len()) else {
                        break;
                    };
                    let stop = stop(state, slots, &[], now, number, piece);
                    acc = Q::rows(stop.fetch).fold(acc, &mut f);
                }
            }
        }
        acc
    }

    /// Goes to one archetype ahead, without asking which of its rows pass.
    pub(super) fn go_to(&mut self, place: usize) -> Option<Stop<'w, Q>> {
        let number = *self.state.matches.get(place)? as usize;
        let piece = self.pieces.take(number, place, self.state.written.len())?;
        let views: &[NumberedView<'w>] = if self.state.by_row { &self.views } else { &[] };
        Some(stop(self.state, self.slots, views, self.now, number, piece))
    }

    /// Which rows of an archetype pass; false when none does.
    fn select(&self, number: usize, piece: &Piece<'_>, bits: &mut Vec<u64>) -> bool {
        let archetype = piece.archetype();
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
            lent: piece.lent(),
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
    piece: Piece<'w>,
) -> Stop<'w, Q> {
    let archetype = match piece {
        Piece::Whole(archetype) => archetype,
        Piece::Lent(archetype, lent) => {
            return stop_lent(state, slots, views, now, number, archetype, lent);
        }
    };
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

/// The same where the archetype is shared, and what is written of it is lent.
#[inline(never)]
fn stop_lent<'w, Q: Query, F: Filter>(
    state: &QueryCore<Q, F>,
    slots: &'w [Slot],
    views: &[NumberedView<'w>],
    now: u64,
    number: usize,
    archetype: &'w Archetype,
    lent: &'w mut [Column],
) -> Stop<'w, Q> {
    let ids = archetype.ids();
    let rows = EntityRows { ids, slots };
    let positions = state.positions_of(number);
    let requests = state.accesses.iter().zip(positions).enumerate();
    let requests = requests
        .map(|(at, (&access, &position))| (access, position, state.written.contains(&(at as u8))));
    let mut cells = Cells::<MAX_TERMS>::lent(archetype, lent, rows, requests, views, now);
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
    /// Whether it writes a sparse set.
    fn writes_set(&self, number: u32) -> bool {
        let mut requests = self.bound.list.iter();
        requests.any(|request| request.writes() && request.sparse == Some(number))
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
