//! What the log knows for retention: which threads were not used for long, and how many bytes they take.

use acpd_model::{Millis, Summary, ThreadId};

use crate::ListCursor;

/// The threads that a call of [`EventLog::unused`](crate::EventLog::unused) looks for. All conditions must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unused {
    /// Only threads whose `updated_at` is smaller.
    pub before: Millis,
    /// Whether the thread is archived; `None` matches both.
    pub archived: Option<bool>,
    /// The position to continue after; `None` begins with the thread that was not used for the longest time.
    pub after: Option<ListCursor>,
    /// What is measured of each thread.
    pub measure: Measure,
}

/// What is measured of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Everything that the deletion of the thread frees.
    Thread,
    /// The blobs that [`EventLog::remove_blobs`](crate::EventLog::remove_blobs) removes. Threads without any are left out.
    Blobs,
}

/// A thread that was not used since a certain time.
#[derive(Debug, Clone, PartialEq)]
pub struct UnusedThread {
    /// Id of the thread.
    pub thread: ThreadId,
    /// The summary, as last appended.
    pub summary: Summary,
    /// Bytes that are freed.
    pub bytes: u64,
    /// Number of these blobs; 0 if the whole thread is measured.
    pub blobs: u64,
}

/// A page of threads that were not used, the longest unused first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UnusedPage {
    /// The threads.
    pub threads: Vec<UnusedThread>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<ListCursor>,
}

/// The bytes that a log takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes of the database without its free pages, and without the write-ahead log.
    pub bytes: u64,
    /// Bytes among them that become free when deleted data is erased.
    pub erasing_bytes: u64,
}

impl Usage {
    /// Returns the bytes that the log takes once deleted data is erased.
    pub fn remaining(self) -> u64 {
        self.bytes.saturating_sub(self.erasing_bytes)
    }
}
