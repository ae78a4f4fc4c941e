//! The queries, and what the model expects of them.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use ecs::{Added, Changed, Entity, Mut, Or, QueryError, With, Without, World};

use super::Random;
use super::kept::{Cached, Kept, STYLES, Spread, Style};
use super::parts::{A, Access, B, D, E, Group, Model, NE, Row, S, Seen, Z};
use Access::{Mark, Read, Write};

pub(crate) type Passes = fn(&Row, u64) -> (bool, bool);

pub(crate) struct Entry {
    pub(crate) home: u64,
    pub(crate) query: Box<dyn Kept>,
    pub(crate) groups: Vec<Group>,
    pub(crate) passes: Passes,
    pub(crate) last_run: u64,
    pub(crate) cached: bool,
    pub(crate) number: usize,
}

pub(crate) fn all(_: &Row, _: u64) -> (bool, bool) {
    (true, true)
}
pub(crate) fn both(test: bool) -> (bool, bool) {
    (test, test)
}
pub(crate) fn changed(row: &Row, kind: usize, since: u64) -> (bool, bool) {
    match &row[kind] {
        None => (false, false),
        Some(cell) => (cell.changed > since, cell.changed.max(cell.maybe) > since),
    }
}

pub(crate) fn make(world: &mut World, home: u64, number: usize) -> Entry {
    let (groups, passes): (Vec<Group>, Passes);
    let mut cached = false;
    macro_rules! kept {
        ($q:ty, $f:ty) => {
            Box::new(world.prepare_filtered::<$q, $f>().unwrap())
        };
    }
    let one = |kind, access| (false, vec![(kind, access)]);
    let opt = |kind, access| (true, vec![(kind, access)]);
    let query: Box<dyn Kept> = match number {
        0 => {
            groups = vec![one(0, Write)];
            passes = all;
            Box::new(Spread(
                world
                    .prepare_filtered::<(Entity, &'static mut A), ()>()
                    .unwrap(),
            ))
        }
        1 => {
            groups = vec![opt(0, Write), one(1, Mark)];
            passes = all;
            Box::new(Spread(
                world
                    .prepare_filtered::<(Entity, Option<&'static mut A>, Mut<'static, B>), ()>()
                    .unwrap(),
            ))
        }
        2 => {
            groups = vec![one(3, Write), (true, vec![(1, Write), (0, Read)])];
            passes = |row, _| both(row[2].is_none());
            Box::new(Spread(world.prepare_filtered::<(&'static mut D, Entity, Option<(&'static mut B, &'static A)>), Without<Z>>().unwrap()))
        }
        3 => {
            groups = vec![one(1, Read), one(1, Read)];
            passes = |row, _| both(row[0].is_some());
            kept!((Entity, &B, &B), With<A>)
        }
        4 => {
            groups = vec![one(4, Write), one(2, Read), opt(1, Read)];
            passes = all;
            kept!((Entity, NE<&mut E>, &Z, Option<&B>), ())
        }
        5 => {
            groups = vec![one(5, Write), opt(0, Write)];
            passes = all;
            kept!((Entity, &mut S, Option<&mut A>), ())
        }
        6 => {
            groups = vec![one(0, Read), opt(5, Mark)];
            passes = all;
            kept!((Entity, &A, Option<Mut<'static, S>>), ())
        }
        7 => {
            groups = vec![];
            passes = |row, since| changed(row, 0, since);
            kept!((Entity, Option<&Z>), Changed<A>)
        }
        8 => {
            groups = vec![one(1, Read)];
            passes = |row, since| changed(row, 1, since);
            kept!((Entity, &B), Changed<B>)
        }
        9 => {
            groups = vec![one(0, Write)];
            passes = |row, since| both(row[3].as_ref().is_some_and(|cell| cell.added > since));
            kept!((Entity, &mut A), Added<D>)
        }
        10 => {
            groups = vec![opt(4, Read)];
            passes = |row, since| {
                let (e, s) = (
                    changed(row, 4, since),
                    row[5].as_ref().is_some_and(|cell| cell.added > since),
                );
                (e.0 || s, e.1 || s)
            };
            kept!((Entity, Option<NE<&E>>), Or<(Changed<NE<E>>, Added<S>)>)
        }
        11 => {
            groups = vec![
                opt(0, Mark),
                opt(1, Write),
                opt(2, Read),
                opt(3, Write),
                opt(4, Write),
            ];
            passes = all;
            kept!(
                (
                    Entity,
                    Option<Mut<'static, A>>,
                    Option<&mut B>,
                    Option<&Z>,
                    Option<&mut D>,
                    Option<NE<&mut E>>
                ),
                ()
            )
        }
        12 => {
            groups = vec![];
            passes = all;
            kept!((Entity, Option<Entity>), ())
        }
        13 => {
            groups = vec![one(0, Read)];
            passes = all;
            cached = true;
            Box::new(Cached::<(Entity, &'static A)>(PhantomData))
        }
        14 => {
            groups = vec![one(1, Write), opt(3, Read)];
            passes = all;
            cached = true;
            Box::new(Cached::<(&'static mut B, Option<&'static D>, Entity)>(
                PhantomData,
            ))
        }
        15 => {
            groups = vec![one(5, Write)];
            passes = |row, since| changed(row, 5, since);
            kept!((Entity, &mut S), Changed<S>)
        }
        16 => {
            groups = vec![one(0, Mark), opt(3, Read)];
            passes = |row, since| changed(row, 0, since);
            kept!((Entity, Mut<'static, A>, Option<&D>), Changed<A>)
        }
        _ => {
            groups = vec![(true, vec![(0, Write), (1, Mark)]), one(3, Read)];
            passes = |row, _| both(row[5].is_none());
            kept!((Entity, Option<(&mut A, Mut<'static, B>)>, &D), Without<S>)
        }
    };
    Entry {
        home,
        query,
        groups,
        passes,
        last_run: 0,
        cached,
        number,
    }
}
pub(crate) const QUERIES: usize = 18;

impl Entry {
    /// What it finds in a row: the kinds and values; `None` if the row does not match.
    pub(crate) fn finds(&self, row: &Row) -> Option<Vec<(usize, i64)>> {
        let mut found = Vec::new();
        for (optional, kinds) in &self.groups {
            if kinds.iter().all(|(kind, _)| row[*kind].is_some()) {
                found.extend(
                    kinds
                        .iter()
                        .map(|(kind, _)| (*kind, row[*kind].as_ref().unwrap().value)),
                );
            } else if !optional {
                return None;
            }
        }
        if self.number == 7 && row[2].is_some() {
            found.push((2, 0));
        }
        Some(found)
    }

    /// Compares what was seen, and writes it down.
    pub(crate) fn learn(&self, model: &mut Model, seen: &[Seen], now: u64) {
        for (id, parts) in seen {
            let row = model
                .rows
                .get_mut(id)
                .unwrap_or_else(|| panic!("{id:?} is not there"));
            let expected = self
                .finds(row)
                .unwrap_or_else(|| panic!("query {} found {id:?}", self.number));
            let found: Vec<_> = parts
                .iter()
                .map(|(kind, value, _)| (*kind, *value))
                .collect();
            assert_eq!(found, expected, "query {}", self.number);
            for (kind, _, new) in parts {
                if let Some(new) = new {
                    let cell = row[*kind].as_mut().unwrap();
                    cell.value = *new;
                    cell.changed = now;
                }
            }
        }
    }

    pub(crate) fn check_run(&mut self, world: &mut World, model: &mut Model, random: &mut Random) {
        let style = STYLES[random.below(STYLES.len())];
        let (at, delta) = (1 + random.below(40), random.below(1000) as i64);
        let since = self.last_run;
        let (seen, whole) = self.query.run(world, style, at, delta).unwrap();
        let whole = whole || self.cached;
        let now = model.tick;
        model.tick += 1;
        if !self.cached {
            self.last_run = now;
        }
        let mut ids = BTreeSet::new();
        for (id, _) in &seen {
            assert!(
                ids.insert(*id),
                "query {}: {id:?} twice, {style:?}",
                self.number
            );
        }
        for (id, row) in &model.rows {
            let (surely, maybe) = match self.finds(row) {
                None => (false, false),
                Some(_) => (self.passes)(row, since),
            };
            assert!(
                maybe || !ids.contains(id),
                "query {}: {id:?} too much, {style:?}",
                self.number
            );
            assert!(
                !whole || !surely || ids.contains(id),
                "query {}: {id:?} is missing, {style:?}",
                self.number
            );
        }
        if !whole && style != Style::SomeChunks {
            let most = model
                .rows
                .values()
                .filter(|row| self.finds(row).is_some() && (self.passes)(row, since).1)
                .count();
            let least = model
                .rows
                .values()
                .filter(|row| self.finds(row).is_some() && (self.passes)(row, since).0)
                .count();
            assert!(
                seen.len() <= at.min(most) && seen.len() >= at.min(least),
                "query {}, {style:?}",
                self.number
            );
        }
        self.learn(model, &seen, now);
        if style == Style::Panic && !whole {
            // What was begun may count as written.
            for (id, row) in &mut model.rows {
                if !ids.contains(id) {
                    for (kind, _) in self
                        .groups
                        .iter()
                        .flat_map(|group| &group.1)
                        .filter(|(_, access)| *access != Read)
                    {
                        if let Some(cell) = &mut row[*kind] {
                            cell.maybe = now;
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn check_many(&mut self, world: &mut World, model: &mut Model, random: &mut Random) {
        if model.rows.len() < 3 {
            return;
        }
        let keys: Vec<_> = model.rows.keys().copied().collect();
        let ids = [(); 3].map(|()| {
            if !model.dead.is_empty() && random.one_in(30) {
                model.dead[random.below(model.dead.len())]
            } else {
                keys[random.below(keys.len())]
            }
        });
        let since = self.last_run;
        // World's own queries pass no filter of time.
        let judged: Vec<_> = ids
            .iter()
            .map(|id| match model.rows.get(id) {
                Some(row) if self.finds(row).is_some() => (self.passes)(row, since),
                _ => (false, false),
            })
            .collect();
        let distinct = ids.iter().collect::<BTreeSet<_>>().len() == 3;
        match self.query.many(world, ids, 7) {
            Ok(seen) => {
                assert!(distinct && judged.iter().all(|(_, maybe)| *maybe));
                assert!(seen.iter().zip(ids).all(|((id, _), asked)| *id == asked));
                let now = model.tick;
                self.learn(model, &seen, now);
            }
            Err(QueryError::NoMatch { .. }) => assert!(judged.iter().any(|(surely, _)| !surely)),
            Err(QueryError::Repeated { .. }) => assert!(!distinct),
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) fn check_single(&mut self, world: &mut World, model: &mut Model) {
        let since = self.last_run;
        let passing = |which: fn((bool, bool)) -> bool| {
            model
                .rows
                .values()
                .filter(|row| self.finds(row).is_some() && which((self.passes)(row, since)))
                .count()
        };
        let (least, most) = (passing(|p| p.0), passing(|p| p.1));
        let outcome = self.query.single(world, 3);
        let now = model.tick;
        model.tick += 1;
        if !self.cached {
            self.last_run = now;
        }
        match outcome {
            Ok(seen) => {
                assert!(least <= 1 && most >= 1);
                self.learn(model, &[seen], now);
            }
            Err(QueryError::NoneMatches) => assert_eq!(least, 0),
            Err(QueryError::SeveralMatch) => assert!(most > 1),
            Err(other) => panic!("{other}"),
        }
    }
}
