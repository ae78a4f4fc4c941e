//! Engines in turns over one workload, and the rows that come of it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Clock, Table, median};

/// Who runs a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The loop that does only that work.
    Hand,
    /// This library.
    Ours,
    /// `hecs`.
    Hecs,
    /// `bevy_ecs`.
    Bevy,
    /// `shipyard`.
    Shipyard,
    /// `flecs_ecs`.
    Flecs,
}

use Engine::{Bevy, Flecs, Hand, Hecs, Ours, Shipyard};

pub(crate) const ENGINES: [Engine; 6] = [Hand, Ours, Hecs, Bevy, Shipyard, Flecs];
const PEERS: [Engine; 4] = [Hecs, Bevy, Shipyard, Flecs];

impl Engine {
    /// As in tables, and as the crate is called.
    pub fn name(self) -> &'static str {
        match self {
            Hand => "by hand",
            Ours => "ours",
            Hecs => "hecs",
            Bevy => "bevy_ecs",
            Shipyard => "shipyard",
            Flecs => "flecs_ecs",
        }
    }
}

type Side = Box<dyn FnMut(&mut Clock) -> u64>;

/// The engines that have a workload, each as what it does in a round: its timed part, and a sum of what that left in
/// its world. An engine that has no such thing is left out.
#[derive(Default)]
pub(crate) struct Sides(Vec<(Engine, Side)>);

impl Sides {
    pub(crate) fn with(
        mut self,
        engine: Engine,
        side: impl FnMut(&mut Clock) -> u64 + 'static,
    ) -> Self {
        self.0.push((engine, Box::new(side)));
        self
    }
}

/// A line of the table.
struct Row {
    workload: String,
    unit: &'static str,
    rounds: usize,
    values: [Option<f64>; ENGINES.len()],
    best: Option<Engine>,
    by_best: Option<f64>,
    by_hand: Option<f64>,
}

impl Row {
    /// Of values that are the same in each run. Less than a hundredth of an item's counts as none.
    fn exact(workload: &str, unit: &'static str, values: [Option<f64>; ENGINES.len()]) -> Self {
        let values = values.map(|value| value.map(|value| (value * 100.0).round() / 100.0));
        let of = |engine: Engine| values[engine as usize];
        let best = best(&values);
        let ratio = |other: Option<f64>| {
            let (ours, other) = (of(Ours)?, other?);
            (other > 0.0).then(|| ours / other)
        };
        Self {
            workload: workload.to_owned(),
            unit,
            rounds: 1,
            values,
            best,
            by_best: ratio(best.and_then(of)),
            by_hand: ratio(of(Hand)),
        }
    }

    /// A median of each engine's rounds. Ratios are medians of the rounds' ratios: what slows the machine down in a
    /// round slows both.
    fn measured(workload: &str, items: usize, engines: &[Engine], times: &[Vec<f64>]) -> Self {
        let of = |engine| {
            let at = engines.iter().position(|other| *other == engine)?;
            Some(&times[at])
        };
        let scale = 1e9 / float(items);
        let values = ENGINES.map(|engine| Some(median(of(engine)?.clone()) * scale));
        let best = best(&values);
        let ratio = |other: Option<Engine>| {
            let rounds = of(Ours)?.iter().zip(of(other?)?);
            Some(median(rounds.map(|(ours, other)| ours / other).collect()))
        };
        Self {
            workload: workload.to_owned(),
            unit: "ns",
            rounds: times[0].len(),
            values,
            best,
            by_best: ratio(best),
            by_hand: ratio(Some(Hand)),
        }
    }

    fn line(&self) -> String {
        let mut line = format!("| {}", self.workload);
        if self.unit != "ns" {
            let _ = write!(line, ", {}", self.unit);
        }
        let of = |engine: Engine| number(self.values[engine as usize]);
        let best = self.best.map_or_else(
            || "–".to_owned(),
            |best| format!("{} {}", best.name(), of(best)),
        );
        let mark = if self.by_best.is_some_and(|ratio| ratio > 1.05) {
            " **behind**"
        } else {
            ""
        };
        let (by_best, by_hand) = (number(self.by_best), number(self.by_hand));
        let (hand, ours) = (of(Hand), of(Ours));
        let _ = write!(
            line,
            " | {hand} | {ours} | {best} | {by_best}{mark} | {by_hand}"
        );
        for peer in PEERS {
            let _ = write!(line, " | {}", of(peer));
        }
        line + " |"
    }

    fn json(&self) -> Value {
        let values = ENGINES.map(|engine| {
            let value = self.values[engine as usize];
            (engine.name().to_owned(), json!(value))
        });
        json!({
            "workload": self.workload,
            "unit": self.unit,
            "rounds": self.rounds,
            "values": serde_json::Map::from_iter(values),
            "best_peer": self.best.map(Engine::name),
            "ours_by_best_peer": self.by_best,
            "ours_by_hand": self.by_hand,
        })
    }
}

fn best(values: &[Option<f64>; ENGINES.len()]) -> Option<Engine> {
    let known = PEERS
        .into_iter()
        .filter_map(|peer| Some((peer, values[peer as usize]?)));
    known
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(peer, _)| peer)
}

/// Three figures, or a dash.
fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value >= 99.5 => format!("{value:.0}"),
        Some(value) if value >= 9.95 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(crate) fn float(number: usize) -> f64 {
    number as f64
}

/// Runs workloads, prints a line for each, and keeps the rows.
pub struct Bench {
    table: Table,
    /// What is counted instead of times.
    count: Option<fn() -> Duration>,
    rows: Vec<Row>,
}

impl Bench {
    pub(crate) fn new(table: Table) -> Self {
        Self {
            table,
            count: None,
            rows: Vec::new(),
        }
    }

    /// Counts instead of times: something that stands for so many nanoseconds.
    pub(crate) fn counting(table: Table, count: fn() -> Duration) -> Self {
        Self {
            count: Some(count),
            ..Self::new(table)
        }
    }

    /// The head of the table.
    pub fn head() {
        let peers = PEERS.map(Engine::name).join(" | ");
        println!(
            "| ns per item | by hand | ours | best peer | ours / best | ours / by hand | {peers} |"
        );
        println!(
            "| --- | ---: | ---: | --- | ---: | ---: |{}",
            " ---: |".repeat(PEERS.len())
        );
    }

    /// The sizes to run: what is counted for an item does not depend on how many there are.
    pub(crate) fn sizes<'s, T>(&self, sizes: &'s [T]) -> &'s [T] {
        &sizes[..if self.count.is_some() { 1 } else { sizes.len() }]
    }

    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.table.wants(workload)
    }

    /// Measures a workload of so many items, unless other ones are asked for.
    ///
    /// Within a round each engine runs twice in succession, and the second time counts: the first brings its own
    /// data back into the caches that the other engines have used meanwhile.
    pub(crate) fn row(&mut self, workload: &str, items: usize, sides: impl FnOnce() -> Sides) {
        if !self.wants(workload) {
            return;
        }
        if let Some(count) = self.count {
            let counts = counted(workload, items, sides(), count);
            self.keep(Row::exact(workload, "allocations", counts));
            return;
        }
        let (engines, sides): (Vec<Engine>, Vec<Side>) = sides().0.into_iter().unzip();
        let mut twice: Vec<Side> = sides.into_iter().map(warmed).collect();
        let mut turns: Vec<_> = twice.iter_mut().map(|side| &mut **side as _).collect();
        let times = self.table.turns(workload, &mut turns);
        self.keep(Row::measured(workload, items, &engines, &times));
    }

    /// A row of values that are counted, in the order of the engines.
    pub(crate) fn exact(
        &mut self,
        workload: &str,
        unit: &'static str,
        values: [Option<f64>; ENGINES.len()],
    ) {
        if self.wants(workload) {
            self.keep(Row::exact(workload, unit, values));
        }
    }

    fn keep(&mut self, row: Row) {
        println!("{}", row.line());
        let _ = std::io::stdout().flush();
        self.rows.push(row);
    }

    /// The rows, for a program that puts several runs together.
    pub fn into_json(self) -> Value {
        self.rows.iter().map(Row::json).collect()
    }
}

fn warmed(mut side: Side) -> Side {
    Box::new(move |clock| {
        side(&mut Clock::default());
        side(clock)
    })
}

/// What each engine counts for an item, when it has had time to reserve what it keeps.
fn counted(
    workload: &str,
    items: usize,
    sides: Sides,
    count: fn() -> Duration,
) -> [Option<f64>; ENGINES.len()] {
    let mut counts = [None; ENGINES.len()];
    let mut expected = None;
    for (engine, mut side) in sides.0 {
        side(&mut Clock::default());
        side(&mut Clock::default());
        let mut clock = Clock::counting(count);
        let sum = side(&mut clock);
        let expected = *expected.get_or_insert(sum);
        assert_eq!(expected, sum, "{workload}: {} differs", engine.name());
        counts[engine as usize] = Some(clock.spent().as_secs_f64() * 1e9 / float(items));
    }
    counts
}
