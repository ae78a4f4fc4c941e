//! Runs a case of many threads under shuttle, in as many orders of their steps as are asked for: drawn at random, and
//! with priorities that change at a few places only (probabilistic concurrency testing), which finds what takes a
//! certain few switches. A schedule in which nobody can go on is a deadlock, and fails. The cases are run with
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test --lib --profile models crowds -- --nocapture
//! ```
//!
//! `SCHEDULES` in the environment is how many of each sort, `SEED` where they begin. As under loom the names in
//! `base::lock` mean the checker's types, and time stands still; all atomics count as sequentially consistent, so weaker
//! orderings are loom's business.

use std::env::var;
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

/// How many schedules of each sort, unless told otherwise.
const SCHEDULES: usize = 1_000;
/// How many changes of priority find what there is to find, as far as one can know.
const CHANGES: usize = 5;

pub(crate) fn check(case: impl Fn() + Send + Sync + 'static) {
    let number = |name| var(name).ok().and_then(|text| text.parse().ok());
    let schedules = number("SCHEDULES").unwrap_or(SCHEDULES);
    let seed = number("SEED").unwrap_or(1) as u64;
    let case = Arc::new(case);
    let random = explore(RandomScheduler::new_from_seed(seed, schedules), &case);
    let scheduler = PctScheduler::new_from_seed(seed, CHANGES, schedules);
    let by_priority = explore(scheduler, &case);
    let test = std::thread::current();
    let test = test.name().unwrap_or("?");
    eprintln!("{test}: {random} random schedules, {by_priority} by priority");
}

fn explore<F: Fn() + Send + Sync + 'static>(
    scheduler: impl Scheduler + 'static,
    case: &Arc<F>,
) -> usize {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    // Who waits for another by looking again and again is unfair schedules' prey: far more than a case takes.
    config.max_steps = MaxSteps::FailAfter(1_000_000);
    config.silence_warnings = true;
    // A schedule fills pages; the seed repeats it.
    config.failure_persistence = FailurePersistence::None;
    let case = Arc::clone(case);
    Runner::new(scheduler, config).run(move || case())
}
