//! Commands of systems: when they are applied, in which order, and whose their failures are.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::wait::{receive, until};
use common::{Probe, Trace, log_of, manual, once};
use ecs::{
    CommitPoint, Component, Context, Entity, Manager, Phase, Register, StopOutcome, SystemResult,
    Value, World, json,
};

#[derive(Debug, PartialEq)]
struct Count(i64);

impl Component for Count {
    fn type_name() -> &'static str {
        "Count"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

/// A resource: what was seen, in order.
#[derive(Default)]
struct Seen(Vec<&'static str>);

fn note(world: &mut World, what: &'static str) {
    if world.resource::<Seen>().is_none() {
        world.insert_resource(Seen::default());
    }
    world.resource_mut::<Seen>().unwrap().0.push(what);
}

fn seen(world: &mut World) -> String {
    let seen = world.remove_resource::<Seen>().unwrap_or_default();
    seen.0.join(" ")
}

/// Queues a note.
fn queue(cx: &mut Context<'_>, what: &'static str) {
    cx.world.commands().queue(move |world| note(world, what));
}

#[test]
fn commands_are_applied_in_system_order_at_the_end_of_the_pass() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    for (name, first, second) in [("a", "a1", "a2"), ("b", "b1", "b2")] {
        let probe = Probe::new(name, &trace).update(once(move |cx| {
            queue(cx, first);
            let entity = cx.world.commands().spawn(Count(1));
            cx.world.commands().insert(entity, Count(2));
            queue(cx, second);
            assert!(cx.world.is_empty(), "it waits");
            Ok(())
        }));
        claim.add_system(probe.reg()).unwrap();
    }
    let direct = Probe::new("c", &trace).update(once(|cx| {
        // spec: CMD-01
        assert!(cx.world.is_empty(), "it waits for the end of the pass");
        // An exclusive system may also change the world directly.
        note(cx.world, "direct");
        cx.world.spawn(Count(10));
        Ok(())
    }));
    claim.add_system(direct.reg()).unwrap();
    claim.update().unwrap();
    // spec: CMD-01
    assert_eq!(seen(claim.world()), "direct a1 a2 b1 b2");
    let sum: i64 = claim.world().query::<&Count>().map(|count| count.0).sum();
    // spec: CMD-01
    assert_eq!((claim.world().len(), sum), (3, 14));
}

#[test]
fn a_commit_point_applies_what_was_queued_before_it() {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    let count = |cx: &mut Context<'_>| cx.world.query::<&Count>().count();
    let spawner = Probe::new("spawner", &trace).update(move |cx| {
        cx.world.commands().spawn(Count(0));
        Ok(())
    });
    let before = trace.clone();
    let reader = Probe::new("reader", &trace).update(move |cx| {
        before.add(format!("sees {}", count(cx)));
        cx.world.commands().spawn(Count(1));
        Ok(())
    });
    claim.add_system(spawner.reg()).unwrap();
    // It may be given as it is, or under a handle; either way it runs in every pass.
    let commit = claim.add_system(CommitPoint).unwrap();
    claim.add_system(reader.reg()).unwrap();
    claim.add_system(CommitPoint.named("last")).unwrap();
    let after = trace.clone();
    let last = Probe::new("end", &trace).update(move |cx| {
        after.add(format!("sees {}", count(cx)));
        Ok(())
    });
    claim.add_system(last.reg()).unwrap();
    claim.update().unwrap();
    claim.update().unwrap();
    let line = trace.line();
    let passes = line.split("spawner.update").skip(1);
    // spec: CMD-01
    assert_eq!(
        passes.collect::<Vec<_>>(),
        [
            " reader.update sees 1 end.update sees 2 ",
            " reader.update sees 3 end.update sees 4"
        ]
    );

    // Switched off, or with an interval, it leaves the rest to the end of the pass.
    claim.context().set_system_on(commit.key, false).unwrap();
    claim.update().unwrap();
    assert_eq!(
        trace.line(),
        "spawner.update reader.update sees 4 end.update sees 6"
    );
    claim.remove_system("last");
    claim
        .add_system(CommitPoint.named("slow").interval(common::secs(1)))
        .unwrap();
    claim.update().unwrap();
    clock.advance(common::secs(1)).unwrap();
    claim.update().unwrap();
    assert_eq!(claim.context().system_info("slow").unwrap().updates(), 1);
}

#[test]
fn what_the_root_step_queues_is_there_for_the_first_update() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let probe = Probe::new("a", &trace)
        .init(|cx| {
            assert_eq!(cx.world.len(), 0);
            cx.world.commands().spawn(Count(1));
            Ok(())
        })
        .update(|cx| {
            // spec: CMD-01
            assert_eq!(cx.world.len(), 3, "one of each");
            Ok(())
        });
    claim.add_system(probe.reg()).unwrap();
    // Outside a pass it waits for the next one.
    claim.world().commands().spawn(Count(2));
    owned.defer(|cx| {
        cx.world.commands().spawn(Count(3));
        Ok(())
    });
    assert!(claim.world().is_empty());
    claim.update().unwrap();
    // The start-up step by itself, and one system by itself.
    let again = Probe::new("b", &trace)
        .init(|cx| {
            cx.world.commands().spawn(Count(4));
            Ok(())
        })
        .update(once(|cx| {
            cx.world.commands().spawn(Count(5));
            Ok(())
        }));
    claim.add_system(again.reg()).unwrap();
    claim.initialize_systems().unwrap();
    // spec: CMD-01
    assert_eq!(claim.world().len(), 4);
    claim.update_system("b").unwrap();
    // spec: CMD-01
    assert_eq!(claim.world().len(), 5);
    let unstarted = Probe::new("c", &trace)
        .init(|cx| {
            cx.world.commands().spawn(Count(6));
            Ok(())
        })
        .update(once(|cx| {
            assert_eq!(cx.world.len(), 6);
            Ok(())
        }));
    claim.add_system(unstarted.reg()).unwrap();
    claim.update_system("c").unwrap();
    assert_eq!(claim.world().len(), 6);
}

fn again(world: &mut World) {
    note(world, "again");
    world.commands().queue(again);
}

#[test]
fn what_a_commit_queues_itself_waits_for_the_next_one() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    let system = Probe::new("a", &trace).update(once(|cx| {
        cx.world.commands().queue(|world| {
            note(world, "outer");
            world.commands().queue(|world| note(world, "inner"));
        });
        Ok(())
    }));
    claim.add_system(system.reg()).unwrap();
    claim.update().unwrap();
    // spec: CMD-01
    assert_eq!(seen(claim.world()), "outer");
    claim.update().unwrap();
    assert_eq!(seen(claim.world()), "inner");
    // A function that queues itself for ever ends no pass late.
    claim.world().commands().queue(again);
    for _ in 0..3 {
        claim.update().unwrap();
    }
    // Twice a pass: at the end of the root step and at the end.
    assert_eq!(seen(claim.world()).split(' ').count(), 6);
}

#[test]
fn a_failed_pass_applies_what_was_queued_before() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let fails = Probe::new("a", &trace).update(once(|cx| {
        cx.world.commands().spawn(Count(1));
        queue(cx, "done");
        panic!("half-way")
    }));
    claim.add_system(fails.reg()).unwrap();
    let skipped = Probe::new("b", &trace).update(|cx| {
        queue(cx, "late");
        Ok(())
    });
    claim.add_system(skipped.reg()).unwrap();
    let error = claim.update().unwrap_err();
    // spec: CMD-07, FAIL-03
    assert_eq!(seen(claim.world()), "done");
    assert_eq!(claim.world().len(), 1);
    let failure = error.failure().unwrap();
    assert_eq!((failure.handle(), failure.phase()), ("a", &Phase::Update));

    // In the start-up step likewise.
    let fails = Probe::new("c", &trace).init(once(|cx| {
        cx.world.commands().spawn(Count(2));
        Err("no".into())
    }));
    claim.add_system(fails.reg()).unwrap();
    assert!(claim.initialize_systems().is_err());
    // spec: CMD-07
    assert_eq!(claim.world().len(), 2);
}

fn queue_bad(cx: &mut Context<'_>) {
    queue(cx, "first");
    cx.world.commands().queue(|_| panic!("mid-flush"));
    let gone = cx.world.spawn(());
    cx.world.despawn(gone);
    cx.world.commands().strict().insert(gone, Count(1));
    queue(cx, "last");
}

fn bad() -> impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static {
    once(|cx| {
        queue_bad(cx);
        Ok(())
    })
}

#[test]
fn a_command_that_fails_is_a_failure_of_its_system() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(
            Probe::new("good", &trace)
                .update(|cx| {
                    queue(cx, "good");
                    Ok(())
                })
                .reg(),
        )
        .unwrap();
    claim
        .add_system(Probe::new("bad", &trace).update(bad()).reg())
        .unwrap();
    let after = Probe::new("after", &trace).update(|cx| {
        queue(cx, "after");
        Ok(())
    });
    claim.add_system(after.reg()).unwrap();
    let error = claim.update().unwrap_err();
    let failure = error.failure().unwrap();
    // spec: CMD-07
    assert_eq!(failure.handle(), "bad");
    assert_eq!(failure.phase(), &Phase::Command);
    assert!(failure.type_name().ends_with("Probe"));
    let text = failure.error().to_string();
    assert!(
        text.starts_with("ecs::Container(\"main\")::commit(): command queue of ")
            && text.ends_with(": panicked: mid-flush"),
        "{text}"
    );
    // spec: CMD-07
    assert_eq!(
        seen(claim.world()),
        "good first last after",
        "the rest is applied"
    );
    let lines = lines.take();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, end) in lines.iter().zip(["mid-flush", "there is no such entity"]) {
        assert!(
            line.starts_with("error: [bad] failed in command: "),
            "{line}"
        );
        assert!(line.ends_with(end), "{line}");
    }
    assert_eq!(claim.context().system_info("bad").unwrap().failures(), 2);
    assert_eq!(claim.context().system_info("good").unwrap().failures(), 0);
    claim.update().unwrap();
}

#[test]
fn a_failure_met_by_a_commit_point_is_its_systems_and_ends_the_pass_there() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(Probe::new("bad", &trace).update(bad()).reg())
        .unwrap();
    claim.add_system(CommitPoint.named("commit")).unwrap();
    let after = Probe::new("after", &trace).update(|cx| {
        queue(cx, "after");
        Ok(())
    });
    claim.add_system(after.reg()).unwrap();
    let error = claim.update().unwrap_err();
    let failure = error.failure().unwrap();
    // spec: CMD-07
    assert_eq!(
        (failure.handle(), failure.phase()),
        ("bad", &Phase::Command)
    );
    assert_eq!(seen(claim.world()), "first last");
    assert_eq!(lines.take().len(), 2, "one line for each");
    assert_eq!(claim.context().system_info("commit").unwrap().failures(), 0);
    claim.update().unwrap();
    assert_eq!(seen(claim.world()), "after");

    // A system may call it, too: what fails is still the one's that queued it.
    let calls = Probe::new("calls", &trace).update(once(|cx| {
        queue(cx, "own");
        cx.world.commands().queue(|_| panic!("own"));
        ecs::System::update(&mut CommitPoint, cx)
    }));
    claim.add_system(calls.reg()).unwrap();
    let error = claim.update().unwrap_err();
    assert_eq!(error.failure().unwrap().handle(), "calls");
    assert_eq!(error.failure().unwrap().phase(), &Phase::Command);
    assert_eq!(seen(claim.world()), "after own");
    assert_eq!(lines.take().len(), 1);
}

#[test]
fn a_command_of_a_system_that_has_left_is_still_its_own() {
    let (owned, _) = manual("main");
    let lines = log_of(&owned);
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let leaves = Probe::new("leaves", &trace)
        .update(|cx| {
            cx.world.commands().queue(|_| panic!("of the update"));
            cx.remove_this();
            Ok(())
        })
        .shutdown(|cx| {
            queue(cx, "shutdown");
            cx.world.commands().queue(|_| panic!("of the shutdown"));
            let successor = ecs::system("successor", |_| Ok(()));
            cx.add_system(successor)?;
            Ok(())
        });
    claim.add_system(leaves.reg()).unwrap();
    let error = claim.update().unwrap_err();
    assert_eq!(error.failure().unwrap().handle(), "leaves");
    // spec: CMD-01
    assert_eq!(seen(claim.world()), "shutdown");
    let lines = lines.take();
    // spec: CMD-07
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("error: [leaves] failed in command: "))
    );
    assert!(lines[1].ends_with("of the shutdown"), "{lines:?}");
    // What nobody in particular queued is the container's.
    claim.world().commands().queue(|_| panic!("nobody's"));
    let error = claim.update().unwrap_err();
    assert_eq!(error.failure().unwrap().handle(), "main");
}

#[test]
fn of_many_commands_that_fail_the_first_have_lines() {
    for (count, rest) in [
        (64, None),
        (65, Some(": 1 more commands failed")),
        (1_000, Some(": 936 more commands failed")),
    ] {
        let (owned, _) = manual("main");
        let lines = log_of(&owned);
        let trace = Trace::default();
        let mut claim = owned.claim().unwrap();
        for name in ["a", "b"] {
            let many = Probe::new(name, &trace).update(once(move |cx| {
                let gone = cx.world.spawn(());
                cx.world.despawn(gone);
                for _ in 0..count {
                    cx.world.commands().strict().despawn(gone);
                }
                Ok(())
            }));
            claim.add_system(many.reg()).unwrap();
        }
        let error = claim.update().unwrap_err();
        assert_eq!(error.failure().unwrap().handle(), "a");
        let lines = lines.take();
        let each = 64 + usize::from(rest.is_some());
        assert_eq!(lines.len(), 2 * each);
        for (row, name) in lines.chunks(each).zip(["a", "b"]) {
            let head = format!("error: [{name}] failed in command: ");
            assert!(row.iter().all(|line| line.starts_with(&head)));
            assert!(rest.is_none_or(|rest| row[64].ends_with(rest)), "{row:?}");
        }
    }
}

#[test]
fn a_stop_in_mid_pass_leaves_the_commands_for_after_the_teardown() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let shutting = |cx: &mut Context<'_>| {
        // spec: STOP-05
        assert!(cx.world.is_empty(), "no other user code has run");
        queue(cx, "shutdown");
        Ok(())
    };
    let stops = Probe::new("a", &trace)
        .update(|cx| {
            cx.world.commands().spawn(Count(1));
            queue(cx, "update");
            assert_eq!(cx.container().stop(), StopOutcome::Requested);
            Ok(())
        })
        .shutdown(shutting);
    claim.add_system(stops.reg()).unwrap();
    let other = Probe::new("b", &trace).shutdown(shutting);
    claim.add_system(other.reg()).unwrap();
    claim.update().unwrap();
    // spec: CMD-01
    assert_eq!(seen(claim.world()), "update shutdown shutdown");
    assert_eq!(claim.world().len(), 1, "nothing is lost");
    assert_eq!(trace.line(), "a.init b.init a.update b.shutdown a.shutdown");
    // A stopped container runs no pass; its world can still be changed.
    claim.world().commands().spawn(Count(2));
    claim.update().unwrap();
    assert_eq!(claim.world().len(), 1);
    claim.world().apply_commands().unwrap();
    assert_eq!(claim.world().len(), 2);
}

#[test]
fn a_command_that_stops_ends_the_pass_before_any_shutdown_of_it() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let container = owned.clone();
    let lines = trace.clone();
    let stops = Probe::new("a", &trace).update(move |cx| {
        let (container, lines) = (container.clone(), lines.clone());
        cx.world.commands().queue(move |_| {
            assert_eq!(container.stop(), StopOutcome::Requested);
            lines.add("stop");
        });
        cx.remove_system("b");
        Ok(())
    });
    claim.add_system(stops.reg()).unwrap();
    for name in ["b", "c"] {
        claim.add_system(Probe::new(name, &trace).reg()).unwrap();
    }
    claim.update().unwrap();
    // spec: STOP-05
    assert_eq!(
        trace.line(),
        "a.init b.init c.init a.update c.update stop c.shutdown a.shutdown b.shutdown b.drop"
    );
}

#[test]
fn structural_change_from_any_thread_goes_through_defer() {
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    main.set_silent();
    main.start().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let (main, sender) = (main.clone(), sender.clone());
            common::wait::spawn(move || {
                for number in 0..25 {
                    let sender = sender.clone();
                    main.defer(move |cx| {
                        let entity = cx.world.spawn(Count(thread));
                        cx.world.insert(entity, Count(number))?;
                        let queued = cx.world.commands().spawn(Count(thread));
                        sender.send((entity, queued))?;
                        Ok(())
                    });
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join("a thread that defers");
    }
    let made: Vec<(Entity, Entity)> = (0..100).map(|_| receive(&receiver, "an entity")).collect();
    let ticket = main.defer_ticket(|cx| Ok(cx.world.len()));
    ticket.wait().unwrap();
    manager.shutdown();
    let mut claim = main.claim().unwrap();
    // spec: CMD-05
    assert_eq!(claim.world().len(), 200);
    assert!(
        made.iter()
            .all(|(a, b)| claim.world().contains(*a) && claim.world().contains(*b))
    );
}

#[test]
fn a_failing_command_ends_a_containers_thread_like_any_failure() {
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    main.set_silent();
    let applied = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&applied);
    let fails = ecs::system("fails", move |cx| {
        let counter = Arc::clone(&counter);
        cx.world.commands().queue(|_| panic!("on the thread"));
        cx.world.commands().queue(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        Ok(())
    });
    main.claim()
        .unwrap()
        .add_system(fails.every_pass())
        .unwrap();
    main.start_with(common::ms(1)).unwrap();
    until("the end of the thread", || main.failure().is_some());
    manager.shutdown();
    let failure = main.failure().unwrap();
    // spec: CMD-07
    assert_eq!(
        (failure.handle(), failure.phase()),
        ("fails", &Phase::Command)
    );
    assert_eq!(applied.load(Ordering::Relaxed), 1, "the rest was applied");
}

#[test]
fn a_world_put_in_another_ones_place_takes_its_commands_along() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    let swaps = Probe::new("a", &trace).update(once(|cx| {
        cx.world.commands().spawn(Count(1));
        let mut other = World::new();
        other.commands().spawn(Count(2));
        other.commands().spawn(Count(2));
        *cx.world = other;
        Ok(())
    }));
    claim.add_system(swaps.reg()).unwrap();
    claim.update().unwrap();
    let sum: i64 = claim.world().query::<&Count>().map(|count| count.0).sum();
    assert_eq!((claim.world().len(), sum), (2, 4));
}
