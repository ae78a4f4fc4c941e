//! References to containers: what any thread may do.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::UpdateError;
use super::context::Context;
use super::deferred::{Deferred, Ticket, with_ticket};
use super::shared::{Holder, Shared, StopOutcome};
use crate::base::BoxError;
use crate::base::origin::Origin;
use crate::base::uuid::Uuid;
use crate::lifecycle::Place;
use crate::log::{Level, Logger};
use crate::message::{Mailbox, MessageError};

/// A reference to a container: the operations that any thread may use. All clones are the same container.
///
/// It keeps nothing running: when the container's owner (an [`OwnedContainer`](crate::OwnedContainer), or the
/// [`Manager`](crate::Manager) that made it) is dropped, the container is gone. Claiming, updating and sending are
/// errors then that say so, a stop is complete, deferred functions are dropped, and logging still works.
#[derive(Clone)]
pub struct Container {
    pub(crate) shared: Arc<Shared>,
}

/// Where a container stands at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContainerState {
    /// Nobody runs or holds it.
    Idle,
    /// A claim is held.
    Claimed,
    /// The application is in a pass.
    Updating,
    /// It runs on its own thread.
    Running,
    /// Its systems are being shut down.
    Stopping,
    /// Its systems have been shut down.
    Stopped,
    /// Its owner has been dropped.
    Gone,
}

impl Container {
    /// The handle, which never changes.
    pub fn handle(&self) -> &str {
        &self.shared.handle
    }

    /// The identifier, which never changes.
    pub fn id(&self) -> Uuid {
        self.shared.id
    }

    /// Runs one pass on the calling thread. After a stop it does nothing.
    ///
    /// # Errors
    ///
    /// [`UpdateError::Access`] when somebody else has the container, or the caller is inside a pass of it.
    /// [`UpdateError::Failed`] when user code failed: it has been logged, the systems after it did not run in this
    /// pass, all changes asked for are complete, and the next pass finds the container in order.
    pub fn update(&self) -> Result<(), UpdateError> {
        let Some(body) = self.shared.begin_pass("update")? else {
            return Ok(());
        };
        let mut holder = Holder {
            shared: &self.shared,
            body: Some(body),
        };
        let outcome = holder
            .body
            .as_mut()
            .map_or(Ok(()), |body| body.pass(&self.shared, true));
        drop(holder);
        outcome.map_err(|failure| self.failed("update", failure))
    }

    #[cold]
    pub(crate) fn failed(&self, function: &'static str, failure: super::Failure) -> UpdateError {
        UpdateError::Failed {
            origin: Origin::new(Some(&self.shared.handle), function),
            failure,
        }
    }

    /// Stops the container for good: its systems are shut down, the last registered first.
    ///
    /// From an application thread it returns when that is done, on this thread if nobody has the container, otherwise
    /// on the thread of the running pass. From container code, and while a claim is held, it only records the request.
    ///
    /// An application that drives a container itself ends it like this:
    ///
    /// ```
    /// use ecs::{Context, Manager, Register, StopOutcome, System, SystemResult};
    ///
    /// struct Greeter;
    /// impl System for Greeter {
    ///     fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) }
    ///     fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
    ///         cx.log("goodbye");
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let manager = Manager::new();
    /// let main = manager.container("main")?;
    /// # main.set_silent();
    /// main.claim()?.add_system(Greeter.named("greeter"))?;
    /// for _ in 0..3 {
    ///     main.update()?; // the first one starts the system
    /// }
    /// assert_eq!(main.stop(), StopOutcome::Complete); // the goodbye is said in here, on this thread
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn stop(&self) -> StopOutcome {
        self.shared.stop(None)
    }

    /// As [`stop`](Self::stop), but waits no longer than the time given. The systems' own `shutdown`, if it runs on
    /// this thread, is not interrupted. [`running_system`](Self::running_system) tells what it waited for.
    ///
    /// Of a container's own thread it awaits the last act, not the destructors of thread locals that follow: nobody
    /// can stop waiting for these half-way.
    pub fn stop_within(&self, time: Duration) -> StopOutcome {
        self.shared.stop(Some(time))
    }

    /// Records the request to stop, and never waits. Whoever holds the container carries it out on letting go; if
    /// nobody does, a later [`stop`](Self::stop) or the owner's drop.
    pub fn request_stop(&self) {
        self.shared.request_stop();
    }

    /// Whether a stop was asked for.
    pub fn is_stop_requested(&self) -> bool {
        self.shared.place().1
    }

    /// Where the container stands at this moment.
    pub fn state(&self) -> ContainerState {
        match self.shared.place() {
            (Place::Gone, ..) => ContainerState::Gone,
            (Place::Teardown, ..) => ContainerState::Stopping,
            (Place::Claimed, ..) => ContainerState::Claimed,
            (Place::Passing, ..) => ContainerState::Updating,
            (Place::Starting | Place::Running, ..) => ContainerState::Running,
            (Place::Parked, _, true) => ContainerState::Stopped,
            (Place::Parked, _, false) => ContainerState::Idle,
        }
    }

    /// The handle of the system whose code runs at this moment; `None` when none does. In a pass it is the one that was
    /// updated last, until the next one is due.
    ///
    /// It tells what a container is busy with that does not answer, or whose [`stop_within`](Self::stop_within) has
    /// given up.
    ///
    /// ```
    /// let container = ecs::OwnedContainer::new("main")?;
    /// container.claim()?.add_system(ecs::system("curious", |cx| {
    ///     assert_eq!(cx.container().running_system().as_deref(), Some("curious"));
    ///     Ok(())
    /// }).every_pass())?;
    /// container.update()?;
    /// assert_eq!(container.running_system(), None);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn running_system(&self) -> Option<Arc<str>> {
        self.shared.running.handle()
    }

    /// Hands a function to the container thread, which runs it at the start of the next pass, before the start-up step
    /// and any update. What it changes counts as changed just before that pass.
    ///
    /// Functions run in the order accepted. One that is submitted during a pass runs in the next one. If one fails, it
    /// is logged, the rest of the batch still runs, the first error is returned from the pass, and no system is
    /// updated in it. After a stop was asked for, functions are dropped unrun.
    ///
    /// It is the way into a container that runs on its own thread:
    ///
    /// ```
    /// let manager = ecs::Manager::new();
    /// let main = manager.container("main")?;
    /// main.start()?;
    /// main.defer(|cx| {
    ///     let player = cx.world.spawn_named("player", ())?; // and what else a player consists of
    ///     cx.log(format!("{player:?} has joined"));
    ///     Ok(())
    /// });
    /// # main.set_silent();
    /// # main.defer_ticket(|_| Ok(())).wait()?;
    /// manager.shutdown();
    /// assert!(main.claim()?.world().find("player").is_some());
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    ///
    /// What the function uses it must own:
    ///
    /// ```compile_fail,E0373
    /// fn local(container: &ecs::Container) {
    ///     let name = String::from("door");
    ///     container.defer(|cx| { cx.log(&name); Ok(()) }); // the closure may outlive `name`
    /// }
    /// ```
    pub fn defer(
        &self,
        function: impl FnOnce(&mut Context<'_>) -> Result<(), BoxError> + Send + 'static,
    ) {
        self.shared.push_deferred(Deferred::new(function));
    }

    /// As [`defer`](Self::defer), for a function with a value; the ticket tells what became of it.
    pub fn defer_ticket<T: Send + 'static>(
        &self,
        function: impl FnOnce(&mut Context<'_>) -> Result<T, BoxError> + Send + 'static,
    ) -> Ticket<T> {
        let (deferred, ticket) = with_ticket(function);
        self.shared.push_deferred(deferred);
        ticket
    }

    /// Sends a message to a system of this container; `destination.container` is not read.
    ///
    /// # Errors
    ///
    /// [`MessageError`]: the message is malformed, there is no such system, or the container is gone. Nothing was sent.
    ///
    /// ```
    /// # let manager = ecs::Manager::new();
    /// # let main = manager.container("main")?;
    /// # main.claim()?.add_system(ecs::system("game/Loader", |_| Ok(())))?;
    /// main.message_submit(ecs::json!({
    ///     "destination": { "system": "game/Loader" },
    ///     "file": "level1.map",
    /// }))?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn message_submit(&self, message: Value) -> Result<(), MessageError> {
        self.shared.routes.submit(message)
    }

    /// The mailbox of a registered system, to send to it directly.
    ///
    /// ```
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// # main.claim()?.add_system(ecs::system("game/Loader", |_| Ok(())))?;
    /// let loader = main.mailbox("game/Loader").ok_or("there is no loader")?;
    /// loader.send(ecs::json!({ "file": "level1.map" }))?; // nobody needs to read a destination
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn mailbox(&self, system: &str) -> Option<Mailbox> {
        self.shared.routes.get(system)
    }

    /// Logs a line at level info.
    pub fn log(&self, message: impl AsRef<str>) {
        self.shared.logger.log(message);
    }

    /// Logs a line at a level.
    pub fn log_at<'l>(&self, level: impl Into<Level<'l>>, message: impl AsRef<str>) {
        self.shared.logger.log_at(level, message);
    }

    /// The container's logger, to keep.
    pub fn logger(&self) -> Logger {
        self.shared.logger.clone()
    }

    /// Replaces the log destination, which receives exactly (message, level).
    pub fn set_logger(&self, destination: impl Fn(&str, &str) + Send + Sync + 'static) {
        self.shared.logger.set_destination(destination);
    }

    /// Swallows all log lines from now on.
    pub fn set_silent(&self) {
        self.shared.logger.set_silent();
    }
}

impl Context<'_> {
    /// A reference to the container, to keep or to give away.
    pub fn container(&self) -> Container {
        Container {
            shared: Arc::clone(self.shared),
        }
    }

    /// Hands a function to the next pass. See [`Container::defer`].
    pub fn defer(
        &self,
        function: impl FnOnce(&mut Context<'_>) -> Result<(), BoxError> + Send + 'static,
    ) {
        self.shared.push_deferred(Deferred::new(function));
    }
}

impl PartialEq for Container {
    /// Whether both are references to the same container.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Container {}

impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Container")
            .field("handle", &self.handle())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
