//! Calls from the application and from the code of other containers.

use std::sync::mpsc::channel;

use ecs::{ContainerState, Manager, StopOutcome};

use super::common::wait::{no_thread_named, receive, spawn, until};
use super::place::{PLACES, Place, drive, install};
use super::scene::{Action, STATES, SYSTEMS, Scene, State};

/// The container in whose code a call is made.
#[derive(Clone, Copy, Debug)]
struct Host {
    place: Place,
    threaded: bool,
    /// It belongs to the manager of the container that is called.
    same_manager: bool,
}

/// What an application thread is told by `stop`.
fn told_outside(state: State) -> StopOutcome {
    if state.is_claimed() {
        StopOutcome::Requested
    } else {
        StopOutcome::Complete
    }
}

/// What container code is told.
fn told_inside(state: State) -> StopOutcome {
    if state.is_torn() {
        StopOutcome::Complete
    } else {
        StopOutcome::Requested
    }
}

/// Whether an application thread waits for the pass under way.
fn waits(state: State, action: Action) -> bool {
    match action {
        Action::RequestStop => false,
        Action::ManagerShutdown => state == State::MidPass,
        _ => state.is_in_pass(),
    }
}

fn from_the_application(name: &str, state: State, action: Action) {
    let what = format!("{action:?} by the application, {state:?}");
    let mut scene = Scene::new(name, state, action);
    let call = scene.call(action);
    let caller = spawn(call);
    if waits(state, action) {
        until(&format!("the request ({what})"), || scene.is_asked(action));
        // spec: STOP-02, STOP-10, MGR-03, LCK-03
        assert!(caller.try_join().is_none(), "{what}");
        scene.go_on();
    }
    let outcome = caller.join(&what);
    if action == Action::Stop {
        // spec: STOP-02, STOP-03, STOP-10
        assert_eq!(outcome, Some(told_outside(state)), "{what}");
    }
    let complete = action != Action::RequestStop && !state.is_claimed();
    let reached = action != Action::ManagerShutdown || state.is_threaded() || state.is_torn();
    if complete && reached {
        let [started, shut, dropped] = scene.ledger.counts();
        // spec: STOP-02, STOP-03, MGR-03, MGR-09, STOP-07
        assert_eq!(shut, started, "{what}");
        let gone = matches!(action, Action::ManagerDrop | Action::OwnerDrop);
        // spec: STOP-01, MGR-09
        assert_eq!(dropped, if gone { SYSTEMS } else { 0 }, "{what}");
    }
    if !reached {
        // spec: MGR-07
        assert!(!scene.container.is_stop_requested(), "{what}");
    }
    scene.settle(&what);
}

fn from_container_code(name: &str, state: State, action: Action, host: Host) {
    let what = format!("{action:?} by {host:?}, {state:?}");
    let mut scene = Scene::new(name, state, action);
    let host_name = format!("h{name}");
    let other = Manager::new();
    let manager = if host.same_manager {
        scene.manager.as_ref().unwrap()
    } else {
        &other
    };
    let container = manager.container(host_name.as_str()).unwrap();
    container.set_silent();
    // A container of a manager that has shut down does not start.
    let threaded = host.threaded && manager.is_running();
    let (sender, outcomes) = channel();
    let call = scene.call(action);
    let call = std::sync::Mutex::new(Some(call));
    install(
        host.place,
        &container,
        Box::new(move || {
            let call = call.lock().unwrap().take();
            let _ = sender.send(call.map(|call| call()));
        }),
    );
    drive(host.place, &container, threaded, &what);
    // spec: STOP-06, STOP-11, STOP-15, MGR-04, LCK-03
    let outcome = receive(&outcomes, &what).flatten();
    if action == Action::Stop {
        // spec: STOP-06, STOP-10
        assert_eq!(outcome, Some(told_inside(state)), "{what}");
    }
    let shut = scene.ledger.shutdowns();
    match action {
        Action::Stop | Action::RequestStop | Action::ManagerShutdown
            if !state.is_threaded() && !state.is_torn() =>
        {
            // spec: STOP-06, MGR-07
            assert_eq!(shut, 0, "{what}");
            // spec: STOP-06, MGR-07, STOP-11
            assert_eq!(
                scene.container.is_stop_requested(),
                action != Action::ManagerShutdown,
                "{what}"
            );
        }
        Action::ManagerDrop | Action::OwnerDrop
            if matches!(
                state,
                State::Unstarted | State::Driven | State::Stopped | State::ManagerDown
            ) =>
        {
            // spec: STOP-15
            assert_eq!(scene.container.state(), ContainerState::Gone, "{what}");
        }
        // spec: STOP-06, STOP-04, MGR-04
        _ => assert!(scene.container.is_stop_requested(), "{what}"),
    }
    scene.settle(&what);
    super::common::wait::bounded(&format!("the end of the host ({what})"), move || {
        drop(other);
    });
    no_thread_named(&host_name);
}

fn matrix(action: Action) {
    let mut number = 0;
    let mut name = || {
        number += 1;
        format!("m{}-{number}", action as u8)
    };
    for state in STATES {
        from_the_application(&name(), state, action);
        for same_manager in [true, false] {
            for place in PLACES {
                let host = Host {
                    place,
                    threaded: false,
                    same_manager,
                };
                from_container_code(&name(), state, action, host);
            }
            let host = Host {
                place: Place::Update,
                threaded: true,
                same_manager,
            };
            from_container_code(&name(), state, action, host);
        }
    }
}

#[test]
fn a_stop() {
    matrix(Action::Stop);
}

#[test]
fn a_request_to_stop() {
    matrix(Action::RequestStop);
}

#[test]
fn the_shutdown_of_a_manager() {
    matrix(Action::ManagerShutdown);
}

#[test]
fn the_drop_of_a_manager() {
    matrix(Action::ManagerDrop);
}

#[test]
fn the_drop_of_an_owner() {
    matrix(Action::OwnerDrop);
}
