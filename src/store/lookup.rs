//! Looking components up, by entity and kind or name. Nothing here allocates, locks or changes structure.

use std::any::TypeId;

use super::Store;
use super::column::Column;
use super::component::{Component, Storage};
use super::kinds::KindId;
use crate::base::entity::Entity;

impl Store {
    #[inline]
    pub(crate) fn get<T: Component>(&self, entity: Entity) -> Option<&T> {
        let (number, row) = self.entities.place(entity)?;
        if T::storage() == Storage::Sparse {
            let set = self.sparse.get(self.own_set::<T>()?)?;
            return set.column().values::<T>()?.get(set.row(entity.index())?);
        }
        let archetype = self.archetypes.get(number)?;
        archetype.values_of::<T>()?.get(row)
    }

    #[inline]
    pub(crate) fn get_mut<T: Component>(&mut self, entity: Entity) -> Option<&mut T> {
        let (number, row) = self.entities.place(entity)?;
        let now = self.tick;
        if T::storage() == Storage::Sparse {
            let set = self.own_set_kept::<T>()?;
            let set = self.sparse.get_mut(set)?;
            let row = set.row(entity.index())?;
            return write(set.column_mut(), row, now);
        }
        let archetype = self.archetypes.get_mut(number)?;
        write(archetype.column_of_mut::<T>()?, row, now)
    }

    /// The set of `T` under its own name.
    #[inline]
    pub(super) fn own_set<T: Component>(&self) -> Option<usize> {
        let type_id = TypeId::of::<T>();
        let last = self.last_set.of(type_id);
        match self.sparse.get(last) {
            Some(set) if set.column().is_of(type_id) => Some(last),
            _ => self.find_set(type_id),
        }
    }

    /// The same, remembered for the next time.
    #[inline]
    pub(super) fn own_set_kept<T: Component>(&mut self) -> Option<usize> {
        let set = self.own_set::<T>()?;
        self.last_set.keep(TypeId::of::<T>(), set);
        Some(set)
    }

    #[inline(never)]
    fn find_set(&self, type_id: TypeId) -> Option<usize> {
        let kind = self.kinds.find_own(type_id)?;
        self.kinds.get(kind).sparse.map(|set| set as usize)
    }

    /// The component under a name, if it is a `T`.
    #[inline]
    pub(crate) fn get_named<T: Component>(&self, entity: Entity, name: &str) -> Option<&T> {
        let (number, row) = self.entities.place(entity)?;
        if T::storage() == Storage::Sparse {
            let set = &self.sparse[self
                .kinds
                .get(self.kinds.find(name, TypeId::of::<T>())?)
                .sparse? as usize];
            return set.column().values::<T>()?.get(set.row(entity.index())?);
        }
        let archetype = self.archetypes.get(number)?;
        let at = archetype.position_named(name, &self.kinds)?;
        archetype.columns().get(at)?.values::<T>()?.get(row)
    }

    pub(crate) fn get_named_mut<T: Component>(
        &mut self,
        entity: Entity,
        name: &str,
    ) -> Option<&mut T> {
        let kind = self.kind_at(entity, name)?;
        let (number, row) = self.entities.locate(entity)?;
        let now = self.tick;
        if let Some(set) = self.kinds.get(kind).sparse {
            let set = &mut self.sparse[set as usize];
            let row = set.row(entity.index())?;
            return write(set.column_mut(), row, now);
        }
        let archetype = &mut self.archetypes[number];
        let at = archetype.position(kind)?;
        write(archetype.columns_mut().get_mut(at)?, row, now)
    }

    /// The component under a name, whatever its type.
    pub(crate) fn component(&self, entity: Entity, name: &str) -> Option<&dyn Component> {
        let (number, row) = self.entities.locate(entity)?;
        let archetype = &self.archetypes[number];
        if let Some(at) = archetype.position_named(name, &self.kinds) {
            return archetype.columns()[at].component(row);
        }
        self.component_of(entity, self.sparse_kind_at(entity, name)?)
    }

    pub(crate) fn component_mut(
        &mut self,
        entity: Entity,
        name: &str,
    ) -> Option<&mut dyn Component> {
        let kind = self.kind_at(entity, name)?;
        let (number, row) = self.entities.locate(entity)?;
        let now = self.tick;
        if let Some(set) = self.kinds.get(kind).sparse {
            let set = &mut self.sparse[set as usize];
            let row = set.row(entity.index())?;
            return set.column_mut().component_mut(row, now);
        }
        let archetype = &mut self.archetypes[number];
        let at = archetype.position(kind)?;
        archetype.columns_mut()[at].component_mut(row, now)
    }

    pub(crate) fn component_of(&self, entity: Entity, kind: KindId) -> Option<&dyn Component> {
        let (number, row) = self.entities.locate(entity)?;
        if let Some(set) = self.kinds.get(kind).sparse {
            let set = &self.sparse[set as usize];
            return set.column().component(set.row(entity.index())?);
        }
        let archetype = &self.archetypes[number];
        archetype.columns()[archetype.position(kind)?].component(row)
    }

    /// The kind of the entity's component under a name.
    pub(crate) fn kind_at(&self, entity: Entity, name: &str) -> Option<KindId> {
        let (number, _) = self.entities.locate(entity)?;
        let archetype = &self.archetypes[number];
        match archetype.position_named(name, &self.kinds) {
            Some(at) => Some(archetype.columns()[at].kind()),
            None => self.sparse_kind_at(entity, name),
        }
    }

    fn sparse_kind_at(&self, entity: Entity, name: &str) -> Option<KindId> {
        if !self.entities.is_sparse(entity.index()) {
            return None;
        }
        self.kinds.named(name).iter().copied().find(|kind| {
            self.kinds
                .get(*kind)
                .sparse
                .is_some_and(|set| self.sparse[set as usize].row(entity.index()).is_some())
        })
    }

    pub(crate) fn has_kind(&self, entity: Entity, kind: KindId) -> bool {
        self.component_of(entity, kind).is_some()
    }

    #[inline]
    pub(crate) fn has<T: Component>(&self, entity: Entity) -> bool {
        self.get::<T>(entity).is_some()
    }

    /// The components of an entity with their kinds, sorted by the bytes of the kinds' names.
    pub(crate) fn components_of(
        &self,
        entity: Entity,
    ) -> impl Iterator<Item = KindAndComponent<'_>> {
        let place = self.entities.locate(entity);
        let columns = place.map_or(&[][..], |(number, _)| self.archetypes[number].columns());
        let row = place.map_or(0, |(_, row)| row);
        let in_columns = Rows {
            columns: columns.iter(),
            row,
        };
        // Columns are sorted already; only an entity with sparse components needs more than a walk along them.
        if place.is_none() || !self.entities.is_sparse(entity.index()) {
            return Components::InColumns(in_columns);
        }
        let mut all: Vec<_> = in_columns.collect();
        all.extend(self.sparse.iter().filter_map(|set| {
            Some((
                set.kind(),
                set.column().component(set.row(entity.index())?)?,
            ))
        }));
        all.sort_by(|a, b| self.kinds.get(a.0).name.cmp(&self.kinds.get(b.0).name));
        Components::Sorted(all.into_iter())
    }
}

type KindAndComponent<'w> = (KindId, &'w dyn Component);

/// The components of one entity.
enum Components<'w> {
    InColumns(Rows<'w>),
    Sorted(std::vec::IntoIter<KindAndComponent<'w>>),
}

impl<'w> Iterator for Components<'w> {
    type Item = KindAndComponent<'w>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::InColumns(rows) => rows.next(),
            Self::Sorted(all) => all.next(),
        }
    }
}

/// One row, column by column.
struct Rows<'w> {
    columns: std::slice::Iter<'w, Column>,
    row: usize,
}

impl<'w> Iterator for Rows<'w> {
    type Item = KindAndComponent<'w>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.row;
        self.columns
            .find_map(|column| Some((column.kind(), column.component(row)?)))
    }
}

#[inline]
fn write<T: Component>(column: &mut Column, row: usize, now: u64) -> Option<&mut T> {
    let (values, marks) = column.values_mut::<T>()?;
    let value = values.get_mut(row)?;
    if let Some(tick) = marks.and_then(|marks| marks.rows.get_mut(row)) {
        *tick = now;
    }
    Some(value)
}
