//! What the sides of `flecs_ecs` have in common.

use std::time::Duration;

use flecs_ecs::core::QueryTuple;
use flecs_ecs::prelude::{Query, World};

use crate::harness::Clock;

/// A world with a query into it, which has to go first.
pub(crate) struct Queried<Q: QueryTuple> {
    pub(crate) query: Query<Q>,
    pub(crate) world: World,
}

/// A side that owns both; kept together, so that they are dropped in their order.
pub(crate) fn side<Q: QueryTuple + 'static>(
    world: World,
    query: Query<Q>,
    mut round: impl FnMut(&World, &Query<Q>, &mut Clock) -> u64 + 'static,
) -> impl FnMut(&mut Clock) -> u64 + 'static {
    let both = Box::new(Queried { query, world });
    move |clock| {
        let both: &Queried<Q> = &both;
        round(&both.world, &both.query, clock)
    }
}

/// What its C part has asked its own allocator for, one to a nanosecond; no allocator of Rust sees that.
#[allow(
    unsafe_code,
    reason = "the counters are plain variables of the C library"
)]
pub fn calls() -> Duration {
    use flecs_ecs::sys;
    // SAFETY: only copied; the worlds here are used by one thread.
    let calls = unsafe {
        sys::ecs_os_api_malloc_count + sys::ecs_os_api_calloc_count + sys::ecs_os_api_realloc_count
    };
    Duration::from_nanos(calls.unsigned_abs())
}
