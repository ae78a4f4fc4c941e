//! Messages, log lines, identifiers.

use std::cell::Cell;
use std::hint::black_box;

use ecs::{Context, Logger, Manager, Register, System, SystemResult, Uuid, Value, json};

use super::{Path, measured, path};

pub(super) const PATHS: &[Path] = &[
    path(
        "message_through_the_manager",
        1_000,
        message_through_the_manager,
    ),
    path("message_to_the_mailbox", 1_000, message_to_the_mailbox),
    path("log_line", 1_000, log_line),
    path("log_line_of_a_system", 1_000, log_line_of_a_system),
    path("log_line_swallowed", 1_000, log_line_swallowed),
    path("identifier_generated", 1_000, identifier_generated),
    path("identifier_as_text", 1_000, identifier_as_text),
    path("identifier_parsed", 1_000, identifier_parsed),
];

#[derive(Default)]
struct Reader(u64);

impl System for Reader {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        while let Some(message) = cx.this.next_message() {
            self.0 += message["number"].as_u64().unwrap_or(0);
        }
        Ok(())
    }
}

/// Sends the numbers from 1 on and reads them in one pass, twice: what is measured finds the queues' memory there.
fn send_and_read(items: usize, mailbox: bool) {
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    let reader = Reader::default().named("reader").every_pass();
    main.claim().unwrap().add_system(reader).unwrap();
    let direct = main.mailbox("reader").unwrap();
    let batch = || -> Vec<Value> {
        let message = |number| json!({ "destination": { "container": "main", "system": "reader" }, "number": number });
        (1..=items).map(message).collect()
    };
    let work = |messages: Vec<Value>| {
        for message in messages {
            if mailbox {
                direct.send(message).unwrap();
            } else {
                manager.message_submit(message).unwrap();
            }
        }
        main.update().unwrap();
    };
    work(batch());
    let messages = batch();
    measured(|| work(messages));
    let claim = main.claim().unwrap();
    let read = claim.system_sum();
    assert_eq!(read, (items * (items + 1)) as u64);
}

trait Sum {
    fn system_sum(self) -> u64;
}

impl Sum for ecs::Claim {
    fn system_sum(mut self) -> u64 {
        self.system_mut::<Reader>("reader")
            .map_or(0, |reader| reader.0)
    }
}

fn message_through_the_manager(items: usize) {
    send_and_read(items, false);
}

fn message_to_the_mailbox(items: usize) {
    send_and_read(items, true);
}

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// A logger whose lines' bytes are counted.
fn logger() -> Logger {
    let logger = Logger::standard();
    logger.set_destination(|message, level| BYTES.set(BYTES.get() + message.len() + level.len()));
    logger
}

fn write(logger: &Logger, items: usize) {
    (0..items).for_each(|_| logger.log(black_box("a line of some length")));
}

fn log_line(items: usize) {
    let logger = logger();
    measured(|| write(&logger, items));
    assert_eq!(BYTES.take(), (21 + 4) * items);
}

fn log_line_of_a_system(items: usize) {
    let logger = logger().with_prefix("game/Loader");
    write(&logger, 1);
    BYTES.take();
    measured(|| write(&logger, items));
    assert_eq!(BYTES.take(), (14 + 21 + 4) * items);
}

fn log_line_swallowed(items: usize) {
    let logger = logger();
    logger.set_silent();
    measured(|| write(&logger, items));
    assert_eq!(BYTES.take(), 0);
}

fn identifier_generated(items: usize) {
    let mut last = Uuid::new();
    measured(|| (0..items).for_each(|_| last = black_box(Uuid::new())));
    assert_ne!(last, Uuid::new());
}

fn identifier_as_text(items: usize) {
    let ids: Vec<Uuid> = (0..items).map(|_| Uuid::new()).collect();
    let length: usize = measured(|| {
        let texts = ids.iter().map(|id| id.to_text());
        texts.map(|text| black_box(&text).as_str().len()).sum()
    });
    assert_eq!(length, 36 * items);
}

fn identifier_parsed(items: usize) {
    let ids: Vec<Uuid> = (0..items).map(|_| Uuid::new()).collect();
    let texts: Vec<String> = ids
        .iter()
        .map(|id| id.to_text().as_str().to_owned())
        .collect();
    let parsed: Vec<Uuid> = measured(|| texts.iter().map(|text| text.parse().unwrap()).collect());
    assert_eq!(parsed, ids);
}
