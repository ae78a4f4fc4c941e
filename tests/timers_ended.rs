//! What is left of timers that have ended: nothing.

mod common;

use std::sync::Arc;

use common::{manual, us};
use ecs::{Claim, Timer};

fn with_system(claim: &mut Claim) {
    let system = ecs::system("s", |_| Ok(())).every_pass();
    claim.add_system(system).unwrap();
}

#[test]
fn a_timer_that_ended_is_forgotten_with_its_name() {
    let (container, clock) = manual("main");
    let mut claim = container.claim().unwrap();
    with_system(&mut claim);
    let names: [Arc<str>; 3] = ["fires", "is cleared", "is cleared by another"].map(Arc::from);
    let [fires, cleared, by_another] = names.each_ref().map(Arc::clone);
    let mut cx = claim.context();
    let mut add = |timer| cx.add_timer("s", timer).unwrap();
    add(Timer::once("clears", us(10), |cx| {
        cx.this.clear_timer("is cleared by another");
        Ok(())
    }));
    add(Timer::once(fires, us(10), |_| Ok(())));
    add(Timer::every(cleared, us(10), |_| Ok(())));
    add(Timer::every(by_another, us(10), |_| Ok(())));
    let held = || names.each_ref().map(Arc::strong_count);
    assert_eq!(held(), [2, 2, 2]);
    cx.clear_timer("s", "is cleared");
    // spec: TIM-06
    assert_eq!(held(), [2, 1, 2]);
    clock.advance(us(10)).unwrap();
    claim.update().unwrap();
    // spec: TIM-02, TIM-09, TIM-10
    assert_eq!(held(), [1, 1, 1]);
}

#[test]
fn callbacks_that_panic_when_dropped_are_dropped_one_by_one() {
    struct Bomb {
        _alive: Arc<()>,
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let (container, _) = manual("main");
    let mut claim = container.claim().unwrap();
    with_system(&mut claim);
    let alive = Arc::new(());
    for name in ["one", "two", "three"] {
        let bomb = Bomb {
            _alive: Arc::clone(&alive),
        };
        let timer = Timer::every(name, us(10), move |_| {
            let _ = &bomb;
            Ok(())
        });
        claim.context().add_timer("s", timer).unwrap();
    }
    assert_eq!(Arc::strong_count(&alive), 4);
    // spec: SHUT-04
    assert!(claim.remove_system("s"), "two panics at once would abort");
    assert_eq!(Arc::strong_count(&alive), 1);
    claim.update().unwrap();
}
