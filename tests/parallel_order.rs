//! The order of systems that somebody asked for.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{Trace, manual, once};
use ecs::{
    Claim, Component, Context, Matches, Register, System, SystemError, SystemResult, Value,
    Workers, json, parallel, system,
};

struct P(i64);

impl Component for P {
    fn type_name() -> &'static str {
        "P"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

fn order(claim: &mut Claim) -> Vec<String> {
    let context = claim.context();
    let systems = context.systems();
    systems.map(|system| system.handle().to_string()).collect()
}

fn add(claim: &mut Claim, name: &str) {
    claim.add_system(system(name, |_| Ok(()))).unwrap();
}

#[test]
fn the_order_goes_back_to_that_of_registration_when_the_last_wish_ends() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    for name in ["a", "b", "c"] {
        add(&mut claim, name);
    }
    claim.context().precedes("c", "a").unwrap();
    assert_eq!(order(&mut claim), ["b", "c", "a"]);
    claim.remove_system("c");
    // spec: PAR-05
    assert_eq!(order(&mut claim), ["a", "b"]);
    // Also where the system with the wish leaves in mid-pass.
    add(&mut claim, "c");
    claim.context().precedes("c", "a").unwrap();
    let leaver = system(
        "leaver",
        once(|cx| {
            assert!(cx.remove_system("c"));
            Ok(())
        }),
    );
    claim.add_system(leaver.every_pass()).unwrap();
    claim.update().unwrap();
    assert_eq!(order(&mut claim), ["a", "b", "leaver"]);
}

/// What the library keeps, said naively.
#[derive(Default)]
struct Oracle {
    registered: u32,
    /// By handle: the number of the registration that its place goes back to.
    systems: BTreeMap<String, u32>,
    wishes: Vec<(String, String)>,
}

impl Oracle {
    fn register(&mut self, name: &str) {
        self.registered += 1;
        self.systems
            .entry(name.to_owned())
            .or_insert(self.registered);
    }

    fn remove(&mut self, name: &str) {
        self.systems.remove(name);
        self.wishes.retain(|(a, b)| a != name && b != name);
    }

    /// Whether `to` must come after `from`, at once or through others.
    fn follows(&self, from: &str, to: &str) -> bool {
        from == to
            || self
                .wishes
                .iter()
                .any(|(first, second)| first == from && self.follows(second, to))
    }

    fn wish(&mut self, first: &str, second: &str) -> bool {
        if self.follows(second, first) {
            return false;
        }
        self.wishes.push((first.to_owned(), second.to_owned()));
        true
    }

    fn order(&self) -> Vec<String> {
        let mut left: Vec<(u32, &String)> =
            self.systems.iter().map(|(name, at)| (*at, name)).collect();
        left.sort_unstable();
        let mut order = Vec::new();
        while !left.is_empty() {
            let free = left.iter().position(|(_, name)| {
                let mut before = self.wishes.iter().filter(|(_, second)| second == *name);
                before.all(|(first, _)| order.contains(first))
            });
            order.push(left.remove(free.expect("no cycle")).1.clone());
        }
        order
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Checks that a refused cycle is one: along the wishes, from a system to itself, and closed by the new one.
fn assert_cycle(oracle: &Oracle, error: &SystemError, new: (&str, &str)) {
    let SystemError::Cycle { systems, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(systems.first(), systems.last());
    let text = error.to_string();
    for pair in systems.windows(2) {
        let pair = (&*pair[0], &*pair[1]);
        let mut wishes = oracle.wishes.iter();
        let known = wishes.any(|(first, second)| (first.as_str(), second.as_str()) == pair);
        assert!(known || pair == new, "{pair:?} in {systems:?}");
        assert!(text.contains(pair.0), "{text}");
    }
}

#[test]
fn the_order_follows_from_registrations_and_wishes_alone() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        let mut oracle = Oracle::default();
        let mut refused = 0;
        for step in 0..120 {
            let name = format!("s{}", random.below(9));
            let other = format!("s{}", random.below(9));
            let known = oracle.systems.contains_key(&name) && oracle.systems.contains_key(&other);
            match random.below(10) {
                0..3 => {
                    let new = system(name.clone(), |_| Ok(()));
                    let added = match random.below(3) {
                        0 => {
                            let known = oracle.systems.contains_key(&other);
                            let added = claim.add_system(new.succeeds(other.clone()));
                            if !known {
                                assert!(matches!(added, Err(SystemError::NotFound { .. })));
                                continue;
                            }
                            if !oracle.wish(&other, &name) {
                                assert_cycle(&oracle, &added.unwrap_err(), (&other, &name));
                                refused += 1;
                                continue;
                            }
                            added
                        }
                        // One that takes no part in a level, and one that does.
                        1 => claim.add_system(new),
                        _ => claim.add_system(parallel(name.clone(), |_: Matches<'_, &P>| ())),
                    };
                    added.unwrap();
                    oracle.register(&name);
                }
                3 => {
                    let removed = claim.remove_system(&*name);
                    assert_eq!(removed, oracle.systems.contains_key(&name));
                    oracle.remove(&name);
                }
                4..8 => {
                    let (first, second, added) = if random.below(2) == 0 {
                        (&name, &other, claim.context().precedes(&*name, &*other))
                    } else {
                        (&other, &name, claim.context().succeeds(&*name, &*other))
                    };
                    if !known {
                        // spec: PAR-05
                        assert!(matches!(added, Err(SystemError::NotFound { .. })));
                    } else if oracle.wish(first, second) {
                        added.unwrap();
                    } else {
                        // spec: PAR-05
                        assert_cycle(&oracle, &added.unwrap_err(), (first, second));
                        refused += 1;
                    }
                }
                _ => claim.update().unwrap(),
            }
            // spec: PAR-05
            assert_eq!(
                order(&mut claim),
                oracle.order(),
                "seed {seed}, step {step}"
            );
        }
        assert!(
            refused > 0 && oracle.order().len() > 2,
            "the case shows something"
        );
    }
}

#[test]
fn wishes_in_mid_pass_count_from_the_next_one() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    let trace = Trace::default();
    let note = |name: &'static str, trace: &Trace| {
        let trace = trace.clone();
        parallel(name, move |_: Matches<'_, &P>| trace.add(name)).every_pass()
    };
    let wisher = system(
        "wisher",
        once(|cx: &mut Context<'_>| {
            cx.precedes("c", "a")?;
            cx.succeeds(cx.this.key().unwrap(), "b")?;
            assert!(matches!(
                cx.precedes("a", "c"),
                Err(SystemError::Cycle { .. })
            ));
            let own = cx.this.shared_handle();
            assert!(matches!(
                cx.precedes(&*own, "b"),
                Err(SystemError::Cycle { .. })
            ));
            Ok(())
        }),
    );
    let noted = trace.clone();
    claim.add_system(wisher.every_pass()).unwrap();
    for name in ["a", "b", "c"] {
        claim.add_system(note(name, &trace)).unwrap();
    }
    let last = system("last", move |_| {
        noted.add("last");
        Ok(())
    });
    claim.add_system(last.every_pass()).unwrap();
    claim.update().unwrap();
    assert_eq!(trace.line(), "a b c last");
    claim.update().unwrap();
    // spec: PAR-05
    assert_eq!(trace.line(), "b c a last");
    assert_eq!(order(&mut claim), ["b", "wisher", "c", "a", "last"]);
}

struct Early;
struct Late;

impl System for Early {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        Ok(())
    }
}

impl System for Late {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        Ok(())
    }
}

fn first(_: Matches<'_, &P>) {}
fn typed<S: System>(_: &ecs::Registration<S>, cx: &mut Context<'_>) -> Result<(), SystemError> {
    cx.succeeds_type::<Early, S>()
}

#[test]
fn an_order_can_be_asked_for_by_type() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.add_system(Late.named("l1")).unwrap();
    let nobody = claim.context().succeeds_type::<Late, Early>();
    // spec: PAR-12
    assert!(matches!(nobody, Err(SystemError::NotFound { .. })));
    claim.add_system(Early.named("e1")).unwrap();
    claim.add_system(Late.named("l2")).unwrap();
    claim.add_system(Early.named("e2")).unwrap();
    claim.context().succeeds_type::<Late, Early>().unwrap();
    // spec: PAR-12
    assert_eq!(order(&mut claim), ["e1", "e2", "l1", "l2"]);
    // Of the same type it is a cycle, and nothing has changed.
    let itself = claim.context().succeeds_type::<Late, Late>();
    assert!(matches!(itself, Err(SystemError::Cycle { .. })));
    claim
        .add_system(
            system("between", |_| Ok(()))
                .succeeds_type::<Early>()
                .precedes_type::<Late>(),
        )
        .unwrap();
    assert_eq!(order(&mut claim), ["e1", "e2", "between", "l1", "l2"]);
    // All or none: a wish that is good is not kept beside one that is not.
    let refused = system("bad", |_| Ok(())).precedes("e1").succeeds("l1");
    assert!(matches!(
        claim.add_system(refused),
        Err(SystemError::Cycle { .. })
    ));
    add(&mut claim, "bad");
    claim.context().precedes("e1", "bad").unwrap();
    claim.context().succeeds("bad", "l2").unwrap();
    assert_eq!(
        order(&mut claim),
        ["e1", "e2", "between", "l1", "l2", "bad"]
    );
    // By type also for typed systems.
    let registration = parallel("typed", first);
    claim.add_system(parallel("typed", first)).unwrap();
    typed(&registration, &mut claim.context()).unwrap();
    assert_eq!(order(&mut claim)[0], "typed");
}

#[test]
fn a_replacement_inherits_the_wishes_and_who_comes_after_a_removal_does_not() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    for name in ["a", "b", "c"] {
        add(&mut claim, name);
    }
    claim.context().precedes("c", "b").unwrap();
    // In a pass, by an exclusive system that stands in front.
    let replacer = system(
        "replacer",
        once(|cx| {
            cx.add_system(parallel("b", |_: Matches<'_, &P>| ()))?;
            Ok(())
        }),
    );
    claim.add_system(replacer.every_pass()).unwrap();
    claim.context().precedes("replacer", "a").unwrap();
    claim.update().unwrap();
    // spec: PAR-05
    assert_eq!(order(&mut claim), ["c", "b", "replacer", "a"]);
    claim.remove_system("b");
    add(&mut claim, "b");
    assert_eq!(order(&mut claim), ["c", "replacer", "a", "b"]);
    claim.context().precedes("b", "c").unwrap();
    assert_eq!(order(&mut claim), ["replacer", "a", "b", "c"]);
}

/// Without the wish the last one would not wait for anybody, and run before the second.
#[test]
fn who_was_ordered_waits_although_nothing_conflicts() {
    for workers in [0, 2] {
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        claim.world().spawn(P(0));
        let trace = Trace::default();
        let note = |name: &'static str| {
            let trace = trace.clone();
            move || trace.add(name)
        };
        let (first, second) = (note("first"), note("second"));
        let first = parallel("first", move |_: Matches<'_, &mut P>| first());
        let second = parallel("second", move |_: Matches<'_, &P>| second());
        claim.add_system(first.every_pass()).unwrap();
        claim.add_system(second.every_pass()).unwrap();
        claim
            .add_system(parallel("third", note("third")).every_pass())
            .unwrap();
        claim.context().precedes("second", "third").unwrap();
        for _ in 0..20 {
            claim.update().unwrap();
            // spec: PAR-05
            assert_eq!(trace.line(), "first second third");
        }
    }
}

#[test]
fn that_many_ways_lead_from_one_system_to_another_takes_no_time() {
    const STEPS: usize = 30;
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    for step in 0..=STEPS {
        for name in ["in", "left", "right"] {
            add(&mut claim, &format!("{name}{step}"));
        }
    }
    // Two to the 30th ways from the first one to the last.
    for step in 0..STEPS {
        for side in ["left", "right"] {
            let side = format!("{side}{step}");
            let mut cx = claim.context();
            cx.precedes(&*format!("in{step}"), &*side).unwrap();
            cx.precedes(&*side, &*format!("in{}", step + 1)).unwrap();
        }
    }
    claim.context().precedes("left30", "in0").unwrap();
    let last = format!("in{STEPS}");
    let refused = claim.context().precedes(&*last, "in0").unwrap_err();
    let SystemError::Cycle { systems, .. } = &refused else {
        panic!("{refused}");
    };
    // spec: PAR-05
    assert_eq!(systems.len(), 2 * STEPS + 2);
    assert!(systems.first() == systems.last() && *systems[2 * STEPS] == *last);
}
