//! A system that says what it reaches, as the pass sees it.

use super::own::Own;
use super::system::SystemResult;
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

/// A system that says what it reaches.
#[doc(hidden)]
pub trait Declared: Send {
    /// True when the parameters were resolved anew, so that what they reach has other numbers.
    fn bind(&mut self, world: &mut World) -> Result<bool, ParamFault>;
    fn access(&self) -> &AccessSet;
    fn lend(&mut self, lender: &mut Lender<'_>);
    fn run(&mut self, world: &World, own: Option<Own<'_>>) -> SystemResult;
    fn settle(&mut self, world: &mut World);
    /// Hands over what was queued, in the name of `author`.
    fn deliver(&mut self, world: &mut World, author: usize);
}
