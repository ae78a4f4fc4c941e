//! The state of queries that are used without preparation.

use std::any::{Any, TypeId};

use crate::base::hash::TypeMap;
use crate::query::error::QueryError;
use crate::query::fetch::Query;
use crate::query::filter::Filter;
use crate::query::state::QueryState;
use crate::store::Store;

/// The prepared state of queries that are used without preparation, by their type.
#[derive(Default)]
pub(super) struct QueryCache {
    places: TypeMap<usize>,
    states: Vec<Box<dyn Any + Send + Sync>>,
}

impl QueryCache {
    /// The state of a query, knowing all archetypes. It is made when the query is first used.
    #[inline]
    pub(super) fn state<'c, Q, F>(
        &'c mut self,
        store: &mut Store,
    ) -> Result<&'c mut QueryState<Q, F>, QueryError>
    where
        Q: Query + 'static,
        F: Filter + 'static,
    {
        let key = TypeId::of::<QueryState<Q, F>>();
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None => self.add(key, QueryState::<Q, F>::new(store)?),
        };
        let state = self
            .states
            .get_mut(place)
            .and_then(|state| state.downcast_mut::<QueryState<Q, F>>());
        let Some(state) = state else {
            unreachable!("the key is the state's type")
        };
        state.core.update(store)?;
        Ok(state)
    }

    #[cold]
    fn add<S: Any + Send + Sync>(&mut self, key: TypeId, state: S) -> usize {
        let place = self.states.len();
        self.states.push(Box::new(state));
        self.places.insert(key, place);
        place
    }
}
