//! Components, and the parts that the loops by hand are made of.

use ecs::{Component, Storage, Value, json};
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

macro_rules! components {
    ($($name:ident($inner:ty), $text:literal, $storage:ident;)*) => {$(
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) $inner);

        impl Component for $name {
            fn type_name() -> &'static str {
                $text
            }

            fn export(&self) -> Value {
                json!(self.0)
            }

            fn storage() -> Storage {
                Storage::$storage
            }
        }
    )*};
}

components! {
    Position(Vector), "PositionComponent", Table;
    Velocity(Vector), "VelocityComponent", Table;
    Rotation(Vector), "RotationComponent", Table;
    Matrix([[f32; 4]; 4]), "MatrixComponent", Table;
    Load(f32), "LoadComponent", Table;
    Extra(Vector), "ExtraComponent", Table;
    Fleeting(Vector), "FleetingComponent", Sparse;
}

/// One of several kinds alike.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Part<const N: usize>(pub(crate) Vector);

const PART_NAMES: [&str; 32] = [
    "Part00", "Part01", "Part02", "Part03", "Part04", "Part05", "Part06", "Part07", "Part08",
    "Part09", "Part10", "Part11", "Part12", "Part13", "Part14", "Part15", "Part16", "Part17",
    "Part18", "Part19", "Part20", "Part21", "Part22", "Part23", "Part24", "Part25", "Part26",
    "Part27", "Part28", "Part29", "Part30", "Part31",
];

impl<const N: usize> Component for Part<N> {
    fn type_name() -> &'static str {
        PART_NAMES[N]
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

/// Two floats, 8 bytes, for export and import.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

/// See [`Pair`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Place(pub(crate) Pair);

/// See [`Pair`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Speed(pub(crate) Pair);

impl Component for Place {
    fn type_name() -> &'static str {
        "PlaceComponent"
    }

    fn export(&self) -> Value {
        json!({ "x": self.0.x, "y": self.0.y })
    }
}

impl Component for Speed {
    fn type_name() -> &'static str {
        "SpeedComponent"
    }

    fn export(&self) -> Value {
        json!({ "x": self.0.x, "y": self.0.y })
    }
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
