//! The systems that cases are made of. What each writes depends on all that it sees and on the order in which it is written:
//! whoever sees something in another order leaves other numbers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ecs::{
    Changed, Claim, Commands, Component, Context, Entity, EventWriter, Events, Matches, Or, Own,
    ParamFunction, Res, ResMut, Storage, Value, With, Without, World, json, parallel, system,
};

use crate::case::Spec;
use crate::loops::{self, LOOPS};

type SparseKinds<'a, 'e> = Matches<'a, (Entity, Option<&'e S>, Option<&'e T>), With<C>>;
type Rewritten<'a, 'e> =
    Matches<'a, (&'e mut C, &'e A, Option<&'e mut T>), Or<(Changed<A>, Changed<C>)>>;

macro_rules! kinds {
    ($($name:ident $storage:ident),*) => {$(
        pub(crate) struct $name(pub(crate) i64);

        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn storage() -> Storage {
                Storage::$storage
            }

            fn export(&self) -> Value {
                json!(self.0)
            }
        }
    )*};
}

kinds! { A Table, B Table, C Table, D Table, S Sparse, T Sparse, Id Table }

pub(crate) struct Sum(pub(crate) i64);
pub(crate) struct Other(pub(crate) i64);
pub(crate) struct Maybe(pub(crate) i64);
/// What was heard of events, in order.
pub(crate) struct Heard(pub(crate) i64);
/// The first entities.
pub(crate) struct Known(pub(crate) Vec<Entity>);

pub(crate) struct First(i64);
pub(crate) struct Second(i64);

/// How many updates ran on worker threads.
pub(crate) static ELSEWHERE: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn mix(value: &mut i64, other: i64, k: i64) {
    *value = (*value * 31 + other * 7 + k).rem_euclid(1_000_003);
}

pub(crate) fn note_thread() {
    let thread = std::thread::current();
    if thread
        .name()
        .is_some_and(|name| name.starts_with("ecs-worker"))
    {
        ELSEWHERE.fetch_add(1, Ordering::Relaxed);
    }
}

fn put<M: 'static>(claim: &mut Claim, spec: &Spec, function: impl ParamFunction<M>) {
    let mut new = parallel(&*spec.name, function).interval(Duration::from_micros(spec.interval));
    if spec.conditional {
        new = new.run_if(holds(spec.k));
    }
    if spec.alone {
        // Who has a timer runs alone, in its place.
        new = new.timer_every("never", Duration::from_hours(1), |_, _| Ok(()));
    }
    claim.add_system(new).unwrap();
}

/// A condition that looks at what many systems write.
pub(crate) fn holds(k: i64) -> impl FnMut(&World) -> bool + Send + 'static {
    move |world| {
        let sum = world.resource::<Sum>().map_or(0, |sum| sum.0);
        let known = world.resource::<Known>().unwrap();
        let first = known.0.first().and_then(|entity| world.get::<A>(*entity));
        (sum + first.map_or(1, |a| a.0) + k).rem_euclid(4) != 0
    }
}

/// How many kinds of systems there are: typed ones, and all.
pub(crate) const TYPED: usize = LOOPS + 15;
pub(crate) const ALL: usize = TYPED + 6;

#[expect(clippy::too_many_lines, reason = "a list")]
pub(crate) fn add(claim: &mut Claim, spec: &Spec) {
    let k = spec.k;
    if spec.kind < LOOPS {
        return loops::add(claim, spec);
    }
    match spec.kind - LOOPS {
        0 => put(
            claim,
            spec,
            move |mut all: Matches<'_, &A, Without<T>>, mut sum: ResMut<'_, Sum>| {
                all.for_each(|a| mix(&mut sum.0, a.0, k));
            },
        ),
        1 => put(
            claim,
            spec,
            move |sum: Res<'_, Sum>, mut all: Matches<'_, &mut B>| {
                all.for_each(|b| mix(&mut b.0, sum.0, k));
            },
        ),
        2 => put(
            claim,
            spec,
            move |sum: Res<'_, Sum>, mut other: ResMut<'_, Other>| mix(&mut other.0, sum.0, k),
        ),
        3 => put(
            claim,
            spec,
            move |mut all: Matches<'_, &A>, mut commands: Commands<'_>| {
                let count = all.iter().count();
                for (n, a) in (0_i64..)
                    .zip(&mut all)
                    .filter(|(_, a)| a.0 % 5 == k % 5)
                    .take(4)
                {
                    if count < 60 {
                        let made = commands.spawn((Id(k * 100 + n), A(a.0 / 3), S(k)));
                        if n % 2 == 0 {
                            commands.insert(made, (T(n), B(a.0 % 11)));
                        }
                        commands.remove::<S>(made);
                        commands.insert(made, S(n));
                    }
                }
            },
        ),
        4 => put(
            claim,
            spec,
            move |mut all: Matches<'_, (Entity, &A, Option<&Id>)>, mut commands: Commands<'_>| {
                note_thread();
                for (entity, a, id) in &mut all {
                    if id.is_some() && a.0 % 7 == k % 7 {
                        commands.despawn(entity);
                        commands.insert(entity, B(k));
                    }
                }
            },
        ),
        5 => put(
            claim,
            spec,
            move |mut all: Matches<'_, (Entity, &C, Option<&B>)>, mut commands: Commands<'_>| {
                for (entity, c, b) in &mut all {
                    match (c.0 + k) % 6 {
                        0 => commands.insert(entity, B(c.0)),
                        1 if b.is_some() => commands.remove::<B>(entity),
                        2 => commands.insert(entity, (D(c.0), T(k))),
                        _ => {}
                    }
                }
            },
        ),
        6 => put(
            claim,
            spec,
            move |mut all: SparseKinds<'_, '_>, mut commands: Commands<'_>| {
                note_thread();
                for (entity, s, t) in &mut all {
                    match (s, t) {
                        (Some(s), None) if (s.0 + k) % 3 == 0 => commands.insert(entity, T(s.0)),
                        (Some(_), Some(t)) if (t.0 + k) % 3 == 0 => commands.remove::<S>(entity),
                        (None, _) => commands.insert(entity, S(k)),
                        _ => {}
                    }
                }
            },
        ),
        7 => put(
            claim,
            spec,
            move |mut all: Matches<'_, &A>, mut sent: EventWriter<'_, First>| {
                for a in all.iter().take(3) {
                    sent.send(First(a.0 + k));
                }
            },
        ),
        8 => put(
            claim,
            spec,
            move |mut events: Events<'_, First>, mut heard: ResMut<'_, Heard>| {
                for event in events.read().take(5) {
                    mix(&mut heard.0, event.0, k);
                }
            },
        ),
        9 => put(
            claim,
            spec,
            move |mut events: Events<'_, First>, mut sent: EventWriter<'_, Second>| {
                note_thread();
                for event in events.read() {
                    sent.send(Second(event.0 * 3 + k));
                }
            },
        ),
        10 => put(
            claim,
            spec,
            move |this: Own<'_>, mut events: Events<'_, Second>, mut all: Matches<'_, &B>| {
                let mut seen = i64::try_from(this.elapsed().as_micros()).unwrap();
                for event in events.read() {
                    mix(&mut seen, event.0, k);
                }
                all.for_each(|b| mix(&mut seen, b.0, k));
                this.send_event(First(seen % 1000));
            },
        ),
        11 => put(
            claim,
            spec,
            move |mut some: Matches<'_, &mut A, With<T>>,
                  mut all: Matches<'_, (&B, Option<&T>)>| {
                let mut sum = 0;
                all.for_each(|(b, t)| mix(&mut sum, b.0, t.map_or(0, |t| t.0)));
                some.for_each(|a| mix(&mut a.0, sum, k));
            },
        ),
        12 => put(
            claim,
            spec,
            move |mut some: Rewritten<'_, '_>, known: Res<'_, Known>| {
                note_thread();
                for entity in &known.0 {
                    if let Ok((c, a, t)) = some.get_mut(*entity) {
                        mix(&mut c.0, a.0, k);
                        if let Some(t) = t {
                            mix(&mut t.0, c.0, k);
                        }
                    }
                }
                some.for_each(|(c, ..)| c.0 += 1);
            },
        ),
        13 => put(
            claim,
            spec,
            move |mut all: Matches<'_, (&mut D, Option<&A>)>| {
                std::thread::scope(|scope| {
                    for batch in all.iter().batches(5) {
                        scope.spawn(move || {
                            for (d, a) in batch {
                                mix(&mut d.0, a.map_or(9, |a| a.0), k);
                            }
                        });
                    }
                });
            },
        ),
        14 => put(
            claim,
            spec,
            move |maybe: Option<ResMut<'_, Maybe>>, mut commands: Commands<'_>| match maybe {
                Some(mut maybe) if maybe.0 % 3 != 0 => mix(&mut maybe.0, 1, k),
                Some(_) => commands.remove_resource::<Maybe>(),
                None => commands.insert_resource(Maybe(k)),
            },
        ),
        _ => add_exclusive(claim, spec),
    }
}

fn add_exclusive(claim: &mut Claim, spec: &Spec) {
    let k = spec.k;
    let update = move |kind: usize, cx: &mut Context<'_>| match kind {
        TYPED => {
            for (a, b) in cx.world.query::<(&mut A, &mut B)>() {
                mix(&mut a.0, b.0, k);
            }
            if cx.world.len() < 60 {
                cx.world.spawn((Id(k), A(k), C(k), S(k)));
            }
        }
        n if n == TYPED + 1 => {
            let (mut contents, mut commands) = cx.world.split();
            for (entity, a) in contents.query_filtered::<(Entity, &A), With<Id>>() {
                if a.0 % 4 == 0 {
                    commands.despawn(entity);
                }
            }
            commands.spawn((Id(k), B(k), T(k)));
            cx.this.send_event(First(k));
        }
        n if n == TYPED + 2 => {
            // Another one is switched, or waits for something else from now on.
            let other = format!("s{}", k % 8);
            let on = !cx.this.updates().is_multiple_of(3);
            let _ = cx.set_system_on(&*other, on);
            if cx.this.updates() == 2 {
                let _ = cx.set_run_condition(&*other, holds(k + 1));
            }
        }
        n if n == TYPED + 3 => {
            // Whoever stands behind it leaves in this very pass.
            if cx.this.updates() == 2 {
                cx.remove_system(&*format!("s{}", k % 10));
            }
            cx.send_event(Second(k));
        }
        _ => {
            if let Some(sum) = cx.world.resource_mut::<Sum>() {
                mix(&mut sum.0, 8, k);
            }
            cx.world.reclaim();
        }
    };
    if spec.kind == ALL - 1 {
        use ecs::Register;
        claim
            .add_system(ecs::CommitPoint.named(&*spec.name))
            .unwrap();
        return;
    }
    let kind = spec.kind;
    let new = system(&*spec.name, move |cx| {
        update(kind, cx);
        Ok(())
    });
    claim
        .add_system(new.interval(Duration::from_micros(spec.interval)))
        .unwrap();
}
