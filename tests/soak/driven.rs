//! A container that the program drives on a manual clock: everything is in the program's hands, so its accounts say
//! for each message what has to become of it.

use std::sync::Arc;
use std::time::Duration;

use ecs::prelude::*;
use ecs::{BoxError, Container, UpdateError};

use super::books::{Discards, FIRED, Given, LOGGED, Lane, Life, Read, fault};
use super::dice::Dice;
use super::parts::{ON_PURPOSE, Part, callback, fail, log, set_destination};
use super::planted;

const CONTAINER: &str = "driven";
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

struct Scene {
    lanes: Vec<Lane>,
    manager: ecs::ManagerRef,
}

impl Scene {
    fn send(&self, name: usize) {
        let submit = |message| self.manager.message_submit(message);
        self.lanes[name].send(CONTAINER, NAMES[name], submit);
    }
}

struct Worker {
    life: Life,
    name: usize,
    read: Read,
    scene: Arc<Scene>,
    dice: Dice,
}

impl Worker {
    fn add(cx: &mut Context<'_>, scene: &Arc<Scene>, name: usize, dice: &mut Dice) -> SystemResult {
        let worker = Self {
            life: Life::new(),
            name,
            read: Read::default(),
            scene: Arc::clone(scene),
            dice: dice.fork(),
        };
        let interval = Duration::from_millis(dice.below(4));
        let tick = callback(|worker: &mut Self| {
            FIRED.add(1);
            if worker.dice.one_in(200) {
                return fail(&mut worker.dice);
            }
            Ok(())
        });
        let worker = worker.named(NAMES[name]).interval(interval);
        cx.add_system(worker.timer_every("tick", Duration::from_millis(3), tick))?;
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>, most: u64) {
        for _ in 0..most {
            let Some(message) = cx.this.next_message() else {
                break;
            };
            if !planted("loss") {
                self.scene.lanes[Lane::number(&message)].receive(&message, &mut self.read);
            }
        }
    }
}

impl System for Worker {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.initialize();
        if self.dice.one_in(30) {
            return fail(&mut self.dice);
        }
        Ok(())
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.life.update();
        let most = self.dice.below(8);
        self.receive(cx, most);
        if self.dice.one_in(3) {
            let name = self.dice.index(NAMES.len());
            self.scene.send(name);
        }
        if self.dice.one_in(10) {
            LOGGED.add(1);
            cx.this.log("~");
        }
        if self.dice.one_in(6) {
            act(cx, &Arc::clone(&self.scene), &mut self.dice)?;
        }
        if self.dice.one_in(100) {
            return fail(&mut self.dice);
        }
        Ok(())
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.life.shutdown();
        self.receive(cx, u64::MAX);
        if self.dice.one_in(10) {
            return fail(&mut self.dice);
        }
        Ok(())
    }

    fn export(&self) -> Value {
        json!(NAMES[self.name])
    }
}

fn is_started(cx: &Context<'_>, name: usize) -> Option<bool> {
    cx.system_info(NAMES[name]).map(|info| info.is_started())
}

/// Changes something, from wherever a context is at hand.
fn act(cx: &mut Context<'_>, scene: &Arc<Scene>, dice: &mut Dice) -> SystemResult {
    let name = dice.index(NAMES.len());
    match dice.below(10) {
        0 => {
            match is_started(cx, name) {
                Some(true) => scene.lanes[name].owe(),
                Some(false) => scene.lanes[name].foresee(),
                None => {}
            }
            cx.remove_system(NAMES[name]);
        }
        1..=3 => {
            if is_started(cx, name).is_some() {
                scene.lanes[name].foresee();
            }
            Worker::add(cx, scene, name, dice)?;
        }
        4 => {
            let mut dice = dice.fork();
            let entities: Vec<Entity> = cx.world.entities().map(|it| it.id()).collect();
            for entity in entities {
                match dice.below(4) {
                    0 => _ = cx.world.despawn(entity),
                    1 => cx.world.insert(entity, Part::<true>::new(1))?,
                    2 => _ = cx.world.remove::<Part<false>>(entity),
                    _ => _ = cx.world.remove::<Part<true>>(entity),
                }
            }
        }
        5 => {
            let container = cx.container();
            defer(&container, scene, dice);
        }
        _ => {
            for number in 0..dice.below(20) {
                cx.world
                    .spawn((Part::<false>::new(number), Part::<true>::new(number)));
            }
            if planted("drop") {
                std::mem::forget(Part::<false>::new(0));
            }
        }
    }
    Ok(())
}

fn defer(container: &Container, scene: &Arc<Scene>, dice: &mut Dice) {
    let mut given = Given::to(container);
    let (scene, mut dice) = (Arc::clone(scene), dice.fork());
    container.defer(move |cx| {
        given.run();
        act(cx, &scene, &mut dice)?;
        if dice.one_in(20) {
            return fail(&mut dice);
        }
        Ok(())
    });
}

/// One container's whole life.
pub(crate) fn run(dice: &mut Dice) -> Result<(), BoxError> {
    let manager = Manager::new();
    let container = manager.container(CONTAINER)?;
    set_destination(&container);
    let clock = ManualClock::new();
    container.claim()?.set_clock(&clock)?;
    let lanes = (0..NAMES.len()).map(Lane::new).collect();
    let scene = Arc::new(Scene {
        lanes,
        manager: manager.reference(),
    });
    for _ in 0..dice.below(600) {
        match dice.below(12) {
            0 => act(&mut container.claim()?.context(), &scene, dice)?,
            1 => defer(&container, &scene, dice),
            2 if dice.one_in(4) => set_destination(&container),
            2 => log(&container),
            3 if dice.one_in(8) => drop(container.claim()?.export()),
            3..=6 => scene.send(dice.index(NAMES.len())),
            _ => {
                clock.advance(Duration::from_millis(dice.below(6)))?;
                passed(container.update());
            }
        }
    }
    // What has not been started is not shut down, and reads nothing.
    let mut claim = container.claim()?;
    let cx = claim.context();
    for (name, lane) in scene.lanes.iter().enumerate() {
        if is_started(&cx, name) == Some(false) {
            lane.foresee();
        }
    }
    drop(claim);
    match dice.below(3) {
        0 => drop(manager),
        1 => {
            container.stop();
            drop(manager);
        }
        _ => {
            // The drop of a claim carries a stop out.
            let claim = container.claim()?;
            container.request_stop();
            drop(claim);
            passed(container.update());
        }
    }
    for lane in &scene.lanes {
        lane.close(Discards::Foreseen);
    }
    Ok(())
}

/// A pass may fail on purpose, and in no other way.
fn passed(outcome: Result<(), UpdateError>) {
    if let Err(error) = outcome
        && !error.to_string().contains(ON_PURPOSE)
    {
        fault(format!("a pass failed: {error}"));
    }
}
