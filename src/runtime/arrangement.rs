//! The order that somebody asked for: systems before others, whichever was registered first.
//!
//! The order of a container is that of registration, changed as little as the wishes need: of the systems that may come
//! next, the one that was registered first does. So it follows from registrations and wishes alone, not from the way in
//! which they came about. Wishes hold for handles, and so for whoever replaces a system; they end when it is removed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use ahash::AHashMap;

use super::order::Order;
use super::system::SystemType;
use super::unit::{Slot, place};

/// One system comes before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) first: Arc<str>,
    pub(crate) second: Arc<str>,
}

/// The wishes of a container.
#[derive(Default)]
pub(crate) struct Arrangement {
    pub(crate) wishes: Vec<Wish>,
    /// The version of the order that obeys them.
    arranged: u64,
    /// There were wishes when it was arranged, so it need not be that of registration.
    bent: bool,
}

impl Arrangement {
    /// Whether somebody was ordered in front of a system.
    pub(crate) fn waits(&self, handle: &str) -> bool {
        self.wishes.iter().any(|wish| *wish.second == *handle)
    }

    /// A system has left: nobody waits for it.
    pub(crate) fn forget(&mut self, handle: &str) {
        self.wishes
            .retain(|wish| *wish.first != *handle && *wish.second != *handle);
    }

    /// Who is known to come after `handle`, at once.
    fn after<'a>(&'a self, handle: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let wishes = self
            .wishes
            .iter()
            .filter(move |wish| *wish.first == *handle);
        wishes.map(|wish| &wish.second)
    }

    /// Whether somebody has put one system before another, at once or by way of others.
    pub(crate) fn orders(&self, first: &Arc<str>, second: &Arc<str>) -> bool {
        self.path(first, second).is_some()
    }

    /// The way from one system to another along the wishes.
    fn path(&self, from: &Arc<str>, to: &Arc<str>) -> Option<Vec<Arc<str>>> {
        let mut came_from: AHashMap<&Arc<str>, &Arc<str>> = AHashMap::new();
        let mut open = vec![from];
        while let Some(here) = open.pop() {
            if here == to {
                let mut path = vec![Arc::clone(here)];
                let mut at = here;
                while at != from
                    && let Some(before) = came_from.get(at)
                {
                    path.push(Arc::clone(before));
                    at = before;
                }
                path.reverse();
                return Some(path);
            }
            for next in self.after(here) {
                if next != from && !came_from.contains_key(next) {
                    came_from.insert(next, here);
                    open.push(next);
                }
            }
        }
        None
    }

    /// Adds wishes, all or none; or gives the cycle that the first bad one would close.
    pub(crate) fn add(&mut self, wishes: &[Wish]) -> Result<(), Vec<Arc<str>>> {
        let before = self.wishes.len();
        for wish in wishes {
            if let Some(mut cycle) = self.path(&wish.second, &wish.first) {
                self.wishes.truncate(before);
                cycle.push(Arc::clone(&wish.second));
                return Err(cycle);
            }
            if !self.wishes.contains(wish) {
                self.wishes.push(wish.clone());
            }
        }
        Ok(())
    }
}

impl Arrangement {
    /// Brings the order in line with the wishes, where something has changed.
    #[inline]
    pub(crate) fn arrange(&mut self, order: &mut Order, units: &mut [Slot]) {
        if self.is_behind(order) {
            self.arrange_anew(order, units);
        }
    }

    /// Something has changed since the order was last brought in line.
    #[inline]
    pub(crate) fn is_behind(&self, order: &Order) -> bool {
        (self.bent || !self.wishes.is_empty()) && self.arranged != order.version()
    }

    #[cold]
    fn arrange_anew(&mut self, order: &mut Order, units: &mut [Slot]) {
        let mut systems: Vec<(u64, u32, Arc<str>)> = order
            .iter()
            .filter_map(|slot| {
                let unit = units.get(slot)?.unit.as_ref()?;
                let cold = &unit.own.cold;
                Some((cold.sequence, cold.key.slot, Arc::clone(&cold.handle)))
            })
            .collect();
        systems.sort();
        let sorted = sorted(&systems, &self.wishes);
        order.rearrange(sorted.iter().map(|&at| systems[at].1));
        for (position, &at) in sorted.iter().enumerate() {
            let slot = systems[at].1 as usize;
            place(units, slot, u32::try_from(position).unwrap_or(u32::MAX));
        }
        self.arranged = order.version();
        self.bent = !self.wishes.is_empty();
    }
}

/// The places of the systems in an order that obeys the wishes; the first that may come next does.
fn sorted(systems: &[(u64, u32, Arc<str>)], wishes: &[Wish]) -> Vec<usize> {
    let handles = systems.iter().map(|(_, _, handle)| &**handle);
    let places: AHashMap<&str, usize> = handles
        .enumerate()
        .map(|(at, handle)| (handle, at))
        .collect();
    topological(systems.len(), &pairs(wishes, &places), |ready| {
        ready.pop().map(|Reverse(at)| at)
    })
}

/// The wishes between places that are known.
pub(crate) fn pairs(wishes: &[Wish], places: &AHashMap<&str, usize>) -> Vec<(usize, usize)> {
    let place = |handle: &Arc<str>| places.get(&**handle).copied();
    let known = wishes
        .iter()
        .filter_map(|wish| Some((place(&wish.first)?, place(&wish.second)?)));
    known.collect()
}

/// An order of `count` places in which the first of each pair comes before the second. `pick` takes the next one out of
/// those that may come next.
pub(crate) fn topological(
    count: usize,
    pairs: &[(usize, usize)],
    mut pick: impl FnMut(&mut BinaryHeap<Reverse<usize>>) -> Option<usize>,
) -> Vec<usize> {
    let mut waits_for = vec![0_usize; count];
    for &(_, second) in pairs {
        waits_for[second] += 1;
    }
    let ready = (0..count).filter(|&at| waits_for[at] == 0).map(Reverse);
    let mut ready: BinaryHeap<Reverse<usize>> = ready.collect();
    let mut order = Vec::with_capacity(count);
    while let Some(at) = pick(&mut ready) {
        order.push(at);
        for &(first, second) in pairs {
            if first == at {
                waits_for[second] -= 1;
                if waits_for[second] == 0 {
                    ready.push(Reverse(second));
                }
            }
        }
    }
    order
}

/// A wish as it was said at the registration: about the system registered, and another one.
pub(crate) struct Asked {
    pub(crate) other: Other,
    /// The other one comes first.
    pub(crate) other_first: bool,
}

/// Whom a wish means.
pub(crate) enum Other {
    Handle(Arc<str>),
    Type(SystemType),
}
