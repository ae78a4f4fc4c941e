//! A system that says what it reaches, as the pass sees it.

use super::own::Own;
use super::system::SystemResult;
use crate::base::user::Mark;
use crate::parallel::access::AccessSet;
use crate::parallel::fault::ParamFault;
use crate::world::World;

/// What systems are lent from: those of one level one after the other.
#[doc(hidden)]
pub struct Lender<'a> {
    pub(crate) world: &'a mut World,
    /// Of those that queue commands: the next one's number, and how many they are.
    pub(crate) turn: u32,
    pub(crate) among: u32,
}

/// What a pass has to do around the runs of a system, known from its parameters: the others are spared it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps(u8);

impl Steps {
    pub(crate) const NONE: Self = Self(0);
    /// It is bound again before each run, which is a comparison as a rule.
    pub(crate) const BIND: Self = Self(1);
    /// Something is lent to it for each run, and put back.
    pub(crate) const LEND: Self = Self(2);
    /// That includes ids for the entities that its commands spawn.
    pub(crate) const LEND_IDS: Self = Self(4);
    /// It queues what is handed over in the order of the systems.
    pub(crate) const DELIVER: Self = Self(8);
    /// It may send through its own things.
    pub(crate) const SEND: Self = Self(16);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether one of these is among them.
    #[inline]
    pub(crate) const fn include(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A system that says what it reaches.
#[doc(hidden)]
pub trait Declared: Send {
    /// True when the parameters were resolved anew, so that what they reach has other numbers.
    fn bind(&mut self, world: &mut World) -> Result<bool, ParamFault>;
    fn access(&self) -> &AccessSet;
    fn steps(&self) -> Steps;
    fn lend(&mut self, lender: &mut Lender<'_>);
    fn run(&mut self, world: &World, own: Option<Own<'_>>, mark: &Mark) -> SystemResult;
    fn settle(&mut self, world: &mut World);
    /// Hands over what was queued, in the name of `author`.
    fn deliver(&mut self, world: &mut World, author: usize);
}
