//! stdout: any thread can write, one whole line at a time.

use std::io::{BufWriter, Stdout, Write};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The writer to stdout.
#[derive(Debug)]
pub struct Out {
    sink: Mutex<BufWriter<Stdout>>,
}

impl Out {
    /// Creates a writer to stdout.
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

    /// Writes bytes unchanged and flushes them; adds no newline. Input that exceeds the buffer bypasses it, in one
    /// `write`.
    pub fn raw(&self, bytes: &[u8]) {
        self.write(|sink| sink.write_all(bytes));
    }

    fn write(&self, what: impl FnOnce(&mut BufWriter<Stdout>) -> std::io::Result<()>) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if what(&mut sink).and_then(|()| sink.flush()).is_err() {
            // The client is gone: without an exit, a flooding turn would run forever.
            std::process::exit(1);
        }
    }
}
