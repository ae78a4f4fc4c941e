//! Components.

use ecs::{Component, Storage, Value, json};
use serde::{Deserialize, Serialize};

pub(crate) use super::parts::{Id, Slots, Vector, row, shuffle, small, whole};

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
