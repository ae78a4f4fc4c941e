//! Containers on threads of their own: they talk to each other, are talked to, changed, and ended in every way.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ecs::prelude::*;
use ecs::{BoxError, Container, ManagerRef, OwnedContainer, StopOutcome};

use super::books::{Discards, FIRED, Given, LOGGED, Lane, Life, Read, STARTS, check, fault};
use super::dice::Dice;
use super::parts::{ON_PURPOSE, Part, callback, fail, log, set_destination, until};

const NAMES: [&str; 3] = ["attic", "cellar", "yard"];
const GUEST: &str = "guest";
const SENDERS: usize = 2;

/// From each container to each: nobody leaves there. Then from each sender to the guest, who comes and goes.
fn talk(from: usize, to: usize) -> usize {
    from * NAMES.len() + to
}

const TALKS: usize = NAMES.len() * NAMES.len();

struct Scene {
    lanes: Vec<Lane>,
    manager: ManagerRef,
    /// How many messages each container has for each.
    each: u64,
}

/// Reads what comes; a player also sends.
struct Talker {
    life: Life,
    scene: Arc<Scene>,
    plays: Option<usize>,
    sent: u64,
    reads: [Read; TALKS + SENDERS],
}

impl Talker {
    fn new(scene: &Arc<Scene>, plays: Option<usize>) -> Self {
        Self {
            life: Life::new(),
            scene: Arc::clone(scene),
            plays,
            sent: 0,
            reads: [Read::default(); TALKS + SENDERS],
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>) {
        while let Some(message) = cx.this.next_message() {
            let number = Lane::number(&message);
            self.scene.lanes[number].receive(&message, &mut self.reads[number]);
        }
    }
}

impl System for Talker {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.initialize();
        Ok(())
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.life.update();
        self.receive(cx);
        let Some(from) = self.plays else {
            return Ok(());
        };
        for _ in 0..20 {
            if self.sent == self.scene.each {
                break;
            }
            self.sent += 1;
            for (to, container) in NAMES.iter().enumerate() {
                let submit = |message| self.scene.manager.message_submit(message);
                self.scene.lanes[talk(from, to)].send(container, "player", submit);
            }
        }
        if self.sent.is_multiple_of(7) {
            LOGGED.add(1);
            cx.log("~");
            cx.world.spawn(Part::<true>::new(self.sent));
        }
        Ok(())
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.life.shutdown();
        self.receive(cx);
        Ok(())
    }
}

/// Lets the guest come, go, or be replaced.
fn churn(container: &Container, scene: &Arc<Scene>, dice: &mut Dice) {
    let (mut given, scene, leaves) = (Given::to(container), Arc::clone(scene), dice.one_in(3));
    container.defer(move |cx| {
        given.run();
        if leaves {
            cx.remove_system(GUEST);
        } else {
            cx.add_system(Talker::new(&scene, None).named(GUEST).every_pass())?;
        }
        let entities: Vec<Entity> = cx.world.entities().map(|it| it.id()).collect();
        for entity in entities {
            cx.world.despawn(entity);
        }
        Ok(())
    });
}

/// Three containers of one manager that talk.
pub(crate) fn talk_and_end(dice: &mut Dice) -> Result<(), BoxError> {
    let manager = Manager::new();
    let scene = Arc::new(Scene {
        lanes: (0..TALKS + SENDERS).map(Lane::new).collect(),
        manager: manager.reference(),
        each: dice.below(300),
    });
    let mut containers = Vec::new();
    for (number, name) in NAMES.iter().enumerate() {
        let container = manager.container(*name)?;
        set_destination(&container);
        let player = Talker::new(&scene, Some(number)).named("player");
        container.claim()?.add_system(player.every_pass())?;
        containers.push(container);
    }
    for container in &containers {
        STARTS.add(1);
        container.start_with(Duration::from_micros(dice.below(3) * 50))?;
    }
    let first = containers[0].clone();
    let outside: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (scene, first) = (Arc::clone(&scene), first.clone());
            thread::spawn(move || {
                let lane = &scene.lanes[TALKS + sender];
                for n in 0..200 {
                    if !lane.send(NAMES[0], GUEST, |message| first.message_submit(message)) {
                        thread::yield_now();
                    }
                    if n % 16 == 0 {
                        log(&first);
                    }
                }
            })
        })
        .collect();
    for _ in 0..dice.below(60) {
        churn(&first, &scene, dice);
        let one = &containers[dice.index(NAMES.len())];
        set_destination(one);
        log(one);
        if dice.one_in(4) {
            let mut given = Given::to(one);
            let ticket = one.defer_ticket(move |_| {
                given.run();
                Ok(7)
            });
            check(ticket.wait() == Ok(7), "a ticket brings another value");
        }
    }
    let patient = dice.one_in(2);
    if patient {
        // Nobody who plays leaves before all is said: all of it has to arrive.
        until("all that the containers say to each other", || {
            let talks = &scene.lanes[..TALKS];
            talks.iter().all(|lane| lane.received() == scene.each)
        });
    }
    end(manager, &containers, dice)?;
    for sender in outside {
        sender.join().map_err(|_| "a sender panicked")?;
    }
    for (number, lane) in scene.lanes.iter().enumerate() {
        let kept = patient && number < TALKS;
        lane.close(if kept {
            Discards::Foreseen
        } else {
            Discards::Any
        });
    }
    Ok(())
}

/// Every way in which a manager and its containers can come to an end.
fn end(manager: Manager, containers: &[Container], dice: &mut Dice) -> Result<(), BoxError> {
    let one = &containers[dice.index(containers.len())];
    match dice.below(5) {
        0 => {
            let other = manager.reference();
            let other = thread::spawn(move || other.shutdown());
            manager.shutdown();
            other.join().map_err(|_| "a shutdown panicked")?;
        }
        1 => {
            let mut given = Given::to(one);
            one.defer(move |cx| {
                given.run();
                cx.manager().ok_or("no manager")?.shutdown();
                Ok(())
            });
            until("the shutdown from inside", || !manager.is_running());
            manager.shutdown();
        }
        2 => {
            let (mut given, mut dice) = (Given::to(one), dice.fork());
            one.defer(move |_| {
                given.run();
                fail(&mut dice)
            });
            until("the shutdown by a failure", || !manager.is_running());
            manager.shutdown();
            let failure = one.failure().map(|it| it.to_string()).unwrap_or_default();
            check(failure.contains(ON_PURPOSE), "a failure is not kept");
        }
        3 => {
            for container in containers {
                let outcome = container.stop();
                check(outcome == StopOutcome::Complete, "a stop is not complete");
            }
        }
        _ => {}
    }
    drop(manager);
    let gone = |container: &Container| container.state() == ecs::ContainerState::Gone;
    check(
        containers.iter().all(gone),
        "a container outlives its manager",
    );
    Ok(())
}

struct Restless {
    life: Life,
    ticks: u64,
    until: u64,
    dice: Dice,
}

impl Restless {
    fn tick(&mut self) {
        FIRED.add(1);
        self.ticks += 1;
    }
}

impl System for Restless {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.initialize();
        Ok(())
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.life.update();
        if self.ticks < self.until {
            return Ok(());
        }
        if self.dice.one_in(3) {
            return fail(&mut self.dice);
        }
        cx.container().request_stop();
        Ok(())
    }

    fn shutdown(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.shutdown();
        Ok(())
    }
}

/// One handle after the other container of the same: started, ended, made anew.
pub(crate) fn restarts(dice: &mut Dice) -> Result<(), BoxError> {
    for _ in 0..dice.below(8) {
        let container = OwnedContainer::new("phoenix")?;
        set_destination(&container);
        let mut claim = container.claim()?;
        for number in 0..dice.below(4) {
            let restless = Restless {
                life: Life::new(),
                ticks: 0,
                until: dice.below(20),
                dice: dice.fork(),
            };
            let restless = restless.named(format!("restless-{number}")).every_pass();
            let tick = callback(|restless: &mut Restless| {
                restless.tick();
                Ok(())
            });
            let length = Duration::from_micros(50);
            claim.add_system(restless.timer_every("tick", length, tick))?;
        }
        drop(claim);
        STARTS.add(1);
        container.start_with(Duration::from_micros(dice.below(100)))?;
        match dice.below(4) {
            0 => _ = container.stop_within(Duration::ZERO),
            1 => {
                let stopping: Vec<_> = (0..3)
                    .map(|_| {
                        let container = Container::clone(&container);
                        thread::spawn(move || container.stop())
                    })
                    .collect();
                for stop in stopping {
                    let outcome = stop.join().map_err(|_| "a stop panicked")?;
                    check(outcome == StopOutcome::Complete, "a stop is not complete");
                }
            }
            2 => {
                let refused = container.claim().is_err();
                let free = refused || container.is_stop_requested();
                check(free, "the container of a running thread is claimed");
            }
            _ => {}
        }
        let reference = Container::clone(&container);
        drop(container);
        if reference.state() != ecs::ContainerState::Gone {
            fault("a container outlives its owner");
        }
    }
    Ok(())
}
