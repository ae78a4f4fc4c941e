//! What holds within one context, and of references to containers.

mod common;
mod kinds;

use std::time::Duration;

use common::{Probe, Trace, log_of, manual, once, us};
use ecs::{
    Claim, ComponentError, MAX_INTERVAL, Manager, MessageError, MessageErrorKind, Moment,
    OwnedContainer, Timer, World, json,
};
use kinds::{Health, Speed};

#[test]
fn a_system_is_visible_in_the_context_that_added_it() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let mut cx = claim.context();
    for name in ["first", "second"] {
        cx.add_system(Probe::new(name, &trace).reg()).unwrap();
        // spec: SYS-03
        assert_eq!(&**cx.system_info(name).unwrap().handle(), name);
        // spec: SYS-03, SYS-07
        assert_eq!(cx.system::<Probe>(name).unwrap().name, name);
        // spec: SYS-03
        assert!(cx.export()["Systems"].get(name).is_some());
    }
    let listed: Vec<_> = cx.systems().map(|info| info.handle().to_string()).collect();
    // spec: SYS-03, SYS-08
    assert_eq!(listed, ["first", "second"]);
}

#[test]
fn a_system_marks_components_while_it_iterates_and_clears_the_marks() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let ids = [0, 1, 2].map(|n| claim.world().spawn((Health::<false>(n), Speed::<true>(n))));
    let system = ecs::system(
        "marks",
        once(move |cx| {
            for (n, id) in ids.into_iter().enumerate() {
                // spec: COMP-10
                assert!(cx.this.mark_removal::<Health<false>>(id), "{n}");
            }
            assert!(cx.this.mark_removal_named(ids[1], "Speed"));
            // spec: COMP-10
            assert_eq!(cx.world.query::<&Health<false>>().count(), 3);
            // spec: COMP-10
            assert_eq!((cx.clear_marks(), cx.clear_marks()), (4, 0));
            Ok(())
        }),
    );
    claim.add_system(system.every_pass()).unwrap();
    claim.update().unwrap();
    // spec: COMP-10
    assert_eq!(claim.world().query::<&Health<false>>().count(), 0);
    let left: Vec<_> = claim
        .world()
        .query::<&Speed<true>>()
        .map(|speed| speed.0)
        .collect();
    // spec: COMP-10
    assert_eq!(left, [0, 2]);
    let mut cx = claim.context();
    let marked = cx.this.mark_removal::<Health<false>>(ids[0])
        || cx.this.mark_removal_named(ids[0], "Speed");
    assert!(!marked && cx.clear_marks() == 0, "no system runs here");
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[test]
fn a_deferred_function_that_is_discarded_may_panic_in_its_drop() {
    let (owned, _) = manual("main");
    let defer = |owned: &OwnedContainer| {
        let bomb = Bomb;
        owned.defer(move |_| {
            let _ = &bomb;
            Ok(())
        });
    };
    defer(&owned);
    defer(&owned);
    // spec: SHUT-04
    owned.stop();
    // spec: SHUT-04
    defer(&owned);
    assert!(owned.is_stop_requested());
}

#[test]
fn a_silenced_container_logs_nowhere() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    owned.log("heard");
    owned.log_at("warning", "too");
    assert_eq!(lines.take(), ["info: heard", "warning: too"]);
    owned.set_silent();
    owned.log("unheard");
    assert_eq!(lines.line(), "");
}

#[test]
fn a_closed_manager_says_so() {
    let manager = Manager::new();
    let (same, other) = (manager.reference(), Manager::new());
    assert!(same == manager.reference() && same != other.reference());
    let message = || json!({ "destination": { "container": "main", "system": "s" } });
    let kind = |sent: Result<(), MessageError>| sent.unwrap_err().kind().clone();
    assert!(matches!(
        kind(same.message_submit(message())),
        MessageErrorKind::ContainerNotFound { .. }
    ));
    drop(manager);
    // spec: MGR-09, MGR-10
    assert_eq!(
        kind(same.message_submit(message())),
        MessageErrorKind::ManagerClosed
    );
}

#[test]
fn a_manager_that_is_being_destroyed_says_so() {
    let manager = Manager::new();
    let (sender, trace) = (manager.reference(), Trace::default());
    let main = manager.container("main").unwrap();
    main.set_silent();
    let kept = trace.clone();
    let probe = Probe::new("s", &trace).shutdown(move |_| {
        let message = json!({ "destination": { "container": "main", "system": "s" } });
        let error = sender.message_submit(message).unwrap_err();
        kept.add(format!("{:?}", error.kind()));
        Ok(())
    });
    main.claim().unwrap().add_system(probe.reg()).unwrap();
    main.update().unwrap();
    drop(manager);
    // spec: MGR-09
    assert_eq!(
        trace.line(),
        "s.init s.update s.shutdown ManagerClosed s.drop"
    );
}

#[test]
fn a_system_knows_its_instant_and_its_mailbox() {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    let (kept, moved) = (trace.clone(), clock.clone());
    let system = ecs::system("s", move |cx| {
        moved.advance(us(3))?;
        kept.add(format!("{}", cx.this.now()));
        kept.add(cx.this.next_message().unwrap_or_default().to_string());
        cx.this.mailbox().unwrap().send(json!(cx.this.updates()))?;
        Ok(())
    });
    claim.add_system(system.every_pass()).unwrap();
    for _ in 0..3 {
        clock.advance(us(10)).unwrap();
        claim.update().unwrap();
    }
    // spec: ELA-01, DEL-05, MSG-15
    assert_eq!(trace.line(), "10 µs null 23 µs 1 36 µs 2");
    assert!(claim.context().this.mailbox().is_none());
}

#[test]
fn a_listing_counts_failures_and_knows_what_was_shut_down() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let fails = ecs::system("fails", |_| Err("no disk".into()));
    claim
        .add_system(ecs::system("works", |_| Ok(())).every_pass())
        .unwrap();
    claim.add_system(fails.every_pass()).unwrap();
    let told = |claim: &mut Claim| {
        let mut cx = claim.context();
        let cx = &mut cx;
        let infos = cx
            .systems()
            .map(|info| (info.failures(), info.is_shut_down()));
        infos.collect::<Vec<_>>()
    };
    for _ in 0..2 {
        claim.update().unwrap_err();
    }
    // spec: SYS-08
    assert_eq!(told(&mut claim), [(0, false), (2, false)]);
    drop(claim);
    owned.stop();
    // spec: SYS-08
    assert_eq!(told(&mut owned.claim().unwrap()), [(0, true), (2, true)]);
}

#[test]
fn references_are_equal_when_they_lead_to_one_container() {
    let (one, _) = manual("main");
    let (other, _) = manual("main");
    assert!(*one == (*one).clone());
    assert!(*one != *other);
}

#[test]
fn an_error_names_the_function_and_the_container() {
    let (owned, _) = manual("main");
    let claim = owned.claim().unwrap();
    let error = owned.claim().unwrap_err();
    // spec: ERR-02
    assert_eq!(
        (error.origin().container(), error.origin().function()),
        (Some("main"), "claim")
    );
    drop(claim);
    let mut world = World::new();
    let gone = world.spawn(());
    world.despawn(gone);
    let error = world.insert(gone, Health::<false>(1)).unwrap_err();
    let ComponentError::NoEntity { at, .. } = error else {
        panic!("{error}");
    };
    // spec: ERR-02
    assert_eq!((at.container(), at.function()), (None, "insert"));
}

#[test]
fn a_failure_is_the_users_error_in_a_frame() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let fails = ecs::system("fails", |_| Err("no disk".into()));
    claim.add_system(fails.every_pass()).unwrap();
    let error = claim.update().unwrap_err();
    let failure = error.failure().unwrap();
    let source = std::error::Error::source(failure).unwrap();
    // spec: FAIL-01
    assert_eq!(source.to_string(), "no disk");
}

#[test]
fn a_system_sees_and_changes_its_own_settings() {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    let kept = trace.clone();
    let system = ecs::system("s", move |cx| {
        kept.add(format!("{}:{:?}", cx.this.updates(), cx.this.interval()));
        let longer = cx.this.interval() * 2;
        cx.this.set_interval(longer)?;
        // spec: INT-01
        assert!(cx.this.set_interval(MAX_INTERVAL * 2).is_err());
        assert_eq!(cx.this.interval(), longer);
        Ok(())
    });
    claim.add_system(system.interval(us(10))).unwrap();
    for _ in 0..7 {
        clock.advance(us(10)).unwrap();
        claim.update().unwrap();
    }
    // spec: INT-07, SYS-08
    assert_eq!(trace.line(), "1:10µs 2:20µs 3:40µs");
    let mut cx = claim.context();
    // spec: INT-01
    assert!(cx.this.set_interval(us(1)).is_err(), "no system runs here");
    assert_eq!((cx.this.updates(), cx.this.interval()), (0, Duration::ZERO));
}

#[test]
fn a_timer_given_to_another_system_counts_from_the_present() {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    let kept = trace.clone();
    let giver = ecs::system("giver", move |cx| {
        if cx.this.now() == Moment::from_micros(90) {
            let kept = kept.clone();
            let timer = Timer::once("t", us(20), move |cx| {
                kept.add(cx.this.now().to_string());
                Ok(())
            });
            cx.add_timer("slow", timer)?;
        }
        Ok(())
    });
    let slow = ecs::system("slow", |_| Ok(())).interval(us(50));
    claim.add_system(slow).unwrap();
    claim.add_system(giver.every_pass()).unwrap();
    for step in [50, 40, 10, 50] {
        clock.advance(us(step)).unwrap();
        claim.update().unwrap();
    }
    // spec: TIM-01, TIM-08
    assert_eq!(
        trace.line(),
        "150 µs",
        "due at 110, seen at the next update"
    );
}

#[test]
fn a_timer_counts_from_the_updates_reading_and_in_initialize_from_the_present() {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    let (trace, moved) = (Trace::default(), clock.clone());
    let note = |name: &'static str, trace: &Trace| {
        let kept = trace.clone();
        Timer::once(name, us(20), move |cx| {
            kept.add(format!("{name} at {}", cx.this.now()));
            Ok(())
        })
    };
    let (first, second) = (note("first", &trace), note("second", &trace));
    let mut second = Some(second);
    let probe = Probe::new("s", &Trace::default())
        .init(once(move |cx| Ok(cx.this.add_timer(first)?)))
        .update(move |cx| {
            moved.advance(us(40))?;
            match second.take() {
                Some(timer) => Ok(cx.this.add_timer(timer)?),
                None => Ok(()),
            }
        });
    claim.add_system(probe.reg()).unwrap();
    clock.advance(us(100)).unwrap();
    claim.update().unwrap();
    // spec: TIM-01
    assert_eq!(
        trace.line(),
        "",
        "initialize is at 100, not at the registration"
    );
    claim.update().unwrap();
    // spec: TIM-01, ELA-01
    assert_eq!(trace.line(), "first at 140 µs second at 140 µs");
}

#[test]
fn a_stop_in_a_shutdown_at_the_end_of_a_pass_comes_before_the_next_shutdown() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let a = Probe::new("a", &trace).update(|cx| {
        cx.remove_system("b");
        cx.remove_system("c");
        Ok(())
    });
    let b = Probe::new("b", &trace).shutdown(|cx| {
        cx.container().request_stop();
        Ok(())
    });
    let mut claim = owned.claim().unwrap();
    for probe in [a, b, Probe::new("c", &trace)] {
        claim.add_system(probe.reg()).unwrap();
    }
    drop(claim);
    owned.update().unwrap();
    // spec: STOP-05
    assert_eq!(
        trace.line(),
        "a.init b.init c.init a.update b.shutdown b.drop a.shutdown c.shutdown c.drop"
    );
}
