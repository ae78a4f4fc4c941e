//! What a typed system can ask for.
//!
//! One run of a system, by steps. All but `run` happen on the thread that holds the container:
//!
//! ```text
//!   bind     resolves the parameters in the world; where they stand already, that is one comparison
//!   lend     takes what they write out of the world
//!   run      on any thread, with the world shared: each parameter is fetched, and the system is called
//!   settle   puts everything back
//!   deliver  hands over what was queued: in the order of the systems, once all that may overlap have run
//! ```

use crate::base::BoxError;
use crate::parallel::access::AccessSet;
use crate::parallel::fault::ParamFault;
use crate::query::lent::Run;
use crate::runtime::declared::{Lender, Steps};
use crate::runtime::own::Own;
use crate::world::World;

/// Resolves parameters and notes what they reach.
#[doc(hidden)]
pub struct Binder<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) access: &'a mut AccessSet,
}

/// What the parameters of one run are made from.
#[doc(hidden)]
pub struct Scene<'a> {
    pub(crate) world: &'a World,
    pub(crate) own: Option<Own<'a>>,
    pub(crate) run: Run,
}

/// Something that a typed system can ask for. A function takes up to 12 of them.
///
/// | parameter | gives |
/// | --- | --- |
/// | [`Matches<Q, F>`](crate::Matches) | the entities that match a query |
/// | [`Res<T>`](crate::Res), [`ResMut<T>`](crate::ResMut) | the world's one `T`; in an `Option`, if it is there |
/// | [`Commands`](crate::Commands) | structural change that is applied later |
/// | [`Events<E>`](crate::Events), [`EventWriter<E>`](crate::EventWriter) | the events of a type, to read; and to send |
/// | [`Own`] | the running system's messages, time and log, which are `cx.this` elsewhere |
///
/// What a system does not ask for it cannot reach:
///
/// ```compile_fail,E0425
/// fn thief(mut healths: ecs::Matches<&mut u32>) -> ecs::SystemResult {
///     cx.world.clear(); // spec: PAR-04, there is no context
///     Ok(())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a system",
    label = "ask for `Matches<…>`, `Res<T>`, `ResMut<T>`, `Commands`, `Events<E>`, `EventWriter<E>`, `Own`, or a tuple of these"
)]
pub trait Param {
    /// The parameter as one run has it.
    type Item<'a>;
    #[doc(hidden)]
    type State: Send + 'static;
    /// Which of the steps do anything.
    #[doc(hidden)]
    const STEPS: Steps;

    #[doc(hidden)]
    fn bind(binder: &mut Binder<'_>) -> Result<Self::State, ParamFault>;
    /// Whether the state knows this world as it is now; it learns what is new in it.
    #[doc(hidden)]
    fn follow(state: &mut Self::State, world: &World) -> bool;
    #[doc(hidden)]
    fn lend(state: &mut Self::State, lender: &mut Lender<'_>);
    #[doc(hidden)]
    fn fetch<'a>(
        state: &'a mut Self::State,
        scene: &mut Scene<'a>,
    ) -> Result<Self::Item<'a>, BoxError>;
    #[doc(hidden)]
    fn settle(state: &mut Self::State, world: &mut World);
    #[doc(hidden)]
    fn deliver(state: &mut Self::State, world: &mut World, author: usize) {
        let _ = (state, world, author);
    }
    /// The system is shut down.
    #[doc(hidden)]
    fn retire(state: &mut Self::State, world: &mut World) {
        let _ = (state, world);
    }
}

macro_rules! tuples {
    ($(($($param:ident $at:tt),*);)*) => {$(
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple asks for nothing")]
        impl<$($param: Param),*> Param for ($($param,)*) {
            type Item<'a> = ($($param::Item<'a>,)*);
            type State = ($($param::State,)*);
            const STEPS: Steps = Steps::NONE$(.and($param::STEPS))*;

            fn bind(binder: &mut Binder<'_>) -> Result<Self::State, ParamFault> {
                Ok(($($param::bind(binder)?,)*))
            }

            fn follow(state: &mut Self::State, world: &World) -> bool {
                true $(&& $param::follow(&mut state.$at, world))*
            }

            fn lend(state: &mut Self::State, lender: &mut Lender<'_>) {
                $($param::lend(&mut state.$at, lender);)*
            }

            fn fetch<'a>(
                state: &'a mut Self::State,
                scene: &mut Scene<'a>,
            ) -> Result<Self::Item<'a>, BoxError> {
                Ok(($($param::fetch(&mut state.$at, scene)?,)*))
            }

            fn settle(state: &mut Self::State, world: &mut World) {
                $($param::settle(&mut state.$at, world);)*
            }

            fn deliver(state: &mut Self::State, world: &mut World, author: usize) {
                $($param::deliver(&mut state.$at, world, author);)*
            }

            fn retire(state: &mut Self::State, world: &mut World) {
                $($param::retire(&mut state.$at, world);)*
            }
        }
    )*};
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, G 5);
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6);
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7);
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7, J 8);
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7, J 8, K 9);
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7, J 8, K 9, L 10);
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11);
}
