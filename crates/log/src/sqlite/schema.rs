//! The tables, and how an older database gets them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::LogError;

/// Each takes the database one version further; `user_version` counts them. One that was released is never
/// edited.
///
/// `thread` has beside each summary what lists are narrowed and sorted by. `chunk` keeps the order of
/// appends and not the one of threads (no `WITHOUT ROWID`), which halves the cost of an append. Its index
/// also says where a thread stands, so that an append need not write `thread`.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE thread (
        id INTEGER PRIMARY KEY,
        uuid BLOB NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        cwd TEXT NOT NULL,
        name TEXT,
        active INTEGER NOT NULL,
        archived INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        summary TEXT NOT NULL
    ) STRICT;
    CREATE INDEX thread_newest ON thread (updated_at DESC, uuid DESC);
    CREATE TABLE chunk (
        thread INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        first_seq INTEGER NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (thread, last_seq)
    ) STRICT;
    CREATE TABLE blob (
        hash BLOB NOT NULL PRIMARY KEY,
        body BLOB NOT NULL
    ) STRICT;
"];

/// Refuses a database that a newer acpd made. Changes nothing.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), LogError> {
    let version = version(connection)?;
    let known = MIGRATIONS.len();
    if version <= known {
        return Ok(());
    }
    let path = path.display();
    Err(LogError::Storage(format!(
        "{path} was made by a newer acpd: it has version {version}, this acpd knows {known}"
    )))
}

/// Brings the database up to date, each step whole or not at all.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), LogError> {
    for (done, step) in MIGRATIONS.iter().enumerate().skip(version(connection)?) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", i64::try_from(done + 1).unwrap_or(i64::MAX))?;
        transaction.commit()?;
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<usize, LogError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
