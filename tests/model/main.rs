//! A world against a naive model, under random sequences of operations.
//!
//! `interpreter::run` reads its operations from bytes, so that a fuzzer can drive it too. `PROPTEST_CASES` says how many
//! sequences are tried.

mod check;
mod interpreter;
mod kinds;
mod naive;
mod readers;
mod script;
mod spawning;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 4000,
        cases: std::env::var("PROPTEST_CASES").map_or(200, |cases| cases.parse().unwrap()),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_world_and_the_model_agree(script in proptest::collection::vec(any::<u8>(), 0..600)) {
        kinds::quiet_armed_panics();
        interpreter::run(&script);
    }
}
