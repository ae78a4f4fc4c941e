//! Timers on their way to a system.

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;
use std::time::Duration;

use super::SystemError;
use super::context::Context;
use super::system::{System, SystemResult, SystemType};
use super::unit::Callback;
use crate::base::origin::Origin;
use crate::time::interval_micros;

/// A timer before it belongs to a system.
///
/// ```
/// use std::time::Duration;
/// use ecs::Timer;
///
/// let hello = Timer::once("hello", Duration::from_secs(10), |cx| {
///     cx.this.log("ready");
///     Ok(())
/// });
/// # drop(hello);
/// ```
pub struct Timer {
    pub(crate) name: Arc<str>,
    pub(crate) length: Duration,
    pub(crate) repeats: bool,
    pub(crate) callback: Callback,
    /// The system type that the callback takes.
    pub(crate) takes: Option<(TypeId, &'static str)>,
}

impl Timer {
    /// A timer that fires every `length` until it is cleared.
    pub fn every(
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        Self::plain(name.into(), length, true, callback)
    }

    /// A timer that fires once.
    pub fn once(
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        Self::plain(name.into(), length, false, callback)
    }

    /// As [`every`](Self::every), with a callback that reaches the fields of its system.
    pub fn every_for<S: System>(
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut S, &mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        Self::typed(name.into(), length, true, callback)
    }

    /// As [`once`](Self::once), with a callback that reaches the fields of its system.
    pub fn once_for<S: System>(
        name: impl Into<Arc<str>>,
        length: Duration,
        callback: impl FnMut(&mut S, &mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        Self::typed(name.into(), length, false, callback)
    }

    fn plain(
        name: Arc<str>,
        length: Duration,
        repeats: bool,
        mut callback: impl FnMut(&mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        Self {
            name,
            length,
            repeats,
            callback: Box::new(move |_, cx| callback(cx)),
            takes: None,
        }
    }

    fn typed<S: System>(
        name: Arc<str>,
        length: Duration,
        repeats: bool,
        mut callback: impl FnMut(&mut S, &mut Context<'_>) -> SystemResult + Send + 'static,
    ) -> Self {
        let callback: Callback = Box::new(move |system, cx| {
            let system: &mut dyn Any = system;
            match system.downcast_mut::<S>() {
                Some(system) => callback(system, cx),
                // Checked when the timer was added.
                None => Err("the timer belongs to a system of another type".into()),
            }
        });
        Self {
            name,
            length,
            repeats,
            callback,
            takes: Some((TypeId::of::<S>(), type_name::<S>())),
        }
    }

    /// The timer's microseconds, if it fits a system of this type.
    pub(crate) fn check(
        &self,
        origin: &dyn Fn() -> Origin,
        handle: &Arc<str>,
        of: SystemType,
    ) -> Result<u64, SystemError> {
        let (system, timer) = (Arc::clone(handle), Arc::clone(&self.name));
        match (self.takes, interval_micros(self.length)) {
            (_, Err(_)) => Err(SystemError::TimerOutOfRange {
                origin: origin(),
                system,
                timer,
                length: self.length,
            }),
            (Some((id, expected)), _) if id != of.id => Err(SystemError::TimerType {
                origin: origin(),
                system,
                timer,
                expected,
                found: of.name,
            }),
            (_, Ok(micros)) => Ok(micros),
        }
    }
}
