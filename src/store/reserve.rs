//! Ids that are handed out while nobody may change the entities.
//!
//! A reserve is filled beforehand, from the free slots; whoever takes more gets ids of slots that are yet to be made.
//! Several reserves at once share these out by turns, so that each knows its own without asking, and the ids do not
//! depend on who takes first:
//!
//! ```text
//!   slots.len() = 100, lent to 3     first of 3: 100 103 106 …   second: 101 104 …   third: 102 105 …
//! ```
//!
//! Before any slot is made otherwise, [`Entities::admit`] makes those that were taken.
//!
//! A reserve that is asked for holds as many free slots, if there are, as were ever taken from it at a time: with less,
//! work that comes in waves would make new slots in each of them, while the old ones lie idle. It takes twice as many, so
//! that it is not filled each time.

use std::num::NonZeroU32;

use super::entities::Entities;
use crate::base::entity::Entity;

/// The least that a reserve holds, if there is as much.
const LEAST: usize = 16;

/// When so few slots can still be made, nobody may hold back free ones.
const SCARCE: usize = 1 << 16;

/// Then a reserve holds so many free slots, if there are and others need none of them.
const MOST_OF_FEW: usize = 1 << 10;

/// See the module's head.
pub(crate) struct Reserve {
    /// Of free slots, the next one last.
    stock: Vec<Entity>,
    /// Where the stock stood when it was filled.
    stocked: usize,
    /// How many free slots it is to hold at least.
    wanted: usize,
    /// The slot of the next id that has none yet, and of the first one.
    next: u32,
    first: u32,
    /// Between two of them lie those of the other reserves.
    step: u32,
    /// The generation word of a new slot in the world it was filled in.
    word: NonZeroU32,
    /// It has to be admitted before a slot is issued otherwise.
    out: bool,
}

impl Default for Reserve {
    /// One that was never filled gives ids that nobody has.
    fn default() -> Self {
        Self {
            stock: Vec::new(),
            stocked: 0,
            wanted: LEAST,
            next: u32::MAX,
            first: u32::MAX,
            step: 1,
            word: NonZeroU32::MIN,
            out: false,
        }
    }
}

impl Reserve {
    /// An id that nobody else gets.
    #[inline]
    pub(crate) fn take(&mut self) -> Entity {
        match self.stock.pop() {
            Some(entity) => entity,
            None => self.take_new(),
        }
    }

    fn take_new(&mut self) -> Entity {
        self.out = true;
        let index = self.next;
        self.next = index.saturating_add(self.step);
        Entity::of_slot(index, self.word)
    }

    /// Whether it has to be [admitted](Entities::admit).
    #[inline]
    pub(crate) fn is_out(&self) -> bool {
        self.out
    }

    /// How many ids without a slot it has given.
    fn taken_new(&self) -> u32 {
        (self.next - self.first).div_ceil(self.step)
    }

    /// Learns from what was taken since it was filled.
    fn learn(&mut self) {
        let taken = self.stocked.saturating_sub(self.stock.len()) + self.taken_new() as usize;
        self.wanted = self.wanted.max(taken);
        self.stocked = self.stock.len();
    }

    fn begin_at(&mut self, index: u32, step: u32) {
        (self.first, self.next, self.step) = (index, index, step);
    }
}

impl Entities {
    /// Fills a reserve that is the only one.
    #[inline]
    pub(crate) fn fill(&mut self, reserve: &mut Reserve) {
        let fresh = self.slots().len() as u32;
        if !reserve.out {
            reserve.begin_at(fresh, 1);
        }
        if reserve.word.get() != self.first_word()
            || (reserve.stock.len() < reserve.wanted && self.has_free())
        {
            self.fill_up(reserve, usize::MAX);
        }
    }

    #[inline(never)]
    fn fill_up(&mut self, reserve: &mut Reserve, share: usize) {
        if reserve.word.get() != self.first_word() {
            // What it holds is another world's.
            *reserve = Reserve::default();
            reserve.word = NonZeroU32::new(self.first_word()).unwrap_or(NonZeroU32::MIN);
            reserve.begin_at(self.slots().len() as u32, 1);
        }
        reserve.learn();
        let mut most = 2 * reserve.wanted;
        if self.unmade() < SCARCE {
            // Who asks for more gets ids beyond the limit, however many slots are free.
            most = most.max(MOST_OF_FEW).min(share);
        }
        while reserve.stock.len() < most
            && let Some(entity) = self.reserve_free()
        {
            reserve.stock.push(entity);
        }
        // The next one to be taken is the last.
        reserve.stock[reserve.stocked..].reverse();
        reserve.stocked = reserve.stock.len();
        reserve.out |= self.unmade() < SCARCE;
    }

    /// Fills a reserve that is number `turn` of as many as `among`. All were admitted; until all are again, no slot is
    /// issued otherwise.
    pub(crate) fn lend(&mut self, reserve: &mut Reserve, turn: u32, among: u32) {
        let left = among.saturating_sub(turn).max(1);
        self.fill_up(reserve, self.free_len().div_ceil(left as usize));
        let fresh = self.slots().len() as u32;
        reserve.begin_at(fresh.saturating_add(turn), among.max(1));
    }

    /// Makes the slots of all ids that were taken. A reserve that was [lent](Self::lend) beside others leaves gaps, which
    /// [`close_gaps`](Self::close_gaps) makes free slots of when all are admitted.
    ///
    /// Beyond the limit there is no slot, and an id is never alive.
    pub(crate) fn admit(&mut self, reserve: &mut Reserve) {
        if reserve.word.get() == self.first_word() {
            reserve.learn();
            for turn in 0..reserve.taken_new() {
                let index = u64::from(reserve.first) + u64::from(turn) * u64::from(reserve.step);
                if index >= u64::from(self.limit()) {
                    break;
                }
                self.make_reserved(index as u32);
            }
            if self.unmade() < SCARCE {
                self.give_back(reserve);
            }
        }
        reserve.out = false;
        reserve.begin_at(u32::MAX, 1);
    }

    /// Takes back what a reserve holds.
    pub(crate) fn give_back(&mut self, reserve: &mut Reserve) {
        if reserve.word.get() == self.first_word() {
            // The last one first, so that the free ones come in the order they had.
            for entity in reserve.stock.drain(..) {
                // Whoever made the same id up has ended it before.
                if self.is_reserved(entity) {
                    self.free_again(entity.index());
                }
            }
        }
        reserve.stock = Vec::new();
        (reserve.stocked, reserve.wanted) = (0, LEAST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(entities: &mut Entities) -> Entity {
        entities.alloc(0, 0).expect("there are slots")
    }

    /// As many slots as there may be, all of which were used.
    fn all_free(limit: u32) -> Entities {
        let mut entities = Entities::new();
        entities.set_limit(limit);
        let ids: Vec<Entity> = (0..limit).map(|_| issue(&mut entities)).collect();
        for entity in &ids {
            entities.release(entity.index());
        }
        entities
    }

    /// What three reserves give that are lent together; they are asked as often as `counts` says, in this order.
    fn taken(entities: &mut Entities, counts: [usize; 3], order: [usize; 3]) -> [Vec<Entity>; 3] {
        let mut reserves = [0, 1, 2].map(|_| Reserve::default());
        for (turn, reserve) in (0..).zip(&mut reserves) {
            entities.lend(reserve, turn, 3);
        }
        let mut taken = [Vec::new(), Vec::new(), Vec::new()];
        for of in order {
            taken[of].extend((0..counts[of]).map(|_| reserves[of].take()));
        }
        for of in order {
            entities.admit(&mut reserves[of]);
        }
        entities.close_gaps();
        assert!(reserves.iter().all(|reserve| !reserve.is_out()));
        taken
    }

    #[test]
    fn reserves_lent_together_give_ids_that_do_not_depend_on_who_asks_first() {
        let run = |order| {
            let mut entities = Entities::new();
            let old: Vec<Entity> = (0..50).map(|_| issue(&mut entities)).collect();
            for entity in &old[..40] {
                entities.release(entity.index());
            }
            let taken = taken(&mut entities, [36, 3, 40], order);
            let mut all: Vec<Entity> = taken.iter().flatten().copied().collect();
            assert!(all.iter().all(|entity| entities.is_reserved(*entity)));
            // What is between them is issued next, and nothing of theirs.
            let after: Vec<Entity> = (0..100).map(|_| issue(&mut entities)).collect();
            all.extend(&after);
            let indices = |ids: &[Entity]| ids.iter().map(|id| id.index()).collect::<Vec<_>>();
            let mut distinct = indices(&all);
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), 179);
            (taken.map(|ids| indices(&ids)), indices(&after))
        };
        let outcome = run([0, 1, 2]);
        assert_eq!(outcome, run([2, 0, 1]));
        assert_eq!(outcome, run([1, 2, 0]));
        // 32 free slots for each as long as there are some; then every third of those to come.
        assert_eq!(outcome.0[0][32..], [50, 53, 56, 59]);
        assert_eq!(outcome.0[2][..3], [52, 55, 58]);
    }

    #[test]
    fn gaps_are_free_afterwards_and_beyond_the_limit_there_is_nothing() {
        let mut entities = Entities::new();
        entities.set_limit(10);
        let [none, some, last] = taken(&mut entities, [0, 3, 5], [2, 1, 0]);
        assert!(none.is_empty());
        let made = |ids: &[Entity]| ids.iter().filter(|id| entities.is_reserved(**id)).count();
        assert_eq!((made(&some), made(&last)), (3, 3));
        assert_eq!(entities.slots().len(), 9);
        assert_eq!(entities.remaining(), 4, "three gaps, and one to come");
        let rest: Vec<u32> = (0..4).map(|_| issue(&mut entities).index()).collect();
        assert_eq!(rest, [0, 3, 6, 9]);
        assert!(entities.alloc(0, 0).is_err());
    }

    #[test]
    fn a_reserve_that_is_given_back_leaves_the_slots_as_they_were() {
        let mut entities = Entities::new();
        let ids: Vec<Entity> = (0..30).map(|_| issue(&mut entities)).collect();
        for entity in ids.iter().rev() {
            entities.release(entity.index());
        }
        let before = entities.upcoming(30);
        let mut reserve = Reserve::default();
        entities.fill(&mut reserve);
        assert_ne!(
            entities.upcoming(14),
            before.clone().map(|ids| ids[..14].to_vec())
        );
        entities.give_back(&mut reserve);
        assert_eq!(entities.upcoming(30), before);
        // Of another world it takes nothing.
        let mut others = Entities::new();
        entities.fill(&mut reserve);
        others.give_back(&mut reserve);
        others.fill(&mut reserve);
        assert_eq!(reserve.take().index(), 0);
    }

    #[test]
    fn where_few_slots_are_left_a_reserve_holds_a_thousand_free_ones() {
        let mut entities = all_free(1_000);
        let mut reserve = Reserve::default();
        entities.fill(&mut reserve);
        for _ in 0..1_000 {
            let taken = reserve.take();
            assert!(entities.is_reserved(taken));
        }
        let beyond = reserve.take();
        assert!(!entities.is_reserved(beyond));
    }

    #[test]
    fn where_few_slots_are_left_those_lent_together_share_the_free_ones() {
        let mut entities = all_free(21);
        let mut reserves = [Reserve::default(), Reserve::default()];
        for (turn, reserve) in (0..).zip(&mut reserves) {
            entities.lend(reserve, turn, 2);
        }
        let [first, second] = &mut reserves;
        let mut taken: Vec<Entity> = (0..11).map(|_| first.take()).collect();
        taken.extend((0..10).map(|_| second.take()));
        assert!(taken.iter().all(|entity| entities.is_reserved(*entity)));
        for beyond in [first.take(), second.take()] {
            assert!(!entities.is_reserved(beyond));
        }
    }

    #[test]
    fn one_that_was_never_filled_gives_ids_that_are_nobodys() {
        let mut entities = Entities::new();
        let mut reserve = Reserve::default();
        let id = reserve.take();
        entities.admit(&mut reserve);
        assert!(!entities.is_reserved(id) && entities.slots().is_empty());
    }
}
