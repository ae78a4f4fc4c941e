//! The handle of the system that runs, read from another thread.

use ecs::{Context, SystemResult, Timer};

use super::common::wait::{Flag, spawn, until};
use super::common::{Probe, Trace, manual, ms};
use super::container;

/// User code that says that it runs, and waits.
fn stay(at: &Flag, go: &Flag) -> impl FnMut(&mut Context<'_>) -> SystemResult + Send + use<> {
    let (at, go) = (at.clone(), go.clone());
    move |_| {
        at.set();
        go.wait("the test to have looked");
        Ok(())
    }
}

#[test]
fn the_running_system_can_be_read_from_any_thread() {
    let trace = Trace::default();
    let flags: Vec<(Flag, Flag)> = (0..5).map(|_| (Flag::default(), Flag::default())).collect();
    let at = |n: usize| stay(&flags[n].0, &flags[n].1);
    let owned = container(
        "rr-read",
        vec![
            Probe::new("starts", &trace).init(at(0)),
            Probe::new("updates", &trace).update(at(2)),
            Probe::new("ends", &trace).shutdown(at(4)),
        ],
    );
    let timed = Probe::new("timed", &trace)
        .reg()
        .timer(Timer::once("t", ms(1), at(3)));
    owned.claim().unwrap().add_system(timed).unwrap();
    owned.defer(at(1));
    // spec: STOP-16
    assert_eq!(owned.running_system(), None);
    owned.start_with(ms(5)).unwrap();
    for (n, expected) in [Some("starts"), None, Some("updates"), Some("timed")]
        .into_iter()
        .enumerate()
    {
        flags[n].0.wait("user code of a pass");
        // spec: STOP-16
        assert_eq!(owned.running_system().as_deref(), expected);
        flags[n].1.set();
    }
    let reference = ecs::Container::clone(&owned);
    let stop = spawn(move || reference.stop());
    flags[4].0.wait("the shutdown");
    // spec: STOP-16
    assert_eq!(owned.running_system().as_deref(), Some("ends"));
    flags[4].1.set();
    stop.join("the stop");
    // spec: STOP-16
    assert_eq!(owned.running_system(), None);
}

#[test]
fn a_successor_in_the_same_place_has_its_own_name() {
    let (owned, _) = manual("rr-slot");
    let look = |expected: &'static str| {
        Probe::new(expected, &Trace::default()).update(move |cx| {
            // spec: STOP-16
            assert_eq!(cx.container().running_system().as_deref(), Some(expected));
            Ok(())
        })
    };
    let mut claim = owned.claim().unwrap();
    claim.add_system(look("a").reg()).unwrap();
    claim.update().unwrap();
    claim.remove_system("a");
    claim.add_system(look("b").reg()).unwrap();
    claim.add_system(look("c").reg()).unwrap();
    claim.update().unwrap();
    claim.update_system("c").unwrap();
    // A shutdown inside a call that runs no system, and one inside a pass.
    let (seen, trace) = (Trace::default(), Trace::default());
    let (kept, other) = (seen.clone(), seen.clone());
    let leaves = Probe::new("leaves", &trace).shutdown(move |cx| {
        kept.add(format!("{:?}", cx.container().running_system()));
        cx.remove_system("c");
        kept.add(format!("{:?}", cx.container().running_system()));
        Ok(())
    });
    claim.add_system(leaves.reg()).unwrap();
    claim.update().unwrap();
    claim.remove_system("leaves");
    other.add(format!("{:?}", owned.running_system()));
    // spec: STOP-16
    assert_eq!(seen.line(), r#"Some("leaves") Some("leaves") None"#);
}

#[test]
fn reading_it_never_disturbs_the_passes() {
    let owned = container(
        "rr-read",
        (0..10)
            .map(|n| Probe::new(&format!("s{n}"), &Trace::default()))
            .collect(),
    );
    owned.start_with(ms(0)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    until("to see two systems run", || {
        if let Some(handle) = owned.running_system() {
            assert!(handle.starts_with('s') && handle.len() == 2, "{handle}");
            seen.insert(handle);
        }
        let _ = owned.state();
        seen.len() > 1
    });
    owned.stop();
}
