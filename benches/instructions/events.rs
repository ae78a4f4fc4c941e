//! Events: sent, read, heard.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ecs::{Claim, ManualClock, OwnedContainer, World};

use super::{Path, measured, path};

pub(super) const PATHS: &[Path] = &[
    path("events_by_hand", 10_000, by_hand),
    path("events_sent_and_read", 10_000, sent_and_read),
    path("events_sent_singly_and_read", 10_000, sent_singly_and_read),
    path("events_written_and_read", 10_000, written_and_read),
    path("event_through_the_inlet", 1_000, through_the_inlet),
    path("event_heard", 1_000, heard),
    path("event_heard_queued", 1_000, heard_queued),
    path("event_heard_alone", 1_000, heard_alone),
    path("event_heard_by_two", 1_000, heard_by_two),
];

#[derive(Clone, Copy)]
struct Hit {
    target: u64,
    points: u64,
}

fn hit(number: u64) -> Hit {
    Hit {
        target: number,
        points: black_box(3),
    }
}

fn sum<'a>(hits: impl Iterator<Item = &'a Hit>) -> u64 {
    let mut sum = 0;
    for hit in hits {
        sum += hit.target * hit.points;
    }
    sum
}

fn expected(items: u64) -> u64 {
    3 * items * (items - 1) / 2
}

/// What the others are held against: a vector that is filled and read.
fn by_hand(items: usize) {
    let mut hits = Vec::new();
    let work = |hits: &mut Vec<Hit>| {
        hits.clear();
        for number in 0..items as u64 {
            hits.push(hit(number));
        }
        sum(hits.iter())
    };
    work(&mut hits);
    let found = measured(|| work(&mut hits));
    assert_eq!(found, expected(items as u64));
}

fn read(items: usize, send: impl Fn(&mut World)) {
    let mut world = World::new();
    let mut reader = world.event_reader::<Hit>();
    let mut work = || {
        send(&mut world);
        world.deliver_events();
        sum(reader.read(&world).unwrap())
    };
    for _ in 0..3 {
        work();
    }
    let found = measured(work);
    assert_eq!(found, expected(items as u64));
}

fn sent_and_read(items: usize) {
    read(items, |world| {
        world.send_events((0..items as u64).map(hit));
    });
}

fn sent_singly_and_read(items: usize) {
    read(items, |world| {
        for number in 0..items as u64 {
            world.send_event(hit(number));
        }
    });
}

fn written_and_read(items: usize) {
    read(items, |world| {
        let mut writer = world.event_writer();
        for number in 0..items as u64 {
            writer.send(hit(number));
        }
    });
}

fn scene() -> (Claim, OwnedContainer) {
    let owned = OwnedContainer::new("main").unwrap();
    let mut claim = owned.claim().unwrap();
    claim.set_clock(ManualClock::new()).unwrap();
    (claim, owned)
}

fn through_the_inlet(items: usize) {
    let (mut claim, owned) = scene();
    let mut reader = claim.world().event_reader::<Hit>();
    let sender = owned.event_sender::<Hit>();
    let mut work = || {
        for number in 0..items as u64 {
            sender.send(hit(number));
        }
        claim.update().unwrap();
        sum(reader.read(claim.world()).unwrap())
    };
    for _ in 0..3 {
        work();
    }
    let found = measured(work);
    assert_eq!(found, expected(items as u64));
}

fn listened(items: usize, queued: bool) {
    let (mut claim, _owned) = scene();
    let mut listener = ecs::Listener::to::<Hit>(|cx, hit| {
        *cx.world.resource_mut::<u64>().ok_or("no sum")? += hit.target * hit.points;
        Ok(())
    });
    if queued {
        listener = listener.queued();
    }
    claim.world().insert_resource(0_u64);
    let ear = ecs::system("ear", |_| Ok(())).every_pass();
    claim.add_system(ear.listener(listener)).unwrap();
    for _ in 0..3 {
        claim.world().send_events((0..items as u64).map(hit));
        claim.update().unwrap();
    }
    claim.world().insert_resource(0_u64);
    claim.world().send_events((0..items as u64).map(hit));
    measured(|| claim.update().unwrap());
    let found = claim.world().resource::<u64>().copied();
    assert_eq!(found, Some(expected(items as u64)));
}

fn heard(items: usize) {
    listened(items, false);
}

fn heard_queued(items: usize) {
    listened(items, true);
}

/// Being heard alone: listeners that do next to nothing.
fn counted(items: usize, listeners: u64) {
    let (mut claim, _owned) = scene();
    let points = Arc::new(AtomicU64::new(0));
    for ear in 0..listeners {
        let points = Arc::clone(&points);
        let listener = ecs::Listener::to::<Hit>(move |_, hit| {
            points.fetch_add(hit.points, Ordering::Relaxed);
            Ok(())
        });
        let ear = ecs::system(format!("ear{ear}"), |_| Ok(())).every_pass();
        claim.add_system(ear.listener(listener)).unwrap();
    }
    for _ in 0..3 {
        claim.world().send_events((0..items as u64).map(hit));
        claim.update().unwrap();
    }
    points.store(0, Ordering::Relaxed);
    claim.world().send_events((0..items as u64).map(hit));
    measured(|| claim.update().unwrap());
    assert_eq!(points.load(Ordering::Relaxed), 3 * listeners * items as u64);
}

fn heard_alone(items: usize) {
    counted(items, 1);
}

/// They take turns with each event.
fn heard_by_two(items: usize) {
    counted(items, 2);
}
