//! Which mutants compile: with switches, all at once; and for good, each function with one of them at a time.

use crate::edits::Marked;
use crate::mutant::Mutant;
use crate::tree::{CompileError, Fault, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Leaves `tree` with switches for all that compile in this form, and returns those.
pub(crate) fn switch_all(tree: &Tree, mutants: &[Mutant]) -> Result<BTreeSet<usize>, Fault> {
    let (mut without, mut stay_const) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let (switched, marked) = tree.switch(mutants, &without, &stay_const)?;
        let errors = tree.check()?;
        println!(
            "{} of {} with a switch, {} errors",
            switched.len(),
            mutants.len(),
            errors.len()
        );
        if errors.is_empty() {
            return Ok(switched);
        }
        let known = without.len() + stay_const.len();
        for error in &errors {
            // Called where the compiler has to work it out.
            if error.code == "E0015" {
                stay_const.extend(quoted(&error.message));
            } else {
                without.extend(blamed(error, &marked));
            }
        }
        if known == without.len() + stay_const.len() {
            return Err(format!("nobody is to blame for:\n{}", errors[0].rendered).into());
        }
    }
}

/// The last part of the path that a message has in quotes.
fn quoted(message: &str) -> Option<String> {
    let path = message.split('`').nth(1)?;
    path.rsplit("::").next().map(str::to_owned)
}

/// The mutants in whose text an error lies; else those that lie in the error.
fn blamed(error: &CompileError, marked: &BTreeMap<String, Marked>) -> Vec<usize> {
    let inside = |place: &Range<usize>, error: &Range<usize>| {
        !place.is_empty() && place.start <= error.start && error.end <= place.end
    };
    // A match that is not exhaustive, a type that has no name.
    let begins =
        |place: &Range<usize>, error: &Range<usize>| place.is_empty() && place.start == error.start;
    let overlaps = |place: &Range<usize>, error: &Range<usize>| {
        place.start < error.end && error.start < place.end
    };
    let ways: [Way<'_>; 4] = [
        (&inside, true),
        (&begins, true),
        (&inside, false),
        (&overlaps, true),
    ];
    let found = |(is_met, primary): Way<'_>| {
        let mut found = Vec::new();
        for pointer in error
            .pointers
            .iter()
            .filter(|pointer| pointer.is_primary || !primary)
        {
            for (place, numbers) in marked.get(&pointer.file).map_or(&[][..], |new| &new.places) {
                if is_met(place, &pointer.bytes) {
                    found.extend(numbers.last());
                }
            }
        }
        found
    };
    ways.into_iter()
        .map(found)
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// How the place of a mutant and that of an error have to lie, and whether only the error's main place counts.
type Way<'a> = (&'a dyn Fn(&Range<usize>, &Range<usize>) -> bool, bool);

/// Those of `candidates` that may compile. The others were seen not to: their very text, one in each function at a time,
/// was given to the compiler, and an error in a function is one of the mutant in it.
pub(crate) fn viable(
    tree: &Tree,
    mutants: &[Mutant],
    candidates: &BTreeSet<usize>,
) -> Result<BTreeSet<usize>, Fault> {
    // What is no part of a function may make errors anywhere.
    let (mut left, mut viable): (BTreeSet<_>, BTreeSet<_>) = candidates
        .iter()
        .partition(|number| mutants[**number - 1].is_in_function());
    while !left.is_empty() {
        let mut round = one_in_each(tree, mutants, &left);
        left.retain(|number| !round.contains(number));
        loop {
            let places = tree.replace(mutants, &round)?;
            let errors = tree.check()?;
            let faulty = round.iter().filter(|number| {
                let (file, function) = &places[*number];
                errors
                    .iter()
                    .flat_map(|error| &error.pointers)
                    .any(|pointer| {
                        pointer.is_primary
                            && pointer.file == *file
                            && function.contains(&pointer.bytes.start)
                    })
            });
            let faulty: BTreeSet<_> = faulty.copied().collect();
            round.retain(|number| !faulty.contains(number));
            // Whoever makes errors elsewhere is found out when it is compiled alone.
            if errors.is_empty() || faulty.is_empty() {
                break;
            }
        }
        viable.extend(round);
        println!(
            "{} to compile yet, {} of {} may",
            left.len(),
            viable.len(),
            candidates.len() - left.len()
        );
    }
    tree.restore()?;
    Ok(viable)
}

fn one_in_each(tree: &Tree, mutants: &[Mutant], of: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut taken = BTreeMap::<&str, Vec<Range<usize>>>::new();
    let free = of.iter().filter(|number| {
        let mutant = &mutants[**number - 1];
        let function = mutant.function_bytes(tree.source(mutant));
        let others = taken.entry(&mutant.file).or_default();
        let is_free = others
            .iter()
            .all(|other| other.end <= function.start || function.end <= other.start);
        if is_free {
            others.push(function);
        }
        is_free
    });
    free.copied().collect()
}
