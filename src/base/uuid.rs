//! Identifiers: 128 random bits with a text form.

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The length of the text form in bytes.
const TEXT_LENGTH: usize = 36;
/// Where the hyphens stand in it.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// A 128-bit identifier.
///
/// Every handle that a program does not choose is the text of one: 36 characters, lowercase hexadecimal digits with
/// hyphens after the 8th, 12th, 16th and 20th. Generated identifiers are random: version 4, standard variant.
/// Identifiers order by their 128 bits, which is also the order of their texts.
///
/// ```
/// use ecs::Uuid;
///
/// let id: Uuid = "550E8400-e29b-41d4-a716-446655440000".parse()?;
/// assert_eq!(id.to_string(), "550e8400-e29b-41d4-a716-446655440000");
/// assert_ne!(Uuid::new(), Uuid::new());
/// # Ok::<(), ecs::ParseUuidError>(())
/// ```
///
/// # Threads
///
/// [`Uuid::new`] may be called from any number of threads at once. Each thread has a generator of its own, seeded
/// independently from the operating system's randomness on the thread's first identifier; no lock is taken.
///
/// # Fork
///
/// A process that forks after it has generated identifiers has two generators in the same state: **parent and child
/// may generate the same identifiers afterwards.** Fork first, or generate in one of the two only.
///
/// # No secret
///
/// Identifiers are unique in practice but **not cryptographically unpredictable**: who has seen some can compute the
/// next. Do not use them as secrets or tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

impl Uuid {
    /// Generates a random identifier, version 4.
    #[expect(
        clippy::new_without_default,
        reason = "a default that differs at every call would surprise"
    )]
    #[inline]
    pub fn new() -> Self {
        const VERSION: u128 = 0xf << 76;
        const VARIANT: u128 = 0b11 << 62;
        Self(random_u128() & !(VERSION | VARIANT) | 4 << 76 | 0b10 << 62)
    }

    /// The identifier with these bits, the first digit of the text being the most significant. Any version and
    /// variant.
    #[inline]
    pub const fn from_u128(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits, the first digit of the text being the most significant.
    #[inline]
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// The text form, without an allocation.
    ///
    /// ```
    /// let text = ecs::Uuid::from_u128(0x550e8400_e29b_41d4_a716_446655440000).to_text();
    /// assert_eq!(&*text, "550e8400-e29b-41d4-a716-446655440000");
    /// ```
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the 128 bits are cut into four pieces of 32"
    )]
    pub const fn to_text(self) -> UuidText {
        let [a, b, c, d] = [
            hexadecimal((self.0 >> 96) as u32),
            hexadecimal((self.0 >> 64) as u32),
            hexadecimal((self.0 >> 32) as u32),
            hexadecimal(self.0 as u32),
        ];
        UuidText([
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], b'-', b[0], b[1], b[2], b[3], b'-',
            b[4], b[5], b[6], b[7], b'-', c[0], c[1], c[2], c[3], b'-', c[4], c[5], c[6], c[7],
            d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7],
        ])
    }

    /// The identifier whose [text](Self::to_text) is exactly this, or none: 36 bytes, lowercase only, any version.
    ///
    /// For telling generated handles from chosen names: two texts never give the same identifier.
    #[inline]
    pub(crate) fn parse_canonical(text: &[u8]) -> Option<Self> {
        decode::<false>(text).map(Self)
    }
}

/// The eight hexadecimal digits of a number, all at once in the bytes of a 64-bit word.
const fn hexadecimal(number: u32) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Spread the eight nibbles over the eight bytes, the most significant in front.
    let mut digits = number as u64;
    digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
    digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
    digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // A nibble above nine carries into the upper half of its byte when six is added: one there means a letter.
    let letters = (digits + 6 * EACH) >> 4 & EACH;
    (digits + b'0' as u64 * EACH + letters * (b'a' - b'0' - 10) as u64).to_be_bytes()
}

/// The bits of a well-formed text, with upper case letters or without.
#[inline]
fn decode<const UPPER: bool>(text: &[u8]) -> Option<u128> {
    let text: &[u8; TEXT_LENGTH] = text.try_into().ok()?;
    if HYPHENS.iter().any(|&place| text[place] != b'-') {
        return None;
    }
    let mut digits = [0_u8; 32];
    digits[..8].copy_from_slice(&text[..8]);
    digits[8..12].copy_from_slice(&text[9..13]);
    digits[12..16].copy_from_slice(&text[14..18]);
    digits[16..20].copy_from_slice(&text[19..23]);
    digits[20..].copy_from_slice(&text[24..]);

    // No early exit and no table: the compiler turns this into a few vector instructions.
    let mut faults = 0_u8;
    for digit in &mut digits {
        let folded = if UPPER { *digit | 0x20 } else { *digit };
        let number = digit.wrapping_sub(b'0');
        let letter = folded.wrapping_sub(b'a');
        faults |= u8::from(number > 9) & u8::from(letter > 5);
        *digit = if number <= 9 {
            number
        } else {
            letter.wrapping_add(10)
        };
    }
    if faults != 0 {
        return None;
    }
    let mut bits = 0;
    for eight in digits.as_chunks::<8>().0 {
        // The reverse of the spreading in `hexadecimal`.
        let mut number = u64::from_be_bytes(*eight);
        number = (number | number >> 4) & 0x00ff_00ff_00ff_00ff;
        number = (number | number >> 8) & 0x0000_ffff_0000_ffff;
        number = (number | number >> 16) & 0xffff_ffff;
        bits = bits << 32 | u128::from(number);
    }
    Some(bits)
}

impl FromStr for Uuid {
    type Err = ParseUuidError;

    /// Reads the text form: exactly 36 characters, either case, hyphens in place, any version and variant, all zeros
    /// included.
    ///
    /// # Errors
    ///
    /// Anything else: empty text, another length, white space around, braces, `urn:uuid:` in front, no hyphens, a
    /// character that is not a hexadecimal digit. The error names the first fault.
    #[inline]
    fn from_str(text: &str) -> Result<Self, ParseUuidError> {
        match decode::<true>(text.as_bytes()) {
            Some(bits) => Ok(Self(bits)),
            None => Err(ParseUuidError::new(text.as_bytes())),
        }
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_text())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uuid({self})")
    }
}

/// As text, in every format.
impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

/// From the text form, with the errors of [`FromStr`].
impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Uuid;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an identifier of 36 characters")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Uuid, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl From<uuid::Uuid> for Uuid {
    #[inline]
    fn from(other: uuid::Uuid) -> Self {
        Self(other.as_u128())
    }
}

impl From<Uuid> for uuid::Uuid {
    #[inline]
    fn from(id: Uuid) -> Self {
        Self::from_u128(id.0)
    }
}

/// The text of a [`Uuid`], kept in place: 36 bytes, no allocation. It is a `str` by [`Deref`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UuidText([u8; TEXT_LENGTH]);

impl UuidText {
    /// The text.
    #[inline]
    pub const fn as_str(&self) -> &str {
        match str::from_utf8(&self.0) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    }
}

impl Deref for UuidText {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for UuidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for UuidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Text that is no [`Uuid`].
///
/// Its own text is one line of printable ASCII, whatever the input held:
///
/// ```
/// let error = "550e8400xe29b-41d4-a716-446655440000".parse::<ecs::Uuid>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"ecs::Uuid("550e8400xe29b-41d4-a716-446655440000"): expected '-' at position 9, found 'x'"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ecs::Uuid({quoted}): {kind}")]
pub struct ParseUuidError {
    quoted: Box<str>,
    kind: ParseUuidErrorKind,
}

/// What is wrong with a text that is no [`Uuid`]. Lengths and positions count bytes, positions from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseUuidErrorKind {
    /// There is no text.
    #[error("text is empty")]
    Empty,
    /// It is not 36 bytes long.
    #[error("text is {length} characters long, expected {}", TEXT_LENGTH)]
    Length {
        /// Its length.
        length: usize,
    },
    /// There is something else where a hyphen belongs.
    #[error("expected '-' at position {position}, found {}", Named(*.found))]
    Hyphen {
        /// Where.
        position: usize,
        /// The byte that is there.
        found: u8,
    },
    /// There is something else where a hexadecimal digit belongs.
    #[error("invalid character {} at position {position}, expected a hexadecimal digit", Named(*.found))]
    Digit {
        /// Where.
        position: usize,
        /// The byte that is there.
        found: u8,
    },
}

impl ParseUuidError {
    #[cold]
    fn new(text: &[u8]) -> Self {
        Self {
            quoted: quoted(text).into(),
            kind: ParseUuidErrorKind::of(text),
        }
    }

    /// What is wrong.
    pub fn kind(&self) -> ParseUuidErrorKind {
        self.kind
    }
}

impl ParseUuidErrorKind {
    /// The first fault of a text that has one.
    fn of(text: &[u8]) -> Self {
        match text.len() {
            0 => return Self::Empty,
            TEXT_LENGTH => {}
            length => return Self::Length { length },
        }
        for (place, &found) in text.iter().enumerate() {
            let position = place + 1;
            if HYPHENS.contains(&place) {
                if found != b'-' {
                    return Self::Hyphen { position, found };
                }
            } else if !found.is_ascii_hexdigit() {
                return Self::Digit { position, found };
            }
        }
        unreachable!("asked for the fault of a text that has none")
    }
}

/// The first 64 bytes between quotes, in printable ASCII.
fn quoted(text: &[u8]) -> String {
    const SHOWN: usize = 64;
    let mut quoted = String::from('"');
    for &byte in text.iter().take(SHOWN) {
        if matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\') {
            quoted.push(char::from(byte));
        } else {
            quoted.push_str(&format!("\\x{byte:02x}"));
        }
    }
    quoted.push('"');
    if text.len() > SHOWN {
        quoted.push_str(" (first 64 characters)");
    }
    quoted
}

/// A byte as an error names it.
struct Named(u8);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            byte @ b' '..=b'~' => write!(f, "'{}'", char::from(byte)),
            byte => write!(f, "byte 0x{byte:02x}"),
        }
    }
}

thread_local! {
    /// This thread's generator: the four words of xoshiro256++ (Blackman and Vigna), all zero until seeded, never
    /// all zero afterwards. It has no destructor, so it works to the very end of the thread.
    static GENERATOR: Cell<[u64; 4]> = const { Cell::new([0; 4]) };
}

/// 128 random bits from this thread's generator. As random and as little secret as a [`Uuid`].
#[inline]
pub(crate) fn random_u128() -> u128 {
    GENERATOR.with(|generator| {
        let mut state = generator.get();
        if state == [0; 4] {
            state = seed();
        }
        let bits = u128::from(step(&mut state)) << 64 | u128::from(step(&mut state));
        generator.set(state);
        bits
    })
}

/// 64 random bits from this thread's generator.
#[inline]
pub(crate) fn random_u64() -> u64 {
    GENERATOR.with(|generator| {
        let mut state = generator.get();
        if state == [0; 4] {
            state = seed();
        }
        let bits = step(&mut state);
        generator.set(state);
        bits
    })
}

/// One step of xoshiro256++.
#[inline]
fn step([a, b, c, d]: &mut [u64; 4]) -> u64 {
    let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
    let shifted = *b << 17;
    *c ^= *a;
    *d ^= *b;
    *b ^= *c;
    *a ^= *d;
    *c ^= shifted;
    *d = d.rotate_left(45);
    result
}

/// A state of its own for each thread.
///
/// The standard library keys `RandomState` with 128 bits of the operating system's randomness, drawn for each thread
/// apart; SipHash under that key spreads them over the four words. The number of the seeding keeps the threads of one
/// process apart even where the system has no randomness to give.
#[cold]
#[inline(never)]
fn seed() -> [u64; 4] {
    static SEEDINGS: AtomicU64 = AtomicU64::new(1);
    let key = RandomState::new();
    let seeding = SEEDINGS.fetch_add(1, Ordering::Relaxed);
    let mut state = [0, 1, 2, 3].map(|word: u64| key.hash_one((seeding, word)));
    if state == [0; 4] {
        state[0] = seeding;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_is_read_back_and_nothing_else_is() {
        let id = Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_00ff);
        assert_eq!(Uuid::parse_canonical(id.to_text().as_bytes()), Some(id));
        assert_eq!(
            Uuid::parse_canonical(id.to_string().to_uppercase().as_bytes()),
            None
        );
        assert_eq!(Uuid::parse_canonical(b""), None);
        assert_eq!(Uuid::parse_canonical(&id.to_text().as_bytes()[..35]), None);
    }

    #[test]
    fn words_are_drawn_from_the_same_generator() {
        assert_ne!(random_u64(), random_u64());
        assert_ne!(random_u128(), random_u128());
    }
}
