//! When the components of a column came, and when they were last written, in the world's ticks.
//!
//! A run that writes a whole column leaves one mark instead of one for each row:
//!
//! ```text
//! changed  [ 7, 12, 7, 9 ]    by row: the last write of that row alone
//! whole    10                 the last write of all rows
//! ```
//!
//! A row was last written at the later of the two: 10, 12, 10, 10. The rows that come later, and writes of single rows,
//! have ticks that are not before `whole`, with one exception: a row that moves in from another archetype may have been
//! written before. Then the mark is spread over the rows that it is for, which costs no more than to have marked them
//! one by one.

use std::ptr::NonNull;

/// See the module's head.
#[derive(Default)]
pub(crate) struct Ticks {
    added: Vec<u64>,
    changed: Vec<u64>,
    whole: u64,
}

/// The marks of writes of a column that is lent to be written.
#[doc(hidden)]
pub struct Marks<'w> {
    /// By row.
    pub(crate) rows: &'w mut [u64],
    /// That of all rows; none where only some of them are lent.
    pub(crate) whole: Option<&'w mut u64>,
}

impl Marks<'_> {
    /// Notes that all rows were written.
    #[inline]
    pub(crate) fn mark_all(self, now: u64) {
        match self.whole {
            Some(whole) => *whole = now,
            None => self.rows.fill(now),
        }
    }

    /// Some rows, and those behind them.
    pub(crate) fn split_at(self, at: usize) -> (Self, Self) {
        let (left, right) = self.rows.split_at_mut(at);
        let some = |rows| Self { rows, whole: None };
        (some(left), some(right))
    }
}

impl Ticks {
    /// When each row's component came.
    pub(crate) fn added(&self) -> &[u64] {
        &self.added
    }

    /// When each row was last written alone; see [`whole`](Self::whole).
    pub(crate) fn changed(&self) -> &[u64] {
        &self.changed
    }

    /// When all rows were last written at once.
    pub(crate) fn whole(&self) -> u64 {
        self.whole
    }

    /// When a row's component came, and when it was last written.
    pub(super) fn of(&self, row: usize) -> Option<(u64, u64)> {
        let changed = *self.changed.get(row)?;
        Some((*self.added.get(row)?, changed.max(self.whole)))
    }

    #[inline]
    pub(super) fn marks(&mut self) -> Marks<'_> {
        Marks {
            rows: &mut self.changed,
            whole: Some(&mut self.whole),
        }
    }

    #[inline(never)]
    pub(super) fn push(&mut self, now: u64) {
        self.added.push(now);
        self.changed.push(now);
    }

    #[inline]
    pub(super) fn mark(&mut self, row: usize, now: u64) {
        if let Some(tick) = self.changed.get_mut(row) {
            *tick = now;
        }
    }

    #[inline(never)]
    pub(super) fn forget(&mut self, row: usize) {
        self.added.swap_remove(row);
        self.changed.swap_remove(row);
    }

    #[inline(never)]
    pub(super) fn move_row(&mut self, row: usize, target: Option<&mut Self>) {
        let (added, changed) = (self.added.swap_remove(row), self.changed.swap_remove(row));
        if let Some(target) = target {
            let changed = changed.max(self.whole);
            if changed < target.whole {
                target.spread();
            }
            target.added.push(added);
            target.changed.push(changed);
        }
    }

    /// Gives each row its own mark.
    fn spread(&mut self) {
        let whole = std::mem::take(&mut self.whole);
        for tick in &mut self.changed {
            *tick = whole.max(*tick);
        }
    }

    pub(super) fn resize(&mut self, len: usize, now: u64) {
        self.added.resize(len, now);
        self.changed.resize(len, now);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.added.truncate(len);
        self.changed.truncate(len);
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.added.reserve(additional);
        self.changed.reserve(additional);
    }

    pub(super) fn shrink(&mut self) {
        self.added.shrink_to_fit();
        self.changed.shrink_to_fit();
    }

    pub(super) fn allocated(&self) -> usize {
        size_of::<Self>() + (self.added.capacity() + self.changed.capacity()) * size_of::<u64>()
    }

    /// Where the rows' ticks lie (added, changed), each the tick of its row and no other.
    pub(super) fn raw_parts(&mut self) -> (NonNull<u64>, NonNull<u64>) {
        self.spread();
        (
            NonNull::from(self.added.as_mut_slice()).cast(),
            NonNull::from(self.changed.as_mut_slice()).cast(),
        )
    }
}
