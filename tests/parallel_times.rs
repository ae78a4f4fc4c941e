//! How long systems ran, as numbers.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::manual;
use common::wait::{Flag, spawn};
use ecs::{Container, Own, Policy, RunStatistics, Workers, parallel, system};

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn of(container: &Container, name: &str) -> RunStatistics {
    let all = container.run_statistics();
    let found = all.iter().find(|(handle, _)| **handle == *name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

#[test]
fn a_system_is_not_charged_with_what_ran_before_it() {
    const LONG: Duration = Duration::from_millis(5);
    for (workers, policy) in [
        (0, Policy::Sequential),
        (2, Policy::Sequential),
        (0, Policy::Independent),
    ] {
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        claim.context().set_timed(true);
        claim
            .add_system(system("first", |_| Ok(())).every_pass())
            .unwrap();
        claim
            .add_system(
                parallel("long", |_: Own<'_>| spin(LONG))
                    .every_pass()
                    .policy(policy),
            )
            .unwrap();
        claim
            .add_system(parallel("other", || ()).every_pass())
            .unwrap();
        claim
            .add_system(system("last", |_| Ok(())).every_pass())
            .unwrap();
        // Another thread may hold the machine for a while in a pass or two, but not in each of them.
        let mut shorter = [false; 3];
        for pass in 1..=100 {
            claim.update().unwrap();
            let long = of(&owned, "long");
            // spec: PAR-08
            assert!(long.runs == pass && long.last >= LONG && long.longest >= long.last);
            assert!(long.total >= LONG * u32::try_from(pass).unwrap() && long.mean() >= LONG);
            for (seen, name) in shorter.iter_mut().zip(["first", "other", "last"]) {
                *seen |= of(&owned, name).last < LONG / 2;
            }
            if shorter == [true; 3] {
                break;
            }
        }
        assert_eq!(shorter, [true; 3], "{workers} workers");
    }
}

#[test]
fn statistics_are_read_while_systems_run() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.set_workers(&Workers::new(1).unwrap());
    claim.context().set_worth_waking(Duration::ZERO);
    claim.context().set_timed(true);
    let (inside, go_on) = (Flag::default(), Flag::default());
    let (entered, released) = (inside.clone(), go_on.clone());
    let held = parallel("held", move || {
        entered.set();
        released.wait("the statistics to be read");
    });
    claim.add_system(held.every_pass()).unwrap();
    claim
        .add_system(parallel("free", || ()).every_pass())
        .unwrap();
    let reading = spawn({
        let container = claim.container().clone();
        move || {
            inside.wait("the system to run");
            // Beside the one that runs, or on the next thread that is free.
            let before = of(&container, "held");
            // spec: PAR-08
            assert_eq!(before.runs, 0);
            go_on.set();
        }
    });
    claim.update().unwrap();
    reading.join("the reader");
    assert_eq!((of(&owned, "held").runs, of(&owned, "free").runs), (1, 1));
    let stop = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&stop);
    let container = claim.container().clone();
    let reading = spawn(move || {
        let mut last = 0;
        while !ends.load(Ordering::Relaxed) {
            let now = of(&container, "free");
            assert!(now.runs >= last && now.mean() <= now.total);
            last = now.runs;
        }
    });
    for _ in 0..200 {
        claim.update().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    reading.join("the reader");
    assert_eq!(of(&owned, "free").runs, 201);
    let cx = claim.context();
    let own = cx.systems().map(|one| one.run_statistics());
    // spec: PAR-08
    assert!(own.map(|own| own.unwrap().runs).eq([201, 201]));
    // One that is gone is not shown; the others are.
    assert!(claim.remove_system("held"));
    let shown = owned.run_statistics();
    // spec: PAR-08
    assert!(matches!(&shown[..], [(handle, _)] if **handle == *"free"));
    // Off: nothing is kept, nothing is shown.
    claim.context().set_timed(false);
    claim.update().unwrap();
    // spec: PAR-08
    assert!(owned.run_statistics().is_empty());
    let cx = claim.context();
    assert!(cx.systems().all(|system| system.run_statistics().is_none()));
}
