//! The one door to user code: everything the library calls that a user wrote goes through [`call`], every value of a
//! user that the library lets go of goes through [`release`].
//!
//! The door asserts that no lock is held (LCK-02), marks the thread as being inside container code while the call
//! lasts (so that a `stop` or a wait from there knows that it must not block), and turns a panic into a value.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::lock;

#[cfg(any(loom, shuttle))]
use super::lock::checker::thread_local;

#[cfg(not(any(loom, shuttle)))]
thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}
#[cfg(any(loom, shuttle))]
thread_local! {
    static DEPTH: Cell<u32> = Cell::new(0);
}

/// Whether this thread is inside a call of user code that the library made, of whatever container and manager.
#[inline]
pub(crate) fn is_inside() -> bool {
    DEPTH.with(Cell::get) != 0
}

/// The thread's mark, for as long as it lives. Marks nest.
pub struct Mark(PhantomData<*const ()>);

impl Mark {
    #[inline]
    pub(crate) fn enter() -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self(PhantomData)
    }

    /// Marks this thread for the rest of its life: a container's own thread. It is not taken back at the end of the
    /// thread's body, or a thread-local destructor that stops the container would wait for its own thread.
    pub(crate) fn stay(self) {
        std::mem::forget(self);
    }
}

impl Drop for Mark {
    #[inline]
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// A panic of user code, caught. Its text reads `panicked: <message>`.
#[derive(Debug)]
pub(crate) struct Panic {
    text: String,
}

impl Panic {
    #[cold]
    fn new(payload: Box<dyn Any + Send>) -> Self {
        let text = if let Some(text) = payload.downcast_ref::<&str>() {
            (*text).to_owned()
        } else if let Some(text) = payload.downcast_ref::<String>() {
            text.clone()
        } else {
            "with a value that is not text".to_owned()
        };
        // The payload is a user's value too. One whose own `Drop` panics gives a second payload, which is forgotten:
        // a third could follow it.
        let _mark = Mark::enter();
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(second);
        }
        Self { text }
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.text)
    }
}

impl std::error::Error for Panic {}

/// Calls user code: no lock held, the thread marked, a panic caught.
///
/// What the closure borrows may be left half-changed by a panic; the caller is the one who must not care.
#[inline]
#[track_caller]
pub(crate) fn call<R>(code: impl FnOnce() -> R) -> Result<R, Panic> {
    lock::assert_none_held();
    let _mark = Mark::enter();
    catch_unwind(AssertUnwindSafe(code)).map_err(Panic::new)
}

/// As [`call`], for a caller that holds the [`Mark`] over many calls: counting up and down around each is most of what a
/// call of an empty function costs.
#[inline]
#[track_caller]
pub(crate) fn call_under<R>(_mark: &Mark, code: impl FnOnce() -> R) -> Result<R, Panic> {
    lock::assert_none_held();
    catch_unwind(AssertUnwindSafe(code)).map_err(Panic::new)
}

/// As [`call_under`], for a loop that is itself called under it and ends at a panic.
#[inline]
#[track_caller]
pub(crate) fn call_caught<R>(_mark: &Mark, code: impl FnOnce() -> R) -> R {
    lock::assert_none_held();
    code()
}

/// Drops a user's value, whose `Drop` is user code.
#[track_caller]
pub(crate) fn release<T>(value: T) -> Result<(), Panic> {
    call(move || drop(value))
}

/// Refuses a user's value: lets go of it first, so that neither its panic gets past the error nor the error past it.
#[cold]
#[track_caller]
pub(crate) fn refuse<T, R, E>(value: T, error: E) -> Result<R, E> {
    let _ = release(value);
    Err(error)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(Bomb);
        }
    }

    #[test]
    fn a_panic_becomes_a_value_with_its_text_and_the_mark_is_taken_back() {
        assert!(!is_inside());
        assert!(call(is_inside).unwrap());
        assert_eq!(
            call(|| panic!("at {}", 7)).unwrap_err().to_string(),
            "panicked: at 7"
        );
        assert_eq!(
            call(|| panic!("plain")).unwrap_err().to_string(),
            "panicked: plain"
        );
        let odd = call(|| std::panic::panic_any(7_u8)).unwrap_err();
        assert_eq!(odd.to_string(), "panicked: with a value that is not text");
        assert!(!is_inside());
    }

    #[test]
    fn a_value_whose_drop_panics_for_ever_is_let_go_of() {
        assert!(release(Bomb).is_err());
        assert!(!is_inside());
    }
}
