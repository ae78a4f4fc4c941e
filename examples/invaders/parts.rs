//! What the game is made of: components, resources and events.

use ecs::{Component, Value};
use serde::Serialize;

/// The size of the field, in characters.
pub(crate) const WIDTH: i32 = 64;
pub(crate) const HEIGHT: i32 = 24;
/// The row of the cannon. An invader that comes so low has won.
pub(crate) const CANNON_ROW: i32 = HEIGHT - 2;

/// The middle of what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Position {
    pub(crate) y: i32,
    pub(crate) x: i32,
}

/// What falls or rises. Numbers tell the ones of a kind apart.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Flight {
    pub(crate) missile: Missile,
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Missile {
    Shot,
    Bomb,
}

impl Missile {
    pub(crate) fn step(self) -> i32 {
        match self {
            Missile::Shot => -1,
            Missile::Bomb => 1,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Invader {
    pub(crate) points: u32,
}

/// Which of its two pictures an invader shows.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Pose(pub(crate) bool);

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cannon {
    pub(crate) lives: u32,
    /// Passes until it can fire again.
    pub(crate) reload: u32,
    pub(crate) fired: u32,
}

/// A stone in front of the cannon, and how many hits it still takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Stone(pub(crate) u32);

/// How many bombs fell on each column of the ground.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ground(pub(crate) Vec<u32>);

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Star {
    /// Counts down; it is bright at zero.
    pub(crate) phase: u32,
}

macro_rules! components {
    ($($component:ident),*) => {$(
        impl Component for $component {
            fn type_name() -> &'static str {
                stringify!($component)
            }

            fn export(&self) -> Value {
                // Numbers and structs of them can always be written.
                serde_json::to_value(self).unwrap_or_default()
            }
        }
    )*};
}

components!(Position, Flight, Invader, Pose, Cannon, Stone, Ground, Star);

/// How the rows of invaders move.
#[derive(Debug)]
pub(crate) struct March {
    pub(crate) direction: i32,
    /// Passes until the next step.
    pub(crate) wait: u32,
    /// The step of this pass, across and down.
    pub(crate) step: (i32, i32),
}

/// What the gunner wants.
#[derive(Debug)]
pub(crate) struct Aim {
    pub(crate) step: i32,
    pub(crate) fire: bool,
    pub(crate) dice: Dice,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub(crate) hits: u32,
    pub(crate) points: u32,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Saved,
    CannonLost,
    Landed,
}

/// An invader was hit.
pub(crate) struct Hit {
    pub(crate) points: u32,
}

/// A bomb has come down.
pub(crate) struct Landed {
    pub(crate) column: i32,
    pub(crate) on: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Ground,
    Cannon,
    Stone,
}

/// Numbers that are the same on each run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // Less than `sides`.
        u32::try_from(((self.0 >> 32) * u64::from(sides)) >> 32).unwrap_or(0)
    }
}
