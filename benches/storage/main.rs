//! Storage beside loops by hand over plain vectors that do the same work (with a slot map where one is needed).
//!
//! This has its own timing instead of `divan`'s, because only ratios within one run decide on a machine that others
//! use too: both sides of a workload run in turns, many times, each with the same preparation outside of the timed
//! part, and must leave the same behind. Time is the thread's own (on Linux), so that a core taken away by another
//! process does not count; caches that it takes away still do. One table is printed; the columns are medians of
//! nanoseconds per item, the ratio is the median of the rounds' ratios.
//!
//! ```text
//! cargo bench --bench storage                   everything
//! cargo bench --bench storage -- spawn get      workloads whose names contain one of these
//! BENCH_MILLIS=2000 cargo bench --bench storage longer than half a second for each workload
//! ```
//!
//! Without `--bench` (under `cargo test --benches`) each workload runs three times, to see that both sides agree.
//! Otherwise the allocator is told to keep its pages, or half of a row would be page faults; the rows for cold pages
//! run in a process of their own that gives freed memory back to the system at once. (Both with glibc only.)

mod access;
mod data;
mod exchange;
#[path = "../harness/mod.rs"]
mod harness;
mod iterate;
mod memory;
#[path = "../harness/parts.rs"]
mod parts;
mod structure;

use std::process::{Command, ExitCode};
use std::time::Duration;

use harness::Table;

/// glibc then takes every larger block from the system, and gives it back on release.
const COLD: [(&str, &str); 1] = [("MALLOC_MMAP_THRESHOLD_", "65536")];
/// glibc then keeps what it has.
const WARM: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TRIM_THRESHOLD_", "4294967296"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let measured = arguments.iter().any(|argument| argument == "--bench");
    let filters = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"));
    let millis = std::env::var("BENCH_MILLIS").ok();
    let millis = millis.and_then(|text| text.parse().ok()).unwrap_or(500);
    let budget = Duration::from_millis(if measured { millis } else { 0 });
    let table = Table::new(filters.cloned().collect(), budget);
    let is = |mode: &str| arguments.iter().any(|argument| argument == mode);
    if is("--cold") {
        structure::batch(&table, "cold pages", false);
        return ExitCode::SUCCESS;
    }
    if measured && !is("--warm") {
        Table::head();
        let done = again(&arguments, "--warm", &WARM) && again(&arguments, "--cold", &COLD);
        return if done {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    structure::run(&table);
    access::run(&table);
    iterate::run(&table);
    exchange::run(&table);
    memory::run(&table);
    ExitCode::SUCCESS
}

/// Runs the program again in another mode, with the allocator set up from its environment.
fn again(arguments: &[String], mode: &str, allocator: &[(&str, &str)]) -> bool {
    let Ok(program) = std::env::current_exe() else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(mode);
    command.envs(allocator.iter().copied());
    command.status().is_ok_and(|status| status.success())
}
