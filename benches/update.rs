//! What the runtime costs beside the systems' own work: passes, timers, messages.
//!
//! `by_hand` is a plain loop over a vector of boxed closures with a due check; it knows no mailbox, timer, removal,
//! panic or stop. The reading of the real clock is most of what a pass on it costs, hence the row of its own.

#![allow(
    clippy::wildcard_imports,
    reason = "each group of benchmarks uses the file's own helpers"
)]

use std::hint::black_box;
use std::time::Duration;

use divan::counter::ItemsCount;
use divan::{Bencher, Divan};
use ecs::{Claim, Clock, Manager, ManualClock, Moment, OwnedContainer, RealClock, Timing};
use serde_json::json;

const SYSTEMS: [usize; 5] = [1, 10, 100, 1_000, 10_000];

fn main() {
    Divan::from_args().main();
}

fn idle() -> ecs::Registration<impl ecs::System + use<>> {
    ecs::system(format!("s{}", ecs::Uuid::new().to_text().as_str()), |cx| {
        black_box(cx);
        Ok(())
    })
}

/// A claimed container with so many empty systems.
fn container(
    systems: usize,
    clock: Option<&ManualClock>,
    interval: Duration,
) -> (Claim, OwnedContainer) {
    let owned = OwnedContainer::new("bench").unwrap();
    let mut claim = owned.claim().unwrap();
    if let Some(clock) = clock {
        claim.context().set_clock(clock).unwrap();
    }
    for _ in 0..systems {
        claim.add_system(idle().interval(interval)).unwrap();
    }
    claim.update().unwrap();
    (claim, owned)
}

#[divan::bench_group(sample_size = 100)]
mod pass {
    use super::*;

    #[divan::bench(args = SYSTEMS)]
    fn by_hand(bencher: Bencher<'_, '_>, systems: usize) {
        type Boxed = Box<dyn FnMut(&mut u64) -> Result<(), ecs::BoxError>>;
        let clock = ManualClock::new();
        let mut list: Vec<(Timing, Boxed)> = (0..systems)
            .map(|_| {
                let boxed: Boxed = Box::new(|context| {
                    black_box(context);
                    Ok(())
                });
                (Timing::new(Duration::ZERO, Moment::ZERO).unwrap(), boxed)
            })
            .collect();
        bencher.counter(ItemsCount::new(systems)).bench_local(|| {
            let mut context = 0;
            for (timing, boxed) in &mut list {
                if timing.is_due(clock.now()) {
                    boxed(&mut context).unwrap();
                }
            }
        });
    }

    #[divan::bench(args = SYSTEMS)]
    fn manual_clock(bencher: Bencher<'_, '_>, systems: usize) {
        let clock = ManualClock::new();
        let (mut claim, _owned) = container(systems, Some(&clock), Duration::ZERO);
        bencher
            .counter(ItemsCount::new(systems))
            .bench_local(|| claim.update().unwrap());
    }

    #[divan::bench(args = SYSTEMS)]
    fn manual_clock_none_due(bencher: Bencher<'_, '_>, systems: usize) {
        let clock = ManualClock::new();
        let (mut claim, _owned) = container(systems, Some(&clock), Duration::from_secs(1));
        bencher
            .counter(ItemsCount::new(systems))
            .bench_local(|| claim.update().unwrap());
    }

    #[divan::bench(args = SYSTEMS)]
    fn real_clock(bencher: Bencher<'_, '_>, systems: usize) {
        let (mut claim, _owned) = container(systems, None, Duration::ZERO);
        bencher
            .counter(ItemsCount::new(systems))
            .bench_local(|| claim.update().unwrap());
    }

    #[divan::bench]
    fn reading_of_the_real_clock(bencher: Bencher<'_, '_>) {
        bencher
            .counter(ItemsCount::new(1_usize))
            .bench_local(|| RealClock.now());
    }
}

/// 1,000 timers of one system.
#[divan::bench_group(sample_size = 100)]
mod timers {
    use super::*;

    const TIMERS: usize = 1_000;

    fn with_timers(length: Duration) -> (Claim, OwnedContainer, ManualClock) {
        let clock = ManualClock::new();
        let (mut claim, owned) = container(0, Some(&clock), Duration::ZERO);
        let mut system = idle().every_pass();
        for index in 0..TIMERS {
            system = system.timer_every(format!("t{index}"), length, |_, cx| {
                black_box(cx);
                Ok(())
            });
        }
        claim.add_system(system).unwrap();
        claim.update().unwrap();
        (claim, owned, clock)
    }

    #[divan::bench]
    fn not_due(bencher: Bencher<'_, '_>) {
        let (mut claim, _owned, _clock) = with_timers(Duration::from_secs(1));
        bencher
            .counter(ItemsCount::new(TIMERS))
            .bench_local(|| claim.update().unwrap());
    }

    #[divan::bench]
    fn due(bencher: Bencher<'_, '_>) {
        let (mut claim, _owned, clock) = with_timers(Duration::from_micros(10));
        bencher.counter(ItemsCount::new(TIMERS)).bench_local(|| {
            clock.advance(Duration::from_micros(10)).unwrap();
            claim.update().unwrap();
        });
    }
}

/// 1,000 messages of a small object, sent and read in the next pass; the copies are made beforehand.
mod messages {
    use super::*;

    const MESSAGES: usize = 1_000;

    fn reader() -> ecs::Registration<impl ecs::System + use<>> {
        ecs::system("reader", |cx| {
            while let Some(message) = cx.this.next_message() {
                black_box(message);
            }
            Ok(())
        })
        .every_pass()
    }

    fn batch() -> Vec<serde_json::Value> {
        let message = json!({ "destination": { "container": "main", "system": "reader" }, "n": 1 });
        vec![message; MESSAGES]
    }

    #[divan::bench]
    fn only_dropped(bencher: Bencher<'_, '_>) {
        bencher
            .counter(ItemsCount::new(MESSAGES))
            .with_inputs(batch)
            .bench_local_values(|messages| {
                for message in messages {
                    black_box(message);
                }
            });
    }

    #[divan::bench]
    fn through_the_manager(bencher: Bencher<'_, '_>) {
        let manager = Manager::new();
        let main = manager.container("main").unwrap();
        main.claim().unwrap().add_system(reader()).unwrap();
        bencher
            .counter(ItemsCount::new(MESSAGES))
            .with_inputs(batch)
            .bench_local_values(|messages| {
                for message in messages {
                    manager.message_submit(message).unwrap();
                }
                main.update().unwrap();
            });
    }

    #[divan::bench]
    fn through_the_mailbox(bencher: Bencher<'_, '_>) {
        let owned = OwnedContainer::new("main").unwrap();
        owned.claim().unwrap().add_system(reader()).unwrap();
        let mailbox = owned.mailbox("reader").unwrap();
        bencher
            .counter(ItemsCount::new(MESSAGES))
            .with_inputs(batch)
            .bench_local_values(|messages| {
                for message in messages {
                    mailbox.send(message).unwrap();
                }
                owned.update().unwrap();
            });
    }
}

/// 1,000 functions, submitted and run.
#[divan::bench]
fn deferred(bencher: Bencher<'_, '_>) {
    const FUNCTIONS: usize = 1_000;
    let owned = OwnedContainer::new("main").unwrap();
    bencher.counter(ItemsCount::new(FUNCTIONS)).bench_local(|| {
        for n in 0..FUNCTIONS {
            owned.defer(move |_| {
                black_box(n);
                Ok(())
            });
        }
        owned.update().unwrap();
    });
}
