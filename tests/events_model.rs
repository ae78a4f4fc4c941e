//! Random systems, events, failures and switches, compared with a plain account of who has to hear what, and when.

mod common;
#[path = "common/random.rs"]
mod random;

use std::collections::BTreeMap;

use common::{Trace, manual};
use ecs::{Claim, Context, OwnedContainer, Policy, Register, Registration, System, SystemResult};
use random::Random;

const SYSTEMS: usize = 5;

/// An event: its number among all that were sent, and the system that fails on it.
#[derive(Clone, Copy)]
struct Event {
    number: usize,
    fails: Option<usize>,
}

struct A(Event);
struct B(Event);

/// What a system listens to: bit 0 and 1 in the root step, bit 2 and 3 queued.
const ROOT: [u8; 2] = [1, 2];
const QUEUED: [u8; 2] = [4, 8];

struct Ear {
    system: usize,
    trace: Trace,
}

impl Ear {
    fn hear(&self, event: Event) -> SystemResult {
        self.trace.add(format!("{}<{}", self.system, event.number));
        if event.fails == Some(self.system) {
            return Err("on purpose".into());
        }
        Ok(())
    }
}

impl System for Ear {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.trace.add(format!("{}!", self.system));
        Ok(())
    }
}

fn ear(system: usize, listens: u8, trace: &Trace) -> Registration<Ear> {
    let trace = trace.clone();
    let mut ear = Ear { system, trace }
        .named(format!("s{system}"))
        .every_pass();
    if listens & ROOT[0] != 0 {
        ear = ear.listen::<A>(|ear, _, a| ear.hear(a.0));
    }
    if listens & ROOT[1] != 0 {
        ear = ear.listen::<B>(|ear, _, b| ear.hear(b.0));
    }
    if listens & QUEUED[0] != 0 {
        ear = ear.listen_queued::<A>(|ear, _, a| ear.hear(a.0));
    }
    if listens & QUEUED[1] != 0 {
        ear = ear.listen_queued::<B>(|ear, _, b| ear.hear(b.0));
    }
    ear
}

/// What the account knows of a system.
struct Known {
    system: usize,
    listens: u8,
    started: bool,
    on: bool,
    updated: bool,
    /// Up to which event it has heard, by the bits of what it listens to.
    heard: BTreeMap<u8, usize>,
}

impl Known {
    /// Hears an event if it is for it, and says whether it failed.
    fn hear(&mut self, bit: u8, event: Event, told: &mut Vec<String>) -> bool {
        let heard = self.heard.entry(bit).or_default();
        if self.listens & bit == 0 || event.number < *heard {
            return false;
        }
        *heard = event.number + 1;
        told.push(format!("{}<{}", self.system, event.number));
        event.fails == Some(self.system)
    }
}

#[derive(Default)]
struct Account {
    /// In the order of the container.
    systems: Vec<Known>,
    /// All events with their type.
    sent: Vec<(usize, Event)>,
    delivered: usize,
}

impl Account {
    /// What a pass does, and whether it fails.
    fn pass(&mut self) -> (Vec<String>, bool) {
        let mut told = Vec::new();
        self.delivered = self.sent.len();
        for &(kind, event) in &self.sent {
            for known in self.systems.iter_mut().filter(|known| known.started) {
                if known.hear(ROOT[kind], event, &mut told) {
                    return (told, true);
                }
            }
        }
        for known in &mut self.systems {
            known.started = true;
        }
        for known in self
            .systems
            .iter_mut()
            .filter(|known| known.on && known.updated)
        {
            for &(kind, event) in &self.sent {
                if known.hear(QUEUED[kind], event, &mut told) {
                    return (told, true);
                }
            }
            told.push(format!("{}!", known.system));
        }
        (told, false)
    }
}

/// Registers a system anew, or in the place of the one that is there.
fn register(claim: &mut Claim, account: &mut Account, random: &mut Random, trace: &Trace) {
    let system = random.below(SYSTEMS);
    let storage = random.below(5) == 0;
    let listens = u8::try_from(random.below(16)).unwrap() & if storage { 3 } else { 15 };
    let mut registration = ear(system, listens, trace);
    if storage {
        registration = registration.policy(Policy::Storage);
    }
    claim.add_system(registration).unwrap();
    let known = Known {
        system,
        listens,
        started: false,
        on: true,
        updated: !storage,
        heard: [1, 2, 4, 8].map(|bit| (bit, account.delivered)).into(),
    };
    match account
        .systems
        .iter_mut()
        .find(|known| known.system == system)
    {
        Some(place) => *place = known,
        None => account.systems.push(known),
    }
}

fn send(owned: &OwnedContainer, claim: &mut Claim, account: &mut Account, random: &mut Random) {
    let fails = (random.below(8) == 0).then(|| random.below(SYSTEMS));
    let number = account.sent.len();
    let event = Event { number, fails };
    let kind = random.below(2);
    account.sent.push((kind, event));
    match (kind, random.below(3)) {
        (0, 0) => claim.context().send_event(A(event)),
        (0, 1) => assert!(claim.context().this.send_event(A(event))),
        (0, _) => assert!(owned.send_event(A(event))),
        (_, 0) => claim.context().send_event(B(event)),
        (_, 1) => assert!(owned.event_sender::<B>().send(B(event))),
        _ => assert!(owned.send_event(B(event))),
    }
}

#[test]
fn random_events_are_heard_exactly_once_in_order_by_those_who_should() {
    let (mut heard, mut failed) = (0, 0);
    for seed in 1..=400_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        let (mut account, trace) = (Account::default(), Trace::default());
        for step in 0..60 {
            match random.below(12) {
                0 | 1 => register(&mut claim, &mut account, &mut random, &trace),
                2 => {
                    let system = random.below(SYSTEMS);
                    claim.remove_system(format!("s{system}"));
                    account.systems.retain(|known| known.system != system);
                }
                3 => {
                    let (system, on) = (random.below(SYSTEMS), random.below(2) == 0);
                    let known = account
                        .systems
                        .iter_mut()
                        .find(|known| known.system == system);
                    if let Some(known) = known {
                        known.on = on;
                        let handle = format!("s{system}");
                        claim.context().set_system_on(handle, on).unwrap();
                    }
                }
                4..8 => send(&owned, &mut claim, &mut account, &mut random),
                _ => {
                    let (told, fails) = account.pass();
                    assert_eq!(claim.update().is_err(), fails, "seed {seed}, step {step}");
                    heard += told.iter().filter(|what| what.contains('<')).count();
                    failed += usize::from(fails);
                    // spec: EVT-02, EVT-03, EVT-06
                    assert_eq!(trace.take(), told, "seed {seed}, step {step}");
                }
            }
        }
    }
    assert!(
        heard > 10_000 && failed > 200,
        "{heard} heard, {failed} failed"
    );
}
