//! What the fuzz targets found in the runtime, each with the right value. (The world's is in `refused_drops`.)

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{Probe, TICK, Trace, manual, once, us};
use ecs::{
    Clock, Context, Inbox, ManualClock, MessageLimits, Moment, OwnedContainer, SharedClock,
    StopOutcome, SystemResult, Timer, json,
};

/// Counted by its mailbox: closed when it is dropped. Its drop panics.
struct Bomb(#[allow(dead_code, reason = "it is there to be dropped")] Inbox);

impl Bomb {
    fn new() -> (Self, ecs::Mailbox) {
        let inbox = Inbox::new("bomb", MessageLimits::default());
        let mailbox = inbox.mailbox().clone();
        (Self(inbox), mailbox)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("a bomb was dropped"));
    }
}

/// A timer that panics when it is dropped.
fn armed(length: std::time::Duration) -> (Timer, ecs::Mailbox) {
    let (bomb, mailbox) = Bomb::new();
    let timer = Timer::every("armed", length, move |_| {
        let _ = &bomb;
        Ok(())
    });
    (timer, mailbox)
}

#[test]
fn a_timer_added_in_initialize_counts_from_there() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let fired = trace.clone();
    let probe = Probe::new("s", &trace).init(once(move |cx| {
        let fired = fired.clone();
        cx.this.add_timer(Timer::every("t", us(10), move |_| {
            fired.add("t");
            Ok(())
        }))?;
        Ok(())
    }));
    owned.claim().unwrap().add_system(probe.reg()).unwrap();
    // The registration is long ago when the system is started.
    clock.advance(us(100)).unwrap();
    owned.update().unwrap();
    // spec: TIM-01
    assert_eq!(trace.line(), "s.init s.update");
    clock.advance(us(9)).unwrap();
    owned.update().unwrap();
    // spec: TIM-01
    assert_eq!(trace.line(), "s.update");
    clock.advance(us(1)).unwrap();
    owned.update().unwrap();
    // spec: TIM-01
    assert_eq!(trace.line(), "t s.update");
}

#[test]
fn elapsed_stays_when_clock_and_interval_change_in_an_update() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let (noted, other) = (trace.clone(), ManualClock::new());
    let probe = Probe::new("s", &trace).update(once(move |cx: &mut Context<'_>| {
        cx.this.set_clock(&other)?;
        cx.this.set_interval(us(7))?;
        noted.add(format!(
            "{:?} of {:?}",
            cx.this.elapsed(),
            cx.this.interval()
        ));
        Ok(())
    }));
    owned
        .claim()
        .unwrap()
        .add_system(probe.reg().interval(us(5)))
        .unwrap();
    clock.advance(us(5)).unwrap();
    owned.update().unwrap();
    // spec: ELA-01
    assert_eq!(trace.line(), "s.init s.update 5µs of 7µs");
}

#[test]
fn a_replacement_reads_in_initialize_only_what_it_asks_for() {
    let (owned, _clock) = manual("main");
    let trace = Trace::default();
    // The second time round the successor moves into a slot that was used before.
    for asks in [true, false] {
        let (inner, noted) = (trace.clone(), trace.clone());
        let successor = Probe::new("later", &trace).init(once(move |cx| {
            let waiting = asks.then(|| cx.this.messages_waiting());
            let read = cx.this.next_message().map(|message| message["n"].clone());
            noted.add(format!("{waiting:?} {read:?}"));
            Ok(())
        }));
        let mut successor = Some(successor);
        let first = Probe::new("first", &inner).update(once(move |cx: &mut Context<'_>| {
            let later = successor.take().ok_or("once")?;
            cx.add_system(later.reg())?;
            cx.container()
                .message_submit(json!({ "destination": { "system": "later" }, "n": 1 }))?;
            Ok(())
        }));
        let mut claim = owned.claim().unwrap();
        claim.add_system(first.reg()).unwrap();
        claim.add_system(Probe::new("later", &trace).reg()).unwrap();
        claim.update().unwrap();
        trace.take();
        claim.update().unwrap();
        let line = trace.line();
        let expected = if asks {
            "Some(1) Some(Number(1))"
        } else {
            "None None"
        };
        // spec: DEL-04
        assert_eq!(
            line,
            format!("later.init {expected} first.update later.update")
        );
        claim.remove_system("first");
        claim.remove_system("later");
        trace.take();
    }
}

#[test]
fn a_stop_from_the_releases_at_a_passs_end_comes_before_the_other_releases() {
    let (owned, _clock) = manual("main");
    let trace = Trace::default();
    let stopper = Probe::new("a", &trace).shutdown(once(|cx: &mut Context<'_>| {
        assert_eq!(cx.container().stop(), StopOutcome::Requested);
        Ok(())
    }));
    let remover = Probe::new("r", &trace).update(once(|cx: &mut Context<'_>| {
        cx.remove_system("a");
        cx.remove_system("b");
        Ok(())
    }));
    let mut claim = owned.claim().unwrap();
    claim.add_system(stopper.reg()).unwrap();
    claim.add_system(Probe::new("b", &trace).reg()).unwrap();
    claim.add_system(remover.reg()).unwrap();
    claim.add_system(Probe::new("z", &trace).reg()).unwrap();
    drop(claim);
    owned.claim().unwrap().initialize_systems().unwrap();
    owned.update().unwrap();
    let line = trace.line();
    // spec: STOP-05, SHUT-06
    assert!(
        line.ends_with("a.shutdown a.drop z.shutdown r.shutdown b.shutdown b.drop"),
        "{line}"
    );
}

#[test]
fn refused_timers_and_conditions_that_panic_when_dropped_stop_nothing() {
    let owned = OwnedContainer::new("main").unwrap();
    owned.set_silent();
    let mut claim = owned.claim().unwrap();
    let mut gone = Vec::new();
    let mut armed = |length| {
        let (timer, mailbox) = armed(length);
        gone.push(mailbox);
        timer
    };
    let closure = ecs::system("s", |_| -> SystemResult { Ok(()) });
    let (bomb, mailbox) = Bomb::new();
    let registration = closure
        .timer(armed(us(1)))
        .timer(armed(ecs::MAX_INTERVAL + us(1)))
        .run_if(move |_| size_of_val(&bomb) > 0);
    // Two panics in one value, dropped as a whole, would abort.
    // spec: SHUT-04, ERR-01
    assert!(claim.add_system(registration).is_err());
    let mut cx = claim.context();
    // spec: SHUT-04
    assert!(cx.add_timer("nobody", armed(TICK)).is_err());
    assert!(cx.this.add_timer(armed(TICK)).is_err());
    let (bomb, other) = Bomb::new();
    let condition = move |_: &ecs::World| size_of_val(&bomb) > 0;
    // spec: SHUT-04
    assert!(cx.set_run_condition("nobody", condition).is_err());
    gone.extend([mailbox, other]);
    // spec: SHUT-04
    assert!(gone.iter().all(ecs::Mailbox::is_closed), "all are dropped");
}

#[test]
fn a_system_replaced_during_a_stop_leaves_no_mailbox_behind() {
    let (owned, _clock) = manual("main");
    let trace = Trace::default();
    let inner = trace.clone();
    let last = Probe::new("last", &trace).shutdown(once(move |cx: &mut Context<'_>| {
        cx.add_system(Probe::new("first", &inner).reg())?;
        Ok(())
    }));
    let mut claim = owned.claim().unwrap();
    claim.add_system(Probe::new("first", &trace).reg()).unwrap();
    claim.add_system(last.reg()).unwrap();
    claim.update().unwrap();
    drop(claim);
    owned.stop();
    // spec: STOP-12, SHUT-02, SHUT-07
    assert!(owned.mailbox("first").is_none());
}

#[test]
fn what_a_start_up_step_sends_to_a_system_registered_in_it_is_read_in_the_next_pass() {
    // Under a new handle, and in the place of another system.
    for handle in ["new", "there"] {
        let (owned, _clock) = manual("main");
        let trace = Trace::default();
        let noted = trace.clone();
        let reader = ecs::system(handle, move |cx| {
            let message = cx.this.next_message().map(|message| message["n"].clone());
            noted.add(format!("read {message:?}"));
            Ok(())
        });
        let mut reader = Some(reader.every_pass());
        let first = Probe::new("first", &trace).init(once(move |cx: &mut Context<'_>| {
            cx.add_system(reader.take().ok_or("once")?)?;
            cx.container()
                .message_submit(json!({ "destination": { "system": handle }, "n": 1 }))?;
            Ok(())
        }));
        let mut claim = owned.claim().unwrap();
        // Leaves a slot free, for the reader.
        claim.add_system(Probe::new("gone", &trace).reg()).unwrap();
        claim.add_system(first.reg()).unwrap();
        claim.add_system(Probe::new("there", &trace).reg()).unwrap();
        claim.remove_system("gone");
        claim.update().unwrap();
        trace.take();
        claim.update().unwrap();
        let line = trace.line();
        // spec: DEL-01, DEL-04
        assert!(line.ends_with("read Some(Number(1))"), "{handle}: {line}");
    }
}

#[test]
fn a_timer_that_switches_its_system_off_ends_the_update_of_one_that_was_off_before() {
    let (owned, _clock) = manual("main");
    let trace = Trace::default();
    let switch = |on: bool| {
        Timer::once("switch", us(0), move |cx| {
            cx.this.set_on(on);
            Ok(())
        })
    };
    let probe = Probe::new("s", &trace).reg().switched_off();
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(probe.timer(switch(true)).timer(switch(false)))
        .unwrap();
    claim.update_system("s").unwrap();
    // spec: SYS-12
    assert_eq!(trace.line(), "s.init");
    claim.update_system("s").unwrap();
    // spec: SYS-10
    assert_eq!(
        trace.line(),
        "s.update",
        "asked for, a system that is off is updated"
    );
}

/// A clock that is set to any instant.
#[derive(Clone, Default)]
struct Loose(Arc<AtomicU64>);

impl Clock for Loose {
    fn now(&self) -> Moment {
        Moment::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[test]
fn a_timer_that_was_due_fires_after_the_clock_went_back() {
    let (owned, _clock) = manual("main");
    let (trace, clock) = (Trace::default(), Loose::default());
    let fired = trace.clone();
    let probe = Probe::new("s", &trace).reg();
    let probe = probe
        .clock(SharedClock::new(clock.clone()))
        .timer_once("fails", us(0), |_, _| Err("first".into()))
        .timer_once("due", us(2), move |_, _| {
            fired.add("due");
            Ok(())
        });
    owned.claim().unwrap().add_system(probe).unwrap();
    clock.0.store(10, Ordering::SeqCst);
    assert!(owned.update().is_err(), "the second timer is not reached");
    clock.0.store(1, Ordering::SeqCst);
    trace.take();
    owned.update().unwrap();
    // spec: CLK-06, FAIL-04
    assert_eq!(trace.line(), "due s.update");
}
