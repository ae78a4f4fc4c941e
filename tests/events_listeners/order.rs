//! When a listener is called, and in what order.

use super::*;

#[test]
fn a_listener_hears_in_the_root_step_and_a_queued_one_in_its_own_slot() {
    let mut stage = Stage::new();
    stage.add(stage.probe("first").hears_queued());
    stage.add(stage.probe("second").hears());
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.send_event(B(2));
    // spec: EVT-01, EVT-02, EVT-03, PAR-01
    assert_eq!(
        stage.pass(),
        "second.a1 second.b2 first.a1 first.b2 first.update second.update"
    );
    // spec: EVT-03
    assert_eq!(stage.pass(), "first.update second.update", "exactly once");
}

#[test]
fn the_root_step_is_deferred_functions_then_events_then_the_start_up_step() {
    let mut stage = Stage::new();
    stage.add(stage.probe("old").hears());
    stage.pass();
    stage.add(stage.probe("new"));
    stage.owned.send_event(A(1));
    let trace = stage.trace.clone();
    stage.owned.defer(move |cx| {
        trace.add("deferred");
        cx.send_event(A(2));
        Ok(())
    });
    // spec: PAR-01
    assert_eq!(
        stage.pass(),
        "deferred old.a1 old.a2 new.init old.update new.update"
    );
}

#[test]
fn events_of_all_types_come_in_the_order_sent_to_the_systems_in_their_order() {
    let mut stage = Stage::new();
    let sender = stage.probe("one");
    let sending = once(|cx: &mut Context<'_>| {
        cx.send_event(B(1));
        cx.this.send_event(A(2));
        cx.container().send_event(B(3));
        cx.send_event(A(4));
        cx.container().event_sender::<A>().send(A(5));
        Ok(())
    });
    stage.add(sender.hears());
    stage.add(
        Probe::new("two", &stage.trace)
            .update(sending)
            .reg()
            .hears(),
    );
    stage.add(stage.probe("queued").hears_queued());
    stage.pass();
    // spec: EVT-01, EVT-02, EVT-03
    assert_eq!(
        stage.pass(),
        "one.b1 two.b1 one.a2 two.a2 one.b3 two.b3 one.a4 two.a4 one.a5 two.a5 \
         one.update two.update queued.b1 queued.a2 queued.b3 queued.a4 queued.a5 queued.update"
    );
}

#[test]
fn one_that_has_heard_nothing_yet_hears_all_types_in_the_order_sent() {
    let all = "one.b1 one.a1 one.b2 one.a2 one.b3 one.a3";
    for queued in [false, true] {
        let mut stage = Stage::new();
        let one = stage.probe("one");
        stage.add(if queued {
            one.hears_queued()
        } else {
            one.hears()
        });
        for number in 1..4 {
            stage.owned.send_event(B(number));
            stage.owned.send_event(A(number));
        }
        // It starts behind the place where those hear that hear in the root step.
        let expected = if queued {
            format!("one.init {all} one.update one.update")
        } else {
            format!("one.init one.update {all} one.update")
        };
        // spec: EVT-02, EVT-03
        assert_eq!([stage.pass(), stage.pass()].join(" "), expected);
    }
}

#[test]
fn several_sent_at_once_keep_their_places_among_those_of_other_types() {
    let mut stage = Stage::new();
    stage.add(stage.probe("one").hears());
    stage.pass();
    let world = stage.claim.world();
    for number in [1, 4] {
        world.send_events([A(number), A(number + 1)]);
        world.send_events([B(number), B(number + 1)]);
        world.send_events::<A>([]);
        world.send_event(A(number + 2));
    }
    // spec: EVT-02
    assert_eq!(
        stage.pass(),
        "one.a1 one.a2 one.b1 one.b2 one.a3 one.a4 one.a5 one.b4 one.b5 one.a6 one.update"
    );
}

#[test]
fn a_writers_events_keep_their_places_among_those_of_other_types() {
    let mut stage = Stage::new();
    stage.add(stage.probe("one").hears());
    stage.add(stage.probe("queued").hears_queued());
    stage.pass();
    let world = stage.claim.world();
    for number in [1, 4] {
        let mut writer = world.event_writer();
        writer.send(A(number));
        writer.send(A(number + 1));
        world.event_writer().send(B(number));
        world.event_writer::<B>();
        world.event_writer().send(A(number + 2));
    }
    // spec: EVT-02
    assert_eq!(
        stage.pass(),
        "one.a1 one.a2 one.b1 one.a3 one.a4 one.a5 one.b4 one.a6 one.update \
         queued.a1 queued.a2 queued.b1 queued.a3 queued.a4 queued.a5 queued.b4 queued.a6 queued.update"
    );
}

#[test]
fn a_replacement_takes_its_predecessors_place_but_not_what_was_for_it() {
    let mut stage = Stage::new();
    stage.add(stage.probe("one").hears());
    stage.add(stage.probe("two").hears());
    stage.pass();
    let trace = stage.trace.clone();
    stage.claim.world().send_event(A(1));
    stage.claim.world().deliver_events();
    stage.add(Probe::new("new", &trace).reg().named("one").hears());
    assert_eq!(stage.trace.line(), "one.shutdown one.drop");
    // spec: EVT-02, EVT-06
    assert_eq!(stage.pass(), "two.a1 new.init new.update two.update");
    stage.owned.send_event(A(2));
    // spec: EVT-03
    assert_eq!(stage.pass(), "new.a2 two.a2 new.update two.update");
}

#[test]
fn an_event_sent_while_events_are_delivered_waits_for_the_next_pass() {
    let mut stage = Stage::new();
    let echo = ecs::system("echo", |_| Ok(()))
        .every_pass()
        .listen::<A>(|_, cx, a| {
            cx.send_event(A(a.0 + 1));
            cx.this.send_event(B(a.0));
            Ok(())
        })
        .listen_queued::<B>(|_, cx, b| {
            cx.send_event(B(b.0 + 10));
            Ok(())
        });
    stage.add(echo);
    stage.add(stage.probe("ear").hears());
    stage.pass();
    stage.owned.send_event(A(0));
    // spec: EVT-03
    assert_eq!(stage.pass(), "ear.a0 ear.update");
    assert_eq!(stage.pass(), "ear.a1 ear.b0 ear.update");
    assert_eq!(stage.pass(), "ear.a2 ear.b1 ear.b10 ear.update");
}

#[test]
fn a_delivery_asked_for_by_a_listener_ends_and_loses_nothing() {
    let mut stage = Stage::new();
    let echo = ecs::system("echo", |_| Ok(()))
        .every_pass()
        .listen::<A>(|_, cx, a| {
            cx.send_event(B(a.0));
            cx.send_event(A(a.0 + 1));
            cx.world.deliver_events();
            Ok(())
        })
        .listen::<B>(|_, cx, b| {
            cx.send_event(A(b.0 + 10));
            cx.world.deliver_events();
            Ok(())
        });
    stage.add(echo);
    stage.add(stage.probe("ear").hears());
    stage.pass();
    stage.owned.send_event(A(0));
    // spec: EVT-03
    assert_eq!(stage.pass(), "ear.a0 ear.update");
    assert_eq!(stage.pass(), "ear.b0 ear.a1 ear.update");
    let third = stage.pass();
    for event in ["ear.a10", "ear.a2", "ear.b1"] {
        // spec: EVT-03
        assert_eq!(third.matches(event).count(), 1, "{event} in {third}");
    }
}

#[test]
fn queued_events_wait_while_their_system_is_not_due_off_or_its_condition_fails() {
    let mut stage = Stage::new();
    let each = stage.probe("slow").interval(secs(10)).hears_queued();
    stage.add(each);
    stage.claim.world().insert_resource(true);
    let condition = |world: &World| *world.resource::<bool>().unwrap();
    stage.add(stage.probe("picky").run_if(condition).hears_queued());
    stage.pass();
    for number in 1..=3 {
        stage.owned.send_event(A(number));
        stage.owned.send_event(B(number));
        let off = number == 2;
        stage.claim.context().set_system_on("picky", !off).unwrap();
        let told = stage.pass();
        let wanted = match number {
            1 => "picky.a1 picky.b1 picky.update",
            2 => "",
            _ => "picky.a2 picky.b2 picky.a3 picky.b3 picky.update",
        };
        // spec: EVT-02
        assert_eq!(told, wanted);
    }
    *stage.claim.world().resource_mut::<bool>().unwrap() = false;
    stage.owned.send_event(A(4));
    stage.clock.advance(secs(10)).unwrap();
    // spec: EVT-02
    assert_eq!(
        stage.pass(),
        "slow.a1 slow.b1 slow.a2 slow.b2 slow.a3 slow.b3 slow.a4 slow.update"
    );
    *stage.claim.world().resource_mut::<bool>().unwrap() = true;
    assert_eq!(stage.pass(), "picky.a4 picky.update");
}

#[test]
fn a_listener_hears_also_when_its_system_is_not_due_or_off() {
    let mut stage = Stage::new();
    stage.add(stage.probe("slow").interval(secs(10)).hears());
    stage.add(stage.probe("off").switched_off().hears());
    stage.pass();
    stage.owned.send_event(A(1));
    // spec: EVT-02
    assert_eq!(stage.pass(), "slow.a1 off.a1");
}

#[test]
fn named_events_are_heard_by_name() {
    let mut stage = Stage::new();
    let mouse = stage
        .probe("mouse")
        .listen_named("OnMouseClick", |probe, _, click| {
            probe.trace.add(format!("click {}", click["x"]));
            Ok(())
        })
        .listen_named_queued("OnKey", |probe, cx, key| {
            probe.trace.add(format!("key {key}"));
            cx.send_named_event("OnMouseClick", json!({ "x": 9 }));
            Ok(())
        })
        .listen::<NamedEvent>(|probe, _, event| {
            probe.trace.add(format!("any {}", event.name()));
            Ok(())
        });
    stage.add(mouse);
    stage.pass();
    stage.owned.send_named_event("OnKey", json!("k"));
    stage
        .owned
        .send_named_event("OnMouseClick", json!({ "x": 3 }));
    stage.owned.send_named_event("OnNothing", json!(null));
    // spec: EVT-07
    assert_eq!(
        stage.pass(),
        "any OnKey click 3 any OnMouseClick any OnNothing key \"k\" mouse.update"
    );
    // spec: EVT-07
    assert_eq!(stage.pass(), "click 9 any OnMouseClick mouse.update");
    let failing = Listener::to_named("OnKey", |_, _| Err("on purpose".into()));
    stage
        .claim
        .context()
        .add_listener("mouse", failing)
        .unwrap();
    stage.owned.send_named_event("OnKey", json!("l"));
    // spec: EVT-07
    assert_eq!(stage.failing().1, Phase::Event("OnKey".into()));
}

#[test]
fn update_system_hears_what_is_queued_also_when_the_system_is_off() {
    let mut stage = Stage::new();
    stage.add(stage.probe("s").switched_off().hears_queued());
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.send_event(A(2));
    assert_eq!(stage.pass(), "");
    stage.claim.update_system("s").unwrap();
    // spec: EVT-02
    assert_eq!(stage.trace.line(), "s.a1 s.a2 s.update");
}

#[test]
fn an_explicit_order_is_that_of_the_listeners_too() {
    let mut stage = Stage::new();
    for name in ["one", "two", "three"] {
        stage.add(stage.probe(name).hears());
    }
    stage.pass();
    stage.owned.send_event(A(1));
    assert_eq!(
        stage.pass(),
        "one.a1 two.a1 three.a1 one.update two.update three.update"
    );
    stage.claim.context().succeeds("one", "three").unwrap();
    stage.owned.send_event(A(2));
    // spec: EVT-02, PAR-05
    assert_eq!(
        stage.pass(),
        "two.a2 three.a2 one.a2 two.update three.update one.update"
    );
}
