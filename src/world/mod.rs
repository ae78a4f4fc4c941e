//! Floor 4: the world, which is what users see of entities, components, queries and resources.

#![allow(
    clippy::needless_pass_by_value,
    reason = "an entity key is an id or a borrowed text; taking it by value lets callers pass either as it is"
)]

#[cfg(doctest)]
mod borrows;
mod cache;
mod commands;
mod components;
mod contents;
mod core;
mod entities;
mod error;
mod events;
mod export;
mod import;
mod key;
mod marks;
mod observe;
mod observers;
mod on;
mod operations;
mod queries;
mod queue;
mod readers;
mod references;
mod registry;
mod resources;
mod values;

pub(crate) use self::commands::CommandBuffer;
pub use self::commands::{Commands, ComponentRef};
pub use self::components::NamedComponents;
pub use self::contents::Contents;
pub use self::core::World;
pub use self::entities::{EntityRef, SpawnedEntities, WorldStatistics};
pub use self::error::{CommandError, CommandErrorKind, CommandErrors};
pub use self::error::{ExportError, ImportError, ImportErrorKind};
pub use self::error::{ObserverError, ObserverErrors, ObserverInfo};
pub use self::events::EventReader;
pub use self::export::Dangling;
pub use self::import::{ImportLimits, Imported};
pub use self::key::EntityKey;
pub use self::marks::RemovalMarks;
pub use self::observers::ObserverKey;
pub use self::on::{ObserverLimits, On};
pub(crate) use self::queue::NOBODY;
pub use self::readers::{RemovedReader, ResourceReader};
pub use self::registry::ComponentRegistry;
pub(crate) use self::values::LentResource;
pub use self::values::Resource;
