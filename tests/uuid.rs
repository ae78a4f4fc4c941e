//! Identifiers, beside a plain oracle and the `uuid` crate.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Barrier};
use std::thread;

use ecs::{ParseUuidErrorKind, Uuid};
use proptest::prelude::*;

const TEXT: &str = "550e8400-e29b-41d4-a716-446655440000";
const BITS: u128 = 0x550e_8400_e29b_41d4_a716_4466_5544_0000;

/// What the parser must say to any text, written without regard to speed.
fn oracle(text: &str) -> Result<u128, String> {
    let bytes = text.as_bytes();
    let mut quoted = String::new();
    for &byte in bytes.iter().take(64) {
        if (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\' {
            quoted.push(byte as char);
        } else {
            _ = write!(quoted, "\\x{byte:02x}");
        }
    }
    let cut = if bytes.len() > 64 {
        " (first 64 characters)"
    } else {
        ""
    };
    let fail = |fault: String| Err(format!("ecs::Uuid(\"{quoted}\"{cut}): {fault}"));
    if bytes.is_empty() {
        return fail("text is empty".to_owned());
    }
    if bytes.len() != 36 {
        return fail(format!(
            "text is {} characters long, expected 36",
            bytes.len()
        ));
    }
    let mut bits = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        let position = index + 1;
        let named = match byte {
            0x20..0x7f => format!("'{}'", byte as char),
            _ => format!("byte 0x{byte:02x}"),
        };
        if [9, 14, 19, 24].contains(&position) {
            if byte != b'-' {
                return fail(format!(
                    "expected '-' at position {position}, found {named}"
                ));
            }
        } else if let Some(digit) = (byte as char).to_digit(16) {
            bits = bits << 4 | u128::from(digit);
        } else {
            return fail(format!(
                "invalid character {named} at position {position}, expected a hexadecimal digit"
            ));
        }
    }
    Ok(bits)
}

fn parse(text: &str) -> Result<u128, String> {
    text.parse::<Uuid>()
        .map(Uuid::as_u128)
        .map_err(|error| error.to_string())
}

#[test]
fn text_has_hyphens_in_place_and_generated_ones_are_version_4() {
    // spec: UUID-01
    assert_eq!(Uuid::from_u128(BITS).to_string(), TEXT);
    assert_eq!(size_of::<Uuid>(), 16);
    for _ in 0..10_000 {
        let text = Uuid::new().to_text();
        let shape: String = text
            .chars()
            .map(|c| if c == '-' { c } else { 'x' })
            .collect();
        // spec: UUID-01
        assert_eq!(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
        assert!(
            text.bytes()
                .all(|byte| matches!(byte, b'-' | b'0'..=b'9' | b'a'..=b'f'))
        );
        assert_eq!(&text[14..15], "4", "{text}");
        assert!("89ab".contains(&text[19..20]), "{text}");
    }
    assert_eq!(uuid::Uuid::from(Uuid::new()).get_version_num(), 4);
    assert_eq!(
        uuid::Uuid::from(Uuid::new()).get_variant(),
        uuid::Variant::RFC4122
    );
}

#[test]
fn every_free_bit_of_generated_ones_is_even() {
    const COUNT: u32 = 20_000;
    let mut ones = [0_u32; 128];
    for _ in 0..COUNT {
        let bits = Uuid::new().as_u128();
        (0..128).for_each(|bit| ones[bit] += u32::from(bits >> bit & 1 == 1));
    }
    for (bit, ones) in ones.into_iter().enumerate() {
        match bit {
            78 | 63 => assert_eq!(ones, COUNT),
            76 | 77 | 79 | 62 => assert_eq!(ones, 0),
            // The standard deviation is 71: this allows ten of them.
            _ => assert!(ones.abs_diff(COUNT / 2) < 710, "bit {bit}: {ones}"),
        }
    }
}

#[test]
fn many_threads_at_once_generate_different_ones() {
    const THREADS: usize = 16;
    const EACH: usize = 20_000;
    let barrier = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                barrier.wait();
                (0..EACH).map(|_| Uuid::new()).collect::<Vec<_>>()
            })
        })
        .collect();
    let all: HashSet<_> = threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    // spec: UUID-02
    assert_eq!(all.len(), THREADS * EACH);
}

#[test]
fn each_thread_is_seeded_by_itself() {
    // One thread after the other, each with its first identifier only: were the seed an address or a state that is
    // shared, they would meet.
    let firsts: HashSet<_> = (0..200)
        .map(|_| thread::spawn(Uuid::new).join().unwrap())
        .collect();
    // spec: UUID-02
    assert_eq!(firsts.len(), 200);
    let generator = include_str!("../src/base/uuid.rs");
    // spec: UUID-02
    assert!(
        !["Mutex", "RwLock", "Once", ".lock()"]
            .iter()
            .any(|lock| generator.contains(lock))
    );
}

#[test]
fn identifiers_are_generated_to_the_very_end_of_a_thread() {
    struct AtTheEnd(std::sync::mpsc::Sender<Uuid>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            self.0.send(Uuid::new()).unwrap();
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) };
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        LAST.set(Some(AtTheEnd(sender)));
        Uuid::new()
    });
    assert_ne!(receiver.recv().unwrap(), thread.join().unwrap());
}

#[test]
fn the_docs_tell_of_forks_and_secrets() {
    let source = include_str!("../src/base/uuid.rs");
    let docs = &source[..source.find("pub struct Uuid(").unwrap()];
    let docs = docs.replace("///", "").replace('\n', " ").to_lowercase();
    let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ");
    // spec: UUID-03
    assert!(docs.contains("parent and child may generate the same identifiers"));
    // spec: UUID-03
    assert!(docs.contains("not cryptographically unpredictable"));
    assert!(docs.contains("do not use them as secrets"));
}

#[test]
fn well_formed_text_of_either_case_and_any_version_is_read() {
    for text in [
        TEXT,
        "550E8400-E29B-41D4-A716-446655440000",
        "550e8400-E29B-41d4-A716-446655440000",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "01234567-89ab-cdef-0123-456789ABCDEF",
    ] {
        let id: Uuid = text.parse().unwrap();
        // spec: UUID-04
        assert_eq!(id.to_string(), text.to_lowercase());
        assert_eq!(parse(text), oracle(text));
    }
}

#[test]
fn everything_else_is_rejected() {
    let mut rejected = vec![
        String::new(),
        format!(" {}", &TEXT[1..]),
        format!("{} ", &TEXT[..35]),
        format!(" {TEXT} "),
        format!("{TEXT}\n"),
        format!("{{{TEXT}}}"),
        format!("urn:uuid:{TEXT}"),
        TEXT.replace('-', ""),
        TEXT.replace('-', "_"),
        TEXT.replace('e', "g"),
        TEXT.replace('-', "\u{2010}"),
        "\u{ff15}".repeat(12),
        "😀".repeat(9),
        "\0".repeat(36),
        "5".repeat(10 << 20),
    ];
    rejected.extend(
        (0..=50)
            .filter(|&length| length != 36)
            .map(|length| "a".repeat(length)),
    );
    rejected.extend((0..36).map(|length| TEXT[..length].to_owned()));
    for text in rejected {
        // spec: UUID-05
        let error = parse(&text).unwrap_err();
        assert_eq!(Err(error), oracle(&text));
    }
}

#[test]
fn errors_name_the_first_fault_in_one_line_of_printable_ascii() {
    let said = |text: &str| parse(text).unwrap_err();
    // spec: UUID-06
    assert_eq!(said(""), r#"ecs::Uuid(""): text is empty"#);
    // spec: UUID-06
    assert_eq!(
        said(&TEXT[..35]),
        r#"ecs::Uuid("550e8400-e29b-41d4-a716-44665544000"): text is 35 characters long, expected 36"#
    );
    // spec: UUID-06
    assert_eq!(
        said("550e8400xe29b-41d4-a716-446655440000"),
        r#"ecs::Uuid("550e8400xe29b-41d4-a716-446655440000"): expected '-' at position 9, found 'x'"#
    );
    // spec: UUID-06
    assert_eq!(
        said("550e8400-e29b-41d4-a716-44665544000g"),
        concat!(
            r#"ecs::Uuid("550e8400-e29b-41d4-a716-44665544000g"): "#,
            "invalid character 'g' at position 36, expected a hexadecimal digit"
        )
    );
    // spec: UUID-06
    assert_eq!(
        said("é0e8400-e29b\n41d4\"a716\\44665544000"),
        r#"ecs::Uuid("\xc3\xa90e8400-e29b\x0a41d4\x22a716\x5c44665544000"): text is 35 characters long, expected 36"#
    );
    // spec: UUID-06
    assert_eq!(
        said("é0e840-e29b\n41d4\"a716\\4466554400000"),
        concat!(
            r#"ecs::Uuid("\xc3\xa90e840-e29b\x0a41d4\x22a716\x5c4466554400000"): "#,
            "invalid character byte 0xc3 at position 1, expected a hexadecimal digit"
        )
    );
    // spec: UUID-06
    assert_eq!(
        said("550e8400-e29b\t41d4-a716-446655440000"),
        r#"ecs::Uuid("550e8400-e29b\x0941d4-a716-446655440000"): expected '-' at position 14, found byte 0x09"#
    );
    // spec: UUID-06
    assert_eq!(
        said(&"é".repeat(33)),
        format!(
            "ecs::Uuid(\"{}\" (first 64 characters)): text is 66 characters long, expected 36",
            r"\xc3\xa9".repeat(32)
        )
    );
    assert!(!said(&"a".repeat(64)).contains("first"));
    assert_eq!(
        "".parse::<Uuid>().unwrap_err().kind(),
        ParseUuidErrorKind::Empty
    );
    assert_eq!(
        "x".parse::<Uuid>().unwrap_err().kind(),
        ParseUuidErrorKind::Length { length: 1 }
    );
}

#[test]
fn every_byte_at_every_place_gives_what_the_oracle_gives() {
    for place in 0..36 {
        for byte in 0..128_u8 {
            let mut text = TEXT.as_bytes().to_vec();
            text[place] = byte;
            let text = String::from_utf8(text).unwrap();
            // spec: UUID-04, UUID-05, UUID-06
            assert_eq!(parse(&text), oracle(&text), "{text:?}");
        }
    }
}

#[test]
fn it_converts_orders_hashes_and_serialises() {
    let id = Uuid::from_u128(BITS);
    // spec: UUID-07
    assert_eq!(uuid::Uuid::from(id).to_string(), TEXT);
    // spec: UUID-07
    assert_eq!(Uuid::from(uuid::Uuid::from(id)), id);
    // spec: UUID-07
    assert_eq!(serde_json::to_value(id).unwrap(), TEXT);
    // spec: UUID-07
    assert_eq!(
        serde_json::from_value::<Uuid>(TEXT.to_uppercase().into()).unwrap(),
        id
    );
    let error = serde_json::from_str::<Uuid>("\"\"").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("ecs::Uuid(\"\"): text is empty"),
        "{error}"
    );
    let error = serde_json::from_str::<Uuid>("7").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected an identifier of 36 characters"),
        "{error}"
    );
    // spec: UUID-07
    assert_eq!(
        format!("{id:>38}|{id:?}|{:<37}|{:?}", id.to_text(), id.to_text()),
        format!("  {TEXT}|Uuid({TEXT})|{TEXT} |{TEXT:?}")
    );
    let hasher = RandomState::new();
    // spec: UUID-07
    assert_eq!(
        hasher.hash_one(id),
        hasher.hash_one(TEXT.parse::<Uuid>().unwrap())
    );
    let ids: BTreeSet<_> = (0..1000).map(|_| Uuid::new()).collect();
    let texts: BTreeSet<_> = ids.iter().map(ToString::to_string).collect();
    // spec: UUID-07
    assert!(ids.iter().map(ToString::to_string).eq(texts));
}

/// Text that is near to an identifier: a true one with some characters replaced, put in or taken out.
fn nearly() -> impl Strategy<Value = String> {
    let character = prop_oneof![any::<char>(), proptest::char::range('!', '~')];
    let changes = proptest::collection::vec((0..40_usize, character, 0..3_u8), 0..3);
    (any::<u128>(), any::<bool>(), changes).prop_map(|(bits, upper, changes)| {
        let text = uuid::Uuid::from_u128(bits).to_string();
        let text = if upper { text.to_uppercase() } else { text };
        let mut text: Vec<char> = text.chars().collect();
        for (place, character, kind) in changes {
            let place = place % text.len();
            match kind {
                0 => text[place] = character,
                1 => text.insert(place, character),
                _ => drop(text.remove(place)),
            }
        }
        text.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn any_bits_go_through_text_and_back(bits: u128) {
        let id = Uuid::from_u128(bits);
        prop_assert_eq!(id.to_string(), uuid::Uuid::from_u128(bits).to_string());
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
    }

    #[test]
    fn any_text_gives_what_the_oracle_gives(
        text in prop_oneof![any::<String>(), nearly(), "[0-9a-fA-F-]{36}"]
    ) {
        let parsed = parse(&text);
        // spec: UUID-05, UUID-06
        prop_assert_eq!(&parsed, &oracle(&text));
        let other = uuid::Uuid::parse_str(&text).map(|id| id.as_u128());
        match parsed {
            Ok(bits) => prop_assert_eq!(other.ok(), Some(bits)),
            Err(error) => {
                prop_assert!(error.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{error}");
                // The crate reads other forms as well, but none of them has 36 bytes.
                prop_assert!(text.len() != 36 || other.is_err());
            }
        }
    }
}
