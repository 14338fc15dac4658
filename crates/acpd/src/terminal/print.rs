//! Output to readers that may close the pipe, as `head` does. A closed pipe is not an error.

use std::io::Write;

use crate::terminal::plain;

/// Prints columns on standard output, each as wide as its widest cell.
pub fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) {
    let header = header.map(str::to_owned);
    let width = |column: usize| {
        let cells = rows
            .iter()
            .chain([&header])
            .map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in std::iter::once(&header).chain(rows) {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        out(&format!("{}\n", line.trim_end()));
    }
}

/// Prints to standard output, without adding a line end.
pub fn out(text: &str) {
    write(std::io::stdout().lock(), text);
}

/// Prints JSON to standard output on its own lines, with terminal control characters escaped.
pub fn json(text: &str) {
    out(&format!("{}\n", plain::json(text)));
}

/// Prints to standard error, without adding a line end.
pub fn err(text: &str) {
    write(std::io::stderr().lock(), text);
}

fn write(mut to: impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
