//! Unusual component types, and destructors that panic: every value is dropped exactly once, by every path.

#![allow(
    clippy::large_stack_arrays,
    reason = "large components are what is tested"
)]

mod kinds;

use std::panic::{AssertUnwindSafe, catch_unwind};

use ecs::{Component, Entity, RemovalMarks, Storage, Value, World, json};
use kinds::{Coin, Health, Held, Ledger, Marker, Note, Witness, for_both_storages, panic_text};

for_both_storages! {
    layouts_are_kept
    a_panicking_drop_on_insert
    a_panicking_drop_on_despawn
    a_panicking_drop_on_clear
    a_panicking_drop_at_the_worlds_end
    a_panicking_drop_while_unwinding
    a_panicking_drop_of_what_is_handed_back
    a_panicking_drop_among_marks
    a_panicking_drop_of_a_refused_one
    a_panicking_iterator
    counts_by_every_path
}

macro_rules! layouts {
    ($($name:ident, $align:literal, $size:literal;)*) => {$(
        #[repr(align($align))]
        struct $name<const SPARSE: bool>([u8; $size], Option<Witness>);

        impl<const SPARSE: bool> $name<SPARSE> {
            fn new(n: u8, witness: Witness) -> Self {
                Self([n; $size], Some(witness))
            }

            #[track_caller]
            fn assert_is(&self, n: u8) {
                // spec: COMP-08
                assert_eq!(std::ptr::from_ref(self).addr() % align_of::<Self>(), 0);
                assert!(self.0.iter().all(|byte| *byte == n));
                assert_eq!(self.1.as_ref().unwrap().number() % 256, usize::from(n));
            }
        }

        impl<const SPARSE: bool> Component for $name<SPARSE> {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn export(&self) -> Value {
                json!(self.0.len())
            }

            fn storage() -> Storage {
                kinds::storage(SPARSE)
            }
        }
    )*};
}

layouts! {
    Line, 64, 3;
    Page, 4096, 5000;
    Tiny, 1, 0;
    Large, 1, 60_000;
}

/// A zero-sized, over-aligned type with a destructor.
#[repr(align(64))]
struct Nothing<const SPARSE: bool>;

thread_local! {
    static NOTHINGS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl<const SPARSE: bool> Drop for Nothing<SPARSE> {
    fn drop(&mut self) {
        NOTHINGS.set(NOTHINGS.get() + 1);
    }
}

impl<const SPARSE: bool> Component for Nothing<SPARSE> {
    fn type_name() -> &'static str {
        "Nothing"
    }

    fn export(&self) -> Value {
        json!({})
    }

    fn storage() -> Storage {
        kinds::storage(SPARSE)
    }
}

/// Where nothing is optimised each call has copies of the large values in its frame.
fn layouts_are_kept<const S: bool>() {
    let roomy = std::thread::Builder::new().stack_size(16 << 20);
    let outcome = roomy.spawn(large_and_odd_layouts::<S>).unwrap().join();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

fn large_and_odd_layouts<const S: bool>() {
    NOTHINGS.set(0);
    let ledgers: [Ledger; 4] = std::array::from_fn(|_| Ledger::default());
    let mut world = World::new();
    let mut ids: Vec<(Entity, u8)> = Vec::new();
    for n in 0..40_u8 {
        let line = Line::<S>::new(n, ledgers[0].witness());
        let page = Page::<S>::new(n, ledgers[1].witness());
        let tiny = Tiny::<S>::new(n, ledgers[2].witness());
        let large = Large::<S>::new(n, ledgers[3].witness());
        let nothing = Nothing::<S>;
        // Each in every place of the bundle, and across the growth of the columns.
        let id = match n % 4 {
            0 => world.spawn((nothing, line, page, tiny, large, Health::<false>(7))),
            1 => world.spawn((Health::<false>(7), large, nothing, line, page, tiny)),
            2 => {
                let id = world.spawn((tiny, Health::<false>(7)));
                world.insert(id, (page, line)).unwrap();
                world.insert(id, large).unwrap();
                world.insert(id, nothing).unwrap();
                id
            }
            _ => {
                let id = world.spawn(nothing);
                for part in [
                    Box::new(large) as Box<dyn Component>,
                    Box::new(tiny),
                    Box::new(page),
                    Box::new(line),
                    Box::new(Health::<false>(7)),
                ] {
                    world.insert_boxed(id, part).unwrap();
                }
                id
            }
        };
        ids.push((id, n));
    }
    let check = |world: &mut World, ids: &[(Entity, u8)]| {
        for (id, n) in ids {
            world.get::<Line<S>>(*id).unwrap().assert_is(*n);
            world.get::<Page<S>>(*id).unwrap().assert_is(*n);
            world.get::<Tiny<S>>(*id).unwrap().assert_is(*n);
            world.get::<Large<S>>(*id).unwrap().assert_is(*n);
            // spec: COMP-08
            assert!(world.has::<Nothing<S>>(*id));
            assert_eq!(world.get::<Health<false>>(*id), Some(&Health(7)));
        }
        let mut seen = 0;
        for (id, line, page, nothing) in
            world.query::<(Entity, &mut Line<S>, &Page<S>, &Nothing<S>)>()
        {
            let n = ids.iter().find(|(known, _)| *known == id).unwrap().1;
            line.assert_is(n);
            page.assert_is(n);
            // spec: COMP-08
            assert_eq!(std::ptr::from_ref(nothing).addr() % 64, 0);
            seen += 1;
        }
        assert_eq!(seen, ids.len());
    };
    check(&mut world, &ids);
    for at in [30, 0, 17, 3] {
        let (id, _) = ids.swap_remove(at);
        world.despawn(id);
        check(&mut world, &ids);
    }
    let (moved, n) = ids.swap_remove(5);
    let page = world.remove::<Page<S>>(moved).unwrap();
    let large = world.remove_named(moved, "Large").unwrap();
    page.assert_is(n);
    large.downcast_ref::<Large<S>>().unwrap().assert_is(n);
    assert!(world.remove::<Nothing<S>>(moved).is_some());
    world.shrink_to_fit();
    world.reclaim();
    check(&mut world, &ids);
    drop((page, large));
    drop(world);
    for ledger in &ledgers {
        // spec: COMP-08
        ledger.assert_all_dropped_once();
    }
    // spec: COMP-08
    assert_eq!(NOTHINGS.get(), 40);
}

/// Three entities; the middle one holds a bomb between ordinary components.
fn with_a_bomb<const S: bool>(ledger: &Ledger) -> (World, [Entity; 3]) {
    let mut world = World::new();
    let ids = [0, 1, 2].map(|n| {
        let held = if n == 1 {
            ledger.bomb()
        } else {
            ledger.witness()
        };
        world.spawn((
            Coin::<S>(ledger.witness()),
            Held::<S>(held),
            Health::<false>(n),
            Marker::<true>(()),
        ))
    });
    (world, ids)
}

/// The world works as before, whatever panicked.
#[track_caller]
fn assert_whole<const S: bool>(world: &mut World, ledger: &Ledger, ids: &[(Entity, i64)]) {
    // spec: COMP-08
    assert_eq!(world.query::<&Health<false>>().count(), ids.len());
    for (id, n) in ids {
        // spec: COMP-08
        assert_eq!(world.get::<Health<false>>(*id), Some(&Health(*n)));
    }
    let rows: Vec<Entity> = world
        .query::<(Entity, &Held<S>, &Coin<S>)>()
        .map(|row| row.0)
        .collect();
    for id in &rows {
        assert!(ids.iter().any(|known| known.0 == *id));
    }
    let id = world.spawn((
        Coin::<S>(ledger.witness()),
        Held::<S>(ledger.witness()),
        Health::<false>(77),
    ));
    assert_eq!(world.get::<Health<false>>(id), Some(&Health(77)));
    assert!(world.despawn(id));
}

fn a_panicking_drop_on_insert<const S: bool>() {
    for whole in [false, true] {
        let ledger = Ledger::default();
        let (mut world, ids) = with_a_bomb::<S>(&ledger);
        let text = panic_text(|| {
            if whole {
                let bundle = (
                    Note::<S>(ledger.witness()),
                    Held::<S>(ledger.witness()),
                    Health::<false>(5),
                );
                drop(world.insert(ids[1], bundle));
            } else {
                drop(world.insert(ids[1], Held::<S>(ledger.witness())));
            }
        });
        // spec: COMP-08
        assert_eq!(text, "bomb 2");
        assert_eq!(ledger.drops()[2], 1);
        // The new component is in its place.
        let new = world.get::<Held<S>>(ids[1]).unwrap().0.number();
        // spec: COMP-08
        assert_eq!(new, if whole { 7 } else { 6 });
        assert_eq!(world.has::<Note<S>>(ids[1]), whole);
        let middle = if whole { 5 } else { 1 };
        assert_whole::<S>(
            &mut world,
            &ledger,
            &[(ids[0], 0), (ids[1], middle), (ids[2], 2)],
        );
        drop(world);
        // spec: COMP-08
        ledger.assert_all_dropped_once();
    }
}

fn a_panicking_drop_on_despawn<const S: bool>() {
    let ledger = Ledger::default();
    let (mut world, ids) = with_a_bomb::<S>(&ledger);
    // A second bomb in another column of the same row.
    world
        .insert_named(ids[1], "Zz", Held::<S>(ledger.bomb()))
        .unwrap();
    world
        .insert_named(ids[1], "Aa", Held::<S>(ledger.bomb()))
        .unwrap();
    let text = panic_text(|| world.despawn(ids[1]));
    // spec: COMP-08
    assert!(text.starts_with("bomb "), "{text}");
    assert_eq!(
        ledger.drops(),
        [0, 0, 1, 1, 0, 0, 1, 1]
            .iter()
            .enumerate()
            .map(|(at, _)| u32::from([2, 3, 6, 7].contains(&at)))
            .collect::<Vec<_>>()
    );
    // spec: ENT-04, COMP-08
    assert!(!world.contains(ids[1]));
    assert!(!world.despawn(ids[1]));
    assert_whole::<S>(&mut world, &ledger, &[(ids[0], 0), (ids[2], 2)]);
    drop(world);
    ledger.assert_all_dropped_once();
}

fn a_panicking_drop_on_clear<const S: bool>() {
    let ledger = Ledger::default();
    let (mut world, ids) = with_a_bomb::<S>(&ledger);
    for _ in 0..5 {
        world
            .spawn_named(&format!("n{}", world.len()), Held::<S>(ledger.bomb()))
            .unwrap();
    }
    let made = ledger.drops().len();
    let text = panic_text(|| world.clear());
    // spec: COMP-08
    assert!(text.starts_with("bomb "), "{text}");
    assert_eq!(ledger.drops(), vec![1; made]);
    // spec: ENT-09, COMP-08
    assert!(world.is_empty());
    assert!(ids.iter().all(|id| !world.contains(*id)));
    assert_eq!(world.find("n4"), None);
    assert_eq!(world.query::<&Held<S>>().count(), 0);
    assert_whole::<S>(&mut world, &ledger, &[]);
    drop(world);
    ledger.assert_all_dropped_once();
}

fn a_panicking_drop_at_the_worlds_end<const S: bool>() {
    let ledger = Ledger::default();
    let (mut world, _) = with_a_bomb::<S>(&ledger);
    for _ in 0..5 {
        world.spawn((Held::<S>(ledger.bomb()), Coin::<S>(ledger.bomb())));
        world.spawn(Held::<S>(ledger.bomb()));
    }
    world.insert_resource(Ledger::default().bomb());
    let text = panic_text(|| drop(world));
    // spec: COMP-08
    assert!(text.starts_with("bomb "), "{text}");
    ledger.assert_all_dropped_once();
}

fn a_panicking_drop_while_unwinding<const S: bool>() {
    let ledger = Ledger::default();
    let (mut world, ids) = with_a_bomb::<S>(&ledger);
    world.spawn(Held::<S>(ledger.bomb()));
    let text = panic_text(|| {
        let mut world = world;
        world.insert(ids[0], Health::<false>(4)).unwrap();
        // The world is dropped while this one unwinds; a second panic would abort the program.
        panic!("the first");
    });
    // spec: COMP-08
    assert_eq!(text, "the first");
    ledger.assert_all_dropped_once();
}

fn a_panicking_drop_of_what_is_handed_back<const S: bool>() {
    let ledger = Ledger::default();
    let (mut world, ids) = with_a_bomb::<S>(&ledger);
    assert_eq!(
        panic_text(|| drop(world.remove::<Held<S>>(ids[1]))),
        "bomb 2"
    );
    // spec: COMP-08
    assert!(!world.has::<Held<S>>(ids[1]));
    world.insert(ids[1], Held::<S>(ledger.bomb())).unwrap();
    assert_eq!(
        panic_text(|| drop(world.replace(ids[1], Held::<S>(ledger.bomb())))),
        "bomb 6"
    );
    assert_eq!(
        panic_text(|| drop(world.remove_named(ids[1], "Held"))),
        "bomb 7"
    );
    assert_whole::<S>(
        &mut world,
        &ledger,
        &[(ids[0], 0), (ids[1], 1), (ids[2], 2)],
    );
    drop(world);
    // spec: COMP-08
    ledger.assert_all_dropped_once();
}

fn a_panicking_drop_among_marks<const S: bool>() {
    let ledger = Ledger::default();
    let (mut world, ids) = with_a_bomb::<S>(&ledger);
    let mut marks = RemovalMarks::default();
    for id in ids {
        marks.mark::<Held<S>>(id);
        marks.mark_named(id, "Purse");
    }
    let text = panic_text(|| marks.clear(&mut world));
    // spec: COMP-08, COMP-10
    assert_eq!(text, "bomb 2");
    // The rest is done all the same: what was marked after it is gone, too.
    ledger.assert_all_dropped_once();
    assert!(marks.is_empty());
    assert_eq!(world.query::<&Held<S>>().count(), 0);
    assert_eq!(world.query::<&Coin<S>>().count(), 0);
    assert_whole::<S>(
        &mut world,
        &ledger,
        &[(ids[0], 0), (ids[1], 1), (ids[2], 2)],
    );
}

fn a_panicking_drop_of_a_refused_one<const S: bool>() {
    let ledger = Ledger::default();
    let (mut world, ids) = with_a_bomb::<S>(&ledger);
    let before = world.export().to_string();
    let mut full = World::with_slot_limit(0);
    for work in [
        &mut || drop(world.insert("nobody", Held::<S>(ledger.bomb()))) as (),
        &mut || drop(full.try_spawn(Held::<S>(ledger.bomb()))),
    ] as [&mut dyn FnMut(); 2]
    {
        // spec: COMP-02, COMP-08
        assert!(panic_text(work).starts_with("bomb "));
    }
    let text = panic_text(|| drop(world.spawn_named("", Held::<S>(ledger.bomb()))));
    // spec: COMP-02, COMP-08
    assert!(text.starts_with("bomb "));
    assert!(full.is_empty());
    assert_eq!(world.export().to_string(), before);
    assert_whole::<S>(
        &mut world,
        &ledger,
        &[(ids[0], 0), (ids[1], 1), (ids[2], 2)],
    );
    assert!(catch_unwind(AssertUnwindSafe(|| drop(world))).is_err());
    ledger.assert_all_dropped_once();
}

fn a_panicking_iterator<const S: bool>() {
    for step in 0..6_i64 {
        let ledger = Ledger::default();
        let mut world = World::new();
        let first = world.spawn((Held::<S>(ledger.witness()), Health::<false>(100)));
        let text = panic_text(|| {
            world
                .spawn_batch((0..5).map(|n| {
                    let held = Held::<S>(ledger.witness());
                    assert!(n != step, "step {n}");
                    (held, Health::<false>(n))
                }))
                .count();
            panic!("step 5");
        });
        // spec: ENT-06, COMP-08
        assert_eq!(text, format!("step {step}"));
        let healths: Vec<i64> = world
            .query::<(&Health<false>, &Held<S>)>()
            .map(|(h, _)| h.0)
            .collect();
        let expected: Vec<i64> = std::iter::once(100).chain(0..step.min(5)).collect();
        // spec: ENT-06
        assert_eq!(healths, expected, "what the iterator gave so far is there");
        assert_eq!(world.len(), expected.len());
        assert_eq!(world.get::<Health<false>>(first), Some(&Health(100)));
        let new = world.spawn((Held::<S>(ledger.witness()), Health::<false>(200)));
        assert_eq!(world.get::<Health<false>>(new), Some(&Health(200)));
        drop(world);
        // spec: COMP-08
        ledger.assert_all_dropped_once();
    }
}

fn counts_by_every_path<const S: bool>() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let a = world.spawn(Held::<S>(ledger.witness()));
    let b = world.spawn((Held::<S>(ledger.witness()), Coin::<S>(ledger.witness())));
    world.insert(a, Held::<S>(ledger.witness())).unwrap();
    // spec: COMP-08
    assert_eq!(ledger.drops(), [1, 0, 0, 0]);
    world
        .insert(
            a,
            (Held::<S>(ledger.witness()), Coin::<S>(ledger.witness())),
        )
        .unwrap();
    assert_eq!(ledger.drops(), [1, 0, 0, 1, 0, 0]);
    world.insert(b, Note::<S>(ledger.witness())).unwrap();
    assert_eq!(ledger.drops(), [1, 0, 1, 1, 0, 0, 0]);
    world.despawn(a);
    // spec: COMP-08, ENT-04
    assert_eq!(ledger.drops(), [1, 0, 1, 1, 1, 1, 0]);
    let columns: Vec<Held<false>> = (0..3).map(|_| Held(ledger.witness())).collect();
    world.spawn_columns((columns,)).unwrap();
    let uneven: Vec<Held<false>> = (0..2).map(|_| Held(ledger.witness())).collect();
    assert!(
        world
            .spawn_columns((uneven, vec![Health::<false>(1)]))
            .is_err()
    );
    // spec: COMP-02, COMP-08
    assert_eq!(ledger.drops(), [1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1]);
    let mut small = World::with_slot_limit(4);
    let refused = small
        .try_spawn_batch((0..9).map(|_| Held::<S>(ledger.witness())))
        .err();
    // spec: ENT-06, COMP-02, ERR-01
    assert!(refused.is_some());
    assert!(small.is_empty());
    assert!(ledger.drops()[12..].iter().all(|count| *count == 1));
    let made = small
        .try_spawn_batch((0..4).map(|_| Held::<S>(ledger.witness())))
        .unwrap()
        .count();
    assert_eq!(made, 4);
    small.clear();
    world.clear();
    // spec: COMP-08, ENT-09
    ledger.assert_all_dropped_once();
}
