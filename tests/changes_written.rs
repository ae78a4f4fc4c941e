//! What counts as written by iterating. Each promise for table and sparse kinds.

mod kinds;

use std::collections::BTreeSet;

use ecs::{Changed, Entity, Mut, Prepared, World};
use kinds::readers::{changed, see, set, spawn};
use kinds::{Health, Speed, Weight, for_both_storages};

for_both_storages! {
    a_loop_left_early_has_written_what_it_was_given
    a_chunk_counts_whole
    batches_and_folds_count_what_they_give
    mut_counts_what_is_written
    own_writes_are_no_news
    optional_terms_write_what_they_yield
    who_comes_first_sees_who_is_spawned_then
}

fn a_loop_left_early_has_written_what_it_was_given<const S: bool>() {
    for stop in [0, 1, 5, 40, 70, 99] {
        let mut world = World::new();
        spawn::<S>(&mut world, 100);
        let mut reader = changed::<S>(&mut world);
        see(&mut reader, &mut world);
        let mut given = BTreeSet::new();
        if stop > 0 {
            for (id, _) in world.query::<(Entity, &mut Health<S>)>() {
                given.insert(id.index());
                if given.len() == stop {
                    break;
                }
            }
        } else {
            let _ = world.query::<(Entity, &mut Health<S>)>();
        }
        // spec: LOOK-09
        assert_eq!(see(&mut reader, &mut world), given, "left after {stop}");
        // The same through adaptors that end early.
        let mut given = BTreeSet::new();
        world
            .query::<(Entity, &mut Health<S>)>()
            .take(stop)
            .for_each(|(id, _)| _ = given.insert(id.index()));
        // spec: LOOK-09
        assert_eq!(see(&mut reader, &mut world), given, "take({stop})");
        let mut given = BTreeSet::new();
        let _ = world
            .query::<(Entity, &mut Health<S>)>()
            .try_for_each(|(id, _)| {
                given.insert(id.index());
                (given.len() < stop).then_some(())
            });
        // spec: LOOK-09
        assert_eq!(see(&mut reader, &mut world), given, "try_for_each({stop})");
        let found = world
            .query::<(Entity, Option<&mut Health<S>>)>()
            .nth(stop)
            .map(|(id, _)| id.index());
        let seen = see(&mut reader, &mut world);
        // spec: LOOK-09
        assert!(
            seen.contains(&found.unwrap()) && seen.len() <= stop + 1,
            "nth({stop})"
        );
    }
}

fn a_chunk_counts_whole<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 30);
    let mut reader = changed::<S>(&mut world);
    see(&mut reader, &mut world);
    let mut given = BTreeSet::new();
    for chunk in world.query::<(Entity, &mut Health<S>)>().chunks().take(1) {
        let (rows, healths) = chunk.into_slices();
        healths[0].0 = -1;
        given.extend(rows.indices());
    }
    // spec: LOOK-09, LOOK-13
    assert_eq!(see(&mut reader, &mut world), given);
    assert!(!given.is_empty() && given.len() < ids.len());
    for chunk in world.query::<&Health<S>>().chunks() {
        assert!(!chunk.into_slices().is_empty());
    }
    assert!(see(&mut reader, &mut world).is_empty());
    // Chunks of Mut: one by one, or all.
    let mut written = BTreeSet::new();
    for chunk in world.query::<(Entity, Mut<'_, Health<S>>)>().chunks() {
        let (rows, mut healths) = chunk.into_slices();
        assert_eq!(healths.as_slice().len(), rows.len());
        let last = rows.len() - 1;
        healths.get_mut(last).unwrap().0 = 7;
        written.insert(rows.indices()[last]);
    }
    // spec: LOOK-09, LOOK-13
    assert_eq!(see(&mut reader, &mut world), written);
    for chunk in world.query::<Mut<'_, Health<S>>>().chunks() {
        chunk.into_slices().into_mut_slice()[0].0 = 8;
    }
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), set(&ids));
}

fn batches_and_folds_count_what_they_give<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 90);
    let mut reader = changed::<S>(&mut world);
    see(&mut reader, &mut world);
    world
        .query::<&mut Health<S>>()
        .for_each(|health| health.0 += 1);
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), set(&ids));
    assert_eq!(world.query::<&mut Health<S>>().fold(0, |n, _| n + 1), 90);
    assert_eq!(see(&mut reader, &mut world), set(&ids));
    std::thread::scope(|scope| {
        for batch in world.query::<(Entity, Mut<'_, Health<S>>)>().batches(7) {
            scope.spawn(move || {
                for (id, mut health) in batch {
                    if id.index() % 5 == 0 {
                        health.0 = -5;
                    }
                }
            });
        }
    });
    let fifth = ids
        .iter()
        .map(|id| id.index())
        .filter(|index| index % 5 == 0)
        .collect();
    // spec: LOOK-09, LOOK-08
    assert_eq!(see(&mut reader, &mut world), fifth);
    for batch in world.query::<&mut Health<S>>().batches(16) {
        batch.for_each(|health| health.0 += 1);
    }
    // spec: LOOK-09, LOOK-08
    assert_eq!(see(&mut reader, &mut world), set(&ids));
    let mut given = BTreeSet::new();
    let mut batches = world.query::<(Entity, &mut Health<S>)>().batches(4);
    given.extend(batches.next().unwrap().map(|(id, _)| id.index()));
    // spec: LOOK-09, LOOK-08
    assert_eq!(see(&mut reader, &mut world), given);
}

fn mut_counts_what_is_written<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 120);
    let mut reader = changed::<S>(&mut world);
    see(&mut reader, &mut world);
    for divisor in [2, 7, 50] {
        for (id, mut health) in world.query::<(Entity, Mut<'_, Health<S>>)>() {
            if id.index() % divisor == 0 {
                health.set_if_different(Health(-i64::from(divisor)));
            }
        }
        let expected = set(&ids)
            .into_iter()
            .filter(|index| index % divisor == 0)
            .collect();
        // spec: LOOK-09
        assert_eq!(see(&mut reader, &mut world), expected);
    }
    // Beside a term that counts every row it yields, of another kind.
    let mut speeds = world
        .prepare_filtered::<Entity, Changed<Speed<false>>>()
        .unwrap();
    see(&mut speeds, &mut world);
    let mut given = BTreeSet::new();
    for (id, health, _) in world
        .query::<(Entity, Mut<'_, Health<S>>, &mut Speed<false>)>()
        .take(3)
    {
        assert!(health.0 < 1000);
        given.insert(id.index());
    }
    // spec: LOOK-09
    assert_eq!(see(&mut speeds, &mut world), given);
    assert!(see(&mut reader, &mut world).is_empty());
}

fn own_writes_are_no_news<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 9);
    let mut writer = world
        .prepare_filtered::<&mut Health<S>, Changed<Health<S>>>()
        .unwrap();
    let mut other = changed::<S>(&mut world);
    for run in 0..3 {
        writer
            .iter(&mut world)
            .unwrap()
            .for_each(|health| health.0 += 1);
        // spec: LOOK-09
        assert_eq!(
            writer.iter(&mut world).unwrap().count(),
            0,
            "its own writes, run {run}"
        );
        assert_eq!(see(&mut other, &mut world), set(&ids));
        world
            .query::<&mut Health<S>>()
            .for_each(|health| health.0 += 1);
        see(&mut other, &mut world);
        // A run that is left early has run.
        let mut run = writer.iter(&mut world).unwrap();
        run.next().unwrap().0 += 1;
        // spec: LOOK-09
        assert_eq!(writer.iter(&mut world).unwrap().count(), 0);
        assert_eq!(see(&mut other, &mut world).len(), 1);
        for id in &ids {
            world.get_mut::<Health<S>>(*id).unwrap().0 = 0;
        }
        see(&mut other, &mut world);
    }
    let mut pairs = world
        .prepare_filtered::<(Entity, &mut Health<S>), Changed<Health<S>>>()
        .unwrap();
    let mut count = 0;
    pairs.for_each_pair(&mut world, |_, _| count += 1).unwrap();
    // spec: LOOK-09, LOOK-14
    assert_eq!(count, 36);
    pairs.for_each_pair(&mut world, |_, _| count += 1).unwrap();
    assert_eq!(count, 36);
    assert_eq!(see(&mut other, &mut world), set(&ids));
}

fn optional_terms_write_what_they_yield<const S: bool>() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..20)
        .map(|n| {
            let id = world.spawn(Health::<S>(n));
            if n % 2 == 0 {
                world.insert(id, Weight::<true>(n)).unwrap();
            }
            if n % 3 == 0 {
                world.insert(id, Speed::<false>(n)).unwrap();
            }
            id
        })
        .collect();
    let with = |divisor: u32| -> BTreeSet<u32> {
        ids.iter()
            .map(|id| id.index())
            .filter(|n| n % divisor == 0)
            .collect()
    };
    let mut reader = changed::<S>(&mut world);
    see(&mut reader, &mut world);
    let yielded = world
        .query::<Option<(&mut Health<S>, &Weight<true>)>>()
        .flatten()
        .count();
    // spec: LOOK-09
    assert_eq!(yielded, 10);
    assert_eq!(see(&mut reader, &mut world), with(2));
    world
        .query::<(Entity, Option<(&Speed<false>, &mut Health<S>)>)>()
        .for_each(|(_, pair)| assert!(pair.is_none_or(|(speed, health)| speed.0 == health.0)));
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), with(3));
    for id in &ids {
        let _ = world.query_one::<Option<(&Weight<true>, &mut Health<S>, &Speed<false>)>>(*id);
    }
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), with(6));
}

/// The same bundle again and again, while its kinds get readers one by one.
fn who_comes_first_sees_who_is_spawned_then<const S: bool>() {
    let mut world = World::new();
    let some = |world: &mut World| -> BTreeSet<u32> {
        let bundle = |n| (Speed::<false>(n), Health::<S>(n), Weight::<false>(n));
        let ids: Vec<Entity> = (0..70).map(|n| world.spawn(bundle(n))).collect();
        set(&ids)
    };
    let mut all = some(&mut world);
    let mut healths = changed::<S>(&mut world);
    let second = some(&mut world);
    all.extend(&second);
    // spec: LOOK-09
    assert_eq!(see(&mut healths, &mut world), all);
    let third = some(&mut world);
    let mut speeds: Prepared<Entity, Changed<Speed<false>>> = world.prepare_filtered().unwrap();
    let fourth = some(&mut world);
    all.extend(third.iter().chain(&fourth));
    // spec: LOOK-09
    assert_eq!(see(&mut speeds, &mut world), all);
    // spec: LOOK-09
    assert_eq!(see(&mut healths, &mut world), &third | &fourth);
    let fifth = some(&mut world);
    // spec: LOOK-09
    assert_eq!(see(&mut speeds, &mut world), fifth);
    // spec: LOOK-09
    assert_eq!(see(&mut healths, &mut world), fifth);
}
