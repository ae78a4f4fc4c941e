//! Containers on their own threads: starting, the rate of their passes, stopping, managers, failures.
//!
//! Every wait for a thread is bounded (`common::wait`). Time is measured from below only: no machine is too slow for
//! these tests.

#[path = "../common/mod.rs"]
mod common;

mod failure;
mod manager;
mod rate;
mod running;
mod start;
mod stop;

use common::{Probe, Trace};
use ecs::{OwnedContainer, System};

/// A silent container without a manager, with these systems.
fn container(handle: &str, systems: Vec<Probe>) -> OwnedContainer {
    let owned = OwnedContainer::new(handle).unwrap();
    owned.set_silent();
    let mut claim = owned.claim().unwrap();
    for system in systems {
        claim.add_system(system.reg()).unwrap();
    }
    drop(claim);
    owned
}

/// A system that is updated on every pass.
fn every_pass<S: System>(system: ecs::Registration<S>) -> ecs::Registration<S> {
    system.every_pass()
}

/// How often an event stands in a trace.
fn count(events: &[String], event: &str) -> usize {
    events.iter().filter(|line| *line == event).count()
}

/// The trace's events that are no updates.
fn milestones(trace: &Trace) -> String {
    let mut events = trace.take();
    events.retain(|event| !event.ends_with(".update"));
    events.join(" ")
}
