#![doc = include_str!("guide.md")]
#![doc = include_str!("guide/parallel.md")]
#![doc = include_str!("guide/invaders.svg")]

mod base;
mod event;
mod group;
mod lifecycle;
mod log;
mod message;
mod parallel;
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
pub use event::{DEFAULT_EVENT_LIMIT, EventIter, EventWriter, NamedEvent};
pub use group::{Group, GroupError, GroupInfo, GroupKinds, GroupReader};
pub use parallel::access::SystemAccess;
pub use parallel::crew::Workers;
pub use parallel::fault::ParamFault;
pub use query::cells::{EntityIter, EntityRows};
pub use query::compound::{OptionRows, OptionSlices, TupleRows};
pub use query::error::QueryError;
pub use query::fetch::{Query, ReadOnlyQuery};
pub use query::filter::{Added, AskedKind, Changed, Filter, Or, Timeless, With, Without};
pub use query::iter::{Batch, Batches, Chunk, Chunks, QueryIter};
pub use query::mutable::{Mut, MutRows, MutSlice};
pub use query::prepared::{Prepared, View};
pub use query::state::QueryStatistics;
pub use runtime::{
    AccessError, Claim, CommitPoint, Container, ContainerError, ContainerState, Context, ECS,
    EventSender, Failure, FnSystem, IntoRegistration, Listener, Manager, ManagerRef, Own,
    OwnedContainer, Phase, Policy, Register, Registered, Registration, StartError, StopOutcome,
    System, SystemError, SystemInfo, SystemKey, SystemResult, Systems, Ticket, TicketError, Timer,
    UpdateError, Which, system,
};
pub use runtime::{
    Conflict, Events, IntoResult, Matches, ParallelSystem, Param, ParamFunction, Res, ResMut,
    RunStatistics, Typed, parallel,
};
pub use serde_json::{Value, json};
pub use store::bundle::{Bundle, ColumnBatch};
pub use store::component::{
    AnyComponent, Component, ComponentType, Data, Named, Storage, TypeName,
};
pub use store::error::{BundleFault, ComponentError, EntityError};
pub use store::groups::GroupChange;
pub use store::handles::EntityHandle;
pub use time::{
    Clock, ClockError, DEFAULT_INTERVAL, FixedStep, FixedStepError, IntervalError, MAX_INTERVAL,
    ManualClock, Moment, RealClock, SharedClock, Steps, Timing,
};
pub use world::{CommandError, CommandErrorKind, CommandErrors, Commands, ComponentRef, Contents};
pub use world::{
    ComponentRegistry, Dangling, EntityKey, EntityRef, EventReader, ExportError, ImportError,
    ImportErrorKind, ImportLimits, Imported, NamedComponents, RemovalMarks, RemovedReader,
    Resource, ResourceReader, SpawnedEntities, World, WorldStatistics,
};
pub use world::{ObserverError, ObserverErrors, ObserverInfo, ObserverKey, ObserverLimits, On};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDocTests;

#[cfg(doctest)]
#[doc = include_str!("../tests/refused.md")]
struct Refused;
