//! Faults that users of other libraries reported, as far as they concern entities, components, queries and saving.
//! `README.md`, in the directory above, is the table of all kinds and where each is tested.

mod access;
mod dropping;
mod entities;
mod layout;
mod memory;
mod ticks;

use ecs::{Component, Storage, TypeName, Value, json};

macro_rules! components {
    ($($name:ident $type_name:literal $storage:ident;)*) => {$(
        #[derive(Debug, PartialEq)]
        pub(crate) struct $name(pub(crate) u64);

        impl Component for $name {
            fn type_name() -> &'static str {
                $type_name
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

components! {
    A "A" Table;
    B "B" Table;
    S "S" Sparse;

    A2 "A" Table;
}

/// A's own name.
pub(crate) struct OwnName;

impl TypeName for OwnName {
    const NAME: &'static str = "A";
}

pub(crate) struct Other;

impl TypeName for Other {
    const NAME: &'static str = "Other";
}
