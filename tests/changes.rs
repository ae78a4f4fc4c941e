//! Adding, removing and replacing systems, outside passes and in the middle of them.

mod common;

use common::{Probe, Trace, manual, once, us};
use ecs::{Claim, Context, ManualClock, OwnedContainer, Register, Timer};
use serde_json::json;

struct Stage {
    owned: OwnedContainer,
    claim: Claim,
    clock: ManualClock,
    trace: Trace,
}

impl Stage {
    fn new() -> Self {
        let (owned, clock) = manual("main");
        let claim = owned.claim().unwrap();
        Self {
            owned,
            claim,
            clock,
            trace: Trace::default(),
        }
    }

    fn probe(&self, name: &str) -> Probe {
        Probe::new(name, &self.trace)
    }

    fn add(&mut self, names: &[&str]) {
        for name in names {
            let probe = self.probe(name);
            self.claim.add_system(probe.reg()).unwrap();
        }
    }

    fn pass(&mut self) -> String {
        self.claim.update().unwrap();
        self.trace.line()
    }

    fn listed(&mut self) -> String {
        let mut cx = self.claim.context();
        let cx = &mut cx;
        cx.systems()
            .map(|info| info.handle().to_string())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

#[test]
fn any_handle_may_be_given_to_remove() {
    let mut stage = Stage::new();
    let trace = stage.trace.clone();
    let own = stage.probe("own").update(|cx| {
        let handle = cx.this.shared_handle();
        assert!(cx.remove_system(&*handle));
        Ok(())
    });
    stage.claim.add_system(own.reg()).unwrap();
    let listed = stage.probe("lister").update(once(|cx: &mut Context<'_>| {
        let handle = cx.systems().last().unwrap().handle().clone();
        assert!(cx.remove_system(handle));
        Ok(())
    }));
    stage.claim.add_system(listed.reg()).unwrap();
    stage.add(&["last"]);
    // spec: CHG-01
    assert_eq!(
        stage.pass(),
        "own.init lister.init last.init own.update lister.update own.shutdown own.drop last.shutdown last.drop"
    );
    let registered = stage.claim.add_system(Probe::new("kept", &trace)).unwrap();
    // spec: CHG-01
    assert!(stage.claim.remove_system(&registered.handle) && stage.listed() == "lister");
    let world = stage.claim.world();
    let door = world.spawn_named("door", ()).unwrap();
    let handle = world.handle(door).unwrap().to_string();
    // spec: CHG-01
    assert!(world.despawn(&*handle) && !world.despawn(&*handle));
}

#[test]
fn unknown_handles_are_a_silent_no_op() {
    let mut stage = Stage::new();
    stage.add(&["a"]);
    let before = stage.claim.export();
    // spec: CHG-02
    assert!(
        !stage.claim.remove_system("")
            && !stage.claim.remove_system("b")
            && stage.claim.export() == before
    );
    let twice = stage.probe("twice").update(once(|cx: &mut Context<'_>| {
        assert_eq!(
            (cx.remove_system("a"), cx.remove_system("a")),
            (true, false)
        );
        assert_eq!(
            (
                cx.remove_this(),
                cx.remove_this(),
                cx.remove_system("twice")
            ),
            (true, false, false)
        );
        Ok(())
    }));
    stage.claim.add_system(twice.reg()).unwrap();
    // spec: CHG-02
    assert_eq!(
        stage.pass(),
        "a.init twice.init a.update twice.update a.shutdown a.drop twice.shutdown twice.drop",
        "each released once"
    );
    // spec: CHG-02
    assert_eq!(
        (stage.pass(), stage.listed()),
        (String::new(), String::new())
    );
}

#[test]
fn a_removed_system_is_gone_when_the_call_returns() {
    let mut stage = Stage::new();
    let seen = stage.trace.clone();
    let remover = stage
        .probe("remover")
        .update(once(move |cx: &mut Context<'_>| {
            let mailbox = cx.system_info("victim").unwrap().mailbox().clone();
            cx.remove_system("victim");
            let container = cx.container();
            let message = json!({ "destination": { "system": "victim" } });
            seen.add(format!(
                "{} {} {} {} {} {}",
                cx.system_key("victim").is_none(),
                cx.system::<Probe>("victim").is_none(),
                cx.systems().all(|info| &**info.handle() != "victim") && cx.systems().count() == 1,
                cx.export()["Systems"].get("victim").is_none(),
                container.message_submit(message).is_err(),
                mailbox.send(json!(1)).is_err(),
            ));
            // Its handle is free at once; the new one is a new system.
            cx.add_system(ecs::system("victim", |_| Ok(())))?;
            assert!(cx.system_key("victim").is_some());
            cx.remove_system("victim");
            Ok(())
        }));
    stage.claim.add_system(remover.reg()).unwrap();
    let timer = stage.trace.clone();
    let victim = stage
        .probe("victim")
        .reg()
        .timer_every("t", us(0), move |_, _| {
            timer.add("timer");
            Ok(())
        });
    stage.claim.add_system(victim).unwrap();
    // spec: CHG-03, CHG-04, SHUT-10
    assert_eq!(
        stage.pass(),
        "remover.init victim.init remover.update true true true true true true victim.shutdown victim.drop",
        "neither updated nor its timer fired; released at the end of the pass"
    );
    // spec: CHG-03
    assert_eq!(
        (stage.pass(), stage.listed()),
        ("remover.update".into(), "remover".into())
    );
}

#[test]
fn removed_outside_a_pass_it_is_released_at_once() {
    let mut stage = Stage::new();
    stage.add(&["a", "b"]);
    stage.pass();
    stage.claim.remove_system("a");
    // spec: CHG-04, SHUT-09
    assert_eq!(stage.trace.line(), "a.shutdown a.drop");
    stage.add(&["unstarted"]);
    stage.claim.remove_system("unstarted");
    // spec: SHUT-01, INIT-06
    assert_eq!(stage.trace.line(), "unstarted.drop");
}

#[test]
fn the_code_of_a_removed_system_may_finish() {
    let mut stage = Stage::new();
    let seen = stage.trace.clone();
    let own = stage.probe("own").update(move |cx| {
        cx.remove_this();
        cx.this.log("still here");
        cx.this.add_timer(Timer::once("t", us(0), |_| Ok(())))?;
        seen.add(format!("{} {:?}", cx.this.handle(), cx.this.elapsed()));
        Ok(())
    });
    stage.claim.add_system(own.reg()).unwrap();
    // spec: CHG-04
    assert_eq!(
        stage.pass(),
        "own.init own.update own 0ns own.shutdown own.drop"
    );
}

#[test]
fn a_timer_that_removes_its_own_system_ends_it() {
    let mut stage = Stage::new();
    let (first, second) = (stage.trace.clone(), stage.trace.clone());
    let own = stage
        .probe("own")
        .reg()
        .timer_every("first", us(0), move |_, cx| {
            first.add("first");
            cx.remove_this();
            Ok(())
        })
        .timer_every("second", us(0), move |_, _| {
            second.add("second");
            Ok(())
        });
    stage.claim.add_system(own).unwrap();
    stage.add(&["next"]);
    // spec: CHG-05
    assert_eq!(
        stage.pass(),
        "own.init next.init first next.update own.shutdown own.drop"
    );
}

#[test]
fn a_timer_that_replaces_its_own_system_ends_that_instance() {
    let mut stage = Stage::new();
    let (first, second, new) = (
        stage.trace.clone(),
        stage.trace.clone(),
        stage.trace.clone(),
    );
    let old = Probe::new("old", &stage.trace)
        .named("s")
        .every_pass()
        .timer_every("first", us(0), move |_, cx| {
            first.add("first");
            cx.add_system(Probe::new("new", &new).named("s").every_pass())?;
            Ok(())
        })
        .timer_every("second", us(0), move |_, _| {
            second.add("second");
            Ok(())
        });
    stage.claim.add_system(old).unwrap();
    stage.add(&["next"]);
    // spec: CHG-09
    assert_eq!(
        stage.pass(),
        "old.init next.init first next.update old.shutdown old.drop"
    );
    // spec: CHG-09, CHG-07
    assert_eq!(stage.pass(), "new.init new.update next.update");
}

#[test]
fn update_system_keeps_what_it_removes_until_it_ends() {
    let mut stage = Stage::new();
    let (seen, inner) = (stage.trace.clone(), stage.trace.clone());
    let own = stage
        .probe("own")
        .update(move |cx| {
            cx.remove_system("other");
            cx.remove_this();
            seen.add("removed");
            Ok(())
        })
        .reg()
        .timer_once("t", us(0), move |_, cx| {
            cx.add_system(Probe::new("added", &inner).reg())?;
            Ok(())
        });
    stage.claim.add_system(own).unwrap();
    stage.add(&["other"]);
    stage.claim.initialize_systems().unwrap();
    stage.trace.take();
    stage.claim.update_system("own").unwrap();
    // spec: CHG-06
    assert_eq!(
        stage.trace.line(),
        "own.update removed other.shutdown other.drop own.shutdown own.drop"
    );
    // spec: CHG-06
    assert_eq!(
        (stage.listed(), stage.pass()),
        ("added".into(), "added.init added.update".into())
    );
}

#[test]
fn what_is_registered_during_a_pass_runs_from_the_next_one_on_and_last() {
    let mut stage = Stage::new();
    let inner = stage.trace.clone();
    let adder = stage
        .probe("adder")
        .update(once(move |cx: &mut Context<'_>| {
            cx.add_system(Probe::new("x", &inner).reg())?;
            cx.add_system(Probe::new("y", &inner).reg())?;
            Ok(())
        }));
    stage.claim.add_system(adder.reg()).unwrap();
    stage.add(&["a"]);
    // spec: CHG-07
    assert_eq!(stage.pass(), "adder.init a.init adder.update a.update");
    // spec: CHG-07, ORD-01
    assert_eq!(
        stage.pass(),
        "x.init y.init adder.update a.update x.update y.update"
    );
    // spec: ORD-02
    assert_eq!(stage.listed(), "adder a x y");
}

#[test]
fn a_replacement_takes_the_old_ones_place() {
    let mut stage = Stage::new();
    stage.add(&["a", "b", "c"]);
    stage.pass();
    // Outside a pass.
    stage
        .owned
        .message_submit(json!({ "destination": { "system": "b" } }))
        .unwrap();
    let old_mailbox = stage.owned.mailbox("b").unwrap();
    let seen = stage.trace.clone();
    let new = Probe::new("b2", &stage.trace).update(move |cx| {
        seen.add(format!("{} waiting", cx.this.messages_waiting()));
        Ok(())
    });
    stage.claim.add_system(new.named("b").every_pass()).unwrap();
    // spec: SYS-05, SHUT-10
    assert_eq!(stage.trace.line(), "b.shutdown b.drop");
    // spec: SYS-05, MSG-15
    assert_eq!(
        old_mailbox.send(json!(7)).unwrap_err().into_message(),
        Some(json!(7))
    );
    // spec: SYS-05
    assert_eq!(stage.listed(), "a b c");
    // spec: SYS-05
    assert_eq!(
        stage.pass(),
        "b2.init a.update b2.update 0 waiting c.update",
        "started once, old messages are gone"
    );
    stage
        .owned
        .message_submit(json!({ "destination": { "system": "b" } }))
        .unwrap();
    // spec: SYS-05
    assert_eq!(stage.pass(), "a.update b2.update 1 waiting c.update");

    // During a pass, by an earlier, a later and the same system.
    for replacer in ["a", "c", "b"] {
        let mut stage = Stage::new();
        let inner = stage.trace.clone();
        for name in ["a", "b", "c"] {
            let inner = inner.clone();
            let probe = stage.probe(name).update(once(move |cx: &mut Context<'_>| {
                if cx.this.handle() == replacer {
                    cx.add_system(Probe::new("new", &inner).named("b").every_pass())?;
                    cx.container()
                        .message_submit(json!({ "destination": { "system": "b" } }))?;
                }
                Ok(())
            }));
            stage.claim.add_system(probe.reg()).unwrap();
        }
        let updates = match replacer {
            "a" => "a.update c.update",
            _ => "a.update b.update c.update",
        };
        // spec: SYS-05, CHG-04
        assert_eq!(
            stage.pass(),
            format!("a.init b.init c.init {updates} b.shutdown b.drop"),
            "by {replacer}"
        );
        // spec: SYS-05, CHG-07
        assert_eq!(
            (stage.pass(), stage.listed()),
            (
                "new.init a.update new.update c.update".into(),
                "a b c".into()
            )
        );
    }
}

#[test]
fn a_handle_removed_and_registered_in_one_pass_is_a_new_system() {
    let mut stage = Stage::new();
    let inner = stage.trace.clone();
    let renewer = stage
        .probe("renewer")
        .update(once(move |cx: &mut Context<'_>| {
            cx.remove_system("a");
            cx.add_system(Probe::new("new", &inner).named("a").every_pass())?;
            Ok(())
        }));
    stage.claim.add_system(renewer.reg()).unwrap();
    stage.add(&["a", "b"]);
    // spec: CHG-08
    assert_eq!(
        stage.pass(),
        "renewer.init a.init b.init renewer.update b.update a.shutdown a.drop"
    );
    // spec: CHG-08
    assert_eq!(
        (stage.listed(), stage.pass()),
        (
            "renewer b a".into(),
            "new.init renewer.update b.update new.update".into()
        )
    );
}

#[test]
fn in_its_shutdown_a_system_removes_no_successor() {
    let mut stage = Stage::new();
    let old = Probe::new("old", &stage.trace).shutdown(|cx| {
        assert!(!cx.remove_system("s") && !cx.remove_this());
        Ok(())
    });
    stage.claim.add_system(old.named("s").every_pass()).unwrap();
    stage.pass();
    let new = stage.probe("new").named("s").every_pass();
    stage.claim.add_system(new).unwrap();
    // spec: SHUT-13
    assert_eq!(
        (stage.trace.line(), stage.listed()),
        ("old.shutdown old.drop".into(), "s".into())
    );
    // spec: SHUT-13
    assert_eq!(stage.pass(), "new.init new.update");
}

#[test]
fn a_shutdown_outside_a_pass_may_add_and_remove() {
    let mut stage = Stage::new();
    let inner = stage.trace.clone();
    let a = stage.probe("a").shutdown(move |cx| {
        cx.add_system(Probe::new("new", &inner).reg())?;
        cx.remove_system("b");
        Ok(())
    });
    stage.claim.add_system(a.reg()).unwrap();
    stage.add(&["b", "c"]);
    stage.pass();
    stage.claim.remove_system("a");
    // spec: SHUT-09
    assert_eq!(
        (stage.trace.line(), stage.listed()),
        ("a.shutdown b.shutdown b.drop a.drop".into(), "c new".into())
    );
    // spec: CHG-07
    assert_eq!(stage.pass(), "new.init c.update new.update");
}

#[test]
fn many_changes_in_one_pass_leave_exactly_the_right_order() {
    let mut stage = Stage::new();
    let names: Vec<String> = (0..50).map(|n| format!("s{n}")).collect();
    stage.add(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let inner = Trace::default();
    let changer = stage
        .probe("changer")
        .update(once(move |cx: &mut Context<'_>| {
            for n in 0..50 {
                match n % 3 {
                    0 => assert!(cx.remove_system(format!("s{n}"))),
                    1 => drop(cx.add_system(Probe::new("r", &inner).named(format!("s{n}")))?),
                    _ => drop(cx.add_system(Probe::new("n", &inner).named(format!("n{n}")))?),
                }
            }
            Ok(())
        }));
    stage.claim.add_system(changer.reg()).unwrap();
    stage.pass();
    let stay = (0..50).filter(|n| n % 3 != 0).map(|n| format!("s{n}"));
    let new = (0..50).filter(|n| n % 3 == 2).map(|n| format!("n{n}"));
    let expected: Vec<_> = stay.chain(["changer".into()]).chain(new).collect();
    // spec: ORD-02, SYS-05, CHG-07
    assert_eq!(stage.listed(), expected.join(" "));
    for handle in &expected {
        // spec: SYS-03, SYS-09
        assert_eq!(
            &**stage
                .claim
                .context()
                .system_info(&**handle)
                .unwrap()
                .handle(),
            &**handle
        );
    }
    let _ = &stage.clock;
}

#[test]
fn a_chain_of_removals_outside_a_pass_needs_no_deep_stack() {
    let mut stage = Stage::new();
    let count = 20_000;
    for number in 0..count {
        let next = format!("{}", number + 1);
        let link = stage.probe(&number.to_string()).shutdown(move |cx| {
            cx.remove_system(next.as_str());
            Ok(())
        });
        stage.claim.add_system(link.reg()).unwrap();
    }
    stage.claim.initialize_systems().unwrap();
    stage.trace.take();
    // spec: CHG-03
    assert!(stage.claim.remove_system("0"));
    let events = stage.trace.take();
    // spec: SHUT-01, SHUT-09
    assert_eq!(events.len(), 2 * count);
    let shut = events
        .iter()
        .filter_map(|event| event.strip_suffix(".shutdown"));
    assert!(
        shut.eq((0..count).map(|number| number.to_string())),
        "one after the other, each once"
    );
    assert_eq!(stage.claim.context().systems().count(), 0);
}
