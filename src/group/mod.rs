//! Beside the world: groups of entities, and readers of who enters and leaves them.
//!
//! The store keeps the membership, the world lends it, and what stands here gives it names and types.

mod address;
mod error;
mod handle;
mod kinds;
mod reader;
mod register;

pub use self::error::GroupError;
pub use self::handle::Group;
pub use self::kinds::GroupKinds;
pub use self::reader::GroupReader;
pub use self::register::GroupInfo;
