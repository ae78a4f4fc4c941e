//! Systems that go through what matches a query: as typed systems, to which what they write is lent, and as systems that have
//! the whole world. The two have little in common, so a fault of lending shows as a difference.

use std::marker::PhantomData;
use std::time::Duration;

use ecs::{
    Added, Changed, Claim, Filter, Matches, Mut, Or, ParallelSystem, Prepared, Query, Register,
    Registration, System, SystemResult, Typed, With, Without, system,
};

use crate::case::Spec;
use crate::menu::{A, B, C, D, S, T, holds, mix, note_thread};

type Body<Q> = for<'w> fn(<Q as Query>::Item<'w>, i64);

struct Loop<Q: Query, F> {
    body: Body<Q>,
    k: i64,
    filter: PhantomData<fn() -> F>,
}

impl<Q: Query + 'static, F: Filter + 'static> ParallelSystem for Loop<Q, F> {
    type Params = Matches<'static, Q, F>;

    fn update(&mut self, mut all: Matches<'_, Q, F>) -> SystemResult {
        note_thread();
        for item in &mut all {
            (self.body)(item, self.k);
        }
        Ok(())
    }
}

fn put<Q, F>(claim: &mut Claim, spec: &Spec, body: Body<Q>)
where
    Q: Query + Send + 'static,
    F: Filter + 'static,
    Prepared<Q, F>: Send,
{
    let k = spec.k;
    if spec.alone {
        let mut prepared: Option<Prepared<Q, F>> = None;
        let new = system(&*spec.name, move |cx| {
            let prepared = match &mut prepared {
                Some(prepared) => prepared,
                none => none.insert(cx.world.prepare_filtered::<Q, F>()?),
            };
            for item in prepared.iter(cx.world)? {
                body(item, k);
            }
            Ok(())
        });
        register(claim, spec, new);
    } else {
        let of = Loop::<Q, F> {
            body,
            k,
            filter: PhantomData,
        };
        register(claim, spec, Typed::new(of).named(&*spec.name));
    }
}

fn register<T: System>(claim: &mut Claim, spec: &Spec, new: Registration<T>) {
    let mut new = new.interval(Duration::from_micros(spec.interval));
    if spec.conditional {
        new = new.run_if(holds(spec.k));
    }
    claim.add_system(new).unwrap();
}

/// How many of them there are.
pub(crate) const LOOPS: usize = 14;

pub(crate) fn add(claim: &mut Claim, spec: &Spec) {
    match spec.kind {
        0 => put::<(&mut A, &B), ()>(claim, spec, |(a, b), k| mix(&mut a.0, b.0, k)),
        1 => put::<(&mut B, Option<&C>), ()>(claim, spec, |(b, c), k| {
            mix(&mut b.0, c.map_or(3, |c| c.0), k);
        }),
        2 => put::<(&mut C, &S), ()>(claim, spec, |(c, s), k| mix(&mut c.0, s.0, k)),
        3 => put::<(&mut S, &A), ()>(claim, spec, |(s, a), k| mix(&mut s.0, a.0, k)),
        4 => put::<Mut<'static, D>, Changed<A>>(claim, spec, |mut d, k| {
            if d.0 % 2 == 0 {
                mix(&mut d.0, 1, k);
            } else {
                d.bypass().0 += 1;
            }
        }),
        5 => put::<&mut D, Changed<B>>(claim, spec, |d, k| mix(&mut d.0, 2, k)),
        6 => put::<&mut T, With<S>>(claim, spec, |t, k| mix(&mut t.0, 3, k)),
        7 => put::<&mut A, Added<S>>(claim, spec, |a, k| mix(&mut a.0, 5, k)),
        8 => put::<&mut B, Or<(With<T>, Changed<C>)>>(claim, spec, |b, k| mix(&mut b.0, 6, k)),
        9 => put::<(&mut C, Option<&mut T>, Option<&mut S>), Without<D>>(
            claim,
            spec,
            |(c, t, s), k| {
                if let Some(t) = t {
                    mix(&mut t.0, c.0, k);
                }
                if let Some(s) = s {
                    mix(&mut s.0, c.0, k);
                }
                c.0 += 1;
            },
        ),
        10 => put::<(Option<&mut D>, Mut<'static, T>), (Changed<D>, With<A>)>(
            claim,
            spec,
            |(d, mut t), k| {
                if let Some(d) = d {
                    mix(&mut d.0, t.0, k);
                }
                if k % 2 == 0 {
                    t.0 += 1;
                }
            },
        ),
        11 => put::<(&mut A, &mut B), Or<(Added<B>, Changed<S>)>>(claim, spec, |(a, b), k| {
            mix(&mut a.0, b.0, k);
            mix(&mut b.0, a.0, k);
        }),
        12 => put::<&mut S, Changed<S>>(claim, spec, |s, k| mix(&mut s.0, 7, k)),
        _ => put::<(&mut C, &A, Option<&B>), Or<(Changed<C>, Without<B>)>>(
            claim,
            spec,
            |(c, a, b), k| {
                mix(&mut c.0, a.0 + b.map_or(1, |b| b.0), k);
            },
        ),
    }
}
