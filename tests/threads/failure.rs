//! Failures end a container's thread and shut its manager down.

use ecs::{Container, ContainerState, Context, Manager, Phase, StopOutcome, SystemResult, Timer};

use super::common::wait::{Flag, no_thread_named, until};
use super::common::{Probe, Trace, log_of, ms, once};
use super::{container, count};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Failing {
    Initialize,
    Update,
    Panic,
    Timer,
    Deferred,
}

fn boom(_: &mut Context<'_>) -> SystemResult {
    Err("boom".into())
}

/// Makes one container fail when `go` is set.
fn install(what: Failing, container: &Container, trace: &Trace, go: &Flag) {
    let mut claim = container.claim().unwrap();
    let wait = go.clone();
    claim
        .add_system(
            Probe::new("first", trace)
                .init(move |_| {
                    wait.wait("the other container");
                    Ok(())
                })
                .reg(),
        )
        .unwrap();
    let probe = Probe::new("fails", trace);
    let registration = match what {
        Failing::Initialize => probe.init(boom).reg(),
        Failing::Update => probe.update(boom).reg(),
        Failing::Panic => probe.update(|_| panic!("boom")).reg(),
        Failing::Timer => probe.reg().timer(Timer::every("tick", ms(1), boom)),
        Failing::Deferred => probe.reg(),
    };
    claim.add_system(registration).unwrap();
    claim.add_system(Probe::new("last", trace).reg()).unwrap();
    drop(claim);
    if what == Failing::Deferred {
        container.defer(boom);
    }
}

#[test]
fn a_failure_ends_the_thread_and_the_manager() {
    for what in [
        Failing::Initialize,
        Failing::Update,
        Failing::Panic,
        Failing::Timer,
        Failing::Deferred,
    ] {
        let manager = Manager::new();
        let (trace, others, go) = (Trace::default(), Trace::default(), Flag::default());
        let broken = manager.container("rf-broken").unwrap();
        let other = manager.container("rf-other").unwrap();
        let parked = manager.container("rf-parked").unwrap();
        other.set_silent();
        let lines = log_of(&broken);
        install(what, &broken, &trace, &go);
        let running = go.clone();
        let probe = Probe::new("o", &others).update(once(move |_| {
            running.set();
            Ok(())
        }));
        other.claim().unwrap().add_system(probe.reg()).unwrap();
        broken.start_with(ms(5)).unwrap();
        other.start_with(ms(1)).unwrap();

        // Nobody stops anything here.
        // spec: MGR-08, FAIL-02
        until("the end of both containers", || {
            [&broken, &other].map(Container::state) == [ContainerState::Stopped; 2]
        });
        // spec: MGR-08
        assert!(!manager.is_running());
        // spec: MGR-07, MGR-08
        assert_eq!(parked.state(), ContainerState::Idle);

        let failure = broken.failure().expect("the failure that ended it");
        let (phase, handle, text) = match what {
            Failing::Initialize => (Phase::Initialize, "fails", "boom"),
            Failing::Update => (Phase::Update, "fails", "boom"),
            Failing::Panic => (Phase::Update, "fails", "panicked: boom"),
            Failing::Timer => (Phase::Timer("tick".into()), "fails", "boom"),
            Failing::Deferred => (Phase::Deferred, "rf-broken", "boom"),
        };
        // spec: FAIL-08, FAIL-06
        assert_eq!(
            (
                failure.phase(),
                failure.handle(),
                failure.error().to_string()
            ),
            (&phase, handle, text.to_owned())
        );
        // spec: FAIL-08
        assert!(other.failure().is_none());
        // spec: FAIL-01, FAIL-07, INIT-07, DEF-06, TIM-02
        assert_eq!(
            lines.take(),
            [format!("error: [{handle}] failed in {phase}: {text}")],
            "{what:?}"
        );
        let events = trace.take();
        let updates = |name| count(&events, &format!("{name}.update"));
        // spec: FAIL-01, DEF-06
        match what {
            Failing::Initialize | Failing::Deferred => {
                assert_eq!((updates("first"), updates("last")), (0, 0), "{events:?}");
            }
            _ => assert_eq!(updates("first"), updates("last") + 1, "{events:?}"),
        }
        let mut ends: Vec<&str> = events.iter().map(String::as_str).collect();
        ends.retain(|event| event.ends_with(".shutdown"));
        let expected: &[&str] = if what == Failing::Initialize {
            &["fails.shutdown", "first.shutdown"]
        } else {
            &["last.shutdown", "fails.shutdown", "first.shutdown"]
        };
        // spec: MGR-08, INIT-07, SHUT-01, SHUT-03
        assert_eq!(ends, expected);
        // spec: MGR-08
        assert_eq!(count(&others.take(), "o.shutdown"), 1);
        // spec: STOP-01
        assert_eq!(broken.stop(), StopOutcome::Complete);
        manager.shutdown();
        no_thread_named("rf-");
    }
}

#[test]
fn the_manager_no_longer_runs_when_the_systems_of_the_failed_container_are_shut_down() {
    let manager = Manager::new();
    let trace = Trace::default();
    let main = manager.container("rf-sees").unwrap();
    main.set_silent();
    let (reference, kept) = (manager.reference(), trace.clone());
    let probe = Probe::new("a", &trace).update(boom).shutdown(move |cx| {
        kept.add(format!(
            "running {} failure {}",
            reference.is_running(),
            cx.container().failure().is_some()
        ));
        Ok(())
    });
    main.claim().unwrap().add_system(probe.reg()).unwrap();
    main.start_with(ms(1)).unwrap();
    until("the end of the container", || {
        main.state() == ContainerState::Stopped
    });
    // spec: MGR-08, FAIL-08
    assert_eq!(
        trace.line(),
        "a.init a.update a.shutdown running false failure true"
    );
}

#[test]
fn changes_asked_for_in_the_failing_pass_are_complete() {
    let trace = Trace::default();
    let kept = trace.clone();
    let fails = Probe::new("fails", &trace).update(move |cx| {
        cx.remove_system("victim");
        cx.add_system(Probe::new("late", &kept).reg())?;
        Err("boom".into())
    });
    let owned = container("rf-changes", vec![Probe::new("victim", &trace), fails]);
    owned.start_with(ms(1)).unwrap();
    until("the end of the container", || {
        owned.state() == ContainerState::Stopped
    });
    // spec: FAIL-03, SHUT-11
    assert_eq!(
        trace.line(),
        "victim.init fails.init victim.update fails.update victim.shutdown victim.drop fails.shutdown"
    );
    // spec: FAIL-03, STOP-12
    assert!(
        owned
            .claim()
            .unwrap()
            .context()
            .system_key("late")
            .is_some()
    );
}

#[test]
fn the_error_that_is_kept_is_dropped_with_the_last_reference() {
    #[derive(Debug)]
    struct Sharp(Trace);
    impl std::fmt::Display for Sharp {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("sharp")
        }
    }
    impl std::error::Error for Sharp {}
    impl Drop for Sharp {
        fn drop(&mut self) {
            self.0.add("dropped");
            panic!("in the drop of an error");
        }
    }
    let trace = Trace::default();
    let kept = trace.clone();
    let owned = container(
        "rf-sharp",
        vec![Probe::new("a", &Trace::default()).update(move |_| Err(Sharp(kept.clone()).into()))],
    );
    owned.start_with(ms(1)).unwrap();
    until("the end of the container", || {
        owned.state() == ContainerState::Stopped
    });
    owned.stop();
    assert_eq!(trace.line(), "");
    drop(owned);
    // spec: SHUT-04, FAIL-08
    assert_eq!(trace.line(), "dropped", "once, and its panic goes nowhere");
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trace")
    }
}
