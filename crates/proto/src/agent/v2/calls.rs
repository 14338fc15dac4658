//! The content of tool calls, which version 2 sends in pieces and version 1 as a whole.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::RawJson;
use acpd_model::item::ToolStatus;

use super::parts::is_due;

/// Tool calls that are known, of all sessions of a process. An update of an older one begins a new call.
const CALLS: usize = 4096;
/// Bytes of content that are kept, of all tool calls. The oldest content is forgotten first, and then replaced by what follows.
const CONTENT_BYTES: usize = 4 << 20;

/// The session, and the agent's id of the tool call.
type Key = (String, String);

/// The tool calls of a process.
#[derive(Debug, Default)]
pub(super) struct Calls {
    known: BTreeMap<Key, Call>,
    /// The same, oldest first.
    order: VecDeque<Key>,
    /// The bytes of all content.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Call {
    /// The content, in the form of version 2.
    content: Vec<RawJson>,
    bytes: usize,
    /// The bytes that were shown last.
    shown: usize,
    is_changed: bool,
    status: ToolStatus,
}

impl Calls {
    /// Adds a tool call. Returns whether it was known.
    pub fn add(&mut self, session: &str, id: &str) -> bool {
        let key = (session.to_owned(), id.to_owned());
        if self.known.contains_key(&key) {
            return true;
        }
        self.order.push_back(key.clone());
        if self.order.len() > CALLS
            && let Some(oldest) = self.order.pop_front()
            && let Some(oldest) = self.known.remove(&oldest)
        {
            self.bytes -= oldest.bytes;
        }
        self.known.insert(key, Call::default());
        false
    }

    /// Returns whether a tool call is known.
    pub fn contains(&self, session: &str, id: &str) -> bool {
        self.known.contains_key(&(session.to_owned(), id.to_owned()))
    }

    /// Sets the status of a known tool call, unless it had a later one.
    pub fn advance(&mut self, session: &str, id: &str, status: ToolStatus) -> bool {
        let Some(call) = self.known.get_mut(&(session.to_owned(), id.to_owned())) else {
            return false;
        };
        let advances = status >= call.status;
        if advances {
            call.status = status;
        }
        advances
    }

    /// Replaces the content of a known tool call.
    pub fn set(&mut self, session: &str, id: &str, content: Vec<RawJson>) {
        let Some(call) = self.known.get_mut(&(session.to_owned(), id.to_owned())) else {
            return;
        };
        let bytes: usize = content.iter().map(|piece| piece.get().len()).sum();
        self.bytes = self.bytes - call.bytes + bytes;
        (call.content, call.bytes, call.is_changed) = (content, bytes, true);
    }

    /// Adds a piece to the content of a known tool call. Returns whether to show it now.
    pub fn push(&mut self, session: &str, id: &str, piece: RawJson) -> bool {
        let Some(call) = self.known.get_mut(&(session.to_owned(), id.to_owned())) else {
            return false;
        };
        let bytes = piece.get().len();
        call.content.push(piece);
        call.bytes += bytes;
        call.is_changed = true;
        self.bytes += bytes;
        is_due(call.shown, call.bytes)
    }

    /// Returns whether a tool call has content that was not shown.
    pub fn is_changed(&self, session: &str, id: &str) -> bool {
        let call = self.known.get(&(session.to_owned(), id.to_owned()));
        call.is_some_and(|call| call.is_changed)
    }

    /// Returns the content of a tool call, which is shown now.
    pub fn show(&mut self, session: &str, id: &str) -> Vec<RawJson> {
        let key = (session.to_owned(), id.to_owned());
        let Some(call) = self.known.get_mut(&key) else {
            return Vec::new();
        };
        (call.shown, call.is_changed) = (call.bytes, false);
        let content = call.content.clone();
        self.forget_old();
        content
    }

    /// Returns the tool calls of a session whose content was not shown.
    pub fn changed(&self, session: &str) -> Vec<String> {
        let of_session = self.known.iter().filter(|((of, _), _)| of == session);
        of_session
            .filter(|(_, call)| call.is_changed)
            .map(|((_, id), _)| id.clone())
            .collect()
    }

    /// Forgets the oldest content that was shown, if all is too much.
    fn forget_old(&mut self) {
        if self.bytes <= CONTENT_BYTES {
            return;
        }
        for key in &self.order {
            let Some(call) = self.known.get_mut(key).filter(|call| !call.is_changed) else {
                continue;
            };
            self.bytes -= call.bytes;
            (call.content, call.bytes, call.shown) = (Vec::new(), 0, 0);
            if self.bytes <= CONTENT_BYTES {
                return;
            }
        }
    }
}
