//! The kinds of a world: pairs of an interned type name and a Rust type.

use std::any::TypeId;
use std::sync::Arc;

use super::component::{ComponentType, Storage};
use crate::base::hash::{SeededMap, TypeMap, half_of};

/// A kind's number in its world, in the order the kinds were first used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KindId(pub(crate) u32);

/// What the world knows of a kind.
pub(crate) struct Kind {
    pub(crate) name: Arc<str>,
    pub(crate) ty: ComponentType,
    /// The type calls itself by this name: `get::<T>` and `&T` mean this kind.
    pub(crate) own: bool,
    /// Somebody reads this kind's changes, so its columns keep ticks.
    pub(crate) tracked: bool,
    /// The set of a sparse kind.
    pub(crate) sparse: Option<u32>,
}

impl Kind {
    /// What typed look-ups scan an archetype for; 0, which no type has, where the name is not the type's own.
    pub(super) fn scan_key(&self) -> u64 {
        if self.own { half_of(self.ty.id()) } else { 0 }
    }

    /// The type that typed look-ups find the kind by: one that no `T` has, where the name is not `T`'s own.
    pub(super) fn found_by(&self) -> TypeId {
        if self.own {
            self.ty.id()
        } else {
            TypeId::of::<UnderAnotherName>()
        }
    }
}

struct UnderAnotherName;

#[derive(Default)]
pub(crate) struct Kinds {
    list: Vec<Kind>,
    own: TypeMap<KindId>,
    by_name: SeededMap<Arc<str>, Vec<KindId>>,
}

impl Kinds {
    #[inline]
    pub(crate) fn get(&self, id: KindId) -> &Kind {
        &self.list[id.0 as usize]
    }

    pub(super) fn get_mut(&mut self, id: KindId) -> &mut Kind {
        &mut self.list[id.0 as usize]
    }

    /// The kind of `T` under its own name, if it was ever used.
    #[inline]
    pub(crate) fn find_own(&self, type_id: TypeId) -> Option<KindId> {
        self.own.get(&type_id).copied()
    }

    /// The kind of a name and a type, if it was ever used.
    pub(crate) fn find(&self, name: &str, type_id: TypeId) -> Option<KindId> {
        self.named(name)
            .iter()
            .copied()
            .find(|id| self.get(*id).ty.id() == type_id)
    }

    /// All kinds under a name: one for each Rust type.
    pub(crate) fn named(&self, name: &str) -> &[KindId] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The kind of a name and a type; `None` for an empty name. Without a name, the type's own.
    ///
    /// A new sparse kind gets the set number `sparse_sets`; the caller makes the set.
    pub(super) fn intern(
        &mut self,
        name: Option<&str>,
        ty: ComponentType,
        sparse_sets: u32,
    ) -> Option<KindId> {
        let name = name.unwrap_or(ty.type_name);
        let own = name == ty.type_name;
        if own && let Some(id) = self.find_own(ty.id()) {
            return Some(id);
        }
        if name.is_empty() {
            return None;
        }
        if let Some(id) = self.find(name, ty.id()) {
            return Some(id);
        }
        let id = KindId(u32::try_from(self.list.len()).expect("fewer than 2^32 kinds"));
        let name = self
            .by_name
            .get_key_value(name)
            .map_or_else(|| Arc::from(name), |(known, _)| Arc::clone(known));
        let sparse = (ty.storage == Storage::Sparse).then_some(sparse_sets);
        self.by_name.entry(Arc::clone(&name)).or_default().push(id);
        if own {
            self.own.insert(ty.id(), id);
        }
        self.list.push(Kind {
            name,
            ty,
            own,
            tracked: false,
            sparse,
        });
        Some(id)
    }

    /// The other kinds under the same name as `id`.
    pub(crate) fn rivals(&self, id: KindId) -> impl Iterator<Item = KindId> + '_ {
        self.named(&self.get(id).name)
            .iter()
            .copied()
            .filter(move |other| *other != id)
    }
}
