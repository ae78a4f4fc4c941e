//! Queries: what they match and yield, in which order, at which cost.

#![allow(
    clippy::cast_possible_wrap,
    clippy::many_single_char_names,
    reason = "small numbers and short names"
)]

mod kinds;

use std::collections::HashSet;

use ecs::{Entity, Named, Or, Query, QueryError, TypeName, With, Without, World};
use kinds::{Health, Held, Ledger, Marker, Speed, Weight, for_both_storages};

for_both_storages! {
    optional_terms_yield_what_the_entity_has
    filters_select_as_has_does
    iteration_is_repeatable
    batches_yield_each_once
    chunks_are_slices_in_step
    one_many_single_and_pairs
    named_terms_do_not_alias
}

/// Entities with every set of four kinds, several rows each, in a shuffled order.
fn mixed<const S: bool>() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut ids = Vec::new();
    for n in 0..96_i64 {
        let bits = (n * 7) % 16;
        let id = world.spawn(());
        if bits & 1 != 0 {
            world.insert(id, Health::<S>(n)).unwrap();
        }
        if bits & 2 != 0 {
            world.insert(id, Speed::<false>(n * 10)).unwrap();
        }
        if bits & 4 != 0 {
            world.insert(id, Weight::<S>(n * 100)).unwrap();
        }
        if bits & 8 != 0 {
            world.insert(id, Marker::<false>(())).unwrap();
        }
        ids.push(id);
    }
    for n in [3, 17, 18, 40, 77] {
        world.despawn(ids[n]);
    }
    (world, ids)
}

type Row = (Entity, Option<i64>, Option<i64>, Option<i64>);

fn expected<const S: bool>(world: &World) -> Vec<Row> {
    world
        .entities()
        .map(|entity| {
            (
                entity.id(),
                entity.get::<Health<S>>().map(|h| h.0),
                entity.get::<Speed<false>>().map(|s| s.0),
                entity.get::<Weight<S>>().map(|w| w.0),
            )
        })
        .collect()
}

fn optional_terms_yield_what_the_entity_has<const S: bool>() {
    let (mut world, _) = mixed::<S>();
    let rows = expected::<S>(&world);
    let found: Vec<Row> = world
        .query::<(
            Entity,
            Option<&Health<S>>,
            Option<&mut Speed<false>>,
            Option<&Weight<S>>,
        )>()
        .map(|(id, h, s, w)| (id, h.map(|h| h.0), s.map(|s| s.0), w.map(|w| w.0)))
        .collect();
    // spec: LOOK-05, LOOK-06
    assert_eq!(found, rows);

    // An optional tuple is there when all its parts are, and never with another entity's parts.
    let both: Vec<_> = rows.iter().map(|(id, h, s, _)| (*id, h.zip(*s))).collect();
    let found: Vec<_> = world
        .query::<(Entity, Option<(&Health<S>, &Speed<false>)>)>()
        .map(|(id, pair)| (id, pair.map(|(h, s)| (h.0, s.0))))
        .collect();
    // spec: LOOK-05
    assert_eq!(found, both);
    let found: Vec<_> = world
        .query::<(Entity, Option<(&mut Speed<false>, &mut Health<S>)>)>()
        .map(|(id, pair)| (id, pair.map(|(s, h)| (h.0, s.0))))
        .collect();
    // spec: LOOK-05
    assert_eq!(found, both);
    let triple: Vec<_> = rows
        .iter()
        .map(|(id, h, s, w)| (*id, h.zip(*w).map(|(h, w)| (h, w, *s))))
        .collect();
    let found: Vec<_> = world
        .query::<(
            Entity,
            Option<(&Weight<S>, (Option<&Speed<false>>, &mut Health<S>))>,
        )>()
        .map(|(id, pair)| (id, pair.map(|(w, (s, h))| (h.0, w.0, s.map(|s| s.0)))))
        .collect();
    // spec: LOOK-05
    assert_eq!(found, triple);

    // The same row by row.
    for (id, pair) in &both {
        let one = world
            .query_one::<Option<(&Health<S>, &mut Speed<false>)>>(*id)
            .unwrap()
            .map(|(h, s)| (h.0, s.0));
        // spec: LOOK-05, LOOK-14
        assert_eq!(one, *pair);
        let mut prepared = world
            .prepare::<Option<(&Health<S>, &Speed<false>)>>()
            .unwrap();
        let viewed = prepared.get(&world, *id).unwrap().map(|(h, s)| (h.0, s.0));
        // spec: LOOK-05
        assert_eq!(viewed, *pair);
    }
    let ids: [Entity; 91] = std::array::from_fn(|at| both[90 - at].0);
    let many = world
        .query_many::<Option<(&Health<S>, &mut Speed<false>)>, 91>(ids)
        .unwrap()
        .map(|pair| pair.map(|(h, s)| (h.0, s.0)));
    // spec: LOOK-05, LOOK-14
    assert!(many.iter().eq(both.iter().rev().map(|(_, pair)| pair)));
}

fn select<Q: Query + 'static, F: ecs::Timeless + 'static>(
    world: &mut World,
    id: impl Fn(Q::Item<'_>) -> Entity,
) -> Vec<Entity> {
    world.query_filtered::<Q, F>().map(id).collect()
}

fn filters_select_as_has_does<const S: bool>() {
    type Two<A, B> = (A, B);
    let (mut world, _) = mixed::<S>();
    let has = |entity: ecs::EntityRef<'_>, which: usize| match which {
        0 => entity.get::<Health<S>>().is_some(),
        1 => entity.get::<Speed<false>>().is_some(),
        2 => entity.get::<Weight<S>>().is_some(),
        _ => entity.get::<Marker<false>>().is_some(),
    };
    let sets: Vec<(Entity, [bool; 4])> = world
        .entities()
        .map(|entity| (entity.id(), [0, 1, 2, 3].map(|which| has(entity, which))))
        .collect();
    let model = |test: &dyn Fn([bool; 4]) -> bool| -> Vec<Entity> {
        sets.iter()
            .filter(|(_, set)| test(*set))
            .map(|(id, _)| *id)
            .collect()
    };
    macro_rules! check {
        ($filter:ty, $test:expr) => {
            let test: &dyn Fn([bool; 4]) -> bool = &$test;
            // spec: LOOK-05, LOOK-06
            assert_eq!(
                select::<Entity, $filter>(&mut world, |id| id),
                model(test),
                stringify!($filter)
            );
            // spec: LOOK-05
            assert_eq!(
                select::<(Entity, &Health<S>), $filter>(&mut world, |(id, _)| id),
                model(&|set| set[0] && test(set)),
                stringify!($filter)
            );
            // spec: LOOK-05
            assert_eq!(
                select::<(&mut Speed<false>, Entity), $filter>(&mut world, |(_, id)| id),
                model(&|set| set[1] && test(set)),
                stringify!($filter)
            );
        };
    }
    check!((), |_| true);
    check!(With<Health<S>>, |[h, ..]| h);
    check!(Without<Health<S>>, |[h, ..]| !h);
    check!(With<Speed<false>>, |[_, s, ..]| s);
    check!(Without<Speed<false>>, |[_, s, ..]| !s);
    check!(Two<With<Health<S>>, Without<Speed<false>>>, |[h, s, ..]| h
        && !s);
    check!(Two<Without<Health<S>>, Without<Weight<S>>>, |[
        h,
        _,
        w,
        _,
    ]| !h && !w);
    check!(Or<(With<Health<S>>, With<Speed<false>>)>, |[h, s, ..]| h
        || s);
    check!(Or<(Without<Health<S>>, With<Marker<false>>)>, |[
        h,
        _,
        _,
        m,
    ]| !h
        || m);
    check!(Or<(With<Weight<S>>,)>, |[_, _, w, _]| w);
    check!(
        Or<(
            (With<Health<S>>, With<Speed<false>>),
            (Without<Weight<S>>, Without<Marker<false>>)
        )>,
        |[h, s, w, m]| (h && s) || (!w && !m)
    );
    check!(
        Two<
            Or<(With<Health<S>>, With<Weight<S>>)>,
            Or<(Without<Speed<false>>, With<Marker<false>>)>,
        >,
        |[h, s, w, m]| (h || w) && (!s || m)
    );
    check!(Two<With<Health<S>>, Without<Health<S>>>, |_| false);
    check!(With<Held<S>>, |_| false);
    check!(Without<Held<S>>, |_| true);
}

fn iteration_is_repeatable<const S: bool>() {
    let run = || {
        let (mut world, ids) = mixed::<S>();
        for n in (0..96).step_by(5) {
            world.remove::<Health<S>>(ids[n]);
            let _ = world.insert(ids[n], Weight::<S>(-1));
        }
        let place = |id: Entity| ids.iter().position(|known| *known == id).unwrap();
        let order: Vec<usize> = world
            .query::<(Entity, &Weight<S>)>()
            .map(|(id, _)| place(id))
            .collect();
        order
    };
    let first = run();
    // spec: LOOK-06
    assert!(first.len() > 40);
    for _ in 0..5 {
        assert_eq!(run(), first);
    }
}

#[test]
fn rows_are_in_order_and_the_last_fills_the_gap() {
    let mut world = World::new();
    let b: Vec<Entity> = (0..3).map(|n| world.spawn(Speed::<false>(n))).collect();
    let a: Vec<Entity> = (0..5)
        .map(|n| world.spawn((Speed::<false>(n), Health::<false>(n))))
        .collect();
    world.despawn(a[1]);
    world.despawn(b[0]);
    let order: Vec<Entity> = world
        .query::<(Entity, &Speed<false>)>()
        .map(|(id, _)| id)
        .collect();
    // spec: LOOK-06
    assert_eq!(order, [b[2], b[1], a[0], a[4], a[2], a[3]]);
    // The one that was moved is still reached by its id.
    assert_eq!(world.get::<Health<false>>(a[4]), Some(&Health(4)));
    assert_eq!(world.get::<Speed<false>>(b[2]), Some(&Speed(2)));
}

/// An entity in each of 10,000 archetypes, made of 14 named kinds.
fn ten_thousand_archetypes(world: &mut World) -> Vec<Entity> {
    (0..10_000_u32)
        .map(|bits| {
            let id = world.spawn(());
            for kind in 0..14 {
                if bits & (1 << kind) != 0 {
                    world
                        .insert_named(id, &format!("K{kind}"), Marker::<false>(()))
                        .unwrap();
                }
            }
            id
        })
        .collect()
}

#[test]
fn a_prepared_query_visits_what_matches_and_nothing_else() {
    let mut world = World::new();
    let ids = ten_thousand_archetypes(&mut world);
    assert!(world.statistics().archetypes >= 10_000);
    let before = world.statistics().archetypes as u64;
    let mut query = world.prepare::<(Entity, &Health<false>)>().unwrap();
    // spec: LOOK-07
    assert_eq!(query.statistics().matched, 0);
    assert_eq!(query.statistics().examined, before);
    assert_eq!(query.iter(&mut world).unwrap().count(), 0);
    assert_eq!(query.statistics().visited, 0);
    let mut with = [ids[5], ids[777], ids[9999]];
    for id in with {
        world.insert(id, Health::<false>(1)).unwrap();
    }
    with.sort_unstable();
    for run in 1..=10_u64 {
        let mut found: Vec<Entity> = query.iter(&mut world).unwrap().map(|(id, _)| id).collect();
        found.sort_unstable();
        assert_eq!(found, with);
        let statistics = query.statistics();
        // spec: LOOK-07
        assert_eq!(statistics.matched, 3);
        assert_eq!(statistics.visited, 3 * run, "only what matches is visited");
        assert_eq!(
            statistics.examined,
            world.statistics().archetypes as u64,
            "each archetype is looked at once"
        );
    }
    // A new archetype that does not match, and one that does.
    world.spawn((Marker::<false>(()), Speed::<false>(1)));
    world.spawn((Marker::<false>(()), Speed::<false>(1), Health::<false>(4)));
    let examined = query.statistics().examined;
    // spec: LOOK-07
    assert_eq!(query.iter(&mut world).unwrap().count(), 4);
    assert_eq!(query.statistics().examined - examined, 2);
    assert_eq!(query.statistics().matched, 4);
    // Filters count as well.
    let mut filtered = world
        .prepare_filtered::<Entity, (With<Health<false>>, Without<Speed<false>>)>()
        .unwrap();
    // spec: LOOK-07
    assert_eq!(filtered.iter(&mut world).unwrap().count(), 3);
    assert_eq!(filtered.statistics().visited, 3);
}

fn batches_yield_each_once<const S: bool>() {
    let (mut world, _) = mixed::<S>();
    world.spawn_batch((0..5000).map(|n| (Health::<S>(n), Speed::<false>(0))));
    let serial: Vec<Entity> = world
        .query::<(Entity, &Health<S>)>()
        .map(|(id, _)| id)
        .collect();
    for size in [0, 1, 7, 64, 1000, usize::MAX] {
        let batches: Vec<Vec<Entity>> = world
            .query::<(Entity, &mut Health<S>)>()
            .batches(size)
            .map(|batch| batch.map(|(id, _)| id).collect())
            .collect();
        // spec: LOOK-08
        assert!(batches.iter().all(|batch| batch.len() <= size.max(1)));
        assert_eq!(batches.concat(), serial, "size {size}");
    }
    let before: i64 = world.query::<&Health<S>>().map(|h| h.0).sum();
    std::thread::scope(|scope| {
        for batch in world.query::<&mut Health<S>>().batches(256) {
            scope.spawn(move || batch.for_each(|health| health.0 += 1));
        }
    });
    let after: i64 = world.query::<&Health<S>>().map(|h| h.0).sum();
    // spec: LOOK-08
    assert_eq!(after - before, serial.len() as i64);
    // An iteration that has begun: the batches have the rest.
    for begun in [1, 10, 100, 2000] {
        let mut iter = world.query::<(Entity, &Health<S>)>();
        let mut seen: Vec<Entity> = iter.by_ref().take(begun).map(|(id, _)| id).collect();
        seen.extend(iter.batches(33).flatten().map(|(id, _)| id));
        // spec: LOOK-08
        assert_eq!(seen, serial, "begun {begun}");
    }
    for (filtered, size) in [(true, 3), (true, 500)] {
        assert!(filtered);
        let expected: Vec<Entity> =
            select::<(Entity, &Health<S>), Without<Weight<S>>>(&mut world, |(id, _)| id);
        let found: Vec<Entity> = world
            .query_filtered::<(Entity, &mut Health<S>), Without<Weight<S>>>()
            .batches(size)
            .flatten()
            .map(|(id, _)| id)
            .collect();
        // spec: LOOK-08
        assert_eq!(found, expected);
    }
}

fn chunks_are_slices_in_step<const S: bool>() {
    let (mut world, _) = mixed::<S>();
    let serial: Vec<(Entity, i64)> = world
        .query::<(Entity, &Speed<false>, &Health<S>)>()
        .map(|(id, s, _)| (id, s.0))
        .collect();
    let mut found = Vec::new();
    for chunk in world
        .query::<(Entity, &mut Speed<false>, &Health<S>, Option<&Weight<S>>)>()
        .chunks()
    {
        let (ids, speeds, healths, weights) = chunk.into_slices();
        // spec: LOOK-13
        assert_eq!(ids.len(), speeds.len());
        assert_eq!(ids.len(), healths.len());
        assert_eq!(weights.len, ids.len());
        for (row, id) in ids.iter().enumerate() {
            assert_eq!(ids.get(row), Some(id));
            assert_eq!(speeds[row].0, healths[row].0 * 10);
            if let Some(weights) = weights.slices {
                assert_eq!(weights[row].0, healths[row].0 * 100);
            }
            found.push((id, speeds[row].0));
        }
    }
    // spec: LOOK-13, LOOK-06
    assert_eq!(found, serial);
    for chunk in world.query::<&mut Health<S>>().chunks() {
        for health in chunk {
            health.0 = -1;
        }
    }
    // spec: LOOK-13
    assert!(world.query::<&Health<S>>().all(|health| health.0 == -1));
}

fn one_many_single_and_pairs<const S: bool>() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..6)
        .map(|n| {
            let id = world.spawn(Health::<S>(n));
            if n % 2 == 0 {
                world.insert(id, Speed::<false>(n)).unwrap();
            }
            id
        })
        .collect();
    let without = world.spawn(Weight::<S>(1));
    let dead = world.spawn(Health::<S>(1));
    world.despawn(dead);
    world.query_one::<&mut Health<S>>(ids[3]).unwrap().0 = 33;
    // spec: LOOK-14
    assert_eq!(world.get::<Health<S>>(ids[3]), Some(&Health(33)));
    let [a, b, c] = world
        .query_many::<(Entity, &mut Health<S>), 3>([ids[5], ids[0], ids[2]])
        .unwrap();
    // spec: LOOK-14
    assert_eq!([a.0, b.0, c.0], [ids[5], ids[0], ids[2]]);
    std::mem::swap(a.1, c.1);
    b.1.0 = 100;
    assert_eq!(world.get::<Health<S>>(ids[5]), Some(&Health(2)));
    assert_eq!(world.get::<Health<S>>(ids[2]), Some(&Health(5)));
    assert_eq!(world.get::<Health<S>>(ids[0]), Some(&Health(100)));
    let before = world.export().to_string();
    for at in [[0, 1, 0], [1, 0, 0], [0, 0, 1], [4, 4, 4]] {
        let error = world
            .query_many::<&mut Health<S>, 3>(at.map(|at| ids[at]))
            .unwrap_err();
        // spec: LOOK-14
        assert!(matches!(error, QueryError::Repeated { .. }), "{error:?}");
    }
    for bad in [without, dead] {
        let error = world
            .query_many::<&mut Health<S>, 2>([ids[0], bad])
            .unwrap_err();
        // spec: LOOK-14
        assert_eq!(error, QueryError::NoMatch { entity: bad });
        let error = world.query_one::<&Health<S>>(bad).unwrap_err();
        assert_eq!(error, QueryError::NoMatch { entity: bad });
    }
    assert_eq!(world.export().to_string(), before);
    assert!(world.query_many::<&mut Health<S>, 0>([]).is_ok());

    // spec: LOOK-14
    assert_eq!(world.query::<&Weight<S>>().single(), Ok(&Weight(1)));
    assert_eq!(
        world.query::<&mut Marker<S>>().single(),
        Err(QueryError::NoneMatches)
    );
    assert_eq!(
        world.query::<&Health<S>>().single(),
        Err(QueryError::SeveralMatch)
    );
    let mut begun = world.query::<&Health<S>>();
    begun.by_ref().take(4).for_each(drop);
    assert_eq!(begun.single(), Err(QueryError::SeveralMatch));
    let mut begun = world.query::<&Health<S>>();
    begun.by_ref().take(5).for_each(drop);
    // spec: LOOK-14
    assert!(begun.single().is_ok());
    let mut prepared = world.prepare::<&mut Weight<S>>().unwrap();
    prepared.single(&mut world).unwrap().0 = 2;
    world.spawn(Weight::<S>(3));
    assert_eq!(prepared.single(&mut world), Err(QueryError::SeveralMatch));

    let order: Vec<Entity> = world
        .query::<(Entity, &Health<S>)>()
        .map(|(id, _)| id)
        .collect();
    let mut expected = Vec::new();
    for (at, first) in order.iter().enumerate() {
        expected.extend(order[at + 1..].iter().map(|second| (*first, *second)));
    }
    let mut pairs = world.prepare::<(Entity, &mut Health<S>)>().unwrap();
    let mut found = Vec::new();
    pairs
        .for_each_pair(&mut world, |a, b| {
            a.1.0 += 1;
            b.1.0 += 1;
            found.push((a.0, b.0));
        })
        .unwrap();
    // spec: LOOK-14
    assert_eq!(found, expected);
    assert_eq!(found.len(), 15);
    // spec: LOOK-14
    assert_eq!(world.get::<Health<S>>(ids[1]), Some(&Health(1 + 5)));
}

struct Spare;
impl TypeName for Spare {
    const NAME: &'static str = "Spare";
}

fn named_terms_do_not_alias<const S: bool>() {
    let mut world = World::new();
    let both = world.spawn((Health::<S>(1), Named::<_, Spare>::new(Health::<S>(50))));
    let own = world.spawn(Health::<S>(2));
    let spare = world.spawn(Named::<_, Spare>::new(Health::<S>(60)));
    let other = world.spawn(Named::<_, Spare>::new(Speed::<S>(70)));
    for (health, spare) in world.query::<(&mut Health<S>, Named<&mut Health<S>, Spare>)>() {
        std::mem::swap(health, spare);
    }
    // spec: LOOK-05
    assert_eq!(world.get::<Health<S>>(both), Some(&Health(50)));
    assert_eq!(
        world.get_named::<Health<S>>(both, "Spare"),
        Some(&Health(1))
    );
    let owners: HashSet<Entity> = world
        .query::<(Entity, &Health<S>)>()
        .map(|(id, _)| id)
        .collect();
    // spec: LOOK-05
    assert_eq!(owners, HashSet::from([both, own]));
    let spares: HashSet<Entity> = world
        .query::<(Entity, Named<&Health<S>, Spare>)>()
        .map(|(id, _)| id)
        .collect();
    // spec: LOOK-05
    assert_eq!(spares, HashSet::from([both, spare]));
    let others: Vec<_> = world
        .query::<(Entity, Named<&Speed<S>, Spare>)>()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(others, [other]);
    assert_eq!(world.query::<(&Health<S>, &Health<S>)>().count(), 2);
}

#[test]
fn a_zero_sized_component_is_queried_like_any_other() {
    let mut world = World::new();
    let ledger = Ledger::default();
    for n in 0..100 {
        let id = world.spawn(Held::<false>(ledger.witness()));
        if n % 3 == 0 {
            world.insert(id, Marker::<true>(())).unwrap();
        }
        if n % 2 == 0 {
            world.insert(id, Marker::<false>(())).unwrap();
        }
    }
    // The later one replaced the earlier: both are called "Marker".
    // spec: LOOK-05, COMP-08
    assert_eq!(world.query::<&mut Marker<false>>().count(), 50);
    assert_eq!(world.query::<&mut Marker<true>>().count(), 17);
}
