//! Zero-sized and over-aligned components. (bevy#6615, evenio#71)

use ecs::{Bundle, Component, Entity, Storage, Value, World, json};

macro_rules! laid_out {
    ($($name:ident $storage:ident [$($layout:meta)?] $($field:ty)?;)*) => {$(
        #[derive(Debug, PartialEq)]
        $(#[$layout])?
        struct $name($($field)?);

        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn export(&self) -> Value {
                json!(null)
            }

            fn storage() -> Storage {
                Storage::$storage
            }
        }
    )*};
}

laid_out! {
    Zero Table [];
    SparseZero Sparse [];
    Zero64 Table [repr(align(64))];
    Number Table [] u64;
    Byte Table [] u8;
    Wide64 Table [repr(align(64))] u64;
    Wide4096 Table [repr(align(4096))] u64;
    Sparse4096 Sparse [repr(align(4096))] u64;
    Large Table [] [u64; 1000];
}

fn aligned<T>(place: &T) -> bool {
    std::ptr::from_ref(place)
        .addr()
        .is_multiple_of(align_of::<T>())
}

/// Spawns across growth sizes, removes from the middle, moves to other archetypes and back, and reads everything.
fn survive<Q: Bundle>(make: impl Fn(u64) -> Q, read: impl Fn(&World, Entity) -> Option<u64>) {
    for count in [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 65] {
        let mut world = World::new();
        let mut ids: Vec<_> = (0..count).map(|at| (world.spawn(make(at)), at)).collect();
        let more = world.spawn_batch((0..count).map(&make)).collect::<Vec<_>>();
        ids.extend(more.into_iter().zip(0..));
        for at in (0..ids.len()).rev().step_by(3) {
            world.despawn(ids.swap_remove(at).0);
        }
        for (entity, _) in ids.iter().step_by(2) {
            world.insert(*entity, (Byte(1), Zero64())).unwrap();
        }
        for (entity, _) in ids.iter().step_by(4) {
            world.remove::<Zero64>(*entity).unwrap();
            assert!(world.remove_named(*entity, "Byte").is_some());
        }
        world.shrink_to_fit();
        for (entity, at) in &ids {
            // spec: COMP-08
            assert_eq!(read(&world, *entity), Some(*at));
        }
        // spec: COMP-08
        assert_eq!(world.len(), ids.len());
    }
}

#[test]
fn zero_sized_kinds_keep_the_others_in_step() {
    let number = |world: &World, entity| {
        let zero = world.get::<Zero>(entity)?;
        aligned(zero).then_some(world.get::<Number>(entity)?.0)
    };
    survive(|at| (Zero(), Number(at)), number);
    survive(|at| (Number(at), Zero()), number);
    survive(
        |at| (SparseZero(), Number(at)),
        |world, entity| {
            world.get::<SparseZero>(entity)?;
            Some(world.get::<Number>(entity)?.0)
        },
    );
    let mut world = World::new();
    world.spawn_batch((0..100).map(|_| Zero()));
    // spec: COMP-08, LOOK-13
    assert_eq!(
        world
            .query::<&Zero>()
            .chunks()
            .next()
            .unwrap()
            .into_slices()
            .len(),
        100
    );
    let columns = vec![Zero(), Zero()];
    assert_eq!(
        world
            .spawn_columns((columns, vec![Number(1), Number(2)]))
            .unwrap()
            .len(),
        2
    );
    // spec: COMP-08
    assert_eq!(world.query::<(&Zero, &Number)>().count(), 2);
}

#[test]
fn over_aligned_kinds_are_aligned_in_every_position() {
    let wide = |world: &World, entity| {
        let (a, b) = (world.get::<Wide64>(entity)?, world.get::<Wide4096>(entity)?);
        (aligned(a) && aligned(b) && a.0 == b.0).then_some(a.0)
    };
    survive(|at| (Wide64(at), Byte(0), Wide4096(at)), wide);
    survive(|at| (Wide4096(at), Wide64(at), Byte(0)), wide);
    survive(|at| (Byte(0), (Wide4096(at), Zero()), Wide64(at)), wide);
    survive(
        |at| (Sparse4096(at), Large([at; 1000])),
        |world, entity| {
            let (sparse, large) = (
                world.get::<Sparse4096>(entity)?,
                world.get::<Large>(entity)?,
            );
            (aligned(sparse) && large.0 == [sparse.0; 1000]).then_some(sparse.0)
        },
    );
    let mut world = World::new();
    world.spawn((Byte(1), Wide4096(1), Sparse4096(2), Zero64()));
    let (wide, sparse, zero) = world
        .query::<(&mut Wide4096, &mut Sparse4096, &mut Zero64)>()
        .next()
        .unwrap();
    // spec: COMP-08
    assert!(aligned(wide) && aligned(sparse) && aligned(zero));
    let boxed = world.query::<Entity>().next().unwrap();
    let boxed = world.remove_named(boxed, "Wide4096").unwrap();
    // spec: COMP-08
    assert!(aligned(boxed.downcast_ref::<Wide4096>().unwrap()));
}
