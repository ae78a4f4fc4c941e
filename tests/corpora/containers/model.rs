//! The naive model: plain lists, everything found by looking through them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::env::FUEL;
use super::program::{
    Action, Behaviour, ClockName, HANDLES, Handle, Outcome, POCKETS, Spec, Takes, Target,
    TimerSpec, Verdict,
};

/// The number of a system that was made.
pub(super) type Number = usize;

/// Where a system stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Here {
    Registered,
    Removed,
    Replaced,
}

/// Which call of user code runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Initialize,
    /// A timer's callback counts as part of the update.
    Update,
    Shutdown,
}

/// The system whose code runs, if it is one's.
pub(super) type Me = Option<(Number, Phase)>;

pub(super) struct Timer {
    pub(super) number: usize,
    pub(super) spec: Arc<TimerSpec>,
    pub(super) length: u64,
    pub(super) last: u64,
    pub(super) fired: usize,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a promise's own note"
)]
pub(super) struct System {
    pub(super) spec: Arc<Spec>,
    pub(super) here: Here,
    pub(super) started: bool,
    pub(super) shut: bool,
    pub(super) on: bool,
    pub(super) condition: Option<(usize, Arc<Vec<Verdict>>, usize)>,
    pub(super) timers: Vec<Timer>,
    pub(super) clock: ClockName,
    pub(super) interval: u64,
    /// The instant at which it was last due.
    pub(super) last: u64,
    /// The latest instant that was measured.
    pub(super) now: u64,
    /// Nothing was measured since the measurement began.
    pub(super) fresh: bool,
    pub(super) elapsed: u64,
    pub(super) arrived: Vec<usize>,
    pub(super) readable: VecDeque<usize>,
    /// It has read after it was removed: what is left is open.
    pub(super) spoilt: bool,
    pub(super) updates: usize,
    pub(super) failures: usize,
}

pub(super) struct Deferred {
    pub(super) number: usize,
    pub(super) behaviour: Arc<Behaviour>,
    pub(super) ticket: Option<usize>,
}

#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a promise's own note"
)]
pub(super) struct Model {
    pub(super) log: Vec<String>,
    pub(super) manual: u64,
    pub(super) wild: u64,
    pub(super) wild_latest: u64,
    container_clock: Option<ClockName>,
    used_fuel: usize,
    numbers: usize,
    /// Systems, timers, conditions, deferred functions.
    pub(super) alive: [usize; 4],
    pub(super) pockets: [Option<Number>; POCKETS],
    pub(super) tickets: Vec<String>,
    /// All that were ever registered, in order.
    pub(super) keys: Vec<Number>,
    /// Those that were made and not dropped.
    pub(super) systems: BTreeMap<Number, System>,
    /// Those that are registered, in the order of registration.
    pub(super) order: Vec<Number>,
    pub(super) deferred: Vec<Deferred>,
    /// In a pass, a step or a teardown: what leaves is released at its end.
    pub(super) in_pass: bool,
    pub(super) leaving: Vec<Number>,
    pub(super) claimed: bool,
    pub(super) stop: bool,
    pub(super) torn: bool,
}

pub(super) const SYSTEM: usize = 0;
pub(super) const TIMER: usize = 1;
pub(super) const CONDITION: usize = 2;
pub(super) const DEFERRED: usize = 3;

/// Whole microseconds; what is above zero is at least one. None above the longest interval.
fn micros(length: Duration) -> Option<u64> {
    // spec: INT-01, INT-09, TIM-05
    let whole = if length.is_zero() {
        0
    } else {
        length.as_micros().max(1)
    };
    (length <= ecs::MAX_INTERVAL).then(|| u64::try_from(whole).unwrap())
}

pub(super) fn length_of(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

impl Model {
    pub(super) fn add_line(&mut self, line: impl Into<String>) {
        self.log.push(line.into());
    }

    pub(super) fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers - 1
    }

    pub(super) fn reading(&self, clock: ClockName) -> u64 {
        match clock {
            ClockName::Manual => self.manual,
            ClockName::Wild => self.wild,
        }
    }

    pub(super) fn system(&mut self, number: Number) -> &mut System {
        self.systems.get_mut(&number).unwrap()
    }

    pub(super) fn find(&self, handle: Handle) -> Option<Number> {
        let named = |number: &&Number| self.systems[number].spec.handle == handle;
        self.order.iter().find(named).copied()
    }

    /// The system that is meant, or the name of the error.
    fn target(&self, me: Me, target: Target) -> Result<Number, &'static str> {
        match target {
            Target::This => me.map(|(number, _)| number).ok_or("NoSystem"),
            Target::Named(handle) => self.find(handle).ok_or("NotFound"),
        }
    }

    pub(super) fn behave(&mut self, me: Me, behaviour: &Behaviour) -> Result<(), String> {
        for action in &behaviour.actions {
            self.act(me, action);
        }
        // spec: FAIL-06
        match behaviour.outcome {
            Outcome::Fine => Ok(()),
            Outcome::Error(number) => Err(format!("planned {number}")),
            Outcome::Panic(number) => Err(format!("panicked: planned {number}")),
        }
    }

    pub(super) fn act(&mut self, me: Me, action: &Action) {
        if self.used_fuel == FUEL {
            return;
        }
        self.used_fuel += 1;
        match action {
            Action::Free(free) => self.free(free, true),
            Action::Add(spec) => self.add(spec),
            Action::Remove(handle) => {
                let removed = self.remove(me, self.find(handle));
                self.add_line(format!("remove {handle}: {removed}"));
            }
            Action::RemoveThis => {
                let removed = self.remove(me, me.map(|(number, _)| number));
                self.add_line(format!("remove this: {removed}"));
            }
            Action::RemoveKey(at) => {
                if let Some(number) = self.key(*at) {
                    let removed = self.remove(me, Some(number));
                    self.add_line(format!("remove key: {removed}"));
                }
            }
            Action::Reach(at) => {
                if let Some(number) = self.key(*at) {
                    // spec: SYS-09, SYS-07
                    let known = self.order.contains(&number);
                    let runs = me.is_some_and(|(own, _)| own == number);
                    let reached = (known && !runs).then_some(number);
                    let known = known.then_some(true);
                    self.add_line(format!("reached {reached:?}, known {known:?}"));
                }
            }
            Action::Read(most) => self.read(me, *most),
            Action::Waiting => self.waiting(me),
            Action::Elapsed => self.elapsed(me),
            Action::Look => self.look(me),
            // spec: RUN-07, RUN-09
            Action::Claim => self.add_line("claim refused: true"),
            Action::Log => {
                // spec: LOG-02
                let prefix = me.map_or(String::new(), |(number, _)| {
                    format!("[{}] ", self.systems[&number].spec.handle)
                });
                self.add_line(format!("log info: {prefix}line"));
            }
            _ => self.setting(me, action),
        }
    }

    fn setting(&mut self, me: Me, action: &Action) {
        match action {
            Action::AddTimer(target, spec) if self.wild == self.wild_latest => {
                let said = self.add_timer(me, *target, spec);
                self.add_line(format!("add timer {target:?}: {said}"));
            }
            Action::ClearTimer(target, name) => {
                if let Ok(number) = self.target(me, *target) {
                    // spec: TIM-06
                    let timers = &mut self.system(number).timers;
                    let before = timers.len();
                    timers.retain(|timer| timer.spec.name != *name);
                    let gone = before - timers.len();
                    self.alive[TIMER] -= gone;
                }
            }
            Action::SetInterval(target, length) => {
                let said = self.set_interval(me, *target, *length);
                self.add_line(format!("set interval {target:?}: {said}"));
            }
            Action::SetOn(target, on) => {
                let found = self.target(me, *target);
                if let Ok(number) = found {
                    self.system(number).on = *on;
                }
                if let Target::Named(handle) = target {
                    let said = found.map_or_else(|said| said, |_| "ok");
                    self.add_line(format!("set {handle} {on}: {said}"));
                }
            }
            Action::SetCondition(handle, verdicts) => {
                let made = self.number();
                let said = match self.find(handle) {
                    Some(number) => {
                        let condition = &mut self.system(number).condition;
                        let old = condition.replace((made, Arc::clone(verdicts), 0));
                        self.alive[CONDITION] += usize::from(old.is_none());
                        "ok"
                    }
                    None => "NotFound",
                };
                self.add_line(format!("set condition of {handle}: {said}"));
            }
            Action::SetClock(target, clock) => {
                let now = self.reading(*clock);
                let said = match target {
                    None => {
                        // spec: CLK-01
                        self.container_clock = Some(*clock);
                        for system in self.systems.values_mut() {
                            system.restart(*clock, now);
                        }
                        "ok"
                    }
                    Some(target) => match self.target(me, *target) {
                        Ok(number) => {
                            self.system(number).restart(*clock, now);
                            "ok"
                        }
                        Err(said) => said,
                    },
                };
                self.add_line(format!("set clock {target:?}: {said}"));
            }
            _ => {}
        }
    }

    fn add(&mut self, spec: &Arc<Spec>) {
        let number = self.number();
        let condition = spec
            .condition
            .as_ref()
            .map(|verdicts| (self.number(), Arc::clone(verdicts), 0));
        let numbers: Vec<usize> = spec.timers.iter().map(|_| self.number()).collect();
        // spec: SYS-04, INT-01, TIM-05, ERR-01
        let interval = micros(spec.interval.unwrap_or(ecs::DEFAULT_INTERVAL));
        let refused = if spec.handle.is_empty() {
            Some("EmptyHandle")
        } else if interval.is_none() {
            Some("IntervalOutOfRange")
        } else {
            spec.timers.iter().find_map(|timer| fault(timer))
        };
        if let Some(refused) = refused {
            self.add_line(format!("{number} drop"));
            return self.add_line(format!("add {}: {refused}", spec.handle));
        }
        // spec: CLK-07
        let clock = spec
            .clock
            .or(self.container_clock)
            .unwrap_or(ClockName::Manual);
        let now = self.reading(clock);
        let interval = interval.unwrap();
        // spec: TIM-14
        let timers: Vec<Timer> = std::iter::zip(numbers, &spec.timers)
            .map(|(number, spec)| Timer::new(number, spec, now))
            .collect();
        self.alive[SYSTEM] += 1;
        self.alive[TIMER] += timers.len();
        self.alive[CONDITION] += usize::from(condition.is_some());
        let system = System {
            spec: Arc::clone(spec),
            here: Here::Registered,
            started: false,
            shut: false,
            on: !spec.off,
            condition,
            timers,
            clock,
            interval,
            last: now,
            now,
            fresh: true,
            elapsed: interval,
            arrived: Vec::new(),
            readable: VecDeque::new(),
            spoilt: false,
            updates: 0,
            failures: 0,
        };
        let old = self.find(spec.handle);
        self.systems.insert(number, system);
        match old {
            // spec: SYS-05, CHG-07
            Some(old) => {
                let place = self.order.iter().position(|other| *other == old).unwrap();
                self.order[place] = number;
                self.leave(old, Here::Replaced);
            }
            None => self.order.push(number),
        }
        self.keys.push(number);
        self.add_line(format!("add {}: ok", spec.handle));
    }

    fn key(&self, at: usize) -> Option<Number> {
        self.keys.get(at % self.keys.len().max(1)).copied()
    }

    /// Removes a system, if it is registered; from its own shutdown neither it nor a successor.
    fn remove(&mut self, me: Me, which: Option<Number>) -> bool {
        let found = which.filter(|number| self.order.contains(number));
        // spec: SHUT-13, CHG-02
        let found = found.filter(|number| {
            let handle = |number: &Number| self.systems[number].spec.handle;
            !me.is_some_and(|(own, phase)| {
                phase == Phase::Shutdown && handle(&own) == handle(number)
            })
        });
        if let Some(number) = found {
            self.order.retain(|other| *other != number);
            self.leave(number, Here::Removed);
        }
        found.is_some()
    }

    /// It is out of the order already.
    fn leave(&mut self, number: Number, how: Here) {
        self.system(number).here = how;
        // spec: CHG-04, SHUT-09, SHUT-10
        if self.in_pass {
            self.leaving.push(number);
        } else {
            self.release(number);
        }
    }

    fn add_timer(&mut self, me: Me, target: Target, spec: &Arc<TimerSpec>) -> &'static str {
        let made = self.number();
        let number = match self.target(me, target) {
            Ok(number) => number,
            Err(said) => return said,
        };
        if let Some(said) = fault(spec) {
            return said;
        }
        let system = &self.systems[&number];
        // spec: TIM-01: in its own update the one reading counts, everywhere else the present.
        let now = if me == Some((number, Phase::Update)) && !system.fresh {
            system.now
        } else {
            self.reading(system.clock)
        };
        self.alive[TIMER] += 1;
        self.system(number).timers.push(Timer::new(made, spec, now));
        "ok"
    }

    fn set_interval(&mut self, me: Me, target: Target, length: Duration) -> &'static str {
        let number = match self.target(me, target) {
            Ok(number) => number,
            Err(said) => return said,
        };
        let Some(interval) = micros(length) else {
            return "IntervalOutOfRange";
        };
        let system = self.system(number);
        system.interval = interval;
        // spec: ELA-01, ELA-04
        if system.fresh && me != Some((number, Phase::Update)) {
            system.elapsed = interval;
        }
        "ok"
    }

    fn read(&mut self, me: Me, most: usize) {
        let Some((number, phase)) = me else {
            return self.add_line("read []");
        };
        let system = self.system(number);
        if system.is_murky(phase) {
            system.spoilt = true;
            return self.add_line("read *");
        }
        let count = most.min(system.readable.len());
        let read: Vec<usize> = system.readable.drain(..count).collect();
        // spec: DEL-01, DEL-02, DEL-08
        self.add_line(format!("read {read:?}"));
    }

    fn waiting(&mut self, me: Me) {
        let Some((number, phase)) = me else {
            return self.add_line("waiting 0");
        };
        let system = self.system(number);
        if system.is_murky(phase) {
            system.spoilt = true;
            return self.add_line("waiting *");
        }
        system.collect();
        let waiting = system.readable.len();
        // spec: DEL-11
        self.add_line(format!("waiting {waiting}"));
    }

    fn elapsed(&mut self, me: Me) {
        let Some((number, phase)) = me else {
            return self.add_line("elapsed 0ns of 0ns");
        };
        let system = &self.systems[&number];
        let elapsed = match phase {
            Phase::Initialize => system.interval,
            Phase::Update => system.elapsed,
            Phase::Shutdown => return self.add_line("elapsed *"),
        };
        let (elapsed, interval) = (length_of(elapsed), length_of(system.interval));
        self.add_line(format!("elapsed {elapsed:?} of {interval:?}"));
    }

    fn look(&mut self, me: Me) {
        let handle = |number: &Number| self.systems[number].spec.handle;
        let runs = |number: &Number| me.is_some_and(|(own, _)| own == *number);
        let listed: Vec<&str> = self.order.iter().map(handle).collect();
        let mut found: Vec<Number> = HANDLES
            .iter()
            .filter_map(|handle| self.find(handle))
            .collect();
        // spec: EXP-01, EXP-08
        let exported: Vec<String> = found
            .iter()
            .map(|number| {
                let value = if runs(number) {
                    "null".to_owned()
                } else {
                    number.to_string()
                };
                format!("\"{}\":{value}", handle(number))
            })
            .collect();
        let export = if exported.is_empty() {
            "null".to_owned()
        } else {
            format!("{{{}}}", exported.join(","))
        };
        // spec: SYS-07
        found.retain(|number| !runs(number));
        let line = format!("listed {listed:?}, reached {found:?}, export {export}");
        self.add_line(line);
    }
}

impl Timer {
    fn new(number: usize, spec: &Arc<TimerSpec>, now: u64) -> Self {
        Self {
            number,
            spec: Arc::clone(spec),
            length: micros(spec.length).unwrap(),
            last: now,
            fired: 0,
        }
    }
}

impl System {
    /// Its reads are open: it is gone, and still there.
    fn is_murky(&self, phase: Phase) -> bool {
        match self.here {
            Here::Registered => false,
            Here::Replaced => true,
            Here::Removed => phase != Phase::Shutdown || self.spoilt,
        }
    }

    /// What has arrived becomes readable.
    pub(super) fn collect(&mut self) {
        self.readable.extend(self.arrived.drain(..));
    }

    fn restart(&mut self, clock: ClockName, now: u64) {
        // spec: CLK-02
        self.clock = clock;
        self.last = now;
        self.now = now;
        self.fresh = true;
        for timer in &mut self.timers {
            timer.last = now;
        }
    }
}

/// What is wrong with a timer.
fn fault(timer: &TimerSpec) -> Option<&'static str> {
    if micros(timer.length).is_none() {
        // spec: TIM-05, TIM-16
        Some("TimerOutOfRange")
    } else {
        (timer.takes == Takes::AnotherSystem).then_some("TimerType")
    }
}
