//! Failures: what is logged, what is returned, what still happens.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Probe, Trace, log_of, manual, once, us};
use ecs::{
    Clock, Context, Manager, ManagerRef, Moment, Phase, Register, SharedClock, StopOutcome,
    SystemResult, Timer, UpdateError, World, system,
};
use serde_json::json;

fn fails(_: &mut Context<'_>) -> SystemResult {
    Err("no disk".into())
}

#[test]
fn a_failing_update_is_logged_once_and_returned_and_ends_the_pass() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim.add_system(Probe::new("a", &trace).reg()).unwrap();
    claim
        .add_system(Probe::new("b", &trace).update(fails).reg())
        .unwrap();
    claim.add_system(Probe::new("c", &trace).reg()).unwrap();
    drop(claim);
    let error = owned.update().unwrap_err();
    // spec: FAIL-01
    assert_eq!(
        trace.line(),
        "a.init b.init c.init a.update b.update",
        "the systems after it do not run"
    );
    // spec: FAIL-01, FAIL-07
    assert_eq!(lines.take(), ["error: [b] failed in update: no disk"]);
    let failure = error.failure().unwrap();
    // spec: FAIL-01, ERR-04
    assert_eq!(
        (
            failure.handle(),
            failure.phase(),
            failure.error().to_string()
        ),
        ("b", &Phase::Update, "no disk".into())
    );
    // spec: ERR-02
    assert!(
        error
            .to_string()
            .starts_with("ecs::Container(\"main\")::update(): \"b\" (failure::common::Probe"),
        "{error}"
    );
    assert!(
        error.to_string().ends_with(") failed in update: no disk"),
        "{error}"
    );
    // spec: FAIL-05
    assert!(owned.update().is_err() && trace.line() == "a.update b.update");
    owned.claim().unwrap().remove_system("b");
    trace.take();
    // spec: FAIL-05
    assert!(owned.update().is_ok() && trace.line() == "a.update c.update");
}

#[test]
fn a_failing_initialize() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim.add_system(Probe::new("a", &trace).reg()).unwrap();
    claim
        .add_system(Probe::new("b", &trace).init(fails).reg())
        .unwrap();
    claim.add_system(Probe::new("c", &trace).reg()).unwrap();
    let error = claim.update().unwrap_err();
    // spec: INIT-07, FAIL-01
    assert_eq!(
        trace.line(),
        "a.init b.init",
        "no system is updated in that pass"
    );
    // spec: INIT-07, FAIL-07
    assert_eq!(lines.take(), ["error: [b] failed in initialize: no disk"]);
    // spec: INIT-07
    assert_eq!(error.failure().unwrap().phase(), &Phase::Initialize);
    claim.update().unwrap();
    // spec: INIT-07
    assert_eq!(
        trace.line(),
        "c.init a.update b.update c.update",
        "it counts as started; those after it follow"
    );
    claim.remove_system("b");
    // spec: INIT-07, SHUT-01
    assert_eq!(trace.line(), "b.shutdown b.drop");
    claim
        .add_system(Probe::new("d", &trace).init(fails).reg())
        .unwrap();
    let error = claim.initialize_systems().unwrap_err();
    // spec: INIT-03, FAIL-01, ERR-02
    assert!(
        error
            .to_string()
            .starts_with("ecs::Container(\"main\")::initialize_systems(): \"d\""),
        "{error}"
    );
}

#[test]
fn a_failing_timer() {
    let (owned, clock) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let note = |name: &'static str| {
        let trace = trace.clone();
        move |_: &mut Context<'_>| -> SystemResult {
            trace.add(name);
            Ok(())
        }
    };
    let added = note("x");
    let failing = once(move |cx: &mut Context<'_>| {
        cx.this.add_timer(Timer::every("x", us(0), added))?;
        cx.this.clear_timer("y");
        Err("bad moment".into())
    });
    let system = Probe::new("s", &trace)
        .reg()
        .timer(Timer::once("fired before", us(1), note("before")))
        .timer(Timer::once("fails", us(1), failing))
        .timer(Timer::every("y", us(1), note("y")))
        .timer(Timer::once("after", us(1), note("after")));
    claim.add_system(system).unwrap();
    claim.add_system(Probe::new("next", &trace).reg()).unwrap();
    clock.advance(us(1)).unwrap();
    let error = claim.update().unwrap_err();
    // spec: FAIL-01, FAIL-04
    assert_eq!(
        trace.line(),
        "s.init next.init before",
        "timers not reached do not fire, nor does the update"
    );
    // spec: FAIL-07
    assert_eq!(
        lines.take(),
        ["error: [s] failed in timer \"fails\": bad moment"]
    );
    // spec: FAIL-01
    assert!(matches!(error.failure().unwrap().phase(), Phase::Timer(name) if &**name == "fails"));
    let names = |claim: &mut ecs::Claim| -> Vec<String> {
        claim
            .context()
            .system_info("s")
            .unwrap()
            .timers()
            .map(str::to_owned)
            .collect()
    };
    // spec: FAIL-04
    assert_eq!(
        names(&mut claim),
        ["after", "x"],
        "fired one-shots are gone, changes are kept"
    );
    claim.update().unwrap();
    // spec: FAIL-04, FAIL-05
    assert_eq!(
        (trace.line(), names(&mut claim)),
        ("after x s.update next.update".into(), vec!["x".to_owned()])
    );
}

#[test]
fn changes_asked_for_before_the_failure_are_complete() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let inner = trace.clone();
    let mut claim = owned.claim().unwrap();
    let changer = Probe::new("changer", &trace).update(once(move |cx: &mut Context<'_>| {
        cx.remove_system("a");
        cx.add_system(Probe::new("new", &inner).reg())?;
        cx.world.spawn_named("door", ())?;
        Err("late".into())
    }));
    claim.add_system(changer.reg()).unwrap();
    claim.add_system(Probe::new("a", &trace).reg()).unwrap();
    assert!(claim.update().is_err());
    // spec: FAIL-03
    assert_eq!(
        trace.line(),
        "changer.init a.init changer.update a.shutdown a.drop",
        "released once, before the error left"
    );
    let handles: Vec<_> = claim
        .context()
        .systems()
        .map(|info| info.handle().to_string())
        .collect();
    // spec: FAIL-03
    assert_eq!(
        (handles.join(" "), claim.world().entity("door").is_ok()),
        ("changer new".into(), true)
    );
    claim.update().unwrap();
    // spec: FAIL-03, FAIL-05
    assert_eq!(trace.line(), "new.init changer.update new.update");
}

#[test]
fn a_panic_is_an_error_with_its_text() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(Probe::new("i", &trace).init(|_| panic!("in init")).reg())
        .unwrap();
    claim
        .add_system(
            Probe::new("u", &trace)
                .update(once(|_: &mut Context<'_>| panic!("in {}", "update")))
                .reg(),
        )
        .unwrap();
    let bomb = Timer::once("t", us(0), |_| std::panic::panic_any(7_u8));
    claim
        .add_system(Probe::new("t", &trace).reg().timer(bomb))
        .unwrap();
    claim
        .add_system(
            Probe::new("s", &trace)
                .shutdown(|_| panic!("in shutdown"))
                .reg(),
        )
        .unwrap();
    let texts: Vec<_> = (0..3)
        .map(|_| {
            claim
                .update()
                .unwrap_err()
                .failure()
                .unwrap()
                .error()
                .to_string()
        })
        .collect();
    // spec: FAIL-06
    assert_eq!(
        texts,
        [
            "panicked: in init",
            "panicked: in update",
            "panicked: with a value that is not text"
        ]
    );
    claim.update().unwrap();
    claim.remove_system("s");
    // spec: FAIL-06, FAIL-07, SHUT-04
    assert_eq!(
        lines.take(),
        [
            "error: [i] failed in initialize: panicked: in init",
            "error: [u] failed in update: panicked: in update",
            "error: [t] failed in timer \"t\": panicked: with a value that is not text",
            "error: [s] failed in shutdown: panicked: in shutdown",
        ]
    );
}

#[test]
fn a_panic_in_the_middle_of_changes_leaves_a_container_that_works() {
    for step in 0..4 {
        let (owned, _) = manual("main");
        let trace = Trace::default();
        let inner = trace.clone();
        let mut claim = owned.claim().unwrap();
        let changer = Probe::new("changer", &trace).update(once(move |cx: &mut Context<'_>| {
            for at in 0..4 {
                assert!(at != step, "step {step}");
                match at {
                    0 => drop(cx.remove_system("a")),
                    1 => drop(cx.add_system(Probe::new("b2", &inner).named("b").every_pass())?),
                    _ => drop(cx.add_system(
                        Probe::new("c", &inner).named(format!("c{at}")).every_pass(),
                    )?),
                }
            }
            Ok(())
        }));
        claim.add_system(changer.reg()).unwrap();
        claim.add_system(Probe::new("a", &trace).reg()).unwrap();
        claim.add_system(Probe::new("b", &trace).reg()).unwrap();
        assert!(claim.update().is_err());
        claim.update().unwrap();
        let events = trace.take();
        let count = |event: &str| events.iter().filter(|other| *other == event).count();
        // spec: FAIL-03, FAIL-05
        assert_eq!(
            (
                count("a.drop"),
                count("b.drop"),
                count("b2.update"),
                count("c.update")
            ),
            match step {
                0 => (0, 0, 0, 0),
                1 => (1, 0, 0, 0),
                2 => (1, 1, 1, 0),
                _ => (1, 1, 1, 1),
            }
        );
        drop(claim);
        drop(owned);
        // spec: FAIL-05, SHUT-01
        assert!(trace.line().ends_with("changer.drop"));
    }
}

#[test]
fn a_destination_that_fails_hides_neither_the_error_nor_the_rest() {
    let (owned, _) = manual("main");
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    owned.set_logger(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        panic!("no log either");
    });
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let both = Probe::new("a", &trace).update(fails).shutdown(fails);
    claim.add_system(both.reg()).unwrap();
    claim.add_system(Probe::new("b", &trace).reg()).unwrap();
    let error = claim.update().unwrap_err();
    // spec: FAIL-07
    assert_eq!(error.failure().unwrap().error().to_string(), "no disk");
    drop(claim);
    drop(owned);
    // spec: FAIL-07, SHUT-04
    assert_eq!(
        trace.line(),
        "a.init b.init a.update b.shutdown a.shutdown b.drop a.drop"
    );
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn an_error_whose_text_panics_is_reported_all_the_same() {
    #[derive(Debug)]
    struct Mute;
    impl std::fmt::Display for Mute {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("speechless")
        }
    }
    impl std::error::Error for Mute {}
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    owned
        .claim()
        .unwrap()
        .add_system(system("s", |_| Err(Box::new(Mute))).every_pass())
        .unwrap();
    // spec: FAIL-06
    assert!(owned.update().is_err());
    // spec: FAIL-01
    assert_eq!(
        lines.take(),
        ["error: [s] failed in update: its error text panicked: speechless"]
    );
}

#[test]
fn a_rejection_can_be_handled_or_passed_on() {
    let (owned, _) = manual("main");
    let handled = system("handled", |cx| {
        assert!(cx.add_system(system("", |_| Ok(()))).is_err());
        Ok(())
    });
    let passed = system("passed", |cx| {
        cx.container()
            .message_submit(json!({ "destination": { "system": "nobody" } }))?;
        Ok(())
    });
    let mut claim = owned.claim().unwrap();
    claim.add_system(handled.every_pass()).unwrap();
    // spec: ERR-05
    assert!(claim.update().is_ok());
    claim.add_system(passed.every_pass()).unwrap();
    let error = claim.update().unwrap_err();
    // spec: ERR-05, MSG-13
    assert_eq!(
        error.failure().unwrap().error().to_string(),
        "ecs::Container(\"main\")::message_submit(): System nobody not found."
    );
    assert!(matches!(error, UpdateError::Failed { .. }));
}

#[test]
fn a_deferred_function_that_fails() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    owned
        .claim()
        .unwrap()
        .add_system(Probe::new("s", &trace).reg())
        .unwrap();
    let (one, three) = (trace.clone(), trace.clone());
    owned.defer(move |_| {
        one.add("one");
        Err("first".into())
    });
    owned.defer(|_| panic!("second"));
    owned.defer(move |_| {
        three.add("three");
        Ok(())
    });
    let error = owned.update().unwrap_err();
    // spec: DEF-06
    assert_eq!(
        trace.line(),
        "one three",
        "the rest of the batch runs, no system is started or updated"
    );
    // spec: DEF-06
    assert_eq!(
        (
            error.failure().unwrap().phase(),
            error.failure().unwrap().handle()
        ),
        (&Phase::Deferred, "main")
    );
    // spec: DEF-06
    assert_eq!(error.failure().unwrap().error().to_string(), "first");
    // spec: FAIL-07
    assert_eq!(
        lines.take(),
        [
            "error: [main] failed in deferred function: first",
            "error: [main] failed in deferred function: panicked: second",
        ]
    );
    owned.update().unwrap();
    // spec: DEF-06, FAIL-05
    assert_eq!(trace.line(), "s.init s.update");
}

#[test]
fn what_a_call_refuses_is_dropped_and_a_panic_of_its_drop_does_not_hide_the_error() {
    struct Bomb(Arc<AtomicU32>, ManagerRef);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            // Container code does not wait: the thread is marked here.
            let main = self.1.container("main").unwrap();
            assert_eq!(main.stop(), StopOutcome::Requested);
            panic!("on purpose");
        }
    }
    impl Clock for Bomb {
        fn now(&self) -> Moment {
            panic!("no time")
        }
    }
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    main.set_silent();
    let mut claim = main.claim().unwrap();
    claim
        .add_system(Probe::new("a", &Trace::default()).reg())
        .unwrap();
    let drops = Arc::new(AtomicU32::new(0));
    let bomb = || Bomb(Arc::clone(&drops), manager.reference());
    let timer = |length| {
        let bomb = bomb();
        Timer::once("t", length, move |_| {
            let _ = &bomb;
            Ok(())
        })
    };
    let condition = || {
        let bomb = bomb();
        move |_: &World| {
            let _ = &bomb;
            true
        }
    };
    let clock = || SharedClock::new(bomb());
    let mut cx = claim.context();
    let refused = [
        cx.add_timer("b", timer(us(1))),
        cx.add_timer("a", timer(Duration::MAX)),
        cx.this.add_timer(timer(us(1))),
        cx.set_run_condition("b", condition()),
        cx.set_clock(clock()),
        cx.set_system_clock("a", clock()),
        cx.set_system_clock("b", clock()),
        cx.this.set_clock(clock()),
        cx.add_system(system("", |_| Ok(())).timer(timer(us(1))))
            .map(drop),
    ];
    for (number, outcome) in refused.iter().enumerate() {
        // spec: SHUT-04
        assert!(outcome.is_err(), "{number}");
    }
    // spec: SHUT-04
    assert_eq!(drops.load(Ordering::Relaxed), 9);
}
