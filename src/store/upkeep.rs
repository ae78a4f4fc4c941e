//! Clearing, reserving, shrinking, reclaiming what is empty, and what is noted for observers.

use super::Store;
use super::batch::SpawnFault;
use super::bundle::Bundle;
use super::changes::Change;
use super::kinds::KindId;
use crate::base::caught::FirstPanic;

impl Store {
    /// Notes a change of a kind for observers from now on.
    pub(crate) fn observe(&mut self, kind: KindId, change: Change) {
        self.changes.count_observer(kind, change, 1);
        self.forget_paths();
    }

    /// There is one observer less of a change of a kind.
    pub(crate) fn end_observing(&mut self, kind: KindId, change: Change) {
        self.changes.count_observer(kind, change, -1);
        self.forget_paths();
    }

    /// Despawns every entity. Kinds, archetypes, memory and reserved ids stay; ids that were live are stale.
    pub(crate) fn clear(&mut self) {
        let mut panics = FirstPanic::default();
        let Self {
            archetypes,
            entities,
            changes,
            sparse,
            ..
        } = self;
        if !changes.is_empty() {
            for set in sparse.iter() {
                for entity in set.ids().iter().filter_map(|index| entities.at(*index)) {
                    changes.note(set.kind(), entity, Change::Removed);
                }
            }
        }
        for archetype in archetypes {
            if !changes.is_empty() {
                let ids = archetype.ids().iter();
                for entity in ids.filter_map(|index| entities.at(*index)) {
                    changes.note_losses(archetype.kinds(), entity);
                }
            }
            let (ids, columns) = archetype.ids_and_columns_mut();
            // Backwards, so that the free list runs forwards, as batches have it best.
            for index in ids.drain(..).rev() {
                entities.release(index);
            }
            for column in columns {
                column.truncate(0, &mut panics);
            }
        }
        for set in sparse {
            set.clear(&mut panics);
        }
        self.handles.clear();
        panics.resume();
    }

    /// Makes room for more entities of a bundle.
    pub(crate) fn reserve<B: Bundle>(&mut self, additional: usize) -> Result<(), Box<SpawnFault>> {
        let info = self.bundle_for::<B>(additional)?;
        let number = self.bundles[info].archetype as usize;
        self.archetypes[number].reserve(additional);
        self.entities.reserve_slots(additional);
        Ok(())
    }

    /// Gives memory back that is not needed for what is there.
    pub(crate) fn shrink(&mut self) {
        self.archetypes
            .iter_mut()
            .for_each(super::archetype::Archetype::shrink);
        self.sparse
            .iter_mut()
            .for_each(super::sparse::SparseSet::shrink);
        self.entities.shrink();
        self.handles.shrink();
        self.changes.shrink();
    }

    /// Removes the archetypes that hold no entity, and says how many they were. The others keep their order.
    ///
    /// Linear in the number of archetypes and of the entities whose archetype gets another number.
    pub(crate) fn reclaim(&mut self) -> usize {
        let mut new = Vec::with_capacity(self.archetypes.len());
        let mut kept = 0;
        for (number, archetype) in self.archetypes.iter().enumerate() {
            // The archetype without components stays the first.
            if number == 0 || archetype.len() > 0 {
                new.push(Some(kept));
                kept += 1;
            } else {
                new.push(None);
            }
        }
        let reclaimed = self.archetypes.len() - kept as usize;
        if reclaimed == 0 {
            return 0;
        }
        let mut number = 0;
        self.archetypes.retain(|_| {
            number += 1;
            new[number - 1].is_some()
        });
        for (number, archetype) in self.archetypes.iter().enumerate() {
            for (row, &index) in archetype.ids().iter().enumerate() {
                self.entities.set(index, number as u32, row as u32);
            }
        }
        self.by_kinds
            .retain(|_, number| match new[*number as usize] {
                Some(to) => {
                    *number = to;
                    true
                }
                None => false,
            });
        for set in &mut self.sparse {
            set.renumber(&new);
        }
        self.forget_paths();
        self.archetypes.shrink_to_fit();
        self.epoch += 1;
        reclaimed
    }
}
