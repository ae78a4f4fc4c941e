//! Identifiers beside the `uuid` crate, and mailboxes beside a plain `Mutex<Vec>`.
//!
//! One measured call does [`BATCH`] operations, so that the clock's own cost does not show: read the items per second,
//! or divide the times by a thousand.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const BATCH: usize = 1000;

fn repeat<R>(bencher: Bencher<'_, '_>, mut operation: impl FnMut(usize) -> R) {
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for turn in 0..BATCH {
            black_box(operation(turn));
        }
    });
}

mod generate {
    use super::{Bencher, repeat};

    #[divan::bench]
    fn here(bencher: Bencher<'_, '_>) {
        repeat(bencher, |_| ecs::Uuid::new());
    }

    #[divan::bench]
    fn uuid_crate(bencher: Bencher<'_, '_>) {
        repeat(bencher, |_| uuid::Uuid::new_v4());
    }
}

mod as_text {
    use super::{BATCH, Bencher, black_box, repeat};

    #[divan::bench]
    fn here(bencher: Bencher<'_, '_>) {
        let ids: Vec<_> = (0..BATCH).map(|_| ecs::Uuid::new()).collect();
        repeat(bencher, |turn| ids[turn].to_text());
    }

    #[divan::bench]
    fn here_to_str(bencher: Bencher<'_, '_>) {
        let ids: Vec<_> = (0..BATCH).map(|_| ecs::Uuid::new()).collect();
        repeat(bencher, |turn| {
            black_box(ids[turn].to_text()).as_str().len()
        });
    }

    #[divan::bench]
    fn uuid_crate(bencher: Bencher<'_, '_>) {
        let ids: Vec<_> = (0..BATCH).map(|_| uuid::Uuid::new_v4()).collect();
        repeat(bencher, |turn| {
            let mut text = uuid::Uuid::encode_buffer();
            ids[turn].hyphenated().encode_lower(&mut text);
            text
        });
    }
}

mod parse {
    use super::{BATCH, Bencher, repeat};

    #[divan::bench]
    fn here(bencher: Bencher<'_, '_>) {
        let texts: Vec<_> = (0..BATCH).map(|_| ecs::Uuid::new().to_string()).collect();
        repeat(bencher, |turn| texts[turn].parse::<ecs::Uuid>());
    }

    #[divan::bench]
    fn uuid_crate(bencher: Bencher<'_, '_>) {
        let texts: Vec<_> = (0..BATCH).map(|_| ecs::Uuid::new().to_string()).collect();
        repeat(bencher, |turn| texts[turn].parse::<uuid::Uuid>());
    }
}

/// Rounds of a burst sent and the burst received, on one thread.
mod mailbox {
    use super::{BATCH, Bencher, ItemsCount, black_box};
    use ecs::{Inbox, MessageLimits};
    use serde_json::Value;
    use std::sync::Mutex;

    const BURST: usize = 10;

    #[divan::bench]
    fn here(bencher: Bencher<'_, '_>) {
        let mut inbox = Inbox::new("bench", MessageLimits::default());
        bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
            for _ in 0..BATCH / BURST {
                for _ in 0..BURST {
                    inbox.mailbox().send(black_box(Value::Null)).unwrap();
                }
                inbox.collect();
                while let Some(message) = inbox.pop() {
                    black_box(message);
                }
            }
        });
    }

    #[divan::bench]
    fn mutex_vec(bencher: Bencher<'_, '_>) {
        let waiting = Mutex::new(Vec::new());
        let mut readable = Vec::new();
        bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
            for _ in 0..BATCH / BURST {
                for _ in 0..BURST {
                    waiting.lock().unwrap().push(black_box(Value::Null));
                }
                std::mem::swap(&mut *waiting.lock().unwrap(), &mut readable);
                for message in readable.drain(..) {
                    black_box(message);
                }
            }
        });
    }
}
