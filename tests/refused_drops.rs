//! Components that are refused, and panic when they are dropped: nothing leaks, the error that nobody gets included.
#![allow(unsafe_code, reason = "a counting global allocator")]

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use ecs::{Component, ComponentRegistry, Entity, Named, Storage, TypeName, Value, World, json};
use serde::Deserialize;

struct Balance;

thread_local! {
    /// The bytes that this thread has allocated and not freed.
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: usize, sign: isize) {
    BYTES.set(BYTES.get() + sign * bytes.cast_signed());
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Balance {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller's promise is passed on.
        unsafe { Heap.dealloc(place, layout) }
    }
}

#[global_allocator]
static BALANCE: Balance = Balance;

/// Panics when it is dropped.
#[derive(Deserialize)]
struct Bomb(u64);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("a bomb was dropped");
    }
}

impl Component for Bomb {
    fn type_name() -> &'static str {
        "Bomb"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

/// A kind in sparse storage, which whole columns refuse.
struct Sparse;

impl Component for Sparse {
    fn type_name() -> &'static str {
        "Sparse"
    }

    fn storage() -> Storage {
        Storage::Sparse
    }

    fn export(&self) -> Value {
        json!({})
    }
}

/// Another type of the same name.
struct Twin;

impl Component for Twin {
    fn type_name() -> &'static str {
        "Bomb"
    }

    fn export(&self) -> Value {
        json!({})
    }
}

/// Another name for the same.
struct Second;

impl TypeName for Second {
    const NAME: &'static str = "Second";
}

/// Two panics in one bundle: dropped as a whole it would abort.
fn bombs() -> (Bomb, Named<Bomb, Second>) {
    (Bomb(1), Named::new(Bomb(2)))
}

/// Gives no bundle, and panics when it is dropped.
struct Endless(#[allow(dead_code, reason = "it is there to be dropped")] Bomb);

impl Iterator for Endless {
    type Item = (Twin,);

    fn next(&mut self) -> Option<(Twin,)> {
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

const LONG: &str = "a handle that is too long for any place but the heap";

type Refused = fn(&mut World, Entity, Entity, &Value) -> bool;

/// Every way to be refused with a component in hand; true when it was not.
const REFUSALS: [(&str, Refused); 17] = [
    ("insert, dead", |w, dead, _, _| {
        w.insert(dead, bombs()).is_ok()
    }),
    ("insert, unknown", |w, _, _, _| {
        w.insert(LONG, bombs()).is_ok()
    }),
    ("insert, a name twice", |w, _, live, _| {
        w.insert(live, (bombs(), Twin)).is_ok()
    }),
    ("insert, dead and a name twice", |w, dead, _, _| {
        w.insert(dead, (bombs(), Twin)).is_ok()
    }),
    ("insert, unknown and a name twice", |w, _, _, _| {
        w.insert(LONG, (bombs(), Twin)).is_ok()
    }),
    ("replace", |w, dead, _, _| w.replace(dead, Bomb(1)).is_ok()),
    ("insert_boxed", |w, _, _, _| {
        w.insert_boxed(LONG, Box::new(Bomb(1))).is_ok()
    }),
    ("insert_named, no name", |w, _, live, _| {
        w.insert_named(live, "", Bomb(1)).is_ok()
    }),
    ("insert_named_boxed, dead", |w, dead, _, _| {
        w.insert_named_boxed(dead, "Other", Box::new(Bomb(1)))
            .is_ok()
    }),
    ("try_spawn, a name twice", |w, _, _, _| {
        w.try_spawn((bombs(), Twin)).is_ok()
    }),
    ("try_spawn, no slot", |w, _, _, _| {
        w.try_spawn(bombs()).is_ok()
    }),
    ("spawn_named, taken", |w, _, _, _| {
        w.spawn_named("taken, and longer than what fits beside a pointer", bombs())
            .is_ok()
    }),
    ("spawn_reserved, a name twice", |w, dead, _, _| {
        w.spawn_reserved(dead, (bombs(), Twin)).is_ok()
    }),
    ("spawn_reserved, not reserved", |w, dead, _, _| {
        w.spawn_reserved(dead, bombs()).is_ok()
    }),
    ("try_spawn_batch, no slot", |w, _, _, _| {
        w.try_spawn_batch(Endless(Bomb(1))).is_ok()
    }),
    ("spawn_columns, sparse", |w, _, _, _| {
        w.spawn_columns((vec![Bomb(1), Bomb(2)], vec![Sparse, Sparse]))
            .is_ok()
    }),
    ("import, a bad value", |_, _, _, export| {
        let types = ComponentRegistry::new()
            .with::<Bomb>()
            .with_named::<Bomb>("Other");
        World::new().import(&types, export).is_ok()
    }),
];

#[test]
fn what_is_refused_leaks_nothing_when_its_drop_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref() != Some(&"a bomb was dropped") {
            before(info);
        }
    }));
    let export =
        json!({ "Entities": { "e": { "Components": { "Bomb": 1, "Other": "no number" } } } });
    let mut world = World::with_slot_limit(2);
    let live = world
        .spawn_named("taken, and longer than what fits beside a pointer", ())
        .unwrap();
    let dead = world.spawn(());
    world.despawn(dead);
    let full = world.reserve_entity().unwrap();
    for (name, refused) in REFUSALS {
        let mut leaked = 0;
        // What the first time makes, for good, the second finds there.
        for _ in 0..2 {
            let bytes = BYTES.get();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                refused(&mut world, dead, live, &export)
            }));
            // spec: COMP-02, COMP-08
            assert!(outcome.is_err(), "{name}: the drop's panic is passed on");
            drop(outcome);
            leaked = BYTES.get() - bytes;
        }
        // spec: COMP-02, COMP-08
        assert_eq!(leaked, 0, "{name}");
    }
    assert!(world.despawn(live) && !world.contains(full));
}
