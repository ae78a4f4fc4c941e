//! What the user code of a run shares: the log, the clocks, the counts of what is alive.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ecs::{Clock, Mailbox, ManualClock, Moment, SharedClock, SystemKey, Ticket};

use super::program::{ClockName, POCKETS};

/// Actions that one program may carry out; systems that make systems would go on for ever.
pub(crate) const FUEL: usize = 400;

/// What all user code of a run shares.
pub(super) struct Env {
    pub(super) log: Mutex<Vec<String>>,
    pub(super) manual: ManualClock,
    pub(super) wild: Wild,
    pub(super) fuel: AtomicUsize,
    /// Given out to systems, conditions, timers, deferred functions and messages, in the order made.
    pub(super) numbers: AtomicUsize,
    pub(super) alive: [Arc<AtomicUsize>; 4],
    pub(super) pockets: Mutex<[Option<Mailbox>; POCKETS]>,
    pub(super) tickets: Mutex<Vec<Ticket<usize>>>,
    /// Of all systems that were registered, in order.
    pub(super) keys: Mutex<Vec<SystemKey>>,
}

/// A clock that can be set back.
#[derive(Clone, Default)]
pub(super) struct Wild(Arc<(AtomicU64, AtomicU64)>);

impl Clock for Wild {
    fn now(&self) -> Moment {
        Moment::from_micros(self.0.0.load(Ordering::Relaxed))
    }
}

impl Wild {
    pub(super) fn set(&self, now: u64) {
        self.0.0.store(now, Ordering::Relaxed);
        self.0.1.fetch_max(now, Ordering::Relaxed);
    }

    pub(super) fn is_behind(&self) -> bool {
        self.0.0.load(Ordering::Relaxed) < self.0.1.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    System,
    Timer,
    Condition,
    Deferred,
}

/// A user value that is counted while it lives.
pub(super) struct Token {
    alive: Arc<AtomicUsize>,
    panics: bool,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
        if self.panics {
            panic_with("planned, in a drop".to_owned());
        }
    }
}

/// A step of a clock in microseconds.
pub(super) fn whole(step: Duration) -> u64 {
    u64::try_from(step.as_micros()).unwrap()
}

/// Past the hook: the panic is planned, nobody wants to read about it.
pub(super) fn panic_with(text: String) -> ! {
    std::panic::resume_unwind(Box::new(text))
}

impl Env {
    pub(super) fn add(&self, event: impl Into<String>) {
        self.log.lock().unwrap().push(event.into());
    }

    pub(super) fn number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn token(&self, kind: Kind, panics: bool) -> Token {
        let alive = Arc::clone(&self.alive[kind as usize]);
        alive.fetch_add(1, Ordering::Relaxed);
        Token { alive, panics }
    }

    pub(super) fn clock(&self, name: ClockName) -> SharedClock {
        match name {
            ClockName::Manual => (&self.manual).into(),
            ClockName::Wild => SharedClock::new(self.wild.clone()),
        }
    }

    pub(super) fn advance(&self, clock: ClockName, by: Duration) {
        match clock {
            ClockName::Manual => _ = self.manual.advance(by),
            ClockName::Wild => {
                let now = self.wild.now().as_micros();
                self.wild.set(now.saturating_add(whole(by)));
            }
        }
    }

    pub(super) fn key(&self, at: usize) -> Option<SystemKey> {
        let keys = self.keys.lock().unwrap();
        keys.get(at % keys.len().max(1)).copied()
    }

    pub(super) fn has_fuel(&self) -> bool {
        let left = self
            .fuel
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |fuel| {
                fuel.checked_sub(1)
            });
        left.is_ok()
    }
}
