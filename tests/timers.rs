//! Timers: when they fire, and what may change while they do.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};

use common::{Trace, manual, ms, once, secs, us};
use ecs::{
    Claim, Clock, Context, MAX_INTERVAL, ManualClock, Moment, OwnedContainer, Register,
    SharedClock, System, SystemError, SystemResult, Timer,
};

/// A system that notes its updates; timers are added by name.
struct Noter(Trace);

impl System for Noter {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.0.add("update");
        Ok(())
    }
}

struct Stage {
    _owned: OwnedContainer,
    claim: Claim,
    clock: ManualClock,
    trace: Trace,
}

impl Stage {
    /// One system `s` on every pass, with the timers that `add` gives it.
    fn new(add: impl FnOnce(&Trace) -> Vec<Timer>) -> Self {
        let (owned, clock) = manual("main");
        let trace = Trace::default();
        let mut claim = owned.claim().unwrap();
        let mut system = Noter(trace.clone()).named("s").every_pass();
        for timer in add(&trace) {
            system = system.timer(timer);
        }
        claim.add_system(system).unwrap();
        Self {
            _owned: owned,
            claim,
            clock,
            trace,
        }
    }

    /// Moves the clock, runs a pass, and returns what fired before the update.
    fn after(&mut self, micros: u64) -> String {
        self.clock.advance(us(micros)).unwrap();
        self.claim.update().unwrap();
        let line = self.trace.line();
        line.strip_suffix("update")
            .expect("the update comes last")
            .trim_end()
            .to_owned()
    }

    fn timers(&mut self) -> String {
        self.claim
            .context()
            .system_info("s")
            .unwrap()
            .timers()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn note(
    trace: &Trace,
    text: &'static str,
) -> impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static {
    let trace = trace.clone();
    move |_| {
        trace.add(text);
        Ok(())
    }
}

fn every(trace: &Trace, name: &'static str, micros: u64) -> Timer {
    Timer::every(name, us(micros), note(trace, name))
}

fn one(trace: &Trace, name: &'static str, micros: u64) -> Timer {
    Timer::once(name, us(micros), note(trace, name))
}

/// A timer that notes its name and then does something.
fn doing(
    trace: &Trace,
    timer: fn(&'static str, std::time::Duration, Box<Callback>) -> Timer,
    name: &'static str,
    micros: u64,
    mut work: impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
) -> Timer {
    let trace = trace.clone();
    timer(
        name,
        us(micros),
        Box::new(move |cx| {
            trace.add(name);
            work(cx)
        }),
    )
}

type Callback = dyn FnMut(&mut Context<'_>) -> SystemResult + Send;

fn repeating(name: &'static str, length: std::time::Duration, callback: Box<Callback>) -> Timer {
    Timer::every(name, length, callback)
}

fn single(name: &'static str, length: std::time::Duration, callback: Box<Callback>) -> Timer {
    Timer::once(name, length, callback)
}

#[test]
fn a_timer_fires_one_full_length_after_it_was_added_and_then_every_length() {
    let mut stage = Stage::new(|trace| vec![every(trace, "every", 100), one(trace, "once", 100)]);
    // spec: TIM-01, TIM-14
    assert_eq!(
        (stage.after(0), stage.after(99)),
        (String::new(), String::new())
    );
    // spec: TIM-01, TIM-07
    assert_eq!(stage.after(1), "every once");
    // spec: TIM-02
    assert_eq!(stage.timers(), "every", "the one-shot is gone");
    // spec: TIM-02
    assert_eq!(
        (stage.after(99), stage.after(1), stage.after(100)),
        (String::new(), "every".into(), "every".into())
    );
    stage.claim.context().clear_timer("s", "every");
    // spec: TIM-02, TIM-06
    assert_eq!(
        (stage.after(1000), stage.timers()),
        (String::new(), String::new())
    );
}

#[test]
fn timers_are_checked_only_when_their_system_is_updated() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(
            Noter(trace.clone())
                .named("s")
                .interval(ms(10))
                .timer(every(&trace, "fast", 10)),
        )
        .unwrap();
    clock.advance(ms(9)).unwrap();
    claim.update().unwrap();
    // spec: TIM-03
    assert_eq!(trace.line(), "", "due for long, but its system is not");
    clock.advance(ms(1)).unwrap();
    claim.update().unwrap();
    // spec: TIM-03
    assert_eq!(trace.line(), "fast update", "once, before the update");
}

#[test]
fn length_zero_fires_once_on_every_update() {
    let mut stage = Stage::new(|trace| {
        vec![
            doing(trace, repeating, "zero", 0, |cx| {
                cx.this.add_timer(Timer::once("extra", us(0), |_| Ok(())))?;
                cx.this.clear_timer("none");
                Ok(())
            }),
            every(trace, "other zero", 0),
        ]
    });
    for _ in 0..3 {
        // spec: TIM-04
        assert_eq!(stage.after(0), "zero other zero");
    }
    stage.claim.update_system("s").unwrap();
    // spec: TIM-04
    assert_eq!(
        stage.trace.line(),
        "zero other zero update",
        "once per update, not per pass"
    );
}

#[test]
fn a_length_out_of_range_is_rejected_by_every_way() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let long = MAX_INTERVAL + us(1);
    let micros = "3155760000000001 microseconds, is out of range (0 to 3155760000000000)";
    let trace = Trace::default();

    let system = Noter(trace.clone())
        .named("s")
        .timer_once("fine", us(1), |_, _| Ok(()))
        .timer_every("t", long, |_, _| Ok(()));
    let error = claim.add_system(system).unwrap_err();
    // spec: TIM-16, ERR-02
    assert_eq!(
        error.to_string(),
        format!(
            "ecs::Container(\"main\")::add_system(): length of timer \"t\" of system \"s\", {micros}"
        )
    );
    // spec: TIM-05, ERR-01
    assert_eq!(claim.context().systems().count(), 0);

    claim.add_system(Noter(trace).named("s")).unwrap();
    let mut cx = claim.context();
    let error = cx
        .add_timer("s", Timer::every("t", long, |_| Ok(())))
        .unwrap_err();
    // spec: TIM-16
    assert_eq!(
        error.to_string(),
        format!(
            "ecs::Container(\"main\")::add_timer(): length of timer \"t\" of system \"s\", {micros}"
        )
    );
    // spec: ERR-04
    assert!(matches!(error, SystemError::TimerOutOfRange { ref system, .. } if &**system == "s"));
    // spec: TIM-05
    assert_eq!(cx.system_info("s").unwrap().timers().count(), 0);
    // spec: TIM-05, INT-06
    assert!(
        cx.add_timer("s", Timer::every("t", MAX_INTERVAL, |_| Ok(())))
            .is_ok()
    );
    assert!(
        cx.add_timer("s", Timer::every("t", std::time::Duration::MAX, |_| Ok(())))
            .is_err()
    );
}

#[test]
fn clear_cancels_every_timer_of_the_name_and_no_other() {
    let mut stage = Stage::new(|trace| {
        vec![
            every(trace, "a", 0),
            every(trace, "b", 0),
            one(trace, "a", 0),
            every(trace, "aa", 0),
        ]
    });
    stage.claim.context().clear_timer("s", "a");
    // spec: TIM-06
    assert_eq!(stage.timers(), "b aa");
    // spec: TIM-06, TIM-07
    assert_eq!(stage.after(1), "b aa");
    stage.claim.context().clear_timer("nobody", "b");
    assert_eq!(stage.timers(), "b aa");
}

#[test]
fn timers_are_visited_in_the_order_added() {
    let mut stage = Stage::new(|trace| {
        vec![
            every(trace, "c", 30),
            every(trace, "a", 10),
            every(trace, "b", 20),
        ]
    });
    // spec: TIM-07
    assert_eq!(stage.after(60), "c a b", "whatever their lengths");
}

#[test]
fn a_timer_added_by_a_callback_waits_for_the_next_update() {
    let mut stage = Stage::new(|trace| {
        let inner = trace.clone();
        let add =
            once(move |cx: &mut Context<'_>| Ok(cx.this.add_timer(every(&inner, "added", 0))?));
        vec![doing(trace, repeating, "adds", 0, add)]
    });
    // spec: TIM-08
    assert_eq!(stage.after(1), "adds");
    // spec: TIM-08, TIM-12
    assert_eq!(stage.after(1), "adds added");
}

#[test]
fn a_cancelled_timer_not_yet_reached_does_not_fire() {
    let mut stage = Stage::new(|trace| {
        vec![
            every(trace, "before", 0),
            doing(trace, repeating, "clears", 0, |cx| {
                for name in ["before", "clears", "after"] {
                    cx.this.clear_timer(name);
                }
                Ok(())
            }),
            every(trace, "after", 0),
            every(trace, "stays", 0),
        ]
    });
    // spec: TIM-09
    assert_eq!(stage.after(1), "before clears stays");
    // spec: TIM-09, TIM-12
    assert_eq!(
        (stage.timers(), stage.after(1)),
        ("stays".into(), "stays".into())
    );
}

#[test]
fn callbacks_reach_the_timers_of_another_system() {
    let mut stage = Stage::new(|trace| {
        let inner = trace.clone();
        vec![doing(trace, single, "reaches", 0, move |cx| {
            cx.clear_timer("later", "old");
            cx.add_timer("later", every(&inner, "new", 0))?;
            cx.add_timer("later", every(&inner, "long", 50))?;
            Ok(())
        })]
    });
    let old = every(&stage.trace, "old", 0);
    stage
        .claim
        .add_system(ecs::system("later", |_| Ok(())).every_pass().timer(old))
        .unwrap();
    stage.clock.advance(us(5)).unwrap();
    stage.claim.update().unwrap();
    // spec: TIM-08, TIM-09, TIM-15
    assert_eq!(stage.trace.line(), "reaches update new");
    stage.clock.advance(us(49)).unwrap();
    stage.claim.update().unwrap();
    // spec: TIM-01
    assert_eq!(stage.trace.line(), "update new");
    stage.clock.advance(us(1)).unwrap();
    stage.claim.update().unwrap();
    // spec: TIM-01
    assert_eq!(stage.trace.line(), "update new long");
}

#[test]
fn a_one_shot_that_adds_its_own_name_keeps_the_new_one() {
    let mut stage = Stage::new(|trace| {
        let inner = trace.clone();
        vec![
            doing(trace, single, "retry", 10, move |cx| {
                Ok(cx.this.add_timer(one(&inner, "retry", 10))?)
            }),
            one(trace, "not due", 1000),
            one(trace, "due", 10),
        ]
    });
    // spec: TIM-10
    assert_eq!(
        (stage.after(10), stage.timers()),
        ("retry due".into(), "not due retry".into())
    );
    // spec: TIM-10
    assert_eq!(
        (stage.after(9), stage.after(1), stage.timers()),
        (String::new(), "retry".into(), "not due".into())
    );
}

#[test]
fn clear_and_add_of_one_name_in_a_callback() {
    let mut stage = Stage::new(|trace| {
        let (new, newer) = (trace.clone(), trace.clone());
        vec![
            doing(
                trace,
                repeating,
                "x",
                0,
                once(move |cx| {
                    cx.this.clear_timer("x");
                    cx.this.add_timer(every(&new, "x", 5))?;
                    Ok(())
                }),
            ),
            doing(trace, single, "y", 0, move |cx| {
                cx.this.add_timer(every(&newer, "y", 5))?;
                cx.this.clear_timer("y");
                Ok(())
            }),
        ]
    });
    // spec: TIM-11
    assert_eq!((stage.after(1), stage.timers()), ("x y".into(), "x".into()));
    // spec: TIM-11
    assert_eq!(
        (stage.after(4), stage.after(1)),
        (String::new(), "x".into())
    );
}

#[test]
fn changes_are_in_effect_before_the_update_and_changes_in_it_at_once() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let (in_update, in_timer) = (trace.clone(), trace.clone());
    let mut claim = owned.claim().unwrap();
    let system = ecs::system("s", move |cx| {
        let before: Vec<_> = cx.this.timers().collect();
        in_update.add(before.join(","));
        cx.this.clear_timer("a");
        cx.this.add_timer(Timer::once("b", us(0), |_| Ok(())))?;
        let after: Vec<_> = cx.this.timers().collect();
        in_update.add(after.join(","));
        Ok(())
    })
    .every_pass()
    .timer_once("first", us(1), move |_, cx| {
        cx.this.add_timer(Timer::every("a", us(9), |_| Ok(())))?;
        in_timer.add("fired");
        Ok(())
    });
    claim.add_system(system).unwrap();
    clock.advance(us(1)).unwrap();
    claim.update().unwrap();
    // spec: TIM-12
    assert_eq!(trace.line(), "fired a b");
}

#[test]
fn typed_and_plain_callbacks() {
    #[derive(Default)]
    struct Saver {
        saved: u32,
    }
    impl Saver {
        fn save(&mut self, cx: &Context<'_>) {
            assert_eq!(cx.this.handle(), "saver");
            self.saved += 1;
        }
    }
    impl System for Saver {
        fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
            if self.saved == 1 {
                cx.this
                    .add_timer(Timer::once_for("again", us(0), |saver: &mut Saver, cx| {
                        saver.save(cx);
                        Ok(())
                    }))?;
            }
            Ok(())
        }
    }
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    let saver = Saver::default().named("saver").every_pass().timer_once(
        "autosave",
        secs(7200),
        |saver, cx| {
            saver.save(cx);
            Ok(())
        },
    );
    claim.add_system(saver).unwrap();
    clock.advance(secs(7200)).unwrap();
    claim.update().unwrap();
    // spec: TIM-13, CLK-05, INT-06
    assert_eq!(claim.system::<Saver>("saver").unwrap().saved, 1);
    claim.update().unwrap();
    // spec: TIM-13
    assert_eq!(claim.system::<Saver>("saver").unwrap().saved, 2);

    // A callback for another type is refused, by every way in.
    let wrong = || Timer::every_for("wrong", us(1), |_: &mut Noter, _| Ok(()));
    let error = claim.context().add_timer("saver", wrong()).unwrap_err();
    // spec: TIM-13
    assert!(matches!(error, SystemError::TimerType { .. }), "{error}");
    assert!(
        claim
            .add_system(ecs::system("closure", |_| Ok(())).timer(wrong()))
            .is_err()
    );
    let in_update = ecs::system("own", move |cx| {
        assert!(cx.this.add_timer(wrong()).is_err());
        Ok(())
    });
    claim.add_system(in_update.every_pass()).unwrap();
    claim.update().unwrap();
}

#[test]
fn timers_given_before_registration_count_from_it() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let system = Noter(trace.clone())
        .named("s")
        .every_pass()
        .timer(every(&trace, "t", 10));
    clock.advance(us(500)).unwrap();
    let mut claim = owned.claim().unwrap();
    claim.add_system(system).unwrap();
    clock.advance(us(9)).unwrap();
    claim.update().unwrap();
    // spec: TIM-14
    assert_eq!(trace.line(), "update");
    clock.advance(us(1)).unwrap();
    claim.update().unwrap();
    // spec: TIM-14
    assert_eq!(trace.line(), "t update");
}

#[test]
fn a_repeating_timer_checked_late_makes_no_burst() {
    let mut stage = Stage::new(|trace| vec![every(trace, "t", 100)]);
    // spec: TIM-17
    assert_eq!(
        (stage.after(250), stage.after(49), stage.after(1)),
        ("t".into(), String::new(), "t".into())
    );
    // spec: TIM-17
    assert_eq!(
        (stage.after(777), stage.after(99), stage.after(1)),
        ("t".into(), String::new(), "t".into())
    );
}

#[test]
fn a_timer_whose_callback_is_dropped_by_a_panic_of_its_captures_harms_nobody() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let mut stage = Stage::new(|trace| {
        let bomb = Bomb;
        vec![
            Timer::once("bomb", us(1), move |_| {
                let _ = &bomb;
                Ok(())
            }),
            every(trace, "t", 1),
        ]
    });
    // spec: SHUT-04
    assert_eq!((stage.after(1), stage.timers()), ("t".into(), "t".into()));
}

#[test]
fn a_system_that_is_off_is_updated_when_asked_and_one_switched_off_by_a_timer_is_not() {
    let mut stage = Stage::new(|trace| vec![every(trace, "t", 100)]);
    stage.claim.context().set_system_on("s", false).unwrap();
    stage.clock.advance(us(100)).unwrap();
    stage.claim.update_system("s").unwrap();
    // spec: SYS-10
    assert_eq!(stage.trace.line(), "t update");
    let mut stage = Stage::new(|trace| {
        let off = doing(trace, repeating, "off", 100, |cx| {
            cx.this.set_on(false);
            Ok(())
        });
        vec![off, every(trace, "t", 100)]
    });
    stage.clock.advance(us(100)).unwrap();
    stage.claim.update().unwrap();
    // spec: SYS-12, TIM-12
    assert_eq!(stage.trace.line(), "off", "no timer fires while it is off");
    stage.claim.context().set_system_on("s", true).unwrap();
    // spec: SYS-12
    assert_eq!(stage.after(0), "t", "it was due, and still is");
}

#[test]
fn a_timer_added_while_the_clock_is_set_back_waits_its_full_length() {
    struct Loose(std::sync::Arc<AtomicU64>);
    impl Clock for Loose {
        fn now(&self) -> Moment {
            Moment::from_micros(self.0.load(Ordering::SeqCst))
        }
    }
    let mut stage = Stage::new(|_| Vec::new());
    let micros = std::sync::Arc::new(AtomicU64::new(100));
    let clock = SharedClock::new(Loose(micros.clone()));
    stage.claim.set_clock(clock).unwrap();
    let at = |stage: &mut Stage, now| {
        micros.store(now, Ordering::SeqCst);
        stage.after(0)
    };
    assert_eq!(at(&mut stage, 100), "");
    assert_eq!(at(&mut stage, 5), "");
    let timer = one(&stage.trace, "t", 50);
    stage.claim.context().add_timer("s", timer).unwrap();
    // spec: TIM-01, CLK-06
    assert_eq!((at(&mut stage, 5), at(&mut stage, 149)), Default::default());
    // spec: TIM-01
    assert_eq!(at(&mut stage, 150), "t");
}
