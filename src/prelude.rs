//! What most programs use: `use ecs::prelude::*;`.

pub use crate::{
    Added, Bundle, Changed, Component, ComponentRegistry, Data, Entity, Mut, Named, Or, Prepared,
    Query, TypeName, Value, With, Without, World, json,
};
