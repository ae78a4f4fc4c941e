//! Events reach their listeners: in the root step of a pass, and in the systems' own places.
//!
//! Each listener stands at a place of its own in the log of its event, as a reader does; where it stands is all there
//! is to know of what it has got. So an event is delivered exactly once also when a pass ends in the middle: the next
//! one goes on where each listener stands.

use std::ops::Range;
use std::sync::Arc;

use super::body::{Body, Site};
use super::channels::Channel;
use super::error::{Failure, Phase};
use super::listener::{Listening, Stretch};
use super::shared::Shared;
use super::system::{System, SystemKey};
use super::turn::Turn;
use super::unit::{self, OwnState, Unit, flag};
use crate::base::user::{self, Mark};

impl Body {
    /// Makes readable what was sent until now, and calls the listeners: one event after the other, in the order sent,
    /// and each event's listeners in the order of the systems.
    #[inline]
    pub(crate) fn deliver_events(&mut self, shared: &Arc<Shared>) -> Result<(), Failure> {
        if shared.inlet.is_ready() {
            self.rest.take_sent(&mut self.world, shared);
        }
        if self.world.events().is_busy() {
            self.deliver_busy(shared)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn deliver_busy(&mut self, shared: &Arc<Shared>) -> Result<(), Failure> {
        // A deferred function may have asked for a stop (STOP-13).
        if self.is_stopping(shared) {
            return Ok(());
        }
        self.follow_world();
        // What is forgotten may panic when it is dropped; there is nobody to tell.
        let _ = user::call(|| self.world.deliver_events());
        while let Some((event, limit)) = self.world.events_mut().take_overflow() {
            let line = format!(
                "events of type {event} are sent faster than they are read: only the last {limit} are kept"
            );
            shared.logger.log_at("warning", line);
        }
        self.hear(shared)
    }

    /// The listeners stand in the logs of the container's world, also after user code has put another one in its place.
    fn follow_world(&mut self) {
        let Self { world, units, rest } = self;
        if rest.hearing.world == world.id() {
            return;
        }
        rest.hearing.world = world.id();
        rest.hearing.made_for = None;
        for unit in units.iter_mut().filter_map(|slot| slot.unit.as_mut()) {
            for listening in &mut unit.own.cold.listeners {
                listening.follow(world);
            }
        }
    }

    fn make_channels(&mut self) {
        let Self { units, rest, .. } = self;
        let version = Some(rest.order.version());
        if rest.hearing.made_for == version {
            return;
        }
        rest.hearing.made_for = version;
        let channels = &mut rest.hearing.channels;
        channels.clear();
        for slot in rest.order.iter() {
            let Some(unit) = units.get(slot).and_then(|slot| slot.unit.as_ref()) else {
                continue;
            };
            for (number, listening) in unit.own.cold.listeners.iter().enumerate() {
                if listening.queued {
                    continue;
                }
                let entry = (unit.own.cold.key, number);
                match channels
                    .iter_mut()
                    .find(|channel| channel.log == listening.log)
                {
                    Some(channel) => channel.listeners.push(entry),
                    None => channels.push(Channel {
                        log: listening.log,
                        listeners: vec![entry],
                    }),
                }
            }
        }
    }

    fn hear(&mut self, shared: &Arc<Shared>) -> Result<(), Failure> {
        self.make_channels();
        if self.rest.hearing.channels.is_empty() {
            return Ok(());
        }
        self.begin_hearing();
        let mark = Mark::enter();
        while let Some(stretch) = self.next_stretch() {
            let mut channels = self.rest.hearing.channels.iter();
            let Some(at) = channels.position(|channel| channel.log == stretch.log) else {
                break;
            };
            let among = self.rest.hearing.channels[at].listeners.len();
            for numbers in stretch.turns(among) {
                // A listener may register and remove systems; that makes new channels in the next pass.
                for place in 0..among {
                    let (key, listener) = self.rest.hearing.channels[at].listeners[place];
                    self.hear_some(key, listener, &stretch, numbers.clone(), shared, &mark)?;
                    if self.is_stopping(shared) || self.world.id() != self.rest.hearing.world {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// The next stretch that a started system has yet to hear.
    fn next_stretch(&self) -> Option<Stretch> {
        let candidates = self.rest.hearing.channels.iter().flat_map(|channel| {
            channel.listeners.iter().filter_map(|&(key, number)| {
                let slot = self.units.get(key.slot as usize)?;
                let own = &slot.unit.as_ref()?.own;
                let listening = own.cold.listeners.get(number)?;
                let hears = hears(own) && own.cold.key == key;
                hears.then(|| (channel.log, listening.place(), listening.until()))
            })
        });
        Stretch::next(self.world.events(), candidates)
    }

    fn begin_hearing(&mut self) {
        let Self { world, units, rest } = self;
        let channels = rest.hearing.channels.iter();
        for &(key, number) in channels.flat_map(|channel| &channel.listeners) {
            let slot = units.get_mut(key.slot as usize);
            if let Some(unit) = slot.and_then(|slot| slot.unit.as_mut())
                && hears(&unit.own)
                && let Some(listening) = unit.own.cold.listeners.get_mut(number)
            {
                listening.begin(world.events());
            }
        }
    }

    /// Calls a listener with those of these events that it gets.
    fn hear_some(
        &mut self,
        key: SystemKey,
        listener: usize,
        stretch: &Stretch,
        numbers: Range<u64>,
        shared: &Arc<Shared>,
        mark: &Mark,
    ) -> Result<(), Failure> {
        let Some((unit, mut site)) = self.split(key.slot as usize, shared) else {
            return Ok(());
        };
        let Unit { system, own } = unit;
        if own.cold.key != key || !hears(own) {
            return Ok(());
        }
        let _runs = shared.running.enter(key.slot as usize);
        site.world.set_author(key.slot as usize);
        own.cold.in_root_step = true;
        let system = &mut **system;
        let outcome = call(system, own, &mut site, mark, listener, stretch, numbers);
        own.cold.in_root_step = false;
        outcome
    }
}

/// Whether a system is between its `initialize` and its `shutdown`, and registered.
fn hears(own: &OwnState) -> bool {
    own.flags & (flag::STARTED | flag::SHUT | flag::LEAVING) == flag::STARTED
}

/// Calls a listener with those of these events that it gets, up to one with which it changes what is to be heard: what
/// follows is then left for the caller to see.
///
/// A panic is caught once around all calls: the one that fails is the last one.
fn call(
    system: &mut dyn System,
    own: &mut OwnState,
    site: &mut Site<'_>,
    mark: &Mark,
    listener: usize,
    stretch: &Stretch,
    numbers: Range<u64>,
) -> Result<(), Failure> {
    let (Some(batch), first) = stretch.batch() else {
        return Ok(());
    };
    let taken = own.cold.listeners.get_mut(listener);
    let Some((numbers, mut callback)) = taken.and_then(|listening| listening.take(numbers)) else {
        return Ok(());
    };
    let mut turn = Turn::new(site, own, (batch, first), numbers);
    let result = unit::call_under(mark, || callback(system, &mut turn));
    let next = turn.next();
    let Some(listening) = own.cold.listeners.get_mut(listener) else {
        return Ok(());
    };
    listening.put_back(callback, next);
    match result {
        Ok(()) => Ok(()),
        Err(error) => {
            let phase = Phase::Event(listening.label.text());
            Err(own.fail(phase, error))
        }
    }
}

/// Calls the queued listeners of a system that is about to be updated, and tells whether the update goes on: not when
/// one of them has removed the system or switched it off, or asked for a stop.
#[cold]
pub(crate) fn hear_queued(
    system: &mut dyn System,
    own: &mut OwnState,
    site: &mut Site<'_>,
    mark: &Mark,
) -> Result<bool, Failure> {
    // In another world than that of the last root step nothing was delivered yet.
    if site.world.id() != site.rest.hearing.world {
        return Ok(true);
    }
    let listeners = own.cold.listeners.iter_mut();
    listeners
        .filter(|one| one.queued)
        .for_each(|one| one.begin(site.world.events()));
    // `update_system` also updates a system that is off.
    let ends = flag::LEAVING | (!own.flags & flag::OFF);
    loop {
        let queued = own.cold.listeners.iter().filter(|one| one.queued);
        let candidates = queued.map(|one| (one.log, one.place(), one.until()));
        let Some(stretch) = Stretch::next(site.world.events(), candidates) else {
            return Ok(true);
        };
        let takes = |one: &Listening| one.queued && one.log == stretch.log;
        let among = own.cold.listeners.iter().filter(|one| takes(one)).count();
        for numbers in stretch.turns(among) {
            for listener in 0..own.cold.listeners.len() {
                if !own.cold.listeners.get(listener).is_some_and(takes) {
                    continue;
                }
                let numbers = numbers.clone();
                call(system, own, site, mark, listener, &stretch, numbers)?;
                if own.is(ends) || site.is_stopping() {
                    return Ok(false);
                }
                if site.world.id() != site.rest.hearing.world {
                    return Ok(true);
                }
            }
        }
    }
}
