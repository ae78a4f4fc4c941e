//! A listener's turn: it is called with one event after the other until it has changed what is to be heard.

use std::ops::Range;

use super::body::Site;
use super::context::Context;
use super::system::SystemResult;
use super::unit::OwnState;
use crate::base::lock;
use crate::event::Batch;

/// The events of one log that a listener is called with in a row.
pub(crate) struct Turn<'t, 's> {
    site: &'t mut Site<'s>,
    own: &'t mut OwnState,
    /// The system's flags when the turn began.
    states: u16,
    batch: &'t Batch,
    /// The number of the first event of the batch.
    first: u64,
    /// What it has yet to be called with.
    left: Range<u64>,
}

impl<'t, 's> Turn<'t, 's> {
    pub(crate) fn new(
        site: &'t mut Site<'s>,
        own: &'t mut OwnState,
        (batch, first): (&'t Batch, u64),
        left: Range<u64>,
    ) -> Self {
        Self {
            states: own.states(),
            site,
            own,
            batch,
            first,
            left,
        }
    }

    /// Calls it with each event, up to one with which it fails or changes what is to be heard: what follows is then left
    /// for the caller to see.
    ///
    /// A context is made for each call: what user code puts into a field of one is gone with it.
    #[inline]
    pub(crate) fn each<E: Send + Sync + 'static>(
        &mut self,
        mut call: impl FnMut(&mut Context<'_>, &E) -> SystemResult,
    ) -> SystemResult {
        for event in self
            .events::<E>()
            .ok_or("the events are others than its log's")?
        {
            lock::assert_none_held();
            // It counts as received from here on, also when the call panics.
            self.left.start += 1;
            call(&mut self.site.context(self.own), event)?;
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    fn events<E: Send + Sync + 'static>(&self) -> Option<&'t [E]> {
        let place = |number: u64| usize::try_from(number.checked_sub(self.first)?).ok();
        let range = place(self.left.start)?..place(self.left.end)?;
        self.batch.events::<E>()?.get(range)
    }

    /// Whether the call just made has removed or switched the system, asked for a stop, or put another world in place.
    #[inline]
    fn is_over(&self) -> bool {
        self.own.states() != self.states
            || self.site.is_stopping()
            || self.site.world.id() != self.site.rest.hearing.world
    }

    /// The number of the next event that it is to be called with.
    pub(crate) fn next(&self) -> u64 {
        self.left.start
    }
}
