//! Checks of containers, as they are: claims, passes, stops, threads, deferred functions. `base::model` says how to run
//! the small cases in all orders, `base::schedules` how to run those of `crowds` in many; each file lists the faults that
//! its cases were seen to catch.

#[cfg(shuttle)]
mod crowds;
#[cfg(shuttle)]
mod crowds_of_workers;
#[cfg(loom)]
mod deferred;
#[cfg(loom)]
mod stop;
#[cfg(loom)]
mod thread;

use std::sync::Arc;
use std::time::Duration;

use super::{Context, OwnedContainer, System, SystemResult};
use crate::base::BoxError;
use crate::base::lock::{AtomicUsize, Ordering};

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
        self.shut.load(Ordering::Relaxed)
    }

    fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }

    fn initialized(&self) -> usize {
        self.initialized.load(Ordering::Relaxed)
    }

    fn updated(&self) -> usize {
        self.updated.load(Ordering::Relaxed)
    }
}

/// A system that notes its calls.
struct Probe(Arc<Seen>);

impl Probe {
    fn new() -> (Self, Arc<Seen>) {
        let seen = Arc::new(Seen::default());
        (Self(Arc::clone(&seen)), seen)
    }
}

impl System for Probe {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        note(&self.0.initialized);
        Ok(())
    }

    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        note(&self.0.updated);
        Ok(())
    }

    fn shutdown(&mut self, _: &mut Context<'_>) -> SystemResult {
        note(&self.0.shut);
        Ok(())
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        note(&self.0.dropped);
    }
}

/// A load sees what happened before: where an assertion fails, the library has not made it so.
fn note(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::Relaxed);
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
