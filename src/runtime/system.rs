//! What a system is.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::context::Context;
use super::declared::Declared;
use crate::base::BoxError;
use crate::time::DEFAULT_INTERVAL;

/// What all user code returns. An error is logged with the handle and ends the pass, as a panic does.
pub type SystemResult = Result<(), BoxError>;

/// The logic that runs in a container: one call of `update` for each pass in which the system is due.
///
/// - `initialize` is called exactly once, before the first `update`; a system that is removed before that is never
///   initialised.
/// - `shutdown` is called exactly once on every system that was initialised (also on one whose `initialize` failed),
///   before it is dropped, and on no other.
/// - All calls come one at a time, from the thread that holds the container; a system needs no locks.
/// - A returned error and a panic are the same: logged at level error with the handle, and returned from the pass.
///   The library catches panics, so a program built with `panic = "abort"` does without that promise. The standard
///   panic hook prints before the library can catch.
///
/// ```
/// use ecs::{Context, ManualClock, OwnedContainer, Register, System, SystemResult};
///
/// #[derive(Default)]
/// struct Counter { updates: u32 }
///
/// impl System for Counter {
///     fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
///         self.updates += 1;
///         Ok(())
///     }
/// }
///
/// let container = OwnedContainer::new("main")?;
/// let mut claim = container.claim()?;
/// claim.add_system(Counter::default().named("counter").every_pass())?;
/// claim.update()?;
/// assert_eq!(claim.system::<Counter>("counter").unwrap().updates, 1);
/// # Ok::<(), ecs::BoxError>(())
/// ```
///
/// A system is moved in, so it cannot be registered twice:
///
/// ```compile_fail,E0382
/// # struct Idle;
/// # impl ecs::System for Idle { fn update(&mut self, _: &mut ecs::Context<'_>) -> ecs::SystemResult { Ok(()) } }
/// fn twice(cx: &mut ecs::Context<'_>) -> ecs::SystemResult {
///     let system = Idle;
///     cx.add_system(system)?;
///     cx.add_system(system)?; // spec: SYS-04, use of moved value
///     Ok(())
/// }
/// ```
///
/// And there is no null system:
///
/// ```compile_fail,E0277
/// # struct Idle;
/// # impl ecs::System for Idle { fn update(&mut self, _: &mut ecs::Context<'_>) -> ecs::SystemResult { Ok(()) } }
/// fn none(cx: &mut ecs::Context<'_>) -> ecs::SystemResult {
///     cx.add_system(None::<Idle>)?; // spec: SYS-04, an `Option` is not a system
///     Ok(())
/// }
/// ```
///
/// It moves between threads with its container, so it is `Send`:
///
/// ```compile_fail,E0277
/// struct Local(std::rc::Rc<u32>);
/// impl ecs::System for Local { // `Rc<u32>` cannot be sent between threads safely
///     fn update(&mut self, _: &mut ecs::Context<'_>) -> ecs::SystemResult { Ok(()) }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system",
    label = "the trait `ecs::System` is not implemented for this",
    note = "a closure becomes a system through `ecs::system(\"name\", |cx| {{ …; Ok(()) }})`"
)]
pub trait System: Any + Send {
    /// Called once, before the first update.
    ///
    /// # Errors
    ///
    /// What it returns is logged and returned from the pass. The system counts as started all the same; the systems
    /// after it are started by the next pass.
    fn initialize(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let _ = cx;
        Ok(())
    }

    /// Called on each pass in which the system is due.
    ///
    /// # Errors
    ///
    /// What it returns is logged and returned from the pass; the systems after it do not run in that pass.
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult;

    /// Called once before an initialised system is dropped. It may still read the messages that wait.
    ///
    /// # Errors
    ///
    /// What it returns is logged, and nothing more comes of it.
    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let _ = cx;
        Ok(())
    }

    /// Takes settings. The library never calls it: the code that makes the system does.
    ///
    /// # Errors
    ///
    /// As the system decides.
    fn configure(&mut self, config: &Value) -> SystemResult {
        let _ = config;
        Ok(())
    }

    #[doc(hidden)]
    fn default_interval() -> Duration
    where
        Self: Sized,
    {
        DEFAULT_INTERVAL
    }

    /// Describes the system as JSON, for the export of its container. The default is `{}`.
    ///
    /// ```
    /// use ecs::{Context, OwnedContainer, Register, System, SystemResult, Value, json};
    ///
    /// struct Loader { level: u32 }
    ///
    /// impl System for Loader {
    ///     fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) }
    ///     fn export(&self) -> Value { json!({ "level": self.level }) }
    /// }
    ///
    /// let container = OwnedContainer::new("main")?;
    /// let mut claim = container.claim()?;
    /// claim.add_system(Loader { level: 7 }.named("game/Loader"))?;
    /// assert_eq!(
    ///     claim.export(),
    ///     json!({ "Handle": "main", "Systems": { "game/Loader": { "level": 7 } } }),
    /// );
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    fn export(&self) -> Value {
        Value::Object(Map::new())
    }

    /// What errors and listings call its type.
    #[doc(hidden)]
    fn shown_type() -> &'static str
    where
        Self: Sized,
    {
        type_name::<Self>()
    }

    /// The system as one that says what it reaches.
    #[doc(hidden)]
    fn declared(&mut self) -> Option<&mut dyn Declared> {
        None
    }
}

/// A closure as a system; made by [`system`](crate::system).
pub struct FnSystem<F>(pub(crate) F);

impl<F> System for FnSystem<F>
where
    F: FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
{
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        (self.0)(cx)
    }
}

/// The Rust type of a system.
#[derive(Clone, Copy)]
pub(crate) struct SystemType {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
}

impl SystemType {
    pub(crate) fn of<S: System>() -> Self {
        Self {
            id: TypeId::of::<S>(),
            name: S::shown_type(),
        }
    }
}

/// Constant-time access to one registered system of one container. It never reaches a successor.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SystemKey {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl fmt::Debug for SystemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemKey({}v{})", self.slot, self.generation)
    }
}

/// What a system is addressed by: its handle or its [`SystemKey`].
pub trait Which: sealed::Which {}

impl<T: sealed::Which> Which for T {}

pub(crate) mod sealed {
    use super::{Arc, SystemKey};

    pub trait Which {
        #[doc(hidden)]
        fn key(&self, find: &dyn Fn(&str) -> Option<SystemKey>) -> Option<SystemKey>;
        #[doc(hidden)]
        fn text(&self) -> Arc<str>;
    }

    impl Which for SystemKey {
        fn key(&self, _: &dyn Fn(&str) -> Option<SystemKey>) -> Option<SystemKey> {
            Some(*self)
        }

        fn text(&self) -> Arc<str> {
            format!("{self:?}").into()
        }
    }

    impl Which for str {
        fn key(&self, find: &dyn Fn(&str) -> Option<SystemKey>) -> Option<SystemKey> {
            find(self)
        }

        fn text(&self) -> Arc<str> {
            self.into()
        }
    }

    macro_rules! by_text {
        ($($text:ty),*) => {$(
            impl Which for $text {
                fn key(&self, find: &dyn Fn(&str) -> Option<SystemKey>) -> Option<SystemKey> {
                    find(self)
                }

                fn text(&self) -> Arc<str> {
                    (&**self).into()
                }
            }
        )*};
    }
    by_text!(String, Arc<str>);

    impl<T: Which + ?Sized> Which for &T {
        fn key(&self, find: &dyn Fn(&str) -> Option<SystemKey>) -> Option<SystemKey> {
            (**self).key(find)
        }

        fn text(&self) -> Arc<str> {
            (**self).text()
        }
    }
}
