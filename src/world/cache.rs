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
pub(super) struct QueryCache(TypeMap<Box<dyn Any + Send + Sync>>);

impl QueryCache {
    pub(super) fn state<'c, Q, F>(
        &'c mut self,
        store: &mut Store,
    ) -> Result<&'c mut QueryState<Q, F>, QueryError>
    where
        Q: Query + 'static,
        F: Filter + 'static,
    {
        let key = TypeId::of::<QueryState<Q, F>>();
        if let Some(state) = self
            .0
            .get(&key)
            .and_then(|state| state.downcast_ref::<QueryState<Q, F>>())
            && state.core.is_of(store)
        {
            // Found as it should be; looked up again below, because the borrow would last too long.
        } else {
            self.0
                .insert(key, Box::new(QueryState::<Q, F>::new(store)?));
        }
        match self
            .0
            .get_mut(&key)
            .and_then(|state| state.downcast_mut::<QueryState<Q, F>>())
        {
            Some(state) => {
                state.core.update(store)?;
                Ok(state)
            }
            None => Err(QueryError::ForeignWorld),
        }
    }
}
