//! What the terms `&T` and `&mut T` hold of an archetype.

use super::access::Term;
use super::cells::{Cells, take_row};
use crate::base::entity::Entity;
use crate::store::column::Column;
use crate::store::component::{Component, Storage};
use crate::store::sparse::{SparseSet, SparseView, row_of};
use crate::store::ticks::Marks;

/// One archetype, to be read.
#[doc(hidden)]
pub struct Place<'w, 's> {
    pub(super) columns: &'w [Column],
    /// By request: the column, or `ABSENT`.
    pub(super) positions: &'s [u16],
    pub(super) sparse: &'w [SparseSet],
}

/// What `&T` reads of one archetype. Without the component, no row is in it.
#[doc(hidden)]
pub struct ReadPart<'w, T> {
    values: &'w [T],
    /// For a sparse kind: by entity, the row of its value plus one.
    index: &'w [u32],
}

impl<'w, T: Component> ReadPart<'w, T> {
    pub(super) fn new(term: Term, place: &Place<'w, '_>) -> Self {
        let set = term.sparse.and_then(|set| place.sparse.get(set as usize));
        let column = match set {
            Some(set) => Some(set.column()),
            None => place
                .positions
                .get(term.request as usize)
                .and_then(|at| place.columns.get(*at as usize)),
        };
        Self {
            values: column.and_then(Column::values).unwrap_or_default(),
            index: set.map(SparseSet::index).unwrap_or_default(),
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize, entity: Entity) -> Option<&'w T> {
        // Read before the row is compared: else the compiler forgets that a slice is not null, and asks.
        let values: &'w [T] = self.values;
        match T::storage() {
            Storage::Table => values.get(row),
            Storage::Sparse => values.get(row_of(self.index, entity.index())?),
        }
    }
}

/// What `&T` holds of an archetype.
#[doc(hidden)]
pub enum ReadFetch<'w, T> {
    Table(&'w [T]),
    Sparse(Option<SparseView<'w>>),
}

/// What `&mut T` holds of an archetype.
#[doc(hidden)]
pub enum WriteFetch<'w, T> {
    Table {
        values: &'w mut [T],
        marks: Option<Marks<'w>>,
        now: u64,
    },
    Sparse {
        view: Option<SparseView<'w>>,
        now: u64,
    },
}

#[inline]
pub(super) fn read_fetch<'w, T: Component, const WIDTH: usize>(
    term: Term,
    cells: &mut Cells<'w, '_, WIDTH>,
) -> ReadFetch<'w, T> {
    match T::storage() {
        Storage::Table => ReadFetch::Table(cells.read(term)),
        Storage::Sparse => ReadFetch::Sparse(cells.view(term)),
    }
}

impl<'w, T: Component> ReadFetch<'w, T> {
    #[inline]
    pub(super) fn slice(self) -> &'w [T] {
        match self {
            Self::Table(values) => values,
            Self::Sparse(_) => &[],
        }
    }

    #[inline]
    pub(super) fn pick(&mut self, skip: usize, id: u32) -> Option<&'w T> {
        match self {
            Self::Table(values) => {
                let (value, rest) = values.get(skip..)?.split_first()?;
                *values = rest;
                Some(value)
            }
            Self::Sparse(view) => view.as_ref()?.get(id),
        }
    }

    pub(super) fn split(self, at: usize) -> (Self, Self) {
        let (left, right) = self.slice().split_at(at);
        (Self::Table(left), Self::Table(right))
    }
}

#[inline]
pub(super) fn write_fetch<'w, T: Component, const WIDTH: usize>(
    term: Term,
    cells: &mut Cells<'w, '_, WIDTH>,
) -> WriteFetch<'w, T> {
    let now = cells.now;
    match T::storage() {
        Storage::Table => {
            let (values, marks) = cells.write(term);
            WriteFetch::Table { values, marks, now }
        }
        Storage::Sparse => WriteFetch::Sparse {
            view: cells.view(term),
            now,
        },
    }
}

impl<'w, T: Component> WriteFetch<'w, T> {
    #[inline]
    pub(super) fn slice(self) -> &'w mut [T] {
        match self {
            Self::Table { values, marks, now } => {
                if let Some(marks) = marks {
                    marks.mark_all(now);
                }
                values
            }
            Self::Sparse { .. } => &mut [],
        }
    }

    #[inline]
    pub(super) fn pick(&mut self, skip: usize, id: u32) -> Option<&'w mut T> {
        match self {
            Self::Table { values, marks, now } => {
                let value = take_row(values, skip)?;
                if let Some(marks) = marks {
                    // From here on these are the marks of some rows.
                    marks.whole = None;
                    *take_row(&mut marks.rows, skip)? = *now;
                }
                Some(value)
            }
            Self::Sparse { view, now } => {
                let (value, tick) = view.as_ref()?.take(id)?;
                if let Some(tick) = tick {
                    *tick = *now;
                }
                Some(value)
            }
        }
    }

    pub(super) fn split(self, at: usize) -> (Self, Self) {
        match self {
            Self::Table { values, marks, now } => {
                let (left, right) = values.split_at_mut(at);
                let (left_marks, right_marks) = marks.map(|marks| marks.split_at(at)).unzip();
                (
                    Self::Table {
                        values: left,
                        marks: left_marks,
                        now,
                    },
                    Self::Table {
                        values: right,
                        marks: right_marks,
                        now,
                    },
                )
            }
            Self::Sparse { view, now } => {
                (Self::Sparse { view, now }, Self::Sparse { view: None, now })
            }
        }
    }
}
