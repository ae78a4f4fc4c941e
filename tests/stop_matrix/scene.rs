//! The container that things happen to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ecs::{
    Claim, Container, ContainerState, Context, Manager, OwnedContainer, Register, StopOutcome,
    System, SystemResult,
};

use super::common::wait::{Flag, Task, bounded, no_thread_named, spawn, until};
use super::common::{forget, ms, secs};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    /// Its systems were never started.
    Unstarted,
    /// The application has updated it, and nobody has it.
    Driven,
    Claimed,
    /// The claim is never dropped.
    Forgotten,
    /// Another thread of the application is in a pass.
    InPass,
    /// Its own thread waits for the next pass, for five seconds.
    Asleep,
    /// Its own thread is in a pass.
    MidPass,
    /// Its own thread has ended by an error.
    Failed,
    Panicked,
    Stopped,
    /// Driven, and its manager has shut down.
    ManagerDown,
}

pub(crate) const STATES: [State; 11] = [
    State::Unstarted,
    State::Driven,
    State::Claimed,
    State::Forgotten,
    State::InPass,
    State::Asleep,
    State::MidPass,
    State::Failed,
    State::Panicked,
    State::Stopped,
    State::ManagerDown,
];

impl State {
    pub(crate) fn is_threaded(self) -> bool {
        matches!(
            self,
            Self::Asleep | Self::MidPass | Self::Failed | Self::Panicked
        )
    }

    /// Its systems have been shut down.
    pub(crate) fn is_torn(self) -> bool {
        matches!(self, Self::Failed | Self::Panicked | Self::Stopped)
    }

    /// A pass is under way, until it is let go on.
    pub(crate) fn is_in_pass(self) -> bool {
        matches!(self, Self::InPass | Self::MidPass)
    }

    pub(crate) fn is_claimed(self) -> bool {
        matches!(self, Self::Claimed | Self::Forgotten)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    Stop,
    RequestStop,
    ManagerShutdown,
    ManagerDrop,
    OwnerDrop,
}

pub(crate) const ACTIONS: [Action; 5] = [
    Action::Stop,
    Action::RequestStop,
    Action::ManagerShutdown,
    Action::ManagerDrop,
    Action::OwnerDrop,
];

/// How often the systems were started, shut down and dropped.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<[AtomicUsize; 3]>);

impl Ledger {
    fn add(&self, which: usize) {
        self.0[which].fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|which| self.0[which].load(Ordering::SeqCst))
    }

    pub(crate) fn shutdowns(&self) -> usize {
        self.counts()[1]
    }
}

type OnUpdate = Box<dyn FnMut() -> SystemResult + Send>;

/// A system that enters what happens to it into the ledger.
pub(crate) struct Counted {
    pub(crate) ledger: Ledger,
    pub(crate) on_update: OnUpdate,
}

impl Counted {
    pub(crate) fn new(ledger: &Ledger) -> Self {
        Self {
            ledger: ledger.clone(),
            on_update: Box::new(|| Ok(())),
        }
    }
}

impl System for Counted {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.ledger.add(0);
        Ok(())
    }

    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        (self.on_update)()
    }

    fn shutdown(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.ledger.add(1);
        Ok(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ledger.add(2);
    }
}

pub(crate) const SYSTEMS: usize = 2;

/// What the call under test answers, if it answers anything.
pub(crate) type Call = Box<dyn FnOnce() -> Option<StopOutcome> + Send>;

pub(crate) struct Scene {
    pub(crate) name: String,
    pub(crate) state: State,
    pub(crate) container: Container,
    pub(crate) ledger: Ledger,
    pub(crate) manager: Option<Manager>,
    owner: Option<OwnedContainer>,
    claim: Option<Claim>,
    pass: Option<Task<()>>,
    go: Flag,
}

impl Scene {
    /// A container in a state, listed by its manager unless its owner is to be dropped.
    pub(crate) fn new(name: &str, state: State, action: Action) -> Self {
        let manager = Manager::new();
        let (container, owner) = if action == Action::OwnerDrop {
            let owned = OwnedContainer::attached(name, &manager).unwrap();
            (Container::clone(&owned), Some(owned))
        } else {
            (manager.container(name).unwrap(), None)
        };
        container.set_silent();
        let mut scene = Self {
            name: name.to_owned(),
            state,
            container,
            ledger: Ledger::default(),
            manager: Some(manager),
            owner,
            claim: None,
            pass: None,
            go: Flag::default(),
        };
        scene.bring_about();
        scene
    }

    fn bring_about(&mut self) {
        let inside = Flag::default();
        let on_update: OnUpdate = match self.state {
            State::Failed => Box::new(|| Err("on purpose".into())),
            State::Panicked => Box::new(|| std::panic::resume_unwind(Box::new("on purpose"))),
            state if state.is_in_pass() => {
                let (entered, leave) = (inside.clone(), self.go.clone());
                Box::new(move || {
                    entered.set();
                    leave.wait("the test to let the pass go on");
                    Ok(())
                })
            }
            _ => Box::new(|| Ok(())),
        };
        let mut claim = self.container.claim().unwrap();
        let quiet = Counted::new(&self.ledger);
        claim.add_system(quiet.named("quiet").every_pass()).unwrap();
        let mut acts = Counted::new(&self.ledger);
        acts.on_update = on_update;
        claim.add_system(acts.named("acts").every_pass()).unwrap();
        drop(claim);
        let container = self.container.clone();
        match self.state {
            State::Unstarted => {}
            State::Driven | State::ManagerDown => {
                container.update().unwrap();
                if self.state == State::ManagerDown {
                    self.manager.as_ref().unwrap().shutdown();
                }
            }
            State::Stopped => {
                container.update().unwrap();
                assert_eq!(container.stop(), StopOutcome::Complete);
            }
            State::Claimed | State::Forgotten => {
                let mut claim = container.claim().unwrap();
                claim.update().unwrap();
                if self.state == State::Claimed {
                    self.claim = Some(claim);
                } else {
                    forget(claim);
                }
            }
            State::InPass => {
                self.pass = Some(spawn(move || container.update().unwrap()));
                inside.wait("the pass");
            }
            State::Asleep => {
                container.start_with(secs(5)).unwrap();
                until("the start-up step", || self.ledger.counts()[0] == SYSTEMS);
            }
            State::MidPass => {
                container.start_with(ms(0)).unwrap();
                inside.wait("the pass");
            }
            State::Failed | State::Panicked => {
                container.start_with(ms(0)).unwrap();
                until("the failure", || {
                    container.state() == ContainerState::Stopped
                });
            }
        }
    }

    /// The call under test. It takes the owner with it that it drops.
    pub(crate) fn call(&mut self, action: Action) -> Call {
        let container = self.container.clone();
        match action {
            Action::Stop => Box::new(move || Some(container.stop())),
            Action::RequestStop => Box::new(move || {
                container.request_stop();
                None
            }),
            Action::ManagerShutdown => {
                let manager = self.manager.as_ref().unwrap().reference();
                Box::new(move || {
                    manager.shutdown();
                    assert!(!manager.is_running());
                    None
                })
            }
            Action::ManagerDrop => {
                let manager = self.manager.take();
                Box::new(move || {
                    drop(manager);
                    None
                })
            }
            Action::OwnerDrop => {
                let owner = self.owner.take();
                Box::new(move || {
                    drop(owner);
                    None
                })
            }
        }
    }

    /// Whether the state of the container shows that the call has been made.
    pub(crate) fn is_asked(&self, action: Action) -> bool {
        match action {
            Action::ManagerShutdown => self.manager.as_ref().is_none_or(|it| !it.is_running()),
            _ => self.container.is_stop_requested(),
        }
    }

    /// Lets the pass go on that is under way.
    pub(crate) fn go_on(&mut self) {
        self.go.set();
        if let Some(pass) = self.pass.take() {
            pass.join("the pass");
        }
    }

    /// Ends everything from the application, and looks whether all went as it must, whatever happened before.
    pub(crate) fn settle(mut self, what: &str) {
        self.go_on();
        drop(self.claim.take());
        let container = self.container.clone();
        let stopped = bounded(&format!("the last stop ({what})"), move || container.stop());
        let forgotten = self.state == State::Forgotten;
        // spec: STOP-01, STOP-10
        let expected = if forgotten {
            StopOutcome::Requested
        } else {
            StopOutcome::Complete
        };
        // spec: STOP-01, STOP-10
        assert_eq!(stopped, expected, "{what}");
        let [started, shut, _] = self.ledger.counts();
        if !forgotten {
            // spec: SHUT-01, STOP-10, MGR-05
            assert_eq!(shut, started, "{what}");
        }
        let (owner, manager) = (self.owner.take(), self.manager.take());
        bounded(&format!("the last drop ({what})"), move || {
            drop(owner);
            drop(manager);
        });
        let expected = if forgotten {
            [SYSTEMS, 0, 0]
        } else {
            // spec: MGR-10
            assert_eq!(self.container.state(), ContainerState::Gone, "{what}");
            [started, started, SYSTEMS]
        };
        // spec: SHUT-01, MGR-10, STOP-10
        assert_eq!(self.ledger.counts(), expected, "{what}");
        // spec: MGR-03, STOP-02
        no_thread_named(&self.name);
    }
}
