//! Access and aliasing.

use ecs::{Added, Changed, Entity, Mut, Named, Or, Query, QueryError, With, Without, World};

use super::{A, A2, B, Other, OwnName, S};

/// The verdict of every way to build a query.
fn verdict<Q: Query + 'static>() -> Option<QueryError> {
    let mut world = World::new();
    let entity = world.spawn((A(1), B(2), S(3)));
    let verdicts = [
        world.try_query::<Q>().err(),
        world.try_query_filtered::<Q, ()>().err(),
        world
            .try_query_filtered::<Q, Or<(With<A>, Without<B>)>>()
            .err(),
        world.prepare::<Q>().err(),
        world.prepare_filtered::<Q, Changed<A>>().err(),
        world.query_one::<Q>(entity).err(),
        world.query_many::<Q, 1>([entity]).err(),
        world.query_many::<Q, 0>([]).err(),
    ];
    let first = verdicts[0].clone();
    let all_refuse = verdicts
        .iter()
        .all(|verdict| verdict.is_some() == first.is_some());
    let none_matches = verdicts
        .iter()
        .all(|verdict| !matches!(verdict, Some(QueryError::Aliasing { .. })));
    // spec: LOOK-05
    assert!(all_refuse || none_matches, "{verdicts:?}");
    let short = std::panic::catch_unwind(|| drop(World::new().query::<Q>()));
    // spec: LOOK-05
    assert_eq!(
        short.is_err(),
        matches!(first, Some(QueryError::Aliasing { .. }))
    );
    first
}

/// Both orders of two terms, alone and in a nest, with the same verdict.
fn pair<P: Query + 'static, Q: Query + 'static>() -> bool {
    let verdicts = [
        verdict::<(P, Q)>(),
        verdict::<(Q, P)>(),
        verdict::<(P, Entity, (Between, (Q,)))>(),
        verdict::<((Q,), Option<(P,)>)>(),
    ];
    for verdict in verdicts.iter().flatten() {
        let QueryError::Aliasing { first, second } = verdict else {
            panic!("{verdict}")
        };
        // spec: LOOK-05
        assert!(verdict.to_string().contains(first) && verdict.to_string().contains(second));
    }
    let refused = verdicts.each_ref().map(Option::is_some);
    // spec: LOOK-05
    assert_eq!(refused, [refused[0]; 4], "{verdicts:?}");
    refused[0]
}

/// Where the group is there, all of it is.
type Group = (
    Entity,
    Option<(&'static S, &'static mut A, Option<&'static B>)>,
);

/// A term that fits between others.
type Between = &'static B;

macro_rules! pairs {
    ($($first:ty, $second:ty;)*) => { [$(pair::<$first, $second>()),*] };
}

/// bevy#796, bevy#13993, hecs#300
#[test]
fn a_component_is_reached_mutably_once() {
    let refused = pairs! {
        &mut A, &A;
        &mut A, &mut A;
        &mut A, Option<&A>;
        Option<&mut A>, &A;
        Option<&mut A>, Option<&mut A>;
        Option<Option<(&mut A, Entity)>>, &mut A;
        Mut<'static, A>, &A;
        Mut<'static, A>, &mut A;
        Mut<'static, A>, Option<Mut<'static, A>>;
        Named<&mut A, OwnName>, &A;
        Named<&A, OwnName>, &mut A;
        Named<&mut A, Other>, Named<&A, Other>;
        &mut S, &S;
        Option<(&mut S, &A)>, (&S,);
    };
    // spec: LOOK-05
    assert!(refused.iter().all(|refused| *refused), "{refused:?}");
    let accepted = pairs! {
        &A, &A;
        &A, Option<&A>;
        &mut A, &S;
        &mut A, Named<&mut A, Other>;
        Named<&A, OwnName>, &A;
        // No entity has both.
        &mut A, &mut A2;
        Entity, Entity;
    };
    // spec: LOOK-05
    assert!(accepted.iter().all(|refused| !refused), "{accepted:?}");
    let mut world = World::new();
    world.spawn(A(1));
    world.spawn(A2(1));
    assert_eq!(world.query::<(&mut A, &mut A2)>().count(), 0);
}

/// bevy#18597
#[test]
fn the_verdict_does_not_depend_on_the_order() {
    type Three = (&'static A, Option<&'static B>, Option<&'static mut A>);
    type Turned = (Option<&'static mut A>, Option<&'static B>, &'static A);
    // spec: LOOK-05
    assert!(verdict::<Three>().is_some() && verdict::<Turned>().is_some());
    // A filter borrows nothing.
    let mut world = World::new();
    world.spawn(A(1));
    // spec: LOOK-05
    assert!(
        world
            .prepare_filtered::<&mut A, (Changed<A>, Or<(Added<A>, With<A>)>)>()
            .is_ok()
    );
}

/// bevy#14629
#[test]
fn what_belongs_to_one_world_is_refused_by_another() {
    let (mut here, mut there) = (World::new(), World::new());
    // The kinds get other numbers there.
    let there_first = there.spawn((S(1), B(2), A(3)));
    let entity = here.spawn((A(7), B(8)));
    let mut query = here.prepare::<(&mut A, &B)>().unwrap();
    let mut shared = here.prepare::<&A>().unwrap();
    let mut lost = here.removed_reader::<A>().unwrap();
    let foreign = Some(QueryError::ForeignWorld);
    // spec: ENT-08
    assert_eq!(query.iter(&mut there).err(), foreign);
    assert_eq!(query.single(&mut there).err(), foreign);
    assert_eq!(query.get_mut(&mut there, there_first).err(), foreign);
    assert_eq!(query.for_each_pair(&mut there, |_, _| ()).err(), foreign);
    assert_eq!(shared.view(&there).err(), foreign);
    assert_eq!(shared.get(&there, there_first), None);
    assert_eq!(lost.next(&mut there).err(), foreign);
    // spec: ENT-08
    assert_eq!(there.get::<A>(entity), None);
    assert!(!there.contains(entity) && !there.despawn(entity) && there.handle(entity).is_none());
    assert!(there.insert(entity, A(1)).is_err() && there.spawn_reserved(entity, ()).is_err());
    assert!(there.remove::<A>(entity).is_none() && there.query_one::<&A>(entity).is_err());
    assert_eq!(query.single(&mut here).unwrap(), (&mut A(7), &B(8)));
    // A world in the place of another is another world.
    std::mem::swap(&mut here, &mut there);
    // spec: ENT-08
    assert_eq!(query.iter(&mut here).err(), foreign);
    assert_eq!(query.iter(&mut there).unwrap().count(), 1);
}

/// hecs 8df761e
#[test]
fn a_query_that_was_left_early_leaves_nothing_taken() {
    let mut world = World::new();
    let ids: Vec<_> = world
        .spawn_batch((0..70).map(|at| (S(at), A(at))))
        .collect();
    let mut query = world.prepare::<(Entity, &mut S, Option<&mut A>)>().unwrap();
    for left_at in [0, 1, 69, 70] {
        for (_, s, _) in query.iter(&mut world).unwrap().take(left_at) {
            s.0 += 1;
        }
        let all: Vec<_> = query.iter(&mut world).unwrap().map(|row| row.0).collect();
        // spec: LOOK-05, COMP-12
        assert_eq!(all, ids);
    }
    let iter = query.iter(&mut world).unwrap();
    #[expect(
        clippy::forget_non_drop,
        reason = "nobody promises that there is nothing to drop"
    )]
    std::mem::forget(iter);
    // spec: LOOK-05, COMP-12
    assert_eq!(query.iter(&mut world).unwrap().count(), 70);
    let [a, b] = query.get_many_mut(&mut world, [ids[3], ids[1]]).unwrap();
    std::mem::swap(a.1, b.1);
    // spec: LOOK-14
    assert_eq!(
        (world.get(ids[1]), world.get(ids[3])),
        (Some(&S(5)), Some(&S(3)))
    );
}

/// A term of several kinds, of which some rows have only a part: parts must not run ahead of their rows, nor count as
/// written.
#[test]
fn an_optional_group_over_a_sparse_kind_stays_in_step() {
    let mut world = World::new();
    let ids: Vec<_> = world
        .spawn_batch((0..70).map(|at| (A(at), B(at))))
        .collect();
    for (at, entity) in ids.iter().enumerate().filter(|(at, _)| at % 3 == 2) {
        world.insert(*entity, S(at as u64)).unwrap();
    }
    let mut written = world.prepare_filtered::<Entity, Changed<A>>().unwrap();
    assert_eq!(written.iter(&mut world).unwrap().count(), 70);
    for (at, (entity, group)) in world.query::<Group>().enumerate() {
        let id = ids[at];
        let at = at as u64;
        let group = group.map(|(s, a, b)| (s.0, a.0, b.map(|b| b.0)));
        let expected = (at % 3 == 2).then_some((at, at, Some(at)));
        // spec: LOOK-05
        assert_eq!((entity, group), (id, expected));
    }
    let chunks = world.query::<Group>().chunks();
    // spec: LOOK-13
    assert_eq!(
        chunks
            .flatten()
            .filter(|(_, group)| group.is_some())
            .count(),
        23
    );
    let expected: Vec<_> = ids.iter().copied().skip(2).step_by(3).collect();
    let found: Vec<_> = written.iter(&mut world).unwrap().collect();
    // spec: LOOK-09
    assert_eq!(found, expected, "only what was yielded counts as written");
}

/// A refusal counts nothing as written, wherever in the list the reason stands.
#[test]
fn several_at_once_that_are_refused_are_not_written() {
    let mut world = World::new();
    let full = world.spawn((A(1), S(1)));
    let bare = world.spawn(A(2));
    let other = world.spawn((A(3), S(3), B(3)));
    let mut written = world
        .prepare_filtered::<Entity, Or<(Changed<A>, Changed<S>)>>()
        .unwrap();
    assert_eq!(written.iter(&mut world).unwrap().count(), 3);
    for list in [
        [full, bare, other],
        [other, full, bare],
        [bare, other, full],
    ] {
        let refused = world.query_many::<(&mut A, &mut S), 3>(list).unwrap_err();
        // spec: LOOK-14
        assert_eq!(refused, QueryError::NoMatch { entity: bare });
        // spec: LOOK-09, LOOK-14
        assert_eq!(written.iter(&mut world).unwrap().count(), 0);
    }
    world
        .query_many::<(&mut A, &mut S), 2>([other, full])
        .unwrap();
    // spec: LOOK-09, LOOK-14
    assert_eq!(
        written.iter(&mut world).unwrap().collect::<Vec<_>>(),
        [full, other]
    );
}
