//! The components, the same for all engines, and what they are filled with.

use crate::parts::{Vector, small};

/// Declares plain components for all engines: untracked where an engine tracks only what it is told to.
macro_rules! components {
    ($($name:ident($inner:ty), $storage:ident, $bevy:literal, $tracking:ident;)*) => {$(
        #[derive(Clone, Copy, Default, PartialEq, Debug)]
        #[derive(bevy_ecs::component::Component, flecs_ecs::macros::Component)]
        #[component(storage = $bevy)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) $inner);

        impl ecs::Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn export(&self) -> ecs::Value {
                ecs::json!(self.0)
            }

            fn storage() -> ecs::Storage {
                ecs::Storage::$storage
            }
        }

        impl shipyard::Component for $name {
            type Tracking = shipyard::track::$tracking;
        }
    )*};
}

components! {
    Position(Vector), Table, "Table", Untracked;
    Velocity(Vector), Table, "Table", Untracked;
    Rotation(Vector), Table, "Table", Untracked;
    Matrix([[f32; 4]; 4]), Table, "Table", Untracked;
    Load(f32), Table, "Table", Untracked;
    Watched(f32), Table, "Table", Modification;
    Extra(Vector), Table, "Table", Untracked;
    Fleeting(Vector), Sparse, "SparseSet", Untracked;
    A(f32), Table, "Table", Untracked;
    B(f32), Table, "Table", Untracked;
    C(f32), Table, "Table", Untracked;
    D(f32), Table, "Table", Untracked;
    E(f32), Table, "Table", Untracked;
}

/// Kinds that are all alike, each with the place of its column.
macro_rules! parts {
    ($($name:ident)*) => {
        components! { $($name(Vector), Table, "Table", Untracked;)* }
    };
}

parts! {
    P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20 P21 P22 P23 P24 P25
}

/// A sum that is the same whatever order the values come in.
pub(crate) fn bits(vector: &Vector) -> u64 {
    [vector.x, vector.y, vector.z]
        .iter()
        .map(|value| u64::from(value.to_bits()))
        .sum()
}

/// Position and velocity of the entity of this number.
#[inline]
pub(crate) fn moving(turn: usize) -> (Position, Velocity) {
    (Position(Vector::of(turn)), Velocity(Vector::of(1)))
}

/// [`moving`] as columns.
pub(crate) fn columns(count: usize) -> (Vec<Position>, Vec<Velocity>) {
    (0..count).map(moving).unzip()
}

/// Four kinds, 100 bytes.
#[inline]
pub(crate) fn large(turn: usize) -> (Matrix, Position, Rotation, Velocity) {
    let vector = Vector::of(turn);
    (
        Matrix([[small(turn); 4]; 4]),
        Position(vector),
        Rotation(vector),
        Velocity(vector),
    )
}
