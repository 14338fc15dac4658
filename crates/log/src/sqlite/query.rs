//! Queries of reads. Each result comes from one statement, so from one state of the database. Between two statements, a
//! thread may be deleted and its row reused for another one.

use acpd_model::limits::LOG_LOOKUP_BYTES;
use acpd_model::{BlobId, Event, ItemId, SearchHit, Seq, Summary, TextKind, ThreadId, TurnId};
use rusqlite::{Connection, MAIN_DB, OptionalExtension, Row};
use uuid::Uuid;

use super::columns::{read_summary, seq};
use super::lineage::{self, Lineage, Segment};
use super::list::BEYOND;
use super::marks;
use crate::chunk::{ChunkBuilder, RowSpan};
use crate::search::{self, Query};
use crate::turns::{self, TurnsFound, TurnsWanted};
use crate::{Backlog, BlobPart, Carried, Lacking, LogError, Page, Search, SearchCursor, Snapshot, chunk};

/// Implements [`EventLog::read`](crate::EventLog::read).
pub(super) fn page(connection: &Connection, thread: ThreadId, after: Seq) -> Result<Page, LogError> {
    let lineage = Lineage::of(connection, thread)?;
    let mut filling = ChunkBuilder::new(thread, after);
    for segment in lineage.segments().iter().filter(|segment| segment.until > after) {
        let mut chunks = connection.prepare_cached(
            "SELECT first_seq, last_seq, body FROM chunk WHERE thread = ? AND last_seq > ? ORDER BY last_seq",
        )?;
        let from = i64::try_from(filling.next() - 1).unwrap_or(i64::MAX);
        let mut rows = chunks.query((segment.row, from))?;
        while filling.next() <= segment.until
            && let Some(row) = rows.next()?
        {
            let body = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            let last = seq(row, 1)?;
            let goes_on = match span(row, *segment) {
                Ok(span) => filling.add(span, body)?,
                Err(_) => filling.missing(last.min(segment.until))?,
            };
            if !goes_on {
                return Ok(filling.finish());
            }
        }
        if segment.inherited && filling.next() <= segment.until && !filling.missing(segment.until)? {
            return Ok(filling.finish());
        }
    }
    Ok(filling.finish())
}

fn span(row: &Row<'_>, segment: Segment) -> Result<RowSpan, LogError> {
    Ok(RowSpan {
        first: seq(row, 0)?,
        last: seq(row, 1)?,
        until: segment.until,
        inherited: segment.inherited,
    })
}

/// Implements [`EventLog::events`](crate::EventLog::events).
pub(super) fn events(
    connection: &Connection,
    thread: ThreadId,
    seqs: &[Seq],
) -> Result<Vec<Event>, LogError> {
    let lineage = Lineage::of(connection, thread)?;
    let mut find = connection.prepare_cached(
        "SELECT first_seq, last_seq, body FROM chunk WHERE thread = ? AND last_seq >= ? ORDER BY last_seq LIMIT 1",
    )?;
    let missing = |seq| LogError::DamagedEvents {
        thread,
        first: seq,
        last: seq,
        reason: "they do not exist".to_owned(),
    };
    let mut events = Vec::with_capacity(seqs.len());
    let (mut rest, mut room) = (seqs, LOG_LOOKUP_BYTES);
    while let [next, ..] = rest
        && room > 0
    {
        let segment = lineage.at(*next).ok_or_else(|| missing(*next))?;
        let wanted = i64::try_from(*next).map_err(|_| missing(*next))?;
        let mut rows = find.query((segment.row, wanted))?;
        let row = rows.next()?.ok_or_else(|| missing(*next))?;
        let span = span(row, segment).map_err(|_| missing(*next))?;
        if span.first > *next {
            return Err(missing(*next));
        }
        let body = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let (here, after) = rest.split_at(rest.partition_point(|seq| *seq <= span.last.min(span.until)));
        let found = chunk::select(thread, span, body, here)?;
        room = room.saturating_sub(found.iter().map(Event::weight).sum());
        events.extend(found);
        rest = after;
    }
    Ok(events)
}

/// Implements [`EventLog::turns`](crate::EventLog::turns).
pub(super) fn turns(
    connection: &Connection,
    thread: ThreadId,
    wanted: &TurnsWanted,
) -> Result<Option<TurnsFound>, LogError> {
    let lineage = Lineage::of(connection, thread)?;
    if marks::are_missing(connection, &lineage)? {
        return Ok(None);
    }
    let mut rows = marks::Rows::new(connection, &lineage, wanted.until)?;
    Ok(Some(turns::find(&mut rows, wanted)?))
}

/// Implements [`EventLog::end_of_turns`](crate::EventLog::end_of_turns).
pub(super) fn end_of_turns(
    connection: &Connection,
    thread: ThreadId,
    last: Option<TurnId>,
) -> Result<Option<Seq>, LogError> {
    let lineage = Lineage::of(connection, thread)?;
    if marks::are_missing(connection, &lineage)? {
        return Ok(None);
    }
    let end = lineage::last_seq(connection, lineage.own())?;
    Ok(Some(marks::end_of_turns(connection, &lineage, last, end)?))
}

/// Implements [`EventLog::client_turn`](crate::EventLog::client_turn).
pub(super) fn client_turn(
    connection: &Connection,
    thread: ThreadId,
    id: &str,
) -> Result<Option<TurnId>, LogError> {
    let lineage = Lineage::of(connection, thread)?;
    Ok(marks::client_turn(connection, &lineage, id)?)
}

/// Implements [`EventLog::snapshot`](crate::EventLog::snapshot).
pub(super) fn snapshot(
    connection: &Connection,
    thread: ThreadId,
    until: Seq,
    format: u32,
) -> Result<Option<Snapshot>, LogError> {
    let mut find = connection.prepare_cached(
        "SELECT seq, weight, body FROM snapshot WHERE thread = ? AND seq <= ? AND format = ?
         ORDER BY seq DESC LIMIT 1",
    )?;
    for segment in Lineage::of(connection, thread)?.up_to(until) {
        let until = i64::try_from(segment.until).unwrap_or(i64::MAX);
        let found = find
            .query_row((segment.row, until, format), |row| {
                Ok(Snapshot {
                    seq: row.get::<_, i64>(0)?.cast_unsigned(),
                    weight: row.get::<_, i64>(1)?.cast_unsigned(),
                    format,
                    body: row.get::<_, Vec<u8>>(2)?.into(),
                })
            })
            .optional()?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Implements [`EventLog::carried`](crate::EventLog::carried).
pub(super) fn carried(connection: &Connection, thread: ThreadId) -> Result<Carried, LogError> {
    let row = thread_row(connection, thread)?;
    let found = connection
        .prepare_cached("SELECT cursor, memo FROM carried WHERE thread = ?")?
        .query_row([row], |row| {
            Ok(Carried {
                cursor: row.get::<_, Option<i64>>(0)?.map(i64::cast_unsigned),
                memo: row.get(1)?,
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Implements [`EventLog::last_seq`](crate::EventLog::last_seq).
pub(super) fn last_seq(connection: &Connection, thread: ThreadId) -> Result<Seq, LogError> {
    lineage::last_seq(connection, thread_row(connection, thread)?)
}

/// Implements [`EventLog::summary`](crate::EventLog::summary).
pub(super) fn summary(connection: &Connection, thread: ThreadId) -> Result<Summary, LogError> {
    connection
        .prepare_cached(
            "SELECT summary, json FROM thread LEFT JOIN thread_metadata ON thread = id WHERE uuid = ?",
        )?
        .query_row([thread.0.as_bytes()], |row| Ok(read_summary(row, 0, thread)))
        .optional()?
        .ok_or(LogError::NoSuchThread(thread))?
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

/// Rows of a backlog that are cheaper to sort than to look for among all threads.
const FEW: i64 = 1000;

/// Implements [`EventLog::backlog`](crate::EventLog::backlog).
pub(super) fn backlog(
    connection: &Connection,
    lacks: Lacking,
    before: Option<ThreadId>,
) -> Result<Option<Backlog>, LogError> {
    let before = before.as_ref().map(|thread| thread.0.as_bytes().as_slice());
    connection
        .prepare_cached(&backlog_statement(connection, lacks)?)?
        .query_row([before.unwrap_or(BEYOND)], |row| Ok(read_backlog(row, lacks)))
        .optional()?
        .transpose()
}

/// Returns the statement for the newest thread of a backlog. A backlog is usually empty, but has all threads after an
/// upgrade: then its newest thread is found along the threads' index.
fn backlog_statement(connection: &Connection, lacks: Lacking) -> rusqlite::Result<String> {
    let table = match lacks {
        Lacking::Texts => "backlog",
        Lacking::Marks => "unmarked",
    };
    let rows: i64 = connection
        .prepare_cached(&format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT ?)"))?
        .query_row([FEW], |row| row.get(0))?;
    let (outer, inner) = if rows < FEW {
        (table, "thread")
    } else {
        ("thread", table)
    };
    Ok(format!(
        "SELECT uuid, done, until FROM {outer} CROSS JOIN {inner} ON thread.id = {table}.thread
         WHERE uuid < ? ORDER BY uuid DESC LIMIT 1"
    ))
}

/// Implements [`EventLog::lacking_turns`](crate::EventLog::lacking_turns).
pub(super) fn lacking_turns(connection: &Connection, thread: ThreadId) -> Result<Option<Backlog>, LogError> {
    let mut find = connection.prepare_cached(
        "SELECT uuid, done, until FROM unmarked JOIN thread ON thread.id = unmarked.thread WHERE thread.id = ?",
    )?;
    for segment in Lineage::of(connection, thread)?.segments() {
        let found = find
            .query_row([segment.row], |row| Ok(read_backlog(row, Lacking::Marks)))
            .optional()?;
        if found.is_some() {
            return found.transpose();
        }
    }
    Ok(None)
}

fn read_backlog(row: &Row<'_>, lacks: Lacking) -> Result<Backlog, LogError> {
    Ok(Backlog {
        thread: ThreadId(Uuid::from_bytes(row.get(0)?)),
        lacks,
        done: seq(row, 1)?,
        until: seq(row, 2)?,
    })
}
/// A blob that a thread needs, or may need. The row of a deleted one remains until it is erased.
const BLOB: &str = "
    SELECT rowid FROM blob WHERE hash = ?1 AND rowid NOT IN (SELECT id FROM deleted_blob)
        AND (EXISTS (SELECT 1 FROM blob_thread CROSS JOIN thread ON thread.id = blob_thread.thread
                     WHERE blob_thread.hash = ?1)
            OR EXISTS (SELECT 1 FROM backlog WHERE NOT knows_blobs))";

/// A blob that one thread needs.
const BLOB_OF: &str = "
    SELECT rowid FROM blob WHERE hash = ?1 AND rowid NOT IN (SELECT id FROM deleted_blob)
        AND EXISTS (SELECT 1 FROM blob_thread CROSS JOIN thread ON thread.id = blob_thread.thread
                    WHERE blob_thread.hash = ?1 AND thread.uuid = ?2)";

/// Implements [`EventLog::blob_part`](crate::EventLog::blob_part). Reads no other part into memory.
pub(super) fn blob_part(
    connection: &Connection,
    of: Option<ThreadId>,
    id: BlobId,
    from: u64,
    most: usize,
) -> Result<Option<BlobPart>, LogError> {
    // The content is read by a call of its own, before which the blob could be erased.
    let state = connection.unchecked_transaction()?;
    let found: Option<i64> = match of {
        None => state
            .prepare_cached(BLOB)?
            .query_row([id.0], |row| row.get(0))
            .optional()?,
        Some(thread) => state
            .prepare_cached(BLOB_OF)?
            .query_row((id.0, thread.0.as_bytes()), |row| row.get(0))
            .optional()?,
    };
    let Some(row) = found else {
        return Ok(None);
    };
    let body = state.blob_open(MAIN_DB, c"blob", c"body", row, true)?;
    let range = BlobPart::range(body.len(), from, most);
    let mut content = vec![0; range.len()];
    body.read_at_exact(&mut content, range.start)?;
    Ok(Some(BlobPart {
        content,
        total: body.len() as u64,
    }))
}

fn thread_row(connection: &Connection, thread: ThreadId) -> Result<i64, LogError> {
    connection
        .prepare_cached("SELECT id FROM thread WHERE uuid = ?")?
        .query_row([thread.0.as_bytes()], |row| row.get(0))
        .optional()?
        .ok_or(LogError::NoSuchThread(thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    /// At every start, it walked along all threads to find that the backlog is empty.
    #[test]
    fn a_short_backlog_needs_no_walk_along_all_threads() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        for (lacks, table) in [(Lacking::Texts, "backlog"), (Lacking::Marks, "unmarked")] {
            let outer_loop = || {
                let statement = backlog_statement(&connection, lacks).unwrap();
                let mut plan = connection
                    .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
                    .unwrap();
                plan.query_row([BEYOND], |row| row.get::<_, String>("detail"))
                    .unwrap()
            };
            assert_eq!(outer_loop(), format!("SCAN {table}"));
            connection
                .execute_batch(&format!(
                    "WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < {FEW})
                     INSERT INTO {table} (thread, done, until) SELECT n, 0, 1 FROM number"
                ))
                .unwrap();
            let walk = "SEARCH thread USING COVERING INDEX sqlite_autoindex_thread_1 (uuid<?)";
            assert_eq!(outer_loop(), walk);
        }
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
