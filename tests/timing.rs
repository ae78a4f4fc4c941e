//! Schedules, clocks and elapsed time.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{TICK, Trace, manual, ms, secs, us};
use ecs::{
    Clock, ClockError, DEFAULT_INTERVAL, FixedStep, FixedStepError, MAX_INTERVAL, ManualClock,
    Moment, OwnedContainer, RealClock, Register, SharedClock, SystemError, Timing,
};

fn at(micros: u64) -> Moment {
    Moment::from_micros(micros)
}

#[test]
fn the_range_of_intervals() {
    // spec: INT-01
    assert_eq!(Timing::default().interval(), us(33_333));
    assert_eq!(DEFAULT_INTERVAL, us(33_333));
    // spec: INT-01
    assert_eq!(MAX_INTERVAL, secs(100 * 36_525 * 864));
    let mut timing = Timing::new(MAX_INTERVAL, at(5)).unwrap();
    for wrong in [
        MAX_INTERVAL + Duration::from_nanos(1),
        MAX_INTERVAL + us(1),
        Duration::MAX,
    ] {
        let before = timing;
        let error = timing.set_interval(wrong).unwrap_err();
        assert_eq!(error.length, wrong);
        // spec: INT-01
        assert_eq!(timing, before, "a rejected interval changes nothing");
        assert!(Timing::new(wrong, at(0)).is_err());
    }
    timing.set_interval(Duration::ZERO).unwrap();
    // spec: INT-01
    assert!(
        (0..5).all(|_| timing.is_due(at(5))),
        "zero is due at every check"
    );
}

#[test]
fn first_due_one_full_interval_after_the_start() {
    let mut timing = Timing::new(us(100), at(50)).unwrap();
    // spec: INT-02
    assert!(!timing.is_due(at(50)) && !timing.is_due(at(149)) && timing.is_due(at(150)));
    timing.restart(at(1000));
    // spec: INT-02
    assert!(!timing.is_due(at(1099)) && timing.is_due(at(1100)));
}

#[test]
fn late_checks_keep_the_rate_and_make_no_burst() {
    let mut timing = Timing::new(us(100), at(0)).unwrap();
    // spec: INT-03
    assert!(timing.is_due(at(130)) && timing.last_due() == at(100));
    // spec: INT-03
    assert!(
        timing.is_due(at(399)) && timing.last_due() == at(300),
        "two whole intervals and 99"
    );
    assert!(!timing.is_due(at(399)));
    // spec: INT-04
    assert!(
        timing.is_due(at(600)) && timing.last_due() == at(600),
        "three whole intervals"
    );
    // spec: INT-04
    assert!(timing.is_due(at(5555)) && timing.last_due() == at(5555));
    // spec: INT-04
    assert!(
        !timing.is_due(at(5555)) && !timing.is_due(at(5654)) && timing.is_due(at(5655)),
        "no burst"
    );

    // The rule by division, against many lengths and delays.
    for interval in 1..40_u64 {
        for late in 0..400_u64 {
            let mut timing = Timing::new(us(interval), at(7)).unwrap();
            let due = timing.is_due(at(7 + late));
            let whole = late / interval;
            assert_eq!(due, whole > 0);
            // spec: INT-03, INT-04
            assert_eq!(
                timing.last_due().as_micros() - 7,
                if whole > 2 { late } else { whole * interval }
            );
        }
    }
}

#[test]
fn a_schedule_stands_alone_and_takes_long_lengths() {
    let mut timing = Timing::new(secs(7200), Moment::ZERO).unwrap();
    // spec: INT-05, INT-06
    assert!(!timing.is_due(at(48 * 60 * 1_000_000)) && !timing.is_due(at(7_199_999_999)));
    // spec: INT-06
    assert!(timing.is_due(at(7_200_000_000)));

    let max = u64::try_from(MAX_INTERVAL.as_micros()).unwrap();
    let mut longest = Timing::new(MAX_INTERVAL, Moment::ZERO).unwrap();
    // spec: INT-06
    assert!(!longest.is_due(at(max - 1)) && longest.is_due(at(max)));
    let mut near_the_end = Timing::new(MAX_INTERVAL, at(u64::MAX - 10)).unwrap();
    assert_eq!(near_the_end.next_due(), None);
    // spec: INT-06
    assert!(
        !near_the_end.is_due(Moment::MAX),
        "neither overflows nor fires early"
    );
}

#[test]
fn changing_the_interval_keeps_the_last_due_time() {
    let mut timing = Timing::new(us(100), at(0)).unwrap();
    assert!(timing.is_due(at(130)));
    timing.set_interval(us(50)).unwrap();
    // spec: INT-07
    assert_eq!(timing.next_due(), Some(at(150)));
    // spec: INT-07
    assert!(!timing.is_due(at(149)) && timing.is_due(at(150)));
}

#[test]
fn an_earlier_instant_is_no_time() {
    let mut timing = Timing::new(us(100), at(1000)).unwrap();
    let before = timing;
    // spec: INT-08
    assert!(!timing.is_due(at(0)) && timing == before);
    let mut always = Timing::new(Duration::ZERO, at(1000)).unwrap();
    let before = always;
    // spec: INT-08
    assert!(always.is_due(at(5000)) && always.is_due(at(3)) && always == before);
}

#[test]
fn durations_are_cut_to_microseconds() {
    let interval = |nanos| {
        Timing::new(Duration::from_nanos(nanos), at(0))
            .unwrap()
            .interval()
    };
    // spec: INT-09
    assert_eq!(
        (interval(0), interval(1), interval(999)),
        (us(0), us(1), us(1))
    );
    // spec: INT-09
    assert_eq!(
        (interval(1000), interval(1999), interval(2001)),
        (us(1), us(1), us(2))
    );
}

#[test]
fn a_manual_clock_moves_only_when_told() {
    let clock = ManualClock::new();
    let same = clock.clone();
    // spec: CLK-05
    assert_eq!((clock.now(), clock.now()), (at(0), at(0)));
    clock.advance(secs(7200)).unwrap();
    // spec: CLK-05
    assert_eq!(same.now(), at(7_200_000_000));
    clock.set(at(7_200_000_001)).unwrap();
    // spec: CLK-06
    assert_eq!(clock.now(), at(7_200_000_001));
    // spec: CLK-06
    assert!(matches!(clock.set(at(5)), Err(ClockError::GoesBack { .. })));
    // spec: CLK-06
    assert!(matches!(
        clock.advance(us(u64::MAX)),
        Err(ClockError::PastTheEnd { .. })
    ));
    assert!(matches!(
        clock.advance(Duration::MAX),
        Err(ClockError::PastTheEnd { .. })
    ));
    // spec: CLK-06
    assert_eq!(
        clock.now(),
        at(7_200_000_001),
        "a rejected move moves nothing"
    );
    clock.set(Moment::MAX).unwrap();
    assert!(clock.advance(Duration::from_nanos(1)).is_err());
}

/// A clock that anybody may set to anything.
struct Loose(Arc<AtomicU64>);

impl Clock for Loose {
    fn now(&self) -> Moment {
        at(self.0.load(Ordering::SeqCst))
    }
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let (container, _) = manual("main");
    let time = Arc::new(AtomicU64::new(1000));
    let seen = Trace::default();
    let kept = seen.clone();
    let mut claim = container.claim().unwrap();
    claim
        .add_system(
            ecs::system("back", move |cx| {
                kept.add(cx.this.elapsed().as_micros().to_string());
                Ok(())
            })
            .every_pass()
            .clock(SharedClock::new(Loose(Arc::clone(&time)))),
        )
        .unwrap();
    for now in [1010, 500, 1030, 1030] {
        time.store(now, Ordering::SeqCst);
        claim.update().unwrap();
    }
    // spec: CLK-06
    assert_eq!(seen.line(), "0 0 20 0");
}

#[test]
fn the_real_clock_is_the_default_and_comes_back_with_none() {
    let container = OwnedContainer::new("main").unwrap();
    let mut claim = container.claim().unwrap();
    let far = Moment::from_micros(u64::MAX / 2);
    let slow = ecs::system("slow", |_| Ok(())).interval(secs(1));
    claim.add_system(slow).unwrap();
    let due = |claim: &mut ecs::Claim| {
        claim
            .context()
            .system_info("slow")
            .unwrap()
            .next_due()
            .unwrap()
    };
    // spec: CLK-01
    assert!(due(&mut claim) <= at(RealClock.now().as_micros() + 1_000_000));
    claim.context().set_clock(ManualClock::at(far)).unwrap();
    // spec: CLK-01, CLK-02
    assert_eq!(due(&mut claim), at(far.as_micros() + 1_000_000));
    claim.context().set_clock(None).unwrap();
    // spec: CLK-01
    assert!(due(&mut claim) < far);
}

#[test]
fn a_systems_clock_can_be_replaced_and_everything_starts_again() {
    let (container, clock) = manual("main");
    let fired = Trace::default();
    let (update, timer) = (fired.clone(), fired.clone());
    let mut claim = container.claim().unwrap();
    let system = ecs::system("s", move |cx| {
        update.add(format!("update {}", cx.this.elapsed().as_micros()));
        Ok(())
    });
    let system = system
        .interval(us(100))
        .timer_every("t", us(100), move |_, _| {
            timer.add("timer");
            Ok(())
        });
    claim.add_system(system).unwrap();
    clock.advance(us(99)).unwrap();
    let other = ManualClock::at(at(5_000_000));
    claim.context().set_system_clock("s", &other).unwrap();
    clock.advance(us(500)).unwrap();
    claim.update().unwrap();
    // spec: CLK-01, CLK-02
    assert_eq!(fired.line(), "", "the old clock moves nothing any more");
    other.advance(us(100)).unwrap();
    claim.update().unwrap();
    // spec: CLK-02
    assert_eq!(fired.line(), "timer update 100");
    other.advance(us(150)).unwrap();
    claim.update().unwrap();
    assert_eq!(fired.line(), "timer update 150");
    // The container's call covers it again, and those registered later.
    claim.context().set_clock(&clock).unwrap();
    claim
        .add_system(ecs::system("later", |_| Ok(())).interval(us(10)))
        .unwrap();
    clock.advance(us(100)).unwrap();
    claim.update().unwrap();
    // spec: CLK-01, CLK-02
    assert_eq!(fired.line(), "timer update 100");
    // spec: CLK-01, CLK-07
    assert_eq!(claim.context().system_info("later").unwrap().updates(), 1);
}

#[test]
fn a_clock_replaced_in_a_timer_is_the_one_that_counts_from_there() {
    let (container, clock) = manual("main");
    let trace = Trace::default();
    let (one, two, zero) = (trace.clone(), trace.clone(), trace.clone());
    clock.advance(secs(100)).unwrap();
    let early = ManualClock::at(at(7));
    let mut claim = container.claim().unwrap();
    let system = ecs::system("s", |_| Ok(()))
        .every_pass()
        .timer_once("switch", us(10), move |_, cx| {
            one.add("switch");
            cx.this.set_clock(&early)?;
            Ok(())
        })
        .timer_every("same length", us(10), move |_, _| {
            two.add("same length");
            Ok(())
        })
        .timer_every("zero", us(0), move |_, _| {
            zero.add("zero");
            Ok(())
        });
    claim.add_system(system).unwrap();
    clock.advance(us(10)).unwrap();
    claim.update().unwrap();
    // spec: CLK-02
    assert_eq!(
        trace.line(),
        "switch zero",
        "the timer not yet reached starts again by the new clock"
    );
}

#[test]
fn a_clock_lives_as_long_as_it_is_used() {
    struct Noted(Trace);
    impl Clock for Noted {
        fn now(&self) -> Moment {
            at(1)
        }
    }
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.add("clock dropped");
        }
    }
    let trace = Trace::default();
    let (container, _) = manual("main");
    let mut claim = container.claim().unwrap();
    let clock = SharedClock::new(Noted(trace.clone()));
    claim
        .add_system(ecs::system("s", |_| Ok(())).clock(clock.clone()))
        .unwrap();
    drop(clock);
    claim.update().unwrap();
    // spec: CLK-03
    assert_eq!(trace.line(), "");
    assert!(claim.remove_system("s"));
    // spec: CLK-03
    assert_eq!(trace.line(), "clock dropped");
}

#[test]
fn a_registered_system_starts_at_its_clocks_present() {
    let (container, clock) = manual("main");
    clock.advance(secs(1000)).unwrap();
    let own = ManualClock::at(at(77));
    let mut claim = container.claim().unwrap();
    claim
        .add_system(ecs::system("container's", |_| Ok(())).interval(us(5)))
        .unwrap();
    claim
        .add_system(ecs::system("own", |_| Ok(())).interval(us(5)).clock(&own))
        .unwrap();
    let mut cx = claim.context();
    // spec: CLK-07
    assert_eq!(
        cx.system_info("container's").unwrap().next_due(),
        Some(at(1_000_000_005))
    );
    // spec: CLK-07
    assert_eq!(cx.system_info("own").unwrap().next_due(), Some(at(82)));
    let _ = &mut cx;
}

#[test]
fn a_clock_that_panics_is_a_clean_error_or_a_failure_of_its_system() {
    struct Broken(Arc<AtomicU64>);
    impl Clock for Broken {
        fn now(&self) -> Moment {
            assert!(self.0.load(Ordering::SeqCst) == 0, "no time");
            at(0)
        }
    }
    let broken = Arc::new(AtomicU64::new(1));
    let clock = SharedClock::new(Broken(Arc::clone(&broken)));
    let (container, _) = manual("main");
    let mut claim = container.claim().unwrap();
    let error = claim
        .add_system(ecs::system("s", |_| Ok(())).clock(clock.clone()))
        .unwrap_err();
    assert!(matches!(error, SystemError::Clock { .. }), "{error}");
    // spec: ERR-01
    assert_eq!(claim.context().systems().count(), 0);
    broken.store(0, Ordering::SeqCst);
    claim
        .add_system(ecs::system("s", |_| Ok(())).clock(clock))
        .unwrap();
    claim.update().unwrap();
    broken.store(1, Ordering::SeqCst);
    let error = claim.update().unwrap_err();
    // spec: FAIL-06
    assert!(
        error
            .to_string()
            .ends_with("failed in update: panicked: no time"),
        "{error}"
    );
}

/// A system on every pass that notes its elapsed time at three places of the update.
fn elapsed_three_times(
    trace: &Trace,
    interval: Duration,
) -> ecs::Registration<impl ecs::System + use<>> {
    let (update, timer) = (trace.clone(), trace.clone());
    ecs::system("s", move |cx| {
        let first = cx.this.elapsed();
        assert!((cx.this.elapsed_seconds() - first.as_secs_f64()).abs() < 1e-12);
        update.add(format!(
            "{},{}",
            first.as_micros(),
            cx.this.elapsed().as_micros()
        ));
        Ok(())
    })
    .interval(interval)
    .timer_every("t", us(0), move |_, cx| {
        timer.add(cx.this.elapsed().as_micros().to_string());
        Ok(())
    })
}

#[test]
fn elapsed_is_measured_once_per_update() {
    let (container, clock) = manual("main");
    let trace = Trace::default();
    let mut claim = container.claim().unwrap();
    claim
        .add_system(elapsed_three_times(&trace, us(100)))
        .unwrap();
    clock.advance(us(130)).unwrap();
    claim.update().unwrap();
    // spec: ELA-04
    assert_eq!(
        trace.line(),
        "100 100,100",
        "the first update reports the interval"
    );
    clock.advance(us(75)).unwrap();
    claim.update().unwrap();
    // spec: ELA-01, ELA-02
    assert_eq!(
        trace.line(),
        "75 75,75",
        "timers included, whoever read it before"
    );
    clock.advance(us(5)).unwrap();
    claim.update().unwrap();
    // spec: ELA-01
    assert_eq!(trace.line(), "", "not due: nothing is measured");
    clock.advance(us(100)).unwrap();
    claim.update().unwrap();
    // spec: ELA-03
    assert_eq!(trace.line(), "105 105,105", "nothing is lost between");
}

#[test]
fn a_clock_that_moves_during_an_update_changes_no_reading() {
    let (container, clock) = manual("main");
    let trace = Trace::default();
    let (kept, moved) = (trace.clone(), clock.clone());
    let mut claim = container.claim().unwrap();
    let system = ecs::system("s", move |cx| {
        let before = cx.this.elapsed();
        moved.advance(us(40)).unwrap();
        assert_eq!(before, cx.this.elapsed());
        kept.add(before.as_micros().to_string());
        Ok(())
    });
    claim.add_system(system.every_pass()).unwrap();
    for _ in 0..3 {
        clock.advance(us(2)).unwrap();
        claim.update().unwrap();
    }
    // spec: ELA-01, ELA-03
    assert_eq!(trace.line(), "0 42 42");
}

#[test]
fn elapsed_before_the_first_update() {
    let (container, clock) = manual("main");
    let seen: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let trace = Trace::default();
    let probe = common::Probe::new("p", &trace).init(move |cx| {
        kept.lock().unwrap().push(cx.this.elapsed());
        Ok(())
    });
    let mut claim = container.claim().unwrap();
    claim.add_system(probe.named("default")).unwrap();
    claim
        .add_system(ecs::system("zero", |_| Ok(())).every_pass())
        .unwrap();
    let elapsed = |claim: &mut ecs::Claim, handle: &str| {
        claim.context().system_info(handle).unwrap().elapsed()
    };
    // spec: ELA-04
    assert_eq!(
        (elapsed(&mut claim, "default"), elapsed(&mut claim, "zero")),
        (TICK, Duration::ZERO)
    );
    claim.context().set_interval("default", ms(5)).unwrap();
    clock.advance(secs(1)).unwrap();
    claim.update().unwrap();
    // spec: ELA-04
    assert_eq!(
        *seen.lock().unwrap(),
        [ms(5)],
        "in initialize it is the interval of the moment"
    );
    // spec: ELA-04
    assert_eq!(
        (elapsed(&mut claim, "default"), elapsed(&mut claim, "zero")),
        (ms(5), Duration::ZERO)
    );
}

#[test]
fn a_long_stall_is_reported_whole_and_the_sum_is_the_clocks() {
    let (container, clock) = manual("main");
    let total = Arc::new(Mutex::new(Duration::ZERO));
    let last = Arc::new(Mutex::new((Duration::ZERO, 0.0)));
    let (sum, kept) = (Arc::clone(&total), Arc::clone(&last));
    let mut claim = container.claim().unwrap();
    let system = ecs::system("s", move |cx| {
        *sum.lock().unwrap() += cx.this.elapsed();
        *kept.lock().unwrap() = (cx.this.elapsed(), cx.this.elapsed_seconds());
        Ok(())
    });
    claim.add_system(system.interval(us(1000))).unwrap();
    clock.advance(us(1000)).unwrap();
    claim.update().unwrap();
    clock.advance(secs(5 * 3600)).unwrap();
    claim.update().unwrap();
    // spec: ELA-05
    assert_eq!(last.lock().unwrap().0, secs(5 * 3600));
    // spec: ELA-06
    assert!((last.lock().unwrap().1 - 18_000.0).abs() < f64::EPSILON);
    let start = clock.now();
    *total.lock().unwrap() = Duration::ZERO;
    for step in 1..2000_u64 {
        clock.advance(us(step * 7919 % 3001)).unwrap();
        claim.update().unwrap();
    }
    clock.advance(us(1000)).unwrap();
    claim.update().unwrap();
    // spec: ELA-03
    assert_eq!(*total.lock().unwrap(), clock.now().since(start));
}

#[test]
fn fixed_steps_carry_the_remainder_and_report_what_they_drop() {
    let mut fixed = FixedStep::new(us(16_667)).unwrap();
    let (mut given, mut taken) = (0_u64, 0_u64);
    for round in 1..5000_u64 {
        let elapsed = round * 7919 % 60_000;
        given += elapsed;
        let steps = fixed.take(us(elapsed));
        assert_eq!(steps.into_iter().count() as u64, steps.count());
        taken += steps.count() * 16_667;
        // spec: ELA-07
        assert_eq!(us(given - taken), fixed.remainder(), "no drift");
        assert!(fixed.remainder() < fixed.step());
    }
    let mut capped = FixedStep::new(ms(10)).unwrap().max_steps(3);
    let steps = capped.take(ms(1_005));
    // spec: ELA-07
    assert_eq!(
        (steps.count(), steps.dropped(), capped.remainder()),
        (3, ms(970), ms(5))
    );
    let steps = capped.take(Duration::MAX);
    assert_eq!(steps.count(), 3);
    // spec: ELA-07
    assert_eq!(FixedStep::new(Duration::ZERO), Err(FixedStepError::Zero));
    assert!(matches!(
        FixedStep::new(Duration::MAX),
        Err(FixedStepError::TooLong(_))
    ));
}
