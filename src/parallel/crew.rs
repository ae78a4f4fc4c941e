//! Worker threads, and how they help with a level of tasks.
//!
//! Tasks are *moved* to whoever runs them and moved back, each with all it needs, so nothing is borrowed across threads
//! and nothing here is unsafe. Who fills the board works on it too, and goes on alone if no worker ever comes: no number
//! of threads, and no wait inside of a task, can make a board wait for itself.
//!
//! ```text
//!   owner    fills the board, calls n workers, works ... until nothing is left, waits for those under way, clears it
//!   worker   sleeps, takes a call, works on that board until nothing is left, sleeps
//!   task     waiting -> taken by one thread -> run -> put back and counted; after a halt those that wait stay where
//!            they are
//! ```
//!
//! Both locks are leaves: none is held while a task runs or while another is taken.

#[cfg(all(test, loom))]
mod models;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;

use crate::base::lock::{Condvar, Mutex, thread};
use crate::base::user::Mark;

/// Something to be run once, on any thread.
pub(crate) trait Task: Send {
    /// Runs it. False: no further task is to begin.
    fn run(&mut self) -> bool;
}

/// Tasks that may run at the same time. It keeps its memory.
pub(crate) struct Board<T> {
    tasks: Mutex<Tasks<T>>,
    finished: Condvar,
}

struct Tasks<T> {
    /// `None` while a task is under way.
    list: Vec<Option<T>>,
    /// The first that was not taken.
    next: usize,
    under_way: usize,
    halted: bool,
}

impl<T> Tasks<T> {
    fn has_waiting(&self) -> bool {
        !self.halted && self.next < self.list.len()
    }
}

impl<T: Task> Board<T> {
    pub(crate) fn new() -> Self {
        Self {
            tasks: Mutex::new(Tasks {
                list: Vec::new(),
                next: 0,
                under_way: 0,
                halted: false,
            }),
            finished: Condvar::new(),
        }
    }

    /// Puts tasks on the board, which is empty.
    pub(crate) fn fill(&self, tasks: &mut Vec<T>) {
        let mut board = self.tasks.lock();
        board.list.extend(tasks.drain(..).map(Some));
        board.next = 0;
        board.halted = false;
    }

    /// Works until no task waits.
    pub(crate) fn work(&self) {
        let mut board = self.tasks.lock();
        while board.has_waiting() {
            let place = board.next;
            board.next += 1;
            let Some(mut task) = board.list.get_mut(place).and_then(Option::take) else {
                continue;
            };
            board.under_way += 1;
            drop(board);
            let goes_on = task.run();
            board = self.tasks.lock();
            if let Some(slot) = board.list.get_mut(place) {
                *slot = Some(task);
            }
            board.under_way -= 1;
            board.halted |= !goes_on;
            if board.under_way == 0 && !board.has_waiting() {
                self.finished.notify_all();
            }
        }
    }

    /// Waits until no task is under way, and takes all off the board, in order.
    pub(crate) fn clear(&self, tasks: &mut Vec<T>) {
        let mut board = self.tasks.lock();
        while board.under_way != 0 {
            self.finished.wait(&mut board);
        }
        tasks.extend(board.list.drain(..).flatten());
    }
}

/// A board, whatever its tasks are.
pub(crate) trait Help: Send + Sync {
    fn help(&self);
}

impl<T: Task> Help for Board<T> {
    fn help(&self) {
        self.work();
    }
}

struct Calls {
    /// Boards that want help, each with how many workers may still come.
    list: VecDeque<(Arc<dyn Help>, usize)>,
    closed: bool,
}

struct Post {
    calls: Mutex<Calls>,
    wake: Condvar,
}

impl Post {
    /// A worker's life.
    fn serve(&self) {
        let mut calls = self.calls.lock();
        loop {
            if calls.closed {
                return;
            }
            let Some((board, places)) = calls.list.front_mut() else {
                self.wake.wait(&mut calls);
                continue;
            };
            let board = Arc::clone(board);
            *places -= 1;
            if *places == 0 {
                calls.list.pop_front();
            }
            drop(calls);
            board.help();
            drop(board);
            calls = self.calls.lock();
        }
    }
}

/// Worker threads on which the systems of a pass may run at the same time.
///
/// A container that is given workers with [`Claim::set_workers`](crate::Claim::set_workers) hands them systems that do
/// not conflict; the outcome is the same with any number of them, and without. Clones share the threads, so several
/// containers can. The thread that runs a pass works too: `Workers::new(3)` makes use of four cores.
///
/// The threads end when the last clone, and the last container that has one, is gone.
///
/// ```
/// use ecs::{OwnedContainer, Workers};
///
/// let workers = Workers::new(2)?;
/// let container = OwnedContainer::new("main")?;
/// container.claim()?.set_workers(&workers);
/// assert_eq!(workers.count(), 2);
/// # Ok::<(), ecs::BoxError>(())
/// ```
#[derive(Clone)]
pub struct Workers {
    crew: Arc<Crew>,
}

struct Crew {
    post: Arc<Post>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Workers {
    /// Starts so many threads; none is a number too.
    ///
    /// # Errors
    ///
    /// What the system says when it has no thread to give; those that were started have ended then.
    pub fn new(count: usize) -> io::Result<Self> {
        let mut crew = Crew {
            post: Arc::new(Post {
                calls: Mutex::new(Calls {
                    list: VecDeque::new(),
                    closed: false,
                }),
                wake: Condvar::new(),
            }),
            threads: Vec::new(),
        };
        for number in 1..=count {
            let post = Arc::clone(&crew.post);
            let thread = thread::Builder::new().name(format!("ecs-worker-{number}"));
            crew.threads.push(thread.spawn(move || {
                // Also what the thread's locals do at its end is container code: who drops the workers waits for that.
                Mark::enter().stay();
                post.serve();
            })?);
        }
        Ok(Self {
            crew: Arc::new(crew),
        })
    }

    /// As many as there are cores beside the one that runs the pass.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn for_this_machine() -> io::Result<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        Self::new(cores - 1)
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.crew.threads.len()
    }

    /// Calls up to so many workers to a board.
    pub(crate) fn call(&self, board: Arc<dyn Help>, wanted: usize) {
        let places = wanted.min(self.count());
        if places == 0 {
            return;
        }
        let post = &self.crew.post;
        post.calls.lock().list.push_back((board, places));
        for _ in 0..places {
            post.wake.notify_one();
        }
    }

    /// Calls off whoever has not come yet.
    pub(crate) fn call_off(&self, board: &Arc<dyn Help>) {
        let mut calls = self.crew.post.calls.lock();
        calls.list.retain(|(called, _)| !Arc::ptr_eq(called, board));
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workers({})", self.count())
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.post.calls.lock().closed = true;
        self.post.wake.notify_all();
        for thread in self.threads.drain(..) {
            // The last clone may go in a system that runs on a worker.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
