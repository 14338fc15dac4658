//! A log in memory with delays and failures, which can end with its daemon.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use acpd_log::{
    Append, Backlog, BlobPart, Carried, Claim, EventLog, Filter, Lacking, ListCursor, ListedThread, LogError,
    LogFuture, Memory, Page, Search, SearchCursor, Snapshot, TurnsFound, TurnsWanted, Unused, UnusedPage,
    Usage,
};
use acpd_model::{BlobId, Event, Extract, Millis, SearchHit, Seq, Summary, ThreadId, TurnId};

use tokio::sync::watch;

use super::client::Truth;
use super::dice::Dice;

/// The log of one daemon process.
#[derive(Debug)]
pub struct SlowLog {
    truth: Truth,
    dice: Mutex<Dice>,
    /// The longest delay of a response in milliseconds.
    pub delay: AtomicU64,
    /// Countdowns to the next failure of an append and of a read; 0 means no failure.
    pub failing: [AtomicU32; 2],
    /// Number of appends so far.
    pub appends: AtomicU32,
    /// The thread whose events cannot be read for now.
    pub held: watch::Sender<Option<ThreadId>>,
    /// Whether the daemon was killed. The log then stores nothing and never responds.
    pub is_dead: AtomicBool,
}

impl SlowLog {
    /// Wraps the storage that survives the daemon.
    pub fn new(truth: Truth, dice: Dice) -> Self {
        Self {
            truth,
            dice: Mutex::new(dice),
            delay: AtomicU64::new(0),
            failing: Default::default(),
            appends: AtomicU32::new(0),
            held: watch::Sender::new(None),
            is_dead: AtomicBool::new(false),
        }
    }

    /// Ends all delays and failures.
    pub fn heal(&self) {
        self.truth.memory.heal();
        self.delay.store(0, Ordering::Relaxed);
        for countdown in &self.failing {
            countdown.store(0, Ordering::Relaxed);
        }
    }

    /// Counts down, and returns whether this append or read fails.
    fn fails(&self, kind: usize) -> bool {
        let countdown = &self.failing[kind];
        let left = countdown.load(Ordering::Relaxed);
        countdown.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 1
    }

    /// Waits until nothing about this thread is held back.
    async fn released(&self, thread: ThreadId) {
        let mut held = self.held.subscribe();
        // The log outlives its readers.
        let _ = held.wait_for(|held| *held != Some(thread)).await;
    }

    /// Starts an operation unless the daemon is dead, and delays its result.
    fn call<'a, T: Send + 'a>(
        &'a self,
        begin: impl FnOnce(&'a Memory) -> LogFuture<'a, T>,
    ) -> LogFuture<'a, T> {
        if self.is_dead.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        let answer = begin(&self.truth.memory);
        let most = self.delay.load(Ordering::Relaxed);
        let millis = match most {
            0 => 0,
            most => self
                .dice
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .roll(most),
        };
        Box::pin(async move {
            if millis > 0 {
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
            let answer = answer.await;
            if self.is_dead.load(Ordering::Relaxed) {
                std::future::pending().await
            }
            answer
        })
    }
}

fn failed<T: Send + 'static>() -> LogFuture<'static, T> {
    let error = LogError::Storage("the simulated disk failed".to_owned());
    Box::pin(std::future::ready(Err(error)))
}

impl EventLog for SlowLog {
    fn store(&self, append: Append<'_>) -> LogFuture<'_, ()> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        if self.fails(0) {
            return self.call(|_| failed());
        }
        self.call(|memory| memory.store(append))
    }

    fn claim(&self, thread: ThreadId) -> LogFuture<'_, Claim> {
        self.call(|memory| memory.claim(thread))
    }

    fn read(&self, thread: ThreadId, after: Seq) -> LogFuture<'_, Page> {
        if self.fails(1) {
            return self.call(|_| failed());
        }
        if *self.held.borrow() == Some(thread) {
            return Box::pin(async move {
                self.released(thread).await;
                self.truth.memory.read(thread, after).await
            });
        }
        self.call(|memory| memory.read(thread, after))
    }

    fn events(&self, thread: ThreadId, seqs: Vec<Seq>) -> LogFuture<'_, Vec<Event>> {
        if self.fails(1) {
            return self.call(|_| failed());
        }
        self.call(|memory| memory.events(thread, seqs))
    }

    fn turns(&self, thread: ThreadId, wanted: TurnsWanted) -> LogFuture<'_, Option<TurnsFound>> {
        self.call(|memory| memory.turns(thread, wanted))
    }

    fn end_of_turns(&self, thread: ThreadId, last: Option<TurnId>) -> LogFuture<'_, Option<Seq>> {
        self.call(|memory| memory.end_of_turns(thread, last))
    }

    fn client_turn(&self, thread: ThreadId, id: String) -> LogFuture<'_, Option<TurnId>> {
        self.call(|memory| memory.client_turn(thread, id))
    }

    fn snapshot(&self, thread: ThreadId, until: Seq, format: u32) -> LogFuture<'_, Option<Snapshot>> {
        if *self.held.borrow() == Some(thread) {
            return Box::pin(async move {
                self.released(thread).await;
                self.truth.memory.snapshot(thread, until, format).await
            });
        }
        self.call(|memory| memory.snapshot(thread, until, format))
    }

    fn carried(&self, thread: ThreadId) -> LogFuture<'_, Carried> {
        self.call(|memory| memory.carried(thread))
    }

    fn last_seq(&self, thread: ThreadId) -> LogFuture<'_, Seq> {
        if *self.held.borrow() == Some(thread) {
            return Box::pin(async move {
                self.released(thread).await;
                self.truth.memory.last_seq(thread).await
            });
        }
        self.call(|memory| memory.last_seq(thread))
    }

    fn summary(&self, thread: ThreadId) -> LogFuture<'_, Summary> {
        self.call(|memory| memory.summary(thread))
    }

    fn list(
        &self,
        filter: Filter,
        cursor: Option<ListCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<ListedThread>> {
        self.call(|memory| memory.list(filter, cursor, limit))
    }

    fn directories(&self) -> LogFuture<'_, Vec<String>> {
        self.call(|memory| memory.directories())
    }

    fn search(
        &self,
        search: Search,
        cursor: Option<SearchCursor>,
        limit: usize,
    ) -> LogFuture<'_, Vec<(SearchCursor, SearchHit)>> {
        self.call(|memory| memory.search(search, cursor, limit))
    }

    fn backlog(&self, lacks: Lacking, before: Option<ThreadId>) -> LogFuture<'_, Option<Backlog>> {
        self.call(|memory| memory.backlog(lacks, before))
    }

    fn lacking_turns(&self, thread: ThreadId) -> LogFuture<'_, Option<Backlog>> {
        self.call(|memory| memory.lacking_turns(thread))
    }

    fn catch_up(
        &self,
        thread: ThreadId,
        lacks: Lacking,
        through: Seq,
        extract: &Extract,
        snapshot: Option<&Snapshot>,
    ) -> LogFuture<'_, ()> {
        self.call(|memory| memory.catch_up(thread, lacks, through, extract, snapshot))
    }

    fn delete(&self, thread: ThreadId) -> LogFuture<'_, ()> {
        if self.fails(0) {
            return self.call(|_| failed());
        }
        self.call(|memory| {
            if !memory.refuses_writes() {
                self.truth.delete(thread);
            }
            memory.delete(thread)
        })
    }

    fn put_blob(&self, thread: ThreadId, content: Vec<u8>) -> LogFuture<'_, BlobId> {
        self.call(|memory| memory.put_blob(thread, content))
    }

    fn blob_part(
        &self,
        of: Option<ThreadId>,
        id: BlobId,
        from: u64,
        most: usize,
    ) -> LogFuture<'_, Option<BlobPart>> {
        self.call(move |memory| memory.blob_part(of, id, from, most))
    }

    fn is_removed(&self, id: BlobId) -> LogFuture<'_, bool> {
        self.call(|memory| memory.is_removed(id))
    }

    fn unused(&self, wanted: Unused, limit: usize) -> LogFuture<'_, UnusedPage> {
        self.call(|memory| memory.unused(wanted, limit))
    }

    fn usage(&self) -> LogFuture<'_, Usage> {
        self.call(Memory::usage)
    }

    fn remove_blobs(&self, thread: ThreadId, before: Millis) -> LogFuture<'_, ()> {
        self.call(|memory| memory.remove_blobs(thread, before))
    }

    fn close(&self) -> LogFuture<'_, ()> {
        // Stored events survive the daemon.
        Box::pin(std::future::ready(Ok(())))
    }
}
