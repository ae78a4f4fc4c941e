//! Model checks of the way from a handle to a mailbox; `base::model` says how to run them.
//!
//! Each of these faults was planted by itself, and was seen by the case named:
//!
//! | fault | case |
//! | --- | --- |
//! | `insert` closes the old mailbox before the new one is in the table | `a_replacement_loses_no_message` |
//! | `push_or_look_again` does not look again | `a_replacement_loses_no_message` |
//! | it looks again only once | `two_replacements_in_a_row_are_never_seen_as_no_system` |
//! | `insert` leaves a mailbox open that comes after `close` | `a_closed_table_takes_nothing` |
//! | `close` leaves the mailboxes open | `a_closed_table_takes_nothing` |
//! | `remove` leaves the mailbox open | `a_removal_discards_or_refuses` |

use super::*;
use crate::base::model::{check, spawn};
use serde_json::json;

fn to_s(number: u64) -> Value {
    json!({ "destination": { "system": "s" }, "number": number })
}

fn routes() -> Arc<Routes> {
    Arc::new(Routes::new("main".into(), MessageLimits::default()))
}

fn read(inbox: &mut Inbox) -> Vec<u64> {
    inbox.collect();
    let mut numbers = Vec::new();
    while let Some(message) = inbox.pop() {
        numbers.extend(message["number"].as_u64());
    }
    numbers
}

#[test]
fn a_replacement_loses_no_message() {
    // spec: LCK-04, DEL-06
    check(|| {
        let routes = routes();
        let mut old = routes.new_inbox("s".into());
        routes.insert(old.mailbox());
        let sending = Arc::clone(&routes);
        let sender = spawn(move || (0..2).for_each(|n| sending.submit(to_s(n)).unwrap()));
        let mut new = routes.new_inbox("s".into());
        routes.insert(new.mailbox());
        assert!(old.mailbox().is_closed() && read(&mut old).is_empty());
        sender.join().unwrap();
        // What came before the replacement went with the old system; nothing of it reaches the new one.
        let got = read(&mut new);
        assert!([&[][..], &[1], &[0, 1]].contains(&&*got), "{got:?}");
    });
}

/// The sender may be caught between both times.
#[test]
fn two_replacements_in_a_row_are_never_seen_as_no_system() {
    // spec: LCK-04, DEL-06
    check(|| {
        let routes = routes();
        let mut inboxes = [0; 3].map(|_| routes.new_inbox("s".into()));
        routes.insert(inboxes[0].mailbox());
        let sending = Arc::clone(&routes);
        let sender = spawn(move || sending.submit(to_s(7)).unwrap());
        routes.insert(inboxes[1].mailbox());
        routes.insert(inboxes[2].mailbox());
        sender.join().unwrap();
        let got = read(&mut inboxes[2]);
        assert!(got.is_empty() || got == [7], "{got:?}");
    });
}

#[test]
fn a_removal_discards_or_refuses() {
    // spec: LCK-04, DEL-06
    check(|| {
        let routes = routes();
        let mut inbox = routes.new_inbox("s".into());
        routes.insert(inbox.mailbox());
        let sending = Arc::clone(&routes);
        let sender = spawn(move || {
            [0, 1].map(|n| {
                sending
                    .submit(to_s(n))
                    .map_err(|error| error.kind().clone())
            })
        });
        assert!(routes.remove("s"));
        assert!(read(&mut inbox).is_empty());
        let absent = Err(MessageErrorKind::SystemNotFound {
            container: "main".to_owned(),
            system: "s".to_owned(),
        });
        let sent = sender.join().unwrap();
        assert!(sent.iter().all(|one| *one == Ok(()) || *one == absent));
        assert!(sent[0].is_ok() || sent[1].is_err());
    });
}

/// One mailbox at a time is in the table: it is closed in the order of a hash, which differs from run to run.
#[test]
fn a_closed_table_takes_nothing() {
    // spec: LCK-04
    check(|| {
        let routes = routes();
        let other = Arc::clone(&routes);
        let registering = spawn(move || {
            let inbox = other.new_inbox("s".into());
            other.insert(inbox.mailbox());
            inbox
        });
        let sending = Arc::clone(&routes);
        let sender = spawn(move || sending.submit(to_s(0)).is_ok());
        routes.close();
        let mut inbox = registering.join().unwrap();
        sender.join().unwrap();
        assert!(inbox.mailbox().is_closed() && read(&mut inbox).is_empty());
        assert!(routes.get("s").is_none() && routes.submit(to_s(1)).is_err());
    });
}
