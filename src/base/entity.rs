//! Entity ids.
//!
//! An id is 8 bytes: a slot's index and a *generation word* that the slot must still hold.
//!
//! ```text
//! index       u32   which slot
//! generation  u32   bits 31..20  world tag   1 ..= 4095, differs between worlds that live together
//!                   bits 19..0   count       1 ..= 2^20 - 1, one more each time the slot is used again
//! ```
//!
//! The tag makes an id of one world meaningless in another: the slot there holds another word. A world gives its
//! tag back when it ends, together with the highest count that it handed out, and the next holder of the tag
//! counts on from there; so no id is ever issued twice in a process, whichever world it came from. Only when all
//! tags are taken (4,095 worlds alive at once, or tags worn out) worlds share the last tag, and then tell ids
//! apart by index and count alone.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Bits of the count within a generation word.
const COUNT_BITS: u32 = 20;
/// The highest count; a slot that reached it is retired when its entity goes.
pub(crate) const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
const TAGS: u32 = 1 << (32 - COUNT_BITS);
/// The tag that worlds share when no other is left.
const SHARED_TAG: u32 = TAGS - 1;

/// The id of an entity: small, `Copy`, meaningful in the world that issued it and nowhere else.
///
/// An id never comes back: once its entity is despawned every look-up with it answers `None`, however often the
/// slot behind it is used again. `Option<Entity>` is as small as `Entity`, 8 bytes.
///
/// Ids order by slot, then by age. They serialise as one number, so that a component can export the entities it
/// refers to; see [`Component::entity_fields`](crate::Component::entity_fields).
///
/// ```
/// let mut world = ecs::World::new();
/// let entity = world.spawn(());
/// assert!(world.contains(entity));
/// world.despawn(entity);
/// assert!(!world.contains(entity));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entity {
    index: u32,
    generation: NonZeroU32,
}

impl Entity {
    /// An id from its parts; `None` when the generation word is not one that a slot can hold.
    #[inline]
    pub(crate) fn from_parts(index: u32, generation: u32) -> Option<Self> {
        NonZeroU32::new(generation).map(|generation| Self { index, generation })
    }

    /// The id that a slot has under a generation word.
    #[inline]
    pub(crate) fn of_slot(index: u32, generation: NonZeroU32) -> Self {
        Self { index, generation }
    }

    /// The slot of this id: dense from 0, so that it can index a side table. Slots are used again.
    #[inline]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// The generation word: world tag and count.
    #[inline]
    pub(crate) const fn generation(self) -> u32 {
        self.generation.get()
    }

    /// The whole id as a number.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        ((self.generation.get() as u64) << 32) | self.index as u64
    }

    /// The id that [`to_bits`](Self::to_bits) gave; `None` for a number that is no id of any world.
    ///
    /// A number made up by hand may be well formed; look-ups with it are `None` like those of a stale id.
    #[inline]
    pub fn from_bits(bits: u64) -> Option<Self> {
        let generation = u32::try_from(bits >> 32).ok()?;
        let index = u32::try_from(bits & u64::from(u32::MAX)).ok()?;
        if generation >> COUNT_BITS == 0 || generation & MAX_COUNT == 0 {
            return None;
        }
        Self::from_parts(index, generation)
    }
}

impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.generation.get();
        write!(
            f,
            "Entity({}v{}w{})",
            self.index,
            word & MAX_COUNT,
            word >> COUNT_BITS
        )
    }
}

impl Serialize for Entity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.to_bits())
    }
}

impl<'de> Deserialize<'de> for Entity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bits = u64::deserialize(deserializer)?;
        Self::from_bits(bits).ok_or_else(|| D::Error::custom("not an entity id"))
    }
}

/// One word for each tag: bit 31 while a world holds it, below it the count that its next holder starts from
/// (0: never held, start from 1).
static TAG_TABLE: [AtomicU32; TAGS as usize] = [const { AtomicU32::new(0) }; TAGS as usize];
static NEXT_TAG: AtomicU32 = AtomicU32::new(1);
const HELD: u32 = 1 << 31;

/// Whether the next world may take the tag of this word. One that is held is beyond every count; one with hardly any
/// counts left would retire slots at once.
const fn is_free(word: u32) -> bool {
    word <= MAX_COUNT / 2
}

/// A world's share of the generation words, given back on drop.
#[derive(Debug)]
pub(crate) struct WorldTag {
    tag: u32,
    first: u32,
    /// Of the counts that slots were left at; one below `first` as long as there is none.
    highest: u32,
}

impl WorldTag {
    /// Takes a tag that no living world holds, or the shared one.
    pub(crate) fn acquire() -> Self {
        for _ in 1..SHARED_TAG {
            let tag = NEXT_TAG.fetch_add(1, Ordering::Relaxed) % SHARED_TAG;
            if tag == 0 {
                continue;
            }
            let word = &TAG_TABLE[tag as usize];
            let seen = word.load(Ordering::Relaxed);
            if !is_free(seen) {
                continue;
            }
            if word
                .compare_exchange(seen, seen | HELD, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                let first = seen.max(1);
                return Self {
                    tag,
                    first,
                    highest: first - 1,
                };
            }
        }
        Self {
            tag: SHARED_TAG,
            first: 1,
            highest: 0,
        }
    }

    /// The generation word of a slot never used before in this world.
    #[inline]
    pub(crate) fn first_word(&self) -> u32 {
        (self.tag << COUNT_BITS) | self.first
    }

    /// Remembers that a slot was left at `word`, and gives the slot's next word; `None` when it is worn out.
    #[inline]
    pub(crate) fn successor(&mut self, word: u32) -> Option<u32> {
        let count = word & MAX_COUNT;
        self.highest = self.highest.max(count);
        (count < MAX_COUNT).then(|| word + 1)
    }
}

impl Drop for WorldTag {
    fn drop(&mut self) {
        if self.tag != SHARED_TAG {
            // A living entity may hold one count more than was ever given back.
            TAG_TABLE[self.tag as usize].store(self.highest + 2, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a tag back, and asserts from which count its next holder starts.
    #[track_caller]
    fn comes_back_at(tag: WorldTag, count: u32) {
        let number = tag.tag as usize;
        drop(tag);
        let stored = TAG_TABLE[number].load(Ordering::Relaxed);
        assert!(
            stored == count || stored & HELD != 0,
            "{stored}, neither {count} nor held by another test"
        );
    }

    #[test]
    fn a_tag_that_comes_back_counts_on() {
        let mut tag = WorldTag::acquire();
        let (word, first) = (tag.first_word(), tag.first);
        let next = tag.successor(word).expect("a fresh word has a successor");
        assert_eq!(next, word + 1);
        // A living entity may hold `next`.
        comes_back_at(tag, first + 2);
        let unused = WorldTag::acquire();
        let first = unused.first;
        comes_back_at(unused, first + 1);
    }

    #[test]
    fn a_tag_that_is_held_or_worn_is_not_taken() {
        assert!([0, 1, MAX_COUNT / 2].map(is_free) == [true; 3]);
        let worn = [MAX_COUNT / 2 + 1, MAX_COUNT, MAX_COUNT + 1];
        assert!(worn.map(is_free) == [false; 3]);
        assert!([HELD, HELD | 1, HELD | worn[0]].map(is_free) == [false; 3]);
        let tag = WorldTag::acquire();
        assert!(!is_free(
            TAG_TABLE[tag.tag as usize].load(Ordering::Relaxed)
        ));
    }

    #[test]
    fn the_shared_tag_is_the_last_that_fits_a_word() {
        let shared = WorldTag {
            tag: SHARED_TAG,
            first: 1,
            highest: 0,
        };
        let word = shared.first_word();
        assert_eq!((word >> COUNT_BITS, word & MAX_COUNT), (SHARED_TAG, 1));
        assert_eq!(SHARED_TAG, u32::MAX >> COUNT_BITS);
        // It is nobody's, so nobody gives it back.
        drop(shared);
        let stored = TAG_TABLE[SHARED_TAG as usize].load(Ordering::Relaxed);
        assert_eq!(stored, 0);
    }

    #[test]
    fn a_worn_out_word_has_no_successor() {
        let mut tag = WorldTag::acquire();
        let last = (tag.first_word() & !MAX_COUNT) | MAX_COUNT;
        assert_eq!(tag.successor(last), None);
    }

    #[test]
    fn numbers_that_are_no_ids_are_refused() {
        for bits in [
            0,
            1,
            u64::from(u32::MAX),
            1 << 32,
            u64::from(MAX_COUNT) << 32,
            1 << 52,
        ] {
            assert_eq!(Entity::from_bits(bits), None, "{bits:#x}");
        }
        assert!(Entity::from_bits((1 << 52) | (1 << 32)).is_some());
    }
}
