//! Readers of changes and losses, and the ways to iterate, against the model.

use ecs::{Added, Changed, Entity, Mut, Or, Prepared, RemovedReader, With, Without, World};

use crate::kinds::{A, B, Kind, Maker, O64, P, S, Tag, TestKind, Z};
use crate::naive::{Being, Naive};
use crate::script::Script;

const KIND_A: Kind = ("A", Tag::A);
const KIND_B: Kind = ("B", Tag::B);
const KIND_S: Kind = ("S", Tag::S);
const KIND_P: Kind = ("P", Tag::P);
const KIND_Z: Kind = ("Z", Tag::Z);

type WriterRow = (Entity, &'static mut A);
type PieceFilter = Or<(With<S>, Without<B>)>;
type EitherFilter = Or<(Changed<P>, Added<S>)>;

/// A prepared query, and the model's count at its last run.
struct Reader<Q: ecs::Query, F: ecs::Filter>(Prepared<Q, F>, u64);

/// A reader of losses, and how many of the model's it has read.
struct Losses<T>(RemovedReader<T>, usize);

#[derive(Default)]
pub(crate) struct Readers {
    changed: Option<Reader<(Entity, &'static A), Changed<A>>>,
    added: Option<Reader<Entity, Added<A>>>,
    sparse: Option<Reader<(Entity, &'static S), Changed<S>>>,
    writer: Option<Reader<WriterRow, Changed<A>>>,
    either: Option<Reader<Entity, EitherFilter>>,
    lost_a: Option<Losses<A>>,
    lost_s: Option<Losses<S>>,
    lost_p: Option<Losses<P>>,
}

/// Makes the reader when it is first needed; then runs it.
macro_rules! run_reader {
    ($place:expr, $world:expr, $naive:expr, $since:ident, $iter:ident => $code:expr) => {{
        let reader = $place.get_or_insert_with(|| Reader($world.prepare_filtered().unwrap(), 0));
        let $since = std::mem::replace(&mut reader.1, $naive.clock);
        let $iter = reader.0.iter($world).unwrap();
        $code
    }};
}

impl Readers {
    pub(crate) fn step(
        &mut self,
        world: &mut World,
        naive: &mut Naive,
        maker: &mut Maker,
        script: &mut Script<'_>,
    ) {
        match script.below(16) {
            0 | 12 | 13 => self.changed(world, naive, script),
            1 | 14 => run_reader!(self.added, world, naive, since, iter => {
                let expected: Vec<_> = naive
                    .holders(KIND_A)
                    .filter(|(_, cell)| cell.added > since)
                    .map(|(entity, _)| entity)
                    .collect();
                // spec: LOOK-09
                assert_eq!(iter.collect::<Vec<_>>(), expected, "added since {since}");
            }),
            2 | 15 => run_reader!(self.sparse, world, naive, since, iter => {
                let found: Vec<_> = iter.map(|(entity, s)| (entity, s.payload())).collect();
                // spec: LOOK-09, COMP-12
                assert_eq!(found, written(naive, KIND_S, since), "written since {since}");
            }),
            3 => self.write(world, naive, maker, script),
            4 => run_reader!(self.either, world, naive, since, iter => {
                let matches = |being: &Being| {
                    being.cell(KIND_P).is_some_and(|cell| cell.changed > since)
                        || being.cell(KIND_S).is_some_and(|cell| cell.added > since)
                };
                let expected: Vec<_> = naive
                    .order()
                    .filter(|(_, being)| matches(being))
                    .map(|(entity, _)| entity)
                    .collect();
                // spec: LOOK-05, LOOK-09
                assert_eq!(iter.collect::<Vec<_>>(), expected);
            }),
            5 | 6 => self.losses(world, naive),
            7 => write_plain(world, naive, maker, script),
            8 => write_marked(world, naive, maker),
            9 => write_chunks(world, naive, maker),
            10 => write_sparse(world, naive, maker, script),
            _ => pieces(world, naive, script),
        }
    }

    fn changed(&mut self, world: &mut World, naive: &mut Naive, script: &mut Script<'_>) {
        run_reader!(self.changed, world, naive, since, iter => {
            // A reader that is left early has run.
            let most = if script.chance(128) { script.below(4) } else { usize::MAX };
            let found: Vec<_> = iter.take(most).map(|(entity, a)| (entity, a.payload())).collect();
            let mut expected = written(naive, KIND_A, since);
            expected.truncate(most);
            // spec: LOOK-06, LOOK-09
            assert_eq!(found, expected, "written since {since}");
        });
    }

    fn write(
        &mut self,
        world: &mut World,
        naive: &mut Naive,
        maker: &mut Maker,
        script: &mut Script<'_>,
    ) {
        run_reader!(self.writer, world, naive, since, iter => {
            let mut expected = written(naive, KIND_A, since);
            let most = if script.chance(128) { script.below(4) } else { usize::MAX };
            expected.truncate(most);
            let mut found = Vec::new();
            for (entity, a) in iter.take(most) {
                found.push((entity, a.payload()));
                let payload = maker.payload();
                a.set(payload);
                naive.write(entity, KIND_A, payload);
            }
            // spec: LOOK-09
            assert_eq!(found, expected, "written since {since}");
        });
    }

    fn losses(&mut self, world: &mut World, naive: &mut Naive) {
        macro_rules! check {
            ($($place:ident $kind:expr;)*) => {$(
                let told = naive.losses.entry($kind).or_default();
                let Losses(reader, read) = self.$place.get_or_insert_with(|| {
                    Losses(world.removed_reader().unwrap(), told.len())
                });
                let mut expected = told[*read..].to_vec();
                *read = told.len();
                let mut found: Vec<Entity> = std::iter::from_fn(|| reader.next(world).unwrap()).collect();
                if $kind.1.is_sparse() {
                    // A sparse set is cleared in an order of its own.
                    expected.sort();
                    found.sort();
                }
                // spec: LOOK-15
                assert_eq!(found, expected, "losses of {:?}", $kind);
            )*};
        }
        check! { lost_a KIND_A; lost_s KIND_S; lost_p KIND_P; }
    }
}

fn written(naive: &Naive, kind: Kind, since: u64) -> Vec<(Entity, u64)> {
    naive
        .holders(kind)
        .filter(|(_, cell)| cell.changed > since)
        .map(|(entity, cell)| (entity, cell.payload))
        .collect()
}

/// `&mut T` counts the rows that it yields as written, and no other.
fn write_plain(world: &mut World, naive: &mut Naive, maker: &mut Maker, script: &mut Script<'_>) {
    let most = if script.chance(128) {
        script.below(4)
    } else {
        usize::MAX
    };
    let mut all = naive
        .holders(KIND_A)
        .map(|(entity, _)| entity)
        .collect::<Vec<_>>();
    all.truncate(most);
    let mut found = Vec::new();
    for (entity, a) in world.query::<(Entity, &mut A)>().take(most) {
        let payload = maker.payload();
        a.set(payload);
        naive.write(entity, KIND_A, payload);
        found.push(entity);
    }
    // spec: LOOK-05, LOOK-06
    assert_eq!(found, all);
}

/// `Mut<T>` counts only what is written through it.
fn write_marked(world: &mut World, naive: &mut Naive, maker: &mut Maker) {
    for (entity, mut a, s) in world.query::<(Entity, Mut<'_, A>, Option<Mut<'_, S>>)>() {
        if a.payload() % 2 == 0 {
            let payload = maker.payload();
            a.set(payload);
            naive.write(entity, KIND_A, payload);
        }
        if let Some(mut s) = s
            && s.payload() % 3 == 0
        {
            let payload = maker.payload();
            s.set(payload);
            naive.write(entity, KIND_S, payload);
        }
    }
}

/// A mutable chunk counts whole.
fn write_chunks(world: &mut World, naive: &mut Naive, maker: &mut Maker) {
    let mut found = Vec::new();
    for chunk in world.query::<(Entity, &mut A, Option<&B>, &Z)>().chunks() {
        let (entities, values, options, zeros) = chunk.into_slices();
        let len = entities.len();
        // spec: LOOK-13
        assert_eq!((values.len(), options.len, zeros.len()), (len, len, len));
        for (entity, a) in entities.iter().zip(values) {
            let payload = maker.payload();
            a.set(payload);
            found.push((entity, payload));
        }
    }
    let expected: Vec<_> = naive
        .order()
        .filter(|(_, being)| being.cell(KIND_A).is_some() && being.cell(KIND_Z).is_some())
        .map(|(entity, _)| entity)
        .collect();
    // spec: LOOK-06, LOOK-13
    assert_eq!(
        found.iter().map(|found| found.0).collect::<Vec<_>>(),
        expected
    );
    for (entity, payload) in found {
        naive.write(entity, KIND_A, payload);
    }
}

fn write_sparse(world: &mut World, naive: &mut Naive, maker: &mut Maker, script: &mut Script<'_>) {
    let mut written = Vec::new();
    if script.chance(128) {
        for (entity, s, b) in world.query::<(Entity, &mut S, Option<&mut B>)>() {
            let payload = maker.payload();
            s.set(payload);
            written.push((entity, KIND_S, payload));
            if let Some(b) = b {
                let payload = maker.payload();
                b.set(payload);
                written.push((entity, KIND_B, payload));
            }
        }
    } else {
        // A term of several kinds is there only where all of them are; others are neither yielded nor marked.
        for (entity, both) in world.query::<(Entity, Option<(&mut S, &mut A)>)>() {
            if let Some((s, a)) = both {
                let (first, second) = (maker.payload(), maker.payload());
                s.set(first);
                a.set(second);
                written.push((entity, KIND_S, first));
                written.push((entity, KIND_A, second));
            }
        }
    }
    for (entity, kind, payload) in written {
        naive.write(entity, kind, payload);
    }
}

/// Filters, batches, chunks of single rows, and an iteration that goes on as another.
fn pieces(world: &mut World, naive: &Naive, script: &mut Script<'_>) {
    let size = script.below(4);
    let expected: Vec<_> = naive
        .order()
        .filter(|(_, being)| {
            being.cell(KIND_A).is_some()
                && (being.cell(KIND_S).is_some() || being.cell(KIND_B).is_none())
        })
        .map(|(entity, being)| (entity, being.cell(KIND_A).unwrap().payload))
        .collect();
    let begun = script.below(3);
    let mut iter = world.query_filtered::<(Entity, &A), PieceFilter>();
    let mut found: Vec<_> = iter.by_ref().take(begun).collect();
    for batch in iter.batches(size) {
        let batch: Vec<_> = batch.collect();
        // spec: LOOK-08
        assert!(batch.len() <= size.max(1));
        found.extend(batch);
    }
    let found: Vec<_> = found
        .into_iter()
        .map(|(entity, a)| (entity, a.payload()))
        .collect();
    // spec: LOOK-05, LOOK-06, LOOK-08
    assert_eq!(found, expected);

    let chunks = world.query_filtered::<(Entity, &A), PieceFilter>().chunks();
    let found: Vec<_> = chunks
        .flatten()
        .map(|(entity, a)| (entity, a.payload()))
        .collect();
    // spec: LOOK-13
    assert_eq!(found, expected);

    let all = naive.holders(("O64", Tag::O64)).map(|(entity, _)| entity);
    let mut found = Vec::new();
    world
        .query::<(Entity, &O64)>()
        .batches(size)
        .for_each(|batch| {
            batch.for_each(|(entity, _)| found.push(entity));
        });
    // spec: LOOK-08
    assert_eq!(found, all.collect::<Vec<_>>());
}
