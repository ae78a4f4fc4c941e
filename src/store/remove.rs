//! Removing components, and despawning entities.

use super::Store;
use super::archetype::Archetype;
use super::component::{Component, Storage};
use super::kinds::KindId;
use crate::base::caught::FirstPanic;
use crate::base::entity::Entity;

impl Store {
    /// Takes the entity's `T` (under its own name).
    #[inline]
    pub(crate) fn remove<T: Component>(&mut self, entity: Entity) -> Option<T> {
        let (source, row) = self.entities.locate(entity)?;
        if T::storage() == Storage::Sparse {
            let kind = self.kinds.find_own(std::any::TypeId::of::<T>())?;
            return self.take_sparse(entity, source, kind, |set, index| set.take(index, source));
        }
        let at = self.archetypes[source].position_of::<T>()?;
        self.take_column(entity, source, row, at, super::column::Column::take)?
    }

    /// Takes the entity's component of a kind, in a box.
    pub(crate) fn take_boxed(
        &mut self,
        entity: Entity,
        kind: KindId,
    ) -> Option<Box<dyn Component>> {
        let (source, row) = self.entities.locate(entity)?;
        if self.kinds.get(kind).sparse.is_some() {
            return self.take_sparse(entity, source, kind, |set, index| {
                set.take_boxed(index, source)
            });
        }
        let at = self.archetypes[source].position(kind)?;
        self.take_column(entity, source, row, at, |column, row| {
            column.take_boxed(row)
        })
    }

    fn take_sparse<R>(
        &mut self,
        entity: Entity,
        _archetype: usize,
        kind: KindId,
        take: impl FnOnce(&mut super::sparse::SparseSet, u32) -> Option<R>,
    ) -> Option<R> {
        let set = self.kinds.get(kind).sparse?;
        let taken = take(&mut self.sparse[set as usize], entity.index())?;
        self.removals.note(kind, entity);
        Some(taken)
    }

    #[inline]
    fn take_column<R>(
        &mut self,
        entity: Entity,
        source: usize,
        row: usize,
        at: usize,
        take: impl FnOnce(&mut super::column::Column, usize) -> R,
    ) -> Option<R> {
        let target = self.archetype_without(source, at);
        let [from, to] = self
            .archetypes
            .get_disjoint_mut([source, target as usize])
            .ok()?;
        let new_row = to.len();
        let kind = from.columns()[at].kind();
        let taken = take(&mut from.columns_mut()[at], row);
        move_rest(from, to, row, at);
        if let Some(&moved) = from.ids().get(row) {
            self.entities.set_row(moved, row as u32);
        }
        self.entities.set(entity.index(), target, new_row as u32);
        if self.entities.is_sparse(entity.index()) {
            for set in &mut self.sparse {
                set.moved(entity.index(), source, target as usize);
            }
        }
        self.removals.note(kind, entity);
        Some(taken)
    }

    /// The archetype that lacks one column of `source`.
    #[inline]
    fn archetype_without(&mut self, source: usize, at: usize) -> u32 {
        match self.edges[source].without.get(at) {
            Some(Some(known)) => *known,
            _ => self.make_archetype_without(source, at),
        }
    }

    #[cold]
    fn make_archetype_without(&mut self, source: usize, at: usize) -> u32 {
        let mut kinds: Vec<KindId> = self.archetypes[source].kinds().collect();
        let columns = kinds.len();
        kinds.remove(at);
        let target = self.archetype_of(&kinds);
        let without = &mut self.edges[source].without;
        without.resize(columns, None);
        without[at] = Some(target);
        target
    }

    /// Ends an entity: its handle and all its components go. False when it is not live.
    #[inline]
    pub(crate) fn despawn(&mut self, entity: Entity) -> bool {
        let Some((number, row)) = self.entities.locate(entity) else {
            return false;
        };
        let index = entity.index();
        let mut panics = FirstPanic::default();
        if self.entities.is_named(index) {
            self.handles.forget(index);
        }
        if self.entities.is_sparse(index) {
            for set in &mut self.sparse {
                if set.drop_entity(index, number, &mut panics) {
                    self.removals.note(set.kind(), entity);
                }
            }
        }
        let archetype = &mut self.archetypes[number];
        if !self.removals.is_empty() {
            for kind in archetype.kinds() {
                self.removals.note(kind, entity);
            }
        }
        for column in archetype.columns_mut() {
            column.drop_row(row, &mut panics);
        }
        if let Some(moved) = archetype.swap_remove_id(row) {
            self.entities.set_row(moved, row as u32);
        }
        self.entities.release(index);
        panics.resume();
        true
    }
}

/// Moves what is left of a row whose column `at` was taken; the other columns are the target's, in order.
#[inline]
fn move_rest(from: &mut Archetype, to: &mut Archetype, row: usize, at: usize) {
    let (from_ids, from_columns) = from.ids_and_columns_mut();
    let (to_ids, to_columns) = to.ids_and_columns_mut();
    to_ids.push(from_ids.swap_remove(row));
    let (before, rest) = from_columns.split_at_mut(at);
    let after = rest.get_mut(1..).unwrap_or_default();
    for (column, target) in before.iter_mut().chain(after).zip(to_columns) {
        column.move_row(row, target);
    }
}
