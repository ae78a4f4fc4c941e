//! Errors of groups.

use crate::base::origin::Origin;
use crate::query::error::QueryError;
use crate::store::error::BundleFault;

/// Why a group was not registered, found or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The name is `""`.
    #[error("{at}: group name is empty")]
    EmptyName {
        /// The function that was called.
        at: Origin,
    },
    /// No kinds were given, or more than a group can have.
    #[error("{at}: group \"{name}\" has {given} kinds; it must have 1 to {most}")]
    KindCount {
        /// The function that was called.
        at: Origin,
        /// The group.
        name: String,
        /// How many were given.
        given: usize,
        /// How many there may be.
        most: usize,
    },
    /// The kinds contradict themselves.
    #[error("{at}: group \"{name}\": {fault}")]
    Kinds {
        /// The function that was called.
        at: Origin,
        /// The group.
        name: String,
        /// What is wrong with them.
        fault: BundleFault,
    },
    /// The name stands for a group of other kinds.
    #[error(
        "{at}: group \"{name}\" has the kinds {registered:?}, not {given:?}; choose another name"
    )]
    OtherKinds {
        /// The function that was called.
        at: Origin,
        /// The group.
        name: String,
        /// The type names of its kinds.
        registered: Vec<String>,
        /// Those that were given.
        given: Vec<String>,
    },
    /// No group has this name.
    #[error("{at}: group \"{name}\" is not registered")]
    Unknown {
        /// The function that was called.
        at: Origin,
        /// The name that was given.
        name: String,
    },
    /// The group was taken out of the world.
    #[error("group \"{name}\" was removed; register it again")]
    Removed {
        /// The group.
        name: String,
    },
    /// The group, or its reader, belongs to another world.
    #[error("group \"{name}\" belongs to another world")]
    ForeignWorld {
        /// The group.
        name: String,
    },
    /// The query was refused, or found nothing.
    #[error(transparent)]
    Query(#[from] QueryError),
}
