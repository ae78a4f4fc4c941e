//! Containers that share worker threads, run and stopped from several threads. `base::schedules` says how to run them.
//!
//! A board that tells nobody when its last task is done was planted, and was seen by both.

use super::*;
use crate::base::lock::thread::spawn;
use crate::base::schedules::check;
use crate::parallel::crew::Workers;
use crate::runtime::typed::{ResMut, parallel};
use crate::runtime::{Container, StopOutcome};

const PASSES: usize = 3;

/// What the two of a container that conflict have written: the first adds one, the second doubles.
struct Number(u64);

/// A container with two systems that conflict, and two that touch nothing; gives what counts the updates of these.
fn crowd(workers: &Workers) -> (OwnedContainer, Arc<AtomicUsize>) {
    let container = OwnedContainer::new("main").unwrap();
    container.set_silent();
    let count = Arc::new(AtomicUsize::new(0));
    let mut claim = container.claim().unwrap();
    claim.set_workers(workers);
    claim.context().set_worth_waking(Duration::ZERO);
    claim.world().insert_resource(Number(0));
    for name in ["a", "b"] {
        let count = Arc::clone(&count);
        let new = parallel(name, move || note(&count)).every_pass();
        claim.add_system(new).unwrap();
    }
    let add = parallel("add", |mut number: ResMut<'_, Number>| number.0 += 1);
    claim.add_system(add.every_pass()).unwrap();
    let double = parallel("double", |mut number: ResMut<'_, Number>| number.0 *= 2);
    claim.add_system(double.every_pass()).unwrap();
    drop(claim);
    (container, count)
}

fn number(container: &Container) -> u64 {
    let mut claim = container.claim().unwrap();
    claim.world().resource::<Number>().unwrap().0
}

#[test]
fn two_containers_share_two_workers() {
    // spec: PAR-03, PAR-11
    check(|| {
        let workers = Workers::new(2).unwrap();
        let running = [(); 2].map(|()| {
            let workers = workers.clone();
            spawn(move || {
                let (container, count) = crowd(&workers);
                drop(workers);
                for _ in 0..PASSES {
                    container.update().unwrap();
                }
                assert_eq!(count.load(Ordering::Relaxed), 2 * PASSES);
                assert_eq!(number(&container), 14);
            })
        });
        drop(workers);
        for thread in running {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_pass_on_workers_is_stopped_from_outside() {
    // spec: PAR-10
    check(|| {
        let (container, count) = crowd(&Workers::new(2).unwrap());
        let (stopped, seen) = (
            Arc::new(AtomicUsize::new(0)),
            add_probe(&container).unwrap(),
        );
        let stopping = {
            let (container, stopped) = ((*container).clone(), Arc::clone(&stopped));
            spawn(move || {
                assert_eq!(container.stop(), StopOutcome::Complete);
                note(&stopped);
            })
        };
        for _ in 0..PASSES {
            // Who has not got it before the stop is told that there is nothing to do.
            let _ = container.update();
        }
        stopping.join().unwrap();
        assert_eq!(stopped.load(Ordering::Relaxed), 1);
        assert!(count.load(Ordering::Relaxed) <= 2 * PASSES);
        assert_eq!(seen.shut(), seen.initialized());
        drop(container);
        assert_eq!(seen.dropped(), 1);
    });
}
