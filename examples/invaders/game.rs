//! One game: a container, and the clock that drives it.

use std::sync::Arc;
use std::time::Duration;

use ecs::{
    BoxError, Claim, CommitPoint, Conflict, Context, ManualClock, OwnedContainer, Register,
    RunStatistics, SystemResult, Typed, Workers, World, parallel, system,
};

use crate::collisions::{Books, Collisions};
use crate::parts::{
    Aim, CANNON_ROW, Cannon, Dice, Flight, Ground, HEIGHT, Invader, March, Missile, Pose, Position,
    Score, Star, Stone, Verdict, WIDTH,
};
use crate::systems::{
    Bombardier, Screen, aim, animate, craters, draw, fly, march, scan, shoot, steer, tally,
    twinkle, wounds,
};

/// The time between two passes.
const TICK: Duration = Duration::from_millis(100);
/// A game that takes longer does not end at all.
const LONGEST: u32 = 10_000;
const ROWS: [u32; 5] = [30, 20, 20, 10, 10];
const COLUMNS: i32 = 11;
const LIVES: u32 = 3;
const STRENGTH: u32 = 2;

/// How a game is run. What comes of it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// On the calling thread alone.
    Alone,
    /// With so many worker threads.
    Workers(usize),
    /// With two workers, the systems in another order in each pass, one of those that are allowed.
    Shuffled(u64),
}

/// All that can be told of a game that has ended.
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    pub(crate) passes: u32,
    pub(crate) score: Score,
    pub(crate) books: Books,
    pub(crate) export: String,
    pub(crate) statistics: Vec<(Arc<str>, RunStatistics)>,
}

pub(crate) struct Game {
    owner: OwnedContainer,
    claim: Claim,
    clock: ManualClock,
    passes: u32,
}

impl Game {
    pub(crate) fn new(seed: u64, way: Way) -> Result<Self, BoxError> {
        let owner = OwnedContainer::new("invaders")?;
        let clock = ManualClock::new();
        let mut claim = owner.claim()?;
        claim.set_clock(&clock)?;
        fill(claim.world(), seed)?;
        add_systems(&mut claim, seed)?;
        let (workers, shuffle) = match way {
            Way::Alone => (0, None),
            Way::Workers(count) => (count, None),
            Way::Shuffled(seed) => (2, Some(seed)),
        };
        if workers > 0 {
            claim.set_workers(&Workers::new(workers)?);
        }
        let mut cx = claim.context();
        // Each of these systems takes a microsecond or two: else they would all be left on one thread.
        cx.set_worth_waking(Duration::ZERO);
        cx.set_shuffled(shuffle);
        cx.set_timed(true);
        Ok(Self {
            owner,
            claim,
            clock,
            passes: 0,
        })
    }

    /// One pass. Tells how the game ended, if it did; and the frame, if one is wanted.
    pub(crate) fn pass(
        &mut self,
        is_shown: bool,
    ) -> Result<(Option<Verdict>, Option<String>), BoxError> {
        self.clock.advance(TICK)?;
        let screen = self.claim.world().resource_mut::<Screen>();
        screen.ok_or("no screen")?.is_wanted = is_shown;
        self.claim.update()?;
        self.passes += 1;
        if self.passes > LONGEST {
            return Err("the game does not end".into());
        }
        let world = self.claim.world();
        let screen = world.resource::<Screen>().filter(|_| is_shown);
        let frame = screen.map(|screen| screen.frame.clone());
        Ok((world.resource::<Verdict>().copied(), frame))
    }

    /// One pass as a graph.
    pub(crate) fn graph(&mut self) -> String {
        self.claim.context().graph()
    }

    /// The systems that cannot overlap though nobody ordered them: theirs is the order of registration, but any other
    /// would do, which the shuffled game shows.
    pub(crate) fn conflicts(&mut self) -> Vec<Conflict> {
        self.claim.context().conflicts()
    }

    pub(crate) fn finish(mut self, verdict: Verdict) -> Result<Outcome, BoxError> {
        // The news of the last pass have not been read.
        self.claim.world().deliver_events();
        for reader in ["tally", "wounds", "craters"] {
            self.claim.update_system(reader)?;
        }
        let score = self.claim.world().resource().copied();
        let collisions = self.claim.system::<Collisions>("collide");
        let books = collisions.ok_or("no collisions")?.books();
        let score = score.ok_or("no score")?;
        self.check(verdict, score, books)?;
        Ok(Outcome {
            verdict,
            passes: self.passes,
            score,
            books,
            export: self.claim.export().to_string(),
            statistics: self.owner.run_statistics(),
        })
    }

    /// What was fired, dropped, hit and lost must come out even, however it was counted.
    fn check(&mut self, verdict: Verdict, score: Score, books: Books) -> Result<(), BoxError> {
        let bombardier = self.claim.system::<Typed<Bombardier>>("bombard");
        let dropped = bombardier.ok_or("no bombardier")?.system.dropped();
        let world = self.claim.world();
        let mut flying = |missile| {
            let flights = world.query::<&Flight>();
            flights.filter(|flight| flight.missile == missile).count()
        };
        let (shots, bombs) = (flying(Missile::Shot), flying(Missile::Bomb));
        let invaders: Vec<u32> = world.query::<&Invader>().map(|one| one.points).collect();
        let craters: u32 = world.query::<&Ground>().flat_map(|ground| &ground.0).sum();
        let stones: u32 = world.query::<&Stone>().map(|stone| stone.0).sum();
        let cannon = *world.prepare::<&Cannon>()?.single(world)?;
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let columns = COLUMNS.unsigned_abs();
        let all_points = columns * ROWS.iter().sum::<u32>();
        let accounts = [
            (
                "invaders",
                count(invaders.len()) + score.hits,
                columns * count(ROWS.len()),
            ),
            (
                "points",
                invaders.iter().sum::<u32>() + score.points,
                all_points,
            ),
            ("hits", books.hits, score.hits),
            (
                "shots",
                books.hits + books.stopped + books.escaped + count(shots),
                cannon.fired,
            ),
            (
                "bombs",
                books.on_ground + books.on_cannon + books.on_stones + count(bombs),
                dropped,
            ),
            ("craters", craters, books.on_ground),
            ("lives", cannon.lives, LIVES.saturating_sub(books.on_cannon)),
            (
                "stones",
                stones + books.stopped + books.on_stones,
                STRENGTH * count(stone_places().count()),
            ),
            (
                "cannon lost",
                u32::from(verdict == Verdict::CannonLost && cannon.lives > 0),
                0,
            ),
            (
                "earth saved",
                u32::from((verdict == Verdict::Saved) != invaders.is_empty()),
                0,
            ),
        ];
        for (what, one, other) in accounts {
            if one != other {
                return Err(format!("{what}: {one} is not {other}").into());
            }
        }
        Ok(())
    }
}

fn stone_places() -> impl Iterator<Item = (i32, i32)> {
    let rows = CANNON_ROW - 4..CANNON_ROW - 2;
    let shields = (0..4).map(|shield| 7 + 15 * shield);
    let across = shields.flat_map(|left| left..left + 6);
    rows.flat_map(move |y| across.clone().map(move |x| (x, y)))
}

/// Everything has a name, so that two games can be compared by their exports.
fn fill(world: &mut World, seed: u64) -> Result<(), BoxError> {
    world.insert_resource(Score::default());
    world.insert_resource(Screen::default());
    world.insert_resource(March {
        direction: 1,
        wait: 0,
        step: (0, 0),
    });
    world.insert_resource(Aim {
        step: 0,
        fire: false,
        dice: Dice::new(seed),
    });
    for (row, (y, &points)) in (1..).zip((2..).step_by(2).zip(&ROWS)) {
        for column in 0..COLUMNS {
            let invader = (
                Position {
                    x: 4 + 5 * column,
                    y,
                },
                Invader { points },
                Pose::default(),
            );
            world.spawn_named(&format!("invader {row}.{}", column + 1), invader)?;
        }
    }
    for (x, y) in stone_places() {
        world.spawn_named(
            &format!("stone {x}.{y}"),
            (Position { y, x }, Stone(STRENGTH)),
        )?;
    }
    let mut dice = Dice::new(seed ^ 0x57A2);
    let mut place = |sides: i32| i32::try_from(dice.roll(sides.unsigned_abs()));
    for star in 1..=20_u32 {
        let at = Position {
            x: place(WIDTH)?,
            y: place(HEIGHT - 6)?,
        };
        let phase = star % 10;
        world.spawn_named(&format!("star {star}"), (at, Star { phase }))?;
    }
    let cannon = Cannon {
        lives: LIVES,
        reload: 0,
        fired: 0,
    };
    world.spawn_named(
        "cannon",
        (
            Position {
                x: WIDTH / 2,
                y: CANNON_ROW,
            },
            cannon,
        ),
    )?;
    world.spawn_named("ground", Ground(vec![0; usize::try_from(WIDTH)?]))?;
    Ok(())
}

/// Who reads a thing before or after it moves says so; where two systems write the same kind of component, but never of
/// the same entities, their order is left open.
fn add_systems(claim: &mut Claim, seed: u64) -> Result<(), BoxError> {
    let bombard = Typed::new(Bombardier::new(Dice::new(seed ^ 0xB0_4B5)));
    claim.add_system(parallel("scan", scan).every_pass())?;
    claim.add_system(parallel("aim", aim).every_pass())?;
    claim.add_system(bombard.named("bombard").every_pass())?;
    claim.add_system(parallel("twinkle", twinkle).every_pass())?;
    let march = parallel("march", march).every_pass();
    claim.add_system(march.succeeds("scan").succeeds("aim").succeeds("bombard"))?;
    claim.add_system(parallel("animate", animate).every_pass().succeeds("scan"))?;
    claim.add_system(parallel("steer", steer).every_pass().succeeds("aim"))?;
    claim.add_system(parallel("fly", fly).every_pass().succeeds("aim"))?;
    claim.add_system(parallel("shoot", shoot).every_pass().succeeds("steer"))?;
    claim.add_system(CommitPoint.named("fired"))?;
    claim.add_system(Collisions::default().named("collide").every_pass())?;
    claim.add_system(CommitPoint.named("hit"))?;
    claim.add_system(parallel("tally", tally).every_pass())?;
    claim.add_system(parallel("wounds", wounds).every_pass())?;
    claim.add_system(parallel("craters", craters).every_pass())?;
    let draw = parallel("draw", draw).every_pass();
    claim.add_system(
        draw.succeeds("tally")
            .succeeds("wounds")
            .succeeds("craters"),
    )?;
    claim.add_system(system("referee", referee).every_pass())?;
    Ok(())
}

fn referee(cx: &mut Context<'_>) -> SystemResult {
    let lives = cx.world.get::<Cannon>("cannon").ok_or("no cannon")?.lives;
    let invaders = cx.world.query::<(&Position, &Invader)>();
    let verdict = match invaders.map(|(at, _)| at.y).max() {
        None => Verdict::Saved,
        Some(CANNON_ROW..) => Verdict::Landed,
        Some(_) if lives == 0 => Verdict::CannonLost,
        Some(_) => return Ok(()),
    };
    cx.world.insert_resource(verdict);
    Ok(())
}
