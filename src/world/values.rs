//! What resources are kept in.

use std::any::{Any, TypeId};
use std::ops::Deref;
use std::sync::Arc;

use crate::base::caught::FirstPanic;
use crate::base::hash::{SeededMap, TypeMap};

/// A block of bytes, read-only once it is added to a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource(Vec<u8>);

impl Resource {
    /// The bytes, without a copy.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<Vec<u8>> for Resource {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for Resource {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Resource {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub(super) struct Singleton {
    pub(super) value: Box<dyn Any + Send + Sync>,
    /// The number of its last write.
    pub(super) written: u64,
}

/// A resource out of its world, while it is lent.
#[derive(Default)]
pub(crate) struct LentResource(Option<Box<dyn Any + Send + Sync>>);

impl LentResource {
    pub(crate) fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.downcast_mut()
    }
}

/// Lies in the place of a resource that is lent.
struct Lent;

impl Resources {
    /// Takes a singleton out, or puts it back, written or not. Without it nothing happens.
    pub(super) fn swap<T: 'static>(&mut self, lent: &mut LentResource, written: bool) {
        let Some(singleton) = self.singletons.get_mut(&TypeId::of::<T>()) else {
            return;
        };
        if let Some(value) = lent.0.take() {
            singleton.value = value;
            if written {
                self.writes += 1;
                singleton.written = self.writes;
            }
        } else {
            // A box of nothing: no memory is taken.
            lent.0 = Some(std::mem::replace(&mut singleton.value, Box::new(Lent)));
        }
    }
}

#[derive(Default)]
pub(super) struct Resources {
    pub(super) blocks: SeededMap<String, Arc<Resource>>,
    pub(super) singletons: TypeMap<Singleton>,
    /// Writes to singletons so far; numbers are not used again, whatever is removed.
    pub(super) writes: u64,
}

impl Resources {
    pub(super) fn get<T: 'static>(&self) -> Option<&T> {
        let singleton = self.singletons.get(&TypeId::of::<T>())?;
        singleton.value.downcast_ref()
    }

    /// It counts as written.
    pub(super) fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        let singleton = self.singletons.get_mut(&TypeId::of::<T>())?;
        self.writes += 1;
        singleton.written = self.writes;
        singleton.value.downcast_mut()
    }

    pub(super) fn written<T: 'static>(&self) -> Option<u64> {
        self.singletons
            .get(&TypeId::of::<T>())
            .map(|singleton| singleton.written)
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for (_, singleton) in self.singletons.drain() {
            panics.drop_value(singleton.value);
        }
        panics.resume();
    }
}
