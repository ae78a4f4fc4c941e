//! One random case: systems, an order of some of them, a world, some passes.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use ecs::{Claim, Entity, EntityRef, Workers, World};

use crate::common::manual;
use crate::menu::{A, ALL, B, C, D, Heard, Known, Maybe, Other, S, Sum, T, TYPED, add};

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) name: Arc<str>,
    pub(crate) kind: usize,
    pub(crate) k: i64,
    pub(crate) interval: u64,
    pub(crate) conditional: bool,
    /// It runs by itself although it says what it reaches.
    pub(crate) alone: bool,
}

pub(crate) struct Case {
    seed: u64,
    pub(crate) systems: Vec<Spec>,
    /// Pairs of systems: the first comes before the second, unless that closes a cycle.
    wishes: Vec<(u64, u64)>,
    steps: Vec<u64>,
}

/// How a case is run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way<'a> {
    /// Level by level, with workers or without.
    Levels(Option<&'a Workers>),
    /// One by one, in order.
    OneByOne,
}

/// What is left.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// After each pass, everything in the world but the numbers of the entities.
    pub(crate) values: Vec<String>,
    /// After each pass, the numbers of the entities in the same order.
    pub(crate) numbers: Vec<Vec<u32>>,
}

impl Case {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 4 + random.below(14);
        let systems = (0..count).map(|n| {
            // Mostly such as can overlap.
            let kinds = if random.below(5) == 0 { ALL } else { TYPED };
            Spec {
                name: format!("s{n}").into(),
                kind: usize::try_from(random.below(kinds as u64)).unwrap(),
                k: i64::try_from(random.below(50)).unwrap(),
                interval: [0, 0, 0, 10, 25][usize::try_from(random.below(5)).unwrap()],
                conditional: random.below(6) == 0,
                alone: false,
            }
        });
        let systems = systems.collect();
        let wishes = (0..random.below(5))
            .map(|_| (random.below(count), random.below(count)))
            .collect();
        let steps = (0..6).map(|_| random.below(30)).collect();
        Self {
            seed,
            systems,
            wishes,
            steps,
        }
    }

    fn fill(&self, world: &mut World) {
        let mut random = Random::new(self.seed + 1_000_000);
        let mut known = Vec::new();
        for n in 0..30 {
            let entity = world.spawn(A(n));
            known.push(entity);
            if random.below(2) == 0 {
                world.insert(entity, B(n * 2)).unwrap();
            }
            if random.below(2) == 0 {
                world.insert(entity, C(n * 3)).unwrap();
            }
            if random.below(3) == 0 {
                world.insert(entity, D(n)).unwrap();
            }
            if random.below(2) == 0 {
                world.insert(entity, S(n + 1)).unwrap();
            }
            if random.below(3) == 0 {
                world.insert(entity, T(n + 2)).unwrap();
            }
            if random.below(6) == 0 {
                world.remove::<A>(entity);
            }
        }
        world.insert_resource(Sum(1));
        world.insert_resource(Other(1));
        world.insert_resource(Heard(1));
        world.insert_resource(Known(known));
    }

    pub(crate) fn run(&self, way: Way<'_>) -> Outcome {
        let (owned, clock) = manual("main");
        let mut claim = owned.claim().unwrap();
        self.fill(claim.world());
        if let Way::Levels(workers) = way {
            claim.set_workers(workers);
        }
        claim.context().set_worth_waking(Duration::ZERO);
        for spec in &self.systems {
            let alone = matches!(way, Way::OneByOne);
            let spec = Spec {
                alone,
                ..spec.clone()
            };
            add(&mut claim, &spec);
        }
        for (first, second) in &self.wishes {
            let (first, second) = (format!("s{first}"), format!("s{second}"));
            let _ = claim.context().precedes(&*first, &*second);
        }
        let mut outcome = Outcome {
            values: Vec::new(),
            numbers: Vec::new(),
        };
        for step in &self.steps {
            clock.advance(Duration::from_micros(*step)).unwrap();
            claim.update().unwrap();
            let (values, numbers) = canonical(&mut claim);
            outcome.values.push(values);
            outcome.numbers.push(numbers);
        }
        outcome
    }

    pub(crate) fn describe(&self) -> String {
        let systems = self.systems.iter().map(|spec| {
            let Spec {
                name,
                kind,
                k,
                interval,
                conditional,
                ..
            } = spec;
            format!("{name}: kind {kind}, k {k}, every {interval} us, conditional {conditional}\n")
        });
        let systems: String = systems.collect();
        format!("seed {}\n{systems}wishes {:?}\n", self.seed, self.wishes)
    }
}

/// Everything in the world, in the order in which it lies there. The handles of entities are drawn anew in each world.
fn canonical(claim: &mut Claim) -> (String, Vec<u32>) {
    let world = claim.world();
    let mut text = String::new();
    let mut numbers = Vec::new();
    let rows: Vec<Entity> = world.query::<Entity>().collect();
    let world: &World = world;
    let all: HashMap<Entity, EntityRef<'_>> = world
        .entities()
        .map(|entity| (entity.id(), entity))
        .collect();
    for entity in rows {
        numbers.push(entity.index());
        for (name, component) in all[&entity].components() {
            write!(text, "{name}={} ", component.export()).unwrap();
        }
        text.push('\n');
    }
    let maybe = world.resource::<Maybe>().map(|maybe| maybe.0);
    let of = (
        world.resource::<Sum>().map(|sum| sum.0),
        world.resource::<Other>().map(|other| other.0),
        world.resource::<Heard>().map(|heard| heard.0),
    );
    write!(text, "{of:?} {maybe:?}").unwrap();
    (text, numbers)
}
