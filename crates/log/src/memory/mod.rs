//! The reference backend: the same promises, in memory, for tests. It can inject failures and hold back results.
//!
//! A mutex guards it, although no other tasks in acpd share one. It is never held across an await, and no daemon runs
//! on this backend. Without an OS thread of its own, a test fully controls the order of effects.

mod index;
mod marks;
mod unused;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use acpd_model::limits::{BLOBS_REMOVED, LOG_LOOKUP_BYTES};
use acpd_model::{BlobId, Event, Extract, Inherited, Millis, SearchHit, Seq, Summary, ThreadId, TurnId};
use tokio::sync::oneshot;

use crate::chunk::{Chunk, RowSpan};
use crate::{
    Append, Backlog, BlobPart, Carried, Claim, EventLog, Filter, Lacking, ListCursor, ListedThread, LogError,
    LogFuture, Page, Search, SearchCursor, Snapshot, TurnsFound, TurnsWanted, Unused, UnusedPage, Usage,
    blob_id, chunk, turns,
};
use index::Index;
use marks::Marks;

/// A failure to inject. `after` counts the calls that still succeed before a failure that happens once; the others last
/// until [`Memory::heal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An append fails with [`LogError::Storage`] and stores nothing.
    FailAppend {
        /// Number of appends that succeed first.
        after: u32,
    },
    /// A [`read`](EventLog::read) fails with [`LogError::Storage`].
    FailRead {
        /// Number of reads that succeed first.
        after: u32,
    },
    /// An append is stored and its answer lost: it fails with [`LogError::UnknownOutcome`].
    LoseAnswer {
        /// Number of appends whose answers arrive first.
        after: u32,
    },
    /// The log cannot be reached: reads of events and writes fail with [`LogError::Unavailable`].
    Unreachable,
    /// The disk is full: writes fail.
    FullDisk,
    /// The data directory cannot be written.
    ReadOnly,
    /// Another program holds the database: writes fail.
    Busy,
    /// The disk fails: reads of events and writes fail.
    Io,
}

impl Fault {
    /// Returns the error of a failure that lasts.
    fn error(self) -> LogError {
        let words = match self {
            Self::Unreachable => return LogError::Unavailable("no answer from its host".to_owned()),
            Self::FailAppend { .. } | Self::FailRead { .. } | Self::LoseAnswer { .. } => "a test wants it so",
            Self::FullDisk => "database or disk is full",
            Self::ReadOnly => "attempt to write a readonly database",
            Self::Busy => "database is locked",
            Self::Io => "disk I/O error",
        };
        LogError::Storage(words.to_owned())
    }
}

/// An event log that is discarded with its last owner.
#[derive(Default)]
pub struct Memory {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    threads: BTreeMap<ThreadId, Thread>,
    blobs: HashMap<BlobId, Vec<u8>>,
    index: Index,
    failing_appends: Countdowns,
    lost_answers: Countdowns,
    failing_reads: Countdowns,
    /// The failure that lasts.
    lasting: Option<Fault>,
    /// `Some` while results are held back: the changes to apply on release, in order.
    held: Option<Vec<Change>>,
    closed: bool,
}

#[derive(Default)]
struct Thread {
    summary: Summary,
    /// Chunks by their last event number.
    chunks: BTreeMap<Seq, (Seq, Vec<u8>)>,
    marks: Marks,
    carried: Carried,
    /// The token of the newest claim.
    claimed: u64,
}

struct Batch {
    thread: ThreadId,
    after: Seq,
    chunks: Vec<Chunk>,
    summary: Option<Summary>,
    extract: Extract,
    snapshot: Option<Snapshot>,
    inherits: Option<Inherited>,
    cursor: Option<u64>,
    memo: Option<Vec<u8>>,
    claim: Claim,
}

impl Batch {
    fn new(append: &Append<'_>) -> Result<Self, LogError> {
        append.last()?;
        Ok(Self {
            thread: append.thread,
            after: append.after,
            chunks: chunk::encode(append.events)?,
            summary: append.summary.cloned(),
            extract: append.extract.clone(),
            snapshot: append.snapshot.cloned(),
            inherits: append.inherits,
            cursor: append.cursor,
            memo: append.memo.map(<[u8]>::to_vec),
            claim: append.claim,
        })
    }
}

/// A change that is applied immediately, or on release.
type Change = Box<dyn FnOnce(&mut State) + Send>;

impl Memory {
    /// Creates an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes one of the next calls fail, or all of a kind. Several faults that happen once can be pending.
    pub fn inject(&self, fault: Fault) {
        let mut state = self.state();
        match fault {
            Fault::FailAppend { after } => state.failing_appends.0.push(after),
            Fault::FailRead { after } => state.failing_reads.0.push(after),
            Fault::LoseAnswer { after } => state.lost_answers.0.push(after),
            lasting => state.lasting = Some(lasting),
        }
    }

    /// Returns whether a failure lasts.
    pub fn refuses_writes(&self) -> bool {
        self.state().lasting.is_some()
    }

    /// Ends the failure that lasts, and loses no more answers.
    pub fn heal(&self) {
        let mut state = self.state();
        state.lasting = None;
        state.lost_answers.0.clear();
    }

    /// Damages the row with an event, as a disk does that returns other bytes than it stored. Returns the first and the last
    /// event of the row, or `None` if there is no such row.
    pub fn damage(&self, thread: ThreadId, seq: Seq) -> Option<(Seq, Seq)> {
        let mut state = self.state();
        let mut rows = state.threads.get_mut(&thread)?.chunks.range_mut(seq..);
        let (last, (first, body)) = rows.next()?;
        *body.last_mut()? ^= 0x20;
        Some((*first, *last))
    }

    /// Holds back all following appends and [`close`](EventLog::close) until [`release`](Self::release): they neither
    /// take effect nor return. A test can thus detect code that acts before the result.
    pub fn hold(&self) {
        self.state().held.get_or_insert_default();
    }

    /// Applies the changes that were held back, in order, and returns their results.
    pub fn release(&self) {
        let mut state = self.state();
        for change in state.held.take().unwrap_or_default() {
            change(&mut state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(
        &self,
        change: impl FnOnce(&mut State) -> Result<(), LogError> + Send + 'static,
    ) -> LogFuture<'_, ()> {
        let (answer, answered) = oneshot::channel();
        let change = move |state: &mut State| {
            let done = match state.lasting {
                _ if state.closed => Err(LogError::Closed),
                Some(fault) => Err(fault.error()),
                None => change(state),
            };
            let _nobody_waits = answer.send(done);
        };
        let mut state = self.state();
        match &mut state.held {
            Some(held) => held.push(Box::new(change)),
            None => change(&mut state),
        }
        Box::pin(async { answered.await.unwrap_or(Err(LogError::Closed)) })
    }

    fn ask<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut State) -> Result<T, LogError>,
    ) -> LogFuture<'_, T> {
        let mut state = self.state();
        let found = if state.closed {
            Err(LogError::Closed)
        } else {
            query(&mut state)
        };
        Box::pin(std::future::ready(found))
    }
}

impl EventLog for Memory {
    fn store(&self, append: Append<'_>) -> LogFuture<'_, ()> {
        match Batch::new(&append) {
            Ok(batch) => self.change(move |state| state.append(batch)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// Always granted. Each claim is newer than the one before, as if another process had made that one.
    fn claim(&self, thread: ThreadId) -> LogFuture<'_, Claim> {
        self.ask(|state| {
            let held = state
                .threads
                .get_mut(&thread)
                .ok_or(LogError::NoSuchThread(thread))?;
            held.claimed += 1;
            Ok(Claim { token: held.claimed })
        })
    }

    fn read(&self, thread: ThreadId, after: Seq) -> LogFuture<'_, Page> {
        self.ask(|state| {
            state.may_read()?;
            let mut filling = chunk::ChunkBuilder::new(thread, after);
            for (last, (first, chunk)) in &state.thread(thread)?.chunks {
                if *last > after && !filling.add(RowSpan::own(*first, *last), chunk)? {
                    break;
                }
            }
            Ok(filling.finish())
        })
    }

    fn events(&self, thread: ThreadId, seqs: Vec<Seq>) -> LogFuture<'_, Vec<Event>> {
        self.ask(|state| {
            state.may_read()?;
            let held = state.thread(thread)?;
            let (mut found, mut room) = (Vec::new(), LOG_LOOKUP_BYTES);
            for seq in seqs {
                if room == 0 {
                    break;
                }
                let missing = || LogError::DamagedEvents {
                    thread,
                    first: seq,
                    last: seq,
                    reason: "they do not exist".to_owned(),
                };
                let (last, (first, chunk)) = held.chunks.range(seq..).next().ok_or_else(missing)?;
                let event = chunk::select(thread, RowSpan::own(*first, *last), chunk, &[seq])?;
                room = room.saturating_sub(event.iter().map(Event::weight).sum());
                found.extend(event);
            }
            Ok(found)
        })
    }

    fn turns(&self, thread: ThreadId, wanted: TurnsWanted) -> LogFuture<'_, Option<TurnsFound>> {
        self.ask(|state| {
            let Ok(found) = turns::find(&mut state.thread(thread)?.marks.rows(wanted.until), &wanted);
            Ok(Some(found))
        })
    }

    fn end_of_turns(&self, thread: ThreadId, last: Option<TurnId>) -> LogFuture<'_, Option<Seq>> {
        self.ask(|state| {
            let held = state.thread(thread)?;
            Ok(Some(held.marks.end_of_turns(last, held.last())))
        })
    }

    fn client_turn(&self, thread: ThreadId, id: String) -> LogFuture<'_, Option<TurnId>> {
        self.ask(|state| Ok(state.thread(thread)?.marks.client_turn(&id)))
    }

    fn snapshot(&self, thread: ThreadId, until: Seq, format: u32) -> LogFuture<'_, Option<Snapshot>> {
        self.ask(|state| Ok(state.thread(thread)?.marks.snapshot(until, format)))
    }

    fn carried(&self, thread: ThreadId) -> LogFuture<'_, Carried> {
        self.ask(|state| Ok(state.thread(thread)?.carried.clone()))
    }

    fn last_seq(&self, thread: ThreadId) -> LogFuture<'_, Seq> {
        self.ask(|state| state.thread(thread).map(Thread::last))
    }

    fn summary(&self, thread: ThreadId) -> LogFuture<'_, Summary> {
        self.ask(|state| state.thread(thread).map(|thread| thread.summary.clone()))
    }

    fn list(
        &self,
        filter: Filter,
        cursor: Option<ListCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<ListedThread>> {
        self.ask(|state| {
            let place = |listed: &ListedThread| (listed.summary.updated_at, listed.thread);
            let mut all: Vec<_> = state
                .threads
                .iter()
                .filter(|(thread, held)| filter.admits(**thread, &held.summary))
                .map(|(thread, held)| ListedThread {
                    thread: *thread,
                    summary: held.summary.clone(),
                })
                .filter(|listed| {
                    cursor.is_none_or(|cursor| place(listed) < (cursor.updated_at, cursor.thread))
                })
                .collect();
            all.sort_by_key(|listed| std::cmp::Reverse(place(listed)));
            all.truncate(limit);
            all.truncate(filter.fitting(&all));
            Ok(all)
        })
    }

    fn directories(&self) -> LogFuture<'_, Vec<String>> {
        self.ask(|state| {
            let all = state.threads.values().map(|held| held.summary.cwd.clone());
            let all: std::collections::BTreeSet<String> = all.collect();
            Ok(all.into_iter().collect())
        })
    }

    fn search(
        &self,
        search: Search,
        cursor: Option<SearchCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<(SearchCursor, SearchHit)>> {
        self.ask(|state| {
            let mut hits = state.index.search(&search, cursor, limit);
            for (_, hit) in &mut hits {
                hit.name.clone_from(&state.thread(hit.thread)?.summary.name);
            }
            Ok(hits)
        })
    }

    /// None: this backend copies everything that a thread inherits.
    fn backlog(&self, _: Lacking, _: Option<ThreadId>) -> LogFuture<'_, Option<Backlog>> {
        self.ask(|_| Ok(None))
    }

    fn lacking_turns(&self, thread: ThreadId) -> LogFuture<'_, Option<Backlog>> {
        self.ask(|state| state.thread(thread).map(|_| None))
    }

    fn catch_up(
        &self,
        thread: ThreadId,
        _: Lacking,
        _: Seq,
        _: &Extract,
        _: Option<&Snapshot>,
    ) -> LogFuture<'_, ()> {
        self.change(move |state| state.thread(thread).map(drop))
    }

    fn delete(&self, thread: ThreadId) -> LogFuture<'_, ()> {
        self.change(move |state| {
            state
                .threads
                .remove(&thread)
                .ok_or(LogError::NoSuchThread(thread))?;
            for blob in state.index.forget(thread) {
                state.blobs.remove(&blob);
            }
            Ok(())
        })
    }

    fn put_blob(&self, thread: ThreadId, content: Vec<u8>) -> LogFuture<'_, BlobId> {
        self.ask(|state| {
            state.lasting.map_or(Ok(()), |fault| Err(fault.error()))?;
            state.thread(thread)?;
            let id = blob_id(&content);
            state.blobs.insert(id, content);
            state.index.claim(thread, id);
            Ok(id)
        })
    }

    fn blob_part(
        &self,
        of: Option<ThreadId>,
        id: BlobId,
        from: u64,
        most: usize,
    ) -> LogFuture<'_, Option<BlobPart>> {
        self.ask(move |state| {
            let found = state.blobs.get(&id);
            let found = found.filter(|_| of.is_none_or(|thread| state.index.is_needed_by(id, thread)));
            Ok(found.map(|content| BlobPart {
                content: content[BlobPart::range(content.len(), from, most)].to_vec(),
                total: content.len() as u64,
            }))
        })
    }

    fn is_removed(&self, id: BlobId) -> LogFuture<'_, bool> {
        self.ask(|state| Ok(state.index.needs(id).next().is_some() && !state.blobs.contains_key(&id)))
    }

    fn unused(&self, wanted: Unused, limit: usize) -> LogFuture<'_, UnusedPage> {
        self.ask(|state| Ok(state.unused(&wanted, limit)))
    }

    fn usage(&self) -> LogFuture<'_, Usage> {
        self.ask(|state| Ok(state.usage()))
    }

    fn remove_blobs(&self, thread: ThreadId, before: Millis) -> LogFuture<'_, ()> {
        self.change(move |state| {
            state.thread(thread)?;
            for blob in state
                .removable(thread, before)
                .into_iter()
                .take(BLOBS_REMOVED as usize)
            {
                state.blobs.remove(&blob);
            }
            Ok(())
        })
    }

    fn close(&self) -> LogFuture<'_, ()> {
        self.change(|state| {
            state.closed = true;
            Ok(())
        })
    }
}

impl State {
    fn thread(&self, thread: ThreadId) -> Result<&Thread, LogError> {
        self.threads.get(&thread).ok_or(LogError::NoSuchThread(thread))
    }

    /// Returns the failure of a read of events, if there is one.
    fn may_read(&mut self) -> Result<(), LogError> {
        match self.lasting {
            Some(fault @ (Fault::Io | Fault::Unreachable)) => Err(fault.error()),
            _ if self.failing_reads.strike() => Err(injected()),
            _ => Ok(()),
        }
    }

    fn append(&mut self, batch: Batch) -> Result<(), LogError> {
        let Batch {
            thread,
            after: expected,
            ..
        } = batch;
        if self.failing_appends.strike() {
            return Err(injected());
        }
        let held = self.threads.get(&thread);
        if held.is_some_and(|held| held.claimed > batch.claim.token) {
            return Err(LogError::Fenced(thread));
        }
        let inherited = match batch.inherits {
            Some(inherits) if held.is_none() => Some(self.inherited(thread, inherits)?),
            _ => None,
        };
        let last = held.or(inherited.as_ref()).map_or(0, Thread::last);
        if last != expected {
            return Err(LogError::Conflict {
                thread,
                expected,
                last,
            });
        }
        if held.is_none() && batch.summary.is_none() {
            return Err(LogError::NoSuchThread(thread));
        }
        if inherited.is_some()
            && let Some(Inherited { from, until }) = batch.inherits
        {
            self.index.inherit(from, thread, until);
        }
        let held = self.threads.entry(thread).or_default();
        *held = inherited.unwrap_or_else(|| std::mem::take(held));
        let chunks = batch.chunks.into_iter();
        held.chunks
            .extend(chunks.map(|Chunk { first, last, body }| (last, (first, body))));
        held.summary = batch.summary.unwrap_or_else(|| std::mem::take(&mut held.summary));
        held.marks.add(batch.extract.marks.clone());
        if let Some(snapshot) = batch.snapshot {
            held.marks.add_snapshot(snapshot);
        }
        held.carried.cursor = batch.cursor.or(held.carried.cursor);
        if let Some(memo) = batch.memo {
            held.carried.memo = Some(memo).filter(|memo| !memo.is_empty());
        }
        self.index.add(thread, batch.extract);
        if self.lost_answers.strike() {
            return Err(LogError::UnknownOutcome("the connection was lost".to_owned()));
        }
        Ok(())
    }

    /// Returns a thread with the events of another one up to an event.
    fn inherited(&self, thread: ThreadId, inherits: Inherited) -> Result<Thread, LogError> {
        let Inherited { from, until } = inherits;
        let origin = self.thread(from)?;
        if origin.last() < until {
            return Err(LogError::NoSuchThread(from));
        }
        let mut copy = Thread {
            marks: origin.marks.up_to(until),
            ..Thread::default()
        };
        for (last, (first, chunk)) in origin.chunks.iter().filter(|(_, (first, _))| *first <= until) {
            let span = RowSpan {
                until,
                inherited: true,
                ..RowSpan::own(*first, *last)
            };
            let wanted: Vec<Seq> = (*first..=until.min(*last)).collect();
            for Chunk { first, last, body } in chunk::encode(&chunk::select(thread, span, chunk, &wanted)?)? {
                copy.chunks.insert(last, (first, body));
            }
        }
        Ok(copy)
    }
}

impl Thread {
    fn last(&self) -> Seq {
        self.chunks.last_key_value().map_or(0, |(last, _)| *last)
    }
}

/// Calls that still succeed, one count for each fault.
#[derive(Default)]
struct Countdowns(Vec<u32>);

impl Countdowns {
    /// Counts one call. Returns whether it must fail.
    fn strike(&mut self) -> bool {
        let due = self.0.iter().position(|left| *left == 0);
        if let Some(due) = due {
            self.0.swap_remove(due);
        }
        for left in &mut self.0 {
            *left = left.saturating_sub(1);
        }
        due.is_some()
    }
}

fn injected() -> LogError {
    LogError::Storage("a test wants it so".into())
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Memory")
            .field("threads", &state.threads.len())
            .field("blobs", &state.blobs.len())
            .field("held", &state.held.as_ref().map(Vec::len))
            .field("closed", &state.closed)
            .finish()
    }
}
