//! What the programs are told.

use std::path::PathBuf;
use std::time::Duration;

use crate::harness::Table;

/// What a run measures, and where its rows go.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Only workloads whose names contain one of these.
    pub filters: Vec<String>,
    /// So many rounds of each workload, instead of a time.
    pub rounds: Option<usize>,
    /// Whether a workload is only run, not measured: to see that all engines agree.
    pub check: bool,
    /// The file that gets the table as JSON.
    pub json: Option<PathBuf>,
    /// In which of the processes of a whole run this is.
    pub part: Option<String>,
}

const USAGE: &str = "\
usage: peers [--rounds N] [--check] [--json FILE] [WORKLOAD...]
  WORKLOAD     only workloads whose names contain one of these
  --rounds N   N rounds of each workload, instead of one and a half seconds
  --check      each workload only a few times, to see that all engines agree
  --json FILE  the table as JSON as well";

impl Arguments {
    /// The program's own.
    ///
    /// # Errors
    /// What is wrong, and the usage.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let missing = || format!("{argument} needs a value\n{USAGE}");
                arguments.next().ok_or_else(missing)
            };
            match argument.as_str() {
                "--rounds" => {
                    let wrong = |wrong| format!("--rounds: {wrong}\n{USAGE}");
                    parsed.rounds = Some(value()?.parse().map_err(wrong)?);
                }
                "--check" => parsed.check = true,
                "--json" => parsed.json = Some(value()?.into()),
                "--part" => parsed.part = Some(value()?),
                // What `cargo bench` would add.
                "--bench" => {}
                other if other.starts_with('-') => {
                    return Err(format!("unknown argument {other}\n{USAGE}"));
                }
                _ => parsed.filters.push(argument),
            }
        }
        Ok(parsed)
    }

    /// The same for another process, which writes its rows to `json`.
    pub fn of_part(&self, part: &str, json: PathBuf) -> Vec<String> {
        let mut arguments = self.filters.clone();
        if let Some(rounds) = self.rounds {
            arguments.extend(["--rounds".to_owned(), rounds.to_string()]);
        }
        if self.check {
            arguments.push("--check".to_owned());
        }
        arguments.extend(["--part".to_owned(), part.to_owned()]);
        let json = json.into_os_string().into_string().unwrap_or_default();
        arguments.extend(["--json".to_owned(), json]);
        arguments
    }

    pub(crate) fn table(&self) -> Table {
        let budget = Duration::from_millis(if self.check { 0 } else { 1_500 });
        Table::new(self.filters.clone(), budget).rounds(self.rounds)
    }
}
