//! Rows of invaders march and drop bombs, and a cannon shoots back: typed systems on worker threads beside exclusive ones.
//!
//!     cargo run --release --example invaders -- --help
//!
//! The game plays itself, on a clock that it sets, with dice that fall the same each time. It is played alone, on worker
//! threads, and with the systems shuffled; the worlds that are left over must be the same.

#[path = "invaders/collisions.rs"]
mod collisions;
#[path = "invaders/game.rs"]
mod game;
#[path = "invaders/parts.rs"]
mod parts;
#[path = "invaders/systems.rs"]
mod systems;

use std::{fs, process::ExitCode};

use ecs::BoxError;
use game::{Game, Outcome, Way};
use parts::Verdict;

const GRAPH: &str = "target/invaders.dot";
/// Of the frames one in so many is shown.
const SHOWN: u32 = 250;

const HELP: &str = "\
Plays a game of invaders, and checks that it ends alike on any number of threads.

Usage: cargo run --release --example invaders -- [OPTIONS]

Options:
  --all       show each frame
  --seed N    another game [default: 14]
  -h, --help  print this text

Writes target/invaders.dot, the systems of one pass as a graph:
dot -Tsvg target/invaders.dot makes a picture of it.
";

struct Options {
    all: bool,
    seed: u64,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("invaders: {wrong} (--help tells what it takes)");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("invaders: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// `None`: the text of help is asked for.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        all: false,
        seed: 14,
    };
    while let Some(argument) = arguments.next() {
        match &*argument {
            "-h" | "--help" => return Ok(None),
            "--all" => options.all = true,
            "--seed" => {
                let seed = arguments.next().and_then(|text| text.parse().ok());
                options.seed = seed.ok_or("--seed takes a whole number")?;
            }
            _ => return Err(format!("unknown argument {argument:?}")),
        }
    }
    Ok(Some(options))
}

fn run(options: &Options) -> Result<(), BoxError> {
    let shown = if options.all { 1 } else { SHOWN };
    let alone = play(options.seed, Way::Alone, Some(shown))?;
    for way in [
        Way::Workers(1),
        Way::Workers(3),
        Way::Shuffled(options.seed),
    ] {
        let other = play(options.seed, way, None)?;
        if other.export != alone.export || other.passes != alone.passes {
            return Err(format!("the game has ended otherwise: {way:?}").into());
        }
    }
    println!("the same with 1 and 3 worker threads, and with the systems shuffled");

    let mut game = Game::new(options.seed, Way::Alone)?;
    fs::create_dir_all("target")?;
    fs::write(GRAPH, game.graph())?;
    println!("written {GRAPH}");
    for conflict in game.conflicts() {
        let (first, second) = (&conflict.first, &conflict.second);
        println!(
            "{first}, {second}: one by one, {}",
            conflict.over.join(", ")
        );
    }
    Ok(())
}

fn play(seed: u64, way: Way, shown: Option<u32>) -> Result<Outcome, BoxError> {
    let mut game = Game::new(seed, way)?;
    let mut passes = 0_u32;
    let verdict = loop {
        let is_shown = shown.is_some_and(|every| passes.is_multiple_of(every));
        let (verdict, frame) = game.pass(is_shown)?;
        passes += 1;
        if let Some(frame) = frame {
            println!("pass {passes}\n{frame}");
        }
        if let Some(verdict) = verdict {
            break verdict;
        }
    };
    let outcome = game.finish(verdict)?;
    if shown.is_some() {
        summary(&outcome);
    }
    Ok(outcome)
}

fn summary(outcome: &Outcome) {
    let Outcome {
        passes,
        score,
        books,
        ..
    } = outcome;
    let verdict = match outcome.verdict {
        Verdict::Saved => "the Earth is saved",
        Verdict::CannonLost => "the cannon is lost",
        Verdict::Landed => "the invaders have landed",
    };
    println!(
        "{verdict} after {passes} passes: {} invaders hit, {} points",
        score.hits, score.points
    );
    println!(
        "shots: {} hit, {} stopped by stones, {} gone; bombs: {} on the ground, {} on stones, {} on the cannon",
        books.hits, books.stopped, books.escaped, books.on_ground, books.on_stones, books.on_cannon
    );
    for (system, times) in &outcome.statistics {
        println!(
            "{system:>10} ran {:>5} times, {:?} in all",
            times.runs, times.total
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_end_alike_however_they_are_run() {
        for seed in 1..4 {
            let alone = play(seed, Way::Alone, None).unwrap();
            for way in [Way::Workers(2), Way::Shuffled(seed)] {
                let other = play(seed, way, None).unwrap();
                assert_eq!(other.export, alone.export, "seed {seed}, {way:?}");
                assert_eq!((other.passes, other.verdict), (alone.passes, alone.verdict));
            }
        }
    }

    /// `.ci/picture` draws it anew.
    #[test]
    fn the_picture_in_the_guide_is_of_these_systems() {
        let picture = include_str!("../src/guide/invaders.svg");
        let graph = Game::new(1, Way::Alone).unwrap().graph();
        let nodes = graph.lines().filter(|line| line.contains("[shape="));
        let handles: Vec<&str> = nodes.filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!(handles.len(), 18);
        for handle in handles.iter().filter(|handle| !handle.is_empty()) {
            assert!(picture.contains(&format!(">{handle}<")), "{handle}");
        }
        let arrows = graph.matches(" -> ").count();
        assert_eq!(picture.matches("<path").count(), arrows);
    }
}
