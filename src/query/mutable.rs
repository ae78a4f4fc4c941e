//! `Mut<T>`: a component that notes when it is written.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::cells::take_row;
use crate::store::component::Component;
use crate::store::sparse::SparseView;

/// A component borrowed mutably, which counts as written only once it is.
///
/// As a query term it yields itself: `query::<(Mut<Health>, &Poison)>()`. Reading through it leaves the change
/// marks alone, writing through it (or borrowing it mutably) sets them. Where nobody tracks the kind it is a plain
/// reference.
pub struct Mut<'w, T> {
    value: &'w mut T,
    tick: Option<&'w mut u64>,
    now: u64,
}

impl<'w, T> Mut<'w, T> {
    /// The component, without a mark that it was written.
    pub fn bypass(&mut self) -> &mut T {
        self.value
    }

    /// The plain reference; counts as written.
    pub fn into_inner(mut self) -> &'w mut T {
        self.mark();
        self.value
    }

    /// Writes the value if it differs, and says whether it did.
    pub fn set_if_different(&mut self, value: T) -> bool
    where
        T: PartialEq,
    {
        if *self.value == value {
            return false;
        }
        **self = value;
        true
    }

    #[inline]
    fn mark(&mut self) {
        if let Some(tick) = &mut self.tick {
            **tick = self.now;
        }
    }

    pub(super) fn into_slice(self) -> MutSlice<'w, T> {
        MutSlice {
            values: std::slice::from_mut(self.value),
            ticks: self.tick.map(std::slice::from_mut),
            now: self.now,
        }
    }
}

impl<T> Deref for Mut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Mut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.mark();
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Mut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// A chunk's components of one kind, each of which notes when it is written.
pub struct MutSlice<'w, T> {
    pub(super) values: &'w mut [T],
    pub(super) ticks: Option<&'w mut [u64]>,
    pub(super) now: u64,
}

impl<'w, T> MutSlice<'w, T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The components, to be read.
    pub fn as_slice(&self) -> &[T] {
        self.values
    }

    /// The components, all of which count as written.
    pub fn into_mut_slice(self) -> &'w mut [T] {
        if let Some(ticks) = self.ticks {
            ticks.fill(self.now);
        }
        self.values
    }

    /// The component of a row.
    pub fn get_mut(&mut self, row: usize) -> Option<Mut<'_, T>> {
        let tick = self.ticks.as_mut().and_then(|ticks| ticks.get_mut(row));
        Some(Mut {
            value: self.values.get_mut(row)?,
            tick,
            now: self.now,
        })
    }

    pub(super) fn split_at(self, at: usize) -> (Self, Self) {
        let (left, right) = self.values.split_at_mut(at);
        let ticks = self.ticks.map(|ticks| ticks.split_at_mut(at));
        let (left_ticks, right_ticks) = ticks.unzip();
        let now = self.now;
        (
            Self {
                values: left,
                ticks: left_ticks,
                now,
            },
            Self {
                values: right,
                ticks: right_ticks,
                now,
            },
        )
    }
}

impl<'w, T> IntoIterator for MutSlice<'w, T> {
    type Item = Mut<'w, T>;
    type IntoIter = MutRows<'w, T>;

    fn into_iter(self) -> MutRows<'w, T> {
        MutRows {
            values: self.values.iter_mut(),
            ticks: self.ticks.map(<[u64]>::iter_mut),
            now: self.now,
        }
    }
}

/// Iterator over a chunk's components that note when they are written.
pub struct MutRows<'w, T> {
    values: std::slice::IterMut<'w, T>,
    ticks: Option<std::slice::IterMut<'w, u64>>,
    now: u64,
}

impl<T> Default for MutRows<'_, T> {
    fn default() -> Self {
        Self {
            values: [].iter_mut(),
            ticks: None,
            now: 0,
        }
    }
}

impl<'w, T> Iterator for MutRows<'w, T> {
    type Item = Mut<'w, T>;

    #[inline]
    fn next(&mut self) -> Option<Mut<'w, T>> {
        let value = self.values.next()?;
        let tick = self.ticks.as_mut().and_then(Iterator::next);
        Some(Mut {
            value,
            tick,
            now: self.now,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }

    /// Whether ticks are kept is asked once, not for every row.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        let now = self.now;
        match self.ticks {
            None => self.values.fold(init, |acc, value| {
                f(
                    acc,
                    Mut {
                        value,
                        tick: None,
                        now,
                    },
                )
            }),
            Some(ticks) => {
                let rows = self.values.zip(ticks);
                rows.fold(init, |acc, (value, tick)| {
                    f(
                        acc,
                        Mut {
                            value,
                            tick: Some(tick),
                            now,
                        },
                    )
                })
            }
        }
    }
}

impl<T> ExactSizeIterator for MutRows<'_, T> {}

/// What `Mut<T>` holds of an archetype.
#[doc(hidden)]
pub enum MarkFetch<'w, T> {
    Table(MutSlice<'w, T>),
    Sparse {
        view: Option<SparseView<'w>>,
        now: u64,
    },
}

impl<'w, T: Component> MarkFetch<'w, T> {
    pub(super) fn slice(self) -> MutSlice<'w, T> {
        match self {
            Self::Table(slice) => slice,
            Self::Sparse { now, .. } => MutSlice {
                values: &mut [],
                ticks: None,
                now,
            },
        }
    }

    #[inline]
    pub(super) fn pick(&mut self, skip: usize, id: u32) -> Option<Mut<'w, T>> {
        match self {
            Self::Table(slice) => {
                let value = take_row(&mut slice.values, skip)?;
                let tick = slice.ticks.as_mut().and_then(|ticks| take_row(ticks, skip));
                Some(Mut {
                    value,
                    tick,
                    now: slice.now,
                })
            }
            Self::Sparse { view, now } => {
                let (value, tick) = view.as_ref()?.take(id)?;
                Some(Mut {
                    value,
                    tick,
                    now: *now,
                })
            }
        }
    }
}
