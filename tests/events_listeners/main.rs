//! Listeners: what is called with an event, when, and how often.

#[path = "../common/mod.rs"]
mod common;
mod lifetime;
mod order;
mod refused;
mod turns;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use common::{Probe, Trace, log_of, manual, once, secs};
use ecs::{
    Claim, Context, Entity, Listener, ManualClock, NamedEvent, OwnedContainer, Phase, Policy,
    Registration, System, SystemError, SystemResult, Timer, UpdateError, World, json,
};

struct A(u32);
struct B(u32);

/// A probe that also writes `<name>.a<number>` and `<name>.b<number>`.
trait Hears: Sized {
    fn hears(self) -> Self;
    fn hears_queued(self) -> Self;
}

impl Hears for Registration<Probe> {
    fn hears(self) -> Self {
        self.listen::<A>(|probe, _, a| probe.note("a", a.0))
            .listen::<B>(|probe, _, b| probe.note("b", b.0))
    }

    fn hears_queued(self) -> Self {
        self.listen_queued::<A>(|probe, _, a| probe.note("a", a.0))
            .listen_queued::<B>(|probe, _, b| probe.note("b", b.0))
    }
}

trait Note {
    fn note(&mut self, what: &str, number: u32) -> SystemResult;
}

impl Note for Probe {
    fn note(&mut self, what: &str, number: u32) -> SystemResult {
        self.trace.add(format!("{}.{what}{number}", self.name));
        Ok(())
    }
}

struct Stage {
    claim: Claim,
    trace: Trace,
    clock: ManualClock,
    owned: OwnedContainer,
}

impl Stage {
    fn new() -> Self {
        let (owned, clock) = manual("main");
        Self {
            claim: owned.claim().unwrap(),
            trace: Trace::default(),
            clock,
            owned,
        }
    }

    fn probe(&self, name: &str) -> Registration<Probe> {
        Probe::new(name, &self.trace).reg()
    }

    fn add<S: System>(&mut self, system: Registration<S>) {
        self.claim.add_system(system).unwrap();
    }

    /// Runs a pass and tells what happened in it.
    fn pass(&mut self) -> String {
        self.claim.update().unwrap();
        self.trace.line()
    }

    /// A pass that fails, and what happened in it.
    fn failing(&mut self) -> (String, Phase) {
        let Err(UpdateError::Failed { failure, .. }) = self.claim.update() else {
            panic!("the pass did not fail");
        };
        (self.trace.line(), failure.phase().clone())
    }
}
