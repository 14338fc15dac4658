//! Where the rows of a thread are: its own, and those that it inherits from other threads.
//!
//! A fork shares the rows of its origin up to the fork. `prefix` names for each thread the rows of other threads that it
//! begins with, already resolved: the origin of an origin is an entry of its own. The rows of a deleted thread stay under
//! its number as long as a fork needs them.

use acpd_model::{Seq, ThreadId};
use rusqlite::{Connection, OptionalExtension};

use super::columns::seq;
use super::index;
use crate::LogError;

/// A run of a thread's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// The number under which the rows are stored.
    pub(super) row: i64,
    /// The last event of the segment.
    pub(super) until: Seq,
    /// Whether the rows are another thread's.
    pub(super) inherited: bool,
}

/// The segments of a thread, oldest first. The last one is its own.
#[derive(Debug)]
pub(super) struct Lineage(Vec<Segment>);

impl Lineage {
    /// Returns the segments of the thread with this id.
    pub(super) fn of(connection: &Connection, thread: ThreadId) -> Result<Self, LogError> {
        let row = connection
            .prepare_cached("SELECT id FROM thread WHERE uuid = ?")?
            .query_row([thread.0.as_bytes()], |row| row.get(0))
            .optional()?
            .ok_or(LogError::NoSuchThread(thread))?;
        Ok(Self::of_row(connection, row)?)
    }

    /// Returns the segments of the thread with this number.
    pub(super) fn of_row(connection: &Connection, row: i64) -> rusqlite::Result<Self> {
        let mut prefixes =
            connection.prepare_cached("SELECT source, until FROM prefix WHERE thread = ? ORDER BY until")?;
        let inherited = prefixes.query_map([row], |row| {
            let until: i64 = row.get(1)?;
            Ok(Segment {
                row: row.get(0)?,
                until: until.cast_unsigned(),
                inherited: true,
            })
        })?;
        let mut segments: Vec<Segment> = inherited.collect::<Result<_, _>>()?;
        segments.push(Segment {
            row,
            until: Seq::MAX,
            inherited: false,
        });
        Ok(Self(segments))
    }

    /// Returns the segments up to an event, newest first.
    pub(super) fn up_to(&self, until: Seq) -> Vec<Segment> {
        let before = |segment: &&Segment| segment.until < until;
        let full = self.0.iter().take_while(before).count();
        let mut segments: Vec<Segment> = self.0.iter().take(full + 1).copied().collect();
        if let Some(last) = segments.last_mut() {
            last.until = last.until.min(until);
        }
        segments.reverse();
        segments
    }

    /// Returns the segment that contains an event.
    pub(super) fn at(&self, seq: Seq) -> Option<Segment> {
        self.0.iter().find(|segment| segment.until >= seq).copied()
    }

    /// Returns all segments, oldest first.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns the number of the thread itself.
    pub(super) fn own(&self) -> i64 {
        self.0.last().map_or(0, |segment| segment.row)
    }
}

/// Returns the last event of the thread with this number, including inherited ones.
pub(super) fn last_seq(connection: &Connection, row: i64) -> Result<Seq, LogError> {
    connection
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(last_seq) FROM chunk WHERE thread = ?1), 0),
                        coalesce((SELECT max(until) FROM prefix WHERE thread = ?1), 0))",
        )?
        .query_row([row], |row| Ok(seq(row, 0)))?
}

/// Makes a new thread inherit the events of another one up to `until`.
pub(super) fn inherit(connection: &Connection, row: i64, from: i64, until: Seq) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO prefix (thread, until, source) VALUES (?, ?, ?)")?;
    for segment in Lineage::of_row(connection, from)?.up_to(until) {
        insert.execute((row, segment.until.cast_signed(), segment.row))?;
    }
    index::inherit(connection, row, from, until)
}

/// Prepares the lineage for the deletion of a thread. Deleted threads of which it needed rows are erased further, and forks
/// of it mark the turns that they inherit themselves if it has not done so.
pub(super) fn leave(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    for sql in [
        "INSERT INTO deleted_thread SELECT DISTINCT source FROM prefix
         WHERE thread = ? AND NOT EXISTS (SELECT 1 FROM thread WHERE id = source) ON CONFLICT DO NOTHING",
        "DELETE FROM prefix WHERE thread = ?",
        "INSERT INTO unmarked (thread, done, until)
             SELECT prefix.thread, 0, max(prefix.until) FROM prefix
             JOIN unmarked ON unmarked.thread = prefix.source WHERE prefix.source = ? GROUP BY prefix.thread
         ON CONFLICT DO NOTHING",
        "DELETE FROM unmarked WHERE thread = ?",
    ] {
        connection.prepare_cached(sql)?.execute([row])?;
    }
    Ok(())
}

/// Returns the last event under this number that a fork needs; 0 if none does.
pub(super) fn needed_until(connection: &Connection, row: i64) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(until), 0) FROM prefix WHERE source = ?")?
        .query_row([row], |row| row.get(0))
}
