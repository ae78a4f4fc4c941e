//! Hashing for the crate's own maps.

use std::any::TypeId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A map keyed by `TypeId`, whose value is a good hash already.
pub(crate) type TypeMap<V> = HashMap<TypeId, V, BuildHasherDefault<TypeIdHasher>>;

/// A map keyed by text or numbers from outside: seeded at random, so that nobody can aim at one bucket.
pub(crate) type SeededMap<K, V> = HashMap<K, V, ahash::RandomState>;

/// Half of a type id, and never 0. That two types share theirs is next to impossible, but nothing may break if they do.
#[inline]
pub(crate) fn half_of(id: TypeId) -> u64 {
    let mut hasher = TypeIdHasher::default();
    id.hash(&mut hasher);
    hasher.finish().max(1)
}

/// Passes the 64 bits through that `TypeId` feeds.
#[derive(Default)]
pub(crate) struct TypeIdHasher(u64);

impl Hasher for TypeIdHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // `TypeId` writes one `u64`; anything else still mixes.
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn a_type_id_is_its_own_hash_and_anything_else_is_mixed() {
        let hash = |id: TypeId| BuildHasherDefault::<TypeIdHasher>::default().hash_one(id);
        let (a, b) = (TypeId::of::<u8>(), TypeId::of::<u16>());
        assert!(hash(a) == hash(TypeId::of::<u8>()) && hash(a) != hash(b));
        let mut hasher = TypeIdHasher::default();
        hasher.write(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(hasher.finish(), 0x0203_0405_0607_0808);
        hasher.write_u64(7);
        assert_eq!(hasher.finish(), 7);
    }
}
