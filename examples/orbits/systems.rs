//! The systems: two that move the bodies, one that watches them, and one that keeps the calendar.

use std::time::Duration;

use ecs::{Context, Entity, ManagerRef, System, SystemResult, json};

use crate::{
    components::{Mass, Position, Velocity, Years},
    gravity::{Attractor, accelerate},
    revolution::Revolution,
    trail::Trail,
    vector::Vector,
};

pub(crate) const DAY: Duration = Duration::from_secs(86_400);
/// One pass.
pub(crate) const STEP: Duration = Duration::from_secs(6 * 3_600);
const STEP_DAYS: f64 = 0.25;

/// The shares of a step in which velocities change, after Yoshida: three leapfrog steps, the middle one backwards, whose
/// errors cancel up to the fourth order. In between, positions change by the mean of the two neighbours.
pub(crate) fn yoshida() -> [f64; 3] {
    let root = 2_f64.cbrt();
    let outer = (2.0 - root).recip();
    [outer, -root * outer, outer]
}

/// Lets every body go straight on for a while.
pub(crate) struct Drift {
    pub(crate) days: f64,
}

impl System for Drift {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        for (position, velocity) in cx.world.query::<(&mut Position, &Velocity)>() {
            position.0 += velocity.0 * self.days;
        }
        Ok(())
    }
}

/// Changes every body's velocity as the others pull on it for a while.
#[derive(Default)]
pub(crate) struct Gravity {
    pub(crate) days: f64,
    bodies: Vec<Attractor>,
    accelerations: Vec<Vector>,
}

impl System for Gravity {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.bodies.clear();
        for (position, mass) in cx.world.query::<(&Position, &Mass)>() {
            self.bodies.push(Attractor {
                position: position.0,
                gm: mass.0,
            });
        }
        accelerate(&self.bodies, &mut self.accelerations);
        // A query meets the entities in the same order each time.
        let velocities = cx.world.query::<(&mut Velocity, &Position, &Mass)>();
        for ((velocity, ..), acceleration) in velocities.zip(&self.accelerations) {
            velocity.0 += *acceleration * self.days;
        }
        Ok(())
    }
}

/// Watches the planets from the Sun: tells the almanac of each completed orbit, and samples the tracks.
pub(crate) struct Observer {
    manager: ManagerRef,
    sun: Entity,
    completed: Vec<(Entity, u32, f64)>,
    pub(crate) told: u64,
}

impl Observer {
    pub(crate) fn new(manager: ManagerRef, sun: Entity) -> Self {
        Self {
            manager,
            sun,
            completed: Vec::new(),
            told: 0,
        }
    }

    fn sun(&self, cx: &Context<'_>) -> Result<Vector, &'static str> {
        let sun = cx
            .world
            .get::<Position>(self.sun)
            .ok_or("the Sun is gone")?;
        Ok(sun.0)
    }

    /// Once a day.
    pub(crate) fn sample(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let sun = self.sun(cx)?;
        for (trail, position, revolution) in
            cx.world.query::<(&mut Trail, &Position, &Revolution)>()
        {
            trail.sample(position.0 - sun, revolution.orbits > 0);
        }
        Ok(())
    }
}

impl System for Observer {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let sun = self.sun(cx)?;
        let day = cx.this.now().as_micros() as f64 / DAY.as_micros() as f64;
        for (planet, position, revolution) in
            cx.world.query::<(Entity, &Position, &mut Revolution)>()
        {
            let longitude = (position.0 - sun).longitude();
            if let Some(day) = revolution.look(longitude, day, STEP_DAYS) {
                self.completed.push((planet, revolution.orbits, day));
            }
        }
        for (planet, orbit, day) in self.completed.drain(..) {
            self.manager.message_submit(json!({
                "destination": { "container": "almanac", "system": "almanac" },
                "planet": cx.world.handle(planet),
                "orbit": orbit,
                "day": day,
            }))?;
            self.told += 1;
        }
        Ok(())
    }
}

/// Keeps the calendar of all planets from the messages that arrive, on a thread of its own.
#[derive(Default)]
pub(crate) struct Almanac {
    pub(crate) heard: u64,
}

impl Almanac {
    fn read(&mut self, cx: &mut Context<'_>) -> SystemResult {
        while let Some(message) = cx.this.next_message() {
            let planet = message["planet"]
                .as_str()
                .ok_or("a message names no planet")?;
            let day = message["day"].as_f64().ok_or("a message names no day")?;
            let planet = cx.world.entity(planet)?;
            let orbits = cx
                .world
                .get::<Years>(planet)
                .map_or(0, |years| years.orbits)
                + 1;
            if message["orbit"] != orbits {
                return Err(format!("orbit {orbits} was expected: {message}").into());
            }
            cx.world.insert(
                planet,
                Years {
                    orbits,
                    last_day: day,
                },
            )?;
            self.heard += 1;
        }
        Ok(())
    }
}

impl System for Almanac {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.read(cx)
    }

    /// What arrived after the last pass is still to be read.
    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.read(cx)
    }
}
