//! Hashing for the crate's own maps.

use std::any::TypeId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by `TypeId`, whose value is a good hash already.
pub(crate) type TypeMap<V> = HashMap<TypeId, V, BuildHasherDefault<TypeIdHasher>>;

/// A map keyed by text or numbers from outside: seeded at random, so that nobody can aim at one bucket.
pub(crate) type SeededMap<K, V> = HashMap<K, V, ahash::RandomState>;

/// Passes the 64 bits through that `TypeId` feeds.
#[derive(Default)]
pub(crate) struct TypeIdHasher(u64);

impl Hasher for TypeIdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // `TypeId` writes one `u64`; anything else still mixes.
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
