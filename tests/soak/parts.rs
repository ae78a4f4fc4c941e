//! What the scenes share: components, log destinations, failures on purpose, waiting.

use std::time::{Duration, Instant};

use ecs::{Component, Container, Storage, SystemResult, Value, json};

use super::books::{COMPONENTS, DESTINATIONS, FAILED, LOGGED, TIMERS, Token, WRITTEN, fault};
use super::dice::Dice;

/// A component in a table, or in a sparse set.
pub(crate) struct Part<const SPARSE: bool> {
    number: u64,
    _token: Token,
}

impl<const SPARSE: bool> Part<SPARSE> {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            _token: COMPONENTS.token(),
        }
    }

    pub(crate) fn touch(&mut self) {
        self.number += 1;
    }
}

impl<const SPARSE: bool> Component for Part<SPARSE> {
    fn type_name() -> &'static str {
        if SPARSE { "Spark" } else { "Part" }
    }

    fn export(&self) -> Value {
        json!(self.number)
    }

    fn storage() -> Storage {
        if SPARSE {
            Storage::Sparse
        } else {
            Storage::Table
        }
    }
}

pub(crate) const ON_PURPOSE: &str = "on purpose";

/// Fails one way or the other.
pub(crate) fn fail(dice: &mut Dice) -> SystemResult {
    FAILED.add(1);
    if dice.one_in(2) {
        std::panic::panic_any(ON_PURPOSE);
    }
    Err(ON_PURPOSE.into())
}

/// Panics on purpose go unreported, all others are as always.
pub(crate) fn mute_failures() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&ON_PURPOSE) {
            before(info);
        }
    }));
}

/// Lines with this sign are counted where they are logged and where they are written.
const SIGN: &str = "~";

pub(crate) fn log(container: &Container) {
    LOGGED.add(1);
    container.log(SIGN);
}

/// A new destination, in place of what was there.
pub(crate) fn set_destination(container: &Container) {
    let token = DESTINATIONS.token();
    container.set_logger(move |message, _| {
        let _ = &token;
        if message.ends_with(SIGN) {
            WRITTEN.add(1);
        }
    });
}

/// A timer's callback that is counted as long as it lives.
pub(crate) fn callback<S>(
    mut code: impl FnMut(&mut S) -> SystemResult + Send + 'static,
) -> impl FnMut(&mut S, &mut ecs::Context<'_>) -> SystemResult + Send + 'static {
    let token = TIMERS.token();
    move |system, _| {
        let _ = &token;
        code(system)
    }
}

/// Waits; what does not come within a minute ends the program.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        if since.elapsed() > Duration::from_mins(1) {
            fault(format!("waited a minute in vain for {what}"));
            for fault in super::books::faults() {
                eprintln!("OFF: {fault}");
            }
            std::process::exit(1);
        }
        std::thread::park_timeout(Duration::from_micros(100));
    }
}
