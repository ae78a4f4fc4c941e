//! What comes and goes, by every way of structural change, against a naive model: what groups and their readers say,
//! and what observers are told.
//!
//! `PROPTEST_CASES` says how many sequences are tried.

mod kinds;
mod model;
mod program;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 4000,
        cases: std::env::var("PROPTEST_CASES").map_or(300, |cases| cases.parse().unwrap()),
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_comes_and_goes_is_told(script in proptest::collection::vec(any::<u8>(), 0..400)) {
        program::run(&script);
    }
}
