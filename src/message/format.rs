//! What a message must look like, and how one that does not is refused.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::base::json::{HIGHEST_DEPTH, is_within, take_apart, type_name as json_type};

/// How large and how deep a message may be.
///
/// The size holds for text from outside ([`parse_message`]); the depth also for messages built in code, when they are
/// submitted. The defaults are 64 KiB and 64 levels.
///
/// ```
/// use ecs::MessageLimits;
///
/// let limits = MessageLimits { max_bytes: 1024, ..MessageLimits::default() };
/// assert_eq!(limits.max_depth, 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    /// The longest text that is parsed, in bytes.
    pub max_bytes: usize,
    /// The deepest nesting: a number or a text has no level, `[]` has one, `{"a": []}` two. A value above
    /// [`HIGHEST_DEPTH`](Self::HIGHEST_DEPTH) counts as that: deeper values could overflow the stack of whoever
    /// prints, compares, clones or drops them.
    pub max_depth: usize,
}

impl MessageLimits {
    /// The highest depth limit there is.
    pub const HIGHEST_DEPTH: usize = HIGHEST_DEPTH;

    fn depth(self) -> usize {
        self.max_depth.min(Self::HIGHEST_DEPTH)
    }

    /// Whether the message is no deeper than allowed.
    pub(crate) fn admit(self, message: &Value) -> bool {
        is_within(message, self.depth())
    }
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024,
            max_depth: 64,
        }
    }
}

/// What is wrong with a message or with its destination. The text of each is the condition that a [`MessageError`]
/// writes after the function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageErrorKind {
    /// The message is not an object.
    #[error("message must be a JSON object, got {got}")]
    NotAnObject {
        /// The JSON type it has.
        got: &'static str,
    },
    /// It has no `destination`.
    #[error("message.destination is missing")]
    DestinationMissing,
    /// Its `destination` is not an object.
    #[error("message.destination must be a JSON object, got {got}")]
    DestinationNotAnObject {
        /// The JSON type it has.
        got: &'static str,
    },
    /// There is no `destination.container`.
    #[error("message.destination.container is missing")]
    ContainerMissing,
    /// `destination.container` is not text.
    #[error("message.destination.container must be text, got {got}")]
    ContainerNotText {
        /// The JSON type it has.
        got: &'static str,
    },
    /// `destination.container` is `""`.
    #[error("message.destination.container is empty")]
    ContainerEmpty,
    /// There is no `destination.system`.
    #[error("message.destination.system is missing")]
    SystemMissing,
    /// `destination.system` is not text.
    #[error("message.destination.system must be text, got {got}")]
    SystemNotText {
        /// The JSON type it has.
        got: &'static str,
    },
    /// `destination.system` is `""`.
    #[error("message.destination.system is empty")]
    SystemEmpty,
    /// The message is deeper than the limit. It is not handed back.
    #[error("message is nested too deeply")]
    TooDeep,
    /// The text is longer than the limit.
    #[error("message is {length} bytes long, more than {limit}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The text is not JSON.
    #[error("message is not JSON: {reason}")]
    NotJson {
        /// What the parser found, with line and column.
        reason: String,
    },
    /// The manager has no container of that name.
    #[error("Container {container} not found.")]
    ContainerNotFound {
        /// The handle asked for.
        container: String,
    },
    /// The container has no system of that name.
    #[error("System {system} not found.")]
    SystemNotFound {
        /// The container that was asked.
        container: String,
        /// The handle asked for.
        system: String,
    },
    /// The owner of the container was dropped: its systems receive nothing any more.
    #[error("Container {container} is gone: its owner was dropped, send to a new one")]
    ContainerClosed {
        /// Its handle.
        container: String,
    },
    /// The manager is closed: its owner was dropped.
    #[error("the manager is gone: its owner was dropped, make a new one")]
    ManagerClosed,
    /// The container that was asked to route to another one has no manager.
    #[error("Container {container} has no manager to route by: submit to the destination itself")]
    NoManager {
        /// Its handle.
        container: String,
    },
}

/// Who was asked; an error's text begins with it.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// [`parse_message`].
    Parser,
    /// A manager's `message_submit`.
    Manager,
    /// The `message_submit` of the container of this handle.
    Container(Arc<str>),
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parser => f.write_str("ecs::parse_message()"),
            Self::Manager => f.write_str("ecs::Manager::message_submit()"),
            Self::Container(handle) => write!(f, "ecs::Container({handle:?})::message_submit()"),
        }
    }
}

/// A message that was not accepted, and why. Nothing has changed, no lock was taken for a malformed one.
///
/// Its text is `<function>: <condition>`, on the model of
/// `ecs::Manager::message_submit(): message must be a JSON object, got array`. Match on [`kind`](Self::kind) rather
/// than on the text. The message comes back with [`into_message`](Self::into_message).
#[derive(thiserror::Error)]
#[error("{}: {}", .0.asked, .0.kind)]
pub struct MessageError(Box<Refusal>);

struct Refusal {
    asked: Asked,
    kind: MessageErrorKind,
    /// Never deeper than [`MessageLimits::HIGHEST_DEPTH`].
    message: Option<Value>,
}

impl MessageError {
    /// An error that keeps the message. One too deep to be handled safely is taken apart instead.
    #[cold]
    pub(crate) fn new(asked: Asked, kind: MessageErrorKind, message: Value) -> Self {
        Self(Box::new(Refusal {
            asked,
            kind,
            message: harmless(message),
        }))
    }

    /// What is wrong.
    pub fn kind(&self) -> &MessageErrorKind {
        &self.0.kind
    }

    /// The message that was refused: none if it came as text or is nested deeper than
    /// [`MessageLimits::HIGHEST_DEPTH`].
    pub fn message(&self) -> Option<&Value> {
        self.0.message.as_ref()
    }

    /// The message that was refused, to change it or to try again. None where [`message`](Self::message) has none.
    pub fn into_message(self) -> Option<Value> {
        self.0.message
    }
}

impl fmt::Debug for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageError")
            .field("kind", &self.0.kind)
            .field("text", &self.to_string())
            .finish_non_exhaustive()
    }
}

/// Checks a message as a manager's `message_submit` does, and gives the container's and the system's handle in it.
///
/// # Errors
///
/// The first that holds, in the order of [`MessageErrorKind`]: not an object, `destination` missing or not an object,
/// `destination.container` missing, not text or empty, `destination.system` likewise, nested too deeply.
///
/// ```
/// use ecs::{MessageErrorKind, MessageLimits, check_manager_message};
/// use serde_json::json;
///
/// let message = json!({ "destination": { "container": "main", "system": "game/Loader" }, "file": "level1.map" });
/// assert_eq!(check_manager_message(&message, MessageLimits::default()), Ok(("main", "game/Loader")));
/// let list = json!([]);
/// let refused = check_manager_message(&list, MessageLimits::default());
/// assert_eq!(refused, Err(MessageErrorKind::NotAnObject { got: "array" }));
/// ```
pub fn check_manager_message(
    message: &Value,
    limits: MessageLimits,
) -> Result<(&str, &str), MessageErrorKind> {
    let destination = destination(message)?;
    let container = match destination.get("container") {
        None => return Err(MessageErrorKind::ContainerMissing),
        Some(Value::String(container)) if container.is_empty() => {
            return Err(MessageErrorKind::ContainerEmpty);
        }
        Some(Value::String(container)) => container,
        Some(other) => {
            return Err(MessageErrorKind::ContainerNotText {
                got: json_type(other),
            });
        }
    };
    let system = system(destination)?;
    admitted(message, limits)?;
    Ok((container, system))
}

/// Checks a message as a container's own `message_submit` does, and gives the system's handle in it. It does not read
/// `destination.container`, whatever that holds.
///
/// # Errors
///
/// Those of [`check_manager_message`] without the ones about `destination.container`.
pub fn check_container_message(
    message: &Value,
    limits: MessageLimits,
) -> Result<&str, MessageErrorKind> {
    let system = system(destination(message)?)?;
    admitted(message, limits)?;
    Ok(system)
}

type Object = serde_json::Map<String, Value>;

fn destination(message: &Value) -> Result<&Object, MessageErrorKind> {
    let Value::Object(fields) = message else {
        return Err(MessageErrorKind::NotAnObject {
            got: json_type(message),
        });
    };
    match fields.get("destination") {
        None => Err(MessageErrorKind::DestinationMissing),
        Some(Value::Object(destination)) => Ok(destination),
        Some(other) => Err(MessageErrorKind::DestinationNotAnObject {
            got: json_type(other),
        }),
    }
}

fn system(destination: &Object) -> Result<&str, MessageErrorKind> {
    match destination.get("system") {
        None => Err(MessageErrorKind::SystemMissing),
        Some(Value::String(system)) if system.is_empty() => Err(MessageErrorKind::SystemEmpty),
        Some(Value::String(system)) => Ok(system),
        Some(other) => Err(MessageErrorKind::SystemNotText {
            got: json_type(other),
        }),
    }
}

fn admitted(message: &Value, limits: MessageLimits) -> Result<(), MessageErrorKind> {
    if limits.admit(message) {
        Ok(())
    } else {
        Err(MessageErrorKind::TooDeep)
    }
}

/// The system a message that was checked is for. Empty for one that was not.
pub(super) fn system_of(message: &Value) -> &str {
    message
        .get("destination")
        .and_then(|destination| destination.get("system"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Reads a message from text that came from outside: a file, a socket. The way in for all text that is not trusted.
///
/// Of a key that stands twice in one object the last wins. An integer that does not fit 64 bits becomes a
/// floating-point number. The destination is not checked here but where the message is submitted.
///
/// # Errors
///
/// Text longer than `limits.max_bytes`, nested deeper than `limits.max_depth`, or not JSON: no UTF-8, a number beyond
/// the range of `f64`, a lone surrogate in an escape, anything after the value.
///
/// ```
/// use ecs::{MessageLimits, parse_message};
///
/// let message = parse_message(r#"{ "destination": { "system": "clock" }, "at": 1, "at": 2 }"#, MessageLimits::default())?;
/// assert_eq!(message["at"], 2);
/// let error = parse_message("[".repeat(65), MessageLimits::default()).unwrap_err();
/// assert_eq!(error.to_string(), "ecs::parse_message(): message is nested too deeply");
/// # Ok::<(), ecs::MessageError>(())
/// ```
pub fn parse_message(text: impl AsRef<[u8]>, limits: MessageLimits) -> Result<Value, MessageError> {
    fn parse(text: &[u8], limits: MessageLimits) -> Result<Value, MessageErrorKind> {
        if text.len() > limits.max_bytes {
            return Err(MessageErrorKind::TooLong {
                length: text.len(),
                limit: limits.max_bytes,
            });
        }
        // Looked at first, so that the parser's own limit, which has another text, is never what answers.
        if nests_deeper(text, limits.depth()) {
            return Err(MessageErrorKind::TooDeep);
        }
        serde_json::from_slice(text).map_err(|error| MessageErrorKind::NotJson {
            reason: error.to_string(),
        })
    }
    parse(text.as_ref(), limits).map_err(|kind| {
        MessageError(Box::new(Refusal {
            asked: Asked::Parser,
            kind,
            message: None,
        }))
    })
}

/// Whether JSON text opens more than `levels` brackets at once. For text that is not JSON any answer will do: it is
/// refused either way.
fn nests_deeper(text: &[u8], levels: usize) -> bool {
    let mut open = 0_usize;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                open += 1;
                if open > levels {
                    return true;
                }
            }
            b']' | b'}' => open = open.saturating_sub(1),
            b'"' => {
                // Skip the text. An escape never ends it, so the byte after a backslash does not count.
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    false
}

/// The value, unless it is so deep that dropping it the ordinary way could overflow the stack: then it is taken apart.
pub(super) fn harmless(value: Value) -> Option<Value> {
    if is_within(&value, MessageLimits::HIGHEST_DEPTH) {
        Some(value)
    } else {
        take_apart(value);
        None
    }
}
