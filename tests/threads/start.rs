//! Starting: once, in the right order, with the right refusals.

use std::cell::{Cell, RefCell};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use ecs::{
    AccessError, ContainerState, Context, Manager, OwnedContainer, Register, StartError,
    StopOutcome, System, SystemResult, UpdateError,
};

use super::common::wait::{Flag, bounded, no_thread_named, receive, threads_named, until};
use super::common::{Probe, Trace, log_of, ms, once, secs};
use super::{container, count, milestones};

#[test]
fn the_passes_run_on_a_thread_of_the_containers_name() {
    for (handle, name) in [("rt-name", "rt-name"), ("rt\0nul", "rt\u{fffd}nul")] {
        let (sender, seen) = channel();
        let trace = Trace::default();
        let other = sender.clone();
        let probe = Probe::new("a", &trace)
            .init(move |_| {
                other.send(thread::current())?;
                Ok(())
            })
            .update(once(move |_| {
                sender.send(thread::current())?;
                Ok(())
            }));
        let owned = container(handle, vec![probe]);
        owned.start_with(ms(1)).unwrap();
        let init = receive(&seen, "the start-up step");
        let update = receive(&seen, "the first pass");
        // spec: RUN-01
        assert_eq!(init.name(), Some(name));
        // spec: RUN-01
        assert!(init.id() == update.id() && init.id() != thread::current().id());
        assert_eq!(owned.stop(), StopOutcome::Complete);
    }
}

#[test]
fn a_start_takes_effect_once() {
    let trace = Trace::default();
    let (sender, passes) = channel();
    let probe = Probe::new("a", &trace).update(move |_| {
        sender.send(())?;
        Ok(())
    });
    let owned = container("rt-once", vec![probe]);
    let error = owned
        .start_with(ecs::MAX_INTERVAL + ms(1))
        .unwrap_err()
        .to_string();
    // spec: RUN-03, ERR-02
    assert!(
        error.starts_with("ecs::Container(\"rt-once\")::start_with(): ")
            && error.contains("interval"),
        "{error}"
    );
    // spec: RUN-03
    assert_eq!(owned.state(), ContainerState::Idle, "nothing is started");
    owned.start_with(ms(1)).unwrap();
    receive(&passes, "the first pass");
    // spec: RUN-04
    owned.start().unwrap();
    owned.start_with(Duration::from_hours(1)).unwrap();
    // spec: RUN-03
    assert!(
        matches!(
            owned.start_with(Duration::MAX),
            Err(StartError::Interval { .. })
        ),
        "the interval is checked before everything else"
    );
    for _ in 0..5 {
        // spec: RUN-04
        receive(
            &passes,
            "a pass after further starts, which keep the interval",
        );
    }
    // spec: RUN-04
    assert_eq!(threads_named("rt-once"), 1);
    owned.stop();
    let events = trace.take();
    // spec: RUN-04, INIT-01
    assert_eq!(
        (count(&events, "a.init"), count(&events, "a.shutdown")),
        (1, 1)
    );
    no_thread_named("rt-once");
}

#[test]
fn what_was_stopped_or_shut_down_is_not_started() {
    let owned = container("rt-stopped", vec![]);
    owned.stop();
    let lines = log_of(&owned);
    owned.start().unwrap();
    owned.start_with(ms(1)).unwrap();
    // spec: RUN-03
    assert!(matches!(
        owned.start_with(Duration::MAX),
        Err(StartError::Interval { .. })
    ));
    owned.claim().unwrap().start().unwrap();
    // spec: RUN-05
    let lines_of = |function| {
        format!(
            "warning: ecs::Container(\"rt-stopped\")::{function}(): the container was stopped or its manager has shut \
             down; make a new one"
        )
    };
    // spec: RUN-05
    assert_eq!(
        lines.take(),
        ["start", "start_with", "start"].map(lines_of),
        "one warning for each call"
    );

    let manager = Manager::new();
    let before = manager.container("rt-before").unwrap();
    let attached = OwnedContainer::attached("rt-attached", &manager).unwrap();
    let running = manager.container("rt-running").unwrap();
    running.start_with(ms(1)).unwrap();
    manager.shutdown();
    let after = manager.container("rt-after").unwrap();
    for container in [&before, &after, &attached, &running] {
        let lines = log_of(container);
        container.start().unwrap();
        // spec: RUN-05, RUN-13
        assert_eq!(lines.take().len(), 1);
        // spec: RUN-05
        assert_ne!(container.state(), ContainerState::Running);
    }
    // A claim that was taken before keeps nothing open.
    let claim = before.claim().unwrap();
    let lines = log_of(&before);
    claim.start_with(ms(1)).unwrap();
    // spec: RUN-05
    assert_eq!(
        (lines.take().len(), before.state()),
        (1, ContainerState::Idle)
    );
    drop(manager);
    // spec: MGR-10
    assert!(matches!(
        before.start(),
        Err(StartError::Access(AccessError::Gone { .. }))
    ));
    attached.start().unwrap();
    // spec: RUN-05, RUN-13
    assert_eq!(attached.state(), ContainerState::Idle);
    no_thread_named("rt-attached");
}

#[test]
fn the_start_up_step_comes_at_once_then_an_interval_then_the_deferred_functions() {
    let trace = Trace::default();
    let owned = container("rt-order", vec![Probe::new("a", &trace)]);
    let (sender, deferred) = channel();
    let (first, kept) = (trace.clone(), trace.clone());
    owned.defer(move |cx| {
        first.add("deferred");
        sender.send(Instant::now())?;
        cx.add_system(Probe::new("b", &kept).reg())?;
        Ok(())
    });
    let second = trace.clone();
    owned.defer(move |_| {
        second.add("second");
        Ok(())
    });
    let interval = ms(30);
    let begun = Instant::now();
    owned.start_with(interval).unwrap();
    let ran = receive(&deferred, "the deferred function");
    // spec: RUN-10
    assert!(ran - begun >= interval, "it runs in the first pass");
    owned.stop();
    let events = trace.take();
    // spec: RUN-10, DEF-01, DEF-02, DEF-03, DEF-09
    assert_eq!(
        events[..6].join(" "),
        "a.init deferred second b.init a.update b.update"
    );
}

#[test]
fn a_started_container_is_reached_by_defer_alone() {
    let trace = Trace::default();
    let (sender, seen) = channel();
    let probe = Probe::new("a", &trace).update(once(move |cx| {
        let container = cx.container();
        sender.send((
            container.claim().map(drop).unwrap_err().to_string(),
            container.update().unwrap_err().to_string(),
            container.start().is_ok(),
        ))?;
        Ok(())
    }));
    let owned = container("rt-busy", vec![probe]);
    owned.start_with(ms(1)).unwrap();
    let (claim, update, start) = receive(&seen, "the first pass");
    // spec: RUN-07, RUN-09
    for error in [&claim, &update] {
        assert!(error.contains("defer"), "{error}");
    }
    // spec: RUN-04
    assert!(start, "a repeated start, from inside");
    let error = owned.claim().map(drop).unwrap_err();
    // spec: RUN-07
    assert!(
        matches!(error, AccessError::Running { .. }) && error.to_string().contains("defer"),
        "{error}"
    );
    // spec: RUN-07
    assert!(matches!(
        owned.update(),
        Err(UpdateError::Access(AccessError::Running { .. }))
    ));
    let ticket = owned.defer_ticket(|cx| Ok(cx.system_key("a").is_some()));
    let found = bounded("a deferred function's value", move || ticket.wait());
    // spec: DEF-04, DEF-11
    assert_eq!(found, Ok(true));
    owned.stop();
    // spec: STOP-09
    assert!(owned.claim().is_ok(), "afterwards it can be claimed again");
}

#[test]
fn a_start_is_refused_while_somebody_has_the_container() {
    let trace = Trace::default();
    let owned = container("rt-claimed", vec![Probe::new("a", &trace)]);
    let claim = owned.claim().unwrap();
    let error = owned.start().unwrap_err().to_string();
    // spec: RUN-14
    assert!(error.contains("drop that claim first"), "{error}");
    // spec: RUN-14
    assert_eq!(
        (owned.state(), threads_named("rt-claimed")),
        (ContainerState::Claimed, 0)
    );
    drop(claim);

    // A pass elsewhere.
    let (inside, go) = (Flag::default(), Flag::default());
    let (entered, leave) = (inside.clone(), go.clone());
    owned.defer(move |cx| {
        assert!(cx.container().start().is_err(), "a pass of one's own");
        entered.set();
        leave.wait("the end of the refused start");
        Ok(())
    });
    let reference = ecs::Container::clone(&owned);
    let pass = super::common::wait::spawn(move || reference.update().is_ok());
    inside.wait("the pass");
    // spec: RUN-14
    assert!(matches!(
        owned.start(),
        Err(StartError::Access(AccessError::InPass { .. }))
    ));
    go.set();
    assert!(pass.join("the pass"));
    trace.take();

    let claim = owned.claim().unwrap();
    claim.start_with(ms(1)).unwrap();
    // spec: RUN-14
    assert_eq!(owned.state(), ContainerState::Running);
    until("the first pass", || trace.line().contains("a.update"));
    owned.stop();
    // spec: RUN-14
    assert!(milestones(&trace).starts_with("a.shutdown"));

    // A claim that asks for an impossible interval is given back, and the start is not used up.
    let trace = Trace::default();
    let owned = container("rt-claimed", vec![Probe::new("a", &trace)]);
    let refused = owned.claim().unwrap().start_with(Duration::MAX);
    // spec: RUN-03
    assert!(matches!(refused, Err(StartError::Interval { .. })));
    owned.claim().unwrap().start_with(secs(5)).unwrap();
    until("the start-up step", || trace.line() == "a.init");
    owned.stop();
}

#[test]
fn a_thread_that_cannot_be_had_is_an_error_and_loses_nothing() {
    // In a process of its own, whose threads would have larger stacks than there is memory to address.
    let test = "start::child_without_threads";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("RUST_MIN_STACK", ((1_u64 << 47) - (1 << 21)).to_string())
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&output.stdout);
    // spec: RUN-14
    assert!(
        output.status.success() && lines.contains("refused and in order"),
        "{output:?}"
    );
}

#[test]
#[ignore = "the child process of the test above"]
fn child_without_threads() {
    if thread::Builder::new().spawn(|| ()).is_ok() {
        return;
    }
    let trace = Trace::default();
    let owned = container("rt-none", vec![Probe::new("a", &trace)]);
    let error = owned.start().unwrap_err();
    assert!(matches!(error, StartError::Spawn { .. }));
    assert!(
        error
            .to_string()
            .starts_with("ecs::Container(\"rt-none\")::start(): no thread could be spawned: "),
        "{error}"
    );
    assert!(owned.claim().unwrap().start().is_err());
    assert_eq!(owned.state(), ContainerState::Idle);
    owned.update().unwrap();
    assert_eq!(owned.stop(), StopOutcome::Complete);
    assert_eq!(trace.line(), "a.init a.update a.shutdown");
    println!("refused and in order");
}

#[test]
fn a_systems_own_state_needs_no_lock() {
    /// `Send`, but neither `Sync` nor locked.
    #[derive(Default)]
    struct Plain {
        updates: Cell<u32>,
        names: RefCell<Vec<String>>,
    }
    impl System for Plain {
        fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
            self.updates.set(self.updates.get() + 1);
            self.names.borrow_mut().push(cx.this.handle().to_owned());
            Ok(())
        }
    }
    let owned = container("rt-plain", vec![]);
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(Plain::default().named("plain").every_pass())
        .unwrap();
    claim.start_with(ms(1)).unwrap();
    let pass = owned.defer_ticket(|_| Ok(()));
    bounded("a pass", move || pass.wait()).unwrap();
    owned.stop();
    let mut claim = owned.claim().unwrap();
    let plain = claim.system::<Plain>("plain").unwrap();
    // spec: THD-02, STOP-09
    assert!(plain.updates.get() > 0 && plain.names.borrow().len() == plain.updates.get() as usize);
}
