//! Queries that would reach one component twice are refused, whatever the order and the nesting of their terms.

mod kinds;

use std::any::type_name;

use ecs::{
    Added, Changed, Data, Entity, Mut, Named, Or, Query, QueryError, TypeName, With, Without, World,
};
use kinds::{Health, Marker, Nameless, Speed, panic_text};

type H = Health<false>;
type Sp = Health<true>;

struct Own;
impl TypeName for Own {
    const NAME: &'static str = "Health";
}

struct Other;
impl TypeName for Other {
    const NAME: &'static str = "Other";
}

/// The verdict on a query through every entry point; they must agree.
#[track_caller]
fn verdict<Q: Query + 'static>() -> Option<(String, String)> {
    let mut world = World::new();
    let entity = world.spawn((Health::<false>(1), Marker::<true>(())));
    let named = |error: QueryError| match error {
        QueryError::Aliasing { first, second } => {
            // spec: LOOK-05
            assert!(
                first.contains("Health") && second.contains("Health"),
                "{first} {second}"
            );
            (first, second)
        }
        other => panic!("{other:?} for {}", type_name::<Q>()),
    };
    let tried = world.try_query::<Q>().err().map(named);
    let filtered = world.try_query_filtered::<Q, With<H>>().err().map(named);
    let prepared = world.prepare::<Q>().err().map(named);
    let prepared_filtered = world.prepare_filtered::<Q, Changed<H>>().err().map(named);
    // spec: LOOK-05
    assert_eq!(tried, filtered, "{}", type_name::<Q>());
    assert_eq!(tried, prepared, "{}", type_name::<Q>());
    assert_eq!(tried, prepared_filtered, "{}", type_name::<Q>());
    if let Some((first, second)) = &tried {
        let one = world.query_one::<Q>(entity).err().map(named);
        let many = world.query_many::<Q, 1>([entity]).err().map(named);
        let none = world.query_many::<Q, 0>([]).err().map(named);
        // spec: LOOK-05
        assert!(
            one == tried && many == tried && none == tried,
            "{}",
            type_name::<Q>()
        );
        let texts = [
            panic_text(|| drop(world.query::<Q>())),
            panic_text(|| drop(world.query_filtered::<Q, Without<Marker<false>>>())),
        ];
        for text in texts {
            // spec: LOOK-05
            assert!(
                text.contains(first) && text.contains(second),
                "both names stand in {text:?}"
            );
        }
    }
    // The refusal leaves the world as it was.
    assert_eq!(world.get::<H>(entity), Some(&Health(1)));
    assert_eq!(world.query::<&mut H>().count(), 1);
    tried
}

macro_rules! pairs {
    ($check:ident: $($left:ty, $right:ty;)*) => {$(
        let (there, back) = (verdict::<($left, $right)>(), verdict::<($right, $left)>());
        // spec: LOOK-05
        $check(there.as_ref(), stringify!($left, $right));
        // spec: LOOK-05
        $check(back.as_ref(), stringify!($right, $left));
        // With something between, and nested on either side.
        $check(verdict::<($left, Entity, $right)>().as_ref(), stringify!($left, Entity, $right));
        $check(verdict::<(($left, &Speed<false>), $right)>().as_ref(), stringify!(($left, Speed), $right));
        $check(verdict::<($left, (Entity, ($right,)))>().as_ref(), stringify!($left, (Entity, ($right,))));
        $check(verdict::<(Option<$right>, $left)>().as_ref(), stringify!(Option<$right>, $left));
        $check(verdict::<($left, Option<($right, Entity)>)>().as_ref(), stringify!($left, Option<($right, Entity)>));
        $check(
            verdict::<(Option<($left,)>, Option<Option<$right>>)>().as_ref(),
            stringify!(Option<($left,)>, Option<Option<$right>>)
        );
        $check(verdict::<Option<($left, $right)>>().as_ref(), stringify!(Option<($left, $right)>));
    )*};
}

#[track_caller]
fn refused(verdict: Option<&(String, String)>, query: &str) {
    assert!(verdict.is_some(), "({query}) should be refused");
}

#[track_caller]
fn granted(verdict: Option<&(String, String)>, query: &str) {
    assert!(
        verdict.is_none(),
        "({query}) should be granted: {verdict:?}"
    );
}

#[test]
fn aliasing_pairs_are_refused_in_every_order() {
    pairs! {
        refused:
        &'static mut H, &'static mut H;
        &'static H, &'static mut H;
        Mut<'static, H>, &'static H;
        Mut<'static, H>, &'static mut H;
        Mut<'static, H>, Mut<'static, H>;
        Named<&'static mut H, Own>, &'static H;
        Named<&'static H, Own>, &'static mut H;
        Named<&'static mut H, Own>, &'static mut H;
        Named<&'static mut H, Own>, Named<&'static H, Own>;
        Named<&'static H, Own>, Mut<'static, H>;
        Named<&'static mut H, Other>, Named<&'static mut H, Other>;
    }
}

#[test]
fn aliasing_pairs_of_sparse_kinds_are_refused_in_every_order() {
    pairs! {
        refused:
        &'static mut Sp, &'static mut Sp;
        &'static Sp, &'static mut Sp;
        Mut<'static, Sp>, &'static Sp;
        Mut<'static, Sp>, &'static mut Sp;
        Named<&'static mut Sp, Own>, &'static Sp;
        Named<&'static H, Other>, Named<&'static mut H, Other>;
    }
}

#[test]
fn what_does_not_alias_is_granted_in_every_order() {
    pairs! {
        granted:
        &'static H, &'static H;
        &'static Sp, &'static Sp;
        &'static mut H, &'static mut Marker<false>;
        &'static mut H, &'static Marker<true>;
        &'static mut H, &'static mut Sp;
        Mut<'static, H>, Mut<'static, Sp>;
        &'static mut H, Named<&'static mut H, Other>;
        &'static H, Named<&'static H, Own>;
        Named<&'static mut H, Other>, Named<&'static mut Data, Other>;
        Named<&'static mut H, Other>, Named<&'static mut Data, Own>;
    }
}

#[test]
fn filters_borrow_nothing() {
    let mut world = World::new();
    let entity = world.spawn(Health::<false>(1));
    // spec: LOOK-05
    assert_eq!(
        world
            .query_filtered::<&mut H, Or<(With<H>, Without<H>)>>()
            .count(),
        1
    );
    let mut query = world
        .prepare_filtered::<&mut H, (With<H>, Or<(Changed<H>, Added<H>)>)>()
        .unwrap();
    // spec: LOOK-05
    assert_eq!(query.iter(&mut world).unwrap().count(), 1);
    assert_eq!(
        query.get_mut(&mut world, entity).err(),
        Some(QueryError::NoMatch { entity })
    );
}

#[test]
#[should_panic(expected = "kinds::Health<false> (\"Health\")")]
fn the_short_form_panics() {
    // spec: LOOK-05
    World::new().query::<(&H, &mut H)>();
}

#[test]
fn both_names_are_told() {
    let (first, second) = verdict::<(&H, Named<&mut H, Own>)>().unwrap();
    // spec: LOOK-05
    assert!(
        first.starts_with('&') && !first.starts_with("&mut"),
        "{first}"
    );
    assert!(second.starts_with("&mut "), "{second}");
    for text in [&first, &second] {
        assert!(
            text.contains("kinds::Health<false>") && text.contains("\"Health\""),
            "{text}"
        );
    }
}

#[test]
fn a_kind_without_a_name_is_refused() {
    let mut world = World::new();
    // spec: LOOK-05, COMP-06
    assert!(matches!(
        world.try_query::<Option<&Nameless>>().err(),
        Some(QueryError::EmptyTypeName { .. })
    ));
    assert!(world.prepare_filtered::<Entity, With<Nameless>>().is_err());
    assert!(
        world
            .prepare_filtered::<Entity, Or<(Changed<Nameless>,)>>()
            .is_err()
    );
    assert!(world.removed_reader::<Nameless>().is_err());
}
