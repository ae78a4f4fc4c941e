//! From the published orbital elements to positions and velocities at J2000.

use std::f64::consts::{PI, TAU};

use serde::Deserialize;

use crate::vector::Vector;

/// The elements of the eight planets, their source named in the file.
const PLANETS: &str = include_str!("planets.json");

#[derive(Debug, Deserialize)]
pub(crate) struct Catalogue {
    pub(crate) source: String,
    pub(crate) epoch: String,
    pub(crate) gm_sun_au3_per_day2: f64,
    pub(crate) planets: Vec<Planet>,
}

/// One planet's Keplerian elements: lengths in au, angles in degrees, times in days.
#[derive(Debug, Deserialize)]
pub(crate) struct Planet {
    pub(crate) name: String,
    a: f64,
    e: f64,
    i: f64,
    #[serde(rename = "L")]
    mean_longitude: f64,
    long_peri: f64,
    long_node: f64,
    sun_mass_ratio: f64,
    pub(crate) sidereal_period: f64,
}

/// A body at J2000. `gm` is its mass times the constant of gravitation, in au³ per day².
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) position: Vector,
    pub(crate) velocity: Vector,
    pub(crate) gm: f64,
}

impl Catalogue {
    pub(crate) fn load() -> Result<Self, serde_json::Error> {
        serde_json::from_str(PLANETS)
    }

    /// The Sun and its planets at the epoch, about their common centre of mass, which is at rest.
    pub(crate) fn bodies(&self) -> Vec<Body> {
        let gm_sun = self.gm_sun_au3_per_day2;
        let sun = Body {
            name: "Sun".into(),
            position: Vector::ZERO,
            velocity: Vector::ZERO,
            gm: gm_sun,
        };
        let planets = self.planets.iter().map(|planet| planet.at_epoch(gm_sun));
        let mut bodies: Vec<Body> = std::iter::once(sun).chain(planets).collect();

        let (mut mass, mut place, mut drift) = (0.0, Vector::ZERO, Vector::ZERO);
        for body in &bodies {
            mass += body.gm;
            place += body.position * body.gm;
            drift += body.velocity * body.gm;
        }
        for body in &mut bodies {
            body.position -= place * mass.recip();
            body.velocity -= drift * mass.recip();
        }
        bodies
    }
}

impl Planet {
    /// Position and velocity relative to the Sun.
    fn at_epoch(&self, gm_sun: f64) -> Body {
        let gm = gm_sun / self.sun_mass_ratio;
        let anomaly = eccentric_anomaly(
            (self.mean_longitude - self.long_peri)
                .to_radians()
                .rem_euclid(TAU),
            self.e,
        );
        let (sin, cos) = anomaly.sin_cos();
        let minor = (1.0 - self.e * self.e).sqrt();
        let rate = ((gm_sun + gm) / self.a.powi(3)).sqrt() / (1.0 - self.e * cos);
        let in_plane = |x: f64, y: f64| self.to_ecliptic(x * self.a, y * self.a);
        Body {
            name: self.name.clone(),
            position: in_plane(cos - self.e, minor * sin),
            velocity: in_plane(-sin * rate, minor * cos * rate),
            gm,
        }
    }

    /// Turns a vector of the orbital plane (`x` to the perihelion) into the ecliptic frame.
    fn to_ecliptic(&self, x: f64, y: f64) -> Vector {
        let (sin_peri, cos_peri) = (self.long_peri - self.long_node).to_radians().sin_cos();
        let (sin_node, cos_node) = self.long_node.to_radians().sin_cos();
        let (sin_i, cos_i) = self.i.to_radians().sin_cos();
        // To the ascending node first, then by the inclination, then by the node's longitude.
        let (along, across) = (cos_peri * x - sin_peri * y, sin_peri * x + cos_peri * y);
        Vector::new(
            cos_node * along - sin_node * cos_i * across,
            sin_node * along + cos_node * cos_i * across,
            sin_i * across,
        )
    }
}

/// Solves Kepler's equation `M = E - e sin E` for `E`, by Newton's method from a start that converges for every
/// eccentricity below 1.
fn eccentric_anomaly(mean: f64, eccentricity: f64) -> f64 {
    let mut anomaly = if eccentricity < 0.8 { mean } else { PI };
    for _ in 0..50 {
        let error = anomaly - eccentricity * anomaly.sin() - mean;
        anomaly -= error / (1.0 - eccentricity * anomaly.cos());
        if error.abs() < 1e-14 {
            break;
        }
    }
    anomaly
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keplers_equation_is_solved() {
        for step in 0..360 {
            let mean = f64::from(step).to_radians();
            for eccentricity in [0.0, 0.0068, 0.2056, 0.7, 0.95] {
                let anomaly = eccentric_anomaly(mean, eccentricity);
                assert!((anomaly - eccentricity * anomaly.sin() - mean).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_state_has_the_orbits_energy_momentum_and_inclination() {
        let catalogue = Catalogue::load().unwrap();
        for planet in &catalogue.planets {
            let body = planet.at_epoch(catalogue.gm_sun_au3_per_day2);
            let gm = catalogue.gm_sun_au3_per_day2 + body.gm;
            let (place, speed) = (body.position, body.velocity);
            let energy = speed.dot(speed) / 2.0 - gm / place.length();
            assert!(
                (energy * -2.0 * planet.a / gm - 1.0).abs() < 1e-12,
                "{}",
                planet.name
            );

            let momentum = Vector::new(
                place.y * speed.z - place.z * speed.y,
                place.z * speed.x - place.x * speed.z,
                place.x * speed.y - place.y * speed.x,
            );
            let expected = (gm * planet.a * (1.0 - planet.e * planet.e)).sqrt();
            assert!(
                (momentum.length() / expected - 1.0).abs() < 1e-12,
                "{}",
                planet.name
            );
            let tilt = (momentum.z / momentum.length()).acos().to_degrees();
            assert!((tilt - planet.i.abs()).abs() < 1e-6, "{}", planet.name);
        }
    }

    #[test]
    fn earth_stands_where_it_stood() {
        // Two days before perihelion, near longitude 100 degrees, 0.9833 au from the Sun.
        let catalogue = Catalogue::load().unwrap();
        let earth = catalogue.planets[2].at_epoch(catalogue.gm_sun_au3_per_day2);
        assert!((earth.position.length() - 0.9833).abs() < 1e-4);
        assert!((earth.position.longitude().to_degrees() - 100.4).abs() < 0.1);
    }

    #[test]
    fn the_centre_of_mass_is_at_rest_in_the_origin() {
        let bodies = Catalogue::load().unwrap().bodies();
        assert_eq!(bodies.len(), 9);
        let sum = |of: fn(&Body) -> Vector| {
            bodies
                .iter()
                .fold(Vector::ZERO, |sum, body| sum + of(body) * body.gm)
        };
        assert!(sum(|body| body.position).length() < 1e-18);
        assert!(sum(|body| body.velocity).length() < 1e-18);
    }
}
