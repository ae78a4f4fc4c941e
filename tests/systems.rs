//! Systems: registration, look-up, listing, starting, order.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Probe, Trace, log_of, manual, once, us};
use ecs::{Context, HeldLines, MAX_INTERVAL, Register, System, SystemError, SystemResult, Uuid};
use serde_json::{Value, json};

#[test]
fn update_alone_makes_a_system() {
    struct Bare;
    impl System for Bare {
        fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
            Ok(())
        }
    }
    struct Set(Value);
    impl System for Set {
        fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
            Ok(())
        }
        fn configure(&mut self, config: &Value) -> SystemResult {
            self.0 = config.clone();
            Ok(())
        }
        fn export(&self) -> Value {
            self.0.clone()
        }
    }
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.add_system(Bare.named("bare")).unwrap();
    claim.add_system(Set(Value::Null).named("set")).unwrap();
    claim.update().unwrap();
    // spec: SYS-01
    assert_eq!(
        claim.export()["Systems"],
        json!({ "bare": {}, "set": null }),
        "nobody called configure"
    );
    claim
        .system_mut::<Set>("set")
        .unwrap()
        .configure(&json!({ "a": 1 }))
        .unwrap();
    // spec: SYS-01
    assert_eq!(claim.export()["Systems"]["set"], json!({ "a": 1 }));
}

#[test]
fn handles_are_given_or_generated() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let given = claim
        .add_system(ecs::system("game/Loader", |_| Ok(())))
        .unwrap();
    let trace = Trace::default();
    let generated = claim.add_system(Probe::new("p", &trace)).unwrap();
    // spec: SYS-02, SYS-09
    assert_eq!(&*given.handle, "game/Loader");
    let id: Uuid = generated.handle.parse().unwrap();
    // spec: SYS-02, SYS-09
    assert_eq!(
        (generated.handle.len(), id.as_u128() >> 76 & 15),
        (36, 4),
        "version 4 as text"
    );
    // spec: SYS-09
    assert!(
        claim.system::<Probe>(generated.key).is_some()
            && claim.system::<Probe>(&generated.handle).is_some()
    );
    let mut cx = claim.context();
    // spec: SYS-09
    assert_eq!(cx.system_key(&*generated.handle), Some(generated.key));
    assert!(cx.remove_system(generated.key));
    // spec: SYS-09
    assert_eq!(
        (
            cx.system_key(generated.key),
            cx.remove_system(generated.key)
        ),
        (None, false)
    );
    let successor = cx
        .add_system(Probe::new("q", &trace).named(generated.handle.clone()))
        .unwrap();
    // spec: SYS-09
    assert!(
        successor.key != generated.key && cx.system::<Probe>(generated.key).is_none(),
        "no successor by an old key"
    );
}

#[test]
fn registration_is_visible_at_once() {
    let (owned, _) = manual("main");
    let message = json!({ "destination": { "system": "s" } });
    assert!(owned.message_submit(message.clone()).is_err());
    let mut claim = owned.claim().unwrap();
    claim.add_system(ecs::system("s", |_| Ok(()))).unwrap();
    // spec: SYS-03
    owned.message_submit(message.clone()).unwrap();
    let cx = claim.context();
    // spec: SYS-03
    assert!(cx.system_info("s").is_some() && cx.export()["Systems"]["s"] == json!({}));
    drop(claim);

    // Also in the middle of a pass, from the one that runs.
    let seen = Trace::default();
    let kept = seen.clone();
    let adder = once(move |cx: &mut Context<'_>| {
        cx.add_system(ecs::system("late", |_| Ok(())))?;
        cx.container()
            .message_submit(json!({ "destination": { "system": "late" } }))?;
        let info = cx.system_info("late").unwrap();
        kept.add(format!(
            "{} {} {}",
            info.handle(),
            info.is_started(),
            cx.export()["Systems"]["late"]
        ));
        Ok(())
    });
    owned
        .claim()
        .unwrap()
        .add_system(ecs::system("adder", adder).every_pass())
        .unwrap();
    owned.update().unwrap();
    // spec: SYS-03
    assert_eq!(seen.line(), "late false {}");
}

#[test]
fn a_faulty_registration_changes_nothing_and_drops_the_system() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let held = HeldLines::new();
    held.log("held");
    let error = claim
        .add_system(Probe::new("p", &trace).named("").held_lines(&held))
        .unwrap_err();
    // spec: SYS-04, ERR-02
    assert_eq!(
        error.to_string(),
        "ecs::Container(\"main\")::add_system(): system handle is empty"
    );
    // spec: SYS-04
    assert_eq!(trace.line(), "p.drop");
    // spec: SYS-04, ERR-01
    assert_eq!(
        (
            claim.context().systems().count(),
            owned.mailbox("").is_none()
        ),
        (0, true)
    );
    // spec: LOG-09
    assert_eq!((lines.line(), held.len()), (String::new(), 1));

    let wrong = Probe::new("p", &trace)
        .named("p")
        .interval(MAX_INTERVAL + us(1));
    let error = claim.add_system(wrong).unwrap_err();
    // spec: INT-01
    assert!(
        matches!(error, SystemError::IntervalOutOfRange { ref system, .. } if &**system == "p"),
        "{error}"
    );
    assert_eq!(trace.line(), "p.drop");

    // A fault in the registration of a replacement leaves the old system and its messages alone.
    claim
        .add_system(Probe::new("old", &trace).named("p"))
        .unwrap();
    owned
        .message_submit(json!({ "destination": { "system": "p" } }))
        .unwrap();
    assert!(
        claim
            .add_system(
                Probe::new("new", &trace)
                    .named("p")
                    .interval(MAX_INTERVAL + us(1))
            )
            .is_err()
    );
    // spec: ERR-01
    assert_eq!(trace.line(), "new.drop");
    let reader = claim.context().system_info("p").unwrap().mailbox().clone();
    // spec: ERR-01
    assert!(!reader.is_closed());
}

#[test]
fn held_lines_come_with_the_registration() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let held = HeldLines::new();
    held.log("one");
    held.log_at("warning", "two");
    let trace = Trace::default();
    let probe = Probe::new("p", &trace).init(|cx| {
        cx.this.log("init");
        Ok(())
    });
    let mut claim = owned.claim().unwrap();
    claim.add_system(probe.reg().held_lines(&held)).unwrap();
    // spec: LOG-09
    assert_eq!(lines.take(), ["info: [p] one", "warning: [p] two"]);
    claim.update().unwrap();
    // spec: LOG-02, INIT-08
    assert_eq!(lines.take(), ["info: [p] init"]);
}

#[test]
fn a_closure_is_a_system() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let kept = trace.clone();
    let mut count = 0;
    let closure = ecs::system("count", move |cx| {
        count += 1;
        kept.add(format!("{}:{count}", cx.this.handle()));
        Ok(())
    });
    owned
        .claim()
        .unwrap()
        .add_system(closure.every_pass())
        .unwrap();
    owned.update().unwrap();
    owned.update().unwrap();
    // spec: SYS-06
    assert_eq!(trace.line(), "count:1 count:2");
}

#[test]
fn look_up_by_type() {
    struct Other;
    impl System for Other {
        fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
            Ok(())
        }
    }
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let kept = trace.clone();
    let mut claim = owned.claim().unwrap();
    let looker = Probe::new("looker", &Trace::default()).update(move |cx| {
        let myself = cx.this.shared_handle();
        kept.add(format!(
            "{} {}",
            cx.system::<Probe>(&myself).is_none(),
            cx.system_mut::<Probe>("other").is_none()
        ));
        cx.system_mut::<Probe>("later").unwrap().name.push('!');
        kept.add(cx.system::<Probe>("earlier").unwrap().name.clone());
        Ok(())
    });
    claim
        .add_system(Probe::new("earlier", &trace).named("earlier"))
        .unwrap();
    claim.add_system(looker.reg()).unwrap();
    claim.add_system(Probe::new("later", &trace).reg()).unwrap();
    claim.add_system(Other.named("other")).unwrap();
    trace.take();
    claim.update().unwrap();
    // spec: SYS-07
    assert_eq!(
        trace.line(),
        "earlier.init later.init true true earlier later!.update"
    );
    // spec: SYS-07
    assert!(claim.system::<Other>("earlier").is_none() && claim.system::<Other>("none").is_none());
    // spec: SYS-07
    assert!(claim.system::<Other>("other").is_some() && claim.system::<Probe>("looker").is_some());
}

#[test]
fn systems_are_listed_in_update_order() {
    let (owned, _) = manual("main");
    let seen = Trace::default();
    let kept = seen.clone();
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let lister = Probe::new("b", &trace).update(move |cx| {
        for info in cx.systems() {
            kept.add(format!(
                "{} {} {}us {}",
                info.handle(),
                info.is_started(),
                info.interval().as_micros(),
                info.updates()
            ));
        }
        Ok(())
    });
    claim
        .add_system(Probe::new("a", &trace).named("a").interval(us(7)))
        .unwrap();
    claim.add_system(lister.reg()).unwrap();
    claim
        .add_system(ecs::system("c", |_| Ok(())).interval(us(9)).switched_off())
        .unwrap();
    let list = |claim: &mut ecs::Claim| -> Vec<String> {
        claim
            .context()
            .systems()
            .map(|info| format!("{} {} {}", info.handle(), info.is_started(), info.is_on()))
            .collect()
    };
    // spec: SYS-08
    assert_eq!(
        list(&mut claim),
        ["a false true", "b false true", "c false false"]
    );
    claim.update().unwrap();
    // spec: SYS-08
    assert_eq!(
        seen.take(),
        ["a true 7us 0", "b true 0us 1", "c true 9us 0"],
        "the running one included"
    );
    // spec: SYS-11
    assert!(
        claim
            .context()
            .systems()
            .next()
            .unwrap()
            .type_name()
            .ends_with("common::Probe")
    );
    assert!(claim.remove_system("b"));
    // spec: SYS-08, ORD-02
    assert_eq!(list(&mut claim), ["a true true", "c true false"]);
    let failing = ecs::system("f", |_| Err("no".into()));
    claim.add_system(failing.every_pass()).unwrap();
    let error = claim.update().unwrap_err();
    let failure = error.failure().unwrap();
    // spec: SYS-11
    assert!(failure.handle() == "f" && failure.type_name().contains("FnSystem"));
    // spec: SYS-11
    assert!(
        error
            .to_string()
            .contains("\"f\" (ecs::runtime::system::FnSystem<"),
        "{error}"
    );
    // spec: SYS-08
    assert_eq!(claim.context().system_info("f").unwrap().failures(), 1);
}

#[test]
fn update_system_runs_one_system_whether_due_or_not() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let timer = trace.clone();
    let kept = trace.clone();
    let probe = Probe::new("p", &trace).update(move |cx| {
        kept.add(format!(
            "{} {:?}",
            cx.this.elapsed().as_micros(),
            cx.this.next_message()
        ));
        Ok(())
    });
    let system = probe
        .reg()
        .interval(us(100))
        .timer_once("t", us(10), move |_, _| {
            timer.add("timer");
            Ok(())
        });
    claim.add_system(system).unwrap();
    claim.add_system(Probe::new("other", &trace).reg()).unwrap();
    owned
        .message_submit(json!({ "destination": { "system": "p" } }))
        .unwrap();
    clock.advance(us(10)).unwrap();
    claim.update_system("p").unwrap();
    let message = r#"Some(Object {"destination": Object {"system": String("p")}})"#;
    // spec: SYS-10, CHG-06
    assert_eq!(
        trace.line(),
        format!("p.init timer p.update 100 {message}"),
        "started first, then updated"
    );
    claim.update_system("p").unwrap();
    // spec: SYS-10
    assert_eq!(trace.line(), "p.update 0 None");
    clock.advance(us(89)).unwrap();
    claim.update().unwrap();
    // spec: SYS-10
    assert_eq!(trace.line(), "other.init other.update");
    clock.advance(us(1)).unwrap();
    claim.update().unwrap();
    // spec: SYS-10
    assert_eq!(
        trace.line(),
        "p.update 90 None other.update",
        "its schedule was left alone"
    );
    claim.update_system("nobody").unwrap();
    assert_eq!(trace.line(), "");
    owned.request_stop();
    claim.update_system("p").unwrap();
    // spec: CHG-06
    assert_eq!(trace.line(), "", "after a stop it does nothing");
}

#[test]
fn switched_off_and_conditional_systems() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let (timer, kept) = (trace.clone(), trace.clone());
    let mut claim = owned.claim().unwrap();
    let probe = Probe::new("p", &Trace::default()).update(move |cx| {
        let waiting = cx.this.messages_waiting();
        while cx.this.next_message().is_some() {}
        kept.add(format!(
            "update {waiting} {}",
            cx.this.elapsed().as_micros()
        ));
        Ok(())
    });
    let probe = probe
        .reg()
        .interval(us(100))
        .timer_every("t", us(100), move |_, _| {
            timer.add("timer");
            Ok(())
        });
    claim.add_system(probe).unwrap();
    let after = |claim: &mut ecs::Claim, micros| {
        clock.advance(us(micros)).unwrap();
        claim.update().unwrap();
        trace.line()
    };
    assert_eq!(after(&mut claim, 100), "timer update 0 100");
    claim.context().set_system_on("p", false).unwrap();
    owned
        .message_submit(json!({ "destination": { "system": "p" } }))
        .unwrap();
    // spec: SYS-12
    assert_eq!(
        (after(&mut claim, 100), after(&mut claim, 50)),
        (String::new(), String::new())
    );
    claim.context().set_system_on("p", true).unwrap();
    // spec: SYS-12
    assert_eq!(
        after(&mut claim, 49),
        "",
        "the schedule went on: it is not due before its time"
    );
    // spec: SYS-12, ELA-02
    assert_eq!(
        after(&mut claim, 1),
        "timer update 1 200",
        "the mailbox was kept, no time is lost"
    );

    let gate = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&gate);
    claim
        .context()
        .set_run_condition("p", move |_| open.load(Ordering::SeqCst))
        .unwrap();
    // spec: SYS-12
    assert_eq!(after(&mut claim, 100), "");
    gate.store(true, Ordering::SeqCst);
    // spec: SYS-12
    assert_eq!(
        (after(&mut claim, 50), after(&mut claim, 50)),
        (String::new(), "timer update 0 200".into())
    );
    assert!(claim.context().set_system_on("nobody", true).is_err());

    claim
        .context()
        .set_run_condition("p", |_| panic!("no idea"))
        .unwrap();
    let error = {
        clock.advance(us(100)).unwrap();
        claim.update().unwrap_err()
    };
    // spec: FAIL-06
    assert!(
        error
            .to_string()
            .ends_with("failed in run condition: panicked: no idea"),
        "{error}"
    );
}

#[test]
fn systems_run_in_registration_order_and_only_when_due() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    for (name, interval) in [("c", 0), ("a", 30), ("d", 0), ("b", 20)] {
        claim
            .add_system(Probe::new(name, &trace).named(name).interval(us(interval)))
            .unwrap();
    }
    claim.update().unwrap();
    // spec: ORD-01, INIT-04
    assert_eq!(
        trace.line(),
        "c.init a.init d.init b.init c.update d.update"
    );
    clock.advance(us(20)).unwrap();
    claim.update().unwrap();
    // spec: ORD-01
    assert_eq!(trace.line(), "c.update d.update b.update");
    clock.advance(us(45)).unwrap();
    claim.update().unwrap();
    // spec: ORD-01
    assert_eq!(
        trace.line(),
        "c.update a.update d.update b.update",
        "each at most once, however late"
    );
    assert!(claim.remove_system("a"));
    claim.add_system(Probe::new("e", &trace).reg()).unwrap();
    trace.take();
    claim.update().unwrap();
    // spec: ORD-02
    assert_eq!(trace.line(), "e.init c.update d.update e.update");
    assert!(claim.remove_system("c"));
    trace.take();
    claim.update().unwrap();
    // spec: ORD-02
    assert_eq!(trace.line(), "d.update e.update");
}
