//! The command line.

use std::ops::RangeInclusive;

/// How many years a run covers unless told otherwise: enough for Neptune to come round once.
pub(crate) const DEFAULT_YEARS: u32 = 170;
const YEARS: RangeInclusive<u32> = 1..=10_000;

pub(crate) const HELP: &str = "\
Runs the solar system from J2000 and measures how long each planet's year is.

Usage: cargo run --release --example orbits -- [OPTIONS]

Options:
  --years N   simulated years, 1 to 10000 [default: 170]
  --threads   run the almanac on a thread of its own; the results are the same
  -h, --help  print this text

The real orbital elements of the eight planets become positions and velocities,
and the Sun and the planets then pull on each other in steps of six hours. The
container `sky` holds the bodies; the container `almanac` learns of every
completed orbit by a message.

Writes target/orbits.svg (the planets' tracks, to scale) and target/orbits.json
(both containers, exported; it is read back and must come out the same).

Exit status: 0, or 1 when a measured period is too far from the published one
(0.1 % for Mercury to Mars, 1 % for Jupiter and Saturn) or the world that was
read back differs, or 2 when the arguments are wrong.
";

#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Run { years: u32, threads: bool },
    Help,
}

/// Reads the arguments after the program's name. The error is one line that says what is wrong.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Request, String> {
    let (mut years, mut threads) = (DEFAULT_YEARS, false);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = match argument.split_once('=') {
            _ if argument == "-h" || argument == "--help" => return Ok(Request::Help),
            None if argument == "--threads" => {
                threads = true;
                continue;
            }
            Some(("--threads", value)) => {
                return Err(format!("--threads takes no value, got {value:?}"));
            }
            Some(("--years", text)) => text.to_owned(),
            _ if argument == "--years" => arguments.next().ok_or("--years needs a number")?,
            _ => return Err(format!("unknown argument {argument:?}")),
        };
        years = text
            .parse()
            .ok()
            .filter(|years| YEARS.contains(years))
            .ok_or_else(|| {
                let (least, most) = (YEARS.start(), YEARS.end());
                format!("--years takes a whole number from {least} to {most}, got {text:?}")
            })?;
    }
    Ok(Request::Run { years, threads })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_right_is_taken() {
        for (line, years, threads) in [
            ("", DEFAULT_YEARS, false),
            ("--years 60", 60, false),
            ("--years=10000", 10_000, false),
            ("--threads", DEFAULT_YEARS, true),
            ("--threads --years 5 --threads", 5, true),
        ] {
            assert_eq!(parsed(line), Ok(Request::Run { years, threads }), "{line}");
        }
        assert_eq!(parsed("--years 5 --help"), Ok(Request::Help));
        assert_eq!(parsed("-h"), Ok(Request::Help));
        assert!(HELP.contains(&format!("[default: {DEFAULT_YEARS}]")));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for line in [
            "--years 0",
            "--years -3",
            "--years 10001",
            "--years 1.5",
            "--years=x",
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.starts_with("--years takes a whole number"), "{error}");
        }
        assert_eq!(parsed("--years"), Err("--years needs a number".into()));
        assert_eq!(
            parsed("--threads=4"),
            Err("--threads takes no value, got \"4\"".into())
        );
        assert_eq!(parsed("--threads 4"), Err("unknown argument \"4\"".into()));
        assert_eq!(parsed("60"), Err("unknown argument \"60\"".into()));
        assert_eq!(
            parsed("--year 60"),
            Err("unknown argument \"--year\"".into())
        );
    }
}
