//! The places of turns and items: how they are stored and found.

use acpd_model::{NotePlace, Seq, TurnId, TurnMark, TurnMarks, TurnStep};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::lineage::{Lineage, Segment};
use crate::turns::{ItemRow, TurnRow, TurnRows};

/// Stores places of the thread with this number.
pub(super) fn add(connection: &Connection, row: i64, marks: &TurnMarks) -> rusqlite::Result<()> {
    for TurnMark { turn, step, seq } in &marks.turns {
        let sql = match step {
            TurnStep::Queued => {
                "INSERT INTO turn (thread, turn, first_seq, queued) VALUES (?1, ?2, ?3, ?3)
                 ON CONFLICT DO UPDATE SET queued = ?3"
            }
            TurnStep::Started => {
                "INSERT INTO turn (thread, turn, first_seq, started) VALUES (?1, ?2, ?3, ?3)
                 ON CONFLICT DO UPDATE SET started = ?3"
            }
            TurnStep::Settled => {
                "INSERT INTO turn (thread, turn, first_seq, settled) VALUES (?1, ?2, ?3, ?3)
                 ON CONFLICT DO UPDATE SET settled = ?3"
            }
        };
        connection
            .prepare_cached(sql)?
            .execute((row, turn.0, seq.cast_signed()))?;
    }
    for item in &marks.items {
        connection
            .prepare_cached(
                "INSERT INTO item (thread, turn, item, first_seq, last_seq, bytes) VALUES (?, ?, ?, ?, ?, ?)
                 ON CONFLICT DO NOTHING",
            )?
            .execute((
                row,
                item.turn.map_or(0, |turn| turn.0),
                item.item.0,
                item.first.cast_signed(),
                item.last.cast_signed(),
                item.bytes.cast_signed(),
            ))?;
    }
    for late in &marks.late {
        connection
            .prepare_cached("INSERT INTO late (thread, item, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")?
            .execute((row, late.place.key(), late.seq.cast_signed()))?;
    }
    for (id, turn) in &marks.client_turns {
        connection
            .prepare_cached("INSERT OR REPLACE INTO client_turn (thread, id, turn) VALUES (?, ?, ?)")?
            .execute((row, id, turn.0))?;
    }
    Ok(())
}

/// Removes up to `most` places and some snapshots of events after `until`. Returns whether there were any.
pub(super) fn erase(connection: &Connection, row: i64, until: i64, most: u32) -> rusqlite::Result<bool> {
    for sql in [
        // A snapshot can be large.
        "DELETE FROM snapshot WHERE rowid IN
             (SELECT rowid FROM snapshot WHERE thread = ?1 AND seq > ?2 LIMIT max(?3 / 64, 1))",
        "DELETE FROM item WHERE (thread, turn, item) IN
             (SELECT thread, turn, item FROM item WHERE thread = ?1 AND first_seq > ?2
              ORDER BY turn DESC, item DESC LIMIT ?3)",
        "DELETE FROM late WHERE (thread, item, seq) IN
             (SELECT thread, item, seq FROM late WHERE thread = ?1 AND seq > ?2 LIMIT ?3)",
        // Before the turns, which tell what a fork needs.
        "DELETE FROM client_turn WHERE (thread, id) IN
             (SELECT thread, id FROM client_turn WHERE thread = ?1 AND turn >
                 (SELECT coalesce(max(turn), 0) FROM turn WHERE thread = ?1 AND first_seq <= ?2) LIMIT ?3)",
        "DELETE FROM turn WHERE (thread, turn) IN
             (SELECT thread, turn FROM turn WHERE thread = ?1 AND first_seq > ?2 LIMIT ?3)",
    ] {
        if connection.prepare_cached(sql)?.execute((row, until, most))? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the places of some turns of a thread are missing.
pub(super) fn are_missing(connection: &Connection, lineage: &Lineage) -> rusqlite::Result<bool> {
    let mut missing = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM unmarked WHERE thread = ?)")?;
    for segment in lineage.segments() {
        if missing.query_row([segment.row], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the last event by which all turns up to `last` have ended, or the event before the first turn.
pub(super) fn end_of_turns(
    connection: &Connection,
    lineage: &Lineage,
    last: Option<TurnId>,
    end: Seq,
) -> rusqlite::Result<Seq> {
    let mut found = None;
    for segment in lineage.up_to(Seq::MAX) {
        let until = segment.until.min(i64::MAX.cast_unsigned()).cast_signed();
        let here: Option<i64> = match last {
            Some(last) => connection
                .prepare_cached(
                    "SELECT max(settled) FROM turn WHERE thread = ? AND turn <= ? AND settled <= ?",
                )?
                .query_row((segment.row, last.0, until), |row| row.get(0))?,
            None => connection
                .prepare_cached("SELECT -min(first_seq) FROM turn WHERE thread = ? AND first_seq <= ?")?
                .query_row((segment.row, until), |row| row.get(0))?,
        };
        found = found.max(here);
    }
    Ok(match last {
        Some(_) => found.unwrap_or(0).cast_unsigned(),
        None => found.map_or(end, |first| first.unsigned_abs().saturating_sub(1)),
    })
}

/// Returns the turn to which a client gave this id.
pub(super) fn client_turn(
    connection: &Connection,
    lineage: &Lineage,
    id: &str,
) -> rusqlite::Result<Option<TurnId>> {
    let mut find =
        connection.prepare_cached("SELECT turn FROM client_turn WHERE thread = ? AND id = ? AND turn < ?")?;
    for (segment, end) in Rows::new(connection, lineage, Seq::MAX)?.segments {
        if let Some(turn) = find
            .query_row((segment.row, id, end), |row| row.get(0))
            .optional()?
        {
            return Ok(Some(TurnId(turn)));
        }
    }
    Ok(None)
}

/// The rows of a thread's turns and items up to an event.
pub(super) struct Rows<'c> {
    connection: &'c Connection,
    /// The segments, newest first, each with the number after its last turn.
    segments: Vec<(Segment, u32)>,
}

impl<'c> Rows<'c> {
    pub(super) fn new(connection: &'c Connection, lineage: &Lineage, until: Seq) -> rusqlite::Result<Self> {
        let mut last = connection.prepare_cached(
            "SELECT turn FROM turn WHERE thread = ? AND first_seq <= ? ORDER BY first_seq DESC LIMIT 1",
        )?;
        let segments = lineage.up_to(until.min(i64::MAX.cast_unsigned())).into_iter();
        let segments = segments.map(|segment| {
            let last: Option<u32> = last
                .query_row((segment.row, segment.until.cast_signed()), |row| row.get(0))
                .optional()?;
            Ok((segment, last.map_or(0, |last| last.saturating_add(1))))
        });
        Ok(Self {
            connection,
            segments: segments.collect::<rusqlite::Result<_>>()?,
        })
    }
}

/// Returns the number in a column, unless it is that of a later event than `until`.
fn up_to(row: &Row<'_>, column: usize, until: Seq) -> rusqlite::Result<Option<Seq>> {
    let seq: Option<i64> = row.get(column)?;
    Ok(seq.map(i64::cast_unsigned).filter(|seq| *seq <= until))
}

impl TurnRows for Rows<'_> {
    type Error = rusqlite::Error;

    fn turn_before(&mut self, before: u32) -> rusqlite::Result<Option<TurnRow>> {
        let mut last: Option<TurnRow> = None;
        for (segment, end) in &self.segments {
            let found = self
                .connection
                .prepare_cached(
                    "SELECT turn, queued, started, settled FROM turn
                     WHERE thread = ? AND turn < ? ORDER BY turn DESC LIMIT 1",
                )?
                .query_row((segment.row, before.min(*end)), |row| {
                    Ok(TurnRow {
                        turn: row.get(0)?,
                        queued: up_to(row, 1, segment.until)?,
                        started: up_to(row, 2, segment.until)?,
                        settled: up_to(row, 3, segment.until)?,
                    })
                })
                .optional()?;
            let Some(found) = found else { continue };
            match &mut last {
                Some(last) if last.turn == found.turn => {
                    last.queued = last.queued.or(found.queued);
                    last.started = last.started.or(found.started);
                    last.settled = last.settled.or(found.settled);
                }
                Some(last) if last.turn > found.turn => {}
                _ => last = Some(found),
            }
        }
        Ok(last)
    }

    fn items_before(
        &mut self,
        turn: u32,
        before: u32,
        take: &mut dyn FnMut(ItemRow) -> bool,
    ) -> rusqlite::Result<()> {
        let mut statements: Vec<CachedStatement<'_>> = self
            .segments
            .iter()
            .map(|_| {
                self.connection.prepare_cached(
                    "SELECT item, first_seq, last_seq, bytes FROM item
                     WHERE thread = ? AND turn = ? AND item < ? AND last_seq <= ? ORDER BY item DESC",
                )
            })
            .collect::<Result<_, _>>()?;
        let mut rows = Vec::with_capacity(statements.len());
        for (statement, (segment, _)) in statements.iter_mut().zip(&self.segments) {
            let until = segment.until.cast_signed();
            let mut rest = statement.query((segment.row, turn, before, until))?;
            let first = next_item(&mut rest)?;
            rows.push((first, rest));
        }
        while let Some(last) = rows
            .iter()
            .filter_map(|(next, _)| *next)
            .max_by_key(|row| row.item)
        {
            if !take(last) {
                break;
            }
            for (next, rest) in &mut rows {
                if next.is_some_and(|next| next.item == last.item) {
                    *next = next_item(rest)?;
                }
            }
        }
        Ok(())
    }

    fn late(&mut self, place: NotePlace) -> rusqlite::Result<Vec<Seq>> {
        let mut late = Vec::new();
        for (segment, _) in self.segments.iter().rev() {
            let mut find = self.connection.prepare_cached(
                "SELECT seq FROM late WHERE thread = ? AND item = ? AND seq <= ? ORDER BY seq",
            )?;
            let found = find.query_map((segment.row, place.key(), segment.until.cast_signed()), |row| {
                row.get::<_, i64>(0)
            })?;
            for seq in found {
                late.push(seq?.cast_unsigned());
            }
        }
        late.dedup();
        Ok(late)
    }
}

fn next_item(rows: &mut rusqlite::Rows<'_>) -> rusqlite::Result<Option<ItemRow>> {
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(Some(ItemRow {
        item: row.get(0)?,
        first: number(1)?,
        last: number(2)?,
        bytes: number(3)?,
    }))
}
