//! Naming an entity: by id or by handle.

use crate::base::entity::Entity;
use crate::base::origin::Origin;
use crate::store::Store;
use crate::store::error::ComponentError;
use crate::store::handles::EntityHandle;

/// What names an entity in a call: its id, or its handle as text.
///
/// Both have the same outcome and the same checks; by text the handle is looked up first.
pub trait EntityKey: sealed::Key {}

impl<K: sealed::Key> EntityKey for K {}

pub(super) mod sealed {
    use super::{Entity, Store};

    pub trait Key {
        fn find(&self, store: &Store) -> Option<Entity>;

        /// What the caller wrote.
        fn text(&self, store: &Store) -> String;

        fn is_empty_text(&self) -> bool {
            false
        }
    }
}

impl sealed::Key for Entity {
    #[inline]
    fn find(&self, _: &Store) -> Option<Entity> {
        // The operation itself compares the generation.
        Some(*self)
    }

    fn text(&self, store: &Store) -> String {
        store.handles.of(*self, &store.entities).into()
    }
}

impl sealed::Key for &str {
    #[inline]
    fn find(&self, store: &Store) -> Option<Entity> {
        store.handles.find(self, &store.entities)
    }

    fn text(&self, _: &Store) -> String {
        (*self).to_owned()
    }

    fn is_empty_text(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! texts {
    ($($text:ty)*) => {$(
        impl sealed::Key for $text {
            #[inline]
            fn find(&self, store: &Store) -> Option<Entity> {
                store.handles.find(self.as_ref(), &store.entities)
            }

            fn text(&self, _: &Store) -> String {
                AsRef::<str>::as_ref(self).to_owned()
            }

            fn is_empty_text(&self) -> bool {
                AsRef::<str>::as_ref(self).is_empty()
            }
        }
    )*};
}

texts!(String &String EntityHandle<'_> &EntityHandle<'_>);

/// The error for an entity that is not there.
pub(super) fn missing(key: &impl EntityKey, store: &Store, at: Origin) -> ComponentError {
    if key.is_empty_text() {
        ComponentError::EmptyHandle { at }
    } else {
        ComponentError::NoEntity {
            at,
            handle: key.text(store),
        }
    }
}
