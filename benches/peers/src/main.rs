//! Runs all workloads on all engines, and prints one table. See the README of this folder.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use peers::{Arguments, Bench};
use serde_json::{Value, json};

/// glibc then takes every larger block from the system, and gives it back on release.
const COLD: [(&str, &str); 1] = [("MALLOC_MMAP_THRESHOLD_", "65536")];
/// glibc then keeps what it has: the same for all engines, and half of a row would be page faults otherwise.
const WARM: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TRIM_THRESHOLD_", "17179869184"),
];

fn main() -> ExitCode {
    let done = Arguments::parse(std::env::args().skip(1)).and_then(|arguments| run(&arguments));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let bench = match arguments.part.as_deref() {
        Some("warm") => peers::times(arguments),
        Some("cold") => peers::cold_times(arguments),
        _ => return parts(arguments),
    };
    peers::write(arguments.json.as_deref(), &bench.into_json())
}

/// The parts of a table, each in a process of its own with an allocator that is set up for it.
fn parts(arguments: &Arguments) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|wrong| wrong.to_string())?;
    // Beside this one; it counts allocations, which would disturb the times.
    let counting = program.with_file_name("counts");
    let mut rows = Vec::new();
    Bench::head();
    for (part, program, allocator) in [
        ("warm", &program, WARM.as_slice()),
        ("cold", &program, COLD.as_slice()),
        ("counts", &counting, &[]),
    ] {
        let file = scratch(part);
        let mut command = Command::new(program);
        command.args(arguments.of_part(part, file.clone()));
        command.envs(allocator.iter().copied());
        let status = command.status();
        let status = status.map_err(|wrong| format!("{}: {wrong}", program.display()))?;
        if !status.success() {
            return Err(format!("the part {part} ended with {status}"));
        }
        rows.append(&mut read(&file)?);
    }
    let table = json!({
        "date": date(),
        "machine": machine(),
        "cores": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        "versions": versions(),
        "rows": rows,
    });
    peers::write(arguments.json.as_deref(), &table)
}

fn scratch(part: &str) -> PathBuf {
    std::env::temp_dir().join(format!("peers-{}-{part}.json", std::process::id()))
}

/// What a part wrote; its file is not needed any more.
fn read(file: &Path) -> Result<Vec<Value>, String> {
    let of_file = |wrong: &dyn std::fmt::Display| format!("{}: {wrong}", file.display());
    let text = std::fs::read_to_string(file).map_err(|wrong| of_file(&wrong))?;
    std::fs::remove_file(file).map_err(|wrong| of_file(&wrong))?;
    serde_json::from_str(&text).map_err(|wrong| of_file(&wrong))
}

fn date() -> Option<u64> {
    let since = std::time::UNIX_EPOCH.elapsed().ok()?;
    Some(since.as_secs())
}

/// The processor, by its own name.
fn machine() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.to_owned())
}

/// What this was built from.
fn versions() -> Value {
    let lock = include_str!("../Cargo.lock");
    let quoted = |line: &str, key: &str| {
        let rest = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        Some(rest.trim_end_matches('"').to_owned())
    };
    let mut versions = serde_json::Map::new();
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        let Some(name) = quoted(line, "name") else {
            continue;
        };
        if ["archecs", "hecs", "bevy_ecs", "shipyard", "flecs_ecs"].contains(&name.as_str()) {
            let version = lines.next().and_then(|line| quoted(line, "version"));
            versions.insert(name, version.into());
        }
    }
    versions.into()
}
