//! Removing components, and despawning entities.

use std::any::TypeId;

use smallvec::SmallVec;

use super::Store;
use super::changes::Change;
use super::column::Column;
use super::component::{Component, Storage};
use super::edges::RemoveEdge;
use super::entities::Found;
use super::insert::{moved_in_sets, no_such_pair};
use super::kinds::KindId;
use super::sparse::SparseSet;
use crate::base::caught::FirstPanic;
use crate::base::entity::Entity;

impl Store {
    /// Takes the entity's `T` (under its own name).
    #[inline]
    pub(crate) fn remove<T: Component>(&mut self, entity: Entity) -> Option<T> {
        let found = self.entities.find(entity)?;
        if T::storage() == Storage::Sparse {
            let last = self.last_set.of(TypeId::of::<T>());
            let set = self.sparse.get_mut(last);
            let Some(set) = set.filter(|set| set.column().is_of(TypeId::of::<T>())) else {
                return self.remove_from_set(entity);
            };
            let taken = set.take(entity.index(), found.archetype())?;
            self.changes.note(set.kind(), entity, Change::Removed);
            return Some(taken);
        }
        match self.edges.last_remove(TypeId::of::<T>(), found.archetype()) {
            Some(edge) => self.take_column(entity, found, edge, Column::take)?,
            None => self.remove_anew(entity),
        }
    }

    /// Removes when it was another set the last time.
    #[inline(never)]
    fn remove_from_set<T: Component>(&mut self, entity: Entity) -> Option<T> {
        self.own_set_kept::<T>()?;
        self.remove(entity)
    }

    /// Removes when it was another edge the last time.
    #[inline(never)]
    fn remove_anew<T: Component>(&mut self, entity: Entity) -> Option<T> {
        let (source, _) = self.entities.locate(entity)?;
        let type_id = TypeId::of::<T>();
        let known = self
            .edges
            .find_remove(source, |edge| edge.found_by == type_id);
        if known.is_none() {
            let at = self.archetypes.get(source)?.position_of::<T>()?;
            self.make_remove_edge(source, at);
        }
        self.remove(entity)
    }

    #[cold]
    fn make_remove_edge(&mut self, source: usize, at: usize) -> RemoveEdge {
        let archetype = &self.archetypes[source];
        let kind = archetype.columns()[at].kind();
        let found_by = self.kinds.get(kind).found_by();
        let mut kinds: SmallVec<[KindId; 16]> = archetype.kinds().collect();
        kinds.remove(at);
        let edge = RemoveEdge {
            found_by,
            kind,
            source: source as u32,
            at: at as u32,
            target: self.archetype_of(&kinds),
        };
        self.edges.add_remove(edge);
        edge
    }

    /// Takes the entity's component of a kind, in a box.
    pub(crate) fn take_boxed(
        &mut self,
        entity: Entity,
        kind: KindId,
    ) -> Option<Box<dyn Component>> {
        let found = self.entities.find(entity)?;
        if let Some(set) = self.kinds.get(kind).sparse {
            return self.take_sparse(entity, set as usize, |set, index| {
                set.take_boxed(index, found.archetype())
            });
        }
        let source = found.archetype();
        let edge = if let Some(known) = self.edges.find_remove(source, |edge| edge.kind == kind) {
            known
        } else {
            let at = self.archetypes.get(source)?.position(kind)?;
            self.make_remove_edge(source, at)
        };
        self.take_column(entity, found, edge, Column::take_boxed)
    }

    #[inline]
    fn take_sparse<R>(
        &mut self,
        entity: Entity,
        set: usize,
        take: impl FnOnce(&mut SparseSet, u32) -> Option<R>,
    ) -> Option<R> {
        let set = self.sparse.get_mut(set)?;
        let taken = take(set, entity.index())?;
        self.changes.note(set.kind(), entity, Change::Removed);
        Some(taken)
    }

    #[inline]
    fn take_column<R>(
        &mut self,
        entity: Entity,
        found: Found,
        edge: RemoveEdge,
        take: impl FnOnce(&mut Column, usize) -> R,
    ) -> Option<R> {
        let (source, row) = (found.archetype(), found.row());
        let (target, at) = (edge.target as usize, edge.at as usize);
        let Ok([from, to]) = self.archetypes.get_disjoint_mut([source, target]) else {
            no_such_pair()
        };
        let column = from.columns_mut().get_mut(at)?;
        if !self.changes.is_empty() {
            self.changes.note(column.kind(), entity, Change::Removed);
        }
        let taken = take(column, row);
        let new_row = to.len() as u32;
        if let Some(moved) = from.move_id(to, entity.index(), row) {
            self.entities.set_row(moved, row as u32);
        }
        self.entities
            .move_to(entity.index(), found, edge.target, new_row);
        if found.is_sparse() {
            moved_in_sets(&mut self.sparse, entity, source, target);
        }
        from.move_others(to, row, at);
        Some(taken)
    }

    /// Ends an entity: its handle and all its components go. False when it is not live.
    #[inline]
    pub(crate) fn despawn(&mut self, entity: Entity) -> bool {
        let Some(found) = self.entities.find(entity) else {
            return false;
        };
        let (number, row) = (found.archetype(), found.row());
        let index = entity.index();
        let Some(archetype) = self.archetypes.get_mut(number) else {
            return false;
        };
        let mut panics = FirstPanic::default();
        if found.is_named() {
            self.handles.forget(index);
        }
        if found.is_sparse() {
            for set in &mut self.sparse {
                if set.drop_entity(index, number, &mut panics) {
                    self.changes.note(set.kind(), entity, Change::Removed);
                }
            }
        }
        self.changes.note_losses(archetype.kinds(), entity);
        archetype.drop_row(row, &mut panics);
        if let Some(moved) = archetype.swap_remove_id(row) {
            self.entities.set_row(moved, row as u32);
        }
        self.entities.release_live(index);
        panics.resume();
        true
    }
}
