//! Who meets whom: an exclusive system that finds them through groups.

use std::collections::BTreeMap;

use ecs::{Context, Entity, Group, System, SystemResult, Value, With, json};

use crate::parts::{
    Cannon, Flight, HEIGHT, Hit, Invader, Landed, Missile, Position, Stone, Target,
};

/// The groups, with what is asked of their members.
struct Groups {
    missiles: Group<(Position, Flight), (Entity, &'static Position, &'static Flight)>,
    invaders: Group<(Position, Invader), (Entity, &'static Position, &'static Invader)>,
    stones: Group<(Position, Stone), (Entity, &'static Position, &'static Stone)>,
}

/// What became of the missiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) hits: u32,
    /// Shots that met a stone, and such that met nothing.
    pub(crate) stopped: u32,
    pub(crate) escaped: u32,
    /// Bombs, by where they came down.
    pub(crate) on_ground: u32,
    pub(crate) on_cannon: u32,
    pub(crate) on_stones: u32,
}

#[derive(Default)]
pub(crate) struct Collisions {
    groups: Option<Groups>,
    books: Books,
}

impl Collisions {
    pub(crate) fn books(&self) -> Books {
        self.books
    }
}

/// What stands in a cell.
#[derive(Clone, Copy)]
enum Obstacle {
    Invader(Entity, u32),
    Stone(Entity, u32),
    Cannon,
}

impl Obstacle {
    /// Nobody is hit by what their own side has sent.
    fn stops(self, missile: Missile) -> bool {
        match self {
            Self::Invader(..) => missile == Missile::Shot,
            Self::Cannon => missile == Missile::Bomb,
            Self::Stone(..) => true,
        }
    }
}

/// The three cells of something wide.
fn cells(at: Position) -> impl Iterator<Item = Position> {
    (at.x - 1..=at.x + 1).map(move |x| Position { x, y: at.y })
}

impl System for Collisions {
    fn initialize(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let world = &mut *cx.world;
        let missiles = world.register_group::<(Position, Flight)>("missiles")?;
        let invaders = world.register_group::<(Position, Invader)>("invaders")?;
        let stones = world.register_group::<(Position, Stone)>("stones")?;
        self.groups = Some(Groups {
            missiles: missiles.with_query(world)?,
            invaders: invaders.with_query(world)?,
            stones: stones.with_query(world)?,
        });
        Ok(())
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let groups = self.groups.as_mut().ok_or("it was not initialised")?;
        let mut obstacles = BTreeMap::new();
        for (entity, at, invader) in groups.invaders.iter(cx.world)? {
            obstacles.extend(cells(*at).map(|at| (at, Obstacle::Invader(entity, invader.points))));
        }
        for (entity, at, stone) in groups.stones.iter(cx.world)? {
            obstacles.insert(*at, Obstacle::Stone(entity, stone.0));
        }
        for at in cx.world.query_filtered::<&Position, With<Cannon>>() {
            obstacles.extend(cells(*at).map(|at| (at, Obstacle::Cannon)));
        }
        // In an order that does not come from who was spawned first.
        let missiles = groups.missiles.iter(cx.world)?;
        let mut missiles: Vec<_> = missiles
            .map(|(entity, at, flight)| (*at, flight.missile, flight.number, entity))
            .collect();
        missiles.sort_unstable();

        for (at, missile, _, entity) in missiles {
            // It has come from the cell before, where something may have gone that it would have met.
            let before = Position {
                y: at.y - missile.step(),
                ..at
            };
            let met = [before, at].into_iter().find_map(|at| {
                let obstacle = *obstacles.get(&at)?;
                obstacle.stops(missile).then_some((at, obstacle))
            });
            let outside = at.y < 0 || at.y >= HEIGHT - 1;
            let mut commands = cx.world.commands();
            match (missile, met) {
                (Missile::Shot, Some((_, Obstacle::Invader(invader, points)))) => {
                    self.books.hits += 1;
                    commands.despawn(invader);
                    obstacles.retain(|_, obstacle| !matches!(obstacle, Obstacle::Invader(other, _) if *other == invader));
                    cx.send_event(Hit { points });
                }
                (_, Some((at, Obstacle::Stone(stone, strength)))) => {
                    if strength > 1 {
                        commands.insert(stone, Stone(strength - 1));
                        obstacles.insert(at, Obstacle::Stone(stone, strength - 1));
                    } else {
                        commands.despawn(stone);
                        obstacles.remove(&at);
                    }
                    if missile == Missile::Shot {
                        self.books.stopped += 1;
                    } else {
                        self.books.on_stones += 1;
                        cx.send_event(Landed {
                            column: at.x,
                            on: Target::Stone,
                        });
                    }
                }
                (Missile::Bomb, Some((_, Obstacle::Cannon))) => {
                    self.books.on_cannon += 1;
                    cx.send_event(Landed {
                        column: at.x,
                        on: Target::Cannon,
                    });
                }
                (Missile::Shot, _) if outside => self.books.escaped += 1,
                (Missile::Bomb, _) if outside => {
                    self.books.on_ground += 1;
                    cx.send_event(Landed {
                        column: at.x,
                        on: Target::Ground,
                    });
                }
                _ => continue,
            }
            cx.world.commands().despawn(entity);
        }
        Ok(())
    }

    fn export(&self) -> Value {
        json!({ "Hits": self.books.hits, "Bombs on the ground": self.books.on_ground })
    }
}
