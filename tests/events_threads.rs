//! Events from many threads to a container on its own thread, and to one that is driven.

mod common;

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use common::wait::receive;
use ecs::{
    Container, Context, Listener, NamedEvent, OwnedContainer, Register, System, SystemResult, json,
};

const THREADS: usize = 4;
const EACH: u64 = 5_000;

/// Two types with the same content, so that the order of one sender across types can be seen.
struct Odd(usize, u64);
struct Even(usize, u64);

/// Sends a thread's events: even numbers as one type, odd ones as the other, and each hundredth with a name too.
fn send_all(container: &Container, thread: usize) {
    let evens = container.event_sender::<Even>();
    for number in 0..EACH {
        let accepted = if number % 2 == 0 {
            evens.send(Even(thread, number))
        } else {
            container.send_event(Odd(thread, number))
        };
        assert!(accepted);
        if number % 100 == 0 {
            container.send_named_event("hundred", json!([thread, number]));
        }
    }
}

/// What arrived of each thread, in the order of arrival.
#[derive(Default)]
struct Ledger {
    numbers: BTreeMap<usize, Vec<u64>>,
    hundreds: usize,
}

impl Ledger {
    fn note(&mut self, thread: usize, number: u64) {
        self.numbers.entry(thread).or_default().push(number);
    }

    fn is_full(&self) -> bool {
        let sum: usize = self.numbers.values().map(Vec::len).sum();
        sum as u64 >= THREADS as u64 * EACH && self.hundreds as u64 >= THREADS as u64 * EACH / 100
    }

    fn check(&self) {
        assert_eq!(self.numbers.len(), THREADS);
        for (thread, numbers) in &self.numbers {
            // spec: EVT-01, EVT-03
            assert!(
                numbers.iter().copied().eq(0..EACH),
                "thread {thread}: each once, and in order"
            );
        }
        // spec: EVT-07
        assert_eq!(self.hundreds as u64, THREADS as u64 * EACH / 100);
    }
}

/// Hands its ledger over when everything is there.
struct Clerk {
    ledger: Ledger,
    full: Option<Sender<Ledger>>,
}

impl Clerk {
    fn hand_over(&mut self) {
        if self.ledger.is_full()
            && let Some(full) = self.full.take()
        {
            full.send(std::mem::take(&mut self.ledger)).unwrap();
        }
    }
}

impl System for Clerk {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.hand_over();
        Ok(())
    }
}

fn clerk(full: Sender<Ledger>, queued: bool) -> ecs::Registration<Clerk> {
    let clerk = Clerk {
        ledger: Ledger::default(),
        full: Some(full),
    };
    let mut listeners = vec![
        Listener::to_for(|clerk: &mut Clerk, _, event: &Odd| {
            clerk.ledger.note(event.0, event.1);
            Ok(())
        }),
        Listener::to_for(|clerk: &mut Clerk, _, event: &Even| {
            clerk.ledger.note(event.0, event.1);
            Ok(())
        }),
        Listener::to_named_for("hundred", |clerk: &mut Clerk, _, _| {
            clerk.ledger.hundreds += 1;
            Ok(())
        }),
    ];
    if queued {
        listeners = listeners.into_iter().map(Listener::queued).collect();
    }
    let name = if queued { "queued" } else { "root" };
    listeners
        .into_iter()
        .fold(clerk.named(name).every_pass(), ecs::Registration::listener)
}

fn senders(container: &Container) -> Vec<thread::JoinHandle<()>> {
    (0..THREADS)
        .map(|thread| {
            let container = container.clone();
            thread::spawn(move || send_all(&container, thread))
        })
        .collect()
}

#[test]
fn four_threads_send_to_a_container_on_its_own_thread() {
    let owned = OwnedContainer::new("main").unwrap();
    owned.set_silent();
    let (full, ledgers) = channel();
    let mut claim = owned.claim().unwrap();
    claim.add_system(clerk(full.clone(), false)).unwrap();
    claim.add_system(clerk(full, true)).unwrap();
    claim.start_with(std::time::Duration::ZERO).unwrap();
    let senders = senders(&owned);
    for _ in 0..2 {
        receive(&ledgers, "all events").check();
    }
    for sender in senders {
        sender.join().unwrap();
    }
    owned.stop();
    // spec: EVT-06
    assert!(!owned.send_event(Odd(0, 0)));
    assert!(owned.failure().is_none());
}

#[test]
fn a_system_that_starts_late_gets_what_it_was_sent_since_its_registration() {
    let owned = OwnedContainer::new("main").unwrap();
    owned.set_silent();
    let (full, ledgers) = channel();
    let senders = senders(&owned);
    let mut claim = owned.claim().unwrap();
    claim.add_system(clerk(full.clone(), false)).unwrap();
    claim.add_system(clerk(full, true)).unwrap();
    drop(claim);
    for sender in senders {
        sender.join().unwrap();
    }
    for _ in 0..3 {
        owned.update().unwrap();
    }
    for _ in 0..2 {
        // spec: EVT-06
        receive(&ledgers, "all events").check();
    }
}

#[test]
fn readers_of_a_driven_container_see_each_threads_events_once_and_in_order() {
    let owned = OwnedContainer::new("main").unwrap();
    owned.set_silent();
    let (mut odd, mut even, mut named) = {
        let mut claim = owned.claim().unwrap();
        let world = claim.world();
        (
            world.event_reader::<Odd>(),
            world.event_reader::<Even>(),
            world.event_reader::<NamedEvent>(),
        )
    };
    let senders = senders(&owned);
    let mut seen: BTreeMap<(usize, bool), Vec<u64>> = BTreeMap::new();
    let mut hundreds = 0;
    loop {
        let finished = senders.iter().all(thread::JoinHandle::is_finished);
        owned.update().unwrap();
        let mut claim = owned.claim().unwrap();
        let world = claim.world();
        for event in odd.read(world).unwrap() {
            seen.entry((event.0, true)).or_default().push(event.1);
        }
        for event in even.read(world).unwrap() {
            seen.entry((event.0, false)).or_default().push(event.1);
        }
        hundreds += named.read(world).unwrap().count() as u64;
        if finished {
            break;
        }
    }
    for ((thread, odd), numbers) in seen {
        let all = (0..EACH).filter(|number| (number % 2 == 1) == odd);
        // spec: EVT-01, EVT-03
        assert!(numbers.iter().copied().eq(all), "thread {thread}");
    }
    assert_eq!(hundreds, THREADS as u64 * EACH / 100);
    assert_eq!(odd.missed() + even.missed() + named.missed(), 0);
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn a_stop_beside_four_senders_drops_what_comes_later_and_nobody_hangs() {
    for _ in 0..20 {
        let owned = OwnedContainer::new("main").unwrap();
        owned.set_silent();
        let (heard, ears) = channel();
        let ear = ecs::system("ear", |_| Ok(())).listen::<u64>(move |_, _, number| {
            let _ = heard.send(*number);
            Ok(())
        });
        let mut claim = owned.claim().unwrap();
        claim.add_system(ear.every_pass()).unwrap();
        claim.start_with(std::time::Duration::ZERO).unwrap();
        let senders: Vec<_> = (0..THREADS)
            .map(|_| {
                let sender = owned.event_sender::<u64>();
                thread::spawn(move || {
                    let mut sent = 0_u64;
                    while sender.send(sent) {
                        sent += 1;
                        thread::yield_now();
                    }
                    sent
                })
            })
            .collect();
        receive(&ears, "the first event");
        owned.stop();
        let mut sent = 0;
        for sender in senders {
            sent += sender.join().unwrap();
        }
        drop(owned);
        // spec: EVT-03, EVT-06
        assert!((ears.iter().count() as u64) < sent, "none of them twice");
    }
}
