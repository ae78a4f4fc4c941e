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
use crate::base::hash::half_of;

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
    /// By column: what `get::<T>` looks for. Half of a type id, as it goes through more than one.
    scan: Box<[u64]>,
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
        let at = self.scan_for::<T>()?;
        if self.columns().get(at)?.is_of(TypeId::of::<T>()) {
            return Some(at);
        }
        own_column(&self.scan, self.columns(), TypeId::of::<T>())
    }

    /// The values of `T` under its own name.
    #[inline]
    pub(crate) fn values_of<T: Component>(&self) -> Option<&[T]> {
        let columns = self.columns();
        let at = self.scan_for::<T>()?;
        match columns.get(at)?.values::<T>() {
            Some(values) => Some(values),
            None => columns
                .get(own_column(&self.scan, columns, TypeId::of::<T>())?)?
                .values(),
        }
    }

    /// The column of `T` under its own name, to be changed.
    #[inline]
    pub(crate) fn column_of_mut<T: Component>(&mut self) -> Option<&mut Column> {
        let mut at = self.scan_for::<T>()?;
        let columns = self.columns.lend();
        if !columns.get(at)?.is_of(TypeId::of::<T>()) {
            at = own_column(&self.scan, columns, TypeId::of::<T>())?;
        }
        columns.get_mut(at)
    }

    /// The first column whose type shares half of its id with `T`: that of `T`, or next to never another one.
    #[inline]
    fn scan_for<T: Component>(&self) -> Option<usize> {
        let half = half_of(TypeId::of::<T>());
        self.scan.iter().position(|key| *key == half)
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
            + self.columns().len() * size_of::<(u64, NameKey)>()
            + self.columns().iter().map(Column::allocated).sum::<usize>()
    }
}

/// The column of a type under its own name.
#[cold]
#[inline(never)]
fn own_column(scan: &[u64], columns: &[Column], type_id: TypeId) -> Option<usize> {
    let half = half_of(type_id);
    let mut keys = scan.iter().zip(columns);
    keys.position(|(key, column)| *key == half && column.is_of(type_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::component::ComponentType;

    struct Numbered<const N: u32>(u32);

    impl<const N: u32> Component for Numbered<N> {
        fn type_name() -> &'static str {
            ["A", "B", "C"][N as usize]
        }

        fn export(&self) -> serde_json::Value {
            self.0.into()
        }
    }

    /// What is found of a kind, by each way to look.
    fn found<const N: u32>(archetype: &mut Archetype) -> Option<u32> {
        let at = archetype.position_of::<Numbered<N>>();
        let values = archetype.values_of::<Numbered<N>>();
        let value = values.and_then(|values| Some(values.first()?.0));
        assert_eq!(at.is_some(), value.is_some());
        let column = archetype.column_of_mut::<Numbered<N>>();
        let again = column.and_then(|column| Some(column.values::<Numbered<N>>()?.first()?.0));
        assert_eq!(again, value);
        value
    }

    #[test]
    fn a_kind_is_found_also_behind_another_that_shares_half_of_its_type_id() {
        let mut kinds = Kinds::default();
        let mut intern = |name, ty| kinds.intern(name, ty, 0).unwrap();
        let sorted = [
            intern(None, ComponentType::of::<Numbered<0>>()),
            intern(None, ComponentType::of::<Numbered<1>>()),
            intern(Some("B as well"), ComponentType::of::<Numbered<1>>()),
            intern(Some("not C"), ComponentType::of::<Numbered<2>>()),
        ];
        let mut archetype = Archetype::new(&sorted, &kinds);
        archetype.columns_mut()[0].push(Numbered::<0>(10), 0);
        archetype.columns_mut()[1].push(Numbered::<1>(11), 0);
        archetype.columns_mut()[2].push(Numbered::<1>(12), 0);
        archetype.columns_mut()[3].push(Numbered::<2>(13), 0);
        assert_eq!(found::<0>(&mut archetype), Some(10));
        assert_eq!(found::<1>(&mut archetype), Some(11));
        assert_eq!(found::<2>(&mut archetype), None, "it has another name");
        archetype.scan[0] = archetype.scan[1];
        assert_eq!(found::<1>(&mut archetype), Some(11), "the first is another");
        archetype.scan[1] = 1;
        assert_eq!(found::<1>(&mut archetype), None);
    }
}
