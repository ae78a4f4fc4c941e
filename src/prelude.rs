//! What most programs use: `use ecs::prelude::*;`.

pub use crate::{
    Added, Bundle, Changed, Clock, Commands, CommitPoint, Component, ComponentRegistry, Container,
    Context, Data, Entity, EventWriter, Events, Manager, ManualClock, Matches, Mut, Named, Or, Own,
    OwnedContainer, Prepared, Query, Register, Res, ResMut, System, SystemResult, Timer, TypeName,
    Value, With, Without, Workers, World, json, parallel, system,
};
