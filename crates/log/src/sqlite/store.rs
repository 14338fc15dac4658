//! Writes to the database: how one transaction stores a group of changes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::RangeInclusive;

use acpd_model::{BlobId, Event, Extract, Seq, Summary, ThreadId};
use rusqlite::blob::ZeroBlob;
use rusqlite::{Connection, MAIN_DB, OptionalExtension};

use super::cleanup::{self, Cleaned, Cleanup};
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
    summary: Summary,
    json: String,
}

impl Columns {
    fn boxed(summary: &Summary) -> Result<Box<Self>, LogError> {
        let json = serde_json::to_string(summary)
            .map_err(|error| LogError::Storage(format!("the summary cannot be written: {error}")))?;
        Ok(Box::new(Self {
            summary: summary.clone(),
            json,
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
    cleanup: Cleanup,
}

impl Store {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            positions: HashMap::new(),
            room: Vec::new(),
            cleanup: Cleanup::default(),
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
            self.roll_back();
        } else if self.positions.len() > REMEMBERED {
            self.positions.clear();
        }
        stored
    }

    /// Takes one step to erase deleted data from the files.
    pub(super) fn clean(&mut self) -> Result<Cleaned, LogError> {
        let cleaned = self.cleanup.step(&self.connection);
        if cleaned.is_err() {
            self.roll_back();
        }
        cleaned
    }

    /// Closes the files. Keeps a write-ahead log of more than `most_bytes`.
    pub(super) fn close(self, most_bytes: u64) -> Result<(), LogError> {
        cleanup::before_close(&self.connection, most_bytes)
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "the log cannot roll back");
        }
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
        let Columns { summary, json } = columns;
        // The id of a deleted thread is in use until its last row is erased.
        self.connection
            .prepare_cached(
                "INSERT INTO thread (id, uuid, agent, cwd, name, active, archived, updated_at, summary)
                 VALUES (1 + max(coalesce((SELECT max(id) FROM thread), 0),
                                 coalesce((SELECT max(id) FROM deleted_thread), 0)), ?, ?, ?, ?, ?, ?, ?, ?)",
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
        let Columns { summary, json } = columns;
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
        let at = if is_new > 0 {
            Some(self.connection.last_insert_rowid())
        } else {
            self.restored_blob(id)?
        };
        if let Some(at) = at {
            // As a parameter of a statement, the content would be copied twice more.
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
            "DELETE FROM thread WHERE id = ?",
            "INSERT INTO deleted_thread VALUES (?)",
        ] {
            self.connection.prepare_cached(sql)?.execute([row])?;
        }
        index::leave_backlog(&self.connection, row)?;
        self.positions.remove(&thread);
        Ok(Ok(()))
    }

    /// Takes a blob back that is being erased, so that its content must be written again. Returns its row.
    fn restored_blob(&mut self, id: BlobId) -> rusqlite::Result<Option<i64>> {
        let restored = self
            .connection
            .prepare_cached(
                "DELETE FROM deleted_blob WHERE id = (SELECT rowid FROM blob WHERE hash = ?) RETURNING id",
            )?
            .query_row([id.0], |row| row.get(0))
            .optional()?;
        if restored.is_some() {
            self.cleanup.restart();
        }
        Ok(restored)
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
}
