//! The rules: nothing is used from above, nothing runs in a circle, no file is too long.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::reader::{Named, named};

/// What the sources are held to.
pub(crate) struct Rules {
    /// The floor of each top-level module.
    pub(crate) floors: &'static [(&'static str, u32)],
    /// Uses within one folder, from and to, that may close a circle.
    pub(crate) allowed: &'static [(&'static str, &'static str)],
    pub(crate) longest: usize,
}

struct File<'a> {
    path: &'a str,
    module: Vec<String>,
    names: Vec<Named>,
}

/// A file uses another one.
struct Use {
    from: usize,
    to: usize,
    line: usize,
    /// A module's own file shows what its inner files make: no use, for the circles.
    shows_inner: bool,
    in_test: bool,
}

/// The faults of `sources`: paths below `src` with their texts.
pub(crate) fn faults(sources: &[(String, String)], rules: &Rules) -> Vec<String> {
    let modules: HashMap<Vec<String>, usize> = sources
        .iter()
        .enumerate()
        .map(|(index, (path, _))| (module_of(path), index))
        .collect();
    let files: Vec<File<'_>> = sources
        .iter()
        .map(|(path, text)| {
            let module = module_of(path);
            let names = named(text, &module, |path| modules.contains_key(path));
            File {
                path,
                module,
                names,
            }
        })
        .collect();
    let tree = Tree { files, modules };
    let uses = tree.uses();

    let mut faults = tree.without_floor(rules);
    faults.extend(tree.uses_from_above(&uses, rules));
    faults.extend(tree.circles(&uses, rules));
    for (path, text) in sources {
        faults.extend(too_long(path, text, rules.longest));
    }
    faults
}

/// The fault of a file that is too long, if it is.
pub(crate) fn too_long(path: &str, text: &str, longest: usize) -> Option<String> {
    let lines = text.lines().count();
    (lines > longest).then(|| format!("{path}: {lines} lines, more than {longest}"))
}

/// `store/column.rs` is `store::column`, `store/mod.rs` is `store`, `lib.rs` is the root.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs");
    let mut module: Vec<String> = path.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| last == "mod") || path == "lib" {
        module.pop();
    }
    module
}

struct Tree<'a> {
    files: Vec<File<'a>>,
    modules: HashMap<Vec<String>, usize>,
}

impl Tree<'_> {
    fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (from, file) in self.files.iter().enumerate() {
            for name in &file.names {
                // What is named in passing counts as well as where it was made.
                let first = self.file_of(&name.path);
                let last = self.maker_of(&name.path);
                for to in BTreeSet::from([first, last].map(|to| to.unwrap_or(from))) {
                    let inner = &self.files[to].module;
                    let shows_inner = name.shown && inner.starts_with(&file.module);
                    let (line, in_test) = (name.line, name.in_test);
                    uses.push(Use {
                        from,
                        to,
                        line,
                        shows_inner,
                        in_test,
                    });
                }
            }
        }
        uses.retain(|used| used.from != used.to);
        uses
    }

    /// The file of the innermost module on a path.
    fn file_of(&self, path: &[String]) -> Option<usize> {
        (0..=path.len())
            .rev()
            .find_map(|length| self.modules.get(&path[..length]).copied())
    }

    /// As [`file_of`](Self::file_of), but through what a folder's own file shows to others.
    fn maker_of(&self, path: &[String]) -> Option<usize> {
        const LONGEST_CHAIN: usize = 8;
        let mut path = path.to_vec();
        for _ in 0..LONGEST_CHAIN {
            let at = self.file_of(&path)?;
            let file = &self.files[at];
            let Some(name) = path.get(file.module.len()) else {
                return Some(at);
            };
            let shown = file
                .names
                .iter()
                .find(|shown| shown.shown && shown.alias.as_ref() == Some(name));
            match shown {
                Some(shown) if !file.module.is_empty() => path.clone_from(&shown.path),
                _ => return Some(at),
            }
        }
        None
    }

    fn floor(&self, file: usize, rules: &Rules) -> Option<u32> {
        let name = self.files[file]
            .module
            .first()
            .map_or("lib", String::as_str);
        rules
            .floors
            .iter()
            .find(|(module, _)| *module == name)
            .map(|(_, floor)| *floor)
    }

    fn without_floor(&self, rules: &Rules) -> Vec<String> {
        (0..self.files.len())
            .filter(|file| self.floor(*file, rules).is_none())
            .map(|file| {
                format!(
                    "{}: has no floor; give it one in tests/floors",
                    self.files[file].path
                )
            })
            .collect()
    }

    fn uses_from_above(&self, uses: &[Use], rules: &Rules) -> Vec<String> {
        let mut faults = Vec::new();
        for used in uses {
            let floors = (self.floor(used.from, rules), self.floor(used.to, rules));
            let (Some(own), Some(other)) = floors else {
                continue;
            };
            if other > own {
                let (from, to) = (self.files[used.from].path, self.files[used.to].path);
                let line = used.line;
                faults.push(format!(
                    "{from}:{line}: floor {own} uses {to} on floor {other}"
                ));
            }
        }
        faults
    }

    /// Circles among the parts of each folder, the topmost included; a part is a file or a folder.
    fn circles(&self, uses: &[Use], rules: &Rules) -> Vec<String> {
        let mut folders: BTreeSet<&[String]> = BTreeSet::new();
        for file in &self.files {
            folders.extend((0..file.module.len()).map(|length| &file.module[..length]));
        }
        let mut unused: BTreeSet<_> = rules.allowed.iter().copied().collect();
        let mut faults = Vec::new();
        for folder in folders {
            let mut graph: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
            for used in uses
                .iter()
                .filter(|used| !used.in_test && !used.shows_inner)
            {
                let parts = [used.from, used.to].map(|file| self.part_of(file, folder));
                let [Some(from), Some(to)] = parts else {
                    continue;
                };
                if from == to {
                    continue;
                }
                let paths = (self.files[used.from].path, self.files[used.to].path);
                if rules.allowed.contains(&paths) {
                    unused.remove(&paths);
                    continue;
                }
                let place = format!("{}:{} uses {}", paths.0, used.line, paths.1);
                graph.entry(from).or_default().entry(to).or_insert(place);
            }
            faults
                .extend(circle(&graph).map(|places| format!("circle:\n  {}", places.join("\n  "))));
        }
        faults.extend(unused.iter().map(|(from, to)| {
            format!("{from} does not use {to}: take the pair off the list of allowed ones")
        }));
        faults
    }

    /// The part of `folder` that a file belongs to. The crate's root is no part: everything is below it.
    fn part_of(&self, file: usize, folder: &[String]) -> Option<String> {
        let inside = self.files[file].module.strip_prefix(folder)?;
        match inside.first() {
            Some(part) => Some(part.clone()),
            None => (!folder.is_empty()).then(|| "mod".to_owned()),
        }
    }
}

/// The labels along one circle of a graph, if it has any.
fn circle(graph: &BTreeMap<String, BTreeMap<String, String>>) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph
        .keys()
        .find_map(|start| walk(graph, start, &mut Vec::new(), &mut done))
}

fn walk<'a>(
    graph: &'a BTreeMap<String, BTreeMap<String, String>>,
    at: &'a str,
    way: &mut Vec<(&'a str, &'a str)>,
    done: &mut BTreeSet<&'a str>,
) -> Option<Vec<String>> {
    if let Some(start) = way.iter().position(|(node, _)| *node == at) {
        return Some(
            way[start..]
                .iter()
                .map(|(_, label)| (*label).to_owned())
                .collect(),
        );
    }
    if !done.contains(at) {
        for (next, label) in graph.get(at).into_iter().flatten() {
            way.push((at, label));
            let found = walk(graph, next, way, done);
            way.pop();
            if found.is_some() {
                return found;
            }
        }
        done.insert(at);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        floors: &[
            ("base", 0),
            ("time", 1),
            ("log", 1),
            ("store", 2),
            ("world", 4),
            ("lib", 6),
        ],
        allowed: &[],
        longest: 10,
    };

    fn faults_of(sources: &[(&str, &str)]) -> Vec<String> {
        faults_with(&RULES, sources)
    }

    fn faults_with(rules: &Rules, sources: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = sources
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        faults(&sources, rules)
    }

    #[test]
    fn a_house_in_order_has_no_faults() {
        let sources = [
            (
                "lib.rs",
                "mod base; mod store; pub use store::Column; use crate::world::World;",
            ),
            (
                "base/mod.rs",
                "mod name; pub(crate) use name::Name; pub type Error = ();",
            ),
            ("base/name.rs", "use super::Error;"),
            (
                "store/mod.rs",
                "mod column; mod table; pub(crate) use column::Column;",
            ),
            ("store/column.rs", "use crate::base::Name;"),
            (
                "store/table.rs",
                "use super::Column; use crate::{base, time::Clock};",
            ),
            ("time/mod.rs", ""),
            ("world/mod.rs", "use crate::store::Column;"),
        ];
        assert_eq!(faults_of(&sources), [""; 0]);
    }

    #[test]
    fn a_use_uses_from_above_is_found() {
        let base = ("base/mod.rs", "");
        let world = ("world/mod.rs", "");
        for text in [
            "\nuse crate::world::World;",
            "\nuse crate::{base::Name, world::{self}};",
            "\nfn f() { crate::world::make() }",
            "\nuse super::super::world::World;",
            "\n#[cfg(test)] mod tests { use crate::world::World; }",
        ] {
            let found = faults_of(&[base, world, ("store/mod.rs", ""), ("store/column.rs", text)]);
            assert_eq!(
                found,
                ["store/column.rs:2: floor 2 uses world/mod.rs on floor 4"],
                "{text}"
            );
        }
    }

    #[test]
    fn the_crate_root_is_above_everything() {
        let found = faults_of(&[
            ("lib.rs", "pub use base::Name;"),
            ("base/mod.rs", "use crate::Name;"),
        ]);
        assert_eq!(found, ["base/mod.rs:1: floor 0 uses lib.rs on floor 6"]);
    }

    #[test]
    fn a_use_through_another_folder_is_found() {
        let found = faults_of(&[
            ("base/mod.rs", "pub(crate) use crate::world::World;"),
            ("world/mod.rs", ""),
            ("store/mod.rs", "use crate::base::World;"),
        ]);
        assert!(found.contains(&"base/mod.rs:1: floor 0 uses world/mod.rs on floor 4".to_owned()));
        assert!(found.contains(&"store/mod.rs:1: floor 2 uses world/mod.rs on floor 4".to_owned()));
    }

    #[test]
    fn circles_between_folders_and_between_files_are_found() {
        let found = faults_of(&[
            ("time/mod.rs", "use crate::log::Logger;"),
            ("log.rs", "use crate::time::Clock;"),
        ]);
        assert_eq!(
            found,
            ["circle:\n  log.rs:1 uses time/mod.rs\n  time/mod.rs:1 uses log.rs"]
        );

        let found = faults_of(&[
            ("store/mod.rs", "mod a; mod b; mod c; pub(crate) use a::A;"),
            ("store/a.rs", "use super::b::B;"),
            ("store/b.rs", "use super::c::C;"),
            ("store/c.rs", "use crate::store::A;"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("circle:\n  store/a.rs:1 uses store/b.rs\n"),
            "{found:?}"
        );

        let found = faults_of(&[
            ("store/mod.rs", "mod a; use a::A; pub(crate) struct Table;"),
            ("store/a.rs", "use super::Table;"),
        ]);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_test_may_use_its_neighbours() {
        let found = faults_of(&[
            ("store/mod.rs", ""),
            (
                "store/a.rs",
                "#[cfg(test)] mod tests { use super::super::b::B; }",
            ),
            ("store/b.rs", "use super::a::A;"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn an_allowed_use_must_be_there() {
        let rules = Rules {
            allowed: &[("store/a.rs", "store/b.rs")],
            ..RULES
        };
        let b = ("store/b.rs", "use super::a::A;");
        let used = [("store/mod.rs", ""), ("store/a.rs", "use super::b::B;"), b];
        assert_eq!(faults_with(&rules, &used), [""; 0]);
        let unused = [("store/mod.rs", ""), ("store/a.rs", ""), b];
        assert_eq!(faults_with(&rules, &unused).len(), 1);
    }

    #[test]
    fn long_files_and_unknown_modules_are_found() {
        let text = "\n".repeat(11);
        let found = faults_of(&[("base/mod.rs", &text), ("attic/mod.rs", "")]);
        assert_eq!(
            found,
            [
                "attic/mod.rs: has no floor; give it one in tests/floors",
                "base/mod.rs: 11 lines, more than 10"
            ]
        );
    }
}
