//! Which listeners are to be called with the events of which log.

use super::system::SystemKey;
use crate::event::LogNumber;

/// The listeners that the root step calls, by log.
#[derive(Default)]
pub(crate) struct Hearing {
    /// The world in whose logs the listeners stand.
    pub(crate) world: u64,
    /// The order's version that the channels were made for. `None`: listeners have changed since.
    pub(crate) made_for: Option<u64>,
    pub(crate) channels: Vec<Channel>,
}

impl Hearing {
    /// A new listener stands in a world's logs. Where that is not the world of the others, all follow in the next root
    /// step: user code may put the former one back until then.
    pub(crate) fn stands_in(&mut self, world: u64) {
        if self.world != world {
            self.world = NOWHERE;
        }
    }
}

/// The number of no world.
const NOWHERE: u64 = u64::MAX;

pub(crate) struct Channel {
    pub(crate) log: LogNumber,
    /// System and number of the listener there, in the order of the systems.
    pub(crate) listeners: Vec<(SystemKey, usize)>,
}
