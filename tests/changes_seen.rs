//! Change detection: what was written is seen exactly once by each reader. Each promise for table and sparse kinds.

mod kinds;

use std::collections::BTreeSet;

use ecs::{Added, Changed, Data, Entity, Mut, Named, Or, TypeName, With, Without, World, json};
use kinds::readers::{Reader, changed, see, set, spawn};
use kinds::{Coin, Health, Held, Ledger, Note, Speed, Weight, for_both_storages};

for_both_storages! {
    the_first_run_sees_everything_present
    every_way_of_writing_is_seen_once_by_each_reader
    reading_is_no_news
    added_is_not_changed
    filters_combine
    a_refusal_writes_nothing
    ticks_follow_their_rows
    untracked_kinds_have_no_ticks
    random_access_applies_the_filter
}

fn the_first_run_sees_everything_present<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 200);
    let other = world.spawn(Speed::<false>(1));
    let mut early = changed::<S>(&mut world);
    // spec: LOOK-09
    assert_eq!(see(&mut early, &mut world), set(&ids));
    assert!(see(&mut early, &mut world).is_empty());
    // Prepared later, when the kind is tracked already.
    let mut late = changed::<S>(&mut world);
    let mut added = world
        .prepare_filtered::<Entity, Added<Health<S>>>()
        .unwrap();
    // spec: LOOK-09
    assert_eq!(see(&mut late, &mut world), set(&ids));
    assert_eq!(see(&mut added, &mut world), set(&ids));
    assert!(see(&mut late, &mut world).is_empty());
    assert!(see(&mut added, &mut world).is_empty());
    assert!(world.contains(other));
    // Prepared before anything is there.
    let mut world = World::new();
    let mut reader = changed::<S>(&mut world);
    assert!(see(&mut reader, &mut world).is_empty());
    let ids = spawn::<S>(&mut world, 20);
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), set(&ids));
    assert!(see(&mut reader, &mut world).is_empty());
}

struct Own;
impl TypeName for Own {
    const NAME: &'static str = "Health";
}

type Write = (&'static str, fn(&mut World, Entity));

/// Every way to write a component, by name.
fn ways<const S: bool>() -> Vec<Write> {
    vec![
        ("get_mut", |w, e| w.get_mut::<Health<S>>(e).unwrap().0 += 1),
        ("get_named_mut", |w, e| {
            w.get_named_mut::<Health<S>>(e, "Health").unwrap().0 += 1;
        }),
        ("component_mut", |w, e| {
            w.component_mut(e, "Health")
                .unwrap()
                .downcast_mut::<Health<S>>()
                .unwrap()
                .0 += 1;
        }),
        ("insert", |w, e| w.insert(e, Health::<S>(5)).unwrap()),
        ("insert of a bundle", |w, e| {
            w.insert(
                e,
                (Note::<false>(Ledger::default().witness()), Health::<S>(5)),
            )
            .unwrap();
        }),
        ("replace", |w, e| {
            drop(w.replace(e, Health::<S>(5)).unwrap());
        }),
        ("insert_boxed", |w, e| {
            drop(w.insert_boxed(e, Box::new(Health::<S>(5))).unwrap());
        }),
        ("insert_named", |w, e| {
            drop(w.insert_named(e, "Health", Health::<S>(5)).unwrap());
        }),
        ("remove and insert", |w, e| {
            w.remove::<Health<S>>(e).unwrap();
            w.insert(e, Health::<S>(5)).unwrap();
        }),
        ("another type between", |w, e| {
            w.insert_named(e, "Health", Data(json!(1))).unwrap();
            w.insert(e, Health::<S>(5)).unwrap();
        }),
        ("query_one", |w, e| {
            w.query_one::<&mut Health<S>>(e).unwrap().0 += 1;
        }),
        ("query_many", |w, e| {
            w.query_many::<&mut Health<S>, 1>([e]).unwrap()[0].0 += 1;
        }),
        ("query_one of Mut", |w, e| {
            w.query_one::<Mut<'_, Health<S>>>(e).unwrap().0 += 1;
        }),
        ("named term", |w, e| {
            w.query_one::<Named<&mut Health<S>, Own>>(e).unwrap().0 += 1;
        }),
        ("prepared get_mut", |w, e| {
            let mut prepared = w.prepare::<&mut Health<S>>().unwrap();
            prepared.get_mut(w, e).unwrap().0 += 1;
        }),
        ("for loop with Mut", |w, e| {
            for (id, mut health) in w.query::<(Entity, Mut<'_, Health<S>>)>() {
                if id == e {
                    health.0 += 1;
                }
            }
        }),
        ("for_each with Mut", |w, e| {
            w.query::<(Entity, Mut<'_, Health<S>>)>()
                .for_each(|(id, mut health)| {
                    if id == e {
                        health.0 += 1;
                    }
                });
        }),
        ("for loop left early", |w, e| {
            let mut query = w.query::<(Mut<'_, Health<S>>, Entity)>();
            let (health, _) = query.find(|(_, id)| *id == e).unwrap();
            health.into_inner().0 += 1;
        }),
    ]
}

fn every_way_of_writing_is_seen_once_by_each_reader<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 100);
    let mut readers: Vec<Reader<S>> = (0..3).map(|_| changed::<S>(&mut world)).collect();
    for reader in &mut readers {
        see(reader, &mut world);
    }
    for (n, (name, write)) in ways::<S>().into_iter().enumerate() {
        let id = ids[(n * 17) % 100];
        write(&mut world, id);
        // The second reader looks only later.
        for at in [0, 2] {
            // spec: LOOK-09, COMP-12
            assert_eq!(see(&mut readers[at], &mut world), set(&[id]), "{name}");
            assert!(see(&mut readers[at], &mut world).is_empty(), "{name}");
        }
        let second = ids[(n * 17 + 1) % 100];
        write(&mut world, second);
        // spec: LOOK-09
        assert_eq!(see(&mut readers[0], &mut world), set(&[second]), "{name}");
        assert_eq!(
            see(&mut readers[1], &mut world),
            set(&[id, second]),
            "{name}"
        );
        assert!(see(&mut readers[1], &mut world).is_empty(), "{name}");
        see(&mut readers[2], &mut world);
    }
    world.despawn(ids[0]);
    world.remove::<Health<S>>(ids[3]);
    // spec: LOOK-09
    assert!(
        see(&mut readers[0], &mut world).is_empty(),
        "what is gone is no news"
    );
}

fn reading_is_no_news<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 30);
    let mut reader = changed::<S>(&mut world);
    see(&mut reader, &mut world);
    assert_eq!(
        world
            .query::<(&Health<S>, Option<&mut Speed<false>>)>()
            .count(),
        30
    );
    let _ = world.get::<Health<S>>(ids[0]);
    let _ = world.component(ids[0], "Health");
    for mut health in world.query::<Mut<'_, Health<S>>>() {
        let _ = health.0;
        health.bypass().0 += 1;
        let same = Health(health.0);
        assert!(!health.set_if_different(same));
    }
    let mut view = world.prepare::<&Health<S>>().unwrap();
    assert!(view.get(&world, ids[0]).is_some());
    assert!(world.get_named_mut::<Data>(ids[0], "Health").is_none());
    assert!(world.get_mut::<Coin<S>>(ids[0]).is_none());
    world.insert(ids[0], Speed::<false>(1)).unwrap();
    world.remove::<Speed<false>>(ids[1]);
    world.despawn(ids[2]);
    world.shrink_to_fit();
    world.reclaim();
    // spec: LOOK-09
    assert!(see(&mut reader, &mut world).is_empty());
}

fn added_is_not_changed<const S: bool>() {
    let mut world = World::new();
    let mut added = world
        .prepare_filtered::<Entity, Added<Health<S>>>()
        .unwrap();
    let ids = spawn::<S>(&mut world, 6);
    // spec: LOOK-09
    assert_eq!(see(&mut added, &mut world), set(&ids));
    world.get_mut::<Health<S>>(ids[0]).unwrap().0 = 1;
    world
        .query::<&mut Health<S>>()
        .for_each(|health| health.0 = 1);
    // spec: LOOK-09
    assert!(see(&mut added, &mut world).is_empty());
    world.insert(ids[1], Speed::<false>(1)).unwrap();
    world.remove::<Speed<false>>(ids[4]);
    assert!(see(&mut added, &mut world).is_empty());
    world.remove::<Health<S>>(ids[2]);
    world.insert(ids[2], Health::<S>(1)).unwrap();
    let plain = world.spawn(());
    world.insert_boxed(plain, Box::new(Health::<S>(1))).unwrap();
    let batch: Vec<Entity> = world.spawn_batch((0..3).map(Health::<S>)).collect();
    let expected = [&[ids[2], plain], batch.as_slice()].concat();
    // spec: LOOK-09
    assert_eq!(see(&mut added, &mut world), set(&expected));
    assert!(see(&mut added, &mut world).is_empty());
}

type Both<const S: bool> = (Changed<Health<S>>, Changed<Weight<false>>);

fn filters_combine<const S: bool>() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..8)
        .map(|n| world.spawn((Health::<S>(n), Weight::<false>(n))))
        .collect();
    world.insert(ids[7], Speed::<false>(1)).unwrap();
    let mut both = world.prepare_filtered::<Entity, Both<S>>().unwrap();
    let mut either = world
        .prepare_filtered::<Entity, Or<(Changed<Health<S>>, Changed<Weight<false>>)>>()
        .unwrap();
    let mut narrow = world
        .prepare_filtered::<Entity, (Changed<Health<S>>, Without<Speed<false>>)>()
        .unwrap();
    let mut wide = world
        .prepare_filtered::<Entity, Or<(Changed<Health<S>>, With<Speed<false>>)>>()
        .unwrap();
    see(&mut both, &mut world);
    see(&mut either, &mut world);
    see(&mut narrow, &mut world);
    see(&mut wide, &mut world);
    for at in [1, 2, 7] {
        world.get_mut::<Health<S>>(ids[at]).unwrap().0 = 0;
    }
    for at in [2, 3] {
        world.get_mut::<Weight<false>>(ids[at]).unwrap().0 = 0;
    }
    // spec: LOOK-09, LOOK-05
    assert_eq!(see(&mut both, &mut world), set(&[ids[2]]));
    assert_eq!(
        see(&mut either, &mut world),
        set(&[ids[1], ids[2], ids[3], ids[7]])
    );
    assert_eq!(see(&mut narrow, &mut world), set(&[ids[1], ids[2]]));
    assert_eq!(see(&mut wide, &mut world), set(&[ids[1], ids[2], ids[7]]));
    assert_eq!(see(&mut wide, &mut world), set(&[ids[7]]));
}

fn a_refusal_writes_nothing<const S: bool>() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..4)
        .map(|n| world.spawn((Health::<S>(n), Weight::<false>(1))))
        .collect();
    let lacking = world.spawn(Weight::<false>(9));
    let dead = world.spawn(());
    world.despawn(dead);
    let mut reader = changed::<S>(&mut world);
    see(&mut reader, &mut world);
    for bad in [lacking, dead, ids[0]] {
        // spec: LOOK-14
        assert!(
            world
                .query_many::<&mut Health<S>, 3>([ids[0], ids[1], bad])
                .is_err()
        );
        assert!(
            world
                .query_many::<&mut Health<S>, 2>([bad, ids[0]])
                .is_err()
                || bad == ids[0]
        );
    }
    let first = {
        let text = see(&mut reader, &mut world);
        let twice = world
            .query_many::<&mut Health<S>, 2>([ids[1], ids[1]])
            .is_err();
        (text, twice)
    };
    // spec: LOOK-09, LOOK-14
    assert_eq!(
        first,
        (BTreeSet::new(), true),
        "what was refused is not written"
    );
    assert!(see(&mut reader, &mut world).is_empty());
    assert!(world.insert(dead, Health::<S>(1)).is_err());
    assert!(world.query::<&mut Health<S>>().chunks().count() > 0);
    see(&mut reader, &mut world);
    // spec: LOOK-14
    assert!(world.query::<&mut Health<S>>().single().is_err());
    assert!(
        world
            .prepare::<(&mut Health<S>, Entity)>()
            .unwrap()
            .single(&mut world)
            .is_err()
    );
    // spec: LOOK-09
    assert!(
        see(&mut reader, &mut world).is_empty(),
        "one of several is not written"
    );
    // With a filter that tells rows apart.
    let mut filtered = world
        .prepare_filtered::<&mut Health<S>, Changed<Weight<false>>>()
        .unwrap();
    filtered.iter(&mut world).unwrap().for_each(drop);
    see(&mut reader, &mut world);
    world.get_mut::<Weight<false>>(ids[0]).unwrap().0 = 2;
    // spec: LOOK-14
    assert!(filtered.get_many_mut(&mut world, [ids[0], ids[2]]).is_err());
    // spec: LOOK-09
    assert!(
        see(&mut reader, &mut world).is_empty(),
        "what was refused is not written"
    );
    assert!(filtered.get_mut(&mut world, ids[0]).is_ok());
    assert_eq!(see(&mut reader, &mut world), set(&[ids[0]]));
}

fn ticks_follow_their_rows<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 30);
    let mut reader = changed::<S>(&mut world);
    see(&mut reader, &mut world);
    let written = [ids[29], ids[10], ids[13], ids[4]];
    for id in written {
        world.get_mut::<Health<S>>(id).unwrap().0 = -1;
    }
    // Rows move between archetypes, into gaps, through shrinking and reclaiming.
    for at in [0, 2, 5, 20, 27] {
        world.despawn(ids[at]);
    }
    for at in [10, 11, 28, 29] {
        world
            .insert(ids[at], Held::<false>(Ledger::default().witness()))
            .unwrap();
    }
    world.remove::<Speed<false>>(ids[13]);
    world
        .insert(ids[4], Note::<true>(Ledger::default().witness()))
        .unwrap();
    world.remove_named(ids[8], "Weight");
    world.shrink_to_fit();
    world.reclaim();
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), set(&written));
    assert!(see(&mut reader, &mut world).is_empty());
    world.clear();
    assert!(see(&mut reader, &mut world).is_empty());
    let new = world.spawn(Health::<S>(1));
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), set(&[new]));
}

fn untracked_kinds_have_no_ticks<const S: bool>() {
    let make = || {
        let mut world = World::new();
        world.spawn_batch((0..1000).map(|n| (Health::<S>(n), Weight::<false>(n))));
        // The first query over a sparse kind makes the stamps by which it hands rows out once.
        world.query::<&mut Health<S>>().for_each(drop);
        world.shrink_to_fit();
        world
    };
    let mut world = make();
    let plain = world.statistics().bytes;
    world
        .query::<(&mut Health<S>, Mut<'_, Weight<false>>)>()
        .for_each(drop);
    let mut prepared = world
        .prepare_filtered::<(&mut Health<S>, Entity), With<Weight<false>>>()
        .unwrap();
    prepared.iter(&mut world).unwrap().for_each(drop);
    // spec: LOOK-09
    assert_eq!(world.statistics().bytes, plain, "nobody tracks anything");
    // 8 bytes of each component, and 16 for the entity; a sparse kind has its set beside that.
    let most = if S {
        1000 * (16 + 16 + 4 + 4 + 8)
    } else {
        1000 * (16 + 16)
    };
    assert!(plain <= most + 2048, "{plain}");
    let mut reader = changed::<S>(&mut world);
    world.shrink_to_fit();
    let tracked = world.statistics().bytes;
    // spec: LOOK-09
    assert!(
        (16_000..16_400).contains(&(tracked - plain)),
        "{}",
        tracked - plain
    );
    // Existing rows are covered.
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world).len(), 1000);
    world.track::<Weight<false>>();
    world.shrink_to_fit();
    let both = world.statistics().bytes;
    // spec: LOOK-09
    assert!(
        (16_000..16_400).contains(&(both - tracked)),
        "{}",
        both - tracked
    );
    let id = world.entities().nth(500).unwrap().id();
    world.get_mut::<Health<S>>(id).unwrap().0 = 0;
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), set(&[id]));
}

fn random_access_applies_the_filter<const S: bool>() {
    let mut world = World::new();
    let ids = spawn::<S>(&mut world, 12);
    let mut reader = world
        .prepare_filtered::<(Entity, &Health<S>), Changed<Health<S>>>()
        .unwrap();
    // spec: LOOK-09, LOOK-14
    assert!(reader.get_mut(&mut world, ids[3]).is_ok());
    assert!(
        reader.get_mut(&mut world, ids[3]).is_ok(),
        "it does not count as a run"
    );
    assert_eq!(reader.iter(&mut world).unwrap().count(), 12);
    assert!(reader.get_mut(&mut world, ids[3]).is_err());
    world.get_mut::<Health<S>>(ids[3]).unwrap().0 = 5;
    // spec: LOOK-09, LOOK-14
    assert_eq!(reader.get_mut(&mut world, ids[3]).unwrap().1.0, 5);
    assert!(reader.get_mut(&mut world, ids[6]).is_err());
    assert_eq!(reader.single(&mut world).unwrap().0, ids[3]);
    assert!(reader.single(&mut world).is_err());
}

#[test]
fn nothing_is_missed_or_invented_over_many_ticks() {
    let mut world = World::new();
    let id = world.spawn(Health::<false>(0));
    let idle = world.spawn(Weight::<false>(0));
    let mut reader = changed::<false>(&mut world);
    let mut sleeper = world
        .prepare_filtered::<Entity, Changed<Weight<false>>>()
        .unwrap();
    see(&mut reader, &mut world);
    assert_eq!(see(&mut sleeper, &mut world), set(&[idle]));
    // Each run of any query is a tick. Ticks have 64 bits, so that a reader idle for 2^32 of them is nothing
    // special: nothing about a tick of 16 or 20 bits is either.
    for n in 0..300_000_u32 {
        if n % 1000 == 0 {
            world.get_mut::<Health<false>>(id).unwrap().0 += 1;
            // spec: LOOK-09
            assert_eq!(see(&mut reader, &mut world), set(&[id]));
        }
        // spec: LOOK-09
        assert_eq!(reader.iter(&mut world).unwrap().next(), None);
    }
    // spec: LOOK-09
    assert!(see(&mut sleeper, &mut world).is_empty());
    world.get_mut::<Weight<false>>(idle).unwrap().0 = 1;
    assert_eq!(see(&mut sleeper, &mut world), set(&[idle]));
    // Two ticks, added and changed, of 64 bits each for a component.
    let mut plain = World::new();
    plain.spawn_batch((0..1024).map(Health::<false>));
    plain.shrink_to_fit();
    let before = plain.statistics().bytes;
    plain.track::<Health<false>>();
    plain.shrink_to_fit();
    // spec: LOOK-09
    assert!(plain.statistics().bytes - before >= 1024 * 2 * size_of::<u64>());
}
