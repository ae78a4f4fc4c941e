//! A world, and what happens in it between runs.

use std::mem;

use ecs::{Entity, Named, World};

use super::Random;
use super::parts::{A, Aligned, B, Cell, D, E, KINDS, Model, NE, Row, S, Z};

pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) model: Model,
    pub(crate) home: u64,
}

impl Place {
    pub(crate) fn new(home: u64) -> Self {
        Self {
            world: World::new(),
            model: Model {
                tick: 1,
                ..Model::default()
            },
            home,
        }
    }

    pub(crate) fn some(&self, random: &mut Random) -> Option<Entity> {
        let n = self.model.rows.len();
        (n > 0).then(|| *self.model.rows.keys().nth(random.below(n)).unwrap())
    }

    pub(crate) fn cell(&self, value: i64) -> Cell {
        Cell {
            value,
            added: self.model.tick,
            changed: self.model.tick,
            maybe: 0,
        }
    }

    pub(crate) fn insert(&mut self, id: Entity, kind: usize, value: i64) {
        let tick = self.model.tick;
        let value = if kind == 2 { 0 } else { value };
        let fresh = self.cell(value);
        match &mut self.model.rows.get_mut(&id).unwrap()[kind] {
            Some(cell) => {
                cell.value = value;
                cell.changed = tick;
                cell.maybe = 0;
            }
            none => *none = Some(fresh),
        }
    }

    pub(crate) fn change(&mut self, random: &mut Random) {
        let value = random.below(1_000_000) as i64;
        let crowded = self.model.rows.len() > 300;
        match random.below(if crowded { 14 } else { 24 }) {
            0..=3 => {
                if let Some(id) = self.some(random) {
                    assert!(self.world.despawn(id));
                    self.model.rows.remove(&id);
                    self.model.dead.push(id);
                }
            }
            4..=6 => {
                let Some(id) = self.some(random) else { return };
                let kind = random.below(KINDS);
                let was = self.model.rows.get_mut(&id).unwrap()[kind]
                    .take()
                    .map(|cell| cell.value);
                let world = &mut self.world;
                let got = match kind {
                    0 => world.remove::<A>(id).map(|v| v.0),
                    1 => world.remove::<B>(id).map(|v| *v.0),
                    2 => world.remove::<Z>(id).map(|_| 0),
                    3 => world.remove::<D>(id).map(|v| v.0.0),
                    4 => world
                        .remove_named(id, "Another")
                        .map(|v| *v.downcast::<E>().ok().unwrap().0),
                    _ => world.remove::<S>(id).map(|v| *v.0),
                };
                assert_eq!(got, was);
            }
            7..=10 => {
                let Some(id) = self.some(random) else { return };
                let w = &mut self.world;
                let kind = random.below(KINDS + 2);
                match kind {
                    0 => w.insert(id, A(value)).unwrap(),
                    1 => w.insert(id, B(Box::new(value))).unwrap(),
                    2 => w.insert(id, Z(())).unwrap(),
                    3 => w.insert(id, D(Aligned(value))).unwrap(),
                    4 => w
                        .insert(id, Named::new(E(Box::new(value))) as NE<_>)
                        .unwrap(),
                    5 => w.insert(id, S(Box::new(value))).unwrap(),
                    6 => w
                        .insert(
                            id,
                            (B(Box::new(value)), S(Box::new(value)), D(Aligned(value))),
                        )
                        .unwrap(),
                    _ => drop(w.insert_boxed(id, Box::new(A(value))).unwrap()),
                }
                match kind {
                    6 => [1, 5, 3].map(|kind| self.insert(id, kind, value)).len(),
                    7 => {
                        self.insert(id, 0, value);
                        0
                    }
                    _ => {
                        self.insert(id, kind, value);
                        0
                    }
                };
            }
            11 => {
                let Some(id) = self.some(random) else { return };
                let tick = self.model.tick;
                if let Some(a) = self.world.get_mut::<A>(id) {
                    a.0 = value;
                    let cell = self.model.rows.get_mut(&id).unwrap()[0].as_mut().unwrap();
                    (cell.value, cell.changed) = (value, tick);
                }
                if let Some(s) = self.world.get_mut::<S>(id) {
                    *s.0 = value;
                    let cell = self.model.rows.get_mut(&id).unwrap()[5].as_mut().unwrap();
                    (cell.value, cell.changed) = (value, tick);
                }
            }
            12 => self.world.shrink_to_fit(),
            13 => match random.below(12) {
                0 => {
                    self.world.clear();
                    self.model
                        .dead
                        .extend(mem::take(&mut self.model.rows).into_keys());
                }
                1..=4 => {
                    self.world.reclaim();
                }
                5 => match random.below(6) {
                    0 => self.world.track::<A>(),
                    1 => self.world.track::<B>(),
                    2 => self.world.track::<Z>(),
                    3 => self.world.track::<D>(),
                    4 => self.world.track::<S>(),
                    _ => {}
                },
                6 => self.world.reserve::<(A, B)>(100).unwrap(),
                _ => {}
            },
            14 => {
                let n = random.below(40);
                let ids: Vec<Entity> = self
                    .world
                    .spawn_batch((0..n).map(|n| (A(value + n as i64), D(Aligned(value)))))
                    .collect();
                for (n, id) in ids.into_iter().enumerate() {
                    let mut row = Row::default();
                    row[0] = Some(self.cell(value + n as i64));
                    row[3] = Some(self.cell(value));
                    self.model.rows.insert(id, row);
                }
            }
            15 => {
                // By command.
                let (mut contents, mut commands) = self.world.split();
                contents.query::<&A>().for_each(drop);
                self.model.tick += 1;
                let id = commands.spawn((B(Box::new(value)), Z(())));
                self.world.apply_commands().unwrap();
                let mut row = Row::default();
                row[1] = Some(self.cell(value));
                row[2] = Some(self.cell(0));
                self.model.rows.insert(id, row);
            }
            n => {
                let w = &mut self.world;
                let (id, kinds): (Entity, &[usize]) = match n {
                    16 => (w.spawn(A(value)), &[0]),
                    17 => (w.spawn((A(value), B(Box::new(value)))), &[0, 1]),
                    18 => (
                        w.spawn((Z(()), Named::new(E(Box::new(value))) as NE<_>)),
                        &[2, 4],
                    ),
                    19 => (w.spawn((D(Aligned(value)), S(Box::new(value)))), &[3, 5]),
                    20 => (
                        w.spawn((A(value), S(Box::new(value)), B(Box::new(value)))),
                        &[0, 1, 5],
                    ),
                    21 => (
                        w.spawn((D(Aligned(value)), B(Box::new(value)), Z(()), A(value))),
                        &[0, 1, 2, 3],
                    ),
                    22 => (w.spawn(()), &[]),
                    _ => (
                        w.spawn((
                            Named::new(E(Box::new(value))) as NE<_>,
                            B(Box::new(value)),
                            A(value),
                        )),
                        &[0, 1, 4],
                    ),
                };
                let mut row = Row::default();
                for kind in kinds {
                    row[*kind] = Some(self.cell(if *kind == 2 { 0 } else { value }));
                }
                self.model.rows.insert(id, row);
            }
        }
    }
}
