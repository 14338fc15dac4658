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
///
/// `entry` has every text that can be found, at its place in time ([`places`](crate::search::places)), and `word` its
/// words under the same number; `word.scope` narrows a search to one thread. The words are parted before they get
/// there, so that FTS5 has nothing to decide: it takes all that is not ASCII for letters. It keeps them, since it
/// must be told them again when they go. `backlog` names the threads that were there before `entry` was, and how
/// much of them is still to be read. `blob_thread` has who needs a blob.
const MIGRATIONS: &[&str] = &[
    "
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
",
    "
    CREATE TABLE entry (
        place INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        turn INTEGER,
        item INTEGER,
        kind TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX entry_thread ON entry (thread);
    CREATE VIRTUAL TABLE word USING fts5 (words, scope, tokenize = 'ascii');
    INSERT INTO word (word, rank) VALUES ('secure-delete', 1);
    CREATE TABLE blob_thread (
        hash BLOB NOT NULL,
        thread INTEGER NOT NULL,
        PRIMARY KEY (hash, thread)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX blob_thread_thread ON blob_thread (thread);
    CREATE TABLE backlog (
        thread INTEGER PRIMARY KEY,
        done INTEGER NOT NULL,
        until INTEGER NOT NULL
    ) STRICT;
    INSERT INTO backlog (thread, done, until)
        SELECT id, 0, (SELECT max(last_seq) FROM chunk WHERE chunk.thread = thread.id) FROM thread
        WHERE EXISTS (SELECT 1 FROM chunk WHERE chunk.thread = thread.id);
",
];

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
