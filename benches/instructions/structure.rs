//! Spawning, removing, looking up; export and import.

use std::hint::black_box;

use ecs::{
    Component, ComponentRegistry, Dangling, Entity, ImportLimits, Storage, Value, World, json,
};
use serde::Deserialize;

use super::{Path, measured, path};

pub(super) const PATHS: &[Path] = &[
    path("spawn_1", 1_000, spawn_1),
    path("spawn_8", 1_000, spawn_8),
    path("spawn_16", 1_000, spawn_16),
    path("spawn_8_between_queries", 1_000, spawn_8_between_queries),
    path("spawn_batch_4", 10_000, spawn_batch_4),
    path("spawn_columns_2", 10_000, spawn_columns_2),
    path("despawn_2", 1_000, despawn_2),
    path("insert_and_remove", 1_000, insert_and_remove),
    path("insert_and_remove_sparse", 1_000, insert_and_remove_sparse),
    path("get", 1_000, get),
    path("get_mut", 1_000, get_mut),
    path("get_by_handle", 1_000, get_by_handle),
    path(
        "get_by_chosen_handle_and_name",
        1_000,
        get_by_chosen_handle_and_name,
    ),
    path("generated_handle", 1_000, generated_handle),
    path("export_2", 1_000, export_2),
    path("import_2", 1_000, import_2),
];

macro_rules! numbers {
    ($($name:ident $storage:ident;)*) => {$(
        #[derive(Deserialize)]
        pub(super) struct $name(pub(super) f32);

        impl Component for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn export(&self) -> Value {
                json!(self.0)
            }

            fn storage() -> Storage {
                Storage::$storage
            }
        }
    )*};
}

numbers! {
    A Table; B Table; C Table; D Table; E Table; F Table; G Table; H Table;
    I Table; J Table; K Table; L Table; M Table; N Table; O Table; P Table;
    Loose Sparse;
}

pub(super) fn number(at: usize) -> f32 {
    u16::try_from(at % 1_000).map_or(0.0, f32::from)
}

fn spawn_1(items: usize) {
    let mut world = World::new();
    world.spawn(A(0.0));
    measured(|| (0..items).for_each(|at| _ = black_box(world.spawn(A(number(at))))));
    assert_eq!(world.len(), items + 1);
}

fn eight(at: usize) -> (A, B, C, D, E, F, G, H) {
    let x = number(at);
    (A(x), B(x), C(x), D(x), E(x), F(x), G(x), H(x))
}

fn spawn_8(items: usize) {
    let mut world = World::new();
    world.spawn(eight(0));
    measured(|| (0..items).for_each(|at| _ = black_box(world.spawn(eight(at)))));
    assert_eq!(world.len(), items + 1);
}

fn spawn_16(items: usize) {
    type Rest = (I, J, K, L, M, N, O, P);
    let rest = |x| -> Rest { (I(x), J(x), K(x), L(x), M(x), N(x), O(x), P(x)) };
    let mut world = World::new();
    world.spawn((eight(0), rest(0.0)));
    measured(|| {
        (0..items).for_each(|at| _ = black_box(world.spawn((eight(at), rest(number(at))))));
    });
    assert_eq!(world.len(), items + 1);
}

/// A query runs before each.
fn spawn_8_between_queries(items: usize) {
    let mut world = World::new();
    world.spawn(eight(0));
    let mut query = world.prepare::<&mut H>().unwrap();
    measured(|| {
        (0..items).for_each(|at| {
            black_box(world.spawn(eight(at)));
            query.iter(&mut world).unwrap().next().unwrap().0 += 1.0;
        });
    });
    assert_eq!(world.len(), items + 1);
}

fn spawn_batch_4(items: usize) {
    let mut world = World::new();
    let row = |at| (A(number(at)), B(1.0), C(2.0), D(3.0));
    measured(|| world.spawn_batch((0..items).map(row)));
    assert_eq!(world.len(), items);
}

/// Into a world that held as many before.
fn spawn_columns_2(items: usize) {
    let mut world = World::new();
    let rows = || (0..items).map(|at| (A(number(at)), B(1.0)));
    let columns = || -> (Vec<A>, Vec<B>) { rows().unzip() };
    drop(world.spawn_columns(columns()));
    world.clear();
    let again = columns();
    measured(|| drop(world.spawn_columns(again)));
    assert_eq!(world.len(), items);
}

/// A world of so many entities with an `A` and a `B`, and their ids in an order that jumps.
pub(super) fn two(items: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..items)
        .map(|at| world.spawn((A(number(at)), B(1.0))))
        .collect();
    // 379 and the number of items have no common factor.
    let jumping = (0..items).map(|at| ids[at * 379 % items]).collect();
    (world, jumping)
}

fn despawn_2(items: usize) {
    let (mut world, ids) = two(items);
    measured(|| ids.iter().for_each(|id| _ = world.despawn(*id)));
    assert!(world.is_empty());
}

fn insert_and_remove(items: usize) {
    let (mut world, ids) = two(items);
    world.insert(ids[0], C(0.0)).unwrap();
    world.remove::<C>(ids[0]).unwrap();
    let sum: f32 = measured(|| {
        for id in &ids {
            world.insert(*id, C(1.0)).unwrap();
        }
        ids.iter().map(|id| world.remove::<C>(*id).unwrap().0).sum()
    });
    assert_eq!(sum as usize, items);
}

fn insert_and_remove_sparse(items: usize) {
    let (mut world, ids) = two(items);
    world.insert(ids[0], Loose(0.0)).unwrap();
    world.remove::<Loose>(ids[0]).unwrap();
    let sum: f32 = measured(|| {
        for id in &ids {
            world.insert(*id, Loose(1.0)).unwrap();
        }
        ids.iter()
            .map(|id| world.remove::<Loose>(*id).unwrap().0)
            .sum()
    });
    assert_eq!(sum as usize, items);
}

fn get(items: usize) {
    let (world, ids) = two(items);
    let sum: f32 = measured(|| ids.iter().map(|id| world.get::<B>(*id).unwrap().0).sum());
    assert_eq!(sum as usize, items);
}

fn get_mut(items: usize) {
    let (mut world, ids) = two(items);
    measured(|| {
        for id in &ids {
            world.get_mut::<B>(*id).unwrap().0 += 1.0;
        }
    });
    let sum: f32 = world.query::<&B>().map(|b| b.0).sum();
    assert_eq!(sum as usize, 2 * items);
}

fn get_by_handle(items: usize) {
    let (world, ids) = two(items);
    let handles: Vec<String> = ids
        .iter()
        .map(|id| world.handle(*id).unwrap().to_string())
        .collect();
    let sum: f32 = measured(|| {
        let values = handles.iter().map(|handle| world.get::<B>(handle.as_str()));
        values.map(|value| value.unwrap().0).sum()
    });
    assert_eq!(sum as usize, items);
}

/// As [`two`], each with a chosen handle, and the handles.
fn two_named(items: usize) -> (World, Vec<String>) {
    let mut world = World::new();
    let handles: Vec<String> = (0..items)
        .map(|at| format!("unit/{:04}", at * 379 % items))
        .collect();
    for handle in &handles {
        world.spawn_named(handle, (A(0.5), B(1.0))).unwrap();
    }
    (world, handles)
}

fn get_by_chosen_handle_and_name(items: usize) {
    let (world, handles) = two_named(items);
    let sum: f32 = measured(|| {
        let values = handles
            .iter()
            .map(|handle| world.get_named::<B>(handle.as_str(), "B"));
        values.map(|value| value.unwrap().0).sum()
    });
    assert_eq!(sum as usize, items);
}

fn generated_handle(items: usize) {
    let (world, ids) = two(items);
    let length: usize = measured(|| {
        let handles = ids.iter().map(|id| world.handle(*id).unwrap());
        handles
            .map(|handle| black_box(&handle).as_ref().len())
            .sum()
    });
    assert_eq!(length, 36 * items);
}

fn export_2(items: usize) {
    let (world, _) = two_named(items);
    let mut text = Vec::new();
    world.export_to(&mut text, Dangling::Null).unwrap();
    let expected = std::mem::take(&mut text);
    measured(|| world.export_to(&mut text, Dangling::Null).unwrap());
    assert_eq!(text, expected);
}

fn import_2(items: usize) {
    let (world, _) = two_named(items);
    let text = world.export().to_string();
    let types = ComponentRegistry::new().with::<A>().with::<B>();
    let mut copy = World::new();
    measured(|| {
        copy.import_text(&types, &text, ImportLimits::default())
            .unwrap()
    });
    assert_eq!(copy.export().to_string(), text);
}
