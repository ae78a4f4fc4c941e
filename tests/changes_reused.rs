//! Systems in places that others have left, and systems that end before their first update.

mod common;

use common::{Probe, Trace, manual, once};
use ecs::{Context, OwnedContainer, Register, SystemResult};

/// Replaces the system `c` by one that traces as `c2`.
fn replace_c(
    trace: &Trace,
) -> impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static + use<> {
    let trace = trace.clone();
    once(move |cx| {
        cx.add_system(Probe::new("c2", &trace).named("c").every_pass())?;
        Ok(())
    })
}

/// A container with the systems `a` and `c`, and a place before them that another system has left.
fn with_a_free_place(a: Probe, trace: &Trace) -> OwnedContainer {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    for probe in [Probe::new("left", trace), a, Probe::new("c", trace)] {
        claim.add_system(probe.reg()).unwrap();
    }
    assert!(claim.remove_system("left"));
    assert_eq!(trace.line(), "left.drop");
    drop(claim);
    owned
}

#[test]
fn a_replacement_in_a_place_used_before_waits_for_the_next_pass() {
    let trace = Trace::default();
    let a = Probe::new("a", &trace).update(replace_c(&trace));
    let owned = with_a_free_place(a, &trace);
    owned.update().unwrap();
    // spec: SYS-05, CHG-07
    assert_eq!(trace.line(), "a.init c.init a.update c.shutdown c.drop");
    owned.update().unwrap();
    // spec: SYS-05, CHG-07
    assert_eq!(trace.line(), "c2.init a.update c2.update");
}

#[test]
fn a_replacement_in_a_place_used_before_is_not_started_by_the_step_it_was_made_in() {
    let trace = Trace::default();
    let a = Probe::new("a", &trace).init(replace_c(&trace));
    let owned = with_a_free_place(a, &trace);
    owned.update().unwrap();
    // spec: SYS-05, CHG-07
    assert_eq!(trace.line(), "a.init a.update c.drop");
    owned.update().unwrap();
    // spec: SYS-05, CHG-07
    assert_eq!(trace.line(), "c2.init a.update c2.update");
}

#[test]
fn a_system_that_ends_in_its_initialize_is_not_updated_by_update_system() {
    let trace = Trace::default();
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let removed = Probe::new("a", &trace).init(|cx| {
        assert!(cx.remove_this());
        Ok(())
    });
    claim.add_system(removed.reg()).unwrap();
    claim.update_system("a").unwrap();
    // spec: CHG-03, CHG-06
    assert_eq!(trace.line(), "a.init a.shutdown a.drop");
    let stopped = Probe::new("b", &trace).init(|cx| {
        cx.container().request_stop();
        Ok(())
    });
    claim.add_system(stopped.reg()).unwrap();
    claim.update_system("b").unwrap();
    // spec: SYS-10
    assert_eq!(trace.line(), "b.init b.shutdown");
}
