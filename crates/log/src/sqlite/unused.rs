//! Threads that were not used for long, with the bytes that they take. A call walks along the index of lists from its old
//! end, so it costs what it returns.
use acpd_model::{BlobId, Millis, ThreadId};
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use super::columns::read_summary;
use super::lineage;
use crate::{ListCursor, LogError, Measure, Unused, UnusedPage, UnusedThread, Usage};

/// Threads without removable blobs that one look for unused threads passes over.
const UNUSED_PASSED_OVER: usize = 1000;
/// Bytes that a thread takes beside its contents: rows of tables and their indices.
const ROWS_BYTES: u64 = 1024;

/// Copies of each searchable text: the text, its words, and their index.
const TEXT_COPIES: u64 = 3;

/// A condition: another thread that exists needs the blob.
const OTHER_NEEDS: &str =
    "EXISTS (SELECT 1 FROM blob_thread AS other CROSS JOIN thread ON thread.id = other.thread
                                   WHERE other.hash = blob.hash AND thread.id <> ?1)";

/// Blobs of the thread `?1` which only threads need that do nothing and were not used since `?2`.
const REMOVABLE: &str = "
    SELECT blob.rowid, length(body) FROM blob_thread CROSS JOIN blob ON blob.hash = blob_thread.hash
    WHERE blob_thread.thread = ?1 AND blob.rowid NOT IN (SELECT id FROM deleted_blob)
        AND NOT EXISTS (SELECT 1 FROM blob_thread AS other CROSS JOIN thread ON thread.id = other.thread
                        WHERE other.hash = blob.hash AND (thread.active = 1 OR thread.updated_at >= ?2))
        AND NOT EXISTS (SELECT 1 FROM backlog WHERE NOT knows_blobs)
    LIMIT ?3";

/// Implements [`EventLog::unused`](crate::EventLog::unused).
pub(super) fn unused(connection: &Connection, wanted: &Unused, limit: usize) -> Result<UnusedPage, LogError> {
    // All statements read one state of the database, as for a list.
    let state = connection.unchecked_transaction()?;
    let page = walk(connection, wanted, limit)?;
    state.rollback()?;
    Ok(page)
}

fn walk(connection: &Connection, wanted: &Unused, limit: usize) -> Result<UnusedPage, LogError> {
    let mut walk = connection.prepare_cached(&statement(wanted.archived))?;
    let (updated_at, uuid) = match &wanted.after {
        Some(cursor) => (cursor.updated_at, cursor.thread.0.as_bytes().to_vec()),
        None => (i64::MIN, Vec::new()),
    };
    let mut rows = walk.query((wanted.before, updated_at, uuid))?;
    let mut page = UnusedPage::default();
    let mut passed_over = 0;
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let cursor = ListCursor {
            updated_at: row.get(1)?,
            thread: ThreadId(Uuid::from_bytes(row.get(2)?)),
        };
        let (bytes, blobs) = match wanted.measure {
            Measure::Thread => (thread_bytes(connection, number)?, 0),
            Measure::Blobs => removable_bytes(connection, number, wanted.before)?,
        };
        if wanted.measure == Measure::Thread || blobs > 0 {
            page.threads.push(found(connection, number, bytes, blobs)?);
        } else {
            passed_over += 1;
        }
        if page.threads.len() >= limit || passed_over >= UNUSED_PASSED_OVER {
            page.next = Some(cursor);
            break;
        }
    }
    Ok(page)
}

/// Returns the statement for threads that do nothing, the longest unused first. If both archived and other threads are
/// wanted, two walks are merged.
fn statement(archived: Option<bool>) -> String {
    let walk = |archived: bool| {
        format!(
            "SELECT id, updated_at, uuid FROM thread INDEXED BY thread_listed
             WHERE archived = {} AND active = 0 AND updated_at < ?1 AND (updated_at, uuid) > (?2, ?3)",
            u8::from(archived)
        )
    };
    let walks = match archived {
        Some(archived) => walk(archived),
        None => format!("{} UNION ALL {}", walk(false), walk(true)),
    };
    format!("{walks} ORDER BY updated_at, uuid")
}

fn found(connection: &Connection, row: i64, bytes: u64, blobs: u64) -> Result<UnusedThread, LogError> {
    connection
        .prepare_cached(
            "SELECT uuid, summary, json FROM thread LEFT JOIN thread_metadata ON thread = id WHERE id = ?",
        )?
        .query_row([row], |row| {
            let thread = ThreadId(Uuid::from_bytes(row.get(0)?));
            Ok(read_summary(row, 1, thread).map(|summary| UnusedThread {
                thread,
                summary,
                bytes,
                blobs,
            }))
        })
        .optional()?
        .ok_or_else(|| LogError::Damaged(format!("an index has the thread {row}, which does not exist")))?
}

/// Returns about how many bytes the deletion of a thread frees. Events that a fork needs stay.
fn thread_bytes(connection: &Connection, row: i64) -> Result<u64, LogError> {
    let needed = lineage::needed_until(connection, row)?;
    let events = sum(
        connection,
        "SELECT sum(length(body)) FROM chunk WHERE thread = ?1 AND last_seq > ?2 AND first_seq > ?2",
        (row, needed),
    )?;
    let snapshots = sum(
        connection,
        "SELECT sum(length(body)) FROM snapshot WHERE thread = ?",
        [row],
    )?;
    let texts = sum(
        connection,
        "SELECT sum(octet_length(text)) FROM entry WHERE thread = ?",
        [row],
    )?;
    let blobs = sum(
        connection,
        &format!(
            "SELECT sum(length(body)) FROM blob_thread CROSS JOIN blob ON blob.hash = blob_thread.hash
             WHERE blob_thread.thread = ?1 AND blob.rowid NOT IN (SELECT id FROM deleted_blob) AND NOT {OTHER_NEEDS}"
        ),
        [row],
    )?;
    Ok(ROWS_BYTES + events + snapshots + TEXT_COPIES * texts + blobs)
}

/// Returns the bytes and the number of all removable blobs of a thread.
fn removable_bytes(connection: &Connection, row: i64, before: Millis) -> Result<(u64, u64), LogError> {
    let blobs = removable(connection, row, before, None)?;
    let bytes = blobs.iter().map(|(_, bytes)| bytes).sum();
    Ok((bytes, blobs.len() as u64))
}

/// Returns removable blobs of a thread with their sizes; all of them, or as many as `most`.
pub(super) fn removable(
    connection: &Connection,
    row: i64,
    before: Millis,
    most: Option<u32>,
) -> rusqlite::Result<Vec<(i64, u64)>> {
    connection
        .prepare_cached(REMOVABLE)?
        .query_map((row, before, most.map_or(-1, i64::from)), |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        })?
        .collect()
}

/// Implements [`EventLog::usage`](crate::EventLog::usage).
pub(super) fn usage(connection: &Connection) -> Result<Usage, LogError> {
    let state = connection.unchecked_transaction()?;
    let bytes = sum(
        connection,
        "SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
        (),
    )?;
    let rows = sum(
        connection,
        "SELECT sum(length(body)) FROM deleted_thread CROSS JOIN chunk ON chunk.thread = deleted_thread.id
         WHERE first_seq > (SELECT coalesce(max(until), 0) FROM prefix WHERE source = deleted_thread.id)",
        (),
    )?;
    let snapshots = sum(
        connection,
        "SELECT sum(length(body)) FROM deleted_thread CROSS JOIN snapshot ON snapshot.thread = deleted_thread.id",
        (),
    )?;
    let texts = sum(
        connection,
        "SELECT sum(octet_length(text)) FROM deleted_thread CROSS JOIN entry ON entry.thread = deleted_thread.id",
        (),
    )?;
    let blobs = sum(
        connection,
        "SELECT sum(length(body)) FROM blob WHERE rowid IN (
             SELECT id FROM deleted_blob
             UNION
             SELECT blob.rowid FROM deleted_thread
             CROSS JOIN blob_thread ON blob_thread.thread = deleted_thread.id
             CROSS JOIN blob ON blob.hash = blob_thread.hash
             WHERE NOT EXISTS (SELECT 1 FROM blob_thread AS other CROSS JOIN thread ON thread.id = other.thread
                               WHERE other.hash = blob.hash))",
        (),
    )?;
    state.rollback()?;
    Ok(Usage {
        bytes,
        erasing_bytes: rows + snapshots + TEXT_COPIES * texts + blobs,
    })
}

/// Implements [`EventLog::is_removed`](crate::EventLog::is_removed).
pub(super) fn is_removed(connection: &Connection, id: BlobId) -> Result<bool, LogError> {
    let found = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM blob_thread CROSS JOIN thread ON thread.id = blob_thread.thread
                            WHERE blob_thread.hash = ?1)
                AND NOT EXISTS (SELECT 1 FROM blob WHERE hash = ?1
                                AND rowid NOT IN (SELECT id FROM deleted_blob))",
        )?
        .query_row([id.0], |row| row.get(0))?;
    Ok(found)
}

fn sum(connection: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<u64, LogError> {
    let sum: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params, |row| row.get(0))?;
    Ok(sum.unwrap_or_default().cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    fn plan(sql: &str) -> Vec<String> {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let parameters = plan.parameter_count();
        plan.query_map(rusqlite::params_from_iter(vec![1; parameters]), |row| {
            row.get("detail")
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
    }

    #[test]
    fn the_old_end_of_the_index_is_walked_and_nothing_is_sorted() {
        for archived in [None, Some(false), Some(true)] {
            let steps = plan(&statement(archived));
            assert!(
                steps
                    .iter()
                    .any(|step| step.contains("USING INDEX thread_listed (archived=? AND")),
                "{steps:?}"
            );
            assert!(!steps.iter().any(|step| step.contains("B-TREE")), "{steps:?}");
            assert!(
                !steps.iter().any(|step| step.starts_with("SCAN thread")),
                "{steps:?}"
            );
        }
    }

    #[test]
    fn removable_blobs_are_looked_up_and_not_scanned() {
        let steps = plan(REMOVABLE);
        assert!(
            !steps
                .iter()
                .any(|step| step.starts_with("SCAN") && step != "SCAN backlog"),
            "{steps:?}"
        );
    }
}
