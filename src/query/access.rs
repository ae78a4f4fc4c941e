//! What a query asks for, and whether that contradicts itself.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::error::QueryError;
use crate::store::Store;
use crate::store::component::ComponentType;
use crate::store::kinds::KindId;

/// The most kinds that one query can ask for.
pub(crate) const MAX_TERMS: usize = 16;

/// How a term reaches its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Counts every row it yields as written.
    Write,
    /// Marks what is written through it by itself.
    Mark,
}

/// A kind that a query reaches, whatever the number of its terms that do so.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: KindId,
    pub(crate) name: Arc<str>,
    type_id: TypeId,
    rust_name: &'static str,
    pub(crate) access: Access,
    pub(crate) required: bool,
    pub(crate) sparse: Option<u32>,
}

impl Request {
    pub(crate) fn writes(&self) -> bool {
        self.access != Access::Read
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reference = if self.writes() { "&mut " } else { "&" };
        write!(f, "{reference}{} (\"{}\")", self.rust_name, self.name)
    }
}

/// Collects the terms of a query and finds what contradicts itself.
#[doc(hidden)]
pub struct Requests<'a> {
    pub(crate) store: &'a mut Store,
    list: SmallVec<[Request; 8]>,
    fault: Option<QueryError>,
    optional: u32,
    sets: SmallVec<[u32; 2]>,
    looks_at: SmallVec<[KindId; 2]>,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(store: &'a mut Store) -> Self {
        Self {
            store,
            list: SmallVec::new(),
            fault: None,
            optional: 0,
            sets: SmallVec::new(),
            looks_at: SmallVec::new(),
        }
    }

    /// Adds a term. A kind that is written may stand only once.
    pub(crate) fn add(&mut self, name: Option<&str>, ty: ComponentType, access: Access) {
        let Some(kind) = self.store.intern(name, ty) else {
            self.blame(QueryError::EmptyTypeName {
                rust_name: ty.rust_name(),
            });
            return;
        };
        let sparse = self.sparse(kind);
        let info = self.store.kinds.get(kind);
        let request = Request {
            kind,
            name: Arc::clone(&info.name),
            type_id: ty.id(),
            rust_name: ty.rust_name(),
            access,
            required: self.optional == 0,
            sparse,
        };
        let full = self.list.len() == MAX_TERMS;
        match self.list.iter_mut().find(|known| known.kind == kind) {
            Some(known) if known.writes() || request.writes() => {
                let fault = QueryError::Aliasing {
                    first: known.to_string(),
                    second: request.to_string(),
                };
                self.blame(fault);
            }
            Some(known) => known.required |= request.required,
            None if full => self.blame(QueryError::TooManyTerms { most: MAX_TERMS }),
            None => self.list.push(request),
        }
    }

    /// The sparse set of a kind, which the query then reaches.
    pub(crate) fn sparse(&mut self, kind: KindId) -> Option<u32> {
        let set = self.store.kinds.get(kind).sparse?;
        if !self.sets.contains(&set) {
            self.sets.push(set);
        }
        Some(set)
    }

    /// Notes that a filter looks into what belongs to a kind's components: their ticks, or a sparse kind's set.
    pub(crate) fn look_at(&mut self, kind: KindId) {
        if !self.looks_at.contains(&kind) {
            self.looks_at.push(kind);
        }
    }

    /// Adds the terms that need not be there.
    pub(crate) fn optionally(&mut self, terms: impl FnOnce(&mut Self)) {
        self.optional += 1;
        terms(self);
        self.optional -= 1;
    }

    fn blame(&mut self, fault: QueryError) {
        if self.fault.is_none() {
            self.fault = Some(fault);
        }
    }

    /// The kind of a filter's type.
    pub(crate) fn kind(&mut self, name: Option<&str>, ty: ComponentType) -> Option<KindId> {
        let kind = self.store.intern(name, ty);
        if kind.is_none() {
            self.blame(QueryError::EmptyTypeName {
                rust_name: ty.rust_name(),
            });
        }
        kind
    }

    /// The requests, sorted by name as columns are.
    pub(crate) fn finish(mut self) -> Result<Bound, QueryError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        self.list
            .sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(Bound {
            list: self.list,
            sets: self.sets,
            looks_at: self.looks_at,
        })
    }
}

/// The requests of a query in their final order: that of the columns in every archetype.
#[doc(hidden)]
pub struct Bound {
    pub(crate) list: SmallVec<[Request; 8]>,
    /// The sparse sets that terms and filters reach.
    pub(crate) sets: SmallVec<[u32; 2]>,
    /// The kinds that filters look into.
    pub(crate) looks_at: SmallVec<[KindId; 2]>,
}

/// Where a term finds its kind.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// Number of the request.
    pub(super) request: u8,
    pub(super) sparse: Option<u32>,
}

impl Bound {
    /// The request of a kind, by name and type.
    pub(super) fn term(&self, name: &str, ty: &ComponentType) -> Term {
        let at = self
            .list
            .iter()
            .position(|request| *request.name == *name && request.type_id == ty.id());
        let at = at.unwrap_or(MAX_TERMS);
        Term {
            request: at as u8,
            sparse: self.list.get(at).and_then(|request| request.sparse),
        }
    }
}
