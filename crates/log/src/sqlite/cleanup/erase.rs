//! Erases deleted threads and blobs, one bounded step at a time. All functions run inside the transaction of their
//! caller. A step that is interrupted is taken again.
//!
//! `SQLite` overwrites the rows that it removes (`secure_delete`). Where it had moved them before, copies remain, which
//! [`scrub`] overwrites.

use acpd_model::Seq;
use acpd_model::limits::LOG_ERASE_BYTES;
use rusqlite::{Connection, MAIN_DB, OptionalExtension, Row};

use super::scrub;
use crate::chunk::{self, Chunk, RowSpan};
use crate::sqlite::{index, lineage, marks};

/// Rows of a deleted thread that the log removes in one step.
const LOG_ERASE_ROWS: u32 = 64;

/// Marks a blob as deleted if no thread needs it, once the needs of every thread are known.
pub(super) const RELEASE: &str = "
    INSERT OR IGNORE INTO deleted_blob SELECT rowid FROM blob WHERE hash = ?
        AND NOT EXISTS (SELECT 1 FROM backlog WHERE NOT knows_blobs)
        AND NOT EXISTS (SELECT 1 FROM blob_thread CROSS JOIN thread ON thread.id = blob_thread.thread
                        WHERE blob_thread.hash = blob.hash)";

/// Erases what `deleted_thread`, `deleted_blob` and `blob_sweep` name.
#[derive(Debug, Default)]
pub(super) struct Eraser {
    /// The large row that is being overwritten. After a restart, overwriting begins again.
    overwritten: Option<Overwritten>,
}

#[derive(Debug)]
struct Overwritten {
    table: Table,
    row: i64,
    bytes: usize,
}

/// A table with rows of any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Chunk,
    Blob,
}

impl Eraser {
    /// Takes one step. Returns whether there was anything to erase.
    pub(super) fn step(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let first = |sql| -> rusqlite::Result<Option<i64>> {
            connection.prepare_cached(sql)?.query_row((), |row| row.get(0))
        };
        if let Some(blob) = first("SELECT min(id) FROM deleted_blob")? {
            self.erase_blob(connection, blob)?;
        } else if let Some(thread) = first("SELECT min(id) FROM deleted_thread")? {
            self.erase_thread(connection, thread)?;
        } else if let Some(after) = first("SELECT min(after) FROM blob_sweep")? {
            sweep(connection, after)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Forgets the progress within a row, because its transaction failed or its content was stored again.
    pub(super) fn restart(&mut self) {
        self.overwritten = None;
    }

    fn erase_thread(&mut self, connection: &Connection, thread: i64) -> rusqlite::Result<()> {
        let needed = lineage::needed_until(connection, thread)?;
        if index::erase_texts(connection, thread)?
            || marks::erase(connection, thread, needed, LOG_ERASE_ROWS)?
            || self.erase_chunks(connection, thread, needed)?
            || release_blobs(connection, thread)?
            || cut_chunk(connection, thread, needed)?
        {
            return Ok(());
        }
        execute(connection, "DELETE FROM deleted_thread WHERE id = ?", thread)?;
        scrub::begin(connection)
    }

    /// Erases chunks of a thread. Returns whether there were any.
    fn erase_chunks(&mut self, connection: &Connection, thread: i64, needed: i64) -> rusqlite::Result<bool> {
        let chunks = removable_chunks(connection, thread, needed)?;
        let mut room = LOG_ERASE_BYTES;
        for (number, (row, bytes)) in chunks.iter().enumerate() {
            if number > 0 && *bytes > room {
                break;
            }
            self.erase_row(connection, Table::Chunk, *row, *bytes)?;
            room = room.saturating_sub(*bytes);
        }
        Ok(!chunks.is_empty())
    }

    fn erase_blob(&mut self, connection: &Connection, row: i64) -> rusqlite::Result<()> {
        let bytes = connection
            .prepare_cached("SELECT length(body) FROM blob WHERE rowid = ?")?
            .query_row([row], |row| size(row, 0))
            .optional()?;
        let erased = match bytes {
            Some(bytes) => self.erase_row(connection, Table::Blob, row, bytes)?,
            None => true,
        };
        if erased {
            execute(connection, "DELETE FROM deleted_blob WHERE id = ?", row)?;
        }
        Ok(())
    }

    /// Removes a row. Overwrites a part of it instead if it is large. Returns whether the row is removed.
    fn erase_row(
        &mut self,
        connection: &Connection,
        table: Table,
        row: i64,
        bytes: usize,
    ) -> rusqlite::Result<bool> {
        if bytes <= LOG_ERASE_BYTES {
            execute(connection, table.removal(), row)?;
            return Ok(true);
        }
        let before = match &self.overwritten {
            Some(at) if at.table == table && at.row == row => at.bytes,
            _ => 0,
        };
        if before < bytes {
            let part = (bytes - before).min(LOG_ERASE_BYTES);
            let mut body = connection.blob_open(MAIN_DB, table.name(), c"body", row, false)?;
            body.write_at(&vec![0; part], before)?;
            body.close()?;
            self.overwritten = Some(Overwritten {
                table,
                row,
                bytes: before + part,
            });
            return Ok(false);
        }
        // The pages of the row need not be written again. Writing all of them at once would take too long.
        connection.pragma_update(None, "secure_delete", "FAST")?;
        let removed = execute(connection, table.removal(), row);
        connection.pragma_update(None, "secure_delete", true)?;
        self.overwritten = None;
        removed.map(|()| true)
    }
}

impl Table {
    fn name(self) -> &'static std::ffi::CStr {
        match self {
            Self::Chunk => c"chunk",
            Self::Blob => c"blob",
        }
    }

    fn removal(self) -> &'static str {
        match self {
            Self::Chunk => "DELETE FROM chunk WHERE rowid = ?",
            Self::Blob => "DELETE FROM blob WHERE rowid = ?",
        }
    }
}

/// Returns the next chunks of a deleted thread that no fork needs, with their sizes: those that begin after the event
/// `needed`.
fn removable_chunks(
    connection: &Connection,
    thread: i64,
    needed: i64,
) -> rusqlite::Result<Vec<(i64, usize)>> {
    connection
        .prepare_cached(
            "SELECT rowid, length(body) FROM chunk
             WHERE thread = ?1 AND last_seq > ?2 AND first_seq > ?2 ORDER BY last_seq LIMIT ?3",
        )?
        .query_map((thread, needed, LOG_ERASE_ROWS), |row| {
            Ok((row.get(0)?, size(row, 1)?))
        })?
        .collect()
}

/// Cuts off the events after `needed` in the chunk that contains it. Returns whether there were any.
fn cut_chunk(connection: &Connection, thread: i64, needed: i64) -> rusqlite::Result<bool> {
    let found = connection
        .prepare_cached(
            "SELECT rowid, first_seq, last_seq, body FROM chunk
             WHERE thread = ?1 AND last_seq > ?2 AND first_seq <= ?2",
        )?
        .query_row((thread, needed), |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            let span = RowSpan {
                until: needed.cast_unsigned(),
                ..RowSpan::own(number(1)?, number(2)?)
            };
            Ok((row.get::<_, i64>(0)?, span, row.get::<_, Vec<u8>>(3)?))
        })
        .optional()?;
    let Some((row, span, body)) = found else {
        return Ok(false);
    };
    match chunk::cut(span, &body) {
        // A part of a large row was divided: another row ends there and has the same events.
        Ok(Chunk { last, .. }) if ends_at(connection, thread, last)? => {
            execute(connection, "DELETE FROM chunk WHERE rowid = ?", row)?;
        }
        Ok(Chunk { last, body, .. }) => {
            let mut room = Vec::new();
            connection
                .prepare_cached("UPDATE chunk SET last_seq = ?, body = ? WHERE rowid = ?")?
                .execute((last.cast_signed(), chunk::pack(&body, &mut room), row))?;
        }
        // A fork cannot read a damaged row either.
        Err(what) => {
            tracing::error!(what, "a damaged row of a deleted thread is removed");
            execute(connection, "DELETE FROM chunk WHERE rowid = ?", row)?;
        }
    }
    Ok(true)
}

/// Returns whether a row of a thread ends with this event.
fn ends_at(connection: &Connection, thread: i64, last: Seq) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM chunk WHERE thread = ? AND last_seq = ?)")?
        .query_row((thread, last.cast_signed()), |row| row.get(0))
}

/// Removes needs of a deleted thread, and marks blobs that no other thread needs as deleted. Returns whether the thread
/// needed any.
fn release_blobs(connection: &Connection, thread: i64) -> rusqlite::Result<bool> {
    let blobs: Vec<Vec<u8>> = connection
        .prepare_cached("SELECT hash FROM blob_thread WHERE thread = ? LIMIT ?")?
        .query_map((thread, LOG_ERASE_ROWS), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for blob in &blobs {
        connection
            .prepare_cached("DELETE FROM blob_thread WHERE hash = ? AND thread = ?")?
            .execute((blob, thread))?;
        connection.prepare_cached(RELEASE)?.execute([blob])?;
    }
    Ok(!blobs.is_empty())
}

/// Marks unclaimed blobs after this row as deleted.
fn sweep(connection: &Connection, after: i64) -> rusqlite::Result<()> {
    let blobs: Vec<(i64, Vec<u8>)> = connection
        .prepare_cached("SELECT rowid, hash FROM blob WHERE rowid > ? ORDER BY rowid LIMIT ?")?
        .query_map((after, LOG_ERASE_ROWS), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let Some((last, _)) = blobs.last() else {
        connection.prepare_cached("DELETE FROM blob_sweep")?.execute(())?;
        return scrub::begin(connection);
    };
    for (_, blob) in &blobs {
        connection.prepare_cached(RELEASE)?.execute([blob])?;
    }
    execute(connection, "UPDATE blob_sweep SET after = ?", *last)
}

fn size(row: &Row<'_>, column: usize) -> rusqlite::Result<usize> {
    Ok(row.get::<_, u32>(column)? as usize)
}

fn execute(connection: &Connection, sql: &str, value: i64) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([value])?;
    Ok(())
}
