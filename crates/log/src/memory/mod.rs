//! The reference backend: the same promises, in memory, for tests. It can inject failures and hold back results.
//!
//! A mutex guards it, although no other tasks in acpd share one. It is never held across an await, and no daemon runs
//! on this backend. Without an OS thread of its own, a test fully controls the order of effects.

mod index;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use acpd_model::{BlobId, Event, Extract, SearchHit, Seq, Summary, ThreadId};
use tokio::sync::oneshot;

use crate::chunk::Chunk;
use crate::{
    Answer, Backlog, EventLog, Filter, ListCursor, ListedThread, LogError, Page, Search, SearchCursor,
    blob_id, chunk,
};
use index::Index;

/// A failure to inject once. `after` counts the calls that still succeed before it.
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
    failing_reads: Countdowns,
    /// `Some` while results are held back: the changes to apply on release, in order.
    held: Option<Vec<Change>>,
    closed: bool,
}

struct Thread {
    summary: Summary,
    /// Chunks by their last event number.
    chunks: BTreeMap<Seq, (Seq, Vec<u8>)>,
}

struct Append {
    thread: ThreadId,
    seqs: RangeInclusive<Seq>,
    chunks: Vec<Chunk>,
    summary: Option<Summary>,
    extract: Extract,
}

/// A change that is applied immediately, or on release.
type Change = Box<dyn FnOnce(&mut State) + Send>;

impl Memory {
    /// Creates an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes one of the next calls fail. Several faults can be pending.
    pub fn inject(&self, fault: Fault) {
        let mut state = self.state();
        match fault {
            Fault::FailAppend { after } => state.failing_appends.0.push(after),
            Fault::FailRead { after } => state.failing_reads.0.push(after),
        }
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
    ) -> Answer<'_, ()> {
        let (answer, answered) = oneshot::channel();
        let change = move |state: &mut State| {
            let done = if state.closed {
                Err(LogError::Closed)
            } else {
                change(state)
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

    fn ask<T: Send + 'static>(&self, query: impl FnOnce(&mut State) -> Result<T, LogError>) -> Answer<'_, T> {
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
    fn append_with(
        &self,
        thread: ThreadId,
        events: &[Event],
        summary: Option<&Summary>,
        extract: &Extract,
    ) -> Answer<'_, ()> {
        let packed = chunk::seqs(events).and_then(|seqs| Ok((seqs, chunk::encode(events)?)));
        let (seqs, chunks) = match packed {
            Ok(packed) => packed,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let append = Append {
            thread,
            seqs,
            chunks,
            summary: summary.cloned(),
            extract: extract.clone(),
        };
        self.change(move |state| state.append(append))
    }

    fn read(&self, thread: ThreadId, after: Seq) -> Answer<'_, Page> {
        self.ask(|state| {
            if state.failing_reads.strike() {
                return Err(injected());
            }
            let mut filling = chunk::ChunkBuilder::new(thread, after);
            for (last, (first, chunk)) in &state.thread(thread)?.chunks {
                if *last > after && !filling.add(*first..=*last, chunk)? {
                    break;
                }
            }
            Ok(filling.finish())
        })
    }

    fn last_seq(&self, thread: ThreadId) -> Answer<'_, Seq> {
        self.ask(|state| state.thread(thread).map(Thread::last))
    }

    fn summary(&self, thread: ThreadId) -> Answer<'_, Summary> {
        self.ask(|state| state.thread(thread).map(|thread| thread.summary.clone()))
    }

    fn list(
        &self,
        filter: Filter,
        cursor: Option<ListCursor>,
        limit: usize,
    ) -> Answer<'_, Vec<ListedThread>> {
        self.ask(|state| {
            let place = |listed: &ListedThread| (listed.summary.updated_at, listed.thread);
            let mut all: Vec<_> = state
                .threads
                .iter()
                .filter(|(_, held)| filter.admits(&held.summary))
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
            Ok(all)
        })
    }

    fn search(
        &self,
        search: Search,
        cursor: Option<SearchCursor>,
        limit: usize,
    ) -> Answer<'_, Vec<(SearchCursor, SearchHit)>> {
        self.ask(|state| {
            let mut hits = state.index.search(&search, cursor, limit);
            for (_, hit) in &mut hits {
                hit.name.clone_from(&state.thread(hit.thread)?.summary.name);
            }
            Ok(hits)
        })
    }

    /// None: this backend never stores events without their texts.
    fn backlog(&self, _: Option<ThreadId>) -> Answer<'_, Option<Backlog>> {
        self.ask(|_| Ok(None))
    }

    fn index(&self, thread: ThreadId, _: Seq, _: &Extract) -> Answer<'_, ()> {
        self.change(move |state| state.thread(thread).map(drop))
    }

    fn delete(&self, thread: ThreadId) -> Answer<'_, ()> {
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

    fn put_blob(&self, thread: ThreadId, content: Vec<u8>) -> Answer<'_, BlobId> {
        self.ask(|state| {
            state.thread(thread)?;
            let id = blob_id(&content);
            state.blobs.insert(id, content);
            state.index.claim(thread, id);
            Ok(id)
        })
    }

    fn blob(&self, id: BlobId) -> Answer<'_, Option<Vec<u8>>> {
        self.ask(|state| Ok(state.blobs.get(&id).cloned()))
    }

    fn close(&self) -> Answer<'_, ()> {
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

    fn append(&mut self, append: Append) -> Result<(), LogError> {
        let Append {
            thread,
            seqs,
            chunks,
            summary,
            extract,
        } = append;
        if self.failing_appends.strike() {
            return Err(injected());
        }
        let expected = seqs.start() - 1;
        let last = self.threads.get(&thread).map_or(0, Thread::last);
        if last != expected {
            return Err(LogError::Conflict {
                thread,
                expected,
                last,
            });
        }
        let chunks = chunks.into_iter();
        let chunks = chunks.map(|Chunk { first, last, body }| (last, (first, body)));
        match (self.threads.get_mut(&thread), summary) {
            (Some(held), summary) => {
                held.chunks.extend(chunks);
                held.summary = summary.unwrap_or_else(|| std::mem::take(&mut held.summary));
            }
            (None, Some(summary)) => {
                let chunks = chunks.collect();
                self.threads.insert(thread, Thread { summary, chunks });
            }
            (None, None) => return Err(LogError::NoSuchThread(thread)),
        }
        self.index.add(thread, extract);
        Ok(())
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
