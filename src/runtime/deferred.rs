//! Functions handed to the container thread, from any thread, and tickets that tell what became of them.

use std::any::type_name;
use std::fmt;
use std::time::Duration;

use super::context::Context;
use super::error::{Failure, Phase};
use super::system::SystemResult;
use super::unit;
use crate::base::BoxError;
use crate::base::lock::{Arc, AtomicBool, Condvar, Mutex, Ordering};
use crate::base::user::{self, Mark};

/// A function that waits for the next pass.
pub(crate) struct Deferred(Box<dyn Function>);

/// A function whose type is forgotten; how it is called is not.
trait Function: Send {
    fn run(self: Box<Self>, cx: &mut Context<'_>, mark: &Mark) -> Result<(), Failure>;
}

impl<F: FnOnce(&mut Context<'_>) -> SystemResult + Send> Function for F {
    fn run(self: Box<Self>, cx: &mut Context<'_>, mark: &Mark) -> Result<(), Failure> {
        unit::call_under(mark, || self(cx)).map_err(|error| failed(cx, type_name::<F>(), error))
    }
}

/// A failure is logged with the container's handle.
#[cold]
fn failed(cx: &Context<'_>, type_name: &'static str, error: BoxError) -> Failure {
    let failure = Failure::new(&cx.shared.handle, type_name, Phase::Deferred, error);
    let logger = cx.shared.logger.with_prefix(cx.shared.handle.clone());
    unit::log_failure(&logger, &failure);
    failure
}

impl Deferred {
    pub(crate) fn new<F>(function: F) -> Self
    where
        F: FnOnce(&mut Context<'_>) -> SystemResult + Send + 'static,
    {
        Self(Box::new(function))
    }

    /// Runs it, under a mark that the caller holds over all of them.
    pub(crate) fn run(self, cx: &mut Context<'_>, mark: &Mark) -> Result<(), Failure> {
        self.0.run(cx, mark)
    }

    /// Drops it unrun, with what it captured.
    pub(crate) fn discard(self) {
        let _ = user::release(self);
    }
}

/// The queue of a container. A leaf lock around a vector that is swapped whole; both vectors keep their memory.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something waits. Written under the lock only.
    ready: AtomicBool,
}

#[derive(Default)]
struct State {
    closed: bool,
    waiting: Vec<Deferred>,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            ready: AtomicBool::new(false),
        }
    }

    /// Accepts a function for the next pass. A closed queue drops it on the caller.
    pub(crate) fn push(&self, function: Deferred) {
        let refused = {
            let mut state = self.state.lock();
            if state.closed {
                Some(function)
            } else {
                state.waiting.push(function);
                self.ready.store(true, Ordering::Release);
                None
            }
        };
        if let Some(function) = refused {
            function.discard();
        }
    }

    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Swaps what waits with the caller's empty vector.
    pub(crate) fn take_into(&self, batch: &mut Vec<Deferred>) {
        let mut state = self.state.lock();
        self.ready.store(false, Ordering::Relaxed);
        std::mem::swap(&mut state.waiting, batch);
    }

    /// Accepts nothing any more, and drops what waits, unrun.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.closed = true;
            self.ready.store(false, Ordering::Relaxed);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Deferred::discard);
    }
}

/// Tells what became of a deferred function, and brings its value.
///
/// ```
/// use ecs::{Context, OwnedContainer};
///
/// let container = OwnedContainer::new("main")?;
/// let ticket = container.defer_ticket(|cx: &mut Context<'_>| Ok(cx.systems().count()));
/// container.update()?;
/// assert_eq!(ticket.wait()?, 0);
/// # Ok::<(), ecs::BoxError>(())
/// ```
#[must_use = "a deferred function whose value nobody wants can be given to `defer`"]
pub struct Ticket<T>(Arc<Desk<T>>);

struct Desk<T> {
    outcome: Mutex<Outcome<T>>,
    told: Condvar,
}

enum Outcome<T> {
    Pending,
    Told(Result<T, TicketError>),
    Taken,
}

/// A deferred function has no value to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TicketError {
    /// It returned an error, or panicked. The pass has logged and returned that.
    #[error("ecs::Ticket::wait(): the deferred function failed: {text}")]
    Failed {
        /// The text of the error.
        text: String,
    },
    /// It was dropped unrun: the container was stopped or dropped first.
    #[error("ecs::Ticket::wait(): the deferred function was dropped unrun")]
    Dropped,
    /// Container code must not wait; it can [`try_take`](Ticket::try_take).
    #[error("ecs::Ticket::wait(): container code cannot wait for a deferred function")]
    InContainerCode,
    /// The time given ran out.
    #[error("ecs::Ticket::wait_for(): the deferred function has not run yet")]
    TimedOut,
    /// The value was taken before.
    #[error("ecs::Ticket::wait(): the value was taken before")]
    Taken,
}

/// The other end of a ticket. Dropped without a word it says that the function was.
struct Teller<T>(Arc<Desk<T>>);

impl<T> Teller<T> {
    fn tell(&self, outcome: Result<T, TicketError>) {
        let mut state = self.0.outcome.lock();
        if matches!(*state, Outcome::Pending) {
            *state = Outcome::Told(outcome);
            self.0.told.notify_all();
        }
    }
}

impl<T> Drop for Teller<T> {
    fn drop(&mut self) {
        self.tell(Err(TicketError::Dropped));
    }
}

/// A function with a value, as one without, and the ticket for the value.
pub(crate) fn with_ticket<T, F>(function: F) -> (Deferred, Ticket<T>)
where
    T: Send + 'static,
    F: FnOnce(&mut Context<'_>) -> Result<T, BoxError> + Send + 'static,
{
    let desk = Arc::new(Desk {
        outcome: Mutex::new(Outcome::Pending),
        told: Condvar::new(),
    });
    let teller = Teller(Arc::clone(&desk));
    let deferred = Deferred::new(move |cx: &mut Context<'_>| {
        let result = user::call(|| function(cx)).unwrap_or_else(|panic| Err(panic.into()));
        result
            .map(|value| teller.tell(Ok(value)))
            .inspect_err(|error| {
                // The text of a user's error is user code.
                let text = user::call(|| error.to_string())
                    .unwrap_or_else(|panic| format!("its error text {panic}"));
                teller.tell(Err(TicketError::Failed { text }));
            })
    });
    (deferred, Ticket(desk))
}

impl<T> Ticket<T> {
    /// Waits until the function has run, or will not.
    ///
    /// # Errors
    ///
    /// [`TicketError`], at once from container code: there the wait could be for oneself.
    pub fn wait(self) -> Result<T, TicketError> {
        if user::is_inside() {
            return Err(TicketError::InContainerCode);
        }
        let mut outcome = self.0.outcome.lock();
        while matches!(*outcome, Outcome::Pending) {
            self.0.told.wait(&mut outcome);
        }
        Self::take(&mut outcome).unwrap_or(Err(TicketError::Taken))
    }

    /// As [`wait`](Self::wait), for no longer than the time given.
    ///
    /// # Errors
    ///
    /// [`TicketError`], at once from container code.
    pub fn wait_for(&self, time: Duration) -> Result<T, TicketError> {
        if user::is_inside() {
            return Err(TicketError::InContainerCode);
        }
        let start = std::time::Instant::now();
        let mut outcome = self.0.outcome.lock();
        while matches!(*outcome, Outcome::Pending) {
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(TicketError::TimedOut);
            }
            self.0.told.wait_timeout(&mut outcome, left);
        }
        Self::take(&mut outcome).unwrap_or(Err(TicketError::Taken))
    }

    /// What became of the function, if that is known; its value comes out once.
    pub fn try_take(&self) -> Option<Result<T, TicketError>> {
        Self::take(&mut self.0.outcome.lock())
    }

    fn take(outcome: &mut Outcome<T>) -> Option<Result<T, TicketError>> {
        match std::mem::replace(outcome, Outcome::Taken) {
            Outcome::Told(result) => Some(result),
            Outcome::Taken => Some(Err(TicketError::Taken)),
            Outcome::Pending => {
                *outcome = Outcome::Pending;
                None
            }
        }
    }
}

impl<T> fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}
