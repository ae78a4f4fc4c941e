//! Model checks of boards and workers; `base::model` says how to run them.
//!
//! Each of these faults was planted by itself, and was seen by the case named:
//!
//! | fault | case |
//! | --- | --- |
//! | `clear` does not wait for those under way | all but `workers_may_go_while_one_of_them_comes` |
//! | nobody is told when the last one is done | `every_task_runs_once_and_comes_back_in_order`, which ends the program |
//! | `work` does not look at `halted` | `after_a_halt_nothing_begins` |
//! | `work` keeps the scene until after it has put the share back | all but `workers_may_go_while_one_of_them_comes` |
//! | of a share, only the first task is put back | `shares_come_back_in_order`, `after_a_halt_nothing_begins` |
//! | `fill` leaves `next` where it stood | `every_task_runs_once_and_comes_back_in_order` and two more |
//! | `fill` leaves `halted` set | `after_a_halt_nothing_begins` |
//! | `closed` is set after the workers were woken | all |
//! | `work` takes a task under one lock and counts it under another | all but `workers_may_go_while_one_of_them_comes` |

use super::*;
use crate::base::lock::{AtomicUsize, Ordering};
use crate::base::model::{check, check_within, spawn};

/// A task that counts its runs.
struct Counted {
    number: usize,
    runs: Arc<AtomicUsize>,
    goes_on: bool,
}

/// Counts those who hold it.
struct Held(Arc<AtomicUsize>);

impl Clone for Held {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Task for Counted {
    type Scene = Held;

    fn run(&mut self, _: &Held) -> bool {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.goes_on
    }
}

fn tasks(count: usize, goes_on: bool) -> Vec<Counted> {
    let task = |number| Counted {
        number,
        runs: Arc::new(AtomicUsize::new(0)),
        goes_on,
    };
    (0..count).map(task).collect()
}

/// What an owner does with a level; gives how often each task ran, in order.
fn level(workers: &Workers, board: &Arc<Board<Counted>>, tasks: Vec<Counted>) -> Vec<usize> {
    level_in_shares(workers, board, tasks, 1)
}

fn level_in_shares(
    workers: &Workers,
    board: &Arc<Board<Counted>>,
    mut tasks: Vec<Counted>,
    share: usize,
) -> Vec<usize> {
    let (count, help) = (tasks.len(), Arc::clone(board) as Arc<dyn Help>);
    let held = Held(Arc::new(AtomicUsize::new(1)));
    board.fill(&mut tasks, held.clone(), share, 1);
    assert!(tasks.is_empty());
    workers.call(Arc::clone(&help), count - 1);
    board.work();
    workers.call_off(&help);
    board.clear(&mut tasks);
    assert_eq!(held.0.load(Ordering::Relaxed), 1, "nobody else holds it");
    let calls = workers.crew.post.calls.lock();
    assert!(
        !calls
            .list
            .iter()
            .any(|(called, _)| Arc::ptr_eq(called, &help))
    );
    drop(calls);
    let numbers = tasks.iter().map(|task| task.number);
    assert!(numbers.eq(0..count), "all are back, in order");
    let runs = tasks.iter().map(|task| task.runs.load(Ordering::Relaxed));
    runs.collect()
}

#[test]
fn every_task_runs_once_and_comes_back_in_order() {
    // spec: PAR-02, PAR-11
    check_within(3, || {
        let (workers, board) = (Workers::new(1).unwrap(), Arc::new(Board::new()));
        assert_eq!(level(&workers, &board, tasks(3, true)), [1; 3]);
        // Who was called to the first level may come to the second one.
        assert_eq!(level(&workers, &board, tasks(2, true)), [1; 2]);
    });
}

#[test]
fn several_workers_share_a_board() {
    // spec: PAR-02, PAR-11
    check_within(2, || {
        let (workers, board) = (Workers::new(2).unwrap(), Arc::new(Board::new()));
        assert_eq!(level(&workers, &board, tasks(3, true)), [1; 3]);
    });
}

#[test]
fn after_a_halt_nothing_begins() {
    // spec: PAR-10
    check_within(3, || {
        let (workers, board) = (Workers::new(1).unwrap(), Arc::new(Board::new()));
        let runs = level(&workers, &board, tasks(3, false));
        // There are two threads, and neither begins a second one.
        let begun: usize = runs.iter().sum();
        assert!((1..=2).contains(&begun) && runs.iter().all(|runs| *runs <= 1));
        assert_eq!(level(&workers, &board, tasks(2, true)), [1; 2]);
    });
    check_within(3, || {
        let (workers, board) = (Workers::new(1).unwrap(), Arc::new(Board::new()));
        let runs = level_in_shares(&workers, &board, tasks(5, false), 2);
        let begun: usize = runs.iter().sum();
        assert!((1..=2).contains(&begun) && runs.iter().all(|runs| *runs <= 1));
    });
}

#[test]
fn shares_come_back_in_order() {
    // spec: PAR-02, PAR-11
    check_within(3, || {
        let (workers, board) = (Workers::new(1).unwrap(), Arc::new(Board::new()));
        assert_eq!(level_in_shares(&workers, &board, tasks(5, true), 2), [1; 5]);
        assert_eq!(level_in_shares(&workers, &board, tasks(3, true), 3), [1; 3]);
    });
}

#[test]
fn workers_may_go_while_one_of_them_comes() {
    // spec: PAR-11
    check(|| {
        let (workers, board) = (Workers::new(1).unwrap(), Arc::new(Board::new()));
        let mut list = tasks(2, true);
        board.fill(&mut list, Held(Arc::new(AtomicUsize::new(1))), 1, 1);
        workers.call(Arc::clone(&board) as Arc<dyn Help>, 1);
        drop(workers);
        // It has ended, so it has put back what it had taken.
        board.work();
        board.clear(&mut list);
        let runs = list.iter().map(|task| task.runs.load(Ordering::Relaxed));
        assert!(runs.eq([1, 1]));
    });
}

#[test]
fn two_owners_share_a_worker() {
    // spec: PAR-11
    check_within(2, || {
        let workers = Workers::new(1).unwrap();
        let other = workers.clone();
        let beside = spawn(move || level(&other, &Arc::new(Board::new()), tasks(2, true)));
        assert_eq!(
            level(&workers, &Arc::new(Board::new()), tasks(2, true)),
            [1; 2]
        );
        drop(workers);
        assert_eq!(beside.join().unwrap(), [1; 2]);
    });
}
