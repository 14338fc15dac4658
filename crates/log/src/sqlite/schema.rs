//! The tables, and the migration of older databases.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use super::blocks;
use crate::LogError;

/// Each step upgrades the database by one version, which `user_version` counts. A released step is never edited.
///
/// `thread` has the columns that lists are filtered and sorted by, beside each summary. `chunk` keeps the order of
/// appends instead of threads (no `WITHOUT ROWID`), which halves the cost of an append. Its index also yields the last
/// `seq` of a thread, so that an append need not write `thread`.
///
/// `thread_metadata` has the metadata of each thread that has some, so that a new summary does not write it again. Older
/// versions stored it in the summary; the next summary of the thread moves it.
///
/// `entry` has every searchable text, at its position in time ([`places`](crate::search::places)). `word` has its words
/// under the same number; `word.scope` restricts a search to one thread. The words are split before they are stored,
/// since FTS5 treats every non-ASCII character as a letter. FTS5 keeps the words, because it needs them again for a
/// deletion. `backlog` names the threads of which not all events are in `entry`, and how much of each is missing.
/// `blob_thread` has the threads that need a blob, each with an event up to which no event references it; 0 if that is
/// unknown. A backlog that `knows_blobs` is of inherited events, whose blobs are in `blob_thread`.
///
/// `turn`, `item` and `late` have the places of turns and items, `client_turn` the clients' own ids of turns, `snapshot`
/// a thread's state at some of its events, and `carried` what is known of an agent's process. `prefix` names the rows of
/// other threads that a fork begins with. `unmarked` is the backlog of `turn`, `item` and `late`.
/// `last_turn` and `session_id` of `thread` are read from the summary. `thread_block` has the packed rows of `blocks`.
///
/// A deleted thread has no row in `thread`, so no reader finds it. `deleted_thread` and `deleted_blob` have the threads
/// and blobs that are not erased yet, by the ids of their rows. These ids stay in use until then. A row of `blob_sweep`
/// means that blobs after this one may be unclaimed. A row of `page_scrub` means that pages may have remains of erased
/// data: those from `next` to `last`, and then the first `again` ones.
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
    CREATE TABLE rewrite (due INTEGER PRIMARY KEY) STRICT;
    INSERT INTO backlog (thread, done, until)
        SELECT id, 0, (SELECT max(last_seq) FROM chunk WHERE chunk.thread = thread.id) FROM thread
        WHERE EXISTS (SELECT 1 FROM chunk WHERE chunk.thread = thread.id);
",
    "
    ALTER TABLE blob_thread ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE backlog ADD COLUMN knows_blobs INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE turn (
        thread INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        first_seq INTEGER NOT NULL,
        queued INTEGER,
        started INTEGER,
        settled INTEGER,
        PRIMARY KEY (thread, turn)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX turn_first ON turn (thread, first_seq);
    CREATE TABLE item (
        thread INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        item INTEGER NOT NULL,
        first_seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (thread, turn, item)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE late (
        thread INTEGER NOT NULL,
        item INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (thread, item, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE client_turn (
        thread INTEGER NOT NULL,
        id TEXT NOT NULL,
        turn INTEGER NOT NULL,
        PRIMARY KEY (thread, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE snapshot (
        thread INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        weight INTEGER NOT NULL,
        format INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (thread, seq)
    ) STRICT;
    CREATE TABLE prefix (
        thread INTEGER NOT NULL,
        until INTEGER NOT NULL,
        source INTEGER NOT NULL,
        PRIMARY KEY (thread, until)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX prefix_source ON prefix (source, until);
    CREATE TABLE carried (
        thread INTEGER PRIMARY KEY,
        cursor INTEGER,
        memo BLOB
    ) STRICT;
    CREATE TABLE unmarked (
        thread INTEGER PRIMARY KEY,
        done INTEGER NOT NULL,
        until INTEGER NOT NULL
    ) STRICT;
    INSERT INTO unmarked (thread, done, until)
        SELECT id, 0, (SELECT max(last_seq) FROM chunk WHERE chunk.thread = thread.id) FROM thread
        WHERE EXISTS (SELECT 1 FROM chunk WHERE chunk.thread = thread.id);
",
    "
    CREATE TABLE thread_metadata (
        thread INTEGER PRIMARY KEY,
        json TEXT NOT NULL
    ) STRICT;
",
    "
    CREATE TABLE deleted_thread (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE deleted_blob (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE blob_sweep (after INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE page_scrub (next INTEGER PRIMARY KEY, last INTEGER NOT NULL, again INTEGER NOT NULL) STRICT;
    INSERT INTO page_scrub SELECT 1, page_count, 0 FROM rewrite, pragma_page_count;
    DROP TABLE rewrite;
",
    LISTS,
];

/// Columns that are read from the summary, an index for each filter of lists, and the packed rows of
/// [`blocks`], which [`migrate`] fills.
const LISTS: &str = "
    ALTER TABLE thread ADD COLUMN last_turn TEXT
        AS (CASE WHEN json_valid(summary) THEN summary ->> '$.lastTurn' END) VIRTUAL;
    ALTER TABLE thread ADD COLUMN session_id TEXT
        AS (CASE WHEN json_valid(summary) THEN summary ->> '$.sessionId' END) VIRTUAL;
    DROP INDEX thread_newest;
    CREATE INDEX thread_listed ON thread (archived, updated_at DESC, uuid DESC);
    CREATE INDEX thread_agent ON thread (archived, agent, updated_at DESC, uuid DESC);
    CREATE INDEX thread_cwd ON thread (archived, cwd, updated_at DESC, uuid DESC);
    CREATE INDEX thread_active ON thread (updated_at DESC, uuid DESC) WHERE active = 1;
    CREATE INDEX thread_failed ON thread (archived, updated_at DESC, uuid DESC) WHERE last_turn = 'failed';
    CREATE INDEX thread_session ON thread (session_id, updated_at DESC, uuid DESC) WHERE session_id IS NOT NULL;
    CREATE TABLE thread_block (
        block INTEGER PRIMARY KEY,
        body BLOB NOT NULL
    ) STRICT;
";

/// Number of threads whose indices take longer than about a second.
const MANY_THREADS: i64 = 100_000;

/// The version of the databases that this acpd writes.
pub(super) const CURRENT: usize = MIGRATIONS.len();

/// Rejects a database that a newer acpd created. Changes nothing.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), LogError> {
    let version = version(connection)?;
    if version <= CURRENT {
        return Ok(());
    }
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    if std::fs::metadata(wal).is_ok_and(|wal| wal.len() > 0) {
        // Closing the connection would move the write-ahead log into the database.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    }
    Err(LogError::Newer {
        path: path.display().to_string(),
        version,
        known: CURRENT,
    })
}

/// Migrates the database to the current version, atomically: each version that can be found on a disk is that of a
/// release.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), LogError> {
    migrate_to(connection, CURRENT)
}

/// Migrates the database to one of the versions.
pub(super) fn migrate_to(connection: &mut Connection, version: usize) -> Result<(), LogError> {
    let known = self::version(connection)?;
    if known >= version {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in &MIGRATIONS[known..version] {
        if *step == LISTS {
            announce(&transaction)?;
        }
        transaction.execute_batch(step)?;
        if *step == LISTS {
            blocks::make_all(&transaction)?;
        }
    }
    transaction.pragma_update(None, "user_version", i64::try_from(version).unwrap_or(i64::MAX))?;
    transaction.commit()?;
    Ok(())
}

/// Logs that the indices of lists are made, if that takes seconds.
fn announce(connection: &Connection) -> Result<(), LogError> {
    let threads: i64 = connection.query_row("SELECT count(*) FROM thread", (), |row| row.get(0))?;
    if threads > MANY_THREADS {
        tracing::info!(
            threads,
            "making the indices of thread lists, once; the daemon starts afterwards"
        );
    }
    Ok(())
}

/// Returns the version of the database; 0 for a new one.
pub(super) fn version(connection: &Connection) -> Result<usize, LogError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
