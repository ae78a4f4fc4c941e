//! What the loops by hand are made of: a vector, a slot map, an order that is the same in each run.

#![allow(dead_code, reason = "each benchmark uses its part of this")]

use serde::{Deserialize, Serialize};

/// Three floats, 12 bytes.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Vector {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
}

impl Vector {
    #[inline]
    pub(crate) fn of(turn: usize) -> Self {
        let x = small(turn);
        Self {
            x,
            y: x + 1.0,
            z: 0.5,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, other: &Self) {
        self.x += other.x;
        self.y += other.y;
        self.z += other.z;
    }
}

/// A float that is exact, also in sums.
#[inline]
#[allow(clippy::cast_precision_loss, reason = "below 2^13")]
pub(crate) fn small(turn: usize) -> f32 {
    (turn & 0xfff) as f32
}

/// Sums that are compared: small whole numbers, so exact.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole and positive"
)]
pub(crate) fn whole(value: f32) -> u64 {
    value as u64
}

/// An id by hand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Id {
    pub(crate) index: u32,
    generation: u32,
}

#[derive(Clone, Copy)]
struct Slot<P> {
    generation: u32,
    place: P,
}

/// A slot map by hand: generations, and where the entity is (`u32`: a row; `[u32; 2]`: table and row).
pub(crate) struct Slots<P> {
    slots: Vec<Slot<P>>,
    free: Vec<u32>,
}

impl<P> Default for Slots<P> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<P: Copy> Slots<P> {
    #[inline]
    pub(crate) fn alloc(&mut self, place: P) -> Id {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.place = place;
            return Id {
                index,
                generation: slot.generation,
            };
        }
        let index = row(self.slots.len());
        self.slots.push(Slot {
            generation: 1,
            place,
        });
        Id {
            index,
            generation: 1,
        }
    }

    /// Slots for a whole batch.
    pub(crate) fn alloc_rows(
        &mut self,
        first: usize,
        count: usize,
        ids: &mut Vec<u32>,
        place: impl Fn(u32) -> P,
    ) {
        let (mut next, end) = (row(first), row(first + count));
        while next < end
            && let Some(index) = self.free.pop()
        {
            self.slots[index as usize].place = place(next);
            ids.push(index);
            next += 1;
        }
        let known = row(self.slots.len());
        self.slots.extend((next..end).map(|row| Slot {
            generation: 1,
            place: place(row),
        }));
        ids.extend(known..known + (end - next));
    }

    #[inline]
    pub(crate) fn locate(&self, id: Id) -> Option<P> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation).then_some(slot.place)
    }

    #[inline]
    pub(crate) fn set(&mut self, index: u32, place: P) {
        self.slots[index as usize].place = place;
    }

    #[inline]
    pub(crate) fn release(&mut self, index: u32) {
        self.slots[index as usize].generation += 1;
        self.free.push(index);
    }
}

/// A row number as it is stored.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "far fewer rows")]
pub(crate) fn row(number: usize) -> u32 {
    number as u32
}

/// Puts values in an order that is the same in each run.
pub(crate) fn shuffle<T>(values: &mut [T]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for at in (1..values.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = usize::try_from(state % (at as u64 + 1)).unwrap_or(0);
        values.swap(at, other);
    }
}

/// Two tables and slots that tell them apart, by hand.
pub(crate) struct Tables<P, E> {
    slots: Slots<[u32; 2]>,
    plain: (Vec<u32>, Vec<P>),
    extra: (Vec<u32>, Vec<P>, Vec<E>),
}

impl<P, E> Tables<P, E> {
    /// With these in the first table, and their ids in the same order.
    pub(crate) fn of(values: impl Iterator<Item = P>) -> (Self, Vec<Id>) {
        let mut slots = Slots::default();
        let (mut indices, mut plain) = (Vec::new(), Vec::new());
        let ids = values.map(|value| {
            let id = slots.alloc([0, row(plain.len())]);
            indices.push(id.index);
            plain.push(value);
            id
        });
        let ids = ids.collect();
        let tables = Self {
            slots,
            plain: (indices, plain),
            extra: <_>::default(),
        };
        (tables, ids)
    }

    pub(crate) fn add(&mut self, id: Id, extra: E) {
        let Some([0, at]) = self.slots.locate(id) else {
            return;
        };
        let to = row(self.extra.0.len());
        self.extra.0.push(self.plain.0.swap_remove(at as usize));
        self.extra.1.push(self.plain.1.swap_remove(at as usize));
        self.extra.2.push(extra);
        if let Some(&moved) = self.plain.0.get(at as usize) {
            self.slots.set(moved, [0, at]);
        }
        self.slots.set(id.index, [1, to]);
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<E> {
        let Some([1, at]) = self.slots.locate(id) else {
            return None;
        };
        let to = row(self.plain.0.len());
        self.plain.0.push(self.extra.0.swap_remove(at as usize));
        self.plain.1.push(self.extra.1.swap_remove(at as usize));
        let extra = self.extra.2.swap_remove(at as usize);
        if let Some(&moved) = self.extra.0.get(at as usize) {
            self.slots.set(moved, [1, at]);
        }
        self.slots.set(id.index, [0, to]);
        Some(extra)
    }
}

/// A sparse set by hand.
pub(crate) struct Sparse<T> {
    place: Vec<u32>,
    ids: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self {
            place: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl<T> Sparse<T> {
    pub(crate) fn insert(&mut self, index: u32, value: T) {
        let at = index as usize;
        if at >= self.place.len() {
            self.place.resize(at + 1, u32::MAX);
        }
        self.place[at] = row(self.ids.len());
        self.ids.push(index);
        self.values.push(value);
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let at = std::mem::replace(self.place.get_mut(index as usize)?, u32::MAX);
        if at == u32::MAX {
            return None;
        }
        self.ids.swap_remove(at as usize);
        let value = self.values.swap_remove(at as usize);
        if let Some(&moved) = self.ids.get(at as usize) {
            self.place[moved as usize] = at;
        }
        Some(value)
    }
}
