//! Faults that users of other libraries reported, as far as they concern entities, components, queries and saving.
//!
//! | kind of fault | here |
//! | --- | --- |
//! | a component reached twice, once mutably | refused: `access::*`; `Or` is a filter and borrows nothing, so it cannot stand around `&mut T` |
//! | the verdict depends on the order of terms | `access::the_verdict_does_not_depend_on_the_order` |
//! | a prepared query, reader or id of another world | `access::what_belongs_to_one_world_is_refused_by_another` |
//! | a writer's flag is released before its slice is gone | there are no flags: a running query borrows the world; the hand-out of sparse rows is renewed for each run, `access::a_query_that_was_left_early_leaves_nothing_taken` |
//! | a replaced value is never dropped, or twice | `model`, which counts every drop, panicking ones too; `dropping::a_replaced_value_is_dropped_once_by_every_path` |
//! | a user's code panics half-way | bundles are built before the call; `dropping::a_batch_whose_iterator_panics_*`, `dropping::a_loop_that_panics_*`, `import_panics` |
//! | a batch that names an entity twice, is empty, or is left unfinished | a batch makes its ids itself; `dropping::batches_may_be_empty_or_left`, `model` (`query_many` with a repeated entity) |
//! | a user's `Drop` calls the library again | it cannot reach the world that drops it, which is borrowed mutably; another one it may: `dropping::a_drop_may_use_another_world` |
//! | zero-sized and over-aligned types | `layout::*`, `model` |
//! | swap-remove leaves a stale location | `entities::the_row_that_fills_the_gap_is_found`, `model` |
//! | forged ids and handles | `entities::forged_*` |
//! | ids issued twice around reservations | `entities::reserved_ids_are_issued_once`, `model` |
//! | bulk deletion forgets versions, names, observers | `entities::a_stale_id_stays_stale_through_every_way_of_deletion` |
//! | a reused slot shows what belonged to the dead entity | `entities::a_reused_slot_shows_nothing_of_the_dead` |
//! | ticks wrap | ticks are 64 bits: a billion a second last 584 years; `ticks::an_idle_reader_*` |
//! | leaving the read loop early skips the rest | `ticks::losses_are_read_where_the_reader_stopped` |
//! | unread entries pile up for a reader that is off | a log is kept only while a reader lives: `ticks::a_reader_sees_nothing_from_before_it` |
//! | ticks no longer belong to their rows | `model`: readers beside every operation |
//! | references, generations, two imports, ids after a load | `import` |
//! | results depend on history or hash seeds | `export` |
//! | empty archetypes live for ever | `memory::ten_thousand_archetypes_cost_nothing_once_reclaimed` |
//! | despawn that is linear in something large | a despawn touches the entity's own columns, and each sparse set once for an entity that ever was in one; nothing else is kept by entity |

mod access;
mod dropping;
mod entities;
mod layout;
mod memory;
mod ticks;

use ecs::{Component, Storage, TypeName, Value, json};

macro_rules! components {
    ($($name:ident $type_name:literal $storage:ident;)*) => {$(
        #[derive(Debug, PartialEq)]
        pub(crate) struct $name(pub(crate) u64);

        impl Component for $name {
            fn type_name() -> &'static str {
                $type_name
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

components! {
    A "A" Table;
    B "B" Table;
    S "S" Sparse;

    A2 "A" Table;
}

/// A's own name.
pub(crate) struct OwnName;

impl TypeName for OwnName {
    const NAME: &'static str = "A";
}

pub(crate) struct Other;

impl TypeName for Other {
    const NAME: &'static str = "Other";
}
