//! What a column's box holds: the vector of one type, and what can be done with it where the type is not known.

use std::mem::needs_drop;
use std::ptr::NonNull;

use super::column::Erased;
use super::component::Component;
use crate::base::caught::FirstPanic;

#[cold]
pub(super) fn wrong_column() -> ! {
    unreachable!("a value was sent to a column of another type")
}

/// Moves a row from one vector to the end of another; the last row fills the gap.
///
/// A vector that grows is the business of a function of its own, so that what is left calls nothing and saves no
/// registers. That holds only because both vectors are arguments: the compiler then knows that they are two.
#[inline]
fn move_between<T>(from: &mut Vec<T>, row: usize, to: &mut Vec<T>) {
    if to.len() < to.capacity() {
        to.push(from.swap_remove(row));
    } else {
        move_and_grow(from, row, to);
    }
}

#[cold]
#[inline(never)]
fn move_and_grow<T>(from: &mut Vec<T>, row: usize, to: &mut Vec<T>) {
    to.push(from.swap_remove(row));
}

/// A column's vector. Values are dropped one by one under a catch: two that panic inside one `Vec` would abort.
pub(super) struct Values<T> {
    pub(super) rows: Vec<T>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<T> Values<T> {
    fn drop_from(&mut self, len: usize, panics: &mut FirstPanic) {
        if !needs_drop::<T>() {
            self.rows.truncate(len);
            return;
        }
        while self.rows.len() > len
            && let Some(value) = self.rows.pop()
        {
            panics.drop_value(value);
        }
    }
}

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            let mut panics = FirstPanic::default();
            self.drop_from(0, &mut panics);
            panics.resume();
        }
    }
}

/// What can be done with a column whose type is not known.
pub(super) trait ErasedColumn: Send + Sync {
    fn len(&self) -> usize;
    fn move_row(&mut self, row: usize, target: &mut Erased);
    fn take_boxed(&mut self, row: usize) -> Box<dyn Component>;
    fn drop_row(&mut self, row: usize, panics: &mut FirstPanic);
    fn truncate(&mut self, len: usize, panics: &mut FirstPanic);
    fn push_boxed(&mut self, value: Box<dyn Component>) -> Result<(), Box<dyn Component>>;
    fn replace_boxed(
        &mut self,
        row: usize,
        value: Box<dyn Component>,
    ) -> Result<Box<dyn Component>, Box<dyn Component>>;
    fn component(&self, row: usize) -> Option<&dyn Component>;
    fn component_mut(&mut self, row: usize) -> Option<&mut dyn Component>;
    fn reserve(&mut self, additional: usize);
    fn shrink(&mut self);
    fn allocated(&self) -> usize;
    fn raw_values(&mut self) -> NonNull<()>;
}

impl<T: Component> ErasedColumn for Values<T> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn move_row(&mut self, row: usize, target: &mut Erased) {
        match target.rows_mut::<T>() {
            Some(rows) => move_between(&mut self.rows, row, rows),
            None => wrong_column(),
        }
    }

    fn take_boxed(&mut self, row: usize) -> Box<dyn Component> {
        Box::new(self.rows.swap_remove(row))
    }

    fn drop_row(&mut self, row: usize, panics: &mut FirstPanic) {
        panics.drop_value(self.rows.swap_remove(row));
    }

    fn truncate(&mut self, len: usize, panics: &mut FirstPanic) {
        self.drop_from(len, panics);
    }

    fn push_boxed(&mut self, value: Box<dyn Component>) -> Result<(), Box<dyn Component>> {
        self.rows.push(*value.downcast::<T>()?);
        Ok(())
    }

    fn replace_boxed(
        &mut self,
        row: usize,
        value: Box<dyn Component>,
    ) -> Result<Box<dyn Component>, Box<dyn Component>> {
        let mut value = value.downcast::<T>()?;
        std::mem::swap(&mut self.rows[row], &mut value);
        Ok(value)
    }

    fn component(&self, row: usize) -> Option<&dyn Component> {
        self.rows.get(row).map(|value| value as &dyn Component)
    }

    fn component_mut(&mut self, row: usize) -> Option<&mut dyn Component> {
        self.rows
            .get_mut(row)
            .map(|value| value as &mut dyn Component)
    }

    fn reserve(&mut self, additional: usize) {
        self.rows.reserve(additional);
    }

    fn shrink(&mut self) {
        self.rows.shrink_to_fit();
    }

    fn allocated(&self) -> usize {
        if size_of::<T>() == 0 {
            0
        } else {
            self.rows.capacity() * size_of::<T>()
        }
    }

    fn raw_values(&mut self) -> NonNull<()> {
        NonNull::from(self.rows.as_mut_slice()).cast()
    }
}
