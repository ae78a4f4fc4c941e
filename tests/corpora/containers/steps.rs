//! What the model does when the application asks.

use std::sync::Arc;
use std::time::Duration;

use super::model::{DEFERRED, Deferred, Model, length_of};
use super::program::{Behaviour, ClockName, Free, Op};

impl Model {
    pub(super) fn free(&mut self, free: &Free, inside: bool) {
        let stopping = self.stop && (inside || self.claimed || !self.torn);
        match free {
            Free::Send(_) | Free::Pocket(..) | Free::SendPocket(_) if stopping => {}
            Free::Send(handle) => {
                let message = self.number();
                // spec: STOP-12, CHG-03
                let sent = self.find(handle).filter(|_| !self.torn);
                if let Some(number) = sent {
                    self.system(number).arrived.push(message);
                }
                self.add_line(format!("send {handle}: {}", sent.is_some()));
            }
            Free::Pocket(at, handle) => {
                self.pockets[*at] = self.find(handle).filter(|_| !self.torn);
                let found = self.pockets[*at].is_some();
                self.add_line(format!("pocket {handle}: {found}"));
            }
            Free::SendPocket(at) => {
                let Some(number) = self.pockets[*at] else {
                    return;
                };
                let message = self.number();
                // spec: MSG-15, DEL-06
                let open = self.order.contains(&number) && !self.torn;
                if open {
                    self.system(number).arrived.push(message);
                }
                self.add_line(format!("send to pocket: {open}"));
            }
            Free::Defer(behaviour) => self.defer(behaviour, None),
            Free::Ticket(behaviour) => {
                self.tickets.push("nothing".to_owned());
                self.defer(behaviour, Some(self.tickets.len() - 1));
            }
            Free::Stop => self.stop(inside),
            Free::RequestStop => self.stop = true,
            Free::Advance(clock, by) => self.advance(*clock, *by),
            Free::GoBack(by) => {
                let by = u64::try_from(by.as_micros()).unwrap();
                self.wild = self.wild.saturating_sub(by);
            }
        }
    }

    fn advance(&mut self, clock: ClockName, by: Duration) {
        let by = u64::try_from(by.as_micros()).unwrap();
        match clock {
            // spec: CLK-06
            ClockName::Manual => self.manual = self.manual.checked_add(by).unwrap_or(self.manual),
            ClockName::Wild => {
                self.wild = self.wild.saturating_add(by);
                self.wild_latest = self.wild_latest.max(self.wild);
            }
        }
    }

    fn defer(&mut self, behaviour: &Arc<Behaviour>, ticket: Option<usize>) {
        let number = self.number();
        self.alive[DEFERRED] += 1;
        let deferred = Deferred {
            number,
            behaviour: Arc::clone(behaviour),
            ticket,
        };
        // spec: STOP-09
        if self.stop {
            self.discard(&deferred);
        } else {
            self.deferred.push(deferred);
        }
    }

    fn stop(&mut self, inside: bool) {
        self.stop = true;
        // spec: STOP-03, STOP-05, STOP-10
        if inside || self.claimed {
            let said = if self.torn { "*" } else { "Requested" };
            return self.add_line(format!("stop: {said}"));
        }
        self.let_go();
        self.add_line("stop: Complete");
    }

    /// Whoever had the container gives it back.
    pub(super) fn let_go(&mut self) {
        self.claimed = false;
        // spec: STOP-06, STOP-10
        if self.stop && !self.torn {
            self.tear_down();
        }
    }

    fn step(&mut self, op: &Op) {
        let held = self.claimed;
        match op {
            Op::Tick(by) => {
                self.advance(ClockName::Manual, *by);
                self.advance(ClockName::Wild, *by);
                let said = self.pass();
                self.add_line(format!("pass: {said}"));
                return;
            }
            Op::Free(free) => return self.free(free, false),
            Op::Hold => {
                self.claimed = true;
                return self.add_line(format!("claim refused: {held}"));
            }
            Op::Release => {
                if held {
                    self.let_go();
                }
                return;
            }
            Op::UpdateSystem(handle) => {
                self.claimed = true;
                let said = self.update_system(self.find(handle));
                self.add_line(format!("update system: {said}"));
            }
            Op::InitializeSystems => {
                self.claimed = true;
                let said = self.initialize_systems();
                self.add_line(format!("step: {said}"));
            }
            Op::Claimed(action) => {
                self.claimed = true;
                self.act(None, action);
            }
        }
        if !held {
            self.let_go();
        }
    }

    fn snapshot(&mut self) {
        self.add_line(match (self.claimed, self.torn) {
            (true, _) => "state Claimed",
            (false, true) => "state Stopped",
            (false, false) => "state Idle",
        });
        if self.stop && !self.torn && !self.claimed {
            return;
        }
        for number in self.order.clone() {
            let system = &self.systems[&number];
            let names: Vec<&str> = system.timers.iter().map(|timer| timer.spec.name).collect();
            let line = format!(
                "  {} started {} shut {} on {} interval {:?} due {:?} updates {} failures {} timers {names:?}",
                system.spec.handle,
                system.started,
                system.shut,
                system.on,
                length_of(system.interval),
                system.last.checked_add(system.interval),
                system.updates,
                system.failures,
            );
            self.add_line(line);
        }
        self.add_line(format!("alive {:?}", self.alive));
    }
}

/// Carries a program out, and gives the log.
pub(crate) fn run(program: &[Op]) -> Vec<String> {
    let mut model = Model::default();
    for op in program {
        model.step(op);
        model.snapshot();
    }
    if model.claimed {
        model.let_go();
    }
    model.end();
    model.log
}
