//! Errors of export and import.

use std::fmt;

use super::on::On;
use crate::base::BoxError;
use crate::base::caught::FirstPanic;
use crate::base::entity::Entity;
use crate::base::origin::Origin;
use crate::store::error::BundleFault;

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

/// Why a command was not done. The others were.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[error("{at}: command {command} of {type_name}{}: {kind}", Target(.handle))]
pub struct CommandError {
    /// The function that was called.
    pub at: Origin,
    /// The function of [`Commands`](crate::Commands) that queued it.
    pub command: &'static str,
    /// The Rust type of what was to be spawned, inserted, removed or called.
    pub type_name: &'static str,
    /// The entity that it was about.
    pub entity: Option<Entity>,
    /// That entity's handle; the generated one, if it is gone.
    pub handle: Option<String>,
    /// What was wrong.
    pub kind: CommandErrorKind,
}

struct Target<'a>(&'a Option<String>);

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(handle) => write!(f, ", entity \"{handle}\""),
            None => Ok(()),
        }
    }
}

/// What was wrong with a command when its turn came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandErrorKind {
    /// The entity is gone, or never was; only [strict](crate::Commands::strict) commands fail so.
    #[error("there is no such entity")]
    NoEntity,
    /// The components contradict themselves.
    #[error("{0}")]
    Bundle(BundleFault),
    /// No slot was left for the entity.
    #[error("no entity slot is left; despawn entities, or raise the limit of {limit}")]
    OutOfSlots {
        /// The most slots that the world may have.
        limit: u32,
    },
    /// The chosen handle is `""`.
    #[error("entity handle is empty")]
    EmptyHandle,
    /// Another entity has the chosen handle.
    #[error("entity \"{handle}\" exists already; look it up, or choose another handle")]
    HandleTaken {
        /// The handle.
        handle: String,
    },
    /// The chosen handle is the generated one of an id that this world has yet to issue.
    #[error("entity handle \"{handle}\" belongs to an id that was not issued yet; choose another")]
    HandleNotIssued {
        /// The handle.
        handle: String,
    },
    /// User code panicked: a function that was queued, or the `Drop` of a component.
    #[error("{text}")]
    Panicked {
        /// `panicked: <message>`
        text: String,
    },
}

/// Errors of one call: the first ones, and how many there were.
#[derive(Clone, Debug)]
struct Errors<E> {
    /// At least one.
    kept: Vec<E>,
    count: usize,
}

impl<E> Drop for Errors<E> {
    /// One by one: two whose `Drop` panics would abort the process in a list of the standard library.
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for error in self.kept.drain(..) {
            panics.drop_value(error);
        }
        panics.resume();
    }
}

impl<E> Errors<E> {
    /// So many are kept; of the others only their number.
    const KEPT: usize = 64;

    fn new(first: E) -> Self {
        Self {
            kept: vec![first],
            count: 1,
        }
    }

    fn add(&mut self, make: impl FnOnce() -> E) {
        self.count += 1;
        if self.count <= Self::KEPT {
            self.kept.push(make());
        }
    }

    fn first(&self) -> &E {
        &self.kept[0]
    }
}

impl<E: fmt::Display> Errors<E> {
    fn write(&self, f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
        write!(f, "{}", self.first())?;
        match self.count - 1 {
            0 => Ok(()),
            1 => write!(f, " (and one more {what} failed)"),
            others => write!(f, " (and {others} more {what}s failed)"),
        }
    }
}

macro_rules! error_lists {
    ($($(#[$doc:meta])* $list:ident of $error:ident, $what:literal;)*) => {$(
        $(#[$doc])*
        pub struct $list(Errors<$error>);

        impl $list {
            /// Keeps an error, as the first or behind others.
            pub(super) fn add(this: &mut Option<Self>, make: impl FnOnce() -> $error) {
                match this {
                    None => *this = Some(Self(Errors::new(make()))),
                    Some(errors) => errors.0.add(make),
                }
            }

            /// The first one.
            pub fn first(&self) -> &$error {
                self.0.first()
            }

            /// The errors in the order in which they happened. Only the first 64 are kept.
            pub fn iter(&self) -> impl Iterator<Item = &$error> {
                self.0.kept.iter()
            }

            /// How many there were.
            pub fn count(&self) -> usize {
                self.0.count
            }
        }

        impl fmt::Display for $list {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write(f, $what)
            }
        }

        impl std::error::Error for $list {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(self.first())
            }
        }
    )*};
}

error_lists! {
    /// Commands that were not done. All the others were.
    #[derive(Clone, Debug)]
    CommandErrors of CommandError, "command";
    /// What went wrong while observers were told. The others were told.
    #[derive(Debug)]
    ObserverErrors of ObserverError, "call";
}

/// An observer, as errors name it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObserverInfo {
    /// The Rust type of its function; a closure is named after where it stands.
    pub function: &'static str,
    /// The type name of the components that it observes.
    pub type_name: String,
    /// What it is told of them.
    pub on: On,
}

impl fmt::Display for ObserverInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = match self.on {
            On::Added => "added",
            On::Replaced => "replaced",
            On::Removed => "removed",
        };
        write!(f, "{} (of {on} \"{}\")", self.function, self.type_name)
    }
}

/// What went wrong while observers were told. The others were told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserverError {
    /// The observer returned an error, or panicked.
    #[error("{at}: observer {observer} of entity \"{handle}\": {error}")]
    Failed {
        /// The function that was called.
        at: Origin,
        /// The observer.
        observer: ObserverInfo,
        /// The entity that it was told of.
        entity: Entity,
        /// That entity's handle; the generated one, if it is gone.
        handle: String,
        /// What it returned; `panicked: <message>` after a panic.
        error: BoxError,
    },
    /// A command failed that an observer had queued.
    #[error("{error}")]
    Command {
        /// The observer; `None` if it was taken out since.
        observer: Option<ObserverInfo>,
        /// The command's error.
        #[source]
        error: CommandError,
    },
    /// Observers set each other, or themselves, off again and again. The changes of the last round have happened, but
    /// were told to nobody.
    #[error(
        "{at}: observers go on without end, after {rounds} rounds with {untold} changes left: {}",
        Observers(.observers)
    )]
    Endless {
        /// The function that was called.
        at: Origin,
        /// The observers that were called in the last rounds.
        observers: Vec<ObserverInfo>,
        /// How many rounds there were.
        rounds: u32,
        /// How many changes were told to nobody.
        untold: usize,
    },
}

struct Observers<'a>(&'a [ObserverInfo]);

impl fmt::Display for Observers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, observer) in self.0.iter().enumerate() {
            write!(f, "{}{observer}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
