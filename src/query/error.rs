//! Errors of queries.

use crate::base::entity::Entity;

/// Why a query was refused, or found nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The query would hold a component mutably and once more at the same time.
    #[error("the query reaches one component twice: as {first} and as {second}")]
    Aliasing {
        /// One of the terms.
        first: String,
        /// The other.
        second: String,
    },
    /// The query asks for more kinds than a query can.
    #[error("the query has more than {most} terms")]
    TooManyTerms {
        /// How many it may have.
        most: usize,
    },
    /// A type calls itself by the empty name.
    #[error("component type is empty: {rust_name}")]
    EmptyTypeName {
        /// The Rust type.
        rust_name: &'static str,
    },
    /// The prepared query belongs to another world.
    #[error("the query was prepared for another world; prepare it again for this one")]
    ForeignWorld,
    /// The entity is not alive, or does not match.
    #[error("{entity:?} is not alive or does not match the query")]
    NoMatch {
        /// The entity that was asked for.
        entity: Entity,
    },
    /// The entity stands twice in the list.
    #[error("{entity:?} was asked for twice; a component cannot be borrowed mutably twice")]
    Repeated {
        /// The entity.
        entity: Entity,
    },
    /// Exactly one match was asked for, and there is none.
    #[error("no entity matches the query, one was expected")]
    NoneMatches,
    /// Exactly one match was asked for, and there are more.
    #[error("several entities match the query, one was expected")]
    SeveralMatch,
}
