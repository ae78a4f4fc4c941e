//! The rate of the passes. A busy machine may delay any pass, so what is asserted is how early one may come, and, where
//! the promise is that none comes late by the library's doing, that the right distance is seen sooner or later.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ecs::{ManualClock, OwnedContainer};

use super::common::wait::{receive, until};
use super::common::{Probe, Trace, ms, once, secs};
use super::{container, every_pass};

/// A container whose system sends the instant of each update, and then keeps its thread busy for some time.
fn beating(handle: &str, busy: impl Fn(u32) -> Duration + Send + 'static) -> Beating {
    let (sender, beats) = channel();
    let mut pass = 0;
    let probe = Probe::new("a", &Trace::default()).update(move |_| {
        let begun = Instant::now();
        let _ = sender.send(begun);
        while begun.elapsed() < busy(pass) {
            std::thread::yield_now();
        }
        pass += 1;
        Ok(())
    });
    let owned = container(handle, vec![probe]);
    Beating { owned, beats }
}

struct Beating {
    owned: OwnedContainer,
    beats: Receiver<Instant>,
}

impl Beating {
    fn next(&self) -> Instant {
        receive(&self.beats, "the next pass")
    }

    /// Waits until so many passes in a row take no longer than this.
    fn reach(&self, passes: usize, time: Duration) {
        let mut window = vec![self.next()];
        until("passes at their rate", || {
            window.push(self.next());
            if window.len() > passes {
                window.remove(0);
            }
            window.len() == passes && window[passes - 1] - window[0] <= time
        });
    }
}

#[test]
fn thirty_passes_a_second_unless_told_otherwise() {
    let beating = beating("rt-thirty", |_| Duration::ZERO);
    let begun = Instant::now();
    beating.owned.start().unwrap();
    for n in 1..=5 {
        // spec: RUN-03, RUN-10, RUN-11
        assert!(beating.next() - begun >= ecs::DEFAULT_INTERVAL * n);
    }
    // spec: RUN-03
    beating.reach(4, ms(4 * 33 + 20));
    beating.owned.stop();
}

#[test]
fn a_pass_takes_its_time_out_of_the_interval() {
    let interval = ms(20);
    let beating = beating("rt-rate", |_| ms(12));
    let begun = Instant::now();
    beating.owned.start_with(interval).unwrap();
    for n in 1..=5 {
        // spec: RUN-11
        assert!(beating.next() - begun >= interval * n);
    }
    // spec: RUN-11
    // Where the interval was added to the pass's own time, five passes would lie 128 ms apart.
    beating.reach(5, ms(100));
    beating.owned.stop();
}

#[test]
fn an_overrun_is_followed_by_no_burst() {
    let interval = ms(5);
    let beating = beating(
        "rt-burst",
        move |pass| if pass == 0 { ms(150) } else { Duration::ZERO },
    );
    beating.owned.start_with(interval).unwrap();
    let stalled = beating.next() + ms(150);
    for n in 1..=20_u32 {
        // spec: RUN-11
        // One pass is due at once; the others follow an interval apart from there.
        assert!(beating.next() >= stalled + interval * (n - 1), "pass {n}");
    }
    beating.owned.stop();
}

#[test]
fn interval_zero_runs_back_to_back_and_stops() {
    let beating = beating("rt-zero", |_| Duration::ZERO);
    beating.owned.start_with(Duration::ZERO).unwrap();
    for _ in 0..1_000 {
        beating.next();
    }
    // spec: RUN-11
    assert_eq!(
        beating.owned.stop_within(secs(5)),
        ecs::StopOutcome::Complete
    );
}

#[test]
fn the_thread_waits_on_the_real_clock() {
    let clock = ManualClock::new();
    let trace = Trace::default();
    let (sender, passes) = channel();
    let probe = Probe::new("each", &trace).update(move |cx| {
        sender.send(cx.this.elapsed())?;
        Ok(())
    });
    let owned = container("rt-clock", vec![probe]);
    let mut claim = owned.claim().unwrap();
    let due = trace.clone();
    let timed = ecs::system("timed", move |_| {
        due.add("due");
        Ok(())
    });
    claim.add_system(timed.interval(secs(7200))).unwrap();
    claim.set_clock(&clock).unwrap();
    claim.start_with(ms(1)).unwrap();
    for _ in 0..5 {
        // spec: CLK-04
        assert_eq!(
            receive(&passes, "a pass while the systems' clock stands"),
            Duration::ZERO
        );
    }
    assert!(!trace.line().contains("due"));
    clock.advance(secs(7200)).unwrap();
    // spec: CLK-04, CLK-05
    until("the system that is due every two hours", || {
        trace.line().contains("due")
    });
    owned.stop();
}

#[test]
fn systems_join_and_leave_while_the_thread_runs() {
    let trace = Trace::default();
    let owned = container("rt-join", vec![]);
    owned.start_with(ms(1)).unwrap();
    let kept = trace.clone();
    owned.defer(move |cx| {
        let adder = kept.clone();
        let first = ecs::system(
            "first",
            once(move |cx| {
                cx.add_system(Probe::new("second", &adder).reg())?;
                Ok(())
            }),
        );
        cx.add_system(every_pass(first))?;
        Ok(())
    });
    until("an update of the second system", || {
        trace.line().contains("second.init")
    });
    owned.defer(|cx| {
        cx.remove_system("second");
        Ok(())
    });
    // spec: CHG-04, DEF-09
    until("its release", || trace.line().contains("second.drop"));
    owned.stop();
}
