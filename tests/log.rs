//! Log lines: levels, destinations, replacement while others log, and the standard destination in a process of its own.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use ecs::{HeldLines, Level, Logger};

/// Lines as (message, level).
type Lines = Arc<Mutex<Vec<(String, String)>>>;

/// A logger and the lines it was given.
fn kept() -> (Logger, Lines) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let (logger, kept) = (Logger::standard(), Arc::clone(&lines));
    logger.set_destination(move |message, level| {
        kept.lock()
            .unwrap()
            .push((message.to_owned(), level.to_owned()));
    });
    (logger, lines)
}

fn line(message: &str, level: &str) -> (String, String) {
    (message.to_owned(), level.to_owned())
}

#[test]
fn a_replacement_receives_message_and_level_as_plain_text() {
    let (logger, lines) = kept();
    logger.log("plain");
    for level in [Level::Error, Level::Warning, Level::Info, Level::Debug] {
        logger.log_at(level, "usual");
    }
    logger.log_at("Trace 7", String::from("two\nlines \x1b[0m"));
    logger.log_at("", "");
    let expected = [
        line("plain", "info"),
        line("usual", "error"),
        line("usual", "warning"),
        line("usual", "info"),
        line("usual", "debug"),
        line("two\nlines \x1b[0m", "Trace 7"),
        line("", ""),
    ];
    // spec: LOG-01, LOG-05
    assert_eq!(*lines.lock().unwrap(), expected);
    for name in ["error", "warning", "info", "debug", "Error", "other", ""] {
        // spec: LOG-01
        assert_eq!(
            (
                Level::from(name).as_str(),
                Level::from(name).to_string().as_str()
            ),
            (name, name)
        );
    }
    assert_eq!(Level::from(&String::from("warning")), Level::Warning);
}

#[test]
fn a_prefix_stands_in_front_of_the_message() {
    let (logger, lines) = kept();
    let system = logger.with_prefix("game/Loader");
    system.log("ready");
    system.with_prefix("other").clone().log_at("error", "gone");
    logger.log("bare");
    let expected = [
        line("[game/Loader] ready", "info"),
        line("[other] gone", "error"),
        line("bare", "info"),
    ];
    // spec: LOG-02
    assert_eq!(*lines.lock().unwrap(), expected);
}

#[test]
fn an_empty_destination_swallows() {
    let (logger, lines) = kept();
    let clone = logger.with_prefix("s");
    clone.set_silent();
    // spec: LOG-08
    logger.log("unheard");
    clone.log("unheard");
    assert!(lines.lock().unwrap().is_empty());
    // The first destination is gone with what it held.
    assert_eq!(Arc::strong_count(&lines), 1);
}

#[test]
fn a_destination_may_log_and_replace_itself() {
    let (logger, lines) = kept();
    let (second, kept_second) = (logger.clone(), Arc::clone(&lines));
    let inner = logger.clone();
    let depth = AtomicUsize::new(0);
    logger.set_destination(move |message, level| {
        // spec: LOG-07
        if depth.fetch_add(1, Ordering::Relaxed) < 3 {
            inner.log_at(level, format!("{message}!"));
            return;
        }
        let kept = Arc::clone(&kept_second);
        second
            .set_destination(move |message, level| kept.lock().unwrap().push(line(message, level)));
        second.log_at(level, message);
    });
    logger.log("deep");
    logger.log("after");
    // spec: LOG-07, LOG-06
    assert_eq!(
        *lines.lock().unwrap(),
        [line("deep!!!", "info"), line("after", "info")]
    );
}

#[test]
fn each_line_goes_to_exactly_one_destination_while_it_is_replaced() {
    const THREADS: usize = 3;
    const EACH: usize = 3000;
    let logger = Logger::standard();
    logger.set_silent();
    let seen: Arc<Vec<AtomicUsize>> =
        Arc::new((0..THREADS * EACH).map(|_| AtomicUsize::new(0)).collect());
    let install = |logger: &Logger| {
        let seen = Arc::clone(&seen);
        logger.set_destination(move |message, _| {
            seen[message.parse::<usize>().unwrap()].fetch_add(1, Ordering::Relaxed);
        });
    };
    install(&logger);
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let logger = logger.clone();
            thread::spawn(move || {
                for number in 0..EACH {
                    logger.log((thread * EACH + number).to_string());
                }
            })
        })
        .collect();
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        install(&logger);
    }
    for thread in threads {
        thread.join().unwrap();
    }
    // spec: LOG-06
    assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
}

#[test]
fn a_replaced_destination_lives_until_its_last_call_returns() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let (logger, lines) = kept();
    let dropped = Arc::new(AtomicBool::new(false));
    let (entered, wait_entered) = mpsc::channel();
    let (release, wait_release) = mpsc::channel::<()>();
    let (guard, wait_release) = (Dropped(Arc::clone(&dropped)), Mutex::new(wait_release));
    let (old, seen_inside) = (Arc::clone(&dropped), Arc::new(AtomicBool::new(true)));
    let inside = Arc::clone(&seen_inside);
    logger.set_destination(move |_, _| {
        let _keep = &guard;
        entered.send(()).unwrap();
        wait_release.lock().unwrap().recv().unwrap();
        inside.store(old.load(Ordering::SeqCst), Ordering::SeqCst);
    });
    let running = logger.clone();
    let thread = thread::spawn(move || running.log("long"));
    wait_entered.recv().unwrap();
    let kept = Arc::clone(&lines);
    logger.set_destination(move |message, level| kept.lock().unwrap().push(line(message, level)));
    // spec: LOG-13
    assert!(!dropped.load(Ordering::SeqCst));
    // A call that begins now uses the new one, although the old one still runs.
    logger.log("new");
    // spec: LOG-06
    assert_eq!(*lines.lock().unwrap(), [line("new", "info")]);
    release.send(()).unwrap();
    thread.join().unwrap();
    // spec: LOG-13
    assert!(!seen_inside.load(Ordering::SeqCst));
    // spec: LOG-13
    assert!(dropped.load(Ordering::SeqCst));
}

#[test]
fn a_destination_that_panics_loses_its_line_and_nothing_else() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destination's drop, on purpose");
        }
    }
    let logger = Logger::standard();
    let bomb = Bomb;
    logger.set_destination(move |_, _| {
        let _keep = &bomb;
        panic!("a destination, on purpose");
    });
    logger.log("lost");
    logger.with_prefix("s").log("lost");
    let (_, lines) = kept();
    let kept = Arc::clone(&lines);
    logger.set_destination(move |message, level| kept.lock().unwrap().push(line(message, level)));
    logger.log("heard");
    assert_eq!(*lines.lock().unwrap(), [line("heard", "info")]);
    let last = Bomb;
    logger.set_destination(move |_, _| _ = &last);
    drop(logger);
}

#[test]
fn held_lines_have_no_cap() {
    let held = HeldLines::new();
    for number in 0..10_000 {
        held.log(number.to_string());
    }
    held.clone().log_at("error", "last");
    // spec: LOG-09
    assert_eq!(held.len(), 10_001);
    assert!(!held.is_empty());
}

#[test]
fn nothing_but_the_standard_destination_writes_to_the_streams() {
    fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    sources(
        std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
        &mut found,
    );
    assert!(found.len() > 5);
    for path in found
        .iter()
        .filter(|path| !path.ends_with("log/standard.rs"))
        // What is built only for the checkers' tests says how far it got.
        .filter(|path| !path.ends_with("base/model.rs") && !path.ends_with("base/schedules.rs"))
    {
        let source = std::fs::read_to_string(path).unwrap();
        let code = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for writes in ["print!(", "println!(", "dbg!(", "stdout()", "stderr()"] {
            // spec: LOG-10
            assert!(
                code.clone().all(|line| !line.contains(writes)),
                "{writes} in {}",
                path.display()
            );
        }
    }
}

#[test]
fn loggers_go_anywhere() {
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    // spec: THD-01
    anywhere::<Logger>();
    // spec: THD-01
    anywhere::<HeldLines>();
    anywhere::<Level<'static>>();
}

/// Set for the process in which [`child`] logs.
const CHILD: &str = "ARCHECS_TEST_LOG_CHILD";

/// Does nothing but in a process of its own, whose streams the other tests read.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let logger = Logger::standard();
    for level in ["error", "warning", "info", "debug", "trace"] {
        logger.log_at(level, format!("at {level}"));
    }
    logger.with_prefix("s").log("prefixed");
}

/// The lines that a child process wrote to its standard output and error, without those of the test harness.
fn streams(mut command: Command, no_color: Option<&str>) -> [Vec<String>; 2] {
    command
        .env(CHILD, "1")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    if let Some(value) = no_color {
        command.env("NO_COLOR", value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    [output.stdout, output.stderr].map(|stream| {
        let text = String::from_utf8(stream).unwrap().replace('\r', "");
        let ours = |line: &&str| line.starts_with('[') || line.starts_with('\x1b');
        // On one CPU the harness runs the test on its own thread, and has begun its line by then.
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("test child ... ").unwrap_or(line));
        lines.filter(ours).map(str::to_owned).collect()
    })
}

fn child_arguments() -> [std::ffi::OsString; 4] {
    let program = std::env::current_exe().unwrap().into_os_string();
    [
        program,
        "child".into(),
        "--exact".into(),
        "--nocapture".into(),
    ]
}

#[test]
fn the_standard_destination_writes_plain_lines_to_pipes() {
    let [program, arguments @ ..] = child_arguments();
    let mut command = Command::new(program);
    command.args(arguments);
    let [output, error] = streams(command, None);
    // spec: LOG-03, LOG-04
    assert_eq!(
        output,
        [
            "[info] at info",
            "[debug] at debug",
            "[trace] at trace",
            "[info] [s] prefixed"
        ]
    );
    // spec: LOG-03, LOG-04
    assert_eq!(error, ["[error] at error", "[warning] at warning"]);
}

#[test]
fn the_standard_destination_colours_the_tag_on_a_terminal() {
    // `script` of util-linux runs a command on a terminal of its own.
    let there = Command::new("script")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        eprintln!(
            "SKIPPED: no `script` of util-linux here, colour on a terminal is proved by the unit tests alone"
        );
        return;
    }
    let on_terminal = |shell: &str, no_color: Option<&str>| {
        let child = child_arguments()
            .map(|part| format!("'{}'", part.to_str().unwrap()))
            .join(" ");
        let mut command = Command::new("script");
        command.args([
            "--quiet",
            "--return",
            "--command",
            &shell.replace("CHILD", &child),
            "/dev/null",
        ]);
        let [mut both, rest] = streams(command, no_color);
        assert!(rest.is_empty(), "{rest:?}");
        both.sort();
        both
    };
    let output = [
        "\x1b[92m[info]\x1b[0m [s] prefixed",
        "\x1b[92m[info]\x1b[0m at info",
    ];
    let others = [
        "\x1b[92m[trace]\x1b[0m at trace",
        "\x1b[97m[debug]\x1b[0m at debug",
    ];
    let errors = [
        "\x1b[91m[error]\x1b[0m at error",
        "\x1b[93m[warning]\x1b[0m at warning",
    ];
    let mut all = [output, others, errors].concat();
    all.sort_unstable();
    // spec: LOG-04, LOG-12
    assert_eq!(on_terminal("CHILD", None), all);
    // spec: LOG-04
    assert_eq!(on_terminal("CHILD", Some("")), all);
    // spec: LOG-04
    assert!(
        on_terminal("CHILD", Some("1"))
            .iter()
            .all(|line| line.starts_with('['))
    );
    // Each stream by itself: only one of them is redirected.
    let mut output = [output, others].concat();
    output.sort_unstable();
    // spec: LOG-04
    assert_eq!(on_terminal("CHILD 2>/dev/null", None), output);
    let plain = [
        "[debug] at debug",
        "[info] [s] prefixed",
        "[info] at info",
        "[trace] at trace",
    ];
    let mut mixed = [&plain[..], &errors[..]].concat();
    mixed.sort_unstable();
    // spec: LOG-04
    assert_eq!(on_terminal("CHILD | cat", None), mixed);
}
