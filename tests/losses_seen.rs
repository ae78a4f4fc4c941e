//! Losses of components and changes of typed resources, read like changes.

mod kinds;

use ecs::{Data, Entity, RemovalMarks, RemovedReader, World, json};
use kinds::{Coin, Health, Ledger, Note, Speed, Weight, for_both_storages};

for_both_storages! {
    every_loss_is_read_once
    what_is_no_loss
    readers_at_different_rates
    a_refused_batch_loses_nothing
    a_panicking_drop_is_a_loss
}

fn read<T: ecs::Component>(reader: &mut RemovedReader<T>, world: &mut World) -> Vec<Entity> {
    let mut lost = Vec::new();
    while let Some(entity) = reader.next(world).unwrap() {
        lost.push(entity);
        assert!(lost.len() < 100_000, "reading ends");
    }
    lost
}

fn every_loss_is_read_once<const S: bool>() {
    let mut world = World::new();
    let before = world.spawn(Health::<S>(0));
    world.remove::<Health<S>>(before);
    let mut reader = world.removed_reader::<Health<S>>().unwrap();
    let mut twin = world.removed_reader::<Health<S>>().unwrap();
    // spec: LOOK-15
    assert_eq!(read(&mut reader, &mut world), []);
    let ids: Vec<Entity> = (0..12)
        .map(|n| world.spawn((Health::<S>(n), Speed::<false>(n), Weight::<true>(n))))
        .collect();
    assert!(world.remove::<Health<S>>(ids[3]).is_some());
    assert!(world.remove_named(ids[1], "Health").is_some());
    assert!(world.despawn(ids[7]));
    world
        .insert_named(ids[2], "Health", Data(json!(1)))
        .unwrap();
    let mut marks = RemovalMarks::default();
    marks.mark::<Health<S>>(ids[9]);
    marks.mark_named(ids[8], "Health");
    marks.clear(&mut world);
    // Lost, got again, lost again.
    world.insert(ids[3], Health::<S>(1)).unwrap();
    world.remove::<Health<S>>(ids[3]);
    // spec: LOOK-15
    assert_eq!(
        read(&mut reader, &mut world),
        [ids[3], ids[1], ids[7], ids[2], ids[9], ids[8], ids[3]]
    );
    assert_eq!(read(&mut reader, &mut world), []);
    world.clear();
    let mut cleared = read(&mut reader, &mut world);
    cleared.sort_unstable();
    // spec: LOOK-15
    assert_eq!(cleared, [ids[0], ids[4], ids[5], ids[6], ids[10], ids[11]]);
    assert_eq!(read(&mut reader, &mut world), []);
    // spec: LOOK-15
    assert_eq!(read(&mut twin, &mut world).len(), 13);
    // A bundle that replaces another type under the name.
    let ledger = Ledger::default();
    let mut coins = world.removed_reader::<Coin<S>>().unwrap();
    let id = world.spawn(Coin::<S>(ledger.witness()));
    world
        .insert(id, (Speed::<false>(1), Note::<false>(ledger.witness())))
        .unwrap();
    world.insert(id, Coin::<S>(ledger.witness())).unwrap();
    world.insert(id, Note::<true>(ledger.witness())).unwrap();
    // spec: LOOK-15
    assert_eq!(read(&mut coins, &mut world), [id, id]);
}

fn what_is_no_loss<const S: bool>() {
    let mut world = World::new();
    let mut reader = world.removed_reader::<Health<S>>().unwrap();
    let id = world.spawn(Health::<S>(1));
    world.insert(id, Health::<S>(2)).unwrap();
    drop(world.replace(id, Health::<S>(3)).unwrap());
    world.insert(id, Speed::<false>(2)).unwrap();
    world.remove::<Speed<false>>(id);
    world.remove::<Weight<S>>(id);
    world.insert_named(id, "Armour", Health::<S>(2)).unwrap();
    world.remove_named(id, "Armour");
    world.shrink_to_fit();
    world.reclaim();
    let other = world.spawn(Speed::<false>(1));
    world.despawn(other);
    assert!(!world.despawn(other));
    assert!(world.remove::<Health<S>>(other).is_none());
    let reserved = world.reserve_entity().unwrap();
    world.despawn(reserved);
    // spec: LOOK-15
    assert_eq!(read(&mut reader, &mut world), []);
}

fn readers_at_different_rates<const S: bool>() {
    let mut world = World::new();
    let mut every = world.removed_reader::<Health<S>>().unwrap();
    let mut seldom = world.removed_reader::<Health<S>>().unwrap();
    let mut pieces = world.removed_reader::<Health<S>>().unwrap();
    let mut short_lived = Some(world.removed_reader::<Health<S>>().unwrap());
    let (mut all, mut from_seldom, mut from_pieces) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..200_i64 {
        for n in 0..5 {
            let id = world.spawn(Health::<S>(n));
            world.despawn(id);
            all.push(id);
        }
        // spec: LOOK-15
        assert_eq!(read(&mut every, &mut world), all[all.len() - 5..]);
        // Two of five are read, then three, then nothing for a while.
        let count = [2, 3, 0, 9, 0][usize::try_from(round % 5).unwrap()];
        for _ in 0..count {
            from_pieces.extend(pieces.next(&mut world).unwrap());
        }
        if round % 50 == 49 {
            from_seldom.extend(read(&mut seldom, &mut world));
        }
        if round == 20 {
            short_lived = None;
        }
        if round == 120 {
            let mut late = world.removed_reader::<Health<S>>().unwrap();
            // spec: LOOK-15
            assert_eq!(late.next(&mut world), Ok(None));
            short_lived = Some(late);
        }
    }
    from_pieces.extend(read(&mut pieces, &mut world));
    // spec: LOOK-15
    assert_eq!(from_seldom, all);
    assert_eq!(from_pieces, all);
    assert_eq!(
        read(&mut short_lived.unwrap(), &mut world),
        all[all.len() - 79 * 5..]
    );
}

fn a_refused_batch_loses_nothing<const S: bool>() {
    let mut world = World::with_slot_limit(3);
    let mut reader = world.removed_reader::<Health<S>>().unwrap();
    let kept = world.spawn(Health::<S>(1));
    assert!(world.try_spawn_batch((0..9).map(Health::<S>)).is_err());
    // spec: LOOK-15, ERR-01
    assert_eq!(read(&mut reader, &mut world), []);
    assert_eq!(world.query::<Entity>().collect::<Vec<_>>(), [kept]);
    // An iterator that does not know its length is refused half-way, and its first entities were never there.
    let unknown = (0..9).map(Health::<S>).filter(|_| true);
    assert!(world.try_spawn_batch(unknown).is_err());
    // spec: LOOK-15, ERR-01
    assert_eq!(read(&mut reader, &mut world), []);
    world.despawn(kept);
    // spec: LOOK-15
    assert_eq!(read(&mut reader, &mut world), [kept]);
}

fn a_panicking_drop_is_a_loss<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let mut reader = world.removed_reader::<Coin<S>>().unwrap();
    let ids = [0; 3].map(|_| world.spawn(Coin::<S>(ledger.bomb())));
    kinds::panic_text(|| world.despawn(ids[0]));
    kinds::panic_text(|| drop(world.remove::<Coin<S>>(ids[1])));
    kinds::panic_text(|| world.insert(ids[2], Note::<S>(ledger.witness())));
    // spec: LOOK-15, COMP-08
    assert_eq!(read(&mut reader, &mut world), ids);
    drop(world);
    ledger.assert_all_dropped_once();
}

#[test]
fn resources_are_read_like_changes() {
    struct Score(u32);
    struct Other;
    let mut world = World::new();
    let mut early = world.resource_reader::<Score>();
    // spec: LOOK-15
    assert_eq!(early.changed(&world), Ok(false), "there is none");
    world.insert_resource(Score(1));
    let mut late = world.resource_reader::<Score>();
    // spec: LOOK-15
    assert_eq!(early.changed(&world), Ok(true));
    assert_eq!(early.changed(&world), Ok(false));
    assert_eq!(
        late.changed(&world),
        Ok(true),
        "the first look sees what is there"
    );
    assert_eq!(late.changed(&world), Ok(false));
    assert_eq!(world.resource::<Score>().unwrap().0, 1);
    world.insert_resource(Other);
    assert!(world.resource_mut::<Other>().is_some());
    // spec: LOOK-15
    assert_eq!(early.changed(&world), Ok(false));
    world.resource_mut::<Score>().unwrap().0 = 2;
    world.resource_mut::<Score>().unwrap().0 = 3;
    // spec: LOOK-15
    assert_eq!(early.changed(&world), Ok(true));
    assert_eq!(early.changed(&world), Ok(false));
    assert!(world.remove_resource::<Score>().is_some());
    assert_eq!(
        early.changed(&world),
        Ok(false),
        "what is gone is no change"
    );
    world.insert_resource(Score(4));
    // spec: LOOK-15
    assert_eq!(early.changed(&world), Ok(true), "it came back");
    assert_eq!(late.changed(&world), Ok(true));
    assert_eq!(late.changed(&world), Ok(false));
}
