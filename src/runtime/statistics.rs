//! How long the systems run: measured when asked for, readable from any thread while they do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::container::Container;
use super::context::Context;
use super::listing::SystemInfo;
use super::run_times::RunStatistics;
use super::unit::OwnState;

/// Measures updates one after the other: each reading of the clock ends one and begins the next.
pub(super) struct Stopwatch(Option<Instant>);

impl Stopwatch {
    pub(super) fn new(on: bool) -> Self {
        Self(on.then(Instant::now))
    }

    #[inline]
    pub(super) fn ended(&mut self, own: &OwnState) {
        if let Some(before) = &mut self.0 {
            lap(before, own);
        }
    }
}

#[cold]
#[inline(never)]
fn lap(before: &mut Instant, own: &OwnState) {
    let now = Instant::now();
    record(own, now - *before);
    *before = now;
}

/// Notes how long an update took, if that is asked for.
#[cold]
pub(super) fn record(own: &OwnState, took: Duration) {
    if let Some(times) = &own.cold.times {
        times.record(took);
    }
}

impl Context<'_> {
    /// Whether the updates of systems are timed, from the next pass on at the latest. While they are not, nothing is measured and no
    /// clock is read; switched on anew they count from nothing.
    ///
    /// ```
    /// let container = ecs::OwnedContainer::new("main")?;
    /// let mut claim = container.claim()?;
    /// claim.add_system(ecs::system("idle", |_| Ok(())).every_pass())?;
    /// claim.context().set_timed(true);
    /// claim.update()?;
    /// claim.update()?;
    /// let statistics = container.run_statistics();
    /// assert_eq!((&*statistics[0].0, statistics[0].1.runs), ("idle", 2));
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn set_timed(&mut self, on: bool) {
        self.lent.rest.timed = on;
        self.shared.timings.end_all();
        let Self {
            this, lent, shared, ..
        } = self;
        let units = lent.before.iter_mut().chain(&mut *lent.after);
        let units = units.chain(&mut lent.rest.pending);
        let others = units.filter_map(|slot| slot.unit.as_mut());
        for own in others
            .map(|unit| &mut unit.own)
            .chain(this.state.as_deref_mut())
        {
            own.cold.times = on.then(|| shared.timings.begin(&own.cold.handle));
        }
    }
}

impl Container {
    /// How long the updates of the systems took, from any thread, also while they run; empty unless
    /// [`Context::set_timed`] was called. A system that is being updated may be read half-way: its numbers need not
    /// belong to the same update.
    pub fn run_statistics(&self) -> Vec<(Arc<str>, RunStatistics)> {
        self.shared.timings.read()
    }
}

impl SystemInfo<'_> {
    /// How long its updates took; `None` unless [`Context::set_timed`] was called.
    pub fn run_statistics(&self) -> Option<RunStatistics> {
        self.own.cold.times.as_ref().map(|times| times.read())
    }
}
