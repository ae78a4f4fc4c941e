//! Identifiers: 128 random bits with a text form.

use std::cell::Cell;
use std::fmt::{self, Write as _};
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
    pub const fn to_text(self) -> UuidText {
        // Where the two digits of each byte go.
        const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
        let bytes = self.0.to_be_bytes();
        let mut text = [b'-'; TEXT_LENGTH];
        let mut index = 0;
        while index < PLACES.len() {
            let [high, low] = DIGITS[bytes[index] as usize];
            text[PLACES[index]] = high;
            text[PLACES[index] + 1] = low;
            index += 1;
        }
        UuidText(text)
    }

    /// The identifier whose [text](Self::to_text) is exactly this, or none: 36 bytes, lowercase only, any version.
    ///
    /// For telling generated handles from chosen names: two texts never give the same identifier.
    #[inline]
    pub(crate) fn parse_canonical(text: &[u8]) -> Option<Self> {
        decode::<false>(text).map(Self)
    }
}

/// The two hexadecimal digits of each byte. One look-up gives both; the compiler unrolls the loop above into sixteen
/// of them at fixed places.
const DIGITS: [[u8; 2]; 256] = {
    let names = b"0123456789abcdef";
    let mut digits = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        digits[byte] = [names[byte >> 4], names[byte & 15]];
        byte += 1;
    }
    digits
};

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

    // No early exit and no table: the compiler turns this into a few vector instructions. What is no digit gets a
    // number above fifteen.
    let mut all = 0;
    for digit in &mut digits {
        let folded = if UPPER { *digit | 0x20 } else { *digit };
        let number = digit.wrapping_sub(b'0');
        let number = number | if number > 9 { 0xff } else { 0 };
        let letter = folded.wrapping_sub(b'a').saturating_add(10);
        *digit = number.min(letter);
        all |= *digit;
    }
    if all > 15 {
        return None;
    }
    let mut bits = 0;
    for eight in digits.as_chunks::<8>().0 {
        // A nibble in each byte; neighbours are pushed together, then pairs, then fours.
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
/// for (text, condition) in [
///     ("", "text is empty"),
///     ("550e8400-e29b-41d4", "text is 18 characters long, expected 36"),
///     ("550e8400xe29b-41d4-a716-446655440000", "expected '-' at position 9, found 'x'"),
///     (
///         "550e8400-e29b-41d4-a716-44665544000g",
///         "invalid character 'g' at position 36, expected a hexadecimal digit",
///     ),
/// ] {
///     let error = text.parse::<ecs::Uuid>().unwrap_err();
///     assert_eq!(error.to_string(), format!(r#"ecs::Uuid("{text}"): {condition}"#));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ecs::Uuid({}): {}", .0.quoted, .0.kind)]
pub struct ParseUuidError(Box<Refusal>);

/// Boxed: what succeeds should not carry room for what fails.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    quoted: String,
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
        Self(Box::new(Refusal {
            quoted: quoted(text),
            kind: ParseUuidErrorKind::of(text),
        }))
    }

    /// What is wrong.
    pub fn kind(&self) -> ParseUuidErrorKind {
        self.0.kind
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
            _ = write!(quoted, "\\x{byte:02x}");
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

/// A generator's state: the four words of xoshiro256++ (Blackman and Vigna). All zero until seeded, never all zero
/// afterwards. A cell for each word: one array in one cell is tested and moved by wider loads than it was stored with,
/// and those wait longer than the generator itself takes (14 ns against 4).
struct Generator([Cell<u64>; 4]);

thread_local! {
    /// This thread's generator. It has no destructor, so it works to the very end of the thread.
    static GENERATOR: Generator = const { Generator([const { Cell::new(0) }; 4]) };
}

/// 128 random bits from this thread's generator. As random and as little secret as a [`Uuid`].
#[inline]
pub(crate) fn random_u128() -> u128 {
    GENERATOR.with(|generator| {
        let mut state = generator.ready();
        let bits = u128::from(step(&mut state)) << 64 | u128::from(step(&mut state));
        generator.set(state);
        bits
    })
}

/// 64 random bits from this thread's generator.
#[inline]
pub(crate) fn random_u64() -> u64 {
    GENERATOR.with(|generator| {
        let mut state = generator.ready();
        let bits = step(&mut state);
        generator.set(state);
        bits
    })
}

impl Generator {
    /// The state, seeded.
    #[inline]
    fn ready(&self) -> [u64; 4] {
        let [a, b, c, d] = self.0.each_ref().map(Cell::get);
        if a | b | c | d == 0 {
            seed()
        } else {
            [a, b, c, d]
        }
    }

    #[inline]
    fn set(&self, state: [u64; 4]) {
        for (cell, word) in self.0.iter().zip(state) {
            cell.set(word);
        }
    }
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
/// apart; `SipHash` under that key spreads them over the four words. The number of the seeding keeps the threads of one
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

    #[test]
    fn the_generator_is_the_published_one() {
        // The first outputs of xoshiro256++ from this state, calculated apart from this code.
        let mut state = [1, 2, 3, 4];
        let outputs = [(); 6].map(|()| step(&mut state));
        assert_eq!(
            outputs,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386,
                9_228_616_714_210_784_205,
                9_973_669_472_204_895_162,
            ]
        );
        assert_eq!(state[3], 6_931_154_176_001_016_769);
    }

    #[test]
    fn the_generators_state_is_kept() {
        // Seeded by it.
        let _ = random_u64();
        GENERATOR.with(|generator| {
            let mut state = generator.ready();
            let next = [(); 2].map(|()| step(&mut state));
            assert_eq!([(); 2].map(|()| random_u64()), next);
        });
    }
}
