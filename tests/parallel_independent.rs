//! Independent systems that ask for nothing of the world: they wait for nobody, and that is all.

mod common;

use std::time::Duration;

use common::{Trace, manual, us};
use ecs::{
    Listener, Own, OwnedContainer, Policy, Registration, System, Timer, Workers, parallel, system,
};

struct Stage {
    owned: OwnedContainer,
    trace: Trace,
}

fn stage(workers: usize) -> Stage {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.set_workers(&Workers::new(workers).unwrap());
    claim.context().set_worth_waking(Duration::ZERO);
    drop(claim);
    Stage {
        owned,
        trace: Trace::default(),
    }
}

impl Stage {
    /// A system that runs alone and notes it.
    fn alone(&self, name: &'static str) {
        let trace = self.trace.clone();
        let alone = system(name, move |_| {
            trace.add(name);
            Ok(())
        });
        let mut claim = self.owned.claim().unwrap();
        claim.add_system(alone.every_pass()).unwrap();
    }

    /// An independent one.
    fn poll(&self) -> Registration<impl System> {
        let trace = self.trace.clone();
        parallel("poll", move |_: Own<'_>| trace.add("poll"))
            .every_pass()
            .policy(Policy::Independent)
    }

    fn pass(&self) -> String {
        self.owned.update().unwrap();
        self.trace.line()
    }
}

#[test]
fn one_that_was_ordered_behind_another_keeps_that_order() {
    for workers in [0, 2] {
        let stage = stage(workers);
        stage.alone("first");
        stage.alone("second");
        stage
            .owned
            .claim()
            .unwrap()
            .add_system(stage.poll())
            .unwrap();
        // spec: PAR-06
        assert_eq!(stage.pass(), "poll first second");
        let mut claim = stage.owned.claim().unwrap();
        claim.context().succeeds("poll", "first").unwrap();
        drop(claim);
        // spec: PAR-05, PAR-06
        assert_eq!(stage.pass(), "first second poll");
    }
}

#[test]
fn one_that_gets_or_loses_a_timer_is_updated_once_in_each_pass() {
    for workers in [0, 2] {
        let stage = stage(workers);
        stage.alone("first");
        stage
            .owned
            .claim()
            .unwrap()
            .add_system(stage.poll())
            .unwrap();
        stage.alone("last");
        assert_eq!(stage.pass(), "poll first last");
        let timer = || Timer::every("t", Duration::from_hours(1), |_| Ok(()));
        let mut claim = stage.owned.claim().unwrap();
        claim.context().add_timer("poll", timer()).unwrap();
        drop(claim);
        // Who has a timer runs alone, in its place.
        // spec: PAR-06
        assert_eq!(stage.pass(), "first poll last");
        stage
            .owned
            .claim()
            .unwrap()
            .context()
            .clear_timer("poll", "t");
        // spec: PAR-06
        assert_eq!(stage.pass(), "poll first last");
        stage
            .owned
            .defer(move |cx| Ok(cx.add_timer("poll", timer())?));
        assert_eq!(stage.pass(), "first poll last");
    }
}

#[test]
fn one_that_stands_last_and_gets_or_loses_a_timer_is_updated_once_in_each_pass() {
    for workers in [0, 2] {
        for policy in [Policy::Sequential, Policy::Independent] {
            let stage = stage(workers);
            let names = ["a", "b"];
            for name in names {
                let trace = stage.trace.clone();
                let noting = parallel(name, move |_: Own<'_>| trace.add(name));
                let mut claim = stage.owned.claim().unwrap();
                claim
                    .add_system(noting.every_pass().policy(policy))
                    .unwrap();
            }
            let timer = || Timer::every("t", Duration::from_hours(1), |_| Ok(()));
            let both = || {
                stage.owned.update().unwrap();
                let mut updated = stage.trace.take();
                updated.sort();
                // spec: PAR-03, PAR-06
                assert_eq!(updated, names);
            };
            both();
            let mut claim = stage.owned.claim().unwrap();
            claim.context().add_timer("b", timer()).unwrap();
            drop(claim);
            both();
            stage.owned.claim().unwrap().context().clear_timer("b", "t");
            both();
        }
    }
}

#[test]
fn one_that_changes_itself_while_it_runs_is_updated_once() {
    for workers in [0, 2] {
        let stage = stage(workers);
        stage.alone("first");
        let trace = stage.trace.clone();
        let poll = parallel("poll", move |mut this: Own<'_>| {
            trace.add("poll");
            if this.updates() == 2 {
                let timer = Timer::once("t", us(10), |_| Ok(()));
                this.add_timer(timer).unwrap();
            }
            if this.updates() == 4 {
                this.clear_timer("t");
            }
        });
        let poll = poll.every_pass().policy(Policy::Independent);
        stage.owned.claim().unwrap().add_system(poll).unwrap();
        let expected = [
            "poll first",
            "poll first",
            "first poll",
            "first poll",
            "poll first",
        ];
        for expected in expected {
            // spec: PAR-06
            assert_eq!(stage.pass(), expected);
        }
    }
}

#[test]
fn the_graph_shows_who_waits() {
    let stage = stage(0);
    stage.alone("first");
    let mut claim = stage.owned.claim().unwrap();
    claim.add_system(stage.poll()).unwrap();
    let floating = "\"poll\" [shape=ellipse, style=dotted]";
    // spec: PAR-06, PAR-07
    assert!(claim.context().graph().contains(floating));
    claim.context().precedes("first", "poll").unwrap();
    let graph = claim.context().graph();
    // spec: PAR-06, PAR-07
    assert!(!graph.contains(floating), "{graph}");
    assert!(
        graph.contains("\"first\" -> \"poll\" [style=bold]"),
        "{graph}"
    );
}

#[test]
fn one_whose_run_condition_looks_at_the_world_waits_for_those_before_it() {
    for workers in [0, 2] {
        let stage = stage(workers);
        stage.alone("first");
        let mut claim = stage.owned.claim().unwrap();
        claim.add_system(stage.poll().run_if(|_| true)).unwrap();
        drop(claim);
        assert_eq!(stage.pass(), "first poll");
        // Without it, it waits for nobody.
        let mut claim = stage.owned.claim().unwrap();
        claim.add_system(stage.poll()).unwrap();
        drop(claim);
        assert_eq!(stage.pass(), "poll first");
    }
}

#[test]
fn one_that_only_listens_in_the_root_step_still_waits_for_nobody() {
    struct Rang;

    let stage = stage(0);
    stage.alone("first");
    let mut claim = stage.owned.claim().unwrap();
    claim.add_system(stage.poll()).unwrap();
    for (queued, expected) in [(false, "heard poll first"), (true, "first heard poll")] {
        let trace = stage.trace.clone();
        let ear = Listener::to::<Rang>(move |_, _| {
            trace.add("heard");
            Ok(())
        });
        let ear = if queued { ear.queued() } else { ear };
        claim.context().add_listener("poll", ear).unwrap();
        claim.update().unwrap();
        stage.trace.take();
        claim.context().send_event(Rang);
        claim.update().unwrap();
        assert!(stage.trace.line().ends_with(expected), "queued: {queued}");
    }
}

#[test]
fn one_that_comes_later_waits_for_nobody_either() {
    let stage = stage(0);
    stage.alone("first");
    assert_eq!(stage.pass(), "first");
    let mut claim = stage.owned.claim().unwrap();
    claim.add_system(stage.poll()).unwrap();
    drop(claim);
    for _ in 0..3 {
        assert_eq!(stage.pass(), "poll first");
    }
}
