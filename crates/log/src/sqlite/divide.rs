//! Divides rows that are larger than this version writes. An older version stored what a thread received at once as one
//! row, and reading one of its events unpacks all of them.
//!
//! In: a row. Out: rows of bounded size with the same events, one for each step. Owns: the unpacked row while it is divided.
//! Never: makes an event unreadable. The large row stays until all of its events are in other rows, and a read takes the
//! first row that ends at its event or after it. So a step that is missing after a kill is taken later.
//!
//! In the last step, the large row is given to a thread that is deleted, which has it erased part by part.

use acpd_model::limits::LOG_ROW_BYTES;
use acpd_model::{Seq, ThreadId};
use rusqlite::{Connection, OptionalExtension};

use super::columns::seq;
use crate::LogError;
use crate::chunk::Chunk;
use crate::chunk::large::{RecordsOfRow, unpacked_bytes};

/// A large row, unpacked.
#[derive(Debug)]
pub(super) struct LargeRow {
    place: RowLocation,
    records: RecordsOfRow,
}

/// Where a large row is.
#[derive(Debug, Clone, Copy)]
struct RowLocation {
    thread: ThreadId,
    /// The thread's number.
    number: i64,
    row: i64,
    last: Seq,
}

/// One step: the next events of a large row.
#[derive(Debug)]
pub(super) struct Part {
    place: RowLocation,
    chunk: Chunk,
}

impl Part {
    /// Returns about how many bytes the part holds.
    pub(super) fn bytes(&self) -> usize {
        self.chunk.body.len()
    }

    pub(super) fn thread(&self) -> ThreadId {
        self.place.thread
    }

    /// Returns whether the large row is erased after this step.
    pub(super) fn is_last(&self) -> bool {
        self.chunk.last == self.place.last
    }

    pub(super) fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    pub(super) fn number(&self) -> i64 {
        self.place.number
    }
}

/// Returns the row of a thread's own events that has the event after `after`, if it is to be divided. A damaged row stays as
/// it is.
pub(super) fn find(
    connection: &Connection,
    thread: ThreadId,
    after: Seq,
) -> Result<Option<LargeRow>, LogError> {
    let found = connection
        .prepare_cached(
            "SELECT first_seq, last_seq, body, chunk.rowid, thread FROM chunk
             WHERE thread = (SELECT id FROM thread WHERE uuid = ?) AND last_seq > ? ORDER BY last_seq LIMIT 1",
        )?
        .query_row((thread.0.as_bytes(), after.cast_signed()), |row| {
            let body = row.get_ref(2)?.as_blob()?;
            let (Ok(first), Ok(last)) = (seq(row, 0), seq(row, 1)) else {
                return Ok(None);
            };
            if first == last || unpacked_bytes(body) <= LOG_ROW_BYTES {
                return Ok(None);
            }
            let Some(records) = RecordsOfRow::after(first, last, body, after) else {
                return Ok(None);
            };
            let place = RowLocation {
                thread,
                number: row.get(4)?,
                row: row.get(3)?,
                last,
            };
            Ok(Some(LargeRow { place, records }))
        })
        .optional()?;
    Ok(found.flatten())
}

impl LargeRow {
    /// Returns the next events, in a row of bounded size or alone.
    pub(super) fn next_part(&mut self) -> Option<Part> {
        let chunk = self.records.next_chunk()?;
        let place = self.place;
        Some(Part { place, chunk })
    }
}

/// Prepares a step: checks that the large row still exists, and gives it up in the last step.
pub(super) fn prepare(connection: &Connection, part: &Part) -> rusqlite::Result<Result<(), LogError>> {
    let RowLocation {
        thread,
        number,
        row,
        last,
    } = part.place;
    let exists: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM chunk JOIN thread ON thread.id = chunk.thread
                            WHERE chunk.rowid = ? AND thread = ? AND last_seq = ? AND uuid = ?)",
        )?
        .query_row((row, number, last.cast_signed(), thread.0.as_bytes()), |row| {
            row.get(0)
        })?;
    if !exists {
        return Ok(Err(LogError::NoSuchThread(thread)));
    }
    if part.is_last() {
        let erased = erased_number(number);
        connection
            .prepare_cached("UPDATE chunk SET thread = ? WHERE rowid = ?")?
            .execute((erased, row))?;
        connection
            .prepare_cached("INSERT INTO deleted_thread VALUES (?) ON CONFLICT DO NOTHING")?
            .execute([erased])?;
    }
    Ok(Ok(()))
}

/// Returns the number of the deleted thread that has the divided rows of a thread.
///
/// `SQLite` stores it in as many bytes as the thread's, so that it writes only the page with the number. It stores 0 and 1
/// in none.
pub(super) fn erased_number(thread: i64) -> i64 {
    if thread == 1 { 0 } else { -thread }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use acpd_model::Event;
    use acpd_model::limits::LOG_CLOSE_WAL_BYTES;
    use tempfile::TempDir;

    use super::super::change::{Batch, Change};
    use super::super::cleanup::Cleaned;
    use super::super::store::Store;
    use super::super::{Durability, files, query};
    use super::*;
    use crate::chunk;
    use crate::conformance::sample;
    use crate::{Append, EventLog, Sqlite};

    /// Events of the large row. Its unpacked size is a few times that of a row.
    const EVENTS: u64 = 60;

    fn events() -> Vec<Event> {
        sample::run(1..=EVENTS, LOG_ROW_BYTES / 12)
    }

    fn store(path: &Path) -> Store {
        Store::new(files::writer(path, Durability::Process).unwrap())
    }

    fn change(store: &mut Store, change: Change) -> Result<(), LogError> {
        store.store([change].iter()).unwrap().remove(0)
    }

    fn append(store: &mut Store, thread: ThreadId, events: &[Event]) {
        let summary = sample::summary("divided", 1);
        let append = Append {
            summary: Some(&summary),
            ..Append::new(thread, events)
        };
        change(store, Change::Append(Batch::new(&append).unwrap())).unwrap();
    }

    /// Creates a log whose thread with this number has one large row as an older version wrote it, and a row after it.
    fn log(number: i64) -> (TempDir, PathBuf, ThreadId) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        let thread = sample::thread(20);
        let mut store = store(&path);
        for other in 1..number.unsigned_abs() {
            append(&mut store, sample::thread(other), &sample::run(1..=1, 10));
        }
        append(&mut store, thread, &events());
        append(&mut store, thread, &sample::run(EVENTS + 1..=EVENTS + 1, 10));
        let records: Vec<u8> = chunk::encode(&events())
            .unwrap()
            .iter()
            .flat_map(|chunk| chunk.body[5..].to_vec())
            .collect();
        let body = [&[acpd_model::event::FORMAT][..], &records].concat();
        store
            .connection()
            .execute(
                "DELETE FROM chunk WHERE thread = ? AND last_seq <= ?",
                (number, EVENTS.cast_signed()),
            )
            .unwrap();
        store
            .connection()
            .execute(
                "INSERT INTO chunk VALUES (?, ?, 1, ?)",
                (number, EVENTS.cast_signed(), body),
            )
            .unwrap();
        store.close(LOG_CLOSE_WAL_BYTES).unwrap();
        (directory, path, thread)
    }

    /// Returns the unpacked sizes of the rows of a thread with this number.
    fn sizes(store: &Store, number: i64) -> Vec<usize> {
        let mut rows = store
            .connection()
            .prepare("SELECT body FROM chunk WHERE thread = ? ORDER BY last_seq")
            .unwrap();
        let sizes = rows.query_map([number], |row| Ok(unpacked_bytes(row.get_ref(0)?.as_blob()?)));
        sizes.unwrap().map(Result::unwrap).collect()
    }

    fn read(store: &Store, thread: ThreadId) -> Vec<Event> {
        let mut all: Vec<Event> = Vec::new();
        loop {
            let after = all.last().map_or(0, |event| event.seq);
            let page = query::page(store.connection(), thread, after).unwrap();
            all.extend(page.events);
            if page.at_end {
                return all;
            }
        }
    }

    fn assert_whole(store: &Store, thread: ThreadId) {
        let mut expected = events();
        expected.extend(sample::run(EVENTS + 1..=EVENTS + 1, 10));
        assert_eq!(read(store, thread), expected);
        for event in &expected {
            let found = query::events(store.connection(), thread, &[event.seq]).unwrap();
            assert_eq!(found, std::slice::from_ref(event));
        }
    }

    fn clean(store: &mut Store) {
        while store.clean().unwrap() != Cleaned::All {}
    }

    #[tokio::test]
    async fn a_large_row_of_an_older_version_is_divided() {
        let (_directory, path, thread) = log(2);
        let log = Sqlite::open(&path, Durability::Process).unwrap();
        log.divide_row(thread, 0).await.unwrap();
        log.divide_row(thread, 0).await.unwrap();
        log.divide_row(sample::thread(9), 0).await.unwrap();
        drop(log);
        let mut store = store(&path);
        clean(&mut store);
        assert_whole(&store, thread);
        let sizes = sizes(&store, 2);
        assert!(
            sizes.len() > 3 && sizes.iter().all(|bytes| *bytes <= LOG_ROW_BYTES),
            "{sizes:?}"
        );
        let left: i64 = store
            .connection()
            .query_row("SELECT count(*) FROM chunk WHERE thread < 1", (), |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(left, 0, "the large row is erased");
    }

    #[test]
    fn a_division_is_readable_after_each_step_and_continues_after_a_restart() {
        for number in [1, 2] {
            let (_directory, path, thread) = log(number);
            let mut done = 0;
            loop {
                let mut store = store(&path);
                let Some(mut large) = find(store.connection(), thread, done).unwrap() else {
                    break;
                };
                let part = large.next_part().unwrap();
                done = part.chunk.last;
                let before = wal_bytes(&path);
                change(&mut store, Change::Divide(part)).unwrap();
                let written = wal_bytes(&path) - before;
                assert!(
                    (1..2 * LOG_ROW_BYTES as u64).contains(&written),
                    "a step wrote {written} bytes"
                );
                assert_whole(&store, thread);
                clean(&mut store);
                assert_whole(&store, thread);
            }
            assert_eq!(done, EVENTS);
            let sizes = sizes(&store(&path), number);
            assert!(sizes.iter().all(|bytes| *bytes <= LOG_ROW_BYTES), "{sizes:?}");
        }
    }

    fn wal_bytes(path: &Path) -> u64 {
        std::fs::metadata(path.with_file_name("log.db-wal")).map_or(0, |found| found.len())
    }

    /// Both the large row and the new rows have the events up to the fork.
    #[test]
    fn a_thread_that_is_partly_divided_can_be_deleted_and_forked() {
        for until in [3, 20, EVENTS - 1] {
            let (_directory, path, thread) = log(2);
            let mut store = store(&path);
            let fork = sample::thread(3);
            let next = sample::run(until + 1..=until + 1, 10);
            let summary = sample::summary("fork", 1);
            let append = Append {
                summary: Some(&summary),
                inherits: Some(acpd_model::Inherited { from: thread, until }),
                ..Append::new(fork, &next)
            };
            change(&mut store, Change::Append(Batch::new(&append).unwrap())).unwrap();
            let mut large = find(store.connection(), thread, 0).unwrap().unwrap();
            for _ in 0..3 {
                let part = large.next_part().unwrap();
                change(&mut store, Change::Divide(part)).unwrap();
            }
            change(&mut store, Change::Delete(thread)).unwrap();
            let part = large.next_part().unwrap();
            assert_eq!(
                change(&mut store, Change::Divide(part)),
                Err(LogError::NoSuchThread(thread))
            );
            clean(&mut store);
            let seqs: Vec<Seq> = read(&store, fork).iter().map(|event| event.seq).collect();
            assert_eq!(seqs, (1..=until + 1).collect::<Vec<_>>());
            change(&mut store, Change::Delete(fork)).unwrap();
            clean(&mut store);
            assert!(sizes(&store, 2).is_empty());
        }
    }
}
