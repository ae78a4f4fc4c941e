//! Who reports an error: the function, and the container that it belongs to.

use std::fmt;
use std::sync::Arc;

/// The front of an error's text: the library's function that was called.
///
/// Written `ecs::World::insert()`, or `ecs::Container("main")::insert()` when the world belongs to a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    container: Option<Arc<str>>,
    function: &'static str,
}

impl Origin {
    pub(crate) fn new(container: Option<&Arc<str>>, function: &'static str) -> Self {
        Self {
            container: container.cloned(),
            function,
        }
    }

    /// The handle of the container, if the world belongs to one.
    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// The name of the function.
    pub fn function(&self) -> &'static str {
        self.function
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.container {
            Some(handle) => write!(f, "ecs::Container(\"{handle}\")::{}()", self.function),
            None => write!(f, "ecs::World::{}()", self.function),
        }
    }
}
