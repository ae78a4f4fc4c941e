//! The two containers, and the clock that drives them.

use std::time::Duration;

use ecs::{BoxError, Container, Manager, ManualClock, Register, Value, World};

use crate::{
    components::{Mass, Position, Velocity, Years, registry},
    elements::{Body, Catalogue},
    gravity::{Attractor, energy},
    report::Row,
    revolution::Revolution,
    svg::Track,
    systems::{Calendar, DAY, Gravity, Integrator, Observer},
    trail::Trail,
};

/// The time that one pass covers.
const STEP: Duration = Duration::from_hours(6);

/// The time between two passes of an almanac that has a thread of its own.
const ALMANAC_INTERVAL: Duration = Duration::from_millis(5);

/// The shares of a step for which bodies move and then pull on each other, after Yoshida: three leapfrog steps, the
/// middle one backwards, so that their errors cancel up to the fourth order. The last share has no pull behind it.
fn yoshida() -> ([(f64, f64); 3], f64) {
    let root = 2_f64.cbrt();
    let outer = (2.0 - root).recip();
    let middle = -root * outer;
    let (end, between) = (outer / 2.0, outer.midpoint(middle));
    ([(end, outer), (between, middle), (between, outer)], end)
}

pub(crate) struct Simulation {
    /// It owns the containers.
    manager: Manager,
    clock: ManualClock,
    sky: Container,
    almanac: Container,
    /// Who runs the almanac's passes.
    almanac_by: Driver,
}

/// Who runs the passes of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// This program, one after each pass of the sky.
    Application,
    /// A thread of the container's own.
    Thread,
}

impl Simulation {
    /// The Sun and the planets at their epoch. An almanac with a thread of its own starts to run here.
    pub(crate) fn new(catalogue: &Catalogue, almanac_by: Driver) -> Result<Self, BoxError> {
        let manager = Manager::new();
        let clock = ManualClock::new();
        let sky = manager.container("sky")?;
        let almanac = manager.container("almanac")?;
        fill_sky(&sky, &clock, &catalogue.bodies())?;
        fill_almanac(&almanac, catalogue)?;
        if almanac_by == Driver::Thread {
            almanac.start_with(ALMANAC_INTERVAL)?;
        }
        Ok(Self {
            manager,
            clock,
            sky,
            almanac,
            almanac_by,
        })
    }

    /// Six hours pass.
    pub(crate) fn pass(&self) -> Result<(), BoxError> {
        self.clock.advance(STEP)?;
        self.sky.update()?;
        if self.almanac_by == Driver::Application {
            self.almanac.update()?;
        }
        Ok(())
    }

    /// Ends an almanac that has its own thread, after it has read all that was sent to it. Until then nobody else can
    /// look into it.
    pub(crate) fn finish(&self) -> Result<(), BoxError> {
        if self.almanac_by == Driver::Thread {
            // The function runs at the beginning of a pass, and no message is sent any more: the calendar reads the
            // last of them in that pass at the latest, and a pass that has begun is finished before the thread ends.
            let begun = self.almanac.defer_ticket(|_| Ok(())).wait();
            self.manager.shutdown();
            // Why the thread ended says more than that it did not get to the function.
            if let Some(failure) = self.almanac.failure() {
                return Err(failure.into());
            }
            begun?;
        }
        Ok(())
    }

    pub(crate) fn passes_in(years: u32) -> u32 {
        // A Julian year has 365 1/4 days.
        years * 1461
    }

    pub(crate) fn energy(&self) -> Result<f64, BoxError> {
        let mut sky = self.sky.claim()?;
        let bodies = sky.world().query::<(&Position, &Velocity, &Mass)>();
        let bodies: Vec<_> = bodies
            .map(|(position, velocity, mass)| {
                let (position, gm) = (position.0, mass.0);
                (Attractor { position, gm }, velocity.0)
            })
            .collect();
        Ok(energy(&bodies))
    }

    /// What the almanac has learned of each planet.
    pub(crate) fn rows(&self, catalogue: &Catalogue) -> Result<Vec<Row>, BoxError> {
        let mut almanac = self.almanac.claim()?;
        let world = almanac.world();
        let rows = catalogue.planets.iter().filter_map(|planet| {
            let years = world.get::<Years>(&planet.name)?;
            Some(Row {
                name: planet.name.clone(),
                orbits: years.orbits,
                last_day: years.last_day,
                published: planet.sidereal_period,
            })
        });
        Ok(rows.collect())
    }

    pub(crate) fn tracks(&self) -> Result<Vec<Track>, BoxError> {
        let mut sky = self.sky.claim()?;
        let world = sky.world();
        let sun = world.get::<Position>("Sun").ok_or("the Sun is gone")?.0;
        let tracks = world.entities().filter_map(|body| {
            let place = body.get::<Position>()?.0 - sun;
            Some(Track {
                name: body.handle().to_string(),
                points: body.get::<Trail>()?.points.clone(),
                place: [place.x, place.y],
            })
        });
        Ok(tracks.collect())
    }

    pub(crate) fn entities(&self) -> Result<usize, BoxError> {
        Ok(self.sky.claim()?.world().len() + self.almanac.claim()?.world().len())
    }

    /// How many messages were sent, and how many were read.
    pub(crate) fn messages(&self) -> Result<(u64, u64), BoxError> {
        let (mut sky, mut almanac) = (self.sky.claim()?, self.almanac.claim()?);
        let observer = sky.system::<Observer>("observer").ok_or("no observer")?;
        let calendar = almanac
            .system::<Calendar>("calendar")
            .ok_or("no calendar")?;
        Ok((observer.told, calendar.heard))
    }

    /// Both containers as JSON text.
    pub(crate) fn export(&self) -> Result<String, BoxError> {
        text(&[self.sky.claim()?.export(), self.almanac.claim()?.export()])
    }
}

/// The bodies, and the systems that move and watch them.
fn fill_sky(sky: &Container, clock: &ManualClock, bodies: &[Body]) -> Result<(), BoxError> {
    let manager = sky.manager().ok_or("the sky has no manager")?;
    let mut claim = sky.claim()?;
    claim.set_clock(clock)?;

    let world = claim.world();
    let (sun, planets) = bodies.split_first().ok_or("there are no bodies")?;
    let sun_entity = world.spawn_named(&sun.name, sun.components())?;
    for planet in planets {
        let place = planet.position - sun.position;
        let watched = (
            Revolution::from_longitude(place.longitude()),
            Trail::from_place(place),
        );
        world.spawn_named(&planet.name, (planet.components(), watched))?;
    }

    // Systems run in the order in which they are added.
    let (shares, last) = yoshida();
    for (number, (moved, pulled)) in (1..).zip(shares) {
        let integrator = Integrator::new(moved, claim.world())?;
        claim.add_system(
            integrator
                .named(format!("integrator {number}"))
                .interval(STEP),
        )?;
        let gravity = Gravity::new(pulled, claim.world())?;
        claim.add_system(gravity.named(format!("gravity {number}")).interval(STEP))?;
    }
    let integrator = Integrator::new(last, claim.world())?;
    claim.add_system(integrator.named("integrator 4").interval(STEP))?;
    let observer = Observer::new(sun_entity, manager, claim.world())?;
    claim.add_system(observer.named("observer").interval(STEP).timer_every(
        "tracks",
        DAY,
        Observer::sample,
    ))?;
    Ok(())
}

/// An entry for each planet, and the system that reads of their orbits.
fn fill_almanac(almanac: &Container, catalogue: &Catalogue) -> Result<(), BoxError> {
    let mut claim = almanac.claim()?;
    for planet in &catalogue.planets {
        claim.world().spawn_named(&planet.name, Years::default())?;
    }
    claim.add_system(Calendar::default().named("calendar").every_pass())?;
    Ok(())
}

impl Body {
    fn components(&self) -> (Position, Velocity, Mass) {
        (
            Position(self.position),
            Velocity(self.velocity),
            Mass(self.gm),
        )
    }
}

/// Exported containers as a text; its keys are sorted, so that the same worlds give the same text.
fn text(containers: &[Value]) -> Result<String, BoxError> {
    Ok(serde_json::to_string_pretty(containers)? + "\n")
}

/// Builds each container's world anew from an export, and exports those worlds.
pub(crate) fn rebuilt(export: &str) -> Result<String, BoxError> {
    let types = registry();
    let mut containers: Vec<Value> = serde_json::from_str(export)?;
    for container in &mut containers {
        let mut world = World::new();
        world.import(&types, container)?;
        container["Entities"] = world.export()["Entities"].take();
    }
    text(&containers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_add_up_to_a_step() {
        let (shares, last) = yoshida();
        let moved: f64 = shares.iter().map(|share| share.0).sum();
        let pulled: f64 = shares.iter().map(|share| share.1).sum();
        assert!((moved + last - 1.0).abs() < 1e-14);
        assert!((pulled - 1.0).abs() < 1e-14);
    }

    #[test]
    fn a_year_goes_by() {
        let catalogue = Catalogue::load().unwrap();
        let simulation = Simulation::new(&catalogue, Driver::Application).unwrap();
        let energy = simulation.energy().unwrap();
        for _ in 0..Simulation::passes_in(1) + 4 {
            simulation.pass().unwrap();
        }
        assert!((simulation.energy().unwrap() / energy - 1.0).abs() < 1e-10);

        let rows = simulation.rows(&catalogue).unwrap();
        let orbits: Vec<u32> = rows.iter().map(|row| row.orbits).collect();
        assert_eq!(orbits, [4, 1, 1, 0, 0, 0, 0, 0]);
        let (text, right) = crate::report::table(&rows, 366.25);
        assert!(right, "{text}");
        assert_eq!(simulation.messages().unwrap(), (6, 6));
        assert_eq!(simulation.entities().unwrap(), 17);
        assert_eq!(simulation.tracks().unwrap().len(), 8);
    }

    #[test]
    fn what_is_exported_can_be_built_anew() {
        let catalogue = Catalogue::load().unwrap();
        let simulation = Simulation::new(&catalogue, Driver::Application).unwrap();
        for _ in 0..400 {
            simulation.pass().unwrap();
        }
        let export = simulation.export().unwrap();
        assert_eq!(rebuilt(&export).unwrap(), export);
        assert!(rebuilt(&export.replace("\"Mass\"", "\"Mess\"")).is_err());
    }

    #[test]
    fn a_thread_for_the_almanac_changes_nothing() {
        let catalogue = Catalogue::load().unwrap();
        let run = |almanac_by| {
            let simulation = Simulation::new(&catalogue, almanac_by).unwrap();
            for _ in 0..Simulation::passes_in(2) {
                simulation.pass().unwrap();
            }
            simulation.finish().unwrap();
            let (told, heard) = simulation.messages().unwrap();
            assert_eq!(told, heard);
            simulation.export().unwrap()
        };
        assert_eq!(run(Driver::Thread), run(Driver::Application));
    }

    #[test]
    fn an_almanac_that_fails_says_why() {
        let catalogue = Catalogue::load().unwrap();
        let simulation = Simulation::new(&catalogue, Driver::Thread).unwrap();
        simulation.almanac.set_silent();
        simulation.almanac.defer(|_| Err("out of ink".into()));
        let error = simulation.finish().unwrap_err();
        assert!(error.to_string().contains("out of ink"), "{error}");
    }
}
