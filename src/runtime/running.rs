//! Which system of a container runs at this moment, for any thread to read.
//!
//! The pass stores the number of the slot whose unit it calls, and nothing else; the handles lie beside, written when a
//! system is registered. A reader takes number and handle under one lock, and that is enough for the two to belong
//! together: whoever gives a slot to another system has stored the number of what runs before, and takes the lock after.

use std::sync::Arc;

use crate::base::lock::{AtomicUsize, Mutex, Ordering};

/// No slot has this number.
const NOBODY: usize = usize::MAX;

pub(crate) struct Running {
    slot: AtomicUsize,
    /// The handle of the system that was last registered in each slot.
    handles: Mutex<Vec<Arc<str>>>,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self {
            slot: AtomicUsize::new(NOBODY),
            handles: Mutex::new(Vec::new()),
        }
    }

    /// A system has been registered in this slot.
    pub(crate) fn name(&self, slot: usize, handle: &Arc<str>) {
        let mut handles = self.handles.lock();
        if slot >= handles.len() {
            handles.resize(slot + 1, Arc::clone(handle));
        }
        if let Some(place) = handles.get_mut(slot) {
            *place = Arc::clone(handle);
        }
    }

    /// The hot loop's note. It stays until the next one, or until [`nobody`](Self::nobody).
    #[inline]
    pub(crate) fn note(&self, slot: usize) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    /// The number that was noted last.
    pub(crate) fn slot(&self) -> usize {
        self.slot.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn nobody(&self) {
        self.note(NOBODY);
    }

    /// Notes a slot until the guard is dropped; then what was noted before counts again.
    pub(crate) fn enter(&self, slot: usize) -> Entered<'_> {
        let before = self.slot.load(Ordering::Relaxed);
        self.note(slot);
        Entered {
            running: self,
            before,
        }
    }

    pub(crate) fn handle(&self) -> Option<Arc<str>> {
        let handles = self.handles.lock();
        let slot = self.slot.load(Ordering::Relaxed);
        handles.get(slot).cloned()
    }
}

/// See [`Running::enter`].
pub(crate) struct Entered<'a> {
    running: &'a Running,
    before: usize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.running.note(self.before);
    }
}
