//! What the fuzzers run, as ordinary tests: the kept inputs of `fuzz/corpus`, and generated ones of a fixed seed.
//!
//! Each body is a plain function over bytes that panics at a finding; the targets of `fuzz` call the same ones.

mod containers;
mod import_json;
mod json;
mod messages;
mod uuid_parse;

#[path = "../saving/mod.rs"]
mod saving;

#[path = "../model/check.rs"]
mod check;
#[path = "../model/interpreter.rs"]
mod interpreter;
#[path = "../model/kinds.rs"]
mod kinds;
#[path = "../model/naive.rs"]
mod naive;
#[path = "../model/readers.rs"]
mod readers;
#[path = "../model/script.rs"]
mod script;
#[path = "../model/spawning.rs"]
mod spawning;

use std::fs;
use std::path::Path;

/// Runs a body on every kept input of a target, then on generated ones.
fn replay(target: &str, generated: usize, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    // A package of the library has no corpora.
    if let Ok(entries) = fs::read_dir(folder.join(target)) {
        let mut inputs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        for path in inputs {
            attempt(&path.display().to_string(), &fs::read(&path).unwrap(), body);
        }
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..generated {
        let length = random.next() % 600;
        let bytes: Vec<u8> = (0..length)
            .map(|_| random.next().to_le_bytes()[0])
            .collect();
        attempt(&format!("generated input {number}"), &bytes, body);
    }
}

fn attempt(name: &str, bytes: &[u8], body: fn(&[u8])) {
    let outcome = std::panic::catch_unwind(|| body(bytes));
    assert!(outcome.is_ok(), "{name}: {bytes:?}");
}

/// Bytes of a fixed seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}

#[test]
fn uuid_parse() {
    replay("uuid_parse", 500, uuid_parse::run);
}

#[test]
fn message_manager() {
    replay("message_manager", 300, messages::run_manager);
}

#[test]
fn message_container() {
    replay("message_container", 300, messages::run_container);
}

#[test]
fn import_json() {
    replay("import_json", 300, import_json::run);
}

#[test]
fn world_ops() {
    kinds::quiet_armed_panics();
    replay("world_ops", 100, interpreter::run);
}

#[test]
fn container_ops() {
    replay("container_ops", 400, containers::run);
}
