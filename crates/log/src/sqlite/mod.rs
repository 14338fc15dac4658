//! The log in one `SQLite` database.
//!
//! In: calls from any task. Out: their results. Owns: the database's files, one OS thread that writes and some that
//! read, each with its own connection. Never: blocks a task of the caller's runtime, or lets two processes use one
//! database.
//!
//! | File | Subject |
//! |---|---|
//! | `files` | the lock, the files' modes, connections and their settings |
//! | `schema` | tables and their versions |
//! | `writer` | the writing thread: group commit, shutdown |
//! | `store` | the effects of one transaction |
//! | `index` | searchable texts, and which threads need which blob |
//! | `lineage` | the rows that forks share with their origin |
//! | `marks` | the places of turns and items |
//! | `cleanup` | erasing deleted data, step by step |
//! | `reader` | the reading threads |
//! | `query` | the queries of reads |

mod cleanup;
mod error;
mod files;
mod index;
mod lineage;
mod marks;
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
use acpd_model::{BlobId, Event, Extract, SearchHit, Seq, Summary, ThreadId, TurnId};
use rusqlite::Connection;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::stats::{Counters, Stats};
use crate::{
    Answer, Append, Backlog, Carried, Claim, EventLog, Filter, Lacking, ListCursor, ListedThread, LogError,
    Page, Search, SearchCursor, Snapshot, TurnsFound, TurnsWanted, blob_id,
};
use reader::{Query, Reader};
use store::{Batch, Change, Missing};
use writer::Job;

/// Reading threads, in addition to the one that searches. A slow search does not delay other reads.
const READERS: usize = 2;

/// Stack of each thread, in bytes. `SQLite` and JSON need little, and touched pages stay resident.
const STACK_BYTES: usize = 256 << 10;

/// The failures that an append survives once it has returned `Ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of this process, however sudden (`synchronous = NORMAL`).
    #[default]
    Process,
    /// A power failure (`synchronous = FULL`): each commit waits for the disk.
    Power,
}

/// The log in one `SQLite` database, for one process at a time.
///
/// An append is queued when it is called, not when its future is awaited. So successive appends keep their order. If
/// [`LOG_QUEUE`] jobs are already waiting, an append is queued when its future is first awaited and room becomes free.
/// A future that is dropped without being awaited then never appends.
///
/// Dropping the log waits until all queued jobs are stored and the files are closed.
#[derive(Debug)]
pub struct Sqlite {
    /// The last reader is for searches.
    readers: Vec<mpsc::Sender<Query>>,
    next_reader: AtomicUsize,
    jobs: mpsc::Sender<Job>,
    counters: Arc<Counters>,
    /// Declared after the senders, because its drop waits for a thread that ends when the senders are dropped.
    _writer: WriterThread,
}

impl Sqlite {
    /// Opens the database at `path`, creating it if it does not exist. Its directory must exist. Blocks for some
    /// milliseconds.
    ///
    /// Returns [`LogError::Storage`] if the file system refuses, if another process has it open, or if a newer version
    /// created it. Returns [`LogError::Damaged`] if it is not a database.
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

    /// Queues a job for the writer, immediately if there is room.
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

    /// Runs a query on one of the readers.
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
    fn store(&self, append: Append<'_>) -> Answer<'_, ()> {
        match Batch::new(&append) {
            Ok(batch) => self.submit(|answer| Job::Store(Change::Append(batch), answer)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// The lock on the database excludes all other processes.
    fn claim(&self, _: ThreadId) -> Answer<'_, Claim> {
        Box::pin(std::future::ready(Ok(Claim::default())))
    }

    fn read(&self, thread: ThreadId, after: Seq) -> Answer<'_, Page> {
        self.ask(move |connection| query::page(connection, thread, after))
    }

    fn events(&self, thread: ThreadId, seqs: Vec<Seq>) -> Answer<'_, Vec<Event>> {
        self.ask(move |connection| query::events(connection, thread, &seqs))
    }

    fn turns(&self, thread: ThreadId, wanted: TurnsWanted) -> Answer<'_, Option<TurnsFound>> {
        self.ask(move |connection| query::turns(connection, thread, &wanted))
    }

    fn end_of_turns(&self, thread: ThreadId, last: Option<TurnId>) -> Answer<'_, Option<Seq>> {
        self.ask(move |connection| query::end_of_turns(connection, thread, last))
    }

    fn client_turn(&self, thread: ThreadId, id: String) -> Answer<'_, Option<TurnId>> {
        self.ask(move |connection| query::client_turn(connection, thread, &id))
    }

    fn snapshot(&self, thread: ThreadId, until: Seq, format: u32) -> Answer<'_, Option<Snapshot>> {
        self.ask(move |connection| query::snapshot(connection, thread, until, format))
    }

    fn carried(&self, thread: ThreadId) -> Answer<'_, Carried> {
        self.ask(move |connection| query::carried(connection, thread))
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

    fn search(
        &self,
        search: Search,
        cursor: Option<SearchCursor>,
        limit: usize,
    ) -> Answer<'_, Vec<(SearchCursor, SearchHit)>> {
        self.ask_reader(READERS, move |connection| {
            query::search(connection, &search, cursor, limit)
        })
    }

    fn backlog(&self, lacks: Lacking, before: Option<ThreadId>) -> Answer<'_, Option<Backlog>> {
        self.ask(move |connection| query::backlog(connection, lacks, before))
    }

    fn lacking_turns(&self, thread: ThreadId) -> Answer<'_, Option<Backlog>> {
        self.ask(move |connection| query::lacking_turns(connection, thread))
    }

    fn catch_up(
        &self,
        thread: ThreadId,
        lacks: Lacking,
        through: Seq,
        extract: &Extract,
        snapshot: Option<&Snapshot>,
    ) -> Answer<'_, ()> {
        let change = Change::CatchUp {
            thread,
            through,
            data: Missing::new(lacks, extract, snapshot),
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

/// Starts an OS thread of the log.
fn start(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LogError> {
    std::thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|error| LogError::Storage(format!("no thread could be started: {error}")))
}

/// An OS thread that is joined when its owner is dropped.
#[derive(Debug)]
struct WriterThread(Option<JoinHandle<()>>);

impl Drop for WriterThread {
    fn drop(&mut self) {
        if self.0.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the log's writer panicked");
        }
    }
}
