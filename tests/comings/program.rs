//! Runs a script of operations on a world and on the model, and compares.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ecs::{
    Component, ComponentRegistry, Entity, Group, GroupChange, GroupKinds, GroupReader, On,
    RemovalMarks, World, json,
};

use crate::kinds::{A, B, Kind, O, P, Q, S};
use crate::model::{Model, NaiveGroup, Told, What};

struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    fn kind(&mut self) -> Kind {
        Kind::ALL[self.below(Kind::ALL.len())]
    }
}

/// Calls `$code` with one of several bundles as `$make`, and its kinds.
macro_rules! with_bundle {
    ($which:expr, $make:ident, $kinds:ident => $code:expr) => {
        match $which % 8 {
            0 => with_bundle!(@ $make, $kinds, B(1), [Kind::B], $code),
            1 => with_bundle!(@ $make, $kinds, A(1), [Kind::A], $code),
            2 => with_bundle!(@ $make, $kinds, (B(1), A(1)), [Kind::B, Kind::A], $code),
            3 => with_bundle!(@ $make, $kinds, (A(1), S(1), B(1)), [Kind::A, Kind::S, Kind::B], $code),
            4 => with_bundle!(@ $make, $kinds, (P(1), B(1)), [Kind::P, Kind::B], $code),
            5 => with_bundle!(@ $make, $kinds, (Q(1), A(1)), [Kind::Q, Kind::A], $code),
            6 => with_bundle!(@ $make, $kinds, S(1), [Kind::S], $code),
            _ => with_bundle!(@ $make, $kinds, (O::new(A(1)), A(1)), [Kind::O, Kind::A], $code),
        }
    };
    (@ $make:ident, $kinds:ident, $bundle:expr, $list:expr, $code:expr) => {{
        let $make = || $bundle;
        let $kinds: &[Kind] = &$list;
        $code
    }};
}

/// A group with its model, an eager reader and a lazy one.
struct Watched<K: GroupKinds> {
    group: Group<K>,
    naive: NaiveGroup,
    eager: GroupReader,
    lazy: GroupReader,
    read: [usize; 2],
}

trait Watch {
    fn check(&mut self, state: &mut State, script: &mut Script<'_>);
}

fn passages(reader: &mut GroupReader, world: &mut World, most: usize) -> Vec<GroupChange> {
    let next = std::iter::from_fn(|| reader.next(world).unwrap());
    next.take(most).collect()
}

impl<K: GroupKinds> Watch for Watched<K> {
    fn check(&mut self, state: &mut State, script: &mut Script<'_>) {
        let (world, model) = (&mut state.world, &state.model);
        self.naive.follow(model);
        let told = &self.naive.passages;
        let most = if state.cleared {
            usize::MAX
        } else {
            script.below(4)
        };
        let eager = passages(&mut self.eager, world, usize::MAX);
        let lazy = passages(&mut self.lazy, world, most);
        for (reader, found) in [&eager, &lazy].into_iter().enumerate() {
            let mut expected = told[self.read[reader]..].to_vec();
            let mut found = found.clone();
            if state.cleared {
                let entity = |passage: &GroupChange| match passage {
                    GroupChange::Entered(entity) | GroupChange::Left(entity) => *entity,
                };
                expected.sort_by_key(entity);
                found.sort_by_key(entity);
            }
            expected.truncate(if reader == 0 { usize::MAX } else { most });
            // spec: GRP-02
            assert_eq!(found, expected, "reader {reader}");
        }
        assert_eq!(self.eager.missed() + self.lazy.missed(), 0);
        self.read[0] += eager.len();
        self.read[1] += lazy.len();

        let expected = self.naive.members();
        let members = self.group.members(world).unwrap();
        // spec: GRP-01
        assert_eq!(members.len(), expected.len());
        assert_eq!(members.iter().copied().collect::<BTreeSet<_>>(), expected);
        for id in &state.ids {
            // spec: GRP-01
            assert_eq!(
                self.group.contains(world, *id).unwrap(),
                expected.contains(id)
            );
        }
        let mut entities = self.group.with_query::<Entity>(world).unwrap();
        let found: Vec<Entity> = entities.iter(world).unwrap().collect();
        // spec: GRP-03
        assert_eq!(found.len(), expected.len());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        assert_eq!(self.group.iter(world).unwrap().count(), expected.len());
    }
}

/// Observers of everything, and how much of what was told the model had told before.
#[derive(Default)]
struct Observers {
    told: Arc<Mutex<Vec<Told>>>,
    read: usize,
}

impl Observers {
    fn new(world: &mut World, model: &Model) -> Self {
        let observers = Self {
            read: model.told.len(),
            ..Self::default()
        };
        for kind in Kind::ALL {
            for what in [What::Added, What::Replaced, What::Removed] {
                let told = Arc::clone(&observers.told);
                let on = match what {
                    What::Added => On::Added,
                    What::Replaced => On::Replaced,
                    What::Removed => On::Removed,
                };
                let observer = move |_: &World, entity, _: &mut ecs::Commands<'_>| {
                    told.lock().unwrap().push((entity, kind, what));
                    Ok(())
                };
                let key = match kind {
                    Kind::A => world.observe::<A>(on, observer),
                    Kind::B => world.observe::<B>(on, observer),
                    Kind::O => world.observe_named::<A>("Other", on, observer),
                    Kind::P => world.observe::<P>(on, observer),
                    Kind::Q => world.observe::<Q>(on, observer),
                    Kind::S => world.observe::<S>(on, observer),
                };
                key.unwrap();
            }
        }
        observers
    }

    fn check(&mut self, world: &mut World, model: &Model, cleared: bool) {
        world.run_observers().unwrap();
        let mut told = std::mem::take(&mut *self.told.lock().unwrap());
        let mut expected = model.told[self.read..].to_vec();
        self.read = model.told.len();
        if cleared {
            told.sort();
            expected.sort();
        }
        // spec: EVT-05
        assert_eq!(told, expected);
    }
}

struct State {
    world: World,
    model: Model,
    /// Every id that was ever issued.
    ids: Vec<Entity>,
    reserved: Vec<Entity>,
    types: ComponentRegistry,
    imported: u32,
    registered: u32,
    /// The last operation ended everything, in an order of the store's own.
    cleared: bool,
}

pub(crate) fn run(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut state = State {
        world: World::new(),
        model: Model::default(),
        ids: Vec::new(),
        reserved: Vec::new(),
        types: ComponentRegistry::new().with::<A>().with::<B>().with::<S>(),
        imported: 0,
        registered: 0,
        cleared: false,
    };
    // The sparse sets in the order that the model knows.
    let first = state.world.spawn((S(0), Q(0)));
    state.world.despawn(first);
    let mut groups: Vec<Box<dyn Watch>> = Vec::new();
    let mut observers: Option<Observers> = None;
    while !script.0.is_empty() {
        match script.below(13) {
            12 if observers.is_none() => {
                observers = Some(Observers::new(&mut state.world, &state.model));
            }
            0 if groups.len() < 8 => groups.push(state.register(script.byte())),
            0 | 1 => state.end_many(&mut script),
            2 | 3 => state.spawn(&mut script),
            4..=6 => state.insert(&mut script),
            7 | 8 => state.remove(&mut script),
            9 => state.end(&mut script),
            _ => state.spawn_many(&mut script),
        }
        for group in &mut groups {
            group.check(&mut state, &mut script);
        }
        if let Some(observers) = &mut observers
            && (state.cleared || script.below(2) == 0)
        {
            observers.check(&mut state.world, &state.model, state.cleared);
        }
        state.cleared = false;
    }
    let expected: BTreeSet<Entity> = state.model.beings.keys().copied().collect();
    let found: BTreeSet<Entity> = state.world.entities().map(|entity| entity.id()).collect();
    assert_eq!(found, expected);
}

impl State {
    fn watch<K: GroupKinds>(&mut self, kinds: &[Kind]) -> Box<dyn Watch> {
        self.registered += 1;
        let name = format!("group {}", self.registered);
        let world = &mut self.world;
        let group = world.register_group::<K>(&name).unwrap();
        let (eager, lazy) = (group.reader(world).unwrap(), group.reader(world).unwrap());
        let naive = NaiveGroup::new(kinds, &self.model);
        Box::new(Watched {
            group,
            naive,
            eager,
            lazy,
            read: [0; 2],
        })
    }

    fn register(&mut self, which: u8) -> Box<dyn Watch> {
        match which % 7 {
            0 => self.watch::<A>(&[Kind::A]),
            1 => self.watch::<S>(&[Kind::S]),
            2 => self.watch::<(A, B)>(&[Kind::A, Kind::B]),
            3 => self.watch::<(B, P)>(&[Kind::B, Kind::P]),
            4 => self.watch::<(Q, A)>(&[Kind::Q, Kind::A]),
            5 => self.watch::<(A, O)>(&[Kind::A, Kind::O]),
            _ => self.watch::<(S, B, A)>(&[Kind::S, Kind::B, Kind::A]),
        }
    }

    fn new_id(&mut self, entity: Entity, kinds: &[Kind]) {
        self.ids.push(entity);
        self.model.spawn(entity, kinds);
    }

    /// Some id, of a live entity more often than not.
    fn any_id(&self, script: &mut Script<'_>) -> Option<Entity> {
        let at = script.below(256);
        let live = self.model.beings.keys();
        let ids: Vec<Entity> = match at % 8 {
            0 => self.ids.clone(),
            _ => live.copied().collect(),
        };
        (!ids.is_empty()).then(|| ids[at / 8 % ids.len()])
    }

    fn spawn(&mut self, script: &mut Script<'_>) {
        let how = script.below(4);
        with_bundle!(script.byte(), make, kinds => match how {
            0 => {
                let reserved = self.world.reserve_entity().unwrap();
                self.reserved.push(reserved);
                if let Some(waiting) = self.reserved.pop().filter(|_| script.below(2) == 0) {
                    self.world.spawn_reserved(waiting, make()).unwrap();
                    self.new_id(waiting, kinds);
                } else {
                    assert!(!self.world.despawn(reserved));
                }
            }
            1 => {
                self.imported += 1;
                let name = format!("named {}", self.imported);
                let entity = self.world.spawn_named(&name, make()).unwrap();
                self.new_id(entity, kinds);
            }
            _ => {
                let entity = self.world.spawn(make());
                self.new_id(entity, kinds);
            }
        });
    }

    fn spawn_many(&mut self, script: &mut Script<'_>) {
        let many = script.below(4);
        match script.below(3) {
            0 => with_bundle!(script.byte(), make, kinds => {
                let new: Vec<_> = self.world.spawn_batch((0..many).map(|_| make())).collect();
                for entity in new {
                    self.new_id(entity, kinds);
                }
            }),
            1 => {
                let columns = (
                    (0..many).map(|_| B(1)).collect::<Vec<_>>(),
                    (0..many).map(|_| A(1)).collect::<Vec<_>>(),
                );
                let new: Vec<_> = self.world.spawn_columns(columns).unwrap().collect();
                for entity in new {
                    self.new_id(entity, &[Kind::B, Kind::A]);
                }
            }
            _ => {
                let mut entities = json!({});
                for _ in 0..many {
                    self.imported += 1;
                    entities[format!("import {:05}", self.imported)] =
                        json!({ "Components": { "A": 1, "B": 2, "S": 3 } });
                }
                let document = json!({ "Entities": entities });
                let new = self.world.import(&self.types, &document).unwrap();
                for entity in new.entities {
                    self.new_id(entity, &[Kind::A, Kind::B, Kind::S]);
                }
            }
        }
    }

    fn insert(&mut self, script: &mut Script<'_>) {
        let Some(entity) = self.any_id(script) else {
            return;
        };
        let live = self.model.beings.contains_key(&entity);
        let mut told: Vec<Kind> = Vec::new();
        let done = match script.below(4) {
            0 | 1 => with_bundle!(script.byte(), make, kinds => {
                told.extend(kinds);
                self.world.insert(entity, make()).is_ok()
            }),
            2 => {
                let kind = script.kind();
                told.push(kind);
                self.world
                    .insert_named_boxed(entity, kind.name(), kind.boxed())
                    .is_ok()
            }
            _ => {
                told.push(Kind::Q);
                self.world.replace(entity, Q(2)).is_ok()
            }
        };
        assert_eq!(done, live);
        if live {
            self.model.insert(entity, &told);
        }
    }

    fn remove(&mut self, script: &mut Script<'_>) {
        let Some(entity) = self.any_id(script) else {
            return;
        };
        let kind = script.kind();
        let had = self.model.has(entity, kind);
        let done = match script.below(3) {
            0 => remove_typed(&mut self.world, entity, kind),
            1 if had => self.world.remove_named(entity, kind.name()).is_some(),
            _ => {
                let mut marks = RemovalMarks::default();
                mark(&mut marks, entity, kind);
                marks.clear(&mut self.world) == 1
            }
        };
        assert_eq!(done, had);
        if had {
            self.model.remove(entity, kind);
        }
    }

    fn end(&mut self, script: &mut Script<'_>) {
        let Some(entity) = self.any_id(script) else {
            return;
        };
        let live = self.model.beings.contains_key(&entity);
        assert_eq!(self.world.despawn(entity), live);
        if live {
            self.model.despawn(entity);
        }
    }

    fn end_many(&mut self, script: &mut Script<'_>) {
        match script.below(8) {
            0 => {
                self.world.clear();
                let all: Vec<Entity> = self.model.beings.keys().copied().collect();
                for entity in all {
                    self.model.despawn(entity);
                }
                self.cleared = true;
            }
            1 | 2 => drop(self.world.reclaim()),
            _ => self.world.shrink_to_fit(),
        }
    }
}

fn remove_typed(world: &mut World, entity: Entity, kind: Kind) -> bool {
    fn removed<T: Component>(world: &mut World, entity: Entity) -> bool {
        world.remove::<T>(entity).is_some()
    }
    match kind {
        Kind::A => removed::<A>(world, entity),
        Kind::B => removed::<B>(world, entity),
        Kind::P => removed::<P>(world, entity),
        Kind::Q => removed::<Q>(world, entity),
        Kind::S => removed::<S>(world, entity),
        Kind::O => world.remove_named(entity, "Other").is_some(),
    }
}

fn mark(marks: &mut RemovalMarks, entity: Entity, kind: Kind) {
    match kind {
        Kind::A => marks.mark::<A>(entity),
        Kind::B => marks.mark::<B>(entity),
        Kind::P => marks.mark::<P>(entity),
        Kind::Q => marks.mark::<Q>(entity),
        Kind::S => marks.mark::<S>(entity),
        Kind::O => marks.mark_named(entity, "Other"),
    }
}
