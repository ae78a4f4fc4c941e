//! Messages through manager and container: routing, and when they can be read.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{Probe, Trace, manual, once};
use ecs::{AccessError, Context, Manager, MessageErrorKind, Value, json};

fn to(container: &str, system: &str, text: &str) -> Value {
    json!({ "destination": { "container": container, "system": system }, "text": text })
}

/// A system on every pass that notes `<handle>:<text>` for each message that it reads.
fn reader(handle: &str, trace: &Trace) -> ecs::Registration<impl ecs::System + use<>> {
    let trace = trace.clone();
    ecs::system(handle, move |cx| {
        while let Some(message) = cx.this.next_message() {
            trace.add(format!(
                "{}:{}",
                cx.this.handle(),
                message["text"].as_str().unwrap()
            ));
        }
        Ok(())
    })
    .every_pass()
}

#[test]
fn the_manager_routes_by_container_and_system() {
    let manager = Manager::new();
    let trace = Trace::default();
    for name in ["a", "b"] {
        let container = manager.container(name).unwrap();
        container.set_silent();
        container
            .claim()
            .unwrap()
            .add_system(reader(&format!("{name}/reader"), &trace))
            .unwrap();
    }
    manager.message_submit(to("b", "b/reader", "one")).unwrap();
    manager.message_submit(to("a", "a/reader", "two")).unwrap();
    manager
        .message_submit(to("b", "b/reader", "three"))
        .unwrap();
    // spec: DEL-03
    assert_eq!(trace.line(), "", "sending calls nobody");
    for container in manager.containers() {
        container.update().unwrap();
    }
    // spec: DEL-01, DEL-02, DEL-04
    assert_eq!(trace.line(), "a/reader:two b/reader:one b/reader:three");
    for container in manager.containers() {
        container.update().unwrap();
    }
    // spec: DEL-01
    assert_eq!(trace.line(), "", "exactly once");
}

#[test]
fn a_containers_own_submit_does_not_read_the_container() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    owned
        .claim()
        .unwrap()
        .add_system(reader("r", &trace))
        .unwrap();
    for container in [
        json!(null),
        json!(7),
        json!(""),
        json!("elsewhere"),
        json!({}),
    ] {
        let message =
            json!({ "destination": { "container": container, "system": "r" }, "text": "x" });
        // spec: MSG-11
        assert!(owned.message_submit(message).is_ok());
    }
    owned
        .message_submit(json!({ "destination": { "system": "r" }, "text": "y" }))
        .unwrap();
    owned.update().unwrap();
    // spec: MSG-11
    assert_eq!(trace.line(), "r:x r:x r:x r:x r:x r:y");
}

#[test]
fn every_other_field_arrives_unchanged() {
    let (owned, _) = manual("main");
    let sent = json!({
        "destination": { "system": "r", "container": "other", "hop": [1, null] },
        "deep": { "list": [1, 2.5, "ü", { "": false }] }, "n": u64::MAX, "z": -0.0,
    });
    let expected = sent.clone();
    let check = ecs::system("r", move |cx| {
        assert_eq!(cx.this.next_message(), Some(expected.clone()));
        Ok(())
    });
    owned
        .claim()
        .unwrap()
        .add_system(check.every_pass())
        .unwrap();
    owned.message_submit(sent).unwrap();
    // spec: MSG-12
    owned.update().unwrap();
}

#[test]
fn unknown_destinations_are_named() {
    let manager = Manager::new();
    manager.container("main").unwrap();
    let error = manager.message_submit(to("nowhere", "s", "")).unwrap_err();
    // spec: MSG-13, ERR-02
    assert_eq!(
        error.to_string(),
        "ecs::Manager::message_submit(): Container nowhere not found."
    );
    // spec: ERR-01
    assert_eq!(manager.containers().len(), 1, "asking makes no container");
    let error = manager
        .message_submit(to("main", "nobody", ""))
        .unwrap_err();
    // spec: MSG-13
    assert!(
        error.to_string().contains("System nobody not found."),
        "{error}"
    );
    // spec: MSG-13, ERR-04
    assert!(
        matches!(error.kind(), MessageErrorKind::SystemNotFound { container, system } if container == "main" && system == "nobody")
    );
    let main = manager.container("main").unwrap();
    let error = main
        .message_submit(to("elsewhere", "nobody", ""))
        .unwrap_err();
    // spec: MSG-13
    assert_eq!(
        error.to_string(),
        "ecs::Container(\"main\")::message_submit(): System nobody not found."
    );
    // spec: MSG-13
    assert!(
        matches!(error.kind(), MessageErrorKind::SystemNotFound { container, .. } if container == "main")
    );
    // spec: ERR-01
    main.update().unwrap();
}

#[test]
fn malformed_messages_are_refused_by_both_before_anything_is_touched() {
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    let trace = Trace::default();
    main.claim()
        .unwrap()
        .add_system(reader("r", &trace))
        .unwrap();
    let (by_manager, by_container) = (
        "ecs::Manager::message_submit(): ",
        "ecs::Container(\"main\")::message_submit(): ",
    );
    for (message, phrase) in [
        (json!([]), "message must be a JSON object, got array"),
        (json!({}), "message.destination is missing"),
        (
            json!({ "destination": 1 }),
            "message.destination must be a JSON object, got number",
        ),
    ] {
        // spec: MSG-01, MSG-02, MSG-03, ERR-02, ERR-03
        assert_eq!(
            manager
                .message_submit(message.clone())
                .unwrap_err()
                .to_string(),
            format!("{by_manager}{phrase}")
        );
        // spec: MSG-01, MSG-02, MSG-03, ERR-02
        assert_eq!(
            main.message_submit(message).unwrap_err().to_string(),
            format!("{by_container}{phrase}")
        );
    }
    main.update().unwrap();
    // spec: ERR-01
    assert_eq!(trace.line(), "");
}

#[test]
fn deep_values_are_refused_at_every_entry_without_overflow() {
    fn deep(levels: usize) -> Value {
        let mut value = json!({ "destination": { "container": "main", "system": "r" } });
        let mut inner = Value::Null;
        for _ in 0..levels {
            inner = Value::Array(vec![inner]);
        }
        value["deep"] = inner;
        value
    }
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    main.claim()
        .unwrap()
        .add_system(reader("r", &Trace::default()))
        .unwrap();
    let error = manager.message_submit(deep(300_000)).unwrap_err();
    // spec: MSG-14, MSG-16
    assert_eq!(
        error.to_string(),
        "ecs::Manager::message_submit(): message is nested too deeply"
    );
    // spec: MSG-14, MSG-16
    assert!(
        main.message_submit(deep(300_000))
            .unwrap_err()
            .to_string()
            .ends_with("message is nested too deeply")
    );
    let mailbox = main.mailbox("r").unwrap();
    // spec: MSG-14, MSG-15
    assert!(mailbox.send(deep(300_000)).is_err());
    assert!(main.message_submit(deep(10)).is_ok());
}

#[test]
fn a_later_system_reads_in_the_same_pass_an_earlier_one_in_the_next() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim.add_system(reader("earlier", &trace)).unwrap();
    let (own, first) = (trace.clone(), Arc::new(AtomicBool::new(true)));
    let sender = ecs::system("sender", move |cx| {
        while let Some(message) = cx.this.next_message() {
            own.add(format!("sender:{}", message["text"].as_str().unwrap()));
        }
        if first.swap(false, Ordering::SeqCst) {
            for system in ["earlier", "sender", "later"] {
                cx.container().message_submit(to("", system, "hello"))?;
            }
        }
        Ok(())
    });
    claim.add_system(sender.every_pass()).unwrap();
    claim.add_system(reader("later", &trace)).unwrap();
    claim.update().unwrap();
    // spec: DEL-05
    assert_eq!(trace.line(), "later:hello");
    claim.update().unwrap();
    // spec: DEL-05, DEL-09
    assert_eq!(trace.line(), "earlier:hello sender:hello");
}

#[test]
fn mail_survives_a_pass_that_ends_early() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(
            ecs::system("fails", once(|_: &mut Context<'_>| Err("early".into()))).every_pass(),
        )
        .unwrap();
    claim.add_system(reader("r", &trace)).unwrap();
    owned.message_submit(to("", "r", "hello")).unwrap();
    assert!(claim.update().is_err());
    claim.update().unwrap();
    // spec: DEL-01
    assert_eq!(trace.line(), "r:hello");
}

#[test]
fn unread_messages_stay_and_are_counted() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let kept = trace.clone();
    let slow = ecs::system("slow", move |cx| {
        let before = cx.this.messages_waiting();
        let text = cx
            .this
            .next_message()
            .map(|message| message["text"].clone());
        // What arrives now is counted when asked for, behind the unread ones.
        cx.container().message_submit(to("", "slow", "more"))?;
        kept.add(format!(
            "{before} {} {}",
            text.unwrap_or_default(),
            cx.this.messages_waiting()
        ));
        Ok(())
    });
    let mut claim = owned.claim().unwrap();
    claim.add_system(slow.every_pass()).unwrap();
    for text in ["1", "2", "3"] {
        owned.message_submit(to("", "slow", text)).unwrap();
    }
    for _ in 0..4 {
        claim.update().unwrap();
    }
    // spec: DEL-08, DEL-11, DEL-02
    assert_eq!(
        trace.take(),
        ["3 \"1\" 3", "3 \"2\" 3", "3 \"3\" 3", "3 \"more\" 3"]
    );
}

#[test]
fn a_system_that_is_not_due_keeps_its_mail() {
    let (owned, clock) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim
        .add_system(reader("r", &trace).interval(common::us(10)))
        .unwrap();
    claim.add_system(reader("other", &trace)).unwrap();
    owned.message_submit(to("", "r", "one")).unwrap();
    owned.message_submit(to("", "other", "x")).unwrap();
    for _ in 0..3 {
        claim.update().unwrap();
    }
    owned.message_submit(to("", "r", "two")).unwrap();
    clock.advance(common::us(10)).unwrap();
    claim.update().unwrap();
    // spec: DEL-01, DEL-04, DEL-08
    assert_eq!(trace.line(), "other:x r:one r:two");
}

#[test]
fn nothing_reaches_a_successor_that_was_sent_before_it() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let mut claim = owned.claim().unwrap();
    claim.add_system(reader("r", &trace)).unwrap();
    owned.message_submit(to("", "r", "old")).unwrap();
    claim.remove_system("r");
    // spec: DEL-06
    assert!(owned.message_submit(to("", "r", "between")).is_err());
    claim.add_system(reader("r", &trace)).unwrap();
    claim.update().unwrap();
    // spec: DEL-06
    assert_eq!(trace.line(), "");
    owned.message_submit(to("", "r", "new")).unwrap();
    claim.update().unwrap();
    // spec: DEL-06
    assert_eq!(trace.line(), "r:new");
}

#[test]
fn a_removed_system_may_read_what_waits_in_its_shutdown() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    let kept = trace.clone();
    let mut claim = owned.claim().unwrap();
    let probe = Probe::new("p", &Trace::default()).shutdown(move |cx| {
        kept.add(format!(
            "{} {:?}",
            cx.this.messages_waiting(),
            cx.this.next_message().map(|m| m["text"].clone())
        ));
        Ok(())
    });
    claim.add_system(probe.reg()).unwrap();
    claim.update().unwrap();
    owned.message_submit(to("", "p", "last")).unwrap();
    claim.remove_system("p");
    // spec: SHUT-02
    assert_eq!(trace.line(), "1 Some(String(\"last\"))");
}

#[test]
fn senders_on_many_threads_while_systems_are_replaced() {
    let (owned, _) = manual("main");
    let trace = Trace::default();
    owned
        .claim()
        .unwrap()
        .add_system(reader("r", &trace))
        .unwrap();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let container = ecs::Container::clone(&owned);
            thread::spawn(move || {
                (0..500)
                    .filter(|_| container.message_submit(to("", "r", "x")).is_err())
                    .count()
            })
        })
        .collect();
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        let mut claim = owned.claim().unwrap();
        claim.add_system(reader("r", &trace)).unwrap();
        claim.update().unwrap();
    }
    let refused: usize = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    // spec: DEL-06
    assert_eq!(refused, 0, "a replacement is never seen as no system");
}

#[test]
fn two_containers_message_each_other() {
    let manager = Manager::new();
    let trace = Trace::default();
    for (own, other) in [("a", "b"), ("b", "a")] {
        let container = manager.container(own).unwrap();
        let (kept, reference) = (trace.clone(), manager.reference());
        let pong = ecs::system("s", move |cx| {
            while let Some(message) = cx.this.next_message() {
                kept.add(own);
                reference.message_submit(to(other, "s", message["text"].as_str().unwrap()))?;
                reference.message_submit(to(own, "none", "")).unwrap_err();
            }
            Ok(())
        });
        container
            .claim()
            .unwrap()
            .add_system(pong.every_pass())
            .unwrap();
    }
    manager.message_submit(to("a", "s", "ball")).unwrap();
    for _ in 0..2 {
        for container in manager.containers() {
            container.update().unwrap();
        }
    }
    // spec: DEL-09
    assert_eq!(trace.line(), "a b a b");
}

#[test]
fn what_cannot_be_had_says_what_to_do_instead() {
    let (owned, _) = manual("main");
    let claim = owned.claim().unwrap();
    let error = owned.claim().unwrap_err();
    // spec: MSG-16, RUN-07
    assert!(
        matches!(error, AccessError::Claimed { .. }) && error.to_string().contains("defer"),
        "{error}"
    );
    drop(claim);
    let seen = Trace::default();
    let kept = seen.clone();
    let inside = ecs::system("s", move |cx| {
        let container = cx.container();
        kept.add(container.claim().unwrap_err().to_string());
        let elsewhere = thread::spawn(move || container.claim().unwrap_err().to_string());
        kept.add(elsewhere.join().unwrap());
        Ok(())
    });
    owned
        .claim()
        .unwrap()
        .add_system(inside.every_pass())
        .unwrap();
    owned.update().unwrap();
    // spec: MSG-16, RUN-07, RUN-09
    assert_eq!(
        seen.take(),
        [
            "ecs::Container(\"main\")::claim(): a pass of this container runs on the calling thread; use its context, \
         or hand the work over with defer",
            "ecs::Container(\"main\")::claim(): the container is in a pass; hand the work over with defer",
        ]
    );
    let container = ecs::Container::clone(&owned);
    drop(owned);
    let error = container.claim().unwrap_err();
    // spec: MSG-16, MGR-10
    assert_eq!(
        error.to_string(),
        "ecs::Container(\"main\")::claim(): the container is gone; make a new one"
    );
    // spec: MSG-16, MGR-10
    assert!(
        container
            .message_submit(to("", "s", ""))
            .unwrap_err()
            .to_string()
            .contains("gone")
    );
}
