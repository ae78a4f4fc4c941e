//! archecs: an entity component system whose world lives in containers that talk by JSON messages.

mod base;
mod log;
mod message;

pub use base::uuid::{ParseUuidError, ParseUuidErrorKind, Uuid, UuidText};
pub use log::{HeldLines, Level, Logger};
pub use message::{Inbox, Mailbox, SendError, SendErrorKind};
pub use message::{MessageError, MessageErrorKind, MessageLimits};
pub use message::{check_container_message, check_manager_message, parse_message};
