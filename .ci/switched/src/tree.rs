//! A copy of the library whose source is changed and compiled.

use crate::edits::Marked;
use crate::mutant::Mutant;
use crate::switches;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, io};

pub(crate) type Fault = Box<dyn std::error::Error>;

pub(crate) struct Tree {
    root: PathBuf,
    /// The files with mutants, as they were.
    sources: BTreeMap<String, String>,
    library: String,
}

/// Where an error of the compiler points to.
pub(crate) struct Pointer {
    pub(crate) file: String,
    pub(crate) bytes: Range<usize>,
    pub(crate) is_primary: bool,
}

pub(crate) struct CompileError {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) rendered: String,
    pub(crate) pointers: Vec<Pointer>,
}

#[derive(Deserialize)]
struct Report {
    message: Option<Diagnostic>,
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    rendered: Option<String>,
    code: Option<Code>,
    spans: Vec<DiagnosticSpan>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
}

impl Tree {
    pub(crate) fn new(root: &Path, mutants: &[Mutant]) -> io::Result<Self> {
        let mut sources = BTreeMap::new();
        for mutant in mutants {
            if !sources.contains_key(&mutant.file) {
                sources.insert(
                    mutant.file.clone(),
                    fs::read_to_string(root.join(&mutant.file))?,
                );
            }
        }
        let library = fs::read_to_string(root.join("src/lib.rs"))?;
        Ok(Self {
            root: root.to_owned(),
            sources,
            library,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn source(&self, mutant: &Mutant) -> &str {
        &self.sources[&mutant.file]
    }

    /// As it was.
    pub(crate) fn restore(&self) -> io::Result<()> {
        for (file, source) in &self.sources {
            self.write(file, source)?;
        }
        self.write("src/lib.rs", &self.library)?;
        match fs::remove_file(self.root.join("src/mutant_switch.rs")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// With a switch for each that can have one. Returns those, and where they stand.
    pub(crate) fn switch(
        &self,
        mutants: &[Mutant],
        without: &BTreeSet<usize>,
        stay_const: &BTreeSet<String>,
    ) -> Result<(BTreeSet<usize>, BTreeMap<String, Marked>), Fault> {
        let mut switched = BTreeSet::new();
        let mut marked = BTreeMap::new();
        for (file, source) in &self.sources {
            let own = (1..)
                .zip(mutants)
                .filter(|(number, mutant)| mutant.file == *file && !without.contains(number));
            let (new, numbers) = switches::switch(source, own, stay_const)?;
            switched.extend(numbers);
            marked.insert(file.clone(), new);
        }
        for (file, new) in &marked {
            self.write(file, &new.text)?;
        }
        let library = marked
            .get("src/lib.rs")
            .map_or(&self.library, |new| &new.text);
        self.write("src/lib.rs", &format!("{library}\nmod mutant_switch;\n"))?;
        let module = include_str!("mutant_switch.rs.txt");
        self.write(
            "src/mutant_switch.rs",
            &format!("{module}\nconst COUNT: usize = {};\n", mutants.len()),
        )?;
        Ok((switched, marked))
    }

    /// With these mutants for good, each in a function of its own. Returns where those functions are now.
    pub(crate) fn replace(
        &self,
        mutants: &[Mutant],
        chosen: &BTreeSet<usize>,
    ) -> io::Result<BTreeMap<usize, (String, Range<usize>)>> {
        let mut places = BTreeMap::new();
        for (file, source) in &self.sources {
            let mut own: Vec<_> = chosen
                .iter()
                .filter(|number| mutants[**number - 1].file == *file)
                .collect();
            own.sort_by_key(|number| mutants[**number - 1].bytes(source).start);
            let mut text = String::new();
            let mut done = 0;
            for number in own {
                let mutant = &mutants[number - 1];
                let (old, function) = (mutant.bytes(source), mutant.function_bytes(source));
                text += &source[done..function.start];
                let begin = text.len();
                text += &source[function.start..old.start];
                text += &mutant.replacement;
                text += &source[old.end..function.end];
                done = function.end;
                places.insert(*number, (file.clone(), begin..text.len()));
            }
            text += &source[done..];
            self.write(file, &text)?;
        }
        Ok(places)
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.root.join(file);
        // The time of a file is what cargo goes by.
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            Ok(())
        } else {
            fs::write(path, text)
        }
    }

    fn cargo(&self, arguments: &[&str]) -> io::Result<Output> {
        let mut command = Command::new("cargo");
        command.args(arguments).args([
            "--profile",
            "mutants",
            "--all-features",
            "--message-format=json",
        ]);
        command
            // Each form of the tree is compiled once.
            .env("CARGO_INCREMENTAL", "0")
            .current_dir(&self.root)
            .output()
    }

    /// What the compiler has against the library as it stands; nothing if it compiles.
    pub(crate) fn check(&self) -> Result<Vec<CompileError>, Fault> {
        let output = self.cargo(&["check", "--lib"])?;
        let mut errors = Vec::new();
        for report in reports(&output)? {
            if let Some(diagnostic) = report
                .message
                .filter(|message| message.level == "error" && !message.spans.is_empty())
            {
                errors.push(diagnostic.into());
            }
        }
        if errors.is_empty() && !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(errors)
    }

    /// Builds the unit tests and all integration tests, and returns their names and programs.
    pub(crate) fn build_tests(&self) -> Result<BTreeMap<String, PathBuf>, Fault> {
        let output = self.cargo(&["test", "--no-run", "--lib", "--tests"])?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let mut programs = BTreeMap::new();
        for report in reports(&output)? {
            if let (Some(program), Some(target)) = (report.executable, report.target) {
                programs.insert(target.name, program);
            }
        }
        Ok(programs)
    }
}

fn reports(output: &Output) -> Result<Vec<Report>, Fault> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

impl From<Diagnostic> for CompileError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self {
            code: diagnostic.code.map(|code| code.code).unwrap_or_default(),
            message: diagnostic.message,
            rendered: diagnostic.rendered.unwrap_or_default(),
            pointers: diagnostic.spans.into_iter().map(Pointer::from).collect(),
        }
    }
}

impl From<DiagnosticSpan> for Pointer {
    fn from(span: DiagnosticSpan) -> Self {
        Self {
            file: span.file_name,
            bytes: span.byte_start..span.byte_end,
            is_primary: span.is_primary,
        }
    }
}
