//! What is handed to a container from other threads: deferred functions, their tickets, messages.
//!
//! Each of these faults was planted by itself, and was seen by the case named:
//!
//! | fault | case |
//! | --- | --- |
//! | `take_into` clears `ready` after letting go of the lock | `the_queue_tells_of_every_function` |
//! | `push` looks at `closed` under a lock of its own | `a_container_runs_or_drops_each_function_once` |
//! | the teardown does not close the queue | `a_container_runs_or_drops_each_function_once` |
//! | a pass silences the bell after collecting, not before | `a_pass_reads_what_was_sent_before_it` |

use super::*;
use crate::base::model::{check, spawn};
use crate::runtime::TicketError;
use crate::runtime::deferred::{Deferred, Queue};

/// What became of deferred functions.
#[derive(Clone, Default)]
struct Fate(Arc<(AtomicUsize, AtomicUsize)>);

impl Fate {
    /// A function that notes its run, and the end of what it captured.
    fn function(&self) -> impl FnOnce(&mut Context<'_>) -> SystemResult + Send + 'static {
        let captured = Captured(self.clone());
        move |_: &mut Context<'_>| {
            captured.0.0.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    fn ran(&self) -> usize {
        self.0.0.load(Ordering::Relaxed)
    }

    fn dropped(&self) -> usize {
        self.0.1.load(Ordering::Relaxed)
    }
}

struct Captured(Fate);

impl Drop for Captured {
    fn drop(&mut self) {
        self.0.0.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_queue_gives_out_or_drops_each_function_once() {
    // spec: LCK-04
    check(|| {
        let (queue, fate) = (Arc::new(Queue::new()), Fate::default());
        let pushing = [(); 2].map(|()| {
            let (queue, fate) = (Arc::clone(&queue), fate.clone());
            spawn(move || queue.push(Deferred::new(fate.function())))
        });
        let mut taken = Vec::new();
        if queue.is_ready() {
            queue.take_into(&mut taken);
        }
        assert_eq!(fate.dropped(), 0);
        queue.close();
        for thread in pushing {
            thread.join().unwrap();
        }
        assert!(!queue.is_ready());
        assert_eq!(fate.dropped() + taken.len(), 2);
        drop(taken);
        assert_eq!((fate.ran(), fate.dropped()), (0, 2));
    });
}

#[test]
fn the_queue_tells_of_every_function() {
    // spec: LCK-04
    check(|| {
        let (queue, fate) = (Arc::new(Queue::new()), Fate::default());
        let pushing = [(); 2].map(|()| {
            let (queue, fate) = (Arc::clone(&queue), fate.clone());
            spawn(move || queue.push(Deferred::new(fate.function())))
        });
        let mut got = 0;
        let mut take = || {
            let mut batch = Vec::new();
            if queue.is_ready() {
                queue.take_into(&mut batch);
            }
            got += batch.len();
        };
        take();
        take();
        for thread in pushing {
            thread.join().unwrap();
        }
        take();
        assert_eq!(got, 2);
    });
}

#[test]
fn a_container_runs_or_drops_each_function_once() {
    // spec: LCK-04
    check(|| {
        let (container, _) = initialized();
        let fate = Fate::default();
        let (deferring, of_other) = (container.clone(), fate.clone());
        let other = spawn(move || {
            deferring.defer(of_other.function());
            deferring.defer(of_other.function());
        });
        container.update().unwrap();
        assert_eq!(fate.ran(), fate.dropped());
        container.stop();
        let ran = fate.ran();
        other.join().unwrap();
        assert_eq!((fate.ran(), fate.dropped()), (ran, 2));
    });
}

#[test]
fn a_ticket_is_told_in_any_case() {
    // spec: LCK-04
    check(|| {
        let (container, _) = initialized();
        let deferring = container.clone();
        let other = spawn(move || deferring.defer_ticket(|_| Ok(7)).wait());
        container.update().unwrap();
        container.stop();
        assert!(matches!(
            other.join().unwrap(),
            Ok(7) | Err(TicketError::Dropped)
        ));
    });
}

#[test]
fn a_pass_reads_what_was_sent_before_it() {
    use crate::runtime::system;
    // spec: LCK-04
    check(|| {
        let container = OwnedContainer::new("main").unwrap();
        container.set_silent();
        let got = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&got);
        let reader = system("reader", move |cx: &mut Context<'_>| {
            while cx.this.next_message().is_some() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        container
            .claim()
            .unwrap()
            .add_system(reader.every_pass())
            .unwrap();
        container.claim().unwrap().initialize_systems().unwrap();
        let sending = container.mailbox("reader").unwrap();
        let other = spawn(move || (0..2).for_each(|n| sending.send(n.into()).unwrap()));
        container.update().unwrap();
        other.join().unwrap();
        container.update().unwrap();
        assert_eq!(got.load(Ordering::Relaxed), 2);
    });
}
