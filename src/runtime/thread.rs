//! A container's own thread.
//!
//! The thread takes the body over when it begins and keeps it until it ends; the protocol is the table in
//! `lifecycle`. What this file adds is the thread's end, as those see it who wait for it:
//!
//! | step | who | under the life lock |
//! | --- | --- | --- |
//! | spawned | caller of `start` | `handle` is stored, waiters are woken |
//! | body given back (torn down, perhaps dropped) | the thread | the protocol's own flags |
//! | last act | the thread | `done` is set, waiters are woken |
//! | joined | the first waiter without a limit that finds `done` and `handle` | takes `handle`, joins outside the lock, sets `ended`, wakes |
//!
//! An application thread that stops or destroys a threaded container returns after `ended`, so that nothing of the
//! thread is left; one that waits for a limited time returns after `done`. Container code never waits. A thread that nobody joins is detached with its handle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::claim::Claim;
use super::container::Container;
use super::error::{AccessError, Failure, StartError};
use super::shared::{Holder, Shared};
use crate::base::lock::thread::{self, JoinHandle};
use crate::base::origin::Origin;
use crate::base::user::{self, Mark};
use crate::lifecycle::Start;
use crate::time::{Timing, interval_micros, to_micros};

/// Passes a second, unless told otherwise: 30.
const DEFAULT_INTERVAL: Duration = crate::time::DEFAULT_INTERVAL;

impl Container {
    /// Starts the container's own thread, with 30 passes a second.
    ///
    /// The thread initialises the systems at once, waits one interval, and then runs its first pass; functions that
    /// were deferred before run at the beginning of that. It keeps a fixed rate whatever a pass takes. From here on the
    /// container is reached by messages and [`defer`](Self::defer) alone.
    ///
    /// A container starts once: a further call does nothing. One that was stopped, or whose manager has shut down,
    /// cannot be started: the call logs one warning and returns `Ok`.
    ///
    /// # Errors
    ///
    /// [`StartError::Access`] while a claim is held ([`Claim::start`] starts what it holds) or a pass runs elsewhere,
    /// and when the container is gone; [`StartError::Spawn`] when there is no thread to be had. Nothing is lost then,
    /// and the start is not used up.
    ///
    /// ```
    /// use ecs::{Manager, json};
    ///
    /// let manager = Manager::new();
    /// let main = manager.container("main")?;
    /// main.set_silent();
    /// main.claim()?.add_system(ecs::system("greeter", |cx| {
    ///     while let Some(message) = cx.this.next_message() {
    ///         cx.log(format!("hello {}", message["name"]));
    ///     }
    ///     Ok(())
    /// }))?;
    /// main.start()?;
    /// let greeting = json!({ "destination": { "container": "main", "system": "greeter" }, "name": "you" });
    /// manager.message_submit(greeting)?;
    /// manager.shutdown(); // returns when the systems are shut down and the thread has ended
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn start(&self) -> Result<(), StartError> {
        self.start_as("start", DEFAULT_INTERVAL)
    }

    /// As [`start`](Self::start), with the time between two passes; zero runs them back to back.
    ///
    /// # Errors
    ///
    /// [`StartError::Interval`] when it is above [`MAX_INTERVAL`](crate::MAX_INTERVAL), and as `start`.
    pub fn start_with(&self, interval: Duration) -> Result<(), StartError> {
        self.start_as("start_with", interval)
    }

    fn start_as(&self, function: &'static str, interval: Duration) -> Result<(), StartError> {
        let interval = self.checked_interval(function, interval)?;
        match self.shared.start() {
            Err(refused) => Err(AccessError::new(&self.shared.handle, function, refused).into()),
            Ok(start) => self.follow_start(function, start, interval),
        }
    }

    fn checked_interval(
        &self,
        function: &'static str,
        interval: Duration,
    ) -> Result<u64, StartError> {
        interval_micros(interval).map_err(|error| StartError::Interval {
            origin: self.origin(function),
            error,
        })
    }

    fn origin(&self, function: &'static str) -> Origin {
        Origin::new(Some(&self.shared.handle), function)
    }

    fn follow_start(
        &self,
        function: &'static str,
        start: Start,
        interval: u64,
    ) -> Result<(), StartError> {
        match start {
            Start::AlreadyStarted => Ok(()),
            Start::Stopped => {
                let why = "the container was stopped or its manager has shut down; make a new one";
                self.shared
                    .logger
                    .log_at("warning", format!("{}: {why}", self.origin(function)));
                Ok(())
            }
            Start::Spawn => self
                .shared
                .spawn(interval)
                .map_err(|source| StartError::Spawn {
                    origin: self.origin(function),
                    source,
                }),
        }
    }

    /// The failure that ended the container's thread, if one did.
    pub fn failure(&self) -> Option<Failure> {
        self.shared.failure()
    }
}

impl Claim {
    /// Starts the container that is claimed, with 30 passes a second, and gives the claim back. See
    /// [`Container::start`].
    ///
    /// # Errors
    ///
    /// [`StartError::Spawn`].
    pub fn start(self) -> Result<(), StartError> {
        self.start_as("start", DEFAULT_INTERVAL)
    }

    /// As [`start`](Self::start), with the time between two passes; zero runs them back to back.
    ///
    /// # Errors
    ///
    /// [`StartError::Interval`], [`StartError::Spawn`]. The container can be claimed and started again.
    pub fn start_with(self, interval: Duration) -> Result<(), StartError> {
        self.start_as("start_with", interval)
    }

    fn start_as(mut self, function: &'static str, interval: Duration) -> Result<(), StartError> {
        let container = self.container().clone();
        let interval = container.checked_interval(function, interval)?;
        let Some(body) = self.take_body() else {
            return Ok(());
        };
        let start = match container.shared.start_claimed(body) {
            Ok(start) => start,
            Err((start, body)) => {
                container.shared.give_back(body);
                start
            }
        };
        container.follow_start(function, start, interval)
    }
}

impl Shared {
    /// Spawns the thread for which the protocol waits.
    fn spawn(self: &Arc<Self>, interval: u64) -> std::io::Result<()> {
        // A thread's name ends at a NUL, so one is not accepted there.
        let name = self.handle.replace('\0', "\u{fffd}");
        let shared = Arc::clone(self);
        match thread::Builder::new()
            .name(name)
            .spawn(move || run(&shared, interval))
        {
            Ok(handle) => {
                let mut life = self.life();
                life.thread.handle = Some(handle);
                self.wake(life);
                Ok(())
            }
            Err(error) => {
                let body = self.life().cycle.spawn_failed();
                if let Some(body) = body {
                    self.give_back(body);
                }
                Err(error)
            }
        }
    }

    /// Waits until the container's thread has ended; false when the time ran out. There is nothing to wait for where
    /// no thread was started.
    ///
    /// Joining cannot be given up, and a destructor of the user's may block the thread's very end: who has a limit waits
    /// for the last act only.
    pub(super) fn join(&self, within: Option<Duration>, since: Instant) -> bool {
        let mut life = self.life();
        life.waiters += 1;
        let ended = loop {
            let last_act = within.is_some() && life.thread.done;
            if !life.cycle.is_threaded() || life.thread.ended || last_act {
                break true;
            }
            match within.map(|time| time.saturating_sub(since.elapsed())) {
                None if life.thread.done && life.thread.handle.is_some() => {
                    let handle = life.thread.handle.take();
                    drop(life);
                    handle.into_iter().for_each(join);
                    life = self.life();
                    life.thread.ended = true;
                    self.notify();
                }
                None => self.wait_for_change(&mut life),
                Some(Duration::ZERO) => break false,
                Some(left) => self.wait_for_change_within(&mut life, left),
            }
        };
        life.waiters -= 1;
        ended
    }

    /// Waits for the next pass; false when a stop was asked for.
    fn sleep(&self, until: Instant) -> bool {
        let mut life = self.life();
        life.waiters += 1;
        let go_on = loop {
            if life.cycle.stop_requested() {
                break false;
            }
            match until.saturating_duration_since(Instant::now()) {
                Duration::ZERO => break true,
                left => self.wait_for_change_within(&mut life, left),
            }
        };
        life.waiters -= 1;
        go_on
    }

    /// A call of user code failed on the container's thread. It has been logged where it failed.
    fn fail(&self, failure: Failure) {
        let mut life = self.life();
        life.failure.get_or_insert(failure);
        drop(life);
        self.request_stop();
        if let Some(manager) = &self.manager {
            manager.request_shutdown();
        }
    }
}

/// Joins a thread that has nothing left to do but what its thread locals' destructors do.
fn join(handle: JoinHandle<()>) {
    if let Err(payload) = handle.join() {
        let _ = user::release(payload);
    }
}

/// Sets `done` as the thread's last act, whatever unwinds past it.
struct LastAct<'a>(&'a Shared);

impl Drop for LastAct<'_> {
    fn drop(&mut self) {
        let mut life = self.0.life();
        life.thread.done = true;
        self.0.wake(life);
    }
}

/// The thread's body.
fn run(shared: &Arc<Shared>, interval: u64) {
    // All that runs here is container code, to the thread's last destructor.
    Mark::enter().stay();
    let _last = LastAct(shared);
    let Some((body, stopped)) = shared.thread_begins() else {
        return;
    };
    let mut holder = Holder {
        shared,
        body: Some(body),
    };
    let Some(body) = &mut holder.body else { return };
    if stopped {
        return;
    }
    if let Err(failure) = body.step(shared, false) {
        return shared.fail(failure);
    }
    // The thread waits on the real clock, whatever clock its systems read.
    let origin = Instant::now();
    let now = || to_micros(origin.elapsed()).unwrap_or(u64::MAX);
    let mut schedule = Timing::from_micros(interval, now());
    loop {
        // At most the longest interval after the present, which no clock ends before.
        let until = origin + Duration::from_micros(schedule.due_hint());
        if !shared.sleep(until) {
            return;
        }
        if !schedule.check(now()) {
            continue;
        }
        if let Err(failure) = body.pass(shared, false) {
            return shared.fail(failure);
        }
    }
}
