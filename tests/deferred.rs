//! Functions handed to the container thread.

mod common;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use common::{Probe, Trace, manual, once};
use ecs::{BoxError, Context, OwnedContainer, TicketError};

fn note(
    trace: &Trace,
    text: &str,
) -> impl FnOnce(&mut Context<'_>) -> Result<(), BoxError> + Send + 'static {
    let (trace, text) = (trace.clone(), text.to_owned());
    move |_| {
        trace.add(text);
        Ok(())
    }
}

#[test]
fn they_run_once_in_order_before_the_start_up_step() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    owned
        .claim()
        .unwrap()
        .add_system(Probe::new("s", &trace).reg())
        .unwrap();
    for text in ["1", "2", "3"] {
        owned.defer(note(&trace, text));
    }
    // spec: DEF-02, DEF-07
    assert_eq!(trace.line(), "", "not before a pass");
    owned.update().unwrap();
    // spec: DEF-02, DEF-03, INIT-02
    assert_eq!(trace.line(), "1 2 3 s.init s.update");
    owned.update().unwrap();
    // spec: DEF-02
    assert_eq!(trace.line(), "s.update", "exactly once");
}

#[test]
fn from_many_threads_each_ones_order_is_kept() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let (container, trace) = (ecs::Container::clone(&owned), trace.clone());
            thread::spawn(move || {
                for n in 0..100 {
                    container.defer(note(&trace, &format!("{thread}:{n:02}")));
                }
            })
        })
        .collect();
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        owned.update().unwrap();
    }
    for thread in threads {
        thread.join().unwrap();
    }
    owned.update().unwrap();
    let events = trace.take();
    // spec: DEF-01, DEF-02
    assert_eq!(events.len(), 400);
    for thread in 0..4 {
        let own: Vec<_> = events
            .iter()
            .filter(|event| event.starts_with(&format!("{thread}:")))
            .collect();
        // spec: DEF-03
        assert!(own.is_sorted());
    }
}

#[test]
fn everything_of_the_container_is_available_and_counts_as_before_the_pass() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim.add_system(Probe::new("old", &trace).reg()).unwrap();
    claim.update().unwrap();
    drop(claim);
    trace.take();
    let inner = trace.clone();
    owned.defer(move |cx| {
        cx.world.spawn_named("door", ())?;
        cx.remove_system("old");
        inner.add("removed");
        cx.add_system(Probe::new("new", &inner).reg())?;
        assert_eq!(
            (cx.this.handle(), cx.this.elapsed()),
            ("main", Duration::ZERO)
        );
        assert_eq!(cx.this.next_message(), None);
        assert!(
            cx.this
                .add_timer(ecs::Timer::once("t", Duration::ZERO, |_| Ok(())))
                .is_err()
        );
        Ok(())
    });
    owned.defer({
        let inner = trace.clone();
        move |cx| {
            inner.add(format!("{}", cx.system_key("new").is_some()));
            Ok(())
        }
    });
    owned.update().unwrap();
    // spec: DEF-04, DEF-09
    assert_eq!(
        trace.line(),
        "old.shutdown old.drop removed true new.init new.update"
    );
}

#[test]
fn submitted_from_inside_it_runs_in_the_next_pass() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let (inner, late) = (trace.clone(), trace.clone());
    let defers = Probe::new("s", &trace).update(once(move |cx: &mut Context<'_>| {
        cx.defer(note(&late, "from a pass"));
        Ok(())
    }));
    owned.claim().unwrap().add_system(defers.reg()).unwrap();
    owned.defer(move |cx| {
        inner.add("outer");
        cx.defer(note(&inner, "inner"));
        Ok(())
    });
    owned.update().unwrap();
    // spec: DEF-05
    assert_eq!(trace.line(), "outer s.init s.update");
    owned.update().unwrap();
    // spec: DEF-05
    assert_eq!(trace.line(), "inner from a pass s.update");
}

struct Noted(Trace);
impl Drop for Noted {
    fn drop(&mut self) {
        self.0.add("dropped");
    }
}

#[test]
fn what_it_captured_is_dropped_once_run_or_not() {
    let trace = Trace::default();
    let owned = OwnedContainer::new("main").unwrap();
    let noted = Noted(trace.clone());
    owned.defer(move |_| {
        noted.0.add("run");
        Ok(())
    });
    owned.update().unwrap();
    // spec: DEF-08
    assert_eq!(trace.line(), "run dropped");

    let (pending, late) = (Noted(trace.clone()), Noted(trace.clone()));
    owned
        .claim()
        .unwrap()
        .add_system(Probe::new("s", &trace).reg())
        .unwrap();
    owned.update().unwrap();
    trace.take();
    owned.defer(move |_| {
        drop(pending);
        Ok(())
    });
    owned.stop();
    // spec: DEF-07, DEF-08, DEF-10
    assert_eq!(
        trace.line(),
        "dropped s.shutdown",
        "unrun, and before the first shutdown"
    );
    owned.defer(move |_| {
        drop(late);
        Ok(())
    });
    // spec: DEF-07, DEF-08, STOP-09
    assert_eq!(trace.line(), "dropped");
    let container = ecs::Container::clone(&owned);
    drop(owned);
    let gone = Noted(trace.clone());
    trace.take();
    container.defer(move |_| {
        drop(gone);
        Ok(())
    });
    // spec: MGR-10, DEF-08
    assert_eq!(trace.line(), "dropped");
}

#[test]
fn destruction_drops_what_is_pending_first() {
    let trace = Trace::default();
    let owned = OwnedContainer::new("main").unwrap();
    owned
        .claim()
        .unwrap()
        .add_system(Probe::new("s", &trace).reg())
        .unwrap();
    owned.update().unwrap();
    trace.take();
    let pending = Noted(trace.clone());
    owned.defer(move |_| {
        drop(pending);
        Ok(())
    });
    drop(owned);
    // spec: DEF-10
    assert_eq!(trace.line(), "dropped s.shutdown s.drop");
}

#[test]
fn a_ticket_tells_what_became_of_the_function() {
    let (owned, _) = manual("main");
    let done = owned.defer_ticket(|cx| Ok(cx.systems().count()));
    let failed = owned.defer_ticket::<()>(|_| Err("no".into()));
    let panicked = owned.defer_ticket::<()>(|_| panic!("oh"));
    // spec: DEF-11
    assert_eq!(
        (done.try_take(), failed.wait_for(Duration::ZERO)),
        (None, Err(TicketError::TimedOut))
    );
    assert!(owned.update().is_err());
    // spec: DEF-11
    assert_eq!(done.try_take(), Some(Ok(0)));
    assert_eq!(done.wait(), Err(TicketError::Taken));
    // spec: DEF-11
    assert_eq!(
        failed.wait(),
        Err(TicketError::Failed { text: "no".into() })
    );
    // spec: DEF-11
    assert_eq!(
        panicked.wait(),
        Err(TicketError::Failed {
            text: "panicked: oh".into()
        })
    );
    let dropped = owned.defer_ticket(|_| Ok(1));
    owned.stop();
    // spec: DEF-11
    assert_eq!(dropped.wait(), Err(TicketError::Dropped));
}

#[test]
fn container_code_does_not_wait_for_a_ticket() {
    let (owned, _) = manual("main");
    let seen = Trace::default();
    let kept = seen.clone();
    let waits = ecs::system("s", move |cx| {
        let ticket = cx.container().defer_ticket(|_| Ok(1));
        kept.add(format!("{:?}", ticket.wait()));
        Ok(())
    });
    owned
        .claim()
        .unwrap()
        .add_system(waits.every_pass())
        .unwrap();
    owned.update().unwrap();
    // spec: DEF-11
    assert_eq!(seen.line(), "Err(InContainerCode)");
}

#[test]
fn a_ticket_is_waited_for_on_another_thread() {
    let (owned, _) = manual("main");
    let ticket = owned.defer_ticket(|_| Ok(Arc::new(7)));
    let waiter = thread::spawn(move || ticket.wait());
    owned.update().unwrap();
    // spec: DEF-11
    assert_eq!(waiter.join().unwrap(), Ok(Arc::new(7)));
}

#[test]
fn a_ticket_tells_a_failure_whose_text_panics() {
    #[derive(Debug)]
    struct Mute;
    impl std::fmt::Display for Mute {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("on purpose");
        }
    }
    impl std::error::Error for Mute {}
    let (owned, _) = manual("main");
    let ticket = owned.defer_ticket(|_| -> Result<(), BoxError> { Err(Mute.into()) });
    assert!(owned.update().is_err());
    // spec: DEF-11, FAIL-06
    assert!(matches!(
        ticket.try_take(),
        Some(Err(TicketError::Failed { text })) if text.ends_with("on purpose")
    ));
}
