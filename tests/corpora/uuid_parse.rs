//! Identifiers from text: a slow oracle of the promises, and the `uuid` crate where both should agree.

use ecs::Uuid;

/// Parses the bytes as text, once as they are and once as an identifier with one fault in it.
pub(crate) fn run(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(text);
    }
    check(&String::from_utf8_lossy(bytes));
    check(&with_a_fault(bytes));
}

/// What stands beside the digits and letters, looks like them, or has their bits.
const NEIGHBOURS: [char; 16] = [
    '/', ':', '@', 'G', '`', 'g', '-', ' ', '\u{0}', '\u{10}', '\u{19}', '\u{7f}', 'é', '\u{ff11}',
    '"', '\\',
];

/// The first sixteen bytes as a well-formed text, changed in the way and at the place that the next three name.
fn with_a_fault(bytes: &[u8]) -> String {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let mut text: Vec<char> = Vec::new();
    for at in 0..16 {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        for digit in [byte(at) >> 4, byte(at) & 15] {
            let digit = char::from(b"0123456789abcdef"[usize::from(digit)]);
            text.push(if byte(16) & 8 == 0 {
                digit
            } else {
                digit.to_ascii_uppercase()
            });
        }
    }
    let place = usize::from(byte(17)) % 37;
    let found = if byte(18) & 128 == 0 {
        NEIGHBOURS[usize::from(byte(18)) % NEIGHBOURS.len()]
    } else {
        char::from(byte(19))
    };
    match byte(16) & 7 {
        0 => {}
        1 => text.insert(place, found),
        2 => _ = text.get_mut(place).map(|at| *at = found),
        3 => text.truncate(place),
        4 => text.retain(|digit| *digit != '-'),
        5 => {
            text.insert(0, '{');
            text.push('}');
        }
        6 => text.splice(0..0, "urn:uuid:".chars()).for_each(drop),
        _ => text.extend(std::iter::repeat_n(found, usize::from(byte(17)))),
    }
    text.into_iter().collect()
}

fn check(text: &str) {
    let expected = value_of(text);
    let parsed = text.parse::<Uuid>();
    // spec: UUID-04, UUID-05
    assert_eq!(parsed.as_ref().ok().map(|id| id.as_u128()), expected);
    // spec: UUID-07
    let by_serde = serde_json::from_value::<Uuid>(text.into());
    assert_eq!(by_serde.is_ok(), parsed.is_ok());
    // The other crate also reads three forms that are refused here.
    let theirs = uuid::Uuid::try_parse(text)
        .ok()
        .filter(|_| text.len() == 36);
    // spec: UUID-04, UUID-07
    assert_eq!(
        parsed.as_ref().ok().copied().map(uuid::Uuid::from),
        theirs,
        "{text:?}"
    );
    match parsed {
        // spec: UUID-01, UUID-04
        Ok(id) => {
            assert_eq!(id.to_string(), text.to_ascii_lowercase());
            assert_eq!(&*id.to_text(), text.to_ascii_lowercase());
        }
        // spec: UUID-06
        Err(error) => assert_eq!(error.to_string(), complaint(text)),
    }
}

/// Digit by digit.
fn value_of(text: &str) -> Option<u128> {
    if text.len() != 36 {
        return None;
    }
    let mut value = 0;
    for (at, found) in text.bytes().enumerate() {
        if [8, 13, 18, 23].contains(&at) {
            if found != b'-' {
                return None;
            }
        } else {
            value = value * 16 + u128::from(char::from(found).to_digit(16)?);
        }
    }
    Some(value)
}

/// The text of the error that a malformed text gives.
fn complaint(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut quoted = String::new();
    for &byte in &bytes[..bytes.len().min(64)] {
        let plain = byte.is_ascii() && !byte.is_ascii_control() && byte != b'"' && byte != b'\\';
        if plain {
            quoted.push(byte.into());
        } else {
            quoted.push_str("\\x");
            quoted.extend(
                [byte >> 4, byte & 15]
                    .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
            );
        }
    }
    let cut = if bytes.len() > 64 {
        " (first 64 characters)"
    } else {
        ""
    };
    format!("ecs::Uuid(\"{quoted}\"{cut}): {}", condition(bytes))
}

fn condition(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "text is empty".to_owned();
    }
    if bytes.len() != 36 {
        return format!("text is {} characters long, expected 36", bytes.len());
    }
    for (at, &byte) in bytes.iter().enumerate() {
        let position = at + 1;
        let found = if byte.is_ascii_graphic() || byte == b' ' {
            format!("'{}'", char::from(byte))
        } else {
            format!("byte 0x{byte:02x}")
        };
        if [9, 14, 19, 24].contains(&position) {
            if byte != b'-' {
                return format!("expected '-' at position {position}, found {found}");
            }
        } else if !byte.is_ascii_hexdigit() {
            return format!(
                "invalid character {found} at position {position}, expected a hexadecimal digit"
            );
        }
    }
    panic!("refused, and nothing is wrong with it")
}
