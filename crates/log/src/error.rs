//! Why calls of the log fail.

use acpd_model::{Seq, ThreadId};

/// Why a call of the log failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Another writer appended to the thread. The caller's state is stale and must be rebuilt from the log.
    #[error("thread {thread} is at event {last}, not at {expected}")]
    Conflict {
        /// The thread of the append.
        thread: ThreadId,
        /// The last `seq` that the caller expected.
        expected: Seq,
        /// The actual last `seq` of the thread.
        last: Seq,
    },
    /// The batch is empty, or its events are not numbered consecutively. This is a bug in the caller.
    #[error("the batch is not one run of events")]
    NotContiguous,
    /// The thread does not exist.
    #[error("thread {0} is not in the log")]
    NoSuchThread(ThreadId),
    /// Stored data cannot be decoded.
    #[error("the log is damaged: {0}")]
    Damaged(String),
    /// Events of a thread cannot be decoded, or their row is missing. The other events of the thread can be read.
    #[error("events {first} to {last} of thread {thread} cannot be read: {reason}")]
    DamagedEvents {
        /// The thread.
        thread: ThreadId,
        /// The first event that cannot be read.
        first: Seq,
        /// The last event that cannot be read.
        last: Seq,
        /// What is wrong with them.
        reason: String,
    },
    /// Another process has opened the log.
    #[error("{0} is in use by another acpd")]
    InUse(String),
    /// The disk, the file system or the database failed. Nothing of the batch was stored.
    #[error("the log cannot be written or read: {0}")]
    Storage(String),
    /// The log of an older version is not upgraded, because the file system has too little space. Nothing was changed.
    #[error(
        "the log in {directory} must be upgraded, which needs {} of free space, but only {} are free; nothing was changed, \
         free some space and start again",
        mebibytes(.needed.next_multiple_of(MIB)), mebibytes(*.free)
    )]
    NoSpace {
        /// The directory of the log.
        directory: String,
        /// Bytes that the upgrade may need.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A newer version of acpd created the log. Nothing was changed.
    #[error(
        "{path} was made by a newer acpd: it has version {version}, and this acpd knows versions up to {known}; nothing was \
         changed; install the newer acpd again or restore an older backup"
    )]
    Newer {
        /// The database.
        path: String,
        /// The version of the database.
        version: usize,
        /// The last version that this program knows.
        known: usize,
    },
    /// Another process has a newer claim to the thread. Nothing was stored, and this process must stop using the
    /// thread.
    #[error("thread {0} belongs to another process")]
    Fenced(ThreadId),
    /// The log cannot be reached at the moment. Nothing was stored; the same call may succeed later.
    #[error("the log cannot be reached: {0}")]
    Unavailable(String),
    /// The connection to the log was lost before its answer. The events may be stored or not; the thread's last `seq`
    /// tells.
    #[error("it is not known whether the log has stored the events: {0}")]
    UnknownOutcome(String),
    /// The log is closed.
    #[error("the log is closed")]
    Closed,
}

const MIB: u64 = 1 << 20;

/// Returns a size as users read it.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes / MIB)
}
