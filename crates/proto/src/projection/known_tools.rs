//! The tool calls of a session, by the agent's ids.
//!
//! In: the starts and ends of calls. Out: the item of an id. Owns: the ids. Never: keeps the ids of old ended calls
//! beyond the memory limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::item::ToolStatus;
use acpd_model::limits::ENDED_TOOL_BYTES;
use acpd_model::{ItemId, LaneId};
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
    /// The subagent that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneId>,
}

/// The tool calls of a session: all open ones, and the most recent ones that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct KnownTools {
    /// The calls of each subagent, and of the main agent: two of them may use the same id.
    calls: BTreeMap<Option<LaneId>, BTreeMap<Arc<str>, ToolRef>>,
    ended: BTreeMap<ItemId, (Option<LaneId>, Arc<str>)>,
    /// Total bytes of the calls that have ended.
    ended_bytes: usize,
}

impl KnownTools {
    /// Returns the call of a lane with the agent's id `id`.
    pub fn get(&self, lane: Option<LaneId>, id: &str) -> Option<ToolRef> {
        self.calls.get(&lane)?.get(id).copied()
    }

    /// Adds a call. It replaces an ended call with the same id.
    pub fn begin(&mut self, id: &str, call: ToolRef) {
        self.forget(call.lane, id);
        self.calls.entry(call.lane).or_default().insert(id.into(), call);
    }

    /// Records that a call has ended.
    pub fn end(&mut self, id: &str, call: ToolRef) {
        self.forget(call.lane, id);
        let id: Arc<str> = id.into();
        self.ended_bytes += bytes(&id);
        let calls = self.calls.entry(call.lane).or_default();
        calls.insert(Arc::clone(&id), call);
        self.ended.insert(call.item, (call.lane, id));
        while self.ended_bytes > ENDED_TOOL_BYTES
            && let Some((_, (lane, oldest))) = self.ended.pop_first()
        {
            self.ended_bytes -= bytes(&oldest);
            self.remove(lane, &oldest);
        }
    }

    /// Returns whether an ended call has the id of an earlier one.
    pub fn repeats_id(&self, item: ItemId) -> bool {
        let call = self.ended.get(&item).and_then(|(lane, id)| self.get(*lane, id));
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

    fn forget(&mut self, lane: Option<LaneId>, id: &str) {
        let known = self.remove(lane, id);
        if let Some((_, id)) = known.and_then(|call| self.ended.remove(&call.item)) {
            self.ended_bytes -= bytes(&id);
        }
    }

    fn remove(&mut self, lane: Option<LaneId>, id: &str) -> Option<ToolRef> {
        let calls = self.calls.get_mut(&lane)?;
        let known = calls.remove(id);
        if calls.is_empty() {
            self.calls.remove(&lane);
        }
        known
    }
}

/// The stored form: each call with its id, and whether it has ended.
#[derive(Serialize, Deserialize)]
struct Stored(Vec<(String, ToolRef, bool)>);

impl From<KnownTools> for Stored {
    fn from(known: KnownTools) -> Self {
        let has_ended = |call: &ToolRef| known.ended.contains_key(&call.item);
        let calls = known.calls.values().flatten();
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
