//! Stopping containers that run on their own threads.

use std::cell::RefCell;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use ecs::{Container, ContainerState, Context, OwnedContainer, StopOutcome, Timer};

use super::common::wait::{Flag, bounded, no_thread_named, receive, spawn, threads_named, until};
use super::common::{Probe, Trace, ms, once, secs};
use super::{container, count, milestones};

/// A system whose first update says `inside` and waits for `go`.
fn blocked(name: &str, trace: &Trace) -> (Probe, Flag, Flag) {
    let (inside, go) = (Flag::default(), Flag::default());
    let (entered, leave, kept) = (inside.clone(), go.clone(), trace.clone());
    let probe = Probe::new(name, trace).update(once(move |_| {
        entered.set();
        leave.wait("the test to let the pass go on");
        kept.add("leaves");
        Ok(())
    }));
    (probe, inside, go)
}

#[test]
fn a_stop_waits_for_the_pass_the_shutdowns_and_the_thread() {
    thread_local! {
        static LAST: RefCell<Option<OnEnd>> = const { RefCell::new(None) };
    }
    let trace = Trace::default();
    let (probe, inside, go) = blocked("a", &trace);
    let end = trace.clone();
    let first = Probe::new("first", &trace).init(move |_| {
        let end = end.clone();
        LAST.set(Some(OnEnd(Box::new(move || end.add("thread ends")))));
        Ok(())
    });
    let owned = container("rs-wait", vec![first, probe, Probe::new("z", &trace)]);
    owned.start_with(ms(1)).unwrap();
    inside.wait("the pass");
    assert_eq!(trace.take().len(), 5);
    // spec: STOP-16
    assert_eq!(owned.stop_within(ms(1)), StopOutcome::TimedOut);
    let stoppers: Vec<_> = (0..3)
        .map(|_| {
            let (container, trace) = (Container::clone(&owned), trace.clone());
            spawn(move || {
                let outcome = container.stop();
                trace.add("stopped");
                outcome
            })
        })
        .collect();
    // spec: STOP-02, STOP-16
    assert_eq!(owned.state(), ContainerState::Running);
    assert_eq!(trace.line(), "");
    go.set();
    for stopper in stoppers {
        // spec: STOP-02, STOP-01
        assert_eq!(stopper.join("a stop"), StopOutcome::Complete);
    }
    // spec: STOP-02, SHUT-11, SHUT-03, FAIL-01
    assert_eq!(
        trace.line(),
        "leaves z.update z.shutdown a.shutdown first.shutdown thread ends stopped stopped stopped",
        "the pass is completed"
    );
    // spec: STOP-16
    assert_eq!(owned.state(), ContainerState::Stopped);
    no_thread_named("rs-wait");
}

/// Does something when it is dropped.
struct OnEnd(Box<dyn FnMut() + Send>);

impl Drop for OnEnd {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_stop_from_the_own_pass_is_recorded() {
    let trace = Trace::default();
    let kept = trace.clone();
    let stopper = Probe::new("s", &trace).update(move |cx| {
        let container = cx.container();
        kept.add(format!("{:?}", container.stop()));
        kept.add(format!("{:?}", container.stop_within(secs(5))));
        kept.add(format!("{:?}", container.state()));
        cx.defer(|_| panic!("dropped unrun"));
        Ok(())
    });
    let owned = container(
        "rs-own",
        vec![Probe::new("a", &trace), stopper, Probe::new("z", &trace)],
    );
    owned.start_with(ms(1)).unwrap();
    until("the end of the container", || {
        owned.state() == ContainerState::Stopped
    });
    // spec: STOP-04, STOP-09
    assert_eq!(
        trace.line(),
        "a.init s.init z.init a.update s.update Requested Requested Running z.update z.shutdown s.shutdown a.shutdown"
    );
    // spec: STOP-01, STOP-08
    assert_eq!(
        (owned.stop(), owned.update().is_ok()),
        (StopOutcome::Complete, true)
    );
    assert_eq!(trace.line(), "");
    no_thread_named("rs-own");
}

#[test]
fn a_stop_from_a_deferred_function_a_timer_or_an_initialize_completes_the_pass() {
    let trace = Trace::default();
    let owned = container("rs-from", vec![Probe::new("a", &trace)]);
    let (one, two) = (trace.clone(), trace.clone());
    owned.defer(move |cx| {
        one.add(format!("one {:?}", cx.container().stop()));
        Ok(())
    });
    owned.defer(move |_| {
        two.add("two");
        Ok(())
    });
    owned.start_with(ms(1)).unwrap();
    until("the end", || owned.state() == ContainerState::Stopped);
    // spec: STOP-13
    assert_eq!(trace.line(), "a.init one Requested two a.update a.shutdown");

    let owned = container("rs-from", vec![]);
    let (one, two) = (trace.clone(), trace.clone());
    let system = Probe::new("t", &trace)
        .reg()
        .timer(Timer::once("stops", Duration::ZERO, move |cx| {
            one.add(format!("{:?}", cx.container().stop()));
            Ok(())
        }))
        .timer(Timer::every("other", Duration::ZERO, move |_| {
            two.add("other");
            Ok(())
        }));
    owned.claim().unwrap().add_system(system).unwrap();
    owned.start_with(ms(1)).unwrap();
    until("the end", || owned.state() == ContainerState::Stopped);
    // spec: STOP-13
    assert_eq!(trace.line(), "t.init Requested other t.update t.shutdown");

    let stops = Probe::new("i", &trace).init(|cx| {
        cx.container().stop();
        Ok(())
    });
    let owned = container("rs-from", vec![stops, Probe::new("z", &trace)]);
    owned.start_with(ms(1)).unwrap();
    until("the end", || owned.state() == ContainerState::Stopped);
    // spec: STOP-04, STOP-14, STOP-13
    assert_eq!(trace.line(), "i.init z.init z.shutdown i.shutdown");
}

#[test]
fn the_wait_does_not_depend_on_the_interval() {
    let interval = secs(5);
    for how in ["stop", "drop", "request"] {
        let trace = Trace::default();
        let owned = container("rs-idle", vec![Probe::new("a", &trace)]);
        owned.start_with(interval).unwrap();
        until("the start-up step", || trace.line() == "a.init");
        let begun = Instant::now();
        let reference = Container::clone(&owned);
        match how {
            "stop" => drop(owned.stop()),
            "drop" => drop(owned),
            _ => {
                owned.request_stop();
                until("the end", || owned.state() == ContainerState::Stopped);
            }
        }
        // spec: STOP-07
        assert!(begun.elapsed() < interval / 10, "{how}");
        // spec: SHUT-01
        assert!(trace.line().starts_with("a.shutdown"), "{how}");
        assert_eq!(reference.stop(), StopOutcome::Complete);
    }
    no_thread_named("rs-idle");
}

#[test]
fn a_stop_before_the_first_step_starts_nothing() {
    let mut unstarted = 0;
    for round in 0..200 {
        let trace = Trace::default();
        let owned = container("rs-early", vec![Probe::new("a", &trace)]);
        owned.start_with(ms(1)).unwrap();
        if round % 2 == 0 {
            owned.request_stop();
        }
        assert_eq!(owned.stop(), StopOutcome::Complete);
        let line = milestones(&trace);
        // spec: STOP-14, SHUT-01
        assert!(["", "a.init a.shutdown"].contains(&line.as_str()), "{line}");
        unstarted += u32::from(line.is_empty());
        drop(owned);
        assert_eq!(trace.line(), "a.drop");
    }
    // No more can be said from outside; `lifecycle` has the case by itself.
    println!("{unstarted} of 200 stops came before the first step");
    no_thread_named("rs-early");
}

#[test]
fn a_shutdown_that_blocks_is_waited_for() {
    let (inside, go) = (Flag::default(), Flag::default());
    let (entered, leave) = (inside.clone(), go.clone());
    let trace = Trace::default();
    let probe = Probe::new("a", &trace).shutdown(move |_| {
        entered.set();
        leave.wait("the test to let the shutdown go on");
        Ok(())
    });
    let owned = container("rs-block", vec![probe]);
    owned.start_with(ms(1)).unwrap();
    until("an update", || trace.line().contains("a.update"));
    let reference = Container::clone(&owned);
    let stopper = spawn(move || reference.stop());
    inside.wait("the shutdown");
    // spec: SHUT-05, STOP-16
    assert_eq!(owned.stop_within(ms(5)), StopOutcome::TimedOut);
    // spec: SHUT-05
    assert!(stopper.try_join().is_none());
    // spec: STOP-16
    assert_eq!(owned.state(), ContainerState::Stopping);
    go.set();
    // spec: SHUT-05
    assert_eq!(stopper.join("the stop"), StopOutcome::Complete);
}

#[test]
fn the_systems_are_shut_down_on_the_containers_thread() {
    let manager = ecs::Manager::new();
    for how in ["stop", "manager", "drop"] {
        let owned = OwnedContainer::attached("rs-where", &manager).unwrap();
        let listed = manager.container(format!("rs-where-{how}")).unwrap();
        let container = if how == "manager" { &listed } else { &*owned };
        container.set_silent();
        let (sender, seen) = channel();
        let (one, two) = (sender.clone(), sender);
        let probe = Probe::new("a", &Trace::default())
            .init(move |_| Ok(one.send(thread::current().id())?))
            .shutdown(move |_| Ok(two.send(thread::current().id())?));
        container.claim().unwrap().add_system(probe.reg()).unwrap();
        container.start_with(ms(1)).unwrap();
        let thread = receive(&seen, "the start-up step");
        match how {
            "stop" => assert_eq!(container.stop(), StopOutcome::Complete),
            "manager" => manager.shutdown(),
            _ => drop(owned),
        }
        // spec: SHUT-11, SHUT-12
        assert_eq!(seen.try_recv(), Ok(thread), "{how}");
        if how == "manager" {
            break;
        }
    }
}

#[test]
fn an_owner_dropped_in_container_code_does_not_wait() {
    let trace = Trace::default();
    let (probe, inside, go) = blocked("a", &trace);
    let inner = container("rs-inner", vec![probe]);
    let reference = Container::clone(&inner);
    inner.start_with(ms(1)).unwrap();
    inside.wait("the pass");
    trace.take();
    let (mut owned, dropped) = (Some(inner), Flag::default());
    let told = dropped.clone();
    let outer = container(
        "rs-outer",
        vec![Probe::new("o", &Trace::default()).update(move |_| {
            drop(owned.take());
            told.set();
            Ok(())
        })],
    );
    outer.start_with(ms(1)).unwrap();
    // spec: STOP-15, STOP-11
    dropped.wait("the drop of an owner in container code");
    assert_eq!(reference.state(), ContainerState::Running);
    go.set();
    until("the end of the container", || {
        reference.state() == ContainerState::Gone
    });
    // spec: STOP-15, SHUT-11
    assert_eq!(trace.line(), "leaves a.shutdown a.drop");
    let late = reference.clone();
    // spec: MGR-10
    assert_eq!(
        bounded("a late stop", move || late.stop()),
        StopOutcome::Complete
    );
    outer.stop();
    no_thread_named("rs-inner");

    // In its own code.
    let own = container("rs-self", vec![]);
    let reference = Container::clone(&own);
    let mut owned = Some(own);
    let kept = trace.clone();
    reference
        .claim()
        .unwrap()
        .add_system(
            Probe::new("a", &trace)
                .update(move |_| {
                    drop(owned.take());
                    kept.add("dropped");
                    Ok(())
                })
                .reg(),
        )
        .unwrap();
    reference.start_with(ms(1)).unwrap();
    until("the end of the container", || {
        reference.state() == ContainerState::Gone
    });
    // spec: STOP-15, STOP-04
    assert_eq!(trace.line(), "a.init a.update dropped a.shutdown a.drop");
    no_thread_named("rs-self");
}

#[test]
fn a_destructor_at_the_end_of_the_thread_may_stop_it() {
    thread_local! {
        static LAST: RefCell<Option<OnEnd>> = const { RefCell::new(None) };
    }
    let trace = Trace::default();
    let kept = trace.clone();
    let begun = Flag::default();
    let told = begun.clone();
    let probe = Probe::new("a", &Trace::default()).init(move |cx| {
        let (container, kept) = (cx.container(), kept.clone());
        told.set();
        LAST.set(Some(OnEnd(Box::new(move || {
            kept.add(format!("{:?}", container.stop()));
        }))));
        Ok(())
    });
    let owned = container("rs-tls", vec![probe]);
    owned.start_with(ms(1)).unwrap();
    begun.wait("the start-up step");
    let reference = Container::clone(&owned);
    // spec: STOP-11
    assert_eq!(
        bounded("the stop", move || reference.stop()),
        StopOutcome::Complete
    );
    // spec: STOP-02, STOP-11
    assert_eq!(trace.line(), "Complete");
}

#[test]
fn a_limited_wait_does_not_hang_on_the_end_of_the_thread() {
    thread_local! {
        static LAST: RefCell<Option<OnEnd>> = const { RefCell::new(None) };
    }
    let (inside, go) = (Flag::default(), Flag::default());
    let (entered, leave) = (inside.clone(), go.clone());
    let begun = Flag::default();
    let told = begun.clone();
    let probe = Probe::new("a", &Trace::default()).init(move |_| {
        told.set();
        let (entered, leave) = (entered.clone(), leave.clone());
        LAST.set(Some(OnEnd(Box::new(move || {
            entered.set();
            leave.wait("the test to let the thread end");
        }))));
        Ok(())
    });
    let owned = container("rs-time", vec![probe]);
    owned.start_with(ms(1)).unwrap();
    begun.wait("the start-up step");
    let (before, after) = (Container::clone(&owned), Container::clone(&owned));
    let without = spawn(move || before.stop());
    inside.wait("the end of the thread's own work");
    let within = spawn(move || {
        [
            after.stop_within(secs(30)),
            after.stop_within(Duration::ZERO),
        ]
    });
    // spec: STOP-16
    assert_eq!(
        within.join("stops with a limit"),
        [StopOutcome::Complete; 2]
    );
    // One joins the thread, the other waits for the one; whoever comes late would prove nothing.
    let second = Container::clone(&owned);
    let other = spawn(move || second.stop());
    thread::park_timeout(ms(20));
    // spec: STOP-02
    assert!(without.try_join().is_none(), "the thread has not ended");
    assert!(other.try_join().is_none(), "the thread has not ended");
    go.set();
    for without in [without, other] {
        // spec: STOP-02
        assert_eq!(
            without.join("a stop without a limit"),
            StopOutcome::Complete
        );
    }
    // spec: STOP-16
    assert_eq!(owned.stop_within(Duration::MAX), StopOutcome::Complete);
}

#[test]
fn an_owner_does_not_wait_for_a_claim_whose_pass_it_met() {
    let trace = Trace::default();
    let (probe, inside, go) = blocked("a", &trace);
    let owned = container("rs-claim", vec![probe, Probe::new("z", &trace)]);
    let reference = Container::clone(&owned);
    let mut claim = owned.claim().unwrap();
    let pass = spawn(move || {
        claim.update().unwrap();
        claim
    });
    inside.wait("the pass of the claim");
    let dropped = spawn(move || drop(owned));
    until("the request", || reference.is_stop_requested());
    go.set();
    let claim = pass.join("the pass");
    // spec: STOP-10
    dropped.join("the drop of the owner, while the claim is held on");
    // spec: STOP-10, STOP-05
    assert_eq!(
        milestones(&trace),
        "a.init z.init leaves z.shutdown a.shutdown"
    );
    assert_eq!(reference.state(), ContainerState::Claimed);
    drop(claim);
    // spec: STOP-10, STOP-15
    assert_eq!(trace.line(), "z.drop a.drop");
    assert_eq!(reference.state(), ContainerState::Gone);
}

#[test]
fn threads_come_and_go() {
    let names: Vec<String> = (0..4).map(|n| format!("rs-many{n}")).collect();
    let trace = Trace::default();
    for _ in 0..3 {
        let owned: Vec<_> = names
            .iter()
            .map(|name| {
                let owned = container(name, vec![Probe::new("a", &trace)]);
                owned.start_with(secs(5)).unwrap();
                owned
            })
            .collect();
        until("all threads", || threads_named("rs-many") == 4);
        drop(owned);
        no_thread_named("rs-many");
    }
    let events = trace.take();
    // spec: STOP-01, SHUT-01
    assert_eq!(count(&events, "a.drop"), 12);
    // spec: SHUT-01, STOP-14
    assert_eq!(count(&events, "a.init"), count(&events, "a.shutdown"));
}

#[test]
fn what_waits_when_a_stop_comes_is_dropped_unrun() {
    struct Captured(Trace);
    impl Drop for Captured {
        fn drop(&mut self) {
            self.0.add("dropped");
        }
    }
    let (trace, drops) = (Trace::default(), Trace::default());
    let owned = container("rs-defer", vec![Probe::new("a", &trace)]);
    owned.start_with(secs(5)).unwrap();
    until("the start-up step", || trace.line() == "a.init");
    let push = |container: &Container| {
        let captured = Captured(drops.clone());
        container.defer_ticket(move |_: &mut Context<'_>| {
            let _ = &captured;
            Ok(())
        })
    };
    let early = push(&owned);
    owned.stop();
    let late = push(&owned);
    // spec: STOP-09, DEF-07, DEF-08, DEF-11
    for ticket in [early, late] {
        assert_eq!(
            bounded("the word on a dropped function", move || ticket.wait()),
            Err(ecs::TicketError::Dropped)
        );
    }
    // spec: DEF-08, DEF-07
    assert_eq!(drops.line(), "dropped dropped");
}
