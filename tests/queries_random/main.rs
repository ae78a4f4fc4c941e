//! Queries that are kept, and run in turns over worlds that change in any way in between, against a naive model: which rows
//! each yields and what is in them, and what counts as written.
#![cfg(feature = "rayon")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::too_many_lines,
    reason = "small random numbers, and long lists of what may happen"
)]

mod entries;
mod kept;
mod parts;
mod place;

use std::mem;

use ecs::QueryError;

use entries::{Entry, QUERIES, make};
use kept::STYLES;
use place::Place;

pub(crate) struct Random(pub(crate) u64);
impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[test]
fn kept_queries_agree_with_a_naive_model() {
    let number = |name: &str, default| {
        std::env::var(name)
            .ok()
            .map_or(default, |text| text.parse().unwrap())
    };
    let (seeds, steps): (u64, u64) = (number("SEEDS", 3), number("STEPS", 3000));
    let first = number("FIRST", 1);
    for seed in first..first + seeds {
        eprintln!("seed {seed}");
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..20 {
            random.next();
        }
        let mut homes = 3;
        let mut places: Vec<_> = (0..3).map(Place::new).collect();
        let mut queries: Vec<Entry> = Vec::new();
        for _ in 0..steps {
            let at = random.below(3);
            for _ in 0..random.below(4) {
                places[at].change(&mut random);
            }
            if queries.len() < 50 && random.one_in(10) {
                let place = &mut places[at];
                queries.push(make(&mut place.world, place.home, random.below(QUERIES)));
            }
            if random.one_in(40) && !queries.is_empty() {
                queries.swap_remove(random.below(queries.len()));
            }
            if random.one_in(30) {
                // Worlds change places.
                let (left, right) = places.split_at_mut(1);
                let other = &mut right[random.below(2)];
                mem::swap(&mut left[0].world, &mut other.world);
                mem::swap(&mut left[0].model, &mut other.model);
                mem::swap(&mut left[0].home, &mut other.home);
            }
            if random.one_in(400) {
                places[at] = Place::new(homes);
                homes += 1;
            }
            for _ in 0..4 {
                if queries.is_empty() {
                    break;
                }
                let entry = random.below(queries.len());
                let entry = &mut queries[entry];
                let place = &mut places[random.below(3)];
                let home = place.home;
                if !entry.cached && home != entry.home {
                    let style = STYLES[random.below(STYLES.len())];
                    assert!(matches!(
                        entry.query.run(&mut place.world, style, 3, 1),
                        Err(QueryError::ForeignWorld)
                    ));
                    continue;
                }
                match random.below(8) {
                    0 => entry.check_many(&mut place.world, &mut place.model, &mut random),
                    1 => entry.check_single(&mut place.world, &mut place.model),
                    _ => entry.check_run(&mut place.world, &mut place.model, &mut random),
                }
            }
        }
    }
}
