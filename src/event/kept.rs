//! Lists of a user's values that are let go of one by one.

use std::mem;
use std::ops::{Deref, DerefMut};

use crate::base::caught::FirstPanic;

/// A list whose values are dropped one by one: two whose `Drop` panics would abort the process in a list of the
/// standard library.
#[derive(Default)]
pub(super) struct Kept<C: IntoIterator + Default>(pub(super) C);

/// Drops values one by one.
pub(super) fn drop_each<E>(values: impl IntoIterator<Item = E>, panics: &mut FirstPanic) {
    if mem::needs_drop::<E>() {
        for value in values {
            panics.drop_value(value);
        }
    }
}

impl<C: IntoIterator + Default> Deref for Kept<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: IntoIterator + Default> DerefMut for Kept<C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}

impl<C: IntoIterator + Default> Drop for Kept<C> {
    fn drop(&mut self) {
        if mem::needs_drop::<C::Item>() {
            let mut panics = FirstPanic::default();
            drop_each(mem::take(&mut self.0), &mut panics);
            panics.resume();
        }
    }
}
