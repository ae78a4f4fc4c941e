//! Work for several threads: a thousand matrices, each inverted a hundred times.

use std::hint::black_box;
use std::num::NonZero;
use std::thread;

use bevy_ecs::batching::BatchingStrategy;
use bevy_ecs::world::World as BevyWorld;
use shipyard::{IntoIter as _, ViewMut};

use crate::bench::{Bench, Engine, Sides};
use crate::data::Matrix;
use crate::harness::Clock;
use crate::parts::small;

const MATRICES: usize = 1_000;
const INVERSIONS: usize = 100;

/// Gauss and Jordan, without pivoting: the matrices here have large diagonals.
#[inline]
#[allow(
    clippy::needless_range_loop,
    reason = "rows and columns by their numbers"
)]
fn invert(mut from: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    let mut to = [[0.0; 4]; 4];
    for at in 0..4 {
        to[at][at] = 1.0;
    }
    for pivot in 0..4 {
        let scale = 1.0 / from[pivot][pivot];
        for at in 0..4 {
            from[pivot][at] *= scale;
            to[pivot][at] *= scale;
        }
        for row in (0..4).filter(|row| *row != pivot) {
            let factor = from[row][pivot];
            for at in 0..4 {
                from[row][at] -= factor * from[pivot][at];
                to[row][at] -= factor * to[pivot][at];
            }
        }
    }
    to
}

fn work(matrix: &mut Matrix) {
    for _ in 0..INVERSIONS {
        matrix.0 = invert(black_box(matrix.0));
    }
}

fn matrices() -> impl Iterator<Item = Matrix> {
    (0..MATRICES).map(|turn| {
        let mut matrix = [[1.0; 4]; 4];
        for (at, row) in matrix.iter_mut().enumerate() {
            row[at] = 8.0 + small(turn % 7);
        }
        Matrix(matrix)
    })
}

fn matrix_bits(matrix: &Matrix) -> u64 {
    let values = matrix.0.iter().flatten();
    values.map(|value| u64::from(value.to_bits())).sum()
}

/// One batch for each core.
fn batch() -> usize {
    MATRICES.div_ceil(thread::available_parallelism().map_or(1, NonZero::get))
}

fn compute() -> Sides {
    let batch = batch();
    let batch_of_u32 = u32::try_from(batch).unwrap_or(u32::MAX);
    Sides::default()
        .with(Engine::Hand, {
            let mut all: Vec<Matrix> = matrices().collect();
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    thread::scope(|scope| {
                        for chunk in all.chunks_mut(batch) {
                            scope.spawn(|| chunk.iter_mut().for_each(work));
                        }
                    });
                });
                all.iter().map(matrix_bits).sum()
            }
        })
        .with(Engine::Ours, {
            let mut world = ecs::World::new();
            world.spawn_batch(matrices());
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    thread::scope(|scope| {
                        for batch in world.query::<&mut Matrix>().batches(batch) {
                            scope.spawn(move || batch.for_each(work));
                        }
                    });
                });
                world.query::<&Matrix>().map(matrix_bits).sum()
            }
        })
        .with(Engine::Hecs, {
            let mut world = hecs::World::new();
            drop(world.spawn_batch(matrices().map(|matrix| (matrix,))));
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    thread::scope(|scope| {
                        let query = world.query_mut::<&mut Matrix>();
                        for batch in query.into_iter_batched(batch_of_u32) {
                            scope.spawn(move || batch.for_each(work));
                        }
                    });
                });
                let all = world.query_mut::<&Matrix>().into_iter();
                all.map(matrix_bits).sum()
            }
        })
        .with(Engine::Bevy, {
            bevy_tasks::ComputeTaskPool::get_or_init(bevy_tasks::TaskPool::default);
            let mut world = BevyWorld::new();
            drop(world.spawn_batch(matrices()));
            let mut query = world.query::<&mut Matrix>();
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    query
                        .par_iter_mut(&mut world)
                        .batching_strategy(BatchingStrategy::new())
                        .for_each(|mut matrix| work(&mut matrix));
                });
                world.query::<&Matrix>().iter(&world).map(matrix_bits).sum()
            }
        })
        .with(Engine::Shipyard, {
            use rayon::iter::ParallelIterator as _;
            let mut world = shipyard::World::new();
            world.bulk_add_entity(matrices());
            move |clock: &mut Clock| {
                clock.time_wall(|| {
                    world.run(|mut all: ViewMut<'_, Matrix>| {
                        (&mut all).par_iter().for_each(work);
                    });
                });
                world.iter::<&Matrix>().iter().map(matrix_bits).sum()
            }
        })
}

pub(crate) fn run(bench: &mut Bench) {
    let items = MATRICES * INVERSIONS;
    bench.row(
        "1,000 matrices inverted 100 times, parallel",
        items,
        compute,
    );
}
