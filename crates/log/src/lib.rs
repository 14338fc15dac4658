//! The memory of acpd: an append-only log of events for each thread, a summary of each thread, an index of words, and
//! content-addressed blobs.
//!
//! What comes in: batches of events from the one actor that owns a thread. What goes out: the same events,
//! in order, as often as anyone asks. What it owns: the database and its threads of execution. What it never
//! does: look inside an event, or drop one before its thread is deleted. What can be found of an event, and which blobs
//! it names, it is told beside it ([`Extract`]).
//!
//! Two backends keep the same promises and pass one [conformance suite](conformance): [`Sqlite`] and
//! [`Memory`]; the latter can be told to fail, and is what tests run on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use acpd_model::event::TurnStatus;
use acpd_model::{BlobId, Event, Extract, Millis, Seq, Summary, ThreadId, ThreadStatus};

pub mod chunk;
pub mod conformance;
mod filter;
mod memory;
mod search;
mod sqlite;
pub mod stats;

pub use memory::{Fault, Memory};
pub use search::{Hit, Piece, Search, SearchCursor};
pub use sqlite::{Durability, Sqlite};

/// What an asynchronous call of the log returns.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, LogError>> + Send + 'a>>;

/// A log that the daemon's tasks share.
pub type SharedLog = Arc<dyn EventLog>;

/// Why the log did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Somebody else appended to the thread: the caller's state is stale and must be rebuilt from the log.
    #[error("thread {thread} stands at {last}, not at {expected}")]
    Conflict {
        /// The thread.
        thread: ThreadId,
        /// The `seq` that the caller took for the last.
        expected: Seq,
        /// The `seq` that is the last.
        last: Seq,
    },
    /// The batch is empty or its events are not numbered one after the other. A fault of the caller.
    #[error("the batch is not one run of events")]
    NotContiguous,
    /// There is no such thread.
    #[error("thread {0} is not in the log")]
    NoSuchThread(ThreadId),
    /// What is stored cannot be read.
    #[error("the log is damaged: {0}")]
    Damaged(String),
    /// The disk, the file system or the database failed. Nothing of the batch was stored.
    #[error("the log cannot be written or read: {0}")]
    Storage(String),
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

/// Events of one thread, read in one go.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// In order, without gaps, beginning right after the cursor that was asked for.
    pub events: Vec<Event>,
    /// Whether the thread had no further event at the moment of reading.
    pub at_end: bool,
}

/// What a list of threads is narrowed to. Everything that is set must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Put away or not; `None` is both.
    pub archived: Option<bool>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Working directory, exactly.
    pub cwd: Option<String>,
    /// Only threads in which a turn runs (`true`) or none does (`false`).
    pub active: Option<bool>,
    /// What they are doing, exactly. Looked for among those that [`active`](Self::active) leaves.
    pub status: Option<ThreadStatus>,
    /// How their last turn ended.
    pub last_turn: Option<TurnStatus>,
    /// The agent's session that they go on with.
    pub session_id: Option<String>,
    /// Case-insensitive part of the name.
    pub search: Option<String>,
}

/// A thread as the log lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its summary, as last appended.
    pub summary: Summary,
}

/// Where a page of a list ends: pass it to get the next one. Stable while threads are added and change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCursor {
    /// `updated_at` of the last thread seen.
    pub updated_at: Millis,
    /// The last thread seen.
    pub thread: ThreadId,
}

/// Events of a thread that were stored before there was an index of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// The thread.
    pub thread: ThreadId,
    /// The last event that is in the index.
    pub done: Seq,
    /// The last event that is not.
    pub until: Seq,
}

/// An append-only log of events for each thread.
///
/// # Promises
///
/// * An append is all or nothing, and when it has answered `Ok` its events survive what the configured
///   durability names: the end of this process, or of the machine's power.
/// * `seq` of a thread runs 1, 2, 3 … without gaps, for ever, also over restarts. An append that does not go
///   on where the thread stands is refused with [`LogError::Conflict`] and changes nothing. So two writers can
///   never interleave.
/// * A read sees every append that had answered before it began, and never a part of a batch that failed.
/// * Appends of one caller to one thread are stored in the order in which they were made.
/// * A summary is stored together with the events of its append, or not at all; so is what can be searched of them.
/// * A thread is deleted whole or not at all, and what was deleted is in no file of the log any more, at the latest
///   when the log has been closed. Its id may be used again, by an append that begins at 1; one that goes on where the thread stood is refused.
/// * A blob stays as long as a thread is there that put it, or that said of its events that they name it.
/// * Dropping an answer's future does not undo the append.
pub trait EventLog: Send + Sync + std::fmt::Debug {
    /// Appends `events` to `thread`, creating it if the first event has `seq` 1. `summary` replaces the
    /// thread's summary; the first append must carry one, else the answer is [`LogError::NoSuchThread`].
    ///
    /// `extract` is what can be searched of the events, and the blobs that they name; it costs nothing where it is
    /// empty.
    fn append_with(
        &self,
        thread: ThreadId,
        events: &[Event],
        summary: Option<&Summary>,
        extract: &Extract,
    ) -> Answer<'_, ()>;

    /// [`append_with`](Self::append_with), of events with nothing to search.
    fn append(&self, thread: ThreadId, events: &[Event], summary: Option<&Summary>) -> Answer<'_, ()> {
        self.append_with(thread, events, summary, &Extract::default())
    }

    /// Events after `after`, as many as fit into [`LOG_PAGE_BYTES`](acpd_model::limits::LOG_PAGE_BYTES), at
    /// least one if there is one.
    fn read(&self, thread: ThreadId, after: Seq) -> Answer<'_, Page>;

    /// The last `seq` of the thread.
    fn last_seq(&self, thread: ThreadId) -> Answer<'_, Seq>;

    /// The thread's summary, as last appended.
    fn summary(&self, thread: ThreadId) -> Answer<'_, Summary>;

    /// Up to `limit` threads after `cursor`, newest first: by `updated_at`, then by id, both descending.
    fn list(&self, filter: Filter, cursor: Option<ListCursor>, limit: usize)
    -> Answer<'_, Vec<ListedThread>>;

    /// Up to `limit` texts after `cursor` that have what is looked for, newest first.
    fn search(&self, search: Search, cursor: Option<SearchCursor>, limit: usize) -> Answer<'_, Vec<Hit>>;

    /// The newest thread older than `before` of which not all events are in the index, because they were stored by a
    /// version that had none.
    fn backlog(&self, before: Option<ThreadId>) -> Answer<'_, Option<Backlog>>;

    /// Adds to the index what can be searched of a [backlog](Self::backlog)'s events up to `through`. What is there
    /// already is not added again.
    fn index(&self, thread: ThreadId, through: Seq, extract: &Extract) -> Answer<'_, ()>;

    /// Deletes the thread: its events, its summary, what can be searched of it, and blobs that no other thread has.
    fn delete(&self, thread: ThreadId) -> Answer<'_, ()>;

    /// Stores `content` for `thread`, which must be there, and names it. Storing the same content again stores it
    /// once.
    fn put_blob(&self, thread: ThreadId, content: Vec<u8>) -> Answer<'_, BlobId>;

    /// The content that `put_blob` named so.
    fn blob(&self, id: BlobId) -> Answer<'_, Option<Vec<u8>>>;

    /// What it has done so far. A backend that counts nothing says nothing.
    fn stats(&self) -> stats::Stats {
        stats::Stats::default()
    }

    /// Waits until everything appended so far is stored, then refuses all further calls.
    fn close(&self) -> Answer<'_, ()>;
}

/// The name of `content`.
pub fn blob_id(content: &[u8]) -> BlobId {
    BlobId::of(content)
}
