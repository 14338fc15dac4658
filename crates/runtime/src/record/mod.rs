//! Records what passes between the daemon, its agents and its clients, for finding faults (`--record-wire`).
//!
//! In: bytes of agents, messages of clients. Out: one file for each process and connection. Owns: the queue to the thread
//! that writes. Never: makes an agent or a client wait for the disk: what does not fit into the queue is left out, and the
//! file says so.
//!
//! The files contain everything but known secrets: prompts, output, file contents. A line has the form of
//! `fixtures/transcripts`: `{"t": SECONDS, "proc": 1, "dir": DIRECTION, "msg": {…}}`, with `raw` in place of `msg` for a line
//! that is not JSON. The directions are `c2a` and `a2c` for agents, `c2s` and `s2c` for clients. A line of process 0 with the
//! direction `mark` says what is missing.

mod command;
mod directory;
pub(crate) mod pipe;
mod redact;
mod writer;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;

pub use self::command::Direction;
use self::command::{Bounds, WriterCommand};
use self::directory::Created;
use self::writer::Writer;
use crate::clock::Clock;

/// What waits to be written to a recording of the wire, in bytes. What does not fit is left out.
const RECORD_QUEUE_BYTES: usize = 16 << 20;
/// Size of a file of a recording, in bytes, after which nothing more is added to it.
const RECORD_FILE_BYTES: u64 = 256 << 20;
/// Size of all files of a recording, in bytes, after which it stops.
const RECORD_TOTAL_BYTES: u64 = 2 << 30;
const BOUNDS: Bounds = Bounds {
    queue: RECORD_QUEUE_BYTES,
    file: RECORD_FILE_BYTES,
    total: RECORD_TOTAL_BYTES,
};

/// Records agents and clients. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WireRecorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    commands: Sender<WriterCommand>,
    clock: Clock,
    waiting: Arc<AtomicUsize>,
    queue_bytes: usize,
    last_file: AtomicU64,
    /// Set when the recording has reached its size, or the disk failed.
    has_stopped: Arc<AtomicBool>,
}

/// The thread that writes. It ends when the recording is finished, or once all recorders and recordings are dropped.
/// Dropping it removes the directories that were created for the recording, if nothing was written.
#[derive(Debug)]
pub struct RecordThread {
    thread: JoinHandle<()>,
    commands: Sender<WriterCommand>,
    _created: Created,
}

impl RecordThread {
    /// Ends the recording: waits until everything so far is written. Blocks.
    pub fn finish(self) {
        // A panic of the thread is in the log already.
        let _ = self.commands.send(WriterCommand::Finish);
        let _ = self.thread.join();
    }
}

impl WireRecorder {
    /// Starts to record into a directory, which is created, or must be closed to other users.
    pub fn start(directory: &Path) -> io::Result<(Self, RecordThread)> {
        Self::with_bounds(directory, BOUNDS)
    }

    fn with_bounds(directory: &Path, bounds: Bounds) -> io::Result<(Self, RecordThread)> {
        let created = Created::at(directory)?;
        let (commands, received) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let has_stopped = Arc::new(AtomicBool::new(false));
        let writer = Writer::new(directory.to_owned(), bounds, Arc::clone(&has_stopped));
        let thread = spawn(writer, received, Arc::clone(&waiting))?;
        let thread = RecordThread {
            thread,
            commands: commands.clone(),
            _created: created,
        };
        let shared = Shared {
            commands,
            clock: Clock::start(),
            waiting,
            queue_bytes: bounds.queue,
            last_file: AtomicU64::new(0),
            has_stopped,
        };
        Ok((Self(Arc::new(shared)), thread))
    }

    /// Begins the file of an agent's process.
    pub fn agent(&self, agent: &str) -> Recording {
        self.begin("agent", agent)
    }

    /// Begins the file of a client's connection, which speaks this protocol.
    pub fn client(&self, protocol: &str) -> Recording {
        self.begin("client", protocol)
    }

    fn begin(&self, kind: &str, name: &str) -> Recording {
        let shared = Arc::clone(&self.0);
        let file = shared.last_file.fetch_add(1, Ordering::Relaxed) + 1;
        // A name of a configured agent may contain any character.
        let plain = |character: char| {
            if character.is_ascii_alphanumeric() || "-._".contains(character) {
                character
            } else {
                '_'
            }
        };
        let name: String = name.chars().take(64).map(plain).collect();
        let seconds = shared.clock.now().wall / 1000;
        let name = format!("{kind}-{name}-{seconds}-{file}.jsonl");
        let begun = shared.clock.now().mono;
        // The thread ends only after the last recording.
        let _ = shared.commands.send(WriterCommand::Open { file, name });
        Recording {
            shared,
            file,
            begun,
            missed: AtomicU64::new(0),
        }
    }
}

fn spawn(
    mut writer: Writer,
    received: Receiver<WriterCommand>,
    waiting: Arc<AtomicUsize>,
) -> io::Result<JoinHandle<()>> {
    let work = move || {
        for command in received {
            let bytes = match &command {
                WriterCommand::Data { bytes, .. } => bytes.len() + OVERHEAD,
                WriterCommand::Finish => return,
                WriterCommand::Open { .. } | WriterCommand::Close { .. } => 0,
            };
            writer.handle(command);
            waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
    };
    std::thread::Builder::new()
        .name("record-wire".to_owned())
        .spawn(work)
}

/// The memory of a command beside its bytes.
const OVERHEAD: usize = 128;

/// The file of one process or connection.
pub struct Recording {
    shared: Arc<Shared>,
    file: u64,
    begun: Duration,
    /// Messages or reads that found no room in the queue since the last one that did.
    missed: AtomicU64,
}

impl fmt::Debug for Recording {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Recording")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Recording {
    /// Records one whole message.
    pub fn message(&self, direction: Direction, message: &Bytes) {
        self.send(direction, message.len(), true, || message.clone());
    }

    /// Records one whole message that is copied.
    pub fn text(&self, direction: Direction, text: &str) {
        self.send(direction, text.len(), true, || {
            Bytes::copy_from_slice(text.as_bytes())
        });
    }

    /// Records a part of a stream of lines.
    pub(crate) fn part(&self, direction: Direction, bytes: &[u8]) {
        self.send(direction, bytes.len(), false, || Bytes::copy_from_slice(bytes));
    }

    fn send(&self, direction: Direction, size: usize, is_whole: bool, bytes: impl FnOnce() -> Bytes) {
        let shared = &self.shared;
        if shared.has_stopped.load(Ordering::Relaxed) {
            return;
        }
        let room = shared.waiting.fetch_add(size + OVERHEAD, Ordering::Relaxed);
        if room + size > shared.queue_bytes {
            shared.waiting.fetch_sub(size + OVERHEAD, Ordering::Relaxed);
            self.missed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let command = WriterCommand::Data {
            file: self.file,
            at: shared.clock.now().mono.saturating_sub(self.begun),
            direction,
            bytes: bytes(),
            is_whole,
            missed: self.missed.swap(0, Ordering::Relaxed),
        };
        // The thread ends only after the last recording.
        let _ = shared.commands.send(command);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let missed = self.missed.load(Ordering::Relaxed);
        let file = self.file;
        let _ = self.shared.commands.send(WriterCommand::Close { file, missed });
    }
}

#[cfg(test)]
mod tests;
