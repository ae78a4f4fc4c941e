//! The parameters: queries, resources, the system's own things.

use std::any::{TypeId, type_name};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::param::{Binder, Param, Scene};
use crate::base::BoxError;
use crate::base::entity::Entity;
use crate::parallel::access::Thing;
use crate::parallel::fault::ParamFault;
use crate::query::error::QueryError;
use crate::query::fetch::{Query, ReadOnlyQuery};
use crate::query::filter::Filter;
use crate::query::iter::QueryIter;
use crate::query::lent::{Ground, Loan, Run};
use crate::query::prepared::Prepared;
use crate::runtime::declared::{Lender, Steps};
use crate::runtime::own::Own;
use crate::world::{LentResource, World};

/// The entities that match a query, as a parameter of a typed system.
///
/// [`Changed`](crate::Changed) and [`Added`](crate::Added) mean since this system last ran, and its own writes are not
/// news to it.
///
/// ```
/// # use ecs::{Component, Entity, Matches, SystemResult, Value, With, json};
/// # struct Position(f32); struct Velocity(f32);
/// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
/// # impl Component for Velocity { fn type_name() -> &'static str { "Velocity" } fn export(&self) -> Value { json!(self.0) } }
/// fn movement(mut moving: Matches<(&mut Position, &Velocity)>) -> SystemResult {
///     for (position, velocity) in &mut moving {
///         position.0 += velocity.0;
///     }
///     Ok(())
/// }
/// # ecs::OwnedContainer::new("main")?.claim()?.add_system(ecs::parallel("movement", movement))?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub struct Matches<'a, Q: Query, F: Filter = ()> {
    query: &'a mut Prepared<Q, F>,
    loan: &'a mut Loan,
    world: &'a World,
    run: Run,
}

/// What a system keeps of a query between its runs.
#[doc(hidden)]
pub struct MatchesState<Q: Query, F: Filter> {
    query: Prepared<Q, F>,
    loan: Loan,
}

impl<Q: Query, F: Filter> Matches<'_, Q, F> {
    fn ground(&mut self) -> (&mut Prepared<Q, F>, Ground<'_>) {
        (self.query, Ground::Lent(&self.world.store, self.loan))
    }

    /// Iterates the matches; see [`QueryIter`] for the ways to do it.
    pub fn iter(&mut self) -> QueryIter<'_, Q, F> {
        let run = self.run;
        let (query, ground) = self.ground();
        QueryIter::run(query.state(), ground, run)
    }

    /// Calls `work` with every match: the fastest way.
    pub fn for_each(&mut self, work: impl FnMut(Q::Item<'_>)) {
        self.iter().for_each(work);
    }

    /// What the query gives for one entity.
    ///
    /// # Errors
    /// [`QueryError::NoMatch`].
    pub fn get_mut(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryError> {
        let [item] = self.get_many_mut([entity])?;
        Ok(item)
    }

    /// What the query gives for several distinct entities at once.
    ///
    /// # Errors
    /// [`QueryError::NoMatch`], [`QueryError::Repeated`].
    pub fn get_many_mut<const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[Q::Item<'_>; N], QueryError> {
        let run = self.run;
        let (query, ground) = self.ground();
        query.state().get_many_mut(ground, entities, run)
    }

    /// The one match.
    ///
    /// # Errors
    /// [`QueryError::NoneMatches`], [`QueryError::SeveralMatch`].
    pub fn single(&mut self) -> Result<Q::Item<'_>, QueryError> {
        self.iter().single()
    }

    /// Whether an entity is alive, matching or not.
    pub fn is_alive(&self, entity: Entity) -> bool {
        self.world.contains(entity)
    }
}

impl<Q: ReadOnlyQuery> Matches<'_, Q> {
    /// What the query gives for one entity; `None` when it is not alive or does not match.
    pub fn get(&self, entity: Entity) -> Option<Q::Item<'_>> {
        self.query.look_at_current(&self.world.store, entity)
    }
}

#[allow(
    clippy::into_iter_without_iter,
    reason = "`iter` yields what the query asks for, mutable or not"
)]
impl<'b, Q: Query, F: Filter> IntoIterator for &'b mut Matches<'_, Q, F> {
    type Item = Q::Item<'b>;
    type IntoIter = QueryIter<'b, Q, F>;

    fn into_iter(self) -> QueryIter<'b, Q, F> {
        self.iter()
    }
}

impl<'a, Q: Query, F: Filter> IntoIterator for Matches<'a, Q, F> {
    type Item = Q::Item<'a>;
    type IntoIter = QueryIter<'a, Q, F>;

    fn into_iter(self) -> QueryIter<'a, Q, F> {
        let ground = Ground::Lent(&self.world.store, self.loan);
        QueryIter::run(self.query.state(), ground, self.run)
    }
}

impl<Q: Query + 'static, F: Filter + 'static> Param for Matches<'_, Q, F> {
    type Item<'a> = Matches<'a, Q, F>;
    type State = MatchesState<Q, F>;
    const STEPS: Steps = Steps::BIND.and(Steps::LEND);

    fn bind(binder: &mut Binder<'_>) -> Result<Self::State, ParamFault> {
        let parameter = type_name::<Matches<'static, Q, F>>();
        let store = &mut binder.world.store;
        let query = Prepared::new(store).map_err(|fault| ParamFault::Query { parameter, fault })?;
        binder.access.begin_parameter(parameter);
        binder.access.add_query(query.bound(), store)?;
        Ok(MatchesState {
            query,
            loan: Loan::default(),
        })
    }

    fn follow(state: &mut Self::State, world: &World) -> bool {
        state.query.state().core.update(&world.store).is_ok()
    }

    fn lend(state: &mut Self::State, lender: &mut Lender<'_>) {
        state
            .loan
            .swap(&state.query.state().core, &mut lender.world.store);
    }

    fn fetch<'a>(
        state: &'a mut Self::State,
        scene: &mut Scene<'a>,
    ) -> Result<Matches<'a, Q, F>, BoxError> {
        Ok(Matches {
            query: &mut state.query,
            loan: &mut state.loan,
            world: scene.world,
            run: scene.run,
        })
    }

    fn settle(state: &mut Self::State, world: &mut World) {
        state.loan.swap(&state.query.state().core, &mut world.store);
    }
}

/// The world's one `T`, to read, as a parameter of a typed system. It derefs to `T`.
///
/// A system that asks for a resource that is not there fails; `Option<Res<T>>` asks whether it is.
pub struct Res<'a, T> {
    value: &'a T,
}

impl<T> Deref for Res<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

/// The world's one `T`, to change, as a parameter of a typed system. It derefs to `T`, and counts as written when it is
/// used mutably. See [`Res`].
pub struct ResMut<'a, T> {
    value: &'a mut T,
    written: &'a mut bool,
}

impl<T> Deref for ResMut<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for ResMut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        *self.written = true;
        self.value
    }
}

#[cold]
fn missing<T>() -> BoxError {
    let name = type_name::<T>();
    format!("the world has no resource {name}: insert it, or ask for it in an Option").into()
}

fn bind_resource<T: 'static>(
    binder: &mut Binder<'_>,
    by: &'static str,
    writes: bool,
) -> Result<(), ParamFault> {
    binder.access.begin_parameter(by);
    let thing = Thing::Resource(TypeId::of::<T>());
    Ok(binder.access.add(thing, type_name::<T>(), writes)?)
}

impl<T: Send + Sync + 'static> Param for Option<Res<'_, T>> {
    type Item<'a> = Option<Res<'a, T>>;
    type State = ();
    const STEPS: Steps = Steps::NONE;

    fn bind(binder: &mut Binder<'_>) -> Result<(), ParamFault> {
        bind_resource::<T>(binder, type_name::<Res<'static, T>>(), false)
    }

    fn follow((): &mut (), _: &World) -> bool {
        true
    }

    fn lend((): &mut (), _: &mut Lender<'_>) {}

    fn fetch<'a>((): &'a mut (), scene: &mut Scene<'a>) -> Result<Self::Item<'a>, BoxError> {
        Ok(scene.world.resource::<T>().map(|value| Res { value }))
    }

    fn settle((): &mut (), _: &mut World) {}
}

impl<T: Send + Sync + 'static> Param for Res<'_, T> {
    type Item<'a> = Res<'a, T>;
    type State = ();
    const STEPS: Steps = Steps::NONE;

    fn bind(binder: &mut Binder<'_>) -> Result<(), ParamFault> {
        Option::<Res<'_, T>>::bind(binder)
    }

    fn follow((): &mut (), _: &World) -> bool {
        true
    }

    fn lend((): &mut (), _: &mut Lender<'_>) {}

    fn fetch<'a>(state: &'a mut (), scene: &mut Scene<'a>) -> Result<Self::Item<'a>, BoxError> {
        Option::<Res<'_, T>>::fetch(state, scene)?.ok_or_else(missing::<T>)
    }

    fn settle((): &mut (), _: &mut World) {}
}

/// A resource that is lent.
#[doc(hidden)]
pub struct ResMutState<T> {
    lent: LentResource,
    written: bool,
    value: PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> Param for Option<ResMut<'_, T>> {
    type Item<'a> = Option<ResMut<'a, T>>;
    type State = ResMutState<T>;
    const STEPS: Steps = Steps::LEND;

    fn bind(binder: &mut Binder<'_>) -> Result<Self::State, ParamFault> {
        bind_resource::<T>(binder, type_name::<ResMut<'static, T>>(), true)?;
        Ok(ResMutState {
            lent: LentResource::default(),
            written: false,
            value: PhantomData,
        })
    }

    fn follow(_: &mut Self::State, _: &World) -> bool {
        true
    }

    fn lend(state: &mut Self::State, lender: &mut Lender<'_>) {
        state.written = false;
        lender.world.swap_resource::<T>(&mut state.lent, false);
    }

    fn fetch<'a>(
        state: &'a mut Self::State,
        _: &mut Scene<'a>,
    ) -> Result<Self::Item<'a>, BoxError> {
        let ResMutState { lent, written, .. } = state;
        Ok(lent.get_mut().map(|value| ResMut { value, written }))
    }

    fn settle(state: &mut Self::State, world: &mut World) {
        world.swap_resource::<T>(&mut state.lent, state.written);
    }
}

impl<T: Send + Sync + 'static> Param for ResMut<'_, T> {
    type Item<'a> = ResMut<'a, T>;
    type State = ResMutState<T>;
    const STEPS: Steps = Steps::LEND;

    fn bind(binder: &mut Binder<'_>) -> Result<Self::State, ParamFault> {
        Option::<ResMut<'_, T>>::bind(binder)
    }

    fn follow(_: &mut Self::State, _: &World) -> bool {
        true
    }

    fn lend(state: &mut Self::State, lender: &mut Lender<'_>) {
        Option::<ResMut<'_, T>>::lend(state, lender);
    }

    fn fetch<'a>(
        state: &'a mut Self::State,
        scene: &mut Scene<'a>,
    ) -> Result<Self::Item<'a>, BoxError> {
        Option::<ResMut<'_, T>>::fetch(state, scene)?.ok_or_else(missing::<T>)
    }

    fn settle(state: &mut Self::State, world: &mut World) {
        Option::<ResMut<'_, T>>::settle(state, world);
    }
}

impl Param for Own<'_> {
    type Item<'a> = Own<'a>;
    type State = ();
    const STEPS: Steps = Steps::SEND;

    fn bind(binder: &mut Binder<'_>) -> Result<(), ParamFault> {
        binder.access.begin_parameter(type_name::<Own<'static>>());
        Ok(binder.access.add(Thing::Own, "", true)?)
    }

    fn follow((): &mut (), _: &World) -> bool {
        true
    }

    fn lend((): &mut (), _: &mut Lender<'_>) {}

    fn fetch<'a>((): &'a mut (), scene: &mut Scene<'a>) -> Result<Own<'a>, BoxError> {
        // One parameter at most asks for it.
        scene
            .own
            .take()
            .ok_or_else(|| "the system's own things are taken".into())
    }

    fn settle((): &mut (), _: &mut World) {}
}
