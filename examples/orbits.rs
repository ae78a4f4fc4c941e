//! The solar system in two containers: one in which the planets move, and one that learns of their years by messages.
//!
//!     cargo run --release --example orbits -- --help

#[path = "orbits/args.rs"]
mod args;
#[path = "orbits/components.rs"]
mod components;
#[path = "orbits/elements.rs"]
mod elements;
#[path = "orbits/gravity.rs"]
mod gravity;
#[path = "orbits/labels.rs"]
mod labels;
#[path = "orbits/report.rs"]
mod report;
#[path = "orbits/revolution.rs"]
mod revolution;
#[path = "orbits/simulation.rs"]
mod simulation;
#[path = "orbits/svg.rs"]
mod svg;
#[path = "orbits/systems.rs"]
mod systems;
#[path = "orbits/trail.rs"]
mod trail;
#[path = "orbits/vector.rs"]
mod vector;

use std::{
    fs,
    io::{self, IsTerminal, Write},
    process::ExitCode,
    time::Instant,
};

use args::Request;
use ecs::BoxError;
use elements::Catalogue;
use simulation::{Driver, Simulation, rebuilt};

const DRAWING: &str = "target/orbits.svg";
const EXPORT: &str = "target/orbits.json";

fn main() -> ExitCode {
    let done = match args::parse(std::env::args().skip(1)) {
        Ok(Request::Run { years, threads }) => run(years, threads),
        Ok(Request::Help) => io::stdout()
            .write_all(args::HELP.as_bytes())
            .map_err(BoxError::from),
        Err(wrong) => {
            eprintln!("orbits: {wrong} (--help tells what it takes)");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("orbits: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(years: u32, threads: bool) -> Result<(), BoxError> {
    let catalogue = Catalogue::load()?;
    println!(
        "{years} years from {}, {} passes",
        catalogue.epoch,
        Simulation::passes_in(years)
    );
    println!("elements: {}\n", catalogue.source);

    let almanac_by = if threads {
        Driver::Thread
    } else {
        Driver::Application
    };
    let simulation = Simulation::new(&catalogue, almanac_by)?;
    let energy = simulation.energy()?;
    let begin = Instant::now();
    for year in 1..=years {
        for _ in Simulation::passes_in(year - 1)..Simulation::passes_in(year) {
            simulation.pass()?;
        }
        show_progress(year, years);
    }
    simulation.finish()?;
    let seconds = begin.elapsed().as_secs_f64();

    let days = f64::from(years) * 365.25;
    let (table, all_right) = report::table(&simulation.rows(&catalogue)?, days);
    let (told, heard) = simulation.messages()?;
    println!("{table}");
    println!(
        "energy drift        {:.1e}",
        simulation.energy()? / energy - 1.0
    );
    println!(
        "passes per second   {:.0}",
        f64::from(Simulation::passes_in(years)) / seconds
    );
    println!("entities            {}", simulation.entities()?);
    println!("messages            {told} sent, {heard} read");

    fs::create_dir_all("target")?;
    fs::write(DRAWING, svg::drawing(&simulation.tracks()?, years))?;
    fs::write(EXPORT, simulation.export()?)?;
    let export = fs::read_to_string(EXPORT)?;
    println!("exported bytes      {}", export.len());
    println!("written             {DRAWING}, {EXPORT}");

    if rebuilt(&export)? != export {
        return Err(format!("the world read back from {EXPORT} is another one").into());
    }
    if !all_right {
        return Err("a measured period is too far from the published one".into());
    }
    Ok(())
}

/// One line that is written over, on a terminal only.
fn show_progress(year: u32, years: u32) {
    let mut screen = io::stderr();
    if screen.is_terminal() {
        let end = if year == years { "\r\x1b[K" } else { "" };
        // Progress that cannot be shown is not missed.
        let _ = write!(screen, "\ryear {year} of {years}{end}").and_then(|()| screen.flush());
    }
}
