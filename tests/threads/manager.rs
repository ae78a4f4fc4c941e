//! Managers of containers that run on their own threads.

use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use ecs::{Container, ContainerState, Manager, StopOutcome, json};

use super::common::wait::{Flag, bounded, no_thread_named, spawn, until};
use super::common::{Probe, Trace, ms, once, secs};
use super::count;

fn add(manager: &Manager, handle: &str, probe: Probe) -> Container {
    let container = manager.container(handle).unwrap();
    container.set_silent();
    container.claim().unwrap().add_system(probe.reg()).unwrap();
    container
}

#[test]
fn a_shutdown_stops_every_threaded_container_and_nothing_else() {
    let manager = Manager::new();
    let traces = [(); 4].map(|()| Trace::default());
    let names = ["rm-a", "rm-b", "rm-slow", "rm-app"];
    let containers: Vec<_> = names
        .iter()
        .zip(&traces)
        .map(|(name, trace)| add(&manager, name, Probe::new(name, trace)))
        .collect();
    containers[0].start_with(ms(1)).unwrap();
    containers[1].start_with(ms(0)).unwrap();
    containers[2].start_with(secs(5)).unwrap();
    containers[3].update().unwrap();
    until("updates", || {
        traces[..2]
            .iter()
            .all(|trace| trace.line().contains("update"))
    });
    let owner = Arc::new(manager);
    let together = Arc::new(Barrier::new(4));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (manager, together) = (owner.reference(), Arc::clone(&together));
            let containers = containers.clone();
            spawn(move || {
                together.wait();
                manager.shutdown();
                // spec: MGR-03, MGR-05, MGR-13
                assert!(!manager.is_running());
                // spec: MGR-03, MGR-05
                for container in &containers[..3] {
                    assert_eq!(container.state(), ContainerState::Stopped);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join("the shutdown of a manager");
    }
    no_thread_named("rm-a");
    no_thread_named("rm-b");
    no_thread_named("rm-slow");
    for (name, trace) in names.iter().zip(&traces).take(3) {
        let events = trace.take();
        // spec: MGR-03, SHUT-11, STOP-14
        assert!(
            events.is_empty() || count(&events, &format!("{name}.shutdown")) == 1,
            "{events:?}"
        );
        assert!(events.last().is_none_or(|last| last.ends_with("shutdown")));
    }
    // spec: MGR-07
    assert_eq!(containers[3].state(), ContainerState::Idle);
    assert!(containers[3].update().is_ok());
    // spec: MGR-03
    assert!(traces[..3].iter().all(|trace| trace.line().is_empty()));
    // spec: MGR-07
    assert_eq!(owner.containers().len(), 4);
}

#[test]
fn a_shutdown_from_container_code_is_recorded() {
    let manager = Manager::new();
    let together = Arc::new(Barrier::new(2));
    let returned = Arc::new(AtomicUsize::new(0));
    let trace = Trace::default();
    let containers: Vec<_> = ["rm-one", "rm-two"]
        .into_iter()
        .map(|name| {
            let (reference, together) = (manager.reference(), Arc::clone(&together));
            let returned = Arc::clone(&returned);
            let probe = Probe::new(name, &trace).update(once(move |_| {
                together.wait();
                reference.shutdown();
                assert!(!reference.is_running());
                returned.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }));
            add(&manager, name, probe)
        })
        .collect();
    for container in &containers {
        container.start_with(ms(1)).unwrap();
    }
    // spec: MGR-04
    until("both to ask for the shutdown, and return", || {
        returned.load(Ordering::Relaxed) == 2
    });
    let reference = manager.reference();
    bounded("the application's shutdown", move || reference.shutdown());
    // spec: MGR-04
    for container in &containers {
        assert_eq!(container.state(), ContainerState::Stopped);
        assert!(container.failure().is_none());
    }
    let events = trace.take();
    // spec: MGR-04, SHUT-01
    assert_eq!(
        (
            count(&events, "rm-one.shutdown"),
            count(&events, "rm-two.shutdown")
        ),
        (1, 1)
    );
    no_thread_named("rm-one");
}

#[test]
fn a_dropped_manager_shuts_down_while_every_container_is_there() {
    let manager = Manager::new();
    let trace = Trace::default();
    // The last one made is destroyed first; it is there for the first one's shutdown all the same.
    let (reference, kept) = (manager.reference(), trace.clone());
    let threaded = add(
        &manager,
        "rm-sender",
        Probe::new("sender", &trace).shutdown(move |_| {
            let message =
                json!({ "destination": { "container": "rm-receiver", "system": "receiver" } });
            kept.add(format!(
                "sent {} of {}",
                reference.message_submit(message).is_ok(),
                reference.containers().len()
            ));
            Ok(())
        }),
    );
    let kept = trace.clone();
    let reference = manager.reference();
    let receiver = add(
        &manager,
        "rm-receiver",
        Probe::new("receiver", &trace).shutdown(move |cx| {
            let message =
                json!({ "destination": { "container": "rm-sender", "system": "sender" } });
            kept.add(format!(
                "got {} sent {}",
                cx.this.next_message().is_some(),
                reference.message_submit(message).is_ok()
            ));
            Ok(())
        }),
    );
    receiver.update().unwrap();
    threaded.start_with(ms(1)).unwrap();
    until("an update", || trace.line().contains("sender.update"));
    bounded("the drop of a manager", move || drop(manager));
    let mut events = trace.take();
    events.retain(|event| event != "sender.update");
    // spec: MGR-09, SHUT-12, SHUT-14
    assert_eq!(
        events.join(" "),
        "sender.shutdown sent true of 2 receiver.shutdown got true sent false receiver.drop sender.drop"
    );
    // spec: MGR-10
    for container in [&threaded, &receiver] {
        assert_eq!(
            (container.state(), container.stop()),
            (ContainerState::Gone, StopOutcome::Complete)
        );
        let ticket = container.defer_ticket(|_| Ok(()));
        assert_eq!(ticket.wait(), Err(ecs::TicketError::Dropped));
        assert!(container.start().is_err());
    }
    no_thread_named("rm-sender");
}

#[test]
fn a_container_started_beside_a_shutdown_stops_or_never_starts() {
    for round in 0..100 {
        let manager = Manager::new();
        let trace = Trace::default();
        let name = format!("rm-race{round}");
        let container = add(&manager, &name, Probe::new("a", &trace));
        let together = Arc::new(Barrier::new(2));
        let (starter, both) = (container.clone(), Arc::clone(&together));
        let start = spawn(move || {
            both.wait();
            starter.start_with(ms(0)).unwrap();
        });
        together.wait();
        manager.shutdown();
        start.join("the start");
        // spec: MGR-03, RUN-05
        no_thread_named(&name);
        drop(manager);
        let mut events = trace.take();
        events.retain(|event| event != "a.update");
        // spec: MGR-03, SHUT-01
        assert!(
            ["a.drop", "a.init a.shutdown a.drop"].contains(&events.join(" ").as_str()),
            "{events:?}"
        );
    }
}

#[test]
fn a_manager_dropped_in_the_code_of_its_own_container() {
    let manager = Manager::new();
    let trace = Trace::default();
    let main = manager.container("rm-suicide").unwrap();
    main.set_silent();
    let other = add(&manager, "rm-sister", Probe::new("sister", &trace));
    other.start_with(secs(5)).unwrap();
    until("the start-up step", || trace.line() == "sister.init");
    let (mut owned, done) = (Some(manager), Flag::default());
    let told = done.clone();
    let probe = Probe::new("a", &trace).update(move |_| {
        drop(owned.take());
        told.set();
        Ok(())
    });
    main.claim().unwrap().add_system(probe.reg()).unwrap();
    main.start_with(ms(1)).unwrap();
    // spec: MGR-04, STOP-15
    done.wait("the drop of a manager in its own container's code");
    until("both ends", || {
        [&main, &other].map(Container::state) == [ContainerState::Gone; 2]
    });
    let events = trace.take();
    // spec: MGR-10, SHUT-01, STOP-15
    for event in ["a.shutdown", "a.drop", "sister.shutdown", "sister.drop"] {
        assert_eq!(count(&events, event), 1, "{events:?}");
    }
    no_thread_named("rm-s");
}
