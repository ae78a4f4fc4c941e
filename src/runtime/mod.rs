//! Floor 5: systems, the pass that runs them, containers and their manager.

mod arrange;
mod arrangement;
mod beside;
mod body;
mod channels;
mod claim;
mod commit;
mod container;
mod context;
mod declared;
mod deferred;
mod ending;
mod error;
mod export;
mod graph;
mod hearing;
mod listener;
mod listing;
mod manager;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod order;
mod own;
mod owned;
mod pass;
mod policy;
mod registration;
mod registry;
mod rest;
mod run_times;
mod running;
mod segment;
mod sending;
mod settings;
mod shared;
mod statistics;
mod system;
mod thread;
mod timer;
mod turn;
mod typed;
mod unit;

pub use claim::Claim;
pub use commit::CommitPoint;
pub use container::{Container, ContainerState};
pub use context::Context;
pub use deferred::{Ticket, TicketError};
pub use error::{
    AccessError, ContainerError, Failure, Phase, StartError, SystemError, UpdateError,
};
pub use graph::Conflict;
pub use listener::Listener;
pub use listing::{SystemInfo, Systems};
pub use manager::{ECS, Manager, ManagerRef};
pub use own::Own;
pub use owned::OwnedContainer;
pub use policy::Policy;
pub use registration::{IntoRegistration, Register, Registration, system};
pub use registry::Registered;
pub use run_times::RunStatistics;
pub use sending::EventSender;
pub use shared::StopOutcome;
pub use system::{FnSystem, System, SystemKey, SystemResult, Which};
pub use timer::Timer;
pub use typed::{
    Events, IntoResult, Matches, ParallelSystem, Param, ParamFunction, Res, ResMut, Typed, parallel,
};
