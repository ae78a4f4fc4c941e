//! What inserting a bundle, or removing a component, does to an entity of an archetype: found out once and kept.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

use super::changes::Change;
use super::kinds::KindId;
use super::sparse::SparseSet;
use crate::base::entity::Entity;
use crate::base::hash::TypeIdHasher;

/// Where a bundle's parts go, in the order the bundle lists them: the column, or for a type with sparse storage the
/// set.
pub(crate) type Destinations = Box<[u32]>;

/// A column of the source that has no place in the target.
pub(crate) const LEAVES: u16 = u16::MAX;

/// What inserting a bundle into an entity of an archetype does.
pub(crate) struct InsertEdge {
    /// The bundle's type.
    pub(super) bundle: TypeId,
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) effect: Effect,
    /// The bundle has parts in sparse sets.
    pub(super) sparse: bool,
    pub(super) destinations: Destinations,
    /// By column of the source: its column in the target, or [`LEAVES`].
    pub(super) moves: Box<[u16]>,
    /// Sparse sets that hold another type under a name of the bundle.
    pub(super) evicts: Box<[u32]>,
    /// The kinds of the bundle of which somebody wants to know when they come.
    pub(super) gains: Box<[Gain]>,
}

/// A kind that an insertion brings.
pub(super) struct Gain {
    pub(super) kind: KindId,
    /// The set of a sparse kind.
    pub(super) set: Option<u32>,
    /// The source has the kind in a column.
    pub(super) replaces: bool,
}

impl Gain {
    /// What it is to an entity that is about to get it.
    pub(super) fn change(&self, entity: Entity, sets: &[SparseSet]) -> Change {
        let set = self.set.and_then(|set| sets.get(set as usize));
        if self.replaces || set.is_some_and(|set| set.row(entity.index()).is_some()) {
            Change::Replaced
        } else {
            Change::Added
        }
    }
}

/// What an insertion comes to.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// The entity keeps its archetype: what comes goes into sparse sets, or takes the place of its own kind.
    Stays,
    /// The entity moves, with all it has, and what comes goes into columns that the source lacks.
    Grows,
    /// Anything else.
    Mixed,
}

/// What removing a component from an entity of an archetype does.
#[derive(Clone, Copy)]
pub(crate) struct RemoveEdge {
    /// The type that look-ups find the kind by.
    pub(super) found_by: TypeId,
    pub(super) kind: KindId,
    pub(super) source: u32,
    /// The column, and the archetype without it.
    pub(super) at: u32,
    pub(super) target: u32,
}

/// The moves between archetypes that have been made before.
#[derive(Default)]
pub(crate) struct Edges {
    pub(super) inserts: Vec<InsertEdge>,
    pub(super) removes: Vec<RemoveEdge>,
    /// By archetype, the numbers of the edges that leave it.
    leaving: Vec<Leaving>,
    last_insert: Last,
    last_remove: Last,
}

#[derive(Default)]
struct Leaving {
    inserts: Vec<u32>,
    removes: Vec<u32>,
}

/// The number that was found last for a type, or for one that shares its place.
///
/// Work of one kind comes in rows: the same components for one entity after the other. What was found last is known
/// before the entity has been looked at, so nothing waits for that.
pub(crate) struct Last([u32; PLACES]);

const PLACES: usize = 64;

impl Default for Last {
    fn default() -> Self {
        Self([u32::MAX; PLACES])
    }
}

impl Last {
    #[inline]
    pub(super) fn of(&self, type_id: TypeId) -> usize {
        self.0[Self::place(type_id)] as usize
    }

    #[inline]
    pub(super) fn keep(&mut self, type_id: TypeId, number: usize) {
        self.0[Self::place(type_id)] = number as u32;
    }

    /// A constant where the type is.
    #[inline]
    fn place(type_id: TypeId) -> usize {
        let mut hasher = TypeIdHasher::default();
        type_id.hash(&mut hasher);
        hasher.finish() as usize % PLACES
    }
}

impl Edges {
    /// The number of an insertion's edge, if it was the last one found for the bundle.
    #[inline]
    pub(super) fn last_insert(&self, bundle: TypeId, source: usize) -> Option<usize> {
        let last = self.last_insert.of(bundle);
        let edge = self.inserts.get(last)?;
        (edge.source as usize == source && edge.bundle == bundle).then_some(last)
    }

    /// The number of an insertion's edge, which is then the last one.
    pub(super) fn find_insert(&mut self, bundle: TypeId, source: usize) -> Option<usize> {
        let mut leaving = self.leaving[source].inserts.iter();
        let known = *leaving.find(|edge| self.inserts[**edge as usize].bundle == bundle)? as usize;
        self.last_insert.keep(bundle, known);
        Some(known)
    }

    pub(super) fn add_insert(&mut self, edge: InsertEdge) -> usize {
        let number = self.inserts.len();
        self.leaving[edge.source as usize]
            .inserts
            .push(number as u32);
        self.last_insert.keep(edge.bundle, number);
        self.inserts.push(edge);
        number
    }

    #[inline]
    pub(super) fn last_remove(&self, type_id: TypeId, source: usize) -> Option<RemoveEdge> {
        let edge = self.removes.get(self.last_remove.of(type_id))?;
        (edge.source as usize == source && edge.found_by == type_id).then_some(*edge)
    }

    pub(super) fn find_remove(
        &mut self,
        source: usize,
        is: impl Fn(&RemoveEdge) -> bool,
    ) -> Option<RemoveEdge> {
        let mut leaving = self.leaving.get(source)?.removes.iter();
        let known = *leaving.find(|edge| is(&self.removes[**edge as usize]))? as usize;
        let edge = self.removes[known];
        self.last_remove.keep(edge.found_by, known);
        Some(edge)
    }

    pub(super) fn add_remove(&mut self, edge: RemoveEdge) {
        let number = self.removes.len();
        self.leaving[edge.source as usize]
            .removes
            .push(number as u32);
        self.last_remove.keep(edge.found_by, number);
        self.removes.push(edge);
    }

    pub(super) fn add_archetype(&mut self) {
        self.leaving.push(Leaving::default());
    }

    /// Forgets all edges, and knows as many archetypes.
    pub(super) fn clear(&mut self, archetypes: usize) {
        *self = Self::default();
        self.leaving.resize_with(archetypes, Leaving::default);
    }
}
