//! Prepared queries: kept by their user, they remember their matches and when they last ran.

use smallvec::SmallVec;

use super::access::Bound;
use super::error::QueryError;
use super::fetch::{Query, ReadOnlyQuery};
use super::filter::Filter;
use super::held::Place;
use super::iter::QueryIter;
use super::lent::{Ground, Run};
use super::state::{QueryCore, QueryState, QueryStatistics};
use super::walk::Walk;
use crate::base::entity::Entity;
use crate::store::Store;
use crate::store::archetype::Archetype;
use crate::store::entities::Slot;

impl<Q: Query, F: Filter> QueryState<Q, F> {
    /// A look that does not count as a run.
    pub(crate) fn look(&self, store: &Store) -> Run {
        Run {
            since: self.core.last_run,
            now: store.now(),
        }
    }

    /// Several entities' items. Filters that tell rows apart are applied as a run would, without counting as one.
    pub(crate) fn get_many_mut<'w, const N: usize>(
        &'w mut self,
        ground: Ground<'w>,
        entities: [Entity; N],
        run: Run,
    ) -> Result<[Q::Item<'w>; N], QueryError> {
        let store = ground.store();
        self.core.update(store)?;
        // (archetype's place, row, position in the caller's list), in the order of the walk.
        let mut places = [(0, 0, 0); N];
        for (at, entity) in entities.iter().enumerate() {
            let found = store.entities.locate(*entity);
            let place =
                found.and_then(|(number, row)| Some((self.core.place_of(number)?, row, at)));
            places[at] = place.ok_or(QueryError::NoMatch { entity: *entity })?;
        }
        places.sort_unstable();
        if let Some(pair) = places
            .windows(2)
            .find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1))
        {
            return Err(QueryError::Repeated {
                entity: entities[pair[0].2],
            });
        }
        // Every row is judged before the first is handed out, so that what is refused does not count as written.
        if self.core.by_row {
            let sets = self.core.bound.sets.iter();
            let views: SmallVec<[_; 4]> = sets
                .filter_map(|set| Some((*set, ground.set(*set)?.view())))
                .collect();
            for (place, row, at) in places {
                if !self.core.passes(&ground, &views, place, row, run.since) {
                    return Err(QueryError::NoMatch {
                        entity: entities[at],
                    });
                }
            }
        }
        let mut walk = Walk::new(&self.core, &mut [], ground, run, self.arena.begin());
        let mut items = [const { None }; N];
        let mut fetch = None;
        let mut at_place = usize::MAX;
        let mut taken = 0;
        for (place, row, at) in places {
            let entity = entities[at];
            if place != at_place {
                fetch = walk.go_to(place).map(|stop| stop.fetch);
                at_place = place;
                taken = 0;
            }
            let fetch = fetch.as_mut().ok_or(QueryError::NoMatch { entity })?;
            let item = Q::pick(fetch, row - taken, entity.index());
            taken = row + 1;
            items[at] = Some(item.ok_or(QueryError::NoMatch { entity })?);
        }
        let complete = items.iter().all(Option::is_some);
        debug_assert!(complete, "each place was visited");
        Ok(items.map(|item| item.unwrap_or_else(|| unreachable!("each place was visited"))))
    }

    /// Calls `work` for each pair of matches, each unordered pair once, in the order of the walk.
    pub(crate) fn for_each_pair(
        &mut self,
        store: &mut Store,
        mut work: impl FnMut(Q::Item<'_>, Q::Item<'_>),
    ) -> Result<(), QueryError> {
        self.core.update(store)?;
        let run = self.look(store);
        let mut rows: Vec<Entity> = Vec::new();
        let ground = Ground::Whole(store);
        let mut walk = Walk::new(&self.core, &mut [], ground, run, self.arena.begin());
        while let Some(stop) = walk.advance(&mut self.scratch) {
            rows.extend(stop.selected(&self.scratch.bits));
        }
        for (at, first) in rows.iter().enumerate() {
            for second in &rows[at + 1..] {
                let [a, b] = self.get_many_mut(Ground::Whole(store), [*first, *second], run)?;
                work(a, b);
            }
        }
        self.core.last_run = store.advance_tick();
        Ok(())
    }
}

/// A query that is built once and kept: it knows its matches and learns new archetypes as they come, so that a run
/// visits no archetype that does not match.
///
/// It is also a *reader* of changes: [`Changed`](crate::Changed) and [`Added`](crate::Added) mean since this
/// prepared query last ran (its first run sees everything present). A run that is left early has run; its own
/// writes are not news to it.
///
/// It belongs to one world, and refuses every other.
///
/// ```
/// # use ecs::{Component, Value, World, json};
/// # struct Position(f32); struct Velocity(f32);
/// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
/// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
/// let mut world = World::new();
/// world.spawn((Position(0.0), Velocity(1.0)));
/// let mut moving = world.prepare::<(&mut Position, &Velocity)>()?;
/// for _ in 0..3 {
///     moving.iter(&mut world)?.for_each(|(position, velocity)| position.0 += velocity.0);
/// }
/// # assert_eq!(world.query::<&Position>().next().unwrap().0, 3.0);
/// # Ok::<(), ecs::QueryError>(())
/// ```
pub struct Prepared<Q: Query, F: Filter = ()> {
    pub(super) state: QueryState<Q, F>,
}

impl<Q: Query, F: Filter> Prepared<Q, F> {
    pub(crate) fn new(store: &mut Store) -> Result<Self, QueryError> {
        Ok(Self {
            state: QueryState::new(store)?,
        })
    }

    pub(crate) fn run<'w>(
        &'w mut self,
        store: &'w mut Store,
    ) -> Result<QueryIter<'w, Q, F>, QueryError> {
        self.state.core.update(store)?;
        Ok(QueryIter::new(&mut self.state, store))
    }

    pub(crate) fn state(&mut self) -> &mut QueryState<Q, F> {
        &mut self.state
    }

    pub(crate) fn bound(&self) -> &Bound {
        &self.state.core.bound
    }

    /// What preparing and running the query has cost so far.
    pub fn statistics(&self) -> QueryStatistics {
        self.state.statistics()
    }
}

impl<Q: ReadOnlyQuery> Prepared<Q> {
    pub(crate) fn look<'w>(&'w mut self, store: &'w Store) -> Result<View<'w, Q>, QueryError> {
        let QueryState { core, arena, .. } = &mut self.state;
        core.update(store)?;
        let arena = arena.begin();
        // By archetype and not by match: a look saves a step, and an archetype that does not match finds nothing.
        let part = |number| core.part(store, number);
        let parts = arena.alloc_slice_fill_with(store.archetypes.len(), part);
        Ok(View {
            parts,
            slots: store.entities.slots(),
        })
    }

    /// One look without a view.
    pub(crate) fn look_at<'w>(
        &'w mut self,
        store: &'w Store,
        entity: Entity,
    ) -> Option<Q::Item<'w>> {
        self.state.core.update(store).ok()?;
        self.look_at_current(store, entity)
    }

    /// The same where the query knows the store as it is.
    pub(crate) fn look_at_current<'w>(
        &'w self,
        store: &'w Store,
        entity: Entity,
    ) -> Option<Q::Item<'w>> {
        let (number, row) = store.entities.locate(entity)?;
        Q::at(&self.state.core.part(store, number), row, entity)
    }
}

impl<Q: ReadOnlyQuery, F: Filter> QueryCore<Q, F> {
    /// An archetype, taken apart for the terms of the query. One that does not match lacks a column that the query
    /// needs, and the term finds it missing.
    fn part<'w>(&self, store: &'w Store, number: usize) -> Q::Part<'w> {
        let place = Place {
            columns: store
                .archetypes
                .get(number)
                .map(Archetype::columns)
                .unwrap_or_default(),
            positions: self.positions_of(number),
            sparse: &store.sparse,
        };
        Q::part(&self.query, &place)
    }
}

/// Random access to the matches of a read-only query. See [`Prepared::view`].
pub struct View<'w, Q: ReadOnlyQuery> {
    /// By archetype: what is read of it.
    parts: &'w [Q::Part<'w>],
    slots: &'w [Slot],
}

impl<'w, Q: ReadOnlyQuery> View<'w, Q> {
    /// The item of an entity; `None` when it is not alive or does not match.
    ///
    /// Constant time: slot, archetype, row (for a sparse kind the row in its set).
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<Q::Item<'w>> {
        let slot = self.slots.get(entity.index() as usize)?;
        // The place of an id that is not alive is beyond all archetypes.
        let (number, row) = slot.place_of(entity)?;
        Q::at(self.parts.get(number)?, row, entity)
    }
}
