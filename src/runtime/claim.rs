//! Exclusive access to a container that nobody runs.

use std::fmt;

use serde_json::Value;

use super::body::Body;
use super::container::Container;
use super::context::Context;
use super::registration::IntoRegistration;
use super::registry::Registered;
use super::system::{System, Which};
use super::{AccessError, SystemError, UpdateError};
use crate::parallel::crew::Workers;
use crate::time::SharedClock;
use crate::world::World;

/// Exclusive access to a container, until it is dropped. It may move to another thread.
///
/// While it is held, nobody else can run or change the container, and a stop is only recorded; it is carried out when
/// the claim is dropped, on its thread.
///
/// Everything that container code may do is reached through [`context`](Self::context); the calls that programs need
/// most stand here too.
#[must_use = "a claim is given back when it is dropped"]
pub struct Claim {
    container: Container,
    /// Taken out only by the drop.
    body: Option<Box<Body>>,
}

impl Container {
    /// Takes exclusive access to a container that nobody runs. It never waits.
    ///
    /// # Errors
    ///
    /// [`AccessError`] while a pass, the container's own thread or another claim has it, and when it is gone.
    pub fn claim(&self) -> Result<Claim, AccessError> {
        self.shared
            .claim()
            .map(|body| Claim::new(self.clone(), body))
    }
}

impl Claim {
    pub(crate) fn new(container: Container, body: Box<Body>) -> Self {
        Self {
            container,
            body: Some(body),
        }
    }

    /// The container that is claimed.
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// For the start, which hands the body over.
    pub(super) fn take_body(&mut self) -> Option<Box<Body>> {
        self.body.take()
    }

    fn parts(&mut self) -> (&Container, &mut Body) {
        let Self { container, body } = self;
        (
            container,
            body.as_mut()
                .expect("the body is here until the claim is dropped"),
        )
    }

    /// What container code may do, with no system running.
    pub fn context(&mut self) -> Context<'_> {
        let (container, body) = self.parts();
        body.context(&container.shared)
    }

    /// Entities, components and resources.
    pub fn world(&mut self) -> &mut World {
        let (container, body) = self.parts();
        body.adopt_world(&container.shared);
        &mut body.world
    }

    /// Runs one pass, as [`Container::update`] does.
    ///
    /// # Errors
    ///
    /// [`UpdateError::Failed`] when user code failed.
    pub fn update(&mut self) -> Result<(), UpdateError> {
        self.run("update", |body, container| {
            body.pass(&container.shared, true)
        })
    }

    /// Runs the start-up step by itself: initialises every system that has not been.
    ///
    /// # Errors
    ///
    /// [`UpdateError::Failed`] when an `initialize` failed.
    pub fn initialize_systems(&mut self) -> Result<(), UpdateError> {
        self.run("initialize_systems", |body, container| {
            body.step(&container.shared, true)
        })
    }

    /// Updates one system: delivers its messages, reads the clock once, fires due timers and updates, whether the
    /// system is due, switched on and its run condition holds, or not. Its schedule is left alone. A system that has
    /// not been initialised is first. After a stop, and for an unknown system, it does nothing.
    ///
    /// # Errors
    ///
    /// [`UpdateError::Failed`] when user code failed.
    ///
    /// So a system can be tried without sleeping:
    ///
    /// ```
    /// use std::time::Duration;
    /// use ecs::{Context, ManualClock, OwnedContainer, Register, System, SystemResult};
    ///
    /// #[derive(Default)]
    /// struct Saver { saved: u32 }
    /// impl System for Saver {
    ///     fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) }
    /// }
    ///
    /// let clock = ManualClock::new();
    /// let container = OwnedContainer::new("test")?;
    /// # container.set_silent();
    /// let mut claim = container.claim()?;
    /// let two_hours = Duration::from_hours(2);
    /// claim.add_system(
    ///     Saver::default()
    ///         .named("game/Saver")
    ///         .clock(&clock)
    ///         .timer_every("autosave", two_hours, |saver, _| { saver.saved += 1; Ok(()) })
    ///         .timer_once("welcome", Duration::from_secs(10), |_, cx| { cx.log("ready"); Ok(()) }),
    /// )?;
    /// clock.advance(two_hours)?;
    /// claim.update_system("game/Saver")?;
    /// assert_eq!(claim.system::<Saver>("game/Saver").unwrap().saved, 1);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn update_system(&mut self, which: impl Which) -> Result<(), UpdateError> {
        let Some(key) = self.context().system_key(which) else {
            return Ok(());
        };
        self.run("update_system", |body, container| {
            body.update_one(key.slot as usize, &container.shared)
        })
    }

    fn run(
        &mut self,
        function: &'static str,
        run: impl FnOnce(&mut Body, &Container) -> Result<(), super::Failure>,
    ) -> Result<(), UpdateError> {
        let (container, body) = self.parts();
        if !container.shared.begin_claimed_pass() {
            return Ok(());
        }
        let outcome = run(body, container);
        container.shared.end_claimed_pass(body);
        outcome.map_err(|failure| container.failed(function, failure))
    }

    /// See [`Context::add_system`].
    ///
    /// # Errors
    ///
    /// [`SystemError`]; nothing has changed then, and the system was dropped.
    pub fn add_system(&mut self, system: impl IntoRegistration) -> Result<Registered, SystemError> {
        self.context().add_system(system)
    }

    /// See [`Context::remove_system`]: outside a pass the system is shut down and dropped during this call.
    pub fn remove_system(&mut self, which: impl Which) -> bool {
        self.context().remove_system(which)
    }

    /// See [`Context::set_clock`].
    ///
    /// # Errors
    ///
    /// [`SystemError::Clock`] when the clock panics on being read. Nothing has changed then.
    pub fn set_clock(&mut self, clock: impl Into<Option<SharedClock>>) -> Result<(), SystemError> {
        self.context().set_clock(clock)
    }

    /// See [`Context::set_workers`].
    pub fn set_workers<'w>(&mut self, workers: impl Into<Option<&'w Workers>>) {
        self.context().set_workers(workers);
    }

    /// A registered system as its own type.
    pub fn system<S: System>(&mut self, which: impl Which) -> Option<&S> {
        self.system_mut(which).map(|system| &*system)
    }

    /// A registered system as its own type, to change.
    pub fn system_mut<S: System>(&mut self, which: impl Which) -> Option<&mut S> {
        self.parts().1.system_mut(&which)
    }

    /// The container as JSON. See [`Context::export`].
    ///
    /// # Panics
    ///
    /// When a user's `export` does.
    pub fn export(&mut self) -> Value {
        self.context().export()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            self.container.shared.give_back(body);
        }
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("container", &self.container.handle())
            .finish_non_exhaustive()
    }
}
