//! Cases too large for all orders: several threads on each side, many messages and functions. `base::schedules` says how
//! to run them.
//!
//! Each of these faults was planted by itself, and was seen by the case named, within the number of schedules that a run
//! takes unless told otherwise:
//!
//! | fault | case |
//! | --- | --- |
//! | `give_back` wakes nobody | `an_owner_goes_while_everybody_uses_what_it_owns` |
//! | a waiter does not count itself | `containers_that_talk_are_stopped_from_all_sides` and all others with a stop |
//! | the thread looks at the stop outside the lock before it sleeps | `threads_start_while_the_manager_shuts_down` |
//! | the last act wakes nobody | `containers_that_talk_are_stopped_from_all_sides` |
//! | who has joined wakes no other waiter | `containers_that_talk_are_stopped_from_all_sides` |
//! | a stop does not wait for the end of the thread | `containers_that_talk_are_stopped_from_all_sides` |
//! | `start` asks the manager before it takes the life lock | `threads_start_while_the_manager_shuts_down` |
//! | the manager asks its containers before it stores that it is down | `threads_start_while_the_manager_shuts_down` |
//! | the teardown leaves the queue of functions open | `four_defer_while_the_container_stops` |
//! | a ticket is told without waking who waits | `four_defer_while_the_container_stops` |
//! | `take_into` clears `ready` after letting go of the lock | `every_deferred_function_runs_while_nobody_stops` |
//! | `Mailbox::push` sets `ready` and rings before it takes the lock | `every_message_to_a_system_that_stays_is_read` |
//! | `Mailbox::push` looks at `closed` under a lock of its own | `a_system_is_replaced_while_three_send_to_it` |
//! | a collection clears `ready` after letting go of the lock | `every_message_to_a_system_that_stays_is_read` |
//! | a collection puts what is unread behind what is new | `every_message_to_a_system_that_stays_is_read` |
//! | a destination is replaced in two steps | `a_destination_is_replaced_while_three_log` |
//! | a line is written while the lock is held | `a_destination_is_replaced_while_three_log` |

use std::sync::Mutex;

use super::*;
use crate::base::lock::thread::{self, JoinHandle, spawn};
use crate::base::schedules::check;
use crate::runtime::{Container, ContainerState, Manager, Register, StopOutcome, TicketError};
use serde_json::{Value, json};

const NOW: Duration = Duration::ZERO;

fn join<T>(threads: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    let joined = threads.into_iter().map(|thread| thread.join().unwrap());
    joined.collect()
}

/// What came of the messages of several senders, each of which numbers its own from 1 on.
#[derive(Default)]
struct Post {
    /// By system, in the order in which it reads: sender, number.
    read: Mutex<Vec<Vec<(usize, u64)>>>,
}

impl Post {
    /// Sends the messages up to a number to `system`, each again until it is accepted.
    fn send(from: usize, count: u64, system: &str, mut submit: impl FnMut(Value) -> bool) {
        for number in 1..=count {
            let message =
                || json!({ "destination": { "system": system }, "from": from, "number": number });
            while !submit(message()) {
                thread::yield_now();
            }
        }
    }

    fn reader(self: &Arc<Self>, seen: &Arc<Seen>) -> Reader {
        let mut read = self.read.lock().unwrap();
        read.push(Vec::new());
        Reader {
            post: Arc::clone(self),
            number: read.len() - 1,
            probe: Probe(Arc::clone(seen)),
        }
    }

    fn count(&self) -> usize {
        self.read.lock().unwrap().iter().map(Vec::len).sum()
    }

    /// Each system has read each sender's messages without a gap, and later systems have read later ones. Gives how many
    /// of each sender were read, and the last number.
    fn check(&self, senders: usize) -> Vec<(usize, u64)> {
        let read = self.read.lock().unwrap();
        (0..senders)
            .map(|sender| {
                let (mut count, mut last) = (0, 0);
                for system in &*read {
                    let of_sender = system.iter().filter(|(from, _)| *from == sender);
                    let numbers: Vec<u64> = of_sender.map(|(_, number)| *number).collect();
                    let steps = numbers.windows(2).all(|two| two[1] == two[0] + 1);
                    let later = numbers.first().is_none_or(|first| *first > last);
                    assert!(steps && later, "sender {sender}: {read:?}");
                    count += numbers.len();
                    last = numbers.last().copied().unwrap_or(last);
                }
                (count, last)
            })
            .collect()
    }
}

struct Reader {
    post: Arc<Post>,
    number: usize,
    probe: Probe,
}

impl Reader {
    fn read(&self, cx: &mut Context<'_>, most: usize) {
        for _ in 0..most {
            let Some(message) = cx.this.next_message() else {
                return;
            };
            let from = message["from"].as_u64().unwrap_or(0);
            let entry = (from as usize, message["number"].as_u64().unwrap_or(0));
            self.post.read.lock().unwrap()[self.number].push(entry);
        }
    }
}

impl System for Reader {
    fn initialize(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.probe.initialize(cx)
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        // Some stay unread, beside what comes next.
        self.read(cx, 2);
        // A thread that runs one pass after the other has to let others run, whatever its priority.
        thread::yield_now();
        self.probe.update(cx)
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.read(cx, usize::MAX);
        self.probe.shutdown(cx)
    }
}

#[test]
fn a_system_is_replaced_while_three_send_to_it() {
    // spec: LCK-04, DEL-01, DEL-02, DEL-06
    check(|| {
        let (container, post) = (
            OwnedContainer::new("main").unwrap(),
            Arc::new(Post::default()),
        );
        container.set_silent();
        let seen = Arc::new(Seen::default());
        let add = |cx: &mut Context<'_>| {
            let reader = post.reader(&seen).named("s").every_pass();
            cx.add_system(reader).unwrap();
        };
        add(&mut container.claim().unwrap().context());
        let senders = [0, 1, 2].map(|from| {
            let container = container.clone();
            spawn(move || {
                Post::send(from, 5, "s", |message| {
                    container.message_submit(message).is_ok()
                });
            })
        });
        for pass in 0..5 {
            container.update().unwrap();
            if pass % 2 == 1 {
                add(&mut container.claim().unwrap().context());
            }
        }
        join(senders);
        container.update().unwrap();
        for (read, last) in post.check(3) {
            // The last system was there when the last message came, or that went with the one before.
            assert!(read <= 5 && last <= 5);
        }
        // Nobody replaces any more: what is sent now arrives.
        let submit = |message| container.message_submit(message).is_ok();
        Post::send(3, 2, "s", submit);
        for _ in 0..9 {
            container.update().unwrap();
        }
        assert_eq!(post.check(4)[3], (2, 2));
        drop(container);
        assert_eq!(seen.shut(), seen.initialized());
        assert_eq!(seen.dropped(), 3);
    });
}

#[test]
fn every_message_to_a_system_that_stays_is_read() {
    // spec: LCK-04, DEL-01, DEL-02
    check(|| {
        let (manager, post) = (Manager::new(), Arc::new(Post::default()));
        let (main, seen) = (
            manager.container("main").unwrap(),
            Arc::new(Seen::default()),
        );
        main.set_silent();
        let reader = post.reader(&seen).named("s").every_pass();
        main.claim().unwrap().add_system(reader).unwrap();
        main.start_with(NOW).unwrap();
        // A stop that came before the thread's first step would start nothing.
        main.defer_ticket(|_| Ok(())).wait().unwrap();
        let senders = [0, 1, 2].map(|from| {
            let (main, manager) = (main.clone(), manager.reference());
            spawn(move || {
                Post::send(from, 4, "s", |mut message| match from {
                    0 => main.message_submit(message).is_ok(),
                    1 => main.mailbox("s").unwrap().send(message).is_ok(),
                    _ => {
                        message["destination"]["container"] = "main".into();
                        manager.message_submit(message).is_ok()
                    }
                });
            })
        });
        join(senders);
        // Without another message that would draw attention to those before.
        while post.count() < 12 {
            thread::yield_now();
        }
        Post::send(3, 1, "s", |message| main.message_submit(message).is_ok());
        // What was accepted before a stop is read, if only in the shutdown.
        assert_eq!(main.stop(), StopOutcome::Complete);
        assert_eq!(post.check(4), [(4, 4), (4, 4), (4, 4), (1, 1)]);
        assert_eq!((seen.initialized(), seen.shut()), (1, 1));
        drop(manager);
        assert_no_thread(&main);
    });
}

/// Nothing is left of the thread.
fn assert_no_thread(container: &Container) {
    assert_ne!(container.state(), ContainerState::Running);
    let life = container.shared.life();
    assert!(!life.cycle.is_threaded() || life.thread.ended);
    assert!(life.thread.handle.is_none());
}

#[test]
fn containers_that_talk_are_stopped_from_all_sides() {
    // spec: LCK-04, DEL-09
    check(|| {
        let (manager, seen) = (Manager::new(), Arc::new(Seen::default()));
        let posts = [(); 3].map(|()| Arc::new(Post::default()));
        let names = ["a", "b", "c"];
        let containers = names.map(|name| manager.container(name).unwrap());
        for (from, container) in containers.iter().enumerate() {
            container.set_silent();
            let mut claim = container.claim().unwrap();
            let reader = posts[from].reader(&seen).named("s").every_pass();
            claim.add_system(reader).unwrap();
            let mut number = 0;
            let talker = crate::runtime::system("talker", move |cx: &mut Context<'_>| {
                let manager = cx.manager().ok_or("no manager")?;
                for to in names {
                    let message = json!({
                        "destination": { "container": to, "system": "s" }, "from": from, "number": number + 1,
                    });
                    // Refused by one that has been stopped; what it refuses first it refuses for ever.
                    _ = manager.message_submit(message);
                }
                number += 1;
                Ok(())
            });
            claim.add_system(talker.every_pass()).unwrap();
        }
        for container in &containers {
            container.start_with(NOW).unwrap();
        }
        let [a, b, c] = containers.clone();
        let inside = c.clone();
        c.defer(move |_| {
            assert_ne!(inside.stop(), StopOutcome::TimedOut);
            Ok(())
        });
        let other = manager.reference();
        let stopping = [
            spawn(move || assert_eq!(a.stop(), StopOutcome::Complete)),
            spawn(move || assert_eq!(b.stop(), StopOutcome::Complete)),
            spawn(move || b_and_all(&other)),
        ];
        manager.shutdown();
        for container in &containers {
            assert_no_thread(container);
        }
        assert_eq!(seen.shut(), seen.initialized());
        join(stopping);
        for post in posts {
            post.check(3);
        }
        drop(manager);
        assert_eq!(seen.dropped(), 3);
        assert!(containers.iter().all(|it| it.failure().is_none()));
    });
}

fn b_and_all(manager: &crate::runtime::ManagerRef) {
    let b = manager.container("b").map(|b| b.stop());
    assert_eq!(b.ok(), Some(StopOutcome::Complete));
    manager.shutdown();
}

#[test]
fn threads_start_while_the_manager_shuts_down() {
    // spec: LCK-04
    check(|| {
        let (manager, seen) = (Manager::new(), Arc::new(Seen::default()));
        let starting = [0, 1, 2, 3].map(|number| {
            let (manager, seen) = (manager.reference(), Arc::clone(&seen));
            spawn(move || {
                // Two ask for each.
                let container = manager.container(["a", "b"][number % 2]).unwrap();
                container.set_silent();
                if let Ok(mut claim) = container.claim() {
                    let probe = Probe(Arc::clone(&seen)).named(format!("{number}"));
                    claim.add_system(probe.every_pass()).unwrap();
                }
                // Refused while the other one has the claim.
                _ = container.start_with(FOR_EVER);
                container
            })
        });
        let other = manager.reference();
        let stopping = spawn(move || other.shutdown());
        manager.shutdown();
        let containers = join(starting);
        join([stopping]);
        for container in &containers {
            assert_no_thread(container);
            assert_eq!(containers.iter().filter(|it| *it == container).count(), 2);
        }
        assert_eq!(
            (manager.containers().len(), manager.is_running()),
            (2, false)
        );
        drop(manager);
        assert_eq!(seen.shut(), seen.initialized());
        assert!(
            containers
                .iter()
                .all(|it| it.state() == ContainerState::Gone)
        );
    });
}

struct Captured(Arc<Seen>);

impl Drop for Captured {
    fn drop(&mut self) {
        note(&self.0.dropped);
    }
}

/// A container on its thread that runs pass after pass.
fn running(seen: &Arc<Seen>) -> OwnedContainer {
    let container = OwnedContainer::new("main").unwrap();
    container.set_silent();
    let mut claim = container.claim().unwrap();
    let reader = Arc::new(Post::default()).reader(seen);
    claim.add_system(reader.named("s").every_pass()).unwrap();
    claim.start_with(NOW).unwrap();
    container
}

#[test]
fn every_deferred_function_runs_while_nobody_stops() {
    // spec: LCK-04
    check(|| {
        let container = running(&Arc::default());
        let deferring = [0, 1, 2].map(|_| {
            let container = container.clone();
            spawn(move || {
                for number in 0..3 {
                    let ticket = container.defer_ticket(move |_| Ok(number));
                    // The last of all has nobody after it to draw attention to it.
                    assert_eq!(ticket.wait(), Ok(number));
                }
            })
        });
        join(deferring);
        assert_eq!(container.stop(), StopOutcome::Complete);
        assert_no_thread(&container);
    });
}

#[test]
fn four_defer_while_the_container_stops() {
    // spec: LCK-04
    check(|| {
        let (system, functions) = (Arc::new(Seen::default()), Arc::new(Seen::default()));
        let container = running(&system);
        // A stop that came before the thread's first step would start nothing.
        container.defer_ticket(|_| Ok(())).wait().unwrap();
        let deferring = [0, 1, 2, 3].map(|_| {
            let (container, system) = (container.clone(), Arc::clone(&system));
            let functions = Arc::clone(&functions);
            spawn(move || {
                let mut last = 0;
                for number in 1..=3 {
                    let (captured, system) =
                        (Captured(Arc::clone(&functions)), Arc::clone(&system));
                    let ticket = container.defer_ticket(move |_| {
                        note(&captured.0.updated);
                        thread::yield_now();
                        Ok((number, system.shut()))
                    });
                    match ticket.wait() {
                        Ok((number, shut)) => {
                            assert_eq!((number, shut), (last + 1, 0));
                            last = number;
                        }
                        Err(error) => assert_eq!(error, TicketError::Dropped),
                    }
                }
                last
            })
        });
        thread::yield_now();
        assert_eq!(container.stop(), StopOutcome::Complete);
        assert_eq!(system.shut(), 1);
        let ran: usize = join(deferring).into_iter().sum();
        assert_eq!((functions.updated(), functions.dropped()), (ran, 12));
        assert_no_thread(&container);
    });
}

#[test]
fn a_destination_is_replaced_while_three_log() {
    // spec: LCK-04
    check(|| {
        let (container, destinations) = (
            OwnedContainer::new("main").unwrap(),
            Arc::new(Seen::default()),
        );
        let lines = Arc::new(Mutex::new(Vec::new()));
        let replace = |number: usize| {
            let (kept, lines) = (Captured(Arc::clone(&destinations)), Arc::clone(&lines));
            container.set_logger(move |message, _| {
                thread::yield_now();
                let _ = &kept;
                lines.lock().unwrap().push((message.to_owned(), number));
            });
        };
        replace(0);
        let logging = [0, 1, 2].map(|from| {
            let container = container.clone();
            spawn(move || (0..4).for_each(|n| container.log(format!("{from}{n}"))))
        });
        for number in 1..=3 {
            replace(number);
            container.log("own");
            // A line that begins after the call goes to the new one.
            let last = lines
                .lock()
                .unwrap()
                .iter()
                .rfind(|(line, _)| line == "own")
                .cloned();
            assert_eq!(last, Some(("own".to_owned(), number)));
        }
        join(logging);
        // Those that were replaced are gone with their last line.
        assert_eq!(destinations.dropped(), 3);
        let lines = lines.lock().unwrap();
        for from in 0..3 {
            let of_one: Vec<&str> = lines
                .iter()
                .filter(|(line, _)| line.starts_with(char::from(b'0' + from)))
                .map(|(line, _)| &line[1..])
                .collect();
            assert_eq!(of_one, ["0", "1", "2", "3"]);
        }
    });
}

#[test]
fn an_owner_goes_while_everybody_uses_what_it_owns() {
    // spec: LCK-04
    check(|| {
        let (owned, seen) = initialized();
        let functions = Arc::new(Seen::default());
        let users = [0, 1, 2, 3, 4].map(|number| {
            let (container, functions) = (owned.clone(), Arc::clone(&functions));
            spawn(move || {
                for _ in 0..2 {
                    match number {
                        0 => _ = container.update(),
                        1 => drop(container.claim()),
                        2 => {
                            let captured = Captured(Arc::clone(&functions));
                            container.defer(move |_| {
                                note(&captured.0.updated);
                                Ok(())
                            });
                        }
                        3 => _ = container.start_with(FOR_EVER),
                        _ => _ = container.stop(),
                    }
                }
            })
        });
        let container = owned.clone();
        drop(owned);
        join(users);
        assert_eq!(container.state(), ContainerState::Gone);
        assert_eq!((seen.shut(), seen.dropped()), (1, 1));
        assert_eq!(functions.dropped(), 2);
        assert_no_thread(&container);
    });
}
