//! stdout: whole lines, one at a time, from whichever thread has something to say.

use std::io::{BufWriter, Stdout, Write};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The agent's side of the connection.
#[derive(Debug)]
pub struct Out {
    sink: Mutex<BufWriter<Stdout>>,
}

impl Out {
    /// Writes to stdout.
    pub fn stdout() -> Self {
        Self {
            sink: Mutex::new(BufWriter::with_capacity(64 << 10, std::io::stdout())),
        }
    }

    /// Writes one message as one line and flushes it.
    pub fn send(&self, message: &Value) {
        self.write(|sink| {
            serde_json::to_writer(&mut *sink, message)?;
            sink.write_all(b"\n")
        });
    }

    /// Writes bytes as they are, newlines included or not, and flushes them. Larger ones than the buffer go
    /// past it, in one `write`.
    pub fn raw(&self, bytes: &[u8]) {
        self.write(|sink| sink.write_all(bytes));
    }

    fn write(&self, what: impl FnOnce(&mut BufWriter<Stdout>) -> std::io::Result<()>) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if what(&mut sink).and_then(|()| sink.flush()).is_err() {
            // Nobody reads: there is nothing left to do, and a turn in mid-flood would run for ever.
            std::process::exit(1);
        }
    }
}
