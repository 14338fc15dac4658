//! Prepares the upgrade of a database that an older version wrote: checks the free space, and copies the database.
//!
//! In: the database's path and a connection. Out: a connection to a database that may be upgraded. Owns: the copies
//! `log.db.vN`, where N is the version of the database. Never: changes a database of which there is no complete copy, or
//! removes a copy before the data beside all events is stored, except for a deletion.
//!
//! | File | Subject |
//! |---|---|
//! | `space` | how much space an upgrade needs |
//! | `copies` | how a copy is made and removed |
//! | `file_system` | what both need of the file system |

mod copies;
mod file_system;
mod space;
#[cfg(test)]
mod tests;

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};

use super::schema;
use crate::LogError;
pub(super) use copies::Copies;
pub use file_system::free_bytes;
pub(super) use file_system::{FileSystem, Native};

/// Tables that name deleted data of which the pages may have remains.
const DELETED: [&str; 4] = ["rewrite", "page_scrub", "deleted_thread", "deleted_blob"];

/// Makes sure that the database can be upgraded, and that there is a copy to return to. Returns a connection to it.
/// Changes nothing of a database that is current, or for which there is not enough space.
///
/// A kill at any point leaves a database that was not upgraded, so the next start begins again.
pub(super) fn prepare(
    connection: Connection,
    path: &Path,
    files: &dyn FileSystem,
    open: impl FnOnce() -> Result<Connection, LogError>,
) -> Result<Connection, LogError> {
    let version = schema::version(&connection)?;
    if version == 0 {
        copies::require_none(path)?;
        return Ok(connection);
    }
    if version >= schema::CURRENT {
        return Ok(connection);
    }
    if let Err(error) = space::check(path, version, files) {
        // Closing the connection would move the write-ahead log into the database.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        return Err(error);
    }
    tracing::info!(from = version, to = schema::CURRENT, "upgrading the log");
    if has_remains(&connection)? {
        copies::make_without_remains(path, version, &connection)?;
        return Ok(connection);
    }
    let is_read: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
    if is_read {
        return Err(LogError::Storage(format!(
            "{} is being read by another program, so it cannot be upgraded",
            path.display()
        )));
    }
    // Closing any other handle to the file would release SQLite's locks on it.
    connection.close().map_err(|(_, error)| error)?;
    copies::make(path, version, files)?;
    open()
}

/// Returns whether the pages may have remains of deleted data, which a copy of the file would keep.
fn has_remains(connection: &Connection) -> Result<bool, LogError> {
    for table in DELETED {
        let exists = connection
            .query_row("SELECT 1 FROM sqlite_master WHERE name = ?", [table], |_| Ok(()))
            .optional()?
            .is_some();
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
        if exists && connection.query_row(&sql, (), |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}
