//! How a system comes into a container: builders, closures, timers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::SystemError;
use super::arrangement::{Asked, Other};
use super::context::Context;
use super::listener::Listener;
use super::policy::Policy;
use super::system::{FnSystem, System, SystemResult, SystemType};
use super::timer::Timer;
use super::unit::Condition;
use crate::base::origin::Origin;
use crate::base::user;
use crate::log::HeldLines;
use crate::time::{SharedClock, interval_micros};
use crate::world::World;

/// A system on its way into a container: handle, interval, clock, timers.
///
/// The builder takes faults silently; `add_system` returns the first one, and nothing has changed then.
///
/// ```
/// use std::time::Duration;
/// use ecs::{Context, OwnedContainer, Register, System, SystemResult};
///
/// #[derive(Default)]
/// struct Saver { saved: u32 }
///
/// impl Saver {
///     fn save(&mut self) -> SystemResult { self.saved += 1; Ok(()) }
/// }
/// impl System for Saver {
///     fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) }
/// }
///
/// let container = OwnedContainer::new("main")?;
/// container.claim()?.add_system(
///     Saver::default()
///         .named("game/Saver")
///         .interval(Duration::from_millis(20))
///         .timer_every("autosave", Duration::from_secs(7200), |saver, _| saver.save()),
/// )?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub struct Registration<S> {
    pub(crate) system: S,
    pub(crate) parts: Parts,
}

/// What a registration holds beside the system itself.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) handle: Option<Arc<str>>,
    pub(crate) interval: Option<Duration>,
    pub(crate) clock: Option<SharedClock>,
    pub(crate) timers: Vec<Timer>,
    pub(crate) condition: Option<Condition>,
    pub(crate) off: bool,
    pub(crate) lines: Vec<HeldLines>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) policy: Policy,
    pub(crate) asked: Vec<Asked>,
}

impl Parts {
    /// The first fault, in the order of the tables: the handle, the interval, the timers, the listeners.
    pub(crate) fn check(
        &self,
        origin: &dyn Fn() -> Origin,
        handle: &Arc<str>,
        of: SystemType,
    ) -> Result<(), SystemError> {
        if handle.is_empty() {
            return Err(SystemError::EmptyHandle { origin: origin() });
        }
        if let Some(length) = self.interval
            && interval_micros(length).is_err()
        {
            return Err(SystemError::IntervalOutOfRange {
                origin: origin(),
                system: Arc::clone(handle),
                length,
            });
        }
        self.timers
            .iter()
            .try_for_each(|timer| timer.check(origin, handle, of).map(drop))?;
        let updated = self.policy != Policy::Storage;
        self.listeners
            .iter()
            .try_for_each(|listener| listener.check(origin, handle, of, updated))
    }

    /// Drops what was refused piece by piece, each user value by itself: two panics in one piece would abort.
    pub(crate) fn release(self) {
        let Self {
            timers,
            condition,
            lines,
            listeners,
            ..
        } = self;
        for listener in listeners {
            let _ = user::release(listener);
        }
        for timer in timers {
            let _ = user::release(timer);
        }
        let _ = user::release(condition);
        let _ = user::release(lines);
    }
}

impl<S: System> Registration<S> {
    fn new(system: S) -> Self {
        let parts = Parts {
            interval: Some(S::default_interval()),
            ..Parts::default()
        };
        Self { system, parts }
    }

    /// Gives the system a handle; without one a version 4 identifier is generated.
    #[must_use]
    pub fn named(mut self, handle: impl Into<Arc<str>>) -> Self {
        self.parts.handle = Some(handle.into());
        self
    }

    /// The time between two updates; the default is [`DEFAULT_INTERVAL`](crate::DEFAULT_INTERVAL), zero means every
    /// pass.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.parts.interval = Some(interval);
        self
    }

    /// An update on every pass: an interval of zero.
    #[must_use]
    pub fn every_pass(self) -> Self {
        self.interval(Duration::ZERO)
    }

    /// The system's own clock, instead of its container's; `None` is the real one.
    #[must_use]
    pub fn clock(mut self, clock: impl Into<Option<SharedClock>>) -> Self {
        self.parts.clock = Some(clock.into().unwrap_or_default());
        self
    }

    /// A timer that fires every `length`, first one length after the registration.
    #[must_use]
    pub fn timer_every(
        self,
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut S, &mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        self.timer(Timer::every_for(name, length, callback))
    }

    /// A timer that fires once, one length after the registration.
    #[must_use]
    pub fn timer_once(
        self,
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut S, &mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        self.timer(Timer::once_for(name, length, callback))
    }

    /// A timer made before.
    #[must_use]
    pub fn timer(mut self, timer: Timer) -> Self {
        self.parts.timers.push(timer);
        self
    }

    /// Calls the system with each event of a type, in the root step of the pass that delivers it. See [`Listener`].
    ///
    /// ```
    /// use ecs::{Context, OwnedContainer, Register, System, SystemResult};
    ///
    /// struct Hit(u32);
    ///
    /// #[derive(Default)]
    /// struct Score { points: u32 }
    /// impl System for Score {
    ///     fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) }
    /// }
    ///
    /// let main = OwnedContainer::new("main")?;
    /// let mut claim = main.claim()?;
    /// claim.add_system(Score::default().named("score").listen::<Hit>(|score, _, hit| {
    ///     score.points += hit.0;
    ///     Ok(())
    /// }))?;
    /// claim.update()?; // starts the system
    /// main.send_event(Hit(3));
    /// claim.update()?;
    /// assert_eq!(claim.system::<Score>("score").unwrap().points, 3);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    #[must_use]
    pub fn listen<E: Send + Sync + 'static>(
        self,
        callback: impl FnMut(&mut S, &mut Context<'_>, &E) -> SystemResult + Send + 'static,
    ) -> Self {
        self.listener(Listener::to_for(callback))
    }

    /// Calls the system with each event of a type, just before its update. See [`Listener::queued`].
    ///
    /// ```
    /// # use ecs::{Context, OwnedContainer, Register, System, SystemResult};
    /// struct Hit(u32);
    /// # #[derive(Default)]
    /// # struct Score { points: u32 }
    /// # impl System for Score { fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) } }
    ///
    /// # let main = OwnedContainer::new("main")?;
    /// # let mut claim = main.claim()?;
    /// let score = Score::default().named("score").every_pass();
    /// claim.add_system(score.listen_queued(|score, _, hit: &Hit| {
    ///     score.points += hit.0;
    ///     Ok(())
    /// }))?;
    /// main.send_event(Hit(3));
    /// claim.update()?; // starts the system, then it is its turn
    /// assert_eq!(claim.system::<Score>("score").unwrap().points, 3);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    #[must_use]
    pub fn listen_queued<E: Send + Sync + 'static>(
        self,
        callback: impl FnMut(&mut S, &mut Context<'_>, &E) -> SystemResult + Send + 'static,
    ) -> Self {
        self.listener(Listener::to_for(callback).queued())
    }

    /// Calls the system with each [named event](crate::NamedEvent) of a name, in the root step of the pass that
    /// delivers it.
    ///
    /// ```
    /// # let main = ecs::OwnedContainer::new("main")?;
    /// # main.set_silent();
    /// main.claim()?.add_system(ecs::system("mouse", |_| Ok(())).listen_named(
    ///     "OnMouseClick",
    ///     |_, cx, click| {
    ///         cx.log(format!("clicked at {}", click["x"]));
    ///         Ok(())
    ///     },
    /// ))?;
    /// main.send_named_event("OnMouseClick", ecs::json!({ "x": 3 }));
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    #[must_use]
    pub fn listen_named(
        self,
        name: impl Into<Arc<str>>,
        callback: impl FnMut(&mut S, &mut Context<'_>, &Value) -> SystemResult + Send + 'static,
    ) -> Self {
        self.listener(Listener::to_named_for(name, callback))
    }

    /// Calls the system with each [named event](crate::NamedEvent) of a name, just before its update.
    #[must_use]
    pub fn listen_named_queued(
        self,
        name: impl Into<Arc<str>>,
        callback: impl FnMut(&mut S, &mut Context<'_>, &Value) -> SystemResult + Send + 'static,
    ) -> Self {
        self.listener(Listener::to_named_for(name, callback).queued())
    }

    /// A listener made before.
    #[must_use]
    pub fn listener(mut self, listener: Listener) -> Self {
        self.parts.listeners.push(listener);
        self
    }

    /// What part the system takes in a pass; [`Policy::Sequential`] unless told otherwise.
    ///
    /// ```
    /// use ecs::{OwnedContainer, Policy, SystemError};
    ///
    /// struct Hit(u32);
    ///
    /// let main = OwnedContainer::new("main")?;
    /// let mut claim = main.claim()?;
    /// let storage = || ecs::system("hits", |_| Ok(())).policy(Policy::Storage);
    /// let refused = claim.add_system(storage().listen_queued::<Hit>(|_, _, _| Ok(())));
    /// assert!(matches!(refused, Err(SystemError::QueuedOnStorage { .. })));
    /// claim.add_system(storage().listen::<Hit>(|_, _, _| Ok(())))?;
    /// claim.update()?;
    /// let context = claim.context();
    /// let info = context.system_info("hits").unwrap();
    /// assert_eq!((info.policy(), info.updates()), (Policy::Storage, 0));
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.parts.policy = policy;
        self
    }

    /// The system runs only in the passes in which it is due and the condition holds. While it does not, messages
    /// wait, timers do not fire, and the schedule goes on.
    #[must_use]
    pub fn run_if(mut self, condition: impl FnMut(&World) -> bool + Send + 'static) -> Self {
        self.parts.condition = Some(Box::new(condition));
        self
    }

    /// The system runs after another one in every pass, whichever was registered first. That one must be registered when
    /// this one is added. See [`Context::succeeds`].
    #[must_use]
    pub fn succeeds(self, earlier: impl Into<Arc<str>>) -> Self {
        self.ask(Other::Handle(earlier.into()), true)
    }

    /// The system runs before another one in every pass. See [`succeeds`](Self::succeeds).
    #[must_use]
    pub fn precedes(self, later: impl Into<Arc<str>>) -> Self {
        self.ask(Other::Handle(later.into()), false)
    }

    /// The system runs after every system of the Rust type `E` that is registered when this one is added. See
    /// [`succeeds`](Self::succeeds).
    #[must_use]
    pub fn succeeds_type<E: System>(self) -> Self {
        self.ask(Other::Type(SystemType::of::<E>()), true)
    }

    /// The system runs before every system of the Rust type `L` that is registered when this one is added. See
    /// [`succeeds`](Self::succeeds).
    #[must_use]
    pub fn precedes_type<L: System>(self) -> Self {
        self.ask(Other::Type(SystemType::of::<L>()), false)
    }

    fn ask(mut self, other: Other, other_first: bool) -> Self {
        self.parts.asked.push(Asked { other, other_first });
        self
    }

    /// The system is switched off until it is switched on.
    #[must_use]
    pub fn switched_off(mut self) -> Self {
        self.parts.off = true;
        self
    }

    /// Lines that the system logged before it had a container. The registration delivers them in order, with the
    /// handle in front, before the system is started.
    #[must_use]
    pub fn held_lines(mut self, lines: &HeldLines) -> Self {
        self.parts.lines.push(lines.clone());
        self
    }

    /// The system itself.
    pub fn system(&self) -> &S {
        &self.system
    }

    /// The system itself, for instance to [`configure`](System::configure) it.
    pub fn system_mut(&mut self) -> &mut S {
        &mut self.system
    }
}

/// The builder's methods on every system: each makes a [`Registration`].
pub trait Register: System + Sized {
    /// See [`Registration::named`].
    fn named(self, handle: impl Into<Arc<str>>) -> Registration<Self> {
        Registration::new(self).named(handle)
    }

    /// A registration with a generated handle.
    fn unnamed(self) -> Registration<Self> {
        Registration::new(self)
    }

    /// See [`Registration::interval`].
    fn interval(self, interval: Duration) -> Registration<Self> {
        Registration::new(self).interval(interval)
    }

    /// See [`Registration::every_pass`].
    fn every_pass(self) -> Registration<Self> {
        Registration::new(self).every_pass()
    }

    /// See [`Registration::clock`].
    fn clock(self, clock: impl Into<Option<SharedClock>>) -> Registration<Self> {
        Registration::new(self).clock(clock)
    }

    /// See [`Registration::timer_every`].
    fn timer_every(
        self,
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut Self, &mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Registration<Self> {
        Registration::new(self).timer_every(name, length, callback)
    }

    /// See [`Registration::timer_once`].
    fn timer_once(
        self,
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut Self, &mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Registration<Self> {
        Registration::new(self).timer_once(name, length, callback)
    }

    /// See [`Registration::listen`].
    fn listen<E: Send + Sync + 'static>(
        self,
        callback: impl FnMut(&mut Self, &mut Context<'_>, &E) -> SystemResult + Send + 'static,
    ) -> Registration<Self> {
        Registration::new(self).listen(callback)
    }

    /// See [`Registration::listen_queued`].
    fn listen_queued<E: Send + Sync + 'static>(
        self,
        callback: impl FnMut(&mut Self, &mut Context<'_>, &E) -> SystemResult + Send + 'static,
    ) -> Registration<Self> {
        Registration::new(self).listen_queued(callback)
    }

    /// See [`Registration::policy`].
    fn policy(self, policy: Policy) -> Registration<Self> {
        Registration::new(self).policy(policy)
    }

    /// See [`Registration::run_if`].
    fn run_if(self, condition: impl FnMut(&World) -> bool + Send + 'static) -> Registration<Self> {
        Registration::new(self).run_if(condition)
    }
}

impl<S: System> Register for S {}

/// What `add_system` takes: a system, or a [`Registration`] of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a system nor a registration of one",
    label = "the trait `ecs::System` is not implemented for this",
    note = "a closure becomes a system through `ecs::system(\"name\", |cx| {{ …; Ok(()) }})`"
)]
pub trait IntoRegistration {
    /// The type of the system.
    type System: System;

    /// The registration.
    fn into_registration(self) -> Registration<Self::System>;
}

impl<S: System> IntoRegistration for S {
    type System = S;

    fn into_registration(self) -> Registration<S> {
        Registration::new(self)
    }
}

impl<S: System> IntoRegistration for Registration<S> {
    type System = S;

    fn into_registration(self) -> Self {
        self
    }
}

/// A closure as a system with a handle.
///
/// ```
/// let container = ecs::OwnedContainer::new("main")?;
/// let mut updates = 0;
/// container.claim()?.add_system(
///     ecs::system("count", move |cx| {
///         updates += 1;
///         cx.this.log(format!("update {updates}"));
///         Ok(())
///     })
///     .every_pass(),
/// )?;
/// # container.set_silent();
/// container.update()?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub fn system<F>(handle: impl Into<Arc<str>>, update: F) -> Registration<FnSystem<F>>
where
    F: FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
{
    FnSystem(update).named(handle)
}
