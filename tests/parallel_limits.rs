//! Numbers of workers, and what systems may do on them.

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use common::wait::{Flag, bounded, receive, spawn};
use common::{Trace, manual, once};
use ecs::{
    AccessError, Claim, Component, Container, Context, Entity, Manager, Matches, Own,
    OwnedContainer, ResMut, StopOutcome, Value, Workers, json, parallel, system,
};

struct P(i64);
struct Q(i64);

impl Component for P {
    fn type_name() -> &'static str {
        "P"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

impl Component for Q {
    fn type_name() -> &'static str {
        "Q"
    }

    fn export(&self) -> Value {
        json!(self.0)
    }
}

fn with_workers(workers: &Workers) -> OwnedContainer {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.set_workers(workers);
    claim.context().set_worth_waking(Duration::ZERO);
    drop(claim);
    owned
}

fn counter(count: &Arc<AtomicUsize>) -> impl FnMut() + Send + 'static {
    let count = Arc::clone(count);
    move || {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn any_number_of_workers_runs_any_number_of_systems() {
    for workers in [0, 1, 2, 64] {
        let workers = Workers::new(workers).unwrap();
        for systems in [0, 1, 2, 3, 40] {
            let owned = with_workers(&workers);
            let count = Arc::default();
            let mut claim = owned.claim().unwrap();
            for n in 0..systems {
                let new = parallel(format!("s{n}"), counter(&count));
                claim.add_system(new.every_pass()).unwrap();
            }
            for _ in 0..20 {
                claim.update().unwrap();
            }
            // spec: PAR-11
            assert_eq!(count.load(Ordering::Relaxed), 20 * systems, "{workers:?}");
        }
    }
    // One core runs the pass.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(Workers::for_this_machine().unwrap().count() + 1, cores);
}

#[test]
fn containers_share_workers_from_several_threads() {
    let workers = Workers::new(2).unwrap();
    let running: Vec<_> = (0..4)
        .map(|_| {
            let workers = workers.clone();
            spawn(move || {
                let owned = with_workers(&workers);
                let count = Arc::default();
                for n in 0..6 {
                    let new = parallel(format!("s{n}"), counter(&count));
                    owned.claim().unwrap().add_system(new.every_pass()).unwrap();
                }
                for pass in 1..=200 {
                    owned.update().unwrap();
                    assert_eq!(count.load(Ordering::Relaxed), 6 * pass);
                }
            })
        })
        .collect();
    drop(workers);
    for thread in running {
        // spec: PAR-11
        thread.join("a container with shared workers");
    }
}

#[test]
fn nested_loops_and_nested_passes_in_more_systems_than_workers_end() {
    for workers in [1, 2] {
        bounded("the nested passes", move || {
            let workers = Workers::new(workers).unwrap();
            let owned = with_workers(&workers);
            let mut claim = owned.claim().unwrap();
            for n in 0..100 {
                claim.world().spawn(P(n));
            }
            let count = Arc::default();
            for n in 0..6 {
                // A container that shares the workers, run by a system that may be on one of them.
                let inner = with_workers(&workers);
                for s in 0..3 {
                    let new = parallel(format!("s{s}"), counter(&count));
                    inner.claim().unwrap().add_system(new.every_pass()).unwrap();
                }
                let sum = Arc::new(AtomicUsize::new(0));
                let nested = parallel(format!("nested{n}"), move |mut all: Matches<'_, &P>| {
                    inner.update().unwrap();
                    sum.store(0, Ordering::Relaxed);
                    std::thread::scope(|scope| {
                        for batch in all.iter().batches(7) {
                            let sum = &sum;
                            scope.spawn(move || {
                                for p in batch {
                                    sum.fetch_add(usize::try_from(p.0).unwrap(), Ordering::Relaxed);
                                }
                            });
                        }
                    });
                    assert_eq!(sum.load(Ordering::Relaxed), 4950);
                });
                claim.add_system(nested.every_pass()).unwrap();
            }
            for _ in 0..20 {
                claim.update().unwrap();
            }
            // spec: PAR-11
            assert_eq!(count.load(Ordering::Relaxed), 20 * 6 * 3);
        });
    }
}

/// Two threads at least, or the pass would not end.
fn add_pair(claim: &mut Claim) {
    let together = Arc::new(Barrier::new(2));
    for n in 0..2 {
        let together = Arc::clone(&together);
        let new = parallel(format!("pair{n}"), move || {
            together.wait();
        });
        claim.add_system(new.every_pass()).unwrap();
    }
}

#[test]
fn workers_may_be_dropped_and_replaced_anywhere() {
    bounded("the workers to end", || {
        let workers = Workers::new(1).unwrap();
        let owned = with_workers(&workers);
        let mut claim = owned.claim().unwrap();
        add_pair(&mut claim);
        // Takes the workers away in mid-pass, and gives others in the next one.
        let count = Arc::default();
        let between = system("between", |cx: &mut Context<'_>| {
            if cx.this.updates() == 2 {
                cx.set_workers(None);
            }
            if cx.this.updates() == 3 {
                cx.set_workers(&Workers::new(5)?);
            }
            Ok(())
        });
        claim.add_system(between.every_pass()).unwrap();
        for n in 0..3 {
            let new = parallel(format!("after{n}"), counter(&count));
            claim.add_system(new.every_pass()).unwrap();
        }
        // The last clone but the container's goes on some thread of the level.
        let kept = Mutex::new(Some(workers));
        let other = Mutex::new(Some(Workers::new(2).unwrap()));
        for name in ["dropper", "bystander"] {
            let (kept, other) = if name == "dropper" {
                (kept.lock().unwrap().take(), other.lock().unwrap().take())
            } else {
                (None, None)
            };
            let mut kept = (kept, other);
            let dropper = parallel(name, move || drop(std::mem::take(&mut kept)));
            claim.add_system(dropper.every_pass()).unwrap();
        }
        claim.update().unwrap();
        claim.update().unwrap();
        // Nobody is left to meet.
        for name in ["pair0", "pair1"] {
            claim.remove_system(name);
        }
        claim.update().unwrap();
        add_pair(&mut claim);
        claim.update().unwrap();
        // spec: PAR-11
        assert_eq!(count.load(Ordering::Relaxed), 12);
    });
}

#[test]
fn a_container_moves_between_threads() {
    let workers = Workers::new(1).unwrap();
    let mut owned = with_workers(&workers);
    add_pair(&mut owned.claim().unwrap());
    let count = Arc::default();
    let new = parallel("counter", counter(&count));
    owned.claim().unwrap().add_system(new.every_pass()).unwrap();
    for _ in 0..5 {
        owned = spawn(move || {
            owned.update().unwrap();
            owned
        })
        .join("the pass");
        owned.update().unwrap();
        let mut claim = owned.claim().unwrap();
        claim.update().unwrap();
        spawn(move || claim.update().unwrap()).join("the claim");
    }
    // Dropped elsewhere.
    spawn(move || drop(owned)).join("the drop");
    assert_eq!(count.load(Ordering::Relaxed), 20);
}

#[test]
fn a_system_on_a_worker_is_told_what_one_on_the_pass_thread_is() {
    for workers in [0, 3] {
        let workers = Workers::new(workers).unwrap();
        let owned = with_workers(&workers);
        let count: Arc<AtomicUsize> = Arc::default();
        for n in 0..6 {
            let container = owned.clone();
            let count = Arc::clone(&count);
            let meddler = parallel(format!("s{n}"), move |this: Own<'_>| {
                // It never waits, and never gets in.
                let claimed: Result<_, AccessError> = container.claim();
                assert!(claimed.is_err() && container.update().is_err());
                assert!(container.start().is_err());
                assert_eq!(this.updates(), 1);
                container.defer(|_| Ok(()));
                container.set_silent();
                assert!(container.mailbox(this.handle()).is_some());
                assert!(container.running_system().is_some());
                count.fetch_add(1, Ordering::Relaxed);
            });
            owned
                .claim()
                .unwrap()
                .add_system(meddler.every_pass())
                .unwrap();
        }
        owned.update().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 6);
    }
}

#[test]
fn systems_come_go_and_are_replaced_around_a_level_in_mid_pass() {
    for workers in [0, 2] {
        let owned = with_workers(&Workers::new(workers).unwrap());
        let mut claim = owned.claim().unwrap();
        claim.world().spawn((P(0), Q(0)));
        claim.world().insert_resource(Vec::<&'static str>::new());
        let note = |name: &'static str| {
            parallel(name, move |mut trace: ResMut<'_, Vec<&'static str>>| {
                trace.push(name);
            })
            .every_pass()
        };
        claim.add_system(note("a")).unwrap();
        let changer = system(
            "changer",
            once(move |cx| {
                assert!(cx.remove_system("c"));
                cx.add_system(note("late"))?;
                cx.add_system(
                    parallel("d", |mut trace: ResMut<'_, Vec<&'static str>>| {
                        trace.push("new d");
                    })
                    .every_pass(),
                )?;
                assert!(cx.remove_system("a"));
                // A replacement of one that is not a typed system, and the other way round.
                cx.add_system(note("e"))?;
                cx.add_system(
                    system("f", |cx| {
                        cx.world
                            .resource_mut::<Vec<&'static str>>()
                            .unwrap()
                            .push("new f");
                        Ok(())
                    })
                    .every_pass(),
                )?;
                Ok(())
            }),
        );
        claim.add_system(changer.every_pass()).unwrap();
        for name in ["b", "c", "d"] {
            claim.add_system(note(name)).unwrap();
        }
        claim
            .add_system(system("e", |_| panic!("it was replaced")).every_pass())
            .unwrap();
        claim.add_system(note("f")).unwrap();
        claim.add_system(note("g")).unwrap();
        for expected in [
            // What is registered in a pass is updated from the next one on.
            "a b g",
            "b new d e new f g late",
            "b new d e new f g late",
        ] {
            claim.update().unwrap();
            let seen = claim.world().resource_mut::<Vec<&'static str>>().unwrap();
            assert_eq!(std::mem::take(seen).join(" "), expected, "{workers}");
        }
    }
}

#[test]
fn a_world_taken_away_in_mid_pass_is_left_behind() {
    for workers in [0, 2] {
        let owned = with_workers(&Workers::new(workers).unwrap());
        let mut claim = owned.claim().unwrap();
        let made: Arc<Mutex<Vec<Entity>>> = Arc::default();
        claim.world().spawn(P(1));
        let trace = Trace::default();
        for name in ["before", "after"] {
            let trace = trace.clone();
            let made = Arc::clone(&made);
            let seer = parallel(
                name,
                move |mut all: Matches<'_, (&mut P, Option<&Q>)>,
                      mut commands: ecs::Commands<'_>| {
                    let mut seen = 0;
                    all.for_each(|(p, q)| {
                        p.0 += 1;
                        seen += p.0 * 10 + q.map_or(0, |q| q.0);
                    });
                    trace.add(format!("{name} {seen}"));
                    made.lock().unwrap().push(commands.spawn(Q(0)));
                },
            );
            claim.add_system(seer.every_pass()).unwrap();
            if name == "before" {
                let taker = once(|cx: &mut Context<'_>| {
                    let mut old = std::mem::take(cx.world);
                    // What was queued for it went with it.
                    old.apply_commands()?;
                    assert_eq!(old.query::<&Q>().count(), 1);
                    cx.world.spawn(Q(3));
                    cx.world.spawn((Q(4), P(100)));
                    Ok(())
                });
                claim
                    .add_system(system("taker", taker).every_pass())
                    .unwrap();
            }
        }
        claim.update().unwrap();
        assert_eq!(trace.line(), "before 20 after 1014");
        claim.update().unwrap();
        assert_eq!(trace.line(), "before 1024 after 1034");
        let made = made.lock().unwrap();
        let alive = |entity: &&Entity| claim.world().contains(**entity);
        let mut alive = alive;
        assert_eq!(made.iter().filter(|entity| alive(entity)).count(), 3);
        assert_eq!(claim.world().query::<&Q>().count(), 5);
    }
}

/// Stops a container when the thread ends that it was kept on.
struct StopsAtTheEnd(Container);

impl Drop for StopsAtTheEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

thread_local! {
    static KEPT: RefCell<Option<StopsAtTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn a_worker_that_stops_its_container_at_its_end_does_not_wait_for_itself() {
    bounded("the worker to end", || {
        let owned = with_workers(&Workers::new(1).unwrap());
        let mut claim = owned.claim().unwrap();
        let together = Arc::new(Barrier::new(2));
        for n in 0..2 {
            let (together, container) = (Arc::clone(&together), claim.container().clone());
            let keeper = parallel(format!("keeper{n}"), move || {
                together.wait();
                let thread = std::thread::current();
                if thread
                    .name()
                    .is_some_and(|name| name.starts_with("ecs-worker"))
                {
                    KEPT.set(Some(StopsAtTheEnd(container.clone())));
                }
            });
            claim.add_system(keeper.every_pass()).unwrap();
        }
        claim.update().unwrap();
        drop(claim);
        // The container has the last clone of the workers.
        // spec: PAR-11
        drop(owned);
    });
}

/// Looks, when the thread ends that it was kept on, whether somebody has gone on meanwhile.
struct Lingers {
    gone_on: Receiver<()>,
    saw: Sender<bool>,
}

impl Drop for Lingers {
    fn drop(&mut self) {
        let gone_on = self.gone_on.recv_timeout(Duration::from_millis(100));
        self.saw.send(gone_on.is_ok()).unwrap();
    }
}

thread_local! {
    static LINGERING: RefCell<Option<Lingers>> = const { RefCell::new(None) };
}

#[test]
fn whoever_drops_the_workers_goes_on_when_their_threads_have_ended() {
    let (go_on, gone_on) = channel();
    let (saw, seen) = channel();
    let lingers = Arc::new(Mutex::new(Some(Lingers { gone_on, saw })));
    let owned = with_workers(&Workers::new(1).unwrap());
    let together = Arc::new(Barrier::new(2));
    for n in 0..2 {
        let (together, lingers) = (Arc::clone(&together), Arc::clone(&lingers));
        let keeper = parallel(format!("keeper{n}"), move || {
            together.wait();
            let thread = std::thread::current();
            let name = thread.name();
            if name.is_some_and(|name| name.starts_with("ecs-worker")) {
                LINGERING.set(lingers.lock().unwrap().take());
            }
        });
        owned
            .claim()
            .unwrap()
            .add_system(keeper.every_pass())
            .unwrap();
    }
    bounded("the pass, and the workers to end", move || {
        owned.update().unwrap();
        drop(owned);
        let _ = go_on.send(());
    });
    // spec: PAR-11
    assert!(!receive(&seen, "the end of the worker's thread"));
}

#[test]
fn whatever_waits_elsewhere_does_not_wait_on_a_worker() {
    bounded("the calls of a system", || {
        let workers = Workers::new(1).unwrap();
        let manager = Manager::new();
        let main = manager.container("main").unwrap();
        main.set_silent();
        let mut claim = main.claim().unwrap();
        claim.set_workers(&workers);
        claim.context().set_worth_waking(Duration::ZERO);
        let called = Flag::default();
        for n in 0..2 {
            let (container, manager) = (main.clone(), manager.reference());
            let called = called.clone();
            let asking = parallel(format!("asking{n}"), move || {
                let thread = std::thread::current();
                let name = thread.name();
                if name.is_some_and(|name| name.starts_with("ecs-worker")) {
                    // spec: PAR-11
                    assert!(container.defer_ticket(|_| Ok(())).wait().is_err());
                    assert_eq!(container.stop(), StopOutcome::Requested);
                    assert_eq!(container.stop_within(Duration::MAX), StopOutcome::Requested);
                    manager.shutdown();
                    called.set();
                } else {
                    called.wait("the other one to have called");
                }
            });
            claim.add_system(asking.every_pass()).unwrap();
        }
        claim.update().unwrap();
        drop(claim);
        assert_eq!(main.stop(), StopOutcome::Complete);
    });
}

/// The names of the threads of this process, as the system shows them.
#[cfg(target_os = "linux")]
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| {
        let name = std::fs::read_to_string(task.unwrap().path().join("comm"));
        Some(name.ok()?.trim().to_owned())
    });
    names.collect()
}

#[test]
#[cfg(target_os = "linux")]
fn no_worker_survives_its_crew() {
    // More than anybody else here has.
    const MANY: usize = 99;
    let last = format!("ecs-worker-{MANY}");
    let workers = Workers::new(MANY).unwrap();
    let owned = with_workers(&workers);
    let together = Arc::new(Barrier::new(2));
    for n in 0..2 {
        let together = Arc::clone(&together);
        let new = parallel(format!("s{n}"), move || {
            together.wait();
        });
        owned.claim().unwrap().add_system(new.every_pass()).unwrap();
    }
    owned.update().unwrap();
    drop(workers);
    owned.update().unwrap();
    // A thread names itself when it begins, and leaves the list a moment after it was joined.
    common::wait::until("all threads to begin", || threads().contains(&last));
    drop(owned);
    // spec: PAR-11
    common::wait::until("the threads to be gone", || !threads().contains(&last));
}
