//! The start-up step: which systems it initialises, and when.

mod common;

use common::{Probe, Trace, manual, once};
use ecs::{Context, Register};

#[test]
fn the_start_up_step() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let kept = trace.clone();
    let mut claim = owned.claim().unwrap();
    let adder = Probe::new("a", &trace).init(move |cx| {
        cx.add_system(Probe::new("added", &kept).reg())?;
        cx.remove_system("removed");
        Ok(())
    });
    claim.add_system(adder.reg()).unwrap();
    claim
        .add_system(Probe::new("removed", &trace).reg())
        .unwrap();
    claim.initialize_systems().unwrap();
    // spec: INIT-03, INIT-05, INIT-06
    assert_eq!(
        trace.line(),
        "a.init removed.drop",
        "removed before it was reached: never started, no shutdown"
    );
    claim.initialize_systems().unwrap();
    claim.initialize_systems().unwrap();
    // spec: INIT-01, INIT-03, INIT-05
    assert_eq!(trace.line(), "added.init");
    claim.update().unwrap();
    // spec: INIT-02
    assert_eq!(trace.line(), "a.update added.update");
    claim.add_system(Probe::new("x", &trace).reg()).unwrap();
    claim.update().unwrap();
    // spec: INIT-01, INIT-02
    assert_eq!(trace.line(), "x.init a.update added.update x.update");
}

#[test]
fn replaced_during_the_start_up_step() {
    for reached in [true, false] {
        let (owned, _) = manual("main");
        let trace = Trace::default();
        let kept = trace.clone();
        let mut claim = owned.claim().unwrap();
        let replacer = Probe::new("r", &trace).init(once(move |cx: &mut Context<'_>| {
            cx.add_system(Probe::new("new", &kept).named("s").every_pass())?;
            Ok(())
        }));
        let old = Probe::new("old", &trace).named("s").every_pass();
        if reached {
            claim.add_system(old).unwrap();
            claim.add_system(replacer.reg()).unwrap();
        } else {
            claim.add_system(replacer.reg()).unwrap();
            claim.add_system(old).unwrap();
        }
        claim.initialize_systems().unwrap();
        let gone = if reached {
            "old.init r.init old.shutdown old.drop"
        } else {
            "r.init old.drop"
        };
        // spec: INIT-09
        assert_eq!(trace.line(), gone);
        claim.update().unwrap();
        // spec: INIT-09
        assert_eq!(
            trace.line(),
            if reached {
                "new.init new.update r.update"
            } else {
                "new.init r.update new.update"
            }
        );
    }
}
