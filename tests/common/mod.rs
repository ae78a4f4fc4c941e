//! What the tests share: a container on a manual clock, a trace of what happened, a system that writes it.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

pub mod wait;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ecs::{
    Claim, Container, Context, ManualClock, OwnedContainer, Registration, System, SystemResult,
};

/// One interval of a system that was given none.
pub const TICK: Duration = ecs::DEFAULT_INTERVAL;

pub fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What happened, in order. Clones write to one trace.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    pub fn add(&self, event: impl Into<String>) {
        self.0.lock().unwrap().push(event.into());
    }

    /// What happened since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The same as one line.
    pub fn line(&self) -> String {
        self.take().join(" ")
    }
}

/// A container without a manager on a manual clock; its log is silent.
pub fn manual(handle: &str) -> (OwnedContainer, ManualClock) {
    let container = OwnedContainer::new(handle).unwrap();
    container.set_silent();
    let clock = ManualClock::new();
    container
        .claim()
        .unwrap()
        .context()
        .set_clock(&clock)
        .unwrap();
    (container, clock)
}

/// The log of a container from now on, as `level: message`.
pub fn log_of(container: &Container) -> Trace {
    let lines = Trace::default();
    let kept = lines.clone();
    container.set_logger(move |message, level| kept.add(format!("{level}: {message}")));
    lines
}

/// Keeps a claim for ever, as if its holder had forgotten it. It stays reachable: a leak checker has nothing to say.
pub fn forget(claim: Claim) {
    static FORGOTTEN: Mutex<Vec<Claim>> = Mutex::new(Vec::new());
    FORGOTTEN.lock().unwrap().push(claim);
}

type Hook = Box<dyn FnMut(&mut Context<'_>) -> SystemResult + Send>;

/// A system that writes `<name>.init`, `<name>.update`, `<name>.shutdown` and `<name>.drop` to a trace, and then does
/// what it was given to do.
pub struct Probe {
    pub name: String,
    pub trace: Trace,
    pub on_init: Option<Hook>,
    pub on_update: Option<Hook>,
    pub on_shutdown: Option<Hook>,
    pub silent: bool,
}

impl Probe {
    pub fn new(name: &str, trace: &Trace) -> Self {
        Self {
            name: name.to_owned(),
            trace: trace.clone(),
            on_init: None,
            on_update: None,
            on_shutdown: None,
            silent: false,
        }
    }

    pub fn init(
        mut self,
        hook: impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        self.on_init = Some(Box::new(hook));
        self
    }

    pub fn update(
        mut self,
        hook: impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        self.on_update = Some(Box::new(hook));
        self
    }

    pub fn shutdown(
        mut self,
        hook: impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        self.on_shutdown = Some(Box::new(hook));
        self
    }

    /// Registered under its name, updated on every pass.
    pub fn reg(self) -> Registration<Self> {
        use ecs::Register;
        let name = self.name.clone();
        self.named(name).every_pass()
    }

    fn event(&self, what: &str) {
        self.trace.add(format!("{}.{what}", self.name));
    }
}

fn run(hook: &mut Option<Hook>, cx: &mut Context<'_>) -> SystemResult {
    hook.as_mut().map_or(Ok(()), |hook| hook(cx))
}

impl System for Probe {
    fn initialize(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.event("init");
        run(&mut self.on_init, cx)
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.event("update");
        run(&mut self.on_update, cx)
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.event("shutdown");
        run(&mut self.on_shutdown, cx)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.event("drop");
    }
}

/// `once(f)` does what `f` does the first time it is called, and nothing later.
pub fn once(
    hook: impl FnOnce(&mut Context<'_>) -> SystemResult + Send + 'static,
) -> impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static {
    let mut hook = Some(hook);
    move |cx| hook.take().map_or(Ok(()), |hook| hook(cx))
}
