//! The database's files: their modes, and how they are locked and opened.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use acpd_model::limits::LOG_REWRITE_BYTES;
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;

use super::schema;
use super::upgrade::{self, FileSystem, Native};
use crate::LogError;

/// Page cache of the writer, in KiB. It covers the pages at the ends of the tables that a group of appends changes.
const WRITER_CACHE_KIB: i64 = 2000;

/// Prepared statements of the writer that are kept: all of them.
const WRITER_STATEMENTS: usize = 64;

/// Page cache of a reader, in KiB. Small, because the kernel caches the file too.
const READER_CACHE_KIB: i64 = 1000;

/// Pages of 4 KiB in the write-ahead log after which the writer moves them into the database.
const CHECKPOINT_PAGES: i64 = 4000;

/// Size that the write-ahead log is truncated to when it restarts after it had grown, in bytes.
const WAL_KEPT_BYTES: i64 = 32 << 20;

/// How long a connection waits for another one. This only happens for a checkpoint, or for recovery after a crash.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// The failures that an append survives once it has returned `Ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The end of this process, however sudden (`synchronous = NORMAL`).
    #[default]
    Process,
    /// A power failure (`synchronous = FULL`): each commit waits for the disk.
    Power,
}

/// Locks the database for this process until the returned file is dropped.
///
/// The lock is on a separate file, because `SQLite`'s locks on the database are acquired and released with
/// transactions.
pub(super) fn lock(path: &Path) -> Result<File, LogError> {
    let mut name = OsString::from(path);
    name.push(".lock");
    let name = Path::new(&name);
    let file = private(name).map_err(|error| refused(name, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::InUse(path.display().to_string())),
        Err(TryLockError::Error(error)) => Err(refused(name, &error)),
    }
}

/// Opens the connection that writes, and updates the database to the current schema.
pub(super) fn writer(path: &Path, durability: Durability) -> Result<Connection, LogError> {
    writer_on(path, durability, &Native)
}

/// Opens the connection that writes, on a file system that tests can replace.
pub(super) fn writer_on(
    path: &Path,
    durability: Durability,
    file_system: &dyn FileSystem,
) -> Result<Connection, LogError> {
    private(path).map_err(|error| refused(path, &error))?;
    let open = || connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, WRITER_CACHE_KIB);
    let connection = open()?;
    schema::check(&connection, path)?;
    let mut connection = upgrade::prepare(connection, path, file_system, open)?;
    // Lets a new database shrink in steps, and an older one once it is rewritten.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        let path = path.display();
        return Err(LogError::Storage(format!(
            "{path} is on a file system without shared memory, which SQLite's write-ahead log needs"
        )));
    }
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", WAL_KEPT_BYTES)?;
    match durability {
        Durability::Process => connection.pragma_update(None, "synchronous", "NORMAL")?,
        Durability::Power => {
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        }
    }
    // Overwrite deleted data, also where pages are merged or moved during the deletion.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.set_prepared_statement_cache_capacity(WRITER_STATEMENTS);
    schema::migrate(&mut connection)?;
    if let Err(error) = convert(&connection) {
        tracing::warn!(%error, "{} cannot be rewritten, so it never becomes smaller", path.display());
    }
    // A large write-ahead log stays when the database is closed. Nothing waits for it here.
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?;
    Ok(connection)
}

/// Rewrites a small database that was created without the means to shrink in steps.
fn convert(connection: &Connection) -> rusqlite::Result<()> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("auto_vacuum")? == 0 && number("page_count")? * number("page_size")? <= LOG_REWRITE_BYTES {
        connection.execute_batch("VACUUM")?;
    }
    Ok(())
}

/// Opens a connection that reads. The writer's connection must be open already.
pub(super) fn reader(path: &Path) -> Result<Connection, LogError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE_KIB)
}

fn connect(path: &Path, access: OpenFlags, cache_kib: i64) -> Result<Connection, LogError> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    Ok(connection)
}

/// Opens a file that only the user can read, creating it if necessary. `SQLite` gives the database's mode to the files
/// that it creates beside it.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn refused(path: &Path, error: &io::Error) -> LogError {
    LogError::Storage(format!("{} cannot be opened: {error}", path.display()))
}
