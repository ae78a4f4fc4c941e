//! Model checks of the mailbox; `base::model` says how to run them.
//!
//! Each of these faults was planted by itself, and was seen by the case named:
//!
//! | fault | case |
//! | --- | --- |
//! | `take_waiting` clears `ready` after letting go of the lock | `messages_arrive_once_and_in_order` |
//! | `push` sets `ready` and rings before it takes the lock | `messages_arrive_once_and_in_order` |
//! | `push` looks at `closed` under a lock of its own | `a_closing_mailbox_discards_or_hands_back` |
//! | `push` rings before it sets `ready` | `a_bell_tells_of_every_mailbox` |
//! | `Bell::ring` stores instead of swapping | `a_bell_tells_of_every_mailbox` |
//! | `Bell::ring` swaps relaxed | `a_bell_tells_of_every_mailbox` |

use super::*;
use crate::base::model::{check, check_within, spawn};

fn inbox(bell: &Bell) -> Inbox {
    Inbox::with_bell("s".into(), MessageLimits::default(), bell.clone())
}

fn read(inbox: &mut Inbox, into: &mut Vec<u64>) {
    while let Some(message) = inbox.pop() {
        into.extend(message.as_u64());
    }
}

#[test]
fn messages_arrive_once_and_in_order() {
    // spec: LCK-04
    check_within(4, || {
        let mut inbox = inbox(&Bell::new());
        let senders = [0, 10].map(|first| {
            let mailbox = inbox.mailbox().clone();
            spawn(move || {
                mailbox.send(first.into()).unwrap();
                mailbox.send((first + 1).into()).unwrap();
            })
        });
        let mut got = Vec::new();
        for _ in 0..2 {
            inbox.collect();
            read(&mut inbox, &mut got);
        }
        for sender in senders {
            sender.join().unwrap();
        }
        inbox.collect();
        assert!(!inbox.is_ready());
        read(&mut inbox, &mut got);
        assert_eq!(got.len(), 4);
        for first in [0, 10] {
            let one: Vec<u64> = got
                .iter()
                .copied()
                .filter(|n| n / 10 == first / 10)
                .collect();
            assert_eq!(one, [first, first + 1]);
        }
    });
}

#[test]
fn what_is_unread_stays_in_front() {
    // spec: LCK-04
    check(|| {
        let mut inbox = inbox(&Bell::new());
        let mailbox = inbox.mailbox().clone();
        let sender = spawn(move || (0..3).for_each(|n| mailbox.send(n.into()).unwrap()));
        inbox.collect();
        inbox.collect();
        sender.join().unwrap();
        assert_eq!(inbox.collect(), 3);
        let mut got = Vec::new();
        read(&mut inbox, &mut got);
        assert_eq!(got, [0, 1, 2]);
    });
}

#[test]
fn a_closing_mailbox_discards_or_hands_back() {
    // spec: LCK-04
    check(|| {
        let mut inbox = inbox(&Bell::new());
        let mailbox = inbox.mailbox().clone();
        let sender = spawn(move || (0..3).filter(|n| mailbox.send((*n).into()).is_ok()).count());
        let got = inbox.collect();
        let discarded = inbox.close();
        assert!(got <= discarded);
        assert_eq!(sender.join().unwrap(), discarded);
        assert_eq!(inbox.collect(), 0);
    });
}

/// A receiver that looks at the bell alone, as a pass does.
#[test]
fn a_bell_tells_of_every_mailbox() {
    // spec: LCK-04
    check_within(4, || {
        let bell = Bell::new();
        let mut inboxes = [inbox(&bell), inbox(&bell)];
        let senders = [0, 1].map(|number| {
            let mailbox = inboxes[number].mailbox().clone();
            spawn(move || (0..2).for_each(|n| mailbox.send(n.into()).unwrap()))
        });
        let mut got = [Vec::new(), Vec::new()];
        let mut pass = || {
            if bell.silence() {
                for (inbox, got) in inboxes.iter_mut().zip(&mut got) {
                    inbox.collect();
                    read(inbox, got);
                }
            }
        };
        pass();
        pass();
        for sender in senders {
            sender.join().unwrap();
        }
        pass();
        assert_eq!(got, [[0, 1], [0, 1]]);
    });
}
