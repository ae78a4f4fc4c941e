//! Claims, passes and stops of a container without a thread.
//!
//! Each of these faults was planted by itself, and was seen by the case named:
//!
//! | fault | case |
//! | --- | --- |
//! | a holder parks after a look at the stop outside the life lock | `claims_exclude_each_other_and_carry_a_stop_out` |
//! | a container counts as stopped when its teardown begins | `two_stops_and_a_pass_shut_down_once_and_return_after_it` |
//! | a release stays parked during its teardown | `an_owner_returns_after_the_end_of_everything` |
//! | a container counts as gone before its world is dropped | `an_owner_returns_after_the_end_of_everything` |
//! | `give_back` wakes nobody | `a_stop_from_container_code_waits_for_nobody` |
//! | a waiter does not count itself | `a_stop_meets_the_pass_of_a_claim` |
//! | `end_claimed_pass` wakes nobody | `a_stop_does_not_wait_for_a_claim_that_is_kept_after_its_pass` |

use super::*;
use crate::base::model::{check, check_within, spawn};
use crate::runtime::{Container, ContainerState, StopOutcome};

/// Stops; on return of a complete stop everything is shut down, once.
fn stop(container: &Container, seen: &Seen) -> StopOutcome {
    let outcome = container.stop();
    if outcome == StopOutcome::Complete {
        assert_eq!(seen.shut(), 1, "at the return of a complete stop");
    }
    outcome
}

fn assert_stopped(container: &Container, seen: &Seen) {
    assert_eq!(container.state(), ContainerState::Stopped);
    assert_eq!((seen.shut(), seen.dropped()), (1, 0));
    assert_eq!(container.stop(), StopOutcome::Complete);
    let updated = seen.updated();
    container.update().unwrap();
    assert_eq!((seen.updated(), seen.shut()), (updated, 1));
}

#[test]
fn claims_exclude_each_other_and_carry_a_stop_out() {
    // spec: LCK-04
    check(|| {
        let (container, seen) = initialized();
        let holders = Arc::new(AtomicUsize::new(0));
        let claiming = [(); 2].map(|()| {
            let (container, holders) = (container.clone(), Arc::clone(&holders));
            spawn(move || {
                if let Ok(claim) = container.claim() {
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                    assert_eq!(container.state(), ContainerState::Claimed);
                    assert_eq!(holders.fetch_sub(1, Ordering::SeqCst), 1);
                    drop(claim);
                }
            })
        });
        let outcome = stop(&container, &seen);
        assert_ne!(outcome, StopOutcome::TimedOut);
        for thread in claiming {
            thread.join().unwrap();
        }
        assert_stopped(&container, &seen);
    });
}

#[test]
fn two_stops_and_a_pass_shut_down_once_and_return_after_it() {
    // spec: LCK-04
    check_within(3, || {
        let (container, seen) = initialized();
        let updated = container.clone();
        let pass = spawn(move || _ = updated.update());
        let (stopped, also_seen) = (container.clone(), Arc::clone(&seen));
        let other = spawn(move || stop(&stopped, &also_seen));
        assert_eq!(stop(&container, &seen), StopOutcome::Complete);
        assert_eq!(other.join().unwrap(), StopOutcome::Complete);
        pass.join().unwrap();
        assert!(seen.updated() <= 1);
        assert_stopped(&container, &seen);
    });
}

#[test]
fn a_stop_meets_the_pass_of_a_claim() {
    // spec: LCK-04
    check(|| {
        let (container, seen) = initialized();
        let claimed = container.clone();
        let other = spawn(move || {
            if let Ok(mut claim) = claimed.claim() {
                claim.update().unwrap();
            }
        });
        assert_ne!(stop(&container, &seen), StopOutcome::TimedOut);
        other.join().unwrap();
        assert_stopped(&container, &seen);
    });
}

#[test]
fn a_stop_from_container_code_waits_for_nobody() {
    // spec: LCK-04
    check(|| {
        let (container, seen) = initialized();
        container.defer(|cx| {
            assert_eq!(cx.container().stop(), StopOutcome::Requested);
            Ok(())
        });
        let updated = container.clone();
        let pass = spawn(move || _ = updated.update());
        assert_eq!(stop(&container, &seen), StopOutcome::Complete);
        pass.join().unwrap();
        assert_stopped(&container, &seen);
    });
}

#[test]
fn an_owner_returns_after_the_end_of_everything() {
    // spec: LCK-04
    check_within(3, || {
        let (owned, seen) = initialized();
        let container = owned.clone();
        let updated = container.clone();
        let pass = spawn(move || _ = updated.update());
        let (stopped, also_seen) = (container.clone(), Arc::clone(&seen));
        let other = spawn(move || stop(&stopped, &also_seen));
        drop(owned);
        assert_eq!((seen.shut(), seen.dropped()), (1, 1));
        assert_eq!(other.join().unwrap(), StopOutcome::Complete);
        pass.join().unwrap();
        assert_eq!(container.state(), ContainerState::Gone);
        assert_eq!((seen.shut(), seen.dropped()), (1, 1));
    });
}

#[test]
fn an_owner_leaves_the_end_to_a_claim() {
    // spec: LCK-04
    check(|| {
        let (owned, seen) = initialized();
        let container = owned.clone();
        let claimed = container.clone();
        let other = spawn(move || drop(claimed.claim()));
        drop(owned);
        other.join().unwrap();
        assert_eq!(container.state(), ContainerState::Gone);
        assert_eq!((seen.shut(), seen.dropped()), (1, 1));
    });
}

#[test]
fn a_stop_does_not_wait_for_a_claim_that_is_kept_after_its_pass() {
    // spec: LCK-04
    check(|| {
        let (container, seen) = initialized();
        let mut claim = container.claim().unwrap();
        let (stopped, also_seen) = (container.clone(), Arc::clone(&seen));
        let other = spawn(move || stop(&stopped, &also_seen));
        claim.update().unwrap();
        assert_ne!(other.join().unwrap(), StopOutcome::TimedOut);
        drop(claim);
        assert_stopped(&container, &seen);
    });
}
