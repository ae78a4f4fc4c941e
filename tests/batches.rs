//! Entities made many at a time: named bundles, and batches that do not fit.

mod kinds;

use ecs::{Entity, EntityError, Named, TypeName, World};
use kinds::{Health, Held, Ledger, Speed, for_both_storages};

for_both_storages! {
    batches_of_named_components
    a_batch_that_does_not_fit_leaves_what_was_there
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

fn a_batch_that_does_not_fit_leaves_what_was_there<const S: bool>() {
    let mut world = World::with_slot_limit(5);
    let ledger = Ledger::default();
    let row = |n| (Held::<S>(ledger.witness()), Health::<false>(n));
    let ids: Vec<Entity> = world.spawn_batch((0..3).map(row)).collect();
    world.despawn(ids[1]);
    // Two slots that were never used and one that was.
    for rows in [4, 10] {
        let before = ledger.drops().len();
        let refused = world.try_spawn_batch((0..rows).map(row)).err();
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
