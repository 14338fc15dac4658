//! The single writing thread. Appends that wait together are stored together, since one commit costs the same for one
//! append and for many.

use std::fs::File;
use std::sync::atomic::Ordering;
use std::time::Instant;

use acpd_model::limits::{LOG_GROUP, LOG_REWRITE_BYTES};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::reader::Reader;
use super::store::{Change, Store, StoreError};
use crate::LogError;
use crate::stats::Counters;

/// A job for the writer, with the channel for its result.
#[derive(Debug)]
pub(super) enum Job {
    Store(Change, oneshot::Sender<Result<(), LogError>>),
    Close(oneshot::Sender<Result<(), LogError>>),
}

type Waiting = (Change, oneshot::Sender<Result<(), LogError>>);

/// Stores queued jobs until it is closed or all senders are dropped. The writer ends last: when `close` returns, all
/// files are closed and unlocked.
pub(super) fn run(
    connection: Connection,
    mut queue: mpsc::Receiver<Job>,
    readers: Vec<Reader>,
    lock: File,
    counters: &Counters,
) {
    let mut store = Store::new(connection);
    let mut jobs = Vec::with_capacity(LOG_GROUP);
    let mut closing = None;
    while closing.is_none() && queue.blocking_recv_many(&mut jobs, LOG_GROUP) > 0 {
        let mut group = Vec::with_capacity(jobs.len());
        for job in jobs.drain(..) {
            match job {
                Job::Close(answer) => {
                    closing = Some(answer);
                    break;
                }
                Job::Store(change, answer) => group.push((change, answer)),
            }
        }
        commit(&mut store, group, counters);
    }

    drop(queue);
    readers.into_iter().for_each(Reader::stop);
    if let Err(error) = store.scrub(u64::MAX) {
        tracing::warn!(%error, "the write-ahead log stays as it is; the next start takes it over");
    }
    drop(store);
    drop(lock);
    if let Some(answer) = closing {
        let _nobody_waits = answer.send(Ok(()));
    }
}

/// Stores a group and sends the results. If a change fails, each change is retried alone, so that only the invalid ones
/// fail. Deleted data is removed from the files before the result is sent, unless the files are large.
fn commit(store: &mut Store, group: Vec<Waiting>, counters: &Counters) {
    if group.is_empty() {
        return;
    }
    let begun = Instant::now();
    let stored = store.store(group.iter().map(|(change, _)| change));
    counters.commit_time.observe_time(begun.elapsed());
    let error = match stored {
        Ok(answers) => {
            counters.commit_changes.observe(group.len() as u64);
            let deleted = group
                .iter()
                .any(|(change, _)| matches!(change, Change::Delete(_)));
            if deleted && let Err(error) = store.scrub(LOG_REWRITE_BYTES) {
                tracing::warn!(%error, "traces of what was deleted stay in the files until they are closed");
            }
            for ((_, waiting), answer) in group.into_iter().zip(answers) {
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
    for (_, waiting) in group {
        let _nobody_waits = waiting.send(Err(error.clone()));
    }
}
