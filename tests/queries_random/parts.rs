//! The kinds, what an item has of them, and the model.

use std::collections::BTreeMap;

use ecs::{Component, Entity, Mut, Named, Storage, TypeName, Value, json};

macro_rules! kinds {
    ($($name:ident($inner:ty, $storage:ident);)*) => {$(
        pub(crate) struct $name(pub(crate) $inner);
        impl Component for $name {
            fn type_name() -> &'static str { stringify!($name) }
            fn export(&self) -> Value { json!(null) }
            fn storage() -> Storage { Storage::$storage }
        }
    )*};
}

#[repr(align(64))]
pub(crate) struct Aligned(pub(crate) i64);

kinds! {
    A(i64, Table);
    B(Box<i64>, Table);
    Z((), Table);
    D(Aligned, Table);
    E(Box<i64>, Table);
    S(Box<i64>, Sparse);
}

pub(crate) struct Other;
impl TypeName for Other {
    const NAME: &'static str = "Another";
}
pub(crate) type NE<T> = Named<T, Other>;

pub(crate) const KINDS: usize = 6;

/// What an item has of a kind.
pub(crate) enum Part<'w> {
    Read(i64),
    Write(&'w mut i64),
    MarkA(Mut<'w, A>),
    MarkB(Mut<'w, B>),
    MarkS(Mut<'w, S>),
}

impl Part<'_> {
    pub(crate) fn value(&self) -> i64 {
        match self {
            Part::Read(value) => *value,
            Part::Write(value) => **value,
            Part::MarkA(value) => value.0,
            Part::MarkB(value) => *value.0,
            Part::MarkS(value) => *value.0,
        }
    }

    pub(crate) fn set(&mut self, new: i64) {
        match self {
            Part::Read(_) => unreachable!(),
            Part::Write(value) => **value = new,
            Part::MarkA(value) => value.0 = new,
            Part::MarkB(value) => *value.0 = new,
            Part::MarkS(value) => *value.0 = new,
        }
    }
}

pub(crate) trait Parts<'w> {
    fn put(self, id: &mut Option<Entity>, out: &mut Vec<(usize, Part<'w>)>);
}

macro_rules! parts {
    ($($ty:ty, $at:literal, |$v:ident| $part:expr;)*) => {$(
        impl<'w> Parts<'w> for $ty {
            fn put(self, _: &mut Option<Entity>, out: &mut Vec<(usize, Part<'w>)>) {
                let $v = self;
                out.push(($at, $part));
            }
        }
    )*};
}

parts! {
    &'w A, 0, |v| Part::Read(v.0);
    &'w mut A, 0, |v| Part::Write(&mut v.0);
    Mut<'w, A>, 0, |v| Part::MarkA(v);
    &'w B, 1, |v| Part::Read(*v.0);
    &'w mut B, 1, |v| Part::Write(&mut v.0);
    Mut<'w, B>, 1, |v| Part::MarkB(v);
    &'w Z, 2, |v| { let () = v.0; Part::Read(0) };
    &'w D, 3, |v| { assert!(std::ptr::from_ref(v).addr().is_multiple_of(64)); Part::Read(v.0.0) };
    &'w mut D, 3, |v| { assert!(std::ptr::from_mut(v).addr().is_multiple_of(64)); Part::Write(&mut v.0.0) };
    &'w E, 4, |v| Part::Read(*v.0);
    &'w mut E, 4, |v| Part::Write(&mut v.0);
    &'w S, 5, |v| Part::Read(*v.0);
    &'w mut S, 5, |v| Part::Write(&mut v.0);
    Mut<'w, S>, 5, |v| Part::MarkS(v);
}

impl<'w> Parts<'w> for Entity {
    fn put(self, id: &mut Option<Entity>, _: &mut Vec<(usize, Part<'w>)>) {
        *id = Some(self);
    }
}

impl<'w, P: Parts<'w>> Parts<'w> for Option<P> {
    fn put(self, id: &mut Option<Entity>, out: &mut Vec<(usize, Part<'w>)>) {
        if let Some(part) = self {
            part.put(id, out);
        }
    }
}

macro_rules! tuple_parts {
    ($($($p:ident)+;)*) => {$(
        impl<'w, $($p: Parts<'w>),+> Parts<'w> for ($($p,)+) {
            #[allow(non_snake_case)]
            fn put(self, id: &mut Option<Entity>, out: &mut Vec<(usize, Part<'w>)>) {
                let ($($p,)+) = self;
                $($p.put(id, out);)+
            }
        }
    )*};
}
tuple_parts! { PA PB; PA PB PC; PA PB PC PD; PA PB PC PD PE; PA PB PC PD PE PF; PA PB PC PD PE PF PG; }

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Access {
    Read,
    Write,
    Mark,
}

/// A group of kinds that is there as a whole.
pub(crate) type Group = (bool, Vec<(usize, Access)>);

#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub(crate) value: i64,
    pub(crate) added: u64,
    pub(crate) changed: u64,
    /// A run that panicked may have marked it so.
    pub(crate) maybe: u64,
}

pub(crate) type Row = [Option<Cell>; KINDS];

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) rows: BTreeMap<Entity, Row>,
    pub(crate) tick: u64,
    pub(crate) dead: Vec<Entity>,
}

/// What an item had, and what was written.
pub(crate) type Seen = (Entity, Vec<(usize, i64, Option<i64>)>);

pub(crate) fn meet<'w>(item: impl Parts<'w>, delta: i64) -> Seen {
    let (mut id, mut parts) = (None, Vec::new());
    item.put(&mut id, &mut parts);
    let id = id.unwrap();
    let seen = parts.into_iter().map(|(kind, mut part)| {
        let value = part.value();
        let write = match part {
            Part::Read(_) => false,
            Part::Write(_) => true,
            _ => (i64::from(id.index()) + delta) % 2 == 0,
        };
        let new = value.wrapping_add(delta);
        if write {
            part.set(new);
        }
        (kind, value, write.then_some(new))
    });
    (id, seen.collect())
}
