//! Calls from a container's own code.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use ecs::StopOutcome;

use super::common::wait::receive;
use super::place::{PLACES, Place, drive, install};
use super::scene::{ACTIONS, Action, Scene, State};

fn from_own_code(name: &str, action: Action, place: Place, threaded: bool) {
    let what = format!("{action:?} in its own {place:?}, threaded: {threaded}");
    let mut scene = Scene::new(name, State::Unstarted, action);
    let (sender, outcomes) = channel();
    let call = Mutex::new(Some(scene.call(action)));
    let (container, ledger) = (scene.container.clone(), scene.ledger.clone());
    install(
        place,
        &scene.container,
        Box::new(move || {
            let before = ledger.shutdowns();
            let call = call.lock().unwrap().take();
            let outcome = call.and_then(|call| call());
            // A second time, and in every other way, while the first is under way.
            let again = container.stop();
            container.request_stop();
            let _ = sender.send((outcome, again, ledger.shutdowns() - before));
        }),
    );
    drive(place, &scene.container, threaded, &what);
    let (outcome, again, shut) = receive(&outcomes, &what);
    if action == Action::Stop {
        // spec: STOP-04, STOP-05, STOP-13, SHUT-08
        assert_eq!(outcome, Some(StopOutcome::Requested), "{what}");
    }
    // spec: STOP-01, STOP-04, STOP-05, SHUT-08
    assert_eq!((again, shut), (StopOutcome::Requested, 0), "{what}");
    scene.settle(&what);
}

#[test]
fn from_the_own_code_every_call_returns_at_once() {
    let mut number = 0;
    for action in ACTIONS {
        for place in PLACES {
            for threaded in [false, true] {
                number += 1;
                from_own_code(&format!("own{number}"), action, place, threaded);
            }
        }
    }
}
