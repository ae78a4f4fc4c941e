//! The owner of a container that stands in no manager's table.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::ContainerError;
use super::container::Container;
use super::shared::Shared;
use crate::base::uuid::Uuid;

/// A container and its owner: dropping it stops the container and releases it.
///
/// It derefs to [`Container`], the reference to give away. A container made here stands alone, or attached to a
/// manager, to which it routes messages; no manager lists or stops it.
///
/// It is how one system is tested: with a [`ManualClock`](crate::ManualClock) and
/// [`update`](Container::update).
///
/// ```
/// use std::time::Duration;
/// use ecs::{ManualClock, OwnedContainer};
///
/// let clock = ManualClock::new();
/// let container = OwnedContainer::new("test")?;
/// let mut claim = container.claim()?;
/// claim.set_clock(&clock)?;
/// claim.add_system(ecs::system("tick", |cx| {
///     assert_eq!(cx.this.elapsed(), Duration::from_micros(33_333));
///     Ok(())
/// }))?;
/// drop(claim);
/// container.update()?; // not due yet
/// clock.advance(Duration::from_micros(33_333))?;
/// container.update()?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub struct OwnedContainer {
    container: Container,
}

impl OwnedContainer {
    /// A container of this handle, without a manager.
    ///
    /// # Errors
    ///
    /// [`ContainerError::EmptyHandle`].
    pub fn new(handle: impl Into<Arc<str>>) -> Result<Self, ContainerError> {
        let handle = checked(handle.into(), "ecs::OwnedContainer::new()")?;
        Ok(Self::of(Shared::new(handle, None)))
    }

    /// A container with a generated handle, without a manager.
    pub fn generated() -> Self {
        Self::of(Shared::new(generated_handle(), None))
    }

    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Self {
            container: Container { shared },
        }
    }
}

/// The handle, unless nothing could address the container by it.
pub(crate) fn checked(
    handle: Arc<str>,
    function: &'static str,
) -> Result<Arc<str>, ContainerError> {
    if handle.is_empty() {
        Err(ContainerError::EmptyHandle { function })
    } else {
        Ok(handle)
    }
}

pub(crate) fn generated_handle() -> Arc<str> {
    Uuid::new().to_text().as_str().into()
}

impl Deref for OwnedContainer {
    type Target = Container;

    fn deref(&self) -> &Container {
        &self.container
    }
}

impl Drop for OwnedContainer {
    fn drop(&mut self) {
        self.container.shared.destroy();
    }
}

impl fmt::Debug for OwnedContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedContainer")
            .field(&self.container)
            .finish()
    }
}
