//! Typed systems beside exclusive ones, on one thread and on several, and beside loops over `std` threads by hand.
//!
//! ```text
//! cargo bench --bench parallel                   everything
//! cargo bench --bench parallel -- empty swaps    workloads whose names contain one of these
//! BENCH_MILLIS=2000 cargo bench --bench parallel longer than half a second for each workload
//! ```
//!
//! Medians of the wall clock, in nanoseconds per item: per system and pass, per row, per matrix inverted once. The sides run
//! in turns, and what they leave behind must agree. On a busy machine, or with fewer cores than threads, they say little
//! of what workers are good for.

#[path = "harness/mod.rs"]
mod harness;

use std::hint::black_box;
use std::mem::swap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ecs::{
    BoxError, Claim, Clock as _, Component, ManualClock, Matches, Moment, OwnedContainer, Timing,
    Value, Workers, World, json, parallel,
};
use harness::{Clock, Table, Target};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let measured = arguments.iter().any(|argument| argument == "--bench");
    let filters = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"));
    let millis = std::env::var("BENCH_MILLIS").ok();
    let millis = millis.and_then(|text| text.parse().ok()).unwrap_or(500);
    let budget = Duration::from_millis(if measured { millis } else { 0 });
    let table = Table::new(filters.cloned().collect(), budget);

    let cores = thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores\n");
    Table::head();
    for systems in [10, 100, 1_000] {
        empty(&table, systems);
    }
    swaps(&table);
    compute(&table);
}

/// On what the systems of a container run.
#[derive(Clone, Copy)]
enum On {
    /// One by one, as systems that could do anything.
    Exclusive,
    /// As typed systems, with so many workers, which are woken for levels that are worth it, or for all.
    Typed { workers: usize, always: bool },
}

impl On {
    const ALL: [Self; 6] = [
        Self::Exclusive,
        Self::typed(0, false),
        Self::typed(1, false),
        Self::typed(2, false),
        Self::typed(1, true),
        Self::typed(2, true),
    ];

    const fn typed(workers: usize, always: bool) -> Self {
        Self::Typed { workers, always }
    }

    fn name(self) -> String {
        match self {
            Self::Exclusive => "exclusive".to_owned(),
            Self::Typed { workers: 0, .. } => "typed, no worker".to_owned(),
            Self::Typed { workers, always } => {
                let woken = if always { ", always woken" } else { "" };
                let plural = if workers == 1 { "" } else { "s" };
                format!("typed, {workers} worker{plural}{woken}")
            }
        }
    }
}

/// A container and a claim to it.
struct Scene {
    claim: Claim,
    // Dropped after the claim, which holds the container's body.
    _owned: OwnedContainer,
}

impl Scene {
    fn new(on: On) -> Self {
        let owned = OwnedContainer::new("bench").unwrap();
        let mut claim = owned.claim().unwrap();
        claim.set_clock(ManualClock::new()).unwrap();
        if let On::Typed { workers, always } = on {
            if workers > 0 {
                claim.set_workers(&Workers::new(workers).unwrap());
            }
            if always {
                claim.context().set_worth_waking(Duration::ZERO);
            }
        }
        Self {
            claim,
            _owned: owned,
        }
    }

    fn world(&mut self) -> &mut World {
        self.claim.world()
    }

    fn add(&mut self, system: impl ecs::IntoRegistration) {
        self.claim.add_system(system).unwrap();
    }

    fn pass(&mut self) {
        self.claim.update().unwrap();
    }
}

type Boxed = Box<dyn FnMut() -> Result<(), BoxError>>;

/// Systems that only count that they were called. By hand: boxed functions, each with a check whether it is due.
fn empty(table: &Table, systems: usize) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let count = || {
        CALLS.fetch_add(1, Ordering::Relaxed);
    };
    let passes = 10_000 / systems;
    for on in On::ALL {
        let workload = format!("{systems} empty systems: {}", on.name());
        if !table.wants(&workload) {
            continue;
        }
        let clock = ManualClock::new();
        let one = |_| -> (Timing, Boxed) {
            let timing = Timing::new(Duration::ZERO, Moment::ZERO).unwrap();
            let work = move || {
                count();
                Ok(())
            };
            (timing, Box::new(work))
        };
        let mut list: Vec<(Timing, Boxed)> = (0..systems).map(one).collect();
        let by_hand = |time: &mut Clock| {
            time.time_wall(|| {
                for _ in 0..passes {
                    for (timing, work) in black_box(&mut list) {
                        if timing.is_due(clock.now()) {
                            work().unwrap();
                        }
                    }
                }
            });
            CALLS.swap(0, Ordering::Relaxed)
        };
        let mut scene = Scene::new(on);
        for number in 0..systems {
            let handle = format!("system {number}");
            match on {
                On::Exclusive => {
                    let work = move |_: &mut ecs::Context<'_>| {
                        count();
                        Ok(())
                    };
                    scene.add(ecs::system(handle, work).every_pass());
                }
                On::Typed { .. } => scene.add(parallel(handle, count).every_pass()),
            }
        }
        let ours = |time: &mut Clock| {
            time.time_wall(|| (0..passes).for_each(|_| scene.pass()));
            CALLS.swap(0, Ordering::Relaxed)
        };
        let target = match on {
            On::Exclusive => Target::None,
            // The best of the other libraries takes this on threads, at 100 systems.
            On::Typed { .. } => Target::Absolute(181.0),
        };
        table.pair(&workload, systems * passes, target, by_hand, ours);
    }
}

macro_rules! components {
    ($($component:ident($inner:ty)),*) => {$(
        #[derive(Clone, Copy)]
        struct $component($inner);

        impl Component for $component {
            fn type_name() -> &'static str {
                stringify!($component)
            }

            fn export(&self) -> Value {
                json!(self.0)
            }
        }
    )*};
}

type Array = [[f32; 4]; 4];

components!(A(u32), B(u32), C(u32), D(u32), E(u32));
components!(First(Array), Second(Array), Third(Array), Fourth(Array));

const EACH: u32 = 10_000;

fn weigh(sums: [u64; 3]) -> u64 {
    sums[0] + 3 * sums[1] + 5 * sums[2]
}

/// Columns by hand: of entities with two, three and four kinds.
#[derive(Default)]
struct Sets {
    a: Vec<A>,
    b: Vec<B>,
    c: [Vec<C>; 2],
    d: Vec<D>,
    e: Vec<E>,
}

impl Sets {
    fn new() -> Self {
        let mut sets = Self::default();
        for value in 0..4 * EACH {
            sets.a.push(A(value));
            sets.b.push(B(value + 1));
        }
        for value in 0..EACH {
            sets.c[0].push(C(value + 2));
            sets.c[1].push(C(value + 3));
            sets.d.push(D(value + 4));
            sets.e.push(E(value + 5));
        }
        sets
    }

    fn sum(&self) -> u64 {
        let a = self.a.iter().map(|a| u64::from(a.0)).sum();
        let c = |at: usize| self.c[at].iter().map(|c| u64::from(c.0)).sum();
        weigh([a, c(0), c(1)])
    }
}

fn first(a: &mut [A], b: &mut [B]) {
    a.iter_mut()
        .zip(b)
        .for_each(|(a, b)| swap(&mut a.0, &mut b.0));
}

fn others(c: &mut [Vec<C>; 2], d: &mut [D], e: &mut [E]) {
    let [with_d, with_e] = c;
    let pairs = with_d.iter_mut().zip(d);
    pairs.for_each(|(c, d)| swap(&mut c.0, &mut d.0));
    let pairs = with_e.iter_mut().zip(e);
    pairs.for_each(|(c, e)| swap(&mut c.0, &mut e.0));
}

/// The same entities in a world.
fn fill(world: &mut World) {
    world.spawn_batch((0..2 * EACH).map(|value| (A(value), B(value + 1))));
    let (more, most) = (2 * EACH..3 * EACH, 3 * EACH..4 * EACH);
    world.spawn_batch(more.zip(0..).map(|(value, of_set)| {
        let others = (C(of_set + 2), D(of_set + 4));
        (A(value), B(value + 1), others.0, others.1)
    }));
    world.spawn_batch(most.zip(0..).map(|(value, of_set)| {
        let others = (C(of_set + 3), E(of_set + 5));
        (A(value), B(value + 1), others.0, others.1)
    }));
}

/// Three systems that swap two kinds each: over 40,000, 10,000 and 10,000 entities. The second and the third share one.
fn swaps(table: &Table) {
    let rows = 6 * EACH as usize;
    for on in On::ALL {
        let workload = format!("3 systems that swap: {}", on.name());
        if !table.wants(&workload) {
            continue;
        }
        let on_threads = matches!(on, On::Typed { workers: 1.., .. });
        let mut sets = Sets::new();
        let by_hand = |time: &mut Clock| {
            time.time_wall(|| {
                let Sets { a, b, c, d, e } = black_box(&mut sets);
                if on_threads {
                    thread::scope(|scope| {
                        scope.spawn(|| others(c, d, e));
                        first(a, b);
                    });
                } else {
                    first(a, b);
                    others(c, d, e);
                }
            });
            sets.sum()
        };
        let mut scene = Scene::new(on);
        fill(scene.world());
        macro_rules! swapping {
            ($($first:ident $second:ident),*) => {$(
                let handle = concat!(stringify!($first), stringify!($second));
                match on {
                    On::Exclusive => scene.add(ecs::system(handle, |cx| {
                        let rows = cx.world.query::<(&mut $first, &mut $second)>();
                        rows.for_each(|(one, other)| swap(&mut one.0, &mut other.0));
                        Ok(())
                    }).every_pass()),
                    On::Typed { .. } => {
                        let work = |mut rows: Matches<'_, (&mut $first, &mut $second)>| {
                            rows.for_each(|(one, other)| swap(&mut one.0, &mut other.0));
                        };
                        scene.add(parallel(handle, work).every_pass());
                    }
                }
            )*};
        }
        swapping!(A B, C D, C E);
        let ours = |time: &mut Clock| {
            time.time_wall(|| scene.pass());
            let world = scene.world();
            let a = world.query::<&A>().map(|a| u64::from(a.0)).sum();
            let with_d = world.query::<(&C, &D)>();
            let with_d = with_d.map(|(c, _)| u64::from(c.0)).sum();
            let with_e = world.query::<(&C, &E)>();
            let with_e = with_e.map(|(c, _)| u64::from(c.0)).sum();
            weigh([a, with_d, with_e])
        };
        let target = if on_threads {
            Target::None
        } else {
            Target::Ratio(1.05)
        };
        table.pair(&workload, rows, target, by_hand, ours);
    }
}

const MATRICES: usize = 1_000;
const INVERSIONS: usize = 100;

/// Gauss and Jordan, without pivoting: the matrices here have large diagonals.
#[allow(
    clippy::needless_range_loop,
    reason = "rows and columns by their numbers"
)]
fn inverted(mut from: Array) -> Array {
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

fn work(matrix: &mut Array) {
    for _ in 0..INVERSIONS {
        *matrix = inverted(black_box(*matrix));
    }
}

fn matrices() -> impl Iterator<Item = Array> {
    (0..MATRICES).map(|turn| {
        let mut matrix = [[1.0; 4]; 4];
        for (at, row) in matrix.iter_mut().enumerate() {
            row[at] = [8.0, 9.0, 10.0, 11.0][turn % 4];
        }
        matrix
    })
}

fn bits(matrix: &Array) -> u64 {
    let values = matrix.iter().flatten();
    values.map(|value| u64::from(value.to_bits())).sum()
}

/// A thousand matrices, inverted a hundred times each: four systems with a quarter of them each, or one that divides its
/// work among threads of its own. By hand: scoped threads, as many as work in the row.
fn compute(table: &Table) {
    let items = MATRICES * INVERSIONS;
    let by_hand = |all: &mut Vec<Array>, threads: usize, time: &mut Clock| {
        let each = MATRICES.div_ceil(threads);
        time.time_wall(|| {
            thread::scope(|scope| {
                let mut chunks = all.chunks_mut(each);
                let own = chunks.next();
                for chunk in chunks {
                    scope.spawn(|| chunk.iter_mut().for_each(work));
                }
                own.into_iter().flatten().for_each(work);
            });
        });
        all.iter().map(bits).sum()
    };

    for workers in 0..=2 {
        let on = On::typed(workers, false);
        let workload = format!("matrices inverted by 4 systems: {}", on.name());
        if !table.wants(&workload) {
            continue;
        }
        let mut scene = Scene::new(on);
        let world = scene.world();
        let quarter = MATRICES / 4;
        world.spawn_batch(matrices().take(quarter).map(First));
        world.spawn_batch(matrices().skip(quarter).take(quarter).map(Second));
        world.spawn_batch(matrices().skip(2 * quarter).take(quarter).map(Third));
        world.spawn_batch(matrices().skip(3 * quarter).map(Fourth));
        macro_rules! inverting {
            ($($kind:ident),*) => {$(
                let invert = |mut all: Matches<'_, &mut $kind>| {
                    all.for_each(|matrix| work(&mut matrix.0));
                };
                scene.add(parallel(stringify!($kind), invert).every_pass());
            )*};
        }
        inverting!(First, Second, Third, Fourth);
        let ours = |time: &mut Clock| {
            time.time_wall(|| scene.pass());
            let world = scene.world();
            world.query::<&First>().map(|one| bits(&one.0)).sum::<u64>()
                + world
                    .query::<&Second>()
                    .map(|one| bits(&one.0))
                    .sum::<u64>()
                + world.query::<&Third>().map(|one| bits(&one.0)).sum::<u64>()
                + world
                    .query::<&Fourth>()
                    .map(|one| bits(&one.0))
                    .sum::<u64>()
        };
        let mut all: Vec<Array> = matrices().collect();
        let by_hand = |time: &mut Clock| by_hand(&mut all, 1 + workers, time);
        table.pair(&workload, items, Target::Ratio(1.05), by_hand, ours);
    }

    for threads in 1..=3 {
        let workload = format!("matrices inverted by 1 system on {threads} scoped threads");
        if !table.wants(&workload) {
            continue;
        }
        let mut scene = Scene::new(On::typed(1, true));
        scene.world().spawn_batch(matrices().map(First));
        let each = MATRICES.div_ceil(threads);
        let invert = move |mut all: Matches<'_, &mut First>| {
            thread::scope(|scope| {
                let mut batches = all.iter().batches(each);
                let own = batches.next();
                for batch in batches {
                    scope.spawn(|| batch.for_each(|matrix| work(&mut matrix.0)));
                }
                own.into_iter()
                    .flatten()
                    .for_each(|matrix| work(&mut matrix.0));
            });
        };
        scene.add(parallel("invert", invert).every_pass());
        // Runs beside it, so that the other threads come on top of the workers.
        scene.add(parallel("beside", |_: Matches<'_, &mut Second>| ()).every_pass());
        let ours = |time: &mut Clock| {
            time.time_wall(|| scene.pass());
            let all = scene.world().query::<&First>();
            all.map(|one| bits(&one.0)).sum()
        };
        let mut all: Vec<Array> = matrices().collect();
        let by_hand = |time: &mut Clock| by_hand(&mut all, threads, time);
        table.pair(&workload, items, Target::Ratio(1.05), by_hand, ours);
    }
}
