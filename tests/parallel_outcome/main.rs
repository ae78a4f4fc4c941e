//! The outcome of a pass does not tell how many threads there were, nor that there were any: random systems, in random
//! orders, with random things to reach.
//!
//! Each of these faults was planted by itself, and was seen here by one of the two tests, or where it says so:
//!
//! | fault | seen by |
//! | --- | --- |
//! | a reader does not wait for an earlier writer | both |
//! | a writer does not wait for an earlier reader | both |
//! | what a filter looks into is not reached | one by one |
//! | a condition does not wait for who writes, or who writes not for a condition | one by one |
//! | what was queued and sent is delivered level by level | one by one |
//! | what a typed system sends through its own things goes out at once | one by one |
//! | what was sent before by a system that runs alone comes after what typed ones send | one by one |
//! | all systems of a level are lent the same ids | one by one |
//! | every second system's loans are not put back | both |
//! | a typed system does not remember when it last ran | one by one |
//! | after a system that succeeds no further one begins | number of threads |
//! | a condition that came later changes no level | `parallel_worlds` |
//! | an order that was asked for changes no level | `parallel_order` |

#[path = "../common/mod.rs"]
mod common;

mod case;
mod loops;
mod menu;

use std::sync::atomic::Ordering;

use case::{Case, Way};
use ecs::Workers;

const CASES: u64 = 120;

#[test]
fn no_outcome_tells_the_number_of_threads() {
    let crews = [0, 1, 2, 4, 16].map(|count| Workers::new(count).unwrap());
    for seed in 0..CASES {
        let case = Case::new(seed);
        let expected = case.run(Way::Levels(None));
        for workers in &crews {
            let found = case.run(Way::Levels(Some(workers)));
            // spec: PAR-03, CMD-01, EVT-03
            assert!(
                found == expected,
                "{workers:?}\n{}{expected:#?}\n{found:#?}",
                case.describe()
            );
        }
    }
    // Else nothing was shown.
    assert!(menu::ELSEWHERE.load(Ordering::Relaxed) > 1_000);
}

#[test]
fn the_outcome_is_that_of_running_one_by_one() {
    for seed in 0..2 * CASES {
        let case = Case::new(seed);
        let expected = case.run(Way::OneByOne);
        let found = case.run(Way::Levels(None));
        // Ids that were given beforehand depend on who was given some at the same time.
        // spec: PAR-03, CMD-01, EVT-03
        assert!(
            found.values == expected.values,
            "{}{:#?}\n{:#?}",
            case.describe(),
            expected.values,
            found.values
        );
    }
}
