//! The tool calls of a session, by the agent's ids.
//!
//! In: the starts and ends of calls. Out: the item of an id. Owns: the ids. Never: keeps the ids of old ended calls
//! beyond the memory limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::ItemId;
use acpd_model::item::ToolStatus;
use acpd_model::limits::ENDED_TOOL_BYTES;
use serde::{Deserialize, Serialize};

/// Bytes that count for a call in addition to its id.
const CALL_BYTES: usize = 64;

/// A tool call of the session, finished or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRef {
    /// The item of the call.
    pub item: ItemId,
    /// The status of the call.
    pub status: ToolStatus,
    /// Whether an earlier call had the same id.
    pub repeats_id: bool,
}

/// The tool calls of a session: all open ones, and the most recent ones that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct KnownTools {
    calls: BTreeMap<Arc<str>, ToolRef>,
    ended: BTreeMap<ItemId, Arc<str>>,
    /// Total bytes of the calls that have ended.
    ended_bytes: usize,
}

impl KnownTools {
    /// Returns the call with the agent's id `id`.
    pub fn get(&self, id: &str) -> Option<ToolRef> {
        self.calls.get(id).copied()
    }

    /// Adds a call. It replaces an ended call with the same id.
    pub fn begin(&mut self, id: &str, call: ToolRef) {
        self.forget(id);
        self.calls.insert(id.into(), call);
    }

    /// Records that a call has ended.
    pub fn end(&mut self, id: &str, call: ToolRef) {
        self.forget(id);
        let id: Arc<str> = id.into();
        self.ended_bytes += bytes(&id);
        self.calls.insert(Arc::clone(&id), call);
        self.ended.insert(call.item, id);
        while self.ended_bytes > ENDED_TOOL_BYTES
            && let Some((_, oldest)) = self.ended.pop_first()
        {
            self.ended_bytes -= bytes(&oldest);
            self.calls.remove(&oldest);
        }
    }

    /// Returns whether an ended call has the id of an earlier one.
    pub fn repeats_id(&self, item: ItemId) -> bool {
        let call = self.ended.get(&item).and_then(|id| self.calls.get(id));
        call.is_some_and(|call| call.repeats_id)
    }

    /// Removes all calls, because the session has changed.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the bytes of the calls that have ended.
    pub fn ended_bytes(&self) -> usize {
        self.ended_bytes
    }

    fn forget(&mut self, id: &str) {
        let known = self.calls.remove(id);
        if let Some(id) = known.and_then(|call| self.ended.remove(&call.item)) {
            self.ended_bytes -= bytes(&id);
        }
    }
}

/// The stored form: each call with its id, and whether it has ended.
#[derive(Serialize, Deserialize)]
struct Stored(Vec<(String, ToolRef, bool)>);

impl From<KnownTools> for Stored {
    fn from(known: KnownTools) -> Self {
        let has_ended = |call: &ToolRef| known.ended.contains_key(&call.item);
        let calls = known.calls.iter();
        Self(
            calls
                .map(|(id, call)| (id.to_string(), *call, has_ended(call)))
                .collect(),
        )
    }
}

impl From<Stored> for KnownTools {
    fn from(Stored(calls): Stored) -> Self {
        let mut known = Self::default();
        for (id, call, has_ended) in calls {
            if has_ended {
                known.end(&id, call);
            } else {
                known.begin(&id, call);
            }
        }
        known
    }
}

fn bytes(id: &str) -> usize {
    id.len() + CALL_BYTES
}
