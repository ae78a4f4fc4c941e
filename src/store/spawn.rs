//! Spawning entities.

use std::any::TypeId;

use smallvec::SmallVec;

use super::batch::SpawnFault;
use super::bundle::{Bundle, Parts, RowWriter};
use super::changes::Change;
use super::columns::Kept;
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
            self.last_bundle = known;
            return Ok(known);
        }
        let kinds = self.kinds_of::<B>()?;
        let archetype = self.archetype_of(&self.table_kinds(&kinds));
        let destinations = self.destinations(&kinds, archetype);
        let sparse = self.any_sparse(&kinds);
        let tracked = |kind: &KindId| self.kinds.get(*kind).tracked;
        let gains = self.changes.wanted_gains(&kinds);
        let plain = !(sparse || !gains.is_empty() || kinds.iter().any(tracked));
        let number = self.bundles.len();
        self.bundles.push(BundleInfo {
            kept: Kept::new::<B>(),
            archetype,
            destinations,
            sparse,
            plain,
            gains,
        });
        self.bundle_index.insert(bundle, number);
        self.last_bundle = number;
        Ok(number)
    }

    /// Makes an entity with the components of a bundle.
    #[inline]
    pub(crate) fn spawn<B: Bundle>(&mut self, bundle: B) -> Result<Entity, Box<SpawnFault>> {
        // Asked again after it was looked up, so that what follows knows the answer on every way.
        while !self.was_last::<B>() {
            if let Err(fault) = self.bundle_for::<B>(1) {
                return Err(refused(fault, |panics| bundle.discard(panics)));
            }
        }
        self.fill_new(bundle, |entities, archetype, row| {
            Ok(entities.alloc(archetype, row)?)
        })
    }

    /// Whether `B` was the bundle that was spawned last.
    #[inline]
    fn was_last<B: Bundle>(&self) -> bool {
        let last = self.bundles.get(self.last_bundle);
        last.is_some_and(|info| info.kept.is_of::<B>())
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
        while !self.was_last::<B>() {
            if let Err(fault) = self.known_bundle::<B>() {
                return Err(refused(fault, |panics| bundle.discard(panics)));
            }
        }
        self.fill_new(bundle, |entities, archetype, row| {
            entities.settle(entity, archetype, row);
            Ok(entity)
        })?;
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

    /// Puts the bundle that was spawned last into a new row, once `claim` has given the row an id.
    #[inline]
    fn fill_new<B: Bundle>(
        &mut self,
        bundle: B,
        claim: impl FnOnce(&mut Entities, u32, u32) -> Result<Entity, Box<SpawnFault>>,
    ) -> Result<Entity, Box<SpawnFault>> {
        let info = &mut self.bundles[self.last_bundle];
        let Some(mut kept) = info.kept.of::<B>() else {
            unreachable!("it was the last")
        };
        let archetype = &mut self.archetypes[info.archetype as usize];
        let row = archetype.len();
        let entity = match claim(&mut self.entities, info.archetype, row as u32) {
            Ok(entity) => entity,
            Err(fault) => return Err(refused(fault, |panics| bundle.discard(panics))),
        };
        let columns = archetype.push_id(entity.index());
        if !kept.is_in(columns) && info.plain {
            kept.renew(columns, &info.destinations);
        }
        match kept.open(columns) {
            Some(open) => open.append(bundle),
            None => self.put_new(entity, bundle),
        }
        Ok(entity)
    }

    /// Puts a bundle that is not plain into the row that an entity was given last.
    #[inline(never)]
    fn put_new<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        let info = &self.bundles[self.last_bundle];
        if info.sparse {
            self.entities.set_sparse(entity.index());
        }
        let columns = self.archetypes[info.archetype as usize].columns_mut();
        bundle.put(&mut RowWriter {
            columns,
            sparse: &mut self.sparse,
            destinations: &info.destinations,
            next: 0,
            row: 0,
            id: entity.index(),
            archetype: info.archetype as usize,
            now: self.tick,
            replaced: None,
        });
        for kind in &info.gains {
            self.changes.note(*kind, entity, Change::Added);
        }
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
