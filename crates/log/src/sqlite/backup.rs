//! Copies of a database that another process may be writing to, and the check of such a copy.
//!
//! In: the path of a database. Out: a copy of it at one moment, without what deleted rows left in its pages. Owns: one
//! read-only connection. Never: takes the lock of the database, delays a writer, or changes the database.

use std::fmt;
use std::fs::File;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{files, schema};
use crate::LogError;

/// A database that is copied while a daemon may use it.
pub struct BackupSource(Connection);

impl fmt::Debug for BackupSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BackupSource")
    }
}

/// What a copy contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogContents {
    /// The version of the tables.
    pub version: usize,
    /// The number of threads.
    pub threads: u64,
}

impl BackupSource {
    /// Opens the database for reading. Rejects one that a newer acpd wrote.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let connection = files::reader(path)?;
        schema::check(&connection, path)?;
        Ok(Self(connection))
    }

    /// Returns the size that a copy will have at most, in bytes, if the database does not grow meanwhile.
    pub fn bytes(&self) -> Result<u64, LogError> {
        let number = |name| self.0.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let used = number("page_count")? - number("freelist_count")?;
        Ok(u64::try_from(used * number("page_size")?).unwrap_or(0))
    }

    /// Copies the database as it is at this moment to a path at which there is no file, or an empty one, whose mode the
    /// copy keeps. Blocks for as long as the disk needs; the write-ahead log grows meanwhile.
    pub fn copy_to(&self, to: &Path) -> Result<(), LogError> {
        let name = to
            .to_str()
            .ok_or_else(|| LogError::Storage(format!("the name {} is not UTF-8", to.display())))?;
        self.0.execute("VACUUM INTO ?", [name])?;
        Ok(())
    }
}

/// Checks each page of a copy that no other process uses, and returns what it contains. Creates no file beside it.
pub fn check_copy(path: &Path) -> Result<LogContents, LogError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(immutable(path), flags)?;
    // The copy may come from anywhere: its tables must not bring code along.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    schema::check(&connection, path)?;
    let version = schema::version(&connection)?;
    let foreign: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')",
        (),
        |row| row.get(0),
    )?;
    if version == 0 || foreign > 0 {
        return Err(LogError::Damaged("it is not a log of acpd".to_owned()));
    }
    let found: String = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
    if found != "ok" {
        return Err(LogError::Damaged(found));
    }
    let threads: i64 = connection.query_row("SELECT count(*) FROM thread", (), |row| row.get(0))?;
    Ok(LogContents {
        version,
        threads: u64::try_from(threads).unwrap_or(0),
    })
}

/// Returns the version of the logs that this acpd writes. It reads those of all earlier versions.
#[must_use]
pub fn log_version() -> usize {
    schema::CURRENT
}

/// Locks a database, so that no daemon opens it until the returned file is dropped. Returns [`LogError::InUse`] if a daemon
/// has it open.
pub fn lock(path: &Path) -> Result<File, LogError> {
    files::lock(path)
}

/// Returns the URI by which `SQLite` opens a file without locks and without files beside it.
fn immutable(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                uri.push(char::from(*byte))
            }
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?immutable=1"
}
