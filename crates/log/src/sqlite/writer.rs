//! The single writing thread. Appends that wait together are stored together, since one commit costs the same for one
//! append and for many, but a large one alone, so that it delays no small one. While none waits, deleted data is erased, step by step.

use std::fs::File;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use acpd_model::limits::{LOG_CLOSE_MILLIS, LOG_CLOSE_WAL_BYTES, LOG_GROUP, LOG_GROUP_BYTES};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::change::Change;
use super::cleanup::Cleaned;
use super::fair::FairQueue;
use super::reader::Reader;
use super::store::{Store, StoreError};
use crate::LogError;
use crate::stats::Counters;

/// Commits after which the log takes one step although more commits are waiting.
const LOG_ERASE_COMMITS: u32 = 32;
/// Commits after which the log tries a failed step again.
const LOG_ERASE_RETRY: u32 = 1024;
/// Attempts to empty a write-ahead log that is being read, before commits are waited for.
const ATTEMPTS: u32 = 200;

/// A job for the writer, with the channel for its result.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) answer: oneshot::Sender<Result<(), LogError>>,
    /// The job's share of the bytes that may be queued, returned when the job is done.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(super) enum Work {
    Store(Change),
    Close,
}

impl Work {
    /// Returns about how many bytes the job holds until it is done.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Store(change) => change.bytes(),
            Self::Close => 0,
        }
    }
}

/// A change, the channel for its result, and its share of the bytes that may be queued.
type Waiting = (
    Change,
    oneshot::Sender<Result<(), LogError>>,
    Option<OwnedSemaphorePermit>,
);

/// Stores queued jobs until it is closed or all senders are dropped. The writer ends last: when `close` returns, all
/// files are closed and unlocked.
pub(super) fn run(
    mut store: Store,
    mut queue: mpsc::Receiver<Job>,
    readers: Vec<Reader>,
    lock: File,
    counters: &Counters,
) {
    store.release_copies();
    let mut erasing = Erasing::new();
    let mut jobs = Jobs::default();
    while jobs.closing.is_none() || !jobs.waiting.is_empty() {
        match receive(&mut queue, &mut jobs, erasing.is_due()) {
            Received::Jobs => {}
            Received::Nothing => {
                erasing.step(&mut store, counters);
                continue;
            }
            Received::End => break,
        }
        let group = jobs.next_group();
        erasing.before_commit(&group, counters);
        commit(&mut store, group, counters);
        if erasing.is_overdue() {
            erasing.step(&mut store, counters);
        }
    }

    drop(queue);
    readers.into_iter().for_each(Reader::stop);
    let begun = Instant::now();
    let most = Duration::from_millis(LOG_CLOSE_MILLIS);
    erasing.finish(&mut store, counters, || begun.elapsed() < most);
    if let Err(error) = store.close(LOG_CLOSE_WAL_BYTES) {
        tracing::warn!(%error, "the write-ahead log stays as it is; the next start takes it over");
    }
    drop(lock);
    if let Some(answer) = jobs.closing {
        let _nobody_waits = answer.send(Ok(()));
    }
}

/// The jobs that the writer has received.
#[derive(Default)]
struct Jobs {
    waiting: FairQueue<Waiting>,
    /// Receives the result of closing, which comes after all jobs before it. No job is received after it.
    closing: Option<oneshot::Sender<Result<(), LogError>>>,
}

impl Jobs {
    fn add(&mut self, Job { work, answer, room }: Job) {
        match work {
            Work::Close => self.closing = Some(answer),
            Work::Store(change) => {
                let (thread, bytes) = (change.thread(), change.bytes());
                self.waiting.push(thread, bytes, (change, answer, room));
            }
        }
    }

    /// Takes the changes of the next commit. One that is larger than a commit comes alone.
    fn next_group(&mut self) -> Vec<Waiting> {
        let mut group = Vec::with_capacity(self.waiting.len());
        let mut room = usize::MAX;
        while let Some((bytes, change)) = self.waiting.pop_within(room) {
            group.push(change);
            room = room.min(LOG_GROUP_BYTES).saturating_sub(bytes);
            if room == 0 {
                break;
            }
        }
        group
    }
}

/// What `receive` found.
enum Received {
    Jobs,
    Nothing,
    End,
}

/// Takes the waiting jobs. If none waits, returns if there is other work, else waits for one.
fn receive(queue: &mut mpsc::Receiver<Job>, jobs: &mut Jobs, other_work: bool) -> Received {
    if jobs.waiting.is_empty() && !other_work {
        match queue.blocking_recv() {
            Some(job) => jobs.add(job),
            None => return Received::End,
        }
    }
    while jobs.closing.is_none() && jobs.waiting.len() < LOG_GROUP {
        match queue.try_recv() {
            Ok(job) => jobs.add(job),
            Err(_) if !jobs.waiting.is_empty() => break,
            Err(TryRecvError::Empty) => return Received::Nothing,
            Err(TryRecvError::Disconnected) => return Received::End,
        }
    }
    Received::Jobs
}

/// When steps of erasing are taken.
#[derive(Debug)]
struct Erasing {
    /// Whether there may be something to erase. An earlier process may have left something.
    some: bool,
    /// Commits before the next step that is taken although jobs wait.
    commits: u32,
    /// Whether a step failed. Until `commits` is 0, no other is taken.
    failed: bool,
    /// Steps in a row that found the write-ahead log being read.
    busy: u32,
}

impl Erasing {
    fn new() -> Self {
        Self {
            some: true,
            commits: LOG_ERASE_COMMITS,
            failed: false,
            busy: 0,
        }
    }

    /// Whether a step is taken if no job waits.
    fn is_due(&self) -> bool {
        self.some && !self.failed
    }

    /// Whether a step is taken although jobs wait.
    fn is_overdue(&self) -> bool {
        self.some && self.commits == 0
    }

    fn before_commit(&mut self, group: &[Waiting], counters: &Counters) {
        self.commits = self.commits.saturating_sub(1);
        // The end of a backlog also leaves blobs to erase, and dropped turns leave their texts.
        let erases = |(change, ..): &Waiting| match change {
            Change::Delete(_) | Change::CatchUp { .. } | Change::RemoveBlobs { .. } => true,
            Change::Divide(part) => part.is_last(),
            Change::Append(batch) => batch.drops_turns(),
            Change::Blob { .. } => false,
        };
        if group.iter().any(erases) {
            self.some = true;
            counters.erasing.store(true, Ordering::Relaxed);
        }
    }

    fn step(&mut self, store: &mut Store, counters: &Counters) {
        (self.commits, self.failed) = (LOG_ERASE_COMMITS, false);
        match store.clean() {
            Ok(Cleaned::Some) => self.busy = 0,
            Ok(Cleaned::Busy) => {
                self.busy += 1;
                if self.busy >= ATTEMPTS {
                    tracing::warn!("the write-ahead log keeps deleted data while it is being read");
                    self.pause();
                }
            }
            Ok(cleaned @ (Cleaned::Erased | Cleaned::All)) => {
                (self.some, self.busy) = (cleaned != Cleaned::All, 0);
                counters.erasing.store(false, Ordering::Relaxed);
            }
            Err(error) => {
                tracing::warn!(%error, "deleted data is not erased; the log will try again");
                self.pause();
            }
        }
    }

    fn pause(&mut self) {
        (self.commits, self.failed, self.busy) = (LOG_ERASE_RETRY, true, 0);
    }

    /// Takes steps while `may_continue`, until no deleted data is left or a step fails.
    fn finish(&mut self, store: &mut Store, counters: &Counters, may_continue: impl Fn() -> bool) {
        let erasing = || counters.erasing.load(Ordering::Relaxed);
        self.failed = false;
        while self.is_due() && erasing() && may_continue() {
            self.step(store, counters);
        }
        if erasing() {
            tracing::info!("deleted data is not erased yet; the next start continues");
        }
    }
}

/// Stores a group and sends the results. If a change fails, each change is retried alone, so that only the invalid ones
/// fail.
fn commit(store: &mut Store, group: Vec<Waiting>, counters: &Counters) {
    if group.is_empty() {
        return;
    }
    let begun = Instant::now();
    let stored = store.store(group.iter().map(|(change, ..)| change));
    if group
        .iter()
        .any(|(change, ..)| matches!(change, Change::CatchUp { .. }))
    {
        store.release_copies();
    }
    counters.commit_time.observe_time(begun.elapsed());
    let error = match stored {
        Ok(answers) => {
            counters.commit_changes.observe(group.len() as u64);
            for ((_, waiting, _), answer) in group.into_iter().zip(answers) {
                let _nobody_waits = waiting.send(answer);
            }
            return;
        }
        Err(StoreError::Change(_)) if group.len() > 1 => {
            for one in group {
                commit(store, vec![one], counters);
            }
            return;
        }
        Err(StoreError::Change(error) | StoreError::Transaction(error)) => error,
    };
    counters.failed_commits.fetch_add(1, Ordering::Relaxed);
    tracing::error!(%error, "the log did not store {} changes", group.len());
    for (_, waiting, _) in group {
        let _nobody_waits = waiting.send(Err(error.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rusqlite::Connection;

    use super::super::change::Batch;
    use super::*;
    use crate::Append;
    use crate::Durability;
    use crate::conformance::sample;
    use crate::sqlite::files;

    #[test]
    fn closing_takes_no_more_steps_than_it_may() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        let counters = Counters::default();
        let thread = sample::thread(1);
        let mut store = Store::new(files::writer(&path, Durability::Process).unwrap());
        let summary = sample::summary("closing", 1);
        for seq in 1..=1000 {
            let events = [sample::event(seq, 30)];
            let append = Append {
                summary: Some(&summary),
                ..Append::new(thread, &events)
            };
            let batch = Batch::new(&append).unwrap();
            store.store([Change::Append(batch)].iter()).unwrap();
        }
        store.store([Change::Delete(thread)].iter()).unwrap();

        let mut erasing = Erasing::new();
        let asked = Cell::new(0);
        erasing.finish(&mut store, &counters, || asked.replace(asked.get() + 1) < 3);
        assert_eq!(asked.get(), 4, "three steps were allowed");
        assert!(erasing.some && counters.erasing.load(Ordering::Relaxed));
        store.close(LOG_CLOSE_WAL_BYTES).unwrap();

        let mut store = Store::new(files::writer(&path, Durability::Process).unwrap());
        let mut erasing = Erasing::new();
        erasing.finish(&mut store, &counters, || true);
        assert!(!counters.erasing.load(Ordering::Relaxed));
    }

    #[test]
    fn a_failed_step_is_tried_again_after_many_commits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        let counters = Counters::default();
        let mut store = Store::new(files::writer(&path, Durability::Process).unwrap());
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch(
                "INSERT INTO deleted_blob VALUES (1);
                 CREATE TRIGGER refuse BEFORE DELETE ON deleted_blob BEGIN SELECT RAISE(ABORT, 'refused'); END",
            )
            .unwrap();
        let mut erasing = Erasing::new();
        erasing.step(&mut store, &counters);
        assert!(!erasing.is_due() && !erasing.is_overdue());
        other.execute_batch("DROP TRIGGER refuse").unwrap();
        for _ in 0..LOG_ERASE_RETRY {
            assert!(!erasing.is_overdue());
            erasing.before_commit(&[], &counters);
        }
        assert!(erasing.is_overdue());
        erasing.step(&mut store, &counters);
        assert!(erasing.is_due());
        erasing.step(&mut store, &counters);
        assert!(!erasing.is_due() && !erasing.is_overdue(), "everything is erased");
    }

    #[test]
    fn a_step_is_taken_after_some_commits_although_more_wait() {
        let counters = Counters::default();
        let mut erasing = Erasing::new();
        for _ in 0..LOG_ERASE_COMMITS {
            assert!(!erasing.is_overdue());
            erasing.before_commit(&[], &counters);
        }
        assert!(erasing.is_overdue());
    }
}
