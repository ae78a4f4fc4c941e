//! Groups and observers: what a change costs where somebody wants to know of it, and what it costs to be told.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ecs::{Commands, Entity, On, World};

use super::structure::{A, C, two};
use super::{Path, measured, path};

pub(super) const PATHS: &[Path] = &[
    path("observer_told", 100_000, told),
    path("observers_told_in_turns", 10_000, told_in_turns),
    path("observed_insert_and_remove", 1_000, observed_changes),
    path("group_insert_and_remove", 1_000, group_changes),
    path("group_passage_read", 1_000, passages),
];

/// A world with an observer that counts the `A`s that come.
fn observed() -> (World, Arc<AtomicUsize>) {
    let mut world = World::new();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    world
        .observe::<A>(On::Added, move |_, entity, _| {
            black_box(entity);
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    (world, count)
}

/// Being told alone: as many changes have happened.
fn told(items: usize) {
    let (mut world, count) = observed();
    _ = world.spawn_batch((0..items).map(|_| A(1.0)));
    measured(|| world.run_observers().unwrap());
    assert_eq!(count.load(Ordering::Relaxed), items);
}

/// Two are told of each change, and what they are told of is of two kinds by turns.
fn told_in_turns(items: usize) {
    let mut world = World::new();
    let count = Arc::new(AtomicUsize::new(0));
    let tells = |count: &Arc<AtomicUsize>| {
        let count = Arc::clone(count);
        move |_: &World, entity, _: &mut Commands<'_>| {
            black_box(entity);
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    };
    world.observe::<A>(On::Added, tells(&count)).unwrap();
    world.observe::<A>(On::Added, tells(&count)).unwrap();
    world.observe::<C>(On::Added, tells(&count)).unwrap();
    for _ in 0..items {
        world.spawn((A(1.0), C(1.0)));
    }
    measured(|| world.run_observers().unwrap());
    assert_eq!(count.load(Ordering::Relaxed), 3 * items);
}

/// Inserts and removes a `C` for each entity, so many that are there and in the right archetypes.
fn come_and_go(world: &mut World, ids: &[Entity]) {
    for id in ids {
        world.insert(*id, C(1.0)).unwrap();
    }
    for id in ids {
        world.remove::<C>(*id).unwrap();
    }
}

fn observed_changes(items: usize) {
    let (mut world, ids) = two(items);
    let count = Arc::new(AtomicUsize::new(0));
    for on in [On::Added, On::Removed] {
        let count = Arc::clone(&count);
        world
            .observe::<C>(on, move |_, _, _| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
    }
    let mut round = || {
        come_and_go(&mut world, &ids);
        world.run_observers().unwrap();
    };
    round();
    round();
    measured(round);
    assert_eq!(count.load(Ordering::Relaxed), 6 * items);
}

fn group_changes(items: usize) {
    let (mut world, ids) = two(items);
    let group = world.register_group::<(A, C)>("group").unwrap();
    come_and_go(&mut world, &ids);
    measured(|| come_and_go(&mut world, &ids));
    assert!(group.is_empty(&world).unwrap());
}

fn passages(items: usize) {
    let (mut world, ids) = two(items);
    let group = world.register_group::<(A, C)>("group").unwrap();
    let mut reader = group.reader(&mut world).unwrap();
    come_and_go(&mut world, &ids);
    let mut count = 0;
    measured(|| {
        while let Some(passage) = reader.next(&mut world).unwrap() {
            black_box(passage);
            count += 1;
        }
    });
    assert_eq!(count, 2 * items);
}
