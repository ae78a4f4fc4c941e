//! The systems that say in types what they reach, so that they may run beside each other.

#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "a system is handed its parameters, as many as it asks for"
)]

use std::collections::BTreeMap;
use std::fmt::Write;

use ecs::{
    Commands, Events, Matches, ParallelSystem, Param, Res, ResMut, SystemResult, Value, With, json,
};

use crate::parts::{
    Aim, CANNON_ROW, Cannon, Dice, Flight, Ground, HEIGHT, Hit, Invader, Landed, March, Missile,
    Pose, Position, Score, Star, Stone, Target, WIDTH,
};

const RELOAD: u32 = 4;
/// How far above it the gunner looks for bombs.
const SIGHT: i32 = 7;

/// Decides on the step of the rows: the fewer invaders there are, the sooner. At the edge they come down and turn.
pub(crate) fn scan(
    mut invaders: Matches<'_, &Position, With<Invader>>,
    mut march: ResMut<'_, March>,
) {
    march.step = (0, 0);
    if march.wait > 0 {
        march.wait -= 1;
        return;
    }
    let (mut count, mut least, mut most) = (0, WIDTH, 0);
    invaders.for_each(|at| {
        count += 1;
        least = least.min(at.x);
        most = most.max(at.x);
    });
    march.wait = count / 9;
    let at_edge = match march.direction {
        1 => most + 2 >= WIDTH,
        _ => least - 2 < 0,
    };
    if at_edge {
        march.direction = -march.direction;
        march.step = (0, 1);
    } else {
        march.step = (march.direction, 0);
    }
}

/// The gunner: out of the way of bombs first, and then to below the invaders that have come lowest.
pub(crate) fn aim(
    mut cannons: Matches<'_, (&Position, &Cannon)>,
    mut invaders: Matches<'_, &Position, With<Invader>>,
    mut missiles: Matches<'_, (&Position, &Flight)>,
    mut aim: ResMut<'_, Aim>,
) -> SystemResult {
    let (&cannon, state) = cannons.single()?;
    let in_sight = cannon.y - SIGHT..=cannon.y;
    let bombs = missiles
        .iter()
        .filter(|(at, flight)| flight.missile == Missile::Bomb && in_sight.contains(&at.y));
    let bombs: Vec<Position> = bombs.map(|(at, _)| *at).collect();
    let key = |at: &&Position| (at.y, -(at.x - cannon.x).abs(), at.x);
    let target = invaders.iter().max_by_key(key).copied();
    let spread = i32::try_from(aim.dice.roll(7))? - 3;
    let goal = target.map_or(cannon.x, |target| target.x + spread);
    let steps = [0, -1, 1].into_iter();
    let steps = steps.filter(|step| (1..WIDTH - 1).contains(&(cannon.x + step)));
    let best = steps.min_by_key(|step| {
        let x = cannon.x + step;
        // A bomb is the worse the nearer it is, and the less there is to go to be out of its way.
        let dangers = bombs.iter().map(|bomb| {
            let to_go = (2 - (bomb.x - x).abs()).max(0);
            to_go * (SIGHT + bomb.y - cannon.y + 1)
        });
        let danger: i32 = dangers.sum();
        (danger, (goal - x).abs())
    });
    aim.step = best.unwrap_or(0);
    let in_reach = target.is_some_and(|target| (target.x - cannon.x).abs() < 6);
    aim.fire = state.reload == 0 && in_reach;
    Ok(())
}

/// Drops a bomb now and then, from the lowest invader of a column.
pub(crate) struct Bombardier {
    dice: Dice,
    dropped: u32,
}

impl Bombardier {
    pub(crate) fn new(dice: Dice) -> Self {
        Self { dice, dropped: 0 }
    }

    pub(crate) fn dropped(&self) -> u32 {
        self.dropped
    }
}

impl ParallelSystem for Bombardier {
    type Params = (
        Matches<'static, &'static Position, With<Invader>>,
        Commands<'static>,
    );

    fn update(
        &mut self,
        (mut invaders, mut commands): <Self::Params as Param>::Item<'_>,
    ) -> SystemResult {
        if self.dice.roll(5) > 0 {
            return Ok(());
        }
        let mut lowest = BTreeMap::new();
        invaders.for_each(|at| {
            let row = lowest.entry(at.x).or_insert(at.y);
            *row = at.y.max(*row);
        });
        let Ok(columns @ 1..) = u32::try_from(lowest.len()) else {
            return Ok(());
        };
        let chosen = self.dice.roll(columns) as usize;
        if let Some((x, y)) = lowest.into_iter().nth(chosen) {
            self.dropped += 1;
            let missile = Missile::Bomb;
            let number = self.dropped;
            let bomb = (Position { x, y: y + 1 }, Flight { missile, number });
            commands.spawn_named(format!("bomb {number}"), bomb);
        }
        Ok(())
    }

    fn export(&self) -> Value {
        json!({ "Dropped": self.dropped })
    }
}

pub(crate) fn twinkle(mut stars: Matches<'_, &mut Star>) {
    stars.for_each(|star| star.phase = star.phase.checked_sub(1).unwrap_or(9));
}

pub(crate) fn march(
    mut invaders: Matches<'_, &mut Position, With<Invader>>,
    march: Res<'_, March>,
) {
    let (across, down) = march.step;
    if (across, down) != (0, 0) {
        invaders.for_each(|at| {
            at.x += across;
            at.y += down;
        });
    }
}

pub(crate) fn animate(mut poses: Matches<'_, &mut Pose>, march: Res<'_, March>) {
    if march.step != (0, 0) {
        poses.for_each(|pose| pose.0 = !pose.0);
    }
}

pub(crate) fn steer(mut cannons: Matches<'_, &mut Position, With<Cannon>>, aim: Res<'_, Aim>) {
    cannons.for_each(|at| at.x += aim.step);
}

pub(crate) fn fly(mut missiles: Matches<'_, (&mut Position, &Flight)>) {
    missiles.for_each(|(at, flight)| at.y += flight.missile.step());
}

pub(crate) fn shoot(
    mut cannons: Matches<'_, (&Position, &mut Cannon)>,
    aim: Res<'_, Aim>,
    mut commands: Commands<'_>,
) -> SystemResult {
    let (at, cannon) = cannons.single()?;
    cannon.reload = cannon.reload.saturating_sub(1);
    if aim.fire {
        cannon.reload = RELOAD;
        cannon.fired += 1;
        let (missile, number) = (Missile::Shot, cannon.fired);
        let muzzle = Position {
            x: at.x,
            y: CANNON_ROW - 1,
        };
        commands.spawn_named(
            format!("shot {number}"),
            (muzzle, Flight { missile, number }),
        );
    }
    Ok(())
}

pub(crate) fn tally(mut hits: Events<'_, Hit>, mut score: ResMut<'_, Score>) {
    for hit in hits.read() {
        score.hits += 1;
        score.points += hit.points;
    }
}

pub(crate) fn wounds(mut bombs: Events<'_, Landed>, mut cannons: Matches<'_, &mut Cannon>) {
    let fallen = bombs.read().filter(|bomb| bomb.on == Target::Cannon);
    let count = fallen.map(|_| 1).sum();
    cannons.for_each(|cannon| cannon.lives = cannon.lives.saturating_sub(count));
}

pub(crate) fn craters(mut bombs: Events<'_, Landed>, mut grounds: Matches<'_, &mut Ground>) {
    for bomb in bombs.read().filter(|bomb| bomb.on == Target::Ground) {
        grounds.for_each(|ground| {
            let column = usize::try_from(bomb.column).ok();
            if let Some(depth) = column.and_then(|column| ground.0.get_mut(column)) {
                *depth += 1;
            }
        });
    }
}

/// The frame that is to be shown next; what is not wanted is not drawn.
#[derive(Default)]
pub(crate) struct Screen {
    pub(crate) is_wanted: bool,
    pub(crate) frame: String,
}

/// Draws a frame: what comes later covers what was there before.
pub(crate) fn draw(
    mut stars: Matches<'_, (&Position, &Star)>,
    mut stones: Matches<'_, (&Position, &Stone)>,
    mut missiles: Matches<'_, (&Position, &Flight)>,
    mut invaders: Matches<'_, (&Position, &Invader, &Pose)>,
    mut cannons: Matches<'_, (&Position, &Cannon)>,
    mut grounds: Matches<'_, &Ground>,
    score: Res<'_, Score>,
    mut screen: ResMut<'_, Screen>,
) -> SystemResult {
    if !screen.is_wanted {
        return Ok(());
    }
    let mut rows = vec![vec![' '; WIDTH as usize]; HEIGHT as usize];
    let mut put = |x: i32, y: i32, text: &str| {
        for (x, letter) in (x..).zip(text.chars()) {
            let row = usize::try_from(y).ok().and_then(|y| rows.get_mut(y));
            let place = row.and_then(|row| row.get_mut(usize::try_from(x).ok()?));
            if let Some(place) = place {
                *place = letter;
            }
        }
    };
    stars.for_each(|(at, star)| put(at.x, at.y, if star.phase == 0 { "+" } else { "." }));
    stones.for_each(|(at, stone)| put(at.x, at.y, if stone.0 > 1 { "#" } else { "%" }));
    missiles.for_each(|(at, flight)| {
        let picture = match flight.missile {
            Missile::Shot => "|",
            Missile::Bomb => "*",
        };
        put(at.x, at.y, picture);
    });
    invaders.for_each(|(at, invader, pose)| {
        let picture = match (invader.points, pose.0) {
            (30, false) => "/^\\",
            (30, true) => "\\^/",
            (20, false) => "{o}",
            (20, true) => "(o)",
            (_, false) => "<@>",
            (_, true) => ">@<",
        };
        put(at.x - 1, at.y, picture);
    });
    let (at, cannon) = cannons.single()?;
    put(at.x - 1, at.y, "/A\\");
    for (x, depth) in (0..).zip(&grounds.single()?.0) {
        let picture = match depth {
            0 => "=",
            1 => "-",
            2 => "_",
            _ => ".",
        };
        put(x, HEIGHT - 1, picture);
    }
    let frame = &mut screen.frame;
    frame.clear();
    for row in &rows {
        let line: String = row.iter().collect();
        writeln!(frame, "  {}", line.trim_end())?;
    }
    writeln!(
        frame,
        "  {} points, {} hits, {} shots, {} lives",
        score.points, score.hits, cannon.fired, cannon.lives
    )?;
    Ok(())
}
