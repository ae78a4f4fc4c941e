//! A container's own thread: its start, its end, and those who wait for that.
//!
//! The thread is the real one of `runtime::thread`, on loom's scheduler. It initialises its system, then waits for a
//! pass that is not due as long as a case lasts.
//!
//! Each of these faults was planted by itself, and was seen by the case named:
//!
//! | fault | case |
//! | --- | --- |
//! | `start` does not look at the stop | `a_start_meets_a_stop` |
//! | a stop does not wait for the end of the thread | `a_start_meets_a_stop` |
//! | a stop waits for the last act, and does not join | `a_start_meets_a_stop` |
//! | the thread looks at the stop outside the lock before it sleeps | `a_start_meets_a_stop` |
//! | the last act wakes nobody | `a_start_meets_a_stop` |
//! | `spawn` wakes nobody when it has stored the handle | `a_start_meets_a_stop` |
//! | who has joined wakes no other waiter | `two_stops_wait_for_one_thread` |
//! | `start` asks the manager before it takes the life lock | `no_thread_survives_the_shutdown_of_its_manager` |
//! | the manager asks its containers before it stores that it is down | `no_thread_survives_the_shutdown_of_its_manager` |

use super::*;
use crate::base::model::{check, check_within, spawn};
use crate::runtime::{Container, ContainerState, Manager, Register, StartError, StopOutcome};

/// Nothing is left of the thread: not even its reference to what the container's references share, which it lets go of
/// after its last act.
fn assert_no_thread(container: &Container, references: usize) {
    assert_eq!(Arc::strong_count(&container.shared), references);
    let life = container.shared.life();
    assert!(!life.cycle.is_threaded() || (life.thread.done && life.thread.ended));
    assert!(life.thread.handle.is_none());
}

/// Stops; on return every system that was initialised is shut down, and the thread has ended.
fn stop(container: &Container, seen: &Seen) {
    assert_eq!(container.stop(), StopOutcome::Complete);
    assert_eq!(seen.shut(), seen.initialized(), "at the return of a stop");
    let life = container.shared.life();
    assert!(!life.cycle.is_threaded() || life.thread.ended);
}

#[test]
fn a_start_meets_a_stop() {
    // spec: LCK-04
    check(|| {
        let (container, seen) = fresh();
        let started = container.clone();
        let other = spawn(move || started.start_with(FOR_EVER).unwrap());
        stop(&container, &seen);
        other.join().unwrap();
        assert_eq!(container.state(), ContainerState::Stopped);
        assert_eq!(seen.shut(), seen.initialized());
        assert_no_thread(&container, 1);
    });
}

#[test]
fn two_stops_wait_for_one_thread() {
    // spec: LCK-04
    check_within(2, || {
        let (container, seen) = fresh();
        container.start_with(FOR_EVER).unwrap();
        let (stopped, also_seen) = (container.clone(), Arc::clone(&seen));
        let other = spawn(move || stop(&stopped, &also_seen));
        stop(&container, &seen);
        // The other one's reference may still be there, the thread's is not.
        assert!(Arc::strong_count(&container.shared) <= 2);
        other.join().unwrap();
        assert_no_thread(&container, 1);
    });
}

#[test]
fn two_starts_make_one_thread() {
    // spec: LCK-04
    check_within(2, || {
        let (container, seen) = fresh();
        let started = container.clone();
        let other = spawn(move || started.start_with(FOR_EVER).unwrap());
        container.start_with(FOR_EVER).unwrap();
        other.join().unwrap();
        stop(&container, &seen);
        assert!(seen.initialized() <= 1);
        assert_no_thread(&container, 1);
    });
}

#[test]
fn a_claim_starts_what_it_holds() {
    // spec: LCK-04
    check(|| {
        let (container, seen) = fresh();
        let claim = container.claim().unwrap();
        let other = spawn(move || claim.start_with(FOR_EVER).unwrap());
        let outcome = container.stop();
        assert_ne!(outcome, StopOutcome::TimedOut);
        other.join().unwrap();
        stop(&container, &seen);
        assert_no_thread(&container, 1);
    });
}

#[test]
fn a_claim_refuses_a_start_or_is_refused() {
    // spec: LCK-04
    check_within(2, || {
        let (container, seen) = fresh();
        let claimed = container.clone();
        let other = spawn(move || claimed.claim().is_ok());
        let started = container.start_with(FOR_EVER);
        let claimed = other.join().unwrap();
        match &started {
            Ok(()) => {}
            Err(StartError::Access(_)) => assert!(claimed),
            Err(other) => panic!("{other}"),
        }
        stop(&container, &seen);
        assert_no_thread(&container, 1);
    });
}

#[test]
fn an_owner_ends_the_thread() {
    // spec: LCK-04
    check(|| {
        let (owned, seen) = fresh();
        let container = owned.clone();
        let started = owned.clone();
        let other = spawn(move || {
            // Refused only if the owner has let go.
            _ = started.start_with(FOR_EVER);
        });
        drop(owned);
        assert_eq!((seen.shut(), seen.dropped()), (seen.initialized(), 1));
        other.join().unwrap();
        assert_eq!(container.state(), ContainerState::Gone);
        assert_eq!((seen.shut(), seen.dropped()), (seen.initialized(), 1));
        assert_no_thread(&container, 1);
    });
}

#[test]
fn no_thread_survives_the_shutdown_of_its_manager() {
    // spec: LCK-04
    check_within(3, || {
        let manager = Manager::new();
        let container = manager.container("main").unwrap();
        container.set_silent();
        let seen = add_probe(&container).unwrap();
        let started = container.clone();
        let other = spawn(move || started.start_with(FOR_EVER).unwrap());
        manager.shutdown();
        other.join().unwrap();
        assert_ne!(container.state(), ContainerState::Running);
        assert_eq!(seen.shut(), seen.initialized());
        drop(manager);
        assert_eq!(seen.dropped(), 1);
        assert_no_thread(&container, 1);
    });
}

#[test]
fn a_failure_ends_the_thread_and_shuts_the_manager_down() {
    // spec: LCK-04
    check_within(2, || {
        let manager = Manager::new();
        let container = manager.container("main").unwrap();
        container.set_silent();
        container
            .claim()
            .unwrap()
            .add_system(Failing.named("failing"))
            .unwrap();
        container.start_with(FOR_EVER).unwrap();
        let asked = manager.reference();
        let other = spawn(move || asked.shutdown());
        // Nobody else stops it but that other thread: either the failure came first, or the stop did.
        assert_eq!(container.stop(), StopOutcome::Complete);
        other.join().unwrap();
        assert!(!manager.is_running());
        drop(manager);
        assert_no_thread(&container, 1);
    });
}

struct Failing;

impl System for Failing {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        Err("on purpose".into())
    }

    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        Ok(())
    }
}
