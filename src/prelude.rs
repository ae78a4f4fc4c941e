//! What most programs use: `use ecs::prelude::*;`.

pub use crate::{
    Added, Bundle, Changed, Clock, Commands, CommitPoint, Component, ComponentRegistry, Container,
    Context, Data, Entity, Manager, ManualClock, Mut, Named, Or, OwnedContainer, Prepared, Query,
    Register, System, SystemResult, Timer, TypeName, Value, With, Without, World, json, system,
};
