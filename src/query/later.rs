//! Which rows have a tick that is later than another: what `Changed` and `Added` ask for.

/// Which of 64 ticks are later than `since`. Most blocks hold none, and 16 are ruled out at a time.
#[inline]
pub(super) fn later(ticks: &[u64], first: usize, since: u64) -> u64 {
    let block = ticks.get(first..).unwrap_or_default();
    let (parts, rest) = block[..block.len().min(64)].as_chunks::<16>();
    let mut word = 0;
    if !rest.is_empty() {
        word = later_of(rest, since) << (parts.len() * 16);
    }
    for (part, ticks) in parts.iter().enumerate() {
        // Two lanes, as the compiler makes one instruction of each pair.
        let pairs = ticks.as_chunks::<2>().0.iter();
        let [even, odd] = pairs.fold([u64::MAX; 2], |all, pair| {
            [
                all[0] & before(pair[0], since),
                all[1] & before(pair[1], since),
            ]
        });
        if (even & odd) >> 63 == 0 {
            word |= later_of(ticks, since) << (part * 16);
        }
    }
    word
}

/// Which of at most 16 ticks are later than `since`. From the last to the first: a bit is then a comparison and an addition.
#[inline(never)]
fn later_of(ticks: &[u64], since: u64) -> u64 {
    let ticks = ticks.iter().rev();
    ticks.fold(0, |bits, tick| (bits << 1) | u64::from(*tick > since))
}

/// A number whose sign is set where a tick is not later than `since`.
///
/// Ticks stay far below 2^63, so the sign of a difference tells, which vectorises without a 64-bit comparison.
#[inline]
fn before(tick: u64, since: u64) -> u64 {
    tick.wrapping_sub(since + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ticks_are_found_in_blocks_of_any_length() {
        const SINCE: u64 = 7;
        const TICKS: [u64; 4] = [SINCE, SINCE + 1, SINCE - 1, u64::MAX >> 1];
        for len in [0, 1, 2, 15, 16, 17, 31, 48, 63, 64, 65, 130] {
            for step in [1, 2, 3, 17, 1000] {
                let tick = |row: usize| TICKS[usize::from(row.is_multiple_of(step)) * (row % 4)];
                let ticks: Vec<_> = (0..len).map(tick).collect();
                for first in (0..=len).step_by(64) {
                    let block = ticks[first..].iter().take(64).enumerate();
                    let expected = block
                        .filter(|(_, tick)| **tick > SINCE)
                        .fold(0_u64, |word, (bit, _)| word | 1 << bit);
                    assert_eq!(later(&ticks, first, SINCE), expected, "{ticks:?}, {first}");
                }
            }
        }
    }
}
