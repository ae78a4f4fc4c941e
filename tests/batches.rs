//! Entities made many at a time: named bundles, and batches that do not fit.

mod kinds;

use std::collections::BTreeSet;

use ecs::{Entity, EntityError, Named, TypeName, World};
use kinds::{Health, Held, Ledger, Speed, for_both_storages, panic_text};

for_both_storages! {
    batches_of_named_components
    each_part_of_a_large_bundle_gets_into_its_own_column
    an_iterator_that_panics_keeps_the_rows_that_it_gave
    named_components_are_inserted_beside_the_others
    a_batch_that_does_not_fit_leaves_what_was_there
    slots_that_were_given_back_are_counted
    what_is_refused_is_dropped_one_by_one
}

struct Spare;

impl TypeName for Spare {
    const NAME: &'static str = "Spare";
}

fn batches_of_named_components<const S: bool>() {
    let mut world = World::new();
    let row = |n| {
        (
            Health::<S>(n),
            Named::<_, Spare>::new(Health::<S>(-n)),
            Speed::<false>(n),
        )
    };
    let ids: Vec<Entity> = world.spawn_batch((0..50).map(row)).collect();
    assert_eq!(ids.len(), 50);
    for (n, id) in (0..).zip(&ids) {
        // spec: ENT-06, COMP-05
        assert_eq!(
            (
                world.get::<Health<S>>(*id).map(|health| health.0),
                world
                    .get_named::<Health<S>>(*id, "Spare")
                    .map(|spare| spare.0),
                world.get::<Speed<false>>(*id).map(|speed| speed.0),
            ),
            (Some(n), Some(-n), Some(n))
        );
    }
}

/// One of sixteen names.
struct Numbered<const N: usize>;

impl<const N: usize> TypeName for Numbered<N> {
    const NAME: &'static str = [
        "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",
        "p14", "p15",
    ][N];
}

/// What stands in row `n` under the name of number `N`.
fn part<const S: bool, const N: usize>(n: i64) -> Named<Health<S>, Numbered<N>> {
    Named::new(Health(100 * n + i64::try_from(N).unwrap()))
}

/// Checks the parts of these rows.
#[track_caller]
fn check_parts<const S: bool>(world: &World, ids: &[Entity], parts: i64) {
    for (n, id) in (0..).zip(ids) {
        for at in 0..parts {
            let health = world.get_named::<Health<S>>(*id, &format!("p{at}"));
            assert_eq!(health, Some(&Health(100 * n + at)), "row {n}");
        }
        let beyond = world.get_named::<Health<S>>(*id, &format!("p{parts}"));
        assert_eq!(beyond, None);
    }
}

/// Rows of 13, 16 and again 16 parts in a tuple of tuples.
macro_rules! rows {
    ($n:expr; $($at:literal)*) => {
        ($(part::<S, $at>($n),)*)
    };
}

fn each_part_of_a_large_bundle_gets_into_its_own_column<const S: bool>() {
    let mut world = World::new();
    let nine = |n| rows!(n; 0 1 2 3 4 5 6 7 8);
    let thirteen = |n| rows!(n; 0 1 2 3 4 5 6 7 8 9 10 11 12);
    let sixteen = |n| rows!(n; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    let nested = |n| {
        (
            rows!(n; 0 1 2),
            part::<S, 3>(n),
            (),
            (rows!(n; 4 5 6 7 8 9 10 11 12), rows!(n; 13 14)),
            rows!(n; 15),
        )
    };
    for round in 1..3 {
        // An iterator that tells its length, and one that does not know it.
        let odd = |n: &i64| n % 2 >= 0;
        let ids: Vec<Entity> = world.spawn_batch((0..7).map(nine)).collect();
        check_parts::<S>(&world, &ids, 9);
        let ids: Vec<Entity> = world.spawn_batch((0..7).filter(odd).map(nine)).collect();
        check_parts::<S>(&world, &ids, 9);
        let ids: Vec<Entity> = world.spawn_batch((0..7).map(thirteen)).collect();
        check_parts::<S>(&world, &ids, 13);
        let ids: Vec<Entity> = world.spawn_batch((0..7).map(sixteen)).collect();
        check_parts::<S>(&world, &ids, 16);
        let ids: Vec<Entity> = world.spawn_batch((0..7).filter(odd).map(sixteen)).collect();
        check_parts::<S>(&world, &ids, 16);
        let ids: Vec<Entity> = world.spawn_batch((0..7).map(nested)).collect();
        // spec: ENT-06, COMP-05
        check_parts::<S>(&world, &ids, 16);
        assert_eq!(world.len(), round * 6 * 7);
    }
    assert_eq!(world.spawn_batch((0..5).map(|_| ())).len(), 5);
    assert_eq!(world.spawn_batch((0..5).map(|_| ((), ((), ())))).len(), 5);
}

fn an_iterator_that_panics_keeps_the_rows_that_it_gave<const S: bool>() {
    let mut world = World::new();
    for round in 1..3 {
        let ledger = Ledger::default();
        let rows = (0..10).map(|n| {
            assert!(n != 6, "no more");
            let held = Held::<S>(ledger.witness());
            (rows!(n; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14), held)
        });
        let text = panic_text(|| world.spawn_batch(rows).len());
        assert_eq!(text, "no more");
        // spec: ENT-06
        assert_eq!(world.len(), round * 6);
        let ids: Vec<Entity> = world.query::<Entity>().skip((round - 1) * 6).collect();
        for (n, id) in (0..).zip(&ids) {
            let last = world.get_named::<Health<S>>(*id, "p14");
            assert_eq!(last, Some(&Health(100 * n + 14)));
            assert!(world.has::<Held<S>>(*id));
        }
        ledger.assert_none_dropped();
    }
}

fn named_components_are_inserted_beside_the_others<const S: bool>() {
    let mut world = World::new();
    let ids: Vec<Entity> = world.spawn_batch((0..4).map(Health::<S>)).collect();
    for value in [10, 20] {
        for id in &ids {
            let spare = Named::<_, Spare>::new(Health::<S>(value));
            world.insert(*id, spare).unwrap();
        }
        let mut rows = world.query::<(&Health<S>, Named<&Health<S>, Spare>)>();
        // spec: COMP-05, LOOK-05
        assert!((0..4).all(|n| rows.next() == Some((&Health(n), &Health(value)))));
        assert!(rows.next().is_none());
    }
}

fn a_batch_that_does_not_fit_leaves_what_was_there<const S: bool>() {
    let mut world = World::with_slot_limit(5);
    let ledger = Ledger::default();
    let row = |n| (Held::<S>(ledger.witness()), Health::<false>(n));
    let ids: Vec<Entity> = world.spawn_batch((0..3).map(row)).collect();
    world.despawn(ids[1]);
    // Two slots that were never used and one that was.
    for rows in [4, 10] {
        let before = ledger.drops().len();
        // The iterator does not tell how many it has.
        let unknown = (0..rows).filter(|_| true).map(row);
        let refused = world.try_spawn_batch(unknown).err();
        // spec: ENT-03, ENT-06
        assert!(matches!(
            refused,
            Some(EntityError::OutOfSlots { limit: 5, .. })
        ));
        // spec: COMP-02
        assert!(ledger.drops()[before..].iter().all(|drops| *drops == 1));
        let left: Vec<_> = world
            .query::<(Entity, &Held<S>, &Health<false>)>()
            .map(|(id, held, health)| (id, held.0.number(), health.0))
            .collect();
        // spec: ENT-06, ERR-01
        assert_eq!(left, [(ids[0], 0, 0), (ids[2], 2, 2)]);
    }
    // spec: ENT-06
    assert_eq!(world.spawn_batch((0..3).map(row)).len(), 3);
    // spec: ENT-03
    assert!(world.try_spawn(()).is_err());
    drop(world);
    ledger.assert_all_dropped_once();
}

fn slots_that_were_given_back_are_counted<const S: bool>() {
    for by_batch in [false, true] {
        let mut world = World::with_slot_limit(6);
        let ids: Vec<Entity> = world.spawn_batch((0..4).map(Health::<S>)).collect();
        world.despawn(ids[0]);
        world.despawn(ids[1]);
        if by_batch {
            assert_eq!(world.spawn_batch([Health::<S>(7)]).len(), 1);
        } else {
            world.spawn(Health::<S>(7));
        }
        // One that was given back and two that were never used.
        let many = world.try_spawn_batch((0..4).map(Health::<S>)).err();
        // spec: ENT-03
        assert!(matches!(many, Some(EntityError::OutOfSlots { .. })));
        let reserved = world.reserve_entity().unwrap();
        assert!(world.try_spawn_batch((0..3).map(Health::<S>)).is_err());
        world.spawn_reserved(reserved, Health::<S>(8)).unwrap();
        // spec: ENT-03, ENT-06
        assert_eq!(world.spawn_batch((0..2).map(Health::<S>)).len(), 2);
        assert_eq!(world.len(), 6);
    }
}

fn what_is_refused_is_dropped_one_by_one<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::with_slot_limit(0);
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let named = Named::<_, Spare>::new(Held::<S>(ledger.bomb()));
        // Two panics at once would abort the program.
        drop(world.try_spawn((named, Held::<S>(ledger.bomb()))));
    }));
    // spec: COMP-02, COMP-08
    assert!(refused.is_err());
    ledger.assert_all_dropped_once();
}

#[test]
fn an_id_that_waits_to_be_issued_is_not_reserved() {
    let mut world = World::new();
    let gone = world.spawn(());
    world.despawn(gone);
    let next = Entity::from_bits(gone.to_bits() + (1 << 32)).unwrap();
    let refused = world.spawn_reserved(next, Health::<false>(1)).err();
    // spec: ENT-03, ENT-06
    assert!(matches!(refused, Some(EntityError::NotReserved { .. })));
    assert!(!world.despawn(next) && world.is_empty());
    // spec: ENT-06
    assert_eq!(world.reserve_entity().ok(), Some(next));
    world.spawn_reserved(next, Health::<false>(1)).unwrap();
    assert_eq!(world.len(), 1);
}

#[test]
fn a_batch_that_needs_few_of_the_free_slots_leaves_the_others_to_the_next_ones() {
    let mut world = World::with_slot_limit(8);
    for sizes in [[3, 2, 3], [8, 0, 0], [1, 4, 3]] {
        let ids: Vec<Entity> = world.spawn_batch((0..8).map(Health::<false>)).collect();
        // Each free slot is followed by its neighbour.
        ids.iter().rev().for_each(|id| assert!(world.despawn(*id)));
        for size in sizes {
            let few = std::iter::repeat_with(|| Health::<false>(1)).take(size);
            // spec: ENT-03, ENT-06
            assert_eq!(world.spawn_batch(few).len(), size);
        }
        let left: BTreeSet<Entity> = world
            .query::<(Entity, &Health<false>)>()
            .map(|row| row.0)
            .collect();
        // spec: ENT-03
        assert_eq!((left.len(), world.len()), (8, 8));
        // spec: ENT-03
        assert_eq!(world.statistics().slots, 8);
        world.clear();
    }
}
