//! The threads that clients have started with an id of their own for the first turn. A client that did not see the answer to its
//! request sends it again, and gets the same thread.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use acpd_model::limits::STARTED_THREADS;
use acpd_model::{Origin, ThreadId};
use acpd_proto::surface::request::StartThread;
use tokio::sync::OwnedMutexGuard;

/// The id of a client's request to start a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartKey {
    principal: String,
    client_turn_id: String,
}

impl StartKey {
    /// Returns the id of a request, if the client gave it one.
    pub fn of(by: &Origin, start: &StartThread) -> Option<Self> {
        let client = by.clone().into_client()?;
        Some(Self {
            principal: client.principal,
            client_turn_id: start.client_turn_id.clone().filter(|_| !start.input.is_empty())?,
        })
    }
}

/// The thread of the requests with one id. Who holds the lock creates it; the others with this id wait.
type Started = Arc<tokio::sync::Mutex<Option<ThreadId>>>;

/// The latest such threads, the oldest first.
#[derive(Debug, Default)]
pub struct StartedThreads(Mutex<VecDeque<(StartKey, Started)>>);

impl StartedThreads {
    /// Waits until no other request with this id is being handled. Returns its thread, which the caller sets.
    pub async fn lock(&self, key: StartKey) -> OwnedMutexGuard<Option<ThreadId>> {
        self.find_or_add(key).lock_owned().await
    }

    fn find_or_add(&self, key: StartKey) -> Started {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, started)) = latest.iter().rev().find(|(known, _)| *known == key) {
            return started.clone();
        }
        if latest.len() >= STARTED_THREADS {
            latest.pop_front();
        }
        let started = Started::default();
        latest.push_back((key, started.clone()));
        started
    }
}
