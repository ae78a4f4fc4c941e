//! Messages: their format, the mailboxes they wait in, and the table that finds a mailbox by handle.
//!
//! A message is a JSON object with a `destination` object. It is checked before anything is touched; a rejected one
//! takes no lock. Nothing here knows containers, systems or threads.

mod format;
mod mailbox;
mod routes;

pub use format::{
    MessageError, MessageErrorKind, MessageLimits, check_container_message, check_manager_message,
    parse_message,
};
pub use mailbox::{Inbox, Mailbox, SendError, SendErrorKind};
pub(crate) use routes::{Routes, submit};
