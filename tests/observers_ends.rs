//! Observers that set each other off without end, and observers in containers.

mod common;
mod kinds;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Trace, log_of, manual};
use ecs::{
    Commands, CommitPoint, Entity, GroupChange, ObserverError, ObserverLimits, On, Phase, Register,
    UpdateError, Workers, World, parallel, system,
};
use kinds::{Health, Speed, Weight};

/// What was told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Entity>>>);

impl Told {
    fn observe<T: ecs::Component>(&self, world: &mut World) {
        let told = Arc::clone(&self.0);
        world
            .observe::<T>(On::Added, move |_, entity, _| {
                told.lock().unwrap().push(entity);
                Ok(())
            })
            .unwrap();
    }

    #[track_caller]
    fn after(&self, world: &mut World) -> Vec<Entity> {
        world.run_observers().unwrap();
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Whether the error is the one without end: the type names of the observers that it names, and its numbers.
fn endless(error: &ObserverError) -> (Vec<(&str, On)>, u32, usize) {
    let ObserverError::Endless {
        observers,
        rounds,
        untold,
        ..
    } = error
    else {
        panic!("{error}");
    };
    let named = observers.iter().map(|named| (&*named.type_name, named.on));
    (named.collect(), *rounds, *untold)
}

#[test]
fn observers_that_set_each_other_off_end_in_an_error() {
    let mut world = World::new();
    let told = Told::default();
    told.observe::<Weight<true>>(&mut world);
    world
        .observe::<Health<false>>(On::Added, |_, entity, commands| {
            commands.remove::<Health<false>>(entity);
            commands.insert(entity, Speed::<true>(1));
            Ok(())
        })
        .unwrap();
    world
        .observe::<Speed<true>>(On::Added, |_, entity, commands| {
            commands.remove::<Speed<true>>(entity);
            commands.insert(entity, Health::<false>(1));
            Ok(())
        })
        .unwrap();
    let bystander = world.spawn(Weight::<true>(1));
    let id = world.spawn(Health::<false>(1));
    let errors = world.run_observers().unwrap_err();
    // spec: EVT-08
    assert_eq!(errors.count(), 1);
    assert_eq!(
        endless(errors.first()),
        (vec![("Health", On::Added), ("Speed", On::Added)], 64, 1)
    );
    let text = errors.to_string();
    // spec: EVT-08
    assert!(
        text.starts_with(
            "ecs::World::run_observers(): observers go on without end, after 64 rounds with 1 \
             changes left: observers_ends::observers_that_set_each_other_off_end_in_an_error::{{closure}} \
             (of added \"Health\"), observers_ends::"
        ),
        "{text}"
    );
    // The world is whole, the rest is told to nobody, and the next change starts anew.
    assert!(world.has::<Health<false>>(id) && !world.has::<Speed<true>>(id));
    assert_eq!(told.after(&mut world), [bystander]);
    world.remove::<Health<false>>(id).unwrap();
    world.despawn(id);
    assert_eq!(told.after(&mut world), []);
    let other = world.spawn(Weight::<true>(1));
    assert_eq!(told.after(&mut world), [other]);
    world.insert(other, Speed::<true>(1)).unwrap();
    // spec: EVT-08
    assert_eq!(endless(world.run_observers().unwrap_err().first()).1, 64);
}

#[test]
fn what_is_queued_where_there_is_no_end_waits() {
    let mut world = World::new();
    world
        .observe::<Health<false>>(On::Added, |_, entity, commands| {
            commands.queue(move |world| {
                world.remove::<Health<false>>(entity);
                world.insert(entity, Health::<false>(1)).unwrap();
                world.commands().insert(entity, Speed::<false>(1));
                world.commands().spawn(Weight::<false>(1));
            });
            Ok(())
        })
        .unwrap();
    let id = world.spawn(Health::<false>(1));
    let others = world.commands().spawn_empty();
    let errors = world.run_observers().unwrap_err();
    // spec: EVT-08
    assert_eq!(endless(errors.first()).1, 64);
    // What the functions of the last round queued stands behind what waited before.
    assert_eq!(world.commands().len(), 3);
    assert!(world.commands().is_pending(others) && !world.contains(others));
    let before = world.query::<&Weight<false>>().count();
    world.apply_commands().unwrap();
    assert!(world.contains(others) && world.has::<Speed<false>>(id));
    // spec: EVT-08
    assert_eq!(world.query::<&Weight<false>>().count(), before + 1);
}

#[test]
fn the_limits_can_be_set() {
    let mut world = World::new();
    // Counts down: as many rounds as the health says.
    world
        .observe::<Health<false>>(On::Added, |world, entity, commands| {
            let left = world.get::<Health<false>>(entity).unwrap().0;
            commands.despawn(entity);
            if left > 1 {
                commands.spawn(Health::<false>(left - 1));
            }
            Ok(())
        })
        .unwrap();
    world.spawn(Health::<false>(64));
    // spec: EVT-08
    assert!(world.run_observers().is_ok(), "64 rounds are allowed");
    world.spawn(Health::<false>(65));
    // spec: EVT-08
    assert_eq!(endless(world.run_observers().unwrap_err().first()).1, 64);
    world.clear();
    let rounds = 100_000;
    let limits = ObserverLimits {
        rounds,
        ..ObserverLimits::default()
    };
    world.set_observer_limits(limits);
    world.spawn(Health::<false>(i64::from(rounds)));
    // No stack is needed for a chain, however long.
    // spec: EVT-08
    assert!(world.run_observers().is_ok());
    world.set_observer_limits(ObserverLimits {
        rounds: 3,
        ..limits
    });
    world.spawn(Health::<false>(4));
    // spec: EVT-08
    assert_eq!(
        endless(world.run_observers().unwrap_err().first()),
        (vec![("Health", On::Added)], 3, 1)
    );
}

#[test]
fn as_many_changes_as_allowed_may_be_caused() {
    let mut world = World::new();
    world
        .observe::<Health<false>>(On::Added, |world, entity, commands| {
            let left = world.get::<Health<false>>(entity).unwrap().0;
            if left > 0 {
                commands.spawn(Health::<false>(left - 1));
            }
            Ok(())
        })
        .unwrap();
    world.set_observer_limits(ObserverLimits {
        changes: 100,
        rounds: 1_000,
    });
    world.spawn(Health::<false>(100));
    // spec: EVT-08
    assert!(world.run_observers().is_ok());
    world.spawn(Health::<false>(101));
    // spec: EVT-08
    assert!(world.run_observers().is_err());
}

#[test]
fn observers_that_multiply_end_in_an_error_before_the_memory_does() {
    let mut world = World::new();
    world
        .observe::<Health<false>>(On::Added, |_, _, commands| {
            commands.spawn(Health::<false>(1));
            commands.spawn(Health::<false>(1));
            Ok(())
        })
        .unwrap();
    world.set_observer_limits(ObserverLimits {
        changes: 10_000,
        ..ObserverLimits::default()
    });
    world.spawn(Health::<false>(1));
    let errors = world.run_observers().unwrap_err();
    let (named, rounds, untold) = endless(errors.first());
    // spec: EVT-08
    assert_eq!((named, rounds), (vec![("Health", On::Added)], 13));
    assert_eq!(untold, 1 << 13);
    assert_eq!(world.len(), (1 << 14) - 1);
    // Many changes at once are no such case: what each causes counts against what there was.
    let mut world = World::new();
    world
        .observe::<Health<false>>(On::Added, |_, entity, commands| {
            commands.insert(entity, Speed::<false>(1));
            Ok(())
        })
        .unwrap();
    world
        .observe::<Speed<false>>(On::Added, |_, _, _| Ok(()))
        .unwrap();
    world.set_observer_limits(ObserverLimits {
        changes: 10,
        ..ObserverLimits::default()
    });
    assert_eq!(
        world.spawn_batch((0..1_000).map(Health::<false>)).len(),
        1_000
    );
    // spec: EVT-08
    assert!(world.run_observers().is_ok());
}

#[test]
fn a_container_tells_when_commands_are_applied() {
    let (container, _clock) = manual("main");
    let trace = Trace::default();
    let mut claim = container.claim().unwrap();
    let told = trace.clone();
    claim
        .world()
        .observe::<Health<false>>(On::Added, move |world, entity, commands| {
            let Health(n) = world.get::<Health<false>>(entity).unwrap();
            told.add(format!("told.{n}"));
            commands.insert(entity, Speed::<false>(1));
            Ok(())
        })
        .unwrap();
    let spawner = |name: &'static str, n: i64, trace: &Trace| {
        let trace = trace.clone();
        system(name, move |cx| {
            trace.add(name);
            if n < 3 {
                cx.world.commands().spawn(Health::<false>(n));
            } else {
                cx.world.spawn(Health::<false>(n));
            }
            Ok(())
        })
        .every_pass()
    };
    claim.world().spawn(Health::<false>(0));
    claim.add_system(spawner("first", 1, &trace)).unwrap();
    claim.add_system(CommitPoint.named("commit")).unwrap();
    claim.add_system(spawner("second", 2, &trace)).unwrap();
    claim.add_system(spawner("direct", 3, &trace)).unwrap();
    claim.update().unwrap();
    // spec: EVT-05
    assert_eq!(
        trace.line(),
        "told.0 first told.1 second direct told.3 told.2"
    );
    // Commands of observers are applied within the same commit.
    let speeds = claim.world().query::<&Speed<false>>().count();
    // spec: EVT-05
    assert_eq!(speeds, 4);
    // A system may ask for it in between.
    let inner = trace.clone();
    claim
        .add_system(
            system("asker", move |cx| {
                cx.world.spawn(Health::<false>(9));
                cx.world.run_observers()?;
                inner.add("asked");
                Ok(())
            })
            .every_pass(),
        )
        .unwrap();
    claim.update().unwrap();
    let line = trace.line();
    // spec: EVT-05
    assert!(
        line.ends_with("second direct told.3 told.9 asked told.2"),
        "{line}"
    );
}

#[test]
fn what_systems_side_by_side_queue_is_told_in_their_order() {
    let outcome = |workers: usize| {
        let (container, _clock) = manual("main");
        let mut claim = container.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        let told = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&told);
        claim
            .world()
            .observe::<Health<true>>(On::Added, move |world, entity, commands| {
                let Health(n) = world.get::<Health<true>>(entity).unwrap();
                seen.lock().unwrap().push((*n, entity.index()));
                commands.remove::<Health<true>>(entity);
                Ok(())
            })
            .unwrap();
        let healths = claim
            .world()
            .register_group::<Health<true>>("healths")
            .unwrap();
        let mut passages = healths.reader(claim.world()).unwrap();
        for n in 0..4_i64 {
            let spawn = move |mut commands: Commands<'_>| {
                for m in 0..3 {
                    commands.spawn(Health::<true>(10 * n + m));
                }
            };
            claim
                .add_system(parallel(format!("s{n}"), spawn).every_pass())
                .unwrap();
        }
        claim.update().unwrap();
        claim.update().unwrap();
        let world = claim.world();
        let passages: Vec<GroupChange> =
            std::iter::from_fn(|| passages.next(world).unwrap()).collect();
        let ids: Vec<u32> = passages
            .iter()
            .map(|passage| match passage {
                GroupChange::Entered(entity) | GroupChange::Left(entity) => entity.index(),
            })
            .collect();
        assert_eq!((ids.len(), healths.len(world).unwrap()), (48, 0));
        let told = told.lock().unwrap().clone();
        (told, ids)
    };
    let alone = outcome(0);
    let order: Vec<i64> = alone.0.iter().map(|(n, _)| *n).collect();
    let pass = [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32];
    // spec: EVT-05, GRP-02
    assert_eq!(order, [pass, pass].concat());
    assert_eq!(outcome(1), alone);
    assert_eq!(outcome(3), alone);
}

#[test]
fn many_failures_are_counted_in_the_log() {
    let (container, _clock) = manual("main");
    let log = log_of(&container);
    let mut claim = container.claim().unwrap();
    claim
        .world()
        .observe::<Health<false>>(On::Added, |_, _, _| Err("never".into()))
        .unwrap();
    let told = Told::default();
    told.observe::<Health<false>>(claim.world());
    _ = claim.world().spawn_batch((0..100).map(Health::<false>));
    assert!(claim.update().is_err());
    let lines = log.take();
    // spec: EVT-05
    assert_eq!(lines.len(), 65, "{lines:?}");
    assert!(
        lines[64].ends_with("36 more observers failed"),
        "{}",
        lines[64]
    );
    assert_eq!(told.after(claim.world()).len(), 100);
    assert!(claim.update().is_ok(), "each is told once");
}

#[test]
fn an_observer_that_fails_is_a_failure_of_the_pass() {
    let (container, _clock) = manual("main");
    let log = log_of(&container);
    let mut claim = container.claim().unwrap();
    let world = claim.world();
    world
        .observe::<Health<false>>(On::Added, |_, _, _| panic!("no luck"))
        .unwrap();
    world
        .observe::<Speed<false>>(On::Added, |_, _, commands| {
            commands.spawn(Speed::<false>(1));
            Ok(())
        })
        .unwrap();
    claim
        .add_system(
            system("spawner", |cx| {
                cx.world.commands().spawn(Health::<false>(1));
                cx.world.commands().spawn(Speed::<false>(1));
                Ok(())
            })
            .every_pass(),
        )
        .unwrap();
    let failure = claim.update().unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("panicked: no luck"), "{text}");
    let UpdateError::Failed { failure, .. } = failure else {
        panic!("{text}");
    };
    // spec: EVT-05
    assert_eq!(
        (failure.handle(), failure.phase()),
        ("main", &Phase::Observer)
    );
    let lines = log.take();
    // spec: EVT-08
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[1].contains("observers go on without end"),
        "{lines:?}"
    );
    // The container works on.
    assert!(claim.update().is_err());
    assert!(claim.world().len() > 128);
}
