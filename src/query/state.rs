//! The prepared state of a query: its terms resolved in one world, and the archetypes that match.

use bumpalo::Bump;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::access::{Bound, Requests};
use super::cells::ABSENT;
use super::error::QueryError;
use super::fetch::Query;
use super::filter::Filter;
use crate::store::Store;
use crate::store::visits::Visit;

/// What preparing a query has cost so far, and what it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryStatistics {
    /// Archetypes that match.
    pub matched: usize,
    /// How often an archetype was looked at to see whether it matches: once each, when it is new.
    pub examined: u64,
    /// How often a matching archetype was visited by an iteration, empty ones included.
    pub visited: u64,
}

/// The prepared state of a query, with what its runs write.
pub(crate) struct QueryState<Q: Query, F: Filter> {
    pub(crate) core: QueryCore<Q, F>,
    pub(super) scratch: Scratch,
    pub(super) arena: Arena,
    /// For each match what is kept from one visit to the next, where rows are not told apart.
    pub(super) visits: Vec<KeptVisit<Q>>,
}

pub(super) type KeptVisit<Q> = Visit<<Q as Query>::Kept<'static>>;

/// What a run of a query writes while it reads the rest of the state.
#[derive(Default)]
pub(super) struct Scratch {
    /// Rows that pass, of the archetype at hand; kept for its memory.
    pub(super) bits: Vec<u64>,
    pub(super) visited: u64,
}

/// Memory for what lives as long as one run. Kept, so that only the first run asks for it.
///
/// Nobody waits for the lock, nor takes it: it says that a state that is shared changes nothing here.
#[derive(Default)]
pub(super) struct Arena(Mutex<Bump>);

impl Arena {
    #[inline]
    pub(super) fn begin(&mut self) -> &Bump {
        let bump = self.0.get_mut();
        bump.reset();
        bump
    }
}

impl<Q: Query, F: Filter> QueryState<Q, F> {
    pub(crate) fn new(store: &mut Store) -> Result<Self, QueryError> {
        Ok(Self {
            core: QueryCore::new(store)?,
            scratch: Scratch::default(),
            arena: Arena::default(),
            visits: Vec::new(),
        })
    }

    pub(crate) fn statistics(&self) -> QueryStatistics {
        let matched = self.core.matches.len();
        QueryStatistics {
            matched,
            examined: self.core.examined,
            visited: self.scratch.visited,
        }
    }
}

pub(crate) struct QueryCore<Q: Query, F: Filter> {
    world: u64,
    epoch: u64,
    seen: usize,
    pub(super) bound: Bound,
    pub(super) query: Q::State,
    pub(super) filter: F::State,
    /// The numbers of the matching archetypes, ascending.
    pub(super) matches: Vec<u32>,
    /// For each match, how many archetypes lie between it and the one before.
    pub(super) skips: Vec<u32>,
    /// For each match, the column of each request, or `ABSENT`.
    pub(super) positions: Vec<u16>,
    /// The same for each archetype, matching or not.
    all_positions: Vec<u16>,
    /// By archetype: its place in `matches`, or `u32::MAX`.
    pub(super) match_of: Vec<u32>,
    /// The requests that write table kinds, ascending.
    pub(super) written: SmallVec<[u8; 4]>,
    /// Sets that an entity must be in.
    pub(super) needs_sparse: SmallVec<[u32; 2]>,
    pub(super) by_row: bool,
    pub(super) last_run: u64,
    examined: u64,
}

impl<Q: Query, F: Filter> QueryCore<Q, F> {
    fn new(store: &mut Store) -> Result<Self, QueryError> {
        let mut requests = Requests::new(store);
        Q::collect(&mut requests);
        let filter = F::collect(&mut requests);
        let bound = requests.finish()?;
        let query = Q::bind(&bound);
        let required = bound.list.iter().filter(|request| request.required);
        let needs_sparse: SmallVec<[u32; 2]> =
            required.filter_map(|request| request.sparse).collect();
        let reaches_sparse = bound.list.iter().any(|request| request.sparse.is_some());
        let by_row = F::by_row(&filter) || reaches_sparse;
        let writes = bound.list.iter().enumerate();
        let written = writes
            .filter(|(_, request)| request.writes() && request.sparse.is_none())
            .map(|(at, _)| at as u8)
            .collect();
        let mut state = Self {
            world: store.id(),
            epoch: store.epoch(),
            seen: 0,
            bound,
            query,
            filter,
            matches: Vec::new(),
            skips: Vec::new(),
            positions: Vec::new(),
            all_positions: Vec::new(),
            match_of: Vec::new(),
            written,
            needs_sparse,
            by_row,
            last_run: 0,
            examined: 0,
        };
        state.update(store)?;
        Ok(state)
    }

    /// Whether the state is of this world and knows all its archetypes.
    #[inline]
    pub(crate) fn is_current(&self, store: &Store) -> bool {
        self.world == store.id()
            && self.epoch == store.epoch()
            && self.seen == store.archetypes.len()
    }

    /// Learns the archetypes that are new.
    ///
    /// # Errors
    /// [`QueryError::ForeignWorld`] for another world than the one the query was prepared for.
    #[inline]
    pub(crate) fn update(&mut self, store: &Store) -> Result<(), QueryError> {
        if self.is_current(store) {
            Ok(())
        } else {
            self.learn(store)
        }
    }

    #[cold]
    fn learn(&mut self, store: &Store) -> Result<(), QueryError> {
        if self.world != store.id() {
            return Err(QueryError::ForeignWorld);
        }
        if self.epoch != store.epoch() {
            self.epoch = store.epoch();
            self.seen = 0;
            self.matches.clear();
            self.skips.clear();
            self.positions.clear();
            self.all_positions.clear();
            self.match_of.clear();
        }
        for (number, archetype) in store.archetypes.iter().enumerate().skip(self.seen) {
            self.examined += 1;
            let mut positions: SmallVec<[u16; 16]> = SmallVec::new();
            for request in &self.bound.list {
                positions.push(
                    archetype
                        .position(request.kind)
                        .map_or(ABSENT, |at| at as u16),
                );
            }
            let needs = self.bound.list.iter().zip(&positions);
            let has_all = needs.clone().all(|(request, at)| {
                !request.required || request.sparse.is_some() || *at != ABSENT
            });
            if has_all && F::admits(&self.filter, archetype) {
                let behind = self.matches.last().map_or(0, |last| last + 1);
                self.skips.push(number as u32 - behind);
                self.match_of.push(self.matches.len() as u32);
                self.matches.push(number as u32);
                self.positions.extend_from_slice(&positions);
            } else {
                self.match_of.push(u32::MAX);
            }
            self.all_positions.extend(positions);
        }
        self.seen = store.archetypes.len();
        Ok(())
    }

    /// How many kinds the query asks for.
    #[inline]
    pub(super) fn width(&self) -> usize {
        self.bound.list.len()
    }

    /// The columns of an archetype.
    #[inline]
    pub(super) fn positions_of(&self, archetype: usize) -> &[u16] {
        nth_chunk(&self.all_positions, archetype, self.width())
    }

    /// The columns of a match.
    #[inline]
    pub(super) fn positions_at(&self, place: usize) -> &[u16] {
        nth_chunk(&self.positions, place, self.width())
    }

    /// Where an archetype stands in `matches`.
    #[inline]
    pub(super) fn place_of(&self, archetype: usize) -> Option<usize> {
        let place = *self.match_of.get(archetype)? as usize;
        (place < self.matches.len()).then_some(place)
    }
}

/// The chunk with this number of a list of chunks of one width.
#[inline]
fn nth_chunk(list: &[u16], number: usize, width: usize) -> &[u16] {
    list.get(number * width..(number + 1) * width)
        .unwrap_or_default()
}
