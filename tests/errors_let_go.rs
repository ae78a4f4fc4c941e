//! Errors, observers and ids that nobody wants any more: letting go of them fails nothing else.

mod common;
mod kinds;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use common::manual;
use ecs::{
    BoxError, Commands, Entity, ObserverError, ObserverLimits, On, Own, SystemResult, World,
    parallel, system,
};
use kinds::{Health, Speed, Weight};

/// Counts how often it was dropped, and panics then.
#[derive(Debug)]
struct Bomb(Arc<AtomicU32>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("on purpose");
    }
}

impl std::fmt::Display for Bomb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bomb")
    }
}

impl std::error::Error for Bomb {}

#[derive(Clone, Default)]
struct Bombs(Arc<AtomicU32>);

impl Bombs {
    fn fail(&self) -> SystemResult {
        Err(Box::new(self.make()))
    }

    fn make(&self) -> Bomb {
        Bomb(Arc::clone(&self.0))
    }

    fn dropped(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn errors_of_a_pass_are_dropped_where_an_earlier_one_is_returned() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let bombs = Bombs::default();
    for _ in 0..2 {
        let bombs = bombs.clone();
        owned.defer(move |_| bombs.fail());
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| claim.update())).unwrap();
    // spec: DEF-06, FAIL-01
    assert_eq!((outcome.is_err(), bombs.dropped()), (true, 1));
    assert_eq!(
        outcome.unwrap_err().failure().unwrap().error().to_string(),
        "bomb"
    );
    // The caller's own is let go of by then, too.
    assert_eq!(bombs.dropped(), 2);

    // An update, and observers of what it has changed.
    let observers = Bombs::default();
    for _ in 0..2 {
        let bombs = observers.clone();
        let observer = move |_: &World, _: Entity, _: &mut Commands<'_>| bombs.fail();
        claim
            .world()
            .observe::<Health<false>>(On::Added, observer)
            .unwrap();
    }
    let told = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&told);
    claim
        .world()
        .observe::<Health<false>>(On::Added, move |_, _, _| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
        .unwrap();
    let updates = bombs.clone();
    let failing = system("failing", move |cx| {
        for _ in 0..100 {
            cx.world.spawn(Health::<false>(1));
        }
        updates.fail()
    });
    claim.add_system(failing.every_pass()).unwrap();
    for pass in 1..=3 {
        let outcome = catch_unwind(AssertUnwindSafe(|| claim.update())).unwrap();
        // spec: FAIL-01, EVT-05
        assert!(outcome.is_err());
        drop(outcome);
        let dropped = (
            bombs.dropped(),
            observers.dropped(),
            told.load(Ordering::SeqCst),
        );
        assert_eq!(dropped, (2 + pass, 200 * pass, 100 * pass));
    }
}

#[test]
fn errors_of_systems_side_by_side_are_dropped_where_the_first_is_returned() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let workers = ecs::Workers::new(1).unwrap();
    claim.set_workers(&workers);
    claim.context().set_worth_waking(std::time::Duration::ZERO);
    let bombs = Bombs::default();
    let meet = Arc::new(std::sync::Barrier::new(2));
    for name in ["a", "b"] {
        let (bombs, meet) = (bombs.clone(), Arc::clone(&meet));
        let update = move |_: Own<'_>| {
            meet.wait();
            bombs.fail()
        };
        claim
            .add_system(parallel(name, update).every_pass())
            .unwrap();
    }
    for pass in 1..=2 {
        let outcome = catch_unwind(AssertUnwindSafe(|| claim.update())).unwrap();
        // spec: PAR-10
        assert!(outcome.is_err());
        drop(outcome);
        assert_eq!(bombs.dropped(), 2 * pass);
    }
}

#[test]
fn errors_of_observers_are_dropped_one_by_one() {
    let mut world = World::new();
    let bombs = Bombs::default();
    let failing = bombs.clone();
    world
        .observe::<Health<false>>(On::Added, move |_, _, _| failing.fail())
        .unwrap();
    for _ in 0..70 {
        world.spawn(Health::<false>(1));
    }
    let errors = catch_unwind(AssertUnwindSafe(|| world.run_observers())).unwrap();
    let errors = errors.unwrap_err();
    // spec: EVT-05
    assert_eq!((errors.count(), bombs.dropped()), (70, 6));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(errors))).is_err());
    assert_eq!(bombs.dropped(), 70);
}

#[test]
fn observers_are_dropped_one_by_one() {
    let mut world = World::new();
    let bombs = Bombs::default();
    for _ in 0..3 {
        let bomb = bombs.make();
        let observer = move |_: &World, _: Entity, _: &mut Commands<'_>| {
            let _ = &bomb;
            Ok::<(), BoxError>(())
        };
        world
            .observe::<Health<false>>(On::Removed, observer)
            .unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(world))).is_err());
    assert_eq!(bombs.dropped(), 3);
}

#[test]
fn only_observers_of_this_run_s_last_rounds_are_named() {
    let named = |world: &mut World| match world.run_observers().unwrap_err().first() {
        ObserverError::Endless { observers, .. } => {
            let names = observers.iter().map(|named| named.type_name.clone());
            names.collect::<Vec<_>>()
        }
        other => panic!("{other}"),
    };
    let mut world = World::new();
    // Called in many rounds, of an earlier run.
    let mut left = 62;
    world
        .observe::<Weight<false>>(On::Added, move |_, _, commands| {
            if left > 0 {
                left -= 1;
                commands.spawn(Weight::<false>(1));
            }
            Ok(())
        })
        .unwrap();
    world.spawn(Weight::<false>(1));
    world.run_observers().unwrap();
    // Never called.
    world
        .observe::<Speed<false>>(On::Added, |_, _, _| Ok(()))
        .unwrap();
    world
        .observe::<Health<false>>(On::Added, |_, _, commands| {
            commands.spawn(Health::<false>(1));
            Ok(())
        })
        .unwrap();
    for rounds in [64, 4, 1] {
        world.set_observer_limits(ObserverLimits {
            rounds,
            changes: 1000,
        });
        world.spawn(Health::<false>(1));
        // spec: EVT-08
        assert_eq!(named(&mut world), ["Health"]);
    }
    // Of 64 rounds the last eight count.
    for (calls, expected) in [(56, &["Health"][..]), (57, &["Health", "Weight"])] {
        let mut world = World::new();
        world
            .observe::<Health<false>>(On::Added, |_, _, commands| {
                commands.spawn(Health::<false>(1));
                Ok(())
            })
            .unwrap();
        let mut called = 0;
        world
            .observe::<Weight<false>>(On::Added, move |_, _, commands| {
                called += 1;
                if called < calls {
                    commands.spawn(Weight::<false>(1));
                }
                Ok(())
            })
            .unwrap();
        world.spawn((Health::<false>(1), Weight::<false>(1)));
        // spec: EVT-08
        assert_eq!(named(&mut world), expected);
    }
}

#[test]
fn a_world_that_takes_another_s_place_while_observers_are_told_keeps_its_commands() {
    let mut world = World::new();
    let shelf = Arc::new(Mutex::new(World::new()));
    let pending = shelf.lock().unwrap().commands().spawn(Speed::<false>(1));
    let told = Arc::new(AtomicU32::new(0));
    let (other, count) = (Arc::clone(&shelf), Arc::clone(&told));
    world
        .observe::<Health<false>>(On::Added, move |_, _, commands| {
            count.fetch_add(1, Ordering::SeqCst);
            let other = Arc::clone(&other);
            commands.queue(move |world| std::mem::swap(world, &mut *other.lock().unwrap()));
            Ok(())
        })
        .unwrap();
    world.spawn(Health::<false>(1));
    world.run_observers().unwrap();
    assert!(world.commands().is_pending(pending));
    world.apply_commands().unwrap();
    assert!(world.has::<Speed<false>>(pending));
    // The former one is told of changes as before.
    let mut former = std::mem::take(&mut *shelf.lock().unwrap());
    former.spawn(Health::<false>(1));
    former.run_observers().unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 2);
    // It lies on the shelf again, which its observer holds: they would keep each other.
    drop(std::mem::take(&mut *shelf.lock().unwrap()));
}

#[test]
fn few_slots_are_shared_by_those_who_queue_for_them() {
    let freed = |limit: u32| {
        let mut world = World::with_slot_limit(limit);
        let ids: Vec<Entity> = (0..limit).map(|_| world.spawn(())).collect();
        for id in ids {
            world.despawn(id);
        }
        world
    };
    let mut world = freed(100);
    let mut commands = world.commands();
    for _ in 0..100 {
        commands.spawn(Health::<false>(1));
    }
    // spec: CMD-02
    assert_eq!(
        world.apply_commands().map_err(|errors| errors.to_string()),
        Ok(())
    );
    assert_eq!(world.len(), 100);

    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    *claim.world() = freed(20);
    for name in ["a", "b"] {
        let spawn = |mut commands: Commands<'_>| {
            commands.spawn(Health::<false>(1));
        };
        claim
            .add_system(parallel(name, spawn).every_pass())
            .unwrap();
    }
    for pass in 1..=10 {
        claim.update().unwrap();
        // spec: CMD-02
        assert_eq!(claim.world().len(), 2 * pass);
    }
    assert!(claim.update().is_err());
    assert_eq!(claim.world().len(), 20);
}

#[test]
fn an_id_that_somebody_made_up_ends_a_reserved_one_at_most() {
    let mut world = World::new();
    let first = world.spawn(());
    let rest: Vec<Entity> = (0..63).map(|_| world.spawn(())).collect();
    world.despawn(first);
    let again = world.spawn(());
    let one_on = again.to_bits() - first.to_bits();
    for id in &rest {
        world.despawn(*id);
    }
    // Some of the free slots are held for commands from here on.
    assert_eq!(world.commands().len(), 0);
    for id in rest {
        world.despawn(Entity::from_bits(id.to_bits() + one_on).unwrap());
    }
    let living: Vec<Entity> = (0..63).map(|_| world.spawn(Health::<false>(1))).collect();
    world.shrink_to_fit();
    for _ in 0..100 {
        world.spawn(Speed::<false>(1));
    }
    assert!(living.iter().all(|id| world.has::<Health<false>>(*id)));
    assert_eq!(world.len(), 164);
}

#[test]
fn a_command_of_a_system_that_is_gone_fails_for_nobody_who_came_into_its_place() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let dead = claim.world().spawn(());
    claim.world().despawn(dead);
    for leaves in [false, true] {
        let first = system("first", move |cx| {
            // What a function queues is its author's, and waits for the next pass.
            cx.world
                .commands()
                .queue(move |world| world.commands().strict().despawn(dead));
            if leaves {
                cx.world.commands().queue(move |world| {
                    world
                        .commands()
                        .queue(move |world| world.commands().strict().despawn(dead));
                });
                cx.remove_this();
            }
            Ok(())
        });
        claim.add_system(first.every_pass()).unwrap();
        claim.update().unwrap();
        claim.remove_system("first");
        claim
            .add_system(system("second", |_| Ok(())).every_pass())
            .unwrap();
        let error = claim.update().unwrap_err();
        // spec: CMD-04
        assert_eq!(error.failure().unwrap().handle(), "main");
        assert_eq!(claim.context().system_info("second").unwrap().failures(), 0);
        claim.remove_system("second");
    }
}
