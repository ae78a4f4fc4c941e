//! Every way to end a container or a manager, from every place a call can come from, in every state.
//!
//! `scene` makes a container in a state, and settles it afterwards: whatever was done, each system that was started is
//! shut down once, each is dropped once, and no thread is left. `place` makes user code of a container call something.

#[path = "../common/mod.rs"]
mod common;

mod others;
mod own;
mod place;
mod scene;
mod together;
