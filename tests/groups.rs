//! Groups: membership that is kept as components come and go, readers of entries and exits, typed iteration.

mod kinds;

use std::collections::BTreeSet;

use ecs::{
    BundleFault, Data, Entity, GroupChange, GroupError, GroupReader, Named, QueryError, TypeName,
    World, json,
};
use kinds::{Coin, Health, Ledger, Nameless, Note, Speed, Weight, for_both_storages};

for_both_storages! {
    members_come_and_go
    what_is_there_already_counts
    a_reused_slot_brings_nothing_along
    readers_at_different_rates
    whoever_reads_in_between_sees_both
    a_panicking_drop_is_an_exit
    a_reader_that_lags_is_told_how_much_it_missed
    where_nobody_reads_nothing_is_kept
}

type Balls<const S: bool> = (Health<S>, Speed<false>);

fn read(reader: &mut GroupReader, world: &mut World) -> Vec<GroupChange> {
    std::iter::from_fn(|| reader.next(world).unwrap()).collect()
}

fn set(entities: &[Entity]) -> BTreeSet<Entity> {
    entities.iter().copied().collect()
}

use GroupChange::{Entered, Left};

fn members_come_and_go<const S: bool>() {
    let mut world = World::new();
    let mut balls = world.register_group::<Balls<S>>("balls").unwrap();
    let mut passages = balls.reader(&mut world).unwrap();
    let half = world.spawn(Health::<S>(1));
    let whole = world.spawn((Health::<S>(2), Speed::<false>(3), Weight::<true>(4)));
    // spec: GRP-01
    assert_eq!(balls.members(&world).unwrap(), [whole]);
    assert!(!balls.contains(&world, half).unwrap());
    world.insert(half, Speed::<false>(5)).unwrap();
    // spec: GRP-01
    assert_eq!(balls.members(&world).unwrap(), [whole, half]);
    // Neither a replacement nor a kind that the group does not name is a passage.
    world
        .insert(half, (Health::<S>(6), Weight::<true>(1)))
        .unwrap();
    world.remove::<Weight<true>>(half).unwrap();
    drop(world.replace(half, Speed::<false>(7)).unwrap());
    // Another type under the name is an exit.
    world.insert_named(whole, "Health", Data(json!(1))).unwrap();
    // spec: GRP-01
    assert_eq!(balls.members(&world).unwrap(), [half]);
    assert!(!balls.is_empty(&world).unwrap());
    // spec: GRP-03
    let items = balls.iter(&mut world).unwrap().map(|(health, speed)| {
        health.0 += 10;
        (health.0, speed.0)
    });
    assert_eq!(items.collect::<Vec<_>>(), [(16, 7)]);
    let (health, speed) = balls.get(&mut world, half).unwrap();
    // spec: GRP-03
    assert_eq!((health.0, speed.0), (16, 7));
    assert_eq!(
        balls.get(&mut world, whole).err(),
        Some(GroupError::Query(QueryError::NoMatch { entity: whole }))
    );
    world.despawn(half);
    // spec: GRP-01, GRP-02
    assert!(balls.is_empty(&world).unwrap());
    assert_eq!(
        read(&mut passages, &mut world),
        [Entered(whole), Entered(half), Left(whole), Left(half)]
    );
    assert_eq!(read(&mut passages, &mut world), []);
    // A batch, in its order.
    let batch = (0..3).map(|n| (Health::<S>(n), Speed::<false>(n)));
    let ids: Vec<Entity> = world.spawn_batch(batch).collect();
    let expected: Vec<_> = ids.iter().copied().map(Entered).collect();
    // spec: GRP-02
    assert_eq!(read(&mut passages, &mut world), expected);
    assert_eq!(balls.members(&world).unwrap(), ids);
    world.clear();
    // spec: GRP-01, GRP-02
    assert_eq!(balls.len(&world).unwrap(), 0);
    assert_eq!(read(&mut passages, &mut world).len(), 3);
    assert_eq!(balls.iter(&mut world).unwrap().count(), 0);
}

fn what_is_there_already_counts<const S: bool>() {
    let mut world = World::new();
    let mut expected = Vec::new();
    let mut halves = Vec::new();
    for n in 0..50 {
        expected.push(world.spawn((Health::<S>(n), Speed::<false>(n))));
        expected.push(world.spawn((Speed::<false>(n), Weight::<false>(n), Health::<S>(n))));
        halves.push(world.spawn(Health::<S>(n)));
        halves.push(world.spawn((Speed::<false>(n), Weight::<true>(n))));
    }
    let mut balls = world.register_group::<Balls<S>>("balls").unwrap();
    let mut passages = balls.reader(&mut world).unwrap();
    // spec: GRP-01
    assert_eq!(set(balls.members(&world).unwrap()), set(&expected));
    assert_eq!(balls.len(&world).unwrap(), expected.len());
    // What a half had before the group was there counts too.
    world.insert(halves[0], Speed::<false>(0)).unwrap();
    world.insert(halves[1], Health::<S>(0)).unwrap();
    world.remove::<Health<S>>(expected[3]).unwrap();
    // spec: GRP-01, GRP-02
    assert_eq!(
        read(&mut passages, &mut world),
        [Entered(halves[0]), Entered(halves[1]), Left(expected[3])]
    );
    assert_eq!(balls.iter(&mut world).unwrap().count(), 101);
    // A second group over one of the kinds knows the same.
    let speeds = world.register_group::<Speed<false>>("speeds").unwrap();
    // spec: GRP-01
    assert_eq!(speeds.len(&world).unwrap(), 151);
    // And so does one that names the kinds the other way round.
    let turned = world
        .register_group::<(Speed<false>, Health<S>)>("turned")
        .unwrap();
    // spec: GRP-01
    assert_eq!(
        set(turned.members(&world).unwrap()),
        set(balls.members(&world).unwrap())
    );
}

fn a_reused_slot_brings_nothing_along<const S: bool>() {
    let mut world = World::new();
    let balls = world.register_group::<Balls<S>>("balls").unwrap();
    for with_both in [true, false] {
        let old = if with_both {
            world.spawn((Health::<S>(1), Speed::<false>(1)))
        } else {
            world.spawn(Health::<S>(1))
        };
        world.despawn(old);
        let new = world.spawn(Speed::<false>(1));
        assert_eq!(new.index(), old.index());
        // spec: GRP-01
        assert_eq!(balls.len(&world).unwrap(), 0);
        world.insert(new, Health::<S>(1)).unwrap();
        // spec: GRP-01
        assert_eq!(balls.members(&world).unwrap(), [new]);
        assert!(!balls.contains(&world, old).unwrap());
        world.clear();
        let other = world.spawn(Health::<S>(1));
        assert_eq!(other.index(), new.index());
        // spec: GRP-01
        assert!(!balls.contains(&world, other).unwrap());
        assert!(balls.is_empty(&world).unwrap());
        world.despawn(other);
    }
    // An id that waits for its components is in no group.
    let reserved = world.reserve_entity().unwrap();
    assert!(balls.is_empty(&world).unwrap());
    world
        .spawn_reserved(reserved, (Health::<S>(1), Speed::<false>(1)))
        .unwrap();
    // spec: GRP-01
    assert_eq!(balls.members(&world).unwrap(), [reserved]);
}

fn readers_at_different_rates<const S: bool>() {
    let mut world = World::new();
    let living = world.register_group::<Health<S>>("living").unwrap();
    let [mut every, mut seldom] = [0; 2].map(|_| living.reader(&mut world).unwrap());
    let mut all = Vec::new();
    let mut from_seldom = Vec::new();
    for round in 0..100_i64 {
        for n in 0..3 {
            let id = world.spawn(Health::<S>(n));
            all.push(Entered(id));
            if n < 2 {
                world.remove::<Health<S>>(id).unwrap();
                all.push(Left(id));
            }
        }
        // spec: GRP-02
        assert_eq!(read(&mut every, &mut world), all[all.len() - 5..]);
        if round % 7 == 0 {
            // Left early: the rest comes the next time.
            from_seldom.extend((0..4).filter_map(|_| seldom.next(&mut world).unwrap()));
        }
    }
    let mut late = living.reader(&mut world).unwrap();
    from_seldom.extend(read(&mut seldom, &mut world));
    // spec: GRP-02
    assert_eq!(from_seldom, all);
    assert_eq!(read(&mut late, &mut world), []);
    assert_eq!(every.missed() + seldom.missed() + late.missed(), 0);
}

fn whoever_reads_in_between_sees_both<const S: bool>() {
    let mut world = World::new();
    let living = world.register_group::<Health<S>>("living").unwrap();
    let mut passages = living.reader(&mut world).unwrap();
    let brief = world.spawn(Health::<S>(1));
    world.despawn(brief);
    let back = world.spawn(Health::<S>(1));
    world.remove::<Health<S>>(back).unwrap();
    world.insert(back, Health::<S>(1)).unwrap();
    // spec: GRP-02
    assert_eq!(
        read(&mut passages, &mut world),
        [
            Entered(brief),
            Left(brief),
            Entered(back),
            Left(back),
            Entered(back)
        ]
    );
}

fn a_panicking_drop_is_an_exit<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let purses = world
        .register_group::<(Coin<S>, Speed<false>)>("purses")
        .unwrap();
    let mut passages = purses.reader(&mut world).unwrap();
    let ids = [0; 4].map(|_| world.spawn((Coin::<S>(ledger.bomb()), Speed::<false>(1))));
    assert_eq!(read(&mut passages, &mut world), ids.map(Entered));
    kinds::panic_text(|| world.despawn(ids[0]));
    kinds::panic_text(|| drop(world.remove::<Coin<S>>(ids[1])));
    kinds::panic_text(|| world.insert(ids[2], Note::<S>(ledger.witness())));
    // A replacement is none, whatever the drop does.
    kinds::panic_text(|| world.insert(ids[3], Coin::<S>(ledger.witness())));
    // spec: GRP-01, GRP-02
    assert_eq!(
        read(&mut passages, &mut world),
        [ids[0], ids[1], ids[2]].map(Left)
    );
    assert_eq!(purses.members(&world).unwrap(), [ids[3]]);
    drop(world);
    ledger.assert_all_dropped_once();
}

fn a_reader_that_lags_is_told_how_much_it_missed<const S: bool>() {
    const KEPT: u64 = 1 << 20;
    let mut world = World::new();
    let living = world.register_group::<Health<S>>("living").unwrap();
    let mut lagging = living.reader(&mut world).unwrap();
    let mut prompt = living.reader(&mut world).unwrap();
    let (mut seen, mut bytes) = (0, 0);
    for _ in 0..=KEPT / 2 {
        let id = world.spawn(Health::<S>(1));
        world.despawn(id);
        seen += read(&mut prompt, &mut world).len() as u64;
        bytes = bytes.max(world.statistics().bytes);
    }
    // spec: GRP-02
    assert_eq!((seen, prompt.missed()), (KEPT + 2, 0));
    let mut from_lagging = 0;
    while lagging.next(&mut world).unwrap().is_some() {
        from_lagging += 1;
    }
    // spec: GRP-02
    assert_eq!((from_lagging, lagging.missed()), (KEPT, 2));
    assert!(bytes < 20 << 20, "{bytes} bytes for {KEPT} passages");
    let id = world.spawn(Health::<S>(1));
    // spec: GRP-02
    assert_eq!(read(&mut lagging, &mut world), [Entered(id)]);
    assert_eq!(lagging.missed(), 2);
}

fn where_nobody_reads_nothing_is_kept<const S: bool>() {
    let mut world = World::new();
    let living = world.register_group::<Health<S>>("living").unwrap();
    let come_and_go = |world: &mut World| {
        for n in 0..10_000 {
            let id = world.spawn(Health::<S>(n));
            world.despawn(id);
        }
        world.statistics().bytes
    };
    let before = come_and_go(&mut world);
    assert_eq!(come_and_go(&mut world), before);
    let reader = living.reader(&mut world).unwrap();
    let kept = come_and_go(&mut world);
    assert!(kept > before + 100_000, "{kept} bytes, {before} before");
    drop(reader);
    let after = come_and_go(&mut world);
    assert_eq!(after, before, "a reader that is gone holds nothing back");
}

#[test]
fn a_name_is_one_group() {
    struct Armour;
    impl TypeName for Armour {
        const NAME: &'static str = "Armour";
    }
    type Clad = (Health<false>, Named<Health<false>, Armour>);
    let mut world = World::new();
    let balls = world.register_group::<Balls<false>>("balls").unwrap();
    let id = world.spawn((Health::<false>(1), Speed::<false>(1)));
    let again = world
        .register_group::<(Speed<false>, Health<false>)>("balls")
        .unwrap();
    let found = world.group::<Balls<false>>("balls").unwrap();
    // spec: GRP-01
    assert_eq!(again.members(&world).unwrap(), [id]);
    assert_eq!(found.members(&world).unwrap(), [id]);
    assert_eq!((balls.name(), found.name()), ("balls", "balls"));
    // spec: GRP-01
    let other = world.register_group::<Health<false>>("balls").unwrap_err();
    assert_eq!(
        other.to_string(),
        "ecs::World::register_group(): group \"balls\" has the kinds [\"Health\", \"Speed\"], \
         not [\"Health\"]; choose another name"
    );
    assert!(matches!(
        world.group::<(Health<false>, Speed<true>)>("balls"),
        Err(GroupError::OtherKinds { .. })
    ));
    assert_eq!(
        world
            .group::<Health<false>>("bats")
            .unwrap_err()
            .to_string(),
        "ecs::World::group(): group \"bats\" is not registered"
    );
    assert!(matches!(
        world.register_group::<Health<false>>(""),
        Err(GroupError::EmptyName { .. })
    ));
    let twice = world.register_group::<(Coin<false>, Note<false>)>("purses");
    assert!(matches!(
        twice,
        Err(GroupError::Kinds {
            fault: BundleFault::Twice { .. },
            ..
        })
    ));
    assert!(matches!(
        world.register_group::<Nameless>("nobody"),
        Err(GroupError::Kinds {
            fault: BundleFault::EmptyTypeName,
            ..
        })
    ));
    // A type under another name is another kind.
    let mut clad = world.register_group::<Clad>("clad").unwrap();
    world
        .insert_named(id, "Armour", Health::<false>(7))
        .unwrap();
    // spec: GRP-03
    let items: Vec<_> = clad.iter(&mut world).unwrap().collect();
    assert_eq!(items, [(&mut Health(1), &mut Health(7))]);
    let listed: Vec<_> = world.groups().collect();
    assert_eq!(listed.len(), 2);
    assert_eq!((listed[1].name, listed[1].members), ("clad", &[id][..]));
    assert!(listed[1].type_names().eq(["Health", "Armour"]));
}

#[test]
fn a_group_that_was_removed_is_gone_for_its_handles() {
    let mut world = World::new();
    let mut living = world.register_group::<Health<false>>("living").unwrap();
    let mut passages = living.reader(&mut world).unwrap();
    let id = world.spawn(Health::<false>(1));
    assert!(world.remove_group("living"));
    assert!(!world.remove_group("living"));
    let removed = |fault: Option<GroupError>| {
        assert!(matches!(fault, Some(GroupError::Removed { name }) if name == "living"));
    };
    for round in 0..2 {
        removed(living.len(&world).err());
        removed(living.contains(&world, id).err());
        removed(living.iter(&mut world).err());
        removed(living.get(&mut world, id).err());
        removed(living.reader(&mut world).err());
        removed(living.with_query::<Entity>(&mut world).err());
        removed(passages.next(&mut world).err());
        if round == 0 {
            // The same name, and the same place: another group.
            let again = world.register_group::<Health<false>>("living").unwrap();
            // spec: GRP-01
            assert_eq!(again.members(&world).unwrap(), [id]);
        }
    }
    assert_eq!(world.groups().count(), 1);
}

#[test]
fn a_group_goes_on_when_another_of_its_kinds_is_removed() {
    let mut world = World::new();
    for name in ["first", "middle", "last"] {
        world.register_group::<Health<false>>(name).unwrap();
    }
    for removed in ["middle", "first"] {
        assert!(world.remove_group(removed));
        let last = world.group::<Health<false>>("last").unwrap();
        let before = last.len(&world).unwrap();
        let id = world.spawn(Health::<false>(1));
        // spec: GRP-01
        assert_eq!(last.len(&world), Ok(before + 1));
        world.remove::<Health<false>>(id);
        // spec: GRP-01
        assert_eq!(last.len(&world), Ok(before));
        world.spawn(Health::<false>(1));
    }
}

#[test]
fn a_group_of_another_world_is_refused() {
    let mut world = World::new();
    let mut living = world.register_group::<Health<false>>("living").unwrap();
    let mut passages = living.reader(&mut world).unwrap();
    let mut other = World::new();
    other.register_group::<Health<false>>("living").unwrap();
    let id = other.spawn(Health::<false>(1));
    let foreign = |fault: Option<GroupError>| {
        assert!(matches!(fault, Some(GroupError::ForeignWorld { name }) if name == "living"));
    };
    foreign(living.len(&other).err());
    foreign(living.contains(&other, id).err());
    foreign(living.iter(&mut other).err());
    foreign(living.get(&mut other, id).err());
    foreign(living.reader(&mut other).err());
    foreign(passages.next(&mut other).err());
    // An id of another world is nobody here.
    let own = world.spawn(Health::<false>(1));
    assert_eq!(own.index(), id.index());
    // spec: GRP-01
    assert!(!living.contains(&world, id).unwrap());
    assert!(living.contains(&world, own).unwrap());
}

#[test]
fn a_groups_query_may_reach_further() {
    let mut world = World::new();
    let balls = world.register_group::<Balls<true>>("balls").unwrap();
    let heavy = world.spawn((Health::<true>(1), Speed::<false>(2), Weight::<false>(3)));
    let light = world.spawn((Health::<true>(4), Speed::<false>(5)));
    world.spawn((Speed::<false>(6), Weight::<false>(7)));
    let mut entities = balls
        .with_query::<(Entity, &mut Speed<false>, Option<&Weight<false>>)>(&mut world)
        .unwrap();
    let items = entities.iter(&mut world).unwrap();
    let items: Vec<_> = items
        .map(|(entity, speed, weight)| (entity, speed.0, weight.map(|weight| weight.0)))
        .collect();
    // spec: GRP-03
    assert_eq!(items, [(heavy, 2, Some(3)), (light, 5, None)]);
    // A query that a member does not match passes it over.
    let mut weights = balls.with_query::<&Weight<false>>(&mut world).unwrap();
    // spec: GRP-03
    assert_eq!(
        weights
            .iter(&mut world)
            .unwrap()
            .map(|w| w.0)
            .collect::<Vec<_>>(),
        [3]
    );
    let refused = balls.with_query::<(&mut Speed<false>, &Speed<false>)>(&mut world);
    assert!(matches!(
        refused.err(),
        Some(GroupError::Query(QueryError::Aliasing { .. }))
    ));
}
