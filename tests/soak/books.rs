//! The accounts: what was made and what is gone, what was sent and what came of it.
//!
//! Everything here may be called from within a system, where a panic would become a failure of that system like any
//! other. So what is off is noted, and looked at by the program.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use ecs::{Container, Value, json};

static FAULTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes what is off. The first few say it all.
pub(crate) fn fault(what: impl Into<String>) {
    let mut faults = FAULTS.lock().unwrap();
    if faults.len() < 20 {
        faults.push(what.into());
    }
}

pub(crate) fn check(holds: bool, what: &str) {
    if !holds {
        fault(what);
    }
}

pub(crate) fn faults() -> Vec<String> {
    FAULTS.lock().unwrap().clone()
}

/// A number that only grows.
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn add(&self, more: u64) -> u64 {
        self.0.fetch_add(more, SeqCst) + more
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(SeqCst)
    }
}

/// A kind of thing that the library is given to keep, and has to drop.
pub(crate) struct Kind {
    name: &'static str,
    made: Count,
    dropped: Count,
}

pub(crate) static SYSTEMS: Kind = Kind::new("systems");
pub(crate) static COMPONENTS: Kind = Kind::new("components");
pub(crate) static TIMERS: Kind = Kind::new("timers");
pub(crate) static FUNCTIONS: Kind = Kind::new("deferred functions");
pub(crate) static DESTINATIONS: Kind = Kind::new("log destinations");
pub(crate) static TYPED: Kind = Kind::new("typed systems");
pub(crate) static EVENTS: Kind = Kind::new("events");

impl Kind {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            made: Count::new(),
            dropped: Count::new(),
        }
    }

    pub(crate) fn token(&'static self) -> Token {
        self.made.add(1);
        Token(self)
    }
}

/// One thing of a kind, counted when it is made and when it is dropped.
pub(crate) struct Token(&'static Kind);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.dropped.add(1);
    }
}

pub(crate) static INITIALIZED: Count = Count::new();
pub(crate) static SHUT: Count = Count::new();
pub(crate) static RAN: Count = Count::new();
pub(crate) static UNRUN: Count = Count::new();
pub(crate) static LOGGED: Count = Count::new();
pub(crate) static WRITTEN: Count = Count::new();
pub(crate) static FAILED: Count = Count::new();
pub(crate) static FIRED: Count = Count::new();
pub(crate) static UPDATES: Count = Count::new();
pub(crate) static STARTS: Count = Count::new();
pub(crate) static EVENTS_SENT: Count = Count::new();
pub(crate) static EVENTS_HEARD: Count = Count::new();

/// What a system goes through: one start and one end, or neither.
pub(crate) struct Life {
    initialized: bool,
    shut: bool,
    _token: Token,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self {
            initialized: false,
            shut: false,
            _token: SYSTEMS.token(),
        }
    }

    pub(crate) fn initialize(&mut self) {
        INITIALIZED.add(1);
        check(!self.initialized, "a system is initialised twice");
        self.initialized = true;
    }

    pub(crate) fn update(&self) {
        UPDATES.add(1);
        let alive = self.initialized && !self.shut;
        check(
            alive,
            "a system is updated before its start or after its end",
        );
    }

    pub(crate) fn shutdown(&mut self) {
        SHUT.add(1);
        check(self.initialized, "a system that never started is shut down");
        check(!self.shut, "a system is shut down twice");
        self.shut = true;
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let even = self.initialized == self.shut;
        check(
            even,
            "a system that was started is dropped without its shutdown",
        );
    }
}

/// A deferred function: it runs once, or is dropped unrun because its container was stopped.
pub(crate) struct Given {
    container: Container,
    ran: bool,
    _token: Token,
}

impl Given {
    pub(crate) fn to(container: &Container) -> Self {
        Self {
            container: container.clone(),
            ran: false,
            _token: FUNCTIONS.token(),
        }
    }

    pub(crate) fn run(&mut self) {
        check(!self.ran, "a deferred function runs twice");
        self.ran = true;
        RAN.add(1);
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if !self.ran {
            UNRUN.add(1);
            let stopped = self.container.is_stop_requested();
            check(
                stopped,
                "a deferred function is dropped unrun, and nobody asked for a stop",
            );
        }
    }
}

/// The way from one sender to one handle. Its messages have numbers from 1 on.
///
/// What is accepted arrives in order and without a gap, but for what is discarded by rule: with a system that was
/// replaced, or that left with messages it had no chance to read. So a gap stands only where one system ends and its
/// successor begins.
pub(crate) struct Lane {
    number: usize,
    accepted: Count,
    refused: Count,
    received: Count,
    /// The number of the last message received.
    last: AtomicU64,
    discarded: Count,
    /// What has to be discarded, where the program knows it beforehand.
    foreseen: Count,
    /// Up to here it is known what becomes of them: they are discarded, or read in a `shutdown` that is to come.
    settled: AtomicU64,
}

/// What one system has read on a lane.
#[derive(Clone, Copy, Default)]
pub(crate) struct Read(u64);

impl Lane {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            accepted: Count::new(),
            refused: Count::new(),
            received: Count::new(),
            last: AtomicU64::new(0),
            discarded: Count::new(),
            foreseen: Count::new(),
            settled: AtomicU64::new(0),
        }
    }

    /// Sends the next message; the lane has one sender at a time. True if it was accepted.
    pub(crate) fn send<E>(
        &self,
        container: &str,
        system: &str,
        submit: impl FnOnce(Value) -> Result<(), E>,
    ) -> bool {
        // Counted first: the receiver may be quicker than this thread. A refused one gives its number back.
        let n = self.accepted.add(1);
        let destination = json!({ "container": container, "system": system });
        let message = json!({ "destination": destination, "lane": self.number, "n": n });
        let sent = submit(message).is_ok();
        if !sent {
            self.accepted.0.fetch_sub(1, SeqCst);
            self.refused.add(1);
        }
        sent
    }

    /// A message for which `number` is the lane.
    pub(crate) fn number(message: &Value) -> usize {
        let number = message["lane"].as_u64().and_then(|it| it.try_into().ok());
        number.unwrap_or(usize::MAX)
    }

    pub(crate) fn receive(&self, message: &Value, read: &mut Read) {
        let n = message["n"].as_u64().unwrap_or(0);
        let last = self.last.swap(n, SeqCst);
        self.received.add(1);
        if n <= last {
            fault(format!(
                "message {n} arrives after {last}: twice, or out of order"
            ));
        } else if read.0 == 0 {
            self.discarded.add(n - last - 1);
        } else if n != read.0 + 1 {
            fault(format!("a system reads {n} after {}: lost", read.0));
        }
        read.0 = n;
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.get()
    }

    pub(crate) fn unread(&self) -> u64 {
        self.accepted.get() - self.last.load(SeqCst)
    }

    /// The system that they are for goes, and will read in its `shutdown` what waits.
    pub(crate) fn owe(&self) {
        self.settled.store(self.accepted.get(), SeqCst);
    }

    /// The system that they are for goes without reading them.
    pub(crate) fn foresee(&self) {
        let accepted = self.accepted.get();
        let settled = self.settled.swap(accepted, SeqCst);
        self.foreseen
            .add(accepted - settled.max(self.last.load(SeqCst)));
    }

    /// Nobody will send or read on it any more: puts it into the sum. What is left unread is discarded.
    pub(crate) fn close(&self, discards: Discards) {
        self.discarded.add(self.unread());
        let (discarded, foreseen) = (self.discarded.get(), self.foreseen.get());
        match discards {
            Discards::Foreseen if discarded != foreseen => fault(format!(
                "{discarded} messages discarded, {foreseen} by rule"
            )),
            Discards::Foreseen | Discards::Any => {}
        }
        MESSAGES.accepted.add(self.accepted.get());
        MESSAGES.refused.add(self.refused.get());
        MESSAGES.received.add(self.received.get());
        MESSAGES.discarded.add(discarded);
    }
}

/// Which messages of a lane may be missing at its end.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Discards {
    /// Those that were foreseen, to the last one.
    Foreseen,
    /// What was under way when a system left, as the threads had it.
    Any,
}

pub(crate) struct Messages {
    accepted: Count,
    refused: Count,
    received: Count,
    discarded: Count,
}

pub(crate) static MESSAGES: Messages = Messages {
    accepted: Count::new(),
    refused: Count::new(),
    received: Count::new(),
    discarded: Count::new(),
};

/// Compares both sides of every account, at a moment at which nothing is under way.
pub(crate) fn balance(kept: &Kept) {
    for kind in [
        &SYSTEMS,
        &COMPONENTS,
        &TIMERS,
        &FUNCTIONS,
        &DESTINATIONS,
        &TYPED,
        &EVENTS,
    ] {
        let alive = kept.of(kind);
        let (made, dropped) = (kind.made.get(), kind.dropped.get());
        if made != dropped + alive {
            fault(format!(
                "{}: {made} made, {dropped} dropped, {alive} alive",
                kind.name
            ));
        }
    }
    let started = kept.of(&SYSTEMS);
    let sides = [
        (
            "initialised, shut down",
            INITIALIZED.get(),
            SHUT.get() + started,
        ),
        (
            "functions given, ran or dropped",
            FUNCTIONS.made.get(),
            RAN.get() + UNRUN.get(),
        ),
        ("lines logged, written", LOGGED.get(), WRITTEN.get()),
        (
            "messages accepted, received or discarded",
            MESSAGES.accepted.get(),
            MESSAGES.received.get() + MESSAGES.discarded.get(),
        ),
        (
            "events sent to three who hear, heard",
            EVENTS_SENT.get() * 3,
            EVENTS_HEARD.get(),
        ),
    ];
    for (what, left, right) in sides {
        if left != right {
            fault(format!("{what}: {left} and {right}"));
        }
    }
}

/// What is alive between two rounds, all of its systems started.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) systems: u64,
    pub(crate) components: u64,
    pub(crate) timers: u64,
    pub(crate) destinations: u64,
}

impl Kept {
    fn of(&self, kind: &'static Kind) -> u64 {
        let counts = [
            (&SYSTEMS, self.systems),
            (&COMPONENTS, self.components),
            (&TIMERS, self.timers),
            (&DESTINATIONS, self.destinations),
        ];
        let found = counts.iter().find(|(of, _)| std::ptr::eq(*of, kind));
        found.map_or(0, |(_, count)| *count)
    }
}

pub(crate) fn print() {
    println!(
        "systems     {} made, {} initialised, {} shut down, {} dropped; {} updates, {} failures on purpose",
        SYSTEMS.made.get(),
        INITIALIZED.get(),
        SHUT.get(),
        SYSTEMS.dropped.get(),
        UPDATES.get(),
        FAILED.get(),
    );
    println!(
        "messages    {} accepted = {} received + {} discarded by rule; {} refused",
        MESSAGES.accepted.get(),
        MESSAGES.received.get(),
        MESSAGES.discarded.get(),
        MESSAGES.refused.get(),
    );
    println!(
        "functions   {} deferred = {} run + {} dropped by a stop",
        FUNCTIONS.made.get(),
        RAN.get(),
        UNRUN.get(),
    );
    println!(
        "log lines   {} logged, {} written",
        LOGGED.get(),
        WRITTEN.get()
    );
    println!("timers      {} fired", FIRED.get());
    println!("threads     {} started by containers", STARTS.get());
    println!(
        "events      {} sent, {} heard by three each; {} typed systems made, {} dropped",
        EVENTS_SENT.get(),
        EVENTS_HEARD.get(),
        TYPED.made.get(),
        TYPED.dropped.get()
    );
    for kind in [&COMPONENTS, &TIMERS, &DESTINATIONS] {
        let name = kind.name.rsplit(' ').next().unwrap_or_default();
        println!(
            "{name:11} {} made, {} dropped",
            kind.made.get(),
            kind.dropped.get()
        );
    }
}
