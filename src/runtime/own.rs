//! The running system's own things: its messages, timers, time and log.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::SystemError;
use super::shared::Shared;
use super::system::SystemKey;
use super::timer::Timer;
use super::unit::{OwnState, flag};
use crate::base::entity::Entity;
use crate::base::origin::Origin;
use crate::base::user;
use crate::log::{Level, Logger};
use crate::message::Mailbox;
use crate::store::component::Component;
use crate::time::{Moment, SharedClock};
use crate::world::RemovalMarks;

/// What belongs to the running system: `cx.this`.
///
/// Where no system runs (in a deferred function, in the context of a claim) it stands for the container: the handle
/// and the log are the container's, there are no messages, and the elapsed time is zero.
pub struct Own<'a> {
    pub(crate) state: Option<&'a mut OwnState>,
    pub(crate) shared: &'a Arc<Shared>,
}

impl<'a> Own<'a> {
    /// That of a typed system, for the time that it runs. The system's panics are caught inside.
    #[inline]
    pub(crate) fn typed<R>(
        state: Option<&mut OwnState>,
        shared: &'a Arc<Shared>,
        run: impl FnOnce(Own<'_>) -> R,
    ) -> R {
        let Some(state) = state else {
            return run(Own {
                state: None,
                shared,
            });
        };
        state.typed = true;
        let result = run(Own {
            state: Some(state),
            shared,
        });
        state.typed = false;
        result
    }
}

impl Own<'_> {
    /// The handle of the system.
    pub fn handle(&self) -> &str {
        self.shared_handle_ref()
    }

    /// The handle of the system, to keep while the context is used.
    pub fn shared_handle(&self) -> Arc<str> {
        Arc::clone(self.shared_handle_ref())
    }

    fn shared_handle_ref(&self) -> &Arc<str> {
        self.state
            .as_ref()
            .map_or(&self.shared.handle, |own| &own.cold.handle)
    }

    /// The key of the system; `None` where no system runs.
    pub fn key(&self) -> Option<SystemKey> {
        self.state.as_ref().map(|own| own.cold.key)
    }

    /// The time between the previous update of this system and the present one.
    ///
    /// Measured once per update, from the clock reading that decided the system was due: every read in one update
    /// returns the same, and a system that does not read loses nothing. Before and during the first update it is the
    /// system's interval. It is not capped: after a stall of five hours it is five hours.
    #[inline]
    pub fn elapsed(&self) -> Duration {
        Duration::from_micros(self.elapsed_micros())
    }

    /// [`elapsed`](Self::elapsed) in seconds.
    ///
    /// Code that integrates over the time caps it, so that a stall is not one great leap:
    ///
    /// ```
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// # let clock = ecs::ManualClock::new();
    /// # let mut claim = main.claim()?;
    /// # claim.set_clock(&clock)?;
    /// claim.add_system(ecs::system("movement", |cx| {
    ///     let step = cx.this.elapsed_seconds().min(0.25);
    ///     // position += velocity * step
    /// #   assert_eq!(step, if cx.this.updates() == 1 { 0.033_333 } else { 0.25 });
    ///     Ok(())
    /// }))?;
    /// # for _ in 0..2 {
    /// #     clock.advance(std::time::Duration::from_hours(5))?;
    /// #     claim.update()?;
    /// # }
    /// # assert_eq!(claim.context().system_info("movement").unwrap().updates(), 2);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "exact up to 285 years")]
    pub fn elapsed_seconds(&self) -> f64 {
        self.elapsed_micros() as f64 / 1e6
    }

    #[inline]
    fn elapsed_micros(&self) -> u64 {
        self.state.as_ref().map_or(0, |own| own.elapsed.micros())
    }

    /// The clock reading of this update: every read in one update returns the same. Outside an update it is that of
    /// the last one; [`Moment::ZERO`] where no system runs.
    #[inline]
    pub fn now(&self) -> Moment {
        self.state
            .as_ref()
            .map_or(Moment::ZERO, |own| Moment::from_micros(own.elapsed.now()))
    }

    /// The oldest message that is readable. What is not read stays for the next update.
    ///
    /// ```
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// main.claim()?.add_system(ecs::system("game/Loader", |cx| {
    ///     while let Some(message) = cx.this.next_message() {
    ///         let file = message["file"].as_str().ok_or("which file?")?;
    ///         cx.log(format!("asked to load {file}"));
    ///     }
    ///     Ok(())
    /// }).every_pass())?;
    /// # main.set_silent();
    /// # main.mailbox("game/Loader").unwrap().send(ecs::json!({ "file": "level1.map" }))?;
    /// # main.update()?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    #[inline]
    pub fn next_message(&mut self) -> Option<Value> {
        self.state.as_mut()?.cold.inbox.pop()
    }

    /// Makes readable what has arrived since the update began, and returns how many messages are.
    pub fn messages_waiting(&mut self) -> usize {
        self.state
            .as_mut()
            .map_or(0, |own| own.cold.inbox.collect())
    }

    /// The mailbox of this system, to give away; `None` where no system runs.
    pub fn mailbox(&self) -> Option<Mailbox> {
        self.state
            .as_ref()
            .map(|own| own.cold.inbox.mailbox().clone())
    }

    /// The time between two updates; zero where no system runs.
    pub fn interval(&self) -> Duration {
        self.state
            .as_ref()
            .map_or(Duration::ZERO, |own| own.timing.interval())
    }

    /// Changes the interval. The next update is due one new interval after the last one was.
    ///
    /// # Errors
    ///
    /// [`SystemError`] when it is out of range, or no system runs here. Nothing has changed then.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// main.claim()?.add_system(ecs::system("slow", |cx| {
    ///     cx.this.set_interval(Duration::from_millis(100))?;
    ///     assert_eq!(cx.this.interval(), Duration::from_millis(100));
    ///     Ok(())
    /// }).every_pass())?;
    /// main.update()?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn set_interval(&mut self, interval: Duration) -> Result<(), SystemError> {
        let shared = self.shared;
        match &mut self.state {
            Some(own) => set_interval(own, interval, shared),
            None => Err(no_system(shared, "set_interval")),
        }
    }

    /// Adds a timer to this system; it first fires one length after the clock reading of this update. In `initialize`,
    /// and after the clock was replaced, it is one length after the present.
    ///
    /// # Errors
    ///
    /// [`SystemError`] when the length is out of range, or the callback takes a system of another type, or no
    /// system runs here; nothing is added then.
    ///
    /// A timer that fires once may set itself again, under its own name:
    ///
    /// ```
    /// use std::time::Duration;
    /// use ecs::{Context, ManualClock, SystemResult, Timer};
    ///
    /// fn retry(cx: &mut Context<'_>) -> SystemResult {
    ///     cx.log("trying again");
    ///     cx.this.add_timer(Timer::once("retry", Duration::from_secs(10), retry))?;
    ///     Ok(())
    /// }
    ///
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// # main.set_silent();
    /// let clock = ManualClock::new();
    /// let mut claim = main.claim()?;
    /// claim.set_clock(&clock)?;
    /// let client = ecs::system("client", |_| Ok(())).every_pass();
    /// claim.add_system(client.timer(Timer::once("retry", Duration::from_secs(10), retry)))?;
    /// for _ in 0..3 {
    ///     clock.advance(Duration::from_secs(10))?;
    ///     claim.update()?;
    ///     assert_eq!(claim.context().system_info("client").unwrap().timers().count(), 1);
    /// }
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn add_timer(&mut self, timer: Timer) -> Result<(), SystemError> {
        let shared = self.shared;
        let Some(own) = &mut self.state else {
            return user::refuse(timer, no_system(shared, "add_timer"));
        };
        add_timer(own, timer, true, shared)
    }

    /// Cancels every timer of this name.
    pub fn clear_timer(&mut self, name: &str) {
        if let Some(own) = &mut self.state {
            clear_timer(own, name);
        }
    }

    /// The names of the timers, in the order in which they were added.
    pub fn timers(&self) -> impl Iterator<Item = &str> {
        self.state.iter().flat_map(|own| own.timers.names())
    }

    /// Replaces the clock of this system; `None` is the real one. Schedule, timers and elapsed time start again from
    /// the new clock's present.
    ///
    /// # Errors
    ///
    /// [`SystemError`] when the clock panics on being read, or no system runs here.
    pub fn set_clock(&mut self, clock: impl Into<Option<SharedClock>>) -> Result<(), SystemError> {
        let shared = self.shared;
        let Some(own) = &mut self.state else {
            return user::refuse(clock, no_system(shared, "set_clock"));
        };
        set_clock(own, clock.into(), shared, "set_clock")
    }

    /// Switches this system off or on again. An update that runs goes on; a timer that switches off is followed by no
    /// further timer and no update. See
    /// [`Context::set_system_on`](crate::Context::set_system_on).
    pub fn set_on(&mut self, on: bool) {
        if let Some(own) = &mut self.state {
            set_flag(own, flag::OFF, !on);
        }
    }

    /// The number of updates of this system, the present one included.
    pub fn updates(&self) -> u64 {
        self.state.as_ref().map_or(0, |own| own.updates)
    }

    /// Marks an entity's component for removal, while a query is being iterated; [`Context::clear_marks`] removes what
    /// is marked. False where no system runs: there a [`RemovalMarks`] of one's own does it; and in a
    /// typed system, which removes by [`Commands`](crate::Commands).
    ///
    /// [`Context::clear_marks`]: crate::Context::clear_marks
    pub fn mark_removal<T: Component>(&mut self, entity: Entity) -> bool {
        let marks = self.marks().map(|marks| marks.mark::<T>(entity));
        marks.is_some()
    }

    /// As [`mark_removal`](Self::mark_removal), by type name.
    pub fn mark_removal_named(&mut self, entity: Entity, type_name: impl Into<String>) -> bool {
        let marks = self
            .marks()
            .map(|marks| marks.mark_named(entity, type_name));
        marks.is_some()
    }

    /// The marks, where somebody can clear them.
    fn marks(&mut self) -> Option<&mut RemovalMarks> {
        let own = self.state.as_mut().filter(|own| !own.typed)?;
        Some(&mut own.cold.marks)
    }

    /// Logs a line at level info, with `[<handle>] ` in front.
    pub fn log(&self, message: impl AsRef<str>) {
        self.log_at(Level::Info, message);
    }

    /// Logs a line at a level, with `[<handle>] ` in front.
    pub fn log_at<'l>(&self, level: impl Into<Level<'l>>, message: impl AsRef<str>) {
        match &self.state {
            Some(own) => own.cold.logger.log_at(level, message),
            None => self.shared.logger.log_at(level, message),
        }
    }

    /// The logger of this system, to keep: it also works in a `Drop`.
    pub fn logger(&self) -> Logger {
        self.state
            .as_ref()
            .map_or_else(|| self.shared.logger.clone(), |own| own.cold.logger.clone())
    }
}

#[cold]
fn no_system(shared: &Shared, function: &'static str) -> SystemError {
    SystemError::NoSystem {
        origin: Origin::new(Some(&shared.handle), function),
    }
}

pub(crate) fn set_interval(
    own: &mut OwnState,
    interval: Duration,
    shared: &Shared,
) -> Result<(), SystemError> {
    own.timing
        .set_interval(interval)
        .map_err(|error| SystemError::IntervalOutOfRange {
            origin: Origin::new(Some(&shared.handle), "set_interval"),
            system: Arc::clone(&own.cold.handle),
            length: error.length,
        })?;
    own.elapsed.interval_changed(own.timing.interval_micros());
    Ok(())
}

/// Reads a clock that is about to be installed.
pub(crate) fn read(
    clock: &SharedClock,
    system: &Arc<str>,
    shared: &Shared,
    function: &'static str,
) -> Result<u64, SystemError> {
    clock.read().map_err(|panic| SystemError::Clock {
        origin: Origin::new(Some(&shared.handle), function),
        system: Arc::clone(system),
        panic: panic.to_string().into(),
    })
}

/// Replaces a system's clock; one that cannot be read is refused.
pub(crate) fn set_clock(
    own: &mut OwnState,
    clock: Option<SharedClock>,
    shared: &Shared,
    function: &'static str,
) -> Result<(), SystemError> {
    let clock = clock.unwrap_or_default();
    match read(&clock, &own.cold.handle, shared, function) {
        Ok(now) => {
            own.set_clock(clock, now);
            Ok(())
        }
        Err(error) => user::refuse(clock, error),
    }
}

/// Adds a timer that counts from the running update's clock reading, or from the present; a refused one is dropped.
pub(crate) fn add_timer(
    own: &mut OwnState,
    timer: Timer,
    runs: bool,
    shared: &Shared,
) -> Result<(), SystemError> {
    let origin = || Origin::new(Some(&shared.handle), "add_timer");
    let checked = timer.check(&origin, &own.cold.handle, own.cold.of);
    let checked = checked.and_then(|length| {
        if runs && own.elapsed.is_measured() && !own.cold.in_root_step {
            return Ok((length, own.elapsed.now()));
        }
        let now = read(&own.clock, &own.cold.handle, shared, "add_timer")?;
        // A clock that went back counts as one that stands still.
        Ok((length, now.max(own.elapsed.now())))
    });
    match checked {
        Ok((length, now)) => {
            let Timer {
                name,
                repeats,
                callback,
                ..
            } = timer;
            own.timers.add(name, length, repeats, callback, now);
            own.flags |= flag::WATCHED;
            Ok(())
        }
        Err(error) => user::refuse(timer, error),
    }
}

pub(crate) fn clear_timer(own: &mut OwnState, name: &str) {
    for callback in own.timers.clear(name) {
        let _ = user::release(callback);
    }
}

pub(crate) fn set_flag(own: &mut OwnState, flag: u16, set: bool) {
    if set {
        own.flags |= flag;
    } else {
        own.flags &= !flag;
    }
}
