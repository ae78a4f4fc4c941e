//! What a world says of its memory, against what it has allocated. A file of its own: it counts all allocations.
#![allow(unsafe_code, reason = "a counting global allocator")]

mod kinds;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ecs::{Component, Data, Entity, On, Value, World};
use kinds::{Health, Marker, Speed, for_both_storages};

struct Counting;

thread_local! {
    /// The bytes that this thread has allocated and not freed, wrapping: it frees what others have allocated.
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counter is a `Cell` without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = LIVE.try_with(|live| live.set(live.get().wrapping_add(layout.size())));
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = LIVE.try_with(|live| live.set(live.get().wrapping_sub(layout.size())));
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

for_both_storages! {
    rows_are_counted_to_the_byte
    room_is_made_once_and_given_back
}

/// Tracked by nobody, wider than the others.
struct Wide([u64; 5]);

impl Component for Wide {
    fn type_name() -> &'static str {
        "Wide"
    }

    fn export(&self) -> Value {
        self.0[0].into()
    }
}

/// What was allocated since, and what the world says of it.
struct Since {
    live: usize,
    told: usize,
}

impl Since {
    fn now(world: &World) -> Self {
        Self {
            live: LIVE.get(),
            told: world.statistics().bytes,
        }
    }

    /// Both, signed.
    fn change(&self, world: &World) -> (isize, isize) {
        let now = Self::now(world);
        let change = |now: usize, before: usize| now.wrapping_sub(before).cast_signed();
        (change(now.live, self.live), change(now.told, self.told))
    }

    fn grown(&self, world: &World) -> (usize, usize) {
        let now = Self::now(world);
        (now.live.wrapping_sub(self.live), now.told - self.told)
    }
}

/// Only tables of fixed size beside what is told.
#[track_caller]
fn assert_told((live, told): (usize, usize)) {
    assert!(
        live.abs_diff(told) < 8192,
        "{live} bytes were allocated, {told} are told"
    );
}

fn rows_are_counted_to_the_byte<const S: bool>() {
    const ROWS: i64 = 20_000;
    for tracked in [false, true] {
        let mut world = World::new();
        if tracked {
            world.track::<Health<S>>();
            world.track::<Marker<S>>();
        }
        let row = |n| {
            (
                Health::<S>(n),
                Marker::<S>(()),
                Wide([0; 5]),
                Speed::<false>(n),
            )
        };
        world.spawn(row(0));
        let since = Since::now(&world);
        for n in 1..ROWS {
            world.spawn(row(n));
        }
        // spec: ENT-09
        assert_told(since.grown(&world));
        world.shrink_to_fit();
        let (live, told) = since.grown(&world);
        // spec: ENT-09
        assert_told((live, told));
        // A slot, an id in the archetype, the values; for each of two kinds: index and id where it is sparse, two ticks
        // where it is tracked.
        let (sparse, ticks) = (2 * (4 + 4), 2 * (8 + 8));
        let row = 12 + 4 + 8 + 40 + 8 + usize::from(S) * sparse + usize::from(tracked) * ticks;
        let rows = usize::try_from(ROWS).unwrap() - 1;
        // spec: LOOK-09
        assert!(
            told.abs_diff(rows * row) < 1024,
            "{told} bytes for {rows} rows of {row}"
        );
        // The rows of a sparse set are stamped when they are handed out to be written.
        assert_eq!(world.query::<&mut Health<S>>().count(), rows + 1);
        let stamped = since.grown(&world);
        assert_told(stamped);
        let stamps = stamped.1 - told;
        assert!(if S { stamps >= rows * 8 } else { stamps == 0 }, "{stamps}");
    }
}

fn room_is_made_once_and_given_back<const S: bool>() {
    type Row<const S: bool> = (Health<S>, Speed<false>);
    let mut world = World::new();
    world.spawn((Health::<S>(0), Speed::<false>(0)));
    world.shrink_to_fit();
    let since = Since::now(&world);
    world.reserve::<Row<S>>(10_000).unwrap();
    let (live, told) = since.grown(&world);
    assert_told((live, told));
    // spec: ENT-09
    assert!(told >= 10_000 * (12 + 4 + 8), "{told}");
    world.shrink_to_fit();
    // spec: ENT-09
    assert_eq!(since.grown(&world).1, 0);
}

#[test]
fn the_same_memory_is_used_again() {
    let mut world = World::new();
    let fill = |world: &mut World| {
        let row = |n| (Health::<false>(n), Speed::<true>(n));
        world
            .spawn_batch((0..1000).map(row))
            .collect::<Vec<Entity>>()
    };
    let ids = fill(&mut world);
    let told = world.statistics().bytes;
    for id in ids {
        world.despawn(id);
    }
    fill(&mut world);
    // spec: ENT-09
    assert_eq!(world.statistics().bytes, told);
    world.clear();
    fill(&mut world);
    // spec: ENT-09
    assert_eq!(world.statistics().bytes, told);
}

#[test]
fn archetypes_without_rows_are_counted_too() {
    let mut world = World::new();
    let names: Vec<String> = (0..9).map(|at| format!("Tag{at}")).collect();
    let tag = |world: &mut World, combination: u32| {
        let id = world.spawn(());
        for at in (0..9).filter(|at| combination >> at & 1 == 1) {
            let tag = Data(Value::Null);
            world.insert_named(id, &names[at], tag).unwrap();
        }
        world.despawn(id);
    };
    tag(&mut world, 0b1_1111_1111);
    let since = Since::now(&world);
    for combination in 0..512 {
        tag(&mut world, combination);
    }
    world.shrink_to_fit();
    let (live, told) = since.grown(&world);
    // Not told are the tables by which archetypes are found.
    assert!(
        told < live && told > live / 2,
        "{live} bytes were allocated, {told} are told"
    );
}

#[test]
fn whole_columns_are_taken_as_they_are() {
    fn place(world: &mut World) -> *const Health<false> {
        let mut chunks = world.query::<&Health<false>>().chunks();
        chunks.next().unwrap().into_slices().as_ptr()
    }
    let column = |range: std::ops::Range<i64>| range.map(Health::<false>).collect::<Vec<_>>();
    let values = |world: &mut World| {
        world
            .query::<&Health<false>>()
            .map(|h| h.0)
            .collect::<Vec<_>>()
    };
    let mut world = World::new();
    let first = column(0..100);
    let given = first.as_ptr();
    world.spawn_columns((first,)).unwrap();
    assert_eq!(place(&mut world), given, "nothing was copied");
    // Longer than what is there: what is there stays in front.
    world.spawn_columns((column(100..500),)).unwrap();
    // spec: ENT-06
    assert_eq!(values(&mut world), (0..500).collect::<Vec<_>>());
    // Room that was made before is used.
    world.clear();
    let room = place_of_room(&mut world);
    world.spawn_columns((column(0..10),)).unwrap();
    assert_eq!(place(&mut world), room);
    // spec: ENT-06
    assert_eq!(values(&mut world), (0..10).collect::<Vec<_>>());
}

/// Where the column of an archetype lies that has room and no rows.
fn place_of_room(world: &mut World) -> *const Health<false> {
    let id = world.spawn((Health::<false>(0),));
    let place = std::ptr::from_ref(world.get::<Health<false>>(id).unwrap());
    world.despawn(id);
    place
}

#[test]
fn names_that_are_gone_give_their_memory_back() {
    let mut world = World::new();
    world.spawn_named("first", ()).unwrap();
    world.shrink_to_fit();
    let before = LIVE.get();
    let words: fn(u128) -> String = |n| format!("entity {n}");
    let identifiers: fn(u128) -> String = |n| ecs::Uuid::from_u128(n).to_string();
    for name in [words, identifiers] {
        let ids: Vec<Entity> = (0..5_000)
            .map(|n| world.spawn_named(&name(n), ()).unwrap())
            .collect();
        for id in ids {
            world.despawn(id);
        }
        world.shrink_to_fit();
        let slots = 12 * world.statistics().slots;
        let kept = LIVE.get().wrapping_sub(before);
        // spec: ENT-09
        assert!(kept < slots + 4096, "{kept} bytes, {slots} of slots");
    }
}

#[test]
fn losses_are_kept_no_longer_than_somebody_waits_for_them() {
    let mut world = World::new();
    let lose = |world: &mut World, times: i64| {
        for n in 0..times {
            let id = world.spawn(Health::<false>(n));
            world.remove::<Health<false>>(id);
            world.despawn(id);
        }
    };
    lose(&mut world, 10);
    let before = LIVE.get();
    let kept = || LIVE.get().wrapping_sub(before);
    let mut reader = world.removed_reader::<Health<false>>().unwrap();
    for _ in 0..100 {
        lose(&mut world, 200);
        let mut seen = 0;
        while reader.next(&mut world).unwrap().is_some() {
            seen += 1;
        }
        // spec: LOOK-15
        assert_eq!(seen, 200);
    }
    assert!(
        kept() < 16 * 1024,
        "{} bytes for losses that were read",
        kept()
    );
    lose(&mut world, 20_000);
    // spec: LOOK-15
    assert!(kept() >= 20_000 * 8, "they wait for the reader");
    drop(reader);
    // A reader is missed when room for the next loss is looked for.
    lose(&mut world, 20_000);
    // spec: LOOK-15
    assert!(
        kept() < 16 * 1024,
        "{} bytes for losses that nobody reads",
        kept()
    );
}

#[test]
fn events_take_memory_for_what_waits_and_readers_that_are_gone_take_none() {
    let mut world = World::new();
    let mut reader = world.event_reader::<u64>();
    world.deliver_events();
    let before = LIVE.get();
    let kept = || LIVE.get().wrapping_sub(before);
    for _ in 0..10_000 {
        drop(world.event_reader::<u64>());
    }
    // spec: EVT-04
    assert!(kept() < 1024, "{} bytes for nobody", kept());
    for _ in 0..8 {
        world.send_events(0..1_000_u64);
        world.deliver_events();
    }
    // spec: EVT-04
    assert!(kept() < 8_000 * 8 * 8, "{} bytes for 8,000", kept());
    assert_eq!(reader.read(&world).unwrap().len(), 8_000);
}

#[test]
fn what_is_kept_for_readers_groups_and_observers_is_counted() {
    const ROWS: i64 = 20_000;
    let mut world = World::new();
    for kind in 0..500 {
        let (id, name) = (world.spawn(()), format!("Kind{kind}"));
        world.insert_named(id, &name, Data(Value::Null)).unwrap();
    }
    world.spawn(Health::<false>(0));
    // A place for each kind up to the one that is asked for.
    let since = Since::now(&world);
    let mut reader = world.removed_reader::<Health<false>>().unwrap();
    let kinds = since.grown(&world);
    assert_told(kinds);
    // spec: ENT-09
    assert!(kinds.1 > 500 * 8, "{} bytes for 500 kinds", kinds.1);
    // The kind of the groups is known before they are counted.
    world.register_group::<Speed<false>>("group").unwrap();
    let since = Since::now(&world);
    for group in 0..200 {
        let name = format!("group{group}");
        world.register_group::<Speed<false>>(&name).unwrap();
    }
    // spec: ENT-09
    assert!(since.grown(&world).1 > 200 * 8);
    world.register_group::<Health<false>>("all").unwrap();
    world
        .observe::<Health<false>>(On::Added, |_, _, _| Ok(()))
        .unwrap();
    // What a query keeps for itself is not counted: it is there before.
    let all = world.query::<Entity>().count();
    assert_eq!(all, 501);
    let steps: [&dyn Fn(&mut World); 4] = [
        // The rows, the members and what the observer is to be told.
        &|world| assert!(world.spawn_batch((0..ROWS).map(Health::<false>)).len() > 0),
        // What it is being told has a place of its own.
        &|world| world.run_observers().unwrap(),
        // The losses that the reader has not read.
        &|world| {
            for id in world.query::<Entity>().collect::<Vec<_>>() {
                world.remove::<Health<false>>(id);
            }
        },
        &|world| world.shrink_to_fit(),
    ];
    for step in steps {
        let since = Since::now(&world);
        step(&mut world);
        let (live, told) = since.change(&world);
        // spec: ENT-09
        assert!(
            live.abs_diff(told) < 8192,
            "{live} bytes were allocated, {told} are told"
        );
    }
    assert!(reader.next(&mut world).unwrap().is_some());
}

#[test]
fn what_is_kept_of_columns_for_spawns_is_there_from_the_start() {
    let mut world = World::new();
    world.reserve::<(Health<false>, Speed<false>)>(100).unwrap();
    let since = Since::now(&world);
    for number in 0..100 {
        world.spawn((Health::<false>(number), Speed::<false>(number)));
    }
    let (_, told) = since.grown(&world);
    // spec: ENT-09
    assert_eq!(told, 0);
}

#[test]
fn what_waited_for_commands_gives_its_memory_back() {
    let mut world = World::new();
    let entity = world.spawn(());
    for _ in 0..2 {
        world.shrink_to_fit();
        let before = LIVE.get();
        let mut commands = world.commands();
        for number in 0..10_000 {
            commands.insert(entity, Health::<false>(number));
        }
        world.apply_commands().unwrap();
        world.remove::<Health<false>>(entity);
        let used = LIVE.get().wrapping_sub(before);
        // spec: ENT-09
        assert!(used > 10_000 * 8, "{used} bytes are kept for the next ones");
        world.shrink_to_fit();
        let kept = LIVE.get().wrapping_sub(before);
        // spec: ENT-09
        assert!(kept < 4 * 1024, "{kept} bytes for commands that are gone");
    }
}

#[test]
fn what_a_group_needed_is_given_back() {
    let grown = |grouped: bool| {
        let mut world = World::new();
        if grouped {
            world.register_group::<Health<false>>("all").unwrap();
        }
        let since = Since::now(&world);
        world.spawn_batch((0..20_000).map(Health::<false>));
        world.clear();
        world.shrink_to_fit();
        since.grown(&world).1
    };
    let (without, with) = (grown(false), grown(true));
    // spec: ENT-09
    assert!(with < without + 1024, "{with} bytes, {without} without");
}

#[test]
fn ways_between_archetypes_are_learnt_once() {
    let mut world = World::new();
    let plain = world.spawn(Wide([0; 5]));
    let fast = world.spawn((Wide([0; 5]), Speed::<false>(1)));
    let turn = |world: &mut World| {
        // One after the other, so that the way that was found last is never the right one.
        for id in [plain, fast] {
            world.insert(id, Health::<false>(1)).unwrap();
        }
        for id in [plain, fast] {
            world.remove::<Health<false>>(id).unwrap();
        }
    };
    (0..10).for_each(|_| turn(&mut world));
    let before = LIVE.get();
    (0..1_000).for_each(|_| turn(&mut world));
    // spec: ENT-09
    assert!(LIVE.get().wrapping_sub(before).cast_signed() < 1024);
}
