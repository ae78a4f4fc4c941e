//! This library beside its peers, on the same work and in the same process. See the README of this folder.

mod access;
mod arguments;
mod batch;
mod bench;
mod change;
mod data;
mod events;
mod flecs;
mod fragmented;
#[path = "../../harness/mod.rs"]
mod harness;
mod memory;
mod mixed;
mod moves;
mod parallel;
#[path = "../../harness/parts.rs"]
mod parts;
mod passes;
mod schedule;
mod simple;
mod spawn;
mod tracked;
mod wide;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

pub use arguments::Arguments;
pub use bench::{Bench, Engine};
pub use flecs::calls as flecs_calls;

/// All that is timed with memory that the process keeps.
pub fn times(arguments: &Arguments) -> Bench {
    let mut bench = Bench::new(arguments.table());
    spawn::run(&mut bench);
    batch::run(&mut bench);
    change::run(&mut bench);
    moves::run(&mut bench);
    simple::run(&mut bench);
    wide::run(&mut bench);
    fragmented::run(&mut bench);
    mixed::run(&mut bench);
    access::run(&mut bench);
    tracked::run(&mut bench);
    schedule::run(&mut bench);
    passes::run(&mut bench);
    events::run(&mut bench);
    parallel::run(&mut bench);
    bench
}

/// What is timed with memory that comes from the system each time.
pub fn cold_times(arguments: &Arguments) -> Bench {
    let mut bench = Bench::new(arguments.table());
    batch::batches(&mut bench, "cold pages", false);
    bench
}

/// What is counted: allocations by item of the workloads that can need some, and memory. `calls` stands for as many
/// nanoseconds.
pub fn counts(arguments: &Arguments, calls: fn() -> Duration) -> Bench {
    let mut bench = Bench::counting(arguments.table(), calls);
    memory::run(&mut bench);
    spawn::run(&mut bench);
    batch::run(&mut bench);
    change::run(&mut bench);
    moves::run(&mut bench);
    schedule::run(&mut bench);
    passes::run(&mut bench);
    events::run(&mut bench);
    bench
}

/// Writes what a program found, if it was told where.
///
/// # Errors
/// Those of the file, in words.
pub fn write(file: Option<&Path>, value: &Value) -> Result<(), String> {
    let Some(file) = file else { return Ok(()) };
    let text = format!("{value:#}\n");
    std::fs::write(file, text).map_err(|wrong| format!("{}: {wrong}", file.display()))
}
