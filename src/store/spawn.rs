//! Spawning entities, and inserting components into them.

use std::any::TypeId;

use smallvec::SmallVec;

use super::archetype::{Archetype, Destinations, InsertEdge, LEAVES};
use super::batch::SpawnFault;
use super::bundle::{Bundle, Parts, RowWriter};
use super::component::Component;
use super::entities::Entities;
use super::error::BundleFault;
use super::kinds::KindId;
use super::{BundleInfo, Store};
use crate::base::caught::{FirstPanic, refused};
use crate::base::entity::Entity;

impl Store {
    /// Says what is wrong with a bundle, and changes nothing.
    pub(crate) fn check_bundle<B: Bundle>() -> Result<Parts, BundleFault> {
        let mut parts = Parts::default();
        B::parts(&mut parts);
        for (at, part) in parts.0.iter().enumerate() {
            if part.name().is_empty() {
                return Err(BundleFault::EmptyTypeName);
            }
            if let Some(first) = parts.0[..at]
                .iter()
                .find(|earlier| earlier.name() == part.name())
            {
                let (first, second) = (first.ty.rust_name, part.ty.rust_name);
                return Err(BundleFault::Twice {
                    name: part.name().to_owned(),
                    first,
                    second,
                });
            }
        }
        Ok(parts)
    }

    /// The kinds of a bundle's parts, in its order.
    fn kinds_of<B: Bundle>(&mut self) -> Result<SmallVec<[KindId; 16]>, BundleFault> {
        let parts = Self::check_bundle::<B>()?;
        parts
            .0
            .iter()
            .map(|part| {
                self.intern(part.name, part.ty)
                    .ok_or(BundleFault::EmptyTypeName)
            })
            .collect()
    }

    fn destinations(&self, kinds: &[KindId], archetype: u32) -> Destinations {
        let archetype = &self.archetypes[archetype as usize];
        let column = |kind: KindId| {
            archetype
                .position(kind)
                .map_or(u32::from(LEAVES), |at| at as u32)
        };
        kinds
            .iter()
            .map(|kind| {
                self.kinds
                    .get(*kind)
                    .sparse
                    .unwrap_or_else(|| column(*kind))
            })
            .collect()
    }

    fn any_sparse(&self, kinds: &[KindId]) -> bool {
        kinds
            .iter()
            .any(|kind| self.kinds.get(*kind).sparse.is_some())
    }

    fn table_kinds(&self, kinds: &[KindId]) -> SmallVec<[KindId; 16]> {
        kinds
            .iter()
            .copied()
            .filter(|kind| self.kinds.get(*kind).sparse.is_none())
            .collect()
    }

    /// Where `B` is spawned: the number of its [`BundleInfo`].
    #[inline]
    pub(super) fn bundle<B: Bundle>(&mut self) -> Result<usize, Box<SpawnFault>> {
        match self.bundles.get(self.last_bundle) {
            Some(info) if info.bundle == TypeId::of::<B>() => Ok(self.last_bundle),
            _ => self.bundle_for::<B>(1),
        }
    }

    /// The same for so many entities: when there are not enough slots, nothing is made.
    #[cold]
    pub(super) fn bundle_for<B: Bundle>(
        &mut self,
        entities: usize,
    ) -> Result<usize, Box<SpawnFault>> {
        let known = self.bundle_index.get(&TypeId::of::<B>()).copied();
        if known.is_none() {
            Self::check_bundle::<B>()?;
        }
        if self.entities.remaining() < entities {
            return Err(Box::new(SpawnFault::OutOfSlots));
        }
        if let Some(known) = known {
            self.last_bundle = known;
            return Ok(known);
        }
        self.known_bundle::<B>()
    }

    fn known_bundle<B: Bundle>(&mut self) -> Result<usize, Box<SpawnFault>> {
        let bundle = TypeId::of::<B>();
        if let Some(&known) = self.bundle_index.get(&bundle) {
            self.last_bundle = known;
            return Ok(known);
        }
        let kinds = self.kinds_of::<B>()?;
        let archetype = self.archetype_of(&self.table_kinds(&kinds));
        let destinations = self.destinations(&kinds, archetype);
        let sparse = self.any_sparse(&kinds);
        self.last_bundle = self.bundles.len();
        self.bundles.push(BundleInfo {
            bundle,
            archetype,
            destinations,
            sparse,
        });
        self.bundle_index.insert(bundle, self.last_bundle);
        Ok(self.last_bundle)
    }

    /// Makes an entity with the components of a bundle.
    #[inline]
    pub(crate) fn spawn<B: Bundle>(&mut self, bundle: B) -> Result<Entity, Box<SpawnFault>> {
        let info = match self.bundle::<B>() {
            Ok(info) => info,
            Err(fault) => return Err(refused(fault, |panics| bundle.discard(panics))),
        };
        self.fill_new(info, bundle, |entities, archetype, row| {
            Ok(entities.alloc(archetype, row)?)
        })
    }

    /// Makes an entity with the components of a bundle, under an id that was reserved.
    pub(crate) fn spawn_reserved<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
    ) -> Result<bool, Box<SpawnFault>> {
        if let Err(fault) = Self::check_bundle::<B>() {
            return Err(refused(fault.into(), |panics| bundle.discard(panics)));
        }
        if !self.entities.is_reserved(entity) {
            return refused(Ok(false), |panics| bundle.discard(panics));
        }
        let info = match self.known_bundle::<B>() {
            Ok(info) => info,
            Err(fault) => return Err(refused(fault, |panics| bundle.discard(panics))),
        };
        self.fill_new(info, bundle, |entities, archetype, row| {
            entities.settle(entity, archetype, row);
            Ok(entity)
        })?;
        Ok(true)
    }

    /// Puts a bundle into a new row, once `claim` has given the row an id.
    #[inline]
    fn fill_new<B: Bundle>(
        &mut self,
        info: usize,
        bundle: B,
        claim: impl FnOnce(&mut Entities, u32, u32) -> Result<Entity, Box<SpawnFault>>,
    ) -> Result<Entity, Box<SpawnFault>> {
        let info = &self.bundles[info];
        let archetype = &mut self.archetypes[info.archetype as usize];
        let (ids, columns) = archetype.ids_and_columns_mut();
        let row = ids.len();
        let entity = match claim(&mut self.entities, info.archetype, row as u32) {
            Ok(entity) => entity,
            Err(fault) => return Err(refused(fault, |panics| bundle.discard(panics))),
        };
        ids.push(entity.index());
        if info.sparse {
            self.entities.set_sparse(entity.index());
        }
        bundle.put(&mut RowWriter {
            columns,
            sparse: &mut self.sparse,
            destinations: &info.destinations,
            next: 0,
            row,
            id: entity.index(),
            archetype: info.archetype as usize,
            now: self.tick,
            replaced: None,
        });
        Ok(entity)
    }

    /// Inserts a bundle into a live entity; components that it replaces are dropped.
    #[inline]
    pub(crate) fn insert<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
    ) -> Result<bool, Box<BundleFault>> {
        let Some((source, row)) = self.entities.locate(entity) else {
            // Even so, a contradictory bundle is the first fault to be named.
            let outcome = match Self::check_bundle::<B>() {
                Ok(_) => Ok(false),
                Err(fault) => Err(Box::new(fault)),
            };
            return refused(outcome, |panics| bundle.discard(panics));
        };
        let edge = match self.insert_edge::<B>(source) {
            Ok(edge) => edge,
            Err(fault) => return Err(refused(fault, |panics| bundle.discard(panics))),
        };
        let mut panics = FirstPanic::default();
        let edge = &self.edges[source].inserts[edge];
        let target = edge.target as usize;
        for set in &edge.evicts {
            let set = &mut self.sparse[*set as usize];
            if set.drop_entity(entity.index(), source, &mut panics) {
                self.removals.note(set.kind(), entity);
            }
        }
        let mut now_in = row;
        if target != source {
            if !self.removals.is_empty() {
                let leaving = edge.moves.iter().zip(self.archetypes[source].kinds());
                for (_, kind) in leaving.filter(|(to, _)| **to == LEAVES) {
                    self.removals.note(kind, entity);
                }
            }
            if let Ok([from, to]) = self.archetypes.get_disjoint_mut([source, target]) {
                now_in = to.len();
                move_entity(from, to, row, &edge.moves, |column, row| {
                    column.drop_row(row, &mut panics);
                });
                if let Some(&moved) = from.ids().get(row) {
                    self.entities.set_row(moved, row as u32);
                }
            }
            if self.entities.is_sparse(entity.index()) {
                for set in &mut self.sparse {
                    set.moved(entity.index(), source, target);
                }
            }
            self.entities
                .set(entity.index(), edge.target, now_in as u32);
        }
        if edge.sparse {
            self.entities.set_sparse(entity.index());
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
        Ok(true)
    }

    #[inline]
    fn insert_edge<B: Bundle>(&mut self, source: usize) -> Result<usize, Box<BundleFault>> {
        let bundle = TypeId::of::<B>();
        match self.edges[source]
            .inserts
            .iter()
            .position(|edge| edge.bundle == bundle)
        {
            Some(known) => Ok(known),
            None => self.make_insert_edge::<B>(source),
        }
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
        let edge = InsertEdge {
            bundle: TypeId::of::<B>(),
            target,
            destinations: self.destinations(&kinds, target),
            sparse: self.any_sparse(&kinds),
            moves: self.moves(source, target as usize),
            evicts: evicts.into(),
        };
        let edges = &mut self.edges[source].inserts;
        edges.push(edge);
        Ok(edges.len() - 1)
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
        if self.kinds.get(kind).ty.type_id != value.component_type().type_id {
            return Err(value);
        }
        let now = self.tick;
        let rival = self.rival_of(entity, kind);
        if rival.is_none()
            && self.kinds.get(kind).sparse.is_none()
            && let Some(at) = self.archetypes[source].position(kind)
        {
            return self.archetypes[source].columns_mut()[at]
                .replace_boxed(row, value, now)
                .map(Some);
        }
        let replaced = rival.and_then(|rival| self.take_boxed(entity, rival));
        let Some((source, row)) = self.entities.locate(entity) else {
            return Err(value);
        };
        if let Some(set) = self.kinds.get(kind).sparse {
            self.entities.set_sparse(entity.index());
            let own = self.sparse[set as usize].insert_boxed(entity.index(), source, value, now)?;
            return Ok(own.or(replaced));
        }
        let target_kinds = self.kinds_with(source, &[kind]);
        let target = self.archetype_of(&target_kinds);
        self.relocate(entity, source, row, target);
        if let Some(at) = self.archetypes[target as usize].position(kind) {
            self.archetypes[target as usize].columns_mut()[at].push_boxed(value, now)?;
        }
        Ok(replaced)
    }

    /// Makes a reserved id an entity with boxed components, each under a kind of its type and a name of its own.
    pub(crate) fn spawn_boxed(
        &mut self,
        entity: Entity,
        components: Vec<(KindId, Box<dyn Component>)>,
    ) {
        let kinds: SmallVec<[KindId; 16]> = components.iter().map(|(kind, _)| *kind).collect();
        let number = self.archetype_of(&self.table_kinds(&kinds));
        let now = self.tick;
        let archetype = &mut self.archetypes[number as usize];
        self.entities.settle(entity, number, archetype.len() as u32);
        let (ids, _) = archetype.ids_and_columns_mut();
        ids.push(entity.index());
        for (kind, value) in components {
            let refused = if let Some(set) = self.kinds.get(kind).sparse {
                self.entities.set_sparse(entity.index());
                self.sparse[set as usize]
                    .insert_boxed(entity.index(), number as usize, value, now)
                    .map(drop)
            } else {
                let archetype = &mut self.archetypes[number as usize];
                match archetype.position(kind) {
                    Some(at) => archetype.columns_mut()[at].push_boxed(value, now),
                    None => Err(value),
                }
            };
            assert!(refused.is_ok(), "a kind takes components of its own type");
        }
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
            move_entity(from, to, row, &moves, |column, _| {
                unreachable!(
                    "the target has every kind of the source, kind {:?} too",
                    column.kind()
                )
            });
            if let Some(&moved) = from.ids().get(row) {
                self.entities.set_row(moved, row as u32);
            }
            self.entities.set(entity.index(), target, new_row as u32);
        }
        if self.entities.is_sparse(entity.index()) {
            for set in &mut self.sparse {
                set.moved(entity.index(), source, target as usize);
            }
        }
    }
}

/// Moves a row's id and components; `left` disposes of what has no place in `to`.
#[inline]
fn move_entity(
    from: &mut Archetype,
    to: &mut Archetype,
    row: usize,
    moves: &[u16],
    mut left: impl FnMut(&mut super::column::Column, usize),
) {
    let (from_ids, from_columns) = from.ids_and_columns_mut();
    let (to_ids, to_columns) = to.ids_and_columns_mut();
    to_ids.push(from_ids.swap_remove(row));
    for (column, &target) in from_columns.iter_mut().zip(moves) {
        match to_columns.get_mut(target as usize) {
            Some(target) => column.move_row(row, target),
            None => left(column, row),
        }
    }
}
