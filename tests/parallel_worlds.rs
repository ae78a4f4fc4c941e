//! Typed systems and what changes under them: other worlds, conditions, removals, replacements.

mod common;

use std::time::Duration;

use common::{Trace, manual, us};
use ecs::{
    Added, Changed, Component, ManualClock, Matches, Own, OwnedContainer, ResMut, Storage, Value,
    With, Without, Workers, World, json, parallel, system,
};

macro_rules! kind {
    ($name:ident $storage:ident) => {
        struct $name(i64);
        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }
            fn storage() -> Storage {
                Storage::$storage
            }
            fn export(&self) -> Value {
                json!(self.0)
            }
        }
    };
}
kind!(A Table);
kind!(B Table);
kind!(C Table);
kind!(D Table);
kind!(S Sparse);
kind!(T Sparse);

fn stage(workers: usize) -> (OwnedContainer, ManualClock) {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.set_workers(&Workers::new(workers).unwrap());
    claim.context().set_worth_waking(Duration::ZERO);
    drop(claim);
    (owned, clock)
}

/// Systems that were resolved in one world meet another one, whose kinds have other numbers; one of them is not due in
/// the first pass that does.
#[test]
fn another_world_is_met_by_systems_that_are_due_at_different_times() {
    for workers in [0, 1, 3] {
        let (owned, clock) = stage(workers);
        let mut claim = owned.claim().unwrap();
        claim.world().spawn((A(0), B(0), C(0)));
        claim
            .add_system(
                parallel("often", |mut all: Matches<'_, &mut C>| {
                    all.for_each(|c| c.0 += 1);
                })
                .every_pass(),
            )
            .unwrap();
        claim
            .add_system(
                parallel("seldom", |mut all: Matches<'_, (&mut A, &mut C)>| {
                    all.for_each(|(a, c)| {
                        a.0 += 1;
                        c.0 *= 2;
                    });
                })
                .interval(us(10)),
            )
            .unwrap();
        claim.update().unwrap();
        let mut other = World::new();
        // The kinds get other numbers here.
        other.spawn(B(0));
        other.spawn(C(0));
        other.spawn((A(0), C(0)));
        *claim.world() = other;
        clock.advance(us(5)).unwrap();
        claim.update().unwrap();
        // The systems are sorted into levels anew.
        claim
            .add_system(parallel("new", |_: Matches<'_, &B>| {}).every_pass())
            .unwrap();
        clock.advance(us(5)).unwrap();
        for _ in 0..3 {
            clock.advance(us(10)).unwrap();
            claim.update().unwrap();
        }
        let mut found: Vec<(Option<i64>, i64)> = Vec::new();
        for (a, c) in claim.world().query::<(Option<&A>, &C)>() {
            found.push((a.map(|a| a.0), c.0));
        }
        found.sort_unstable();
        // 1, and then three times (n + 1) * 2.
        // spec: PAR-04
        assert_eq!(found, [(None, 4), (Some(3), 22)], "{workers}");
    }
}

struct Count(i64);

/// A condition looks at what those before it have written, also one that a system was given later.
#[test]
fn a_condition_that_came_later_waits_for_those_who_write() {
    for workers in [0, 2] {
        let (owned, _) = stage(workers);
        let mut claim = owned.claim().unwrap();
        claim.world().insert_resource(Count(0));
        let writer = parallel("writer", |mut count: ResMut<'_, Count>| count.0 += 1);
        claim.add_system(writer.every_pass()).unwrap();
        let trace = Trace::default();
        let noted = trace.clone();
        let asked = parallel("asked", move || noted.add("ran"));
        claim.add_system(asked.every_pass()).unwrap();
        claim.update().unwrap();
        let odd = |world: &World| world.resource::<Count>().unwrap().0 % 2 == 1;
        claim.context().set_run_condition("asked", odd).unwrap();
        trace.take();
        claim.update().unwrap();
        // spec: PAR-03
        assert_eq!(trace.line(), "", "the count is 2");
        claim.update().unwrap();
        assert_eq!(trace.line(), "ran");
    }
}

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values
}

/// Kinds get ticks, archetypes come and go, between the passes of systems that have lent them before.
#[test]
fn ticks_and_archetypes_that_come_between_passes_are_followed() {
    for workers in [0, 2] {
        let (owned, _) = stage(workers);
        let mut claim = owned.claim().unwrap();
        let trace = Trace::default();
        let first = claim.world().spawn((A(0), B(0)));
        let second = claim.world().spawn((A(10), S(0)));
        let add_a = parallel("a", |mut all: Matches<'_, &mut A, Without<C>>| {
            all.for_each(|a| a.0 += 1);
        });
        claim.add_system(add_a.every_pass()).unwrap();
        let add_s = parallel("s", |mut all: Matches<'_, (&mut S, Option<&mut B>)>| {
            for (s, b) in &mut all {
                s.0 += 1;
                if let Some(b) = b {
                    b.0 += 100;
                }
            }
        });
        claim.add_system(add_s.every_pass()).unwrap();
        claim.update().unwrap();
        let noted = trace.clone();
        let watcher = parallel(
            "watcher",
            move |mut a: Matches<'_, &A, Changed<A>>,
                  mut s: Matches<'_, &S, Changed<S>>,
                  mut b: Matches<'_, &B, Added<B>>| {
                let a = sorted(a.iter().map(|a| a.0));
                let s = sorted(s.iter().map(|s| s.0));
                let b = sorted(b.iter().map(|b| b.0));
                noted.add(format!("{a:?} {s:?} {b:?}"));
            },
        );
        claim.add_system(watcher.every_pass()).unwrap();
        claim.update().unwrap();
        // The kinds keep ticks from here on; what was there counts as news.
        assert_eq!(trace.line(), "[2, 12] [2] [0]");
        claim.world().insert(first, C(0)).unwrap();
        claim.update().unwrap();
        assert_eq!(trace.line(), "[13] [3] []");
        claim.world().remove::<C>(first);
        claim.world().reclaim();
        claim.world().insert(second, B(0)).unwrap();
        claim.world().insert(first, S(50)).unwrap();
        claim.update().unwrap();
        assert_eq!(trace.line(), "[3, 14] [4, 51] [100]");
        claim.world().despawn(second);
        claim.world().reclaim();
        claim.update().unwrap();
        assert_eq!(trace.line(), "[4] [52] []");
        assert_eq!(claim.world().get::<B>(first).unwrap().0, 200);
    }
}

/// A filter on a sparse kind looks into its set: it waits for who writes that, and is waited for.
#[test]
fn a_filter_on_a_sparse_kind_conflicts_with_who_writes_it() {
    let (owned, _) = stage(0);
    let mut claim = owned.claim().unwrap();
    let write = parallel("write", |_: Matches<'_, &mut S>| ());
    claim.add_system(write).unwrap();
    claim
        .add_system(parallel("with", |_: Matches<'_, &A, With<S>>| ()))
        .unwrap();
    claim
        .add_system(parallel("without", |_: Matches<'_, &A, Without<S>>| ()))
        .unwrap();
    claim
        .add_system(parallel("table", |_: Matches<'_, &A, With<B>>| ()))
        .unwrap();
    let conflicts = claim.context().conflicts();
    let conflicts: Vec<(&str, &str)> = conflicts
        .iter()
        .map(|conflict| (&*conflict.first, &*conflict.second))
        .collect();
    // spec: PAR-04
    assert_eq!(conflicts, [("write", "with"), ("write", "without")]);
    // Within one system it is refused, in whatever order.
    let one = parallel(
        "one",
        |_: Matches<'_, &mut S>, _: Matches<'_, &A, With<S>>| (),
    );
    let other = parallel(
        "other",
        |_: Matches<'_, &A, With<S>>, _: Matches<'_, &mut S>| (),
    );
    for refused in [claim.add_system(one), claim.add_system(other)] {
        let refused = refused.unwrap_err().to_string();
        // spec: PAR-04, PAR-14
        assert!(
            refused.contains("writes component \"S\"") && refused.contains("reads component \"S\""),
            "{refused}"
        );
    }
}

/// What is lent is also where a filter looks for single entities.
#[test]
fn single_entities_are_filtered_by_what_changed_in_them() {
    let (owned, _) = stage(0);
    let mut claim = owned.claim().unwrap();
    let all = [
        claim.world().spawn(A(0)),
        claim.world().spawn((A(1), B(0))),
        claim.world().spawn((A(2), S(0))),
    ];
    let trace = Trace::default();
    let noted = trace.clone();
    let looks = parallel("looks", move |mut some: Matches<'_, &mut A, Changed<A>>| {
        let found = all.map(|entity| some.get_mut(entity).map(|a| a.0).ok());
        noted.add(format!("{found:?}"));
    });
    claim.add_system(looks.every_pass()).unwrap();
    claim.update().unwrap();
    assert_eq!(trace.line(), "[Some(0), Some(1), Some(2)]");
    for (changed, expected) in [
        (0, "[Some(9), None, None]"),
        (1, "[None, Some(9), None]"),
        (2, "[None, None, Some(9)]"),
    ] {
        claim.world().get_mut::<A>(all[changed]).unwrap().0 = 9;
        claim.update().unwrap();
        assert_eq!(trace.line(), expected);
    }
}

/// What a system writes is lent to it column by column; each has to be that of its archetype and its term.
#[test]
fn several_columns_of_several_archetypes_are_lent_each_for_its_own() {
    for workers in [0, 1, 3] {
        let (owned, _) = stage(workers);
        let mut claim = owned.claim().unwrap();
        for n in 0..4 {
            claim.world().spawn((A(n), B(10 + n)));
            claim.world().spawn((A(20 + n), B(30 + n), C(40 + n)));
            claim.world().spawn((A(50 + n), B(60 + n), S(70 + n)));
            claim.world().spawn((A(80 + n), C(90 + n)));
        }
        let turn = parallel("turn", |all: Matches<'_, (&mut A, &mut B)>| {
            for (a, b) in all {
                std::mem::swap(&mut a.0, &mut b.0);
                b.0 += 1_000;
            }
        });
        claim.add_system(turn.every_pass()).unwrap();
        let beside = parallel("beside", |mut all: Matches<'_, &mut C>| {
            all.for_each(|c| c.0 += 2_000);
        });
        claim.add_system(beside.every_pass()).unwrap();
        claim.update().unwrap();
        let world = claim.world();
        for n in 0..4 {
            let both = |world: &mut World, a: i64, b: i64| {
                let mut rows = world.query::<(&A, &B)>();
                assert!(rows.any(|row| (row.0.0, row.1.0) == (a, b)), "{a} and {b}");
            };
            // spec: PAR-01
            both(world, 10 + n, 1_000 + n);
            both(world, 30 + n, 1_020 + n);
            both(world, 60 + n, 1_050 + n);
            let mut others = world.query::<(&A, &C)>();
            assert!(others.any(|row| (row.0.0, row.1.0) == (80 + n, 2_090 + n)));
        }
        assert_eq!(world.query::<(&A, &B)>().count(), 12);
    }
}

/// What a system writes is lent to it, columns as well as sets; each is asked for its own changes.
fn one_of_several_passes_when_its_own_component_has_changed<X: Component, Y: Component>(
    x: fn(i64) -> X,
    y: fn(i64) -> Y,
) {
    for workers in [0, 1] {
        let (owned, _) = stage(workers);
        let mut claim = owned.claim().unwrap();
        let world = claim.world();
        let ids = [
            world.spawn((x(0), y(0))),
            world.spawn((x(1), y(1), C(1))),
            world.spawn((x(2), y(2), D(2))),
        ];
        let told = Trace::default();
        let trace = told.clone();
        let ask = move |mut both: Matches<'_, (&mut X, &mut Y), Changed<Y>>| {
            for (n, id) in ids.iter().enumerate() {
                if both.get_many_mut([*id]).is_ok() {
                    trace.add(n.to_string());
                }
            }
        };
        claim.add_system(parallel("ask", ask).every_pass()).unwrap();
        claim.update().unwrap();
        assert_eq!(told.line(), "0 1 2", "all are new");
        for (n, id) in ids.into_iter().enumerate() {
            claim.world().insert(id, x(7)).unwrap();
            claim.update().unwrap();
            assert_eq!(told.line(), "", "what it asks for has not changed");
            claim.world().insert(id, y(7)).unwrap();
            claim.update().unwrap();
            // spec: LOOK-09, LOOK-14
            assert_eq!(told.line(), n.to_string());
        }
    }
}

#[test]
fn one_of_several_passes_by_its_own_changes() {
    one_of_several_passes_when_its_own_component_has_changed(A, B);
    one_of_several_passes_when_its_own_component_has_changed(S, T);
    one_of_several_passes_when_its_own_component_has_changed(A, S);
    one_of_several_passes_when_its_own_component_has_changed(T, B);
}

#[test]
fn a_message_from_earlier_in_the_pass_is_read_in_it() {
    for workers in [0, 1] {
        let (owned, _) = stage(workers);
        let mut claim = owned.claim().unwrap();
        let send = system("send", |cx| {
            let to = json!({ "destination": { "system": "read" } });
            cx.container().message_submit(to)?;
            Ok(())
        });
        claim.add_system(send.every_pass()).unwrap();
        let told = Trace::default();
        let trace = told.clone();
        let read = parallel("read", move |mut this: Own<'_>| {
            while this.next_message().is_some() {
                trace.add("read");
            }
        });
        claim.add_system(read.every_pass()).unwrap();
        claim.update().unwrap();
        told.take();
        for _ in 0..3 {
            claim.update().unwrap();
            // spec: DEL-04
            assert_eq!(told.line(), "read");
        }
        assert!(claim.remove_system("send"));
        claim.update().unwrap();
        assert_eq!(told.line(), "");
    }
}
