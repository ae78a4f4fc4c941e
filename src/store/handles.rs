//! Text handles: generated ones are computed from the id, chosen ones are kept in a map.
//!
//! A generated handle is a version 4 identifier with 122 bits of our own:
//!
//! ```text
//! bits 127..80, 75..64   60 bits: the low bits of the permuted id
//! bits  79..76           version, 4
//! bits  63..62           variant, 0b10
//! bits  61..58            4 bits: the high bits of the permuted id
//! bits  57..0            58 bits: a tag over the permuted id
//! ```
//!
//! The permutation is keyed by the world and can be turned back, so different ids have different handles, and
//! finding the entity of a handle is arithmetic. A text that is not of this world passes the tag by accident once
//! in 2^58. The mixing is no cryptography, and handles are no secrets.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

use super::entities::Entities;
use crate::base::entity::Entity;
use crate::base::hash::SeededMap;
use crate::base::uuid::{self, Uuid, UuidText};

const TAG_BITS: u32 = 58;
const TAG_MASK: u128 = (1 << TAG_BITS) - 1;
const LOW_60: u64 = (1 << 60) - 1;

/// The world's key for generated handles.
struct Key {
    add: u64,
    multiply: [u64; 2],
    inverse: [u64; 2],
    tag: u64,
}

impl Key {
    fn random() -> Self {
        let multiply = [uuid::random_u64() | 1, uuid::random_u64() | 1];
        Self {
            add: uuid::random_u64(),
            multiply,
            inverse: multiply.map(inverse_of_odd),
            tag: uuid::random_u64(),
        }
    }

    fn permute(&self, bits: u64) -> u64 {
        let mut x = bits.wrapping_add(self.add).wrapping_mul(self.multiply[0]);
        x ^= x >> 32;
        x = x.wrapping_mul(self.multiply[1]);
        x ^ (x >> 32)
    }

    fn permute_back(&self, mut x: u64) -> u64 {
        // A shift by half the word is its own inverse.
        x ^= x >> 32;
        x = x.wrapping_mul(self.inverse[1]);
        x ^= x >> 32;
        x.wrapping_mul(self.inverse[0]).wrapping_sub(self.add)
    }

    fn tag(&self, permuted: u64) -> u64 {
        let product =
            u128::from(permuted ^ self.tag).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        ((product >> 64) as u64 ^ self.tag.rotate_left(29)) >> (64 - TAG_BITS)
    }

    fn encode(&self, entity: Entity) -> Uuid {
        let permuted = self.permute(entity.to_bits());
        let (low, high) = (permuted & LOW_60, permuted >> 60);
        let upper = ((low >> 12) << 16) | 0x4000 | (low & 0xFFF);
        let lower = (0b10 << 62) | (high << TAG_BITS) | self.tag(permuted);
        Uuid::from_u128((u128::from(upper) << 64) | u128::from(lower))
    }

    fn decode(&self, id: Uuid) -> Option<Entity> {
        let bits = id.as_u128();
        let upper = (bits >> 64) as u64;
        let lower = bits as u64;
        let permuted =
            ((upper >> 16) << 12) | (upper & 0xFFF) | (((lower >> TAG_BITS) & 0xF) << 60);
        (u128::from(self.tag(permuted)) == bits & TAG_MASK)
            .then(|| Entity::from_bits(self.permute_back(permuted)))
            .flatten()
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's steps: each doubles the bits that are right.
fn inverse_of_odd(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse
}

/// A text that is written exactly as a generated handle would be.
fn as_identifier(text: &str) -> Option<Uuid> {
    let id = Uuid::parse_canonical(text.as_bytes())?;
    let bits = id.as_u128();
    ((bits >> 76) & 0xF == 4 && (bits >> 62) & 0b11 == 0b10).then_some(id)
}

enum Chosen {
    Text(Box<str>),
    Identifier(Uuid),
}

/// Why a text cannot become an entity's chosen handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Empty,
    /// It names an entity already.
    Taken(Entity),
    /// It is the generated handle of an id that was not issued yet, or whose entity has chosen another.
    NotIssued,
}

pub(crate) struct Handles {
    key: Key,
    texts: SeededMap<SmallVec<[u8; 24]>, Entity>,
    identifiers: SeededMap<u128, Entity>,
    chosen: SeededMap<u32, Chosen>,
}

impl Handles {
    pub(super) fn new() -> Self {
        Self {
            key: Key::random(),
            texts: SeededMap::default(),
            identifiers: SeededMap::default(),
            chosen: SeededMap::default(),
        }
    }

    /// The entity that a text names.
    pub(crate) fn find(&self, text: &str, entities: &Entities) -> Option<Entity> {
        match as_identifier(text) {
            None if self.texts.is_empty() => None,
            None => self.texts.get(text.as_bytes()).copied(),
            Some(id) => self.find_identifier(id, entities),
        }
    }

    fn find_identifier(&self, id: Uuid, entities: &Entities) -> Option<Entity> {
        if !self.identifiers.is_empty()
            && let Some(entity) = self.identifiers.get(&id.as_u128())
        {
            return Some(*entity);
        }
        let entity = self.key.decode(id)?;
        (entities.is_live(entity) && !entities.is_named(entity.index())).then_some(entity)
    }

    /// The handle of an entity, live or not (of one that is gone, the generated one).
    pub(crate) fn of(&self, entity: Entity, entities: &Entities) -> EntityHandle<'_> {
        if entities.is_named(entity.index()) && entities.is_live(entity) {
            match self.chosen.get(&entity.index()) {
                Some(Chosen::Text(text)) => return EntityHandle(Kind::Chosen(text)),
                Some(Chosen::Identifier(id)) => return EntityHandle(Kind::Generated(id.to_text())),
                None => {}
            }
        }
        EntityHandle(Kind::Generated(self.key.encode(entity).to_text()))
    }

    /// Whether a text can be chosen.
    pub(crate) fn check(&self, text: &str, entities: &Entities) -> Result<(), Refusal> {
        if text.is_empty() {
            return Err(Refusal::Empty);
        }
        if let Some(entity) = self.find(text, entities) {
            return Err(Refusal::Taken(entity));
        }
        match as_identifier(text)
            .and_then(|id| self.key.decode(id))
            .map(|entity| entities.is_past(entity))
        {
            None | Some(true) => Ok(()),
            Some(false) => Err(Refusal::NotIssued),
        }
    }

    /// Gives a live entity a text that [`check`](Self::check) allowed.
    pub(super) fn choose(&mut self, text: &str, entity: Entity) {
        let chosen = if let Some(id) = as_identifier(text) {
            self.identifiers.insert(id.as_u128(), entity);
            Chosen::Identifier(id)
        } else {
            self.texts
                .insert(SmallVec::from_slice(text.as_bytes()), entity);
            Chosen::Text(text.into())
        };
        self.chosen.insert(entity.index(), chosen);
    }

    /// Forgets a named entity's handle.
    pub(super) fn forget(&mut self, index: u32) {
        match self.chosen.remove(&index) {
            Some(Chosen::Text(text)) => {
                self.texts.remove(text.as_bytes());
            }
            Some(Chosen::Identifier(id)) => {
                self.identifiers.remove(&id.as_u128());
            }
            None => {}
        }
    }

    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.identifiers.clear();
        self.chosen.clear();
    }

    pub(super) fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.identifiers.shrink_to_fit();
        self.chosen.shrink_to_fit();
    }
}

/// An entity's handle as text: the chosen one, or the generated one in its 36 characters.
///
/// It reads as a `&str`; nothing is allocated.
#[derive(Clone, Copy)]
pub struct EntityHandle<'w>(Kind<'w>);

#[derive(Clone, Copy)]
enum Kind<'w> {
    Chosen(&'w str),
    Generated(UuidText),
}

impl EntityHandle<'_> {
    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Kind::Chosen(text) => text,
            Kind::Generated(text) => text.as_str(),
        }
    }
}

impl Deref for EntityHandle<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for EntityHandle<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for EntityHandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for EntityHandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq for EntityHandle<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for EntityHandle<'_> {}

impl PartialEq<str> for EntityHandle<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for EntityHandle<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl From<EntityHandle<'_>> for String {
    fn from(handle: EntityHandle<'_>) -> Self {
        handle.as_str().to_owned()
    }
}
