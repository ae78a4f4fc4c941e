//! From a handle to a mailbox: the table each container shares with those who send to it.

use std::sync::Arc;

use ahash::AHashMap;
use serde_json::Value;

use super::format::{
    Asked, MessageError, MessageErrorKind, MessageLimits, check_container_message,
};
use super::format::{check_manager_message, system_of};
use super::mailbox::{Bell, Inbox, Mailbox};
use crate::base::lock::Mutex;

/// The mailboxes of one container's systems by handle. Senders hold it in an `Arc`; it outlives the container.
///
/// Its lock is a leaf: a mailbox is cloned out, the lock let go, then the message pushed. Between the two the system may
/// be replaced, hence the second look in [`deliver`](Self::deliver).
pub(crate) struct Routes {
    container: Arc<str>,
    limits: MessageLimits,
    bell: Bell,
    /// None when closed.
    table: Mutex<Option<AHashMap<Arc<str>, Mailbox>>>,
}

impl Routes {
    /// The empty table of the container with this handle.
    pub(crate) fn new(container: Arc<str>, limits: MessageLimits) -> Self {
        Self {
            container,
            limits,
            bell: Bell::new(),
            table: Mutex::new(Some(AHashMap::new())),
        }
    }

    /// The bell that rings when a message arrives for any inbox made here.
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    /// An inbox for a system of this container. Nobody finds it before [`insert`](Self::insert).
    pub(crate) fn new_inbox(&self, handle: Arc<str>) -> Inbox {
        Inbox::with_bell(handle, self.limits, self.bell.clone())
    }

    /// Routes the mailbox's handle to it. The mailbox it replaces is closed, after the new one can be found, so that a
    /// sender caught between the two finds the new one at its second look. A closed table closes the mailbox.
    pub(crate) fn insert(&self, mailbox: &Mailbox) {
        let handle = Arc::clone(mailbox.shared_handle());
        let closed = match &mut *self.table.lock() {
            Some(table) => table.insert(handle, mailbox.clone()),
            None => Some(mailbox.clone()),
        };
        if let Some(closed) = closed {
            closed.close();
        }
    }

    /// Takes a handle out and closes its mailbox. False if it was not there.
    pub(crate) fn remove(&self, system: &str) -> bool {
        let removed = self
            .table
            .lock()
            .as_mut()
            .and_then(|table| table.remove(system));
        removed.inspect(|mailbox| _ = mailbox.close()).is_some()
    }

    /// The mailbox of a handle.
    pub(crate) fn get(&self, system: &str) -> Option<Mailbox> {
        self.table
            .lock()
            .as_ref()
            .and_then(|table| table.get(system).cloned())
    }

    /// Takes no mailbox and routes nothing any more; closes every mailbox in it.
    pub(crate) fn close(&self) {
        let table = self.table.lock().take();
        for mailbox in table.into_iter().flat_map(AHashMap::into_values) {
            mailbox.close();
        }
    }

    /// A container's own `message_submit`: checks the message and sends it to a system of this container.
    pub(crate) fn submit(&self, message: Value) -> Result<(), MessageError> {
        match check_container_message(&message, self.limits) {
            Ok(_) => self.deliver(message),
            Err(kind) => Err(MessageError::new(self.asked(), kind, message)),
        }
    }

    /// Sends a message that was checked to the system named in it.
    ///
    /// A mailbox found here may be closed before the message is in. If a replacement closed it, the handle leads to
    /// another one by now, which is tried once. If that is closed as well, the send counts as one that came after the
    /// removal.
    pub(crate) fn deliver(&self, message: Value) -> Result<(), MessageError> {
        let first = match self.find(system_of(&message)) {
            Ok(mailbox) => mailbox,
            Err(kind) => return Err(MessageError::new(self.asked(), kind, message)),
        };
        let Err(message) = first.push(message) else {
            return Ok(());
        };
        let (message, kind) = match self.find(system_of(&message)) {
            Ok(second) if !second.is_same(&first) => match second.push(message) {
                Ok(()) => return Ok(()),
                Err(message) => {
                    let kind = self.not_found(system_of(&message));
                    (message, kind)
                }
            },
            Ok(_) => {
                let kind = self.not_found(system_of(&message));
                (message, kind)
            }
            Err(kind) => (message, kind),
        };
        Err(MessageError::new(self.asked(), kind, message))
    }

    fn find(&self, system: &str) -> Result<Mailbox, MessageErrorKind> {
        let found = self
            .table
            .lock()
            .as_ref()
            .map(|table| table.get(system).cloned());
        match found {
            Some(Some(mailbox)) => Ok(mailbox),
            Some(None) => Err(self.not_found(system)),
            None => Err(MessageErrorKind::ContainerClosed {
                container: self.container.to_string(),
            }),
        }
    }

    #[cold]
    fn not_found(&self, system: &str) -> MessageErrorKind {
        MessageErrorKind::SystemNotFound {
            container: self.container.to_string(),
            system: system.to_owned(),
        }
    }

    fn asked(&self) -> Asked {
        Asked::Container(Arc::clone(&self.container))
    }
}

/// A manager's `message_submit`: checks the message, asks `find` for the routes of its container, delivers.
///
/// `find` is called after the checks only, so a malformed message takes no lock. It is called with the container's
/// handle, and refuses with [`MessageErrorKind::ContainerNotFound`] or [`MessageErrorKind::ManagerClosed`].
pub(crate) fn submit(
    message: Value,
    limits: MessageLimits,
    find: impl FnOnce(&str) -> Result<Arc<Routes>, MessageErrorKind>,
) -> Result<(), MessageError> {
    match check_manager_message(&message, limits).and_then(|(container, _)| find(container)) {
        Ok(routes) => routes.deliver(message),
        Err(kind) => Err(MessageError::new(Asked::Manager, kind, message)),
    }
}
