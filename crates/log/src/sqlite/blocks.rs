//! Packed rows: what lists filter and sort by, of 64 threads in one row. To read all of them takes some 40 ns for each
//! thread, so a list is bounded also where no index helps: for a part of a name, and for rare combinations of filters.
//!
//! A row has a version, the number of threads, [`HEAD`] bytes for each thread, and the names in lower case, each followed
//! by a byte that no text contains. Agents, directories and sessions are there as hashes: a thread that is found is
//! compared with its summary.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use acpd_model::event::TurnStatus;
use acpd_model::{IdPart, Millis, Summary, ThreadId, ThreadStatus};
use memchr::{memchr, memmem};
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::{Filter, ListCursor, LogError};

/// Threads of one row. Their numbers are consecutive.
const THREADS: i64 = 64;

/// First byte of each row.
const VERSION: u8 = 1;

// Where the parts of a thread are in its head. `SLOT` is its number in the row; the hashes have 4 bytes.
const SLOT: usize = 0;
const FLAGS: usize = 1;
const STATUS: usize = 2;
const LAST_TURN: usize = 3;
const AGENT: usize = 4;
const CWD: usize = 8;
const SESSION: usize = 12;
const UPDATED_AT: usize = 16;
const ID: usize = 24;

/// Bits of the flags. Rows of older versions have no pinned threads.
const ARCHIVED: u8 = 1;
const PINNED: u8 = 1 << 1;

/// Bytes of a thread before the names.
const HEAD: usize = ID + 16;

/// Follows each name. UTF-8 has no such byte.
const END_OF_NAME: u8 = 0xff;

/// Position of a thread in lists. Newer threads are greater.
pub(super) type ListPosition = (Millis, ThreadId);

/// One thread, ready to be stored.
#[derive(Debug)]
pub(super) struct Packed {
    /// All but the number in the row.
    head: [u8; HEAD],
    name: String,
}

impl Packed {
    pub(super) fn new(thread: ThreadId, summary: &Summary) -> Self {
        let mut head = [0; HEAD];
        head[FLAGS] = if summary.archived { ARCHIVED } else { 0 };
        if summary.pinned {
            head[FLAGS] |= PINNED;
        }
        head[STATUS] = status_code(summary.status);
        head[LAST_TURN] = summary.last_turn.map_or(0, turn_code);
        head[AGENT..CWD].copy_from_slice(&hash(&summary.agent));
        head[CWD..SESSION].copy_from_slice(&hash(&summary.cwd));
        let session = summary.session_id.as_deref().map(hash);
        head[SESSION..UPDATED_AT].copy_from_slice(&session.unwrap_or_default());
        head[UPDATED_AT..ID].copy_from_slice(&summary.updated_at.to_le_bytes());
        head[ID..].copy_from_slice(thread.0.as_bytes());
        Self {
            head,
            name: summary.name.as_deref().unwrap_or_default().to_lowercase(),
        }
    }
}

/// The stored form of a status.
fn status_code(status: ThreadStatus) -> u8 {
    match status {
        ThreadStatus::Idle => 0,
        ThreadStatus::Running => 1,
        ThreadStatus::Waiting => 2,
        ThreadStatus::Deleting => 3,
        ThreadStatus::Failed => 4,
    }
}

/// The stored form of a turn's status. 0 means no turn.
fn turn_code(status: TurnStatus) -> u8 {
    match status {
        TurnStatus::Completed => 1,
        TurnStatus::Interrupted => 2,
        TurnStatus::Failed => 3,
        TurnStatus::Refused => 4,
        TurnStatus::Limited => 5,
    }
}

fn hash(text: &str) -> [u8; 4] {
    crc32fast::hash(text.as_bytes()).to_le_bytes()
}

/// A row that is read.
struct Block<'a> {
    heads: &'a [[u8; HEAD]],
    names: &'a [u8],
}

impl<'a> Block<'a> {
    fn read(body: &'a [u8]) -> Result<Self, LogError> {
        let damaged = || LogError::Damaged("a packed row of threads cannot be read".into());
        let [VERSION, count, rest @ ..] = body else {
            return Err(damaged());
        };
        let (heads, names) = rest
            .split_at_checked(usize::from(*count) * HEAD)
            .ok_or_else(damaged)?;
        let (heads, _) = heads.as_chunks();
        Ok(Self { heads, names })
    }

    /// Returns each thread with its name.
    fn threads(&self) -> impl Iterator<Item = (&'a [u8; HEAD], &'a [u8])> {
        let mut rest = self.names;
        self.heads.iter().map(move |head| {
            let end = memchr(END_OF_NAME, rest).unwrap_or(rest.len());
            let name = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            (head, name)
        })
    }
}

/// A row that is written.
#[derive(Debug, Default)]
struct Filling {
    count: u8,
    heads: Vec<u8>,
    names: Vec<u8>,
}

impl Filling {
    fn add(&mut self, slot: u8, head: &[u8; HEAD], name: &[u8]) {
        self.count += 1;
        self.heads.push(slot);
        self.heads.extend(&head[1..]);
        self.names.extend(name);
        self.names.push(END_OF_NAME);
    }

    fn store(self, connection: &Connection, block: i64) -> rusqlite::Result<()> {
        if self.count == 0 {
            connection
                .prepare_cached("DELETE FROM thread_block WHERE block = ?")?
                .execute([block])?;
            return Ok(());
        }
        let body = [&[VERSION, self.count], &self.heads[..], &self.names].concat();
        connection
            .prepare_cached(
                "INSERT INTO thread_block (block, body) VALUES (?, ?)
                 ON CONFLICT DO UPDATE SET body = excluded.body WHERE body <> excluded.body",
            )?
            .execute((block, body))?;
        Ok(())
    }
}

/// Stores a thread under its row number.
pub(super) fn put(connection: &Connection, row: i64, packed: &Packed) -> rusqlite::Result<()> {
    change(connection, row, Some(packed))
}

/// Removes the thread of a row number.
pub(super) fn remove(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    change(connection, row, None)
}

fn change(connection: &Connection, row: i64, mut packed: Option<&Packed>) -> rusqlite::Result<()> {
    let (block, slot) = place_in_blocks(row);
    let old: Option<Vec<u8>> = connection
        .prepare_cached("SELECT body FROM thread_block WHERE block = ?")?
        .query_row([block], |row| row.get(0))
        .optional()?;
    let mut filling = Filling::default();
    if let Some(old) = old {
        let Ok(old) = Block::read(&old) else {
            tracing::error!(block, "a damaged row of the log's lists is made anew");
            return make(connection, block);
        };
        for (head, name) in old.threads() {
            if head[SLOT] >= slot
                && let Some(packed) = packed.take()
            {
                filling.add(slot, &packed.head, packed.name.as_bytes());
            }
            if head[SLOT] != slot {
                filling.add(head[SLOT], head, name);
            }
        }
    }
    if let Some(packed) = packed {
        filling.add(slot, &packed.head, packed.name.as_bytes());
    }
    filling.store(connection, block)
}

/// Returns the row of a thread, and the thread's number in it.
fn place_in_blocks(row: i64) -> (i64, u8) {
    let slot = row.rem_euclid(THREADS);
    (row.div_euclid(THREADS), u8::try_from(slot).unwrap_or_default())
}

/// Makes all rows from the summaries.
pub(super) fn make_all(connection: &Connection) -> rusqlite::Result<()> {
    let last: Option<i64> = connection.query_row("SELECT max(id) FROM thread", (), |row| row.get(0))?;
    for block in 0..=last.map_or(-1, |last| place_in_blocks(last).0) {
        make(connection, block)?;
    }
    Ok(())
}

/// Makes a row from the summaries of its threads.
fn make(connection: &Connection, block: i64) -> rusqlite::Result<()> {
    let mut threads = connection
        .prepare_cached("SELECT id, uuid, summary FROM thread WHERE id BETWEEN ?1 AND ?2 ORDER BY id")?;
    let first = block * THREADS;
    let mut rows = threads.query((first, first + THREADS - 1))?;
    let mut filling = Filling::default();
    while let Some(row) = rows.next()? {
        let thread = ThreadId(Uuid::from_bytes(row.get(1)?));
        match serde_json::from_str(row.get_ref(2)?.as_str()?) {
            Ok(summary) => {
                let packed = Packed::new(thread, &summary);
                let (_, slot) = place_in_blocks(row.get(0)?);
                filling.add(slot, &packed.head, packed.name.as_bytes());
            }
            Err(error) => tracing::error!(%thread, %error, "a thread with a damaged summary is in no list"),
        }
    }
    filling.store(connection, block)
}

/// A filter in the form of packed rows.
struct Wanted {
    archived: Option<bool>,
    pinned: Option<bool>,
    active: Option<bool>,
    status: Option<u8>,
    last_turn: Option<u8>,
    /// The hashes of the agent, the directory and the session, each where it is stored.
    hashes: [(usize, Option<[u8; 4]>); 3],
    id: Option<IdPart>,
    name: Option<memmem::Finder<'static>>,
    before: Option<ListPosition>,
}

impl Wanted {
    fn new(filter: &Filter, before: Option<ListCursor>) -> Self {
        let hash = |text: &Option<String>| text.as_deref().map(hash);
        let search = filter.search.as_deref().filter(|search| !search.is_empty());
        Self {
            archived: filter.archived,
            pinned: filter.pinned,
            active: filter.active,
            status: filter.status.map(status_code),
            last_turn: filter.last_turn.map(turn_code),
            hashes: [
                (AGENT, hash(&filter.agent)),
                (CWD, hash(&filter.cwd)),
                (SESSION, hash(&filter.session_id)),
            ],
            id: filter.id.clone(),
            name: search.map(|search| memmem::Finder::new(&search.to_lowercase()).into_owned()),
            before: before.map(|cursor| (cursor.updated_at, cursor.thread)),
        }
    }

    /// Returns whether a thread matches, but for its name.
    fn admits(&self, head: &[u8; HEAD]) -> bool {
        fn same<T: PartialEq + Copy>(wanted: Option<T>, is: T) -> bool {
            wanted.is_none_or(|wanted| wanted == is)
        }
        same(self.archived, head[FLAGS] & ARCHIVED != 0)
            && same(self.pinned, head[FLAGS] & PINNED != 0)
            && same(self.active, head[STATUS] != 0)
            && same(self.status, head[STATUS])
            && same(self.last_turn, head[LAST_TURN])
            && self
                .hashes
                .iter()
                .all(|(at, hash)| hash.is_none_or(|hash| head[*at..at + 4] == hash))
            && self.before.is_none_or(|before| place(head) < before)
            && self.id.as_ref().is_none_or(|part| part.matches(place(head).1))
    }
}

/// The newest of the threads that were found.
struct Newest {
    limit: usize,
    /// The oldest one is on top.
    found: BinaryHeap<Reverse<(ListPosition, i64)>>,
}

impl Newest {
    /// Returns whether a thread belongs to the page, unless its name does not match. Once the page is full, few threads
    /// are newer than its oldest one, because the newest rows come first.
    fn can_contain(&self, wanted: &Wanted, head: &[u8; HEAD]) -> bool {
        let oldest = self.found.peek();
        let has_room =
            self.found.len() < self.limit || oldest.is_some_and(|Reverse((oldest, _))| place(head) > *oldest);
        has_room && wanted.admits(head)
    }

    fn add(&mut self, first: i64, head: &[u8; HEAD]) {
        self.found
            .push(Reverse((place(head), first + i64::from(head[SLOT]))));
        if self.found.len() > self.limit {
            self.found.pop();
        }
    }

    /// Adds the threads of a row that match.
    fn add_block(&mut self, wanted: &Wanted, first: i64, block: &Block<'_>) {
        let mut heads = block.heads.iter();
        let Some(part) = &wanted.name else {
            heads.for_each(|head| {
                if self.can_contain(wanted, head) {
                    self.add(first, head);
                }
            });
            return;
        };
        // Names take longer to compare.
        if !heads.any(|head| self.can_contain(wanted, head)) || part.find(block.names).is_none() {
            return;
        }
        for (head, name) in block.threads() {
            if self.can_contain(wanted, head) && part.find(name).is_some() {
                self.add(first, head);
            }
        }
    }
}

/// Returns the position and the row number of the newest threads after a cursor that match a filter, newest first; and,
/// rarely, of others with the same hash. Reads all packed rows.
pub(super) fn newest(
    connection: &Connection,
    filter: &Filter,
    after: Option<ListCursor>,
    limit: usize,
) -> Result<Vec<(ListPosition, i64)>, LogError> {
    let wanted = Wanted::new(filter, after);
    let mut newest = Newest {
        limit,
        found: BinaryHeap::new(),
    };
    let mut blocks = connection.prepare_cached("SELECT block, body FROM thread_block ORDER BY block DESC")?;
    let mut rows = blocks.query(())?;
    while let Some(row) = rows.next()? {
        let first = row.get::<_, i64>(0)? * THREADS;
        let block = Block::read(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        newest.add_block(&wanted, first, &block);
    }
    // Reversed twice: the newest comes first.
    let found = newest.found.into_sorted_vec().into_iter();
    Ok(found.map(|Reverse(found)| found).collect())
}

fn place(head: &[u8; HEAD]) -> ListPosition {
    let (mut updated_at, mut id) = ([0; 8], [0; 16]);
    updated_at.copy_from_slice(&head[UPDATED_AT..ID]);
    id.copy_from_slice(&head[ID..]);
    (Millis::from_le_bytes(updated_at), ThreadId(Uuid::from_bytes(id)))
}
