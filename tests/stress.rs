//! Many threads and many messages: nothing is lost, nothing comes twice, each sender's messages keep their order.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use common::wait::{no_thread_named, spawn, until};
use common::{Probe, Trace, ms};
use ecs::{Container, ContainerState, Logger, Manager, MessageError, StopOutcome, Value, json};

const NOW: Duration = Duration::ZERO;

/// Counts what each of several senders sent, and whether it comes in their order.
#[derive(Clone)]
struct Tally(Arc<Vec<AtomicU64>>);

impl Tally {
    fn new(senders: usize) -> Self {
        Self(Arc::new((0..senders).map(|_| AtomicU64::new(0)).collect()))
    }

    fn number(message: &Value, field: &str) -> u64 {
        message[field].as_u64().unwrap()
    }

    /// A message in the order of its sender: the next one.
    fn next(&self, message: &Value) {
        let sender = usize::try_from(Self::number(message, "from")).unwrap();
        let expected = self.0[sender].fetch_add(1, Ordering::Relaxed);
        // spec: DEL-01, DEL-02
        assert_eq!(Self::number(message, "n"), expected, "sender {sender}");
    }

    /// A message in the order of its sender, where some may be missing.
    fn later(&self, message: &Value) {
        let sender = usize::try_from(Self::number(message, "from")).unwrap();
        let n = Self::number(message, "n") + 1;
        let before = self.0[sender].swap(n, Ordering::Relaxed);
        // spec: DEL-02, DEL-06
        assert!(before < n, "sender {sender}: {n} after {before}");
    }

    fn sum(&self) -> u64 {
        self.0
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }
}

fn message(container: &str, system: &str, from: usize, n: u64) -> Value {
    json!({ "destination": { "container": container, "system": system }, "from": from, "n": n })
}

/// A system that gives each message to a function.
fn reader<F: FnMut(&Value) + Send + 'static>(
    handle: &str,
    mut read: F,
) -> ecs::Registration<impl ecs::System + use<F>> {
    let system = ecs::system(handle, move |cx| {
        while let Some(message) = cx.this.next_message() {
            read(&message);
        }
        Ok(())
    });
    system.every_pass()
}

fn silent(manager: &Manager, handle: &str) -> Container {
    let container = manager.container(handle).unwrap();
    container.set_silent();
    container
}

#[test]
fn eight_senders_and_a_system_that_is_updated_meanwhile() {
    const EACH: u64 = 10_000;
    let manager = Manager::new();
    let main = silent(&manager, "x-eight");
    let tally = Tally::new(8);
    let read = tally.clone();
    let system = reader("sink", move |message| read.next(message));
    main.claim().unwrap().add_system(system).unwrap();
    main.start_with(NOW).unwrap();
    let senders: Vec<_> = (0..8)
        .map(|from| {
            let manager = manager.reference();
            spawn(move || {
                for n in 0..EACH {
                    // spec: DEL-03
                    manager
                        .message_submit(message("x-eight", "sink", from, n))
                        .unwrap();
                }
            })
        })
        .collect();
    for sender in senders {
        sender.join("a sender");
    }
    // spec: DEL-01, DEL-07
    until("all messages", || tally.sum() == 8 * EACH);
    manager.shutdown();
    // spec: DEL-01, FAIL-08
    assert!(tally.sum() == 8 * EACH && main.failure().is_none());
}

#[test]
fn two_containers_that_send_to_each_other() {
    const EACH: u64 = 50_000;
    let manager = Manager::new();
    let tally = Tally::new(2);
    let names = ["x-ping", "x-pong"];
    let containers = names.map(|name| silent(&manager, name));
    for (from, container) in containers.iter().enumerate() {
        let read = tally.clone();
        let (reference, other) = (manager.reference(), names[1 - from]);
        let mut sent = 0;
        let system = ecs::system("player", move |cx| {
            for _ in 0..500 {
                if sent < EACH {
                    reference.message_submit(message(other, "player", from, sent))?;
                    sent += 1;
                }
            }
            while let Some(message) = cx.this.next_message() {
                read.next(&message);
            }
            Ok(())
        });
        container
            .claim()
            .unwrap()
            .add_system(system.every_pass())
            .unwrap();
    }
    for container in &containers {
        container.start_with(NOW).unwrap();
    }
    // spec: DEL-09, DEL-01
    until("all messages of both", || tally.sum() == 2 * EACH);
    manager.shutdown();
    // spec: DEL-02, FAIL-08
    assert!(containers.iter().all(|it| it.failure().is_none()));
    // spec: DEL-01
    assert_eq!(tally.sum(), 2 * EACH);
}

#[test]
fn four_senders_while_the_destination_comes_and_goes() {
    const ROUNDS: usize = 500;
    let manager = Manager::new();
    let main = silent(&manager, "x-comes");
    main.start_with(NOW).unwrap();
    let tally = Tally::new(4);
    let received = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (0..4)
        .map(|from| {
            let (manager, stop) = (manager.reference(), Arc::clone(&stop));
            spawn(move || {
                let (mut accepted, mut n) = (0_u64, 0);
                while !stop.load(Ordering::Relaxed) {
                    match manager.message_submit(message("x-comes", "sink", from, n)) {
                        Ok(()) => accepted += 1,
                        Err(error) => {
                            // spec: DEL-06, MSG-13
                            assert!(
                                error.to_string().ends_with("System sink not found."),
                                "{error}"
                            );
                            std::thread::yield_now();
                        }
                    }
                    n += 1;
                }
                accepted
            })
        })
        .collect();
    let births = Arc::new(AtomicUsize::new(0));
    for round in 0..ROUNDS {
        let (read, received, births) = (tally.clone(), Arc::clone(&received), Arc::clone(&births));
        let ticket = main.defer_ticket(move |cx| {
            // Every third one is replaced, the others are removed and registered again.
            if round % 3 != 0 {
                cx.remove_system("sink");
            }
            let system = reader("sink", move |message| {
                read.later(message);
                received.fetch_add(1, Ordering::Relaxed);
            });
            cx.add_system(system)?;
            births.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        ticket.wait_for(common::wait::PATIENCE).unwrap();
    }
    until("a message to the last one", || {
        received.load(Ordering::Relaxed) > 0
    });
    stop.store(true, Ordering::Relaxed);
    let accepted: u64 = senders
        .into_iter()
        .map(|sender| sender.join("a sender"))
        .sum();
    manager.shutdown();
    let received = received.load(Ordering::Relaxed);
    // spec: DEL-01, DEL-06
    assert!(
        0 < received && received <= accepted,
        "{received} of {accepted}"
    );
    // spec: SYS-05, FAIL-08
    assert!(births.load(Ordering::Relaxed) == ROUNDS && main.failure().is_none());
}

#[test]
fn sixteen_threads_ask_for_one_new_container() {
    let manager = Manager::new();
    let together = Arc::new(Barrier::new(16));
    let asking: Vec<_> = (0..16)
        .map(|_| {
            let (manager, together) = (manager.reference(), Arc::clone(&together));
            spawn(move || {
                (0..50)
                    .map(|round| {
                        together.wait();
                        let container = manager.container(format!("x-new{round}")).unwrap();
                        container.id().to_text().to_string()
                    })
                    .collect::<Vec<String>>()
            })
        })
        .collect();
    let answers: BTreeSet<Vec<String>> = asking
        .into_iter()
        .map(|thread| thread.join("a thread that asks for containers"))
        .collect();
    // spec: MGR-01
    assert_eq!(answers.len(), 1, "all got the same fifty");
    // spec: MGR-01
    assert_eq!(manager.containers().len(), 50);
    for (round, container) in manager.containers().iter().enumerate() {
        // spec: MGR-02
        assert_eq!(container.handle(), format!("x-new{round}"));
    }
}

#[test]
fn eight_threads_of_malformed_and_valid_messages() {
    const EACH: u64 = 5_000;
    let manager = Manager::new();
    let main = silent(&manager, "x-mixed");
    let tally = Tally::new(8);
    let read = tally.clone();
    let system = reader("sink", move |message| read.next(message));
    main.claim().unwrap().add_system(system).unwrap();
    main.start_with(NOW).unwrap();
    let bad = [
        json!(7),
        json!({}),
        json!({ "destination": [] }),
        json!({ "destination": { "system": "sink" } }),
        json!({ "destination": { "container": "", "system": "sink" } }),
        json!({ "destination": { "container": "x-mixed" } }),
        json!({ "destination": { "container": "x-mixed", "system": null } }),
        json!({ "destination": { "container": "x-mixed", "system": "nobody" } }),
        json!({ "destination": { "container": "x-nowhere", "system": "sink" } }),
    ];
    let senders: Vec<_> = (0..8)
        .map(|from| {
            let (manager, bad) = (manager.reference(), bad.clone());
            spawn(move || {
                let (mut valid, mut refused) = (0, 0);
                for n in 0..EACH {
                    if n % 2 == 0 {
                        manager
                            .message_submit(message("x-mixed", "sink", from, valid))
                            .unwrap();
                        valid += 1;
                    } else {
                        let index = usize::try_from(n).unwrap() / 2 % bad.len();
                        let outcome: Result<(), MessageError> =
                            manager.message_submit(bad[index].clone());
                        refused += u64::from(outcome.is_err());
                    }
                }
                (valid, refused)
            })
        })
        .collect();
    for sender in senders {
        // spec: ERR-01, MSG-13
        assert_eq!(sender.join("a sender"), (EACH / 2, EACH / 2));
    }
    // spec: ERR-01, DEL-01
    until("the valid messages", || tally.sum() == 8 * EACH / 2);
    manager.shutdown();
    // spec: ERR-01, DEL-01
    assert_eq!((tally.sum(), manager.containers().len()), (8 * EACH / 2, 1));
}

#[test]
fn deferred_functions_while_containers_are_made_and_dropped() {
    const EACH: usize = 2_000;
    /// Counts itself when it is dropped, whether its function ran or not.
    struct Captured(Arc<AtomicUsize>);
    impl Drop for Captured {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let manager = Manager::new();
    let counts = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let [ran, dropped, running] = counts.clone();
    let steady = silent(&manager, "x-steady");
    steady.start_with(NOW).unwrap();
    let current =
        Arc::new(Mutex::new([0, 1].map(|_| {
            ecs::OwnedContainer::attached("x-brief", &manager).unwrap()
        })));
    let makers: Vec<_> = (0..2)
        .map(|which| {
            let (manager, current) = (manager.reference(), Arc::clone(&current));
            let running = Arc::clone(&running);
            spawn(move || {
                let mut made = 0;
                while made < 10 || running.load(Ordering::Relaxed) < 8 {
                    let new = ecs::OwnedContainer::attached("x-brief", &manager).unwrap();
                    new.set_silent();
                    new.start_with(NOW).unwrap();
                    let old = std::mem::replace(&mut current.lock().unwrap()[which], new);
                    drop(old);
                    made += 1;
                }
                made
            })
        })
        .collect();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (ran, dropped) = (Arc::clone(&ran), Arc::clone(&dropped));
            let (steady, current) = (steady.clone(), Arc::clone(&current));
            let running = Arc::clone(&running);
            spawn(move || {
                for n in 0..EACH {
                    let (ran, captured) = (Arc::clone(&ran), Captured(Arc::clone(&dropped)));
                    let container = match n % 4 {
                        0 => steady.clone(),
                        which => Container::clone(&current.lock().unwrap()[which % 2]),
                    };
                    container.defer(move |_| {
                        let _ = &captured;
                        ran.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    });
                }
                running.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    for thread in threads {
        thread.join("a thread that defers");
    }
    for maker in makers {
        assert!(maker.join("a thread that makes containers") >= 10);
    }
    let last = steady.defer_ticket(|_| Ok(()));
    last.wait_for(common::wait::PATIENCE).unwrap();
    drop(Arc::into_inner(current).expect("all others have ended"));
    drop(manager);
    // spec: DEF-01, DEF-08, DEF-07
    assert_eq!(dropped.load(Ordering::Relaxed), 8 * EACH);
    let ran = ran.load(Ordering::Relaxed);
    // spec: DEF-02
    assert!((8 * EACH / 4..=8 * EACH).contains(&ran), "{ran}");
    no_thread_named("x-brief");
}

#[test]
fn each_senders_deferred_functions_run_once_and_in_order() {
    const EACH: u64 = 2_000;
    let manager = Manager::new();
    let main = silent(&manager, "x-defer");
    main.start_with(NOW).unwrap();
    let tally = Tally::new(4);
    let senders: Vec<_> = (0..4)
        .map(|from| {
            let (main, tally) = (main.clone(), tally.clone());
            spawn(move || {
                for n in 0..EACH {
                    let tally = tally.clone();
                    main.defer(move |_| {
                        tally.next(&json!({ "from": from, "n": n }));
                        Ok(())
                    });
                }
            })
        })
        .collect();
    for sender in senders {
        sender.join("a sender");
    }
    // spec: DEF-02, DEF-03
    until("all deferred functions", || tally.sum() == 4 * EACH);
    manager.shutdown();
    assert!(main.failure().is_none());
}

#[test]
fn logging_through_replacements_of_the_destination() {
    const REPLACEMENTS: usize = 5_000;
    struct Destination(Arc<AtomicUsize>);
    impl Drop for Destination {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let logger = Logger::standard();
    logger.set_silent();
    let written = Arc::new(AtomicUsize::new(0));
    let dropped = Arc::new(AtomicUsize::new(0));
    let install = |number: usize| {
        let (written, alive) = (Arc::clone(&written), Destination(Arc::clone(&dropped)));
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        logger.set_destination(move |message, level| {
            let _ = (&alive, number);
            // spec: LOG-13
            assert!(!ended.load(Ordering::Relaxed), "it was dropped");
            assert!(message == "[s] line" && level == "info");
            written.fetch_add(1, Ordering::Relaxed);
        });
        seen
    };
    install(0);
    let stop = Arc::new(AtomicBool::new(false));
    let loggers: Vec<_> = (0..2)
        .map(|_| {
            let (logger, stop) = (logger.with_prefix("s"), Arc::clone(&stop));
            spawn(move || {
                let mut lines = 0;
                while !stop.load(Ordering::Relaxed) {
                    logger.log("line");
                    lines += 1;
                }
                lines
            })
        })
        .collect();
    for number in 1..=REPLACEMENTS {
        install(number);
    }
    until("some lines", || written.load(Ordering::Relaxed) > 100);
    stop.store(true, Ordering::Relaxed);
    let lines: usize = loggers
        .into_iter()
        .map(|thread| thread.join("a thread that logs"))
        .sum();
    // spec: LOG-06, LOG-13
    assert_eq!(written.load(Ordering::Relaxed), lines);
    logger.set_silent();
    // spec: LOG-13
    assert_eq!(dropped.load(Ordering::Relaxed), REPLACEMENTS + 1);
}

#[test]
fn five_hundred_rounds_of_start_and_stop() {
    let manager = Manager::new();
    for round in 0..500 {
        let trace = Trace::default();
        let owned = ecs::OwnedContainer::attached("x-round", &manager).unwrap();
        owned.set_silent();
        let from_inside = round % 2 == 0;
        let probe = Probe::new("a", &trace).update(move |cx| {
            if from_inside {
                cx.container().stop();
            }
            Ok(())
        });
        owned.claim().unwrap().add_system(probe.reg()).unwrap();
        owned
            .start_with(if round % 3 == 0 { NOW } else { ms(1) })
            .unwrap();
        if from_inside {
            until("the stop from inside", || {
                owned.state() == ContainerState::Stopped
            });
        }
        // spec: STOP-01, STOP-02, STOP-04
        assert_eq!(owned.stop(), StopOutcome::Complete);
        drop(owned);
        let mut events = trace.take();
        events.retain(|event| event != "a.update");
        let line = events.join(" ");
        // spec: SHUT-01, STOP-14
        assert!(
            line == "a.init a.shutdown a.drop" || (!from_inside && line == "a.drop"),
            "{line}"
        );
    }
    // spec: STOP-02
    no_thread_named("x-round");
    // spec: RUN-13
    assert!(manager.containers().is_empty() && manager.is_running());
}
