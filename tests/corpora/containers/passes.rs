//! What the model does in a pass, and at the end.

use super::model::{
    CONDITION, DEFERRED, Deferred, Here, Model, Number, Phase, SYSTEM, System, TIMER,
};
use super::program::Verdict;
use super::real::sort_last_drops;

/// A failure, as `update` returns it.
type Failed = String;

/// Whether a schedule is due, and what it was last due at if so.
fn due(last: u64, interval: u64, now: u64) -> Option<u64> {
    // spec: INT-08
    let passed = now.saturating_sub(last);
    if interval == 0 {
        return Some(last);
    }
    match passed / interval {
        // spec: INT-02
        0 => None,
        // spec: INT-03
        whole @ (1 | 2) => Some(last + whole * interval),
        // spec: INT-04
        _ => Some(now),
    }
}

fn said(outcome: Result<(), Failed>) -> String {
    outcome.err().unwrap_or_else(|| "ok".to_owned())
}

impl Model {
    /// `update`.
    pub(super) fn pass(&mut self) -> String {
        // spec: STOP-08
        if self.stop {
            return "ok".to_owned();
        }
        let outcome = self.run_deferred().and_then(|()| {
            self.in_pass = true;
            // spec: CHG-07: what is registered from here on waits for the next pass.
            let order = self.order.clone();
            self.start_up(&order)?;
            self.update_all(&order)
        });
        self.end_pass();
        said(outcome)
    }

    pub(super) fn initialize_systems(&mut self) -> String {
        if self.stop {
            return "ok".to_owned();
        }
        self.in_pass = true;
        let outcome = self.start_up(&self.order.clone());
        self.end_pass();
        said(outcome)
    }

    pub(super) fn update_system(&mut self, which: Option<Number>) -> String {
        // spec: CHG-06
        let Some(number) = which.filter(|_| !self.stop) else {
            return "ok".to_owned();
        };
        self.in_pass = true;
        let outcome = self.start(number).and_then(|()| {
            if self.stop || self.systems[&number].here != Here::Registered {
                return Ok(());
            }
            let now = self.reading(self.systems[&number].clock);
            // spec: SYS-10
            self.update(number, now)
        });
        self.end_pass();
        said(outcome)
    }

    fn run_deferred(&mut self) -> Result<(), Failed> {
        let mut outcome = Ok(());
        // spec: DEF-02, DEF-03, DEF-05
        for deferred in std::mem::take(&mut self.deferred) {
            // spec: STOP-13
            if self.stop {
                self.discard(&deferred);
                continue;
            }
            self.add_line(format!("deferred {} 0ns", deferred.number));
            // spec: DEF-09: not yet in the pass.
            let result = self.behave(None, &deferred.behaviour);
            self.alive[DEFERRED] -= 1;
            if let Some(ticket) = deferred.ticket {
                self.tickets[ticket] = match &result {
                    Ok(()) => format!("done {}", deferred.number),
                    Err(_) => "Failed".to_owned(),
                };
            }
            if let Err(error) = result {
                // spec: DEF-06, FAIL-07
                self.add_line(format!(
                    "log error: [main] failed in deferred function: {error}"
                ));
                let failed = format!("main in deferred function: {error}");
                outcome = outcome.and(Err(failed));
            }
        }
        outcome
    }

    pub(super) fn discard(&mut self, deferred: &Deferred) {
        // spec: DEF-07, DEF-08
        self.alive[DEFERRED] -= 1;
        if let Some(ticket) = deferred.ticket {
            "Dropped".clone_into(&mut self.tickets[ticket]);
        }
    }

    fn start_up(&mut self, order: &[Number]) -> Result<(), Failed> {
        // spec: INIT-04, INIT-05, INIT-06, INIT-09
        for number in order {
            if !self.stop && self.order.contains(number) {
                self.start(*number)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, number: Number) -> Result<(), Failed> {
        let system = self.system(number);
        // spec: INIT-01, INIT-03
        if std::mem::replace(&mut system.started, true) {
            return Ok(());
        }
        let spec = system.spec.clone();
        self.add_line(format!("{number} initialize {}", spec.handle));
        let result = self.behave(Some((number, Phase::Initialize)), &spec.initialize);
        // spec: INIT-07
        result.map_err(|error| self.failed(number, "initialize", &error))
    }

    fn update_all(&mut self, order: &[Number]) -> Result<(), Failed> {
        // spec: ORD-01, ORD-02
        for number in order {
            // spec: STOP-05, CHG-03
            if self.stop || !self.order.contains(number) {
                continue;
            }
            let now = self.reading(self.systems[number].clock);
            let system = self.system(*number);
            let Some(last) = due(system.last, system.interval, now) else {
                continue;
            };
            system.last = last;
            // spec: SYS-12
            if !system.on || !self.condition(*number)? {
                continue;
            }
            self.update(*number, now)?;
        }
        Ok(())
    }

    fn condition(&mut self, number: Number) -> Result<bool, Failed> {
        let Some((made, verdicts, asked)) = &mut self.system(number).condition else {
            return Ok(true);
        };
        let verdict = verdicts[*asked % verdicts.len()];
        *asked += 1;
        let line = format!("condition {made}");
        self.add_line(line);
        match verdict {
            Verdict::Runs => Ok(true),
            Verdict::Waits => Ok(false),
            Verdict::Panics => Err(self.failed(number, "run condition", "panicked: planned")),
        }
    }

    /// Messages, elapsed time, timers, `update`.
    fn update(&mut self, number: Number, now: u64) -> Result<(), Failed> {
        let system = self.system(number);
        // spec: DEL-04
        system.collect();
        system.measure(now);
        // spec: TIM-03, TIM-04, TIM-07, TIM-08
        let timers: Vec<usize> = system.timers.iter().map(|timer| timer.number).collect();
        for timer in timers {
            let on = self.systems[&number].on;
            self.fire(number, timer)?;
            let system = &self.systems[&number];
            // spec: CHG-05, CHG-09, STOP-13, SYS-12
            if self.stop || system.here != Here::Registered || (on && !system.on) {
                return Ok(());
            }
        }
        let system = self.system(number);
        let spec = system.spec.clone();
        let behaviour = &spec.updates[system.updates % spec.updates.len()];
        system.updates += 1;
        let line = format!(
            "{number} update {:?}",
            std::time::Duration::from_micros(system.elapsed)
        );
        self.add_line(line);
        let result = self.behave(Some((number, Phase::Update)), behaviour);
        result.map_err(|error| self.failed(number, "update", &error))
    }

    /// One timer of the running system, if it is still there and due.
    fn fire(&mut self, number: Number, timer: usize) -> Result<(), Failed> {
        let system = self.system(number);
        let (now, elapsed) = (system.now, system.elapsed);
        // spec: TIM-09
        let Some(found) = system.timers.iter_mut().find(|other| other.number == timer) else {
            return Ok(());
        };
        let Some(last) = due(found.last, found.length, now) else {
            return Ok(());
        };
        found.last = last;
        let spec = found.spec.clone();
        let behaviour = &spec.fires[found.fired % spec.fires.len()];
        found.fired += 1;
        let elapsed = std::time::Duration::from_micros(elapsed);
        self.add_line(format!("timer {timer} {elapsed:?}"));
        let result = self.behave(Some((number, Phase::Update)), behaviour);
        if !spec.repeats {
            // spec: TIM-02, TIM-10, FAIL-04
            let timers = &mut self.system(number).timers;
            let before = timers.len();
            timers.retain(|other| other.number != timer);
            let gone = before - timers.len();
            self.alive[TIMER] -= gone;
        }
        let phase = format!("timer \"{}\"", spec.name);
        result.map_err(|error| self.failed(number, &phase, &error))
    }

    fn failed(&mut self, number: Number, phase: &str, error: &str) -> Failed {
        let system = self.system(number);
        system.failures += 1;
        let handle = system.spec.handle;
        // spec: FAIL-01, FAIL-07
        self.add_line(format!("log error: [{handle}] failed in {phase}: {error}"));
        format!("{handle} in {phase}: {error}")
    }

    /// What left is released, in the order in which it left; a stop comes before.
    fn end_pass(&mut self) {
        while !self.stop && !self.leaving.is_empty() {
            let number = self.leaving.remove(0);
            self.release(number);
        }
        if self.stop {
            self.tear_down();
        }
        self.in_pass = false;
    }

    /// The last registered system first; what was removed after those.
    pub(super) fn tear_down(&mut self) {
        // spec: DEF-07, DEF-10
        for deferred in std::mem::take(&mut self.deferred) {
            self.discard(&deferred);
        }
        self.in_pass = true;
        // spec: SHUT-03
        for number in self.order.clone().into_iter().rev() {
            if self.order.contains(&number) {
                self.shut(number);
            }
        }
        // spec: SHUT-06
        while !self.leaving.is_empty() {
            let number = self.leaving.remove(0);
            self.release(number);
        }
        self.in_pass = false;
        self.torn = true;
    }

    pub(super) fn release(&mut self, number: Number) {
        self.shut(number);
        self.drop_system(number);
    }

    fn shut(&mut self, number: Number) {
        let system = self.system(number);
        // spec: SHUT-01
        if !system.started || std::mem::replace(&mut system.shut, true) {
            return;
        }
        // spec: SHUT-02
        system.collect();
        let spec = system.spec.clone();
        self.add_line(format!("{number} shutdown {}", spec.handle));
        let result = self.behave(Some((number, Phase::Shutdown)), &spec.shutdown);
        if let Err(error) = result {
            // spec: SHUT-04
            let handle = spec.handle;
            self.add_line(format!("log error: [{handle}] failed in shutdown: {error}"));
        }
    }

    fn drop_system(&mut self, number: Number) {
        let system = self.systems.remove(&number).unwrap();
        self.alive[SYSTEM] -= 1;
        self.alive[TIMER] -= system.timers.len();
        self.alive[CONDITION] -= usize::from(system.condition.is_some());
        self.add_line(format!("{number} drop"));
    }

    /// The owner goes.
    pub(super) fn end(&mut self) {
        self.add_line("end");
        self.stop = true;
        self.let_go();
        for number in self.order.clone() {
            self.drop_system(number);
        }
        sort_last_drops(&mut self.log);
        let tickets = std::mem::take(&mut self.tickets);
        for ticket in tickets {
            self.add_line(format!("ticket: {ticket}"));
        }
    }
}

impl System {
    /// The time since the update before.
    fn measure(&mut self, now: u64) {
        // spec: CLK-06
        let now = now.max(self.now);
        // spec: ELA-03, ELA-04, ELA-05
        self.elapsed = if self.fresh {
            self.interval
        } else {
            now - self.now
        };
        self.fresh = false;
        self.now = now;
    }
}
