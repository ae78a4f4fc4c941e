//! Typed systems: what they can reach, how they run beside each other, and that nobody can tell.

mod common;

use ecs::prelude::*;
use ecs::{Changed, Entity, Matches, Own, OwnedContainer, Res, ResMut, Workers, parallel};
use std::sync::Arc;
use std::sync::Barrier;

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

fn sum(mut positions: Matches<'_, &Position>, mut sum: ResMut<'_, Sum>) -> SystemResult {
    sum.0 = positions.iter().map(|position| position.0).sum();
    Ok(())
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
    claim.context().set_worth_waking(std::time::Duration::ZERO);
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
fn graph_looks() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    claim.add_system(parallel("movement", movement)).unwrap();
    claim.add_system(parallel("sum", sum)).unwrap();
    claim.add_system(system("alone", |_| Ok(()))).unwrap();
    claim
        .add_system(parallel("late", sum).precedes("sum"))
        .unwrap();
    println!("{}", claim.context().graph());
    println!("{:?}", claim.context().conflicts());
    println!(
        "{:?}",
        claim
            .context()
            .systems()
            .map(|s| s.access().iter().map(|a| a.to_string()).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    );
}
