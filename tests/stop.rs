//! Stopping and dropping containers that the application drives; claims; what references can still do.

mod common;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{Probe, Trace, log_of, manual, once};
use ecs::{
    AccessError, Container, ContainerState, Context, OwnedContainer, Register, StopOutcome, Timer,
    UpdateError, json,
};

struct Stage {
    owned: OwnedContainer,
    trace: Trace,
}

impl Stage {
    /// A container with started systems of these names.
    fn new(names: &[&str]) -> Self {
        let (owned, _) = manual("main");
        let stage = Self {
            owned,
            trace: Trace::default(),
        };
        for name in names {
            stage.add(stage.probe(name));
        }
        stage.owned.update().unwrap();
        stage.trace.take();
        stage
    }

    fn probe(&self, name: &str) -> Probe {
        Probe::new(name, &self.trace)
    }

    fn add(&self, probe: Probe) {
        self.owned.claim().unwrap().add_system(probe.reg()).unwrap();
    }
}

#[test]
fn a_stop_shuts_down_in_reverse_order_on_the_calling_thread() {
    let stage = Stage::new(&["a", "b", "c"]);
    stage
        .owned
        .claim()
        .unwrap()
        .add_system(stage.probe("unstarted").reg())
        .unwrap();
    // spec: STOP-01, STOP-03
    assert_eq!(stage.owned.stop(), StopOutcome::Complete);
    // spec: STOP-03, SHUT-01, SHUT-03
    assert_eq!(
        stage.trace.line(),
        "c.shutdown b.shutdown a.shutdown",
        "one that was not started gets none"
    );
    // spec: STOP-01
    assert_eq!(
        (stage.owned.stop(), stage.trace.line()),
        (StopOutcome::Complete, String::new())
    );
    // spec: STOP-08
    assert!(stage.owned.update().is_ok() && stage.trace.line().is_empty());
    let container = Container::clone(&stage.owned);
    drop(stage.owned);
    // spec: SHUT-01, STOP-01
    assert_eq!(stage.trace.line(), "unstarted.drop c.drop b.drop a.drop");
    // spec: MGR-10
    assert_eq!(
        (container.state(), container.stop()),
        (ContainerState::Gone, StopOutcome::Complete)
    );
    // spec: MGR-10
    assert!(matches!(
        container.update(),
        Err(UpdateError::Access(AccessError::Gone { .. }))
    ));
    container.set_silent();
    container.log("still works");
}

#[test]
fn dropping_the_owner_stops_and_releases() {
    let stage = Stage::new(&["a", "b"]);
    drop(stage.owned);
    // spec: STOP-01, SHUT-12, SHUT-03
    assert_eq!(stage.trace.line(), "b.shutdown a.shutdown b.drop a.drop");
}

#[test]
fn the_world_and_the_log_are_in_place_while_systems_are_shut_down() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim.world().spawn_named("door", ()).unwrap();
    claim.add_system(Probe::new("first", &trace).reg()).unwrap();
    let last = Probe::new("last", &trace).shutdown(|cx| {
        assert!(cx.world.entity("door").is_ok() && cx.system::<Probe>("first").is_some());
        cx.container()
            .message_submit(json!({ "destination": { "system": "first" } }))?;
        cx.this.log("bye");
        Ok(())
    });
    claim.add_system(last.reg()).unwrap();
    claim.update().unwrap();
    drop(claim);
    drop(owned);
    // spec: SHUT-03, INIT-08
    assert_eq!(lines.take(), ["info: [last] bye"]);
}

#[test]
fn a_system_logs_from_its_drop() {
    struct Late(Option<ecs::Logger>);
    impl ecs::System for Late {
        fn initialize(&mut self, cx: &mut Context<'_>) -> ecs::SystemResult {
            self.0 = Some(cx.this.logger());
            Ok(())
        }
        fn update(&mut self, _: &mut Context<'_>) -> ecs::SystemResult {
            Ok(())
        }
    }
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.take().unwrap().log("dropped");
        }
    }
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    owned
        .claim()
        .unwrap()
        .add_system(Late(None).named("late"))
        .unwrap();
    owned.update().unwrap();
    drop(owned);
    // spec: INIT-08
    assert_eq!(lines.take(), ["info: [late] dropped"]);
}

#[test]
fn after_a_stop() {
    let stage = Stage::new(&["a"]);
    stage.owned.stop();
    stage.trace.take();
    let error = stage
        .owned
        .message_submit(json!({ "destination": { "system": "a" } }))
        .unwrap_err();
    // spec: SHUT-02, STOP-12
    assert!(
        error.to_string().ends_with("System a not found."),
        "{error}"
    );
    let mut claim = stage.owned.claim().unwrap();
    // spec: STOP-09, STOP-12
    assert!(claim.system::<Probe>("a").is_some() && claim.export()["Systems"]["a"] == json!({}));
    claim.world().spawn_named("door", ()).unwrap();
    claim.add_system(stage.probe("late").reg()).unwrap();
    claim.update().unwrap();
    claim.initialize_systems().unwrap();
    claim.update_system("late").unwrap();
    // spec: STOP-09, SHUT-07
    assert_eq!(
        stage.trace.line(),
        "",
        "registered later it is never started"
    );
    claim.remove_system("a");
    claim.remove_system("late");
    // spec: SHUT-01
    assert_eq!(
        stage.trace.line(),
        "a.drop late.drop",
        "neither is shut down again"
    );
}

#[test]
fn a_stop_from_the_containers_own_pass() {
    let stage = Stage::new(&["a"]);
    let seen = stage.trace.clone();
    let stopper = stage.probe("s").update(move |cx| {
        seen.add(format!("{:?}", cx.container().stop()));
        seen.add(format!("{}", cx.container().update().is_err()));
        Ok(())
    });
    stage.add(stopper);
    stage.add(stage.probe("z"));
    stage.owned.update().unwrap();
    // spec: STOP-05, STOP-11, SHUT-03
    assert_eq!(
        stage.trace.line(),
        "s.init z.init a.update s.update Requested true z.shutdown s.shutdown a.shutdown",
        "the rest of the pass is skipped, and the teardown comes before update returns"
    );
    stage.owned.defer(|_| panic!("dropped unrun"));
    // spec: STOP-08, STOP-09
    assert!(stage.owned.update().is_ok() && stage.trace.line().is_empty());
    // spec: STOP-01
    assert_eq!(stage.owned.state(), ContainerState::Stopped);
}

#[test]
fn a_stop_from_a_pass_run_by_a_claim() {
    let stage = Stage::new(&["a", "b"]);
    let mut claim = stage.owned.claim().unwrap();
    let stopper = stage.probe("s").update(|cx| {
        cx.remove_system("b");
        cx.container().stop();
        Ok(())
    });
    claim.add_system(stopper.reg()).unwrap();
    claim.update().unwrap();
    // spec: STOP-05, SHUT-10
    assert_eq!(
        stage.trace.line(),
        "s.init a.update b.update s.update s.shutdown a.shutdown b.shutdown b.drop",
        "the teardown before anything else, then what the pass had removed"
    );
    assert_eq!(stage.owned.state(), ContainerState::Claimed);
    drop(claim);
    // spec: STOP-10
    assert_eq!(
        (stage.owned.stop(), stage.trace.line()),
        (StopOutcome::Complete, String::new())
    );
}

#[test]
fn a_stop_from_deferred_functions_timers_and_initialize() {
    let stage = Stage::new(&["a"]);
    let (one, two) = (stage.trace.clone(), stage.trace.clone());
    stage.owned.defer(move |cx| {
        one.add("one");
        cx.container().stop();
        Ok(())
    });
    stage.owned.defer(move |_| {
        two.add("two");
        Ok(())
    });
    stage.add(stage.probe("new"));
    stage.owned.update().unwrap();
    // spec: STOP-05, STOP-13
    assert_eq!(
        stage.trace.line(),
        "one a.shutdown",
        "the rest of the batch is dropped, nobody is started or updated"
    );

    let stage = Stage::new(&["a"]);
    let timer = stage.trace.clone();
    let other = stage.trace.clone();
    let system = stage
        .probe("t")
        .reg()
        .timer(Timer::once("stops", Duration::ZERO, move |cx| {
            timer.add("timer");
            cx.container().stop();
            Ok(())
        }))
        .timer(Timer::every("other", Duration::ZERO, move |_| {
            other.add("other");
            Ok(())
        }));
    stage.owned.claim().unwrap().add_system(system).unwrap();
    stage.add(stage.probe("z"));
    stage.owned.update().unwrap();
    // spec: STOP-13
    assert_eq!(
        stage.trace.line(),
        "t.init z.init a.update timer z.shutdown t.shutdown a.shutdown"
    );

    let stage = Stage::new(&["a"]);
    stage.add(stage.probe("i").init(|cx| {
        cx.container().stop();
        Ok(())
    }));
    stage.add(stage.probe("z"));
    stage.owned.update().unwrap();
    // spec: STOP-13
    assert_eq!(stage.trace.line(), "i.init i.shutdown a.shutdown");
}

#[test]
fn container_code_of_another_container_only_requests() {
    let target = Stage::new(&["a"]);
    let other = Stage::new(&[]);
    let (container, seen) = (Container::clone(&target.owned), target.trace.clone());
    other.add(other.probe("s").update(move |_| {
        seen.add(format!("{:?}", container.stop()));
        Ok(())
    }));
    other.owned.update().unwrap();
    // spec: STOP-06, STOP-11
    assert_eq!(
        target.trace.line(),
        "Requested",
        "nobody holds it: it is not torn down here"
    );
    // spec: STOP-08
    assert!(target.owned.update().is_ok() && target.trace.line().is_empty());
    // spec: STOP-06
    assert_eq!(
        (target.owned.stop(), target.trace.line()),
        (StopOutcome::Complete, "a.shutdown".into())
    );

    // Who holds it tears it down on letting go.
    let target = Stage::new(&["a"]);
    let claim = target.owned.claim().unwrap();
    target.owned.request_stop();
    // spec: STOP-06
    assert!(target.owned.is_stop_requested() && target.trace.line().is_empty());
    drop(claim);
    // spec: STOP-06
    assert_eq!(target.trace.line(), "a.shutdown");
}

#[test]
fn a_stop_waits_for_a_pass_on_another_thread() {
    let stage = Stage::new(&["a"]);
    let (inside, entered) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    stage.add(stage.probe("slow").update(once(move |_: &mut Context<'_>| {
        inside.send(()).unwrap();
        wait.recv().unwrap();
        Ok(())
    })));
    stage.add(stage.probe("z"));
    let container = Container::clone(&stage.owned);
    let pass = thread::spawn(move || container.update().map_err(|error| error.to_string()));
    entered.recv().unwrap();
    // spec: STOP-16
    assert_eq!(stage.owned.state(), ContainerState::Updating);
    // spec: STOP-16
    assert_eq!(
        stage.owned.stop_within(Duration::from_millis(1)),
        StopOutcome::TimedOut
    );
    let stoppers: Vec<_> = (0..2)
        .map(|_| {
            let (container, trace) = (Container::clone(&stage.owned), stage.trace.clone());
            thread::spawn(move || {
                let outcome = container.stop();
                trace.add("stopped");
                outcome
            })
        })
        .collect();
    go.send(()).unwrap();
    pass.join().unwrap().unwrap();
    for stopper in stoppers {
        // spec: STOP-10
        assert_eq!(stopper.join().unwrap(), StopOutcome::Complete);
    }
    // spec: STOP-10
    assert_eq!(
        stage.trace.line(),
        "slow.init z.init a.update slow.update z.shutdown slow.shutdown a.shutdown stopped stopped",
        "the rest of the pass is skipped, the teardown happens once, and both return after it"
    );
}

#[test]
fn a_stop_while_a_claim_is_held_is_only_recorded() {
    let stage = Stage::new(&["a"]);
    let claim = stage.owned.claim().unwrap();
    // spec: STOP-10
    assert_eq!(
        (stage.owned.stop(), stage.trace.line()),
        (StopOutcome::Requested, String::new())
    );
    let container = Container::clone(&stage.owned);
    // spec: STOP-10
    assert_eq!(
        thread::spawn(move || container.stop()).join().unwrap(),
        StopOutcome::Requested
    );
    thread::spawn(move || drop(claim)).join().unwrap();
    // spec: STOP-10
    assert_eq!(stage.trace.line(), "a.shutdown");
    let stage = Stage::new(&["b"]);
    common::forget(stage.owned.claim().unwrap());
    // spec: STOP-10
    assert_eq!(
        stage.owned.stop(),
        StopOutcome::Requested,
        "a forgotten claim hangs nobody"
    );
}

#[test]
fn an_owner_dropped_in_container_code() {
    let inner = Stage::new(&["a"]);
    let trace = inner.trace.clone();
    let (outer, _) = manual("outer");
    let mut owned = Some(inner.owned);
    let seen = trace.clone();
    let dropper = ecs::system("s", move |_| {
        drop(owned.take());
        seen.add("dropped");
        Ok(())
    });
    outer
        .claim()
        .unwrap()
        .add_system(dropper.every_pass())
        .unwrap();
    outer.update().unwrap();
    // spec: STOP-15
    assert_eq!(
        trace.line(),
        "a.shutdown a.drop dropped",
        "a parked one goes at once, on the caller"
    );

    // One that is claimed goes with the claim.
    let inner = Stage::new(&["b"]);
    let claim = inner.owned.claim().unwrap();
    let container = Container::clone(&inner.owned);
    drop(inner.owned);
    assert_eq!(inner.trace.line(), "");
    drop(claim);
    // spec: STOP-10, STOP-15
    assert_eq!(
        (inner.trace.line(), container.state()),
        ("b.shutdown b.drop".into(), ContainerState::Gone)
    );
}

#[test]
fn a_failing_shutdown_hides_nothing() {
    struct Bomb(Trace);
    impl ecs::System for Bomb {
        fn update(&mut self, _: &mut Context<'_>) -> ecs::SystemResult {
            Ok(())
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.add("bomb");
            panic!("in drop");
        }
    }
    let stage = Stage::new(&["a"]);
    let lines = log_of(&stage.owned);
    stage
        .owned
        .claim()
        .unwrap()
        .add_system(Bomb(stage.trace.clone()).named("bomb"))
        .unwrap();
    stage.add(stage.probe("f").shutdown(|_| Err("no".into())));
    stage.add(stage.probe("p").shutdown(|_| panic!("boom")));
    stage.owned.update().unwrap();
    stage.trace.take();
    drop(stage.owned);
    // spec: SHUT-04
    assert_eq!(
        stage.trace.line(),
        "p.shutdown f.shutdown a.shutdown p.drop f.drop bomb a.drop"
    );
    // spec: SHUT-04, FAIL-07
    assert_eq!(
        lines.take(),
        [
            "error: [p] failed in shutdown: panicked: boom",
            "error: [f] failed in shutdown: no"
        ]
    );
}

#[test]
fn a_shutdown_during_a_stop_may_remove_register_and_stop() {
    let stage = Stage::new(&["a", "victim", "b"]);
    let inner = stage.trace.clone();
    stage.add(stage.probe("s").shutdown(move |cx| {
        cx.remove_system("victim");
        cx.add_system(Probe::new("late", &inner).reg())?;
        cx.remove_system("s");
        inner.add(format!("{:?}", cx.container().stop()));
        Ok(())
    }));
    stage.owned.update().unwrap();
    stage.trace.take();
    stage.owned.stop();
    // spec: SHUT-06, SHUT-07, SHUT-08, SHUT-13
    assert_eq!(
        stage.trace.line(),
        "s.shutdown Requested b.shutdown a.shutdown victim.shutdown victim.drop",
        "the removed one after the remaining ones"
    );
    drop(stage.owned);
    // spec: SHUT-07
    assert_eq!(stage.trace.line(), "late.drop s.drop b.drop a.drop");
}

#[test]
fn a_claim_gives_back_and_moves_between_threads() {
    let stage = Stage::new(&["a"]);
    let claim = stage.owned.claim().unwrap();
    let trace = stage.trace.clone();
    // spec: RUN-08
    thread::spawn(move || {
        let mut claim = claim;
        claim.update().unwrap();
        claim.add_system(Probe::new("b", &trace).reg()).unwrap();
    })
    .join()
    .unwrap();
    stage.owned.update().unwrap();
    // spec: RUN-02, RUN-08
    assert_eq!(stage.trace.line(), "a.update b.init a.update b.update");
    // spec: RUN-12
    assert!(
        OwnedContainer::new("")
            .unwrap_err()
            .to_string()
            .ends_with("container handle is empty")
    );
    // spec: RUN-06, RUN-15
    assert!(stage.owned.manager().is_none() && stage.owned.handle() == "main");
    // spec: RUN-06
    stage.owned.claim().unwrap().world().spawn(());
}

#[test]
fn a_system_registered_after_a_stop_takes_no_mail() {
    let (owned, _) = manual("main");
    owned.stop();
    let mut claim = owned.claim().unwrap();
    claim.add_system(ecs::system("late", |_| Ok(()))).unwrap();
    let context = claim.context();
    let mailbox = context.system_info("late").unwrap().mailbox();
    // spec: SHUT-02, STOP-12
    assert!(mailbox.is_closed() && mailbox.send(ecs::json!(1)).is_err());
}
