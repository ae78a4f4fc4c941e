//! What is kept of a planet's way for the drawing: its first orbit, in even pieces.

use serde::{Deserialize, Serialize};

use crate::vector::Vector;

/// A point is kept when the planet has gone on by this angle, in radians: two degrees.
const PIECE: f64 = 0.035;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Trail {
    /// Places relative to the Sun, in astronomical units, in the ecliptic.
    pub(crate) points: Vec<[f64; 2]>,
    /// The first orbit is complete and nothing is added any more.
    pub(crate) closed: bool,
}

impl Trail {
    /// A trail that starts at a place relative to the Sun.
    pub(crate) fn from_place(place: Vector) -> Self {
        Self {
            points: vec![[place.x, place.y]],
            closed: false,
        }
    }

    /// Takes note of where the planet is, relative to the Sun; `round` when it has completed an orbit.
    pub(crate) fn sample(&mut self, place: Vector, round: bool) {
        if self.closed {
            return;
        }
        let Vector { x, y, .. } = place;
        let gone_on = self.points.last().is_none_or(|[last_x, last_y]| {
            let cross = last_x * y - last_y * x;
            cross.atan2(last_x * x + last_y * y).abs() >= PIECE
        });
        if gone_on || round {
            self.points.push([x, y]);
        }
        self.closed = round;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_orbit_is_kept_in_even_pieces() {
        let mut trail = Trail::from_place(Vector::new(30.0, 0.0, 1.0));
        for step in 1..3000 {
            let (sin, cos) = (f64::from(step) * 0.001 * std::f64::consts::TAU).sin_cos();
            trail.sample(Vector::new(30.0 * cos, 30.0 * sin, 1.0), step >= 1000);
        }
        assert!(trail.closed);
        assert!(
            (160..=180).contains(&trail.points.len()),
            "{}",
            trail.points.len()
        );
        let ([x, y], [last_x, last_y]) = (trail.points[0], trail.points[trail.points.len() - 1]);
        assert!((x - last_x).hypot(y - last_y) < 1e-9);
    }
}
