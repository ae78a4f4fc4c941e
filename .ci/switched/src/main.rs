//! Tells which mutants of the library no test notices: one build for all of them. See `.ci/mutants`.
//!
//! Each mutant of a list by `cargo mutants` gets a switch in a copy of the source, so that one of them can be chosen
//! when a test starts. What cannot have a switch has its text put into the source and given to the compiler; what may
//! compile so is left to `cargo mutants`.

mod compiling;
mod edits;
mod mutant;
mod switches;
mod tree;
mod verdicts;

use crate::mutant::Mutant;
use crate::tree::{Fault, Tree};
use crate::verdicts::{Jury, Verdict};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, thread};

const USAGE: &str = "usage: switched TREE LIST OUT [LEFT_OUT]...
TREE      a copy of the library, which is changed and built, and then as it was
LIST      what `cargo mutants --list --json` says in it
OUT       a directory for the verdicts: caught.txt, timeout.txt, missed.txt, unreached.txt, unviable.txt, and alone.txt,
          the mutants that are not judged here
LEFT_OUT  the names of tests not to run";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [tree, list, out, left_out @ ..] = &arguments[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match judge(Path::new(tree), Path::new(list), Path::new(out), left_out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn judge(root: &Path, list: &Path, out: &Path, left_out: &[String]) -> Result<(), Fault> {
    let mutants = mutant::read(list)?;
    let tree = Tree::new(root, &mutants)?;
    let switched = compiling::switch_all(&tree, &mutants)?;
    let verdicts = Jury::new(&tree, left_out)?.judge_all(&mutants, &switched, jobs())?;
    let rest = (1..=mutants.len())
        .filter(|number| !switched.contains(number))
        .collect();
    let alone = compiling::viable(&tree, &mutants, &rest)?;
    let unviable = &rest - &alone;

    fs::create_dir_all(out)?;
    let write = |file: &str, numbers: &BTreeSet<usize>| {
        println!("{}: {}", file, numbers.len());
        fs::write(
            out.join(file).with_extension("txt"),
            names(&mutants, numbers),
        )
    };
    let of = |verdict| {
        verdicts
            .iter()
            .filter(|(_, one)| **one == verdict)
            .map(|(number, _)| *number)
            .collect()
    };
    write("caught", &of(Verdict::Caught))?;
    write("timeout", &of(Verdict::TimedOut))?;
    write("missed", &of(Verdict::Missed))?;
    write("unreached", &of(Verdict::Unreached))?;
    write("unviable", &unviable)?;
    write("alone", &alone)?;
    Ok(())
}

fn jobs() -> usize {
    env::var("JOBS")
        .ok()
        .and_then(|jobs| jobs.parse().ok())
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into))
}

fn names(mutants: &[Mutant], numbers: &BTreeSet<usize>) -> String {
    let mut text = String::new();
    for number in numbers {
        text += &mutants[number - 1].name;
        text += "\n";
    }
    text
}
