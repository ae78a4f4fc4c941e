//! Errors of export and import.

use std::fmt;

/// Why a world was not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A component refers to an entity that is not alive, and such references were not to become null.
    #[error("{path}: the component refers to an entity that does not exist")]
    DanglingReference {
        /// JSON pointer to the reference.
        path: String,
    },
    /// Writing failed.
    #[error("writing the export: {0}")]
    Write(#[from] serde_json::Error),
}

/// Why nothing was imported. Nothing has changed.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}", path = Place(path))]
pub struct ImportError {
    /// JSON pointer to the place in the text; empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub kind: ImportErrorKind,
}

struct Place<'a>(&'a str);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() {
            "the import"
        } else {
            self.0
        })
    }
}

/// What is wrong with something that was to be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportErrorKind {
    /// The text is longer than the limit.
    #[error("{bytes} bytes are more than the limit of {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Arrays and objects are nested too deeply.
    #[error("nested more deeply than the limit of {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The text is no JSON.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// A key stands twice in one object; for entities that is a handle that stands twice.
    #[error("the key \"{key}\" stands twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// Something else stands where an object must.
    #[error("expected an object, got {got}")]
    NotAnObject {
        /// The JSON type that stands there.
        got: &'static str,
    },
    /// A member that an export never has.
    #[error("unexpected member")]
    UnexpectedMember,
    /// The `Handle` of an entity is not text, or not the key it stands under.
    #[error("the handle must be the text \"{expected}\"")]
    HandleMismatch {
        /// The key.
        expected: String,
    },
    /// The handle is `""`.
    #[error("entity handle is empty")]
    EmptyHandle,
    /// An entity of the world has this handle.
    #[error("entity \"{handle}\" exists already")]
    HandleTaken {
        /// The handle.
        handle: String,
    },
    /// The handle is a generated one of this world that it has yet to issue.
    #[error("entity handle \"{handle}\" belongs to an id that was not issued yet")]
    HandleNotIssued {
        /// The handle.
        handle: String,
    },
    /// No registered component has this type name.
    #[error("unknown component type \"{type_name}\"; register it")]
    UnknownType {
        /// The type name.
        type_name: String,
    },
    /// The component's type does not accept the value.
    #[error("not a valid {rust_name}: {error}")]
    BadValue {
        /// The Rust type.
        rust_name: &'static str,
        /// What its `Deserialize` said.
        error: serde_json::Error,
    },
    /// A component refers to an entity that is neither in the import nor in the world.
    #[error("the component refers to entity \"{handle}\", which does not exist")]
    DanglingReference {
        /// The handle.
        handle: String,
    },
    /// There are not enough entity slots.
    #[error("no entity slot is left")]
    OutOfSlots,
}
