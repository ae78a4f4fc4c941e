//! The real clock, and the forms in which a clock is handed over.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Trace, manual, us};
use ecs::{Clock, ManualClock, Moment, RealClock, SharedClock, Timer};

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

#[test]
fn timers_follow_a_clock_that_is_far_behind_the_one_before() {
    let (container, clock) = manual("main");
    clock.advance(Duration::from_secs(100)).unwrap();
    let mut claim = container.claim().unwrap();
    let fired = Trace::default();
    let note = fired.clone();
    let timer = Timer::every("t", us(10), move |_| {
        note.add("fired");
        Ok(())
    });
    let system = ecs::system("s", |_| Ok(())).every_pass().timer(timer);
    claim.add_system(system).unwrap();
    let behind = ManualClock::at(Moment::from_micros(7));
    claim.context().set_system_clock("s", &behind).unwrap();
    let mut after = |micros| {
        behind.advance(us(micros)).unwrap();
        claim.update().unwrap();
        fired.line()
    };
    // spec: CLK-02, TIM-01
    assert_eq!(
        [after(9), after(1), after(9), after(1)],
        ["", "fired", "", "fired"]
    );
}

#[test]
fn a_timer_of_no_length_fires_while_the_clock_goes_back() {
    struct Loose(Arc<AtomicU64>);
    impl Clock for Loose {
        fn now(&self) -> Moment {
            Moment::from_micros(self.0.load(Ordering::SeqCst))
        }
    }
    let (container, _) = manual("main");
    let mut claim = container.claim().unwrap();
    let (fired, time) = (Trace::default(), Arc::new(AtomicU64::new(1000)));
    let note = fired.clone();
    let timer = Timer::every("t", Duration::ZERO, move |_| {
        note.add("fired");
        Ok(())
    });
    let system = ecs::system("s", |_| Ok(())).every_pass().timer(timer);
    claim
        .add_system(system.clock(SharedClock::new(Loose(Arc::clone(&time)))))
        .unwrap();
    for now in [1000, 500, 2000] {
        time.store(now, Ordering::SeqCst);
        claim.update().unwrap();
        // spec: TIM-04, INT-08
        assert_eq!(fired.line(), "fired", "at {now}");
    }
}
