//! Spawning many entities of one bundle.

use super::Store;
use super::bundle::{Bundle, ColumnBatch, ColumnTaker, Part};
use super::changes::Change;
use super::column::Column;
use super::component::Storage;
use super::entities::OutOfSlots;
use super::error::BundleFault;
use crate::base::caught::{FirstPanic, refused};

/// Why nothing was spawned. In a box, so that what succeeds is returned in registers.
#[derive(Debug)]
pub(crate) enum SpawnFault {
    Bundle(BundleFault),
    OutOfSlots,
}

impl From<BundleFault> for Box<SpawnFault> {
    fn from(fault: BundleFault) -> Self {
        Self::new(SpawnFault::Bundle(fault))
    }
}

impl From<OutOfSlots> for Box<SpawnFault> {
    fn from(_: OutOfSlots) -> Self {
        Self::new(SpawnFault::OutOfSlots)
    }
}

/// Rows that were spawned together.
#[derive(Clone, Copy)]
pub(crate) struct Spawned {
    pub(crate) archetype: usize,
    pub(crate) first: usize,
    pub(crate) len: usize,
}

impl Store {
    /// Spawns a bundle for each item. When the iterator panics, the rows it gave so far are entities.
    pub(crate) fn spawn_batch<I>(&mut self, bundles: I) -> Result<Spawned, Box<SpawnFault>>
    where
        I: Iterator,
        I::Item: Bundle,
    {
        let (expected, _) = bundles.size_hint();
        let info = match self.bundle_for::<I::Item>(expected) {
            Ok(info) => info,
            Err(fault) => return Err(refused(fault, |panics| panics.drop_value(bundles))),
        };
        let place = &self.bundles[info];
        let number = place.archetype;
        if place.sparse {
            return self.spawn_one_by_one(number, bundles);
        }
        let archetype = &mut self.archetypes[number as usize];
        let first = archetype.len();
        archetype.reserve(expected);
        self.entities.reserve_slots(expected);
        let mut rows = 0;
        let mut panics = FirstPanic::default();
        let (ids, columns) = archetype.ids_and_columns_mut();
        let slots = self.entities.remaining();
        if let Some(mut columns) =
            I::Item::columns(&mut ColumnTaker::new(columns, &place.destinations))
        {
            let mut vectors = <I::Item as Bundle>::Vectors::default();
            I::Item::exchange(&mut columns, &mut vectors);
            panics.run(|| {
                // One more than there are slots for is enough to know that they do not suffice.
                let bundles = bundles.take(slots.saturating_add(1));
                vectors.extend(bundles.map(|bundle| {
                    rows += 1;
                    bundle.components()
                }));
            });
            I::Item::exchange(&mut columns, &mut vectors);
        }
        if slots >= rows {
            self.entities
                .alloc_rows(number, first as u32, rows as u32, ids);
        }
        let outcome = self.complete(info, first, rows);
        panics.resume();
        outcome
    }

    /// They wait until all are there: what is spawned and has to go again would count as lost.
    fn spawn_one_by_one<I>(&mut self, number: u32, bundles: I) -> Result<Spawned, Box<SpawnFault>>
    where
        I: Iterator,
        I::Item: Bundle,
    {
        let first = self.archetypes[number as usize].len();
        let mut panics = FirstPanic::default();
        let mut waiting = Vec::with_capacity(bundles.size_hint().0);
        let slots = self.entities.remaining();
        // One more than there are slots for is enough to know that they do not suffice.
        let bundles = bundles.take(slots.saturating_add(1));
        panics.run(|| bundles.for_each(|bundle| waiting.push(bundle)));
        if slots < waiting.len() {
            for bundle in waiting {
                panics.drop_value(bundle);
            }
            panics.resume();
            return Err(Box::new(SpawnFault::OutOfSlots));
        }
        for bundle in waiting {
            self.spawn(bundle)?;
        }
        panics.resume();
        Ok(Spawned {
            archetype: number as usize,
            first,
            len: self.archetypes[number as usize].len() - first,
        })
    }

    /// Where whole columns are spawned, and the number of their rows.
    fn columns_fit<C: ColumnBatch>(
        &mut self,
        columns: &C,
    ) -> Result<(usize, usize), Box<SpawnFault>> {
        let parts = Self::check_bundle::<C::Row>()?.0;
        let sparse = |part: &&Part| part.ty.storage == Storage::Sparse;
        if let Some(part) = parts.iter().find(sparse) {
            let name = part.name().to_owned();
            return Err(BundleFault::SparseColumn { name }.into());
        }
        let rows = columns.rows().ok_or(BundleFault::UnevenColumns)?;
        Ok((self.bundle_for::<C::Row>(rows)?, rows))
    }

    /// Spawns whole columns.
    pub(crate) fn spawn_columns<C: ColumnBatch>(
        &mut self,
        columns: C,
    ) -> Result<Spawned, Box<SpawnFault>> {
        let (info, rows) = match self.columns_fit(&columns) {
            Ok(fit) => fit,
            Err(fault) => return Err(refused(fault, |panics| columns.discard(panics))),
        };
        let place = &self.bundles[info];
        let number = place.archetype;
        let archetype = &mut self.archetypes[number as usize];
        let first = archetype.len();
        let (ids, targets) = archetype.ids_and_columns_mut();
        columns.append(&mut ColumnTaker::new(targets, &place.destinations));
        ids.reserve(rows);
        self.entities.reserve_slots(rows);
        self.entities
            .alloc_rows(number, first as u32, rows as u32, ids);
        self.complete(info, first, rows)
    }

    /// Brings ticks, and columns whose rows found no slots, into step, and notes what came.
    fn complete(
        &mut self,
        info: usize,
        first: usize,
        rows: usize,
    ) -> Result<Spawned, Box<SpawnFault>> {
        let info = &self.bundles[info];
        let number = info.archetype as usize;
        let archetype = &mut self.archetypes[number];
        let len = archetype.len();
        let now = self.tick;
        if len == first + rows {
            archetype
                .columns_mut()
                .iter_mut()
                .for_each(|column| column.fill_ticks(now));
            if !info.gains.is_empty() {
                let new = archetype.ids()[first..].iter();
                for entity in new.filter_map(|index| self.entities.at(*index)) {
                    for kind in &info.gains {
                        self.changes.note(*kind, entity, Change::Added);
                    }
                }
            }
            return Ok(Spawned {
                archetype: number,
                first,
                len: rows,
            });
        }
        let mut panics = FirstPanic::default();
        for column in archetype.columns_mut() {
            Column::truncate(column, len, &mut panics);
        }
        panics.resume();
        Err(Box::new(SpawnFault::OutOfSlots))
    }
}
