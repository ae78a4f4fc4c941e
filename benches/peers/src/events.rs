//! Events, sent and read or heard at once, and observers.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy_ecs::event::Event;
use bevy_ecs::lifecycle::Add;
use bevy_ecs::message::{Message, Messages};
use bevy_ecs::observer::On;
use bevy_ecs::world::World as BevyWorld;
use ecs::{Listener, ManualClock, OwnedContainer, World as OurWorld};
use flecs_ecs::prelude::*;

use crate::bench::{Bench, Engine, Sides};
use crate::data::A;
use crate::harness::Clock;

#[derive(Clone, Copy, Message, Event)]
struct Hit {
    target: u64,
    points: u64,
}

/// What an event of `flecs_ecs` is: it reaches an entity, and whoever observes a component of it.
#[derive(Component)]
struct Told;

const POINTS: u64 = 3;

fn hits(count: usize) -> impl ExactSizeIterator<Item = Hit> {
    (0..count).map(|number| Hit {
        target: number as u64,
        points: black_box(POINTS),
    })
}

fn sum<'a>(hits: impl Iterator<Item = &'a Hit>) -> u64 {
    hits.map(|hit| hit.target * hit.points).sum()
}

/// How events are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// All at once.
    InABatch,
    /// One after the other, to what holds their list: a writer of ours, the messages of `bevy_ecs`.
    Singly,
    /// One after the other, to a world that looks for their list.
    ToTheWorld,
}

/// By hand a vector that is filled and read; in the engines what a reader has not read yet.
fn sent_and_read(count: usize, how: How) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            let mut list = Vec::new();
            move |clock: &mut Clock| {
                clock.time(|| {
                    list.clear();
                    if how == How::InABatch {
                        list.extend(hits(count));
                    } else {
                        hits(count).for_each(|hit| black_box(&mut list).push(hit));
                    }
                    sum(black_box(&list).iter())
                })
            }
        })
        .with(Engine::Ours, {
            let mut world = OurWorld::new();
            let mut reader = world.event_reader::<Hit>();
            move |clock: &mut Clock| {
                clock.time(|| {
                    match how {
                        How::InABatch => world.send_events(hits(count)),
                        How::Singly => {
                            let mut writer = world.event_writer();
                            hits(count).for_each(|hit| writer.send(hit));
                        }
                        How::ToTheWorld => hits(count).for_each(|hit| world.send_event(hit)),
                    }
                    world.deliver_events();
                    sum(reader.read(&world).expect("it is of this world"))
                })
            }
        })
        .with(Engine::Bevy, {
            let mut world = BevyWorld::new();
            world.init_resource::<Messages<Hit>>();
            let mut cursor = world.resource::<Messages<Hit>>().get_cursor();
            move |clock: &mut Clock| {
                clock.time(|| {
                    if how == How::ToTheWorld {
                        for hit in hits(count) {
                            world.write_message(hit);
                        }
                    }
                    let messages = &mut *world.resource_mut::<Messages<Hit>>();
                    match how {
                        How::InABatch => {
                            messages.write_batch(hits(count));
                        }
                        How::Singly => {
                            for hit in hits(count) {
                                messages.write(hit);
                            }
                        }
                        How::ToTheWorld => {}
                    }
                    messages.update();
                    sum(cursor.read(messages))
                })
            }
        })
}

fn add(sum: &AtomicU64, points: u64) {
    sum.store(sum.load(Ordering::Relaxed) + points, Ordering::Relaxed);
}

fn taken(sum: &AtomicU64) -> u64 {
    sum.swap(0, Ordering::Relaxed)
}

/// By hand a call through a box. Ours are delivered in a pass, to the listener of a system.
fn heard(count: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let mut called: Box<dyn FnMut(&Hit)> = Box::new(|hit| add(&SUM, hit.points));
            move |clock: &mut Clock| {
                clock.time(|| hits(count).for_each(|hit| black_box(&mut called)(&hit)));
                taken(&SUM)
            }
        })
        .with(Engine::Ours, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let owned = OwnedContainer::new("heard").expect("a handle");
            let mut claim = owned.claim().expect("it is idle");
            claim
                .set_clock(ManualClock::new())
                .expect("it has not begun");
            let listener = Listener::to::<Hit>(|_, hit| {
                add(&SUM, hit.points);
                Ok(())
            });
            let ear = ecs::system("ear", |_| Ok(())).every_pass();
            claim
                .add_system(ear.listener(listener))
                .expect("a new handle");
            // Who is started hears at once.
            claim.update().expect("nothing fails");
            move |clock: &mut Clock| {
                let _owner = &owned;
                clock.time(|| {
                    hits(count).for_each(|hit| claim.world().send_event(hit));
                    claim.update().expect("nothing fails");
                });
                taken(&SUM)
            }
        })
        .with(Engine::Bevy, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let mut world = BevyWorld::new();
            world.add_observer(|hit: On<'_, '_, Hit>| add(&SUM, hit.points));
            move |clock: &mut Clock| {
                clock.time(|| hits(count).for_each(|hit| world.trigger(hit)));
                taken(&SUM)
            }
        })
        .with(Engine::Flecs, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let world = World::new();
            world.observer::<Told, &A>().each(|_| add(&SUM, POINTS));
            let entity = world.entity().set(A(1.0)).id();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for _ in 0..count {
                        world.event().add(A::id()).entity(entity).emit(&Told);
                    }
                });
                taken(&SUM)
            }
        })
}

/// Each of the entities gets a component that is observed. By hand it is put in its place, and a box is called. Ours are
/// told of at the end, all the others at once. The components are taken away between the rounds.
fn told(count: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let mut places: Vec<Option<A>> = vec![None; count];
            let mut called: Box<dyn FnMut(usize)> = Box::new(|_| add(&SUM, POINTS));
            move |clock: &mut Clock| {
                clock.time(|| {
                    for (number, place) in places.iter_mut().enumerate() {
                        *place = Some(A(1.0));
                        black_box(&mut called)(number);
                    }
                });
                black_box(&mut places).fill(None);
                taken(&SUM)
            }
        })
        .with(Engine::Ours, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let mut world = OurWorld::new();
            world
                .observe::<A>(ecs::On::Added, |_, _, _| {
                    add(&SUM, POINTS);
                    Ok(())
                })
                .expect("it has a name");
            let ids: Vec<_> = (0..count).map(|_| world.spawn(())).collect();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for id in &ids {
                        world.insert(*id, A(1.0)).expect("it is alive");
                    }
                    world.run_observers().expect("nothing fails");
                });
                for id in &ids {
                    world.remove::<A>(*id);
                }
                taken(&SUM)
            }
        })
        .with(Engine::Bevy, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let mut world = BevyWorld::new();
            world.add_observer(|_: On<'_, '_, Add<A>>| add(&SUM, POINTS));
            let ids: Vec<_> = (0..count).map(|_| world.spawn_empty().id()).collect();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for id in &ids {
                        world.entity_mut(*id).insert(A(1.0));
                    }
                });
                for id in &ids {
                    world.entity_mut(*id).remove::<A>();
                }
                taken(&SUM)
            }
        })
        .with(Engine::Flecs, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let world = World::new();
            world
                .observer::<flecs::OnSet, &A>()
                .each(|_| add(&SUM, POINTS));
            let ids: Vec<_> = (0..count).map(|_| *world.entity().id()).collect();
            move |clock: &mut Clock| {
                clock.time(|| {
                    for id in &ids {
                        world.entity_from_id(*id).set(A(1.0));
                    }
                });
                for id in &ids {
                    world.entity_from_id(*id).remove(A::id());
                }
                taken(&SUM)
            }
        })
}

/// The telling alone: the components are there, and nobody was told of them yet. The others tell in the middle of the
/// change.
fn told_alone(count: usize) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let places: Vec<Option<A>> = vec![Some(A(1.0)); count];
            let mut called: Box<dyn FnMut(&A)> = Box::new(|_| add(&SUM, POINTS));
            move |clock: &mut Clock| {
                clock.time(|| {
                    for place in places.iter().flatten() {
                        black_box(&mut called)(place);
                    }
                });
                taken(&SUM)
            }
        })
        .with(Engine::Ours, {
            static SUM: AtomicU64 = AtomicU64::new(0);
            let mut world = OurWorld::new();
            world
                .observe::<A>(ecs::On::Added, |_, _, _| {
                    add(&SUM, POINTS);
                    Ok(())
                })
                .expect("it has a name");
            let ids: Vec<_> = (0..count).map(|_| world.spawn(())).collect();
            move |clock: &mut Clock| {
                for id in &ids {
                    world.insert(*id, A(1.0)).expect("it is alive");
                }
                clock.time(|| world.run_observers().expect("nothing fails"));
                for id in &ids {
                    world.remove::<A>(*id);
                }
                taken(&SUM)
            }
        })
}

pub(crate) fn run(bench: &mut Bench) {
    for &(count, size) in bench.sizes(&[(1_000, "1k"), (10_000, "10k"), (100_000, "100k")]) {
        for (words, how) in [
            ("in a batch", How::InABatch),
            ("singly", How::Singly),
            ("singly to the world", How::ToTheWorld),
        ] {
            let name = format!("events {size}, sent {words} and read");
            bench.row(&name, count, || sent_and_read(count, how));
        }
        let name = format!("events {size}, sent singly and heard");
        bench.row(&name, count, || heard(count));
        let name = format!("observers {size}, told of a component each");
        bench.row(&name, count, || told(count));
        let name = format!("observers {size}, the telling alone");
        bench.row(&name, count, || told_alone(count));
    }
}
