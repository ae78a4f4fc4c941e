//! Events that wait for their place in the order.

use super::kept::Kept;

/// Events of one type that somebody sends who cannot reach the log, in order. The list keeps its memory.
#[doc(hidden)]
pub struct EventBuffer<E> {
    pub(super) events: Kept<Vec<E>>,
}

impl<E> EventBuffer<E> {
    #[inline]
    pub(crate) fn send(&mut self, event: E) {
        self.events.push(event);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

impl<E> Default for EventBuffer<E> {
    fn default() -> Self {
        Self {
            events: Kept::default(),
        }
    }
}
