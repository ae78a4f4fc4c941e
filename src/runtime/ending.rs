//! The end of a container's thread, as those see it who wait for it. The steps stand in `thread.rs`.

use crate::base::lock::thread::JoinHandle;

/// What those who wait for a thread's end know of it.
#[derive(Default)]
pub(super) struct ThreadEnd {
    pub(super) handle: Option<JoinHandle<()>>,
    /// The thread has done all it will do but for leaving.
    pub(super) done: bool,
    /// It has been joined, or never was.
    pub(super) ended: bool,
}
