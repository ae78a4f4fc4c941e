//! The measuring: the sides of a workload run in turns, and each workload gives a line of a table.

#![allow(dead_code, reason = "each benchmark uses its part of this")]

use std::hint::black_box;
use std::time::{Duration, Instant};

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[allow(
    unsafe_code,
    reason = "the standard library does not tell the time of a thread"
)]
mod spent {
    use std::time::Duration;

    #[repr(C)]
    struct TimeSpec {
        seconds: i64,
        nanos: i64,
    }

    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
    }

    const THREAD_CPU_TIME: i32 = 3;

    /// What this thread has run so far: other processes that take the core away do not count.
    pub(super) fn now() -> Duration {
        let mut time = TimeSpec {
            seconds: 0,
            nanos: 0,
        };
        // SAFETY: the clock exists on Linux, and `time` has the layout of its `struct timespec` on 64 bits.
        unsafe { clock_gettime(THREAD_CPU_TIME, &raw mut time) };
        Duration::from_secs(time.seconds.unsigned_abs())
            + Duration::from_nanos(time.nanos.unsigned_abs())
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod spent {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn now() -> Duration {
        START.elapsed()
    }
}

/// Adds up what a round spends in its timed parts.
#[derive(Default)]
pub(crate) struct Clock {
    spent: Duration,
    /// Read instead of the time.
    count: Option<fn() -> Duration>,
}

impl Clock {
    /// Something else that grows with work: allocations, one to a nanosecond.
    pub(crate) fn counting(count: fn() -> Duration) -> Self {
        Self {
            count: Some(count),
            ..Self::default()
        }
    }

    pub(crate) fn spent(&self) -> Duration {
        self.spent
    }

    fn now(&self) -> Duration {
        self.count.map_or_else(spent::now, |count| count())
    }

    /// Runs a timed part. What it returns is dropped by the caller, outside.
    #[inline]
    pub(crate) fn time<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let start = self.now();
        let result = black_box(work());
        self.spent += self.now().saturating_sub(start);
        result
    }

    /// Runs a timed part that several threads work at, or that waits: what the wall clock says.
    #[inline]
    pub(crate) fn time_wall<R>(&mut self, work: impl FnOnce() -> R) -> R {
        if self.count.is_some() {
            return self.time(work);
        }
        let start = Instant::now();
        let result = black_box(work());
        self.spent += start.elapsed();
        result
    }
}

/// What a workload should reach.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// Ours by theirs, at most.
    Ratio(f64),
    /// Ours in the row's unit, at most.
    Absolute(f64),
    /// Ours in the row's unit, at most so much more than by hand: for work that both sides have in common.
    Beside(f64),
    /// Measured to be known.
    None,
}

impl Target {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Ratio(most) => format!("≤ {most} ×"),
            Self::Absolute(most) => format!("≤ {most}"),
            Self::Beside(most) => format!("≤ {most} more"),
            Self::None => String::new(),
        }
    }

    pub(crate) fn missed(self, ours: f64, ratio: f64) -> bool {
        let (got, most) = match self {
            Self::Ratio(most) => (ratio, most),
            Self::Absolute(most) => (ours, most),
            Self::Beside(most) => (ours - ours / ratio, most),
            Self::None => return false,
        };
        (got * 100.0).round() > (most * 100.0).round()
    }
}

struct Row {
    workload: String,
    hand: f64,
    ours: f64,
    ratio: f64,
    target: Target,
    rounds: usize,
}

impl Row {
    fn print(&self) {
        let Self {
            workload,
            hand,
            ours,
            ratio,
            target,
            rounds,
        } = self;
        let mark = if target.missed(*ours, *ratio) {
            " **missed**"
        } else {
            ""
        };
        println!(
            "| {workload} | {hand:.2} | {ours:.2} | {ratio:.2} | {}{mark} | {rounds} |",
            target.text()
        );
    }
}

/// Runs workloads and prints a line for each.
pub(crate) struct Table {
    /// Only workloads whose names contain one of these.
    filters: Vec<String>,
    /// How long one workload is repeated; zero: once, to see that both sides agree.
    budget: Duration,
    /// How many rounds are measured instead, where that is said.
    rounds: Option<usize>,
}

impl Table {
    pub(crate) fn new(filters: Vec<String>, budget: Duration) -> Self {
        Self {
            filters,
            budget,
            rounds: None,
        }
    }

    /// Measures so many rounds, however long they take.
    pub(crate) fn rounds(mut self, rounds: Option<usize>) -> Self {
        self.rounds = rounds;
        self
    }

    pub(crate) fn head() {
        println!("| workload | by hand ns | ours ns | ratio | target | rounds |");
        println!("| --- | ---: | ---: | ---: | --- | ---: |");
    }

    /// Whether workloads of this name are asked for; to spare their preparation.
    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|part| workload.contains(part))
    }

    /// A row that is not a time: memory.
    pub(crate) fn plain(&self, workload: &str, hand: f64, ours: f64, target: Target) {
        if self.wants(workload) {
            let (workload, ratio) = (workload.to_owned(), ours / hand);
            let row = Row {
                workload,
                hand,
                ours,
                ratio,
                target,
                rounds: 1,
            };
            row.print();
        }
    }

    /// Runs both sides in turns. Each round does its timed part over `items` and returns a sum of what it left
    /// behind, which must be equal.
    pub(crate) fn pair(
        &self,
        workload: &str,
        items: usize,
        target: Target,
        mut hand: impl FnMut(&mut Clock) -> u64,
        mut ours: impl FnMut(&mut Clock) -> u64,
    ) {
        if !self.wants(workload) {
            return;
        }
        let times = self.turns(workload, &mut [&mut hand, &mut ours]);
        let rounds = times[0].len();
        let ratios = times[0].iter().zip(&times[1]);
        let ratio = median(ratios.map(|(hand, ours)| ours / hand).collect());
        let [hand, ours] = [0, 1].map(|side| per_item(times[side].clone(), items));
        Row {
            workload: workload.to_owned(),
            hand,
            ours,
            ratio,
            target,
            rounds,
        }
        .print();
    }

    /// Runs all sides in turns, and gives the seconds that each spent in its rounds. What they leave behind must be
    /// equal.
    pub(crate) fn turns(&self, workload: &str, sides: &mut [Side<'_>]) -> Vec<Vec<f64>> {
        let mut times = vec![Vec::new(); sides.len()];
        let start = Instant::now();
        let mut round = 0;
        loop {
            let mut left_behind = None;
            for turn in 0..sides.len() {
                let side = (round + turn) % sides.len();
                let mut clock = Clock::default();
                let sum = sides[side](&mut clock);
                let expected = *left_behind.get_or_insert(sum);
                assert_eq!(expected, sum, "{workload}: the sides differ");
                // The first two rounds warm memory and caches up.
                if round >= 2 {
                    times[side].push(clock.spent.as_secs_f64());
                }
            }
            round += 1;
            let enough = match self.rounds {
                Some(rounds) => round >= rounds.max(1) + 2,
                None if self.budget.is_zero() => round >= 3,
                None => (start.elapsed() >= self.budget && round >= 17) || round >= 2002,
            };
            if enough {
                return times;
            }
        }
    }
}

/// One side of a workload: does its timed part once, and returns a sum of what it left behind.
pub(crate) type Side<'a> = &'a mut dyn FnMut(&mut Clock) -> u64;

/// The median in nanoseconds per item.
pub(crate) fn per_item(seconds: Vec<f64>, items: usize) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let items = items as f64;
    median(seconds) * 1e9 / items
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
