//! Commands: structural change that is queued and applied later, on a world by itself.

use ecs::{
    CommandErrorKind, CommandErrors, Commands, Component, ComponentRef, Data, Entity, Named,
    Storage, TypeName, Value, World, json,
};

macro_rules! components {
    ($($name:ident $storage:ident;)*) => {$(
        #[derive(Debug, PartialEq)]
        struct $name(i64);

        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn export(&self) -> Value {
                json!(self.0)
            }

            fn storage() -> Storage {
                Storage::$storage
            }
        }
    )*};
}

components! { A Table; B Table; C Table; Loose Sparse; }

/// Another type under the name of `A`.
#[derive(Debug, PartialEq)]
struct OtherA(i64);

impl Component for OtherA {
    fn type_name() -> &'static str {
        "A"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

fn value_of(world: &World, entity: Entity) -> Option<i64> {
    world.get::<A>(entity).map(|a| a.0)
}

#[test]
fn commands_wait_and_are_applied_in_the_order_given() {
    let mut world = World::new();
    let entity = world.spawn(A(1));
    let other = world.spawn(B(1));
    let mut commands = world.commands();
    // The orders that sorting by kind gets wrong.
    commands.remove::<A>(entity);
    commands.insert(entity, A(5));
    commands.insert(entity, C(1));
    commands.remove::<C>(entity);
    commands.insert(other, (A(7), C(7)));
    commands.remove::<A>(other);
    commands.remove::<B>(other);
    commands.insert_resource(10_u32);
    commands.queue(|world| *world.resource_mut::<u32>().unwrap() += 1);
    commands.insert(other, Loose(3));
    assert_eq!(commands.len(), 10);
    // Nothing has happened yet.
    assert_eq!(value_of(&world, entity), Some(1));
    assert!(world.has::<B>(other) && world.resource::<u32>().is_none());

    world.apply_commands().unwrap();
    // spec: CMD-01
    assert_eq!(value_of(&world, entity), Some(5));
    assert!(!world.has::<C>(entity), "added, then removed");
    assert!(
        !world.has::<A>(other) && !world.has::<B>(other),
        "both removals of one flush count"
    );
    assert!(world.has::<C>(other) && world.has::<Loose>(other));
    assert_eq!(world.resource::<u32>(), Some(&11));

    assert!(world.commands().is_empty());
    world.commands().remove_resource::<u32>();
    world.apply_commands().unwrap();
    assert_eq!(world.resource::<u32>(), None);
    world.apply_commands().unwrap();
    assert_eq!(value_of(&world, entity), Some(5), "applied once");
}

#[test]
fn the_id_of_a_queued_spawn_is_known_at_once() {
    let mut world = World::new();
    let mut commands = world.commands();
    let ids: Vec<Entity> = (0..100).map(|n| commands.spawn(A(n))).collect();
    let empty = commands.spawn_empty();
    // spec: CMD-02
    commands.insert(ids[3], B(3));
    commands.despawn(ids[4]);
    commands.insert(empty, A(1_000));
    assert!(!world.contains(ids[3]) && world.is_empty());

    world.apply_commands().unwrap();
    // spec: CMD-02
    assert_eq!(world.len(), 100);
    for (n, id) in (0..).zip(&ids) {
        assert_eq!(value_of(&world, *id), (n != 4).then_some(n));
    }
    assert_eq!(world.get::<B>(ids[3]), Some(&B(3)));
    assert_eq!(value_of(&world, empty), Some(1_000));
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len());
}

#[test]
fn a_spawn_under_a_handle_is_refused_when_it_is_taken() {
    let mut world = World::new();
    let door = world.commands().spawn_named("door", A(1));
    assert_eq!(world.find("door"), None);
    world.apply_commands().unwrap();
    assert_eq!(world.find("door"), Some(door));

    let second = world.commands().spawn_named("door", A(2));
    let nameless = world.commands().spawn_named("", A(3));
    let errors = world.apply_commands().unwrap_err();
    let kinds: Vec<_> = errors.iter().map(|error| error.kind.clone()).collect();
    let handle = "door".to_owned();
    assert_eq!(
        kinds,
        [
            CommandErrorKind::HandleTaken { handle },
            CommandErrorKind::EmptyHandle
        ]
    );
    assert!(!world.contains(second) && !world.contains(nameless));
    assert_eq!(world.len(), 1);
    let text = errors.first().to_string();
    let own = world.handle(door).map(String::from).unwrap();
    assert!(
        text.starts_with("ecs::World::apply_commands(): command spawn_named of ") && own == "door",
        "{text}"
    );
}

#[test]
fn has_sees_what_is_pending_the_newest_first() {
    let mut world = World::new();
    let entity = world.spawn(A(1));
    let (contents, mut commands) = world.split();
    // spec: CMD-03
    assert_eq!(commands.has::<A>(entity), None, "the world knows");
    assert!(contents.has::<A>(entity));
    commands.remove::<A>(entity);
    assert_eq!(commands.has::<A>(entity), Some(false));
    commands.insert(entity, (A(2), B(2)));
    assert_eq!(commands.has::<A>(entity), Some(true));
    assert_eq!(commands.has::<B>(entity), Some(true));
    assert_eq!(commands.has::<C>(entity), None);
    // One that takes the name.
    commands.insert(entity, OtherA(1));
    assert_eq!(commands.has::<A>(entity), Some(false));
    assert_eq!(commands.has::<OtherA>(entity), Some(true));
    // Its removal takes nothing of another type.
    commands.remove::<A>(entity);
    assert_eq!(commands.has::<OtherA>(entity), Some(true));
    commands.despawn(entity);
    assert_eq!(commands.has::<B>(entity), Some(false));
    commands.insert(entity, B(3));
    assert_eq!(commands.has::<B>(entity), Some(false), "it will be gone");
    assert_eq!(commands.has::<C>(entity), Some(false));

    let new = commands.spawn(B(1));
    // spec: CMD-03
    assert!(commands.is_pending(new) && !commands.is_pending(entity));
    assert_eq!(commands.has::<B>(new), Some(true));
    assert_eq!(commands.has::<A>(new), Some(false));
    world.apply_commands().unwrap();
    assert!(!world.commands().is_pending(new));
    assert_eq!(world.commands().has::<B>(new), None);
    assert!(world.has::<B>(new) && !world.contains(entity));
}

struct Left;
impl TypeName for Left {
    const NAME: &'static str = "Left";
}

#[test]
fn a_named_component_is_not_the_types_own() {
    let mut world = World::new();
    let mut commands = world.commands();
    let entity = commands.spawn(Named::<A, Left>::new(A(1)));
    // spec: CMD-03
    assert_eq!(commands.has::<A>(entity), Some(false));
    world.apply_commands().unwrap();
    assert!(!world.has::<A>(entity) && world.has_named(entity, "Left"));
}

fn change(commands: &mut Commands<'_>, entity: Entity, what: usize) {
    match what {
        0 => commands.insert(entity, A(1)),
        1 => commands.remove::<A>(entity),
        _ => commands.despawn(entity),
    }
}

#[test]
fn a_command_for_an_entity_that_is_gone_does_nothing_or_is_an_error() {
    // All orders of inserting, removing and despawning, twice each, on one entity.
    for strict in [false, true] {
        for order in 0..3_usize.pow(6) {
            let mut world = World::new();
            let entity = world.spawn((A(0), B(0)));
            let mut alive = true;
            let mut has = true;
            let mut missed = 0;
            for at in 0..6 {
                let what = order / 3_usize.pow(at) % 3;
                if !alive {
                    missed += 1;
                }
                if strict {
                    change(&mut world.commands().strict(), entity, what);
                } else {
                    change(&mut world.commands(), entity, what);
                }
                has = alive && (what == 0 || (what != 1 && has));
                alive &= what != 2;
            }
            let outcome = world.apply_commands();
            assert_eq!(world.contains(entity), alive, "{order}");
            assert_eq!(world.has::<A>(entity), has && alive, "{order}");
            let errors = outcome.as_ref().err();
            // spec: CMD-04
            assert_eq!(
                errors.map_or(0, CommandErrors::count),
                if strict { missed } else { 0 },
                "{order}"
            );
            for error in errors.iter().flat_map(|errors| errors.iter()) {
                assert_eq!(error.kind, CommandErrorKind::NoEntity);
                assert_eq!(error.entity, Some(entity));
                assert_eq!(error.handle.as_ref().map(String::len), Some(36));
            }
            // The entity is gone before, by then.
            world.despawn(entity);
            world.commands().insert(entity, C(1));
            world.apply_commands().unwrap();
            assert!(!world.has::<C>(entity));
        }
    }
}

#[test]
fn an_id_that_is_given_up_before_the_commit_never_lives() {
    let mut world = World::new();
    let mut commands = world.commands();
    let given_up: Vec<Entity> = (0..40).map(|n| commands.spawn(A(n))).collect();
    for id in &given_up {
        assert!(!world.despawn(*id), "it was not alive");
    }
    let others: Vec<Entity> = (0..80).map(|n| world.spawn(B(n))).collect();
    // spec: CMD-04
    world.apply_commands().unwrap();
    assert_eq!(world.len(), 80);
    assert!(given_up.iter().all(|id| !world.contains(*id)));
    assert!(given_up.iter().all(|id| !others.contains(id)));
    assert!(others.iter().all(|id| world.has::<B>(*id)));

    let twice = world.commands().spawn(A(1));
    world.spawn_reserved(twice, A(2)).unwrap();
    world.apply_commands().unwrap();
    assert_eq!(value_of(&world, twice), Some(2), "it was alive already");
}

#[test]
fn what_the_world_makes_meanwhile_gets_other_ids() {
    let mut world = World::new();
    let mut ids = Vec::new();
    for round in 0..20 {
        let mut commands = world.commands();
        // More than the reserve holds.
        ids.extend((0..round * 3).map(|n| commands.spawn(A(n))));
        ids.push(world.spawn(A(0)));
        ids.push(world.commands().spawn(A(0)));
        ids.push(world.try_spawn(A(0)).unwrap());
        ids.push(world.commands().spawn(A(0)));
        ids.push(world.entity(&format!("e{round}")).unwrap());
        ids.push(world.commands().spawn(A(0)));
        ids.push(world.spawn_named(&format!("n{round}"), A(0)).unwrap());
        ids.push(world.commands().spawn(A(0)));
        ids.push(world.reserve_entity().unwrap());
        ids.push(world.commands().spawn(A(0)));
        ids.extend(world.spawn_batch((0..5).map(A)));
        ids.push(world.commands().spawn(A(0)));
        ids.extend(world.try_spawn_batch((0..5).map(A)).unwrap());
        ids.push(world.commands().spawn(A(0)));
        let columns = (vec![A(1), A(2)], vec![B(1), B(2)]);
        ids.extend(world.spawn_columns(columns).unwrap());
        ids.push(world.commands().spawn(A(0)));
        let imported = world
            .import(
                &ecs::ComponentRegistry::new(),
                &json!({ "Entities": { format!("i{round}"): {} } }),
            )
            .unwrap();
        ids.extend(imported.entities);
        if round % 3 == 0 {
            world.apply_commands().unwrap();
        }
        if round % 5 == 0 {
            let gone: Vec<Entity> = world.query::<Entity>().step_by(2).collect();
            for id in gone {
                assert!(world.despawn(id));
            }
        }
    }
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    // spec: CMD-02
    assert_eq!(distinct.len(), ids.len(), "an id was issued twice");
    world.apply_commands().unwrap();
}

#[test]
fn churn_through_commands_uses_slots_again() {
    // Steady, and in waves: what one wave used must do for the next one.
    for wave in [1, 7] {
        let mut world = World::new();
        let mut living: Vec<Entity> = Vec::new();
        let mut slots = 0;
        for round in 0..100_000_u32 / wave {
            let (mut contents, mut commands) = world.split();
            let mut seen = 0;
            for (entity, _) in contents.query::<(Entity, &A)>() {
                commands.despawn(entity);
                seen += 1;
            }
            assert_eq!(seen, living.len());
            let count = if round % wave == 0 { 40 } else { 2 };
            living = (0..count).map(|n| commands.spawn(A(n))).collect();
            world.apply_commands().unwrap();
            assert_eq!(world.len(), living.len());
            if round == 100 {
                slots = world.statistics().slots;
            }
        }
        // spec: CMD-01
        assert!(slots <= 200, "{slots} slots for 40 entities");
        assert_eq!(world.statistics().slots, slots, "memory is flat");
        // Nothing is held back for ever.
        world.shrink_to_fit();
        let more = slots - world.len();
        assert_eq!(world.spawn_batch((0..more).map(|_| B(0))).len(), more);
        assert_eq!(world.statistics().slots, slots);
    }
}

#[test]
fn beyond_the_slot_limit_an_id_never_lives() {
    let mut world = World::with_slot_limit(20);
    let first = world.spawn(A(0));
    let mut commands = world.commands();
    let ids: Vec<Entity> = (1..=25).map(|n| commands.spawn(A(n))).collect();
    commands.insert(ids[24], B(1));
    let errors = world.apply_commands().unwrap_err();
    assert_eq!(errors.count(), 6);
    let limit = 20;
    let full = CommandErrorKind::OutOfSlots { limit };
    assert!(errors.iter().all(|error| error.kind == full));
    assert_eq!(world.len(), 20);
    assert!(ids[19..].iter().all(|id| !world.contains(*id)));

    // A slot that comes free is nobody's for long, whoever asks.
    for _ in 0..100 {
        world.commands().despawn(first);
        let gone = world.query::<Entity>().next().unwrap();
        world.commands().despawn(gone);
        world.apply_commands().unwrap();
        let new = world.commands().spawn(A(1));
        world.apply_commands().unwrap();
        assert!(world.contains(new));
        let gone = world.query::<Entity>().next().unwrap();
        world.despawn(gone);
        assert!(world.commands().is_empty());
        assert!(world.try_spawn(A(1)).is_ok(), "the commands hold it back");
    }
    assert!(world.try_spawn(A(1)).is_err() || world.len() == 20);
}

fn note(world: &mut World, what: u32) {
    world.resource_mut::<Vec<u32>>().unwrap().push(what);
}

#[test]
fn an_event_is_sent_in_its_place() {
    let mut world = World::new();
    let mut reader = world.event_reader::<(Entity, i64)>();
    let entity = world.spawn(A(1));
    let mut commands = world.commands();
    for n in 0..3 {
        commands.send_event((entity, n));
        commands.despawn(entity);
        commands.queue(move |world| world.send_event((entity, 10 + n)));
        commands.insert(entity, B(n));
    }
    world.deliver_events();
    assert_eq!(reader.read(&world).unwrap().len(), 0);
    world.apply_commands().unwrap();
    world.deliver_events();
    // spec: CMD-01, CMD-04
    let sent = reader.read(&world).unwrap().map(|event| event.1);
    assert_eq!(sent.collect::<Vec<_>>(), [0, 10, 1, 11, 2, 12]);
    assert!(!world.contains(entity));
}

#[test]
fn what_a_queued_function_queues_waits_for_the_next_commit() {
    let mut world = World::new();
    world.insert_resource(Vec::<u32>::new());
    let mut commands = world.commands();
    commands.queue(|world| {
        note(world, 1);
        let inner = world.commands().spawn(A(9));
        world.commands().insert(inner, B(9));
        world.commands().queue(|world| note(world, 4));
        assert!(world.commands().is_pending(inner));
    });
    commands.queue(|world| note(world, 2));
    commands.spawn(A(1));
    world.apply_commands().unwrap();
    note(&mut world, 3);
    // spec: CMD-01
    assert_eq!(world.len(), 1, "the inner spawn waits");
    assert_eq!(world.commands().len(), 3);
    world.apply_commands().unwrap();
    assert_eq!(world.resource::<Vec<u32>>(), Some(&vec![1, 2, 3, 4]));
    assert_eq!(world.query::<(&A, &B)>().count(), 1);
}

#[test]
fn commands_are_queued_while_a_query_runs() {
    let mut world = World::new();
    world.spawn_batch((0..10).map(A));
    world.insert_resource(3_i64);
    let mut prepared = world.prepare::<(Entity, &mut A)>().unwrap();
    let (mut contents, mut commands) = world.split();
    *contents.resource_mut::<i64>().unwrap() += 1;
    let least = *contents.resource::<i64>().unwrap();
    // spec: LOOK-10
    for (entity, a) in contents.query::<(Entity, &mut A)>() {
        a.0 += 1;
        if a.0 > least {
            commands.despawn(entity);
        } else {
            commands.spawn(B(a.0));
        }
    }
    for (entity, a) in contents.run(&mut prepared).unwrap() {
        if a.0 == 1 {
            commands.insert(entity, C(1));
        }
    }
    world.apply_commands().unwrap();
    assert_eq!(world.query::<&A>().count(), 4);
    assert_eq!(world.query::<&B>().count(), 4);
    assert_eq!(world.query::<(&A, &C)>().count(), 1);
}

#[test]
fn a_component_reference_finds_its_component_from_the_commit_to_its_removal() {
    fn is_copy<T: Copy + Send + Sync>(_: T) {}
    let mut world = World::new();
    for sparse in [false, true] {
        let mut commands = world.commands();
        let entity = commands.spawn_empty();
        let reference: ComponentRef<A> = commands.insert_ref(entity, A(7));
        let loose = commands.insert_ref(entity, Loose(8));
        is_copy(reference);
        let copy = reference;
        // spec: CMD-06
        assert!(reference.get(&world).is_none());
        assert!(loose.get_mut(&mut world).is_none());
        world.apply_commands().unwrap();
        // spec: CMD-06
        assert_eq!(reference.get(&world), Some(&A(7)));
        copy.get_mut(&mut world).unwrap().0 += 1;
        assert_eq!(reference.get(&world), Some(&A(8)));
        assert_eq!(loose.get(&world), Some(&Loose(8)));
        assert_eq!(world.component_ref::<A>(entity), Some(reference));
        assert_eq!(world.component_ref::<B>(entity), None);

        // It follows the entity through its archetypes, and past its neighbours' ends.
        world.insert(entity, (B(1), C(1))).unwrap();
        world.remove::<B>(entity);
        assert_eq!(reference.get(&world), Some(&A(8)));

        world.remove::<A>(entity).unwrap();
        // spec: CMD-06
        assert!(reference.get(&world).is_none() && loose.get(&world).is_some());
        world.despawn(entity);
        assert!(loose.get(&world).is_none());
        let again = world.spawn((A(1), Loose(1)));
        assert_eq!(again.index(), entity.index(), "the slot is used again");
        // spec: CMD-06
        assert!(reference.get(&world).is_none() && loose.get(&world).is_none());
        if sparse {
            world.clear();
        }
    }
}

#[test]
fn commands_of_another_world_do_nothing_there() {
    let mut one = World::new();
    let mut two = World::new();
    two.spawn_batch((0..100).map(A));
    let stranger = two.query::<Entity>().next().unwrap();
    let own = one.commands().spawn(A(1));
    one.commands().insert(stranger, B(1));
    one.commands().despawn(stranger);
    std::mem::swap(&mut one, &mut two);
    // The queue has moved with its world.
    assert!(one.commands().is_empty());
    two.apply_commands().unwrap();
    assert!(two.contains(own) && one.contains(stranger) && one.len() == 100);

    // A function that puts another world in the place of its own takes the rest of the flush there.
    let mut world = World::new();
    let entity = world.spawn(A(1));
    let mut commands = world.commands();
    commands.queue(|world| *world = World::new());
    commands.insert(entity, B(1));
    let late = commands.strict().spawn(A(1));
    let errors = world.apply_commands().unwrap_err();
    assert_eq!(errors.count(), 1);
    assert!(!world.contains(late) && world.is_empty());
    let new = world.commands().spawn(A(3));
    world.apply_commands().unwrap();
    assert_eq!(value_of(&world, new), Some(3));
}

#[test]
fn data_components_and_large_bundles_are_commands_too() {
    let mut world = World::new();
    let mut commands = world.commands();
    let entity = commands.spawn(((A(1), B(2)), (C(3), Loose(4))));
    commands.queue(move |world| {
        world
            .insert_named_boxed(entity, "note", Box::new(Data(json!({ "x": 1 }))))
            .unwrap();
    });
    world.apply_commands().unwrap();
    assert_eq!(world.get::<Loose>(entity), Some(&Loose(4)));
    assert!(world.has_named(entity, "note"));
    assert_eq!(world.query::<(&A, &B, &C, &Loose)>().count(), 1);
}
