//! Leaf locks, and the switch between the real primitives and those of a checker.
//!
//! Everything in the crate that is shared between threads is built from the names in this file, so the same code runs
//! under loom with `--cfg loom`, which tries all orders of small cases, and under shuttle with `--cfg shuttle`, which
//! tries many of large ones. The real build uses `parking_lot`, whose shape `twins` gives to the checkers' locks: no
//! poison, and a condition variable that waits on `&mut` guard.
//!
//! Every lock is a *leaf*: a thread holds at most one at a time, so there is no order among them and no deadlock.
//! The rule that goes with it: clone what you need out of the lock, let go, then go on. Debug builds count the locks
//! a thread holds; taking a second one panics, and so does [`assert_none_held`] just before user code runs.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

#[cfg(any(loom, shuttle))]
mod twins;

#[cfg(any(loom, shuttle))]
use checker::thread_local;
#[cfg(not(any(loom, shuttle)))]
use parking_lot as imp;
#[cfg(any(loom, shuttle))]
use twins as imp;
#[cfg(any(loom, shuttle))]
pub(crate) use twins::checker;

#[cfg(any(loom, shuttle))]
pub(crate) use checker::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

#[cfg(any(loom, shuttle))]
pub(crate) use checker::thread;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::thread;

#[cfg(not(any(loom, shuttle)))]
thread_local! {
    static HELD: Cell<u32> = const { Cell::new(0) };
}
#[cfg(any(loom, shuttle))]
thread_local! {
    static HELD: Cell<u32> = Cell::new(0);
}

/// Panics in debug builds when this thread holds one of the library's locks. Stands in front of every call of user
/// code.
#[inline]
#[track_caller]
pub(crate) fn assert_none_held() {
    if cfg!(debug_assertions) {
        let held = HELD.with(Cell::get);
        assert!(
            held == 0,
            "a lock of the library is held where user code is about to run or another lock is taken"
        );
    }
}

/// The mark of one held lock in the thread's count; nothing at all in release builds.
struct Held(());

impl Held {
    #[inline]
    #[track_caller]
    fn mark() -> Self {
        assert_none_held();
        if cfg!(debug_assertions) {
            HELD.with(|held| held.set(held.get() + 1));
        }
        Self(())
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            HELD.with(|held| held.set(held.get() - 1));
        }
    }
}

/// A mutual exclusion that is never poisoned and never held beside another one.
#[derive(Default)]
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits for the lock.
    #[inline]
    #[track_caller]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        // Marked first: a second lock of one thread is reported before it can block for ever.
        let held = Held::mark();
        MutexGuard {
            inner: self.0.lock(),
            _held: held,
        }
    }

    /// The value, by the proof that nobody else has the lock.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// The lock while it is held. The fields are dropped in this order: unlock, then unmark.
pub(crate) struct MutexGuard<'a, T> {
    inner: imp::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// A lock that many may read at a time. Like [`Mutex`] it is never poisoned and a leaf, the reading side included: a
/// second look of a thread that already looks would wait for ever behind a writer that came between.
#[derive(Default)]
pub(crate) struct RwLock<T>(imp::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(imp::RwLock::new(value))
    }

    /// Waits until nobody writes.
    #[inline]
    #[track_caller]
    pub(crate) fn read(&self) -> Reading<'_, T> {
        let held = Held::mark();
        Reading {
            inner: self.0.read(),
            _held: held,
        }
    }

    /// Waits until nobody reads or writes.
    #[inline]
    #[track_caller]
    pub(crate) fn write(&self) -> Writing<'_, T> {
        let held = Held::mark();
        Writing {
            inner: self.0.write(),
            _held: held,
        }
    }

    /// The value, by the proof that nobody else has the lock.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// A [`RwLock`] while it is read. Unlocks, then unmarks.
pub(crate) struct Reading<'a, T> {
    inner: imp::RwLockReadGuard<'a, T>,
    _held: Held,
}

/// A [`RwLock`] while it is written. Unlocks, then unmarks.
pub(crate) struct Writing<'a, T> {
    inner: imp::RwLockWriteGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for Writing<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// A condition variable for [`Mutex`]. It may wake without reason: wait in a loop over the condition.
///
/// `notify_all` without a waiter costs little with `parking_lot`, but it is not free: count the waiters under the
/// lock where it is called often.
pub(crate) struct Condvar(imp::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// Lets go of the lock, waits to be notified, takes the lock again.
    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.0.wait(&mut guard.inner);
    }

    /// As [`wait`](Self::wait), but no longer than `timeout`. True when the time ran out.
    pub(crate) fn wait_timeout<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> bool {
        self.0.wait_for(&mut guard.inner, timeout).timed_out()
    }

    /// Wakes one who waits, if there is one.
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all that wait.
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn debug_builds_refuse_a_second_lock_and_user_code_under_a_lock() {
        let (first, second) = (Mutex::new(1), Mutex::new(2));
        let guard = first.lock();
        // spec: LCK-01
        assert_eq!(
            catch_unwind(AssertUnwindSafe(|| *second.lock())).is_err(),
            cfg!(debug_assertions)
        );
        // spec: LCK-02
        assert_eq!(
            catch_unwind(assert_none_held).is_err(),
            cfg!(debug_assertions)
        );
        drop(guard);
        assert_none_held();
        let sum = { *first.lock() } + { *second.lock() };
        assert_eq!(sum, 3);
    }

    #[test]
    fn a_lock_for_reading_is_a_leaf_too() {
        let table = RwLock::new(1);
        let held: [fn(&RwLock<i32>); 2] = [
            |table| {
                let _guard = table.read();
                // A second look of the same thread.
                assert_eq!(*table.read(), 1);
            },
            |table| {
                let _guard = table.write();
                assert_none_held();
            },
        ];
        for hold in held {
            // spec: LCK-01, LCK-02
            assert_eq!(
                catch_unwind(AssertUnwindSafe(|| hold(&table))).is_err(),
                cfg!(debug_assertions)
            );
            assert_none_held();
        }
        *table.write() += 1;
        assert_eq!(*table.read(), 2);
    }

    #[test]
    fn two_threads_read_at_the_same_time() {
        let table = Arc::new(RwLock::new(1));
        let first = table.read();
        let other = Arc::clone(&table);
        let (send, receive) = std::sync::mpsc::channel();
        thread::spawn(move || send.send(*other.read()));
        let seen = receive.recv_timeout(Duration::from_secs(30));
        assert_eq!(seen, Ok(1), "a reader waited for another reader");
        assert_eq!(*first, 1);
    }

    #[test]
    fn a_panic_under_the_lock_neither_poisons_it_nor_leaves_the_mark() {
        let lock = Mutex::new(1);
        let failed = catch_unwind(AssertUnwindSafe(|| {
            *lock.lock() = 2;
            let _guard = lock.lock();
            panic!("on purpose");
        }));
        assert!(failed.is_err());
        assert_eq!(*lock.lock(), 2);
    }

    #[test]
    fn a_wait_ends_by_time_or_by_notice() {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        assert!(
            shared
                .1
                .wait_timeout(&mut shared.0.lock(), Duration::from_millis(1))
        );
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock() = true;
            other.1.notify_all();
        });
        let mut ready = shared.0.lock();
        while !*ready {
            shared.1.wait(&mut ready);
        }
        drop(ready);
        thread.join().unwrap();
    }
}
