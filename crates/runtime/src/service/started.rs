//! The threads that clients have started with an id of their own for the first turn. A client that did not see the answer to its
//! request sends it again, and gets the same thread.

use std::collections::VecDeque;

use acpd_model::limits::STARTED_THREADS;
use acpd_model::{Origin, ThreadId};
use acpd_proto::surface::request::StartThread;
use tokio::sync::{Mutex, MutexGuard};

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

/// The latest such threads, the oldest first.
#[derive(Debug, Default)]
pub struct StartedThreads(Mutex<Latest>);

#[derive(Debug, Default)]
pub struct Latest(VecDeque<(StartKey, ThreadId)>);

impl StartedThreads {
    /// Waits until no other such thread is being started.
    pub async fn lock(&self) -> MutexGuard<'_, Latest> {
        self.0.lock().await
    }
}

impl Latest {
    /// Returns the thread that was started with this id.
    pub fn find(&self, key: &StartKey) -> Option<ThreadId> {
        let found = self.0.iter().rev().find(|(known, _)| known == key);
        found.map(|(_, thread)| *thread)
    }

    /// Adds a thread.
    pub fn insert(&mut self, key: StartKey, thread: ThreadId) {
        if self.0.len() >= STARTED_THREADS {
            self.0.pop_front();
        }
        self.0.push_back((key, thread));
    }
}
