//! The model: what a world should hold, kept in the simplest way.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ecs::Entity;

use crate::kinds::{Cell, Kind};

/// A live entity.
#[derive(Default)]
pub(crate) struct Being {
    /// The chosen handle.
    pub(crate) handle: Option<String>,
    /// By type name, as at most one component has it.
    pub(crate) cells: BTreeMap<&'static str, (Kind, Cell)>,
}

impl Being {
    fn table(&self) -> BTreeSet<Kind> {
        let kinds = self.cells.values().map(|(kind, _)| *kind);
        kinds.filter(|kind| !kind.1.is_sparse()).collect()
    }

    /// The component of a kind.
    pub(crate) fn cell(&self, kind: Kind) -> Option<&Cell> {
        let (held, cell) = self.cells.get(kind.0)?;
        (*held == kind).then_some(cell)
    }
}

pub(crate) struct Naive {
    pub(crate) beings: HashMap<Entity, Being>,
    /// The table kinds of each archetype in the order of their creation, and its rows.
    pub(crate) archetypes: Vec<(BTreeSet<Kind>, Vec<Entity>)>,
    pub(crate) chosen: HashMap<String, Entity>,
    /// Every generated handle ever seen.
    pub(crate) generated: HashMap<String, Entity>,
    pub(crate) reserved: Vec<Entity>,
    /// Every loss of a component, by kind.
    pub(crate) losses: HashMap<Kind, Vec<Entity>>,
    /// Counts operations; a write carries the count of its operation.
    pub(crate) clock: u64,
    pub(crate) limit: usize,
}

impl Naive {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            beings: HashMap::new(),
            archetypes: vec![(BTreeSet::new(), Vec::new())],
            chosen: HashMap::new(),
            generated: HashMap::new(),
            reserved: Vec::new(),
            losses: HashMap::new(),
            clock: 1,
            limit,
        }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.limit - self.beings.len() - self.reserved.len()
    }

    /// All entities in the order of iteration.
    pub(crate) fn order(&self) -> impl Iterator<Item = (Entity, &Being)> {
        let rows = self.archetypes.iter().flat_map(|(_, rows)| rows);
        rows.map(|entity| (*entity, &self.beings[entity]))
    }

    /// The entities that have a kind, with its cell, in the order of iteration.
    pub(crate) fn holders(&self, kind: Kind) -> impl Iterator<Item = (Entity, &Cell)> {
        self.order()
            .filter_map(move |(entity, being)| Some((entity, being.cell(kind)?)))
    }

    /// The entity that a text names.
    pub(crate) fn find(&self, text: &str) -> Option<Entity> {
        self.chosen.get(text).copied().or_else(|| {
            let entity = self.generated.get(text)?;
            let being = self.beings.get(entity)?;
            being.handle.is_none().then_some(*entity)
        })
    }

    /// Whether a text may be chosen as a handle.
    pub(crate) fn is_free(&self, text: &str) -> bool {
        // A generated handle of a live entity is not free, even when it goes by another one.
        let generated = self.generated.get(text);
        !text.is_empty()
            && self.find(text).is_none()
            && generated.is_none_or(|owner| !self.beings.contains_key(owner))
    }

    /// The number of the archetype of some kinds, made if it is new.
    pub(crate) fn archetype(&mut self, kinds: &BTreeSet<Kind>) -> usize {
        let known = self.archetypes.iter().position(|(known, _)| known == kinds);
        known.unwrap_or_else(|| {
            self.archetypes.push((kinds.clone(), Vec::new()));
            self.archetypes.len() - 1
        })
    }

    pub(crate) fn archetype_of_bundle(&mut self, kinds: &[Kind]) -> usize {
        let table = kinds.iter().copied().filter(|kind| !kind.1.is_sparse());
        self.archetype(&table.collect())
    }

    fn leave(&mut self, entity: Entity) {
        for (_, rows) in &mut self.archetypes {
            if let Some(row) = rows.iter().position(|other| *other == entity) {
                rows.swap_remove(row);
            }
        }
    }

    /// Moves an entity to where its components belong; it stays in its row if that is where it is.
    fn settle(&mut self, entity: Entity) {
        let target = self.archetype(&self.beings[&entity].table());
        if !self.archetypes[target].1.contains(&entity) {
            self.leave(entity);
            self.archetypes[target].1.push(entity);
        }
    }

    pub(crate) fn spawn(&mut self, entity: Entity, cells: Vec<(Kind, Cell)>) {
        let clock = self.clock;
        let stamped = cells.into_iter().map(|(kind, cell)| {
            let cell = Cell {
                added: clock,
                changed: clock,
                ..cell
            };
            (kind.0, (kind, cell))
        });
        let being = Being {
            handle: None,
            cells: stamped.collect(),
        };
        // spec: ENT-03
        assert!(
            self.beings.insert(entity, being).is_none(),
            "{entity:?} was issued twice"
        );
        self.settle(entity);
    }

    pub(crate) fn name(&mut self, entity: Entity, handle: &str) {
        self.beings.get_mut(&entity).unwrap().handle = Some(handle.to_owned());
        self.chosen.insert(handle.to_owned(), entity);
    }

    /// Attaches components; gives those that went. A boxed component over one of another type goes in two steps.
    pub(crate) fn insert(
        &mut self,
        entity: Entity,
        cells: Vec<(Kind, Cell)>,
        boxed: bool,
    ) -> Vec<(Kind, Cell)> {
        let clock = self.clock;
        if boxed {
            let mut between = self.beings[&entity].table();
            between.retain(|held| {
                cells
                    .iter()
                    .all(|(kind, _)| kind.0 != held.0 || kind == held)
            });
            self.archetype(&between);
        }
        let being = self.beings.get_mut(&entity).unwrap();
        let mut gone = Vec::new();
        for (kind, mut cell) in cells {
            (cell.added, cell.changed) = (clock, clock);
            if let Some((held, old)) = being.cells.remove(kind.0) {
                if held == kind {
                    cell.added = old.added;
                } else {
                    self.losses.entry(held).or_default().push(entity);
                }
                gone.push((held, old));
            }
            being.cells.insert(kind.0, (kind, cell));
        }
        self.settle(entity);
        gone
    }

    /// Removes the component of a name, if it is of the kind that is wanted.
    pub(crate) fn remove(
        &mut self,
        entity: Entity,
        name: &str,
        wanted: Option<Kind>,
    ) -> Option<Cell> {
        let being = self.beings.get_mut(&entity)?;
        let (held, _) = being.cells.get(name)?;
        if wanted.is_some_and(|wanted| wanted != *held) {
            return None;
        }
        let (kind, cell) = being.cells.remove(name)?;
        self.losses.entry(kind).or_default().push(entity);
        self.settle(entity);
        Some(cell)
    }

    /// Ends an entity; gives its components, or nothing when it does not live.
    pub(crate) fn despawn(&mut self, entity: Entity) -> Option<Vec<Cell>> {
        let being = self.beings.remove(&entity)?;
        if let Some(handle) = &being.handle {
            self.chosen.remove(handle);
        }
        self.leave(entity);
        let cells = being.cells.into_values().map(|(kind, cell)| {
            self.losses.entry(kind).or_default().push(entity);
            cell
        });
        Some(cells.collect())
    }

    /// Notes a write.
    pub(crate) fn write(&mut self, entity: Entity, kind: Kind, payload: u64) {
        let clock = self.clock;
        if let Some((held, cell)) = self
            .beings
            .get_mut(&entity)
            .and_then(|being| being.cells.get_mut(kind.0))
            && *held == kind
        {
            cell.changed = clock;
            if kind.1 != crate::kinds::Tag::Z {
                cell.payload = payload;
            }
        }
    }

    pub(crate) fn reclaim(&mut self) -> usize {
        let before = self.archetypes.len();
        self.archetypes
            .retain(|(kinds, rows)| kinds.is_empty() || !rows.is_empty());
        before - self.archetypes.len()
    }
}
