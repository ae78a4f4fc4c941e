//! Iteration on rayon's threads: every match once, whatever the archetypes, also inside of systems.
#![cfg(feature = "rayon")]

use ecs::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

struct Number(u64);
impl Component for Number {
    fn type_name() -> &'static str {
        "Number"
    }
    fn export(&self) -> Value {
        json!(self.0)
    }
}
struct Tag;
impl Component for Tag {
    fn type_name() -> &'static str {
        "Tag"
    }
    fn export(&self) -> Value {
        Value::Null
    }
}

/// 1,000 entities of three archetypes: numbers from 0 on, every third one tagged under a name of its own or another's.
fn world() -> World {
    let mut world = World::new();
    for number in 0..1000 {
        let entity = world.spawn(Number(number));
        match number % 3 {
            0 => drop(world.insert(entity, Tag)),
            1 => drop(world.insert_named(entity, "Other", Tag)),
            _ => {}
        }
    }
    world
}

#[test]
fn every_match_is_met_once() {
    for size in [0, 1, 7, 256, 100_000] {
        let mut world = world();
        let met = AtomicUsize::new(0);
        world.query::<&mut Number>().par_for_each(size, |number| {
            number.0 += 1;
            met.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(met.into_inner(), 1000, "pieces of {size}");
        let sum: u64 = world.query::<&Number>().map(|number| number.0).sum();
        assert_eq!(sum, (1..=1000).sum::<u64>());
    }
}

#[test]
fn filters_that_tell_rows_apart_hold() {
    let mut world = world();
    let mut changed = world
        .prepare_filtered::<&Number, Changed<Number>>()
        .unwrap();
    assert_eq!(changed.iter(&mut world).unwrap().count(), 1000);
    for mut number in world.query::<Mut<'_, Number>>() {
        if number.0 % 10 == 0 {
            number.0 += 1;
        }
    }
    let met = AtomicUsize::new(0);
    let news = changed.iter(&mut world).unwrap();
    news.par_for_each(3, |_| {
        met.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(met.into_inner(), 100);
}

static SEEN: AtomicUsize = AtomicUsize::new(0);

#[test]
fn more_systems_that_iterate_in_parallel_than_threads_end() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    claim.set_workers(&Workers::new(1).unwrap());
    claim.context().set_worth_waking(Duration::ZERO);
    *claim.world() = world();
    for number in 0..12 {
        let look = |mut numbers: Matches<'_, &Number>| {
            let numbers = numbers.iter();
            numbers.par_for_each(10, |_| {
                SEEN.fetch_add(1, Ordering::Relaxed);
            });
        };
        let handle = format!("look {number}");
        claim
            .add_system(parallel(handle, look).every_pass())
            .unwrap();
    }
    for pass in 1..=3 {
        // spec: PAR-11
        claim.update().unwrap();
        assert_eq!(SEEN.load(Ordering::Relaxed), pass * 12_000);
    }
}

#[test]
fn a_panic_comes_out_when_all_that_began_has_ended() {
    let container = OwnedContainer::new("main").unwrap();
    container.set_silent();
    let mut claim = container.claim().unwrap();
    *claim.world() = world();
    let fail = |mut numbers: Matches<'_, &mut Number>| {
        numbers.iter().par_for_each(10, |number| {
            assert!(number.0 != 500, "at 500");
            number.0 += 1;
        });
    };
    claim
        .add_system(parallel("fail", fail).every_pass())
        .unwrap();
    // spec: PAR-11
    let failed = claim.update().unwrap_err();
    assert!(failed.to_string().contains("at 500"), "{failed}");
    assert_eq!(claim.world().query::<&Number>().count(), 1000);
}

#[test]
fn many_archetypes_of_one_row_are_met_once_each() {
    let mut world = World::new();
    for tags in 0..256_u64 {
        let entity = world.spawn(Number(tags));
        for bit in (0..8).filter(|bit| tags & (1 << bit) != 0) {
            world
                .insert_named(entity, &format!("Tag {bit}"), Tag)
                .unwrap();
        }
    }
    let met = AtomicUsize::new(0);
    world.query::<&mut Number>().par_for_each(64, |number| {
        number.0 += 1;
        met.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(met.into_inner(), 256);
    let sum: u64 = world.query::<&Number>().map(|number| number.0).sum();
    assert_eq!(sum, (1..=256).sum::<u64>());
}

#[test]
fn full_pieces_go_to_rayons_threads_and_the_rest_stays_here() {
    let mut world = World::new();
    world.spawn_batch((0..8).map(Number));
    let here = std::thread::current().id();
    let elsewhere = Mutex::new(Vec::new());
    world.query::<&Number>().par_for_each(5, |number| {
        if std::thread::current().id() != here {
            elsewhere.lock().unwrap().push(number.0);
        }
    });
    assert_eq!(elsewhere.into_inner().unwrap(), [0, 1, 2, 3, 4]);
}
