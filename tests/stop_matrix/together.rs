//! Many callers at once, and managers whose containers talk while they end.

use std::sync::{Arc, Barrier};

use ecs::{Container, Manager, Register, StopOutcome, json};

use super::common::wait::{no_thread_named, spawn, until};
use super::common::{ms, once};
use super::scene::{ACTIONS, Action, Counted, Ledger, STATES, Scene, State};

#[test]
fn many_threads_stop_one_container_at_once() {
    for (number, state) in STATES.into_iter().enumerate() {
        let what = format!("eight stops at once, {state:?}");
        let mut scene = Scene::new(&format!("many{number}-"), state, Action::Stop);
        let together = Arc::new(Barrier::new(8));
        let callers: Vec<_> = (0..8)
            .map(|n| {
                let (call, together) = (scene.call(ACTIONS[n % 3]), Arc::clone(&together));
                spawn(move || {
                    together.wait();
                    call()
                })
            })
            .collect();
        if state.is_in_pass() {
            until("the requests", || scene.container.is_stop_requested());
            scene.go_on();
        }
        for (n, caller) in callers.into_iter().enumerate() {
            let outcome = caller.join(&what);
            if n % 3 == 0 {
                let expected = if state.is_claimed() {
                    StopOutcome::Requested
                } else {
                    StopOutcome::Complete
                };
                // spec: STOP-01, STOP-10, MGR-05
                assert_eq!(outcome, Some(expected), "{what}");
            }
        }
        scene.settle(&what);
    }
}

#[test]
fn a_claim_starts_nothing_once_a_stop_was_asked_for() {
    let scene = Scene::new("late-claim", State::Unstarted, Action::Stop);
    let claim = scene.container.claim().unwrap();
    scene.container.request_stop();
    claim.start().unwrap();
    // spec: RUN-05, STOP-14
    assert_eq!(scene.ledger.counts(), [0, 0, 0]);
    // spec: STOP-10
    assert_eq!(scene.container.state(), ecs::ContainerState::Stopped);
    scene.settle("a start with a stop asked for");
}

/// A system that sends to the other container on every update and keeps references to everything.
fn chatter(ledger: &Ledger, manager: &Manager, own: &Container, other: &str) -> Counted {
    let (manager, own) = (manager.reference(), own.clone());
    let other = other.to_owned();
    let mut counted = Counted::new(ledger);
    counted.on_update = Box::new(move || {
        let message = json!({ "destination": { "container": other, "system": "chatter" } });
        // The other one may have been stopped.
        let _ = manager.message_submit(message);
        let inner = own.clone();
        own.defer(move |_| {
            let _ = &inner;
            Ok(())
        });
        Ok(())
    });
    counted
}

#[test]
fn every_system_is_dropped_with_a_manager_whose_containers_talk() {
    for round in 0..20 {
        let manager = Manager::new();
        let ledger = Ledger::default();
        let names = ["chat-a", "chat-b", "chat-c"];
        let containers = names.map(|name| {
            let container = manager.container(name).unwrap();
            container.set_silent();
            container
        });
        for (n, container) in containers.iter().enumerate() {
            let mut claim = container.claim().unwrap();
            for handle in ["chatter", "second", "third"] {
                let system = chatter(&ledger, &manager, container, names[(n + 1) % 3]);
                claim.add_system(system.named(handle).every_pass()).unwrap();
            }
        }
        containers[0].start_with(ms(0)).unwrap();
        containers[1].start_with(ms(1)).unwrap();
        containers[2].update().unwrap();
        until("the threads' start-up steps", || ledger.counts()[0] == 9);
        if round % 2 == 0 {
            // A thread ends the manager while the containers talk.
            let reference = manager.reference();
            containers[0].defer(once_deferred(move || reference.shutdown()));
        }
        spawn(move || drop(manager)).join("the drop of a manager");
        // spec: MGR-10, SHUT-01, DEL-09, DEF-10
        assert_eq!(ledger.counts(), [9, 9, 9]);
        no_thread_named("chat-");
    }
}

fn once_deferred(
    code: impl FnOnce() + Send + 'static,
) -> impl FnOnce(&mut ecs::Context<'_>) -> ecs::SystemResult + Send + 'static {
    let mut run = once(move |_| {
        code();
        Ok(())
    });
    move |cx| run(cx)
}
