//! The table of containers: its owner and the references to it.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Weak};

use ahash::AHashMap;
use serde_json::Value;

use super::ContainerError;
use super::container::Container;
use super::context::Context;
use super::owned::{OwnedContainer, checked, generated_handle};
use super::shared::Shared;
use crate::base::lock::{AtomicBool, Ordering, RwLock};
use crate::base::user;
use crate::message::{self, MessageError, MessageErrorKind, MessageLimits};

/// The process-wide manager.
///
/// It is never destroyed, and the library installs no exit hook: a program that uses it calls `ECS.shutdown()` before
/// `main` returns.
///
/// ```
/// use ecs::ECS;
///
/// fn main() -> Result<(), ecs::BoxError> {
///     let main = ECS.container("main")?;
///     main.claim()?.add_system(ecs::system("idle", |_| Ok(())))?;
///     main.start()?;
///     // … the program runs …
///     ECS.shutdown(); // stops every container that has a thread, and waits for it
///     assert!(!ECS.is_running());
///     Ok(())
/// }
/// ```
pub static ECS: LazyLock<Manager> = LazyLock::new(Manager::new);

/// The owner of containers. It derefs to [`ManagerRef`], the reference to give away.
///
/// Dropping it shuts the manager down while every container still exists, then closes it, then destroys its
/// containers, the last made first.
///
/// ```
/// use ecs::Manager;
/// use serde_json::json;
///
/// let manager = Manager::new();
/// let main = manager.container("main")?;
/// main.claim()?.add_system(
///     ecs::system("greeter", |cx| {
///         while let Some(message) = cx.this.next_message() {
///             cx.this.log(format!("hello {}", message["name"]));
///         }
///         Ok(())
///     })
///     .every_pass(),
/// )?;
/// manager.message_submit(json!({
///     "destination": { "container": "main", "system": "greeter" },
///     "name": "you",
/// }))?;
/// # main.set_silent();
/// main.update()?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub struct Manager {
    reference: ManagerRef,
    table: Arc<Table>,
}

/// A reference to a manager: what any thread may do. It does not keep the manager alive; when that is gone, nothing
/// runs any more and containers can neither be made nor found.
#[derive(Clone)]
pub struct ManagerRef {
    /// Weak, so that a container that knows its manager makes no cycle.
    table: Weak<Table>,
}

struct Table {
    running: AtomicBool,
    containers: RwLock<Containers>,
}

#[derive(Default)]
struct Containers {
    closed: bool,
    /// In order of creation.
    list: Vec<OwnedContainer>,
    by_handle: AHashMap<Arc<str>, Container>,
}

impl Manager {
    /// A manager without containers.
    pub fn new() -> Self {
        let table = Arc::new(Table {
            running: AtomicBool::new(true),
            containers: RwLock::new(Containers::default()),
        });
        Self {
            reference: ManagerRef {
                table: Arc::downgrade(&table),
            },
            table,
        }
    }

    /// A reference to give away.
    pub fn reference(&self) -> ManagerRef {
        self.reference.clone()
    }
}

impl Default for Manager {
    fn default() -> Self {
        Self::new()
    }
}

impl ManagerRef {
    /// The container of this handle, made when there is none yet. Many threads may ask at the same time: there is one.
    ///
    /// # Errors
    ///
    /// [`ContainerError`]: the handle is empty, or the manager is being dropped or gone.
    pub fn container(
        &self,
        handle: impl AsRef<str> + Into<Arc<str>>,
    ) -> Result<Container, ContainerError> {
        const FUNCTION: &str = "ecs::Manager::container()";
        if handle.as_ref().is_empty() {
            return Err(ContainerError::EmptyHandle { function: FUNCTION });
        }
        let Some(table) = self.table.upgrade() else {
            return Err(closed(FUNCTION, handle.into()));
        };
        if let Some(known) = table.containers.read().by_handle.get(handle.as_ref()) {
            return Ok(known.clone());
        }
        self.make(&table, handle.into(), FUNCTION)
    }

    /// A new container with a generated handle.
    ///
    /// # Errors
    ///
    /// [`ContainerError::ManagerClosed`] when the manager is being dropped or gone.
    pub fn new_container(&self) -> Result<Container, ContainerError> {
        const FUNCTION: &str = "ecs::Manager::new_container()";
        let handle = generated_handle();
        match self.table.upgrade() {
            Some(table) => self.make(&table, handle, FUNCTION),
            None => Err(closed(FUNCTION, handle)),
        }
    }

    /// Makes a container outside the lock. Whoever comes second to the table drops what it made.
    fn make(
        &self,
        table: &Table,
        handle: Arc<str>,
        function: &'static str,
    ) -> Result<Container, ContainerError> {
        let made = OwnedContainer::of(Shared::new(Arc::clone(&handle), Some(self.clone())));
        let (result, _surplus) = {
            let mut containers = table.containers.write();
            if containers.closed {
                (Err(closed(function, handle)), Some(made))
            } else if let Some(known) = containers.by_handle.get(&handle) {
                (Ok(known.clone()), Some(made))
            } else {
                let container = Container::clone(&made);
                containers.by_handle.insert(handle, container.clone());
                containers.list.push(made);
                (Ok(container), None)
            }
        };
        result
    }

    /// The containers at this moment, in order of creation.
    pub fn containers(&self) -> Vec<Container> {
        self.table.upgrade().map_or_else(Vec::new, |table| {
            table
                .containers
                .read()
                .list
                .iter()
                .map(|owned| Container::clone(owned))
                .collect()
        })
    }

    /// False once a shutdown was asked for, and never true again.
    pub fn is_running(&self) -> bool {
        self.table
            .upgrade()
            .is_some_and(|table| table.running.load(Ordering::Acquire))
    }

    /// Shuts the manager down: `is_running` becomes false for good, no container can be started any more, and every
    /// container with a thread of its own is asked to stop.
    ///
    /// From an application thread it returns after each of these has shut its systems down and its thread has ended.
    /// Container code never waits: from there only the request is recorded, and a later call of the application does
    /// the waiting. Containers that the application drives are not stopped, and no container is destroyed.
    pub fn shutdown(&self) {
        let threaded = self.request_shutdown();
        if !user::is_inside() {
            for container in threaded {
                container.stop();
            }
        }
    }

    /// Asks all, waits for nobody; gives the containers that have a thread.
    pub(super) fn request_shutdown(&self) -> Vec<Container> {
        let Some(table) = self.table.upgrade() else {
            return Vec::new();
        };
        // Before the walk: a container that is started afterwards sees it, one that was started before is in the walk.
        table.running.store(false, Ordering::SeqCst);
        drop(table);
        let mut containers = self.containers();
        containers.retain(|container| container.shared.manager_asks());
        containers
    }

    /// Sends a message to the system of the container that its `destination` names.
    ///
    /// # Errors
    ///
    /// [`MessageError`]: the message is malformed, there is no such container or system, or the manager is being
    /// dropped or gone. Nothing was sent.
    ///
    /// A system writes to another container through its manager, and to itself like to anybody: it reads that in the next
    /// pass.
    ///
    /// ```
    /// use ecs::{Context, Manager, SystemResult, json};
    ///
    /// fn ping(cx: &mut Context<'_>) -> SystemResult {
    ///     while let Some(message) = cx.this.next_message() {
    ///         cx.log(format!("got {}", message["payload"]));
    ///     }
    ///     let manager = cx.manager().ok_or("no manager")?;
    ///     for (container, system) in [("b", "pong"), ("a", "ping")] {
    ///         let destination = json!({ "container": container, "system": system });
    ///         manager.message_submit(json!({ "destination": destination, "payload": "ping" }))?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// let manager = Manager::new();
    /// let (a, b) = (manager.container("a")?, manager.container("b")?);
    /// a.claim()?.add_system(ecs::system("ping", ping).every_pass())?;
    /// let pong = ecs::system("pong", |cx| {
    ///     assert_eq!(cx.this.messages_waiting(), 1);
    ///     Ok(())
    /// });
    /// b.claim()?.add_system(pong.every_pass())?;
    /// # a.set_silent();
    /// a.update()?;
    /// b.update()?;
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn message_submit(&self, message: Value) -> Result<(), MessageError> {
        message::submit(message, MessageLimits::default(), |handle| {
            let Some(table) = self.table.upgrade() else {
                return Err(MessageErrorKind::ManagerClosed);
            };
            let containers = table.containers.read();
            match containers.by_handle.get(handle) {
                _ if containers.closed => Err(MessageErrorKind::ManagerClosed),
                Some(container) => Ok(Arc::clone(&container.shared.routes)),
                None => Err(MessageErrorKind::ContainerNotFound {
                    container: handle.to_owned(),
                }),
            }
        })
    }
}

impl OwnedContainer {
    /// A container of this handle that belongs to a manager: it routes messages to the manager's containers, and obeys
    /// its shutdown in that it cannot be started afterwards. It is not listed by the manager, and not stopped by it.
    ///
    /// # Errors
    ///
    /// [`ContainerError::EmptyHandle`].
    pub fn attached(
        handle: impl Into<Arc<str>>,
        manager: &ManagerRef,
    ) -> Result<Self, ContainerError> {
        let handle = checked(handle.into(), "ecs::OwnedContainer::attached()")?;
        Ok(Self::of(Shared::new(handle, Some(manager.clone()))))
    }
}

impl Container {
    /// The manager, if the container has one; this never changes. The reference does not keep the manager alive.
    pub fn manager(&self) -> Option<ManagerRef> {
        self.shared.manager.clone()
    }
}

impl Context<'_> {
    /// The container's manager, if it has one.
    pub fn manager(&self) -> Option<ManagerRef> {
        self.shared.manager.clone()
    }
}

#[cold]
fn closed(function: &'static str, container: Arc<str>) -> ContainerError {
    ContainerError::ManagerClosed {
        function,
        container,
    }
}

impl PartialEq for ManagerRef {
    /// Whether both are references to the same manager.
    fn eq(&self, other: &Self) -> bool {
        self.table.ptr_eq(&other.table)
    }
}

impl Eq for ManagerRef {}

impl Deref for Manager {
    type Target = ManagerRef;

    fn deref(&self) -> &ManagerRef {
        &self.reference
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.shutdown();
        let Containers {
            mut list,
            by_handle,
            ..
        } = {
            let mut containers = self.table.containers.write();
            std::mem::replace(
                &mut *containers,
                Containers {
                    closed: true,
                    ..Containers::default()
                },
            )
        };
        drop(by_handle);
        while let Some(last) = list.pop() {
            drop(last);
        }
    }
}

impl fmt::Debug for ManagerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerRef")
            .field("running", &self.is_running())
            .field("containers", &self.containers())
            .finish()
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Manager").field(&self.reference).finish()
    }
}
