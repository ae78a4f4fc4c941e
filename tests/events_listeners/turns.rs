//! A listener that is alone with a type hears events in a row: what a call in the middle does counts for the next one.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::{mem, ptr};

use super::common::wait::receive;
use super::*;

/// Keeps a value for ever. It stays reachable: a leak checker has nothing to say.
fn keep<T>(value: T) -> &'static mut T {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let kept = Box::leak(Box::new(value));
    KEPT.lock().unwrap().push(ptr::from_mut(kept).addr());
    kept
}

/// The context of a container that nobody else has.
fn foreign() -> Context<'static> {
    let owned: &'static OwnedContainer = keep(OwnedContainer::new("foreign").unwrap());
    keep(owned.claim().unwrap()).context()
}

/// A stage with a listener that notes, does something with `A(2)`, and gets four events.
fn four(queued: bool, at_two: impl Fn(&mut Context<'_>) -> SystemResult + Send + 'static) -> Stage {
    let mut stage = Stage::new();
    let listener = Listener::to_for(move |probe: &mut Probe, cx, a: &A| {
        let place = cx.world.resource().copied().unwrap_or("elsewhere");
        probe.note(&format!("{}.{place}.", cx.this.handle()), a.0)?;
        if a.0 == 2 { at_two(cx) } else { Ok(()) }
    });
    let listener = if queued { listener.queued() } else { listener };
    stage.add(stage.probe("s").listener(listener));
    stage.pass();
    stage.claim.world().insert_resource("here");
    for number in 1..=4 {
        stage.owned.send_event(A(number));
    }
    stage
}

#[test]
fn a_failure_in_the_middle_is_one_of_its_own_and_the_next_pass_goes_on_behind_it() {
    let failures: [fn() -> SystemResult; 2] = [|| Err("on purpose".into()), || panic!("at two")];
    for (fails, text) in failures.into_iter().zip(["on purpose", "panicked: at two"]) {
        for queued in [false, true] {
            let mut stage = four(queued, move |_| fails());
            let log = log_of(&stage.owned);
            // spec: EVT-03, FAIL-01, FAIL-06
            assert_eq!(stage.failing().0, "s.s.here.1 s.s.here.2");
            assert_eq!(
                log.take(),
                [format!(
                    "error: [s] failed in listener to \"events_listeners::A\": {text}"
                )]
            );
            stage.owned.send_event(A(2));
            // spec: EVT-03, FAIL-05
            assert_eq!(stage.failing().0, "s.s.here.3 s.s.here.4 s.s.here.2");
            // spec: EVT-03
            assert_eq!(stage.pass(), "s.update");
            let context = stage.claim.context();
            let info = context.system_info("s").unwrap();
            assert_eq!((info.failures(), info.missed_events()), (2, 0));
        }
    }
}

#[test]
fn what_a_call_puts_into_its_context_is_gone_with_it() {
    let exchanges: [fn(&mut Context<'_>) -> SystemResult; 4] = [
        |cx| {
            cx.world = keep(World::new());
            Ok(())
        },
        |cx| {
            cx.this = foreign().this;
            Ok(())
        },
        |cx| {
            *cx = foreign();
            Ok(())
        },
        |cx| {
            // All but what cannot be reached is put back.
            let mut other = foreign();
            mem::swap(cx, &mut other);
            mem::swap(&mut cx.world, &mut other.world);
            mem::swap(&mut cx.this, &mut other.this);
            cx.add_system(ecs::system("elsewhere", |_| Ok(())))?;
            Ok(())
        },
    ];
    for exchange in exchanges {
        for queued in [false, true] {
            let mut stage = four(queued, exchange);
            // spec: EVT-03
            assert_eq!(
                stage.pass(),
                "s.s.here.1 s.s.here.2 s.s.here.3 s.s.here.4 s.update"
            );
            assert!(stage.claim.context().system_key("elsewhere").is_none());
        }
    }
}

#[test]
fn a_stop_or_an_end_in_the_middle_is_seen_before_the_next_call() {
    for queued in [false, true] {
        let mut stage = four(queued, |cx| {
            cx.container().request_stop();
            Ok(())
        });
        // spec: STOP-05, EVT-06
        assert_eq!(stage.pass(), "s.s.here.1 s.s.here.2 s.shutdown");
        let mut stage = four(queued, |cx| {
            cx.remove_this();
            Ok(())
        });
        // spec: EVT-06
        assert_eq!(stage.pass(), "s.s.here.1 s.s.here.2 s.shutdown s.drop");
        let mut stage = four(queued, |cx| {
            mem::take(cx.world);
            Ok(())
        });
        // spec: EVT-03
        assert_eq!(stage.pass(), "s.s.here.1 s.s.here.2 s.update");
    }
}

#[test]
fn on_its_own_thread_a_container_hears_the_rest_after_a_stop_was_asked_for() {
    let owned = OwnedContainer::new("main").unwrap();
    owned.set_silent();
    let mut claim = owned.claim().unwrap();
    let (sender, heard) = channel();
    let ended = sender.clone();
    let ear = Probe::new("ear", &Trace::default()).shutdown(move |_| Ok(ended.send(0)?));
    let ear = ear.reg().listen::<A>(move |_, cx, a| {
        cx.container().request_stop();
        Ok(sender.send(a.0)?)
    });
    claim.add_system(ear).unwrap();
    claim.update().unwrap();
    claim.world().send_events((1..=3).map(A));
    claim.start().unwrap();
    for expected in [1, 2, 3, 0] {
        // spec: STOP-04
        assert_eq!(receive(&heard, "an event"), expected);
    }
}

#[test]
fn nothing_is_heard_after_a_stop_in_a_deferred_function() {
    let mut stage = Stage::new();
    stage.add(stage.probe("ear").hears());
    stage.pass();
    stage.owned.send_event(A(1));
    stage.owned.defer(|cx| {
        cx.container().request_stop();
        Ok(())
    });
    // spec: STOP-05, STOP-13
    assert_eq!(stage.pass(), "ear.shutdown");
}

#[test]
fn a_listener_that_is_added_in_another_world_ends_the_turn_and_nothing_is_lost() {
    let mut stage = four(false, |cx| {
        let mut other = World::new();
        mem::swap(cx.world, &mut other);
        let own = cx.this.shared_handle();
        cx.add_listener(own, Listener::to::<B>(|_, _| Ok(())))?;
        mem::swap(cx.world, &mut other);
        Ok(())
    });
    // spec: EVT-03
    assert_eq!(stage.pass(), "s.s.here.1 s.s.here.2 s.update");
    // spec: EVT-03
    assert_eq!(stage.pass(), "s.s.here.3 s.s.here.4 s.update");
}

#[test]
fn events_of_other_names_are_passed_over() {
    let mut stage = Stage::new();
    let listener = |name: &'static str| {
        Listener::to_named_for(name, |probe: &mut Probe, _, number| {
            probe.note("n", number_of(number))
        })
    };
    stage.add(stage.probe("one").listener(listener("one")));
    stage.pass();
    for number in 0..6 {
        let name = if number % 2 == 1 { "one" } else { "two" };
        stage.owned.send_event(NamedEvent::new(name, json!(number)));
    }
    // spec: EVT-03, EVT-07
    assert_eq!(stage.pass(), "one.n1 one.n3 one.n5 one.update");
    // spec: EVT-03
    assert_eq!(stage.pass(), "one.update");
}

fn number_of(value: &ecs::Value) -> u32 {
    value.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap()
}
