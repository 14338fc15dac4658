//! Writes to the database: how one transaction stores a group of changes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use acpd_model::limits::SNAPSHOT_SPACING;
use acpd_model::{BlobId, Inherited, Millis, RawJson, Seq, ThreadId};
use rusqlite::blob::ZeroBlob;
use rusqlite::{Connection, MAIN_DB, OptionalExtension};

use super::blocks;
use super::change::{Batch, Beside, Change, Columns, Missing};
use super::cleanup::{self, Cleaned, Cleanup};
use super::divide::{self, Part};
use super::index;
use super::upgrade::Copies;
use super::{lineage, marks};
use crate::chunk::Chunk;
use crate::{LogError, Snapshot, chunk};

/// Bytes of the compression buffer that are kept for the next chunk.
const PACKING_ROOM: usize = 1 << 20;

/// Number of threads whose position is cached.
const REMEMBERED: usize = 4096;

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
    /// Copies of the database before its upgrade.
    copies: Copies,
}

impl Store {
    #[cfg(test)]
    pub(super) fn new(connection: Connection) -> Self {
        Self::with_copies(connection, Copies::default())
    }

    /// Creates a store that removes the copies when they are not needed any more.
    pub(super) fn with_copies(connection: Connection, copies: Copies) -> Self {
        Self {
            connection,
            positions: HashMap::new(),
            room: Vec::new(),
            cleanup: Cleanup::default(),
            copies,
        }
    }

    /// Gives up the copies from before an upgrade once all data beside the events is stored.
    pub(super) fn release_copies(&mut self) {
        if !self.copies.exist() {
            return;
        }
        let retired = match index::is_anything_due(&self.connection) {
            Ok(true) => return,
            Ok(false) => self.copies.retire(),
            Err(error) => Err(error.into()),
        };
        match retired {
            Ok(()) => {
                tracing::info!("the upgrade of the log is complete, so the copy from before it is removed")
            }
            Err(error) => {
                tracing::warn!(%error, "the copy of the log from before its upgrade is not removed")
            }
        }
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
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
        if self.copies.erase()? {
            return Ok(Cleaned::Some);
        }
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
            Change::CatchUp {
                thread,
                through,
                data,
            } => match self.position(*thread)? {
                Some(Position { row, .. }) => self.catch_up(row, *through, data).map(Ok),
                None => Ok(Err(LogError::NoSuchThread(*thread))),
            },
            Change::Divide(part) => self.divide(part),
            Change::Delete(thread) => self.delete(*thread),
            Change::RemoveBlobs { thread, before } => self.remove_blobs(*thread, *before),
        }
    }

    fn append(&mut self, batch: &Batch) -> rusqlite::Result<Result<(), LogError>> {
        let (thread, expected) = (batch.thread, batch.after);
        let position = self.position(thread)?;
        let origin = match batch.beside.as_ref().and_then(|beside| beside.inherits) {
            Some(Inherited { from, until }) if position.is_none() => {
                let origin = self.position(from)?.filter(|origin| origin.last >= until);
                let Some(Position { row, .. }) = origin else {
                    return Ok(Err(LogError::NoSuchThread(from)));
                };
                Some((row, until))
            }
            _ => None,
        };
        let inherited = origin.map_or(0, |(_, until)| until);
        let last = position.map_or(inherited, |position| position.last);
        if last != expected {
            return Ok(Err(LogError::Conflict {
                thread,
                expected,
                last,
            }));
        }
        let row = match (position, &batch.summary) {
            (Some(Position { row, .. }), Some(columns)) => {
                self.update_thread(row, columns)?;
                row
            }
            (Some(Position { row, .. }), None) => row,
            (None, Some(columns)) => self.insert_thread(thread, columns)?,
            (None, None) => return Ok(Err(LogError::NoSuchThread(thread))),
        };
        if let Some(columns) = &batch.summary {
            blocks::put(&self.connection, row, &columns.packed)?;
            self.update_metadata(row, columns.metadata.as_ref())?;
        }
        if let Some((origin, until)) = origin {
            lineage::inherit(&self.connection, row, origin, until)?;
        }
        let last = batch.last;
        self.insert_chunks(row, &batch.chunks)?;
        if let Some(beside) = &batch.beside {
            self.add(row, expected, beside)?;
        }
        if self.room.len() > PACKING_ROOM {
            self.room = Vec::new();
        }
        self.positions.insert(thread, Position { row, last });
        Ok(Ok(()))
    }

    fn insert_chunks(&mut self, row: i64, chunks: &[Chunk]) -> rusqlite::Result<()> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO chunk (thread, last_seq, first_seq, body) VALUES (?, ?, ?, ?)")?;
        for Chunk { first, last, body } in chunks {
            insert.execute((
                row,
                last.cast_signed(),
                first.cast_signed(),
                chunk::pack(body, &mut self.room),
            ))?;
        }
        Ok(())
    }

    fn divide(&mut self, part: &Part) -> rusqlite::Result<Result<(), LogError>> {
        if let Err(error) = divide::prepare(&self.connection, part)? {
            return Ok(Err(error));
        }
        self.insert_chunks(part.number(), std::slice::from_ref(part.chunk()))?;
        Ok(Ok(()))
    }

    fn add(&self, row: i64, after: Seq, beside: &Beside) -> rusqlite::Result<()> {
        index::add(&self.connection, row, after, &beside.entries)?;
        marks::add(&self.connection, row, &beside.marks)?;
        if let Some(snapshot) = &beside.snapshot {
            self.snapshot(row, snapshot)?;
        }
        if beside.cursor.is_some() || beside.memo.is_some() {
            self.carry(row, beside.cursor, beside.memo.as_deref())?;
        }
        Ok(())
    }

    /// Stores a snapshot, and removes the one before it unless that is far enough from the next older one.
    fn snapshot(&self, row: i64, snapshot: &Snapshot) -> rusqlite::Result<()> {
        let Snapshot {
            seq,
            weight,
            format,
            body,
        } = snapshot;
        let mut older = self.connection.prepare_cached(
            "SELECT seq, weight FROM snapshot WHERE thread = ? AND seq < ? ORDER BY seq DESC LIMIT 2",
        )?;
        let older: Vec<(i64, i64)> = older
            .query_map((row, seq.cast_signed()), |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let before = older.get(1).map_or(0, |(_, weight)| weight.cast_unsigned());
        if let Some((last, _)) = older.first()
            && weight.saturating_sub(before) < SNAPSHOT_SPACING
        {
            self.connection
                .prepare_cached("DELETE FROM snapshot WHERE thread = ? AND seq = ?")?
                .execute((row, last))?;
        }
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO snapshot (thread, seq, weight, format, body) VALUES (?, ?, ?, ?, ?)",
            )?
            .execute((row, seq.cast_signed(), weight.cast_signed(), format, &body[..]))?;
        Ok(())
    }

    fn carry(&self, row: i64, cursor: Option<u64>, memo: Option<&[u8]>) -> rusqlite::Result<()> {
        let cursor = cursor.map(u64::cast_signed);
        let is_removed = memo.is_some_and(<[u8]>::is_empty);
        self.connection
            .prepare_cached(
                "INSERT INTO carried (thread, cursor, memo) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET cursor = coalesce(?2, cursor), memo = iif(?4, NULL, coalesce(?3, memo))",
            )?
            .execute((row, cursor, memo.filter(|memo| !memo.is_empty()), is_removed))?;
        Ok(())
    }

    fn catch_up(&self, row: i64, through: Seq, data: &Missing) -> rusqlite::Result<()> {
        let (marks, snapshot) = match data {
            Missing::Texts(entries) => return index::catch_up(&self.connection, row, through, entries),
            Missing::Marks(marks, snapshot) => (marks, snapshot),
        };
        let through = through.cast_signed();
        let due = self
            .connection
            .prepare_cached("UPDATE unmarked SET done = ?1 WHERE thread = ?2 AND done < ?1")?
            .execute((through, row))?;
        if due == 0 {
            return Ok(());
        }
        marks::add(&self.connection, row, marks)?;
        if let Some(snapshot) = snapshot {
            self.snapshot(row, snapshot)?;
        }
        self.connection
            .prepare_cached("DELETE FROM unmarked WHERE thread = ? AND done >= until")?
            .execute([row])?;
        Ok(())
    }

    fn position(&mut self, thread: ThreadId) -> rusqlite::Result<Option<Position>> {
        let vacant = match self.positions.entry(thread) {
            Entry::Occupied(known) => return Ok(Some(*known.get())),
            Entry::Vacant(vacant) => vacant,
        };
        let found = self
            .connection
            .prepare_cached(
                "SELECT id, max(coalesce((SELECT max(last_seq) FROM chunk WHERE thread = thread.id), 0),
                                coalesce((SELECT max(until) FROM prefix WHERE thread = thread.id), 0))
                 FROM thread WHERE uuid = ?",
            )?
            .query_row([thread.0.as_bytes()], |row| {
                let last: i64 = row.get(1)?;
                Ok(Position {
                    row: row.get(0)?,
                    last: last.cast_unsigned(),
                })
            })
            .optional()?;
        Ok(found.map(|found| *vacant.insert(found)))
    }

    /// Inserts a thread under a new number. The number of a deleted thread is in use while it has rows: until they are
    /// erased, and as long as a fork needs them.
    fn insert_thread(&self, thread: ThreadId, columns: &Columns) -> rusqlite::Result<i64> {
        let Columns { summary, json, .. } = columns;
        self.connection
            .prepare_cached(
                "INSERT INTO thread (id, uuid, agent, cwd, name, active, archived, updated_at, summary)
                 VALUES (1 + max(coalesce((SELECT max(id) FROM thread), 0),
                                 coalesce((SELECT max(source) FROM prefix), 0),
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

    /// Writes the columns of indices only if one of them has changed.
    fn update_thread(&self, row: i64, columns: &Columns) -> rusqlite::Result<()> {
        let Columns { summary, json, .. } = columns;
        let changed = self
            .connection
            .prepare_cached(
                "UPDATE thread SET agent = ?1, cwd = ?2, name = ?3, active = ?4, archived = ?5, updated_at = ?6, summary = ?7
                 WHERE id = ?8 AND (agent, cwd, name, active, archived, updated_at) IS NOT (?1, ?2, ?3, ?4, ?5, ?6)",
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
        if changed == 0 {
            self.connection
                .prepare_cached("UPDATE thread SET summary = ? WHERE id = ?")?
                .execute((json, row))?;
        }
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
        let Some(Position { row, last }) = self.position(thread)? else {
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
        index::claim(&self.connection, row, last, id)?;
        Ok(Ok(()))
    }

    fn delete(&mut self, thread: ThreadId) -> rusqlite::Result<Result<(), LogError>> {
        let Some(Position { row, .. }) = self.position(thread)? else {
            return Ok(Err(LogError::NoSuchThread(thread)));
        };
        if let Err(error) = self.retire_copies() {
            return Ok(Err(error));
        }
        for sql in [
            "DELETE FROM thread_metadata WHERE thread = ?",
            "DELETE FROM carried WHERE thread = ?",
            "DELETE FROM thread WHERE id = ?",
            "INSERT INTO deleted_thread VALUES (?)",
        ] {
            self.connection.prepare_cached(sql)?.execute([row])?;
        }
        blocks::remove(&self.connection, row)?;
        lineage::leave(&self.connection, row)?;
        index::leave_backlog(&self.connection, row)?;
        self.positions.remove(&thread);
        Ok(Ok(()))
    }

    fn remove_blobs(&mut self, thread: ThreadId, before: Millis) -> rusqlite::Result<Result<(), LogError>> {
        let Some(Position { row, .. }) = self.position(thread)? else {
            return Ok(Err(LogError::NoSuchThread(thread)));
        };
        if let Err(error) = self.retire_copies() {
            return Ok(Err(error));
        }
        cleanup::remove_blobs(&self.connection, row, before)?;
        Ok(Ok(()))
    }

    /// Gives up the copies from before an upgrade, which contain the thread that is deleted.
    fn retire_copies(&mut self) -> Result<(), LogError> {
        if self.copies.exist() {
            self.copies.retire()?;
            tracing::info!("removing the copy of the log from before its upgrade, because data is deleted");
        }
        Ok(())
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
    use acpd_model::{Extract, Summary};

    use super::*;
    use crate::Append;
    use crate::conformance::sample;
    use crate::sqlite::schema;

    /// Returns the number of rows that one append changes.
    fn rows(store: &mut Store, seq: Seq, summary: Option<&Summary>, extract: &Extract) -> u64 {
        let before = store.connection.total_changes();
        let events = [sample::event(seq, 300)];
        let append = Append {
            summary,
            extract,
            ..Append::new(sample::thread(1), &events)
        };
        let batch = Batch::new(&append).unwrap();
        let answers = store.store([Change::Append(batch)].iter()).unwrap();
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
        assert_eq!(rows(&mut store, 1, Some(&summary), &nothing), 3);
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
            (1, large("a"), 4),
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
