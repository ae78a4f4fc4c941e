//! Iteration on rayon's threads.

use super::fetch::Query;
use super::filter::Filter;
use super::iter::{Batch, QueryIter};

impl<'w, Q: Query, F: Filter> QueryIter<'w, Q, F> {
    /// Calls `work` with every match, on the threads of the rayon pool of this thread (the global one, unless it belongs
    /// to another). Returns when all is done. With the feature `rayon`.
    ///
    /// A thread is given at least `size` rows at a time, as long as there are so many: choose it so that they take some
    /// microseconds. Who meets an entity when is not fixed, so `work` has to do for each what does not depend on others.
    ///
    /// It may run inside of any number of systems at a time, whatever the number of threads: who waits works.
    ///
    /// ```
    /// # use ecs::{Component, Value, World, json};
    /// # struct Position(f32);
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// # let mut world = World::new();
    /// # world.spawn_batch((0..1000).map(|x| Position(x as f32)));
    /// world.query::<&mut Position>().par_for_each(256, |position| position.0 = position.0.sqrt());
    /// # assert_eq!(world.query::<&Position>().filter(|p| p.0 == 5.0).count(), 1);
    /// ```
    ///
    /// # Panics
    ///
    /// When `work` does: all that has begun ends first.
    pub fn par_for_each(self, size: usize, work: impl Fn(Q::Item<'w>) + Sync)
    where
        Batch<'w, Q>: Send,
    {
        let work = &work;
        rayon::in_place_scope(|scope| {
            // Small archetypes go together: a task for each would cost more than its rows.
            let mut together = Vec::new();
            let mut rows = 0;
            for batch in self.batches(size) {
                rows += batch.size_hint().0;
                together.push(batch);
                if rows >= size {
                    rows = 0;
                    let batches = std::mem::take(&mut together);
                    scope.spawn(move |_| run(batches, work));
                }
            }
            run(together, work);
        });
    }
}

fn run<'w, Q: Query>(batches: Vec<Batch<'w, Q>>, work: impl Fn(Q::Item<'w>)) {
    for batch in batches {
        batch.for_each(&work);
    }
}
