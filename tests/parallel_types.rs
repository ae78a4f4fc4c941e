//! What typed systems are called, what they show, and what their parameters tell of single entities.

mod common;
mod kinds;

use std::any::{type_name, type_name_of_val};
use std::time::Duration;

use common::{Trace, manual};
use ecs::{
    Entity, Matches, ParallelSystem, Register, Res, ResMut, Typed, Value, Workers, json, parallel,
};
use kinds::Weight;

struct Shown;

impl ParallelSystem for Shown {
    type Params = ();

    fn update(&mut self, (): ()) -> ecs::SystemResult {
        Ok(())
    }

    fn export(&self) -> Value {
        json!({ "shown": 1 })
    }
}

/// One that says nothing of itself.
struct Silent;

impl ParallelSystem for Silent {
    type Params = ();

    fn update(&mut self, (): ()) -> ecs::SystemResult {
        Ok(())
    }
}

fn idle() {}

#[test]
fn types_and_exports_are_those_of_the_system_itself() {
    let (owned, _) = manual("main");
    let mut claim = owned.claim().unwrap();
    claim.add_system(Typed::new(Shown).named("shown")).unwrap();
    claim
        .add_system(Typed::new(Silent).named("silent"))
        .unwrap();
    claim.add_system(parallel("idle", idle)).unwrap();
    let cx = claim.context();
    let types = ["shown", "silent", "idle"].map(|name| cx.system_info(name).unwrap().type_name());
    assert_eq!(
        types,
        [
            type_name::<Shown>(),
            type_name::<Silent>(),
            type_name_of_val(&idle)
        ]
    );
    let systems = &claim.export()["Systems"];
    assert_eq!(systems["shown"], json!({ "shown": 1 }));
    assert_eq!(systems["silent"], json!({}));
    assert_eq!(systems["idle"], json!({}));
}

#[test]
fn matches_tell_of_single_entities() {
    for workers in [0, 1] {
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        let world = claim.world();
        let heavy = world.spawn(Weight::<false>(7));
        let plain = world.spawn(());
        let gone = world.spawn(Weight::<false>(8));
        world.despawn(gone);
        let trace = Trace::default();
        for name in ["a", "b"] {
            let noted = trace.clone();
            let look = move |weights: Matches<'_, &Weight<false>>| {
                let of = |entity: Entity| {
                    (
                        weights.get(entity).map(|weight| weight.0),
                        weights.is_alive(entity),
                    )
                };
                noted.add(format!("{:?}", [heavy, plain, gone].map(of)));
            };
            claim.add_system(parallel(name, look).every_pass()).unwrap();
        }
        claim.update().unwrap();
        let expected = format!(
            "{:?}",
            [(Some(7), true), (None::<i64>, true), (None, false)]
        );
        // spec: PAR-01
        assert_eq!(trace.take(), [expected.clone(), expected]);
    }
}

#[test]
fn a_resource_counts_as_written_where_a_typed_system_writes_it() {
    struct Score(u32);
    for workers in [0, 1] {
        let (owned, _) = manual("main");
        let mut claim = owned.claim().unwrap();
        claim.set_workers(&Workers::new(workers).unwrap());
        claim.context().set_worth_waking(Duration::ZERO);
        claim.world().insert_resource(Score(0));
        let mut reader = claim.world().resource_reader::<Score>();
        assert!(reader.changed(claim.world()).unwrap());
        let looks = |score: Res<'_, Score>| assert!(score.0 < 10);
        claim
            .add_system(parallel("looks", looks).every_pass())
            .unwrap();
        claim.update().unwrap();
        // spec: LOOK-15
        assert!(!reader.changed(claim.world()).unwrap(), "only looked at");
        let mut passes = 0;
        let seldom = move |mut score: ResMut<'_, Score>| {
            passes += 1;
            if passes % 2 == 0 {
                score.0 += 1;
            }
        };
        claim
            .add_system(parallel("seldom", seldom).every_pass())
            .unwrap();
        for pass in 1..=6 {
            claim.update().unwrap();
            // spec: LOOK-15
            assert_eq!(reader.changed(claim.world()).unwrap(), pass % 2 == 0);
        }
        assert_eq!(claim.world().resource::<Score>().unwrap().0, 3);
    }
}
