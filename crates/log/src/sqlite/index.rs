//! Data stored beside events: searchable texts, and which threads need which blob. All functions run inside the
//! transaction of their caller.
use acpd_model::{BlobId, Extract, Seq, TextKind, TurnsDropped};
use rusqlite::{Connection, OptionalExtension};

use super::divide;
use crate::search::{bounded, joined, places};

/// Words that the log removes from the full-text index in one step.
const LOG_ERASE_WORDS: usize = 32;
/// Words whose erasure costs about as much as that of an entry without words.
const ENTRY_WORDS: usize = 8;

/// Data to store, ready to be written. The caller's task, not the writer, pays for splitting the words.
#[derive(Debug)]
pub(super) struct Entries {
    texts: Vec<Entry>,
    blobs: Vec<BlobId>,
    dropped: Vec<TurnsDropped>,
}

#[derive(Debug)]
struct Entry {
    places: std::ops::Range<i64>,
    seq: Seq,
    turn: Option<u32>,
    item: Option<u32>,
    kind: TextKind,
    text: String,
    words: String,
}

impl Entries {
    pub(super) fn new(extract: &Extract) -> Self {
        let texts = extract.texts.iter().map(|found| {
            let text = bounded(&found.text);
            Entry {
                places: places(found.at),
                seq: found.seq,
                turn: found.turn.map(|turn| turn.0),
                item: found.item.map(|item| item.0),
                kind: found.kind,
                text: text.to_owned(),
                words: joined(text),
            }
        });
        Self {
            texts: texts.filter(|entry| !entry.words.is_empty()).collect(),
            blobs: extract.blobs.clone(),
            dropped: extract.dropped.clone(),
        }
    }

    /// Returns whether turns were dropped, whose texts are to be erased.
    pub(super) fn drops_turns(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// Returns the bytes of the texts and of their words.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.texts.iter();
        texts.map(|entry| entry.text.len() + entry.words.len()).sum()
    }
}

/// Stores the entries of events after `after` for the thread of this row.
pub(super) fn add(connection: &Connection, row: i64, after: Seq, entries: &Entries) -> rusqlite::Result<()> {
    for entry in &entries.texts {
        let last: Option<i64> = connection
            .prepare_cached("SELECT max(place) FROM entry WHERE place >= ? AND place < ?")?
            .query_row((entry.places.start, entry.places.end), |row| row.get(0))?;
        let place = last.map_or(entry.places.start, |last| last + 1);
        if !entry.places.contains(&place) {
            // The position is full: a million texts of one millisecond are already indexed.
            continue;
        }
        connection
            .prepare_cached(
                "INSERT INTO entry (place, thread, seq, turn, item, kind, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute((
                place,
                row,
                entry.seq.cast_signed(),
                entry.turn,
                entry.item,
                entry.kind.name(),
                &entry.text,
            ))?;
        connection
            .prepare_cached("INSERT INTO word (rowid, words, scope) VALUES (?, ?, ?)")?
            .execute((place, &entry.words, row.to_string()))?;
    }
    for blob in &entries.blobs {
        claim(connection, row, after, *blob)?;
    }
    for dropped in &entries.dropped {
        drop_turns(connection, row, *dropped)?;
    }
    Ok(())
}

/// Removes the texts of dropped turns and of the events between them. They become those of a deleted thread, which no search
/// finds and which is erased in steps: removing words takes long, and there may be a million.
fn drop_turns(connection: &Connection, row: i64, dropped: TurnsDropped) -> rusqlite::Result<()> {
    const THESE: &str = "thread = ?1 AND seq < ?2 AND (turn > ?3 OR (turn IS NULL AND seq >= ?4))";
    let TurnsDropped { seq, last_kept } = dropped;
    let (seq, kept) = (seq.cast_signed(), last_kept.map_or(0, |turn| turn.0));
    let first: Option<i64> = connection
        .prepare_cached("SELECT min(seq) FROM entry WHERE thread = ? AND seq < ? AND turn > ?")?
        .query_row((row, seq, kept), |row| row.get(0))?;
    let Some(first) = first else { return Ok(()) };
    let erased = divide::erased_number(row);
    connection
        .prepare_cached(&format!("UPDATE entry SET thread = ?5 WHERE {THESE}"))?
        .execute((row, seq, kept, first, erased))?;
    connection
        .prepare_cached("INSERT INTO deleted_thread VALUES (?) ON CONFLICT DO NOTHING")?
        .execute([erased])?;
    Ok(())
}

/// Records that events after `after` of the thread of this row need a blob.
pub(super) fn claim(connection: &Connection, row: i64, after: Seq, blob: BlobId) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO blob_thread (hash, thread, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        )?
        .execute((blob.0, row, after.cast_signed()))?;
    Ok(())
}

/// Makes a thread need the blobs of the events up to `until` that it inherits. Their texts are indexed later: there may be
/// a million of them.
pub(super) fn inherit(connection: &Connection, row: i64, from: i64, until: Seq) -> rusqlite::Result<()> {
    let until = until.cast_signed();
    connection
        .prepare_cached(
            "INSERT INTO blob_thread (hash, thread, seq)
                 SELECT hash, ?1, seq FROM blob_thread WHERE thread = ?2 AND seq < ?3",
        )?
        .execute((row, from, until))?;
    connection
        .prepare_cached(
            "INSERT INTO backlog (thread, done, until, knows_blobs)
             VALUES (?1, 0, ?3, NOT EXISTS (SELECT 1 FROM backlog WHERE thread = ?2 AND NOT knows_blobs))",
        )?
        .execute((row, from, until))?;
    Ok(())
}

/// Stores the texts of a thread's events up to `through`, if the backlog still includes them.
pub(super) fn catch_up(
    connection: &Connection,
    row: i64,
    through: Seq,
    entries: &Entries,
) -> rusqlite::Result<()> {
    let through = through.cast_signed();
    let due = connection
        .prepare_cached("UPDATE backlog SET done = ?1 WHERE thread = ?2 AND done < ?1")?
        .execute((through, row))?;
    if due == 0 {
        return Ok(());
    }
    add(connection, row, 0, entries)?;
    let finished = connection
        .prepare_cached("DELETE FROM backlog WHERE thread = ? AND done >= until")?
        .execute([row])?;
    if finished > 0 {
        end_backlog(connection)
    } else {
        Ok(())
    }
}

/// Returns whether data beside the events of any thread is missing.
pub(super) fn is_anything_due(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM backlog) OR EXISTS (SELECT 1 FROM unmarked)")?
        .query_row((), |row| row.get(0))
}

/// Removes a deleted thread from the backlog.
pub(super) fn leave_backlog(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    let left = connection
        .prepare_cached("DELETE FROM backlog WHERE thread = ?")?
        .execute([row])?;
    if left > 0 { end_backlog(connection) } else { Ok(()) }
}

/// Has unclaimed blobs looked for if the backlog is empty. From then on, the needs of every thread are known.
fn end_backlog(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO blob_sweep SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM backlog WHERE NOT knows_blobs)
             ON CONFLICT DO NOTHING",
        )?
        .execute(())?;
    Ok(())
}

/// Erases texts of a deleted thread, up to [`LOG_ERASE_WORDS`] words of them. Returns whether there were any.
pub(super) fn erase_texts(connection: &Connection, row: i64) -> rusqlite::Result<bool> {
    let (mut room, mut some) = (LOG_ERASE_WORDS, false);
    while room > 0 {
        let place: Option<i64> = connection
            .prepare_cached("SELECT place FROM entry WHERE thread = ? LIMIT 1")?
            .query_row([row], |row| row.get(0))
            .optional()?;
        let Some(place) = place else { break };
        let words = erase_words(connection, place, room)?;
        room = room.saturating_sub(words.max(ENTRY_WORDS));
        some = true;
    }
    Ok(some)
}

/// Erases the entry at a place if it has at most `most` words, else that many of its words. Returns how many.
///
/// FTS5 removes the words that it finds in its table of contents, as it does for tables whose content is elsewhere. So a
/// part of the words is removed by giving it only that part.
fn erase_words(connection: &Connection, place: i64, most: usize) -> rusqlite::Result<usize> {
    let content: Option<(String, String)> = connection
        .prepare_cached("SELECT c0, c1 FROM word_content WHERE id = ?")?
        .query_row([place], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let rest = content
        .as_ref()
        .and_then(|(words, scope)| Some((words, words.match_indices(' ').nth(most - 1)?.0, scope)));
    let Some((words, end, scope)) = rest else {
        for sql in [
            "DELETE FROM word WHERE rowid = ?",
            "DELETE FROM entry WHERE place = ?",
        ] {
            connection.prepare_cached(sql)?.execute([place])?;
        }
        return Ok(content.map_or(0, |(words, _)| words.matches(' ').count() + 1));
    };
    let mut replace = connection.prepare_cached("UPDATE word_content SET c0 = ?, c1 = ? WHERE id = ?")?;
    replace.execute((&words[..end], "", place))?;
    connection
        .prepare_cached("DELETE FROM word WHERE rowid = ?")?
        .execute([place])?;
    connection
        .prepare_cached("INSERT INTO word (rowid, words, scope) VALUES (?, '', '')")?
        .execute([place])?;
    replace.execute((&words[end + 1..], scope, place))?;
    Ok(most)
}
