//! Sequences of everything a container can be asked for, against a naive model of the documented order.
//!
//! A program is read from bytes (`program`), carried out by the library (`real`), whose systems write down each call
//! and what they see in it, and by the model (`model`, `passes`, `steps`), which is written from the promises: no slot, no tombstone, no
//! flag of the library's occurs in it. Both logs must be the same, and so must the number of user values alive after
//! each step.
//!
//! Left out, because no promise settles it:
//! - the real clock, threads, and other containers (they are not repeatable);
//! - messages between the request of a stop and its end, from wherever they come;
//! - what a system reads after its own removal in the call that removed it, and what a replaced one reads at all;
//! - timers added while the clock that goes back stands behind where it was;
//! - the order in which a dropped container lets go of its systems, and what it drops besides.

mod env;
mod model;
mod passes;
mod program;
mod real;
mod steps;

pub(crate) fn run(bytes: &[u8]) {
    let program = program::program(bytes);
    let found = real::run(&program);
    let expected = steps::run(&program);
    let same = |found: &String, expected: &String| match expected.strip_suffix('*') {
        Some(beginning) => found.starts_with(beginning),
        None => found == expected,
    };
    let length = found.len().max(expected.len());
    let parting = (0..length).find(|at| match (found.get(*at), expected.get(*at)) {
        (Some(found), Some(expected)) => !same(found, expected),
        _ => true,
    });
    if let Some(at) = parting {
        let program: Vec<String> = program.iter().map(|op| format!("{op:?}")).collect();
        panic!(
            "{}\n{}\nexpected {:?}\nfound    {:?}",
            program.join("\n"),
            expected[..at].join("\n"),
            expected.get(at),
            found.get(at),
        );
    }
}
