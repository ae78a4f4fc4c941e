//! Typed systems and what changes under them: other worlds, conditions, removals, replacements.

mod common;

use std::time::Duration;

use common::{manual, us};
use ecs::{Component, ManualClock, Matches, OwnedContainer, Value, Workers, World, json, parallel};

macro_rules! kind {
    ($name:ident) => {
        struct $name(i64);
        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }
            fn export(&self) -> Value {
                json!(self.0)
            }
        }
    };
}
kind!(A);
kind!(B);
kind!(C);

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
