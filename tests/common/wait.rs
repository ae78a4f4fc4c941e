//! Waiting for threads, bounded: what does not come ends the whole test program with a line that says what was awaited.
//! (A panic would not do: the drops on its way wait for the same thing.)

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Far beyond what anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The message goes past the capture of the test harness, which would swallow it here.
fn in_vain(what: &str) -> ! {
    let current = thread::current();
    let test = current.name().unwrap_or("a thread");
    let line = format!("\n{test}: waited in vain for {what}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    std::process::exit(101)
}

/// What comes from a channel.
pub fn receive<T>(from: &Receiver<T>, what: &str) -> T {
    match from.recv_timeout(PATIENCE) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => in_vain(what),
        Err(RecvTimeoutError::Disconnected) => panic!("nobody is left to send {what}"),
    }
}

/// A thread of the application, joined within bounds.
pub struct Task<T>(Receiver<thread::Result<T>>);

/// Runs code on another thread of the application.
pub fn spawn<T: Send + 'static>(code: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(code));
        let _ = sender.send(result);
    });
    Task(receiver)
}

impl<T> Task<T> {
    pub fn join(self, what: &str) -> T {
        receive(&self.0, what).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Whether the code has returned.
    pub fn try_join(&self) -> Option<T> {
        self.0.try_recv().ok().map(|result| result.unwrap())
    }
}

/// Runs code that may block, on a thread of the application.
pub fn bounded<T: Send + 'static>(what: &str, code: impl FnOnce() -> T + Send + 'static) -> T {
    spawn(code).join(what)
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        if since.elapsed() > PATIENCE {
            in_vain(what);
        }
        thread::park_timeout(Duration::from_micros(200));
    }
}

/// Something that happens once, for threads to wait for. Clones are one flag.
#[derive(Clone, Default)]
pub struct Flag(Arc<(Mutex<bool>, Condvar)>);

impl Flag {
    pub fn set(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    pub fn wait(&self, what: &str) {
        let set = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(set, PATIENCE, |set| !*set);
        if waited.unwrap().1.timed_out() {
            in_vain(what);
        }
    }
}

/// How many threads of this process have a name that begins so (of which the system keeps 15 bytes).
pub fn threads_named(prefix: &str) -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return 0;
    };
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with(prefix))
        .count()
}

/// Waits until no thread of this name is left. One that was joined may be listed for a moment more.
pub fn no_thread_named(prefix: &str) {
    until(&format!("the end of the threads {prefix}*"), || {
        threads_named(prefix) == 0
    });
}
