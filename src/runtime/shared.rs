//! What all references to a container share, and the protocol by which its body changes hands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::AccessError;
use super::body::Body;
use super::deferred::{Deferred, Queue};
use super::ending::ThreadEnd;
use super::error::Failure;
use super::manager::ManagerRef;
use super::run_times::Timings;
use super::running::Running;
#[cfg(any(loom, shuttle))]
use crate::base::lock::checker;
use crate::base::lock::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering};
use crate::base::user;
use crate::base::uuid::Uuid;
use crate::event::Inlet;
use crate::lifecycle::{Caller, Lifecycle, Place, Refused, Release, Start, Stop};
use crate::log::Logger;
use crate::message::{MessageLimits, Routes};
use crate::time::to_micros;
use crate::world::World;

pub(crate) struct Shared {
    pub(crate) handle: Arc<str>,
    pub(crate) id: Uuid,
    /// A weak reference: no cycle keeps a manager or a container alive.
    pub(crate) manager: Option<ManagerRef>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) deferred: Queue,
    pub(crate) inlet: Inlet,
    pub(crate) logger: Logger,
    pub(crate) running: Running,
    pub(crate) timings: Timings,
    /// Stored under `life` together with the protocol's own flag; read without it as a hint.
    stop: AtomicBool,
    life: Mutex<Life>,
    changed: Condvar,
}

/// What became of the request to stop a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopOutcome {
    /// Every system has been shut down.
    Complete,
    /// The request is recorded; whoever holds the container shuts the systems down on letting go. Container code gets
    /// this answer, for it never waits, and so does everybody while a claim is held.
    Requested,
    /// The time given ran out. The request stays.
    TimedOut,
}

pub(super) struct Life {
    pub(super) cycle: Lifecycle<Box<Body>>,
    /// Threads that wait for `changed`: waking nobody would still cost a system call.
    pub(super) waiters: u32,
    pub(super) thread: ThreadEnd,
    /// What ended the container's thread. Set once.
    pub(super) failure: Option<Failure>,
}

/// A number of the running thread, for as long as it lives.
fn this_thread() -> usize {
    #[cfg(not(any(loom, shuttle)))]
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    #[cfg(any(loom, shuttle))]
    checker::thread_local! {
        static PLACE: u8 = 0;
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

impl Shared {
    pub(crate) fn new(handle: Arc<str>, manager: Option<ManagerRef>) -> Arc<Self> {
        let mut world = World::new();
        world.set_container(&handle);
        Arc::new(Self {
            routes: Arc::new(Routes::new(Arc::clone(&handle), MessageLimits::default())),
            handle,
            id: Uuid::new(),
            manager,
            deferred: Queue::new(),
            inlet: Inlet::new(),
            logger: Logger::standard(),
            running: Running::new(),
            timings: Timings::new(),
            stop: AtomicBool::new(false),
            life: Mutex::new(Life {
                cycle: Lifecycle::new(Box::new(Body::new(world))),
                waiters: 0,
                thread: ThreadEnd::default(),
                failure: None,
            }),
            changed: Condvar::new(),
        })
    }

    #[inline]
    pub(crate) fn stop_hint(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Under the life lock.
    fn note_stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.routes.bell().ring();
    }

    /// From the request of a stop on, functions are dropped at once; the teardown closes the queue for those that got
    /// in between.
    pub(crate) fn push_deferred(&self, function: Deferred) {
        if self.stop.load(Ordering::Acquire) {
            function.discard();
        } else {
            self.deferred.push(function);
        }
    }

    pub(crate) fn place(&self) -> (Place, bool, bool) {
        let life = self.life.lock();
        (
            life.cycle.place(),
            life.cycle.stop_requested(),
            life.cycle.is_stopped(),
        )
    }

    pub(crate) fn claim(&self) -> Result<Box<Body>, AccessError> {
        let claimed = self.life.lock().cycle.claim(this_thread());
        claimed.map_err(|refused| AccessError::new(&self.handle, "claim", refused))
    }

    /// `None`: the container was stopped, there is nothing to do.
    pub(crate) fn begin_pass(
        &self,
        function: &'static str,
    ) -> Result<Option<Box<Body>>, AccessError> {
        let begun = self.life.lock().cycle.begin_pass(this_thread());
        begun.map_err(|refused| AccessError::new(&self.handle, function, refused))
    }

    /// The holder of a claim begins a pass. False: the container was stopped, there is nothing to do.
    pub(crate) fn begin_claimed_pass(&self) -> bool {
        self.life.lock().cycle.begin_claimed_pass(this_thread())
    }

    /// The holder of a claim has ended a pass. A stop that came meanwhile is carried out here.
    pub(crate) fn end_claimed_pass(self: &Arc<Self>, body: &mut Body) {
        let mut life = self.life.lock();
        if life.cycle.end_claimed_pass() {
            drop(life);
            body.teardown(self);
            life = self.life.lock();
            life.cycle.claimed_teardown_ended();
        }
        self.wake(life);
    }

    /// The holder lets go: what was asked for meanwhile (a teardown, the end) is carried out here.
    pub(crate) fn give_back(self: &Arc<Self>, mut body: Box<Body>) {
        loop {
            let mut life = self.life.lock();
            match life.cycle.release(body) {
                Release::Parked => return self.wake(life),
                Release::Teardown(held) => {
                    drop(life);
                    body = held;
                    body.teardown(self);
                }
                Release::Drop(held) => {
                    drop(life);
                    held.dismantle(self);
                    let mut life = self.life.lock();
                    life.cycle.dropped();
                    return self.wake(life);
                }
            }
        }
    }

    pub(super) fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock()
    }

    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    pub(super) fn wait_for_change(&self, life: &mut MutexGuard<'_, Life>) {
        self.changed.wait(life);
    }

    pub(super) fn wait_for_change_within(&self, life: &mut MutexGuard<'_, Life>, time: Duration) {
        self.changed.wait_timeout(life, time);
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.life.lock().failure.clone()
    }

    /// Whether the manager allows a start. Read inside the life lock, or a thread could survive the shutdown.
    fn manager_runs(&self) -> bool {
        self.manager.as_ref().is_none_or(ManagerRef::is_running)
    }

    pub(super) fn start(&self) -> Result<Start, Refused> {
        let mut life = self.life.lock();
        let runs = self.manager_runs();
        life.cycle.start(runs)
    }

    pub(super) fn start_claimed(&self, body: Box<Body>) -> Result<Start, (Start, Box<Body>)> {
        let mut life = self.life.lock();
        let runs = self.manager_runs();
        life.cycle.start_claimed(body, runs)
    }

    /// On the container's thread: the body, and whether a stop came before.
    pub(super) fn thread_begins(&self) -> Option<(Box<Body>, bool)> {
        let mut life = self.life.lock();
        let body = life.cycle.thread_begins()?;
        Some((body, life.cycle.stop_requested()))
    }

    /// The manager shuts down: a threaded container is asked to stop, all others are left alone. True for a threaded
    /// one.
    pub(super) fn manager_asks(&self) -> bool {
        let mut life = self.life.lock();
        let threaded = life.cycle.is_threaded();
        if threaded {
            life.cycle.request_stop();
            self.note_stop();
        }
        self.wake(life);
        threaded
    }

    pub(super) fn wake(&self, life: MutexGuard<'_, Life>) {
        let waiters = life.waiters;
        drop(life);
        if waiters > 0 {
            self.changed.notify_all();
        }
    }

    pub(crate) fn request_stop(&self) {
        let mut life = self.life.lock();
        life.cycle.request_stop();
        self.note_stop();
        self.wake(life);
    }

    pub(crate) fn stop(self: &Arc<Self>, within: Option<Duration>) -> StopOutcome {
        let mut life = self.life.lock();
        self.note_stop();
        let caller = caller();
        let next = life.cycle.stop(caller);
        self.wake(life);
        self.follow(next, caller, within, Lifecycle::is_stopped)
    }

    /// The owner lets go.
    pub(crate) fn destroy(self: &Arc<Self>) {
        let mut life = self.life.lock();
        self.note_stop();
        let caller = caller();
        let next = life.cycle.destroy(caller);
        self.wake(life);
        self.follow(next, caller, None, Lifecycle::is_gone);
    }

    /// Does what the protocol says a caller of `stop` or `destroy` has to do.
    fn follow(
        self: &Arc<Self>,
        next: Stop<Box<Body>>,
        caller: Caller,
        within: Option<Duration>,
        complete: impl Fn(&Lifecycle<Box<Body>>) -> bool,
    ) -> StopOutcome {
        // A time that no clock reaches is no limit.
        let within = within.filter(|time| to_micros(*time).is_some());
        let since = Instant::now();
        let outcome = match next {
            Stop::Complete => StopOutcome::Complete,
            Stop::Requested => StopOutcome::Requested,
            Stop::Teardown(body) => {
                self.give_back(body);
                StopOutcome::Complete
            }
            Stop::Wait => self.wait(within, since, complete),
        };
        // The systems are shut down; an application thread also waits for the end of the thread that did it.
        let waits = outcome == StopOutcome::Complete && caller == Caller::Application;
        if waits && !self.join(within, since) {
            StopOutcome::TimedOut
        } else {
            outcome
        }
    }

    fn wait(
        &self,
        within: Option<Duration>,
        since: Instant,
        complete: impl Fn(&Lifecycle<Box<Body>>) -> bool,
    ) -> StopOutcome {
        let mut life = self.life.lock();
        life.waiters += 1;
        let outcome = loop {
            if complete(&life.cycle) {
                break StopOutcome::Complete;
            }
            if life.cycle.place() == Place::Claimed {
                // A pass of a claim has ended, and the claim is held on, maybe for ever: its drop does the rest.
                break StopOutcome::Requested;
            }
            match within.map(|time| time.saturating_sub(since.elapsed())) {
                None => self.changed.wait(&mut life),
                Some(Duration::ZERO) => break StopOutcome::TimedOut,
                Some(left) => {
                    self.changed.wait_timeout(&mut life, left);
                }
            }
        };
        life.waiters -= 1;
        outcome
    }
}

fn caller() -> Caller {
    if user::is_inside() {
        Caller::ContainerCode
    } else {
        Caller::Application
    }
}

/// Holds the body for a pass; whatever unwinds past it, the body is given back.
pub(crate) struct Holder<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) body: Option<Box<Body>>,
}

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            self.shared.give_back(body);
        }
    }
}
