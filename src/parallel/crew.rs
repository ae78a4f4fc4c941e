//! Worker threads, and how they help with a level of tasks.
//!
//! Tasks are *moved* to whoever runs them and moved back, each with all it needs, so nothing is borrowed across threads
//! and nothing here is unsafe. Who fills the board works on it too, and goes on alone if no worker ever comes: no number
//! of threads, and no wait inside of a task, can make a board wait for itself.
//!
//! ```text
//!   owner    fills the board, calls n workers, works ... until nothing is left, waits for those under way, clears it
//!   worker   sleeps, takes a call, works on that board until nothing is left, sleeps
//!   task     waiting -> taken by one thread -> run, unless something has halted the board -> put back and counted
//! ```
//!
//! Tasks that take less than the locks do are taken several at once.
//!
//! Both locks are leaves: none is held while a task runs or while another is taken.

#[cfg(all(test, loom))]
mod models;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::base::lock::{AtomicBool, Condvar, Mutex, Ordering, thread};
use crate::base::user::Mark;

/// Something to be run once, on any thread.
pub(crate) trait Task: Send {
    /// What all tasks of a level share. Nobody holds it any more when the board is clear.
    type Scene: Clone + Send;

    /// Runs it. False: no further task is to begin.
    fn run(&mut self, scene: &Self::Scene) -> bool;
}

/// So many tasks at most are taken at once.
pub(crate) const LARGEST_SHARE: usize = 64;

/// Tasks that may run at the same time. It keeps its memory.
pub(crate) struct Board<T: Task> {
    tasks: Mutex<Tasks<T>>,
    finished: Condvar,
    /// No further task is to begin. Read without the lock between the tasks of a share.
    halted: AtomicBool,
}

struct Tasks<T: Task> {
    /// `None` while a task is under way.
    list: Vec<Option<T>>,
    /// There while the board is not clear.
    scene: Option<T::Scene>,
    /// The first that was not taken.
    next: usize,
    /// Shares that were taken and are not back.
    under_way: usize,
    /// So many tasks are worth to be taken at once.
    share: usize,
    /// Those who may work on this board, about.
    threads: usize,
    /// How long the shares took together.
    took: Duration,
}

impl<T: Task> Tasks<T> {
    fn has_waiting(&self) -> bool {
        self.next < self.list.len()
    }

    /// Takes a share of what waits: the fewer there are left, the smaller, so that all come to their end together.
    fn take(&mut self, share: &mut [Option<T>; LARGEST_SHARE]) -> Range<usize> {
        let waiting = self.list.get_mut(self.next..).unwrap_or_default();
        let fair = waiting.len() / (4 * self.threads);
        // Towards the end not ever smaller ones; but nobody takes what others could have begun by now.
        let least = self.share.div_ceil(8);
        let least = least.min(waiting.len().div_ceil(self.threads));
        let count = fair.clamp(least, self.share);
        let taken = waiting.iter_mut().take(count);
        for (place, task) in share.iter_mut().zip(taken) {
            *place = task.take();
        }
        let first = self.next;
        self.next = self.list.len().min(first + count);
        first..self.next
    }
}

impl<T: Task> Board<T> {
    pub(crate) fn new() -> Self {
        Self {
            tasks: Mutex::new(Tasks {
                list: Vec::new(),
                scene: None,
                next: 0,
                under_way: 0,
                share: 1,
                threads: 1,
                took: Duration::ZERO,
            }),
            finished: Condvar::new(),
            halted: AtomicBool::new(false),
        }
    }

    /// Puts tasks on the board, which is empty. Up to `share` of them, of which there are [`LARGEST_SHARE`] at most, are
    /// taken at once by each of `threads`.
    pub(crate) fn fill(&self, tasks: &mut Vec<T>, scene: T::Scene, share: usize, threads: usize) {
        let mut board = self.tasks.lock();
        board.list.extend(tasks.drain(..).map(Some));
        board.scene = Some(scene);
        board.next = 0;
        board.share = share.clamp(1, LARGEST_SHARE);
        board.threads = threads.max(1);
        board.took = Duration::ZERO;
        self.halted.store(false, Ordering::Relaxed);
    }

    /// Works until no task waits. After a halt they are taken and put back.
    pub(crate) fn work(&self) {
        let mut share = [const { None }; LARGEST_SHARE];
        let mut board = self.tasks.lock();
        while board.has_waiting() {
            let Some(scene) = board.scene.clone() else {
                return;
            };
            let places = board.take(&mut share);
            board.under_way += 1;
            drop(board);
            let begin = Instant::now();
            for task in share.iter_mut().flatten() {
                if self.halted.load(Ordering::Relaxed) {
                    break;
                }
                if !task.run(&scene) {
                    self.halted.store(true, Ordering::Relaxed);
                }
            }
            let took = begin.elapsed();
            drop(scene);
            board = self.tasks.lock();
            let places = board.list.get_mut(places).unwrap_or_default();
            for (place, task) in places.iter_mut().zip(&mut share) {
                *place = task.take();
            }
            board.took += took;
            board.under_way -= 1;
            if board.under_way == 0 && !board.has_waiting() {
                self.finished.notify_all();
            }
        }
    }

    /// Waits until no task is under way, and takes all off the board, in order. Tells how long they took together.
    pub(crate) fn clear(&self, tasks: &mut Vec<T>) -> Duration {
        let mut board = self.tasks.lock();
        while board.under_way != 0 {
            self.finished.wait(&mut board);
        }
        tasks.extend(board.list.drain(..).flatten());
        let (scene, took) = (board.scene.take(), board.took);
        drop(board);
        drop(scene);
        took
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
/// Systems should not wait for each other: those that take less time than it takes to hand them over are handed over
/// several at once, and one thread runs these one after the other.
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    impl Task for usize {
        type Scene = ();

        fn run(&mut self, (): &()) -> bool {
            true
        }
    }

    /// How many of these tasks are taken each time.
    fn shares(tasks: usize, share: usize, threads: usize) -> Vec<usize> {
        let board = Board::new();
        board.fill(&mut (0..tasks).collect(), (), share, threads);
        let mut tasks = board.tasks.lock();
        let mut taken = Vec::new();
        while tasks.has_waiting() {
            let mut places = [const { None }; LARGEST_SHARE];
            let range = tasks.take(&mut places);
            // In their order, each once.
            let next = taken.iter().sum::<usize>();
            assert_eq!(range.start, next);
            assert!(places.iter().flatten().copied().eq(range.clone()));
            taken.push(range.len());
        }
        taken
    }

    #[test]
    fn shares_shrink_so_that_all_come_to_their_end_together() {
        assert_eq!(shares(5, 1, 2), [1; 5]);
        assert_eq!(shares(0, 64, 2), [0; 0]);
        // A quarter of what is fair, an eighth of the share, and nothing that others could begin.
        assert_eq!(
            shares(100, 64, 2),
            [12, 11, 9, 8, 8, 8, 8, 8, 8, 8, 6, 3, 2, 1]
        );
        assert_eq!(shares(40, 8, 1), [8, 8, 6, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(shares(9, 1_000, 3), [3, 2, 2, 1, 1]);
    }
}
