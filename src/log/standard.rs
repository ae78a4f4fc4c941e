//! The standard destination: the process's two output streams.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use super::level::Level;

/// What a log line is given to: message and level.
pub(super) type Destination = dyn Fn(&str, &str) + Send + Sync;

/// The standard destination, its colours decided now, for each stream by itself.
pub(super) fn destination() -> Arc<Destination> {
    let no_color = std::env::var_os("NO_COLOR");
    let error_coloured = is_coloured(io::stderr().is_terminal(), no_color.as_deref());
    let output_coloured = is_coloured(io::stdout().is_terminal(), no_color.as_deref());
    Arc::new(move |message, level| {
        // A stream that is closed or full loses the line: logging never fails.
        _ = match Level::from(level) {
            Level::Error | Level::Warning => {
                write(io::stderr().lock(), message, level, error_coloured)
            }
            _ => write(io::stdout().lock(), message, level, output_coloured),
        };
    })
}

/// Whether tags are coloured on a stream.
fn is_coloured(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

fn write(mut stream: impl Write, message: &str, level: &str, coloured: bool) -> io::Result<()> {
    // In one piece, so that other writers to the same stream come before or after the line.
    stream.write_all(line(message, level, coloured).as_bytes())?;
    stream.flush()
}

fn line(message: &str, level: &str, coloured: bool) -> String {
    if !coloured {
        return format!("[{level}] {message}\n");
    }
    let code = match Level::from(level) {
        Level::Error => 91,
        Level::Warning => 93,
        Level::Debug => 97,
        Level::Info | Level::Other(_) => 92,
    };
    format!("\x1b[{code}m[{level}]\x1b[0m {message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_needs_a_terminal_and_no_no_color() {
        // spec: LOG-04
        assert!(is_coloured(true, None));
        assert!(is_coloured(true, Some(OsStr::new(""))));
        assert!(!is_coloured(true, Some(OsStr::new("0"))));
        assert!(!is_coloured(false, None));
    }

    #[test]
    fn each_level_has_its_colour() {
        for (level, code) in [
            ("error", 91),
            ("warning", 93),
            ("debug", 97),
            ("info", 92),
            ("trace", 92),
            ("Error", 92),
        ] {
            // spec: LOG-12
            assert_eq!(
                line("m", level, true),
                format!("\x1b[{code}m[{level}]\x1b[0m m\n")
            );
            assert_eq!(line("m", level, false), format!("[{level}] m\n"));
        }
    }

    #[test]
    fn each_line_is_flushed_in_one_write() {
        #[derive(Default)]
        struct Stream(Vec<String>);
        impl Write for &mut Stream {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.push(String::from_utf8_lossy(bytes).into_owned());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                self.0.push("flushed".to_owned());
                Ok(())
            }
        }
        let mut stream = Stream::default();
        write(&mut stream, "m", "info", false).unwrap();
        // spec: LOG-12
        assert_eq!(stream.0, ["[info] m\n", "flushed"]);
    }
}
