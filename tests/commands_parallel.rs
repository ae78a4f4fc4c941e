//! Commands of systems that run beside each other: the outcome is that of running them one by one.

mod common;

use std::sync::{Arc, Barrier};
use std::time::Duration;

use common::{log_of, manual};
use ecs::prelude::*;
use ecs::{Claim, Matches, OwnedContainer, Phase, Workers, parallel};

macro_rules! components {
    ($($name:ident)*) => {$(
        #[derive(Debug, PartialEq)]
        struct $name(u64);

        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn export(&self) -> Value {
                json!(self.0)
            }
        }
    )*};
}

components! { A B C }

fn staged(workers: Option<usize>) -> (OwnedContainer, Claim) {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    if let Some(count) = workers {
        claim.set_workers(&Workers::new(count).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
    }
    claim.world().insert_resource(Vec::<u64>::new());
    (owned, claim)
}

fn note(commands: &mut Commands<'_>, what: u64) {
    commands.queue(move |world| world.resource_mut::<Vec<u64>>().unwrap().push(what));
}

fn notes(claim: &mut Claim) -> Vec<u64> {
    std::mem::take(claim.world().resource_mut::<Vec<u64>>().unwrap())
}

type Row = (u32, [Option<u64>; 3]);

/// Everything that is alive, with its components, and in which slot.
fn everything(claim: &mut Claim) -> Vec<Row> {
    let rows = claim
        .world()
        .query::<(Entity, Option<&A>, Option<&B>, Option<&C>)>();
    rows.map(|(id, a, b, c)| (id.index(), [a.map(|a| a.0), b.map(|b| b.0), c.map(|c| c.0)]))
        .collect()
}

/// Systems of all kinds, which spawn, use what they spawn, and end what others spawned.
fn add_systems(claim: &mut Claim) {
    let mut round = 0;
    let a = move |mut commands: Commands<'_>, mut all: Matches<'_, (Entity, &A)>| {
        round += 1;
        note(&mut commands, 1);
        for (id, a) in &mut all {
            if (a.0 + round) % 3 == 0 {
                commands.despawn(id);
            }
        }
        for n in 0..round % 40 {
            let id = commands.spawn((A(n), B(round)));
            commands.insert(id, C(n));
            if n % 4 == 0 {
                commands.remove::<B>(id);
            }
            assert_eq!(commands.has::<B>(id), Some(n % 4 != 0));
        }
        note(&mut commands, 2);
    };
    let b = |mut commands: Commands<'_>, mut all: Matches<'_, (Entity, &mut B)>| {
        note(&mut commands, 3);
        // Only what is pending here is seen here.
        assert_eq!(commands.len(), 1);
        for (id, b) in &mut all {
            b.0 += 1;
            commands.insert(id, C(b.0));
            if b.0 % 5 == 0 {
                commands.spawn(B(b.0));
                commands.despawn(id);
            }
        }
    };
    let c = |mut commands: Commands<'_>, mut all: Matches<'_, (Entity, &C)>| {
        for (id, c) in &mut all {
            // Another one may have ended it in the same pass.
            commands.insert(id, A(c.0));
            if c.0 % 7 == 0 {
                commands.remove::<C>(id);
                commands.remove::<B>(id);
            }
        }
        note(&mut commands, 4);
    };
    let last = |mut commands: Commands<'_>| {
        let id = commands.spawn_empty();
        commands.insert(id, (A(1), B(1)));
        note(&mut commands, 6);
    };
    claim.add_system(parallel("a", a).every_pass()).unwrap();
    claim.add_system(parallel("b", b).every_pass()).unwrap();
    claim.add_system(parallel("c", c).every_pass()).unwrap();
    let alone = system("alone", |cx| {
        note(&mut cx.world.commands(), 5);
        cx.world.spawn(A(100));
        Ok(())
    });
    claim.add_system(alone.every_pass()).unwrap();
    claim
        .add_system(parallel("last", last).every_pass())
        .unwrap();
}

#[test]
fn commands_of_parallel_systems_come_in_system_order_whatever_the_number_of_threads() {
    let mut outcomes = Vec::new();
    for workers in [None, Some(0), Some(1), Some(3)] {
        let (_owned, mut claim) = staged(workers);
        add_systems(&mut claim);
        let mut outcome = Vec::new();
        for pass in 0..150 {
            claim.update().unwrap();
            // spec: CMD-01
            assert_eq!(notes(&mut claim), [1, 2, 3, 4, 5, 6], "pass {pass}");
            outcome.push(everything(&mut claim));
        }
        assert!(outcome[100].len() > 50);
        outcomes.push((outcome, claim.world().statistics().slots));
    }
    for other in &outcomes[1..] {
        // spec: PAR-03, CMD-02
        assert!(*other == outcomes[0], "ids and components are the same");
    }
}

#[test]
fn a_commit_point_stands_between_parallel_systems() {
    for workers in [None, Some(2)] {
        let (_owned, mut claim) = staged(workers);
        let spawn = |mut commands: Commands<'_>| _ = commands.spawn(A(1));
        let count = |mut commands: Commands<'_>, mut all: Matches<'_, &A>| {
            let count = all.iter().count() as u64;
            note(&mut commands, count);
        };
        claim
            .add_system(parallel("s1", spawn).every_pass())
            .unwrap();
        claim
            .add_system(parallel("c1", count).every_pass())
            .unwrap();
        claim.add_system(CommitPoint.named("commit")).unwrap();
        claim
            .add_system(parallel("s2", spawn).every_pass())
            .unwrap();
        claim
            .add_system(parallel("c2", count).every_pass())
            .unwrap();
        claim.update().unwrap();
        // spec: CMD-01
        assert_eq!(notes(&mut claim), [0, 1]);
        claim.update().unwrap();
        assert_eq!(notes(&mut claim), [2, 3]);
    }
}

#[test]
fn what_a_parallel_system_queued_before_it_failed_is_applied() {
    for workers in [None, Some(2)] {
        let (owned, mut claim) = staged(workers);
        let lines = log_of(&owned);
        let together = Arc::new(Barrier::new(if workers.is_some() { 2 } else { 1 }));
        let both = Arc::clone(&together);
        let mut first = true;
        let fails = move |mut commands: Commands<'_>| {
            if std::mem::take(&mut first) {
                both.wait();
                commands.spawn(A(1));
                note(&mut commands, 1);
                panic!("half-way");
            }
        };
        let mut again = true;
        let beside = move |mut commands: Commands<'_>| {
            if std::mem::take(&mut again) {
                together.wait();
            }
            note(&mut commands, 2);
        };
        claim
            .add_system(parallel("fails", fails).every_pass())
            .unwrap();
        claim
            .add_system(parallel("beside", beside).every_pass())
            .unwrap();
        let error = claim.update().unwrap_err();
        let failure = error.failure().unwrap();
        assert_eq!(
            (failure.handle(), failure.phase()),
            ("fails", &Phase::Update)
        );
        // spec: CMD-07
        let seen = notes(&mut claim);
        // Alone, the second one does not run; beside it, what is under way finishes.
        assert_eq!(
            seen,
            if workers.is_some() {
                vec![1, 2]
            } else {
                vec![1]
            }
        );
        assert_eq!(claim.world().len(), 1);
        assert_eq!(lines.take().len(), 1);
        claim.update().unwrap();
        assert_eq!(notes(&mut claim), [2]);
    }
}

#[test]
fn a_command_that_fails_names_a_typed_system_that_runs_alone() {
    let (_owned, mut claim) = staged(None);
    let gone = claim.world().spawn(());
    claim.world().despawn(gone);
    for name in ["first", "second"] {
        let other = |mut commands: Commands<'_>| note(&mut commands, 1);
        claim
            .add_system(parallel(name, other).every_pass())
            .unwrap();
    }
    let bad = move |mut commands: Commands<'_>| commands.strict().insert(gone, A(1));
    // Who has a timer runs alone.
    let bad = parallel("bad", bad).timer_every("t", Duration::from_hours(1), |_, _| Ok(()));
    claim.add_system(bad.every_pass()).unwrap();
    let error = claim.update().unwrap_err();
    let failure = error.failure().unwrap();
    // spec: CMD-04, CMD-07
    assert_eq!(
        (failure.handle(), failure.phase()),
        ("bad", &Phase::Command)
    );
}

#[test]
fn a_command_that_fails_is_a_failure_of_the_parallel_system_that_queued_it() {
    for workers in [None, Some(2)] {
        let (owned, mut claim) = staged(workers);
        let lines = log_of(&owned);
        let gone = claim.world().spawn(());
        claim.world().despawn(gone);
        let good = |mut commands: Commands<'_>| note(&mut commands, 1);
        let bad = move |mut commands: Commands<'_>| {
            commands.strict().insert(gone, A(1));
            commands.insert(gone, A(1));
            commands.queue(|_| panic!("mid-flush"));
            note(&mut commands, 2);
        };
        claim
            .add_system(parallel("good", good).every_pass())
            .unwrap();
        claim.add_system(parallel("bad", bad).every_pass()).unwrap();
        let error = claim.update().unwrap_err();
        let failure = error.failure().unwrap();
        // spec: CMD-04, CMD-07
        assert_eq!(
            (failure.handle(), failure.phase()),
            ("bad", &Phase::Command)
        );
        assert_eq!(notes(&mut claim), [1, 2]);
        let lines = lines.take();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines
                .iter()
                .all(|line| line.starts_with("error: [bad] failed in command: "))
        );
        assert_eq!(claim.context().system_info("bad").unwrap().failures(), 2);
    }
}

#[test]
fn churn_of_parallel_systems_uses_slots_again() {
    let (_owned, mut claim) = staged(Some(2));
    for name in ["a", "b", "c"] {
        let churn = |mut commands: Commands<'_>, mut all: Matches<'_, (Entity, &A)>| {
            // All three end all, and each makes some.
            all.for_each(|(id, _)| commands.despawn(id));
            for n in 0..30 {
                commands.spawn(A(n));
            }
        };
        claim
            .add_system(parallel(name, churn).every_pass())
            .unwrap();
    }
    let mut slots = 0;
    for pass in 0..2_000 {
        claim.update().unwrap();
        assert_eq!(claim.world().len(), 90);
        if pass == 20 {
            slots = claim.world().statistics().slots;
        }
    }
    // spec: CMD-01
    assert_eq!(claim.world().statistics().slots, slots, "memory is flat");
    assert!(slots <= 90 * 6, "{slots}");
    // What was held ready for systems that have left is free again.
    for name in ["a", "b", "c"] {
        claim.remove_system(name);
    }
    claim.world().clear();
    claim.world().shrink_to_fit();
    let made = claim.world().spawn_batch((0..slots).map(|_| A(0))).len();
    assert_eq!((made, claim.world().statistics().slots), (slots, slots));
}
