//! How long the systems of a container run, as numbers that any thread may read.

use std::sync::Arc;
use std::time::Duration;

use crate::base::lock::{AtomicU64, Mutex, Ordering};

/// How long the updates of a system took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStatistics {
    /// How many updates were measured.
    pub runs: u64,
    /// How long the last one took.
    pub last: Duration,
    /// How long the longest one took.
    pub longest: Duration,
    /// How long all took together.
    pub total: Duration,
}

impl RunStatistics {
    /// How long an update took on average; zero before the first one.
    pub fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos() / u128::from(self.runs.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The measurements of one system. One thread writes at a time: whoever runs the system.
#[derive(Default)]
pub(crate) struct RunTimes {
    runs: AtomicU64,
    last: AtomicU64,
    longest: AtomicU64,
    total: AtomicU64,
}

impl RunTimes {
    pub(super) fn record(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let at = Ordering::Relaxed;
        self.last.store(nanos, at);
        self.longest.store(nanos.max(self.longest.load(at)), at);
        self.total
            .store(self.total.load(at).saturating_add(nanos), at);
        self.runs.store(self.runs.load(at) + 1, at);
    }

    pub(super) fn read(&self) -> RunStatistics {
        let nanos = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed));
        RunStatistics {
            runs: self.runs.load(Ordering::Relaxed),
            last: nanos(&self.last),
            longest: nanos(&self.longest),
            total: nanos(&self.total),
        }
    }
}

/// The measurements of a container's systems, in the order in which they began.
pub(crate) struct Timings(Mutex<Vec<(Arc<str>, Arc<RunTimes>)>>);

impl Timings {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Begins to measure a system.
    pub(crate) fn begin(&self, handle: &Arc<str>) -> Arc<RunTimes> {
        let times = Arc::new(RunTimes::default());
        let mut list = self.0.lock();
        list.retain(|(known, _)| known != handle);
        list.push((Arc::clone(handle), Arc::clone(&times)));
        times
    }

    /// Forgets a system.
    pub(crate) fn end(&self, handle: &Arc<str>) {
        self.0.lock().retain(|(known, _)| known != handle);
    }

    pub(crate) fn end_all(&self) {
        self.0.lock().clear();
    }

    pub(crate) fn read(&self) -> Vec<(Arc<str>, RunStatistics)> {
        let list = self.0.lock();
        let read = |(handle, times): &(Arc<str>, Arc<RunTimes>)| (Arc::clone(handle), times.read());
        list.iter().map(read).collect()
    }
}
