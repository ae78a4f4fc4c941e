//! Floor 5: systems, the pass that runs them, containers and their manager.

mod body;
mod channels;
mod claim;
mod commit;
mod container;
mod context;
mod deferred;
mod ending;
mod error;
mod export;
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
mod running;
mod sending;
mod settings;
mod shared;
mod system;
mod thread;
mod timer;
mod unit;

pub use claim::Claim;
pub use commit::CommitPoint;
pub use container::{Container, ContainerState};
pub use context::Context;
pub use deferred::{Ticket, TicketError};
pub use error::{
    AccessError, ContainerError, Failure, Phase, StartError, SystemError, UpdateError,
};
pub use listener::Listener;
pub use listing::{SystemInfo, Systems};
pub use manager::{ECS, Manager, ManagerRef};
pub use own::Own;
pub use owned::OwnedContainer;
pub use policy::Policy;
pub use registration::{IntoRegistration, Register, Registration, system};
pub use registry::Registered;
pub use sending::EventSender;
pub use shared::StopOutcome;
pub use system::{FnSystem, System, SystemKey, SystemResult, Which};
pub use timer::Timer;
