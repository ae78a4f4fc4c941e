//! Floor 5: systems, the pass that runs them, containers and their manager.

mod body;
mod claim;
mod container;
mod context;
mod deferred;
mod ending;
mod error;
mod export;
mod listing;
mod manager;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod order;
mod own;
mod owned;
mod pass;
mod registration;
mod registry;
mod rest;
mod running;
mod settings;
mod shared;
mod system;
mod thread;
mod timer;
mod unit;

pub use claim::Claim;
pub use container::{Container, ContainerState};
pub use context::Context;
pub use deferred::{Ticket, TicketError};
pub use error::{
    AccessError, ContainerError, Failure, Phase, StartError, SystemError, UpdateError,
};
pub use listing::{SystemInfo, Systems};
pub use manager::{ECS, Manager, ManagerRef};
pub use own::Own;
pub use owned::OwnedContainer;
pub use registration::{IntoRegistration, Register, Registration, system};
pub use registry::Registered;
pub use shared::StopOutcome;
pub use system::{FnSystem, System, SystemKey, SystemResult, Which};
pub use timer::Timer;
