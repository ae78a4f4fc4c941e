//! The force law, and what it conserves.

use crate::vector::Vector;

/// What pulls: where it is, and its mass times the constant of gravitation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attractor {
    pub(crate) position: Vector,
    pub(crate) gm: f64,
}

/// The acceleration of each body by all others, in the bodies' order. Each pair is looked at once; `accelerations`
/// keeps its memory.
pub(crate) fn accelerate(bodies: &[Attractor], accelerations: &mut Vec<Vector>) {
    accelerations.clear();
    accelerations.resize(bodies.len(), Vector::ZERO);
    for (index, one) in bodies.iter().enumerate() {
        let (before, from_one) = accelerations.split_at_mut(index + 1);
        let own = &mut before[index];
        for (other, acceleration) in bodies[index + 1..].iter().zip(from_one) {
            let apart = other.position - one.position;
            let square = apart.dot(apart);
            let pull = apart * (square * square.sqrt()).recip();
            *own += pull * other.gm;
            *acceleration -= pull * one.gm;
        }
    }
}

/// Kinetic and potential energy of the whole system, times the constant of gravitation.
pub(crate) fn energy(bodies: &[(Attractor, Vector)]) -> f64 {
    let mut sum = 0.0;
    for (index, (one, velocity)) in bodies.iter().enumerate() {
        sum += one.gm * velocity.dot(*velocity) / 2.0;
        for (other, _) in &bodies[index + 1..] {
            sum -= one.gm * other.gm / (other.position - one.position).length();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pull_has_its_counter_pull() {
        let bodies = [
            Attractor {
                position: Vector::new(0.0, 0.0, 0.0),
                gm: 3.0,
            },
            Attractor {
                position: Vector::new(2.0, 0.0, 0.0),
                gm: 1.0,
            },
            Attractor {
                position: Vector::new(0.0, -1.0, 0.5),
                gm: 0.25,
            },
        ];
        let mut accelerations = Vec::new();
        accelerate(&bodies, &mut accelerations);
        let total = bodies
            .iter()
            .zip(&accelerations)
            .fold(Vector::ZERO, |sum, (body, acceleration)| {
                sum + *acceleration * body.gm
            });
        assert!(total.length() < 1e-15);

        accelerate(&bodies[..2], &mut accelerations);
        assert_eq!(
            accelerations,
            [Vector::new(0.25, 0.0, 0.0), Vector::new(-0.75, 0.0, 0.0)]
        );
    }

    #[test]
    fn a_circular_orbit_has_half_its_potential_energy() {
        let bodies = [
            (
                Attractor {
                    position: Vector::ZERO,
                    gm: 1.0,
                },
                Vector::ZERO,
            ),
            (
                Attractor {
                    position: Vector::new(1.0, 0.0, 0.0),
                    gm: 1e-3,
                },
                Vector::new(0.0, 1.0, 0.0),
            ),
        ];
        assert!((energy(&bodies) + 0.5e-3).abs() < 1e-18);
    }
}
