//! A checker's locks in the shape of `parking_lot`'s, for a build with `--cfg loom` or `--cfg shuttle`: no poison, and a
//! condition variable that waits on `&mut` guard.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

#[cfg(loom)]
pub(crate) use loom as checker;
#[cfg(shuttle)]
pub(crate) use shuttle as checker;

use checker::sync;
pub(super) use checker::sync::{RwLockReadGuard, RwLockWriteGuard};

#[derive(Default)]
pub(super) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    #[track_caller]
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(
            self.0
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        ))
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.0
            .get_mut()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Empty only inside [`Condvar::wait`], which a checker wants to own the guard.
pub(super) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().expect("taken only while waiting")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_deref_mut().expect("taken only while waiting")
    }
}

#[derive(Default)]
pub(super) struct RwLock<T>(sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(super) fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }

    #[track_caller]
    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[track_caller]
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.0
            .get_mut()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

pub(super) struct Condvar(sync::Condvar);

impl Condvar {
    pub(super) fn new() -> Self {
        Self(sync::Condvar::new())
    }

    pub(super) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let inner = guard.0.take().expect("taken only while waiting");
        guard.0 = Some(
            self.0
                .wait(inner)
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        );
    }

    /// Under a checker time stands still: it waits for the notification.
    pub(super) fn wait_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        _timeout: Duration,
    ) -> Notified {
        self.wait(guard);
        Notified
    }

    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// How a wait of limited time ended.
pub(super) struct Notified;

impl Notified {
    pub(super) fn timed_out(self) -> bool {
        false
    }
}
