//! Floor 2: entities and their components in typed columns.
//!
//! The store knows structure only: what is where, and how it gets there. Queries stand above it, and what users
//! see of both is the `World`.

#![allow(
    clippy::cast_possible_truncation,
    reason = "entities, rows and archetypes number fewer than 2^32, columns of an archetype fewer than 2^16"
)]

pub(crate) mod archetype;
pub(crate) mod bundle;
pub(crate) mod changes;
pub(crate) mod column;
pub(crate) mod columns;
pub(crate) mod component;
pub(crate) mod entities;
pub(crate) mod error;
pub(crate) mod groups;
pub(crate) mod handles;
pub(crate) mod kinds;
pub(crate) mod reserve;
pub(crate) mod sparse;

mod batch;
mod edges;
mod grouping;
mod insert;
mod log;
mod lookup;
mod remove;
mod spawn;
pub(crate) mod ticks;
mod upkeep;
mod values;
pub(crate) mod visits;

use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

pub(crate) use self::batch::{SpawnFault, Spawned};

use self::archetype::Archetype;
use self::changes::Changes;
use self::column::Column;
use self::columns::Kept;
use self::component::ComponentType;
use self::edges::{Destinations, Edges, Last};
use self::entities::Entities;
use self::handles::{Handles, Refusal};
use self::kinds::{KindId, Kinds};
use self::sparse::SparseSet;
use crate::base::entity::Entity;
use crate::base::hash::{SeededMap, TypeMap};

/// Where a bundle is spawned.
pub(crate) struct BundleInfo {
    kept: Kept,
    archetype: u32,
    destinations: Destinations,
    sparse: bool,
    /// Spawning it is nothing but pushing into columns: none of its kinds is sparse or has ticks, and nobody wants to know.
    plain: bool,
    /// The kinds of which somebody wants to know when they come.
    gains: Box<[KindId]>,
}

/// Entities, kinds, archetypes and sparse sets of a world.
#[doc(hidden)]
pub struct Store {
    id: u64,
    /// Changes whenever archetypes got new numbers; prepared queries then start afresh.
    epoch: u64,
    tick: u64,
    pub(crate) entities: Entities,
    pub(crate) handles: Handles,
    pub(crate) kinds: Kinds,
    pub(crate) archetypes: Vec<Archetype>,
    pub(crate) sparse: Vec<SparseSet>,
    pub(crate) changes: Changes,
    edges: Edges,
    by_kinds: SeededMap<Box<[KindId]>, u32>,
    bundles: Vec<BundleInfo>,
    bundle_index: TypeMap<usize>,
    /// The bundle that was spawned last; beyond all where there is none.
    last_bundle: usize,
    /// The sparse sets that were looked up last by types under their own names.
    last_set: Last,
}

static NEXT_WORLD: AtomicU64 = AtomicU64::new(1);

impl Store {
    pub(crate) fn new() -> Self {
        let mut store = Self {
            id: NEXT_WORLD.fetch_add(1, Ordering::Relaxed),
            epoch: 0,
            tick: 1,
            entities: Entities::new(),
            handles: Handles::new(),
            kinds: Kinds::default(),
            archetypes: Vec::new(),
            sparse: Vec::new(),
            changes: Changes::default(),
            edges: Edges::default(),
            by_kinds: SeededMap::default(),
            bundles: Vec::new(),
            bundle_index: TypeMap::default(),
            last_bundle: usize::MAX,
            last_set: Last::default(),
        };
        store.archetype_of(&[]);
        store
    }

    /// A number that no other world of the process has.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The tick that writes are marked with.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.tick
    }

    /// Ends a tick: writes from here on are later than `now()` was. Ticks are 64 bits and never wrap.
    #[inline]
    pub(crate) fn advance_tick(&mut self) -> u64 {
        let now = self.tick;
        self.tick += 1;
        now
    }

    /// The kind of a type under a name (without one: its own), made if it is new; `None` for an empty name.
    pub(crate) fn intern(&mut self, name: Option<&str>, ty: ComponentType) -> Option<KindId> {
        let sets = u32::try_from(self.sparse.len()).unwrap_or(u32::MAX);
        let id = self.kinds.intern(name, ty, sets)?;
        let kind = self.kinds.get(id);
        if kind.sparse == Some(sets) {
            self.sparse.push(SparseSet::new(id, kind));
            // Edges and bundles that knew no rival in a sparse set may have one now.
            if self.kinds.rivals(id).next().is_some() {
                self.forget_paths();
            }
        }
        Some(id)
    }

    /// Keeps ticks for a kind from now on; what is there counts as written now.
    pub(crate) fn track(&mut self, id: KindId) {
        if self.kinds.get(id).tracked {
            return;
        }
        self.kinds.get_mut(id).tracked = true;
        let now = self.tick;
        if let Some(set) = self.kinds.get(id).sparse {
            self.sparse[set as usize].column_mut().track(now);
        }
        for archetype in &mut self.archetypes {
            archetype.track(id, now);
        }
        // Bundles with the kind are plain no more.
        self.forget_paths();
    }

    /// A column for a kind, without rows.
    pub(crate) fn spare_column(&self, kind: KindId) -> Column {
        Column::new(kind, self.kinds.get(kind))
    }

    /// A sparse set for a kind, without rows.
    pub(crate) fn spare_set(&self, kind: KindId) -> SparseSet {
        SparseSet::new(kind, self.kinds.get(kind))
    }

    /// Gives a live entity a handle, if the text is free.
    pub(crate) fn choose_handle(&mut self, text: &str, entity: Entity) -> Result<(), Refusal> {
        self.handles.check(text, &self.entities)?;
        self.handles.choose(text, entity);
        self.entities.set_named(entity.index());
        Ok(())
    }

    /// Reserves an id without an entity.
    pub(crate) fn reserve_id(&mut self) -> Result<Entity, Box<SpawnFault>> {
        Ok(self.entities.reserve()?)
    }

    /// Gives reserved ids back; they are never issued again.
    pub(crate) fn release_id(&mut self, entity: Entity) {
        if self.entities.is_reserved(entity) {
            self.entities.release(entity.index());
        }
    }

    pub(crate) fn set_slot_limit(&mut self, limit: u32) {
        self.entities.set_limit(limit);
    }

    fn forget_paths(&mut self) {
        self.edges.clear(self.archetypes.len());
        self.bundles.clear();
        self.bundle_index.clear();
        self.last_bundle = usize::MAX;
    }

    /// The archetype of a set of table kinds, made if it is new. The order of `kinds` does not matter.
    fn archetype_of(&mut self, kinds: &[KindId]) -> u32 {
        let mut sorted: SmallVec<[KindId; 16]> = SmallVec::from_slice(kinds);
        sorted.sort_by(|a, b| {
            self.kinds
                .get(*a)
                .name
                .as_bytes()
                .cmp(self.kinds.get(*b).name.as_bytes())
        });
        if let Some(&known) = self.by_kinds.get(sorted.as_slice()) {
            return known;
        }
        let number = u32::try_from(self.archetypes.len()).unwrap_or(u32::MAX);
        assert!(
            number < entities::MAX_ARCHETYPES,
            "a world has fewer than 2^30 archetypes"
        );
        self.archetypes.push(Archetype::new(&sorted, &self.kinds));
        self.edges.add_archetype();
        self.by_kinds.insert(sorted.as_slice().into(), number);
        number
    }
}
