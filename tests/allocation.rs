//! What a pass allocates. A binary of its own: the allocator counts every thread's allocations.

mod common;

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;

use common::{manual, us};
use ecs::{
    Claim, CommitPoint, Component, Entity, ManualClock, On, OwnedContainer, Register, Value, json,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

#[expect(unsafe_code, reason = "a global allocator cannot be written without")]
// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocations of this thread while `work` runs.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[derive(Clone, Copy)]
struct Position {
    x: f32,
}

impl Component for Position {
    fn type_name() -> &'static str {
        "PositionComponent"
    }

    fn export(&self) -> Value {
        json!({ "x": self.x })
    }
}

struct Velocity(f32);

impl Component for Velocity {
    fn type_name() -> &'static str {
        "VelocityComponent"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

/// Systems that do everything a steady pass may do.
fn stage(systems: usize) -> (Claim, OwnedContainer, ManualClock) {
    let (owned, clock) = manual("main");
    let mut claim = owned.claim().unwrap();
    for n in 0..100_u8 {
        claim
            .world()
            .spawn_named(&format!("e{n}"), (Position { x: 0.0 }, Velocity(1.0)))
            .unwrap();
    }
    for n in 0..systems {
        let system = ecs::system(format!("s{n}"), |cx| {
            let elapsed = cx.this.elapsed_seconds();
            for (position, velocity) in cx.world.query::<(&mut Position, &Velocity)>() {
                position.x += velocity.0;
            }
            black_box(cx.world.get::<Position>("e7").map(|position| position.x));
            while let Some(message) = cx.this.next_message() {
                black_box((message, elapsed));
            }
            Ok(())
        });
        let system = system.every_pass().timer_every("t", us(10), |_, cx| {
            black_box(cx.this.elapsed());
            Ok(())
        });
        claim.add_system(system).unwrap();
    }
    (claim, owned, clock)
}

#[test]
fn a_steady_pass_allocates_nothing() {
    assert_eq!(
        allocations(|| drop(black_box(Box::new(7)))),
        1,
        "the counter counts"
    );
    for systems in [0, 1, 100, 1_000] {
        let (mut claim, owned, clock) = stage(systems);
        let mut messages = Vec::new();
        for round in 0..6 {
            for n in 0..systems {
                let message =
                    json!({ "destination": { "system": format!("s{n}") }, "round": round });
                messages.push(message);
            }
            // Sent between the passes: what the mailboxes keep is theirs after the first rounds.
            let sending = allocations(|| {
                for message in messages.drain(..) {
                    owned.message_submit(message).unwrap();
                }
            });
            clock.advance(us(10)).unwrap();
            let passing = allocations(|| claim.update().unwrap());
            if round > 2 {
                // spec: ORD-03
                assert_eq!(passing, 0, "{systems} systems, round {round}");
                // spec: DEL-10
                assert_eq!(sending, 0, "{systems} systems, round {round}");
            }
        }
        // A container without the claim: taking and giving back the body.
        drop(claim);
        clock.advance(us(10)).unwrap();
        // spec: ORD-03
        assert_eq!(allocations(|| owned.update().unwrap()), 0);
    }
}

#[test]
fn a_pass_that_removes_a_system_allocates_little_and_the_same_for_any_number() {
    let measured = [10, 200].map(|systems| {
        let (mut claim, _owned, _) = stage(systems);
        let remover = ecs::system("remover", |cx| {
            cx.remove_system("s5");
            Ok(())
        });
        claim
            .add_system(remover.every_pass().switched_off())
            .unwrap();
        for _ in 0..3 {
            claim.update().unwrap();
        }
        claim.context().set_system_on("remover", true).unwrap();
        let removing = allocations(|| claim.update().unwrap());
        assert_eq!(claim.context().systems().count(), systems);
        removing
    });
    // spec: ORD-04
    assert!(
        measured[0] <= 4 && measured[0] == measured[1],
        "{measured:?}"
    );
}

#[test]
fn groups_and_observers_allocate_nothing_once_their_buffers_have_their_size() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let world = claim.world();
    let mut moving = world
        .register_group::<(Position, Velocity)>("moving")
        .unwrap();
    let mut passages = moving.reader(world).unwrap();
    for on in [On::Added, On::Removed] {
        world
            .observe::<Velocity>(on, |world, entity, commands| {
                if world.contains(entity) {
                    commands.despawn(entity);
                }
                Ok(())
            })
            .unwrap();
    }
    let system = ecs::system("spawner", |cx| {
        for n in 0..20_u8 {
            let entity = cx.world.spawn(Position { x: 0.0 });
            let mut commands = cx.world.commands();
            commands.insert(entity, Velocity(f32::from(n)));
            commands.remove::<Velocity>(entity);
            commands.insert(entity, Velocity(f32::from(n)));
        }
        Ok(())
    });
    claim.add_system(system.every_pass()).unwrap();
    for round in 0..8 {
        let mut seen = 0;
        let passing = allocations(|| {
            claim.update().unwrap();
            let world = claim.world();
            while passages.next(world).unwrap().is_some() {
                seen += 1;
            }
            black_box(moving.iter(world).unwrap().count());
        });
        assert_eq!((seen, claim.world().len()), (80, 0));
        if round > 3 {
            // spec: EVT-05, GRP-01
            assert_eq!(passing, 0, "round {round}");
        }
    }
}

#[test]
fn commands_allocate_nothing_once_the_queue_has_its_size() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    for n in 0..3_u8 {
        let system = ecs::system(format!("s{n}"), move |cx| {
            let (mut contents, mut commands) = cx.world.split();
            for (entity, velocity) in contents.query::<(Entity, &Velocity)>() {
                if (velocity.0 - f32::from(n)).abs() < 0.5 {
                    commands.despawn(entity);
                }
            }
            for _ in 0..20 {
                let entity = commands.spawn((Position { x: 0.0 }, Velocity(f32::from(n))));
                commands.remove::<Position>(entity);
                commands.insert(entity, Position { x: 1.0 });
                black_box(commands.has::<Velocity>(entity));
                // What it captures lies in the queue itself.
                commands.queue(move |world| world.get_mut::<Position>(entity).unwrap().x += 1.0);
            }
            Ok(())
        });
        claim.add_system(system.every_pass()).unwrap();
        if n == 1 {
            claim.add_system(CommitPoint.named("commit")).unwrap();
        }
    }
    for round in 0..40 {
        let passing = allocations(|| claim.update().unwrap());
        assert_eq!(claim.world().len(), 60);
        if round > 4 {
            // spec: ORD-03
            assert_eq!(passing, 0, "round {round}");
        }
    }
    let sum: f32 = claim.world().query::<&Position>().map(|p| p.x).sum();
    assert!((sum - 120.0).abs() < 0.5, "{sum}");
}

#[test]
fn a_log_line_allocates_nothing_once_its_thread_has_written_one() {
    let (owned, _) = manual("main");
    owned.set_logger(|message, _| {
        black_box(message);
    });
    let logger = owned.logger().with_prefix("prefix");
    let text = "x".repeat(100_000);
    let write = |length: usize| logger.log(&text[..length]);
    write(1_000);
    assert_eq!(allocations(|| (0..100).for_each(|_| write(1_000))), 0);
    // What a line needed that was much longer than others is given back.
    write(100_000);
    assert!(allocations(|| write(1_000)) > 0);
}

struct Hit(u64);
struct Miss(u64);

/// A system that sends and hears two types of events in every way there is.
fn ears(claim: &mut Claim, number: usize) {
    let name: Arc<str> = "hit".into();
    let echo = ecs::system(format!("ears{number}"), move |cx| {
        for number in 0..10 {
            cx.this.send_event(Hit(number));
            cx.send_event(Miss(number));
        }
        cx.send_named_event(Arc::clone(&name), Value::Null);
        Ok(())
    });
    let echo = echo
        .every_pass()
        .listen::<Hit>(|_, _, hit| {
            black_box(hit.0);
            Ok(())
        })
        .listen::<Miss>(|_, cx, miss| {
            cx.this.send_event(Hit(miss.0));
            Ok(())
        })
        .listen_queued::<Hit>(|_, _, hit| {
            black_box(hit.0);
            Ok(())
        })
        .listen_named("hit", |_, _, value| {
            black_box(value);
            Ok(())
        });
    claim.add_system(echo).unwrap();
}

#[test]
fn steady_sending_and_hearing_allocates_nothing() {
    for systems in [1, 10] {
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        (0..systems).for_each(|number| ears(&mut claim, number));
        let mut reader = claim.world().event_reader::<Hit>();
        let sender = owned.event_sender::<Hit>();
        for round in 0..12 {
            let sending = allocations(|| {
                for number in 0..100 {
                    owned.send_event(Miss(number));
                    sender.send(Hit(number));
                }
            });
            let passing = allocations(|| {
                claim.update().unwrap();
                let hits = reader.read(claim.world()).unwrap();
                black_box(hits.map(|hit| hit.0).sum::<u64>());
            });
            if round > 8 {
                // spec: EVT-03, ORD-03
                assert_eq!(
                    (sending, passing),
                    (0, 0),
                    "{systems} systems, round {round}"
                );
            }
        }
    }
}
