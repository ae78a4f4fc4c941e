//! Runs the tests that reach a mutant, until one notices it.

use crate::mutant::Mutant;
use crate::tree::{Fault, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// How much longer than four times its own time a suite may take.
const GRACE: Duration = Duration::from_secs(3);
/// What it takes to start a program.
const START: Duration = Duration::from_millis(20);
const POLL: Duration = Duration::from_millis(2);
/// The signals that the limit of processor time ends a process with.
const OUT_OF_TIME: i32 = 24;
const KILLED: i32 = 9;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// A test fails.
    Caught,
    /// A test does not end, or takes far more processor time than without the mutant.
    TimedOut,
    /// All tests that reach it pass.
    Missed,
    /// No test reaches it.
    Unreached,
}

/// One program with tests.
struct Suite {
    name: String,
    program: PathBuf,
    /// How long it takes when no mutant is on.
    takes: Duration,
    reaches: BTreeSet<usize>,
}

/// What has come of asking a suite about the mutants of a file.
#[derive(Clone, Copy, Default)]
struct Memory {
    asked: u32,
    passed: u32,
    hung: u32,
}

impl Memory {
    fn add(&mut self, outcome: &Outcome) {
        self.asked += 1;
        self.passed += u32::from(*outcome == Outcome::Passed);
        self.hung += u32::from(*outcome == Outcome::Hung);
    }
}

#[derive(PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Hung,
}

pub(crate) struct Jury<'a> {
    tree: &'a Tree,
    suites: Vec<Suite>,
    /// By a mutant's file and the suite.
    memory: Mutex<BTreeMap<(String, usize), Memory>>,
}

impl<'a> Jury<'a> {
    /// Builds the tests of a tree with switches, and finds out which of them reach which mutants.
    pub(crate) fn new(tree: &'a Tree, left_out: &[String]) -> Result<Self, Fault> {
        let mut programs = tree.build_tests()?;
        programs.retain(|name, _| !left_out.contains(name));
        let mut jury = Self {
            tree,
            suites: Vec::new(),
            memory: Mutex::default(),
        };
        for (name, program) in programs {
            jury.suites.push(jury.look_at(name, program)?);
        }
        Ok(jury)
    }

    fn look_at(&self, name: String, program: PathBuf) -> Result<Suite, Fault> {
        let mut suite = Suite {
            name,
            program,
            takes: Duration::from_secs(100),
            reaches: BTreeSet::new(),
        };
        let begin = Instant::now();
        if self.run(&suite, "MUTANT", "0")? != Outcome::Passed {
            return Err(format!("{} fails or hangs without any mutant", suite.name).into());
        }
        let takes = begin.elapsed();
        let notes = self
            .tree
            .root()
            .join("target")
            .join(format!("{}.notes", suite.name));
        if notes.exists() {
            fs::remove_file(&notes)?;
        }
        // Some count allocations, which notes add to: their outcome says nothing here.
        self.run(&suite, "MUTANT_NOTES", &notes.to_string_lossy())?;
        let text = fs::read_to_string(&notes).unwrap_or_default();
        suite.reaches = text.lines().map(str::parse).collect::<Result<_, _>>()?;
        suite.takes = takes;
        println!(
            "{}: {} ms, reaches {}",
            suite.name,
            takes.as_millis(),
            suite.reaches.len()
        );
        Ok(suite)
    }

    /// One run of a suite. It takes what the machine lets it have, up to several times what it takes by itself.
    fn run(&self, suite: &Suite, variable: &str, value: &str) -> Result<Outcome, Fault> {
        let seconds = (GRACE + suite.takes * 4).as_secs();
        let limits = format!("ulimit -t {seconds} -c 0; exec \"$0\" -q");
        let mut child = Command::new("bash")
            .args(["-c", &limits])
            .arg(&suite.program)
            .current_dir(self.tree.root())
            // Traces of panics that are meant take longer than the tests.
            .envs([("RUST_BACKTRACE", "0"), (variable, value)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let status = wait(&mut child, GRACE + suite.takes * 4)?;
        // What it has started is in its group.
        let group = format!("-{}", child.id());
        Command::new("kill")
            .args(["-KILL", "--", &group])
            .stderr(Stdio::null())
            .status()?;
        child.wait()?;
        Ok(
            match status.map(|status| (status.success(), status.signal())) {
                Some((true, _)) => Outcome::Passed,
                None | Some((_, Some(KILLED | OUT_OF_TIME))) => Outcome::Hung,
                Some(_) => Outcome::Failed,
            },
        )
    }

    /// Returns also who noticed it.
    fn judge(&self, number: usize, mutant: &Mutant) -> Result<(Verdict, &str), Fault> {
        let mut asked: Vec<_> = (0..self.suites.len())
            .filter(|suite| self.suites[*suite].reaches.contains(&number))
            .collect();
        if asked.is_empty() {
            return Ok((Verdict::Unreached, ""));
        }
        // What is cheap for how often it notices something comes first.
        asked.sort_by_cached_key(|suite| {
            let memory = self.memory(mutant, *suite, |memory| *memory);
            let takes =
                self.suites[*suite].takes + START + GRACE * memory.hung / (memory.asked + 1);
            takes * (memory.asked + 2) / (memory.asked - memory.passed + 1)
        });
        for index in asked {
            let suite = &self.suites[index];
            let outcome = self.run(suite, "MUTANT", &number.to_string())?;
            self.memory(mutant, index, |memory| memory.add(&outcome));
            match outcome {
                Outcome::Passed => {}
                Outcome::Failed => return Ok((Verdict::Caught, &suite.name)),
                Outcome::Hung => return Ok((Verdict::TimedOut, &suite.name)),
            }
        }
        Ok((Verdict::Missed, ""))
    }

    fn memory<T>(&self, mutant: &Mutant, suite: usize, of: impl FnOnce(&mut Memory) -> T) -> T {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        of(memory.entry((mutant.file.clone(), suite)).or_default())
    }

    /// The verdicts on these mutants, several at a time.
    pub(crate) fn judge_all(
        &self,
        mutants: &[Mutant],
        numbers: &BTreeSet<usize>,
        jobs: usize,
    ) -> Result<BTreeMap<usize, Verdict>, Fault> {
        let queue = Mutex::new(numbers.iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<Vec<(usize, Verdict)>, String> {
            let mut verdicts = Vec::new();
            while let Some(number) = next() {
                let mutant = &mutants[number - 1];
                let (verdict, suite) = self
                    .judge(*number, mutant)
                    .map_err(|fault| fault.to_string())?;
                if verdict != Verdict::Caught {
                    println!("{verdict:?} {suite} {}", mutant.name);
                }
                verdicts.push((*number, verdict));
            }
            Ok(verdicts)
        };
        let done = thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect::<Result<Vec<_>, _>>()
        });
        Ok(done?.into_iter().flatten().collect())
    }
}

/// Waits for the end of a process. `None`: after this time it does nothing any more. One that still works is only slow,
/// because others work too; its processor time has a limit of its own.
fn wait(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let (begin, mut seen) = (Instant::now(), 0);
    let mut look = patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > look {
            let spent = processor_time(child.id());
            if spent == seen || begin.elapsed() > patience * 20 {
                return Ok(None);
            }
            (seen, look) = (spent, begin.elapsed() + Duration::from_secs(1));
        }
        thread::sleep(POLL);
    }
}

/// In the kernel's ticks.
fn processor_time(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in brackets, may hold anything.
    let fields = text.rsplit(')').next().unwrap_or_default().split(' ');
    fields
        .skip(12)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum()
}
