//! Runs a case of a few threads under loom, in every order in which their steps can interleave. The cases stand beside
//! the code they check, in `models`; all are run with
//!
//! ```text
//! RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --lib --profile models models -- --nocapture
//! ```
//!
//! They check the crate's own code: the names in `base::lock` mean loom's types here. What a case notes for itself in one
//! thread and reads in another is of those types as well: loom leaves out orders that differ in nothing it sees.
//!
//! A bound on preemptions keeps the larger cases short: of the orders in which running threads are interrupted more
//! often than that, none is tried. `MORE_PREEMPTIONS` in the environment is added to the bound of each case that has
//! one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks a case in all orders.
pub(crate) fn check(case: impl Fn() + Send + Sync + 'static) {
    explore(None, case);
}

/// As [`check`], with no more than so many preemptions in each order.
pub(crate) fn check_within(preemptions: usize, case: impl Fn() + Send + Sync + 'static) {
    let more = std::env::var("MORE_PREEMPTIONS").map_or(0, |more| more.parse().unwrap());
    explore(Some(preemptions + more), case);
}

fn explore(preemptions: Option<usize>, case: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    let (case, orders) = (Arc::new(case), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&orders);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let case = Arc::clone(&case);
        spawn(move || case()).join().unwrap();
    });
    let bound = preemptions.map_or("any number of".to_owned(), |bound| bound.to_string());
    let test = std::thread::current();
    let (test, orders) = (test.name().unwrap_or("?"), orders.load(Ordering::Relaxed));
    eprintln!("{test}: {orders} orders, with {bound} preemptions");
}

/// A thread of the case. loom's own stacks are too small for a container.
pub(crate) fn spawn<T: Send + 'static>(
    code: impl FnOnce() -> T + Send + 'static,
) -> loom::thread::JoinHandle<T> {
    let builder = loom::thread::Builder::new().stack_size(1 << 20);
    builder.spawn(code).unwrap()
}
