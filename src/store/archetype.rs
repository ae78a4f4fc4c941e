//! Archetypes: all entities with the same set of (table) kinds.
//!
//! Columns are sorted by the bytes of their type names, so an archetype's shape does not depend on history, export
//! finds the names in order, and a move between two archetypes is one walk along both. `ids` and all columns have
//! the same length, but for the moment of a structural change.

use std::any::TypeId;

use super::column::Column;
use super::columns::Columns;
use super::component::Component;
use super::kinds::{KindId, Kinds};
use crate::base::caught::FirstPanic;

/// A type name prepared for comparison: up to 16 bytes are decided by two words, without a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameKey {
    len: usize,
    head: u64,
    tail: u64,
}

impl NameKey {
    #[inline]
    pub(crate) fn new(name: &str) -> Self {
        let bytes = name.as_bytes();
        let len = bytes.len();
        let (head, tail) = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
            _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
                (Some(head), Some(tail)) => (
                    u64::from(u32::from_le_bytes(*head)),
                    u64::from(u32::from_le_bytes(*tail)),
                ),
                _ => (
                    bytes
                        .iter()
                        .fold(0, |word, &byte| (word << 8) | u64::from(byte)),
                    0,
                ),
            },
        };
        Self { len, head, tail }
    }

    #[inline]
    fn decides(self) -> bool {
        self.len <= 16
    }
}

#[doc(hidden)]
pub struct Archetype {
    ids: Vec<u32>,
    columns: Columns,
    /// By column: the type id that `get::<T>` looks for.
    scan: Box<[TypeId]>,
    names: Box<[NameKey]>,
}

impl Archetype {
    /// An archetype of kinds sorted by name.
    pub(super) fn new(sorted: &[KindId], kinds: &Kinds) -> Self {
        Self {
            ids: Vec::new(),
            columns: Columns::new(
                sorted
                    .iter()
                    .map(|id| Column::new(*id, kinds.get(*id)))
                    .collect(),
            ),
            scan: sorted.iter().map(|id| kinds.get(*id).scan_key()).collect(),
            names: sorted
                .iter()
                .map(|id| NameKey::new(&kinds.get(*id).name))
                .collect(),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The entities' indices, row by row.
    #[inline]
    pub(crate) fn ids(&self) -> &[u32] {
        &self.ids
    }

    #[inline]
    pub(crate) fn columns(&self) -> &[Column] {
        self.columns.shared()
    }

    #[inline]
    pub(crate) fn columns_mut(&mut self) -> &mut [Column] {
        self.columns.lend()
    }

    /// Ids and columns at once, for a query.
    #[inline]
    pub(crate) fn parts_mut(&mut self) -> (&[u32], &mut Columns) {
        (&self.ids, &mut self.columns)
    }

    /// Keeps ticks for a kind, if there is a column for it. What queries keep of the columns knows of none.
    pub(super) fn track(&mut self, kind: KindId, now: u64) {
        let mut columns = self.columns.lend().iter_mut();
        if let Some(column) = columns.find(|column| column.kind() == kind) {
            column.track(now);
            self.columns.forget();
        }
    }

    #[inline]
    pub(super) fn ids_and_columns_mut(&mut self) -> (&mut Vec<u32>, &mut [Column]) {
        (&mut self.ids, self.columns.lend())
    }

    /// Appends an id; whoever does so brings the columns into step.
    #[inline]
    pub(super) fn push_id(&mut self, index: u32) -> &mut Columns {
        self.ids.push(index);
        &mut self.columns
    }

    pub(crate) fn position(&self, kind: KindId) -> Option<usize> {
        self.columns()
            .iter()
            .position(|column| column.kind() == kind)
    }

    /// The column of `T` under its own name.
    #[inline]
    pub(crate) fn position_of<T: Component>(&self) -> Option<usize> {
        let wanted = TypeId::of::<T>();
        self.scan.iter().position(|id| *id == wanted)
    }

    /// The type id that look-ups of a column's kind compare.
    pub(super) fn scan_key(&self, at: usize) -> TypeId {
        self.scan[at]
    }

    /// The column under a type name.
    #[inline]
    pub(crate) fn position_named(&self, name: &str, kinds: &Kinds) -> Option<usize> {
        let wanted = NameKey::new(name);
        self.names
            .iter()
            .enumerate()
            .find(|(at, key)| {
                **key == wanted && (wanted.decides() || self.is_named(*at, name, kinds))
            })
            .map(|(at, _)| at)
    }

    fn is_named(&self, at: usize, name: &str, kinds: &Kinds) -> bool {
        *kinds.get(self.columns()[at].kind()).name == *name
    }

    /// Drops a row's components.
    #[inline]
    pub(super) fn drop_row(&mut self, row: usize, panics: &mut FirstPanic) {
        self.columns.drop_row(row, panics);
    }

    /// Takes a row's id out, the last row fills the gap; gives the index of the entity that moved.
    #[inline]
    pub(super) fn swap_remove_id(&mut self, row: usize) -> Option<u32> {
        let last = self.ids.pop()?;
        let place = self.ids.get_mut(row)?;
        *place = last;
        Some(last)
    }

    /// Moves a row's id to the end of `to`, the last row fills the gap; gives the index of the entity that moved there.
    #[inline]
    pub(super) fn move_id(&mut self, to: &mut Self, index: u32, row: usize) -> Option<u32> {
        to.ids.push(index);
        self.swap_remove_id(row)
    }

    /// Moves a row's components to the ends of the columns of `to` that `moves` tells; `left` disposes of those that have
    /// no place there.
    #[inline]
    pub(super) fn move_columns(
        &mut self,
        to: &mut Self,
        row: usize,
        moves: &[u16],
        mut left: impl FnMut(&mut Column, usize),
    ) {
        let targets = to.columns.lend();
        for (column, &target) in self.columns.lend().iter_mut().zip(moves) {
            match targets.get_mut(target as usize) {
                Some(target) => column.move_row(row, target),
                None => left(column, row),
            }
        }
    }

    /// Moves what is left of a row whose column `at` was taken; the other columns are those of `to`, in order.
    #[inline]
    pub(super) fn move_others(&mut self, to: &mut Self, row: usize, at: usize) {
        let columns = self.columns.lend();
        for (number, target) in to.columns.lend().iter_mut().enumerate() {
            if let Some(column) = columns.get_mut(number + usize::from(number >= at)) {
                column.move_row(row, target);
            }
        }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = KindId> + '_ {
        self.columns().iter().map(Column::kind)
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.ids.reserve(additional);
        for column in self.columns.lend() {
            column.reserve(additional);
        }
    }

    pub(super) fn shrink(&mut self) {
        self.ids.shrink_to_fit();
        for column in self.columns.lend() {
            column.shrink();
        }
    }

    pub(crate) fn allocated(&self) -> usize {
        self.ids.capacity() * size_of::<u32>()
            + self.columns.heads()
            + self.columns().len() * size_of::<(TypeId, NameKey)>()
            + self.columns().iter().map(Column::allocated).sum::<usize>()
    }
}
