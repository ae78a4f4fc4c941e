//! The timers of one system: which are due, and what may change while they fire.
//!
//! Timers stand in the order they were added. A round of firing goes over the ones that were there when it began:
//!
//! ```text
//!   index     0     1     2     3   | 4     5        end = 4: what callbacks add lies behind it and waits
//!   state    live  live  gone  live | live  gone     for the next update
//!                   ^
//!                   running: its callback is outside the set, so that it may change the set
//! ```
//!
//! While a round runs nothing moves: a cleared timer becomes *gone* where it stands, and the end of the round takes
//! all that are gone out at once. Outside a round a cleared timer leaves at once.
//!
//! `earliest` is a lower bound of every live timer's next due instant, so a set in which nothing is due costs one
//! comparison, whatever its size. It may be too low (after a clear), never too high.

use std::sync::Arc;

use super::timing::Timing;

/// Timers with callbacks of type `F`, which the set keeps and never calls.
pub(crate) struct TimerSet<F> {
    /// Beside what the pass reads of a system anyway; the rest lies behind a pointer.
    earliest: u64,
    list: Option<Box<List<F>>>,
}

struct List<F> {
    schedules: Vec<Timing>,
    timers: Vec<Entry<F>>,
    round: Option<Round>,
    /// Some timer is gone and still stands in the list.
    unswept: bool,
}

struct Entry<F> {
    name: Arc<str>,
    /// Outside while it runs, and once the timer is gone.
    callback: Option<F>,
    repeats: bool,
    gone: bool,
}

#[derive(Clone, Copy)]
struct Round {
    next: usize,
    end: usize,
}

/// A timer that fires: its callback is lent to the caller, who gives it back with [`TimerSet::fired`].
pub(crate) struct Due<F> {
    pub(crate) name: Arc<str>,
    pub(crate) callback: F,
    index: usize,
}

impl<F> TimerSet<F> {
    pub(crate) const fn new() -> Self {
        Self {
            earliest: u64::MAX,
            list: None,
        }
    }

    /// Adds a timer that first fires one length after `now`. The length is already checked.
    pub(crate) fn add(
        &mut self,
        name: Arc<str>,
        length: u64,
        repeats: bool,
        callback: F,
        now: u64,
    ) {
        let schedule = Timing::from_micros(length, now);
        self.earliest = self.earliest.min(schedule.due_hint());
        let list = self.list.get_or_insert_with(|| Box::new(List::new()));
        list.schedules.push(schedule);
        list.timers.push(Entry {
            name,
            callback: Some(callback),
            repeats,
            gone: false,
        });
    }

    /// Cancels every timer of the name, and returns the callbacks, for the caller to drop: they are user values.
    pub(crate) fn clear(&mut self, name: &str) -> Vec<F> {
        let mut released = Vec::new();
        let Some(list) = &mut self.list else {
            return released;
        };
        for timer in list
            .timers
            .iter_mut()
            .filter(|timer| !timer.gone && *timer.name == *name)
        {
            timer.gone = true;
            list.unswept = true;
            released.extend(timer.callback.take());
        }
        if list.round.is_none() {
            self.sweep();
        }
        released
    }

    /// All of them start again at `now`: the clock was replaced.
    pub(crate) fn restart(&mut self, now: u64) {
        for schedule in self.list.iter_mut().flat_map(|list| &mut list.schedules) {
            *schedule = Timing::from_micros(schedule.interval_micros(), now);
        }
        self.find_earliest();
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.as_ref().is_none_or(|list| list.timers.is_empty())
    }

    /// Whether a round could fire anything at `now`.
    #[inline]
    pub(crate) fn may_be_due(&self, now: u64) -> bool {
        now >= self.earliest
    }

    /// Begins a round: the timers of this moment are visited, each at most once.
    pub(crate) fn begin(&mut self) {
        if let Some(list) = &mut self.list {
            list.round = Some(Round {
                next: 0,
                end: list.timers.len(),
            });
        }
    }

    /// The next timer of the round that is due at `now`.
    pub(crate) fn next_due(&mut self, now: u64) -> Option<Due<F>> {
        let List {
            schedules,
            timers,
            round,
            ..
        } = &mut **self.list.as_mut()?;
        let round = round.as_mut()?;
        while round.next < round.end {
            let index = round.next;
            round.next += 1;
            if !schedules[index].check(now) {
                continue;
            }
            let timer = &mut timers[index];
            if let (false, Some(callback)) = (timer.gone, timer.callback.take()) {
                return Some(Due {
                    name: Arc::clone(&timer.name),
                    callback,
                    index,
                });
            }
        }
        None
    }

    /// The callback has run. Gives it back to its timer, or to the caller when the timer has ended.
    #[must_use]
    pub(crate) fn fired(&mut self, due: Due<F>) -> Option<F> {
        let Some(list) = &mut self.list else {
            return Some(due.callback);
        };
        let timer = &mut list.timers[due.index];
        timer.gone |= !timer.repeats;
        if timer.gone {
            list.unswept = true;
            return Some(due.callback);
        }
        timer.callback = Some(due.callback);
        None
    }

    /// Ends the round: what is gone leaves the set. All callbacks of those have been handed out before.
    pub(crate) fn end(&mut self) {
        if let Some(list) = &mut self.list {
            list.round = None;
        }
        self.sweep();
    }

    /// Takes everything out, for the caller to drop.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = F> + use<F> {
        self.earliest = u64::MAX;
        self.list
            .take()
            .into_iter()
            .flat_map(|list| list.timers)
            .filter_map(|timer| timer.callback)
    }

    /// The names of the live timers, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.list
            .iter()
            .flat_map(|list| &list.timers)
            .filter(|timer| !timer.gone)
            .map(|timer| &*timer.name)
    }

    fn sweep(&mut self) {
        if let Some(list) = &mut self.list
            && std::mem::take(&mut list.unswept)
        {
            let mut timers = list.timers.iter();
            list.schedules
                .retain(|_| timers.next().is_some_and(|timer| !timer.gone));
            list.timers.retain(|timer| !timer.gone);
        }
        self.find_earliest();
    }

    fn find_earliest(&mut self) {
        let schedules = self.list.iter().flat_map(|list| &list.schedules);
        self.earliest = schedules.map(Timing::due_hint).min().unwrap_or(u64::MAX);
    }
}

impl<F> List<F> {
    const fn new() -> Self {
        Self {
            schedules: Vec::new(),
            timers: Vec::new(),
            round: None,
            unswept: false,
        }
    }
}
