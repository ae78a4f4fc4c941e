//! Applying what systems have queued, and telling observers what has changed.
//!
//! A step that fails is a failure of the system that queued it. The world's queue notes the number of its slot as the
//! author; who removes a system applies what it queued before its slot is used again.

use std::any::type_name;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::body::Body;
use super::context::Context;
use super::error::{Failure, Phase};
use super::shared::Shared;
use super::system::{System, SystemResult};
use super::unit;
use crate::base::BoxError;
use crate::world::{Commands, World};

/// A system that applies the commands queued so far, and has observers told what has changed, in its place in the order.
/// Without one both waits for the end of the pass.
///
/// Its interval is zero unless it is given another.
///
/// ```
/// use ecs::{CommitPoint, OwnedContainer, Register};
///
/// let container = OwnedContainer::new("main")?;
/// let mut claim = container.claim()?;
/// claim.add_system(ecs::system("spawner", |cx| {
///     cx.world.commands().spawn_empty();
///     Ok(())
/// }).every_pass())?;
/// claim.add_system(CommitPoint.named("spawned"))?;
/// claim.add_system(ecs::system("reader", |cx| {
///     assert_eq!(cx.world.len(), 1);
///     Ok(())
/// }).every_pass())?;
/// claim.update()?;
/// # Ok::<(), ecs::BoxError>(())
/// ```
///
/// When a command fails that was queued before it, the failure is that of the system which queued it, and the pass ends
/// here.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitPoint;

impl System for CommitPoint {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        cx.commit().map_err(Failure::pass_on)
    }

    fn default_interval() -> Duration {
        Duration::ZERO
    }
}

/// So many failures in a row of one author have a line of their own in the log.
const LINES: usize = 64;

/// Tells the systems what of theirs has failed.
struct Report<F> {
    fail: F,
    outcome: Result<(), Failure>,
    author: u32,
    /// Failures of this author in a row.
    count: usize,
    /// What it is that fails.
    noun: &'static str,
}

impl<F: FnMut(u32, BoxError) -> Failure> Report<F> {
    fn new(noun: &'static str, fail: F) -> Self {
        Self {
            fail,
            outcome: Ok(()),
            author: u32::MAX,
            count: 0,
            noun,
        }
    }

    fn failed<E: Error + Send + Sync + 'static>(&mut self, author: u32, error: &dyn Fn() -> E) {
        if author != self.author {
            self.end_row();
            self.author = author;
        }
        self.count += 1;
        if self.count <= LINES {
            self.tell(Box::new(error()));
        }
    }

    fn end(mut self) -> Result<(), Failure> {
        self.end_row();
        self.outcome
    }

    fn end_row(&mut self) {
        let count = std::mem::take(&mut self.count);
        if count > LINES {
            self.tell(format!("{} more {} failed", count - LINES, self.noun).into());
        }
    }

    fn tell(&mut self, error: BoxError) {
        let failure = (self.fail)(self.author, error);
        if self.outcome.is_ok() {
            self.outcome = Err(failure);
        }
    }
}

/// Applies what waits in a world, and tells observers; `fail` makes and logs the failure of an author.
#[cold]
fn apply(
    world: &mut World,
    shared: &Shared,
    fail: impl FnMut(u32, BoxError) -> Failure,
) -> Result<(), Failure> {
    let mut report = Report::new("commands", fail);
    world.flush("commit", &mut |_, author, error| {
        report.failed(author, error);
    });
    let applied = report.end();
    let observer = |_, error| containers(shared, type_name::<World>(), Phase::Observer, error);
    let mut report = Report::new("observers", observer);
    world.tell_observers("commit", &mut |error| report.failed(0, error));
    applied.and(report.end())
}

/// The failure of what no system has done, or one that is gone.
fn containers(shared: &Shared, type_name: &'static str, phase: Phase, error: BoxError) -> Failure {
    let failure = Failure::new(&shared.handle, type_name, phase, error);
    let logger = shared.logger.with_prefix(Arc::clone(&shared.handle));
    unit::log_failure(&logger, &failure);
    failure
}

fn nobodys(shared: &Shared, error: BoxError) -> Failure {
    containers(shared, type_name::<Commands<'_>>(), Phase::Command, error)
}

impl Body {
    /// Applies the commands that wait, and tells observers what has changed. Each failure is logged; the first one is returned.
    #[inline]
    pub(crate) fn commit(&mut self, shared: &Shared) -> Result<(), Failure> {
        if !self.world.is_unsettled() {
            return Ok(());
        }
        let units = &mut self.units;
        apply(&mut self.world, shared, |author, error| {
            let slot = units.get_mut(author as usize);
            match slot.and_then(|slot| slot.unit.as_mut()) {
                Some(unit) => unit.own.fail(Phase::Command, error),
                None => nobodys(shared, error),
            }
        })
    }
}

impl Context<'_> {
    fn commit(&mut self) -> Result<(), Failure> {
        let Self {
            world,
            this,
            lent,
            shared,
        } = self;
        apply(world, shared, |author, error| {
            let running = this.state.as_deref_mut();
            let running = running.filter(|own| own.cold.key.slot == author);
            let own = match running {
                Some(own) => Some(own),
                None => lent
                    .slot_mut(author as usize)
                    .and_then(|slot| Some(&mut slot.unit.as_mut()?.own)),
            };
            match own {
                Some(own) => own.fail(Phase::Command, error),
                None => nobodys(shared, error),
            }
        })
    }
}
