//! Floor 3, beside queries: typed events between those who send and those who read, as plain data. Who is called with
//! an event, and when, is the runtime's business.

mod buffer;
mod inlet;
mod kept;
mod log;
mod logs;
mod named;
mod stamps;

pub(crate) use buffer::EventBuffer;
pub use buffer::EventWriter;
pub(crate) use inlet::{Inlet, SentEvents};
pub(crate) use log::Batch;
pub use log::EventIter;
pub(crate) use logs::{EventLogs, LogNumber};
pub use named::NamedEvent;

/// How many events of one type are kept for readers that lag behind, unless told otherwise; see
/// [`World::set_event_limit`](crate::World::set_event_limit).
pub const DEFAULT_EVENT_LIMIT: usize = 65_536;
