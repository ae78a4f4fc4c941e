//! A long run of everything together, which ends with exact accounts:
//!
//! ```text
//! cargo run --release --example soak -- --seconds 900 --seed 1
//! ```
//!
//! Round after round, containers are made, driven or given threads, changed, failed, stopped and dropped; beside them
//! some live all the time. After each round both sides of every account are compared, and at the end the memory of the
//! quarters. What is off is printed, and the exit code is 1.
//!
//! `--plant WHAT` spoils one account on purpose, so that the accounts themselves can be tested: see [`PLANTS`].

mod beside;
mod books;
mod dice;
mod driven;
mod heap;
mod parts;
mod steady;
mod threaded;

use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dice::Dice;
use ecs::BoxError;
use heap::Held;
use steady::Steady;

/// What can be spoilt: a message is swallowed, a component never dropped, memory kept after each round, a thread left,
/// an event not heard, one of two scenes that should be alike.
const PLANTS: [&str; 6] = ["loss", "drop", "leak", "thread", "event", "twin"];

static PLANT: OnceLock<String> = OnceLock::new();

/// Whether this is to be spoilt, once.
fn planted(what: &str) -> bool {
    static DONE: AtomicBool = AtomicBool::new(false);
    is_planted(what) && !DONE.swap(true, Ordering::SeqCst)
}

fn is_planted(what: &str) -> bool {
    PLANT.get().is_some_and(|plant| plant == what)
}

struct Arguments {
    time: Duration,
    seed: u64,
}

fn arguments() -> Result<Arguments, BoxError> {
    let mut given = Arguments {
        time: Duration::from_secs(5),
        seed: 1,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: what?"))?;
        match &*name {
            "--seconds" => given.time = Duration::from_secs(value.parse()?),
            "--seed" => given.seed = value.parse()?,
            "--plant" if PLANTS.contains(&&*value) => _ = PLANT.set(value),
            _ => {
                return Err(
                    format!("{name} {value}: --seconds N, --seed S, --plant {PLANTS:?}").into(),
                );
            }
        }
    }
    Ok(given)
}

/// More of it than this, from the second quarter to the last, is growth. A block is one allocation.
const BLOCKS: i64 = 8;
const BYTES: i64 = 64 << 10;
const KIB: u64 = 4 << 10;

/// The first quarter warms up; each following one is measured between its rounds, at the highest.
fn check_memory(quarters: &[Held; 4]) {
    let (early, late) = (quarters[1], quarters[3]);
    let growth = [
        ("allocations", late.blocks > early.blocks + BLOCKS),
        ("allocated bytes", late.bytes > early.bytes + BYTES),
        (
            "resident memory",
            late.kib > early.kib + early.kib / 10 + KIB,
        ),
    ];
    for (what, grows) in growth {
        books::check(!grows, &format!("more {what} in the last quarter"));
    }
}

fn run(arguments: &Arguments) -> Result<[Held; 4], BoxError> {
    let mut dice = Dice::new(arguments.seed);
    let threads = Held::now().threads + Steady::THREADS;
    let mut steady = Steady::new()?;
    let mut quarters = [Held::default(); 4];
    let (since, mut rounds) = (Instant::now(), 0_u64);
    loop {
        let passed = since.elapsed();
        if passed >= arguments.time || !books::faults().is_empty() {
            break;
        }
        rounds += 1;
        steady.round(&mut dice)?;
        driven::run(&mut dice)?;
        beside::run(&mut dice)?;
        threaded::talk_and_end(&mut dice)?;
        threaded::restarts(&mut dice)?;
        if is_planted("leak") {
            std::mem::forget(Box::new(rounds));
        }
        if planted("thread") {
            std::thread::spawn(|| std::thread::park_timeout(Duration::from_hours(1)));
        }
        books::balance(&Steady::KEPT);
        // A thread that was joined may be listed for a moment more.
        let patience = Instant::now();
        while Held::now().threads > threads && patience.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        let held = Held::now();
        books::check(
            held.threads == threads,
            &format!("{} threads, not {threads}", held.threads),
        );
        let quarter = passed.as_nanos() * 4 / arguments.time.as_nanos().max(1);
        let quarter = usize::try_from(quarter).unwrap_or(3).min(3);
        quarters[quarter] = quarters[quarter].max(held);
    }
    steady.end();
    books::balance(&books::Kept::default());
    println!(
        "{rounds} rounds in {} s, seed {}",
        since.elapsed().as_secs(),
        arguments.seed
    );
    Ok(quarters)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::from(2);
        }
    };
    parts::mute_failures();
    match run(&arguments) {
        Ok(quarters) => {
            books::print();
            for (number, held) in quarters.iter().enumerate() {
                println!(
                    "quarter {}   {} allocations, {} KiB of them, {} KiB resident, {} threads",
                    number + 1,
                    held.blocks,
                    held.bytes / 1024,
                    held.kib,
                    held.threads
                );
            }
            if books::faults().is_empty() {
                check_memory(&quarters);
            }
        }
        Err(error) => books::fault(error.to_string()),
    }
    let faults = books::faults();
    for fault in &faults {
        eprintln!("OFF: {fault}");
    }
    if faults.is_empty() {
        println!("every account is even");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
