//! The systems: two kinds that move the bodies, one that watches them, and one that keeps the calendar.

use std::time::Duration;

use ecs::{
    Context, Entity, ManagerRef, Moment, Prepared, QueryError, System, SystemResult, World, json,
};
use serde::Deserialize;

use crate::{
    components::{Mass, Position, Velocity, Years},
    gravity::{Attractor, accelerate},
    revolution::Revolution,
    trail::Trail,
    vector::Vector,
};

pub(crate) const DAY: Duration = Duration::from_hours(24);

/// What a span of time is in days.
pub(crate) fn days(span: Duration) -> f64 {
    span.as_secs_f64() / DAY.as_secs_f64()
}

/// Lets every body go straight on for a share of the time that the pass covers.
pub(crate) struct Integrator {
    share: f64,
    bodies: Prepared<(&'static mut Position, &'static Velocity)>,
}

impl Integrator {
    pub(crate) fn new(share: f64, world: &mut World) -> Result<Self, QueryError> {
        let bodies = world.prepare()?;
        Ok(Self { share, bodies })
    }
}

impl System for Integrator {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let time = days(cx.this.elapsed()) * self.share;
        self.bodies
            .iter(cx.world)?
            .for_each(|(position, velocity)| position.0 += velocity.0 * time);
        Ok(())
    }
}

/// Lets the bodies pull on each other for a share of the time that the pass covers.
pub(crate) struct Gravity {
    share: f64,
    bodies: Prepared<(&'static Position, &'static Mass, &'static mut Velocity)>,
    attractors: Vec<Attractor>,
    accelerations: Vec<Vector>,
}

impl Gravity {
    pub(crate) fn new(share: f64, world: &mut World) -> Result<Self, QueryError> {
        Ok(Self {
            share,
            bodies: world.prepare()?,
            attractors: Vec::new(),
            accelerations: Vec::new(),
        })
    }
}

impl System for Gravity {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let time = days(cx.this.elapsed()) * self.share;
        self.attractors.clear();
        let bodies = self.bodies.iter(cx.world)?;
        self.attractors
            .extend(bodies.map(|(position, mass, _)| Attractor {
                position: position.0,
                gm: mass.0,
            }));
        accelerate(&self.attractors, &mut self.accelerations);

        // A query meets the same entities in the same order each time.
        let mut accelerations = self.accelerations.iter();
        for chunk in self.bodies.iter(cx.world)?.chunks() {
            for ((.., velocity), acceleration) in chunk.into_iter().zip(&mut accelerations) {
                velocity.0 += *acceleration * time;
            }
        }
        Ok(())
    }
}

/// Watches the planets from the Sun: tells the almanac of each completed orbit, and samples the tracks.
pub(crate) struct Observer {
    sun: Entity,
    planets: Prepared<(Entity, &'static Position, &'static mut Revolution)>,
    manager: ManagerRef,
    /// Messages sent.
    pub(crate) told: u64,
}

impl Observer {
    pub(crate) fn new(
        sun: Entity,
        manager: ManagerRef,
        world: &mut World,
    ) -> Result<Self, QueryError> {
        Ok(Self {
            sun,
            planets: world.prepare()?,
            manager,
            told: 0,
        })
    }

    fn sun(&self, world: &World) -> Result<Vector, &'static str> {
        let sun = world.get::<Position>(self.sun).ok_or("the Sun is gone")?;
        Ok(sun.0)
    }

    /// What the daily timer does.
    pub(crate) fn sample(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let sun = self.sun(cx.world)?;
        let planets = cx.world.query::<(&mut Trail, &Position, &Revolution)>();
        for (trail, position, revolution) in planets {
            trail.sample(position.0 - sun, revolution.orbits > 0);
        }
        Ok(())
    }
}

impl System for Observer {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let sun = self.sun(cx.world)?;
        let today = days(cx.this.now().since(Moment::ZERO));
        let step = days(cx.this.elapsed());
        let mut completed = Vec::new();
        for (planet, position, revolution) in self.planets.iter(cx.world)? {
            let longitude = (position.0 - sun).longitude();
            if let Some(day) = revolution.look(longitude, today, step) {
                completed.push((planet, revolution.orbits, day));
            }
        }
        for (planet, orbit, day) in completed {
            self.manager.message_submit(json!({
                "destination": { "container": "almanac", "system": "calendar" },
                "planet": cx.world.handle(planet).as_deref(),
                "orbit": orbit,
                "day": day,
            }))?;
            self.told += 1;
        }
        Ok(())
    }
}

/// Keeps the almanac: how often each planet came round, from the messages that arrive.
#[derive(Default)]
pub(crate) struct Calendar {
    /// Messages read.
    pub(crate) heard: u64,
}

/// What the observer tells.
#[derive(Deserialize)]
struct Completed {
    planet: String,
    orbit: u32,
    day: f64,
}

impl System for Calendar {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        while let Some(message) = cx.this.next_message() {
            let Completed { planet, orbit, day } = serde_json::from_value(message)?;
            let years = cx
                .world
                .get_mut::<Years>(&planet)
                .ok_or_else(|| format!("{planet} is not in the almanac"))?;
            if orbit != years.orbits + 1 {
                return Err(format!("orbit {orbit} of {planet} follows {}", years.orbits).into());
            }
            *years = Years {
                orbits: orbit,
                last_day: day,
            };
            self.heard += 1;
        }
        Ok(())
    }
}
