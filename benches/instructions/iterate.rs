//! Queries.

use ecs::{Changed, Entity, Mut, Prepared, Without, World};

use super::structure::{A, B, C, D, E, F, G, H, Loose};
use super::{Path, measured, path};

pub(super) const PATHS: &[Path] = &[
    path("for_each", 10_000, for_each),
    path("for_over_chunks", 10_000, for_over_chunks),
    path("for_over_rows", 10_000, for_over_rows),
    path("for_each_of_6", 10_000, for_each_of_6),
    path("fragmented_1_term_per_archetype", 64, fragmented_1),
    path("fragmented_2_terms_per_archetype", 64, fragmented_2),
    path("optional", 640, optional),
    path("without", 320, without),
    path("sparse_with_table", 1_000, sparse_with_table),
    path("changed_1_percent", 10_000, changed),
    path("written_through_mut", 10_000, written_through_mut),
    path("run_a_query_from_the_world", 100, small_query),
    path("view_get", 1_000, view_get),
];

fn rows(items: usize) -> World {
    let mut world = World::new();
    world.spawn_batch((0..items).map(|_| (A(1.0), B(2.0), C(3.0), D(4.0), E(5.0), F(6.0))));
    world
}

/// A query that has seen the world and ran once.
fn ready<Q: ecs::Query>(world: &mut World) -> Prepared<Q> {
    let mut query = world.prepare().unwrap();
    query.iter(world).unwrap().for_each(drop);
    query
}

fn sum(world: &mut World) -> f32 {
    world.query::<&A>().map(|a| a.0).sum()
}

fn for_each(items: usize) {
    let mut world = rows(items);
    let mut query = ready::<(&mut A, &B)>(&mut world);
    measured(|| {
        let rows = query.iter(&mut world).unwrap();
        rows.for_each(|(a, b)| a.0 += b.0);
    });
    assert_eq!(sum(&mut world) as usize, 3 * items);
}

fn for_over_chunks(items: usize) {
    let mut world = rows(items);
    let mut query = ready::<(&mut A, &B)>(&mut world);
    measured(|| {
        for chunk in query.iter(&mut world).unwrap().chunks() {
            for (a, b) in chunk {
                a.0 += b.0;
            }
        }
    });
    assert_eq!(sum(&mut world) as usize, 3 * items);
}

fn for_over_rows(items: usize) {
    let mut world = rows(items);
    let mut query = ready::<(&mut A, &B)>(&mut world);
    measured(|| {
        for (a, b) in query.iter(&mut world).unwrap() {
            a.0 += b.0;
        }
    });
    assert_eq!(sum(&mut world) as usize, 3 * items);
}

fn for_each_of_6(items: usize) {
    let mut world = rows(items);
    let mut query = ready::<(&mut A, &B, &C, &D, &E, &F)>(&mut world);
    measured(|| {
        let rows = query.iter(&mut world).unwrap();
        rows.for_each(|(a, b, c, d, e, f)| a.0 += b.0 + c.0 + d.0 + e.0 + f.0);
    });
    assert_eq!(sum(&mut world) as usize, 21 * items);
}

/// As many archetypes, a power of two, with `each` entities each; the half with odd numbers has no `B`.
fn fragmented(archetypes: usize, each: usize) -> World {
    let mut world = World::new();
    for number in 0..archetypes {
        for _ in 0..each {
            let entity = world.spawn(A(1.0));
            macro_rules! where_set {
                ($($bit:literal $kind:ident)*) => {$(
                    if number >> $bit & 1 == 1 {
                        world.insert(entity, $kind(0.0)).unwrap();
                    }
                )*};
            }
            if number & 1 == 0 {
                world.insert(entity, B(1.0)).unwrap();
            }
            where_set!(1 C 2 D 3 E 4 F 5 G 6 H);
        }
    }
    world
}

fn fragmented_1(archetypes: usize) {
    let mut world = fragmented(archetypes, 4);
    let mut query = ready::<&mut A>(&mut world);
    measured(|| query.iter(&mut world).unwrap().for_each(|a| a.0 += 1.0));
    assert_eq!(sum(&mut world) as usize, 2 * 4 * archetypes);
}

fn fragmented_2(archetypes: usize) {
    let mut world = fragmented(2 * archetypes, 4);
    let mut query = ready::<(&mut A, &B)>(&mut world);
    measured(|| {
        let rows = query.iter(&mut world).unwrap();
        rows.for_each(|(a, b)| a.0 += b.0);
    });
    assert_eq!(sum(&mut world) as usize, 12 * archetypes);
}

fn optional(items: usize) {
    let mut world = fragmented(32, items / 32);
    let mut query = ready::<(&mut A, Option<&B>)>(&mut world);
    measured(|| {
        let rows = query.iter(&mut world).unwrap();
        rows.for_each(|(a, b)| a.0 += b.map_or(2.0, |b| b.0));
    });
    assert_eq!(sum(&mut world) as usize, items * 5 / 2);
}

fn without(items: usize) {
    let mut world = fragmented(32, items / 16);
    let mut query = world.prepare_filtered::<&mut A, Without<B>>().unwrap();
    query.iter(&mut world).unwrap().for_each(drop);
    measured(|| query.iter(&mut world).unwrap().for_each(|a| a.0 += 1.0));
    assert_eq!(sum(&mut world) as usize, 3 * items);
}

fn sparse_with_table(items: usize) {
    let mut world = rows(2 * items);
    let ids: Vec<Entity> = world.query::<Entity>().step_by(2).collect();
    for id in ids {
        world.insert(id, Loose(2.0)).unwrap();
    }
    let mut query = ready::<(&mut A, &Loose)>(&mut world);
    measured(|| {
        let rows = query.iter(&mut world).unwrap();
        rows.for_each(|(a, b)| a.0 += b.0);
    });
    assert_eq!(sum(&mut world) as usize, 4 * items);
}

fn changed(items: usize) {
    let mut world = rows(items);
    let mut query = world.prepare_filtered::<&A, Changed<A>>().unwrap();
    assert_eq!(query.iter(&mut world).unwrap().count(), items);
    let ids: Vec<Entity> = world.query::<Entity>().step_by(100).collect();
    for id in &ids {
        world.get_mut::<A>(*id).unwrap().0 = 2.0;
    }
    let sum: f32 = measured(|| query.iter(&mut world).unwrap().map(|a| a.0).sum());
    assert_eq!(sum as usize, 2 * ids.len());
}

fn written_through_mut(items: usize) {
    let mut world = rows(items);
    world.track::<A>();
    let mut query = ready::<Mut<'static, A>>(&mut world);
    measured(|| query.iter(&mut world).unwrap().for_each(|mut a| a.0 += 1.0));
    assert_eq!(sum(&mut world) as usize, 2 * items);
}

fn small_query(items: usize) {
    let mut world = rows(1);
    assert_eq!(sum(&mut world) as usize, 1);
    let total: f32 = measured(|| (0..items).map(|_| sum(&mut world)).sum());
    assert_eq!(total as usize, items);
}

fn view_get(items: usize) {
    let mut world = rows(items);
    let ids: Vec<Entity> = world.query::<Entity>().collect();
    let mut query = world.prepare::<&B>().unwrap();
    let sum: f32 = measured(|| {
        let view = query.view(&world).unwrap();
        ids.iter().map(|id| view.get(*id).unwrap().0).sum()
    });
    assert_eq!(sum as usize, 2 * items);
}
