//! Memory: what a world of a million entities holds, by its own account and by the allocator's.

#![allow(
    unsafe_code,
    reason = "a global allocator that counts, and forwards everything"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use ecs::World;

use super::data::{Pair, Place, Position, Speed, Vector, Velocity};
use super::harness::{Table, Target};
use super::structure::Moving;

struct Counting;

/// Bytes allocated and not released. Counted with plain loads and stores: the process has one thread.
static HELD: AtomicIsize = AtomicIsize::new(0);

fn count(bytes: usize, sign: isize) {
    let bytes = isize::try_from(bytes).unwrap_or(0) * sign;
    HELD.store(HELD.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

// SAFETY: everything is the system allocator's; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), -1);
        count(size, 1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 1_000_000;

#[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
fn each(bytes: usize) -> f64 {
    bytes as f64 / COUNT as f64
}

/// What is held after `make`, beyond what was held before, for each of a million entities.
fn held<R>(make: impl FnOnce() -> R) -> (R, f64) {
    let before = HELD.load(Ordering::Relaxed);
    let result = make();
    let after = HELD.load(Ordering::Relaxed) - before;
    (result, each(after.unsigned_abs()))
}

fn compare(table: &Table, what: &str, most: f64, fill: impl Fn(&mut World) -> usize, data: f64) {
    let name = |how: &str| format!("memory per entity of 1M, {what}, {how}, bytes");
    if !["allocator", "statistics", "one by one"]
        .iter()
        .any(|how| table.wants(&name(how)))
    {
        return;
    }
    let (world, by_allocator) = held(|| {
        let mut world = World::new();
        assert_eq!(fill(&mut world), COUNT);
        world
    });
    assert_eq!(world.len(), COUNT);
    let by_itself = each(world.statistics().bytes);
    table.plain(
        &name("allocator"),
        data,
        by_allocator,
        Target::Absolute(most),
    );
    table.plain(&name("statistics"), data, by_itself, Target::Absolute(most));
}

pub(crate) fn run(table: &Table) {
    if !table.wants("memory per entity of 1M") && !table.wants("memory") {
        return;
    }
    let (_, by_hand) = held(|| Moving::with(COUNT));
    let vectors = || (0..COUNT).map(Vector::of);
    // By hand: the vectors as they grew one by one, with the ids that the caller holds.
    table.plain(
        "memory per entity of 1M, by hand, grown one by one, bytes",
        by_hand,
        by_hand,
        Target::None,
    );
    compare(
        table,
        "two components of 12 bytes",
        40.0,
        |world| {
            world
                .spawn_batch(vectors().map(|v| (Position(v), Velocity(v))))
                .len()
        },
        24.0 + 16.0,
    );
    let pair = Pair { x: 1.0, y: 2.0 };
    compare(
        table,
        "two components of 8 bytes",
        34.0,
        |world| {
            world
                .spawn_batch((0..COUNT).map(|_| (Place(pair), Speed(pair))))
                .len()
        },
        16.0 + 16.0,
    );
    compare(
        table,
        "no components",
        18.0,
        |world| world.spawn_batch((0..COUNT).map(|_| ())).len(),
        16.0,
    );
}
