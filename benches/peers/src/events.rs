//! Events, sent and read or heard at once.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy_ecs::event::Event;
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

/// By hand a vector that is filled and read; in the engines what a reader has not read yet. One after the other, or all
/// at once.
fn sent_and_read(count: usize, singly: bool) -> Sides {
    Sides::default()
        .with(Engine::Hand, {
            let mut list = Vec::new();
            move |clock: &mut Clock| {
                clock.time(|| {
                    list.clear();
                    if singly {
                        hits(count).for_each(|hit| black_box(&mut list).push(hit));
                    } else {
                        list.extend(hits(count));
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
                    if singly {
                        hits(count).for_each(|hit| world.send_event(hit));
                    } else {
                        world.send_events(hits(count));
                    }
                    world.deliver_events();
                    sum(reader.read(&world).expect("it is of this world"))
                })
            }
        })
        .with(Engine::Bevy, {
            let mut messages = Messages::<Hit>::default();
            let mut cursor = messages.get_cursor();
            move |clock: &mut Clock| {
                clock.time(|| {
                    if singly {
                        for hit in hits(count) {
                            messages.write(hit);
                        }
                    } else {
                        messages.write_batch(hits(count));
                    }
                    messages.update();
                    sum(cursor.read(&messages))
                })
            }
        })
}

/// By hand a call through a box. Ours are delivered in a pass, to the listener of a system.
fn heard(count: usize) -> Sides {
    fn add(sum: &AtomicU64, points: u64) {
        sum.store(sum.load(Ordering::Relaxed) + points, Ordering::Relaxed);
    }
    fn taken(sum: &AtomicU64) -> u64 {
        sum.swap(0, Ordering::Relaxed)
    }
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

pub(crate) fn run(bench: &mut Bench) {
    for &(count, size) in bench.sizes(&[(1_000, "1k"), (10_000, "10k"), (100_000, "100k")]) {
        for (how, singly) in [("in a batch", false), ("singly", true)] {
            let name = format!("events {size}, sent {how} and read");
            bench.row(&name, count, || sent_and_read(count, singly));
        }
        let name = format!("events {size}, sent singly and heard");
        bench.row(&name, count, || heard(count));
    }
}
