//! The slot map of entities.
//!
//! ```text
//! slot  12 bytes   generation  u32   the word that a live (or reserved) id must carry, or the next one to issue
//!                  place       u32   bit 31 NAMED   the entity has a chosen handle
//!                                    bit 30 SPARSE  it has (or had) a component in a sparse set
//!                                    bits 29..0     archetype, or FREE, RESERVED, RETIRED, GAP
//!                  row         u32   row in the archetype; of a free slot the next free one, or NONE
//! ```
//!
//! A slot's word moves on when its entity goes, so a stale id meets another word for ever after. A slot whose
//! count is used up is RETIRED: it holds word 0, which no id has, and is in no free list. A GAP lies between slots that
//! were made before their turn, for a moment: see `reserve.rs`.

use crate::base::entity::{Entity, WorldTag};

const NAMED: u32 = 1 << 31;
const SPARSE: u32 = 1 << 30;
const PLACE: u32 = SPARSE - 1;
const FREE: u32 = PLACE;
const RESERVED: u32 = PLACE - 1;
const RETIRED: u32 = PLACE - 2;
const GAP: u32 = PLACE - 3;
/// Archetypes are numbered below this.
pub(super) const MAX_ARCHETYPES: u32 = GAP;
const NONE: u32 = u32::MAX;

/// See the module's head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    generation: u32,
    place: u32,
    row: u32,
}

impl Slot {
    #[inline]
    pub(crate) fn generation(self) -> u32 {
        self.generation
    }

    /// The archetype and the row of an entity, if the slot is its own. The archetype of an id that is reserved or free
    /// is beyond all archetypes.
    #[inline]
    pub(crate) fn place_of(self, entity: Entity) -> Option<(usize, usize)> {
        if self.generation != entity.generation() {
            // Else the comparison is folded into the caller's next one, and both are made of bits.
            std::hint::cold_path();
            return None;
        }
        Some(((self.place & PLACE) as usize, self.row as usize))
    }
}

/// What the slot of an entity says.
#[derive(Clone, Copy)]
pub(super) struct Found {
    place: u32,
    row: u32,
}

impl Found {
    #[inline]
    pub(super) fn archetype(self) -> usize {
        (self.place & PLACE) as usize
    }

    #[inline]
    pub(super) fn row(self) -> usize {
        self.row as usize
    }

    /// Whether it has a chosen handle.
    #[inline]
    pub(super) fn is_named(self) -> bool {
        self.place & NAMED != 0
    }

    /// Whether it has or had components in sparse sets.
    #[inline]
    pub(super) fn is_sparse(self) -> bool {
        self.place & SPARSE != 0
    }
}

/// Free slots that lie side by side, and what follows them in the list of free ones.
struct Run {
    len: u32,
    next: u32,
}

/// No slot is left for another entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfSlots;

pub(crate) struct Entities {
    slots: Vec<Slot>,
    free: u32,
    free_len: u32,
    live: u32,
    limit: u32,
    /// The first slot that may be a gap; `NONE` when none is.
    gaps_from: u32,
    tag: WorldTag,
}

impl Entities {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
            free_len: 0,
            live: 0,
            limit: u32::MAX - 1,
            gaps_from: NONE,
            tag: WorldTag::acquire(),
        }
    }

    pub(super) fn set_limit(&mut self, limit: u32) {
        self.limit = limit.min(u32::MAX - 1);
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.live as usize
    }

    /// The archetype and row of a live entity.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<(usize, usize)> {
        locate(&self.slots, entity)
    }

    /// What the slot of an id says, looked up once for a whole operation.
    ///
    /// As with [`place`](Self::place), the archetype of an id that is not live is beyond all archetypes.
    #[inline]
    pub(super) fn find(&self, entity: Entity) -> Option<Found> {
        let slot = self.slots.get(entity.index() as usize)?;
        (slot.generation == entity.generation()).then_some(Found {
            place: slot.place,
            row: slot.row,
        })
    }

    /// The same for entities that are live, and for no other ids.
    pub(super) fn find_live(&self, entity: Entity) -> Option<Found> {
        self.find(entity)
            .filter(|found| found.place & PLACE < MAX_ARCHETYPES)
    }

    #[inline]
    pub(crate) fn is_live(&self, entity: Entity) -> bool {
        self.locate(entity).is_some()
    }

    /// The same where the caller asks for the archetype with the number, and takes none for an answer: that of an id
    /// that is reserved, free or retired is beyond all archetypes.
    #[inline]
    pub(crate) fn place(&self, entity: Entity) -> Option<(usize, usize)> {
        self.slots.get(entity.index() as usize)?.place_of(entity)
    }

    /// The live entity in a slot.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> Option<Entity> {
        let slot = self.slots.get(index as usize)?;
        Entity::from_parts(index, slot.generation).filter(|entity| self.is_live(*entity))
    }

    /// Whether the id was one of this world's and is so no more. One that is live, reserved or not issued yet is not past.
    pub(super) fn is_past(&self, entity: Entity) -> bool {
        self.slots.get(entity.index() as usize).is_some_and(|slot| {
            // A retired slot has been through all its generations; in the others they come in order.
            let issued = self.tag.first_word()..slot.generation;
            slot.place & PLACE == RETIRED || issued.contains(&entity.generation())
        })
    }

    /// A new entity at a place of the store.
    #[inline]
    pub(super) fn alloc(&mut self, archetype: u32, row: u32) -> Result<Entity, OutOfSlots> {
        let entity = self.issue(archetype, row)?;
        self.live += 1;
        Ok(entity)
    }

    #[inline]
    fn issue(&mut self, place: u32, row: u32) -> Result<Entity, OutOfSlots> {
        let index = self.free;
        if let Some(slot) = self.slots.get_mut(index as usize) {
            self.free = slot.row;
            self.free_len -= 1;
            slot.place = place;
            slot.row = row;
            return Entity::from_parts(index, slot.generation).ok_or(OutOfSlots);
        }
        let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        if index >= self.limit {
            return Err(OutOfSlots);
        }
        let generation = self.tag.first_word();
        self.slots.push(Slot {
            generation,
            place,
            row,
        });
        Entity::from_parts(index, generation).ok_or(OutOfSlots)
    }

    /// Slots that can still be issued.
    pub(crate) fn remaining(&self) -> usize {
        self.unmade() + self.free_len as usize
    }

    /// The next `count` ids in the order in which they will be issued; `None` when there are not so many.
    pub(crate) fn upcoming(&self, count: usize) -> Option<Vec<Entity>> {
        if self.remaining() < count {
            return None;
        }
        let mut free = self.free;
        let mut fresh = u32::try_from(self.slots.len()).ok()?;
        let next = |_| {
            if let Some(slot) = self.slots.get(free as usize) {
                let index = std::mem::replace(&mut free, slot.row);
                return Entity::from_parts(index, slot.generation);
            }
            fresh += 1;
            Entity::from_parts(fresh - 1, self.tag.first_word())
        };
        (0..count).map(next).collect()
    }

    /// `count` new entities in consecutive rows; their indices go to the end of `ids`.
    pub(super) fn alloc_rows(
        &mut self,
        archetype: u32,
        first_row: u32,
        count: u32,
        ids: &mut Vec<u32>,
    ) {
        debug_assert!(self.remaining() >= count as usize, "the caller asks first");
        let mut row = first_row;
        let end = first_row + count;
        while row < end && self.free != NONE {
            let taken = self.take_run(archetype, row, end - row);
            ids.extend(self.free..self.free + taken.len);
            self.free = taken.next;
            self.free_len -= taken.len;
            row += taken.len;
        }
        let generation = self.tag.first_word();
        let first = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.extend((row..end).map(|row| Slot {
            generation,
            place: archetype,
            row,
        }));
        ids.extend(first..first + (end - row));
        self.live += count;
    }

    /// Puts entities into consecutive free slots from the first one on, as long as each names its neighbour as the next.
    ///
    /// Which slot comes next is known without looking there, so no load waits for another, as it would along a list.
    fn take_run(&mut self, archetype: u32, first_row: u32, most: u32) -> Run {
        let first = self.free;
        let slots = self.slots.get_mut(first as usize..).unwrap_or_default();
        let mut len = 0;
        for slot in slots.iter_mut().take(most as usize) {
            let next = slot.row;
            slot.place = archetype;
            slot.row = first_row + len;
            len += 1;
            if next != first + len {
                return Run { len, next };
            }
        }
        let next = if len == 0 { NONE } else { first + len };
        Run { len, next }
    }

    /// An id that is nobody's until it is [settled](Self::settle).
    pub(super) fn reserve(&mut self) -> Result<Entity, OutOfSlots> {
        self.issue(RESERVED, 0)
    }

    pub(super) fn is_reserved(&self, entity: Entity) -> bool {
        self.slots.get(entity.index() as usize).is_some_and(|slot| {
            slot.generation == entity.generation() && slot.place & PLACE == RESERVED
        })
    }

    /// The generation word of a slot that was never used.
    #[inline]
    pub(super) fn first_word(&self) -> u32 {
        self.tag.first_word()
    }

    #[inline]
    pub(super) fn has_free(&self) -> bool {
        self.free != NONE
    }

    /// How many slots are free.
    pub(super) fn free_len(&self) -> usize {
        self.free_len as usize
    }

    /// Slots that can still be made.
    pub(super) fn unmade(&self) -> usize {
        (self.limit as usize).saturating_sub(self.slots.len())
    }

    /// Reserves a slot that is free.
    pub(super) fn reserve_free(&mut self) -> Option<Entity> {
        self.has_free().then(|| self.reserve().ok()).flatten()
    }

    /// Frees a slot whose id was reserved and seen by nobody.
    pub(super) fn free_again(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.place = FREE;
        slot.row = std::mem::replace(&mut self.free, index);
        self.free_len += 1;
    }

    /// Makes a slot whose id is reserved, out of its turn.
    pub(super) fn make_reserved(&mut self, index: u32) {
        let gap = Slot {
            generation: self.tag.first_word(),
            place: GAP,
            row: NONE,
        };
        let made = self.slots.len();
        if index as usize > made {
            self.gaps_from = self.gaps_from.min(made as u32);
        }
        self.slots.resize(made.max(index as usize + 1), gap);
        self.slots[index as usize].place = RESERVED;
    }

    /// Frees the slots that were made between others.
    pub(crate) fn close_gaps(&mut self) {
        let from = std::mem::replace(&mut self.gaps_from, NONE);
        // Backwards, so that the free list runs forwards, as batches have it best.
        for index in (from as usize..self.slots.len()).rev() {
            if self.slots[index].place == GAP {
                self.free_again(index as u32);
            }
        }
    }

    /// Makes a reserved id a live entity.
    pub(super) fn settle(&mut self, entity: Entity, archetype: u32, row: u32) {
        debug_assert!(self.is_reserved(entity), "the caller asks first");
        self.live += 1;
        self.set(entity.index(), archetype, row);
    }

    /// Moves an entity; its flags stay.
    #[inline]
    pub(super) fn set(&mut self, index: u32, archetype: u32, row: u32) {
        let slot = &mut self.slots[index as usize];
        slot.place = (slot.place & !PLACE) | archetype;
        slot.row = row;
    }

    /// The same for an entity whose slot was found; its flags are as they were then.
    #[inline]
    pub(super) fn move_to(&mut self, index: u32, found: Found, archetype: u32, row: u32) {
        let slot = &mut self.slots[index as usize];
        slot.place = (found.place & !PLACE) | archetype;
        slot.row = row;
    }

    #[inline]
    pub(super) fn set_row(&mut self, index: u32, row: u32) {
        self.slots[index as usize].row = row;
    }

    /// Ends a live or reserved id.
    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        if self.slots[index as usize].place & PLACE != RESERVED {
            self.live -= 1;
        }
        self.free_slot(index);
    }

    /// Ends a live id.
    #[inline]
    pub(super) fn release_live(&mut self, index: u32) {
        self.live -= 1;
        self.free_slot(index);
    }

    #[inline]
    fn free_slot(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Some(next) = self.tag.successor(slot.generation) {
            *slot = Slot {
                generation: next,
                place: FREE,
                row: self.free,
            };
            self.free = index;
            self.free_len += 1;
        } else {
            *slot = Slot {
                generation: 0,
                place: RETIRED,
                row: NONE,
            };
        }
    }

    #[inline]
    pub(super) fn is_named(&self, index: u32) -> bool {
        self.slots
            .get(index as usize)
            .is_some_and(|slot| slot.place & NAMED != 0)
    }

    pub(super) fn set_named(&mut self, index: u32) {
        self.slots[index as usize].place |= NAMED;
    }

    #[inline]
    pub(super) fn is_sparse(&self, index: u32) -> bool {
        self.slots
            .get(index as usize)
            .is_some_and(|slot| slot.place & SPARSE != 0)
    }

    pub(super) fn set_sparse(&mut self, index: u32) {
        self.slots[index as usize].place |= SPARSE;
    }

    pub(super) fn reserve_slots(&mut self, additional: usize) {
        self.slots
            .reserve(additional.saturating_sub(self.free_len as usize));
    }

    pub(super) fn shrink(&mut self) {
        self.slots.shrink_to_fit();
    }

    pub(crate) fn allocated(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

#[inline]
pub(crate) fn locate(slots: &[Slot], entity: Entity) -> Option<(usize, usize)> {
    let slot = slots.get(entity.index() as usize)?;
    let place = slot.place & PLACE;
    (slot.generation == entity.generation() && place < MAX_ARCHETYPES)
        .then_some((place as usize, slot.row as usize))
}
