//! What the borrow checker must refuse. Each of these was once a crash in somebody's library; here it does not
//! compile. The first example is what they have in common, and does compile.
//!
//! ```
//! # use ecs::{Component, Entity, Prepared, RemovalMarks, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! let mut world = World::new();
//! let entity = world.spawn(Health(10));
//! let mut marks = RemovalMarks::default();
//! for (entity, health) in world.query::<(Entity, &mut Health)>() {
//!     health.0 -= 10;
//!     marks.mark::<Health>(entity);
//! }
//! let health = world.get::<Health>(entity).unwrap();
//! println!("{}", health.0);
//! marks.clear(&mut world);
//! world.despawn(entity);
//! ```
//!
//! Structural change while iterating: spawning, inserting, removing, despawning, clearing.
//!
//! ```compile_fail,E0499
//! // spec: LOOK-10
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! for health in world.query::<&mut Health>() {
//!     world.spawn(Health(health.0));
//! }
//! ```
//!
//! ```compile_fail,E0499
//! // spec: LOOK-10
//! # use ecs::{Component, Entity, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! for (entity, _) in world.query::<(Entity, &Health)>() {
//!     world.remove::<Health>(entity);
//! }
//! ```
//!
//! ```compile_fail,E0499
//! // spec: LOOK-10
//! # use ecs::{Component, Entity, Prepared, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! # let mut query: Prepared<(Entity, &Health)> = world.prepare().unwrap();
//! for (entity, _) in query.iter(&mut world).unwrap() {
//!     world.despawn(entity);
//! }
//! ```
//!
//! ```compile_fail,E0499
//! // spec: LOOK-10
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! for chunk in world.query::<&mut Health>().chunks() {
//!     world.clear();
//!     chunk.into_slices()[0].0 = 1;
//! }
//! ```
//!
//! ```compile_fail,E0502
//! // spec: LOOK-10
//! # use ecs::World;
//! # let mut world = World::new();
//! for entity in world.entities() {
//!     world.despawn(entity.id());
//! }
//! ```
//!
//! ```compile_fail,E0502
//! // spec: LOOK-10
//! # use ecs::{Component, World};
//! # let mut world = World::new();
//! for (entity, component) in world.components("Health") {
//!     world.remove_named(entity, "Health");
//!     component.export();
//! }
//! ```
//!
//! Two mutable borrows of one component through two queries:
//!
//! ```compile_fail,E0499
//! // spec: LOOK-05
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! let a = world.query::<&mut Health>().next().unwrap();
//! let b = world.query::<&mut Health>().next().unwrap();
//! std::mem::swap(a, b);
//! ```
//!
//! A borrowed component that would outlive its replacement, its removal, its entity, its world:
//!
//! ```compile_fail,E0502
//! // spec: LOOK-11
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! # let entity = world.spawn(Health(10));
//! let health = world.get::<Health>(entity).unwrap();
//! world.replace(entity, Health(7)).unwrap();
//! println!("{}", health.0);
//! ```
//!
//! ```compile_fail,E0502
//! // spec: LOOK-11
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! # let entity = world.spawn(Health(10));
//! let component = world.component(entity, "Health").unwrap();
//! world.remove::<Health>(entity);
//! component.export();
//! ```
//!
//! ```compile_fail,E0499
//! // spec: LOOK-11
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! # let entity = world.spawn(Health(10));
//! let health = world.query_one::<&mut Health>(entity).unwrap();
//! world.despawn(entity);
//! health.0 = 1;
//! ```
//!
//! ```compile_fail,E0502
//! // spec: LOOK-11
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! # let entity = world.spawn(Health(10));
//! # let mut healths = world.prepare::<&Health>().unwrap();
//! let view = healths.view(&world).unwrap();
//! world.insert(entity, Health(7)).unwrap();
//! view.get(entity);
//! ```
//!
//! ```compile_fail,E0505
//! // spec: LOOK-11
//! # use ecs::{Component, Value, World, json};
//! # struct Health(i64);
//! # impl Component for Health { fn type_name() -> &'static str { "Health" } fn export(&self) -> Value { json!(self.0) } }
//! # let mut world = World::new();
//! # let entity = world.spawn(Health(10));
//! let health = world.get::<Health>(entity).unwrap();
//! drop(world);
//! println!("{}", health.0);
//! ```
