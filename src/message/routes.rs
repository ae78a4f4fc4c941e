//! From a handle to a mailbox: the table each container shares with those who send to it.

#[cfg(all(test, loom))]
mod models;

use std::sync::Arc;

use ahash::AHashMap;
use serde_json::Value;

use super::format::{
    Asked, MessageError, MessageErrorKind, MessageLimits, check_container_message,
};
use super::format::{check_manager_message, system_of};
use super::mailbox::{Bell, Inbox, Mailbox};
use crate::base::lock::RwLock;

/// The mailboxes of one container's systems by handle. Senders hold it in an `Arc`; it outlives the container.
///
/// Senders read it side by side and hold up nobody but a registration, a replacement or a removal.
///
/// Its lock is a leaf: a mailbox is cloned out, the lock let go, then the message pushed. Between the two the system may
/// be replaced, hence the further looks in [`push_or_look_again`](Self::push_or_look_again).
pub(crate) struct Routes {
    container: Arc<str>,
    limits: MessageLimits,
    bell: Bell,
    /// None when closed.
    table: RwLock<Option<AHashMap<Arc<str>, Mailbox>>>,
}

impl Routes {
    /// The empty table of the container with this handle.
    pub(crate) fn new(container: Arc<str>, limits: MessageLimits) -> Self {
        Self {
            container,
            limits,
            bell: Bell::new(),
            table: RwLock::new(Some(AHashMap::new())),
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
        let superseded = match &mut *self.table.write() {
            Some(table) => {
                let before = table.insert(handle, mailbox.clone());
                before.filter(|before| !before.is_same(mailbox))
            }
            None => Some(mailbox.clone()),
        };
        if let Some(superseded) = superseded {
            superseded.close();
        }
    }

    /// Takes a handle out and closes its mailbox. False if it was not there.
    pub(crate) fn remove(&self, system: &str) -> bool {
        let removed = self
            .table
            .write()
            .as_mut()
            .and_then(|table| table.remove(system));
        removed.inspect(|mailbox| _ = mailbox.close()).is_some()
    }

    /// The mailbox of a handle.
    pub(crate) fn get(&self, system: &str) -> Option<Mailbox> {
        self.table
            .read()
            .as_ref()
            .and_then(|table| table.get(system).cloned())
    }

    /// Takes no mailbox and routes nothing any more; closes every mailbox in it.
    pub(crate) fn close(&self) {
        let table = self.table.write().take();
        for mailbox in table.into_iter().flat_map(AHashMap::into_values) {
            mailbox.close();
        }
    }

    /// A container's own `message_submit`: checks the message and sends it to a system of this container.
    pub(crate) fn submit(&self, message: Value) -> Result<(), MessageError> {
        match check_container_message(&message, self.limits).and_then(|system| self.find(system)) {
            Ok(first) => self.push_or_look_again(&first, message),
            Err(kind) => Err(MessageError::new(self.asked(), kind, message)),
        }
    }

    /// Sends a message that was checked to the mailbox that the system named in it was [found](Self::find) to have.
    ///
    /// That mailbox may be closed before the message is in. If a replacement closed it, the handle leads to another one
    /// by now, which is tried in turn: each further look means that one more replacement came between. A mailbox that
    /// is closed and still found is on its way out: the send counts as one that came after the removal.
    fn push_or_look_again(&self, first: &Mailbox, message: Value) -> Result<(), MessageError> {
        let Err(mut message) = first.push(message) else {
            return Ok(());
        };
        let mut tried = first.clone();
        loop {
            let kind = match self.find(system_of(&message)) {
                Ok(next) if !next.is_same(&tried) => match next.push(message) {
                    Ok(()) => return Ok(()),
                    Err(back) => {
                        message = back;
                        tried = next;
                        continue;
                    }
                },
                Ok(_) => self.not_found(system_of(&message)),
                Err(kind) => kind,
            };
            return Err(MessageError::new(self.asked(), kind, message));
        }
    }

    fn find(&self, system: &str) -> Result<Mailbox, MessageErrorKind> {
        let found = self
            .table
            .read()
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
    let checked = check_manager_message(&message, limits)
        .and_then(|(container, system)| Ok((find(container)?, system)));
    let (routes, first) = match checked {
        Ok((routes, system)) => {
            let first = routes.find(system);
            (routes, first)
        }
        Err(kind) => return Err(MessageError::new(Asked::Manager, kind, message)),
    };
    match first {
        Ok(first) => routes.push_or_look_again(&first, message),
        Err(kind) => Err(MessageError::new(routes.asked(), kind, message)),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::base::lock::Ordering;
    use serde_json::json;

    fn routes() -> Routes {
        Routes::new("main".into(), MessageLimits::default())
    }

    fn to(system: &str) -> Value {
        json!({ "destination": { "container": "main", "system": system } })
    }

    #[test]
    fn errors_begin_with_the_function_that_was_asked() {
        let routes = Arc::new(routes());
        let manager = |message, kind: Option<MessageErrorKind>| {
            submit(message, MessageLimits::default(), |_| match kind {
                Some(kind) => Err(kind),
                None => Ok(Arc::clone(&routes)),
            })
            .unwrap_err()
        };
        // spec: MSG-01, ERR-02, ERR-03
        assert_eq!(
            manager(json!([]), None).to_string(),
            "ecs::Manager::message_submit(): message must be a JSON object, got array"
        );
        // spec: MSG-07
        assert_eq!(
            routes
                .submit(json!({ "destination": {} }))
                .unwrap_err()
                .to_string(),
            "ecs::Container(\"main\")::message_submit(): message.destination.system is missing"
        );
        // spec: MSG-13
        assert_eq!(
            manager(to("x"), None).to_string(),
            "ecs::Container(\"main\")::message_submit(): System x not found."
        );
        let absent = MessageErrorKind::ContainerNotFound {
            container: "main".to_owned(),
        };
        let error = manager(to("x"), Some(absent.clone()));
        // spec: MSG-13
        assert_eq!(
            error.to_string(),
            "ecs::Manager::message_submit(): Container main not found."
        );
        // spec: ERR-04
        assert_eq!(error.kind(), &absent);
        assert_eq!(error.message(), Some(&to("x")));
        assert_eq!(error.into_message(), Some(to("x")));
    }

    #[test]
    fn a_malformed_message_takes_no_lock() {
        let routes = routes();
        // In debug builds a second lock would panic; in release builds this one would never return.
        let table = routes.table.write();
        // spec: MSG-02, ERR-01
        assert!(routes.submit(json!({})).is_err());
        let manager = submit(json!({}), MessageLimits::default(), |_| unreachable!());
        assert_eq!(
            manager.unwrap_err().kind(),
            &MessageErrorKind::DestinationMissing
        );
        drop(table);
    }

    #[test]
    fn a_replacement_takes_over_and_the_old_mailbox_hands_back() {
        let routes = routes();
        let mut old = routes.new_inbox("s".into());
        routes.insert(old.mailbox());
        routes.insert(old.mailbox());
        routes.submit(to("s")).unwrap();
        let kept = routes.get("s").unwrap();
        let mut new = routes.new_inbox("s".into());
        routes.insert(new.mailbox());
        // spec: MSG-15
        assert_eq!(
            kept.send(json!(1)).unwrap_err().into_message(),
            Some(json!(1))
        );
        assert_eq!(old.collect(), 0);
        routes.submit(to("s")).unwrap();
        assert_eq!(new.collect(), 1);
        assert!(routes.remove("s") && !routes.remove("s"));
        assert!(kept.is_closed() && new.mailbox().is_closed());
        assert_eq!(
            routes.get("s").map(|mailbox| mailbox.handle().to_owned()),
            None
        );
    }

    #[test]
    fn a_sender_that_met_a_closed_mailbox_looks_again_once() {
        let routes = routes();
        let mut old = routes.new_inbox("s".into());
        routes.insert(old.mailbox());
        old.close();
        // The handle still leads to the closed mailbox: removed, as far as a sender can tell.
        // spec: DEL-06
        assert_eq!(
            *routes.submit(to("s")).unwrap_err().kind(),
            MessageErrorKind::SystemNotFound {
                container: "main".to_owned(),
                system: "s".to_owned()
            }
        );
        let mut new = routes.new_inbox("s".into());
        let first = routes.find("s").unwrap();
        routes.insert(new.mailbox());
        // spec: DEL-06
        assert!(routes.push_or_look_again(&first, to("s")).is_ok());
        assert_eq!(new.collect(), 1);
    }

    #[test]
    fn a_closed_table_routes_nothing_and_closes_all() {
        let routes = routes();
        let (first, late) = (routes.new_inbox("s".into()), routes.new_inbox("t".into()));
        routes.insert(first.mailbox());
        routes.close();
        routes.insert(late.mailbox());
        assert!(first.mailbox().is_closed() && late.mailbox().is_closed());
        assert_eq!(
            *routes.submit(to("s")).unwrap_err().kind(),
            MessageErrorKind::ContainerClosed {
                container: "main".to_owned()
            }
        );
    }

    #[test]
    fn the_bell_rings_for_every_mailbox_that_stops_being_empty() {
        let routes = routes();
        let (mut a, mut b) = (routes.new_inbox("a".into()), routes.new_inbox("b".into()));
        assert!(!routes.bell().silence());
        for _ in 0..2 {
            a.mailbox().send(Value::Null).unwrap();
            assert!(routes.bell().silence() && !routes.bell().is_rung());
            b.mailbox().send(Value::Null).unwrap();
            assert!(routes.bell().silence());
            assert!(a.is_ready() && b.is_ready());
            a.collect();
            b.collect();
        }
        routes.bell().ring();
        assert!(routes.bell().flag().load(Ordering::Relaxed));
    }
}
