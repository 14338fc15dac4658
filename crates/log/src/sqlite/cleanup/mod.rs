//! Erases deleted data from the files.
//!
//! In: the connection that writes. Out: whether more remains. Owns: the steps, each of which is one transaction of bounded
//! size. Never: takes so long that a change waits noticeably, or needs what an earlier process had in memory.
//!
//! | File | Subject |
//! |---|---|
//! | `erase` | deleted threads and blobs |
//! | `scrub` | copies of erased rows in the pages |
//! | `shrink` | free pages |

mod erase;
mod scrub;
mod shrink;
#[cfg(test)]
mod tests;

use std::time::Duration;

use acpd_model::Millis;
use acpd_model::limits::BLOBS_REMOVED;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::files::BUSY;
use super::unused;
use crate::LogError;
use erase::Eraser;
use scrub::Scrubbed;

/// Steps after which the write-ahead log is moved into the database.
const LOG_ERASE_CHECKPOINT: u32 = 4;
/// How long emptying the write-ahead log waits for readers while changes may arrive.
const SHORTLY: Duration = Duration::from_millis(5);

/// How long it waits for readers of other processes when the database is closed.
const CLOSE_BUSY: Duration = Duration::from_secs(1);

/// The result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cleaned {
    /// More steps may follow.
    Some,
    /// A reader keeps the write-ahead log from being emptied.
    Busy,
    /// No file has deleted data. More steps may follow.
    Erased,
    /// Nothing is left to do.
    All,
}

/// The state between two steps. Losing it costs only repetitions.
#[derive(Debug, Default)]
pub(super) struct Cleanup {
    eraser: Eraser,
    /// Transactions since the write-ahead log was moved into the database, which is a step of its own.
    steps: u32,
}

impl Cleanup {
    /// Takes one step. If it fails, the caller must roll back.
    pub(super) fn step(&mut self, connection: &Connection) -> Result<Cleaned, LogError> {
        if self.steps >= LOG_ERASE_CHECKPOINT {
            self.steps = 0;
            checkpoint(connection, "PASSIVE")?;
            return Ok(Cleaned::Some);
        }
        let step = self.change(connection);
        if step.is_err() {
            self.eraser.restart();
        }
        self.steps += 1;
        match step? {
            CleanupStep::Nothing => Ok(Cleaned::All),
            CleanupStep::Erased => Ok(Cleaned::Some),
            CleanupStep::Shrunk => Ok(Cleaned::Erased),
            CleanupStep::Scrubbed => {
                connection.busy_timeout(SHORTLY)?;
                let emptied = checkpoint(connection, "TRUNCATE");
                connection.busy_timeout(BUSY)?;
                if !emptied? {
                    return Ok(Cleaned::Busy);
                }
                scrub::end(connection)?;
                Ok(Cleaned::Erased)
            }
        }
    }

    /// Must be called when a deleted blob is stored again.
    pub(super) fn restart(&mut self) {
        self.eraser.restart();
    }

    fn change(&mut self, connection: &Connection) -> Result<CleanupStep, LogError> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        let step = if self.eraser.step(connection)? {
            CleanupStep::Erased
        } else {
            match scrub::step(connection)? {
                Scrubbed::Some => CleanupStep::Erased,
                Scrubbed::All => CleanupStep::Scrubbed,
                Scrubbed::Clean if shrink::step(connection)? => CleanupStep::Shrunk,
                Scrubbed::Clean => CleanupStep::Nothing,
            }
        };
        connection.prepare_cached("COMMIT")?.execute(())?;
        Ok(step)
    }
}

/// What one transaction did.
enum CleanupStep {
    Erased,
    /// Nothing: the last page was visited before.
    Scrubbed,
    Shrunk,
    Nothing,
}

/// Marks blobs of a thread as deleted, which are erased in steps. The threads that need them keep naming them.
pub(super) fn remove_blobs(connection: &Connection, row: i64, before: Millis) -> rusqlite::Result<()> {
    for (blob, _) in unused::removable(connection, row, before, Some(BLOBS_REMOVED))? {
        connection
            .prepare_cached("INSERT OR IGNORE INTO deleted_blob VALUES (?)")?
            .execute([blob])?;
    }
    scrub::begin(connection)
}

/// Moves the write-ahead log into the database, whose connection is closed next. Keeps a write-ahead log of more than
/// `most_bytes`.
pub(super) fn before_close(connection: &Connection, most_bytes: u64) -> Result<(), LogError> {
    let path = connection.path().map(|path| format!("{path}-wal"));
    let bytes = path.and_then(|path| Some(std::fs::metadata(path).ok()?.len()));
    if bytes.is_some_and(|bytes| bytes > most_bytes) {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        return Ok(());
    }
    connection.busy_timeout(CLOSE_BUSY)?;
    if checkpoint(connection, "TRUNCATE")? {
        Ok(())
    } else {
        Err(LogError::Storage("the database is still being read".into()))
    }
}

/// Moves the write-ahead log into the database. Returns false if a reader keeps this from being completed.
fn checkpoint(connection: &Connection, mode: &str) -> Result<bool, LogError> {
    let busy: bool = connection
        .prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?
        .query_row((), |row| row.get(0))?;
    Ok(!busy)
}
