//! Printing for readers that may go away, as `head` does: what nobody reads any more is no error.

use std::io::Write;

/// Prints to standard output, without adding a line end.
pub fn out(text: &str) {
    write(std::io::stdout().lock(), text);
}

/// Prints to standard error, without adding a line end.
pub fn err(text: &str) {
    write(std::io::stderr().lock(), text);
}

fn write(mut to: impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
