//! The places of a container's code that a call can come from.

use std::sync::Mutex;
use std::time::Duration;

use ecs::{Component, Container, Context, StopOutcome, SystemResult, Timer, Value};

use super::common::wait::{PATIENCE, bounded};
use super::common::{Probe, Trace, ms, once};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Initialize,
    Update,
    Timer,
    Deferred,
    Shutdown,
    Destination,
    SystemDrop,
    ComponentDrop,
}

pub(crate) const PLACES: [Place; 8] = [
    Place::Initialize,
    Place::Update,
    Place::Timer,
    Place::Deferred,
    Place::Shutdown,
    Place::Destination,
    Place::SystemDrop,
    Place::ComponentDrop,
];

pub(crate) type Job = Box<dyn FnOnce() + Send + Sync>;

/// Does its job when it is dropped.
struct OnDrop(Option<Job>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(job) = self.0.take() {
            job();
        }
    }
}

impl Component for OnDrop {
    fn type_name() -> &'static str {
        "OnDrop"
    }
    fn export(&self) -> Value {
        Value::Null
    }
}

fn probe() -> Probe {
    Probe::new("caller", &Trace::default())
}

fn does(job: Job) -> impl FnMut(&mut Context<'_>) -> SystemResult + Send {
    once(move |_| {
        job();
        Ok(())
    })
}

/// Makes the container do a job once in this place, when it is [driven](drive).
pub(crate) fn install(place: Place, container: &Container, job: Job) {
    let mut claim = container.claim().unwrap();
    let registration = match place {
        Place::Initialize => probe().init(does(job)).reg(),
        Place::Update => probe().update(does(job)).reg(),
        Place::Timer => probe()
            .reg()
            .timer(Timer::once("t", Duration::ZERO, does(job))),
        Place::Shutdown => probe().shutdown(does(job)).reg(),
        Place::Deferred => {
            container.defer(does(job));
            probe().reg()
        }
        Place::Destination => {
            let job = Mutex::new(Some(job));
            container.set_logger(move |_, _| {
                let job = job.lock().unwrap().take();
                if let Some(job) = job {
                    job();
                }
            });
            let logs = |cx: &mut Context<'_>| {
                cx.log("a line");
                Ok(())
            };
            probe().update(once(logs)).reg()
        }
        Place::SystemDrop => {
            let held = OnDrop(Some(job));
            let victim = Probe::new("victim", &Trace::default()).update(move |_| {
                let _ = &held;
                Ok(())
            });
            claim.add_system(victim.reg()).unwrap();
            probe()
                .update(|cx| {
                    cx.remove_system("victim");
                    Ok(())
                })
                .reg()
        }
        Place::ComponentDrop => {
            claim
                .world()
                .spawn_named("victim", OnDrop(Some(job)))
                .unwrap();
            probe()
                .update(|cx| {
                    cx.world.despawn("victim");
                    Ok(())
                })
                .reg()
        }
    };
    claim.add_system(registration).unwrap();
}

/// Makes the container run, on its own thread or for one pass on one of the application's.
pub(crate) fn drive(place: Place, container: &Container, threaded: bool, what: &str) {
    if threaded {
        container.start_with(ms(1)).unwrap();
    } else {
        let driven = container.clone();
        bounded(&format!("a pass ({what})"), move || {
            driven.update().unwrap();
        });
    }
    if place == Place::Shutdown {
        if threaded {
            // The first pass: its systems have been started then.
            let pass = container.defer_ticket(|_| Ok(()));
            assert_eq!(pass.wait_for(PATIENCE), Ok(()), "{what}");
        }
        let driven = container.clone();
        let outcome = bounded(
            &format!("the stop whose shutdown makes the call ({what})"),
            move || driven.stop(),
        );
        assert_eq!(outcome, StopOutcome::Complete);
    }
}
