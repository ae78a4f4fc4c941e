//! Events that wait for their place in the order.

use super::kept::Kept;

/// Events of one type that somebody sends who cannot reach the log, in order. The list keeps its memory.
#[doc(hidden)]
pub struct EventBuffer<E> {
    pub(super) events: Kept<Vec<E>>,
}

/// Sends events of a type, as fast as they can be put into a list. A world gives one
/// ([`World::event_writer`](crate::World::event_writer)), and a typed system may have one as a parameter.
///
/// What a typed system writes is delivered at the beginning of the next pass, in the order of the systems that sent it.
/// Each writer keeps its order. What one run sends in several ways is delivered parameter by parameter, and what it sends
/// through [`Own`](crate::Own) last. See [`Events`](crate::Events).
pub struct EventWriter<'a, E> {
    pub(super) events: &'a mut Vec<E>,
}

impl<E> EventWriter<'_, E> {
    /// Sends an event.
    #[inline]
    pub fn send(&mut self, event: E) {
        self.events.push(event);
    }
}

impl<E> EventBuffer<E> {
    #[inline]
    pub(crate) fn writer(&mut self) -> EventWriter<'_, E> {
        EventWriter {
            events: &mut self.events,
        }
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
