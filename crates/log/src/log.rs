//! The log that every backend implements.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use acpd_model::{BlobId, Event, Extract, Millis, SearchHit, Seq, Summary, ThreadId, TurnId};

use crate::append::{Append, Carried, Claim, Snapshot};
use crate::error::LogError;
use crate::filter::{Filter, ListCursor, ListedThread};
use crate::read::{Backlog, BlobPart, Lacking, Page};
use crate::retention::{Unused, UnusedPage, Usage};
use crate::search::{Search, SearchCursor};
use crate::stats;
use crate::turns::{TurnsFound, TurnsWanted};

/// The result of an asynchronous call of the log.
pub type LogFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LogError>> + Send + 'a>>;

/// A log that the daemon's tasks share.
pub type SharedLog = Arc<dyn EventLog>;

/// An append-only log of events for each thread.
///
/// # Promises
///
/// * An append is atomic. Once it returns `Ok`, its events survive the failure that the configured durability covers:
///   the end of this process, or a power failure.
/// * `seq` of a thread runs 1, 2, 3 … without gaps, also across restarts. An append that does not continue at the
///   thread's last `seq` is refused with [`LogError::Conflict`] and changes nothing. So two writers can never
///   interleave.
/// * A read sees every append that returned before the read began, and never a part of a batch that failed.
/// * Appends of one caller to one thread are stored in the order in which they were made.
/// * Everything in an append is stored atomically with its events.
/// * A thread that [inherits](Append::inherits) events of another one shares them. It keeps them when the other thread is
///   deleted.
/// * A thread is deleted atomically: once a deletion returns `Ok`, no call finds the thread or anything of it, also after
///   a crash. Its id may be used again by an append that begins at 1. An append that continues the deleted thread is
///   refused.
/// * Deleted data is overwritten in steps that delay no append noticeably. [`Stats::erasing`](stats::Stats::erasing)
///   is false when no file of the log contains it any more. A log that is closed continues for a limited time
///   ([`LOG_CLOSE_MILLIS`](acpd_model::limits::LOG_CLOSE_MILLIS)), and continues when it is opened again.
/// * A blob is kept while a thread exists that stored the blob, or whose events reference it, unless it is
///   [removed](Self::remove_blobs). Storing the same content again brings it back.
/// * Dropping the future of an append does not undo the append.
pub trait EventLog: Send + Sync + fmt::Debug {
    /// Appends events to a thread. The thread is created if [`after`](Append::after) is 0, or if it inherits events.
    ///
    /// Returns [`LogError::NoSuchThread`] if the first append has no summary, or if the thread to inherit from has no
    /// such event; [`LogError::Fenced`] if there is a newer claim to the thread.
    fn store(&self, append: Append<'_>) -> LogFuture<'_, ()>;

    /// Stores events with the data that is stored beside them. See [`store`](Self::store).
    fn append_with(
        &self,
        thread: ThreadId,
        events: &[Event],
        summary: Option<&Summary>,
        extract: &Extract,
    ) -> LogFuture<'_, ()> {
        self.store(Append {
            summary,
            extract,
            ..Append::new(thread, events)
        })
    }

    /// Stores events alone. See [`store`](Self::store).
    fn append(&self, thread: ThreadId, events: &[Event], summary: Option<&Summary>) -> LogFuture<'_, ()> {
        self.append_with(thread, events, summary, &Extract::EMPTY)
    }

    /// Claims the thread for this process. Claims of other processes become invalid.
    fn claim(&self, thread: ThreadId) -> LogFuture<'_, Claim>;

    /// Returns about [`LOG_PAGE_BYTES`](acpd_model::limits::LOG_PAGE_BYTES) of the events after `after`, and at least one
    /// event if there is one.
    ///
    /// Returns [`LogError::DamagedEvents`] if the next event cannot be read. A read after the last of these continues behind
    /// the damage. A page ends before events that cannot be read.
    fn read(&self, thread: ThreadId, after: Seq) -> LogFuture<'_, Page>;

    /// Returns the events with these numbers, which ascend; as many as fit into
    /// [`LOG_LOOKUP_BYTES`](acpd_model::limits::LOG_LOOKUP_BYTES), and at least one. Returns [`LogError::DamagedEvents`]
    /// if one of these cannot be read or does not exist.
    fn events(&self, thread: ThreadId, seqs: Vec<Seq>) -> LogFuture<'_, Vec<Event>>;

    /// Finds a page of turns, from the end. Returns `None` while the places of some turns are missing, see
    /// [`Lacking::Marks`].
    fn turns(&self, thread: ThreadId, wanted: TurnsWanted) -> LogFuture<'_, Option<TurnsFound>>;

    /// Returns the last event by which all turns up to `last` have ended, or the event before the first turn if `last`
    /// is `None`. Returns `None` while the places of some turns are missing.
    fn end_of_turns(&self, thread: ThreadId, last: Option<TurnId>) -> LogFuture<'_, Option<Seq>>;

    /// Returns the turn to which a client gave this id.
    fn client_turn(&self, thread: ThreadId, id: String) -> LogFuture<'_, Option<TurnId>>;

    /// Returns the last snapshot of this format that contains no event after `until`.
    fn snapshot(&self, thread: ThreadId, until: Seq, format: u32) -> LogFuture<'_, Option<Snapshot>>;

    /// Returns what is stored of an agent's process.
    fn carried(&self, thread: ThreadId) -> LogFuture<'_, Carried>;

    /// Returns the last `seq` of the thread.
    fn last_seq(&self, thread: ThreadId) -> LogFuture<'_, Seq>;

    /// Returns the thread's summary, as last appended.
    fn summary(&self, thread: ThreadId) -> LogFuture<'_, Summary>;

    /// Returns up to `limit` threads after `cursor`, newest first: by `updated_at`, then by id, both descending. Reads no more threads
    /// once the page has its bytes.
    fn list(
        &self,
        filter: Filter,
        cursor: Option<ListCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<ListedThread>>;

    /// Returns the working directories of all threads, each once.
    fn directories(&self) -> LogFuture<'_, Vec<String>>;

    /// Returns up to `limit` texts after `cursor` that match the search, newest first, each with its position. Pass the
    /// last position to get the next page.
    fn search(
        &self,
        search: Search,
        cursor: Option<SearchCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<(SearchCursor, SearchHit)>>;

    /// Returns the newest thread older than `before` that lacks data beside its events.
    fn backlog(&self, lacks: Lacking, before: Option<ThreadId>) -> LogFuture<'_, Option<Backlog>>;

    /// Returns the missing places of the thread's turns, or of turns that it inherits.
    fn lacking_turns(&self, thread: ThreadId) -> LogFuture<'_, Option<Backlog>>;

    /// Stores the missing data of a [backlog](Self::backlog)'s events up to `through`. Data that is stored already is not
    /// added again.
    fn catch_up(
        &self,
        thread: ThreadId,
        lacks: Lacking,
        through: Seq,
        extract: &Extract,
        snapshot: Option<&Snapshot>,
    ) -> LogFuture<'_, ()>;

    /// Divides the row that has the event after this one, if an older version stored more in it than this one does. Each step
    /// delays appends no longer than an append does. A backend whose rows are bounded has nothing to do.
    fn divide_row(&self, _: ThreadId, _: Seq) -> LogFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Deletes the thread: its events, its summary, its searchable texts, and blobs that no other thread needs. Returns
    /// when no call finds them. Their data is overwritten later.
    fn delete(&self, thread: ThreadId) -> LogFuture<'_, ()>;

    /// Stores `content` for `thread`, which must exist, and returns its id. The same content is stored only once.
    fn put_blob(&self, thread: ThreadId, content: Vec<u8>) -> LogFuture<'_, BlobId>;

    /// Returns the content that `put_blob` stored under this id.
    fn blob(&self, id: BlobId) -> LogFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let part = self.blob_part(None, id, 0, usize::MAX).await?;
            Ok(part.map(|part| part.content))
        })
    }

    /// Returns up to `most` bytes of a blob, from the byte `from` on. With a thread, returns the blob only if this thread stored it,
    /// or if the thread's events are known to reference it. A thread whose events have not been [searched for blobs](Lacking::Texts)
    /// may lack some.
    fn blob_part(
        &self,
        of: Option<ThreadId>,
        id: BlobId,
        from: u64,
        most: usize,
    ) -> LogFuture<'_, Option<BlobPart>>;

    /// Returns whether the content of this id was [removed](Self::remove_blobs), and a thread that exists still references
    /// it.
    fn is_removed(&self, id: BlobId) -> LogFuture<'_, bool>;

    /// Returns up to `limit` threads that do nothing and were not used, the longest unused first: by `updated_at`, then by id.
    /// Returns fewer if many had to be passed over; the page says where to continue.
    fn unused(&self, wanted: Unused, limit: usize) -> LogFuture<'_, UnusedPage>;

    /// Returns the bytes that the log takes.
    fn usage(&self) -> LogFuture<'_, Usage>;

    /// Removes the content of blobs of a thread: of those that only threads need which do nothing, and whose `updated_at` is
    /// smaller than `before`. Removes up to [`BLOBS_REMOVED`](acpd_model::limits::BLOBS_REMOVED) of them. The events that
    /// reference them stay.
    fn remove_blobs(&self, thread: ThreadId, before: Millis) -> LogFuture<'_, ()>;

    /// Returns counters since the log was opened. A backend that does not count returns the default.
    fn stats(&self) -> stats::Stats {
        stats::Stats::default()
    }

    /// Waits until everything appended so far is stored, then refuses all further calls.
    fn close(&self) -> LogFuture<'_, ()>;
}

/// Returns the id of `content`.
pub fn blob_id(content: &[u8]) -> BlobId {
    BlobId::of(content)
}
