//! What the iterators of queries say of themselves: how many items are left, how long a chunk is, which rows it has.

mod kinds;

use ecs::{Changed, Entity, Mut, World};
use kinds::{Health, Speed, for_both_storages};

for_both_storages! {
    optional_rows_know_how_many_are_left
    batches_of_rows_taken_one_by_one_know_how_many_are_left
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
    let (mut world, _) = world::<false>();
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

    // One that was begun gives the rest of its archetype first.
    let mut begun = world.query::<&Health<false>>();
    assert!(begun.next().is_some());
    // spec: LOOK-08
    assert_eq!(begun.batches(4).map(exact).collect::<Vec<_>>(), [4, 2, 3]);
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
