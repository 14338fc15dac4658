//! Output. A reader may close the pipe, as `head` does: that does not count as an error. Any other failure to write to standard output
//! makes the command fail at its end.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::plain;
use crate::options::{Color, Common};

/// The user's choices about output.
#[derive(Debug, Clone, Copy)]
struct Style {
    color: Color,
    quiet: bool,
    verbose: bool,
}

static STYLE: OnceLock<Style> = OnceLock::new();

/// The first failure to write to standard output.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Whether standard output was closed by its reader, or cannot be written.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Sets how this process prints. Only the first call counts.
pub fn configure(common: &Common) {
    STYLE.get_or_init(|| Style {
        color: common.color,
        quiet: common.quiet,
        verbose: common.verbose,
    });
}

fn style() -> Style {
    STYLE.get().copied().unwrap_or(Style {
        color: Color::Auto,
        quiet: false,
        verbose: false,
    })
}

/// Returns whether the user wants results and errors only.
pub fn is_quiet() -> bool {
    style().quiet
}

/// Returns whether the user wants details.
pub fn is_verbose() -> bool {
    style().verbose
}

/// Returns whether this stream supports colours.
pub fn has_colors(stream: &impl IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match style().color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            stream.is_terminal()
                && !is_set("NO_COLOR")
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Returns the width of the terminal that standard output is, in columns.
pub fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Prints to standard output, without adding a line end.
pub fn out(text: &str) {
    bytes(text.as_bytes());
}

/// Prints bytes to standard output. Returns whether more output makes sense.
pub fn bytes(bytes: &[u8]) -> bool {
    let mut stdout = io::stdout().lock();
    let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) else {
        return true;
    };
    IS_CLOSED.store(true, Ordering::Relaxed);
    if error.kind() != ErrorKind::BrokenPipe {
        failure().get_or_insert(error);
    }
    false
}

/// Returns whether the output is still read.
pub fn has_reader() -> bool {
    !IS_CLOSED.load(Ordering::Relaxed)
}

fn failure() -> MutexGuard<'static, Option<io::Error>> {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the first failure to write to standard output.
pub fn finish() -> anyhow::Result<()> {
    match failure().take() {
        Some(error) => Err(anyhow::Error::new(error).context("standard output cannot be written")),
        None => Ok(()),
    }
}

/// Prints JSON to standard output on its own lines, with terminal control characters escaped.
pub fn json(text: &str) {
    out(&format!("{}\n", plain::json(text)));
}

/// Prints to standard error, without adding a line end.
pub fn err(text: &str) {
    let mut stderr = io::stderr().lock();
    // There is no other place to report this failure.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Prints a line of advice to standard error, unless the user wants none.
pub fn hint(text: &str) {
    if !is_quiet() {
        err(&format!("acpd: {text}\n"));
    }
}
