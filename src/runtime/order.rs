//! The order of the systems: slot numbers in registration order, with tombstones.
//!
//! ```text
//!   position   0    1    2    3    4  |  5    6       a pass captures its end when it begins: what is registered
//!   slot       4    0    †    2    7  |  3    9       meanwhile lies behind it
//! ```
//!
//! Nothing moves while a pass walks the vector: removing leaves a tombstone, a replacement takes over its position.
//! Tombstones leave when the order is settled, outside a pass: all of them when the next one begins, and before that
//! whenever they are the greater part, so that a thousand removals do not each move a thousand systems.

use std::ops::Range;

/// Takes the place of a slot that was removed. No slot has this number.
const TOMBSTONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Order {
    slots: Vec<u32>,
    tombstones: usize,
    /// How many of the first positions hold the slot of their own number.
    straight: usize,
    /// Counts the changes, for who keeps what follows from the order.
    version: u64,
}

impl Order {
    /// The number of positions, tombstones included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot at a position. At a tombstone it is a number beyond every storage.
    #[inline]
    pub(crate) fn slot(&self, position: usize) -> usize {
        if position < self.slots.len() {
            self.slots[position] as usize
        } else {
            usize::MAX
        }
    }

    /// How many of the first positions hold the slot of their own number: all, until a system is removed or replaced.
    /// Whoever has asked may go by it for the rest of a pass: what is taken from a position meanwhile waits in its slot
    /// for its release.
    #[inline]
    pub(crate) fn straight(&self) -> usize {
        self.straight
    }

    /// Finds out again how far the slots are those of the positions' numbers; as far as it was they still are.
    fn straighten(&mut self) {
        let further = self.slots.iter().enumerate().skip(self.straight);
        let same = further.take_while(|&(position, &slot)| position == slot as usize);
        self.straight += same.count();
    }

    /// The slots at these positions, as far as there are such; tombstones are numbers beyond every storage.
    pub(crate) fn range(&self, positions: Range<usize>) -> &[u32] {
        self.slots.get(positions).unwrap_or_default()
    }

    /// Another number after every change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Something has changed that decides which systems may overlap.
    pub(crate) fn touch(&mut self) {
        self.version += 1;
    }

    /// Another order of the same slots; there are no tombstones then.
    pub(crate) fn rearrange(&mut self, slots: impl Iterator<Item = u32>) {
        self.version += 1;
        self.tombstones = 0;
        self.slots.clear();
        self.slots.extend(slots);
        self.straight = 0;
        self.straighten();
    }

    /// Appends a slot and returns its position.
    pub(crate) fn push(&mut self, slot: u32) -> u32 {
        self.version += 1;
        self.slots.push(slot);
        self.straighten();
        // Slots are distinct 32-bit numbers and tombstones leave before the next pass.
        u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
    }

    /// Another slot takes over a position.
    pub(crate) fn replace(&mut self, position: u32, slot: u32) {
        self.version += 1;
        if let Some(place) = self.slots.get_mut(position as usize) {
            *place = slot;
        }
        self.straight = self.straight.min(position as usize);
    }

    /// Leaves a tombstone.
    pub(crate) fn remove(&mut self, position: u32) {
        self.replace(position, TOMBSTONE);
        self.tombstones += 1;
    }

    #[inline]
    pub(crate) fn has_tombstones(&self) -> bool {
        self.tombstones != 0
    }

    /// The slots in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + Clone {
        self.slots
            .iter()
            .filter(|slot| **slot != TOMBSTONE)
            .map(|&slot| slot as usize)
    }

    /// Takes the tombstones out when they are more than the rest, so that each removal pays for one step of it.
    pub(crate) fn settle_some(&mut self, moved: impl FnMut(usize, u32)) {
        if self.tombstones > self.slots.len() / 2 {
            self.settle(moved);
        }
    }

    /// Takes the tombstones out and tells each slot that moved its new position.
    pub(crate) fn settle(&mut self, mut moved: impl FnMut(usize, u32)) {
        if self.tombstones == 0 {
            return;
        }
        self.tombstones = 0;
        self.version += 1;
        let mut position = 0;
        self.slots.retain(|&slot| {
            let stays = slot != TOMBSTONE;
            if stays {
                moved(slot as usize, position);
                position += 1;
            }
            stays
        });
        self.straighten();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settles the order; gives the slots that were told a position, with it.
    fn settled(order: &mut Order) -> Vec<(usize, u32)> {
        let mut moved = Vec::new();
        order.settle(|slot, position| moved.push((slot, position)));
        moved
    }

    #[test]
    fn tombstones_leave_and_the_rest_moves_up() {
        let mut order = Order::default();
        let positions: Vec<u32> = [4, 0, 7, 2, 9].map(|slot| order.push(slot)).into();
        assert_eq!(positions, [0, 1, 2, 3, 4]);
        assert_eq!(settled(&mut order), [], "nothing has moved");
        order.remove(1);
        order.replace(2, 5);
        order.remove(4);
        assert_eq!(order.len(), 5, "nothing moves while a pass walks");
        assert_eq!((order.slot(2), order.slot(5)), (5, usize::MAX));
        assert!(order.iter().eq([4, 5, 2]));
        assert_eq!(settled(&mut order), [(4, 0), (5, 1), (2, 2)]);
        assert_eq!(order.len(), 3);
        assert_eq!([0, 1, 2].map(|at| order.slot(at)), [4, 5, 2]);
        assert_eq!(settled(&mut order), []);
        assert_eq!(order.push(1), 3);
    }

    #[test]
    fn an_order_is_straight_up_to_the_first_slot_of_another_number() {
        let mut order = Order::default();
        assert_eq!(order.straight(), 0);
        for (slot, straight) in [(0, 1), (1, 2), (3, 2), (2, 2), (4, 3)] {
            order.push(slot);
            if slot == 4 {
                order.rearrange([0, 1, 2, 4, 3].into_iter());
            }
            assert_eq!(order.straight(), straight);
        }
        order.replace(4, 9);
        assert_eq!(order.straight(), 3, "that stood behind");
        order.replace(3, 3);
        assert_eq!(order.straight(), 3, "not looked for while a pass may walk");
        order.remove(1);
        assert_eq!(order.straight(), 1);
        settled(&mut order);
        assert_eq!(order.straight(), 1, "the third moved up");
        order.rearrange([0, 1, 2].into_iter());
        assert_eq!(order.straight(), 3);
    }

    #[test]
    fn every_change_makes_another_version() {
        let mut order = Order::default();
        let mut seen = vec![order.version()];
        let changes: [fn(&mut Order); 6] = [
            |order| _ = order.push(3),
            |order| _ = order.push(4),
            |order| order.replace(0, 5),
            |order| order.remove(1),
            |order| order.settle(|_, _| {}),
            |order| order.rearrange([7, 8].into_iter()),
        ];
        for change in changes {
            change(&mut order);
            assert!(!seen.contains(&order.version()));
            seen.push(order.version());
        }
        order.settle(|_, _| {});
        assert_eq!(seen.last(), Some(&order.version()), "nothing has changed");
        assert!(!order.has_tombstones());
        order.remove(0);
        assert!(order.has_tombstones());
        order.settle(|_, _| {});
        assert!(!order.has_tombstones());
    }

    #[test]
    fn tombstones_wait_until_they_are_more_than_the_rest() {
        let mut order = Order::default();
        for slot in 0..4 {
            order.push(slot);
        }
        for (removed, left) in [(0, 4), (2, 4), (1, 1)] {
            order.remove(removed);
            order.settle_some(|_, _| {});
            assert_eq!(order.len(), left);
        }
        assert!(order.iter().eq([3]));
    }
}
