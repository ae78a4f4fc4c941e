//! Dropping and panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ecs::{Component, Entity, RemovalMarks, Storage, Value, World, json};

use super::{A, B, S};

/// Counts its drops; an armed one panics then.
pub(crate) struct Counted<const SPARSE: bool> {
    drops: Arc<AtomicUsize>,
    armed: bool,
}

impl<const SPARSE: bool> Component for Counted<SPARSE> {
    fn type_name() -> &'static str {
        if SPARSE { "SparseCounted" } else { "Counted" }
    }

    fn export(&self) -> Value {
        json!({})
    }

    fn storage() -> Storage {
        if SPARSE {
            Storage::Sparse
        } else {
            Storage::Table
        }
    }
}

impl<const SPARSE: bool> Drop for Counted<SPARSE> {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
        if self.armed {
            std::panic::panic_any("armed");
        }
    }
}

/// Whether an armed one was dropped; other panics go on.
fn fires(work: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(()) => false,
        Err(payload) => {
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"armed"));
            true
        }
    }
}

type Path<T> = fn(&mut World, Entity, T);

fn every_path<const SPARSE: bool>() {
    let paths: [Path<Counted<SPARSE>>; 8] = [
        |world, entity, new| world.insert(entity, new).unwrap(),
        |world, entity, new| world.insert(entity, (new, A(1))).unwrap(),
        |world, entity, new| drop(world.replace(entity, new).unwrap()),
        |world, entity, new| drop(world.insert_boxed(entity, Box::new(new)).unwrap()),
        |world, entity, new| {
            let name = Counted::<SPARSE>::type_name();
            drop(world.insert_named(entity, name, new).unwrap());
        },
        |world, entity, new| {
            *world.get_mut::<Counted<SPARSE>>(entity).unwrap() = new;
        },
        |world, entity, new| {
            let place = world.query::<&mut Counted<SPARSE>>().next();
            *place.unwrap() = new;
            let _ = entity;
        },
        |world, entity, new| {
            let old = world.remove::<Counted<SPARSE>>(entity);
            world.insert(entity, new).unwrap();
            drop(old);
        },
    ];
    for path in paths {
        let drops = Arc::new(AtomicUsize::new(0));
        let make = |armed| Counted::<SPARSE> {
            drops: Arc::clone(&drops),
            armed,
        };
        let mut world = World::new();
        let entity = world.spawn((B(1), make(true)));
        let other = world.spawn((B(2), make(false)));
        // spec: COMP-08
        assert!(fires(|| path(&mut world, entity, make(false))));
        // spec: COMP-08
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        path(&mut world, entity, make(true));
        assert_eq!(drops.load(Ordering::Relaxed), 2);
        // spec: ENT-04, COMP-08
        assert!(fires(|| assert!(world.despawn(entity))));
        assert_eq!(drops.load(Ordering::Relaxed), 3);
        // spec: ENT-04
        assert!(!world.contains(entity) && world.get::<B>(other) == Some(&B(2)));
        drop(world);
        // spec: ENT-04, COMP-08
        assert_eq!(drops.load(Ordering::Relaxed), 4, "and never twice");
    }
}

/// bevy#2227, bevy#2597
#[test]
fn a_replaced_value_is_dropped_once_by_every_path() {
    every_path::<false>();
    every_path::<true>();
}

#[test]
fn a_world_full_of_panicking_drops_reports_the_first_and_drops_all() {
    for clear in [true, false] {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut world = World::new();
        for _ in 0..10 {
            let (drops, sparse) = (Arc::clone(&drops), Arc::clone(&drops));
            let table = Counted::<false> { drops, armed: true };
            world.spawn((
                table,
                Counted::<true> {
                    drops: sparse,
                    armed: true,
                },
            ));
        }
        let drops_there = Arc::clone(&drops);
        world.insert_resource(Counted::<false> {
            drops: drops_there,
            armed: true,
        });
        let fired = fires(|| {
            if clear {
                world.clear();
            } else {
                drop(std::mem::take(&mut world));
            }
        });
        // spec: COMP-08
        assert!(fired);
        // spec: COMP-08
        assert_eq!(drops.load(Ordering::Relaxed), if clear { 20 } else { 21 });
        // spec: COMP-08
        assert_eq!(fires(|| drop(world)), clear, "the resource is left");
        assert_eq!(drops.load(Ordering::Relaxed), 21);
    }
}

/// bevy#20368, bevy#24911
#[test]
fn a_batch_whose_iterator_panics_keeps_what_it_gave() {
    for step in 0..70 {
        for sparse in [false, true] {
            let drops = Arc::new(AtomicUsize::new(0));
            let make = |armed| Counted::<false> {
                drops: Arc::clone(&drops),
                armed,
            };
            let mut world = World::new();
            world.spawn((A(1000), make(false)));
            world.spawn((A(1000), S(1), make(false)));
            let rows = |at| {
                assert!(at < step, "half-way");
                (A(at), make(false))
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                if sparse {
                    world
                        .spawn_batch((0..80).map(rows).map(|(a, c)| (S(a.0), a, c)))
                        .count()
                } else {
                    world.spawn_batch((0..80).map(rows)).count()
                }
            }));
            assert!(outcome.is_err());
            // spec: ENT-06, COMP-08
            assert_eq!(world.len() as u64, 2 + step);
            let read: Vec<_> = world
                .query::<(&A, Option<&S>, &Counted<false>)>()
                .map(|(a, s, _)| (a.0, s.map(|s| s.0)))
                .filter(|(a, _)| *a != 1000)
                .collect();
            let expected: Vec<_> = (0..step).map(|at| (at, sparse.then_some(at))).collect();
            // spec: ENT-06, LOOK-06
            assert_eq!(read, expected);
            let late = world.spawn((A(7), make(false)));
            assert_eq!(world.get::<A>(late), Some(&A(7)));
            drop(world);
            // spec: COMP-08
            assert_eq!(drops.load(Ordering::Relaxed) as u64, step + 3);
        }
    }
}

#[test]
fn a_loop_that_panics_half_way_leaves_a_whole_world() {
    let mut world = World::new();
    let ids: Vec<_> = world.spawn_batch((0..5).map(|at| (A(at), S(at)))).collect();
    let mut changed = world.prepare_filtered::<Entity, ecs::Changed<A>>().unwrap();
    let mut pairs = world.prepare::<&mut A>().unwrap();
    assert_eq!(changed.iter(&mut world).unwrap().count(), 5);
    for step in 0..5 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for (a, s) in world.query::<(&mut A, &mut S)>() {
                assert!(a.0 != step, "half-way");
                s.0 += 1;
            }
        }));
        assert!(outcome.is_err());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pairs.for_each_pair(&mut world, |a, b| {
                assert!(a.0 + b.0 != step + 1, "half-way");
            })
        }));
        assert!(outcome.is_err());
        // spec: LOOK-06
        assert_eq!(
            world
                .query::<(Entity, &S)>()
                .map(|row| row.0)
                .collect::<Vec<_>>(),
            ids
        );
    }
    let sums: Vec<_> = world.query::<&S>().map(|s| s.0).collect();
    assert_eq!(sums, [4, 4, 4, 4, 4]);
    // spec: LOOK-09
    assert_eq!(changed.iter(&mut world).unwrap().count(), 5);
    assert_eq!(changed.iter(&mut world).unwrap().count(), 0);
}

/// hecs 0.11.1
#[test]
fn batches_may_be_empty_or_left() {
    let mut world = World::with_slot_limit(3);
    // spec: ENT-06
    assert_eq!(world.spawn_batch(std::iter::empty::<(A, B)>()).count(), 0);
    assert_eq!(world.spawn_batch(std::iter::empty::<S>()).count(), 0);
    assert_eq!(
        world
            .spawn_columns((Vec::<A>::new(), Vec::<B>::new()))
            .unwrap()
            .count(),
        0
    );
    let mut left = world.spawn_batch((0..3).map(A));
    let first = left.next().unwrap();
    // spec: ENT-06
    assert_eq!(left.len(), 2);
    let _ = left;
    // spec: ENT-06
    assert_eq!(
        world.query::<&A>().map(|a| a.0).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    // spec: ENT-06
    assert_eq!(
        world
            .try_spawn_batch(std::iter::empty::<(B, S)>())
            .unwrap()
            .count(),
        0,
        "in a full world"
    );
    assert_eq!(world.spawn_columns((Vec::<B>::new(),)).unwrap().count(), 0);
    world.despawn(first);
    // A batch too many, of unknown length, by table and sparse: all or nothing.
    let unknown = || (0..9).filter(|at| at % 4 < 2);
    let order: Vec<Entity> = world.query::<Entity>().collect();
    assert!(world.try_spawn_batch(unknown().map(A)).is_err());
    assert!(world.try_spawn_batch(unknown().map(S)).is_err());
    // spec: ENT-06
    assert_eq!(world.query::<Entity>().collect::<Vec<_>>(), order);
    let mut marks = RemovalMarks::default();
    let entity = order[0];
    marks.mark::<A>(entity);
    marks.mark::<A>(entity);
    marks.mark_named(entity, "A");
    marks.mark::<A>(first);
    // spec: COMP-07, COMP-10
    assert_eq!(marks.clear(&mut world), 1, "twice the same, and a dead one");
}

/// Owns a world, and makes another while it is dropped.
struct Nested(World);

impl Component for Nested {
    fn type_name() -> &'static str {
        "Nested"
    }

    fn export(&self) -> Value {
        self.0.export()
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        let moved = self.0.query::<&A>().map(|a| a.0).sum();
        let mut other = World::new();
        let entity = other.spawn(A(moved));
        other.insert_resource(B(1));
        assert!(other.despawn(entity));
        self.0.clear();
    }
}

/// slint#5525
#[test]
fn a_drop_may_use_another_world() {
    let mut world = World::new();
    for depth in 0..50 {
        let mut outer = World::new();
        outer.spawn((A(depth), Nested(std::mem::take(&mut world))));
        outer.insert_resource(Nested(World::new()));
        world = outer;
    }
    let entity = world.query::<Entity>().next().unwrap();
    assert!(world.export().to_string().matches("Nested").count() == 50);
    // spec: ENT-04
    assert!(world.despawn(entity) && world.is_empty());
}
