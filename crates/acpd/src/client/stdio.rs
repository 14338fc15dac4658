//! Standard input and output of a pipe, each on its own thread: a blocked read or write must not block anything else.

use std::io::{BufRead, Read, Write};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

/// Capacity of the queue in each direction, in lines.
const LINES: usize = 16;

/// Returns the lines of standard input, until its end. A line of more than `most` bytes becomes one that is not JSON,
/// and the daemon responds with a parse error.
pub fn lines(most: usize) -> mpsc::Receiver<String> {
    let (lines_tx, lines) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        while let Some(line) = line(&mut stdin, most) {
            if !line.trim().is_empty() && lines_tx.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Reads the next line, without its line end.
fn line(from: &mut impl BufRead, most: usize) -> Option<String> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let read = from.by_ref().take(limit + 1).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 {
        return None;
    }
    if bytes.last() != Some(&b'\n') && read > most {
        let mut rest = Vec::new();
        while from.by_ref().take(limit + 1).read_until(b'\n', &mut rest).ok()? > most
            && rest.last() != Some(&b'\n')
        {
            rest.clear();
        }
        return Some(format!("a line of more than {most} bytes"));
    }
    Some(String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned())
}

/// Writer to standard output.
pub struct Stdout {
    texts: mpsc::Sender<String>,
    thread: JoinHandle<()>,
}

impl Stdout {
    /// Starts the writer thread.
    pub fn start() -> Self {
        let (texts, mut queue) = mpsc::channel::<String>(LINES);
        let thread = std::thread::spawn(move || {
            let mut stdout = std::io::stdout().lock();
            while let Some(mut text) = queue.blocking_recv() {
                if text.contains(['\n', '\r']) {
                    // In JSON, a line break is never part of a value.
                    text = text.replace(['\n', '\r'], " ");
                }
                text.push('\n');
                let written = stdout.write_all(text.as_bytes());
                if written.and_then(|()| stdout.flush()).is_err() {
                    return;
                }
            }
        });
        Self { texts, thread }
    }

    /// Writes one line; returns `false` if the reader is gone.
    pub async fn write(&self, text: String) -> bool {
        self.texts.send(text).await.is_ok()
    }

    /// Waits until all lines are written.
    pub fn finish(self) {
        drop(self.texts);
        // The thread ends when the queue is empty or the reader is gone.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_costs_no_other_one() {
        let text = format!("a\n{}\r\nb\n{}\n\nc", "x".repeat(25), "y".repeat(10));
        let mut from = text.as_bytes();
        let read: Vec<_> = std::iter::from_fn(|| line(&mut from, 10)).collect();
        let long = "a line of more than 10 bytes".to_owned();
        let y = "y".repeat(10);
        assert_eq!(read, ["a", &long, "b", &y, "", "c"]);
    }
}
