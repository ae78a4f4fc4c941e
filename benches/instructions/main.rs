//! The hot paths, one at a time, for an instruction counter: what a path costs does not depend on how busy the machine
//! is, so a loss shows in any run.
//!
//! ```text
//! .ci/instructions              counts every path under callgrind, compares with benches/instructions/baseline.txt
//! .ci/instructions pass spawn   only paths whose names contain one of these
//! .ci/instructions --write      keeps what is counted as the new baseline
//! ```
//!
//! Called by itself it runs every path once and checks what it did; `--list` prints the names and how many items each
//! works on, and a name runs that one. Only what happens inside [`measured`] is counted, and only instructions of this
//! program: the C library's copies and allocations differ from one processor to the next.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sums of small whole numbers"
)]

mod commands;
mod events;
mod iterate;
mod messages;
mod observe;
mod runtime;
mod structure;

use std::hint::black_box;
use std::process::ExitCode;

/// A path: it prepares, calls [`measured`] once, checks, and tells the number of items.
struct Path {
    name: &'static str,
    items: usize,
    run: fn(usize),
}

const fn path(name: &'static str, items: usize, run: fn(usize)) -> Path {
    Path { name, items, run }
}

/// The part that counts. The counter goes by this function's name.
#[inline(never)]
fn measured<R>(work: impl FnOnce() -> R) -> R {
    black_box(work())
}

fn main() -> ExitCode {
    let paths = || {
        [
            structure::PATHS,
            commands::PATHS,
            observe::PATHS,
            iterate::PATHS,
            runtime::PATHS,
            messages::PATHS,
            events::PATHS,
        ]
        .into_iter()
        .flatten()
    };
    // `cargo bench` and `cargo test` hand over options of their own.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    if arguments.iter().any(|argument| argument == "--list") {
        paths().for_each(|path| println!("{} {}", path.name, path.items));
        return ExitCode::SUCCESS;
    }
    let mut ran = 0;
    for path in paths().filter(|path| wanted.is_none_or(|name| name == path.name)) {
        (path.run)(path.items);
        ran += 1;
    }
    if ran == 0 {
        eprintln!("no path of this name; --list prints them");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
