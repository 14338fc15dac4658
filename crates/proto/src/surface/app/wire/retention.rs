//! The result of a run of retention.

use acpd_model::{Millis, ThreadId};

use crate::surface::reply::{Removal, RetentionLimit, RetentionReport};

wire! {
    /// Result of `retention/run`.
    struct RetentionRun for RetentionReport {
        /// Whether the configuration has any limit.
        configured: bool,
        /// Whether nothing was removed.
        dry_run: bool,
        /// What was removed, in the order of removal; at most 1,000 entries.
        removed: Vec<Removal>,
        /// Number of removed threads.
        threads: u64,
        /// Number of removed attachments of threads that stay.
        attachments: u64,
        /// About how many bytes both took. They are overwritten and free after some seconds.
        bytes: u64,
        /// Number of threads that stay although a limit applies, because they are in use or cannot be read.
        kept: u64,
        /// Bytes that the log takes without what was removed.
        log_bytes: u64,
    }

    /// A thread that was removed, or whose attachments were.
    struct Removal for Removal {
        [rename = "threadId"] thread: ThreadId,
        /// The thread's name.
        name: Option<String> | null,
        /// When a turn last started or ended, in milliseconds since the epoch.
        updated_at: Millis,
        limit: RetentionLimit,
        /// About how many bytes were removed.
        bytes: u64,
    }

    /// A limit of the configuration.
    enum RetentionLimit for RetentionLimit {
        /// `max_age`
        MaxAge,
        /// `archived_max_age`
        ArchivedMaxAge,
        /// `max_size`
        MaxSize,
        /// `attachments_max_age`: the thread stays, without the content of its attachments.
        AttachmentsMaxAge,
    }
}
