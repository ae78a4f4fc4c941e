//! The manager of containers that the application drives: its table, its end, and references that outlive it.

mod common;

use std::sync::{Arc, Barrier};
use std::thread;

use common::{Probe, Trace, manual};
use ecs::{
    Container, ContainerError, ContainerState, ECS, Manager, OwnedContainer, StopOutcome, Uuid,
    json,
};

fn handles(containers: &[Container]) -> String {
    containers
        .iter()
        .map(Container::handle)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn one_container_for_a_handle_however_many_ask() {
    let manager = Manager::new();
    let together = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (manager, together) = (manager.reference(), Arc::clone(&together));
            thread::spawn(move || {
                together.wait();
                manager.container("main").unwrap()
            })
        })
        .collect();
    let found: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    // spec: MGR-01
    assert!(
        found
            .iter()
            .all(|container| *container == found[0] && container.id() == found[0].id())
    );
    // spec: MGR-01
    assert_eq!(manager.containers().len(), 1);
    let generated = manager.new_container().unwrap();
    // spec: MGR-01
    assert!(
        generated.handle().parse::<Uuid>().is_ok()
            && manager.container(generated.handle()).unwrap() == generated
    );
    // spec: RUN-12
    assert!(
        manager
            .container("")
            .unwrap_err()
            .to_string()
            .ends_with("container handle is empty")
    );
    // spec: RUN-15
    assert!(generated.manager().unwrap() == manager.reference());
}

#[test]
fn the_list_is_a_snapshot_in_order_of_creation() {
    let manager = Manager::new();
    for name in ["c", "a", "b"] {
        manager.container(name).unwrap();
    }
    let before = manager.containers();
    manager.container("0").unwrap();
    // spec: MGR-02, SHUT-14
    assert_eq!(
        (handles(&before), handles(&manager.containers())),
        ("c a b".into(), "c a b 0".into())
    );
}

#[test]
fn a_shutdown_is_for_good_and_stops_nothing_that_the_application_drives() {
    let manager = Manager::new();
    let reference = manager.reference();
    let main = manager.container("main").unwrap();
    main.set_silent();
    let trace = Trace::default();
    main.claim()
        .unwrap()
        .add_system(Probe::new("a", &trace).reg())
        .unwrap();
    assert!(manager.is_running());
    manager.shutdown();
    manager.shutdown();
    // spec: MGR-05, MGR-06, MGR-13
    assert!(
        !manager.is_running()
            && !thread::spawn(move || reference.is_running())
                .join()
                .unwrap()
    );
    main.update().unwrap();
    // spec: MGR-07, MGR-14
    assert_eq!(trace.line(), "a.init a.update");
    // spec: MGR-14
    assert!(manager.container("new").is_ok() && manager.containers().len() == 2);
    let message = json!({ "destination": { "container": "main", "system": "a" } });
    // spec: MGR-14
    assert!(manager.message_submit(message).is_ok());
}

#[test]
fn the_drop_destroys_in_reverse_order_and_closes_first() {
    let manager = Manager::new();
    let trace = Trace::default();
    for name in ["one", "two"] {
        let container = manager.container(name).unwrap();
        container.set_silent();
        let (kept, reference) = (trace.clone(), manager.reference());
        let probe = Probe::new(name, &trace).shutdown(move |_| {
            let message = json!({ "destination": { "container": "one", "system": "one" } });
            kept.add(format!(
                "{} {} {} {}",
                reference.is_running(),
                reference.message_submit(message).is_err(),
                matches!(
                    reference.container("one"),
                    Err(ContainerError::ManagerClosed { .. })
                ),
                reference.containers().len(),
            ));
            Ok(())
        });
        container.claim().unwrap().add_system(probe.reg()).unwrap();
        container.update().unwrap();
    }
    trace.take();
    let (reference, one) = (manager.reference(), manager.container("one").unwrap());
    drop(manager);
    // spec: MGR-09, MGR-12, SHUT-12, SHUT-14
    assert_eq!(
        trace.line(),
        "two.shutdown false true true 0 two.drop one.shutdown false true true 0 one.drop"
    );
    // spec: MGR-12
    assert!(
        reference
            .container("new")
            .unwrap_err()
            .to_string()
            .ends_with("the manager is shutting down")
    );
    assert!(reference.new_container().is_err());
    // spec: MGR-10, MGR-12
    assert_eq!(
        (reference.containers().len(), reference.is_running()),
        (0, false)
    );
    let error = reference
        .message_submit(json!({ "destination": { "container": "one", "system": "one" } }))
        .unwrap_err();
    // spec: MGR-09, MGR-10
    assert_eq!(
        error.to_string(),
        "ecs::Manager::message_submit(): the manager is gone: its owner was dropped, make a new one"
    );
    // spec: MGR-10
    assert_eq!(
        (one.state(), one.stop()),
        (ContainerState::Gone, StopOutcome::Complete)
    );
    // spec: MGR-10
    assert!(
        one.update()
            .unwrap_err()
            .to_string()
            .contains("the container is gone")
    );
    reference.shutdown();
}

#[test]
fn references_kept_by_systems_keep_nothing_alive() {
    let manager = Manager::new();
    let trace = Trace::default();
    let main = manager.container("main").unwrap();
    let (reference, container) = (manager.reference(), main.clone());
    let probe = Probe::new("a", &trace).update(move |_| {
        let _ = (&reference, &container);
        Ok(())
    });
    main.claim().unwrap().add_system(probe.reg()).unwrap();
    drop(main);
    drop(manager);
    // spec: MGR-10
    assert_eq!(trace.line(), "a.drop");
}

#[test]
fn a_manager_dropped_or_shut_down_in_container_code() {
    let (outer, _) = manual("outer");
    let manager = Manager::new();
    let trace = Trace::default();
    let main = manager.container("main").unwrap();
    main.claim()
        .unwrap()
        .add_system(Probe::new("a", &trace).reg())
        .unwrap();
    main.update().unwrap();
    trace.take();
    let (mut owned, kept) = (Some(manager), trace.clone());
    let dropper = ecs::system("s", move |_| {
        owned.as_ref().unwrap().shutdown();
        kept.add("shutdown");
        drop(owned.take());
        kept.add("dropped");
        Ok(())
    });
    outer
        .claim()
        .unwrap()
        .add_system(dropper.every_pass())
        .unwrap();
    outer.update().unwrap();
    // spec: MGR-04, STOP-15
    assert_eq!(trace.line(), "shutdown a.shutdown a.drop dropped");
}

#[test]
fn an_attached_container_routes_and_is_not_listed() {
    let manager = Manager::new();
    let trace = Trace::default();
    let main = manager.container("main").unwrap();
    let kept = trace.clone();
    let reader = ecs::system("r", move |cx| {
        while cx.this.next_message().is_some() {
            kept.add("read");
        }
        Ok(())
    });
    main.claim()
        .unwrap()
        .add_system(reader.every_pass())
        .unwrap();
    let attached = OwnedContainer::attached("side", &manager).unwrap();
    let sender = ecs::system("s", |cx| {
        let manager = cx.manager().expect("it is attached");
        manager.message_submit(json!({ "destination": { "container": "main", "system": "r" } }))?;
        Ok(())
    });
    attached
        .claim()
        .unwrap()
        .add_system(sender.every_pass())
        .unwrap();
    attached.update().unwrap();
    main.update().unwrap();
    // spec: RUN-13
    assert_eq!(
        (trace.line(), handles(&manager.containers())),
        ("read".into(), "main".into())
    );
    drop(manager);
    // spec: RUN-13
    assert_eq!(
        attached.state(),
        ContainerState::Idle,
        "not stopped by its manager"
    );
    // spec: MGR-10
    assert!(attached.update().is_err(), "its system's send fails");
}

#[test]
fn the_process_wide_manager() {
    let main = ECS.container("test/process").unwrap();
    // spec: MGR-11
    assert!(ECS.is_running() && ECS.containers().contains(&main));
    ECS.shutdown();
    // spec: MGR-11
    assert!(!ECS.is_running());
}

#[test]
fn a_container_as_json() {
    let (owned, _) = manual("main");
    // spec: EXP-01
    assert_eq!(
        owned.claim().unwrap().export(),
        json!({ "Handle": "main" }),
        "empty parts are left out"
    );
    let trace = Trace::default();
    let kept = trace.clone();
    let exporter = Probe::new("b", &trace).update(move |cx| {
        cx.remove_system("c");
        kept.add(cx.export().to_string());
        kept.add(cx.export_with(json!({ "mine": 1 }))["Systems"].to_string());
        Ok(())
    });
    let mut claim = owned.claim().unwrap();
    for name in ["c", "a"] {
        claim
            .add_system(Probe::new(name, &Trace::default()).reg())
            .unwrap();
    }
    claim.add_system(exporter.reg()).unwrap();
    claim.world().spawn_named("door", ()).unwrap();
    claim.update().unwrap();
    let lines = trace.take();
    // spec: EXP-01, EXP-03, EXP-08
    assert_eq!(
        lines[2],
        r#"{"Entities":{"door":{"Handle":"door"}},"Handle":"main","Systems":{"a":{},"b":null}}"#
    );
    // spec: EXP-08
    assert_eq!(lines[3], r#"{"a":{},"b":{"mine":1}}"#);
}

#[test]
fn a_world_put_in_the_place_of_another_belongs_to_the_container() {
    let owned = OwnedContainer::new("main").unwrap();
    let mut claim = owned.claim().unwrap();
    let taken = std::mem::take(claim.world());
    drop(taken);
    // spec: ERR-02
    assert_eq!(
        claim.world().insert("nobody", ()).unwrap_err().to_string(),
        r#"ecs::Container("main")::insert(): entity "nobody" does not exist"#
    );
}
