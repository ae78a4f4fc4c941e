//! Inserting components into entities.
//!
//! What an insertion does depends on the bundle's type and the entity's archetype alone, so it is found out once and
//! kept as an edge of that archetype. The two common outcomes have paths of their own, short enough to be compiled into
//! the caller: the entity keeps its archetype, or its components all move on and those of the bundle come on top.

use std::any::TypeId;

use smallvec::SmallVec;

use super::Store;
use super::archetype::Archetype;
use super::bundle::{Bundle, RowWriter};
use super::changes::Change;
use super::component::Component;
use super::edges::{Effect, Gain, InsertEdge, LEAVES};
use super::entities::Found;
use super::error::BundleFault;
use super::kinds::KindId;
use super::sparse::SparseSet;
use crate::base::caught::{FirstPanic, refused};
use crate::base::entity::Entity;

impl Store {
    /// Inserts a bundle into a live entity; components that it replaces are dropped.
    ///
    /// # Errors
    /// What is wrong with the bundle; nothing, when the entity is not live.
    #[inline]
    pub(crate) fn insert<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
    ) -> Result<(), Option<Box<BundleFault>>> {
        if let Some(found) = self.entities.find(entity)
            && let Some(edge) = self.edges.last_insert(TypeId::of::<B>(), found.archetype())
        {
            match self.edges.inserts[edge].effect {
                Effect::Stays => self.insert_staying(entity, found, edge, bundle),
                Effect::Grows if B::in_columns() => {
                    self.insert_growing(entity, found, edge, bundle);
                }
                Effect::Grows | Effect::Mixed => self.insert_mixed(entity, found, edge, bundle),
            }
            return Ok(());
        }
        self.insert_anew(entity, bundle)
    }

    /// See [`Effect::Stays`].
    #[inline]
    fn insert_staying<B: Bundle>(&mut self, entity: Entity, found: Found, edge: usize, bundle: B) {
        let edge = &self.edges.inserts[edge];
        if edge.sparse && !found.is_sparse() {
            self.entities.set_sparse(entity.index());
        }
        let mut panics = FirstPanic::default();
        let archetype = if B::in_columns() {
            self.archetypes.get_mut(found.archetype())
        } else {
            None
        };
        bundle.put(&mut RowWriter {
            columns: archetype.map_or(&mut [], Archetype::columns_mut),
            sparse: &mut self.sparse,
            destinations: &edge.destinations,
            next: 0,
            row: found.row(),
            id: entity.index(),
            archetype: found.archetype(),
            now: self.tick,
            replaced: Some(&mut panics),
        });
        panics.resume();
    }

    /// See [`Effect::Grows`].
    #[inline]
    fn insert_growing<B: Bundle>(&mut self, entity: Entity, found: Found, edge: usize, bundle: B) {
        let edge = &self.edges.inserts[edge];
        let (source, target) = (found.archetype(), edge.target as usize);
        let Ok([from, to]) = self.archetypes.get_disjoint_mut([source, target]) else {
            no_such_pair()
        };
        let row = to.len();
        if let Some(moved) = from.move_id(to, entity.index(), found.row()) {
            self.entities.set_row(moved, found.row() as u32);
        }
        self.entities
            .move_to(entity.index(), found, edge.target, row as u32);
        bundle.put(&mut RowWriter {
            columns: to.columns_mut(),
            sparse: &mut [],
            destinations: &edge.destinations,
            next: 0,
            row,
            id: entity.index(),
            archetype: target,
            now: self.tick,
            replaced: None,
        });
        if found.is_sparse() {
            moved_in_sets(&mut self.sparse, entity, source, target);
        }
        // Last, so that nothing is kept over its calls.
        from.move_columns(to, found.row(), &edge.moves, |_, _| {});
    }

    /// Inserts when it was another edge the last time.
    #[inline(never)]
    fn insert_anew<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
    ) -> Result<(), Option<Box<BundleFault>>> {
        let outcome = match self.entities.find_live(entity) {
            Some(found) => match self.look_insert_up::<B>(found.archetype()) {
                Ok(edge) => {
                    self.insert_mixed(entity, found, edge, bundle);
                    return Ok(());
                }
                Err(fault) => Some(fault),
            },
            // Even so, a contradictory bundle is the first fault to be named.
            None => Self::check_bundle::<B>().err().map(Box::new),
        };
        Err(refused(outcome, |panics| bundle.discard(panics)))
    }

    /// Drops a bundle for a handle that nobody has. Even so, a contradictory bundle is the first fault to be named.
    #[cold]
    pub(crate) fn reject<B: Bundle>(bundle: B) -> Option<Box<BundleFault>> {
        let fault = Self::check_bundle::<B>().err().map(Box::new);
        refused(fault, |panics| bundle.discard(panics))
    }

    /// The number of an insertion's edge, which is then the last one that was found.
    fn look_insert_up<B: Bundle>(&mut self, source: usize) -> Result<usize, Box<BundleFault>> {
        match self.edges.find_insert(TypeId::of::<B>(), source) {
            Some(known) => Ok(known),
            None => self.make_insert_edge::<B>(source),
        }
    }

    /// The insertion in its general form: some components go to where others were, or have no place any more.
    #[inline(never)]
    fn insert_mixed<B: Bundle>(&mut self, entity: Entity, found: Found, edge: usize, bundle: B) {
        let edge = &self.edges.inserts[edge];
        let (source, row) = (found.archetype(), found.row());
        let target = edge.target as usize;
        let mut panics = FirstPanic::default();
        for set in &edge.evicts {
            let set = &mut self.sparse[*set as usize];
            if set.drop_entity(entity.index(), source, &mut panics) {
                self.changes.note(set.kind(), entity, Change::Removed);
            }
        }
        let mut now_in = row;
        if let Ok([from, to]) = self.archetypes.get_disjoint_mut([source, target]) {
            let leaving = edge.moves.iter().zip(from.kinds());
            let leaving = leaving.filter(|(to, _)| **to == LEAVES);
            self.changes
                .note_losses(leaving.map(|(_, kind)| kind), entity);
            now_in = to.len();
            if let Some(moved) = from.move_id(to, entity.index(), row) {
                self.entities.set_row(moved, row as u32);
            }
            from.move_columns(to, row, &edge.moves, |column, row| {
                column.drop_row(row, &mut panics);
            });
            self.entities
                .set(entity.index(), edge.target, now_in as u32);
            if found.is_sparse() {
                moved_in_sets(&mut self.sparse, entity, source, target);
            }
        }
        if edge.sparse {
            self.entities.set_sparse(entity.index());
        }
        for gain in &edge.gains {
            let change = gain.change(entity, &self.sparse);
            self.changes.note(gain.kind, entity, change);
        }
        bundle.put(&mut RowWriter {
            columns: self.archetypes[target].columns_mut(),
            sparse: &mut self.sparse,
            destinations: &edge.destinations,
            next: 0,
            row: now_in,
            id: entity.index(),
            archetype: target,
            now: self.tick,
            replaced: Some(&mut panics),
        });
        panics.resume();
    }

    #[cold]
    fn make_insert_edge<B: Bundle>(&mut self, source: usize) -> Result<usize, Box<BundleFault>> {
        let kinds = self.kinds_of::<B>()?;
        let target_kinds = self.kinds_with(source, &kinds);
        let target = self.archetype_of(&target_kinds);
        let mut evicts = Vec::new();
        for rival in kinds.iter().flat_map(|kind| self.kinds.rivals(*kind)) {
            evicts.extend(self.kinds.get(rival).sparse);
        }
        let sparse = self.any_sparse(&kinds);
        let wanted = self.changes.wanted_gains(&kinds);
        let gains: Box<[Gain]> = wanted
            .iter()
            .map(|kind| Gain {
                kind: *kind,
                set: self.kinds.get(*kind).sparse,
                replaces: self.archetypes[source].position(*kind).is_some(),
            })
            .collect();
        let columns = |archetype: usize| self.archetypes[archetype].columns().len();
        let effect = if !evicts.is_empty() || !gains.is_empty() {
            Effect::Mixed
        } else if target as usize == source {
            Effect::Stays
        } else if !sparse && columns(target as usize) == columns(source) + kinds.len() {
            Effect::Grows
        } else {
            Effect::Mixed
        };
        let edge = InsertEdge {
            bundle: TypeId::of::<B>(),
            source: source as u32,
            target,
            effect,
            sparse,
            destinations: self.destinations(&kinds, target),
            moves: self.moves(source, target as usize),
            evicts: evicts.into(),
            gains,
        };
        Ok(self.edges.add_insert(edge))
    }

    /// The table kinds of an archetype, with some added, and without those whose names the added ones take.
    fn kinds_with(&self, source: usize, added: &[KindId]) -> SmallVec<[KindId; 16]> {
        let taken = |kind: KindId| {
            added
                .iter()
                .any(|new| self.kinds.get(*new).name == self.kinds.get(kind).name)
        };
        let mut kinds: SmallVec<[KindId; 16]> = self.archetypes[source]
            .kinds()
            .filter(|kind| !taken(*kind))
            .collect();
        kinds.extend(self.table_kinds(added));
        kinds
    }

    /// By column of `source`: its column in `target`, or [`LEAVES`].
    fn moves(&self, source: usize, target: usize) -> Box<[u16]> {
        let target = &self.archetypes[target];
        self.archetypes[source]
            .kinds()
            .map(|kind| target.position(kind).map_or(LEAVES, |at| at as u16))
            .collect()
    }

    /// Attaches a boxed component under a kind of its type; gives back the one that it replaces.
    ///
    /// # Errors
    /// The component itself, when the entity is not live or the kind is of another type.
    pub(crate) fn insert_boxed(
        &mut self,
        entity: Entity,
        kind: KindId,
        value: Box<dyn Component>,
    ) -> Result<Option<Box<dyn Component>>, Box<dyn Component>> {
        let Some((source, row)) = self.entities.locate(entity) else {
            return Err(value);
        };
        if self.kinds.get(kind).ty.id() != value.component_type().id() {
            return Err(value);
        }
        let now = self.tick;
        let rival = self.rival_of(entity, kind);
        if rival.is_none()
            && self.kinds.get(kind).sparse.is_none()
            && let Some(at) = self.archetypes[source].position(kind)
        {
            let column = &mut self.archetypes[source].columns_mut()[at];
            let replaced = column.replace_boxed(row, value, now)?;
            self.changes.note(kind, entity, Change::Replaced);
            return Ok(Some(replaced));
        }
        let replaced = rival.and_then(|rival| self.take_boxed(entity, rival));
        let Some((source, row)) = self.entities.locate(entity) else {
            return Err(value);
        };
        if let Some(set) = self.kinds.get(kind).sparse {
            self.entities.set_sparse(entity.index());
            let own = self.sparse[set as usize].insert_boxed(entity.index(), source, value, now)?;
            let change = if own.is_some() {
                Change::Replaced
            } else {
                Change::Added
            };
            self.changes.note(kind, entity, change);
            return Ok(own.or(replaced));
        }
        let target_kinds = self.kinds_with(source, &[kind]);
        let target = self.archetype_of(&target_kinds);
        self.relocate(entity, source, row, target);
        if let Some(at) = self.archetypes[target as usize].position(kind) {
            self.archetypes[target as usize].columns_mut()[at].push_boxed(value, now)?;
            self.changes.note(kind, entity, Change::Added);
        }
        Ok(replaced)
    }

    /// The kind under which the entity holds another type's component of the same name.
    fn rival_of(&self, entity: Entity, kind: KindId) -> Option<KindId> {
        self.kinds
            .rivals(kind)
            .find(|rival| self.has_kind(entity, *rival))
    }

    /// Moves an entity to an archetype that has all its kinds. New columns are one row short until the caller
    /// pushes.
    fn relocate(&mut self, entity: Entity, source: usize, row: usize, target: u32) {
        if source == target as usize {
            return;
        }
        let moves = self.moves(source, target as usize);
        if let Ok([from, to]) = self.archetypes.get_disjoint_mut([source, target as usize]) {
            let new_row = to.len();
            if let Some(moved) = from.move_id(to, entity.index(), row) {
                self.entities.set_row(moved, row as u32);
            }
            from.move_columns(to, row, &moves, |column, _| {
                unreachable!(
                    "the target has every kind of the source, kind {:?} too",
                    column.kind()
                )
            });
            self.entities.set(entity.index(), target, new_row as u32);
        }
        if self.entities.is_sparse(entity.index()) {
            moved_in_sets(&mut self.sparse, entity, source, target as usize);
        }
    }
}

/// Tells the sparse sets that an entity went from one archetype to another.
#[inline(never)]
pub(super) fn moved_in_sets(sets: &mut [SparseSet], entity: Entity, from: usize, to: usize) {
    for set in sets {
        set.moved(entity.index(), from, to);
    }
}

#[cold]
pub(super) fn no_such_pair() -> ! {
    unreachable!("an edge leads from one archetype to another")
}
