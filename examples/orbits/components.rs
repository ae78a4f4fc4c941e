//! What bodies and calendars are made of. All of it is exported and can be read back.

use ecs::{Component, ComponentRegistry, Value};
use serde::{Deserialize, Serialize};

use crate::{revolution::Revolution, trail::Trail, vector::Vector};

/// Where a body is, relative to the system's centre of mass, in astronomical units.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Position(pub(crate) Vector);

/// How a body moves, in astronomical units per day.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Velocity(pub(crate) Vector);

/// Mass times the constant of gravitation, in au³ per day².
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Mass(pub(crate) f64);

/// What the almanac has heard of a planet: its completed orbits, and the day on which the last one was.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Years {
    pub(crate) orbits: u32,
    pub(crate) last_day: f64,
}

macro_rules! component {
    ($($component:ty: $name:literal),* $(,)?) => {
        $(
        impl Component for $component {
            fn type_name() -> &'static str {
                $name
            }

            fn export(&self) -> Value {
                // Numbers, arrays and structs of them can always be written.
                serde_json::to_value(self).unwrap_or_default()
            }
        }
    )*

        /// What an import needs to know.
        pub(crate) fn registry() -> ComponentRegistry {
            ComponentRegistry::new()$(.with::<$component>())*
        }
    };
}

component! {
    Position: "Position",
    Velocity: "Velocity",
    Mass: "Mass",
    Revolution: "Revolution",
    Trail: "Trail",
    Years: "Years",
}
