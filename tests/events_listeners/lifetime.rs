//! From when to when a listener hears: starts, ends, changes in between.

use super::*;

#[test]
fn events_from_before_the_start_wait_for_it() {
    let mut stage = Stage::new();
    stage.add(stage.probe("root").hears());
    stage.add(stage.probe("queued").hears_queued());
    stage.owned.send_event(B(1));
    stage.owned.send_event(A(2));
    // spec: EVT-06
    assert_eq!(
        stage.pass(),
        "root.init queued.init root.update queued.b1 queued.a2 queued.update"
    );
    stage.owned.send_event(A(3));
    // spec: EVT-03, EVT-06
    assert_eq!(
        stage.pass(),
        "root.b1 root.a2 root.a3 root.update queued.a3 queued.update"
    );
}

#[test]
fn a_system_whose_start_is_delayed_gets_everything_once_it_has_started() {
    let mut stage = Stage::new();
    let failing = Probe::new("failing", &stage.trace).init(|_| Err("on purpose".into()));
    stage.add(failing.reg());
    stage.add(stage.probe("late").hears());
    stage.owned.send_event(A(1));
    assert_eq!(stage.failing().1, Phase::Initialize);
    stage.owned.send_event(A(2));
    // spec: EVT-06
    assert_eq!(stage.pass(), "late.init failing.update late.update");
    assert_eq!(stage.pass(), "late.a1 late.a2 failing.update late.update");
}

#[test]
fn after_the_shutdown_nothing_is_heard() {
    let mut stage = Stage::new();
    stage.add(stage.probe("gone").hears());
    stage.add(stage.probe("removed").hears_queued());
    let remover = Probe::new("remover", &stage.trace)
        .reg()
        .listen::<A>(|_, cx, _| {
            cx.remove_system("gone");
            Ok(())
        });
    // Before the one that it removes.
    stage.add(stage.probe("place"));
    stage.add(remover);
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.send_event(A(2));
    // The first event is heard by both, the second one only by who is left.
    // spec: EVT-06
    assert_eq!(
        stage.pass(),
        "gone.a1 removed.a1 removed.a2 removed.update place.update remover.update \
         gone.shutdown gone.drop"
    );
    stage.claim.remove_system("removed");
    stage.trace.take();
    stage.owned.send_event(A(3));
    // spec: EVT-06
    assert_eq!(stage.pass(), "place.update remover.update");
    let Stage {
        claim,
        trace,
        owned,
        ..
    } = stage;
    drop(claim);
    owned.stop();
    assert!(!owned.send_event(A(4)), "a stopped container takes nothing");
    owned.update().unwrap();
    // spec: EVT-06
    assert_eq!(trace.line(), "remover.shutdown place.shutdown");
}

#[test]
fn a_listener_that_removes_or_switches_its_own_system_off_ends_it() {
    let mut stage = Stage::new();
    stage.add(stage.probe("leaves").listen_queued::<A>(|probe, cx, a| {
        probe.note("a", a.0)?;
        cx.remove_this();
        Ok(())
    }));
    stage.add(stage.probe("sleeps").listen_queued::<A>(|probe, cx, a| {
        cx.this.set_on(false);
        probe.note("a", a.0)
    }));
    stage.add(stage.probe("goes").listen::<A>(|probe, cx, a| {
        cx.remove_this();
        probe.note("a", a.0)
    }));
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.send_event(A(2));
    // spec: EVT-02, EVT-06
    assert_eq!(
        stage.pass(),
        "goes.a1 leaves.a1 sleeps.a1 \
         goes.shutdown goes.drop leaves.shutdown leaves.drop"
    );
    stage.claim.context().set_system_on("sleeps", true).unwrap();
    // spec: EVT-02
    assert_eq!(stage.pass(), "sleeps.a2");
}

#[test]
fn listeners_can_be_added_to_a_registered_system() {
    let mut stage = Stage::new();
    stage.add(stage.probe("s"));
    stage.add(stage.probe("adds").listen::<A>(|probe, cx, a| {
        let trace = probe.trace.clone();
        let listener = Listener::to::<A>(move |_, a| {
            trace.add(format!("added.a{}", a.0));
            Ok(())
        });
        if a.0 == 1 {
            cx.add_listener("s", listener)?;
            let own = cx.this.shared_handle();
            cx.add_listener(
                own,
                Listener::to_for(|probe: &mut Probe, _, a: &A| probe.note("q", a.0)).queued(),
            )?;
        }
        probe.note("a", a.0)
    }));
    stage.pass();
    stage.owned.send_event(A(1));
    // spec: EVT-03
    assert_eq!(stage.pass(), "adds.a1 s.update adds.update");
    stage.owned.send_event(A(2));
    assert_eq!(
        stage.pass(),
        "added.a2 adds.a2 s.update adds.q2 adds.update"
    );
    let context = stage.claim.context();
    let listens: Vec<_> = context.system_info("adds").unwrap().listens_to().collect();
    assert_eq!(
        listens,
        ["events_listeners::A".into(), "events_listeners::A".into()] as [std::sync::Arc<str>; 2]
    );
}

#[test]
fn listeners_change_the_container_as_updates_do() {
    let mut stage = Stage::new();
    let trace = stage.trace.clone();
    stage.add(stage.probe("changes").listen::<A>(move |probe, cx, a| {
        probe.note("a", a.0)?;
        let wolf: Entity = cx.world.spawn(());
        cx.world.despawn(wolf);
        cx.add_system(Probe::new("added", &trace).reg().hears())?;
        cx.remove_system("removed");
        cx.defer(|_| Ok(()));
        Ok(())
    }));
    stage.add(stage.probe("removed"));
    stage.pass();
    stage.owned.send_event(A(1));
    // spec: EVT-02
    assert_eq!(
        stage.pass(),
        "changes.a1 changes.update removed.shutdown removed.drop"
    );
    assert_eq!(stage.pass(), "added.init changes.update added.update");
}

#[test]
fn a_timer_added_by_a_listener_counts_from_the_present() {
    let mut stage = Stage::new();
    let slow = stage.probe("slow").every_pass().listen::<A>(|_, cx, _| {
        cx.this.add_timer(Timer::once("t", secs(5), |cx| {
            cx.world.insert_resource("fired");
            Ok(())
        }))?;
        Ok(())
    });
    stage.add(slow);
    stage.pass();
    stage.clock.advance(secs(100)).unwrap();
    stage.owned.send_event(A(1));
    stage.pass();
    assert_eq!(stage.claim.world().resource::<&str>(), None);
    stage.clock.advance(secs(5)).unwrap();
    stage.pass();
    assert_eq!(stage.claim.world().resource::<&str>(), Some(&"fired"));
}

#[test]
fn listeners_follow_a_world_that_takes_the_others_place() {
    let mut stage = Stage::new();
    stage.add(stage.probe("root").hears());
    stage.add(stage.probe("queued").hears_queued());
    let swapper = stage.probe("swapper").listen::<B>(|_, cx, _| {
        drop(std::mem::take(cx.world));
        Ok(())
    });
    stage.add(swapper);
    stage.pass();
    stage.claim.world().send_event(A(1));
    drop(std::mem::take(stage.claim.world()));
    stage.owned.send_event(A(2));
    // spec: EVT-03
    assert_eq!(
        stage.pass(),
        "root.a2 root.update queued.a2 queued.update swapper.update"
    );
    // The world goes while its events are being delivered.
    stage.owned.send_event(B(3));
    stage.owned.send_event(A(4));
    assert_eq!(
        stage.pass(),
        "root.b3 root.update queued.update swapper.update"
    );
    stage.owned.send_event(A(5));
    // spec: EVT-03
    assert_eq!(
        stage.pass(),
        "root.a5 root.update queued.a5 queued.update swapper.update"
    );
}

#[test]
fn the_world_with_the_events_may_go_while_they_are_delivered_whatever_their_drop_does() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let mut stage = Stage::new();
    let swapper = stage.probe("swapper").listen::<Bomb>(|probe, cx, _| {
        drop(std::mem::take(cx.world));
        probe.note("bomb", 0)
    });
    stage.add(swapper);
    stage.pass();
    stage.owned.send_event(Bomb);
    stage.owned.send_event(Bomb);
    let passed = std::panic::catch_unwind(AssertUnwindSafe(|| stage.pass()));
    assert_eq!(passed.unwrap(), "swapper.bomb0 swapper.update");
    stage.owned.send_event(Bomb);
    stage.pass();
    assert_eq!(stage.pass(), "swapper.update");
}

#[test]
fn a_stop_in_a_listener_ends_the_pass_after_it() {
    let mut stage = Stage::new();
    stage.add(stage.probe("stops").listen::<A>(|probe, cx, a| {
        cx.container().request_stop();
        probe.note("a", a.0)
    }));
    stage.add(stage.probe("other").hears());
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.send_event(A(2));
    // spec: EVT-06
    assert_eq!(stage.pass(), "stops.a1 other.shutdown stops.shutdown");
}

#[test]
fn one_that_is_registered_while_another_world_stands_in_hears_the_one_that_stays() {
    let mut stage = Stage::new();
    // The kinds of events have other places there.
    let _reader = stage.claim.world().event_reader::<B>();
    let (mut once, trace) = (true, stage.trace.clone());
    let swaps = ecs::system("swaps", move |cx| {
        if std::mem::take(&mut once) {
            let mut other = World::new();
            std::mem::swap(cx.world, &mut other);
            cx.add_system(Probe::new("late", &trace).reg().hears())?;
            std::mem::swap(cx.world, &mut other);
            cx.send_event(A(1));
        }
        Ok(())
    });
    stage.add(swaps.every_pass());
    assert_eq!(stage.pass(), "");
    // spec: EVT-03, EVT-06
    assert_eq!(stage.pass(), "late.init late.update");
    stage.owned.send_event(A(2));
    // spec: EVT-03
    assert_eq!(stage.pass(), "late.a1 late.a2 late.update");
}

#[test]
fn listeners_that_panic_when_they_are_dropped_are_dropped_all_the_same() {
    struct Bomb(Trace);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.add("bang");
            panic!("a bomb was dropped");
        }
    }

    let mut stage = Stage::new();
    let system = |name: &str| {
        let mut system = stage.probe(name);
        for bomb in [Bomb(stage.trace.clone()), Bomb(stage.trace.clone())] {
            system = system.listen::<A>(move |_, _, _| {
                let _ = &bomb;
                Ok(())
            });
        }
        system
    };
    let (kept, refused) = (system("kept"), system(""));
    stage.claim.add_system(refused).unwrap_err();
    assert_eq!(stage.trace.line(), ".drop bang bang");
    stage.add(kept);
    stage.pass();
    assert!(stage.claim.context().remove_system("kept"));
    // spec: EVT-06
    assert_eq!(stage.trace.line(), "kept.shutdown kept.drop bang bang");
}
