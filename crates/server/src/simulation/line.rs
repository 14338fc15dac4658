//! The client's end of a connection: lines of text, which are read as they arrive unless the client stops reading.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// A client's record of its connection.
pub trait Record: Send + 'static {
    /// Handles a message that arrived.
    fn handle(&mut self, line: &str);

    /// Returns what every client records.
    fn common(&mut self) -> &mut Common;
}

/// What every client records.
#[derive(Default)]
pub struct Common {
    /// Each message, and its time of arrival in milliseconds since the start of the run.
    pub messages: Vec<(u128, String)>,
    /// Whether the daemon has closed the connection.
    pub is_closed: bool,
    /// The first violation of the protocol by the daemon.
    pub fault: Option<String>,
}

impl Common {
    /// Records a violation, unless there was one before.
    pub fn break_rule(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

/// One connection.
pub struct Line<R> {
    record: Arc<Mutex<R>>,
    writer: WriteHalf<DuplexStream>,
    /// Whether the client reads.
    valve: watch::Sender<bool>,
    _reading: AbortOnDropHandle<()>,
}

impl<R: Record> Line<R> {
    /// Begins to read.
    pub fn new(io: DuplexStream, record: R, began: Instant) -> Self {
        let (reader, writer) = split(io);
        let record = Arc::new(Mutex::new(record));
        let (valve, open) = watch::channel(true);
        let reading = tokio::spawn(read(reader, open, Arc::clone(&record), began));
        Self {
            record,
            writer,
            valve,
            _reading: AbortOnDropHandle::new(reading),
        }
    }

    /// Returns the record.
    pub fn record(&self) -> MutexGuard<'_, R> {
        lock(&self.record)
    }

    /// Sends a line, which may be invalid. The daemon always reads.
    pub async fn send(&mut self, line: &str) {
        let text = format!("{line}\n");
        let written = self.writer.write_all(text.as_bytes());
        match tokio::time::timeout(Duration::from_secs(1), written).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => self.record().common().is_closed = true,
            Err(_) => {
                let fault = format!("the daemon does not read: {line}");
                self.record().common().break_rule(fault);
            }
        }
    }

    /// Returns whether the client reads.
    pub fn is_reading(&self) -> bool {
        *self.valve.borrow()
    }

    /// Stops or resumes reading.
    pub fn read(&self, reads: bool) {
        self.valve.send_replace(reads);
    }
}

async fn read<R: Record>(
    reader: ReadHalf<DuplexStream>,
    mut open: watch::Receiver<bool>,
    record: Arc<Mutex<R>>,
    began: Instant,
) {
    let mut reader = BufReader::with_capacity(512, reader);
    while open.wait_for(|open| *open).await.is_ok() {
        let mut line = String::new();
        let read = reader.read_line(&mut line).await;
        let mut record = lock(&record);
        // A connection may end within a line.
        if read.is_err() || !line.ends_with('\n') {
            record.common().is_closed = true;
            return;
        }
        line.truncate(line.len() - 1);
        record.handle(&line);
        let at = began.elapsed().as_millis();
        record.common().messages.push((at, line));
    }
}

fn lock<R>(record: &Mutex<R>) -> MutexGuard<'_, R> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}
