//! What fails, what is refused, what is missed; and policies.

use std::sync::Arc;

use super::*;

#[test]
fn what_a_limit_drops_in_the_middle_of_a_delivery_is_missed_and_counted() {
    let mut stage = Stage::new();
    stage.claim.world().set_event_limit::<A>(1);
    let careless = stage.probe("careless").listen::<B>(|_, cx, _| {
        cx.send_event(A(3));
        cx.world.deliver_events();
        Ok(())
    });
    stage.add(careless);
    stage.add(stage.probe("ear").hears());
    stage.pass();
    stage.owned.send_event(B(0));
    stage.owned.send_event(A(1));
    stage.owned.send_event(A(2));
    // spec: EVT-04
    assert_eq!(stage.pass(), "ear.b0 careless.update ear.update");
    assert_eq!(stage.pass(), "ear.a3 careless.update ear.update");
    let context = stage.claim.context();
    assert_eq!(context.system_info("ear").unwrap().missed_events(), 2);
}

#[test]
fn a_failing_listener_ends_the_pass_and_the_next_one_goes_on_there() {
    let mut stage = Stage::new();
    let log = log_of(&stage.owned);
    stage.add(stage.probe("one").hears());
    stage.add(stage.probe("two").listen::<A>(|probe, _, a| {
        probe.note("a", a.0)?;
        match a.0 {
            1 => Err("on purpose".into()),
            2 => panic!("at two"),
            _ => Ok(()),
        }
    }));
    stage.add(stage.probe("three").hears());
    stage.add(stage.probe("queued").hears_queued());
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.send_event(A(2));
    stage.owned.send_event(B(3));
    let (told, phase) = stage.failing();
    assert_eq!(told, "one.a1 two.a1");
    assert_eq!(phase, Phase::Event("events_listeners::A".into()));
    assert_eq!(phase.to_string(), "listener to \"events_listeners::A\"");
    assert_eq!(stage.failing().0, "three.a1 one.a2 two.a2");
    stage.owned.send_event(A(4));
    // spec: EVT-03, FAIL-01
    assert_eq!(
        stage.pass(),
        "three.a2 one.b3 three.b3 one.a4 two.a4 three.a4 one.update two.update three.update \
         queued.a1 queued.a2 queued.b3 queued.a4 queued.update"
    );
    assert_eq!(
        log.take(),
        [
            "error: [two] failed in listener to \"events_listeners::A\": on purpose",
            "error: [two] failed in listener to \"events_listeners::A\": panicked: at two",
        ]
    );
    let context = stage.claim.context();
    assert_eq!(context.system_info("two").unwrap().failures(), 2);
}

#[test]
fn a_failing_queued_listener_ends_the_pass_and_keeps_the_rest() {
    let mut stage = Stage::new();
    stage.add(stage.probe("queued").listen_queued::<A>(|probe, _, a| {
        probe.note("a", a.0)?;
        if a.0 == 1 {
            Err("on purpose".into())
        } else {
            Ok(())
        }
    }));
    stage.add(stage.probe("after"));
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.send_event(A(2));
    assert_eq!(stage.failing().0, "queued.a1");
    // spec: EVT-03
    assert_eq!(stage.pass(), "queued.a2 queued.update after.update");
}

#[test]
fn a_listener_of_another_system_type_is_refused() {
    struct Other;
    impl System for Other {
        fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
            Ok(())
        }
    }
    let mut stage = Stage::new();
    let wrong = || Listener::to_for(|_: &mut Other, _, _: &A| Ok(()));
    let refused = stage.claim.add_system(stage.probe("s").listener(wrong()));
    let text = refused.unwrap_err().to_string();
    assert!(
        text.starts_with("ecs::Container(\"main\")::add_system(): the listener to")
            && text.contains("Other")
            && text.contains("Probe"),
        "{text}"
    );
    stage.add(stage.probe("s"));
    let mut context = stage.claim.context();
    let refused = context.add_listener("s", wrong());
    assert!(matches!(refused, Err(SystemError::ListenerType { .. })));
    let refused = context.add_listener("nobody", wrong());
    assert!(matches!(refused, Err(SystemError::NotFound { .. })));
}

#[test]
fn a_storage_system_is_never_updated_and_hears_in_the_root_step() {
    let mut stage = Stage::new();
    let storage = stage
        .probe("data")
        .policy(Policy::Storage)
        .timer_every("t", Duration::ZERO, |probe, _| probe.note("timer", 0))
        .hears();
    stage.add(storage);
    // spec: PAR-06
    assert_eq!(stage.pass(), "data.init");
    stage.owned.send_event(A(1));
    stage.owned.mailbox("data").unwrap().send(json!(7)).unwrap();
    stage.clock.advance(secs(1)).unwrap();
    // spec: PAR-06, EVT-02
    assert_eq!(stage.pass(), "data.a1");
    stage.claim.update_system("data").unwrap();
    // spec: PAR-06
    assert_eq!(stage.trace.line(), "", "not even when it is asked for");
    let context = stage.claim.context();
    let info = context.system_info("data").unwrap();
    assert_eq!((info.policy(), info.updates()), (Policy::Storage, 0));
    let mut reading = stage.claim.context();
    let shutdown = Probe::new("data", &stage.trace).reg();
    reading.add_system(shutdown).unwrap();
    assert_eq!(stage.trace.line(), "data.shutdown data.drop");
    // A queued listener would have no place to be called in.
    let queued = || Listener::to::<A>(|_, _| Ok(())).queued();
    let storage = stage.probe("more").policy(Policy::Storage);
    let refused = stage.claim.add_system(storage.listener(queued()));
    // spec: EVT-02
    assert!(matches!(refused, Err(SystemError::QueuedOnStorage { .. })));
    stage.add(stage.probe("more").policy(Policy::Storage));
    let refused = stage.claim.context().add_listener("more", queued());
    // spec: EVT-02
    assert_eq!(
        refused.unwrap_err().to_string(),
        "ecs::Container(\"main\")::add_listener(): system \"more\" is never updated, so it cannot have a queued \
         listener to \"events_listeners::A\""
    );
}

#[test]
fn policies_are_told_and_an_independent_system_is_updated() {
    let mut stage = Stage::new();
    stage.add(stage.probe("plain"));
    stage.add(
        stage
            .probe("free")
            .policy(Policy::Independent)
            .hears_queued(),
    );
    stage.pass();
    stage.owned.send_event(A(1));
    // spec: PAR-06
    assert_eq!(stage.pass(), "plain.update free.a1 free.update");
    let context = stage.claim.context();
    let policy = |name| context.system_info(name).unwrap().policy();
    // spec: PAR-06
    assert_eq!(policy("plain"), Policy::Sequential);
    assert_eq!(policy("free"), Policy::Independent);
}

#[test]
fn a_listener_that_lags_for_ever_loses_the_oldest_and_that_is_logged_once() {
    let mut stage = Stage::new();
    let log = log_of(&stage.owned);
    stage.claim.world().set_event_limit::<A>(10);
    stage.add(stage.probe("off").switched_off().hears_queued());
    stage.pass();
    for number in 0..100 {
        stage.owned.send_event(A(number));
        stage.pass();
    }
    stage.claim.context().set_system_on("off", true).unwrap();
    let heard: Vec<String> = (90..100).map(|number| format!("off.a{number}")).collect();
    // spec: EVT-04
    assert_eq!(stage.pass(), heard.join(" ") + " off.update");
    let context = stage.claim.context();
    // spec: EVT-04
    assert_eq!(context.system_info("off").unwrap().missed_events(), 90);
    assert_eq!(
        log.take(),
        [
            "warning: events of type events_listeners::A are sent faster than they are read: only the last 10 are kept"
        ]
    );
}

#[test]
fn events_of_a_container_live_no_longer_than_somebody_wants_them() {
    struct Held(#[expect(dead_code, reason = "being held is what counts")] Arc<()>);
    let (mut stage, alive) = (Stage::new(), Arc::new(()));
    let holder = || Held(Arc::clone(&alive));
    stage.add(stage.probe("ear").hears());
    stage.pass();
    for round in 0..1_000 {
        for _ in 0..50 {
            stage.owned.send_event(holder());
            stage.claim.context().send_event(holder());
        }
        // spec: EVT-04
        assert_eq!(Arc::strong_count(&alive), 101, "round {round}");
        stage.pass();
        // spec: EVT-04
        assert_eq!(Arc::strong_count(&alive), 1, "nobody wants them");
    }
    let ear = Listener::to::<Held>(|_, _| Ok(()));
    stage.claim.context().add_listener("ear", ear).unwrap();
    let queued = Listener::to::<Held>(|_, _| Ok(())).queued();
    stage.claim.context().add_listener("ear", queued).unwrap();
    for round in 0..100_000 {
        stage.owned.send_event(holder());
        assert_eq!(stage.pass(), "ear.update");
        // spec: EVT-04
        assert!(Arc::strong_count(&alive) <= 3, "round {round}");
    }
    stage.claim.remove_system("ear");
    stage.claim.update().unwrap();
    // spec: EVT-04
    assert_eq!(Arc::strong_count(&alive), 1);
    // What waits at a stop is dropped with what holds it.
    stage.owned.send_event(holder());
    let Stage { claim, owned, .. } = stage;
    drop(claim);
    owned.stop();
    // spec: EVT-06
    assert!(!owned.send_event(holder()));
    assert_eq!(Arc::strong_count(&alive), 1);
}
