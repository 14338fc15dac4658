//! Storage of acpd: an append-only log of events for each thread, a summary of each thread, a full-text index, and
//! content-addressed blobs.
//!
//! In: batches of events from the single actor that owns a thread. Out: the same events, in order, for any number of
//! reads. Owns: the database and its OS threads. Never: decodes an event for its own purposes, or drops one before its
//! thread is deleted. Searchable texts and blob references of events arrive beside them ([`Extract`](acpd_model::Extract)).
//!
//! Two backends keep the same promises and pass one [conformance suite](conformance): [`Sqlite`] and [`Memory`]. Tests
//! use [`Memory`], which can inject failures.

mod append;
pub mod chunk;
pub mod conformance;
mod error;
mod filter;
mod log;
mod memory;
mod read;
mod retention;
mod search;
mod sqlite;
pub mod stats;
mod turns;

pub use append::{Append, Carried, Claim, Snapshot};
pub use error::LogError;
pub use filter::{Filter, ListCursor, ListedThread};
pub use log::{EventLog, LogFuture, SharedLog, blob_id};
pub use memory::{Fault, Memory};
pub use read::{Backlog, BlobPart, Lacking, Page};
pub use retention::{Measure, Unused, UnusedPage, UnusedThread, Usage};
pub use search::{Search, SearchCursor};
pub use sqlite::{Durability, Sqlite, free_bytes};
pub use turns::{FoundItem, FoundTurn, OPEN_NOTED, TurnsFound, TurnsWanted, UnfinishedItem};

/// Copies of a log for backups.
pub mod backup {
    pub use crate::sqlite::{BackupSource, LogContents, check_copy, lock, log_version};
}
