//! The kinds: in columns and in sparse sets, two types under one name, one type under two names.

use ecs::{Component, Named, Storage, TypeName, Value, json};
use serde::Deserialize;

macro_rules! kinds {
    ($($name:ident = $text:literal $storage:ident;)*) => {$(
        #[derive(Debug, Deserialize)]
        pub(crate) struct $name(pub(crate) u8);

        impl Component for $name {
            fn type_name() -> &'static str {
                $text
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

kinds! {
    A = "A" Table;
    B = "B" Table;
    S = "S" Sparse;
    P = "P" Table;
    Q = "P" Sparse;
}

pub(crate) struct Other;
impl TypeName for Other {
    const NAME: &'static str = "Other";
}
pub(crate) type O = Named<A, Other>;

/// A kind, as the model knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    A,
    B,
    O,
    P,
    Q,
    S,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [Self::A, Self::B, Self::O, Self::P, Self::Q, Self::S];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::O => "Other",
            Self::P | Self::Q => "P",
            Self::S => "S",
        }
    }

    pub(crate) fn boxed(self) -> Box<dyn Component> {
        match self {
            Self::A | Self::O => Box::new(A(1)),
            Self::B => Box::new(B(1)),
            Self::P => Box::new(P(1)),
            Self::Q => Box::new(Q(1)),
            Self::S => Box::new(S(1)),
        }
    }
}
