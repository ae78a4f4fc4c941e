//! Components marked for removal while they are iterated.

use super::World;
use crate::base::caught::FirstPanic;
use crate::base::entity::Entity;
use crate::store::component::Component;

/// A list of components to be removed later: marked while the world is iterated, removed when that is over.
///
/// ```
/// # use ecs::{Component, Entity, RemovalMarks, Value, World, json};
/// # struct Poison(i32);
/// # impl Component for Poison { fn type_name() -> &'static str { "Poison" } fn export(&self) -> Value { json!(self.0) } }
/// # let mut world = World::new();
/// # world.spawn_batch((0..10).map(Poison));
/// let mut marks = RemovalMarks::default();
/// for (entity, poison) in world.query::<(Entity, &Poison)>() {
///     if poison.0 < 4 {
///         marks.mark::<Poison>(entity);
///     }
/// }
/// assert_eq!(marks.clear(&mut world), 4);
/// ```
#[derive(Default)]
pub struct RemovalMarks {
    marks: Vec<Mark>,
}

struct Mark {
    entity: Entity,
    kind: MarkKind,
}

enum MarkKind {
    Typed(fn(&mut World, Entity, &mut FirstPanic) -> bool),
    Named(String),
}

impl RemovalMarks {
    /// Marks the entity's `T`.
    pub fn mark<T: Component>(&mut self, entity: Entity) {
        let kind = MarkKind::Typed(|world, entity, panics| {
            drop_removed(world.remove::<T>(entity), panics)
        });
        self.marks.push(Mark { entity, kind });
    }

    /// Marks the entity's component under a type name.
    pub fn mark_named(&mut self, entity: Entity, type_name: impl Into<String>) {
        self.marks.push(Mark {
            entity,
            kind: MarkKind::Named(type_name.into()),
        });
    }

    /// How many marks there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Removes what is marked, in the order it was marked, empties the list, and says how many components went.
    /// What is not there any more is passed over. When a component's `Drop` panics, the rest is removed all the same
    /// before the first panic is passed on.
    pub fn clear(&mut self, world: &mut World) -> usize {
        let mut panics = FirstPanic::default();
        let removed = self.marks.drain(..).filter(|mark| match &mark.kind {
            MarkKind::Typed(remove) => remove(world, mark.entity, &mut panics),
            MarkKind::Named(name) => {
                drop_removed(world.remove_named(mark.entity, name), &mut panics)
            }
        });
        let removed = removed.count();
        panics.resume();
        removed
    }
}

/// Drops a component that was removed; whether there was one.
fn drop_removed<T>(component: Option<T>, panics: &mut FirstPanic) -> bool {
    let removed = component.is_some();
    panics.drop_value(component);
    removed
}
