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
//! The rows for cold pages run in a process of their own that gives freed memory back to the system at once.

mod access;
mod data;
mod exchange;
mod harness;
mod iterate;
mod memory;
mod structure;

use std::process::{Command, ExitCode};
use std::time::Duration;

use harness::Table;

/// glibc then takes every larger block from the system, and gives it back on release.
const COLD: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "65536");

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
    if arguments.iter().any(|argument| argument == "--cold") {
        structure::batch(&table, "cold pages", false);
        return ExitCode::SUCCESS;
    }
    Table::head();
    structure::run(&table);
    if measured
        && (table.wants("spawn batch 100k, cold pages")
            || table.wants("spawn columns 100k, cold pages"))
        && !run_cold(&arguments)
    {
        eprintln!("the rows for cold pages are missing: the process for them failed");
        return ExitCode::FAILURE;
    }
    access::run(&table);
    iterate::run(&table);
    exchange::run(&table);
    memory::run(&table);
    ExitCode::SUCCESS
}

fn run_cold(arguments: &[String]) -> bool {
    let Ok(program) = std::env::current_exe() else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(arguments).arg("--cold").env(COLD.0, COLD.1);
    command.status().is_ok_and(|status| status.success())
}
