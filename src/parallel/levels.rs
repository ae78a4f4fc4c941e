//! Which systems may run at the same time.
//!
//! Systems that stand next to each other in the order are sorted into levels. The systems of one level do not conflict
//! and nobody ordered them; each stands on the first level behind those of earlier systems that it must wait for:
//!
//! ```text
//!   order    a writes P    b writes V    c reads P    d reads P and V    e writes V
//!   levels   { a, b }      { c, d }      { e }
//! ```
//!
//! So two systems that conflict run in their order, and of two that do not nobody can tell which ran first: the outcome is
//! that of running all in order. The levels follow from the order and the access sets alone, never from the number of
//! threads.

use crate::base::hash::SeededMap;
use crate::parallel::access::{AccessSet, Thing};

/// The level that must come next for who reads, and for who writes.
#[derive(Clone, Copy, Default)]
struct Next {
    reader: usize,
    writer: usize,
}

/// The level of each system, in order. `before` gives the places of earlier systems that somebody ordered in front.
pub(crate) fn levels<'a>(
    systems: impl IntoIterator<Item = &'a AccessSet>,
    before: impl Fn(usize) -> Vec<usize>,
) -> Vec<usize> {
    let mut things: SeededMap<Thing, Next> = SeededMap::default();
    // For who sees everything, and for all who write: the same across all things.
    let mut all = Next::default();
    let mut levels: Vec<usize> = Vec::new();
    for (place, access) in systems.into_iter().enumerate() {
        let ordered = before(place).into_iter();
        let ordered = ordered.filter_map(|earlier| Some(levels.get(earlier)? + 1));
        let needed = access.data().map(|access| {
            let next = things.get(&access.thing).copied().unwrap_or_default();
            if access.writes {
                next.writer
            } else {
                next.reader
            }
        });
        let mut level = ordered.chain(needed).max().unwrap_or(0);
        if access.sees_all {
            level = level.max(all.reader);
        }
        if access.writes() {
            level = level.max(all.writer);
        }
        for access in access.data() {
            let next = things.entry(access.thing).or_default();
            next.writer = next.writer.max(level + 1);
            if access.writes {
                next.reader = next.reader.max(level + 1);
                all.reader = all.reader.max(level + 1);
            }
        }
        if access.sees_all {
            all.writer = all.writer.max(level + 1);
        }
        levels.push(level);
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::kinds::KindId;

    fn access(reads: &[u32], writes: &[u32]) -> AccessSet {
        let mut set = AccessSet::default();
        set.begin_parameter("test");
        for (kinds, written) in [(reads, false), (writes, true)] {
            for &kind in kinds {
                set.add(Thing::Kind(KindId(kind)), "kind", written).unwrap();
            }
        }
        set
    }

    #[test]
    fn who_conflicts_waits_and_nobody_else() {
        const P: u32 = 0;
        const V: u32 = 1;
        let all = [
            access(&[], &[P]),
            access(&[], &[V]),
            access(&[P], &[]),
            access(&[P, V], &[]),
            access(&[], &[V]),
            access(&[], &[]),
        ];
        assert_eq!(levels(&all, |_| Vec::new()), [0, 0, 1, 1, 2, 0]);
        let ordered = |place: usize| if place == 5 { vec![4] } else { Vec::new() };
        assert_eq!(levels(&all, ordered), [0, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn who_sees_everything_waits_for_all_who_write_and_is_waited_for() {
        let mut watcher = AccessSet::default();
        watcher.sees_all = true;
        let all = [
            access(&[], &[0]),
            access(&[1], &[]),
            watcher.clone(),
            access(&[1], &[]),
            watcher,
            access(&[], &[2]),
        ];
        assert_eq!(levels(&all, |_| Vec::new()), [0, 0, 1, 0, 1, 2]);
    }

    #[test]
    fn levels_keep_every_pair_that_conflicts_in_order() {
        let mut state = 7_u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let sets: Vec<AccessSet> = (0..12)
                .map(|_| {
                    let mut set = AccessSet::default();
                    set.begin_parameter("test");
                    for _ in 0..random(4) {
                        let kind = u32::try_from(random(5)).unwrap();
                        set.add(Thing::Kind(KindId(kind)), "kind", random(3) == 0)
                            .unwrap();
                    }
                    set.sees_all = random(10) == 0;
                    set
                })
                .collect();
            let found = levels(&sets, |_| Vec::new());
            for (later, set) in sets.iter().enumerate() {
                let waits = |earlier: usize| sets[earlier].excludes(set);
                for earlier in (0..later).filter(|&earlier| waits(earlier)) {
                    assert!(found[earlier] < found[later], "{earlier} before {later}");
                }
                // On the first level that is free: one lower, somebody would be in the way.
                assert!(
                    found[later] == 0
                        || (0..later).any(|earlier| {
                            waits(earlier) && found[earlier] + 1 == found[later]
                        })
                );
            }
        }
    }
}
