//! Mailboxes: order, closing, and memory that is used again.
#![allow(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::mpsc;
use std::thread;

use ecs::{Inbox, Mailbox, MessageLimits, SendErrorKind};
use serde_json::{Value, json};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting the allocations of each thread.
struct Counting;

// SAFETY: everything is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn inbox() -> Inbox {
    Inbox::new("game/Loader", MessageLimits::default())
}

fn read(inbox: &mut Inbox) -> Vec<Value> {
    std::iter::from_fn(|| inbox.pop()).collect()
}

#[test]
fn messages_are_readable_after_a_collection_in_the_order_sent() {
    let mut inbox = inbox();
    let mailbox = inbox.mailbox().clone();
    assert_eq!(
        (mailbox.handle(), inbox.is_ready(), inbox.collect()),
        ("game/Loader", false, 0)
    );
    assert!(inbox.is_empty());
    for message in [json!(1), json!({ "destination": 7 }), json!(null)] {
        // spec: MSG-15
        mailbox.send(message).unwrap();
    }
    // spec: DEL-04
    assert!(inbox.is_ready() && inbox.is_empty() && inbox.pop().is_none());
    assert_eq!(inbox.collect(), 3);
    assert!(!inbox.is_ready() && !inbox.is_empty());
    // spec: DEL-02, MSG-12
    assert_eq!(
        read(&mut inbox),
        [json!(1), json!({ "destination": 7 }), json!(null)]
    );
}

#[test]
fn unread_messages_stay_before_those_that_arrive() {
    let mut inbox = inbox();
    let mailbox = inbox.mailbox().clone();
    let mut expected = 0..;
    let mut sent = 0..;
    for round in 0..50 {
        for message in sent.by_ref().take(round % 7) {
            mailbox.send(json!(message)).unwrap();
        }
        let unread = inbox.len();
        // spec: DEL-11
        assert_eq!(inbox.collect(), unread + round % 7);
        for _ in 0..round % 5 {
            let Some(message) = inbox.pop() else { break };
            // spec: DEL-08, DEL-02
            assert_eq!(
                Some(message),
                expected.next().map(|number: i32| json!(number))
            );
        }
    }
}

#[test]
fn a_closed_mailbox_hands_the_message_back() {
    let mut inbox = inbox();
    let mailbox = inbox.mailbox().clone();
    for _ in 0..3 {
        mailbox.send(json!(0)).unwrap();
    }
    inbox.collect();
    mailbox.send(json!(0)).unwrap();
    assert!(!mailbox.is_closed());
    assert_eq!(inbox.close(), 4);
    assert_eq!((inbox.collect(), inbox.pop(), inbox.close()), (0, None, 0));
    let error = mailbox.send(json!({ "a": [1] })).unwrap_err();
    // spec: MSG-15
    assert!(mailbox.is_closed());
    assert_eq!(
        (error.kind(), error.handle()),
        (SendErrorKind::Closed, "game/Loader")
    );
    assert_eq!(
        error.to_string(),
        "ecs::Mailbox(\"game/Loader\")::send(): the mailbox is closed: \
         its system was removed, replaced or stopped, ask for the handle's mailbox again"
    );
    // spec: MSG-15
    assert_eq!(error.into_message(), Some(json!({ "a": [1] })));
    let other = self::inbox();
    let mailbox = other.mailbox().clone();
    drop(other);
    // spec: MSG-15
    assert_eq!(
        mailbox.send(json!("late")).unwrap_err().into_message(),
        Some(json!("late"))
    );
}

#[test]
fn any_thread_may_send_and_each_message_arrives_once() {
    const SENDERS: usize = 4;
    const EACH: usize = 5000;
    let mut inbox = inbox();
    let threads: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let mailbox = inbox.mailbox().clone();
            thread::spawn(move || {
                for number in 0..EACH {
                    mailbox.send(json!([sender, number])).unwrap();
                }
            })
        })
        .collect();
    let mut next = [0; SENDERS];
    while next != [EACH; SENDERS] {
        inbox.collect();
        for message in read(&mut inbox) {
            let [sender, number] =
                [0, 1].map(|place| usize::try_from(message[place].as_u64().unwrap()).unwrap());
            // spec: DEL-01, DEL-02, DEL-07
            assert_eq!(number, next[sender]);
            next[sender] += 1;
        }
        thread::yield_now();
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(inbox.collect(), 0);
}

#[test]
fn a_message_sent_while_the_mailbox_closes_is_taken_or_handed_back() {
    for round in 0..200 {
        let mut inbox = inbox();
        let mailbox = inbox.mailbox().clone();
        let (started, wait) = mpsc::channel();
        let sender = thread::spawn(move || {
            started.send(()).unwrap();
            let mut accepted = 0;
            loop {
                match mailbox.send(json!(accepted)) {
                    Ok(()) => accepted += 1,
                    Err(error) => return (accepted, error.into_message()),
                }
            }
        });
        wait.recv().unwrap();
        let mut received = 0;
        for _ in 0..round % 3 {
            inbox.collect();
            received += read(&mut inbox).len();
        }
        let discarded = inbox.close();
        let (accepted, returned) = sender.join().unwrap();
        // spec: DEL-01
        assert_eq!(returned, Some(json!(accepted)));
        // spec: DEL-01
        assert_eq!(received + discarded, accepted);
    }
}

#[test]
fn mailboxes_go_anywhere() {
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    // spec: THD-01
    anywhere::<Mailbox>();
    // spec: THD-01
    sent::<Inbox>();
}

#[test]
fn steady_traffic_allocates_nothing() {
    let mut inbox = inbox();
    let mailbox: Mailbox = inbox.mailbox().clone();
    let mut round = |size: usize, left_unread: usize| {
        for _ in 0..size {
            mailbox.send(Value::Bool(true)).unwrap();
        }
        inbox.collect();
        while inbox.len() > left_unread {
            inbox.pop();
        }
    };
    for unread in [0, 3] {
        // The queues take turns: each has to grow once.
        (0..4).for_each(|_| round(100, unread));
        let before = ALLOCATIONS.get();
        (0..1000).for_each(|turn| round(turn % 100, unread));
        // spec: DEL-10
        assert_eq!(ALLOCATIONS.get(), before);
    }
}
