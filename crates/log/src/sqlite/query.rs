//! Queries of reads. Each result comes from one statement, so from one state of the database. Between two statements, a
//! thread may be deleted and its row reused for another one.

use acpd_model::{BlobId, ItemId, SearchHit, Seq, Summary, TextKind, ThreadId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use crate::chunk::ChunkBuilder;
use crate::search::{self, Query};
use crate::{Backlog, Filter, ListCursor, ListedThread, LogError, Page, Search, SearchCursor};

/// Implements [`EventLog::read`](crate::EventLog::read).
pub(super) fn page(connection: &Connection, thread: ThreadId, after: Seq) -> Result<Page, LogError> {
    let mut chunks = connection.prepare_cached(
        "SELECT first_seq, last_seq, body FROM chunk
         WHERE thread = (SELECT id FROM thread WHERE uuid = ?) AND last_seq > ? ORDER BY last_seq",
    )?;
    let mut rows = chunks.query((thread.0.as_bytes(), i64::try_from(after).unwrap_or(i64::MAX)))?;
    let mut some = false;
    let mut filling = ChunkBuilder::new(thread, after);
    while let Some(row) = rows.next()? {
        some = true;
        let seqs = seq(row, 0)?..=seq(row, 1)?;
        let body = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        if !filling.add(seqs, body)? {
            break;
        }
    }
    if !some {
        thread_row(connection, thread)?;
    }
    Ok(filling.finish())
}

/// Implements [`EventLog::last_seq`](crate::EventLog::last_seq).
pub(super) fn last_seq(connection: &Connection, thread: ThreadId) -> Result<Seq, LogError> {
    connection
        .prepare_cached(
            "SELECT (SELECT max(last_seq) FROM chunk WHERE thread = thread.id) FROM thread WHERE uuid = ?",
        )?
        .query_row([thread.0.as_bytes()], |row| Ok(seq(row, 0)))
        .optional()?
        .ok_or(LogError::NoSuchThread(thread))?
}

/// Implements [`EventLog::summary`](crate::EventLog::summary).
pub(super) fn summary(connection: &Connection, thread: ThreadId) -> Result<Summary, LogError> {
    connection
        .prepare_cached("SELECT summary FROM thread WHERE uuid = ?")?
        .query_row([thread.0.as_bytes()], |row| Ok(read_summary(row, 0, thread)))
        .optional()?
        .ok_or(LogError::NoSuchThread(thread))?
}

/// A key that sorts after every id.
const BEYOND: &[u8] = &[0xff; 17];

/// The newest threads after a cursor. It walks along the index, so it needs no sorting.
const LIST: &str = "
    SELECT uuid, name, summary FROM thread
    WHERE (updated_at, uuid) < (?1, ?2)
        AND (?3 IS NULL OR archived = ?3)
        AND (?4 IS NULL OR agent = ?4)
        AND (?5 IS NULL OR cwd = ?5)
        AND (?6 IS NULL OR active = ?6)
    ORDER BY updated_at DESC, uuid DESC";

/// Implements [`EventLog::list`](crate::EventLog::list).
pub(super) fn list(
    connection: &Connection,
    filter: &Filter,
    cursor: Option<ListCursor>,
    limit: usize,
) -> Result<Vec<ListedThread>, LogError> {
    let (updated_at, uuid) = match &cursor {
        Some(cursor) => (cursor.updated_at, cursor.thread.0.as_bytes().as_slice()),
        None => (i64::MAX, BEYOND),
    };
    let mut threads = connection.prepare_cached(LIST)?;
    let mut rows = threads.query((
        updated_at,
        uuid,
        filter.archived,
        &filter.agent,
        &filter.cwd,
        filter.active,
    ))?;
    let mut listed = Vec::new();
    while listed.len() < limit {
        let Some(row) = rows.next()? else { break };
        let name = row.get_ref(1)?.as_str_or_null().map_err(rusqlite::Error::from)?;
        if filter.admits_name(name) {
            let thread = ThreadId(Uuid::from_bytes(row.get(0)?));
            let summary = read_summary(row, 2, thread)?;
            if filter.admits_rest(&summary) {
                listed.push(ListedThread { thread, summary });
            }
        }
    }
    Ok(listed)
}

/// Texts in the order of time. FTS5 walks its lists from the end, so no sorting is needed. `CROSS JOIN` makes it the
/// outer loop.
const SEARCH: &str = "
    SELECT entry.place, thread.uuid, thread.name, seq, turn, item, kind, text
    FROM word CROSS JOIN entry ON entry.place = word.rowid CROSS JOIN thread ON thread.id = entry.thread
    WHERE word MATCH ?1 AND word.rowid < ?2 AND (?3 IS NULL OR thread.uuid = ?3)
    ORDER BY word.rowid DESC LIMIT ?4";

/// Implements [`EventLog::search`](crate::EventLog::search).
pub(super) fn search(
    connection: &Connection,
    search: &Search,
    cursor: Option<SearchCursor>,
    limit: usize,
) -> Result<Vec<(SearchCursor, SearchHit)>, LogError> {
    let Some(query) = Query::read(&search.text) else {
        return Ok(Vec::new());
    };
    let mut expression = format!("words : ({})", query.expression());
    if let Some(thread) = search.thread {
        match thread_row(connection, thread) {
            Ok(row) => expression += &format!(" AND scope : \"{row}\""),
            Err(LogError::NoSuchThread(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
    let mut texts = connection.prepare_cached(SEARCH)?;
    let mut rows = texts.query((
        expression,
        cursor.map_or(i64::MAX, |cursor| cursor.0),
        search.thread.as_ref().map(|thread| thread.0.as_bytes()),
        i64::try_from(limit).unwrap_or(i64::MAX),
    ))?;
    let mut hits = Vec::new();
    while let Some(row) = rows.next()? {
        let place = row.get(0)?;
        let kind: String = row.get(6)?;
        let text = row.get_ref(7)?.as_str().map_err(rusqlite::Error::from)?;
        let places = query.find(&search::words(text)).unwrap_or_default();
        let hit = SearchHit {
            thread: ThreadId(Uuid::from_bytes(row.get(1)?)),
            name: row.get(2)?,
            seq: seq(row, 3)?,
            at: search::moment(place),
            turn: row.get::<_, Option<u32>>(4)?.map(TurnId),
            item: row.get::<_, Option<u32>>(5)?.map(ItemId),
            kind: TextKind::from_name(&kind)
                .ok_or_else(|| LogError::Damaged(format!("a text is of the kind {kind:?}")))?,
            snippet: search::snippet(text, &places),
        };
        hits.push((SearchCursor(place), hit));
    }
    Ok(hits)
}

/// Implements [`EventLog::backlog`](crate::EventLog::backlog).
pub(super) fn backlog(
    connection: &Connection,
    before: Option<ThreadId>,
) -> Result<Option<Backlog>, LogError> {
    let before = before.as_ref().map(|thread| thread.0.as_bytes().as_slice());
    connection
        .prepare_cached(
            "SELECT uuid, done, until FROM backlog JOIN thread ON thread.id = backlog.thread
             WHERE uuid < ? ORDER BY uuid DESC LIMIT 1",
        )?
        .query_row([before.unwrap_or(BEYOND)], |row| {
            let thread = ThreadId(Uuid::from_bytes(row.get(0)?));
            Ok((thread, seq(row, 1), seq(row, 2)))
        })
        .optional()?
        .map(|(thread, done, until)| {
            Ok(Backlog {
                thread,
                done: done?,
                until: until?,
            })
        })
        .transpose()
}

/// A blob that a thread needs, or may need. The row of a deleted one remains until it is erased.
const BLOB: &str = "
    SELECT body FROM blob WHERE hash = ?1 AND rowid NOT IN (SELECT id FROM deleted_blob)
        AND (EXISTS (SELECT 1 FROM blob_thread CROSS JOIN thread ON thread.id = blob_thread.thread
                     WHERE blob_thread.hash = ?1)
            OR EXISTS (SELECT 1 FROM backlog))";

/// Implements [`EventLog::blob`](crate::EventLog::blob).
pub(super) fn blob(connection: &Connection, id: BlobId) -> Result<Option<Vec<u8>>, LogError> {
    let found = connection
        .prepare_cached(BLOB)?
        .query_row([id.0], |row| row.get(0))
        .optional()?;
    Ok(found)
}

fn thread_row(connection: &Connection, thread: ThreadId) -> Result<i64, LogError> {
    connection
        .prepare_cached("SELECT id FROM thread WHERE uuid = ?")?
        .query_row([thread.0.as_bytes()], |row| row.get(0))
        .optional()?
        .ok_or(LogError::NoSuchThread(thread))
}

fn seq(row: &Row<'_>, column: usize) -> Result<Seq, LogError> {
    let seq: i64 = row.get(column)?;
    Seq::try_from(seq).map_err(|_| LogError::Damaged(format!("a row has the number {seq}")))
}

fn read_summary(row: &Row<'_>, column: usize, thread: ThreadId) -> Result<Summary, LogError> {
    let json = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    serde_json::from_str(json)
        .map_err(|error| LogError::Damaged(format!("thread {thread}, its summary: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn a_list_is_walked_and_not_sorted() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {LIST}")).unwrap();
        let steps: Vec<String> = plan
            .query_map((0, 0, 0, 0, 0, 0), |row| row.get("detail"))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(
            steps,
            ["SEARCH thread USING INDEX thread_newest ((updated_at,uuid)<(?,?))"]
        );
    }

    #[test]
    fn hits_are_walked_and_not_sorted() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        let mut plan = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {SEARCH}"))
            .unwrap();
        let steps: Vec<String> = plan
            .query_map(("a", 0, "b", 0), |row| row.get("detail"))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(steps[0].starts_with("SCAN word VIRTUAL TABLE"), "{steps:?}");
        assert!(!steps.iter().any(|step| step.contains("B-TREE")), "{steps:?}");
    }
}
