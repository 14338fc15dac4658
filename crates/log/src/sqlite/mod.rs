//! The log in one `SQLite` database.
//!
//! What comes in: calls from any task. What goes out: their answers. What it owns: the database's files, one
//! thread that writes and some that read, each with its own connection. What it never does: block a task of
//! the caller's runtime, or let two processes use one database.
//!
//! | File | Subject |
//! |---|---|
//! | `files` | the lock, the files' modes, connections and their settings |
//! | `schema` | tables and their versions |
//! | `writer` | the writing thread: group commit, shutdown |
//! | `store` | what one transaction does |
//! | `index` | texts that can be found, and who needs which blob |
//! | `reader` | the reading threads |
//! | `query` | what a read looks up |

mod error;
mod files;
mod index;
mod query;
mod reader;
mod schema;
mod store;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use acpd_model::limits::LOG_QUEUE;
use acpd_model::{BlobId, Event, Extract, Seq, Summary, ThreadId};
use rusqlite::Connection;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::stats::{Counters, Stats};
use crate::{
    Answer, Backlog, EventLog, Filter, Hit, ListCursor, ListedThread, LogError, Page, Search, SearchCursor,
    blob_id,
};
use index::Entries;
use reader::{Query, Reader};
use store::{Append, Change};
use writer::Job;

/// Threads that read, but for the one that searches: a search may take its time, and nobody else waits for it.
const READERS: usize = 2;

/// Stack of each thread, in bytes. `SQLite` and JSON want little, and what is touched stays resident.
const STACK_BYTES: usize = 256 << 10;

/// What an append that was answered `Ok` survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of this process, however sudden (`synchronous = NORMAL`).
    #[default]
    Process,
    /// The end of the machine's power (`synchronous = FULL`): each commit waits for the disk.
    Power,
}

/// The log in one `SQLite` database, for one process at a time.
///
/// An append is queued when it is called, not when its answer is awaited, so appends that are made one after
/// the other keep their order. Only where [`LOG_QUEUE`] jobs wait already, it is queued when its answer is
/// first awaited and room comes up: then an answer that is dropped unawaited is an append that never was.
///
/// Dropping it waits until what is queued is stored and the files are closed.
#[derive(Debug)]
pub struct Sqlite {
    /// The last one searches.
    readers: Vec<mpsc::Sender<Query>>,
    next_reader: AtomicUsize,
    jobs: mpsc::Sender<Job>,
    counters: Arc<Counters>,
    /// After the senders, because it waits for a thread that ends when they are gone.
    _writer: WriterThread,
}

impl Sqlite {
    /// Opens the database at `path`, making it if there is none; its directory must exist. Blocks for some
    /// milliseconds.
    ///
    /// [`LogError::Storage`] if the file system refuses, another process has it open, or a newer version
    /// made it; [`LogError::Damaged`] if it is no database.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, LogError> {
        let lock = files::lock(path)?;
        let connection = files::writer(path, durability)?;
        let readers: Vec<Reader> = (0..=READERS)
            .map(|number| Reader::start(number, files::reader(path)?))
            .collect::<Result<_, _>>()?;
        let queries = readers.iter().map(|reader| reader.queries.clone()).collect();
        let (jobs, queue) = mpsc::channel(LOG_QUEUE);
        let counters = Arc::new(Counters::default());
        let counting = Arc::clone(&counters);
        let writer = start("log-writer".into(), move || {
            writer::run(connection, queue, readers, lock, &counting);
        })?;
        Ok(Self {
            readers: queries,
            next_reader: AtomicUsize::new(0),
            jobs,
            counters,
            _writer: WriterThread(Some(writer)),
        })
    }

    /// Hands the writer a job, now if there is room.
    fn submit(&self, job: impl FnOnce(oneshot::Sender<Result<(), LogError>>) -> Job) -> Answer<'_, ()> {
        let (answer, answered) = oneshot::channel();
        let sent = self.jobs.try_send(job(answer));
        Box::pin(async move {
            match sent {
                Ok(()) => {}
                Err(TrySendError::Full(job)) => self.jobs.send(job).await.map_err(|_| LogError::Closed)?,
                Err(TrySendError::Closed(_)) => return Err(LogError::Closed),
            }
            answered.await.unwrap_or(Err(LogError::Closed))
        })
    }

    /// Has one of the readers look something up.
    fn ask<T: Send + 'static>(
        &self,
        look_up: impl FnOnce(&Connection) -> Result<T, LogError> + Send + 'static,
    ) -> Answer<'_, T> {
        let reader = self.next_reader.fetch_add(1, Ordering::Relaxed) % READERS;
        self.ask_reader(reader, look_up)
    }

    fn ask_reader<T: Send + 'static>(
        &self,
        reader: usize,
        look_up: impl FnOnce(&Connection) -> Result<T, LogError> + Send + 'static,
    ) -> Answer<'_, T> {
        let (answer, answered) = oneshot::channel();
        let query = Query::Run(Box::new(move |connection| {
            if !answer.is_closed() {
                let _nobody_waits = answer.send(look_up(connection));
            }
        }));
        Box::pin(async move {
            let sent = self.readers[reader].send(query).await;
            sent.map_err(|_| LogError::Closed)?;
            answered.await.unwrap_or(Err(LogError::Closed))
        })
    }
}

impl EventLog for Sqlite {
    fn append_with(
        &self,
        thread: ThreadId,
        events: &[Event],
        summary: Option<&Summary>,
        extract: &Extract,
    ) -> Answer<'_, ()> {
        match Append::new(thread, events, summary, extract) {
            Ok(append) => self.submit(|answer| Job::Store(Change::Append(append), answer)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn read(&self, thread: ThreadId, after: Seq) -> Answer<'_, Page> {
        self.ask(move |connection| query::page(connection, thread, after))
    }

    fn last_seq(&self, thread: ThreadId) -> Answer<'_, Seq> {
        self.ask(move |connection| query::last_seq(connection, thread))
    }

    fn summary(&self, thread: ThreadId) -> Answer<'_, Summary> {
        self.ask(move |connection| query::summary(connection, thread))
    }

    fn list(
        &self,
        filter: Filter,
        cursor: Option<ListCursor>,
        limit: usize,
    ) -> Answer<'_, Vec<ListedThread>> {
        self.ask(move |connection| query::list(connection, &filter, cursor, limit))
    }

    fn search(&self, search: Search, cursor: Option<SearchCursor>, limit: usize) -> Answer<'_, Vec<Hit>> {
        self.ask_reader(READERS, move |connection| {
            query::search(connection, &search, cursor, limit)
        })
    }

    fn backlog(&self, before: Option<ThreadId>) -> Answer<'_, Option<Backlog>> {
        self.ask(move |connection| query::backlog(connection, before))
    }

    fn index(&self, thread: ThreadId, through: Seq, extract: &Extract) -> Answer<'_, ()> {
        let entries = Entries::new(extract);
        let change = Change::Index {
            thread,
            through,
            entries,
        };
        self.submit(|answer| Job::Store(change, answer))
    }

    fn delete(&self, thread: ThreadId) -> Answer<'_, ()> {
        self.submit(|answer| Job::Store(Change::Delete(thread), answer))
    }

    fn put_blob(&self, thread: ThreadId, content: Vec<u8>) -> Answer<'_, BlobId> {
        let id = blob_id(&content);
        let stored = self.submit(|answer| Job::Store(Change::Blob { thread, id, content }, answer));
        Box::pin(async move { stored.await.map(|()| id) })
    }

    fn blob(&self, id: BlobId) -> Answer<'_, Option<Vec<u8>>> {
        self.ask(move |connection| query::blob(connection, id))
    }

    fn stats(&self) -> Stats {
        self.counters
            .stats(self.jobs.max_capacity() - self.jobs.capacity())
    }

    fn close(&self) -> Answer<'_, ()> {
        self.submit(Job::Close)
    }
}

/// Starts a thread of the log.
fn start(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LogError> {
    std::thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|error| LogError::Storage(format!("no thread could be started: {error}")))
}

/// A thread whose end its owner waits for.
#[derive(Debug)]
struct WriterThread(Option<JoinHandle<()>>);

impl Drop for WriterThread {
    fn drop(&mut self) {
        if self.0.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the log's writer panicked");
        }
    }
}
