//! The kinds of a group, as types.

use crate::query::fetch::Query;
use crate::query::filter::{Timeless, With};
use crate::store::bundle::Bundle;
use crate::store::component::{Component, Named, TypeName};

/// The kinds of a group: a component type, [`Named<T, N>`](crate::Named) for one under another name, or a tuple of up to
/// 8 of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name the kinds of a group",
    label = "use a component type, `Named<T, N>`, or a tuple of up to 8 of these"
)]
pub trait GroupKinds: Bundle {
    /// What a member has of them: `&mut T` for each.
    type Members: Query + 'static;
    /// Lets members through and nobody else.
    type Present: Timeless + 'static;
}

impl<T: Component> GroupKinds for T {
    type Members = &'static mut T;
    type Present = With<T>;
}

impl<T: Component, N: TypeName> GroupKinds for Named<T, N> {
    type Members = Named<&'static mut T, N>;
    type Present = With<Self>;
}

macro_rules! tuples {
    ($(($($kind:ident)+);)*) => {$(
        impl<$($kind: GroupKinds),+> GroupKinds for ($($kind,)+) {
            type Members = ($($kind::Members,)+);
            type Present = ($($kind::Present,)+);
        }
    )*};
}

tuples! {
    (A);
    (A B);
    (A B C);
    (A B C D);
    (A B C D E);
    (A B C D E F);
    (A B C D E F G);
    (A B C D E F G H);
}
