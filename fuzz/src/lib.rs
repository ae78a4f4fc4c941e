//! The bodies of the fuzz targets. They live in `tests/corpora`, where ordinary tests replay the kept inputs with them.
#![allow(
    dead_code,
    reason = "the bodies share modules with tests that use more of them"
)]

#[path = "../../tests/corpora/containers/mod.rs"]
mod containers;
#[path = "../../tests/corpora/import_json.rs"]
mod import_json;
#[path = "../../tests/corpora/json.rs"]
mod json;
#[path = "../../tests/corpora/messages.rs"]
mod messages;
#[path = "../../tests/corpora/uuid_parse.rs"]
mod uuid_parse;

#[path = "../../tests/saving/mod.rs"]
mod saving;

#[path = "../../tests/model/check.rs"]
mod check;
#[path = "../../tests/model/interpreter.rs"]
mod interpreter;
#[path = "../../tests/model/kinds.rs"]
mod kinds;
#[path = "../../tests/model/naive.rs"]
mod naive;
#[path = "../../tests/model/readers.rs"]
mod readers;
#[path = "../../tests/model/script.rs"]
mod script;
#[path = "../../tests/model/spawning.rs"]
mod spawning;

pub fn uuid_parse(bytes: &[u8]) {
    uuid_parse::run(bytes);
}

pub fn message_manager(bytes: &[u8]) {
    messages::run_manager(bytes);
}

pub fn message_container(bytes: &[u8]) {
    messages::run_container(bytes);
}

pub fn import_json(bytes: &[u8]) {
    import_json::run(bytes);
}

/// The components that panic on purpose when they are dropped do not end the fuzzer, which aborts at every other panic.
pub fn world_ops(bytes: &[u8]) {
    kinds::quiet_armed_panics();
    interpreter::run(bytes);
}

pub fn container_ops(bytes: &[u8]) {
    containers::run(bytes);
}
