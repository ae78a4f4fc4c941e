//! Memory and scale.

use ecs::{Data, Entity, Value, World};

use super::{A, B};

/// hecs#66, bevy#4781
#[test]
fn ten_thousand_archetypes_cost_nothing_once_reclaimed() {
    let names: Vec<String> = (0..14).map(|at| format!("Tag{at}")).collect();
    let mut world = World::new();
    let kept = world.spawn((A(1), B(2)));
    let mut query = world.prepare::<(Entity, &A)>().unwrap();
    let before = world.statistics();
    for combination in 1..10_000_u32 {
        let entity = world.spawn(());
        for (_, name) in names
            .iter()
            .enumerate()
            .filter(|(at, _)| combination >> at & 1 == 1)
        {
            world.insert_named(entity, name, Data(Value::Null)).unwrap();
        }
    }
    let full = world.statistics();
    assert!(full.archetypes >= 10_000, "{full:?}");
    for _ in 0..5 {
        // spec: LOOK-07
        assert_eq!(
            query
                .iter(&mut world)
                .unwrap()
                .map(|row| row.0)
                .collect::<Vec<_>>(),
            [kept]
        );
    }
    // spec: LOOK-07
    assert_eq!(
        query.statistics().visited,
        5,
        "no archetype that does not match"
    );
    // spec: LOOK-07
    assert_eq!(
        query.statistics().examined,
        full.archetypes as u64,
        "each looked at once"
    );
    let tagged: Vec<Entity> = world
        .query::<Entity>()
        .filter(|entity| *entity != kept)
        .collect();
    for entity in tagged {
        world.despawn(entity);
    }
    // spec: ENT-09
    assert_eq!(world.reclaim(), full.archetypes - before.archetypes);
    world.shrink_to_fit();
    let after = world.statistics();
    // spec: ENT-09
    assert_eq!(
        (after.entities, after.archetypes),
        (before.entities, before.archetypes)
    );
    // spec: ENT-09
    assert!(
        after.bytes < before.bytes + 12 * 10_000,
        "only slots are left: {after:?}"
    );
    // spec: LOOK-07, ENT-09
    assert_eq!(query.single(&mut world).unwrap(), (kept, &A(1)));
    // spec: LOOK-07
    assert_eq!(query.statistics().matched, 1);
    let again = world.spawn((A(3), B(4)));
    // spec: LOOK-06, ENT-09
    assert_eq!(
        query
            .iter(&mut world)
            .unwrap()
            .map(|row| row.0)
            .collect::<Vec<_>>(),
        [kept, again]
    );
}
