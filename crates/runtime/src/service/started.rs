//! The threads that clients have started with an id of their own for the first turn. A client that did not see the answer to its
//! request sends it again, and gets the same thread.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use acpd_model::{Origin, ThreadId};
use acpd_proto::surface::request::StartThread;
use tokio::sync::OwnedMutexGuard;

/// Threads started with a client's id for the first turn that are remembered, so that none is started twice.
const STARTED_THREADS: usize = 1024;

/// The hashes of a client and of its id of a request to start a thread. The id itself may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartKey(u64, u64);

impl StartKey {
    /// Returns the id of a request, if the client gave it one.
    pub fn of(by: &Origin, start: &StartThread) -> Option<Self> {
        let client = by.clone().into_client()?;
        let id = start
            .client_turn_id
            .as_ref()
            .filter(|_| !start.input.is_empty())?;
        let text = (&client.principal, id);
        Some(Self(hash_of(&(0, text)), hash_of(&(1, text))))
    }
}

/// The hash of what a request to start a thread asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartHash(u64);

impl StartHash {
    /// Hashes what a client repeats with its request. A client may add the time to its metadata.
    pub fn of(start: &StartThread) -> Self {
        let asked = (
            &start.agent,
            &start.cwd,
            &start.additional_directories,
            &start.session,
            &start.session_id,
            &start.name,
            &start.policy,
            &start.mode,
            (&start.config, &start.initial),
            &start.input,
        );
        Self(hash_of(&format!("{asked:?}")))
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The thread of the requests with one id, and what they ask for.
type Started = Option<(ThreadId, StartHash)>;

/// Who holds the lock creates the thread; the others with this id wait.
type Entry = Arc<tokio::sync::Mutex<Started>>;

/// The latest such threads, the oldest first.
#[derive(Debug, Default)]
pub struct StartedThreads(Mutex<VecDeque<(StartKey, Entry)>>);

impl StartedThreads {
    /// Waits until no other request with this id is being handled. Returns its thread, which the caller sets.
    pub async fn lock(&self, key: StartKey) -> OwnedMutexGuard<Started> {
        self.find_or_add(key).lock_owned().await
    }

    /// Forgets the id of a request that has created no thread, unless others wait for the lock: they try it themselves.
    pub fn forget(&self, key: StartKey, started: OwnedMutexGuard<Started>) {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Two have the entry: this list and `started`.
        latest.retain(|(known, entry)| *known != key || Arc::strong_count(entry) > 2);
        drop(started);
    }

    fn find_or_add(&self, key: StartKey) -> Entry {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, entry)) = latest.iter().rev().find(|(known, _)| *known == key) {
            return entry.clone();
        }
        if latest.len() >= STARTED_THREADS {
            // Requests that are being handled keep their entries.
            let unused = latest.iter().position(|(_, entry)| Arc::strong_count(entry) == 1);
            if let Some(oldest) = unused {
                latest.remove(oldest);
            }
        }
        let entry = Entry::default();
        latest.push_back((key, entry.clone()));
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_latest_ids_are_known_and_those_in_use() {
        let started = StartedThreads::default();
        let thread = (ThreadId(uuid::Uuid::nil()), StartHash(1));
        let busy = started.lock(StartKey(0, 0)).await;
        *started.lock(StartKey(0, 1)).await = Some(thread);
        for key in 2..=STARTED_THREADS as u64 {
            drop(started.lock(StartKey(0, key)).await);
        }
        assert_eq!(*started.lock(StartKey(0, 1)).await, None, "it was the oldest");
        assert!(started.find_or_add(StartKey(0, 0)).try_lock().is_err());
        drop(busy);
    }

    #[tokio::test]
    async fn a_failed_request_is_forgotten_unless_others_wait() {
        let started = StartedThreads::default();
        let key = StartKey(1, 2);
        let entries = || started.0.lock().unwrap().len();
        let failed = started.lock(key).await;
        let waiting = started.find_or_add(key);
        started.forget(key, failed);
        assert_eq!(entries(), 1);
        drop(waiting);
        let failed = started.lock(key).await;
        started.forget(key, failed);
        assert_eq!(entries(), 0);
    }
}
