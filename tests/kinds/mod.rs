//! Components for the tests of the world, each with table or sparse storage as its parameter says, and a ledger
//! that counts how often each value is dropped.
#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "each test file uses its part"
)]

pub(crate) mod readers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use ecs::{Component, Storage, Value, json};

/// The storage of a kind whose parameter is `SPARSE`.
pub(crate) fn storage(sparse: bool) -> Storage {
    if sparse {
        Storage::Sparse
    } else {
        Storage::Table
    }
}

/// Makes component types: `Name(field) = "type name"`, with the storage as a parameter.
macro_rules! components {
    ($($name:ident($field:ty) = $text:literal;)*) => {$(
        #[derive(Debug, PartialEq)]
        pub(crate) struct $name<const SPARSE: bool>(pub(crate) $field);

        impl<const SPARSE: bool> ecs::Component for $name<SPARSE> {
            fn type_name() -> &'static str {
                $text
            }

            fn export(&self) -> ecs::Value {
                ecs::json!(format!("{:?}", self.0))
            }

            fn storage() -> ecs::Storage {
                crate::kinds::storage(SPARSE)
            }
        }
    )*};
}
pub(crate) use components;

components! {
    Health(i64) = "Health";
    Speed(i64) = "Speed";
    Weight(i64) = "Weight";
    // Two Rust types under one name.
    Coin(Witness) = "Purse";
    Note(Witness) = "Purse";
    Held(Witness) = "Held";
    Marker(()) = "Marker";
}

/// A component whose name is empty.
pub(crate) struct Nameless(pub(crate) Witness);

impl Component for Nameless {
    fn type_name() -> &'static str {
        ""
    }

    fn export(&self) -> Value {
        json!(null)
    }
}

/// Counts the drops of the witnesses that it made.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Vec<u32>>>);

/// A value whose drops are counted, and whose drop may panic.
pub(crate) struct Witness {
    ledger: Ledger,
    number: usize,
    panics: bool,
}

impl Ledger {
    pub(crate) fn witness(&self) -> Witness {
        let mut drops = self.0.lock().unwrap();
        drops.push(0);
        Witness {
            ledger: self.clone(),
            number: drops.len() - 1,
            panics: false,
        }
    }

    /// A witness that panics when it is dropped.
    pub(crate) fn bomb(&self) -> Witness {
        let mut witness = self.witness();
        witness.panics = true;
        witness
    }

    /// How often each witness was dropped, in the order they were made.
    pub(crate) fn drops(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }

    /// Asserts that each witness so far was dropped exactly once.
    #[track_caller]
    pub(crate) fn assert_all_dropped_once(&self) {
        let drops = self.drops();
        assert!(
            drops.iter().all(|count| *count == 1),
            "each is dropped exactly once: {drops:?}"
        );
    }

    /// Asserts that none was dropped yet.
    #[track_caller]
    pub(crate) fn assert_none_dropped(&self) {
        let drops = self.drops();
        assert!(
            drops.iter().all(|count| *count == 0),
            "none is dropped: {drops:?}"
        );
    }
}

impl Witness {
    pub(crate) fn number(&self) -> usize {
        self.number
    }
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Witness({})", self.number)
    }
}

impl PartialEq for Witness {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.ledger.0, &other.ledger.0)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.ledger.0.lock().unwrap()[self.number] += 1;
        assert!(!self.panics, "bomb {}", self.number);
    }
}

/// Runs `work`, which must panic, and gives the panic's text.
#[track_caller]
pub(crate) fn panic_text<R>(work: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(work)) else {
        panic!("it should have panicked");
    };
    payload
        .downcast::<String>()
        .map(|text| *text)
        .or_else(|payload| {
            payload
                .downcast::<&'static str>()
                .map(|text| (*text).to_owned())
        })
        .unwrap_or_default()
}

/// Makes two tests of a function that is generic over the storage: one for each.
macro_rules! for_both_storages {
    ($($name:ident)*) => {
        mod table {
            $(#[test] fn $name() { super::$name::<false>(); })*
        }

        mod sparse {
            $(#[test] fn $name() { super::$name::<true>(); })*
        }
    };
}
pub(crate) use for_both_storages;
