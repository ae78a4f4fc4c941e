//! Queries that run again and again over a world that changes in between: what a query keeps of an archetype from one run
//! to the next must never be more than what is still true.

mod kinds;

use ecs::{
    Changed, Context, Entity, Matches, Mut, OwnedContainer, Prepared, Query, Register, System,
    SystemResult, World, parallel,
};
use kinds::readers::{changed, see, set, spawn};
use kinds::{Health, Speed};

type Table = Health<false>;

/// Adds one to each row by `work`, before and after the kind is tracked, and compares what a reader sees.
fn marks_once_tracked<Q: Query + 'static>(work: impl Fn(&mut Prepared<Q>, &mut World)) {
    let mut world = World::new();
    let ids = spawn::<false>(&mut world, 30);
    let mut writer = world.prepare::<Q>().unwrap();
    for _ in 0..3 {
        work(&mut writer, &mut world);
    }
    let mut reader = changed::<false>(&mut world);
    see(&mut reader, &mut world);
    assert!(see(&mut reader, &mut world).is_empty());
    work(&mut writer, &mut world);
    // spec: LOOK-09
    assert_eq!(see(&mut reader, &mut world), set(&ids));
    assert!(see(&mut reader, &mut world).is_empty());
    let sum: i64 = world.query::<&Table>().map(|health| health.0).sum();
    assert_eq!(sum, (0..30).sum::<i64>() + 4 * 30);
}

#[test]
fn a_query_that_ran_before_its_kind_was_tracked_marks_what_it_writes_then() {
    marks_once_tracked::<&mut Table>(|query, world| {
        query.iter(world).unwrap().for_each(|health| health.0 += 1);
    });
    marks_once_tracked::<&mut Table>(|query, world| {
        for health in query.iter(world).unwrap() {
            health.0 += 1;
        }
    });
    marks_once_tracked::<&mut Table>(|query, world| {
        for chunk in query.iter(world).unwrap().chunks() {
            for health in chunk.into_slices() {
                health.0 += 1;
            }
        }
    });
    marks_once_tracked::<(Option<&Speed<false>>, Mut<'_, Table>)>(|query, world| {
        query
            .iter(world)
            .unwrap()
            .for_each(|(_, mut health)| health.0 += 1);
    });
    marks_once_tracked::<(Entity, Option<&mut Table>)>(|query, world| {
        for (_, health) in query.iter(world).unwrap() {
            health.unwrap().0 += 1;
        }
    });
}

#[test]
fn a_query_sees_each_change_between_its_runs() {
    let mut world = World::new();
    let mut both = world
        .prepare::<(&mut Table, Option<&mut Speed<false>>)>()
        .unwrap();
    let mut run = |world: &mut World, expected: &[(i64, Option<i64>)]| {
        // By folding and in a loop; each adds one to what it finds.
        let mut found: Vec<_> = Vec::new();
        both.iter(world).unwrap().for_each(|(health, speed)| {
            health.0 += 1;
            found.push((health.0, speed.map(|speed| speed.0)));
        });
        found.sort_unstable();
        // spec: LOOK-05
        assert_eq!(found, expected);
        for (health, speed) in both.iter(world).unwrap() {
            health.0 -= 1;
            if let Some(speed) = speed {
                speed.0 += 100;
            }
        }
    };
    let first = world.spawn(Health::<false>(1));
    run(&mut world, &[(2, None)]);
    let second = world.spawn((Health::<false>(2), Speed::<false>(0)));
    run(&mut world, &[(2, None), (3, Some(0))]);
    world.insert(first, Speed::<false>(5)).unwrap();
    run(&mut world, &[(2, Some(5)), (3, Some(100))]);
    world.remove::<Speed<false>>(second);
    run(&mut world, &[(2, Some(105)), (3, None)]);
    // More rows than the columns have room for, and the room given back.
    let more: Vec<_> = (10..200).map(|n| world.spawn(Health::<false>(n))).collect();
    let mut expected = vec![(2, Some(205)), (3, None)];
    expected.extend((11..201).map(|n| (n, None)));
    run(&mut world, &expected);
    for id in more {
        world.despawn(id);
    }
    world.shrink_to_fit();
    run(&mut world, &[(2, Some(305)), (3, None)]);
    world.get_mut::<Table>(first).unwrap().0 = 70;
    run(&mut world, &[(3, None), (71, Some(405))]);
    world.clear();
    run(&mut world, &[]);
    world.spawn((Health::<false>(7), Speed::<false>(8)));
    run(&mut world, &[(8, Some(8))]);
}

#[test]
fn queries_that_reach_the_same_columns_may_take_turns() {
    let mut world = World::new();
    spawn::<false>(&mut world, 9);
    let mut one = world.prepare::<&mut Table>().unwrap();
    let mut other = world.prepare::<(&mut Speed<false>, &mut Table)>().unwrap();
    let mut reader = world.prepare::<(&Table, &Table)>().unwrap();
    let mut tracked = world
        .prepare_filtered::<&Table, Changed<Speed<false>>>()
        .unwrap();
    for turn in 0..6 {
        one.iter(&mut world)
            .unwrap()
            .for_each(|health| health.0 += 1);
        let rows = other.iter(&mut world).unwrap();
        rows.for_each(|(speed, health)| (speed.0, health.0) = (health.0, health.0 + 10));
        let sum: i64 = reader
            .iter(&mut world)
            .unwrap()
            .map(|(health, again)| {
                assert!(std::ptr::eq(health, again));
                health.0
            })
            .sum();
        assert_eq!(sum, 36 + (turn + 1) * (9 + 3 * 10));
        assert_eq!(tracked.iter(&mut world).unwrap().count(), 3);
    }
}

/// Adds one to what it finds by a query that it keeps.
#[derive(Default)]
struct Keeper {
    query: Option<Prepared<&'static mut Table>>,
}

impl System for Keeper {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        if self.query.is_none() {
            self.query = Some(cx.world.prepare()?);
        }
        if let Some(query) = &mut self.query {
            query.iter(cx.world)?.for_each(|health| health.0 += 1);
        }
        Ok(())
    }
}

#[test]
fn columns_that_were_lent_to_typed_systems_are_found_again() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    spawn::<false>(claim.world(), 12);
    let double = |mut all: Matches<'_, &mut Table>| all.iter().for_each(|health| health.0 *= 2);
    claim
        .add_system(Keeper::default().named("before").every_pass())
        .unwrap();
    claim
        .add_system(parallel("double", double).every_pass())
        .unwrap();
    claim
        .add_system(Keeper::default().named("after").every_pass())
        .unwrap();
    let mut expected: Vec<i64> = (0..12).collect();
    for pass in 0..5 {
        claim.update().unwrap();
        for value in &mut expected {
            *value = (*value + 1) * 2 + 1;
        }
        if pass == 2 {
            claim.world().spawn(Health::<false>(1000));
            expected.push(1000);
        }
        let mut found: Vec<_> = claim
            .world()
            .query::<&Table>()
            .map(|health| health.0)
            .collect();
        found.sort_unstable();
        // spec: LOOK-05
        assert_eq!(found, expected);
    }
}

#[test]
fn matches_are_found_behind_gaps_that_change() {
    let mut world = World::new();
    let mut query = world.prepare::<&mut Table>().unwrap();
    // Some are taken one by one, the others folded.
    let mut numbers = |world: &mut World, singly: usize| {
        let mut rows = query.iter(world).unwrap();
        let mut found: Vec<_> = rows.by_ref().take(singly).map(|health| health.0).collect();
        rows.for_each(|health| found.push(health.0));
        found
    };
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let spawn = |world: &mut World, number: usize, matches: bool| {
        let entity = world.spawn(());
        let more = Speed::<false>(0);
        world.insert_named(entity, names[number], more).unwrap();
        if matches {
            let number = i64::try_from(number).unwrap();
            world.insert(entity, Health::<false>(number)).unwrap();
        }
    };
    for bits in (0..256_usize).chain((0..256).rev()) {
        let matches = |number: &usize| bits >> number & 1 == 1;
        world.clear();
        // Those that come get other numbers.
        world.reclaim();
        let mut expected = Vec::new();
        for new in [0..5, 5..8] {
            for number in new {
                spawn(&mut world, number, matches(&number));
                expected.extend(matches(&number).then(|| i64::try_from(number).unwrap()));
            }
            for singly in 0..4 {
                // spec: LOOK-05
                assert_eq!(numbers(&mut world, singly), expected);
            }
        }
    }
}
