//! Messages, deferred functions, log lines and the stop of a thread, beside what a program would write for itself: a
//! `Mutex<Vec<_>>` that is swapped whole, and a `crossbeam` channel.
//!
//! ```text
//! cargo bench --bench messages                   everything
//! cargo bench --bench messages -- deferred log   workloads whose names contain one of these
//! BENCH_MILLIS=2000 cargo bench --bench messages longer than half a second for each workload
//! ```
//!
//! The sides run in turns, each with the same preparation outside of the timed part, and what they count must agree. The
//! numbers are medians of nanoseconds per item: of the thread's own time where one thread works, of the wall clock where
//! several do. Making and dropping the JSON is in all of them alike.
//!
//! The column "C++" is the older library of the same model, version 2.1.0, measured once with g++ 12 -O3 on the machine
//! that the targets come from; it is there for the order of magnitude.

mod harness;

use std::cell::Cell;
use std::hint::black_box;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use ecs::{
    Container, Context, Manager, OwnedContainer, Register, StopOutcome, System, SystemResult,
    Value, json,
};
use harness::{Clock, Side, Table, Target, per_item};

/// What one round of one thread sends.
const ITEMS: usize = 1_000;
const SENDERS: usize = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let measured = arguments.iter().any(|argument| argument == "--bench");
    let filters = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"));
    let millis = std::env::var("BENCH_MILLIS").ok();
    let millis = millis.and_then(|text| text.parse().ok()).unwrap_or(500);
    let budget = Duration::from_millis(if measured { millis } else { 0 });
    let table = Table::new(filters.cloned().collect(), budget);

    println!("| workload | Mutex<Vec> ns | channel ns | ours ns | C++ ns | target | rounds |");
    println!("| --- | ---: | ---: | ---: | ---: | --- | ---: |");
    messages(&table);
    deferred(&table);
    lines(&table);
    stops(&table);
}

/// Measures one line: by hand with a mutex, by hand with a channel, ours.
struct Line<'a> {
    workload: &'a str,
    items: usize,
    cpp: &'a str,
    target: Target,
}

impl Line<'_> {
    fn measure<'s>(
        &self,
        table: &Table,
        by_mutex: Side<'s>,
        by_channel: Option<Side<'s>>,
        ours: Side<'s>,
    ) {
        let Self {
            workload,
            items,
            cpp,
            target,
        } = *self;
        if !table.wants(workload) {
            return;
        }
        let mut sides = vec![by_mutex, ours];
        sides.extend(by_channel);
        let times = table.turns(workload, &mut sides);
        let rounds = times[0].len();
        let mut medians = times.into_iter().map(|times| per_item(times, items));
        let (by_mutex, ours) = (
            medians.next().unwrap_or_default(),
            medians.next().unwrap_or_default(),
        );
        let by_channel = medians
            .next()
            .map_or_else(|| "–".to_owned(), |median| format!("{median:.1}"));
        let mark = if target.missed(ours, ours / by_mutex) {
            " **missed**"
        } else {
            ""
        };
        let target = target.text();
        println!(
            "| {workload} | {by_mutex:.1} | {by_channel} | {ours:.1} | {cpp} | {target}{mark} | {rounds} |"
        );
    }
}

/// What a program would write for itself.
struct Queue<T>(Mutex<Vec<T>>);

impl<T> Queue<T> {
    fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn push(&self, item: T) {
        self.0.lock().unwrap().push(item);
    }

    /// Swaps what waits with an empty vector; both keep their memory.
    fn take_into(&self, empty: &mut Vec<T>) {
        std::mem::swap(&mut *self.0.lock().unwrap(), empty);
    }
}

fn message(number: usize) -> Value {
    json!({ "destination": { "container": "main", "system": "reader" }, "number": number })
}

fn batch() -> Vec<Value> {
    (0..ITEMS).map(message).collect()
}

fn number(message: &Value) -> u64 {
    message["number"].as_u64().unwrap()
}

/// Reads all messages, counts them and adds their numbers up.
#[derive(Default)]
struct Reader {
    count: usize,
    sum: u64,
}

impl System for Reader {
    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        while let Some(message) = cx.this.next_message() {
            self.count += 1;
            self.sum += number(&message);
        }
        Ok(())
    }
}

fn with_reader() -> (Manager, Container) {
    let manager = Manager::new();
    let main = manager.container("main").unwrap();
    let reader = Reader::default().named("reader").every_pass();
    main.claim().unwrap().add_system(reader).unwrap();
    (manager, main)
}

/// What the reader has read since the last call.
fn read_so_far(main: &Container) -> u64 {
    let mut claim = main.claim().unwrap();
    let reader = claim.system_mut::<Reader>("reader").unwrap();
    std::mem::take(reader).sum
}

fn messages(table: &Table) {
    from_one_sender(
        table,
        "built before",
        "1200",
        Target::Beside(150.0),
        batch,
        |item| item,
    );
    from_one_sender(
        table,
        "built each time",
        "4900",
        Target::Absolute(800.0),
        || (0..ITEMS).collect(),
        message,
    );
    from_four_senders(table);
}

fn from_one_sender<T: 'static>(
    table: &Table,
    how: &str,
    cpp: &str,
    target: Target,
    prepare: fn() -> Vec<T>,
    build: fn(T) -> Value,
) {
    let queue = Queue::new();
    let mut readable = Vec::new();
    let mut by_mutex = |clock: &mut Clock| {
        let items = prepare();
        clock.time(|| {
            for item in items {
                queue.push(build(item));
            }
            queue.take_into(&mut readable);
            readable.drain(..).map(|message| number(&message)).sum()
        })
    };
    let (sender, receiver) = unbounded();
    let mut by_channel = |clock: &mut Clock| {
        let items = prepare();
        clock.time(|| {
            for item in items {
                sender.send(build(item)).unwrap();
            }
            receiver.try_iter().map(|message| number(&message)).sum()
        })
    };
    let (manager, main) = with_reader();
    let mut by_manager = |clock: &mut Clock| {
        let items = prepare();
        clock.time(|| {
            for item in items {
                manager.message_submit(build(item)).unwrap();
            }
            main.update().unwrap();
        });
        read_so_far(&main)
    };
    let line = Line {
        workload: &format!("message, {how}, 1 sender"),
        items: ITEMS,
        cpp,
        target,
    };
    line.measure(table, &mut by_mutex, Some(&mut by_channel), &mut by_manager);

    let mailbox = main.mailbox("reader").unwrap();
    let mut by_mailbox = |clock: &mut Clock| {
        let items = prepare();
        clock.time(|| {
            for item in items {
                mailbox.send(build(item)).unwrap();
            }
            main.update().unwrap();
        });
        read_so_far(&main)
    };
    let line = Line {
        workload: &format!("message, {how}, 1 sender, to the mailbox"),
        target: Target::None,
        ..line
    };
    line.measure(table, &mut by_mutex, Some(&mut by_channel), &mut by_mailbox);
}

/// Four threads send what they have prepared, each by its own `send`, while this one receives until it has all.
fn race<T: Send>(
    clock: &mut Clock,
    prepare: fn() -> Vec<T>,
    send: impl Fn(T) + Sync,
    mut receive: impl FnMut() -> usize,
) {
    let ready = Barrier::new(SENDERS + 1);
    thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                let items = prepare();
                ready.wait();
                for item in items {
                    send(item);
                }
            });
        }
        ready.wait();
        clock.time_wall(|| {
            let mut received = 0;
            while received < SENDERS * ITEMS {
                match receive() {
                    0 => thread::yield_now(),
                    more => received += more,
                }
            }
            assert_eq!(received, SENDERS * ITEMS);
        });
    });
}

fn from_four_senders(table: &Table) {
    let queue = Queue::new();
    let mut readable = Vec::new();
    let mut by_mutex = |clock: &mut Clock| {
        let mut sum = 0;
        let receive = || {
            queue.take_into(&mut readable);
            let count = readable.len();
            sum += readable.drain(..).map(|it| number(&it)).sum::<u64>();
            count
        };
        race(clock, batch, |message| queue.push(message), receive);
        sum
    };
    let (sender, receiver) = unbounded();
    let mut by_channel = |clock: &mut Clock| {
        let mut sum = 0;
        let receive = || {
            let messages = receiver.try_iter().inspect(|it| sum += number(it));
            messages.count()
        };
        race(clock, batch, |it| sender.send(it).unwrap(), receive);
        sum
    };
    let (manager, main) = with_reader();
    let mut ours = |clock: &mut Clock| {
        let mut claim = main.claim().unwrap();
        let mut before = 0;
        let receive = || {
            claim.update().unwrap();
            let count = claim.system::<Reader>("reader").unwrap().count;
            count - std::mem::replace(&mut before, count)
        };
        race(
            clock,
            batch,
            |it| manager.message_submit(it).unwrap(),
            receive,
        );
        drop(claim);
        read_so_far(&main)
    };
    let line = Line {
        workload: "message, built before, 4 senders",
        items: SENDERS * ITEMS,
        cpp: "2800–3700",
        target: Target::Absolute(333.0),
    };
    line.measure(table, &mut by_mutex, Some(&mut by_channel), &mut ours);
}

thread_local! {
    /// What functions and destinations count on the thread that runs them.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count(number: u64) {
    COUNT.set(COUNT.get() + number);
}

type Function = Box<dyn FnOnce() -> SystemResult + Send>;

/// The numbers that functions carry.
fn numbers() -> Vec<u64> {
    (1..).take(ITEMS).collect()
}

fn boxed(number: u64) -> Function {
    Box::new(move || {
        count(number);
        Ok(())
    })
}

fn deferred(table: &Table) {
    let queue = Queue::new();
    let mut waiting: Vec<Function> = Vec::new();
    let (sender, receiver): (Sender<Function>, Receiver<Function>) = unbounded();
    let owned = OwnedContainer::new("main").unwrap();
    let defer = |number| {
        owned.defer(move |_| {
            count(number);
            Ok(())
        });
    };

    let mut run_queue = || {
        queue.take_into(&mut waiting);
        let ran = waiting.len();
        waiting.drain(..).for_each(|function| function().unwrap());
        ran
    };
    let run_channel = || {
        let functions = receiver.try_iter();
        functions.map(|function| function().unwrap()).count()
    };

    let mut by_mutex = |clock: &mut Clock| {
        clock.time(|| {
            for number in numbers() {
                queue.push(boxed(number));
            }
            run_queue();
        });
        COUNT.take()
    };
    let mut by_channel = |clock: &mut Clock| {
        clock.time(|| {
            for number in numbers() {
                sender.send(boxed(number)).unwrap();
            }
            run_channel();
        });
        COUNT.take()
    };
    let mut ours = |clock: &mut Clock| {
        clock.time(|| {
            numbers().into_iter().for_each(defer);
            owned.update().unwrap();
        });
        COUNT.take()
    };
    let line = Line {
        workload: "deferred function, 1 thread",
        items: ITEMS,
        cpp: "26–75",
        target: Target::Absolute(25.0),
    };
    line.measure(table, &mut by_mutex, Some(&mut by_channel), &mut ours);

    // The sum of what has run tells how many have.
    let mut by_mutex = |clock: &mut Clock| {
        race(clock, numbers, |it| queue.push(boxed(it)), &mut run_queue);
        COUNT.take()
    };
    let mut by_channel = |clock: &mut Clock| {
        let send = |it| sender.send(boxed(it)).unwrap();
        race(clock, numbers, send, run_channel);
        COUNT.take()
    };
    let mut ours = |clock: &mut Clock| {
        let mut claim = owned.claim().unwrap();
        race(
            clock,
            numbers,
            |number| {
                owned.defer(move |_| {
                    count(number);
                    RAN.set(RAN.get() + 1);
                    Ok(())
                });
            },
            || {
                claim.update().unwrap();
                RAN.take()
            },
        );
        COUNT.take()
    };
    let line = Line {
        workload: "deferred function, 4 threads",
        items: SENDERS * ITEMS,
        cpp: "46–64",
        target: Target::Absolute(40.0),
    };
    line.measure(table, &mut by_mutex, Some(&mut by_channel), &mut ours);
}

thread_local! {
    /// How many deferred functions have run since it was looked at.
    static RAN: Cell<usize> = const { Cell::new(0) };
}

type Destination = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// By hand a line goes to a destination that can be replaced: looked up under a lock, called without it.
fn lines(table: &Table) {
    let destination = |message: &str, level: &str| {
        black_box((message, level));
        count(1);
    };
    let replaceable: Mutex<Destination> = Mutex::new(Arc::new(destination));
    let log = |message: &str| {
        let destination = Arc::clone(&replaceable.lock().unwrap());
        destination(message, "info");
    };
    let owned = OwnedContainer::new("main").unwrap();
    let mut by_mutex = |clock: &mut Clock| {
        clock.time(|| (0..ITEMS).for_each(|_| log(black_box("a line"))));
        COUNT.take()
    };
    let mut ours = |clock: &mut Clock| {
        clock.time(|| (0..ITEMS).for_each(|_| owned.log(black_box("a line"))));
        COUNT.take()
    };
    owned.set_logger(destination);
    let line = Line {
        workload: "log line to an empty destination, container",
        items: ITEMS,
        cpp: "12",
        target: Target::Absolute(12.0),
    };
    line.measure(table, &mut by_mutex, None, &mut ours);

    let writer = ecs::system("writer", |cx| {
        (0..ITEMS).for_each(|_| cx.this.log(black_box("a line")));
        Ok(())
    });
    let added = owned.claim().unwrap().add_system(writer.every_pass());
    added.unwrap();
    let mut by_mutex = |clock: &mut Clock| {
        clock.time(|| {
            for _ in 0..ITEMS {
                log(&format!("[writer] {}", black_box("a line")));
            }
        });
        COUNT.take()
    };
    let mut ours = |clock: &mut Clock| {
        clock.time(|| owned.update().unwrap());
        COUNT.take()
    };
    let line = Line {
        workload: "log line to an empty destination, system",
        cpp: "71",
        target: Target::Absolute(25.0),
        ..line
    };
    line.measure(table, &mut by_mutex, None, &mut ours);

    owned.set_silent();
    let mut nothing = |clock: &mut Clock| {
        let silent: Mutex<Option<Destination>> = Mutex::new(None);
        clock.time(|| {
            for _ in 0..ITEMS {
                if let Some(destination) = silent.lock().unwrap().clone() {
                    destination(black_box("a line"), "info");
                }
            }
        });
        COUNT.take()
    };
    let mut ours = |clock: &mut Clock| {
        clock.time(|| (0..ITEMS).for_each(|_| owned.log(black_box("a line"))));
        COUNT.take()
    };
    let line = Line {
        workload: "log line swallowed, container",
        cpp: "–",
        target: Target::None,
        ..line
    };
    line.measure(table, &mut nothing, None, &mut ours);
}

/// Long enough for a new thread to have gone to sleep.
const SETTLE: Duration = Duration::from_millis(2);
const INTERVAL: Duration = Duration::from_secs(5);

/// From the request until the thread has been joined.
fn stops(table: &Table) {
    let mut by_mutex = |clock: &mut Clock| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let (stop, changed) = &*theirs;
            let stop = stop.lock().unwrap();
            let waited = changed.wait_timeout_while(stop, INTERVAL, |stop| !*stop);
            u64::from(!waited.unwrap().1.timed_out())
        });
        thread::sleep(SETTLE);
        clock.time_wall(|| {
            *shared.0.lock().unwrap() = true;
            shared.1.notify_all();
            thread.join().unwrap()
        })
    };
    let mut by_channel = |clock: &mut Clock| {
        let (sender, receiver) = unbounded::<()>();
        let thread = thread::spawn(move || {
            let outcome = receiver.recv_timeout(INTERVAL);
            u64::from(outcome != Err(RecvTimeoutError::Timeout))
        });
        thread::sleep(SETTLE);
        clock.time_wall(|| {
            sender.send(()).unwrap();
            thread.join().unwrap()
        })
    };
    let mut ours = |clock: &mut Clock| {
        let owned = OwnedContainer::new("main").unwrap();
        owned.start_with(INTERVAL).unwrap();
        thread::sleep(SETTLE);
        let outcome = clock.time_wall(|| owned.stop());
        u64::from(outcome == StopOutcome::Complete)
    };
    let line = Line {
        workload: "stop of an idle thread with a 5 second interval",
        items: 1,
        cpp: "87000",
        target: Target::Absolute(87_000.0),
    };
    line.measure(table, &mut by_mutex, Some(&mut by_channel), &mut ours);
}
