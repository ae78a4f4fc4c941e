//! Where a drawing's labels go: near what they name, off the lines, never on each other.

/// A rectangle in the drawing; `top` is less than `bottom`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Box2 {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Box2 {
    pub(crate) fn around([x, y]: [f64; 2], half: f64) -> Self {
        Self {
            left: x - half,
            top: y - half,
            right: x + half,
            bottom: y + half,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn contains_box(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right >= other.right
            && self.bottom >= other.bottom
    }

    fn contains(&self, [x, y]: [f64; 2]) -> bool {
        self.left < x && x < self.right && self.top < y && y < self.bottom
    }
}

/// A letter's width at the label's size, on the safe side, and a line's height.
const LETTER: f64 = 8.6;
const LINE: f64 = 16.0;

/// The room that is left in a frame.
pub(crate) struct Labels {
    frame: Box2,
    /// What must not be written over.
    blocked: Vec<Box2>,
    /// What had better not be written over.
    line: Vec<[f64; 2]>,
}

impl Labels {
    pub(crate) fn new(frame: Box2) -> Self {
        Self {
            frame,
            blocked: Vec::new(),
            line: Vec::new(),
        }
    }

    pub(crate) fn block(&mut self, taken: Box2) {
        self.blocked.push(taken);
    }

    /// Notes a line, as points no farther apart than four.
    pub(crate) fn avoid_line(&mut self, [ax, ay]: [f64; 2], [bx, by]: [f64; 2]) {
        const APART: f64 = 4.0;
        let length = (bx - ax).hypot(by - ay);
        let mut gone = 0.0;
        while gone < length {
            let share = gone / length;
            self.line
                .push([ax + (bx - ax) * share, ay + (by - ay) * share]);
            gone += APART;
        }
        self.line.push([bx, by]);
    }

    /// Finds room for the name of a dot and takes it. Returns the start of the text's base line.
    pub(crate) fn place(&mut self, dot: [f64; 2], text: &str) -> [f64; 2] {
        const DOT: f64 = 5.0;
        let width: f64 = text.chars().map(|_| LETTER).sum();
        let mut best = (f64::INFINITY, Box2::around(dot, DOT));
        for distance in [3.0, 8.0, 14.0, 22.0, 32.0] {
            for step in 0..16_u32 {
                let (sin, cos) = (f64::from(step) * std::f64::consts::TAU / 16.0).sin_cos();
                // The text's own extent is added in the direction in which it is moved away.
                let x = dot[0] + cos * (DOT + distance + width / 2.0);
                let y = dot[1] + sin * (DOT + distance + LINE / 2.0);
                let room = Box2 {
                    left: x - width / 2.0,
                    top: y - LINE / 2.0,
                    right: x + width / 2.0,
                    bottom: y + LINE / 2.0,
                };
                let cost = self.cost(&room) + distance;
                if cost < best.0 {
                    best = (cost, room);
                }
            }
        }
        let room = best.1;
        self.blocked.push(room);
        [room.left + 2.0, room.bottom - 4.0]
    }

    fn cost(&self, room: &Box2) -> f64 {
        let each = |count: bool, cost: f64| if count { cost } else { 0.0 };
        let overlaps = self
            .blocked
            .iter()
            .map(|taken| each(taken.overlaps(room), 1e4));
        let touched = self
            .line
            .iter()
            .map(|point| each(room.contains(*point), 10.0));
        each(!self.frame.contains_box(room), 1e6) + overlaps.chain(touched).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_crowded_dots_do_not_overlap() {
        let frame = Box2 {
            left: 0.0,
            top: 0.0,
            right: 300.0,
            bottom: 300.0,
        };
        let mut labels = Labels::new(frame);
        for dot in 0..4 {
            labels.place([150.0 + f64::from(dot) * 4.0, 150.0], "Mercury");
        }
        for (index, one) in labels.blocked.iter().enumerate() {
            assert!(frame.contains_box(one));
            assert!(
                labels.blocked[index + 1..]
                    .iter()
                    .all(|other| !other.overlaps(one))
            );
        }
    }

    #[test]
    fn a_label_leaves_the_line_free() {
        let mut labels = Labels::new(Box2 {
            left: 0.0,
            top: 0.0,
            right: 200.0,
            bottom: 200.0,
        });
        labels.avoid_line([0.0, 100.0], [200.0, 100.0]);
        labels.place([100.0, 100.0], "Mars");
        assert!(
            labels
                .line
                .iter()
                .all(|point| !labels.blocked[0].contains(*point))
        );
    }
}
