//! Model checks of containers, as they are: claims, passes, stops, threads, deferred functions. `base::model` says how to
//! run them; each file lists the faults that its cases were seen to catch.

mod deferred;
mod stop;
mod thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{Context, OwnedContainer, System, SystemResult};
use crate::base::BoxError;
use crate::base::lock;

/// No order lasts so long: between its passes the container's thread waits for the stop.
const FOR_EVER: Duration = Duration::from_hours(1);

/// What became of a system.
#[derive(Default)]
struct Seen {
    initialized: AtomicUsize,
    updated: AtomicUsize,
    shut: AtomicUsize,
    dropped: AtomicUsize,
}

impl Seen {
    fn shut(&self) -> usize {
        self.shut.load(Ordering::SeqCst)
    }

    fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    fn initialized(&self) -> usize {
        self.initialized.load(Ordering::SeqCst)
    }

    fn updated(&self) -> usize {
        self.updated.load(Ordering::SeqCst)
    }
}

/// A system that notes its calls, with a step of its own in each, at which other threads may come between.
struct Probe {
    seen: Arc<Seen>,
    step: lock::AtomicBool,
}

impl Probe {
    fn new() -> (Self, Arc<Seen>) {
        let seen = Arc::new(Seen::default());
        let probe = Self {
            seen: Arc::clone(&seen),
            step: lock::AtomicBool::new(false),
        };
        (probe, seen)
    }

    fn note(&self, counter: &AtomicUsize) {
        self.step.store(true, Ordering::Relaxed);
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

impl System for Probe {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.note(&self.seen.initialized);
        Ok(())
    }

    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.note(&self.seen.updated);
        Ok(())
    }

    fn shutdown(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.note(&self.seen.shut);
        Ok(())
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.note(&self.seen.dropped);
    }
}

/// A container with one system, which has not been initialised.
fn fresh() -> (OwnedContainer, Arc<Seen>) {
    let container = OwnedContainer::new("main").unwrap();
    container.set_silent();
    let seen = add_probe(&container).unwrap();
    (container, seen)
}

fn add_probe(container: &super::Container) -> Result<Arc<Seen>, BoxError> {
    use super::Register;
    let (probe, seen) = Probe::new();
    container
        .claim()?
        .add_system(probe.named("probe").every_pass())?;
    Ok(seen)
}

/// A container with one system, which has been initialised: there is something to shut down.
fn initialized() -> (OwnedContainer, Arc<Seen>) {
    let (container, seen) = fresh();
    container.claim().unwrap().initialize_systems().unwrap();
    assert_eq!(seen.initialized(), 1);
    (container, seen)
}
