//! The order of the sources: every module stands on a floor and uses what lies below it, and its own folder.
//!
//! The checker reads every `crate::`, `super::` and `self::` path, also in grouped `use` declarations. It is tested on
//! small sources in memory, beside its rules.
//!
//! What a folder's own file (`mod.rs`) shows with `pub use` counts for the file that makes it; what it defines itself is
//! used like that of any other file, so a type that both it and its inner files need has a file of its own.

mod check;
mod reader;

use std::{
    fs,
    path::{Path, PathBuf},
};

use check::{Rules, faults, too_long};

const RULES: Rules = Rules {
    floors: &[
        ("base", 0),
        ("time", 1),
        ("message", 1),
        ("log", 1),
        ("lifecycle", 1),
        ("store", 2),
        ("query", 3),
        ("event", 3),
        ("world", 4),
        ("group", 4),
        ("parallel", 5),
        ("runtime", 6),
        ("error", 7),
        ("prelude", 7),
        ("lib", 7),
    ],
    // The context names the container and the container runs the context: whatever of that cannot be told apart goes
    // here, pair by pair.
    allowed: &[
        // A component's type makes the vector of its kind, and that gives its rows out as components: a boxed component
        // has to find its way into typed storage.
        ("store/component.rs", "store/values.rs"),
        // A row moves from one typed vector to another, which is found by its key, as in a column.
        ("store/values.rs", "store/column.rs"),
        // The places of a bundle's parts are found and filled by the bundle, and kept where the columns are.
        ("store/columns.rs", "store/bundle.rs"),
        // What user code is called with names the context, and the context gives access to what it is called from.
        ("runtime/system.rs", "runtime/context.rs"),
        ("runtime/system.rs", "runtime/declared.rs"),
        ("runtime/unit.rs", "runtime/context.rs"),
        ("runtime/timer.rs", "runtime/context.rs"),
        ("runtime/listener.rs", "runtime/context.rs"),
        ("runtime/listener.rs", "runtime/turn.rs"),
        ("runtime/deferred.rs", "runtime/context.rs"),
        // The protocol hands over the body, whose contexts name the container.
        ("runtime/shared.rs", "runtime/body.rs"),
        // A container knows its manager, and the manager's table has containers.
        ("runtime/shared.rs", "runtime/manager.rs"),
    ],
    longest: 600,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files of a folder with their texts, by path below `root`; none when the folder is not there.
fn sources(folder: &str, root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_file_stands_on_its_floor() {
    let sources = sources("", &root().join("src"));
    assert!(
        sources.iter().any(|(path, _)| path == "lib.rs"),
        "no sources found"
    );
    let faults = faults(&sources, &RULES);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn no_file_beside_the_sources_is_too_long() {
    let faults: Vec<String> = [
        "tests",
        "benches",
        "examples",
        "fuzz/fuzz_targets",
        "fuzz/src",
    ]
    .into_iter()
    .flat_map(|folder| sources(folder, root()))
    .filter_map(|(path, text)| too_long(&path, &text, RULES.longest))
    .collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
