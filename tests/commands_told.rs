//! What commands, contents and references to components tell of themselves.

mod kinds;

use std::any::{type_name, type_name_of_val};
use std::hash::{BuildHasher, RandomState};

use ecs::World;

type A = kinds::Health<false>;
type B = kinds::Speed<false>;
type C = kinds::Weight<false>;

#[test]
fn a_failure_says_which_command_of_what_it_was() {
    let mut world = World::with_slot_limit(1);
    let gone = world.spawn(());
    world.despawn(gone);
    let mut commands = world.commands();
    commands.spawn(kinds::Health::<false>(1));
    commands.spawn(kinds::Health::<false>(2));
    commands.spawn_named(
        "door",
        (kinds::Health::<false>(3), kinds::Speed::<false>(3)),
    );
    commands.strict().despawn(gone);
    commands.strict().insert(gone, kinds::Speed::<false>(4));
    commands.strict().remove::<C>(gone);
    commands.queue(fails_on_purpose);
    let errors = world.apply_commands().unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let failed: Vec<_> = errors
        .iter()
        .map(|error| (error.command, error.type_name))
        .collect();
    let [a, ab, b, c] = [
        type_name::<A>(),
        type_name::<(A, B)>(),
        type_name::<B>(),
        type_name::<C>(),
    ];
    // spec: CMD-04
    assert_eq!(
        failed,
        [
            ("spawn", a),
            ("spawn_named", ab),
            ("despawn", "an entity"),
            ("insert", b),
            ("remove", c),
            ("queue", type_name_of_val(&fails_on_purpose))
        ]
    );
    // An entity that is gone has its generated handle; a function is about none.
    let [handle, queued] = [&errors.iter().nth(2), &errors.iter().nth(5)]
        .map(|error| error.and_then(|error| error.handle.clone()));
    let despawned = format!(
        "ecs::World::apply_commands(): command despawn of an entity, entity \"{}\": ",
        handle.unwrap()
    );
    assert!(texts[2].starts_with(&despawned), "{}", texts[2]);
    assert_eq!(queued, None);
    let called = type_name_of_val(&fails_on_purpose);
    let called = format!("ecs::World::apply_commands(): command queue of {called}: ");
    assert!(texts[5].starts_with(&called), "{}", texts[5]);
}

fn fails_on_purpose(_: &mut World) {
    panic!("on purpose");
}

#[test]
fn contents_tell_what_is_there_now_and_not_what_waits() {
    let mut world = World::new();
    let entity = world
        .spawn_named("door", kinds::Health::<false>(1))
        .unwrap();
    let gone = world.spawn(kinds::Health::<false>(2));
    world.despawn(gone);
    let (mut contents, mut commands) = world.split();
    assert!(commands.is_empty());
    commands.despawn(entity);
    let waits = commands.spawn(kinds::Health::<false>(3));
    assert!(!commands.is_empty());
    // spec: CMD-03
    assert!(contents.contains(entity) && contents.contains("door"));
    assert!(!contents.contains(gone) && !contents.contains(waits) && !contents.contains("gate"));
    assert_eq!(contents.find("door"), Some(entity));
    assert_eq!(contents.find("gate"), None);
    assert!(contents.has::<A>(entity) && contents.has::<A>("door"));
    assert!(!contents.has::<B>(entity) && !contents.has::<A>(waits));
    contents.get_mut::<A>("door").unwrap().0 += 10;
    assert_eq!(contents.get_mut::<A>(gone), None);
    assert_eq!(contents.get::<A>(entity), Some(&kinds::Health::<false>(11)));
    world.apply_commands().unwrap();
    assert!(!world.contains(entity));
    assert_eq!(world.get::<A>(waits), Some(&kinds::Health::<false>(3)));
}

#[test]
fn references_to_components_are_alike_where_their_entities_are() {
    let mut world = World::new();
    let ids = [
        world.spawn(kinds::Health::<false>(1)),
        world.spawn(kinds::Health::<false>(1)),
    ];
    let [one, other] = ids.map(|id| world.component_ref::<A>(id).unwrap());
    assert_eq!(one, world.component_ref::<A>(ids[0]).unwrap());
    assert_ne!(one, other);
    let build = RandomState::new();
    assert_eq!(build.hash_one(one), build.hash_one(ids[0]));
    assert_ne!(build.hash_one(one), build.hash_one(other));
}
