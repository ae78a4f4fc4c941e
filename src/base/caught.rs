//! Panics of user code that must not interrupt the library half-way: caught, kept, and passed on at the end.

use std::any::Any;
use std::mem::{self, needs_drop};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::lock;
use super::user::Mark;

/// The first panic of a piece of work that had to be finished first.
#[derive(Default)]
pub struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    /// Runs user code, as container code (see `user`), and keeps its panic, if it is the first one.
    pub(crate) fn run<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        lock::assert_none_held();
        let _mark = Mark::enter();
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(value) => Some(value),
            Err(payload) => {
                self.keep(payload);
                None
            }
        }
    }

    /// Drops a value of the user's, whose `Drop` may panic. Costs nothing for types without one.
    #[inline]
    pub(crate) fn drop_value<T>(&mut self, value: T) {
        if needs_drop::<T>() {
            self.run(|| drop(value));
        }
    }

    fn keep(&mut self, payload: Box<dyn Any + Send>) {
        if self.0.is_none() {
            self.0 = Some(payload);
        } else if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            // A payload whose own drop panics is forgotten, or it would never end.
            mem::forget(second);
        }
    }

    /// Passes the kept panic on. In a thread that is unwinding already it is dropped instead: two at once abort.
    #[inline]
    pub(crate) fn resume(self) {
        if let Some(payload) = self.0 {
            resume_kept(payload);
        }
    }
}

/// Has what was refused discarded, and gives the error back for the caller to return; a panic goes on from here.
///
/// An error that is returned while the refused value still stands in the returning function is leaked when the value's
/// drop panics: what is on its way out is dropped by nobody.
#[cold]
pub(crate) fn refused<E>(error: E, discard: impl FnOnce(&mut FirstPanic)) -> E {
    let mut panics = FirstPanic::default();
    discard(&mut panics);
    panics.resume();
    error
}

#[cold]
fn resume_kept(payload: Box<dyn Any + Send>) {
    if std::thread::panicking() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(mem::forget);
    } else {
        resume_unwind(payload);
    }
}
