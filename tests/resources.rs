//! Resources: named bytes, shared without a copy, and typed singletons.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ecs::{Resource, World};

#[test]
fn bytes_are_added_and_got_without_a_copy() {
    let mut world = World::new();
    let bytes = vec![1_u8, 2, 3];
    let place = bytes.as_ptr();
    // spec: RES-01
    assert!(world.add_resource("tiles", bytes).is_none());
    let held = world.resource_bytes("tiles").unwrap();
    // spec: RES-01, RES-02
    assert_eq!(held.as_ptr(), place);
    let again = world.resource_bytes("tiles").unwrap();
    // spec: RES-02
    assert!(Arc::ptr_eq(&held, &again));
    assert_eq!(Arc::strong_count(&held), 3);

    let shared = Arc::new(Resource::new(vec![4; 1000]));
    let place = shared.as_ptr();
    world.add_shared_resource("shared", Arc::clone(&shared));
    // spec: RES-01, RES-02
    assert!(Arc::ptr_eq(
        &world.resource_bytes("shared").unwrap(),
        &shared
    ));
    assert_eq!(shared.as_ptr(), place);
    assert_eq!(AsRef::<[u8]>::as_ref(&*shared), [4; 1000]);
}

#[test]
fn any_name_will_do() {
    let mut world = World::new();
    let names = ["", " ", "a", "A", "\u{0}", "é/~", "😀"];
    for (at, name) in names.into_iter().enumerate() {
        world.add_resource(name, vec![u8::try_from(at).unwrap()]);
    }
    for (at, name) in names.into_iter().enumerate() {
        // spec: RES-01
        assert_eq!(
            world.resource_bytes(name).unwrap()[..],
            [u8::try_from(at).unwrap()]
        );
    }
    world.add_resource("nothing", Vec::new());
    // spec: RES-01
    assert!(world.resource_bytes("nothing").unwrap().is_empty());
}

#[test]
fn an_unknown_name_is_none_and_stays_unknown() {
    let mut world = World::new();
    world.add_resource("a", vec![1]);
    for name in ["", "A", "a ", "b"] {
        // spec: RES-02
        assert!(world.resource_bytes(name).is_none(), "{name:?}");
        // Asking made no entry: nothing is there to be removed or replaced.
        // spec: RES-02
        assert!(world.remove_resource_bytes(name).is_none());
        // spec: RES-02
        assert!(world.add_resource(name, vec![2]).is_none());
        world.remove_resource_bytes(name);
    }
    // spec: RES-02
    assert_eq!(world.resource_bytes("a").unwrap()[..], [1]);
}

#[test]
fn a_set_of_shared_blocks_is_added_at_once() {
    let block = |byte| Arc::new(Resource::new(vec![byte; 4]));
    let (first, second, third) = (block(1), block(2), block(3));
    let mut world = World::new();
    world.add_shared_resource("b", block(9));
    world.add_resources([
        ("a", Arc::clone(&first)),
        ("b", Arc::clone(&second)),
        ("a", Arc::clone(&third)),
        ("c", Arc::clone(&third)),
    ]);
    // spec: RES-01
    assert!(
        Arc::ptr_eq(&world.resource_bytes("a").unwrap(), &third),
        "the later one stays"
    );
    // spec: RES-01, RES-05
    assert!(Arc::ptr_eq(&world.resource_bytes("b").unwrap(), &second));
    // spec: RES-01
    assert!(Arc::ptr_eq(&world.resource_bytes("c").unwrap(), &third));
    assert_eq!(
        Arc::strong_count(&first),
        1,
        "nobody holds what was replaced"
    );
    world.add_resources::<String>([]);
    assert_eq!(Arc::strong_count(&third), 3);
}

#[test]
fn what_is_held_outlives_its_replacement_and_the_world() {
    let mut world = World::new();
    world.add_resource("map", vec![1; 64]);
    let held = world.resource_bytes("map").unwrap();
    let place = held.as_ptr();
    let replaced = world.add_resource("map", vec![2; 8]).unwrap();
    // spec: RES-05
    assert!(Arc::ptr_eq(&held, &replaced));
    // spec: RES-03, RES-05
    assert_eq!((held.as_ptr(), &held[..]), (place, [1; 64].as_slice()));
    // spec: RES-05
    assert_eq!(world.resource_bytes("map").unwrap()[..], [2; 8]);
    let newer = world.resource_bytes("map").unwrap();
    let removed = world.remove_resource_bytes("map").unwrap();
    // spec: RES-02, RES-03
    assert!(Arc::ptr_eq(&newer, &removed) && world.resource_bytes("map").is_none());
    world.add_resource("map", vec![3]);
    let last = world.resource_bytes("map").unwrap();
    drop(world);
    // spec: RES-03
    assert_eq!((held[63], newer[7], last[0]), (1, 2, 3));
    // spec: RES-03
    assert_eq!(Arc::strong_count(&last), 1);
    let other_thread = std::thread::spawn(move || last[0]);
    assert_eq!(other_thread.join().unwrap(), 3);
}

#[test]
fn held_bytes_cannot_be_changed() {
    let mut world = World::new();
    let mut held = world
        .add_shared_resource("x", Arc::new(Resource::new(vec![1])))
        .map_or_else(|| world.resource_bytes("x").unwrap(), |_| unreachable!());
    // spec: RES-05
    assert!(Arc::get_mut(&mut held).is_none(), "the world shares it");
    // A copy on write leaves the stored bytes alone.
    *Arc::make_mut(&mut held) = Resource::from(vec![2]);
    // spec: RES-05
    assert_eq!(world.resource_bytes("x").unwrap()[..], [1]);
}

#[test]
fn clearing_entities_leaves_resources() {
    let mut world = World::new();
    world.add_resource("x", vec![1]);
    world.insert_resource(7_u8);
    world.spawn(());
    world.clear();
    world.shrink_to_fit();
    world.reclaim();
    // spec: RES-02, RES-04
    assert!(world.resource_bytes("x").is_some() && world.resource::<u8>() == Some(&7));
}

#[test]
fn typed_singletons_live_beside_the_bytes() {
    let mut world = World::new();
    // spec: RES-04
    assert_eq!(world.resource::<u32>(), None);
    assert_eq!(world.resource_mut::<u32>(), None);
    assert_eq!(world.remove_resource::<u32>(), None);
    assert_eq!(world.insert_resource(1_u32), None);
    assert_eq!(world.insert_resource("text".to_owned()), None);
    world.add_resource("u32", vec![5]);
    world.insert_resource(vec![6_u8]);
    world.insert_resource(Resource::new(vec![7]));
    // spec: RES-04
    assert_eq!(world.insert_resource(2_u32), Some(1));
    *world.resource_mut::<u32>().unwrap() += 1;
    // spec: RES-04
    assert_eq!(world.resource::<u32>(), Some(&3));
    assert_eq!(world.resource::<String>().unwrap(), "text");
    assert_eq!(world.resource::<i32>(), None, "another type");
    // spec: RES-04
    assert_eq!(world.resource_bytes("u32").unwrap()[..], [5]);
    assert_eq!(world.resource::<Vec<u8>>().unwrap()[..], [6]);
    // spec: RES-04
    assert_eq!(world.remove_resource::<u32>(), Some(3));
    assert_eq!(world.resource::<u32>(), None);
    assert_eq!(world.resource_bytes("u32").unwrap()[..], [5]);
}

#[test]
fn a_singleton_is_dropped_once() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mut world = World::new();
    world.insert_resource(Counted);
    let old = world.insert_resource(Counted);
    assert_eq!(DROPS.load(Ordering::Relaxed), 0);
    drop(old);
    // spec: RES-04
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
    drop(world.remove_resource::<Counted>());
    assert_eq!(DROPS.load(Ordering::Relaxed), 2);
    world.insert_resource(Counted);
    drop(world);
    // spec: RES-04
    assert_eq!(DROPS.load(Ordering::Relaxed), 3);
}

#[test]
fn each_write_of_the_only_singleton_is_a_change() {
    let mut world = World::new();
    let mut reader = world.resource_reader::<u32>();
    world.insert_resource(1_u32);
    // spec: LOOK-15
    assert!(reader.changed(&world).unwrap());
    for _ in 0..3 {
        *world.resource_mut::<u32>().unwrap() += 1;
        // spec: LOOK-15
        assert!(reader.changed(&world).unwrap() && !reader.changed(&world).unwrap());
    }
}

#[test]
fn changes_of_a_singleton_are_read_once() {
    let mut world = World::new();
    let mut reader = world.resource_reader::<u32>();
    let mut other = world.resource_reader::<u32>();
    // spec: LOOK-15
    assert!(!reader.changed(&world).unwrap(), "there is none");
    world.insert_resource(1_u32);
    world.insert_resource(1_u64);
    // spec: LOOK-15
    assert!(reader.changed(&world).unwrap() && !reader.changed(&world).unwrap());
    world.resource::<u32>();
    *world.resource_mut::<u64>().unwrap() += 1;
    // spec: LOOK-15
    assert!(
        !reader.changed(&world).unwrap(),
        "only looked at, or another type"
    );
    *world.resource_mut::<u32>().unwrap() += 1;
    *world.resource_mut::<u32>().unwrap() += 1;
    // spec: LOOK-15
    assert!(reader.changed(&world).unwrap() && !reader.changed(&world).unwrap());
    world.remove_resource::<u32>();
    // spec: LOOK-15
    assert!(!reader.changed(&world).unwrap());
    world.insert_resource(1_u32);
    // spec: LOOK-15
    assert!(
        reader.changed(&world).unwrap(),
        "a new one, whatever its value"
    );
    // spec: LOOK-15
    assert!(other.changed(&world).unwrap() && !other.changed(&world).unwrap());
    // spec: ENT-08
    assert!(reader.changed(&World::new()).is_err());
}
