//! The measuring: pairs run in turns, one table at the end.

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
pub(crate) struct Clock(Duration);

impl Clock {
    /// Runs a timed part. What it returns is dropped by the caller, outside.
    #[inline]
    pub(crate) fn time<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let start = spent::now();
        let result = black_box(work());
        self.0 += spent::now().saturating_sub(start);
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
    /// Measured to be known.
    None,
}

impl Target {
    fn text(self) -> String {
        match self {
            Self::Ratio(most) => format!("≤ {most} ×"),
            Self::Absolute(most) => format!("≤ {most}"),
            Self::None => String::new(),
        }
    }

    fn missed(self, ours: f64, ratio: f64) -> bool {
        let (got, most) = match self {
            Self::Ratio(most) => (ratio, most),
            Self::Absolute(most) => (ours, most),
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
}

impl Table {
    pub(crate) fn new(filters: Vec<String>, budget: Duration) -> Self {
        Self { filters, budget }
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
        let mut times = (Vec::new(), Vec::new(), Vec::new());
        let start = Instant::now();
        let mut round = 0;
        loop {
            let (mut by_hand, mut by_us) = (Clock::default(), Clock::default());
            let (expected, got);
            if round % 2 == 0 {
                expected = hand(&mut by_hand);
                got = ours(&mut by_us);
            } else {
                got = ours(&mut by_us);
                expected = hand(&mut by_hand);
            }
            assert_eq!(expected, got, "{workload}: the sides differ");
            round += 1;
            // The first two rounds warm memory and caches up.
            if round > 2 {
                let (h, o) = (by_hand.0.as_secs_f64(), by_us.0.as_secs_f64());
                times.0.push(h);
                times.1.push(o);
                times.2.push(o / h);
            }
            let enough = start.elapsed() >= self.budget && round >= 17;
            if enough || (self.budget.is_zero() && round >= 3) || round >= 2002 {
                break;
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "counts are small")]
        let per_item = 1e9 / items as f64;
        let rounds = times.0.len();
        Row {
            workload: workload.to_owned(),
            hand: median(times.0) * per_item,
            ours: median(times.1) * per_item,
            ratio: median(times.2),
            target,
            rounds,
        }
        .print();
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
