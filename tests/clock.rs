//! The real clock, and the forms in which a clock is handed over.

use std::thread;
use std::time::{Duration, Instant};

use ecs::{Clock, ManualClock, Moment, RealClock, SharedClock};

/// What a clock says, between the instants before and after it was asked.
struct Reading {
    before: Instant,
    moment: Moment,
    after: Instant,
}

impl Reading {
    fn of(now: impl FnOnce() -> Moment) -> Self {
        let before = Instant::now();
        let moment = now();
        let after = Instant::now();
        Self {
            before,
            moment,
            after,
        }
    }

    /// The clock has moved by the time that passed since an earlier reading, to the microsecond.
    fn agrees_with(&self, earlier: &Self) {
        let moved = self.moment.since(earlier.moment);
        let micro = Duration::from_micros(1);
        let least = self.before - earlier.after;
        let most = self.after - earlier.before;
        assert!(
            moved + micro >= least && moved <= most + micro,
            "moved by {moved:?} in {least:?} to {most:?}"
        );
    }
}

#[test]
fn the_real_clock_moves_as_time_does() {
    let shared = SharedClock::from(RealClock);
    let first = Reading::of(|| RealClock.now());
    // Across the clock's first whole second, where seconds and microseconds are put together.
    while first.before.elapsed() < Duration::from_millis(1_050) {
        Reading::of(|| RealClock.now()).agrees_with(&first);
        // spec: CLK-01
        Reading::of(|| shared.now()).agrees_with(&first);
        thread::yield_now();
    }
    Reading::of(|| RealClock.now()).agrees_with(&first);
}

#[test]
fn a_shared_clock_tells_what_it_is() {
    struct Still;
    impl Clock for Still {
        fn now(&self) -> Moment {
            Moment::ZERO
        }
    }
    let manual = ManualClock::new();
    for (clock, text) in [
        (Some(SharedClock::default()), "Some(SharedClock(real))"),
        (RealClock.into(), "Some(SharedClock(real))"),
        ((&manual).into(), "Some(SharedClock(manual))"),
        (manual.into(), "Some(SharedClock(manual))"),
        (Some(SharedClock::new(Still)), "Some(SharedClock(custom))"),
        (None, "None"),
    ] {
        assert_eq!(format!("{clock:?}"), text);
    }
}
