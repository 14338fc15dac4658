//! The log, its index and its retention.

use std::time::Duration;

/// Longest text that is stored inside an event, in bytes. Longer text is stored as a blob.
pub const INLINE_BYTES: usize = 64 << 10;
/// Bytes of a longer text that the event contains in addition to the blob.
pub const PREVIEW_BYTES: usize = 4 << 10;
/// Bytes of a longer terminal output that the event contains in addition to the blob: the end of the output.
pub const TERMINAL_PREVIEW_BYTES: usize = 16 << 10;
/// Bytes of encoded events that one log read returns. A larger event is returned alone.
pub const LOG_PAGE_BYTES: usize = 256 << 10;
/// Bytes of the events in one row of the log. An event that is larger has a row of its own.
pub const LOG_ROW_BYTES: usize = 256 << 10;
/// Bytes of events that are read for one page of turns at once.
pub const LOG_LOOKUP_BYTES: usize = 1 << 20;
/// Appends that may wait for the log's writer.
pub const LOG_QUEUE: usize = 256;
/// Bytes of appends that may wait for the log's writer. A larger one waits until no other does.
pub const LOG_QUEUE_BYTES: u32 = 64 << 20;
/// Appends that one commit may contain.
pub const LOG_GROUP: usize = 128;
/// Bytes of appends in one commit, so that the next appends do not wait long for it. A larger append is committed alone.
pub const LOG_GROUP_BYTES: usize = 4 << 20;
/// Time after which a thread is loaded again whose log failed. It doubles with each attempt that fails.
pub const LOG_RETRY: Duration = Duration::from_secs(1);
/// The longest such time.
pub const LOG_RETRY_MOST: Duration = Duration::from_mins(1);
/// Bytes of events after which the log gets another snapshot of a thread's state. A thread is loaded from its last
/// snapshot and the events after it.
pub const SNAPSHOT_BYTES: u64 = 1 << 20;
/// The bytes of events between two snapshots are at least this many times those of the snapshot.
pub const SNAPSHOT_SHARE: u64 = 8;
/// Bytes of events between two snapshots that the log keeps for forks of earlier turns.
pub const SNAPSHOT_SPACING: u64 = 16 << 20;
/// Bytes of one text that are indexed. A search does not find what follows them.
pub const SEARCH_TEXT_BYTES: usize = 16 << 10;
/// Longest search query, in bytes.
pub const SEARCH_QUERY_BYTES: usize = 1 << 10;
/// Removed threads that a report of retention lists.
pub const RETENTION_LISTED: usize = 1000;
/// Blobs of a thread whose content retention removes in one transaction.
pub const BLOBS_REMOVED: u32 = 256;
/// Bytes of a deleted row that the log overwrites in one step, and bytes of the rows that one step removes.
pub const LOG_ERASE_BYTES: usize = 512 << 10;
/// Largest database of an older version that is rewritten when it is opened, so that it can shrink, in bytes.
pub const LOG_REWRITE_BYTES: i64 = 64 << 20;
/// How long the log continues such steps when it is closed, in milliseconds. The next start takes the others.
pub const LOG_CLOSE_MILLIS: u64 = 1500;
/// Largest write-ahead log that is moved into the database when the log is closed, in bytes. The next start moves a
/// larger one.
pub const LOG_CLOSE_WAL_BYTES: u64 = 64 << 20;
