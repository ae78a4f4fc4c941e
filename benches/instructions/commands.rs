//! Commands: queued and applied.

use ecs::{Entity, World};

use super::structure::{A, B, C, number};
use super::{Path, measured, path};

pub(super) const PATHS: &[Path] = &[
    path("command_spawn_2", 1_000, spawn_2),
    path("command_despawn_2", 1_000, despawn_2),
    path("command_insert_and_remove", 1_000, insert_and_remove),
    path("world_commands", 1_000, world_commands),
];

fn queue_spawns(world: &mut World, items: usize) {
    let mut commands = world.commands();
    for at in 0..items {
        commands.spawn((A(number(at)), B(1.0)));
    }
    world.apply_commands().unwrap();
}

fn queue_despawns(world: &mut World) {
    let (mut contents, mut commands) = world.split();
    for (entity, _) in contents.query::<(Entity, &A)>() {
        commands.despawn(entity);
    }
    world.apply_commands().unwrap();
}

/// A world in which as many have come and gone twice: the queues have their memory, and there are free slots.
fn used(items: usize) -> World {
    let mut world = World::new();
    for _ in 0..3 {
        queue_spawns(&mut world, items);
        queue_despawns(&mut world);
    }
    world
}

fn spawn_2(items: usize) {
    let mut world = used(items);
    measured(|| queue_spawns(&mut world, items));
    assert_eq!(world.query::<(&A, &B)>().count(), items);
}

fn despawn_2(items: usize) {
    let mut world = used(items);
    queue_spawns(&mut world, items);
    measured(|| queue_despawns(&mut world));
    assert!(world.is_empty());
}

fn insert_and_remove(items: usize) {
    let mut world = used(items);
    queue_spawns(&mut world, items);
    let ids: Vec<Entity> = world.query::<Entity>().collect();
    let mut work = || {
        let mut commands = world.commands();
        for id in &ids {
            commands.insert(*id, C(1.0));
        }
        for id in &ids {
            commands.remove::<B>(*id);
        }
        world.apply_commands().unwrap();
    };
    work();
    measured(work);
    assert_eq!(world.query::<(&A, &C)>().count(), items);
}

/// Asked for anew each time, with two kinds in turns.
fn world_commands(items: usize) {
    let mut world = used(items);
    let work = |world: &mut World| {
        for _ in 0..items {
            let entity = world.commands().spawn(A(1.0));
            world.commands().despawn(entity);
        }
        world.apply_commands().unwrap();
    };
    work(&mut world);
    measured(|| work(&mut world));
    assert!(world.is_empty());
}
