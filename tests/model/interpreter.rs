//! Runs a script of operations on a world and on the model, and compares what each gives.

use ecs::{Component, ComponentError, Data, Entity, RemovalMarks, TypeName, World};

use crate::check;
use crate::kinds::{
    A, B, Cell, Kind, Maker, Other, TestBundle, TestKind, caught, reset_ledger, with_bundle,
    with_kind,
};
use crate::naive::Naive;
use crate::readers::Readers;
use crate::script::Script;

/// Runs a script. Panics where the world and the model part.
pub(crate) fn run(bytes: &[u8]) {
    reset_ledger();
    let mut script = Script::new(bytes);
    let limit = match script.byte() {
        few @ 200.. => u32::from(few - 195),
        _ => 1000,
    };
    let mut state = State::new(limit);
    let mut steps = 0;
    while !script.is_empty() {
        state.step(&mut script);
        state.naive.clock += 1;
        steps += 1;
        check::order(&mut state.world, &state.naive);
        if steps % 16 == 0 {
            state.check();
        }
    }
    state.check();
    let State { world, naive, .. } = state;
    let armed = naive
        .beings
        .values()
        .flat_map(|being| being.cells.values())
        .any(|(_, cell)| cell.armed);
    // spec: COMP-08
    assert_eq!(
        caught(|| drop(world)).is_none(),
        armed,
        "the first panic of a `Drop` is passed on"
    );
    crate::kinds::check_ledger(&[], 0);
}

/// How an operation names an entity.
pub(crate) enum Key {
    Id(Entity),
    Text(String),
}

macro_rules! with_key {
    ($key:expr, $k:ident => $code:expr) => {
        match $key {
            Key::Id(id) => {
                let $k = *id;
                $code
            }
            Key::Text(text) => {
                let $k = text.as_str();
                $code
            }
        }
    };
}

const NAMES: [&str; 6] = [
    "door",
    "",
    "né\u{0}\n",
    "550e8400-e29b-41d4-a716-446655440000",
    "Door",
    "a name that is longer than what fits beside a pointer",
];

pub(crate) struct State {
    pub(crate) world: World,
    pub(crate) naive: Naive,
    readers: Readers,
    pub(crate) maker: Maker,
    /// Every id ever seen, those of another world too.
    pub(crate) ids: Vec<Entity>,
    _foreign: World,
}

pub(crate) fn cells_only(cells: Vec<(Kind, Cell)>) -> Vec<Cell> {
    cells.into_iter().map(|(_, cell)| cell).collect()
}

fn armed(cells: &[Cell]) -> bool {
    cells.iter().any(|cell| cell.armed)
}

/// Runs an operation that drops these components, and checks that it panics exactly when one of them is armed.
pub(crate) fn dropping<R>(gone: &[Cell], code: impl FnOnce() -> R) -> Option<R> {
    let outcome = caught(code);
    // spec: COMP-08
    assert_eq!(outcome.is_none(), armed(gone), "dropped: {gone:?}");
    outcome
}

impl State {
    fn new(limit: u32) -> Self {
        let mut foreign = World::new();
        let ids = vec![foreign.spawn(()), foreign.spawn(())];
        Self {
            world: World::with_slot_limit(limit),
            naive: Naive::new(limit as usize),
            readers: Readers::default(),
            maker: Maker::default(),
            ids,
            _foreign: foreign,
        }
    }

    fn check(&mut self) {
        check::everything(&mut self.world, &mut self.naive, &self.ids);
    }

    pub(crate) fn id(&mut self, script: &mut Script<'_>) -> Entity {
        let live: Vec<Entity> = self.naive.order().map(|(entity, _)| entity).collect();
        if script.chance(200) && !live.is_empty() {
            *script.pick(&live).unwrap()
        } else {
            *script.pick(&self.ids).unwrap()
        }
    }

    fn key(&mut self, script: &mut Script<'_>) -> (Key, Option<Entity>) {
        let entity = self.id(script);
        let live = self.naive.beings.contains_key(&entity).then_some(entity);
        match script.below(4) {
            0 => {
                let text = self.text(script);
                let found = self.naive.find(&text);
                (Key::Text(text), found)
            }
            1 if live.is_some() => {
                let text = self.world.handle(entity).unwrap().to_string();
                (Key::Text(text), live)
            }
            _ => (Key::Id(entity), live),
        }
    }

    /// A chosen, generated or unknown handle.
    pub(crate) fn text(&mut self, script: &mut Script<'_>) -> String {
        let mut generated: Vec<&String> = self.naive.generated.keys().collect();
        generated.sort_by_key(|text| self.naive.generated[*text]);
        if script.chance(60) && !generated.is_empty() {
            (*script.pick(&generated).unwrap()).clone()
        } else {
            (*script.pick(&NAMES).unwrap()).to_owned()
        }
    }

    pub(crate) fn fresh<T: TestBundle>(
        &mut self,
        script: &mut Script<'_>,
    ) -> (T, Vec<(Kind, Cell)>) {
        let mut cells = Vec::new();
        self.maker.armed = script.chance(80);
        let bundle = T::make(&mut self.maker, &mut cells);
        (bundle, cells)
    }

    pub(crate) fn born(&mut self, entity: Entity, cells: Vec<(Kind, Cell)>) {
        let mut kinds = Vec::new();
        kinds.extend(cells.iter().map(|(kind, _)| *kind));
        self.naive.archetype_of_bundle(&kinds);
        self.naive.spawn(entity, cells);
        self.ids.push(entity);
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.below(38) {
            0..=2 => with_bundle!(script.byte(), T => self.spawn::<T>(script)),
            3 | 4 => with_bundle!(script.byte(), T => self.spawn_named::<T>(script)),
            5 => with_bundle!(script.byte(), T => self.spawn_batch::<T>(script)),
            6 => self.spawn_columns(script),
            7..=9 => with_bundle!(script.byte(), T => self.insert::<T>(script)),
            10 | 11 => with_kind!(script.byte(), T => self.replace::<T>(script)),
            12 | 13 => with_kind!(script.byte(), T => self.insert_named::<T>(script)),
            14 => with_kind!(script.byte(), T => self.remove::<T>(script)),
            15 => self.remove_named(script),
            16 | 17 => self.despawn(script),
            18 => self.reserve_entity(),
            19 | 20 => with_bundle!(script.byte(), T => self.spawn_reserved::<T>(script)),
            21 => self.upkeep(script),
            22 => self.entity(script),
            23 => with_kind!(script.byte(), T => self.write::<T>(script)),
            24 => {
                with_kind!(script.byte(), T => self.many::<T>(script));
            }
            25 => self.marks(script),
            _ => self
                .readers
                .step(&mut self.world, &mut self.naive, &mut self.maker, script),
        }
    }

    fn insert<T: TestBundle>(&mut self, script: &mut Script<'_>) {
        let (key, entity) = self.key(script);
        let (bundle, cells) = self.fresh::<T>(script);
        let gone = match entity {
            Some(entity) => cells_only(self.naive.insert(entity, cells, false)),
            None => cells_only(cells),
        };
        let outcome = dropping(&gone, || with_key!(&key, k => self.world.insert(k, bundle)));
        if let Some(outcome) = outcome {
            check::attached(&key, entity, outcome);
        }
    }

    fn replace<T: TestKind>(&mut self, script: &mut Script<'_>) {
        let (key, entity) = self.key(script);
        let (component, cells) = self.fresh::<T>(script);
        let boxed = script.chance(128);
        let attach = |world: &mut World| {
            if boxed {
                with_key!(&key, k => world.insert_boxed(k, Box::new(component)))
            } else {
                with_key!(&key, k => world.replace(k, component))
            }
        };
        self.attach(&key, entity, cells, attach);
    }

    fn insert_named<T: TestKind>(&mut self, script: &mut Script<'_>) {
        let (key, entity) = self.key(script);
        let names = ["Other", "A", "", "S"];
        let name = names[script.below(4)];
        if script.chance(60) {
            let (component, mut cells) = self.fresh::<Data>(script);
            cells[0].0.0 = name;
            self.attach(
                &key,
                entity,
                cells,
                |world| with_key!(&key, k => world.insert_named(k, name, component)),
            );
        } else {
            let (component, mut cells) = self.fresh::<T>(script);
            cells[0].0.0 = name;
            self.attach(&key, entity, cells, |world| {
                with_key!(&key, k => world.insert_named_boxed(k, name, Box::new(component)))
            });
        }
    }

    fn attach(
        &mut self,
        key: &Key,
        entity: Option<Entity>,
        cells: Vec<(Kind, Cell)>,
        attach: impl FnOnce(&mut World) -> Result<Option<Box<dyn Component>>, ComponentError>,
    ) {
        let nameless = cells[0].0.0.is_empty();
        let Some(entity) = entity.filter(|_| !nameless) else {
            let gone = cells_only(cells);
            let outcome = dropping(&gone, || attach(&mut self.world));
            match outcome {
                // spec: COMP-06
                Some(Err(ComponentError::Bundle { .. })) => assert!(nameless),
                Some(outcome) => check::attached(key, None, outcome.map(drop)),
                None => {}
            }
            return;
        };
        let gone = cells_only(self.naive.insert(entity, cells, true));
        let replaced = attach(&mut self.world).unwrap();
        let payload = replaced.as_ref().map(|replaced| replaced.export());
        let expected = gone.first().map(|cell| cell.payload.into());
        // spec: COMP-03, COMP-11
        assert_eq!(payload, expected, "what is replaced comes back");
        dropping(&gone, || drop(replaced));
    }

    fn remove<T: TestKind>(&mut self, script: &mut Script<'_>) {
        let (key, entity) = self.key(script);
        let kind = (T::type_name(), T::TAG);
        let expected = entity.and_then(|entity| self.naive.remove(entity, kind.0, Some(kind)));
        let removed = with_key!(&key, k => self.world.remove::<T>(k));
        // spec: COMP-07
        assert_eq!(
            removed.as_ref().map(TestKind::payload),
            expected.as_ref().map(|cell| cell.payload)
        );
        dropping(expected.as_slice(), || drop(removed));
    }

    fn remove_named(&mut self, script: &mut Script<'_>) {
        let (key, entity) = self.key(script);
        let name = *script
            .pick(&["A", "B", "Z", "Other", "S", "P", "", "no such"])
            .unwrap();
        let expected = entity.and_then(|entity| self.naive.remove(entity, name, None));
        let removed = with_key!(&key, k => self.world.remove_named(k, name));
        // spec: COMP-07
        assert_eq!(
            removed.as_ref().map(|removed| removed.export()),
            expected.as_ref().map(|cell| cell.payload.into())
        );
        dropping(expected.as_slice(), || drop(removed));
    }

    fn despawn(&mut self, script: &mut Script<'_>) {
        let (key, entity) = match script
            .chance(40)
            .then(|| self.naive.reserved.last().copied())
        {
            Some(Some(reserved)) => (Key::Id(reserved), None),
            _ => self.key(script),
        };
        let lived = entity.and_then(|entity| self.naive.despawn(entity));
        if let Key::Id(id) = &key {
            self.naive.reserved.retain(|reserved| reserved != id);
        }
        let gone = lived.as_deref().unwrap_or_default();
        let outcome = dropping(gone, || with_key!(&key, k => self.world.despawn(k)));
        // spec: ENT-03, ENT-04
        assert!(outcome.is_none_or(|outcome| outcome == lived.is_some()));
    }

    fn upkeep(&mut self, script: &mut Script<'_>) {
        match script.below(8) {
            0 => {
                let order: Vec<Entity> = self.naive.order().map(|(entity, _)| entity).collect();
                let gone: Vec<Cell> = order
                    .into_iter()
                    .flat_map(|entity| self.naive.despawn(entity).unwrap_or_default())
                    .collect();
                dropping(&gone, || self.world.clear());
            }
            // spec: ENT-09
            1..=4 => assert_eq!(self.world.reclaim(), self.naive.reclaim()),
            5 => self.world.shrink_to_fit(),
            _ => {
                let more = script.below(4);
                let enough = more <= self.naive.remaining();
                // spec: ENT-09
                assert_eq!(self.world.reserve::<(A, B)>(more).is_ok(), enough);
                if enough {
                    let kinds = [("A", A::TAG), ("B", B::TAG)];
                    self.naive.archetype_of_bundle(&kinds);
                }
            }
        }
    }

    fn write<T: TestKind>(&mut self, script: &mut Script<'_>) {
        let (key, entity) = self.key(script);
        let kind = (T::type_name(), T::TAG);
        let payload = self.maker.payload();
        let expected = entity.filter(|entity| self.naive.beings[entity].cell(kind).is_some());
        let wrote = match script.below(3) {
            0 => with_key!(&key, k => self.world.get_mut::<T>(k)).map(|place| place.set(payload)),
            1 => with_key!(&key, k => self.world.get_named_mut::<T>(k, kind.0))
                .map(|place| place.set(payload)),
            _ => {
                // By the name alone the component is reached whatever its type, and counts as written.
                let place = with_key!(&key, k => self.world.component_mut(k, kind.0));
                let held = entity.and_then(|entity| self.naive.beings[&entity].cells.get(kind.0));
                // spec: LOOK-02
                assert_eq!(place.is_some(), held.is_some());
                if let (Some(entity), Some((held, cell))) = (entity, held) {
                    let (held, payload) = (*held, cell.payload);
                    self.naive.write(entity, held, payload);
                }
                place
                    .and_then(|place| place.downcast_mut::<T>())
                    .map(|place| place.set(payload))
            }
        };
        // spec: LOOK-01
        assert_eq!(wrote.is_some(), expected.is_some());
        if let Some(entity) = expected {
            self.naive.write(entity, kind, payload);
        }
    }

    fn many<T: TestKind>(&mut self, script: &mut Script<'_>) {
        check::many::<T>(&mut self.world, &mut self.naive, &self.ids, script);
    }

    fn marks(&mut self, script: &mut Script<'_>) {
        let mut marks = RemovalMarks::default();
        let mut removed = 0;
        for _ in 0..script.below(4) {
            let entity = self.id(script);
            let name = *script.pick(&["P", "S", Other::NAME]).unwrap();
            let held = self.naive.beings.get(&entity);
            let held = held.and_then(|being| being.cells.get(name));
            if script.chance(128) {
                marks.mark::<A>(entity);
                let kind = Some(("A", A::TAG));
                removed += usize::from(self.naive.remove(entity, "A", kind).is_some());
            } else if held.is_none_or(|(_, cell)| !cell.armed) {
                marks.mark_named(entity, name);
                removed += usize::from(self.naive.remove(entity, name, None).is_some());
            }
        }
        // spec: COMP-10
        assert_eq!(
            marks.clear(&mut self.world),
            removed,
            "of {removed} that are there"
        );
        assert!(marks.is_empty());
    }
}
