//! Change ticks and losses.

use ecs::{Added, Changed, Entity, World};

use super::{A, S};

/// bevy#1471
#[test]
fn an_idle_reader_misses_and_invents_nothing() {
    let mut world = World::new();
    let ids: Vec<_> = world
        .spawn_batch((0..10).map(|at| (A(at), S(at))))
        .collect();
    let mut idle = world.prepare_filtered::<Entity, Changed<A>>().unwrap();
    let mut sparse = world
        .prepare_filtered::<Entity, (Changed<S>, Added<S>)>()
        .unwrap();
    assert_eq!(idle.iter(&mut world).unwrap().count(), 10);
    assert_eq!(sparse.iter(&mut world).unwrap().count(), 10);
    let mut busy = world.prepare_filtered::<&A, Changed<A>>().unwrap();
    busy.iter(&mut world).unwrap().for_each(drop);
    world.get_mut::<A>(ids[3]).unwrap().0 += 1;
    for _ in 0..100_000 {
        let news = busy.iter(&mut world).unwrap().count();
        assert!(news <= 1);
    }
    // spec: LOOK-09
    assert_eq!(idle.iter(&mut world).unwrap().collect::<Vec<_>>(), [ids[3]]);
    // spec: LOOK-09
    assert_eq!(idle.iter(&mut world).unwrap().count(), 0);
    // spec: LOOK-09
    assert_eq!(sparse.iter(&mut world).unwrap().count(), 0);
}

/// bevy#7691, bevy#1157
#[test]
fn losses_are_read_where_the_reader_stopped() {
    let mut world = World::new();
    let ids: Vec<_> = world.spawn_batch((0..5).map(A)).collect();
    let mut fast = world.removed_reader::<A>().unwrap();
    let mut slow = world.removed_reader::<A>().unwrap();
    for id in &ids {
        world.despawn(*id);
        // spec: LOOK-15
        assert_eq!(fast.next(&mut world).unwrap(), Some(*id));
        assert_eq!(fast.next(&mut world).unwrap(), None);
    }
    let mut read = |world: &mut World, most| {
        let next = std::iter::from_fn(|| slow.next(world).unwrap());
        next.take(most).collect::<Vec<_>>()
    };
    // spec: LOOK-15
    assert_eq!(read(&mut world, 2), ids[..2]);
    let late = world.spawn(A(9));
    world.remove::<A>(late);
    // spec: LOOK-15
    assert_eq!(read(&mut world, 3), ids[2..]);
    // spec: LOOK-15
    assert_eq!(read(&mut world, 9), [late]);
    assert_eq!(fast.next(&mut world).unwrap(), Some(late));
}

#[test]
fn a_reader_sees_nothing_from_before_it() {
    let mut world = World::new();
    for round in 0..100 {
        let mut lost = world.removed_reader::<A>().unwrap();
        // spec: LOOK-15
        assert_eq!(lost.next(&mut world).unwrap(), None);
        let entity = world.spawn(A(round));
        world.insert(entity, super::A2(1)).unwrap();
        // spec: LOOK-15
        assert_eq!(
            lost.next(&mut world).unwrap(),
            Some(entity),
            "another type under its name"
        );
        drop(lost);
        // Nobody reads these.
        let ids: Vec<_> = world.spawn_batch((0..100).map(A)).collect();
        for id in ids {
            world.despawn(id);
        }
    }
}

/// A batch that is refused made nothing that could be lost.
#[test]
fn a_refused_batch_is_no_loss() {
    let mut world = World::with_slot_limit(2);
    let mut lost = world.removed_reader::<S>().unwrap();
    let unknown = (0..5).filter(|at| *at != 1);
    assert!(
        world
            .try_spawn_batch(unknown.map(|at| (S(at), A(at))))
            .is_err()
    );
    let endless = std::iter::repeat_with(|| S(1)).filter(|_| true);
    // spec: ENT-06
    assert!(world.try_spawn_batch(endless).is_err());
    // spec: ENT-06, LOOK-15
    assert_eq!(lost.next(&mut world).unwrap(), None);
}
