//! What can be wrong with the parameters of a system.

use super::access::Contradiction;
use crate::query::error::QueryError;

/// Why the parameters of a system cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamFault {
    /// Two parameters reach the same, and one of them to write.
    #[error("{first}, and {second}: merge the two parameters into one")]
    Contradiction {
        /// One of them, with what it reaches.
        first: String,
        /// The other.
        second: String,
    },
    /// A parameter is a query that contradicts itself.
    #[error("{parameter}: {fault}")]
    Query {
        /// The type of the parameter.
        parameter: &'static str,
        /// What is wrong with it.
        fault: QueryError,
    },
}

impl From<Contradiction> for ParamFault {
    fn from(Contradiction { first, second }: Contradiction) -> Self {
        Self::Contradiction { first, second }
    }
}
