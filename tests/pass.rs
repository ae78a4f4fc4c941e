//! A pass sees and does the same whatever way it takes through its systems: straight over their slots or by the order, with
//! mail or without, with timers or without.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{Trace, log_of, manual, ms, us};
use ecs::{Claim, ManualClock, Moment, OwnedContainer, Phase, SystemResult, system};
use serde_json::json;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Registers the systems `a` to `e`, so that their slots are in order, or in part the other way round.
fn registered(
    straight: bool,
    mut add: impl FnMut(&mut Claim, &'static str),
) -> (OwnedContainer, ManualClock) {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    if !straight {
        let idle = |name: &str| system(name, |_| Ok(())).every_pass();
        for name in ["x", "y", "z"] {
            claim.add_system(idle(name)).unwrap();
        }
        for name in ["x", "y", "z"] {
            assert!(claim.remove_system(name));
        }
    }
    for name in NAMES {
        add(&mut claim, name);
    }
    drop(claim);
    (owned, clock)
}

#[test]
fn a_panic_is_told_of_the_system_whose_it_is() {
    for (straight, mail, timer) in cases() {
        let trace = Trace::default();
        let (owned, _) = registered(straight, |claim, name| {
            let seen = trace.clone();
            let update = move |cx: &mut ecs::Context<'_>| -> SystemResult {
                seen.add(name);
                assert!(name != "c" || cx.this.updates() != 3, "the third");
                Ok(())
            };
            let mut one = system(name, update).every_pass();
            if timer {
                one = one.timer_every("late", Duration::from_hours(1), |_, _| Ok(()));
            }
            claim.add_system(one).unwrap();
        });
        let lines = log_of(&owned);
        for _ in 0..2 {
            owned.update().unwrap();
        }
        if mail {
            owned.mailbox("e").unwrap().send(json!(1)).unwrap();
        }
        trace.take();
        let error = owned.update().unwrap_err();
        // spec: FAIL-01, FAIL-06
        let failure = error.failure().unwrap();
        assert_eq!((failure.handle(), failure.phase()), ("c", &Phase::Update));
        assert_eq!(
            lines.take(),
            ["error: [c] failed in update: panicked: the third"]
        );
        assert_eq!(trace.line(), "a b c");
        trace.take();
        // spec: FAIL-05
        owned.update().unwrap();
        assert_eq!(trace.line(), "a b c d e");
    }
}

/// Straight or not, with mail that waits or not, with a timer or not.
fn cases() -> impl Iterator<Item = (bool, bool, bool)> {
    (0..8).map(|case| (case & 1 == 0, case & 2 == 0, case & 4 == 0))
}

#[test]
fn what_a_system_sends_is_there_for_all_behind_it_and_each_runs_once() {
    for (straight, mail, timer) in cases() {
        let trace = Trace::default();
        let (owned, _) = registered(straight, |claim, name| {
            let seen = trace.clone();
            let update = move |cx: &mut ecs::Context<'_>| -> SystemResult {
                let mut read = 0;
                while cx.this.next_message().is_some() {
                    read += 1;
                }
                seen.add(format!("{name}{read}"));
                if name == "b" && cx.this.updates() == 3 {
                    for to in NAMES {
                        let mailbox = cx.container().mailbox(to).ok_or("no mailbox")?;
                        mailbox.send(json!(0))?;
                    }
                }
                Ok(())
            };
            let mut one = system(name, update).every_pass();
            if timer {
                one = one.timer_every("late", Duration::from_hours(1), |_, _| Ok(()));
            }
            claim.add_system(one).unwrap();
        });
        for _ in 0..2 {
            owned.update().unwrap();
        }
        if mail {
            owned.mailbox("d").unwrap().send(json!(1)).unwrap();
        }
        trace.take();
        owned.update().unwrap();
        let d = if mail { "d2" } else { "d1" };
        assert_eq!(trace.line(), format!("a0 b0 c1 {d} e1"));
        trace.take();
        owned.update().unwrap();
        assert_eq!(trace.line(), "a1 b1 c0 d0 e0");
        trace.take();
        owned.update().unwrap();
        assert_eq!(trace.line(), "a0 b0 c0 d0 e0");
    }
}

#[test]
fn a_stop_ends_the_pass_behind_the_system_that_asks_for_it() {
    for (straight, mail, timer) in cases() {
        let trace = Trace::default();
        let (owned, _) = registered(straight, |claim, name| {
            let seen = trace.clone();
            let update = move |cx: &mut ecs::Context<'_>| -> SystemResult {
                seen.add(name);
                if name == "c" && cx.this.updates() == 3 {
                    cx.container().stop();
                }
                Ok(())
            };
            let mut one = system(name, update).every_pass();
            if timer {
                one = one.timer_every("late", Duration::from_hours(1), |_, _| Ok(()));
            }
            claim.add_system(one).unwrap();
        });
        for _ in 0..2 {
            owned.update().unwrap();
        }
        if mail {
            owned.mailbox("a").unwrap().send(json!(1)).unwrap();
        }
        trace.take();
        // spec: STOP-05
        owned.update().unwrap();
        assert_eq!(trace.line(), "a b c");
    }
}

#[test]
fn changes_in_a_straight_pass_reach_the_systems_behind() {
    let trace = Trace::default();
    let (owned, _) = registered(true, |claim, name| {
        let seen = trace.clone();
        let update = move |cx: &mut ecs::Context<'_>| -> SystemResult {
            seen.add(name);
            if name == "a" && cx.this.updates() == 3 {
                assert!(cx.remove_system("b"));
                let seen = seen.clone();
                let other = system("d", move |_| {
                    seen.add("D");
                    Ok(())
                });
                cx.add_system(other.every_pass())?;
                cx.set_system_on("e", false)?;
            }
            Ok(())
        };
        claim.add_system(system(name, update).every_pass()).unwrap();
    });
    for _ in 0..2 {
        owned.update().unwrap();
    }
    trace.take();
    owned.update().unwrap();
    assert_eq!(trace.line(), "a c");
    trace.take();
    owned
        .claim()
        .unwrap()
        .context()
        .set_system_on("e", true)
        .unwrap();
    owned.update().unwrap();
    assert_eq!(trace.line(), "a c D e");
}

#[test]
fn a_system_whose_next_turn_lies_past_the_end_of_the_clock_has_none() {
    let owned = OwnedContainer::new("main").unwrap();
    let clock = ManualClock::at(Moment::from_micros(u64::MAX - 1_000));
    let mut claim = owned.claim().unwrap();
    claim.set_clock(&clock).unwrap();
    let runs = Arc::new(AtomicU64::new(0));
    for (name, interval, worth) in [("soon", us(600), 1), ("never", ms(2), 100)] {
        let runs = Arc::clone(&runs);
        let count = move |_: &mut ecs::Context<'_>| {
            runs.fetch_add(worth, Ordering::Relaxed);
            Ok(())
        };
        claim
            .add_system(system(name, count).interval(interval))
            .unwrap();
    }
    for (step, expected) in [(0, 0), (599, 0), (1, 1), (399, 1), (1, 1)] {
        clock.advance(us(step)).unwrap();
        claim.update().unwrap();
        claim.update().unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), expected);
    }
    let mut listed = claim.context();
    assert_eq!(listed.system_info("never").unwrap().next_due(), None);
    listed.set_interval("never", us(1_000)).unwrap();
    claim.update().unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 101);
}

#[test]
fn a_timer_that_is_added_by_another_system_fires_in_the_same_pass() {
    let trace = Trace::default();
    let (owned, clock) = registered(true, |claim, name| {
        let seen = trace.clone();
        let update = move |cx: &mut ecs::Context<'_>| -> SystemResult {
            seen.add(name);
            if name == "b" && cx.this.updates() == 3 {
                let seen = seen.clone();
                let timer = ecs::Timer::once("now", us(0), move |_| {
                    seen.add("timer");
                    Ok(())
                });
                cx.add_timer("d", timer)?;
            }
            Ok(())
        };
        claim.add_system(system(name, update).every_pass()).unwrap();
    });
    for _ in 0..2 {
        owned.update().unwrap();
    }
    trace.take();
    clock.advance(us(5)).unwrap();
    // spec: TIM-15
    owned.update().unwrap();
    assert_eq!(trace.line(), "a b c timer d e");
    trace.take();
    owned.update().unwrap();
    assert_eq!(trace.line(), "a b c d e");
}

#[test]
fn the_first_update_on_another_clock_covers_one_interval() {
    let trace = Trace::default();
    let (owned, clock) = registered(true, |claim, name| {
        let seen = trace.clone();
        let update = move |cx: &mut ecs::Context<'_>| -> SystemResult {
            seen.add(format!("{name}{}", cx.this.elapsed().as_micros()));
            Ok(())
        };
        claim
            .add_system(system(name, update).interval(us(10)))
            .unwrap();
    });
    for _ in 0..2 {
        clock.advance(us(10)).unwrap();
        owned.update().unwrap();
    }
    let other = ManualClock::new();
    let mut claim = owned.claim().unwrap();
    claim.context().set_system_clock("b", &other).unwrap();
    trace.take();
    for (step, expected) in [(15, "a15 b10 c15 d15 e15"), (12, "a12 b12 c12 d12 e12")] {
        clock.advance(us(step)).unwrap();
        other.advance(us(step)).unwrap();
        // spec: CLK-02, ELA-04
        claim.update().unwrap();
        assert_eq!(trace.line(), expected);
        trace.take();
    }
}
