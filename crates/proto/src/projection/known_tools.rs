//! The tool calls of a session by the agent's ids.
//!
//! In: calls that begin and end. Out: the item that an id belongs to. Owns: the ids. Never: an id of a call that ended so long ago that
//! there is no room for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::ItemId;
use acpd_model::item::ToolStatus;
use acpd_model::limits::ENDED_TOOL_BYTES;

/// So many bytes a call counts beside its id.
const CALL_BYTES: usize = 64;

/// A tool call of the session, finished or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRef {
    /// Its item.
    pub item: ItemId,
    /// Its status.
    pub status: ToolStatus,
}

/// The tool calls of a session: those that are open, and the last that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownTools {
    calls: BTreeMap<Arc<str>, ToolRef>,
    ended: BTreeMap<ItemId, Arc<str>>,
    /// Bytes of those that have ended.
    ended_bytes: usize,
}

impl KnownTools {
    /// The call that the agent calls `id`.
    pub fn get(&self, id: &str) -> Option<ToolRef> {
        self.calls.get(id).copied()
    }

    /// One begins. It takes the id over from one that has ended.
    pub fn begin(&mut self, id: &str, call: ToolRef) {
        self.forget(id);
        self.calls.insert(id.into(), call);
    }

    /// One has ended.
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

    /// The session is another one.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes of the calls that have ended.
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

fn bytes(id: &str) -> usize {
    id.len() + CALL_BYTES
}
