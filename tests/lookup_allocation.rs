//! Looking up, and spawning where there is room, allocate nothing. A file of its own: it counts all allocations.
#![allow(unsafe_code, reason = "a counting global allocator")]

mod kinds;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use ecs::{Entity, World};
use kinds::{Coin, Health, Speed, Weight};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counter is a `Cell` without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(black_box(vec![1]))), 1);
}

fn looking_up_allocates_nothing<const S: bool>() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..100)
        .map(|n| match n % 3 {
            0 => world.spawn((Health::<S>(n), Speed::<false>(n))),
            1 => world
                .spawn_named(&format!("entity {n}"), (Speed::<false>(n), Health::<S>(n)))
                .unwrap(),
            _ => world
                .spawn_named(
                    &uuid::Uuid::new_v4().to_string(),
                    (Speed::<false>(n), Weight::<true>(n)),
                )
                .unwrap(),
        })
        .collect();
    let handles: Vec<String> = ids
        .iter()
        .map(|id| world.handle(*id).unwrap().to_string())
        .collect();
    let dead = world.spawn(Health::<S>(1));
    world.despawn(dead);
    let world = &world;
    let count = allocations(|| {
        for id in ids.iter().chain([&dead]) {
            black_box(world.contains(*id));
            black_box(world.handle(*id));
            black_box(world.get::<Health<S>>(*id));
            black_box(world.get::<Coin<S>>(*id));
            black_box(world.get_named::<Health<S>>(*id, "Health"));
            black_box(world.get_named::<Health<S>>(*id, "never used"));
            black_box(world.component(*id, "Weight"));
            black_box(world.has::<Health<S>>(*id));
            black_box(world.has_named(*id, "Weight"));
            black_box(world.has_named(*id, ""));
        }
        for handle in handles
            .iter()
            .map(String::as_str)
            .chain(["nobody", "", "entity 2"])
        {
            black_box(world.find(handle));
            black_box(world.contains(handle));
            black_box(world.get::<Health<S>>(handle));
            black_box(world.get_named::<Weight<true>>(handle, "Weight"));
            black_box(world.get_named::<Weight<true>>(handle, ""));
            black_box(world.component(handle, "Health"));
            black_box(world.component(handle, "never used"));
            black_box(world.has_named(handle, "Speed"));
        }
    });
    // spec: LOOK-04
    assert_eq!(count, 0);
}

#[test]
fn looking_up_in_tables_allocates_nothing() {
    looking_up_allocates_nothing::<false>();
}

#[test]
fn looking_up_in_sparse_sets_allocates_nothing() {
    looking_up_allocates_nothing::<true>();
}

#[test]
fn an_unnamed_entity_costs_no_text_and_no_map() {
    let mut world = World::new();
    world
        .reserve::<(Health<false>, Speed<false>)>(20_000)
        .unwrap();
    world.spawn((Health::<false>(0), Speed::<false>(0)));
    let count = allocations(|| {
        for n in 0..10_000 {
            black_box(world.spawn((Health::<false>(n), Speed::<false>(n))));
        }
    });
    // spec: ENT-02
    assert_eq!(count, 0);
    let ids: Vec<Entity> = world.entities().map(|entity| entity.id()).collect();
    let count = allocations(|| {
        for id in &ids {
            let handle = world.handle(*id).unwrap();
            // spec: ENT-02
            assert_eq!(world.find(&handle), Some(*id));
        }
    });
    // spec: ENT-02
    assert_eq!(count, 0);
}

#[test]
fn a_warm_query_allocates_nothing() {
    let mut world = World::new();
    for n in 0..100 {
        let id = world.spawn((Health::<false>(n), Weight::<true>(n)));
        if n % 2 == 0 {
            world.insert(id, Speed::<false>(n)).unwrap();
        }
    }
    let mut run = || {
        let mut sum = 0;
        for (health, speed, weight) in world.query::<(
            &mut Health<false>,
            Option<&Speed<false>>,
            Option<(&Weight<true>, Entity)>,
        )>() {
            health.0 += 1;
            sum += speed.map_or(0, |speed| speed.0) + weight.map_or(0, |(weight, _)| weight.0);
        }
        black_box(sum);
    };
    run();
    // spec: LOOK-07
    assert_eq!(allocations(run), 0);
}
