//! Faults that users of other libraries reported, as far as they concern containers: what no other test here has. The whole
//! list, with the test for each, stands in `README.md` beside this file, and is compared with the tests here.

mod common;

use std::collections::BTreeSet;
use std::panic::panic_any;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::wait::{bounded, no_thread_named, until};
use common::{Trace, ms, once, us};
use ecs::prelude::*;
use ecs::{Container, ManagerRef, Moment, SharedClock};

/// Calls the library when it is dropped: all that any thread may do, and a claim.
struct Caller {
    container: Container,
    manager: ManagerRef,
    calls: Arc<AtomicU32>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        let destination = json!({ "container": "main", "system": "reader" });
        let message = json!({ "destination": destination });
        self.container.log("dropped");
        self.container.defer(|_| Ok(()));
        _ = self.container.defer_ticket(|_| Ok(1)).try_take();
        _ = self.container.mailbox("reader").map(|it| it.send(json!(1)));
        _ = self.container.message_submit(message.clone());
        _ = self.manager.message_submit(message);
        _ = self.manager.container("other").map(|other| other.update());
        _ = self.container.claim().map(drop);
        _ = self.container.update();
        _ = (self.container.state(), self.container.running_system());
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

struct Held<T>(T);

impl Component for Held<Caller> {
    fn type_name() -> &'static str {
        "Held"
    }

    fn export(&self) -> Value {
        Value::Null
    }
}

impl System for Held<Caller> {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        let _ = &self.0;
        Ok(())
    }
}

impl Clock for Held<Caller> {
    fn now(&self) -> Moment {
        let _ = &self.0;
        Moment::ZERO
    }
}

/// Gives the library one of everything that it keeps, and says how many those are; they stay, or go again at once.
fn give(container: &Container, manager: &ManagerRef, calls: &Arc<AtomicU32>, goes: bool) -> u32 {
    let mut given = 0;
    let mut caller = || {
        given += 1;
        Caller {
            container: container.clone(),
            manager: manager.clone(),
            calls: Arc::clone(calls),
        }
    };
    let mut claim = container.claim().unwrap();
    let mut cx = claim.context();
    let entity = cx.world.spawn(Held(caller()));
    cx.world.insert(entity, Held(caller())).unwrap();
    cx.world.insert_resource(Held(caller()));
    cx.add_system(Held(caller()).named("s").every_pass())
        .unwrap();
    let mut timer = |name, length| {
        let held = caller();
        Timer::once(name, length, move |_| {
            let _ = &held;
            Ok(())
        })
    };
    cx.add_timer("s", timer("fires", us(0))).unwrap();
    cx.add_timer("s", timer("cleared", ms(1))).unwrap();
    let held = caller();
    let condition = move |_: &World| {
        let _ = &held;
        true
    };
    cx.set_run_condition("s", condition).unwrap();
    let clock = SharedClock::new(Held(caller()));
    cx.set_system_clock("s", clock).unwrap();
    let held = caller();
    container.set_logger(move |_, _| {
        let _ = &held;
    });
    let held = caller();
    container.defer(move |_| {
        let _ = &held;
        Ok(())
    });
    if goes {
        drop(claim);
        container.update().unwrap();
        let mut claim = container.claim().unwrap();
        let mut cx = claim.context();
        cx.clear_timer("s", "cleared");
        cx.set_run_condition("s", |_| true).unwrap();
        cx.set_system_clock("s", None).unwrap();
        container.set_silent();
        cx.world.despawn(entity);
        drop(cx.world.remove_resource::<Held<Caller>>());
        cx.remove_system("s");
    }
    given
}

/// Locks, waits and borrows: whatever a `Drop` may run into, it comes back.
#[test]
fn the_drop_of_whatever_is_kept_may_call_the_library() {
    bounded("the drops", || {
        let manager = Manager::new();
        let main = manager.container("main").unwrap();
        main.set_silent();
        let calls = Arc::new(AtomicU32::new(0));
        let gone = give(&main, &manager, &calls, true);
        // spec: LCK-02, DEF-08
        assert_eq!(calls.load(Ordering::Relaxed), gone);
        let kept = give(&main, &manager, &calls, false);
        // The first component was replaced.
        // spec: LCK-02
        assert_eq!(calls.load(Ordering::Relaxed), gone + 1);
        drop(manager);
        // The destination stays for those who log through a reference that they kept.
        main.set_silent();
        // spec: LCK-02, MGR-10
        assert_eq!(calls.load(Ordering::Relaxed), gone + kept);
    });
}

#[test]
fn a_panic_in_every_pass_harms_nobody_a_hundred_times() {
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    main.set_silent();
    let trace = Trace::default();
    let (before, after) = (trace.clone(), trace.clone());
    let mut claim = main.claim().unwrap();
    let fine = system("before", move |_| {
        before.add("before");
        Ok(())
    });
    claim.add_system(fine.every_pass()).unwrap();
    let panics = system("panics", move |cx| {
        after.add(cx.this.updates().to_string());
        panic_any("on purpose");
    });
    claim.add_system(panics.every_pass()).unwrap();
    drop(claim);
    for pass in 0..100 {
        let error = main.update().unwrap_err();
        // spec: FAIL-06
        assert!(
            error.to_string().ends_with("panicked: on purpose"),
            "{error}"
        );
        // spec: FAIL-05
        assert_eq!(trace.line(), format!("before {}", pass + 1));
    }
    // Threads that end so leave nothing behind.
    for _ in 0..100 {
        let manager = Manager::new();
        let container = manager.container("x-panics").unwrap();
        container.set_silent();
        let panics = once(|_| panic_any("on purpose"));
        let panics = system("panics", panics);
        let mut claim = container.claim().unwrap();
        claim.add_system(panics.every_pass()).unwrap();
        claim.start_with(us(0)).unwrap();
        until("the panic", || container.failure().is_some());
        bounded("the end of a thread that panicked", move || drop(manager));
    }
    // spec: FAIL-02
    no_thread_named("x-panics");
}

/// The tests named in `README.md`: `file::test`, or `file` alone where it is about nothing else.
fn named(text: &str) -> BTreeSet<(&str, Option<&str>)> {
    let marked = text.split('`').skip(1).step_by(2);
    let tests = marked.filter_map(|word| match word.split_once("::") {
        Some((file, name)) => Some((file, Some(name))),
        None => word.strip_prefix("tests/").map(|file| (file, None)),
    });
    tests.collect()
}

fn missing(text: &str) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let exists = |(file, name): (&str, Option<&str>)| {
        let paths = [format!("{file}.rs"), format!("{file}/main.rs")];
        let sources = paths.map(|path| std::fs::read_to_string(here.join(path)).ok());
        let mut sources = sources.into_iter().flatten();
        sources.any(|source| {
            name.is_none_or(|name| {
                source.contains(&format!("fn {name}(")) || source.contains(&format!("fn {name}<"))
            })
        })
    };
    let missing = named(text).into_iter().filter(|it| !exists(*it));
    missing.map(|it| format!("{it:?}")).collect()
}

#[test]
fn the_tests_that_the_table_names_exist() {
    let text = include_str!("README.md");
    assert_eq!(missing(text), [""; 0]);
    assert!(named(text).len() > 60, "{}", named(text).len());
    assert_eq!(missing("`tests/nothing`, `stop::nothing`").len(), 2);
}
