//! Writes to the database: how one transaction stores a group of changes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::RangeInclusive;

use acpd_model::{BlobId, Event, Extract, RawJson, Seq, Summary, ThreadId};
use rusqlite::blob::ZeroBlob;
use rusqlite::{Connection, MAIN_DB, OptionalExtension};

use super::index::{self, Entries};
use crate::chunk::Chunk;
use crate::{LogError, chunk};

/// Bytes of the compression buffer that are kept for the next chunk.
const PACKING_ROOM: usize = 1 << 20;

/// Number of threads whose position is cached.
const REMEMBERED: usize = 4096;

/// A change to store.
#[derive(Debug)]
pub(super) enum Change {
    Append(Append),
    Blob {
        thread: ThreadId,
        id: BlobId,
        content: Vec<u8>,
    },
    Index {
        thread: ThreadId,
        through: Seq,
        entries: Entries,
    },
    Delete(ThreadId),
}

/// An append, ready to be written. The caller's task, not the single writing thread, pays for the encoding.
#[derive(Debug)]
pub(super) struct Append {
    thread: ThreadId,
    seqs: RangeInclusive<Seq>,
    chunks: Vec<Chunk>,
    summary: Option<Box<Columns>>,
    entries: Option<Box<Entries>>,
}

impl Append {
    pub(super) fn new(
        thread: ThreadId,
        events: &[Event],
        summary: Option<&Summary>,
        extract: &Extract,
    ) -> Result<Self, LogError> {
        Ok(Self {
            thread,
            seqs: chunk::seqs(events)?,
            chunks: chunk::encode(events)?,
            summary: summary.map(Columns::boxed).transpose()?,
            entries: (!extract.is_empty()).then(|| Box::new(Entries::new(extract))),
        })
    }
}

/// A summary with its table columns.
#[derive(Debug)]
struct Columns {
    /// The summary without its metadata.
    summary: Summary,
    json: String,
    metadata: Option<RawJson>,
}

impl Columns {
    fn boxed(summary: &Summary) -> Result<Box<Self>, LogError> {
        let mut summary = summary.clone();
        let metadata = summary.metadata.take();
        let json = serde_json::to_string(&summary)
            .map_err(|error| LogError::Storage(format!("the summary cannot be written: {error}")))?;
        Ok(Box::new(Self {
            summary,
            json,
            metadata,
        }))
    }
}

/// The last position of a thread.
#[derive(Debug, Clone, Copy)]
struct Position {
    row: i64,
    last: Seq,
}

/// Why a group was not stored. Nothing of the group was stored.
#[derive(Debug)]
pub(super) enum StoreError {
    /// A change failed, and may have made the others fail.
    Change(LogError),
    /// The transaction did not begin, or did not reach the disk. It must not be retried: after a failed fsync, the
    /// kernel may mark the same pages as clean although they are lost.
    Transaction(LogError),
}

/// The writing connection and cached facts about the database.
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    positions: HashMap<ThreadId, Position>,
    /// Buffer for compressed chunks.
    room: Vec<u8>,
}

impl Store {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            positions: HashMap::new(),
            room: Vec::new(),
        }
    }

    /// Stores the changes in one transaction. The results show which changes were refused, in their order. A refused
    /// change has no effect.
    pub(super) fn store<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a Change>,
    ) -> Result<Vec<Result<(), LogError>>, StoreError> {
        let stored = self.transact(changes);
        if stored.is_err() {
            self.positions.clear();
            if !self.connection.is_autocommit()
                && let Err(error) = self.connection.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, "the log cannot roll back");
            }
        } else if self.positions.len() > REMEMBERED {
            self.positions.clear();
        }
        stored
    }

    /// Removes all traces of deleted data from the files: rewrites a database of at most `most_bytes`, and empties the
    /// write-ahead log.
    ///
    /// Overwriting the freed space is not enough, since `SQLite` leaves copies behind where it moves rows from page to
    /// page.
    pub(super) fn scrub(&self, most_bytes: u64) -> Result<(), LogError> {
        let pragma = |name| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
        };
        let pages = pragma("page_count")?.cast_unsigned();
        let bytes = pages.saturating_mul(pragma("page_size")?.cast_unsigned());
        let due = self
            .connection
            .query_row("SELECT EXISTS (SELECT 1 FROM rewrite)", (), |row| row.get(0))?;
        if due && bytes <= most_bytes {
            // In this order, so that an interrupted rewrite is repeated.
            self.connection.execute_batch("VACUUM; DELETE FROM rewrite")?;
        }
        self.checkpoint()
    }

    /// Moves the write-ahead log into the database and empties it.
    fn checkpoint(&self) -> Result<(), LogError> {
        let busy: bool = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
        if busy {
            return Err(LogError::Storage("the database is still being read".into()));
        }
        Ok(())
    }

    fn transact<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a Change>,
    ) -> Result<Vec<Result<(), LogError>>, StoreError> {
        let transaction = |error: rusqlite::Error| StoreError::Transaction(error.into());
        self.execute("BEGIN IMMEDIATE").map_err(transaction)?;
        let answers = changes
            .map(|change| self.change(change))
            .collect::<Result<_, _>>()
            .map_err(|error| StoreError::Change(error.into()))?;
        self.execute("COMMIT").map_err(transaction)?;
        Ok(answers)
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute(())?;
        Ok(())
    }

    fn change(&mut self, change: &Change) -> rusqlite::Result<Result<(), LogError>> {
        match change {
            Change::Append(append) => self.append(append),
            Change::Blob { thread, id, content } => self.blob(*thread, *id, content),
            Change::Index {
                thread,
                through,
                entries,
            } => match self.position(*thread)? {
                Some(Position { row, .. }) => {
                    index::catch_up(&self.connection, row, *through, entries).map(Ok)
                }
                None => Ok(Err(LogError::NoSuchThread(*thread))),
            },
            Change::Delete(thread) => self.delete(*thread),
        }
    }

    fn append(&mut self, append: &Append) -> rusqlite::Result<Result<(), LogError>> {
        let thread = append.thread;
        let expected = append.seqs.start() - 1;
        let position = self.position(thread)?;
        let last = position.map_or(0, |position| position.last);
        if last != expected {
            return Ok(Err(LogError::Conflict {
                thread,
                expected,
                last,
            }));
        }
        let row = match (position, &append.summary) {
            (Some(Position { row, .. }), Some(columns)) => {
                self.update_thread(row, columns)?;
                row
            }
            (Some(Position { row, .. }), None) => row,
            (None, Some(columns)) => self.insert_thread(thread, columns)?,
            (None, None) => return Ok(Err(LogError::NoSuchThread(thread))),
        };
        if let Some(columns) = &append.summary {
            self.update_metadata(row, columns.metadata.as_ref())?;
        }
        let last = *append.seqs.end();
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO chunk (thread, last_seq, first_seq, body) VALUES (?, ?, ?, ?)")?;
        for Chunk { first, last, body } in &append.chunks {
            insert.execute((
                row,
                last.cast_signed(),
                first.cast_signed(),
                chunk::pack(body, &mut self.room),
            ))?;
        }
        drop(insert);
        if let Some(entries) = &append.entries {
            index::add(&self.connection, row, entries)?;
        }
        if self.room.len() > PACKING_ROOM {
            self.room = Vec::new();
        }
        self.positions.insert(thread, Position { row, last });
        Ok(Ok(()))
    }

    fn position(&mut self, thread: ThreadId) -> rusqlite::Result<Option<Position>> {
        let vacant = match self.positions.entry(thread) {
            Entry::Occupied(known) => return Ok(Some(*known.get())),
            Entry::Vacant(vacant) => vacant,
        };
        let found = self
            .connection
            .prepare_cached(
                "SELECT id, (SELECT max(last_seq) FROM chunk WHERE thread = thread.id)
                 FROM thread WHERE uuid = ?",
            )?
            .query_row([thread.0.as_bytes()], |row| {
                let last: Option<i64> = row.get(1)?;
                Ok(Position {
                    row: row.get(0)?,
                    last: last.unwrap_or(0).cast_unsigned(),
                })
            })
            .optional()?;
        Ok(found.map(|found| *vacant.insert(found)))
    }

    fn insert_thread(&self, thread: ThreadId, columns: &Columns) -> rusqlite::Result<i64> {
        let Columns { summary, json, .. } = columns;
        self.connection
            .prepare_cached(
                "INSERT INTO thread (uuid, agent, cwd, name, active, archived, updated_at, summary)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .insert((
                thread.0.as_bytes(),
                &summary.agent,
                &summary.cwd,
                &summary.name,
                summary.status.is_active(),
                summary.archived,
                summary.updated_at,
                json,
            ))
    }

    fn update_thread(&self, row: i64, columns: &Columns) -> rusqlite::Result<()> {
        let Columns { summary, json, .. } = columns;
        self.connection
            .prepare_cached(
                "UPDATE thread
                 SET agent = ?, cwd = ?, name = ?, active = ?, archived = ?, updated_at = ?, summary = ?
                 WHERE id = ?",
            )?
            .execute((
                &summary.agent,
                &summary.cwd,
                &summary.name,
                summary.status.is_active(),
                summary.archived,
                summary.updated_at,
                json,
                row,
            ))?;
        Ok(())
    }

    /// Writes the metadata of a thread if it has changed.
    fn update_metadata(&self, row: i64, metadata: Option<&RawJson>) -> rusqlite::Result<()> {
        match metadata {
            Some(metadata) => self
                .connection
                .prepare_cached(
                    "INSERT INTO thread_metadata (thread, json) VALUES (?, ?)
                     ON CONFLICT DO UPDATE SET json = excluded.json WHERE json <> excluded.json",
                )?
                .execute((row, metadata.get()))?,
            None => self
                .connection
                .prepare_cached("DELETE FROM thread_metadata WHERE thread = ?")?
                .execute([row])?,
        };
        Ok(())
    }

    fn blob(
        &mut self,
        thread: ThreadId,
        id: BlobId,
        content: &[u8],
    ) -> rusqlite::Result<Result<(), LogError>> {
        let Some(Position { row, .. }) = self.position(thread)? else {
            return Ok(Err(LogError::NoSuchThread(thread)));
        };
        let size = ZeroBlob(content.len() as u64);
        let is_new = self
            .connection
            .prepare_cached("INSERT INTO blob (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING")?
            .execute((id.0, size))?;
        if is_new > 0 {
            // As a parameter of a statement, the content would be copied twice more.
            let at = self.connection.last_insert_rowid();
            let mut body = self.connection.blob_open(MAIN_DB, c"blob", c"body", at, false)?;
            body.write_at(content, 0)?;
            body.close()?;
        }
        index::claim(&self.connection, row, id)?;
        Ok(Ok(()))
    }

    fn delete(&mut self, thread: ThreadId) -> rusqlite::Result<Result<(), LogError>> {
        let Some(Position { row, .. }) = self.position(thread)? else {
            return Ok(Err(LogError::NoSuchThread(thread)));
        };
        for sql in [
            "DELETE FROM chunk WHERE thread = ?",
            "DELETE FROM thread_metadata WHERE thread = ?",
            "DELETE FROM thread WHERE id = ?",
        ] {
            self.connection.prepare_cached(sql)?.execute([row])?;
        }
        self.execute("INSERT INTO rewrite VALUES (1) ON CONFLICT DO NOTHING")?;
        index::forget(&self.connection, row)?;
        self.positions.remove(&thread);
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::sample;
    use crate::sqlite::schema;

    /// Returns the number of rows that one append changes.
    fn rows(store: &mut Store, seq: Seq, summary: Option<&Summary>, extract: &Extract) -> u64 {
        let before = store.connection.total_changes();
        let append = Append::new(sample::thread(1), &[sample::event(seq, 300)], summary, extract).unwrap();
        let answers = store.store([Change::Append(append)].iter()).unwrap();
        assert_eq!(answers, [Ok(())]);
        store.connection.total_changes() - before
    }

    /// The frequent updates have no searchable text, and cost as much as without an index.
    #[test]
    fn an_append_without_text_is_one_row() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        let mut store = Store::new(connection);
        let (summary, nothing) = (sample::summary("rows", 1), Extract::default());
        assert_eq!(rows(&mut store, 1, Some(&summary), &nothing), 2);
        assert_eq!(rows(&mut store, 2, None, &nothing), 1);
        assert_eq!(rows(&mut store, 3, Some(&summary), &nothing), 2);
        assert!(rows(&mut store, 4, None, &sample::extract(4, &["text"])) > 2);
        assert_eq!(rows(&mut store, 5, None, &nothing), 1);
    }

    /// It was a part of the summary, which changes about four times in a turn.
    #[test]
    fn metadata_is_written_only_if_it_changes() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        let mut store = Store::new(connection);
        let (mut summary, nothing) = (sample::summary("rows", 1), Extract::default());
        let large = |text: &str| Some(RawJson::of(&text.repeat(60_000)).unwrap());
        for (seq, metadata, expected) in [
            (1, large("a"), 3),
            (2, large("a"), 2),
            (3, large("b"), 3),
            (4, large("b"), 2),
            (5, None, 3),
            (6, None, 2),
        ] {
            summary.metadata = metadata;
            assert_eq!(rows(&mut store, seq, Some(&summary), &nothing), expected, "{seq}");
            let json = "SELECT summary FROM thread";
            let json: String = store.connection.query_row(json, (), |row| row.get(0)).unwrap();
            assert!(json.len() < 1000, "{} bytes", json.len());
        }
    }
}
