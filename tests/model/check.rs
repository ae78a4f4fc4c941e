//! Compares a world with the model.

use std::collections::BTreeMap;

use ecs::{
    Component, ComponentError, Dangling, Data, Entity, Named, Query, QueryError, Value, With,
    Without, World, json,
};

use crate::interpreter::Key;
use crate::kinds::{A, A2, B, Kind, O4K, O64, Other, P, S, S2, S3, Tag, TestKind, Z, check_ledger};
use crate::naive::Naive;
use crate::script::Script;

/// The order of iteration, which every structural fault disturbs first.
pub(crate) fn order(world: &mut World, naive: &Naive) {
    let expected: Vec<Entity> = naive.order().map(|(entity, _)| entity).collect();
    let found: Vec<Entity> = world.query::<Entity>().collect();
    // spec: LOOK-06, ENT-07
    assert_eq!(found, expected);
    assert_eq!(world.len(), expected.len());
}

pub(crate) fn everything(world: &mut World, naive: &mut Naive, ids: &[Entity]) {
    handles(world, naive, ids);
    components(world, naive, ids);
    queries(world, naive);
    export(world, naive);
    let cells = naive.beings.values().flat_map(|being| being.cells.values());
    let tokens: Vec<usize> = cells.clone().filter_map(|(_, cell)| cell.token).collect();
    let sizeless = cells.filter(|(kind, _)| kind.1 == Tag::Z).count();
    check_ledger(&tokens, sizeless);
}

fn handles(world: &World, naive: &mut Naive, ids: &[Entity]) {
    for entity in ids {
        let being = naive.beings.get(entity);
        // spec: ENT-03, ENT-08
        assert_eq!(world.contains(*entity), being.is_some(), "{entity:?}");
        let Some(handle) = world.handle(*entity) else {
            assert!(being.is_none());
            continue;
        };
        // spec: ENT-01, ENT-02
        assert_eq!(world.find(&handle), Some(*entity));
        if let Some(chosen) = being.and_then(|being| being.handle.as_ref()) {
            assert_eq!(handle.as_str(), chosen);
        } else {
            let known = naive.generated.insert(handle.to_string(), *entity);
            // spec: ENT-02
            assert!(
                known.is_none_or(|known| known == *entity),
                "unique for ever"
            );
        }
    }
    for text in naive.generated.keys().chain(naive.chosen.keys()) {
        // spec: ENT-01, ENT-03, ENT-10
        assert_eq!(world.find(text), naive.find(text), "{text:?}");
    }
}

fn typed<T: TestKind>(world: &World, naive: &Naive, entity: Entity, name: &'static str) {
    let being = naive.beings.get(&entity);
    let kind = (name, T::TAG);
    let expected = being
        .and_then(|being| being.cell(kind))
        .map(|cell| cell.payload);
    let named = world.get_named::<T>(entity, name);
    // spec: LOOK-01, COMP-04, COMP-05
    assert_eq!(
        named.map(TestKind::payload),
        expected,
        "{entity:?} {kind:?}"
    );
    if let Some(named) = named {
        // spec: COMP-08
        assert_eq!(std::ptr::from_ref(named).addr() % align_of::<T>(), 0);
    }
    if name == T::type_name() {
        let own = world.get::<T>(entity);
        // spec: LOOK-01
        assert_eq!(own.map(TestKind::payload), expected);
        assert_eq!(world.has::<T>(entity), expected.is_some());
    }
}

fn components(world: &World, naive: &Naive, ids: &[Entity]) {
    for &entity in ids {
        typed::<A>(world, naive, entity, "A");
        typed::<A2>(world, naive, entity, "A");
        typed::<B>(world, naive, entity, "B");
        typed::<Z>(world, naive, entity, "Z");
        typed::<O64>(world, naive, entity, "O64");
        typed::<O4K>(world, naive, entity, "O4K");
        typed::<S>(world, naive, entity, "S");
        typed::<S2>(world, naive, entity, "S");
        typed::<S3>(world, naive, entity, "S");
        typed::<P>(world, naive, entity, "P");
        typed::<A>(world, naive, entity, "Other");
        typed::<S>(world, naive, entity, "Other");
        typed::<Data>(world, naive, entity, "Other");
        typed::<Data>(world, naive, entity, "A");
        typed::<B>(world, naive, entity, "");
        let being = naive.beings.get(&entity);
        for name in ["A", "S", "Other", "Z", "", "Unheard"] {
            let expected = being.and_then(|being| being.cells.get(name));
            // spec: LOOK-03
            assert_eq!(world.has_named(entity, name), expected.is_some());
            let found = world.component(entity, name);
            // spec: LOOK-02
            assert_eq!(
                found.map(Component::export),
                expected.map(|(_, cell)| cell.payload.into())
            );
        }
    }
    for entity in world.entities() {
        let found: Vec<_> = entity
            .components()
            .map(|(name, component)| (name, component.export()))
            .collect();
        let being = &naive.beings[&entity.id()];
        let expected: Vec<_> = being
            .cells
            .iter()
            .map(|(name, (_, cell))| (*name, Value::from(cell.payload)))
            .collect();
        // spec: ENT-07
        assert_eq!(found, expected);
    }
    for name in ["A", "S", "Other", "P", "Unheard"] {
        let mut expected: Vec<_> = named(naive, name, false).collect();
        let mut sparse: Vec<_> = named(naive, name, true).collect();
        let mut found: Vec<_> = world
            .components(name)
            .map(|(entity, component)| (entity, component.export()))
            .collect();
        // Table components come in the order of iteration; sparse ones in an order of their own.
        found[expected.len()..].sort_by_key(|found| found.0);
        sparse.sort_by_key(|found| found.0);
        expected.extend(sparse);
        // spec: LOOK-12
        assert_eq!(found, expected, "{name}");
    }
}

fn named<'n>(
    naive: &'n Naive,
    name: &'n str,
    sparse: bool,
) -> impl Iterator<Item = (Entity, Value)> + 'n {
    naive.order().filter_map(move |(entity, being)| {
        let (kind, cell) = being.cells.get(name)?;
        (kind.1.is_sparse() == sparse).then(|| (entity, cell.payload.into()))
    })
}

fn queries(world: &mut World, naive: &Naive) {
    const A_: Kind = ("A", Tag::A);
    const B_: Kind = ("B", Tag::B);
    const S_: Kind = ("S", Tag::S);
    fn rows<Q: Query + 'static, R>(world: &mut World, row: impl Fn(Q::Item<'_>) -> R) -> Vec<R> {
        world.query::<Q>().map(row).collect()
    }
    type Payload = Option<u64>;
    let payload = |entity: &crate::naive::Being, kind| entity.cell(kind).map(|cell| cell.payload);

    let found = rows::<(Entity, &A), _>(world, |(entity, a)| (entity, a.payload()));
    let expected: Vec<_> = naive
        .holders(A_)
        .map(|(entity, cell)| (entity, cell.payload))
        .collect();
    // spec: LOOK-05, LOOK-06
    assert_eq!(found, expected);

    let found = rows::<(Entity, Option<&A>, Option<&S>), _>(world, |(entity, a, s)| {
        (entity, a.map(TestKind::payload), s.map(TestKind::payload))
    });
    let expected: Vec<(Entity, Payload, Payload)> = naive
        .order()
        .map(|(entity, being)| (entity, payload(being, A_), payload(being, S_)))
        .collect();
    // spec: LOOK-05
    assert_eq!(found, expected);

    let found = rows::<(Entity, Option<(&S, &A, &B)>), _>(world, |(entity, all)| {
        (
            entity,
            all.map(|(s, a, b)| (s.payload(), a.payload(), b.payload())),
        )
    });
    let expected: Vec<_> = naive
        .order()
        .map(|(entity, being)| {
            let all = (payload(being, S_), payload(being, A_), payload(being, B_));
            let all = match all {
                (Some(s), Some(a), Some(b)) => Some((s, a, b)),
                _ => None,
            };
            (entity, all)
        })
        .collect();
    // spec: LOOK-05
    assert_eq!(found, expected, "a nested term is there where all of it is");

    let found = rows::<(Entity, &A, Named<&A, Other>), _>(world, |(entity, own, named)| {
        (entity, own.payload(), named.payload())
    });
    let expected: Vec<_> = naive
        .holders(A_)
        .filter_map(|(entity, cell)| {
            let other = payload(&naive.beings[&entity], ("Other", Tag::A))?;
            Some((entity, cell.payload, other))
        })
        .collect();
    // spec: LOOK-05, COMP-05
    assert_eq!(found, expected);

    let filtered = world.query_filtered::<(Entity, &B), (Without<S>, With<Z>)>();
    let found: Vec<_> = filtered.map(|(entity, b)| (entity, b.payload())).collect();
    let expected: Vec<_> = naive
        .holders(B_)
        .filter(|(entity, _)| {
            let being = &naive.beings[entity];
            being.cell(S_).is_none() && being.cell(("Z", Tag::Z)).is_some()
        })
        .map(|(entity, cell)| (entity, cell.payload))
        .collect();
    // spec: LOOK-05
    assert_eq!(found, expected);
}

/// Several entities at once.
pub(crate) fn many<T: TestKind>(
    world: &mut World,
    naive: &mut Naive,
    ids: &[Entity],
    script: &mut Script<'_>,
) {
    let kind = (T::type_name(), T::TAG);
    let live: Vec<Entity> = naive.order().map(|(entity, _)| entity).collect();
    let chosen: [Entity; 3] = std::array::from_fn(|_| {
        let live = script.pick(&live).copied().filter(|_| script.chance(220));
        live.unwrap_or_else(|| *script.pick(ids).unwrap())
    });
    let expected = chosen.map(|entity| {
        let cell = naive.beings.get(&entity).and_then(|being| being.cell(kind));
        cell.map(|cell| cell.payload)
    });
    let repeated = chosen[0] == chosen[1] || chosen[1] == chosen[2] || chosen[0] == chosen[2];
    match world.query_many::<(Entity, &mut T), 3>(chosen) {
        Ok(items) => {
            let found = items.map(|(entity, place)| (entity, Some(place.payload())));
            let expected: [_; 3] = std::array::from_fn(|at| (chosen[at], expected[at]));
            // spec: LOOK-14
            assert_eq!(found, expected);
            // spec: LOOK-14
            assert!(!repeated);
        }
        // spec: LOOK-14
        Err(QueryError::Repeated { entity }) => assert!(repeated && chosen.contains(&entity)),
        Err(QueryError::NoMatch { entity }) => {
            let at = chosen.iter().position(|chosen| *chosen == entity).unwrap();
            // spec: LOOK-14
            assert_eq!(expected[at], None);
            return;
        }
        Err(other) => panic!("{other}"),
    }
    if !repeated {
        for (entity, payload) in chosen.into_iter().zip(expected) {
            naive.write(entity, kind, payload.unwrap());
        }
    }
}

/// The outcome of attaching a component to an entity, known to the model or not.
pub(crate) fn attached(key: &Key, entity: Option<Entity>, outcome: Result<(), ComponentError>) {
    match (outcome, key) {
        (Ok(()), _) => assert!(entity.is_some(), "attached to nobody"),
        // spec: COMP-06
        (Err(ComponentError::EmptyHandle { .. }), Key::Text(text)) => assert!(text.is_empty()),
        (Err(ComponentError::NoEntity { handle, .. }), Key::Text(text)) => {
            // spec: COMP-06
            assert!(entity.is_none() && handle == *text);
        }
        // spec: COMP-06
        (Err(ComponentError::NoEntity { .. }), Key::Id(_)) => assert!(entity.is_none()),
        (Err(other), _) => panic!("{other}"),
    }
}

fn export(world: &World, naive: &Naive) {
    let entities: BTreeMap<String, Value> = naive
        .order()
        .map(|(entity, being)| {
            let handle = world.handle(entity).unwrap().to_string();
            let mut described = json!({ "Handle": handle });
            if !being.cells.is_empty() {
                let cells = being.cells.iter();
                described["Components"] = cells
                    .map(|(name, (_, cell))| (*name, cell.payload))
                    .collect::<BTreeMap<_, _>>()
                    .into_iter()
                    .map(|(name, payload)| (name.to_owned(), json!(payload)))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            }
            (handle, described)
        })
        .collect();
    let expected = if entities.is_empty() {
        json!({})
    } else {
        json!({ "Entities": entities })
    };
    // spec: EXP-01, EXP-03
    assert_eq!(world.export().to_string(), expected.to_string());
    let mut streamed = Vec::new();
    world.export_to(&mut streamed, Dangling::Error).unwrap();
    // spec: EXP-06
    assert_eq!(String::from_utf8(streamed).unwrap(), expected.to_string());
}
