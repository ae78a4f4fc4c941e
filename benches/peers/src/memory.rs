//! What a world of a million entities holds, by the account of the C library's allocator: all engines end there,
//! those that are written in C as well.

use bevy_ecs::world::World as BevyWorld;
use flecs_ecs::prelude::*;

use crate::bench::{Bench, ENGINES, Engine, float};
use crate::data::{columns, moving};
use crate::parts::{Slots, row};

const COUNT: usize = 1_000_000;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "the C library's account has no safe form")]
#[allow(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
fn held() -> Option<usize> {
    #[repr(C)]
    struct Account {
        arena: usize,
        free_blocks: usize,
        free_fast_blocks: usize,
        mapped_blocks: usize,
        mapped: usize,
        unused: usize,
        free_fast: usize,
        in_use: usize,
        free: usize,
        releasable: usize,
    }

    unsafe extern "C" {
        fn mallinfo2() -> Account;
    }

    // SAFETY: it takes nothing, and returns ten words, as glibc's `struct mallinfo2` has them (since 2.33).
    let account = unsafe { mallinfo2() };
    Some(account.in_use + account.mapped)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn held() -> Option<usize> {
    None
}

/// What is held for each entity when `make` is done.
fn each<R>(make: impl FnOnce() -> R) -> Option<f64> {
    let before = held()?;
    let result = make();
    let after = held()?;
    drop(result);
    Some(float(after.saturating_sub(before)) / float(COUNT))
}

fn two(engine: Engine) -> Option<f64> {
    let rows = || (0..COUNT).map(moving);
    match engine {
        Engine::Hand => each(|| {
            let mut slots = Slots::<u32>::default();
            let mut ids = Vec::with_capacity(COUNT);
            slots.alloc_rows(0, COUNT, &mut ids, |row| row);
            (slots, ids, columns(COUNT))
        }),
        Engine::Ours => each(|| {
            let mut world = ecs::World::new();
            world.spawn_batch(rows());
            world
        }),
        Engine::Hecs => each(|| {
            let mut world = hecs::World::new();
            drop(world.spawn_batch(rows()));
            world
        }),
        Engine::Bevy => each(|| {
            let mut world = BevyWorld::new();
            drop(world.spawn_batch(rows()));
            world
        }),
        Engine::Shipyard => each(|| {
            let mut world = shipyard::World::new();
            world.bulk_add_entity(rows());
            world
        }),
        Engine::Flecs => {
            let columns = columns(COUNT);
            each(|| {
                let world = World::new();
                let mut bulk = world.entity_bulk(row(COUNT));
                drop(bulk.set(&columns.0).set(&columns.1).build());
                world
            })
        }
    }
}

fn one_by_one(engine: Engine) -> Option<f64> {
    let rows = || (0..COUNT).map(moving);
    match engine {
        Engine::Hand => each(|| {
            let mut slots = Slots::<u32>::default();
            let (mut ids, mut columns) = (Vec::new(), (Vec::new(), Vec::new()));
            for (position, velocity) in rows() {
                ids.push(slots.alloc(row(ids.len())).index);
                columns.0.push(position);
                columns.1.push(velocity);
            }
            (slots, ids, columns)
        }),
        Engine::Ours => each(|| {
            let mut world = ecs::World::new();
            for bundle in rows() {
                world.spawn(bundle);
            }
            world
        }),
        Engine::Hecs => each(|| {
            let mut world = hecs::World::new();
            for bundle in rows() {
                world.spawn(bundle);
            }
            world
        }),
        Engine::Bevy => each(|| {
            let mut world = BevyWorld::new();
            for bundle in rows() {
                world.spawn(bundle);
            }
            world
        }),
        Engine::Shipyard => each(|| {
            let mut world = shipyard::World::new();
            for bundle in rows() {
                world.add_entity(bundle);
            }
            world
        }),
        Engine::Flecs => each(|| {
            let world = World::new();
            for (position, velocity) in rows() {
                world.entity().set(position).set(velocity);
            }
            world
        }),
    }
}

pub(crate) fn run(bench: &mut Bench) {
    for (way, make) in [
        ("a batch", two as fn(Engine) -> Option<f64>),
        ("one by one", one_by_one),
    ] {
        let name = format!("memory per entity of 1M, two components of 12 bytes, {way}");
        if bench.wants(&name) {
            bench.exact(&name, "bytes", ENGINES.map(make));
        }
    }
}
