//! archecs: an entity component system whose worlds live in containers that talk by JSON messages.
//!
//! The parts build on each other, and each can be used without those after it.
//!
//! # A world
//!
//! A [`World`] holds entities, their components and resources. It is plain data: no threads, no time. A component is
//! a type with a name and a JSON form; an entity is a small id, and has a text handle that is chosen or made up when
//! somebody asks.
//!
//! ```
//! use ecs::prelude::*;
//!
//! #[derive(Debug, PartialEq)]
//! struct Health(i32);
//! impl Component for Health {
//!     fn type_name() -> &'static str { "Health" }
//!     fn export(&self) -> Value { json!(self.0) }
//! }
//! # struct Poison(i32);
//! # impl Component for Poison { fn type_name() -> &'static str { "Poison" } fn export(&self) -> Value { json!(self.0) } }
//!
//! let mut world = World::new();
//! let wolf = world.spawn_named("wolf", (Health(20), Poison(3)))?;
//! let nameless = world.spawn(Health(9));
//! assert_eq!(world.get::<Health>("wolf"), world.get::<Health>(wolf));
//!
//! world.remove::<Poison>(wolf);
//! world.despawn(nameless);
//! assert_eq!(world.get::<Health>(nameless), None); // an id that is stale reaches nobody
//! # Ok::<(), ecs::BoxError>(())
//! ```
//!
//! # Queries
//!
//! A [`Query`] is a tuple of what is wanted of each entity; filters say which entities. [`World::query`] finds its
//! state by the query's type. A [`Prepared`] query is kept by its user, and is what [`Changed`] and [`Added`] refer
//! to. Rows, whole columns ([`QueryIter::chunks`]) and batches for several threads ([`QueryIter::batches`]) are ways
//! to iterate one and the same query.
//!
//! ```
//! # use ecs::prelude::*;
//! # struct Health(i32);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # struct Poison(i32);
//! # impl Component for Poison { fn type_name() -> &'static str { "Poison" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! # world.spawn((Health(20), Poison(3)));
//! # world.spawn(Health(9));
//! let mut hurt = world.prepare_filtered::<Entity, Changed<Health>>()?;
//! assert_eq!(hurt.iter(&mut world)?.count(), 2); // at first all of them are news
//!
//! for (health, poison) in world.query::<(&mut Health, &Poison)>() {
//!     health.0 -= poison.0;
//! }
//! assert_eq!(hurt.iter(&mut world)?.count(), 1);
//!
//! let healthy = world.query_filtered::<&Health, Without<Poison>>();
//! assert_eq!(healthy.map(|health| health.0).sum::<i32>(), 9);
//! # Ok::<(), ecs::QueryError>(())
//! ```
//!
//! # A container with a system
//!
//! A [`Container`] is a world and the systems that work on it, one after the other in a *pass*. A [`System`] is a type
//! with an `update` (and, if it likes, `initialize` and `shutdown`), or a closure made into one by [`system()`]. It
//! gets a [`Context`]: `cx.world`, what is its own in `cx.this`, and the systems around it, which it may add and
//! remove in the middle of a pass.
//!
//! References to containers may be shared by threads. What needs exclusive access goes through a [`Claim`], which
//! is refused, not waited for, while somebody else has the container; [`Container::defer`] hands a function to
//! whoever has it.
//!
//! ```
//! # use ecs::prelude::*;
//! # struct Health(i32);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! #[derive(Default)]
//! struct Healer { healed: u32 }
//!
//! impl System for Healer {
//!     fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
//!         for health in cx.world.query::<&mut Health>() {
//!             health.0 += 1;
//!             self.healed += 1;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let manager = Manager::new();
//! let arena = manager.container("arena")?;
//! let mut claim = arena.claim()?;
//! claim.world().spawn_named("wolf", Health(20))?;
//! claim.add_system(Healer::default().named("healer").every_pass())?;
//! claim.update()?;
//! assert_eq!(claim.system::<Healer>("healer").unwrap().healed, 1);
//! drop(claim);
//!
//! arena.defer(|cx| { cx.world.spawn(Health(5)); Ok(()) });
//! arena.update()?;
//! assert_eq!(arena.claim()?.system::<Healer>("healer").unwrap().healed, 3);
//! # Ok::<(), ecs::BoxError>(())
//! ```
//!
//! # Messages
//!
//! A message is a JSON object that names its `destination`. It is checked before anything happens, any thread may send
//! it, and it waits in the system's mailbox until the system reads it: each exactly once, in the order sent.
//!
//! ```
//! # use ecs::prelude::*;
//! # let manager = Manager::new();
//! # let arena = manager.container("arena")?;
//! arena.claim()?.add_system(system("herald", |cx| {
//!     while let Some(message) = cx.this.next_message() {
//!         cx.log(format!("hear: {}", message["news"]));
//!     }
//!     Ok(())
//! }).every_pass())?;
//!
//! let to = |system: &str| json!({ "destination": { "container": "arena", "system": system }, "news": "rain" });
//! manager.message_submit(to("herald"))?;
//! assert!(manager.message_submit(to("harold")).is_err());
//! # arena.set_silent();
//! arena.update()?;
//! # Ok::<(), ecs::BoxError>(())
//! ```
//!
//! # Time
//!
//! Systems have intervals and timers. Both follow a [`Clock`], the machine's unless another is given, which is read
//! once for each update. A [`ManualClock`] moves when it is told to, so two hours take no time.
//!
//! ```
//! # use ecs::prelude::*;
//! use std::time::Duration;
//! use ecs::OwnedContainer;
//!
//! # #[derive(Default)]
//! struct Bell { struck: u32 }
//! # impl System for Bell { fn update(&mut self, _: &mut Context<'_>) -> SystemResult { Ok(()) } }
//!
//! let tower = OwnedContainer::new("tower")?; // stands alone, without a manager
//! let clock = ManualClock::new();
//! let mut claim = tower.claim()?;
//! claim.set_clock(&clock)?;
//! let bell = Bell::default().named("bell").interval(Duration::from_mins(1));
//! claim.add_system(bell.timer_every("hour", Duration::from_hours(1), |bell, _| {
//!     bell.struck += 1;
//!     Ok(())
//! }))?;
//! for _ in 0..120 {
//!     clock.advance(Duration::from_mins(1))?;
//!     claim.update()?;
//! }
//! assert_eq!(claim.system::<Bell>("bell").unwrap().struck, 2);
//! # Ok::<(), ecs::BoxError>(())
//! ```
//!
//! # Saving and reading back
//!
//! Entities, components and systems export themselves as JSON with sorted keys: equal worlds give equal bytes. A
//! [`ComponentRegistry`] knows the types that can be read back. An import that fails has changed nothing.
//!
//! ```
//! # use ecs::prelude::*;
//! #[derive(serde::Deserialize)]
//! struct Health(i32);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//!
//! let mut world = World::new();
//! world.spawn_named("wolf", Health(20))?;
//! let saved = world.export().to_string();
//!
//! let types = ComponentRegistry::new().with::<Health>();
//! let mut copy = World::new();
//! copy.import_text(&types, &saved, Default::default())?;
//! assert_eq!(copy.get::<Health>("wolf").unwrap().0, 20);
//! assert_eq!(copy.export().to_string(), saved);
//! # Ok::<(), ecs::BoxError>(())
//! ```
//!
//! # When something fails
//!
//! A call that is refused returns an error that says which call on which container it was, and has changed nothing.
//! What user code returns as an error, or panics with, is logged and ends that pass; the next one finds everything in
//! order. The library's own panics are for query and bundle types that contradict themselves, and each such call has a
//! `try_` form.

mod base;
mod lifecycle;
mod log;
mod message;
pub mod prelude;
mod query;
mod runtime;
mod store;
mod time;
mod world;

pub use base::uuid::{ParseUuidError, ParseUuidErrorKind, Uuid, UuidText};
#[cfg(feature = "log")]
pub use log::forward_to_log;
#[cfg(feature = "tracing")]
pub use log::forward_to_tracing;
pub use log::{HeldLines, Level, Logger};
pub use message::{Inbox, Mailbox, SendError, SendErrorKind};
pub use message::{MessageError, MessageErrorKind, MessageLimits};
pub use message::{check_container_message, check_manager_message, parse_message};

pub use base::BoxError;
pub use base::entity::Entity;
pub use base::origin::Origin;
pub use query::cells::{EntityIter, EntityRows};
pub use query::compound::{OptionRows, OptionSlices, TupleRows};
pub use query::error::QueryError;
pub use query::fetch::{Query, ReadOnlyQuery};
pub use query::filter::{Added, Changed, Filter, Or, Timeless, With, Without};
pub use query::iter::{Batch, Batches, Chunk, Chunks, QueryIter};
pub use query::mutable::{Mut, MutRows, MutSlice};
pub use query::prepared::{Prepared, View};
pub use query::state::QueryStatistics;
pub use runtime::{
    AccessError, Claim, Container, ContainerError, ContainerState, Context, ECS, Failure, FnSystem,
    IntoRegistration, Manager, ManagerRef, Own, OwnedContainer, Phase, Register, Registered,
    Registration, StartError, StopOutcome, System, SystemError, SystemInfo, SystemKey,
    SystemResult, Systems, Ticket, TicketError, Timer, UpdateError, Which, system,
};
pub use serde_json::{Value, json};
pub use store::bundle::{Bundle, ColumnBatch};
pub use store::component::{
    AnyComponent, Component, ComponentType, Data, Named, Storage, TypeName,
};
pub use store::error::{BundleFault, ComponentError, EntityError};
pub use store::handles::EntityHandle;
pub use time::{
    Clock, ClockError, DEFAULT_INTERVAL, FixedStep, FixedStepError, IntervalError, MAX_INTERVAL,
    ManualClock, Moment, RealClock, SharedClock, Steps, Timing,
};
pub use world::{
    ComponentRegistry, Dangling, EntityKey, EntityRef, ExportError, ImportError, ImportErrorKind,
    ImportLimits, Imported, NamedComponents, RemovalMarks, RemovedReader, Resource, ResourceReader,
    SpawnedEntities, World, WorldStatistics,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDocTests;
