//! Errors of entities and components.

use crate::base::origin::Origin;

/// Why an entity was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntityError {
    /// The chosen handle is `""`.
    #[error("{at}: entity handle is empty")]
    EmptyHandle {
        /// The function that was called.
        at: Origin,
    },
    /// Another entity has this handle.
    #[error("{at}: entity \"{handle}\" exists already; look it up, or choose another handle")]
    HandleTaken {
        /// The function that was called.
        at: Origin,
        /// The handle.
        handle: String,
    },
    /// The text is the generated handle of an id that this world has yet to issue.
    #[error(
        "{at}: entity handle \"{handle}\" belongs to an id that was not issued yet; choose another handle"
    )]
    HandleNotIssued {
        /// The function that was called.
        at: Origin,
        /// The handle.
        handle: String,
    },
    /// No slot is left.
    #[error("{at}: no entity slot is left; despawn entities, or raise the limit of {limit}")]
    OutOfSlots {
        /// The function that was called.
        at: Origin,
        /// The most slots that the world may have.
        limit: u32,
    },
    /// The id is not one that was reserved and is waiting for its components.
    #[error("{at}: entity \"{handle}\" is not reserved")]
    NotReserved {
        /// The function that was called.
        at: Origin,
        /// The generated handle of the id.
        handle: String,
    },
    /// The components contradict themselves.
    #[error("{at}: {fault}")]
    Bundle {
        /// The function that was called.
        at: Origin,
        /// What is wrong with them.
        fault: BundleFault,
    },
}

/// Why a component was not attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentError {
    /// The entity was given by handle, and the handle is `""`.
    #[error("{at}: component entity handle is empty")]
    EmptyHandle {
        /// The function that was called.
        at: Origin,
    },
    /// There is no such entity.
    #[error("{at}: entity \"{handle}\" does not exist")]
    NoEntity {
        /// The function that was called.
        at: Origin,
        /// The handle that was given, or the generated one of the id that was.
        handle: String,
    },
    /// The components contradict themselves, or have no name.
    #[error("{at}: {fault}")]
    Bundle {
        /// The function that was called.
        at: Origin,
        /// What is wrong with them.
        fault: BundleFault,
    },
}

/// What is wrong with the components of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleFault {
    /// A type name is `""`.
    #[error("component type is empty")]
    EmptyTypeName,
    /// A type name stands twice.
    #[error("component type \"{name}\" stands twice in the bundle, as {first} and as {second}")]
    Twice {
        /// The name.
        name: String,
        /// The Rust type of the first.
        first: &'static str,
        /// The Rust type of the second.
        second: &'static str,
    },
    /// Vectors given as columns differ in length.
    #[error("the columns differ in length")]
    UnevenColumns,
    /// Whole columns were given for a kind with sparse storage.
    #[error(
        "component type \"{name}\" has sparse storage, which takes no columns; use spawn_batch"
    )]
    SparseColumn {
        /// The name.
        name: String,
    },
}
