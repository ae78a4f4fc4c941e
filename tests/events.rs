//! Events of a world by itself: sent, delivered, read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ecs::{DEFAULT_EVENT_LIMIT, EventReader, NamedEvent, QueryError, World, json};

/// Counts those alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicU64>);

struct Counted(u64, Alive);

impl Counted {
    fn new(number: u64, alive: &Alive) -> Self {
        alive.0.fetch_add(1, Ordering::Relaxed);
        Self(number, alive.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Alive {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn numbers(reader: &mut EventReader<u64>, world: &World) -> Vec<u64> {
    reader.read(world).unwrap().copied().collect()
}

#[test]
fn each_reader_reads_each_event_once_in_order() {
    let mut world = World::new();
    let (mut one, mut two) = (world.event_reader::<u64>(), world.event_reader::<u64>());
    world.send_event(1_u64);
    world.send_events([2_u64, 3]);
    // spec: EVT-03
    assert_eq!(numbers(&mut one, &world), [0; 0], "not before a delivery");
    world.deliver_events();
    assert_eq!(numbers(&mut one, &world), [1, 2, 3]);
    assert_eq!(numbers(&mut one, &world), [0; 0], "exactly once");
    world.send_event(4_u64);
    world.deliver_events();
    // spec: EVT-03
    assert_eq!(numbers(&mut one, &world), [4]);
    assert_eq!(numbers(&mut two, &world), [1, 2, 3, 4], "the other lags");
    let mut late = world.event_reader::<u64>();
    assert_eq!(numbers(&mut late, &world), [0; 0], "from before its time");
    world.deliver_events();
    assert_eq!(numbers(&mut late, &world), [0; 0]);
}

#[test]
fn a_reader_that_stops_early_goes_on_there() {
    let mut world = World::new();
    let mut reader = world.event_reader::<u64>();
    world.send_events(1..=5_u64);
    world.deliver_events();
    assert!(reader.read(&world).unwrap().take(2).eq(&[1, 2]));
    // spec: EVT-03
    let mut rest = reader.read(&world).unwrap();
    assert_eq!(rest.len(), 3);
    assert_eq!(rest.next(), Some(&3));
    drop(rest);
    world.send_event(6_u64);
    world.deliver_events();
    let broke = catch_unwind(AssertUnwindSafe(|| {
        for number in reader.read(&world).unwrap() {
            assert_ne!(*number, 4, "on purpose");
        }
    }));
    assert!(broke.is_err());
    assert_eq!(numbers(&mut reader, &world), [5, 6], "4 was taken");
}

#[test]
fn readers_and_senders_at_all_rates_miss_and_double_nothing() {
    for period in 1..=7_u64 {
        let mut world = World::new();
        let mut reader = world.event_reader::<u64>();
        let (mut sent, mut read) = (0_u64, Vec::new());
        for step in 0..500_u64 {
            for _ in 0..step % 5 {
                world.send_event(sent);
                sent += 1;
            }
            world.deliver_events();
            if step % period == 0 {
                let most = usize::try_from(step % 11).unwrap();
                read.extend(reader.read(&world).unwrap().take(most).copied());
            }
        }
        read.extend(numbers(&mut reader, &world));
        // spec: EVT-03
        assert!(read.iter().copied().eq(0..sent), "period {period}");
        assert_eq!(reader.missed(), 0);
    }
}

#[test]
fn events_without_a_reader_are_dropped_at_the_next_delivery() {
    let (mut world, alive) = (World::new(), Alive::default());
    for number in 0..100_000 {
        world.send_event(Counted::new(number, &alive));
        if number % 10 == 9 {
            // spec: EVT-04
            assert_eq!(alive.count(), 10);
            world.deliver_events();
            // spec: EVT-04
            assert_eq!(alive.count(), 0);
        }
    }
}

#[test]
fn events_that_nobody_reads_do_not_wear_a_type_out() {
    let mut world = World::new();
    let mut reader = world.event_reader::<u64>();
    for round in 0..200_u64 {
        world.send_events(0..10_u64);
        world.deliver_events();
        // Somebody reads the first ones, and then the last ones.
        match round {
            9 => {
                assert_eq!(reader.read(&world).unwrap().count(), 100);
                reader = World::new().event_reader::<u64>();
            }
            198 => reader = world.event_reader::<u64>(),
            _ => {}
        }
    }
    // spec: EVT-03, EVT-04
    assert!(reader.read(&world).unwrap().copied().eq(0..10));
    assert_eq!(reader.missed(), 0);
}

#[test]
fn what_all_readers_have_read_is_dropped_and_a_dropped_reader_holds_nothing() {
    let (mut world, alive) = (World::new(), Alive::default());
    let mut reader = world.event_reader::<Counted>();
    let idle = world.event_reader::<Counted>();
    let mut sum = 0;
    for number in 0..100 {
        world.send_event(Counted::new(number, &alive));
        world.deliver_events();
        sum += reader
            .read(&world)
            .unwrap()
            .map(|event| event.0)
            .sum::<u64>();
    }
    assert_eq!((sum, alive.count()), (4_950, 100), "the idle reader's");
    drop(idle);
    world.deliver_events();
    // spec: EVT-04
    assert_eq!(alive.count(), 0);
    for number in 0..100_000 {
        world.send_event(Counted::new(number, &alive));
        world.deliver_events();
        assert_eq!(reader.read(&world).unwrap().len(), 1);
        assert_eq!(reader.read(&world).unwrap().count(), 1);
        // spec: EVT-04
        assert!(alive.count() <= 2);
    }
}

#[test]
fn a_reader_that_lags_for_ever_loses_the_oldest_and_counts_them() {
    let (mut world, alive) = (World::new(), Alive::default());
    let mut reader = world.event_reader::<Counted>();
    let limit = DEFAULT_EVENT_LIMIT as u64;
    for number in 0..100_000 {
        world.send_event(Counted::new(number, &alive));
        world.deliver_events();
        // spec: EVT-04
        assert!(alive.count() <= limit);
    }
    let first = reader.read(&world).unwrap().next().map(|event| event.0);
    // spec: EVT-04
    assert_eq!(first, Some(100_000 - limit));
    assert_eq!(reader.missed(), 100_000 - limit);
    assert_eq!(reader.read(&world).unwrap().len() as u64, limit - 1);
    // A burst beyond the limit is no lag.
    let mut burst = World::new();
    let mut reader = burst.event_reader::<u64>();
    burst.set_event_limit::<u64>(10);
    for _ in 0..3 {
        burst.send_events(0..1_000_u64);
        burst.deliver_events();
        assert!(reader.read(&burst).unwrap().copied().eq(0..1_000));
    }
    assert_eq!(reader.missed(), 0);
}

#[test]
fn a_limit_of_nothing_keeps_what_was_just_delivered() {
    let mut world = World::new();
    world.set_event_limit::<u64>(0);
    let mut reader = world.event_reader::<u64>();
    for number in 0..4_u64 {
        world.send_event(number);
        world.deliver_events();
    }
    assert_eq!(numbers(&mut reader, &world), [3]);
    assert_eq!(reader.missed(), 3);
}

#[test]
fn types_do_not_meet_and_worlds_neither() {
    let (mut world, mut other) = (World::new(), World::new());
    let mut named = world.event_reader::<NamedEvent>();
    let mut reader = world.event_reader::<u64>();
    // spec: EVT-07
    world.send_event(NamedEvent::new("OnMouseClick", json!({ "x": 3 })));
    world.send_event(7_u64);
    world.deliver_events();
    assert_eq!(numbers(&mut reader, &world), [7]);
    let found = named.read(&world).unwrap().next().cloned().unwrap();
    // spec: EVT-07
    assert_eq!(found, NamedEvent::new("OnMouseClick", json!({ "x": 3 })));
    assert_eq!(
        (found.name(), found.payload()),
        ("OnMouseClick", &json!({ "x": 3 }))
    );
    other.send_event(1_u64);
    assert_eq!(reader.read(&other).err(), Some(QueryError::ForeignWorld));
    let mut at_home = other.event_reader::<u64>();
    other.deliver_events();
    assert_eq!(numbers(&mut at_home, &other), [1]);
}

#[test]
fn threads_read_one_world_with_readers_of_their_own() {
    let mut world = World::new();
    let mut readers = [(); 4].map(|()| world.event_reader::<u64>());
    world.send_events(0..1_000_u64);
    world.deliver_events();
    std::thread::scope(|scope| {
        for reader in &mut readers {
            let world = &world;
            scope.spawn(move || {
                // spec: EVT-03
                assert!(reader.read(world).unwrap().take(600).copied().eq(0..600));
                assert!(reader.read(world).unwrap().copied().eq(600..1_000));
            });
        }
    });
}

struct Bomb(Alive);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
        panic!("on purpose");
    }
}

fn bomb(alive: &Alive) -> Bomb {
    alive.0.fetch_add(1, Ordering::Relaxed);
    Bomb(alive.clone())
}

#[test]
fn events_whose_drops_panic_are_all_dropped_and_the_log_goes_on() {
    let (mut world, alive) = (World::new(), Alive::default());
    let mut after = world.event_reader::<u64>();
    for kept in [false, true] {
        let reader = kept.then(|| world.event_reader::<Bomb>());
        world.send_events([(); 3].map(|()| bomb(&alive)));
        world.send_event(7_u64);
        if kept {
            world.deliver_events();
        }
        drop(reader);
        let dropped = catch_unwind(AssertUnwindSafe(|| world.deliver_events()));
        assert!(dropped.is_err());
        assert_eq!(alive.count(), 0);
        assert_eq!(numbers(&mut after, &world), [7], "other types went on");
    }
    let reader = world.event_reader::<Bomb>();
    world.send_events([bomb(&alive), bomb(&alive)]);
    world.deliver_events();
    world.send_events([bomb(&alive), bomb(&alive)]);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(world))).is_err());
    assert_eq!(alive.count(), 0);
    drop(reader);
}

#[test]
fn an_iterator_that_panics_sends_what_it_gave() {
    let mut world = World::new();
    let mut reader = world.event_reader::<u64>();
    let broke = catch_unwind(AssertUnwindSafe(|| {
        world.send_events((0..5_u64).inspect(|&number| assert_ne!(number, 3, "on purpose")));
    }));
    assert!(broke.is_err());
    world.deliver_events();
    assert_eq!(numbers(&mut reader, &world), [0, 1, 2]);
}
