//! Observers: told of what comes, is replaced and goes, in order and at defined points; what they change is queued.

mod kinds;

use std::sync::{Arc, Mutex};

use ecs::{
    CommandErrorKind, Data, Entity, ObserverError, ObserverKey, On, QueryError, RemovalMarks,
    World, json,
};
use kinds::{Coin, Health, Ledger, Nameless, Note, Speed, Weight, for_both_storages};

for_both_storages! {
    every_change_is_told_in_order
    what_is_queued_is_told_in_the_next_round
    a_target_may_be_despawned
    a_panicking_drop_is_told
}

/// What was told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(&'static str, Entity)>>>);

impl Told {
    fn observe<T: ecs::Component>(
        &self,
        world: &mut World,
        on: On,
        name: &'static str,
    ) -> ObserverKey {
        let told = self.clone();
        world
            .observe::<T>(on, move |_, entity, _| {
                told.0.lock().unwrap().push((name, entity));
                Ok(())
            })
            .unwrap()
    }

    #[track_caller]
    fn after(&self, world: &mut World) -> Vec<(&'static str, Entity)> {
        world.run_observers().unwrap();
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn every_change_is_told_in_order<const S: bool>() {
    let mut world = World::new();
    let told = Told::default();
    told.observe::<Health<S>>(&mut world, On::Added, "+health");
    told.observe::<Health<S>>(&mut world, On::Replaced, "=health");
    told.observe::<Health<S>>(&mut world, On::Removed, "-health");
    told.observe::<Speed<false>>(&mut world, On::Removed, "-speed");
    told.observe::<Speed<false>>(&mut world, On::Added, "+speed");
    told.observe::<Health<S>>(&mut world, On::Added, "+health again");
    let a = world.spawn((Speed::<false>(1), Health::<S>(1), Weight::<true>(1)));
    let b = world.spawn(Weight::<true>(1));
    assert!(
        told.0.lock().unwrap().is_empty(),
        "nobody is told in between"
    );
    world
        .insert(b, (Health::<S>(2), Weight::<true>(2)))
        .unwrap();
    world
        .insert(a, (Health::<S>(3), Speed::<false>(3)))
        .unwrap();
    drop(world.replace(b, Health::<S>(4)).unwrap());
    world.get_mut::<Health<S>>(b).unwrap().0 = 5;
    world.insert_named(b, "Health", Data(json!(1))).unwrap();
    world.remove::<Health<S>>(a).unwrap();
    world.insert_boxed(a, Box::new(Health::<S>(6))).unwrap();
    // spec: EVT-05
    assert_eq!(
        told.after(&mut world),
        [
            ("+speed", a),
            ("+health", a),
            ("+health again", a),
            ("+health", b),
            ("+health again", b),
            ("=health", a),
            ("=health", b),
            ("-health", b),
            ("-health", a),
            ("+health", a),
            ("+health again", a),
        ]
    );
    // spec: EVT-05
    assert_eq!(told.after(&mut world), [], "each is told once");
    let mut marks = RemovalMarks::default();
    marks.mark_named(a, "Speed");
    marks.clear(&mut world);
    world.despawn(a);
    world.despawn(b);
    // spec: EVT-05
    assert_eq!(told.after(&mut world), [("-speed", a), ("-health", a)]);
    let columns = world.spawn_batch((0..2).map(|n| (Health::<S>(n), Speed::<false>(n))));
    let [c, d] = columns.collect::<Vec<_>>()[..] else {
        panic!("there are two");
    };
    // spec: EVT-05
    assert_eq!(
        told.after(&mut world),
        [c, d]
            .map(|e| [("+health", e), ("+health again", e), ("+speed", e)])
            .concat()
    );
    world.clear();
    let mut cleared = told.after(&mut world);
    cleared.sort_unstable();
    // spec: EVT-05
    assert_eq!(
        cleared,
        [("-health", c), ("-health", d), ("-speed", c), ("-speed", d)]
    );
}

fn what_is_queued_is_told_in_the_next_round<const S: bool>() {
    let mut world = World::new();
    let told = Told::default();
    let trace = told.clone();
    let has_speed = move |world: &World, entity| {
        let name = if world.has::<Speed<false>>(entity) {
            "there"
        } else {
            "not yet"
        };
        trace.0.lock().unwrap().push((name, entity));
    };
    world
        .observe::<Health<S>>(On::Added, move |world, entity, commands| {
            has_speed(world, entity);
            commands.insert(entity, Speed::<false>(1));
            Ok(())
        })
        .unwrap();
    told.observe::<Health<S>>(&mut world, On::Added, "+health");
    told.observe::<Speed<false>>(&mut world, On::Added, "+speed");
    // What others have queued waits as before.
    let waiting = world.commands().spawn(Health::<S>(1));
    let [a, b] = [1, 2].map(|n| world.spawn(Health::<S>(n)));
    // spec: EVT-05
    assert_eq!(
        told.after(&mut world),
        [
            ("not yet", a),
            ("+health", a),
            ("not yet", b),
            ("+health", b),
            ("+speed", a),
            ("+speed", b)
        ]
    );
    assert!(!world.contains(waiting));
    world.apply_commands().unwrap();
    // spec: EVT-05
    assert_eq!(
        told.after(&mut world),
        [
            ("not yet", waiting),
            ("+health", waiting),
            ("+speed", waiting)
        ]
    );
}

fn a_target_may_be_despawned<const S: bool>() {
    let mut world = World::new();
    let told = Told::default();
    let made = Arc::new(Mutex::new(Vec::new()));
    let children = Arc::clone(&made);
    world
        .observe::<Health<S>>(On::Added, move |_, entity, commands| {
            commands.despawn(entity);
            // Two that it makes itself: one goes at once, one when it is told of.
            let brief = commands.spawn(Speed::<S>(1));
            commands.despawn(brief);
            let child = commands.spawn(Speed::<S>(2));
            commands.insert(entity, Weight::<S>(1));
            children.lock().unwrap().extend([brief, child]);
            Ok(())
        })
        .unwrap();
    world
        .observe::<Speed<S>>(On::Added, |_, entity, commands| {
            commands.despawn(entity);
            Ok(())
        })
        .unwrap();
    told.observe::<Health<S>>(&mut world, On::Removed, "-health");
    told.observe::<Speed<S>>(&mut world, On::Removed, "-speed");
    told.observe::<Weight<S>>(&mut world, On::Added, "never");
    let a = world.spawn(Health::<S>(1));
    let all = told.after(&mut world);
    let made = made.lock().unwrap().clone();
    // spec: EVT-05
    assert_eq!(
        all,
        [("-health", a), ("-speed", made[0]), ("-speed", made[1])]
    );
    assert!(world.is_empty());
    // The slots are used again, and nobody takes the new one for the old.
    let again = world.spawn(Weight::<S>(1));
    assert_eq!(told.after(&mut world), [("never", again)]);
}

fn a_panicking_drop_is_told<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let told = Told::default();
    told.observe::<Coin<S>>(&mut world, On::Removed, "-coin");
    told.observe::<Coin<S>>(&mut world, On::Replaced, "=coin");
    told.observe::<Note<S>>(&mut world, On::Added, "+note");
    let ids = [0; 4].map(|_| world.spawn(Coin::<S>(ledger.bomb())));
    kinds::panic_text(|| world.despawn(ids[0]));
    kinds::panic_text(|| drop(world.remove::<Coin<S>>(ids[1])));
    kinds::panic_text(|| world.insert(ids[2], Note::<S>(ledger.witness())));
    kinds::panic_text(|| world.insert(ids[3], Coin::<S>(ledger.witness())));
    // spec: EVT-05
    assert_eq!(
        told.after(&mut world),
        [
            ("-coin", ids[0]),
            ("-coin", ids[1]),
            ("-coin", ids[2]),
            ("+note", ids[2]),
            ("=coin", ids[3])
        ]
    );
    drop(world);
    ledger.assert_all_dropped_once();
}

#[test]
fn who_comes_late_or_is_gone_is_not_told() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let told = Told::default();
    told.observe::<Health<false>>(&mut world, On::Added, "early");
    let witness = ledger.witness();
    let gone = world
        .observe::<Health<false>>(On::Added, move |_, _, _| {
            panic!("{witness:?} was taken out");
        })
        .unwrap();
    let a = world.spawn(Health::<false>(1));
    told.observe::<Health<false>>(&mut world, On::Added, "late");
    let b = world.spawn(Health::<false>(2));
    assert!(world.unobserve(gone));
    ledger.assert_all_dropped_once();
    assert!(!world.unobserve(gone));
    // spec: EVT-05
    assert_eq!(
        told.after(&mut world),
        [("early", a), ("early", b), ("late", b)]
    );
    // A key stays that of its observer, also when another has its place.
    told.observe::<Health<false>>(&mut world, On::Removed, "last");
    assert!(!world.unobserve(gone));
    world.despawn(a);
    // spec: EVT-05
    assert_eq!(told.after(&mut world), [("last", a)]);
    let mut other = World::new();
    let key = other
        .observe::<Health<false>>(On::Added, |_, _, _| Ok(()))
        .unwrap();
    assert!(!world.unobserve(key) && other.unobserve(key));
    assert_eq!(
        other.observe::<Nameless>(On::Added, |_, _, _| Ok(())).err(),
        Some(QueryError::EmptyTypeName {
            rust_name: std::any::type_name::<Nameless>()
        })
    );
    assert!(
        other
            .observe_named::<Data>("", On::Added, |_, _, _| Ok(()))
            .is_err()
    );
}

#[test]
fn who_comes_late_is_told_of_everything_from_then_on() {
    let mut world = World::new();
    let told = Told::default();
    told.observe::<Speed<false>>(&mut world, On::Added, "early");
    for _ in 0..5 {
        world.spawn(Speed::<false>(1));
    }
    told.observe::<Speed<false>>(&mut world, On::Added, "late");
    assert_eq!(told.after(&mut world).len(), 5);
    for _ in 0..3 {
        let entity = world.spawn(Speed::<false>(1));
        // spec: EVT-05
        assert_eq!(
            told.after(&mut world),
            [("early", entity), ("late", entity)]
        );
    }
}

#[test]
fn where_nobody_observes_nothing_is_kept() {
    let mut world = World::new();
    let come_and_go = |world: &mut World| {
        for n in 0..10_000 {
            let id = world.spawn((Health::<false>(n), Speed::<true>(n)));
            world.despawn(id);
        }
        world.statistics().bytes
    };
    let before = come_and_go(&mut world);
    let key = world
        .observe::<Health<false>>(On::Replaced, |_, _, _| Ok(()))
        .unwrap();
    assert!(come_and_go(&mut world) < before + 1_000, "no replacement");
    world.unobserve(key);
    let key = world
        .observe::<Health<false>>(On::Removed, |_, _, _| Ok(()))
        .unwrap();
    let kept = come_and_go(&mut world);
    assert!(kept > before + 100_000, "{kept} bytes, {before} before");
    world.unobserve(key);
    world.run_observers().unwrap();
    assert_eq!(come_and_go(&mut world), kept, "the buffer alone is left");
    world.shrink_to_fit();
    assert!(world.statistics().bytes < before + 1_000);
}

#[test]
fn a_failure_keeps_nobody_from_being_told() {
    let mut world = World::new();
    let told = Told::default();
    world
        .observe::<Health<false>>(On::Added, |world, entity, commands| {
            commands.strict().despawn(entity);
            match world.get::<Health<false>>(entity).unwrap().0 {
                1 => panic!("one"),
                2 => Err("two".into()),
                _ => Ok(()),
            }
        })
        .unwrap();
    told.observe::<Health<false>>(&mut world, On::Added, "told");
    world
        .observe::<Health<false>>(On::Added, |_, entity, commands| {
            commands.strict().despawn(entity);
            Ok(())
        })
        .unwrap();
    let ids = [1, 2, 3].map(|n| world.spawn(Health::<false>(n)));
    let handle = world.handle(ids[0]).unwrap().to_string();
    let errors = world.run_observers().unwrap_err();
    // spec: EVT-05
    assert_eq!(*told.0.lock().unwrap(), ids.map(|id| ("told", id)));
    assert_eq!(errors.count(), 5);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts[0],
        format!(
            "ecs::World::run_observers(): observer \
             observers::a_failure_keeps_nobody_from_being_told::{{{{closure}}}} (of added \
             \"Health\") of entity \"{handle}\": panicked: one"
        )
    );
    assert!(texts[1].ends_with(": two"), "{}", texts[1]);
    // What was queued before a failure is applied; the second of two despawns finds nobody.
    assert!(world.is_empty());
    for error in errors.iter().skip(2) {
        let ObserverError::Command { observer, error } = error else {
            panic!("{error}");
        };
        let observer = observer.as_ref().unwrap();
        assert_eq!((&*observer.type_name, observer.on), ("Health", On::Added));
        assert_eq!(error.kind, CommandErrorKind::NoEntity);
    }
    assert!(errors.to_string().ends_with("(and 4 more calls failed)"));
    // It is told again the next time.
    world.spawn(Health::<false>(4));
    assert_eq!(world.run_observers().unwrap_err().count(), 1);
}

#[test]
fn a_failure_in_a_run_of_changes_is_one_of_its_own_and_the_rest_is_told() {
    let mut world = World::new();
    let told = Told::default();
    let inner = told.clone();
    world
        .observe::<Health<false>>(On::Added, move |world, entity, commands| {
            inner.0.lock().unwrap().push(("+health", entity));
            commands.strict().insert(entity, Weight::<false>(1));
            match world.get::<Health<false>>(entity).unwrap().0 {
                n @ (2 | 5) => panic!("at {n}"),
                n @ (3 | 6) => Err(format!("for {n}").into()),
                _ => Ok(()),
            }
        })
        .unwrap();
    told.observe::<Health<false>>(&mut world, On::Replaced, "=health");
    told.observe::<Speed<false>>(&mut world, On::Added, "+speed");
    let ids = [1, 2, 3, 4, 5].map(|n| world.spawn(Health::<false>(n)));
    let fast = [1, 2].map(|n| world.spawn(Speed::<false>(n)));
    let last = world.spawn(Health::<false>(6));
    world.insert(ids[0], Health::<false>(1)).unwrap();
    let after = world.spawn(Health::<false>(7));
    let errors = world.run_observers().unwrap_err();
    let mut expected: Vec<_> = ids.map(|id| ("+health", id)).into();
    expected.extend(fast.map(|id| ("+speed", id)));
    expected.extend([("+health", last), ("=health", ids[0]), ("+health", after)]);
    // spec: EVT-05
    assert_eq!(*told.0.lock().unwrap(), expected);
    let failed: Vec<_> = errors
        .iter()
        .map(|error| match error {
            ObserverError::Failed { entity, error, .. } => (*entity, error.to_string()),
            other => panic!("{other}"),
        })
        .collect();
    let text = |id, text: &str| (id, text.to_owned());
    // spec: EVT-05
    assert_eq!(
        failed,
        [
            text(ids[1], "panicked: at 2"),
            text(ids[2], "for 3"),
            text(ids[4], "panicked: at 5"),
            text(last, "for 6"),
        ]
    );
    let told = [&ids[..], &[last, after]].concat();
    assert!(told.iter().all(|id| world.has::<Weight<false>>(*id)));
}

#[test]
fn who_comes_in_the_middle_of_a_run_of_changes_is_told_from_there_on() {
    let mut world = World::new();
    let told = Told::default();
    told.observe::<Speed<false>>(&mut world, On::Added, "+speed");
    for more in [2, 0] {
        // While two are there, what happens is kept; one of them goes before it is told.
        let early = told.observe::<Health<false>>(&mut world, On::Added, "early");
        let _ = [1, 2, 3].map(|n| world.spawn(Health::<false>(n)));
        let fast = [1, 2].map(|n| world.spawn(Speed::<false>(n)));
        let _ = [4, 5].map(|n| world.spawn(Health::<false>(n)));
        let late = told.observe::<Health<false>>(&mut world, On::Added, "late");
        let heard = (0..more).map(|n| ("late", world.spawn(Health::<false>(n))));
        let heard: Vec<_> = heard.collect();
        assert!(world.unobserve(early));
        let expected = [fast.map(|id| ("+speed", id)).to_vec(), heard].concat();
        // spec: EVT-05
        assert_eq!(told.after(&mut world), expected);
        assert!(world.unobserve(late));
    }
}

#[test]
fn a_queued_function_may_reach_the_observers() {
    let mut world = World::new();
    let told = Told::default();
    let inner = told.clone();
    world
        .observe::<Health<false>>(On::Added, move |_, entity, commands| {
            let told = inner.clone();
            commands.queue(move |world| {
                told.observe::<Speed<false>>(world, On::Added, "new");
                world.insert(entity, Speed::<false>(1)).unwrap();
                // It runs already: what has changed is told in the next round.
                world.run_observers().unwrap();
                assert!(told.0.lock().unwrap().is_empty());
                // So is what is queued from here.
                world.commands().insert(entity, Weight::<false>(1));
            });
            Ok(())
        })
        .unwrap();
    told.observe::<Weight<false>>(&mut world, On::Added, "+weight");
    let id = world.spawn(Health::<false>(1));
    // spec: EVT-05
    assert_eq!(told.after(&mut world), [("new", id), ("+weight", id)]);
    assert!(world.commands().is_empty());
    // One that replaces the world loses nothing but that world.
    world
        .observe::<Health<false>>(On::Removed, move |_, _, commands| {
            commands.queue(|world| *world = World::new());
            Ok(())
        })
        .unwrap();
    world.commands().spawn_empty();
    world.despawn(id);
    world.run_observers().unwrap();
    assert!(world.is_empty() && world.commands().is_empty());
    let id = world.spawn(Health::<false>(1));
    assert_eq!(told.after(&mut world), []);
    assert!(world.contains(id));
}
