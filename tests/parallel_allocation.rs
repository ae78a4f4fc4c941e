//! What a pass of typed systems allocates on all threads together. A binary of its own, with one test: the allocator counts
//! whatever runs.

mod common;

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{manual, us};
use ecs::{
    Changed, Claim, Commands, Component, Entity, EventWriter, Events, Matches, Own, Policy, Res,
    ResMut, Storage, Value, With, Workers, json, parallel, system,
};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[expect(unsafe_code, reason = "a global allocator cannot be written without")]
// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocations of all threads while `work` runs.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    work();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

macro_rules! kinds {
    ($($name:ident $storage:ident),*) => {$(
        struct $name(f64);

        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn storage() -> Storage {
                Storage::$storage
            }

            fn export(&self) -> Value {
                json!(self.0)
            }
        }
    )*};
}

kinds! { Position Table, Velocity Table, Health Table, Poison Sparse, Short Table }

struct Gravity(f64);
struct Total(f64);
struct Hit(u32);

/// Adds systems that change no structure.
fn add_steady(claim: &mut Claim, n: usize) {
    let movement = |mut moving: Matches<'_, (&mut Position, &Velocity)>,
                    gravity: Res<'_, Gravity>| {
        moving.for_each(|(position, velocity)| position.0 += velocity.0 - gravity.0);
    };
    let poison = |mut ill: Matches<'_, (&mut Health, Option<&mut Poison>)>, this: Own<'_>| {
        for (health, poison) in &mut ill {
            health.0 -= poison.map_or(0.0, |poison| poison.0) * black_box(this.elapsed_seconds());
        }
    };
    let total = |mut healths: Matches<'_, &Health, Changed<Health>>,
                 mut total: ResMut<'_, Total>| {
        total.0 = healths.iter().map(|health| health.0).sum();
    };
    let tired = |mut all: Matches<'_, &mut Velocity, With<Poison>>| {
        all.for_each(|velocity| velocity.0 *= 0.5);
    };
    // Among the first of the pass, wherever it stands.
    let poll = parallel(format!("poll{n}"), |_: Own<'_>| {});
    claim
        .add_system(poll.every_pass().policy(Policy::Independent))
        .unwrap();
    claim
        .add_system(parallel(format!("movement{n}"), movement).every_pass())
        .unwrap();
    claim
        .add_system(parallel(format!("poison{n}"), poison).every_pass())
        .unwrap();
    claim
        .add_system(parallel(format!("total{n}"), total).interval(us(20)))
        .unwrap();
    claim
        .add_system(
            parallel(format!("tired{n}"), tired)
                .every_pass()
                .run_if(|world| !world.is_empty()),
        )
        .unwrap();
    if n % 5 == 4 {
        claim
            .add_system(system(format!("alone{n}"), |_| Ok(())).every_pass())
            .unwrap();
    }
}

/// Adds systems that send events and change structure.
fn add_busy(claim: &mut Claim) {
    let sender = |mut hits: EventWriter<'_, Hit>, this: Own<'_>| {
        for n in 0..20 {
            hits.send(Hit(n));
        }
        this.send_event(Hit(7));
    };
    let reader = |mut hits: Events<'_, Hit>, mut all: Matches<'_, &mut Health>| {
        let sum: u32 = hits.read().map(|hit| hit.0).sum();
        all.for_each(|health| health.0 += f64::from(sum));
    };
    let spawner = |mut commands: Commands<'_>| {
        for _ in 0..10 {
            let made = commands.spawn((Short(0.0), Health(1.0)));
            commands.insert(made, Poison(1.0));
        }
    };
    let despawner = |mut all: Matches<'_, (Entity, &Short)>, mut commands: Commands<'_>| {
        for (entity, _) in &mut all {
            commands.despawn(entity);
        }
    };
    claim
        .add_system(parallel("sender", sender).every_pass())
        .unwrap();
    claim
        .add_system(parallel("reader", reader).every_pass())
        .unwrap();
    claim
        .add_system(parallel("spawner", spawner).every_pass())
        .unwrap();
    claim
        .add_system(parallel("other", spawner).every_pass())
        .unwrap();
    claim
        .add_system(parallel("despawner", despawner).every_pass())
        .unwrap();
}

#[test]
fn a_steady_parallel_pass_allocates_nothing_on_any_thread() {
    let counted = allocations(|| drop(black_box(std::thread::spawn(|| Box::new(7)).join())));
    assert!(counted > 1, "the counter counts other threads too");
    for workers in [0, 1, 3] {
        for busy in [false, true] {
            let (owned, clock) = manual("main");
            let mut claim = owned.claim().unwrap();
            claim.set_workers(&Workers::new(workers).unwrap());
            claim.context().set_worth_waking(Duration::ZERO);
            claim.context().set_timed(busy);
            let world = claim.world();
            world.insert_resource(Gravity(1.0));
            world.insert_resource(Total(0.0));
            for n in 0..200_u8 {
                let entity = world.spawn((Position(0.0), Velocity(f64::from(n)), Health(9.0)));
                if n % 3 == 0 {
                    world.insert(entity, Poison(1.0)).unwrap();
                }
            }
            // In front, and not due in most passes: the segment is the same in all.
            let rare = parallel("rare", || ()).interval(us(30));
            claim.add_system(rare).unwrap();
            for n in 0..10 {
                add_steady(&mut claim, n);
            }
            if busy {
                add_busy(&mut claim);
            }
            for round in 0..40 {
                clock.advance(us(10)).unwrap();
                let passing = allocations(|| claim.update().unwrap());
                if round > 20 {
                    // spec: PAR-09
                    assert_eq!(passing, 0, "{workers} workers, busy {busy}, round {round}");
                }
            }
        }
    }
}
