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
//! | `upgrade` | free space and a copy, before an older database is upgraded |
//! | `writer` | the writing thread: group commit, shutdown |
//! | `fair` | what waits for the writer: threads take turns by bytes |
//! | `store` | the effects of one transaction |
//! | `index` | searchable texts, and which threads need which blob |
//! | `lineage` | the rows that forks share with their origin |
//! | `list` | lists of threads |
//! | `blocks` | packed rows that lists can scan |
//! | `marks` | the places of turns and items |
//! | `divide` | dividing large rows of older versions |
//! | `cleanup` | erasing deleted data, step by step |
//! | `reader` | the reading threads |
//! | `os_thread` | how the threads start |
//! | `backup` | copies for backups, while a daemon writes |
//! | `query` | the queries of reads |
//! | `columns` | columns that several queries return |
//! | `unused` | threads that were not used for long, and the bytes that they take |

mod backup;
mod blocks;
mod change;
mod cleanup;
mod columns;
mod divide;
mod error;
mod fair;
mod files;
mod index;
mod lineage;
mod list;
mod marks;
mod os_thread;
mod query;
mod reader;
mod schema;
mod store;
mod unused;
mod upgrade;
mod writer;

pub use backup::{BackupSource, LogContents, check_copy, lock, log_version};
pub use files::Durability;
pub use upgrade::free_bytes;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use acpd_model::limits::{LOG_QUEUE, LOG_QUEUE_BYTES};
use acpd_model::{BlobId, Event, Extract, Millis, SearchHit, Seq, Summary, ThreadId, TurnId};
use rusqlite::Connection;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::stats::{Counters, Stats};
use crate::{
    Append, Backlog, BlobPart, Carried, Claim, EventLog, Filter, Lacking, ListCursor, ListedThread, LogError,
    LogFuture, Page, Search, SearchCursor, Snapshot, TurnsFound, TurnsWanted, Unused, UnusedPage, Usage,
    blob_id,
};
use change::{Batch, Change, Missing};
use reader::{Queries, Reader};
use store::Store;
use upgrade::Copies;
use writer::{Job, Work};

/// Threads that read single threads. Lists and searches have one each, so that they delay no other reads.
const READERS: usize = 2;

/// The log in one `SQLite` database, for one process at a time.
///
/// An append is queued when it is called, not when its future is awaited. So successive appends of a thread keep their order. If
/// [`LOG_QUEUE`] jobs or [`LOG_QUEUE_BYTES`] are already waiting, an append is queued when its future is first awaited and
/// room becomes free. A future that is dropped without being awaited then never appends.
///
/// Dropping the log waits until all queued jobs are stored and the files are closed.
#[derive(Debug)]
pub struct Sqlite {
    reads: Vec<Queries>,
    lists: Queries,
    searches: Queries,
    jobs: mpsc::Sender<Job>,
    /// Bytes that may still be queued.
    room: Arc<Semaphore>,
    counters: Arc<Counters>,
    /// Declared after the senders, because its drop waits for a thread that ends when the senders are dropped.
    _writer: WriterThread,
}

impl Sqlite {
    /// Opens the database at `path`, creating it if it does not exist. Its directory must exist. Blocks for some
    /// milliseconds, or while a database of an older version is copied and upgraded.
    ///
    /// Returns [`LogError::NoSpace`] if there is not enough space for an upgrade, [`LogError::InUse`] if another process
    /// has it open, [`LogError::Newer`] if a newer version created it, [`LogError::Storage`] if the file system refuses,
    /// and [`LogError::Damaged`] if it is not a database.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, LogError> {
        let lock = files::lock(path)?;
        let connection = files::writer(path, durability)?;
        let copies = Copies::beside(path)?;
        let reader = |name: String| Reader::start(name, files::reader(path)?);
        let reads = (0..READERS).map(|number| reader(format!("log-reader-{number}")));
        let reads: Vec<Reader> = reads.collect::<Result<_, _>>()?;
        let (lists, searches) = (reader("log-lists".into())?, reader("log-searches".into())?);
        let queries = reads.iter().map(|reader| reader.queries.clone()).collect();
        let (list_queries, search_queries) = (lists.queries.clone(), searches.queries.clone());
        let readers = reads.into_iter().chain([lists, searches]).collect();
        let (jobs, queue) = mpsc::channel(LOG_QUEUE);
        let counters = Arc::new(Counters::default());
        let counting = Arc::clone(&counters);
        let writer = os_thread::start("log-writer".into(), move || {
            writer::run(
                Store::with_copies(connection, copies),
                queue,
                readers,
                lock,
                &counting,
            );
        })?;
        Ok(Self {
            reads: queries,
            lists: list_queries,
            searches: search_queries,
            jobs,
            room: Arc::new(Semaphore::new(LOG_QUEUE_BYTES as usize)),
            counters,
            _writer: WriterThread(Some(writer)),
        })
    }

    /// Queues a job for the writer, immediately if there is room.
    fn submit(&self, work: Work) -> LogFuture<'_, ()> {
        let bytes = u32::try_from(work.bytes()).map_or(LOG_QUEUE_BYTES, |bytes| bytes.min(LOG_QUEUE_BYTES));
        let (answer, answered) = oneshot::channel();
        let room = Arc::clone(&self.room).try_acquire_many_owned(bytes).ok();
        let has_room = room.is_some();
        let job = Job { work, answer, room };
        let sent = if has_room {
            self.jobs.try_send(job)
        } else {
            Err(TrySendError::Full(job))
        };
        Box::pin(async move {
            match sent {
                Ok(()) => {}
                Err(TrySendError::Full(mut job)) => {
                    if job.room.is_none() {
                        job.room = Arc::clone(&self.room).acquire_many_owned(bytes).await.ok();
                    }
                    self.jobs.send(job).await.map_err(|_| LogError::Closed)?;
                }
                Err(TrySendError::Closed(_)) => return Err(LogError::Closed),
            }
            answered.await.unwrap_or(Err(LogError::Closed))
        })
    }

    /// Runs a query about one thread, on the reader with the fewest unanswered queries.
    fn ask<T: Send + 'static>(
        &self,
        look_up: impl FnOnce(&Connection) -> Result<T, LogError> + Send + 'static,
    ) -> LogFuture<'_, T> {
        match self.reads.iter().min_by_key(|reader| reader.unanswered()) {
            Some(reader) => reader.ask(look_up),
            None => Box::pin(std::future::ready(Err(LogError::Closed))),
        }
    }
}

impl EventLog for Sqlite {
    fn store(&self, append: Append<'_>) -> LogFuture<'_, ()> {
        match Batch::new(&append) {
            Ok(batch) => self.submit(Work::Store(Change::Append(batch))),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// The lock on the database excludes all other processes.
    fn claim(&self, _: ThreadId) -> LogFuture<'_, Claim> {
        Box::pin(std::future::ready(Ok(Claim::default())))
    }

    fn read(&self, thread: ThreadId, after: Seq) -> LogFuture<'_, Page> {
        self.ask(move |connection| query::page(connection, thread, after))
    }

    fn events(&self, thread: ThreadId, seqs: Vec<Seq>) -> LogFuture<'_, Vec<Event>> {
        self.ask(move |connection| query::events(connection, thread, &seqs))
    }

    fn turns(&self, thread: ThreadId, wanted: TurnsWanted) -> LogFuture<'_, Option<TurnsFound>> {
        self.ask(move |connection| query::turns(connection, thread, &wanted))
    }

    fn end_of_turns(&self, thread: ThreadId, last: Option<TurnId>) -> LogFuture<'_, Option<Seq>> {
        self.ask(move |connection| query::end_of_turns(connection, thread, last))
    }

    fn client_turn(&self, thread: ThreadId, id: String) -> LogFuture<'_, Option<TurnId>> {
        self.ask(move |connection| query::client_turn(connection, thread, &id))
    }

    fn snapshot(&self, thread: ThreadId, until: Seq, format: u32) -> LogFuture<'_, Option<Snapshot>> {
        self.ask(move |connection| query::snapshot(connection, thread, until, format))
    }

    fn carried(&self, thread: ThreadId) -> LogFuture<'_, Carried> {
        self.ask(move |connection| query::carried(connection, thread))
    }

    fn last_seq(&self, thread: ThreadId) -> LogFuture<'_, Seq> {
        self.ask(move |connection| query::last_seq(connection, thread))
    }

    fn summary(&self, thread: ThreadId) -> LogFuture<'_, Summary> {
        self.ask(move |connection| query::summary(connection, thread))
    }

    fn list(
        &self,
        filter: Filter,
        cursor: Option<ListCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<ListedThread>> {
        // A session is looked up before a thread starts, by an index of its own.
        if filter.session_id.is_some() {
            return self.ask(move |connection| list::list(connection, &filter, cursor, limit));
        }
        self.lists
            .ask(move |connection| list::list(connection, &filter, cursor, limit))
    }

    fn directories(&self) -> LogFuture<'_, Vec<String>> {
        self.lists.ask(list::directories)
    }

    fn search(
        &self,
        search: Search,
        cursor: Option<SearchCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<(SearchCursor, SearchHit)>> {
        self.searches
            .ask(move |connection| query::search(connection, &search, cursor, limit))
    }

    fn backlog(&self, lacks: Lacking, before: Option<ThreadId>) -> LogFuture<'_, Option<Backlog>> {
        self.ask(move |connection| query::backlog(connection, lacks, before))
    }

    fn lacking_turns(&self, thread: ThreadId) -> LogFuture<'_, Option<Backlog>> {
        self.ask(move |connection| query::lacking_turns(connection, thread))
    }

    fn catch_up(
        &self,
        thread: ThreadId,
        lacks: Lacking,
        through: Seq,
        extract: &Extract,
        snapshot: Option<&Snapshot>,
    ) -> LogFuture<'_, ()> {
        let change = Change::CatchUp {
            thread,
            through,
            data: Missing::new(lacks, extract, snapshot),
        };
        self.submit(Work::Store(change))
    }

    fn divide_row(&self, thread: ThreadId, after: Seq) -> LogFuture<'_, ()> {
        // Unpacking a large row takes long, so it is not done by a reader of threads.
        let found = self
            .searches
            .ask(move |connection| divide::find(connection, thread, after));
        Box::pin(async move {
            let Some(mut large) = found.await? else {
                return Ok(());
            };
            while let Some(part) = large.next_part() {
                self.submit(Work::Store(Change::Divide(part))).await?;
            }
            Ok(())
        })
    }

    fn delete(&self, thread: ThreadId) -> LogFuture<'_, ()> {
        self.submit(Work::Store(Change::Delete(thread)))
    }

    fn put_blob(&self, thread: ThreadId, content: Vec<u8>) -> LogFuture<'_, BlobId> {
        let id = blob_id(&content);
        let stored = self.submit(Work::Store(Change::Blob { thread, id, content }));
        Box::pin(async move { stored.await.map(|()| id) })
    }

    fn blob_part(
        &self,
        of: Option<ThreadId>,
        id: BlobId,
        from: u64,
        most: usize,
    ) -> LogFuture<'_, Option<BlobPart>> {
        self.ask(move |connection| query::blob_part(connection, of, id, from, most))
    }

    fn is_removed(&self, id: BlobId) -> LogFuture<'_, bool> {
        self.ask(move |connection| unused::is_removed(connection, id))
    }

    // Measuring a large thread takes long, so it is not done by a reader of threads.
    fn unused(&self, wanted: Unused, limit: usize) -> LogFuture<'_, UnusedPage> {
        self.searches
            .ask(move |connection| unused::unused(connection, &wanted, limit))
    }

    fn usage(&self) -> LogFuture<'_, Usage> {
        self.searches.ask(unused::usage)
    }

    fn remove_blobs(&self, thread: ThreadId, before: Millis) -> LogFuture<'_, ()> {
        self.submit(Work::Store(Change::RemoveBlobs { thread, before }))
    }

    fn stats(&self) -> Stats {
        self.counters
            .stats(self.jobs.max_capacity() - self.jobs.capacity())
    }

    fn close(&self) -> LogFuture<'_, ()> {
        self.submit(Work::Close)
    }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc as blocking;
    use std::time::Duration;

    use super::*;
    use crate::conformance::sample;

    /// Far longer than a read takes. Only a failing test waits for so long.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn open(directory: &tempfile::TempDir) -> Sqlite {
        Sqlite::open(&directory.path().join("log.db"), Durability::Process).unwrap()
    }

    /// Returns a query that runs until the sender is dropped.
    fn endless() -> (
        blocking::Sender<()>,
        impl FnOnce(&Connection) -> Result<(), LogError> + Send + 'static,
    ) {
        let (end, ended) = blocking::channel();
        (end, move |_: &Connection| {
            let _it_ended = ended.recv();
            Ok(())
        })
    }

    async fn store(log: &Sqlite) -> ThreadId {
        let thread = sample::thread(1);
        let summary = Summary {
            session_id: Some("s-1".into()),
            ..sample::summary("read", 1)
        };
        log.append(thread, &[sample::event(1, 10)], Some(&summary))
            .await
            .unwrap();
        thread
    }

    async fn reads_are_answered(log: &Sqlite, thread: ThreadId) {
        for _ in 0..20 {
            let read = tokio::time::timeout(PATIENCE, log.read(thread, 0)).await;
            assert!(read.expect("a read waits for another query").unwrap().at_end);
        }
    }

    #[tokio::test]
    async fn a_list_delays_no_other_read() {
        let directory = tempfile::tempdir().unwrap();
        let log = open(&directory);
        let thread = store(&log).await;
        let (end, query) = endless();
        let mut running = log.lists.ask(query);
        let lists: Vec<_> = (0..50).map(|_| log.list(Filter::default(), None, 100)).collect();
        assert!(poll_once(&mut running).is_pending());
        reads_are_answered(&log, thread).await;
        let of_session = Filter {
            session_id: Some("s-1".into()),
            ..Filter::default()
        };
        let found = tokio::time::timeout(PATIENCE, log.list(of_session, None, 100)).await;
        assert_eq!(found.expect("a session is looked up").unwrap().len(), 1);
        drop(end);
        running.await.unwrap();
        for list in lists {
            assert_eq!(list.await.unwrap().len(), 1);
        }
    }

    #[tokio::test]
    async fn a_long_read_delays_no_other_one() {
        let directory = tempfile::tempdir().unwrap();
        let log = open(&directory);
        let thread = store(&log).await;
        let (end, query) = endless();
        let mut running = log.ask(query);
        assert!(poll_once(&mut running).is_pending());
        reads_are_answered(&log, thread).await;
        drop(end);
        running.await.unwrap();
    }

    /// Polls once, which queues a query.
    fn poll_once<T>(answer: &mut T) -> std::task::Poll<T::Output>
    where
        T: Future + Unpin,
    {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::Pin::new(answer).poll(&mut context)
    }
}
