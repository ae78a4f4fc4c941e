//! Imports whose components panic: while they are read, and while what was read is dropped again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use ecs::{Component, ComponentRegistry, Dangling, ImportLimits, Value, World, json};
use serde::{Deserialize, Deserializer, de::Error as _};

static MADE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Counts itself; its drop panics. What is read: "good", or how reading fails.
struct Bomb(bool);

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match &*String::deserialize(deserializer)? {
            "panic" => panic!("while reading"),
            "bad" => Err(D::Error::custom("bad")),
            text => {
                MADE.fetch_add(1, Ordering::Relaxed);
                Ok(Self(text == "armed"))
            }
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
        assert!(!self.0, "while dropping");
    }
}

impl Component for Bomb {
    fn type_name() -> &'static str {
        "Bomb"
    }

    fn export(&self) -> Value {
        json!(if self.0 { "armed" } else { "good" })
    }
}

fn counts() -> (usize, usize) {
    (
        MADE.load(Ordering::Relaxed),
        DROPPED.load(Ordering::Relaxed),
    )
}

/// Imports entities with these components, into a world that is in use; gives what it panicked or failed with.
fn attempt(bombs: &[&str]) -> String {
    let types = ComponentRegistry::new()
        .with::<Bomb>()
        .with_named::<Bomb>("Other");
    let mut world = World::new();
    world.spawn_named("here", ()).unwrap();
    let dead = world.spawn(());
    world.despawn(dead);
    let before = (world.export(), world.statistics());
    let entities: serde_json::Map<_, _> = bombs
        .chunks(2)
        .enumerate()
        .map(|(at, pair)| {
            let components = ["Bomb", "Other"].into_iter().zip(pair);
            let components: serde_json::Map<_, _> = components
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            (format!("e{at}"), json!({ "Components": components }))
        })
        .collect();
    let saved = json!({ "Entities": entities }).to_string();
    let limits = ImportLimits {
        dangling: Dangling::Null,
        ..ImportLimits::default()
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        world.import_text(&types, &saved, limits)
    }));
    let said = match outcome {
        Ok(Ok(_)) => {
            drop(catch_unwind(AssertUnwindSafe(|| world.clear())));
            return "imported".to_owned();
        }
        Ok(Err(error)) => error.to_string(),
        Err(payload) => (*payload.downcast_ref::<&str>().unwrap()).to_owned(),
    };
    // spec: EXP-05
    assert_eq!((world.export(), world.statistics()), before, "{bombs:?}");
    let next = world.spawn(());
    // spec: EXP-05
    assert_eq!(
        next.to_bits() - dead.to_bits(),
        1 << 32,
        "no id was used up"
    );
    said
}

#[test]
fn a_reader_that_panics_or_fails_at_any_place_changes_nothing() {
    for count in 1..=6 {
        for at in 0..count {
            for (fault, expected) in [("panic", "while reading"), ("bad", "not a valid")] {
                // Those that were read before it are dropped while it unwinds; theirs must not abort the process.
                for others in ["good", "armed"] {
                    let mut bombs = vec![others; count];
                    bombs[at] = fault;
                    let said = attempt(&bombs);
                    let panicked = others == "armed" && at > 0 && fault == "bad";
                    let expected = if panicked { "while dropping" } else { expected };
                    // spec: EXP-05, COMP-08
                    assert!(said.contains(expected), "{bombs:?}: {said}");
                    let (made, dropped) = counts();
                    // spec: COMP-02, COMP-08
                    assert_eq!(made, dropped, "{bombs:?}");
                }
            }
        }
    }
    assert_eq!(attempt(&["armed"; 5]), "imported");
    let (made, dropped) = counts();
    // spec: COMP-08
    assert_eq!(made, dropped);
}
