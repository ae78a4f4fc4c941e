//! Where the library waits, and that nothing else does: while one thread is stuck in user code, every other call returns.
//!
//! A call that blocks ends the test program with a line that names it (`common::wait`).

mod common;

use std::time::Duration;

use common::wait::{Flag, Task, bounded, spawn};
use ecs::prelude::*;
use ecs::{
    AccessError, ContainerState, ManagerRef, OwnedContainer, StartError, StopOutcome, TicketError,
    UpdateError,
};

/// A thread that is stuck in user code of a container until it is let go.
struct Stuck<T> {
    thread: Task<T>,
    go: Flag,
}

impl<T> Stuck<T> {
    fn let_go(self) -> T {
        self.go.set();
        self.thread.join("the end of the stuck call")
    }
}

/// Two flags: reached, and go on.
fn gate() -> (Flag, Flag) {
    (Flag::default(), Flag::default())
}

fn stuck<T: Send + 'static>(
    (reached, go): (Flag, Flag),
    what: &str,
    code: impl FnOnce() -> T + Send + 'static,
) -> Stuck<T> {
    let thread = spawn(code);
    reached.wait(what);
    Stuck { thread, go }
}

/// A system that says so when it is called, and goes on when it is let go.
struct Sticking {
    gate: (Flag, Flag),
    in_update: bool,
}

impl Sticking {
    fn stick(&self) {
        self.gate.0.set();
        self.gate.1.wait("being let go");
    }
}

impl System for Sticking {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        if self.in_update {
            self.stick();
        }
        Ok(())
    }

    fn shutdown(&mut self, _: &mut Context<'_>) -> SystemResult {
        if !self.in_update {
            self.stick();
        }
        Ok(())
    }
}

fn add_sticking(container: &Container, in_update: bool) -> (Flag, Flag) {
    let gate = gate();
    let system = Sticking {
        gate: gate.clone(),
        in_update,
    };
    container.set_silent();
    let mut claim = container.claim().unwrap();
    claim
        .add_system(system.named("sticking").every_pass())
        .unwrap();
    claim.initialize_systems().unwrap();
    gate
}

/// Every call that any thread may make and that must not wait, each within bounds.
fn nothing_waits(manager: &ManagerRef, container: &Container, busy: ContainerState) {
    let each = |what: &'static str, call: fn(&ManagerRef, &Container)| {
        let (manager, container) = (manager.clone(), container.clone());
        bounded(what, move || call(&manager, &container));
    };
    let open = busy != ContainerState::Stopping;
    let seen = container.clone();
    // spec: LCK-03
    assert_eq!(bounded("state", move || seen.state()), busy);
    // A claim is never waited for, and neither waits for anybody.
    // spec: LCK-03
    each("claim", |_, container| {
        let refused = container.claim().map(drop).unwrap_err();
        assert!(!matches!(
            refused,
            AccessError::OwnPass { .. } | AccessError::Gone { .. }
        ));
    });
    let updated = container.clone();
    let outcome = bounded("update", move || updated.update());
    // A stopped container has nothing to update.
    if open {
        assert!(matches!(outcome, Err(UpdateError::Access(_))));
    } else {
        outcome.unwrap();
    }
    let started = container.clone();
    let outcome = bounded("start", move || started.start());
    if busy == ContainerState::Updating || busy == ContainerState::Claimed {
        assert!(matches!(outcome, Err(StartError::Access(_))));
    } else {
        outcome.unwrap();
    }
    // Sending never waits.
    // spec: LCK-03
    each("mailbox and send", |_, container| {
        if let Some(mailbox) = container.mailbox("sticking") {
            _ = mailbox.send(json!(1));
            _ = (mailbox.is_closed(), mailbox.handle());
        }
    });
    // spec: LCK-03
    each("message_submit", |manager, container| {
        let message =
            json!({ "destination": { "container": container.handle(), "system": "sticking" } });
        _ = container.message_submit(message.clone());
        _ = manager.message_submit(message);
    });
    // spec: LCK-03
    each("defer", |_, container| container.defer(|_| Ok(())));
    each("a ticket that is not waited for", |_, container| {
        let ticket = container.defer_ticket(|_| Ok(1));
        assert_ne!(ticket.try_take(), Some(Ok(1)));
        assert!(matches!(
            ticket.wait_for(Duration::from_millis(1)),
            Err(TicketError::TimedOut | TicketError::Dropped | TicketError::Taken)
        ));
    });
    each("log and its destination", |_, container| {
        container.log("a line");
        container
            .logger()
            .with_prefix("p")
            .log_at("warning", "another");
        container.set_logger(|_, _| ());
        container.log("a third");
        container.set_silent();
    });
    each("what is known of it", |manager, container| {
        _ = (container.handle(), container.id(), container.failure());
        _ = (container.running_system(), container.is_stop_requested());
        _ = (container.manager(), format!("{container:?} {manager:?}"));
        assert!(container.clone() == *container);
    });
    each("the table of containers", |manager, container| {
        assert!(manager.containers().contains(container));
        assert!(manager.container(container.handle()).unwrap() == *container);
        _ = manager.new_container().unwrap().handle();
        _ = manager.is_running();
    });
    each("another container", |manager, _| {
        let other = manager.container("other").unwrap();
        other.claim().unwrap().world().spawn(());
        other.update().unwrap();
    });
    container_code_does_not_wait(manager, container);
    // Still stuck: none of these calls has helped the other thread on.
    assert_eq!(container.state(), busy);
}

/// Not for a stop, not for a shutdown, not for a ticket. From here on the container is asked to stop.
fn container_code_does_not_wait(manager: &ManagerRef, container: &Container) {
    let each = |what: &'static str, call: fn(&ManagerRef, &Container)| {
        let (manager, container) = (manager.clone(), container.clone());
        bounded(what, move || call(&manager, &container));
    };
    // spec: LCK-03
    each("a ticket within container code", |manager, container| {
        let (other, asked) = (manager.new_container().unwrap(), container.clone());
        other.defer(move |_| {
            let ticket = asked.defer_ticket(|_| Ok(1));
            assert_eq!(ticket.wait(), Err(TicketError::InContainerCode));
            Ok(())
        });
        other.update().unwrap();
    });
    // spec: LCK-03
    each("a stop within container code", |manager, container| {
        let (other, asked) = (manager.new_container().unwrap(), container.clone());
        other.defer(move |_| {
            assert_eq!(asked.stop(), StopOutcome::Requested);
            assert_eq!(asked.stop_within(Duration::MAX), StopOutcome::Requested);
            Ok(())
        });
        other.update().unwrap();
    });
    each("request_stop", |_, container| container.request_stop());
    // A shutdown from container code asks, and goes on.
    // spec: LCK-03
    each("a shutdown within container code", |manager, _| {
        let (other, asked) = (manager.new_container().unwrap(), manager.clone());
        other.defer(move |_| {
            asked.shutdown();
            Ok(())
        });
        other.update().unwrap();
        assert!(!manager.is_running());
    });
}

/// What does wait: an application thread that stops it, until the stuck call is through.
fn a_stop_waits<T>(container: &Container, stuck: Stuck<T>) -> T {
    let stopped = container.clone();
    // spec: LCK-03
    assert_eq!(
        container.stop_within(Duration::from_millis(1)),
        StopOutcome::TimedOut
    );
    let stop = spawn(move || stopped.stop());
    // A limited wait beside it passes, and the unlimited one is not through.
    assert_eq!(
        container.stop_within(Duration::from_millis(5)),
        StopOutcome::TimedOut
    );
    assert!(stop.try_join().is_none());
    let value = stuck.let_go();
    assert_eq!(stop.join("the stop"), StopOutcome::Complete);
    assert_eq!(container.state(), ContainerState::Stopped);
    value
}

#[test]
fn nothing_waits_for_a_pass_of_another_thread_but_a_stop() {
    let manager = Manager::new();
    let container = manager.container("lck-pass").unwrap();
    let gate = add_sticking(&container, true);
    let updated = container.clone();
    let pass = stuck(gate, "the pass", move || updated.update());
    nothing_waits(&manager, &container, ContainerState::Updating);
    a_stop_waits(&container, pass).unwrap();
}

#[test]
fn nothing_waits_for_a_container_thread_but_a_stop() {
    let manager = Manager::new();
    let container = manager.container("lck-thread").unwrap();
    let gate = add_sticking(&container, true);
    let started = container.clone();
    let running = stuck(gate, "the pass", move || {
        started.start_with(Duration::from_millis(1)).unwrap();
    });
    nothing_waits(&manager, &container, ContainerState::Running);
    a_stop_waits(&container, running);
}

#[test]
fn nothing_waits_for_a_teardown_of_another_thread_but_a_stop() {
    let manager = Manager::new();
    let container = manager.container("lck-teardown").unwrap();
    let gate = add_sticking(&container, false);
    let stopped = container.clone();
    let teardown = stuck(gate, "the teardown", move || stopped.stop());
    nothing_waits(&manager, &container, ContainerState::Stopping);
    assert_eq!(a_stop_waits(&container, teardown), StopOutcome::Complete);
}

#[test]
fn nothing_waits_for_a_claim_not_even_a_stop() {
    let manager = Manager::new();
    let container = manager.container("lck-claim").unwrap();
    container.set_silent();
    let claim = container.claim().unwrap();
    nothing_waits(&manager, &container, ContainerState::Claimed);
    let stopped = container.clone();
    // A claim is never waited for.
    // spec: LCK-03
    assert_eq!(
        bounded("a stop of a claimed container", move || stopped.stop()),
        StopOutcome::Requested
    );
    drop(claim);
    assert_eq!(container.state(), ContainerState::Stopped);
    // Nor by the owner, who leaves the end to it.
    let owned = OwnedContainer::new("lck-owned").unwrap();
    let container = Container::clone(&owned);
    let claim = owned.claim().unwrap();
    // spec: LCK-03
    bounded("the drop of a claimed container", move || drop(owned));
    assert_eq!(container.state(), ContainerState::Claimed);
    drop(claim);
    assert_eq!(container.state(), ContainerState::Gone);
}

/// User code that is stuck outside a pass holds up nobody either: a log destination, a destructor of what was deferred.
#[test]
fn nothing_waits_for_user_code_outside_of_a_pass() {
    struct Slow((Flag, Flag));
    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.0.set();
            self.0.1.wait("being let go");
        }
    }
    let manager = Manager::new();
    let container = manager.container("lck-log").unwrap();
    let destination = gate();
    let (reached, go) = destination.clone();
    container.set_logger(move |line, _| {
        if line == "stuck" {
            reached.set();
            go.wait("being let go");
        }
    });
    let logging = container.clone();
    let logging = stuck(destination, "the destination", move || logging.log("stuck"));

    let ended = OwnedContainer::new("lck-dropped").unwrap();
    ended.set_silent();
    ended.stop();
    let end = gate();
    let slow = Slow(end.clone());
    let deferring = Container::clone(&ended);
    let deferring = stuck(end, "the destructor", move || {
        deferring.defer(move |_| {
            drop(slow);
            Ok(())
        });
    });
    let seen = Container::clone(&ended);
    // spec: LCK-03
    bounded("calls beside a destructor", move || {
        seen.defer(|_| Ok(()));
        seen.log_at("debug", "");
        assert_eq!(seen.stop(), StopOutcome::Complete);
        drop(seen.claim().unwrap());
    });
    let seen = container.clone();
    // spec: LCK-03
    bounded("calls beside a log destination", move || {
        seen.log("not stuck");
        seen.set_silent();
        seen.log("swallowed");
        drop(seen.claim().unwrap());
        seen.update().unwrap();
        assert_eq!(seen.stop(), StopOutcome::Complete);
    });
    logging.let_go();
    deferring.let_go();
}
