//! A log and a restart, for tests of the memos of parts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{BlobId, Event, RawJson, ThreadId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::effect::{Effect, RememberedChange, Waiter};
use super::host_call::HostCall;
use super::journal::{Journal, Kept};
use crate::agent::AgentCommand;
use crate::time::Now;
use crate::wire::RpcError;

/// What a daemon has stored.
#[derive(Debug, Default)]
pub struct Log {
    pub events: Vec<Event>,
    pub blobs: BTreeMap<BlobId, Vec<u8>>,
}

/// The effects of one moment.
#[derive(Debug, Default, PartialEq)]
pub struct Due {
    pub host: Vec<(u64, HostCall)>,
    pub answers: Vec<(u64, Result<RawJson, RpcError>)>,
    /// The paths that are looked up for each call.
    pub lookups: Vec<(u64, Vec<String>)>,
    pub remembered: Vec<RememberedChange>,
}

pub fn journal() -> Journal {
    let now = Now {
        mono: Duration::ZERO,
        wall: 0,
    };
    let mut journal = Journal::new(ThreadId(uuid::Uuid::nil()), Arc::default(), now);
    journal.keep_exact(true);
    journal
}

impl Log {
    /// Stores what the journal has.
    pub fn store(&mut self, journal: &mut Journal) {
        let mut taken = Vec::new();
        journal.take_events(&mut taken);
        self.events.append(&mut taken);
        for blob in journal.take_blobs() {
            self.blobs.insert(BlobId::of(&blob), blob);
        }
    }

    /// Returns the JSON that a memo keeps, from its blob if it is in one.
    pub fn recall(&self, kept: &Kept) -> Option<RawJson> {
        match kept {
            Kept::Inline(json) => Some(json.clone()),
            Kept::Blob(id) => {
                let content = self.blobs.get(id)?.clone();
                RawJson::parse(String::from_utf8(content).unwrap()).ok()
            }
        }
    }

    /// Returns the journal of the next daemon.
    pub fn next(&self) -> Journal {
        let mut next = journal();
        for event in &self.events {
            next.replay(event);
        }
        next
    }
}

/// Returns a memo as it is read from its JSON.
pub fn reread<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(memo: &M) -> M {
    let text = serde_json::to_string(memo).unwrap();
    let read = serde_json::from_str(&text).unwrap();
    assert_eq!(&read, memo, "{text}");
    read
}

/// Takes the effects that are due.
pub fn due(journal: &mut Journal) -> Due {
    let mut due = Due::default();
    while let Some(effect) = journal.poll_effect() {
        match effect {
            Effect::Host { call, what } => due.host.push((call, what)),
            Effect::Agent(AgentCommand::Answer { call, result }) => due.answers.push((call, result)),
            Effect::Resolve {
                waiter: Waiter::Call(call),
                paths,
            } => due.lookups.push((call, paths)),
            Effect::ChangeRemembered { order, .. } => due.remembered.push(order),
            _ => {}
        }
    }
    due
}
