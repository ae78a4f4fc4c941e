//! Functions and structs as typed systems.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;

use super::param::{Binder, Param, Scene};
use crate::base::BoxError;
use crate::base::user::Mark;
use crate::parallel::access::AccessSet;
use crate::parallel::fault::ParamFault;
use crate::query::lent::Run;
use crate::runtime::context::Context;
use crate::runtime::declared::{Declared, Lender, Steps};
use crate::runtime::own::Own;
use crate::runtime::registration::{Register, Registration};
use crate::runtime::system::{System, SystemResult};
use crate::runtime::unit;
use crate::world::World;

/// A function with [parameters](Param) as a system with a handle. It may run beside others that do not reach what it
/// writes, nor write what it reaches.
///
/// ```
/// use ecs::{Component, Matches, Own, OwnedContainer, Res, SystemResult, Value, json};
///
/// struct Position(f32);
/// impl Component for Position {
///     fn type_name() -> &'static str { "Position" }
///     fn export(&self) -> Value { json!(self.0) }
/// }
/// struct Gravity(f32);
///
/// fn fall(mut falling: Matches<&mut Position>, gravity: Res<Gravity>, this: Own) -> SystemResult {
///     let seconds = this.elapsed_seconds() as f32;
///     falling.for_each(|position| position.0 -= gravity.0 * seconds);
///     Ok(())
/// }
///
/// let container = OwnedContainer::new("main")?;
/// let mut claim = container.claim()?;
/// claim.world().insert_resource(Gravity(9.81));
/// claim.add_system(ecs::parallel("fall", fall))?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
///
/// Parameters that contradict each other are refused when the system is added, with both names:
///
/// ```
/// # use ecs::{Component, Matches, OwnedContainer, Value, json};
/// # struct Position(f32);
/// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
/// fn twice(_: Matches<&mut Position>, _: Matches<&Position>) {}
///
/// # let container = OwnedContainer::new("main")?;
/// let refused = container.claim()?.add_system(ecs::parallel("twice", twice)).unwrap_err();
/// assert!(refused.to_string().contains("writes component \"Position\""));
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub fn parallel<F, M: 'static>(
    handle: impl Into<Arc<str>>,
    function: F,
) -> Registration<Typed<Function<F, M>>>
where
    F: ParamFunction<M>,
{
    Typed::new(Function {
        function,
        marker: PhantomData,
    })
    .named(handle)
}

/// A system that says in types what it reaches, so that it may run beside others.
///
/// The parameters are written with `'static` in place of lifetimes. [`parallel`](crate::parallel()) does the same for a
/// plain function.
///
/// ```
/// use ecs::{Component, Matches, OwnedContainer, Param, ParallelSystem, Register, SystemResult, Typed, Value, json};
///
/// # struct Position(f32);
/// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
/// struct Shift { by: f32 }
///
/// impl ParallelSystem for Shift {
///     type Params = Matches<'static, &'static mut Position>;
///
///     fn update(&mut self, mut positions: Matches<'_, &'static mut Position>) -> SystemResult {
///         positions.for_each(|position| position.0 += self.by);
///         Ok(())
///     }
/// }
///
/// let container = OwnedContainer::new("main")?;
/// container.claim()?.add_system(Typed::new(Shift { by: 0.5 }).named("shift"))?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
pub trait ParallelSystem: Send + 'static {
    /// What it asks for: a parameter, or a tuple of them.
    type Params: Param;

    /// Called on each pass in which the system is due, on any thread.
    ///
    /// # Errors
    ///
    /// As [`System::update`].
    fn update(&mut self, params: <Self::Params as Param>::Item<'_>) -> SystemResult;

    /// See [`System::initialize`]. It runs alone.
    ///
    /// # Errors
    ///
    /// As there.
    fn initialize(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let _ = cx;
        Ok(())
    }

    /// See [`System::shutdown`]. It runs alone.
    ///
    /// # Errors
    ///
    /// As there.
    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let _ = cx;
        Ok(())
    }

    /// See [`System::configure`].
    ///
    /// # Errors
    ///
    /// As the system decides.
    fn configure(&mut self, config: &Value) -> SystemResult {
        let _ = config;
        Ok(())
    }

    /// What errors and listings call its type.
    #[doc(hidden)]
    fn shown_type() -> &'static str
    where
        Self: Sized,
    {
        type_name::<Self>()
    }

    /// See [`System::export`].
    fn export(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }
}

/// A [`ParallelSystem`] as a [`System`]. Timers and listeners are given it like any system.
pub struct Typed<S: ParallelSystem> {
    /// The system itself.
    pub system: S,
    state: Option<<S::Params as Param>::State>,
    access: AccessSet,
    last_run: u64,
    run: Run,
}

impl<S: ParallelSystem> Typed<S> {
    /// Makes a system of it.
    pub fn new(system: S) -> Self {
        Self {
            system,
            state: None,
            access: AccessSet::default(),
            last_run: 0,
            run: Run { since: 0, now: 0 },
        }
    }
}

impl<S: ParallelSystem> Declared for Typed<S> {
    fn bind(&mut self, world: &mut World) -> Result<bool, ParamFault> {
        if let Some(state) = &mut self.state
            && S::Params::follow(state, world)
        {
            return Ok(false);
        }
        let mut access = AccessSet::default();
        let mut binder = Binder {
            world,
            access: &mut access,
        };
        self.state = Some(S::Params::bind(&mut binder)?);
        self.access = access;
        self.last_run = 0;
        Ok(true)
    }

    fn access(&self) -> &AccessSet {
        &self.access
    }

    fn steps(&self) -> Steps {
        S::Params::STEPS
    }

    fn lend(&mut self, lender: &mut Lender<'_>) {
        self.run = Run {
            since: self.last_run,
            now: lender.world.advance_tick(),
        };
        if let Some(state) = &mut self.state {
            S::Params::lend(state, lender);
        }
    }

    fn run(&mut self, world: &World, own: Option<Own<'_>>, mark: &Mark) -> SystemResult {
        let Some(state) = &mut self.state else {
            return Ok(());
        };
        self.last_run = self.run.now;
        let run = self.run;
        unit::call_under(mark, || {
            let mut scene = Scene { world, own, run };
            let params = S::Params::fetch(state, &mut scene)?;
            self.system.update(params)
        })
    }

    fn settle(&mut self, world: &mut World) {
        if let Some(state) = &mut self.state {
            S::Params::settle(state, world);
        }
    }

    fn deliver(&mut self, world: &mut World, author: usize) {
        if let Some(state) = &mut self.state {
            S::Params::deliver(state, world, author);
        }
    }
}

impl<S: ParallelSystem> System for Typed<S> {
    fn initialize(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.system.initialize(cx)
    }

    /// Alone: where a pass does not run it beside others.
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.bind(cx.world)?;
        self.lend(&mut Lender {
            world: cx.world,
            turn: 0,
            among: 1,
        });
        let state = cx.this.state.as_deref_mut();
        let result = Own::typed(state, cx.this.shared, |own| {
            self.run(cx.world, Some(own), &Mark::enter())
        });
        self.settle(cx.world);
        cx.world.end_lending();
        if cx.shared.inlet.is_ready() {
            cx.lent.rest.take_sent(cx.world, cx.shared);
        }
        let author = cx.world.author();
        self.deliver(cx.world, author);
        if let Some(own) = &mut cx.this.state {
            own.deliver_sent(cx.world);
        }
        result
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        let result = unit::call(|| self.system.shutdown(cx));
        if let Some(state) = &mut self.state {
            S::Params::retire(state, cx.world);
        }
        result
    }

    fn configure(&mut self, config: &Value) -> SystemResult {
        self.system.configure(config)
    }

    fn export(&self) -> Value {
        self.system.export()
    }

    fn shown_type() -> &'static str {
        S::shown_type()
    }

    fn declared(&mut self) -> Option<&mut dyn Declared> {
        Some(self)
    }
}

/// A function with parameters; made by [`parallel`](crate::parallel()).
pub struct Function<F, M> {
    function: F,
    marker: PhantomData<fn() -> M>,
}

impl<F: ParamFunction<M>, M: 'static> ParallelSystem for Function<F, M> {
    type Params = F::Params;

    fn update(&mut self, params: <F::Params as Param>::Item<'_>) -> SystemResult {
        self.function.call(params)
    }

    fn shown_type() -> &'static str {
        type_name::<F>()
    }
}

/// What a system function may return: nothing, or a [`SystemResult`].
pub trait IntoResult {
    #[doc(hidden)]
    fn into_result(self) -> SystemResult;
}

impl IntoResult for () {
    fn into_result(self) -> SystemResult {
        Ok(())
    }
}

impl<E: Into<BoxError>> IntoResult for Result<(), E> {
    fn into_result(self) -> SystemResult {
        self.map_err(Into::into)
    }
}

/// A function of up to 12 [parameters](Param).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no function of parameters",
    label = "each parameter must be one that `ecs::Param` lists, and the result `()` or a `Result`"
)]
pub trait ParamFunction<M>: Send + 'static {
    #[doc(hidden)]
    type Params: Param;
    #[doc(hidden)]
    fn call(&mut self, params: <Self::Params as Param>::Item<'_>) -> SystemResult;
}

macro_rules! functions {
    ($(($($param:ident $name:ident),*);)*) => {$(
        impl<F, R, $($param: Param + 'static),*> ParamFunction<fn($($param),*) -> R> for F
        where
            F: Send + 'static,
            R: IntoResult,
            for<'f> &'f mut F: FnMut($($param),*) -> R + FnMut($($param::Item<'_>),*) -> R,
        {
            type Params = ($($param,)*);

            fn call(&mut self, ($($name,)*): <Self::Params as Param>::Item<'_>) -> SystemResult {
                // Says to the compiler which of the two signatures is meant.
                #[allow(clippy::too_many_arguments, reason = "as many as the function has")]
                fn call<$($param,)* R: IntoResult>(
                    mut function: impl FnMut($($param),*) -> R,
                    $($name: $param),*
                ) -> SystemResult {
                    function($($name),*).into_result()
                }
                call(self, $($name),*)
            }
        }
    )*};
}

functions! {
    ();
    (A a);
    (A a, B b);
    (A a, B b, C c);
    (A a, B b, C c, D d);
    (A a, B b, C c, D d, E e);
    (A a, B b, C c, D d, E e, G g);
    (A a, B b, C c, D d, E e, G g, H h);
    (A a, B b, C c, D d, E e, G g, H h, I i);
    (A a, B b, C c, D d, E e, G g, H h, I i, J j);
    (A a, B b, C c, D d, E e, G g, H h, I i, J j, K k);
    (A a, B b, C c, D d, E e, G g, H h, I i, J j, K k, L l);
    (A a, B b, C c, D d, E e, G g, H h, I i, J j, K k, L l, M m);
}
