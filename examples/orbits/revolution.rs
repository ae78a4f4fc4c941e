//! Watching a planet go round: when did its longitude complete a turn?

use std::f64::consts::{PI, TAU};

use serde::{Deserialize, Serialize};

/// The turns of one planet, seen from the Sun, against the fixed stars.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Revolution {
    /// Longitude at the last look, in radians.
    pub(crate) longitude: f64,
    /// What has been turned of the present orbit, in radians.
    pub(crate) turned: f64,
    /// Completed orbits.
    pub(crate) orbits: u32,
}

impl Revolution {
    pub(crate) fn from_longitude(longitude: f64) -> Self {
        Self {
            longitude,
            turned: 0.0,
            orbits: 0,
        }
    }

    /// Looks again `step` days after the last look, on day `day`. When an orbit was completed in between, this is the
    /// day it happened, interpolated within the step. A step must be shorter than half an orbit.
    pub(crate) fn look(&mut self, longitude: f64, day: f64, step: f64) -> Option<f64> {
        let mut moved = longitude - self.longitude;
        if moved > PI {
            moved -= TAU;
        } else if moved < -PI {
            moved += TAU;
        }
        self.longitude = longitude;
        self.turned += moved;
        let beyond = self.turned - TAU;
        if beyond < 0.0 {
            return None;
        }
        self.turned = beyond;
        self.orbits += 1;
        Some(day - step * beyond / moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_orbit_of_a_circle_is_dated() {
        let period = 87.969;
        for start in [-3.1, 0.0, 2.5] {
            let longitude = |day: f64| {
                let turned = start + TAU * day / period;
                turned.sin().atan2(turned.cos())
            };
            let mut revolution = Revolution::from_longitude(longitude(0.0));
            let mut days = Vec::new();
            for step in 1..=4000 {
                let day = f64::from(step) * 0.25;
                days.extend(revolution.look(longitude(day), day, 0.25));
            }
            assert_eq!(days.len(), 11);
            assert_eq!(revolution.orbits, 11);
            for (orbit, day) in (1..).zip(&days) {
                assert!((day - period * f64::from(orbit)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn turning_back_completes_nothing() {
        let mut revolution = Revolution::from_longitude(0.1);
        for longitude in [-0.1, -3.0, 3.0, 0.2, -0.2] {
            assert_eq!(revolution.look(longitude, 1.0, 1.0), None);
        }
        assert_eq!(revolution.orbits, 0);
    }
}
