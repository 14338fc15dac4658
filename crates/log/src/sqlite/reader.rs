//! A reading thread with its own connection. Every query is short, because the write-ahead log cannot restart while a
//! query is open.

use std::fmt;
use std::thread::JoinHandle;

use acpd_model::limits::LOG_READS;
use rusqlite::Connection;
use tokio::sync::mpsc;

use super::start;
use crate::LogError;

/// A job for a reader.
pub(super) enum Query {
    Run(Box<dyn FnOnce(&Connection) + Send>),
    Stop,
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::Stop => "Stop",
        })
    }
}

/// The writer's handle to a reader, used to stop it.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) queries: mpsc::Sender<Query>,
    thread: JoinHandle<()>,
}

impl Reader {
    pub(super) fn start(number: usize, connection: Connection) -> Result<Self, LogError> {
        let (queries, queue) = mpsc::channel(LOG_READS);
        let thread = start(format!("log-reader-{number}"), move || run(&connection, queue))?;
        Ok(Self { queries, thread })
    }

    /// Stops the reader after its queued queries, and waits until it has ended. Blocks.
    pub(super) fn stop(self) {
        let _it_is_gone = self.queries.blocking_send(Query::Stop);
        if self.thread.join().is_err() {
            tracing::error!("a reader of the log panicked");
        }
    }
}

fn run(connection: &Connection, mut queue: mpsc::Receiver<Query>) {
    while let Some(Query::Run(query)) = queue.blocking_recv() {
        query(connection);
    }
}
