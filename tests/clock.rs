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

#[test]
fn moments_are_told_apart_and_added_to() {
    let micros = Moment::from_micros;
    let noon = micros(43_200_000_000);
    assert_eq!(noon.checked_add(Duration::ZERO), Some(noon));
    assert_eq!(
        noon.checked_add(Duration::from_secs(2)),
        Some(micros(43_202_000_000))
    );
    // spec: INT-09
    assert_eq!(
        noon.checked_add(Duration::from_nanos(1)),
        Some(micros(43_200_000_001))
    );
    assert_eq!(Moment::MAX.checked_add(Duration::ZERO), Some(Moment::MAX));
    assert_eq!(Moment::MAX.checked_add(Duration::from_nanos(1)), None);
    assert_eq!(Moment::ZERO.checked_add(Duration::MAX), None);
    assert_eq!(micros(7).since(micros(5)), Duration::from_micros(2));
    assert_eq!(micros(5).since(micros(7)), Duration::ZERO);
    assert_eq!(micros(5).to_string(), "5 µs");
}
