//! Typed systems: what they can reach, how they run beside each other, and that nobody can tell.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use ecs::prelude::*;
use ecs::{ManualClock, Policy, SystemResult, Timer};

struct Position(i64);
struct Velocity(i64);
impl Component for Position {
    fn type_name() -> &'static str {
        "Position"
    }
    fn export(&self) -> Value {
        json!(self.0)
    }
}
impl Component for Velocity {
    fn type_name() -> &'static str {
        "Velocity"
    }
    fn export(&self) -> Value {
        json!(self.0)
    }
}

struct Sum(i64);

fn movement(mut moving: Matches<'_, (&mut Position, &Velocity)>) {
    for (position, velocity) in &mut moving {
        position.0 += velocity.0;
    }
}

fn sum(mut positions: Matches<'_, &Position>, mut sum: ResMut<'_, Sum>) {
    sum.0 = positions.iter().map(|position| position.0).sum();
}

#[test]
fn functions_with_parameters_are_systems() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    claim.world().insert_resource(Sum(0));
    claim.world().spawn((Position(1), Velocity(10)));
    claim.world().spawn((Position(2), Velocity(20)));
    claim.world().spawn(Position(5));
    // spec: PAR-14
    claim
        .add_system(parallel("movement", movement).every_pass())
        .unwrap();
    claim.add_system(parallel("sum", sum).every_pass()).unwrap();
    for pass in 1..4 {
        claim.update().unwrap();
        assert_eq!(claim.world().resource::<Sum>().unwrap().0, 8 + 30 * pass);
    }
}

#[test]
fn two_systems_that_do_not_conflict_run_at_the_same_time() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    claim.set_workers(&Workers::new(1).unwrap());
    claim.context().set_worth_waking(Duration::ZERO);
    claim.world().spawn((Position(1), Velocity(10)));
    // Each waits for the other: a pass that ran them one by one would not end.
    let together = Arc::new(Barrier::new(2));
    let both = Arc::clone(&together);
    claim
        .add_system(
            parallel(
                "positions",
                move |mut positions: Matches<'_, &mut Position>| {
                    both.wait();
                    positions.for_each(|position| position.0 += 1);
                },
            )
            .every_pass(),
        )
        .unwrap();
    claim
        .add_system(
            parallel(
                "velocities",
                move |mut velocities: Matches<'_, &mut Velocity>| {
                    together.wait();
                    velocities.for_each(|velocity| velocity.0 += 1);
                },
            )
            .every_pass(),
        )
        .unwrap();
    for _ in 0..3 {
        // spec: PAR-02
        claim.update().unwrap();
    }
    let mut all = claim.world().prepare::<(&Position, &Velocity)>().unwrap();
    let (position, velocity) = all.single(claim.world()).unwrap();
    assert_eq!((position.0, velocity.0), (4, 13));
}

#[test]
fn the_pass_is_shown_as_a_graph_with_its_conflicts() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    claim.add_system(parallel("move", movement)).unwrap();
    claim.add_system(parallel("sum", sum)).unwrap();
    claim.add_system(system("alone", |_| Ok(()))).unwrap();
    claim.add_system(parallel("late", sum)).unwrap();
    let first = parallel("first", |_: Matches<'_, &Velocity>| ());
    claim.add_system(first.precedes("late")).unwrap();
    let cx = claim.context();
    // spec: PAR-07
    assert_eq!(
        cx.graph(),
        r#"digraph "main" {
  rankdir=LR;
  "" [shape=box, label="root step"];
  "move" [shape=ellipse];
  "sum" [shape=ellipse];
  "alone" [shape=box];
  "first" [shape=ellipse];
  "late" [shape=ellipse];
  "first" -> "late" [style=bold];
  "" -> "move";
  "" -> "sum";
  "move" -> "sum" [style=dashed, label="component \"Position\": writes, reads"];
  "move" -> "alone";
  "sum" -> "alone";
  "alone" -> "first";
  "alone" -> "late";
}
"#
    );
    let conflicts = cx.conflicts();
    assert_eq!(conflicts.len(), 1);
    assert_eq!(
        (&*conflicts[0].first, &*conflicts[0].second),
        ("move", "sum")
    );
    let reached: Vec<Vec<String>> = cx
        .systems()
        .map(|system| system.access().iter().map(ToString::to_string).collect())
        .collect();
    // spec: PAR-13
    assert_eq!(
        reached[0],
        [
            "writes component \"Position\"",
            "reads component \"Velocity\""
        ]
    );
    assert_eq!(reached[2], [""; 0]);
    let alone = cx.systems().map(|system| system.is_exclusive());
    assert!(alone.eq([false, false, true, false, false]));
}

#[test]
fn everything_that_a_system_reaches_is_told_in_words() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    let all = |_: Own<'_>, _: Commands<'_>, _: ResMut<'_, u8>, _: Events<'_, u16>| ();
    claim.add_system(parallel("all", all)).unwrap();
    let cx = claim.context();
    let system = cx.systems().next().unwrap();
    let reached: Vec<String> = system.access().iter().map(ToString::to_string).collect();
    // spec: PAR-13
    assert_eq!(
        reached,
        [
            "has own things",
            "has commands",
            "writes resource \"u8\"",
            "reads event \"u16\""
        ]
    );
}

#[test]
fn independent_systems_that_share_nothing_wait_for_nobody() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    claim.world().insert_resource(Sum(0));
    let order: Arc<Mutex<Vec<&str>>> = Arc::default();
    let note = |name: &'static str| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push(name)
    };
    let alone = note("alone");
    let first = system("alone", move |_| {
        alone();
        Ok(())
    });
    claim.add_system(first.every_pass()).unwrap();
    let touches = note("touches");
    let touches = parallel("touches", move |_: Res<'_, Sum>| touches());
    claim
        .add_system(touches.every_pass().policy(Policy::Independent))
        .unwrap();
    let poll = note("poll");
    let poll = parallel("poll", move |_: Own<'_>| poll());
    claim
        .add_system(poll.every_pass().policy(Policy::Independent))
        .unwrap();
    let store = note("store");
    let store = parallel("store", move |_: Own<'_>| store());
    claim
        .add_system(store.every_pass().policy(Policy::Storage))
        .unwrap();
    for _ in 0..2 {
        order.lock().unwrap().clear();
        claim.update().unwrap();
        // spec: PAR-06
        assert_eq!(*order.lock().unwrap(), ["poll", "alone", "touches"]);
    }
    // spec: PAR-07
    assert_eq!(
        claim.context().graph(),
        r#"digraph "main" {
  rankdir=LR;
  "" [shape=box, label="root step"];
  "alone" [shape=box];
  "touches" [shape=ellipse];
  "poll" [shape=ellipse, style=dotted];
  "store" [shape=cylinder];
  "" -> "alone";
  "alone" -> "touches";
}
"#
    );
    // One that is switched to another policy by replacing it runs in its place again.
    let poll = note("poll");
    claim
        .add_system(parallel("poll", move |_: Own<'_>| poll()).every_pass())
        .unwrap();
    order.lock().unwrap().clear();
    claim.update().unwrap();
    assert_eq!(*order.lock().unwrap(), ["alone", "touches", "poll"]);
}

#[test]
fn a_conflict_between_systems_that_others_put_in_order_is_not_listed() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    let write = |_: Matches<'_, &mut Position>| ();
    claim.add_system(parallel("first", write)).unwrap();
    let between = parallel("between", |_: Matches<'_, &Velocity>| ());
    claim.add_system(between.succeeds("first")).unwrap();
    claim.add_system(parallel("last", write)).unwrap();
    assert_eq!(claim.context().conflicts().len(), 1);
    claim.context().succeeds("last", "between").unwrap();
    assert_eq!(claim.context().conflicts(), []);
    assert!(!claim.context().graph().contains("dashed"));
}

#[test]
fn a_conflict_is_listed_unless_both_wait_for_one_between_them() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    let first = |_: Matches<'_, (&mut Position, &mut Velocity)>| ();
    claim.add_system(parallel("first", first)).unwrap();
    let between = |_: Matches<'_, &Velocity>| ();
    claim.add_system(parallel("between", between)).unwrap();
    let last = |_: Matches<'_, &mut Position>| ();
    claim.add_system(parallel("last", last)).unwrap();
    let graph = claim.context().graph();
    assert!(graph.contains("\"first\" -> \"between\""), "{graph}");
    assert!(graph.contains("\"first\" -> \"last\""), "{graph}");
    assert!(!graph.contains("\"between\" -> \"last\""), "{graph}");
    let between = |_: Matches<'_, (&Velocity, &Position)>| ();
    claim.add_system(parallel("between", between)).unwrap();
    let graph = claim.context().graph();
    // spec: PAR-07
    assert!(graph.contains("\"first\" -> \"between\""), "{graph}");
    assert!(!graph.contains("\"first\" -> \"last\""), "{graph}");
    assert!(graph.contains("\"between\" -> \"last\""), "{graph}");
}

#[test]
fn a_run_condition_conflicts_with_whoever_writes() {
    for asks_first in [true, false] {
        let container = OwnedContainer::new("main").unwrap();
        let mut claim = container.claim().unwrap();
        let asks = || parallel("asks", |_: Own<'_>| ()).run_if(|_| true);
        let writes = || parallel("writes", |_: Matches<'_, &mut Position>| ());
        let (first, last) = if asks_first {
            claim.add_system(asks()).unwrap();
            claim.add_system(writes()).unwrap();
            ("asks", "writes")
        } else {
            claim.add_system(writes()).unwrap();
            claim.add_system(asks()).unwrap();
            ("writes", "asks")
        };
        let edge = format!("\"{first}\" -> \"{last}\" [style=dashed, label=\"run condition\"];");
        let graph = claim.context().graph();
        // spec: PAR-07
        assert!(graph.contains(&edge), "{graph}");
    }
}

#[test]
fn what_a_typed_system_cannot_clear_it_cannot_mark() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    let entity = claim.world().spawn(Position(1));
    let mark = move |mut this: Own<'_>| {
        assert!(!this.mark_removal::<Position>(entity));
        assert!(!this.mark_removal_named(entity, "Position"));
    };
    claim
        .add_system(parallel("mark", mark).every_pass())
        .unwrap();
    claim.update().unwrap();
}

#[test]
fn after_a_typed_update_its_timers_may_mark_again() {
    // Each is left in another way: it returns, fails, or panics.
    let ends: [fn() -> SystemResult; 3] = [|| Ok(()), || Err("fails".into()), || panic!("panics")];
    for end in ends {
        for alone in [true, false] {
            let container = OwnedContainer::new("main").unwrap();
            container.set_silent();
            let clock = ManualClock::new();
            let mut claim = container.claim().unwrap();
            claim.set_clock(&clock).unwrap();
            let entity = claim.world().spawn(Position(1));
            let seen = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&seen);
            let timer = Timer::once("late", Duration::from_millis(2), move |cx| {
                assert!(cx.this.mark_removal::<Position>(entity));
                count.fetch_add(cx.clear_marks(), Ordering::Relaxed);
                Ok(())
            });
            let mut ending = parallel("timed", end).every_pass();
            if alone {
                ending = ending.timer(Timer::every("often", Duration::from_hours(1), |_| Ok(())));
            }
            claim.add_system(ending).unwrap();
            for _ in 0..2 {
                let _ = claim.update();
            }
            claim.context().add_timer("timed", timer).unwrap();
            clock.advance(Duration::from_millis(2)).unwrap();
            let _ = claim.update();
            // spec: COMP-10
            assert_eq!(seen.load(Ordering::Relaxed), 1);
        }
    }
}

#[test]
fn shuffled_passes_take_every_order_that_is_allowed_and_no_other() {
    let orders = |seed: Option<u64>| {
        let container = OwnedContainer::new("main").unwrap();
        let mut claim = container.claim().unwrap();
        claim.world().insert_resource(Vec::<&str>::new());
        for name in ["a", "b", "c"] {
            let note = move |mut order: ResMut<'_, Vec<&str>>| order.push(name);
            claim.add_system(parallel(name, note).every_pass()).unwrap();
        }
        claim.context().precedes("a", "c").unwrap();
        claim.context().set_shuffled(seed);
        let mut orders = Vec::new();
        for _ in 0..100 {
            claim.update().unwrap();
            let order = claim.world().resource_mut::<Vec<&str>>().unwrap();
            orders.push(std::mem::take(order).concat());
        }
        orders
    };
    let shuffled = orders(Some(7));
    assert_eq!(shuffled, orders(Some(7)), "the seed decides");
    assert_ne!(shuffled, orders(Some(8)));
    let seen: BTreeSet<&str> = shuffled.iter().map(String::as_str).collect();
    // spec: PAR-05
    assert!(seen.iter().eq(&["abc", "acb", "bac"]), "{seen:?}");
    assert!(orders(None).iter().all(|order| order == "abc"));
}
