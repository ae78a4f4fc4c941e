//! The place where messages wait between the sender's call and the receiver's update.
//!
//! ```text
//! senders, any thread                      the receiver, one thread
//!   Mailbox ──push──▶ waiting ──swap──▶ readable ──pop──▶
//!            (leaf lock)   │   collect   (plain)
//!                          └─ closed: push hands the message back
//! ```
//!
//! The two queues are swapped whole when the receiver has read everything, so both keep their memory and steady
//! traffic allocates nothing. Messages still unread keep their place: what arrived is moved behind them by way of a
//! third queue, outside the lock.

#[cfg(all(test, loom))]
mod models;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::format::{MessageLimits, harmless};
use crate::base::lock::{Arc as Counted, AtomicBool, Mutex, Ordering};

/// Sends messages to one system directly, from any thread.
///
/// A message sent here needs no `destination`: nothing reads it. Cloning is cheap; all clones lead to the same system.
/// The mailbox stays when its system is gone, but takes nothing any more.
///
/// Sending never waits for a pass, never calls the receiver, and drops nothing: the queue is unbounded, so a program
/// that needs back-pressure brings its own. One sender's messages arrive in the order sent.
#[derive(Clone)]
pub struct Mailbox(Counted<Shared>);

struct Shared {
    handle: Arc<str>,
    limits: MessageLimits,
    /// Something waits. Written under the lock of `queue` only; read without it as a hint.
    ready: AtomicBool,
    /// Rung together with setting `ready`.
    bell: Bell,
    queue: Mutex<Queue>,
}

struct Queue {
    closed: bool,
    waiting: VecDeque<Value>,
}

/// Tells the receiver that something may have arrived in any mailbox of a container: one flag to look at instead of all
/// of them. A clone is the same bell.
///
/// A mailbox rings when it stops being empty, not for every message. So whoever silences the bell has to collect from
/// every inbox before it forgets the ring, also from those whose system is not due.
#[derive(Clone)]
pub(crate) struct Bell(Counted<AtomicBool>);

impl Bell {
    pub(crate) fn new() -> Self {
        Self(Counted::new(AtomicBool::new(false)))
    }

    /// Whether it was rung since the last [`silence`](Self::silence). A hint: a message sent on another thread may not
    /// show yet.
    #[inline]
    pub(crate) fn is_rung(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for a loop that looks at it often.
    #[inline]
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Silences it and tells whether it was rung. Every mailbox that rang it before shows itself
    /// [ready](Inbox::is_ready) afterwards, if it was not collected from meanwhile.
    #[inline]
    pub(crate) fn silence(&self) -> bool {
        self.is_rung() && self.0.swap(false, Ordering::Acquire)
    }

    /// Rings: mail has arrived, or something else asks the receiver to look up.
    ///
    /// A swap, not a store: it carries on what those published who rang just before, or the one who silences the bell
    /// would be sure to see the last ringer's mailbox only, and forget the ring of the others.
    #[inline]
    pub(crate) fn ring(&self) {
        self.0.swap(true, Ordering::Release);
    }
}

impl Mailbox {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The system was removed, replaced or stopped: the message comes back in the error, and an equal handle registered
    /// later has another mailbox. Or the message is nested too deeply.
    ///
    /// ```
    /// use ecs::{Inbox, MessageLimits, SendErrorKind};
    /// use serde_json::json;
    ///
    /// let mut inbox = Inbox::new("game/Loader", MessageLimits::default());
    /// let mailbox = inbox.mailbox().clone();
    /// mailbox.send(json!({ "file": "level1.map" }))?;
    /// assert_eq!(inbox.collect(), 1);
    /// assert_eq!(inbox.pop(), Some(json!({ "file": "level1.map" })));
    ///
    /// drop(inbox);
    /// let error = mailbox.send(json!(7)).unwrap_err();
    /// assert_eq!(error.kind(), SendErrorKind::Closed);
    /// assert_eq!(error.into_message(), Some(json!(7)));
    /// # Ok::<(), ecs::SendError>(())
    /// ```
    pub fn send(&self, message: Value) -> Result<(), SendError> {
        if !self.0.limits.admit(&message) {
            return Err(SendError::new(self, SendErrorKind::TooDeep, message));
        }
        self.push(message)
            .map_err(|message| SendError::new(self, SendErrorKind::Closed, message))
    }

    /// The handle of the system it belongs to.
    pub fn handle(&self) -> &str {
        &self.0.handle
    }

    /// Whether its system is gone. It may be so a moment later in any case: [`send`](Self::send) is what tells.
    pub fn is_closed(&self) -> bool {
        self.0.queue.lock().closed
    }

    /// The handle, shared.
    pub(super) fn shared_handle(&self) -> &Arc<str> {
        &self.0.handle
    }

    /// Whether both lead to one inbox.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Counted::ptr_eq(&self.0, &other.0)
    }

    /// Sends a message whose depth was checked. A closed mailbox hands it back.
    #[inline]
    pub(super) fn push(&self, message: Value) -> Result<(), Value> {
        let shared = &*self.0;
        let mut queue = shared.queue.lock();
        if queue.closed {
            return Err(message);
        }
        if queue.waiting.is_empty() {
            // Under the lock: set outside, it could come after the receiver's clearing of a later collection, or be
            // cleared by one that did not see this message.
            shared.ready.store(true, Ordering::Release);
            shared.bell.ring();
        }
        queue.waiting.push_back(message);
        Ok(())
    }

    /// Takes nothing from now on. What waited is dropped, outside the lock; its number is returned.
    pub(super) fn close(&self) -> usize {
        let discarded = {
            let mut queue = self.0.queue.lock();
            queue.closed = true;
            self.0.ready.store(false, Ordering::Relaxed);
            std::mem::take(&mut queue.waiting)
        };
        discarded.len()
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("handle", &self.handle())
            .finish_non_exhaustive()
    }
}

/// The receiving end of a [`Mailbox`]. Dropping it closes the mailbox.
///
/// A container makes one for each of its systems. A program needs one of its own only where it plays the part of a
/// system: in a test of code that sends to a mailbox, or to hear answers on a thread that is no container's.
pub struct Inbox {
    mailbox: Mailbox,
    readable: VecDeque<Value>,
    /// Where messages go that arrive while others are unread. Empty in between; keeps its memory.
    spare: VecDeque<Value>,
}

impl Inbox {
    /// An inbox that no container knows, with its own mailbox of this name and the depth limit of `limits`.
    pub fn new(handle: impl Into<Arc<str>>, limits: MessageLimits) -> Self {
        Self::with_bell(handle.into(), limits, Bell::new())
    }

    /// An inbox whose mailbox rings this bell.
    pub(crate) fn with_bell(handle: Arc<str>, limits: MessageLimits, bell: Bell) -> Self {
        let queue = Mutex::new(Queue {
            closed: false,
            waiting: VecDeque::new(),
        });
        let shared = Shared {
            handle,
            limits,
            ready: AtomicBool::new(false),
            bell,
            queue,
        };
        Self {
            mailbox: Mailbox(Counted::new(shared)),
            readable: VecDeque::new(),
            spare: VecDeque::new(),
        }
    }

    /// The sending end, to clone and give away.
    pub fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// Whether something waits to be collected. A hint, without a lock: a message sent on another thread may not show
    /// yet; one sent on this thread does.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.mailbox.0.ready.load(Ordering::Acquire)
    }

    /// Makes what has arrived readable, behind what is still unread, and returns how many can be read now.
    #[inline]
    pub fn collect(&mut self) -> usize {
        if self.is_ready() {
            self.take_waiting();
        }
        self.readable.len()
    }

    fn take_waiting(&mut self) {
        let Self {
            mailbox,
            readable,
            spare,
        } = self;
        let unread = !readable.is_empty();
        let target = if unread { &mut *spare } else { &mut *readable };
        {
            let mut queue = mailbox.0.queue.lock();
            mailbox.0.ready.store(false, Ordering::Relaxed);
            std::mem::swap(&mut queue.waiting, target);
        }
        if unread {
            readable.append(spare);
        }
    }

    /// The oldest readable message.
    #[inline]
    pub fn pop(&mut self) -> Option<Value> {
        self.readable.pop_front()
    }

    /// How many messages can be read without collecting.
    #[inline]
    pub fn len(&self) -> usize {
        self.readable.len()
    }

    /// Whether none can be read without collecting.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.readable.is_empty()
    }

    /// Closes the mailbox and drops all messages, read or not. Returns how many there were.
    pub fn close(&mut self) -> usize {
        let discarded = self.mailbox.close() + self.readable.len();
        self.readable.clear();
        discarded
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("mailbox", &self.mailbox)
            .field("readable", &self.len())
            .finish_non_exhaustive()
    }
}

/// A message that a [`Mailbox`] did not take. It comes back with [`into_message`](Self::into_message).
#[derive(thiserror::Error)]
#[error("ecs::Mailbox({handle:?})::send(): {kind}")]
pub struct SendError {
    handle: Arc<str>,
    kind: SendErrorKind,
    message: Option<Value>,
}

/// Why a [`Mailbox`] did not take a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendErrorKind {
    /// The system is gone.
    #[error(
        "the mailbox is closed: its system was removed, replaced or stopped, ask for the handle's mailbox again"
    )]
    Closed,
    /// The message is deeper than the limit.
    #[error("message is nested too deeply")]
    TooDeep,
}

impl SendError {
    #[cold]
    fn new(mailbox: &Mailbox, kind: SendErrorKind, message: Value) -> Self {
        Self {
            handle: Arc::clone(mailbox.shared_handle()),
            kind,
            message: harmless(message),
        }
    }

    /// Why.
    pub fn kind(&self) -> SendErrorKind {
        self.kind
    }

    /// The handle of the mailbox.
    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// The message. None only if it is nested deeper than [`MessageLimits::HIGHEST_DEPTH`], which no closed mailbox's
    /// error is about.
    pub fn into_message(self) -> Option<Value> {
        self.message
    }
}

impl fmt::Debug for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError")
            .field("handle", &self.handle)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
