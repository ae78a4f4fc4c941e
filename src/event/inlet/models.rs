//! Model checks of the inlet; `base::model` says how to run them.
//!
//! Each of these faults was planted by itself, and was seen by the case named:
//!
//! | fault | case |
//! | --- | --- |
//! | `take_into` clears `ready` after letting go of the lock | `every_event_arrives_once_and_in_its_senders_order` |
//! | `push` sets `ready` before it takes the lock | both |
//! | `push` looks at `closed` under a lock of its own | `a_closing_inlet_drops_or_hands_back` |
//! | `close` leaves `ready` set | `a_closing_inlet_drops_or_hands_back` |

use super::*;
use crate::base::caught::FirstPanic;
use crate::base::lock::Arc;
use crate::base::model::{check, check_within, spawn};

/// What one delivery after the other makes of it, with a reader of each type.
struct Reading {
    logs: EventLogs,
    batch: SentEvents,
    cursors: [std::sync::Arc<std::sync::atomic::AtomicU64>; 2],
}

impl Reading {
    fn new() -> Self {
        let mut logs = EventLogs::default();
        let cursors = [logs.subscribe::<u8>(), logs.subscribe::<u16>()];
        Self {
            logs,
            batch: SentEvents::default(),
            cursors,
        }
    }

    /// Takes what waits, if the hint says that something does, and gives what can be read then.
    fn take(&mut self, inlet: &Inlet) -> (Vec<u8>, Vec<u16>) {
        if inlet.is_ready() {
            inlet.take_into(&mut self.batch);
            self.batch.send(&mut self.logs);
        }
        self.logs.deliver(&mut FirstPanic::default());
        let bytes = self.logs.log().map(|log| log.read(&self.cursors[0]).0);
        let words = self.logs.log().map(|log| log.read(&self.cursors[1]).0);
        (
            bytes.into_iter().flatten().copied().collect(),
            words.into_iter().flatten().copied().collect(),
        )
    }
}

#[test]
fn every_event_arrives_once_and_in_its_senders_order() {
    // spec: EVT-01, EVT-03
    check_within(3, || {
        let inlet = Arc::new(Inlet::new());
        let senders = [0, 10].map(|first: u8| {
            let inlet = Arc::clone(&inlet);
            spawn(move || {
                assert!(inlet.push(first).is_ok());
                assert!(inlet.push(u16::from(first)).is_ok());
                assert!(inlet.push(first + 1).is_ok());
            })
        });
        let mut reading = Reading::new();
        let (mut bytes, mut words) = reading.take(&inlet);
        for sender in senders {
            sender.join().unwrap();
        }
        for _ in 0..2 {
            let (more_bytes, more_words) = reading.take(&inlet);
            bytes.extend(more_bytes);
            words.extend(more_words);
        }
        assert!(!inlet.is_ready());
        for first in [0, 10] {
            let of = bytes.iter().filter(|byte| **byte / 10 == first / 10);
            assert!(of.eq(&[first, first + 1]));
        }
        words.sort_unstable();
        assert_eq!(words, [0, 10]);
    });
}

#[test]
fn a_closing_inlet_drops_or_hands_back() {
    // spec: EVT-01
    check(|| {
        let inlet = Arc::new(Inlet::new());
        let sender = {
            let inlet = Arc::clone(&inlet);
            spawn(move || [1_u8, 2].map(|event| inlet.push(event).is_ok()))
        };
        inlet.close();
        let accepted = sender.join().unwrap();
        // One that was refused is followed by no other that is accepted.
        assert!(accepted != [false, true]);
        assert!(!inlet.is_ready());
        assert_eq!(Reading::new().take(&inlet), (vec![], vec![]));
        assert_eq!(inlet.push(3_u8), Err(3));
    });
}
