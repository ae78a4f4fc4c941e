//! Commands that fail in mid-flush: the rest is applied, the world is whole, and nothing is dropped twice or leaked.

use std::any::type_name;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ecs::{BundleFault, CommandErrorKind, Component, Entity, Storage, Value, World, json};

/// Counts what is alive of the values that were made with it.
#[derive(Clone, Default)]
struct Ledger(Arc<AtomicI64>);

impl Ledger {
    fn alive(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn item(&self) -> Item {
        self.0.fetch_add(1, Ordering::SeqCst);
        Item {
            ledger: self.clone(),
            fails: false,
        }
    }

    /// One whose drop panics.
    fn bomb(&self) -> Item {
        let mut item = self.item();
        item.fails = true;
        item
    }
}

struct Item {
    ledger: Ledger,
    fails: bool,
}

impl Drop for Item {
    fn drop(&mut self) {
        let before = self.ledger.0.fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "dropped twice");
        assert!(!self.fails, "a drop fails");
    }
}

macro_rules! components {
    ($($name:ident $storage:ident;)*) => {$(
        struct $name(#[expect(dead_code, reason = "to be dropped")] Item);

        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn export(&self) -> Value {
                json!({})
            }

            fn storage() -> Storage {
                Storage::$storage
            }
        }
    )*};
}

components! { A Table; B Table; Loose Sparse; }

/// Another type under the name of `A`.
struct OtherA;

impl Component for OtherA {
    fn type_name() -> &'static str {
        "A"
    }

    fn export(&self) -> Value {
        json!({})
    }
}

fn quietly<R>(work: impl FnOnce() -> R) -> R {
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let standard = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                standard(panic);
            }
        }));
    });
    QUIET.set(true);
    let value = work();
    QUIET.set(false);
    value
}

/// Twelve steps of every kind, of which number `at` panics.
fn queue_twelve(world: &mut World, ledger: &Ledger, at: usize, old: Entity) -> [Entity; 3] {
    let mut commands = world.commands();
    let ids = [0; 3].map(|_| commands.spawn((A(ledger.item()), Loose(ledger.item()))));
    // Steps 0 to 2 are the spawns.
    for step in 3..15 {
        if step == at {
            let captured = ledger.item();
            commands.queue(move |world| {
                let _moved = captured;
                world.commands().spawn_empty();
                panic!("step {step}");
            });
        }
        match step {
            3 => commands.insert(ids[0], (B(ledger.item()), A(ledger.item()))),
            4 => commands.remove::<A>(ids[1]),
            5 => commands.despawn(ids[2]),
            6 => commands.insert(ids[2], B(ledger.item())),
            7 => commands.insert(old, Loose(ledger.item())),
            8 => commands.remove::<Loose>(old),
            9 | 14 => commands.insert_resource(ledger.item()),
            10 => {
                let item = ledger.item();
                commands.queue(move |world| {
                    let entity = world.spawn(A(item));
                    world.despawn(entity);
                });
            }
            11 => commands.remove_resource::<Item>(),
            12 => _ = commands.spawn_named("named", B(ledger.item())),
            _ => commands.despawn(old),
        }
    }
    ids
}

#[test]
fn a_panic_at_any_step_leaves_the_rest_applied() {
    for at in 3..=15 {
        let ledger = Ledger::default();
        let mut world = World::new();
        let old = world.spawn(A(ledger.item()));
        let ids = queue_twelve(&mut world, &ledger, at, old);
        let outcome = quietly(|| world.apply_commands());
        // spec: CMD-07
        if at < 15 {
            let errors = outcome.unwrap_err();
            assert_eq!(errors.count(), 1);
            let text = format!("panicked: step {at}");
            assert_eq!(errors.first().kind, CommandErrorKind::Panicked { text });
            assert_eq!(
                world.commands().len(),
                1,
                "what it queued before stays queued"
            );
        } else {
            outcome.unwrap();
        }
        // spec: CMD-07
        assert!(world.has::<A>(ids[0]) && world.has::<B>(ids[0]) && world.has::<Loose>(ids[0]));
        assert!(!world.has::<A>(ids[1]) && world.has::<Loose>(ids[1]));
        assert!(!world.contains(ids[2]) && !world.contains(old));
        assert!(world.has::<B>("named") && world.resource::<Item>().is_some());
        assert_eq!(world.len(), 3);
        // A, B, Loose; Loose; B; and the resource.
        assert_eq!(ledger.alive(), 6, "step {at}");
        // The world goes on.
        world.apply_commands().unwrap();
        let new = world.commands().spawn(A(ledger.item()));
        world.apply_commands().unwrap();
        assert!(world.has::<A>(new));
        drop(world);
        assert_eq!(ledger.alive(), 0, "step {at}");
    }
}

#[test]
fn drops_that_panic_are_errors_of_their_commands() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let gone = world.spawn(());
    world.despawn(gone);
    let entity = world.spawn((A(ledger.bomb()), B(ledger.bomb())));
    let other = world.spawn((A(ledger.bomb()), Loose(ledger.bomb())));
    world.insert_resource(ledger.bomb());
    let mut commands = world.commands();
    commands.insert(entity, A(ledger.item())); // replaces one
    commands.remove::<B>(entity);
    commands.despawn(other); // two at once
    commands.insert(gone, (A(ledger.bomb()), B(ledger.bomb()))); // refused: two at once
    commands.insert_resource(ledger.bomb()); // replaces one
    commands.remove_resource::<Item>();
    let last = commands.spawn(A(ledger.item()));
    let errors = quietly(|| world.apply_commands()).unwrap_err();
    let names: Vec<_> = errors
        .iter()
        .map(|error| (error.command, error.type_name))
        .collect();
    // spec: CMD-07
    assert_eq!(
        names,
        [
            ("insert", type_name::<A>()),
            ("remove", type_name::<B>()),
            ("despawn", "an entity"),
            ("insert", type_name::<(A, B)>()),
            ("insert_resource", type_name::<Item>()),
            ("remove_resource", type_name::<Item>())
        ]
    );
    let text = "panicked: a drop fails".to_owned();
    let fails = CommandErrorKind::Panicked { text };
    assert!(errors.iter().all(|error| error.kind == fails));
    assert!(world.has::<A>(entity) && !world.has::<B>(entity));
    assert!(!world.contains(other) && world.has::<A>(last));
    assert_eq!(ledger.alive(), 2);
    drop(world);
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn what_is_never_applied_is_dropped_once() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let entity = world.spawn(());
    queue_twelve(&mut world, &ledger, 10, entity);
    assert!(ledger.alive() > 10);
    world.commands().send_event(ledger.item());
    drop(world);
    // spec: CMD-07
    assert_eq!(ledger.alive(), 0);

    let mut world = World::new();
    let entity = world.spawn(());
    for _ in 0..3 {
        let mut commands = world.commands();
        commands.spawn((A(ledger.bomb()), B(ledger.bomb())));
        commands.insert(entity, (A(ledger.bomb()), B(ledger.bomb())));
        let captured = ledger.bomb();
        commands.queue(move |_| drop(captured));
        commands.insert_resource(ledger.bomb());
        commands.send_event(ledger.bomb());
        commands.spawn_named("x", (A(ledger.bomb()), B(ledger.item())));
    }
    let outcome = quietly(|| catch_unwind(AssertUnwindSafe(|| drop(world))));
    assert!(outcome.is_err(), "the first panic is passed on");
    // spec: CMD-07
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn a_bundle_that_contradicts_itself_is_an_error_when_it_is_applied() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let entity = world.spawn(());
    let mut commands = world.commands();
    let never = commands.spawn((A(ledger.item()), OtherA));
    commands.insert(entity, (OtherA, A(ledger.item())));
    commands.insert(never, B(ledger.item()));
    let named = commands.spawn_named("named", (A(ledger.item()), OtherA));
    let errors = world.apply_commands().unwrap_err();
    assert_eq!(errors.count(), 3);
    for error in errors.iter() {
        let twice = &error.kind;
        assert!(
            matches!(twice, CommandErrorKind::Bundle(BundleFault::Twice { name, .. }) if name == "A"),
            "{twice:?}"
        );
    }
    // spec: CMD-07
    assert_eq!(ledger.alive(), 0);
    assert!(!world.contains(never) && !world.contains(named) && world.find("named").is_none());
    assert_eq!(world.len(), 1);
    // Their slots are used again, none is lost.
    let slots = world.statistics().slots;
    world.shrink_to_fit();
    let more = slots - world.len();
    assert_eq!(world.spawn_batch((0..more).map(|_| ())).len(), more);
    assert_eq!(world.statistics().slots, slots);
}

#[test]
fn a_flush_within_a_flush_applies_what_the_function_queued() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let item = ledger.item();
    world.commands().queue(move |world| {
        let inner = world.commands().spawn(A(item));
        world.apply_commands().unwrap();
        assert!(world.contains(inner));
        world.commands().queue(|_| panic!("inner"));
        assert_eq!(world.apply_commands().unwrap_err().count(), 1);
        world.commands().spawn_empty();
    });
    let late = world.commands().spawn(B(ledger.item()));
    quietly(|| world.apply_commands()).unwrap();
    assert!(world.contains(late) && world.len() == 2);
    world.apply_commands().unwrap();
    assert_eq!((world.len(), ledger.alive()), (3, 2));
}

#[test]
fn errors_beyond_the_first_are_counted() {
    let mut world = World::new();
    let gone = world.spawn(());
    world.despawn(gone);
    for _ in 0..1_000 {
        world.commands().strict().despawn(gone);
    }
    let errors = world.apply_commands().unwrap_err();
    assert_eq!((errors.count(), errors.iter().count()), (1_000, 64));
    let text = errors.to_string();
    assert!(
        text.contains("there is no such entity")
            && text.ends_with("(and 999 more commands failed)"),
        "{text}"
    );
    world.commands().strict().despawn(gone);
    world.commands().strict().despawn(gone);
    let text = world.apply_commands().unwrap_err().to_string();
    assert!(text.ends_with("(and one more command failed)"), "{text}");
    world.apply_commands().unwrap();
}
