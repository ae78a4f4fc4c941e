//! Spawning entities.

use std::any::TypeId;

use smallvec::SmallVec;

use super::batch::SpawnFault;
use super::bundle::{Bundle, Parts, RowWriter};
use super::changes::Change;
use super::component::Component;
use super::edges::{Destinations, LEAVES};
use super::entities::Entities;
use super::error::BundleFault;
use super::kinds::KindId;
use super::{BundleInfo, Store};
use crate::base::caught::refused;
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
    pub(super) fn kinds_of<B: Bundle>(&mut self) -> Result<SmallVec<[KindId; 16]>, BundleFault> {
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

    pub(super) fn destinations(&self, kinds: &[KindId], archetype: u32) -> Destinations {
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

    pub(super) fn any_sparse(&self, kinds: &[KindId]) -> bool {
        kinds
            .iter()
            .any(|kind| self.kinds.get(*kind).sparse.is_some())
    }

    pub(super) fn table_kinds(&self, kinds: &[KindId]) -> SmallVec<[KindId; 16]> {
        kinds
            .iter()
            .copied()
            .filter(|kind| self.kinds.get(*kind).sparse.is_none())
            .collect()
    }

    /// Where so many of `B` are spawned: the number of its [`BundleInfo`]. When there are not enough slots, nothing is
    /// made.
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
        self.known_bundle::<B>()
    }

    #[inline(never)]
    fn known_bundle<B: Bundle>(&mut self) -> Result<usize, Box<SpawnFault>> {
        let bundle = TypeId::of::<B>();
        if let Some(&known) = self.bundle_index.get(&bundle) {
            self.keep_bundle(known);
            return Ok(known);
        }
        let kinds = self.kinds_of::<B>()?;
        let archetype = self.archetype_of(&self.table_kinds(&kinds));
        let destinations = self.destinations(&kinds, archetype);
        let sparse = self.any_sparse(&kinds);
        let gains = self.changes.wanted_gains(&kinds);
        let number = self.bundles.len();
        self.bundles.push(BundleInfo {
            bundle,
            archetype,
            destinations,
            sparse,
            gains,
        });
        self.bundle_index.insert(bundle, number);
        self.keep_bundle(number);
        Ok(number)
    }

    /// Remembers which bundle was spawned last, if spawning it is nothing but writing a row.
    fn keep_bundle(&mut self, number: usize) {
        if self.bundles[number].gains.is_empty() {
            self.last_bundle = number;
        }
    }

    /// Makes an entity with the components of a bundle.
    #[inline]
    pub(crate) fn spawn<B: Bundle>(&mut self, bundle: B) -> Result<Entity, Box<SpawnFault>> {
        match self.bundles.get(self.last_bundle) {
            Some(info) if info.bundle == TypeId::of::<B>() => {
                self.fill_new(self.last_bundle, bundle, |entities, archetype, row| {
                    Ok(entities.alloc(archetype, row)?)
                })
            }
            _ => self.spawn_anew(bundle),
        }
    }

    /// Spawns when it was another bundle the last time, or one whose coming somebody wants to know of.
    #[inline(never)]
    fn spawn_anew<B: Bundle>(&mut self, bundle: B) -> Result<Entity, Box<SpawnFault>> {
        let info = match self.bundle_for::<B>(1) {
            Ok(info) => info,
            Err(fault) => return Err(refused(fault, |panics| bundle.discard(panics))),
        };
        let entity = self.fill_new(info, bundle, |entities, archetype, row| {
            Ok(entities.alloc(archetype, row)?)
        })?;
        self.note_new(info, entity);
        Ok(entity)
    }

    /// Notes what came with an entity.
    fn note_new(&mut self, info: usize, entity: Entity) {
        for kind in &self.bundles[info].gains {
            self.changes.note(*kind, entity, Change::Added);
        }
    }

    /// Makes an entity with the components of a bundle, under an id that was reserved; false when it is not.
    #[inline]
    pub(crate) fn spawn_reserved<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
    ) -> Result<bool, Box<SpawnFault>> {
        if !self.entities.is_reserved(entity) {
            return Self::not_reserved(bundle);
        }
        let known = match self.bundles.get(self.last_bundle) {
            Some(info) if info.bundle == TypeId::of::<B>() => Ok(self.last_bundle),
            _ => self.known_bundle::<B>(),
        };
        let info = match known {
            Ok(info) => info,
            Err(fault) => return Err(refused(fault, |panics| bundle.discard(panics))),
        };
        self.fill_new(info, bundle, |entities, archetype, row| {
            entities.settle(entity, archetype, row);
            Ok(entity)
        })?;
        self.note_new(info, entity);
        Ok(true)
    }

    /// Even so, a contradictory bundle is the first fault to be named.
    #[cold]
    fn not_reserved<B: Bundle>(bundle: B) -> Result<bool, Box<SpawnFault>> {
        let outcome = match Self::check_bundle::<B>() {
            Ok(_) => Ok(false),
            Err(fault) => Err(fault.into()),
        };
        refused(outcome, |panics| bundle.discard(panics))
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
            self.changes.note(kind, entity, Change::Added);
        }
    }
}
