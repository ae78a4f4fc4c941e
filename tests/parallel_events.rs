//! Events of typed systems: the order in which they are delivered does not tell who ran where.

mod common;

use std::time::Duration;

use common::{Trace, manual};
use ecs::{
    EventWriter, Events, Own, OwnedContainer, Policy, Res, ResMut, Workers, World, parallel, system,
};

struct Sent(u32);

/// A resource that puts whoever writes it on the next level.
struct Gate;

fn heard(owned: &OwnedContainer) -> Vec<u32> {
    let mut claim = owned.claim().unwrap();
    let mut reader = claim.world().event_reader::<Sent>();
    claim.update().unwrap();
    claim.update().unwrap();
    let first = reader.read(claim.world()).unwrap().map(|sent| sent.0);
    first.collect()
}

#[test]
fn events_are_delivered_in_the_order_of_the_systems_that_sent_them() {
    for workers in [0, 1, 4] {
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        claim.world().insert_resource(Gate);
        let first = system("first", |cx| {
            if cx.this.updates() == 1 {
                cx.this.send_event(Sent(0));
            }
            Ok(())
        });
        claim.add_system(first.every_pass()).unwrap();
        for number in 1..=6_u32 {
            let name = format!("s{number}");
            let once = move |this: &Own<'_>| this.updates() == 1;
            // All on one level but 1, 3 and 5, which stand on levels of their own.
            let added = match number {
                1 | 3 | 5 => claim.add_system(
                    parallel(name, move |this: Own<'_>, _: ResMut<'_, Gate>| {
                        if once(&this) {
                            assert!(this.send_event(Sent(number)));
                        }
                    })
                    .every_pass(),
                ),
                2 => claim.add_system(
                    parallel(
                        name,
                        move |this: Own<'_>, mut sent: EventWriter<'_, Sent>| {
                            if once(&this) {
                                sent.send(Sent(number));
                            }
                        },
                    )
                    .every_pass(),
                ),
                _ => claim.add_system(
                    parallel(name, move |this: Own<'_>| {
                        if once(&this) {
                            assert!(this.send_event(Sent(number)));
                        }
                    })
                    .every_pass(),
                ),
            };
            added.unwrap();
        }
        let last = system("last", |cx| {
            if cx.this.updates() == 1 {
                cx.send_event(Sent(7));
                cx.this.send_event(Sent(8));
            }
            Ok(())
        });
        claim.add_system(last.every_pass()).unwrap();
        // Alone, for it has a timer, and behind what was sent before it.
        let timed = parallel("timed", |this: Own<'_>, mut sent: EventWriter<'_, Sent>| {
            if this.updates() == 1 {
                sent.send(Sent(9));
                assert!(this.send_event(Sent(10)));
            }
        });
        let timed = timed.timer_every("t", Duration::from_hours(1), |_, _| Ok(()));
        claim.add_system(timed.every_pass()).unwrap();
        drop(claim);
        // spec: PAR-03
        // spec: EVT-03
        let expected: Vec<u32> = (0..=10).collect();
        assert_eq!(heard(&owned), expected, "{workers} workers");
    }
}

#[test]
fn a_typed_system_reads_each_event_once_whenever_it_is_due() {
    for workers in [0, 2] {
        let (owned, clock) = manual("main");
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        claim.world().insert_resource(Vec::<u32>::new());
        claim.world().insert_resource(0_u32);
        let mut next = 0;
        let sender = parallel("sender", move |mut sent: EventWriter<'_, Sent>| {
            for _ in 0..3 {
                sent.send(Sent(next));
                next += 1;
            }
        });
        claim.add_system(sender.every_pass()).unwrap();
        // Takes one event less than there are and leaves it for the next time; runs in every second pass.
        let reader = parallel(
            "reader",
            |mut events: Events<'_, Sent>, mut all: ResMut<'_, Vec<u32>>| {
                let waiting = events.read().len();
                all.extend(
                    events
                        .read()
                        .take(waiting.saturating_sub(1))
                        .map(|sent| sent.0),
                );
                assert_eq!(events.missed(), 0);
            },
        );
        claim
            .add_system(reader.interval(Duration::from_micros(20)))
            .unwrap();
        let watcher = parallel(
            "watcher",
            |mut events: Events<'_, Sent>, mut count: ResMut<'_, u32>, _: Res<'_, Vec<u32>>| {
                *count += u32::try_from(events.read().count()).unwrap();
            },
        );
        claim.add_system(watcher.every_pass()).unwrap();
        for _ in 0..21 {
            clock.advance(Duration::from_micros(10)).unwrap();
            claim.update().unwrap();
        }
        let all = claim.world().resource::<Vec<u32>>().unwrap();
        let expected: Vec<u32> = (0..u32::try_from(all.len()).unwrap()).collect();
        // spec: EVT-03
        assert_eq!(*all, expected);
        assert!(all.len() > 50);
        assert_eq!(claim.world().resource::<u32>(), Some(&60));
    }
}

#[test]
fn a_typed_system_reads_the_events_of_a_world_that_takes_the_others_place() {
    for workers in [0, 2] {
        let (owned, _) = manual("main");
        let heard = Trace::default();
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        let noted = heard.clone();
        let reader = parallel("reader", move |mut events: Events<'_, Sent>| {
            for sent in events.read() {
                noted.add(sent.0.to_string());
            }
        });
        claim.add_system(reader.every_pass()).unwrap();
        let other = parallel("other", |_: Events<'_, Sent>| {});
        claim.add_system(other.every_pass()).unwrap();
        claim.update().unwrap();
        owned.send_event(Sent(1));
        claim.update().unwrap();
        *claim.world() = World::new();
        claim.update().unwrap();
        owned.send_event(Sent(2));
        claim.update().unwrap();
        claim.update().unwrap();
        // spec: EVT-01, EVT-03
        assert_eq!(heard.line(), "1 2", "{workers} workers");
    }
}

#[test]
fn a_typed_reader_says_how_many_events_it_came_too_late_for() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.world().set_event_limit::<Sent>(3);
    let heard = Trace::default();
    let noted = heard.clone();
    let reader = parallel("reader", move |mut events: Events<'_, Sent>| {
        let read: Vec<u32> = events.read().map(|sent| sent.0).collect();
        noted.add(format!("{read:?} and {}", events.missed()));
    });
    claim.add_system(reader.every_pass()).unwrap();
    claim.update().unwrap();
    claim.context().set_system_on("reader", false).unwrap();
    for number in 0..10 {
        owned.send_event(Sent(number));
        claim.update().unwrap();
    }
    claim.context().set_system_on("reader", true).unwrap();
    claim.update().unwrap();
    // spec: EVT-04
    assert_eq!(heard.line(), "[] and 0 [7, 8, 9] and 7");
}

#[test]
fn an_independent_system_that_writes_or_reads_events_keeps_its_place() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    let [first, writes, reads] = ["first", "writes", "reads"].map(|name| {
        let trace = trace.clone();
        move || trace.add(name)
    });
    let first = system("first", move |_| {
        first();
        Ok(())
    });
    claim.add_system(first.every_pass()).unwrap();
    let writes = parallel("writes", move |_: EventWriter<'_, Sent>| writes());
    let reads = parallel("reads", move |_: Events<'_, Sent>| reads());
    claim
        .add_system(writes.every_pass().policy(Policy::Independent))
        .unwrap();
    claim
        .add_system(reads.every_pass().policy(Policy::Independent))
        .unwrap();
    claim.update().unwrap();
    // spec: PAR-06
    assert_eq!(trace.line(), "first writes reads");
}
