//! Where the events of one log stand among those of all types.
//!
//! All events of a world are counted in the order sent; an event's count is its stamp. Events of one type that are sent in
//! a row have stamps in a row, so a log keeps them as runs, and counts them when the run ends:
//!
//! ```text
//!   events    7   8   9  | 10  11 | 12 …          runs   (7, stamp 31) (10, stamp 40) (12, …)
//!   stamps   31  32  33  | 40  41 | …
//! ```

use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct Stamps {
    /// Somebody listens: the stamps of what was delivered are kept too.
    pub(super) used: bool,
    /// Numbered from the beginning of what is incoming.
    incoming: Vec<Run>,
    delivered: VecDeque<Run>,
}

/// Events with stamps in a row, up to the next run.
#[derive(Clone, Copy)]
struct Run {
    number: u64,
    stamp: u64,
}

impl Stamps {
    /// What is sent from here on, behind `incoming` others, has stamps in a row from `stamp` on.
    pub(super) fn begin(&mut self, incoming: u64, stamp: u64) {
        if self.next(incoming) != Some(stamp) {
            self.incoming.push(Run {
                number: incoming,
                stamp,
            });
        }
    }

    /// The stamp of what would be sent next in the last run, behind `incoming` others.
    pub(super) fn next(&self, incoming: u64) -> Option<u64> {
        let run = self.incoming.last()?;
        Some(run.stamp + (incoming - run.number))
    }

    /// What was incoming is readable from the number `end` on, and what is before `first` was forgotten.
    pub(super) fn deliver(&mut self, first: u64, end: u64) {
        if self.used {
            let arrived = self.incoming.drain(..).map(|run| Run {
                number: end + run.number,
                ..run
            });
            self.delivered.extend(arrived);
            while self.delivered.get(1).is_some_and(|run| run.number <= first) {
                self.delivered.pop_front();
            }
        } else {
            self.incoming.clear();
            self.delivered.clear();
        }
    }

    /// The stamp of an event, and the number up to which those that follow have the stamps that follow, if it ends
    /// somewhere. What was delivered before anybody listened comes first.
    pub(super) fn of(&self, number: u64) -> (u64, Option<u64>) {
        let next = self.delivered.partition_point(|run| run.number <= number);
        let run = next.checked_sub(1).and_then(|at| self.delivered.get(at));
        let stamp = run.map_or(0, |run| run.stamp + (number - run.number));
        (stamp, self.delivered.get(next).map(|run| run.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_those_of_the_order_sent() {
        let mut one = Stamps {
            used: true,
            ..Stamps::default()
        };
        assert_eq!(one.next(0), None, "nothing was sent");
        one.begin(0, 0);
        assert_eq!((one.next(0), one.next(2)), (Some(0), Some(2)));
        one.begin(2, 2);
        assert_eq!(one.incoming.len(), 1, "nothing came between");
        one.begin(3, 4);
        assert_eq!(one.next(5), Some(6));
        one.deliver(100, 100);
        assert_eq!(
            [99, 100, 102, 103, 104].map(|number| one.of(number)),
            [
                (0, Some(100)),
                (0, Some(103)),
                (2, Some(103)),
                (4, None),
                (5, None)
            ]
        );
        one.begin(0, 6);
        one.deliver(104, 105);
        assert_eq!(one.of(104), (5, Some(105)), "the first run is forgotten");
        assert_eq!(one.of(105), (6, None));
        assert_eq!(one.delivered.len(), 2);
        one.used = false;
        one.begin(0, 7);
        one.deliver(106, 106);
        assert!(one.incoming.is_empty() && one.delivered.is_empty());
    }
}
