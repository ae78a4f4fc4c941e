//! What can go wrong in the runtime. Every text reads `<function>: <condition>`.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::base::origin::Origin;
use crate::base::{BoxError, user};
use crate::lifecycle::{Place, Refused};
use crate::parallel::fault::ParamFault;
use crate::time::{IntervalError, MAX_INTERVAL};

/// Exclusive access to a container was refused. It is never waited for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The caller stands inside a pass of this very container.
    #[error(
        "{origin}: a pass of this container runs on the calling thread; use its context, or hand the work over with defer"
    )]
    OwnPass {
        /// The function that was refused, with the container.
        origin: Origin,
    },
    /// Another claim is held.
    #[error(
        "{origin}: the container is claimed; drop that claim first, or hand the work over with defer"
    )]
    Claimed {
        /// The function that was refused, with the container.
        origin: Origin,
    },
    /// Another thread is in a pass of the container.
    #[error("{origin}: the container is in a pass; hand the work over with defer")]
    InPass {
        /// The function that was refused, with the container.
        origin: Origin,
    },
    /// The container runs on its own thread.
    #[error("{origin}: the container runs on its own thread; hand the work over with defer")]
    Running {
        /// The function that was refused, with the container.
        origin: Origin,
    },
    /// The container's systems are being shut down.
    #[error(
        "{origin}: the container is being stopped, and defer no longer runs anything; try again when the stop is complete"
    )]
    Stopping {
        /// The function that was refused, with the container.
        origin: Origin,
    },
    /// The container's owner has been dropped.
    #[error("{origin}: the container is gone; make a new one")]
    Gone {
        /// The function that was refused, with the container.
        origin: Origin,
    },
}

impl AccessError {
    #[cold]
    pub(crate) fn new(container: &Arc<str>, function: &'static str, refused: Refused) -> Self {
        let origin = Origin::new(Some(container), function);
        match refused {
            Refused::OwnPass => Self::OwnPass { origin },
            Refused::Gone | Refused::Busy(Place::Gone) => Self::Gone { origin },
            Refused::Busy(Place::Claimed | Place::Parked) => Self::Claimed { origin },
            Refused::Busy(Place::Passing) => Self::InPass { origin },
            Refused::Busy(Place::Starting | Place::Running) => Self::Running { origin },
            Refused::Busy(Place::Teardown) => Self::Stopping { origin },
        }
    }

    /// The function that was refused, and the container.
    pub fn origin(&self) -> &Origin {
        match self {
            Self::OwnPass { origin }
            | Self::Claimed { origin }
            | Self::InPass { origin }
            | Self::Running { origin }
            | Self::Stopping { origin }
            | Self::Gone { origin } => origin,
        }
    }
}

/// A container's own thread was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The time between passes is out of range.
    #[error("{origin}: {error}")]
    Interval {
        /// The function that was called, with the container.
        origin: Origin,
        /// What is wrong with it.
        error: IntervalError,
    },
    /// Somebody has the container, or it is gone.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// There is no thread to be had.
    #[error("{origin}: no thread could be spawned: {source}")]
    Spawn {
        /// The function that was called, with the container.
        origin: Origin,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A pass or a start-up step did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// It has not begun: somebody else has the container.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// User code failed. What the pass was asked to change is complete, and the next call finds the container in order.
    #[error("{origin}: {failure}")]
    Failed {
        /// The function that was called, with the container.
        origin: Origin,
        /// Who failed, in what, and why.
        #[source]
        failure: Failure,
    },
}

impl UpdateError {
    /// The failure of user code, if it was one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed { failure, .. } => Some(failure),
            Self::Access(_) => None,
        }
    }
}

/// The call of user code that failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// [`System::initialize`](crate::System::initialize).
    Initialize,
    /// [`System::update`](crate::System::update).
    Update,
    /// The callback of the timer of this name.
    Timer(Arc<str>),
    /// [`System::shutdown`](crate::System::shutdown).
    Shutdown,
    /// The run condition of a system.
    Condition,
    /// A function handed over with `defer`.
    Deferred,
    /// A listener: to the events of this Rust type, or to the named events of this name.
    Event(Arc<str>),
    /// A command that the system had queued. See [`Commands`](crate::Commands).
    Command,
    /// An observer, or a command that it queued. See [`World::observe`](crate::World::observe).
    Observer,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initialize => f.write_str("initialize"),
            Self::Update => f.write_str("update"),
            Self::Timer(name) => write!(f, "timer \"{name}\""),
            Self::Shutdown => f.write_str("shutdown"),
            Self::Condition => f.write_str("run condition"),
            Self::Deferred => f.write_str("deferred function"),
            Self::Event(event) => write!(f, "listener to \"{event}\""),
            Self::Command => f.write_str("command"),
            Self::Observer => f.write_str("observer"),
        }
    }
}

/// User code returned an error or panicked.
#[derive(Clone)]
pub struct Failure(Arc<Details>);

struct Details {
    handle: Arc<str>,
    type_name: &'static str,
    phase: Phase,
    error: BoxError,
}

/// Takes the place of an error that is let go of.
#[derive(Debug, thiserror::Error)]
#[error("let go of")]
struct Gone;

impl Drop for Details {
    /// An error is a user's value, and the last to hold a failure may be anybody: a pass that returns an earlier one.
    fn drop(&mut self) {
        let error = std::mem::replace(&mut self.error, Box::new(Gone));
        let _ = user::release(error);
    }
}

impl Failure {
    #[cold]
    pub(crate) fn new(
        handle: &Arc<str>,
        type_name: &'static str,
        phase: Phase,
        error: BoxError,
    ) -> Self {
        Self(Arc::new(Details {
            handle: Arc::clone(handle),
            type_name,
            phase,
            error,
        }))
    }

    /// This failure as an error of the system that meets it on its way.
    pub(crate) fn pass_on(self) -> BoxError {
        Box::new(Reported(self))
    }

    /// The failure of another system, which was logged under that one.
    pub(crate) fn from_another(error: BoxError) -> Result<Self, BoxError> {
        error.downcast::<Reported>().map(|reported| reported.0)
    }

    /// The handle of the system; of the container, if a deferred function failed, or a command that no system queued.
    pub fn handle(&self) -> &str {
        &self.0.handle
    }

    /// The Rust type of the system; of the function, if a deferred function failed.
    pub fn type_name(&self) -> &'static str {
        self.0.type_name
    }

    /// The call that failed.
    pub fn phase(&self) -> &Phase {
        &self.0.phase
    }

    /// What the user code returned. A panic's text reads `panicked: <message>`.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0.error
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("handle", &self.0.handle)
            .field("type_name", &self.0.type_name)
            .field("phase", &self.0.phase)
            .field("error", &self.0.error)
            .finish()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            handle,
            type_name,
            phase,
            error,
        } = &*self.0;
        write!(f, "\"{handle}\" ({type_name}) failed in {phase}: {error}")
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0.error)
    }
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Reported(Failure);

/// A system could not be registered or set up. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// The handle is `""`: nothing could address the system.
    #[error("{origin}: system handle is empty")]
    EmptyHandle {
        /// The function that was called, with the container.
        origin: Origin,
    },
    /// An interval above [`MAX_INTERVAL`].
    #[error(
        "{origin}: interval of system \"{system}\", {} microseconds, is out of range (0 to {})",
        .length.as_micros(), MAX_INTERVAL.as_micros()
    )]
    IntervalOutOfRange {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle of the system.
        system: Arc<str>,
        /// The interval asked for.
        length: Duration,
    },
    /// A timer's length above [`MAX_INTERVAL`].
    #[error(
        "{origin}: length of timer \"{timer}\" of system \"{system}\", {} microseconds, is out of range (0 to {})",
        .length.as_micros(), MAX_INTERVAL.as_micros()
    )]
    TimerOutOfRange {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle of the system.
        system: Arc<str>,
        /// The name of the timer.
        timer: Arc<str>,
        /// The length asked for.
        length: Duration,
    },
    /// The timer's callback takes a system of another Rust type.
    #[error(
        "{origin}: timer \"{timer}\" is for a {expected}, but system \"{system}\" is a {found}"
    )]
    TimerType {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle of the system.
        system: Arc<str>,
        /// The name of the timer.
        timer: Arc<str>,
        /// The type that the callback takes.
        expected: &'static str,
        /// The type of the system.
        found: &'static str,
    },
    /// The systems would wait for each other: each is to run before the next one.
    #[error("{origin}: systems would wait for each other: {}", .systems.join(", then "))]
    Cycle {
        /// The function that was called, with the container.
        origin: Origin,
        /// Their handles; the first one stands at the end as well.
        systems: Vec<Arc<str>>,
    },
    /// The parameters of a typed system contradict each other.
    #[error("{origin}: parameters of system \"{system}\": {fault}")]
    Parameters {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle of the system.
        system: Arc<str>,
        /// What is wrong.
        fault: ParamFault,
    },
    /// The listener's callback takes a system of another Rust type.
    #[error(
        "{origin}: the listener to \"{event}\" is for a {expected}, but system \"{system}\" is a {found}"
    )]
    ListenerType {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle of the system.
        system: Arc<str>,
        /// The type or the name of the events.
        event: Arc<str>,
        /// The type that the callback takes.
        expected: &'static str,
        /// The type of the system.
        found: &'static str,
    },
    /// A queued listener is called just before its system's update, and a storage system has none.
    #[error(
        "{origin}: system \"{system}\" is never updated, so it cannot have a queued listener to \"{event}\""
    )]
    QueuedOnStorage {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle of the system.
        system: Arc<str>,
        /// The type or the name of the events.
        event: Arc<str>,
    },
    /// No system of this handle or key is registered.
    #[error("{origin}: system {system} not found")]
    NotFound {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle or the key as text.
        system: Arc<str>,
    },
    /// The call is about the running system, and none is running.
    #[error("{origin}: no system is running here")]
    NoSystem {
        /// The function that was called, with the container.
        origin: Origin,
    },
    /// A clock of the user's own panicked when it was read.
    #[error("{origin}: the clock of system \"{system}\" {panic}")]
    Clock {
        /// The function that was called, with the container.
        origin: Origin,
        /// The handle of the system.
        system: Arc<str>,
        /// The text of the panic.
        panic: Arc<str>,
    },
}

/// A container could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContainerError {
    /// The handle is `""`: nothing could address the container.
    #[error("{function}: container handle is empty")]
    EmptyHandle {
        /// The function that was called.
        function: &'static str,
    },
    /// The manager is being dropped, or is gone.
    #[error(
        "{function}: container \"{container}\" cannot be made or found: the manager is shutting down"
    )]
    ManagerClosed {
        /// The function that was called.
        function: &'static str,
        /// The handle asked for.
        container: Arc<str>,
    },
}
