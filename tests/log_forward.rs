//! Lines forwarded to the logging libraries of the ecosystem.
#![cfg(any(feature = "log", feature = "tracing"))]

use std::sync::Mutex;

use ecs::Logger;

fn log_all(logger: &Logger) {
    for level in ["error", "warning", "info", "debug", "trace", "audit"] {
        logger
            .with_prefix("s")
            .log_at(level, format!("{{at}} {level}"));
    }
}

#[cfg(feature = "log")]
#[test]
fn lines_reach_the_log_crate() {
    struct Keeping(Mutex<Vec<String>>);
    impl log::Log for Keeping {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }
        fn log(&self, record: &log::Record<'_>) {
            let line = format!("{} {} {}", record.level(), record.target(), record.args());
            self.0.lock().unwrap().push(line);
        }
        fn flush(&self) {}
    }
    static KEEPING: Keeping = Keeping(Mutex::new(Vec::new()));
    log::set_logger(&KEEPING).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let logger = Logger::standard();
    logger.set_destination(ecs::forward_to_log("main"));
    log_all(&logger);
    // spec: LOG-11
    assert_eq!(
        *KEEPING.0.lock().unwrap(),
        [
            "ERROR main [s] {at} error",
            "WARN main [s] {at} warning",
            "INFO main [s] {at} info",
            "DEBUG main [s] {at} debug",
            "TRACE main [s] {at} trace",
            "INFO main [audit] [s] {at} audit",
        ]
    );
}

#[cfg(feature = "tracing")]
#[test]
fn lines_reach_the_tracing_crate() {
    use std::fmt::Write as _;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};

    struct Text(String);
    impl Visit for Text {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            _ = write!(self.0, " {}={value:?}", field.name());
        }
    }
    struct Keeping(std::sync::Arc<Mutex<Vec<String>>>);
    impl tracing::Subscriber for Keeping {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let metadata = event.metadata();
            let mut text = Text(format!("{} {}", metadata.level(), metadata.target()));
            event.record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }
    let lines = std::sync::Arc::new(Mutex::new(Vec::new()));
    let logger = Logger::standard();
    logger.set_destination(ecs::forward_to_tracing("main"));
    tracing::subscriber::with_default(Keeping(lines.clone()), || log_all(&logger));
    let expected = [
        ("ERROR", "error"),
        ("WARN", "warning"),
        ("INFO", "info"),
        ("DEBUG", "debug"),
        ("TRACE", "trace"),
        ("INFO", "audit"),
    ];
    let expected = expected.map(|(known, level)| {
        format!("{known} ecs message=[s] {{at}} {level} container=\"main\" level=\"{level}\"")
    });
    // spec: LOG-11
    assert_eq!(*lines.lock().unwrap(), expected);
}
