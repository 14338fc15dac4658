//! A reading thread with its own connection. Every query is short, because the write-ahead log cannot restart while a
//! query is open.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::os_thread;
use crate::{LogError, LogFuture};

/// Reads that may wait for each reader of the log.
const LOG_READS: usize = 64;

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

/// Sends queries to a reader.
#[derive(Debug, Clone)]
pub(super) struct Queries {
    queries_tx: mpsc::Sender<Query>,
    unanswered: Arc<AtomicUsize>,
}

/// Counts a query until it is dropped.
struct Unanswered(Arc<AtomicUsize>);

impl Unanswered {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Queries {
    /// Returns the number of queries that run or wait.
    pub(super) fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Runs a query, unless the answer is dropped before its turn.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        look_up: impl FnOnce(&Connection) -> Result<T, LogError> + Send + 'static,
    ) -> LogFuture<'_, T> {
        let (answer, answered) = oneshot::channel();
        let counted = Unanswered::new(&self.unanswered);
        let query = Query::Run(Box::new(move |connection| {
            if !answer.is_closed() {
                let found = look_up(connection);
                drop(counted);
                let _nobody_waits = answer.send(found);
            }
        }));
        Box::pin(async move {
            let sent = self.queries_tx.send(query).await;
            sent.map_err(|_| LogError::Closed)?;
            answered.await.unwrap_or(Err(LogError::Closed))
        })
    }
}

/// The writer's handle to a reader, used to stop it.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) queries: Queries,
    thread: JoinHandle<()>,
}

impl Reader {
    pub(super) fn start(name: String, connection: Connection) -> Result<Self, LogError> {
        let (queries_tx, queue) = mpsc::channel(LOG_READS);
        let thread = os_thread::start(name, move || run(&connection, queue))?;
        let queries = Queries {
            queries_tx,
            unanswered: Arc::default(),
        };
        Ok(Self { queries, thread })
    }

    /// Stops the reader after its queued queries, and waits until it has ended. Blocks.
    pub(super) fn stop(self) {
        let _it_is_gone = self.queries.queries_tx.blocking_send(Query::Stop);
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
