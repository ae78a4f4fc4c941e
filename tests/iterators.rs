//! What the iterators of queries say of themselves: how many items are left, how long a chunk is, which rows it has.

mod kinds;

use ecs::{Changed, Data, Entity, Mut, Named, QueryError, TypeName, With, Without, World, json};
use kinds::{Health, Speed, Weight, for_both_storages};

for_both_storages! {
    optional_rows_know_how_many_are_left
    batches_of_rows_taken_one_by_one_know_how_many_are_left
    optional_tuples_of_every_kind_of_term
    a_kind_asked_for_twice_is_needed_if_one_of_them_needs_it
}

/// Ten entities with a health, of which the last three have a speed too.
fn world<const S: bool>() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let ids = (0..10)
        .map(|n| {
            let id = world.spawn((Health::<false>(n),));
            if n >= 7 {
                world.insert(id, Speed::<S>(n)).unwrap();
            }
            id
        })
        .collect();
    (world, ids)
}

/// Walks an iterator to its end; before each step it says exactly how many items are left. Returns how many there were.
#[track_caller]
fn exact(items: impl IntoIterator) -> usize {
    let mut items = items.into_iter();
    let (count, upper) = items.size_hint();
    assert_eq!(upper, Some(count));
    for left in (0..count).rev() {
        assert!(items.next().is_some());
        assert_eq!(items.size_hint(), (left, Some(left)));
    }
    assert!(items.next().is_none());
    assert_eq!(items.size_hint(), (0, Some(0)));
    count
}

#[test]
fn chunks_and_batches_know_how_many_are_left() {
    let (mut world, ids) = world::<false>();
    let all = world.query::<(Entity, &Health<false>, Mut<'_, Speed<false>>)>();
    // spec: LOOK-13
    assert_eq!(all.chunks().map(exact).collect::<Vec<_>>(), [3]);
    let all = world.query::<Entity>();
    assert_eq!(all.chunks().map(exact).collect::<Vec<_>>(), [7, 3]);
    let all = world.query::<Mut<'_, Health<false>>>();
    assert_eq!(all.chunks().map(exact).collect::<Vec<_>>(), [7, 3]);
    let all = world.query::<(&Health<false>, Option<Mut<'_, Speed<false>>>)>();
    // spec: LOOK-08
    assert_eq!(all.batches(4).map(exact).collect::<Vec<_>>(), [4, 3, 3]);

    let batches = world.query::<Entity>().batches(4);
    let found: Vec<Vec<Entity>> = batches.map(Iterator::collect).collect();
    // spec: LOOK-08
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3, 3]);
    // spec: LOOK-08
    assert_eq!(found.concat(), ids);

    // One that was begun gives the rest of its archetype first.
    let mut begun = world.query::<&Health<false>>();
    assert!(begun.next().is_some());
    // spec: LOOK-08
    assert_eq!(begun.batches(4).map(exact).collect::<Vec<_>>(), [4, 2, 3]);
    // Filters that do not tell the rows of an archetype apart leave it whole.
    let with = world.query_filtered::<&Health<false>, With<Speed<false>>>();
    // spec: LOOK-13
    assert_eq!(with.chunks().map(exact).collect::<Vec<_>>(), [3]);
    let without = world.query_filtered::<&Health<false>, Without<Speed<false>>>();
    // spec: LOOK-13
    assert_eq!(without.chunks().map(exact).collect::<Vec<_>>(), [7]);
    // Pieces have at least one row.
    assert_eq!(
        world
            .query::<&Speed<false>>()
            .batches(0)
            .map(exact)
            .sum::<usize>(),
        3
    );
}

fn optional_rows_know_how_many_are_left<const S: bool>() {
    let (mut world, _) = world::<S>();
    let optional = world.query::<Option<&Speed<S>>>();
    let rows = optional.chunks().map(exact).sum::<usize>();
    // spec: LOOK-05
    assert_eq!(rows, 10);
    let batches = world.query::<Option<&Speed<S>>>().batches(4);
    let expected: &[usize] = if S { &[4, 4, 2] } else { &[4, 3, 3] };
    // spec: LOOK-08
    assert_eq!(batches.map(exact).collect::<Vec<_>>(), expected);
    let lengths = world.query::<Option<&Speed<S>>>().chunks().map(|chunk| {
        let slices = chunk.into_slices();
        let present = slices.slices.map(<[_]>::len);
        assert!(present.is_none_or(|present| present == slices.len));
        slices.len
    });
    // spec: LOOK-13
    assert_eq!(lengths.sum::<usize>(), 10);
}

fn batches_of_rows_taken_one_by_one_know_how_many_are_left<const S: bool>() {
    let (mut world, ids) = world::<S>();
    let mut changed = world
        .prepare_filtered::<(Entity, &Health<false>, Option<&Speed<S>>), Changed<Health<false>>>()
        .unwrap();
    let batches = changed.iter(&mut world).unwrap().batches(4);
    // A sparse kind leaves its entities in one archetype.
    let expected = if S { [4, 4, 2] } else { [4, 3, 3] };
    // spec: LOOK-08, LOOK-09
    assert_eq!(batches.map(exact).collect::<Vec<_>>(), expected);
    for n in [1, 2, 5, 6, 8] {
        world.get_mut::<Health<false>>(ids[n]).unwrap().0 += 1;
    }
    let batches = changed.iter(&mut world).unwrap().batches(3);
    let expected: &[usize] = if S { &[3, 2] } else { &[3, 1, 1] };
    // spec: LOOK-08, LOOK-09
    assert_eq!(batches.map(exact).collect::<Vec<_>>(), expected);
    let statistics = changed.statistics();
    // spec: LOOK-07
    assert_eq!(statistics.visited, 2 * statistics.matched as u64);
}

#[test]
fn the_entities_of_a_chunk() {
    let (mut world, ids) = world::<false>();
    let mut seen = Vec::new();
    for chunk in world.query::<(Entity, Mut<'_, Health<false>>)>().chunks() {
        let (rows, mut healths) = chunk.into_slices();
        assert!(!rows.is_empty() && !healths.is_empty());
        assert_eq!(rows.len(), healths.len());
        assert_eq!(exact(rows.iter()), rows.len());
        // spec: LOOK-13
        assert!(rows.iter().eq(&rows) && rows.into_iter().eq(rows.iter()));
        for (row, entity) in rows.iter().enumerate() {
            assert_eq!(rows.get(row), Some(entity));
            assert_eq!(rows.indices()[row], entity.index());
            assert_eq!(healths.get_mut(row).map(|health| health.0), {
                let at = ids.iter().position(|id| *id == entity);
                at.map(|at| i64::try_from(at).unwrap())
            });
            seen.push(entity);
        }
        assert_eq!(rows.get(rows.len()), None);
        assert!(healths.get_mut(rows.len()).is_none());
        assert_eq!(exact(healths.into_iter()), rows.len());
    }
    assert_eq!(seen, ids);
}

/// What the entities with a speed, a weight and a health give.
type Both<'w, const S: bool> = (
    Entity,
    Mut<'w, Speed<S>>,
    &'w Weight<S>,
    Mut<'w, Health<false>>,
);

fn optional_tuples_of_every_kind_of_term<const S: bool>() {
    let (mut world, ids) = world::<S>();
    for (id, n) in [(ids[1], 1), (ids[8], 8)] {
        world.insert(id, Weight::<S>(n)).unwrap();
    }
    let rows = |world: &mut World| {
        let query = world.query::<(Entity, Option<Both<'_, S>>)>();
        let there = query.map(|(id, both)| {
            let both = both.map(|(same, speed, weight, health)| {
                assert!(same == id && speed.0 == weight.0);
                health.0
            });
            (id, both)
        });
        let mut there: Vec<_> = there.collect();
        there.sort();
        there
    };
    let expected: Vec<_> = ids
        .iter()
        .map(|id| (*id, (*id == ids[8]).then_some(8)))
        .collect();
    // spec: LOOK-05
    assert_eq!(rows(&mut world), expected);
    let mut prepared = world
        .prepare::<(Entity, &Health<false>, Option<(Entity, &Speed<S>)>)>()
        .unwrap();
    let view = prepared.view(&world).unwrap();
    for (n, id) in (0..).zip(&ids) {
        let (same, health, speed) = view.get(*id).unwrap();
        // spec: LOOK-05, LOOK-14
        assert_eq!((same, health.0), (*id, n));
        // spec: LOOK-05, LOOK-14
        assert_eq!(
            speed.map(|(same, speed)| (same, speed.0)),
            (n >= 7).then_some((*id, n))
        );
    }
}

fn a_kind_asked_for_twice_is_needed_if_one_of_them_needs_it<const S: bool>() {
    let (mut world, ids) = world::<S>();
    let expected: Vec<_> = (7..)
        .zip(&ids[7..])
        .map(|(n, id)| (*id, n, Some(n)))
        .collect();
    let first: Vec<_> = world
        .query::<(Entity, &Speed<S>, Option<&Speed<S>>)>()
        .map(|(id, speed, again)| (id, speed.0, again.map(|speed| speed.0)))
        .collect();
    let last: Vec<_> = world
        .query::<(Entity, Option<&Speed<S>>, &Speed<S>)>()
        .map(|(id, again, speed)| (id, speed.0, again.map(|speed| speed.0)))
        .collect();
    // spec: LOOK-05
    assert_eq!((first, last), (expected.clone(), expected));
    let prepared = world.prepare::<(Option<&Speed<S>>, &Speed<S>)>().unwrap();
    // A sparse kind leaves its entities in the archetype of those without it.
    let archetypes = world.statistics().archetypes;
    // spec: LOOK-07
    assert_eq!(
        prepared.statistics().matched,
        if S { archetypes } else { 1 }
    );
}

/// Names by number.
struct Number<const AT: usize>;

const NUMBERS: [&str; 17] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
];

impl<const AT: usize> TypeName for Number<AT> {
    const NAME: &'static str = NUMBERS[AT];
}

#[test]
fn a_query_asks_for_sixteen_kinds_at_most() {
    type One<const AT: usize> = Named<&'static Data, Number<AT>>;
    type Eight = (
        One<0>,
        One<1>,
        One<2>,
        One<3>,
        One<4>,
        One<5>,
        One<6>,
        One<7>,
    );
    type More = (
        One<8>,
        One<9>,
        One<10>,
        One<11>,
        One<12>,
        One<13>,
        One<14>,
        One<15>,
    );
    let mut world = World::new();
    let id = world.spawn(());
    for name in &NUMBERS[..16] {
        world.insert_named(id, name, Data(json!(name))).unwrap();
    }
    let found: Vec<_> = world
        .query::<(Eight, More)>()
        .map(|(eight, more)| (eight.7.0.clone(), more.7.0.clone()))
        .collect();
    // spec: LOOK-05
    assert_eq!(found, [(json!("7"), json!("15"))]);
    // One that is there already takes no place.
    assert_eq!(world.query::<(Eight, More, One<3>)>().count(), 1);
    // spec: LOOK-05
    assert!(matches!(
        world.try_query::<(Eight, More, One<16>)>().err(),
        Some(QueryError::TooManyTerms { most: 16 })
    ));
}

#[test]
fn a_prepared_query_survives_archetypes_that_come_and_go() {
    let mut world = World::new();
    let goes = world.spawn((Weight::<false>(1),));
    let stays = world.spawn((Health::<false>(2), Speed::<false>(3)));
    let mut query = world.prepare::<(Entity, &Health<false>)>().unwrap();
    assert_eq!(query.iter(&mut world).unwrap().count(), 1);
    let archetypes = world.statistics().archetypes;
    world.despawn(goes);
    assert!(world.reclaim() > 0);
    // As many as before, with other numbers: each name makes one more.
    for name in NUMBERS {
        if world.statistics().archetypes < archetypes {
            let id = world.spawn(());
            world.insert_named(id, name, Data(json!(name))).unwrap();
        }
    }
    assert_eq!(world.statistics().archetypes, archetypes);
    let found: Vec<_> = query
        .iter(&mut world)
        .unwrap()
        .map(|(id, h)| (id, h.0))
        .collect();
    // spec: LOOK-07, ENT-09
    assert_eq!(found, [(stays, 2)]);
    // spec: LOOK-14, ENT-09
    assert_eq!(query.get(&world, stays), Some((stays, &Health(2))));
}
