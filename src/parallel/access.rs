//! What a system reaches of its world, and which systems therefore cannot overlap.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use crate::query::access::Bound;
use crate::store::Store;
use crate::store::kinds::KindId;

/// What is reached, in one world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    Kind(KindId),
    Resource(TypeId),
    /// Events are sent into a buffer of the sender's own and delivered when nothing runs: they conflict with nothing.
    Event(TypeId),
    /// The running system's own things, of which there is one.
    Own,
    /// Commands, of which a system has one list.
    Commands,
}

/// One thing that a system reads or writes. See [`SystemInfo::access`](crate::SystemInfo::access).
///
/// It reads as text: `writes component "Position"`.
#[derive(Clone, Debug)]
pub struct SystemAccess {
    pub(crate) thing: Thing,
    pub(crate) name: Arc<str>,
    pub(crate) writes: bool,
    /// The parameter that asks for it: its number and its type.
    by: (u32, &'static str),
}

impl SystemAccess {
    /// What it is: `component`, `resource`, `event`, `own things` or `commands`.
    pub fn what(&self) -> &'static str {
        match self.thing {
            Thing::Kind(_) => "component",
            Thing::Resource(_) => "resource",
            Thing::Event(_) => "event",
            Thing::Own => "own things",
            Thing::Commands => "commands",
        }
    }

    /// The type name of a component, the Rust type of a resource or an event.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may be changed; for an event, whether it is sent.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Whether nobody else may reach the same while this one does.
    fn excludes(&self, other: &Self) -> bool {
        self.thing == other.thing
            && (self.writes || other.writes)
            && !matches!(self.thing, Thing::Event(_))
    }
}

impl fmt::Display for SystemAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.writes { "writes" } else { "reads" };
        match self.thing {
            Thing::Own | Thing::Commands => write!(f, "has {}", self.what()),
            _ => write!(f, "{verb} {} \"{}\"", self.what(), self.name),
        }
    }
}

/// Two parameters of one system reach the same, and one of them to write.
#[derive(Clone, Debug)]
pub(crate) struct Contradiction {
    pub(crate) first: String,
    pub(crate) second: String,
}

/// Everything that a system reaches.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct AccessSet {
    list: Vec<SystemAccess>,
    parameter: (u32, &'static str),
    /// It may look at everything: its run condition is given the whole world.
    pub(crate) sees_all: bool,
}

impl AccessSet {
    pub(crate) fn list(&self) -> &[SystemAccess] {
        &self.list
    }

    /// What is added from here on belongs to another parameter.
    pub(crate) fn begin_parameter(&mut self, type_name: &'static str) {
        self.parameter = (self.parameter.0 + 1, type_name);
    }

    /// Adds what a parameter reaches; it must not contradict what other parameters do.
    pub(crate) fn add(
        &mut self,
        thing: Thing,
        name: &str,
        writes: bool,
    ) -> Result<(), Contradiction> {
        let new = SystemAccess {
            thing,
            name: name.into(),
            writes,
            by: self.parameter,
        };
        let mut others = self.list.iter().filter(|known| known.by.0 != new.by.0);
        if let Some(known) = others.find(|known| known.excludes(&new)) {
            return Err(Contradiction {
                first: format!("{} {known}", known.by.1),
                second: format!("{} {new}", new.by.1),
            });
        }
        let same = self.list.iter_mut().find(|known| known.thing == thing);
        match same {
            Some(known) => known.writes |= writes,
            None => self.list.push(new),
        }
        Ok(())
    }

    /// Adds what a query reaches.
    pub(crate) fn add_query(&mut self, bound: &Bound, store: &Store) -> Result<(), Contradiction> {
        let terms = bound.list.iter();
        let terms = terms.map(|request| (request.kind, request.writes()));
        let filters = bound.looks_at.iter().map(|kind| (*kind, false));
        for (kind, writes) in terms.chain(filters) {
            let name = &store.kinds.get(kind).name;
            self.add(Thing::Kind(kind), name, writes)?;
        }
        Ok(())
    }

    /// What keeps two systems from overlapping: what the first reaches of it.
    pub(crate) fn conflicts<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (&'a SystemAccess, &'a SystemAccess)> {
        self.data().flat_map(move |first| {
            let same = other.list.iter().filter(|second| first.excludes(second));
            same.map(move |second| (first, second))
        })
    }

    /// What lies in the world and can be in another's way.
    pub(crate) fn data(&self) -> impl Iterator<Item = &SystemAccess> {
        let is_data = |thing| matches!(thing, Thing::Kind(_) | Thing::Resource(_));
        self.list.iter().filter(move |access| is_data(access.thing))
    }

    /// Whether the one must wait for the other.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        (self.sees_all && other.writes())
            || (other.sees_all && self.writes())
            || self.conflicts(other).next().is_some()
    }

    /// Whether it reaches nothing but its system's own things.
    pub(crate) fn is_private(&self) -> bool {
        self.list.iter().all(|access| access.thing == Thing::Own)
    }

    /// Whether it changes anything in the world.
    pub(crate) fn writes(&self) -> bool {
        self.data().any(|access| access.writes)
    }
}
