//! The start, stop and shutdown protocol of one container, as pure state: who may hold the core (world and systems),
//! and what a caller has to do next. It holds no lock, calls no user code and knows no thread; the container keeps it
//! behind its life lock, asks, lets go of the lock, and then does what the answer says.
//!
//! The core is in one place: **P** parked here, **C** claimed, **X** in an application-driven pass, **S** waiting here
//! for its thread to begin, **R** running on that thread, **T** in teardown or being dropped, **G** gone.
//!
//! | event (caller) | P | C | X | S | R | T | G |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | `claim` | → C | busy | busy | busy | busy | busy | gone |
//! | `begin_pass` (own pass: error first; stop set: nothing to do) | → X | busy | busy | busy | busy | busy | gone |
//! | `begin_claimed_pass`, `end_claimed_pass` by the claim's holder | – | → X; stop set: nothing to do | stop, not torn: → T, tear down, → C; else → C | – | – | – | – |
//! | `start` (after interval, gone, stopped, manager down; threaded: done already) | → S | busy (`start_claimed`: → S) | busy | done | done | busy | gone |
//! | `thread_begins` | – | – | – | → R; stop set: straight to `release` | – | – | – |
//! | `release` by the holder | – | stop, not torn: → T, tear down; destroy: → T, drop, → G; else → P | same | same | same | same | – |
//! | `stop`, application thread (sets stop) | torn: complete; else → T here | requested | wait | wait | wait | wait | complete |
//! | `stop`, container code (sets stop) | torn: complete; else requested | requested | requested | requested | requested | requested | complete |
//! | `destroy`, application thread (sets stop, destroy) | → T here, → G | requested | wait | wait | wait | wait | complete |
//! | `destroy`, container code | → T here, → G | requested | requested | requested | requested | requested | complete |
//!
//! Who waits for the pass of a claim, and finds C when it has ended, waits no longer: that is "requested".
//!
//! Flags only ever go up: `stop` asked for, `torn` the one teardown has begun, `destroy` the owner has let go,
//! `threaded` a start has taken effect.

/// Where the core is. See the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Parked,
    Claimed,
    Passing,
    Starting,
    Running,
    Teardown,
    Gone,
}

/// Why exclusive access was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A pass of this container runs on the calling thread.
    OwnPass,
    /// Somebody else has the core: it is in this place.
    Busy(Place),
    Gone,
}

/// Who asks. Container code never waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Application,
    ContainerCode,
}

/// What a caller of `stop` or `destroy` has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop<C> {
    /// Nothing: it has happened.
    Complete,
    /// Nothing: whoever holds the core does it on letting go.
    Requested,
    /// Tear down (or only drop, if `torn` was set) what is handed over here, then `release` it.
    Teardown(C),
    /// Wait until the holder is through: a pass, a teardown, or the container's thread, whose end is waited for as
    /// well.
    Wait,
}

/// What the holder of the core has to do after giving it back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Release<C> {
    /// Shut the systems down, then `release` again.
    Teardown(C),
    /// Drop the core, then call `dropped`.
    Drop(C),
    /// Nothing: it is parked. Waiters may be there.
    Parked,
}

/// What a caller of `start` has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Spawn the thread; on failure `spawn_failed`.
    Spawn,
    /// Nothing: an earlier start has taken effect.
    AlreadyStarted,
    /// Warn: stopped, or its manager has shut down.
    Stopped,
}

/// The protocol's state; `C` is the core that it hands over.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags of the table above, each by itself"
)]
pub(crate) struct Lifecycle<C> {
    place: Place,
    /// Here in P and S, otherwise with its holder.
    core: Option<C>,
    /// The thread of the pass in X, as a number of the caller's choice.
    holder: usize,
    stop: bool,
    torn: bool,
    destroy: bool,
    threaded: bool,
}

impl<C> Lifecycle<C> {
    pub(crate) const fn new(core: C) -> Self {
        Self {
            place: Place::Parked,
            core: Some(core),
            holder: 0,
            stop: false,
            torn: false,
            destroy: false,
            threaded: false,
        }
    }

    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    /// A stop was asked for, carried out or not.
    pub(crate) const fn stop_requested(&self) -> bool {
        self.stop
    }

    /// The teardown is over.
    pub(crate) fn is_stopped(&self) -> bool {
        self.place == Place::Gone || (self.torn && self.place != Place::Teardown)
    }

    /// A start has taken effect.
    pub(crate) const fn is_threaded(&self) -> bool {
        self.threaded
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.place == Place::Gone
    }

    /// Takes the parked core out, to another place.
    fn take(&mut self, to: Place) -> Result<C, Refused> {
        match (self.place, self.core.take()) {
            (Place::Parked, Some(core)) => {
                self.place = to;
                Ok(core)
            }
            (place, core) => {
                self.core = core;
                Err(if place == Place::Gone {
                    Refused::Gone
                } else {
                    Refused::Busy(place)
                })
            }
        }
    }

    fn is_own_pass(&self, thread: usize) -> bool {
        self.place == Place::Passing && self.holder == thread
    }

    pub(crate) fn claim(&mut self, thread: usize) -> Result<C, Refused> {
        if self.is_own_pass(thread) {
            return Err(Refused::OwnPass);
        }
        self.take(Place::Claimed)
    }

    /// `None`: stopped, there is nothing to do.
    pub(crate) fn begin_pass(&mut self, thread: usize) -> Result<Option<C>, Refused> {
        if self.is_own_pass(thread) {
            return Err(Refused::OwnPass);
        }
        if self.stop && self.place != Place::Gone {
            return Ok(None);
        }
        let core = self.take(Place::Passing)?;
        self.holder = thread;
        Ok(Some(core))
    }

    /// The holder of a claim begins a pass, which others see as one. False when stopped.
    pub(crate) fn begin_claimed_pass(&mut self, thread: usize) -> bool {
        if self.stop {
            return false;
        }
        self.place = Place::Passing;
        self.holder = thread;
        true
    }

    /// It has ended. True: a stop came meanwhile; the holder tears down, then calls `claimed_teardown_ended`.
    pub(crate) fn end_claimed_pass(&mut self) -> bool {
        self.holder = 0;
        let tear = self.stop && !self.torn;
        self.torn |= tear;
        self.place = if tear {
            Place::Teardown
        } else {
            Place::Claimed
        };
        tear
    }

    pub(crate) fn claimed_teardown_ended(&mut self) {
        self.place = Place::Claimed;
    }

    pub(crate) fn start(&mut self, manager_runs: bool) -> Result<Start, Refused> {
        match self.place {
            Place::Gone => Err(Refused::Gone),
            _ if self.stop || !manager_runs => Ok(Start::Stopped),
            _ if self.threaded => Ok(Start::AlreadyStarted),
            Place::Parked => {
                self.place = Place::Starting;
                self.threaded = true;
                Ok(Start::Spawn)
            }
            place => Err(Refused::Busy(place)),
        }
    }

    /// The holder of a claim starts the container it holds; otherwise it gets its core back.
    pub(crate) fn start_claimed(
        &mut self,
        core: C,
        manager_runs: bool,
    ) -> Result<Start, (Start, C)> {
        if self.stop || !manager_runs {
            return Err((Start::Stopped, core));
        }
        if self.threaded {
            return Err((Start::AlreadyStarted, core));
        }
        self.place = Place::Starting;
        self.core = Some(core);
        self.threaded = true;
        Ok(Start::Spawn)
    }

    /// There is no thread: the start is not used up. The core goes to the caller, to be released.
    pub(crate) fn spawn_failed(&mut self) -> Option<C> {
        self.threaded = false;
        self.core.take()
    }

    /// On the new thread: takes the core over. When a stop came first, `release` it at once.
    pub(crate) fn thread_begins(&mut self) -> Option<C> {
        let core = self.core.take();
        if core.is_some() {
            self.place = Place::Running;
        }
        core
    }

    pub(crate) fn release(&mut self, core: C) -> Release<C> {
        self.holder = 0;
        if self.stop && !self.torn {
            self.torn = true;
            self.place = Place::Teardown;
            Release::Teardown(core)
        } else if self.destroy {
            self.place = Place::Teardown;
            Release::Drop(core)
        } else {
            self.place = Place::Parked;
            self.core = Some(core);
            Release::Parked
        }
    }

    /// The core has been dropped.
    pub(crate) fn dropped(&mut self) {
        self.place = Place::Gone;
    }

    /// Only sets the flag.
    pub(crate) fn request_stop(&mut self) {
        self.stop = true;
    }

    pub(crate) fn stop(&mut self, caller: Caller) -> Stop<C> {
        self.stop = true;
        if self.is_stopped() && !self.destroy {
            return Stop::Complete;
        }
        match (self.place, caller) {
            (Place::Parked, Caller::Application) => self.teardown_here(),
            _ => self.wait_or_leave(caller),
        }
    }

    pub(crate) fn destroy(&mut self, caller: Caller) -> Stop<C> {
        self.stop = true;
        self.destroy = true;
        match self.place {
            Place::Parked => self.teardown_here(),
            _ => self.wait_or_leave(caller),
        }
    }

    fn teardown_here(&mut self) -> Stop<C> {
        match self.take(Place::Teardown) {
            Ok(core) => Stop::Teardown(core),
            Err(_) => Stop::Complete,
        }
    }

    fn wait_or_leave(&mut self, caller: Caller) -> Stop<C> {
        match (self.place, caller) {
            (Place::Gone, _) => Stop::Complete,
            (_, Caller::ContainerCode) | (Place::Claimed | Place::Parked, _) => Stop::Requested,
            _ => Stop::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: usize = 1;
    const OTHER: usize = 2;

    fn parked() -> Lifecycle<()> {
        Lifecycle::new(())
    }

    fn stopped() -> Lifecycle<()> {
        let mut life = parked();
        assert_eq!(life.stop(Caller::Application), Stop::Teardown(()));
        assert_eq!(life.release(()), Release::Teardown(()));
        assert_eq!(life.place(), Place::Teardown);
        assert!(!life.is_stopped());
        assert_eq!(life.release(()), Release::Parked);
        life
    }

    #[test]
    fn a_claim_is_refused_while_anybody_has_the_core() {
        let mut life = parked();
        life.claim(ME).unwrap();
        assert_eq!(life.claim(OTHER), Err(Refused::Busy(Place::Claimed)));
        assert_eq!(life.begin_pass(ME), Err(Refused::Busy(Place::Claimed)));
        assert_eq!(life.start(true), Err(Refused::Busy(Place::Claimed)));
        assert_eq!(life.release(()), Release::Parked);
        assert_eq!(life.begin_pass(ME), Ok(Some(())));
        assert_eq!(life.claim(ME), Err(Refused::OwnPass));
        assert_eq!(life.begin_pass(ME), Err(Refused::OwnPass));
        assert_eq!(life.claim(OTHER), Err(Refused::Busy(Place::Passing)));
    }

    #[test]
    fn a_stop_reaches_the_holder_once() {
        for caller in [Caller::Application, Caller::ContainerCode] {
            let mut life = parked();
            life.claim(ME).unwrap();
            assert_eq!(life.stop(caller), Stop::Requested);
            assert_eq!(life.release(()), Release::Teardown(()));
            assert_eq!(life.stop(Caller::Application), Stop::Wait);
            assert_eq!(life.stop(Caller::ContainerCode), Stop::Requested);
            assert_eq!(life.release(()), Release::Parked);
            assert_eq!(
                (life.stop(caller), life.is_stopped()),
                (Stop::Complete, true)
            );
        }
        let mut life = parked();
        assert_eq!(life.begin_pass(ME), Ok(Some(())));
        assert_eq!(life.stop(Caller::Application), Stop::Wait);
        assert_eq!(life.release(()), Release::Teardown(()));
    }

    #[test]
    fn what_a_stopped_container_still_does() {
        let mut life = stopped();
        assert_eq!(life.begin_pass(ME), Ok(None));
        assert_eq!(life.start(true), Ok(Start::Stopped));
        life.claim(ME).unwrap();
        assert!(life.is_stopped() && !life.begin_claimed_pass(ME));
        assert_eq!(life.release(()), Release::Parked);
        assert_eq!(life.destroy(Caller::ContainerCode), Stop::Teardown(()));
        assert_eq!(life.release(()), Release::Drop(()));
        assert!(!life.is_gone());
        life.dropped();
        assert_eq!(
            (life.claim(ME), life.begin_pass(ME)),
            (Err(Refused::Gone), Err(Refused::Gone))
        );
        assert_eq!(life.start(true), Err(Refused::Gone));
        assert_eq!(
            (life.stop(Caller::Application), life.is_gone()),
            (Stop::Complete, true)
        );
    }

    #[test]
    fn a_request_to_stop_is_kept_for_the_holder() {
        let mut life = parked();
        assert!(!life.stop_requested());
        life.request_stop();
        assert!(life.stop_requested() && !life.is_stopped());
        assert_eq!(life.begin_pass(ME), Ok(None));
        life.claim(ME).unwrap();
        assert_eq!(
            life.start_claimed((), true),
            Err((Start::Stopped, ())),
            "the core comes back"
        );
        assert_eq!(life.release(()), Release::Teardown(()));
    }

    #[test]
    fn a_pass_of_a_claim_carries_a_stop_out() {
        let mut life = parked();
        life.claim(ME).unwrap();
        assert!(life.begin_claimed_pass(ME));
        assert_eq!(life.claim(ME), Err(Refused::OwnPass));
        assert!(!life.end_claimed_pass());
        assert!(life.begin_claimed_pass(ME));
        assert_eq!(life.stop(Caller::ContainerCode), Stop::Requested);
        assert!(life.end_claimed_pass());
        assert_eq!(life.stop(Caller::Application), Stop::Wait);
        life.claimed_teardown_ended();
        assert!(life.is_stopped());
        assert_eq!(life.release(()), Release::Parked);
    }

    #[test]
    fn a_thread_is_started_once_joined_once_and_torn_down_once() {
        let mut life = parked();
        assert_eq!(life.start(false), Ok(Start::Stopped));
        assert_eq!(life.start(true), Ok(Start::Spawn));
        assert_eq!(life.start(true), Ok(Start::AlreadyStarted));
        assert_eq!(life.claim(ME), Err(Refused::Busy(Place::Starting)));
        assert!(life.is_threaded());
        assert_eq!(life.spawn_failed(), Some(()));
        assert_eq!(life.release(()), Release::Parked);
        assert!(!life.is_threaded(), "that start is not used up");

        life.claim(ME).unwrap();
        assert_eq!(
            life.start_claimed((), false),
            Err((Start::Stopped, ())),
            "the manager has shut down"
        );
        assert_eq!(life.start_claimed((), true), Ok(Start::Spawn));
        assert_eq!(life.thread_begins(), Some(()));
        assert_eq!(life.stop(Caller::ContainerCode), Stop::Requested);
        assert_eq!(life.stop(Caller::Application), Stop::Wait);
        assert_eq!(life.destroy(Caller::Application), Stop::Wait);
        assert_eq!(life.release(()), Release::Teardown(()));
        assert_eq!(life.release(()), Release::Drop(()));
    }
}
