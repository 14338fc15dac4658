//! The content of tool calls, which version 2 sends in pieces and version 1 as a whole.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::RawJson;
use acpd_model::item::ToolStatus;

use super::parts::is_due;

/// Tool calls that are known, of all sessions of a process. An update of an older one begins a new call.
const CALLS: usize = 4096;
/// Bytes of content that are kept, of all tool calls, unless one message has more. The content of the oldest call is forgotten first, and
/// then replaced by what follows. No piece is added to a call that has so many bytes itself.
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
    /// The bytes that were shown last, with what the terminals in it showed.
    shown: usize,
    /// The bytes that came since.
    grown: usize,
    is_changed: bool,
    status: ToolStatus,
    /// Whether a note says what its status is in version 2.
    has_status_note: bool,
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

    /// Records whether a note says what the status of a known tool call is in version 2. Returns whether one did before.
    pub fn note_status(&mut self, session: &str, id: &str, has_note: bool) -> bool {
        let call = self.known.get_mut(&(session.to_owned(), id.to_owned()));
        call.is_some_and(|call| std::mem::replace(&mut call.has_status_note, has_note))
    }

    /// Replaces the content of a known tool call.
    pub fn set(&mut self, session: &str, id: &str, content: Vec<RawJson>) {
        let key = (session.to_owned(), id.to_owned());
        let Some(call) = self.known.get_mut(&key) else {
            return;
        };
        let bytes: usize = content.iter().map(|piece| piece.get().len()).sum();
        self.bytes = self.bytes - call.bytes + bytes;
        (call.content, call.bytes, call.is_changed) = (content, bytes, true);
        self.forget_old(&key);
    }

    /// Adds a piece to the content of a known tool call. Returns whether to show it now; `None` if there is no room for it.
    pub fn push(&mut self, session: &str, id: &str, piece: RawJson) -> Option<bool> {
        let key = (session.to_owned(), id.to_owned());
        let bytes = piece.get().len();
        let call = self.known.get_mut(&key)?;
        if call.bytes + bytes > CONTENT_BYTES {
            return None;
        }
        call.content.push(piece);
        call.bytes += bytes;
        call.is_changed = true;
        self.bytes += bytes;
        self.forget_old(&key);
        Some(self.grow(session, id, bytes))
    }

    /// Records that a tool call has more to show. Returns whether to show it now.
    pub fn grow(&mut self, session: &str, id: &str, bytes: usize) -> bool {
        let Some(call) = self.known.get_mut(&(session.to_owned(), id.to_owned())) else {
            return false;
        };
        call.grown = call.grown.saturating_add(bytes);
        is_due(call.shown, call.shown.saturating_add(call.grown))
    }

    /// Returns the content of a tool call.
    pub fn content(&self, session: &str, id: &str) -> &[RawJson] {
        let call = self.known.get(&(session.to_owned(), id.to_owned()));
        match call {
            Some(call) => &call.content,
            None => &[],
        }
    }

    /// Records that a known tool call shows something else than its content.
    pub fn change(&mut self, session: &str, id: &str) {
        if let Some(call) = self.known.get_mut(&(session.to_owned(), id.to_owned())) {
            call.is_changed = true;
        }
    }

    /// Returns whether a tool call has content that was not shown.
    pub fn is_changed(&self, session: &str, id: &str) -> bool {
        let call = self.known.get(&(session.to_owned(), id.to_owned()));
        call.is_some_and(|call| call.is_changed)
    }

    /// Records that all content of a tool call is shown, in so many bytes.
    pub fn was_shown(&mut self, session: &str, id: &str, bytes: usize) {
        if let Some(call) = self.known.get_mut(&(session.to_owned(), id.to_owned())) {
            (call.shown, call.grown, call.is_changed) = (bytes, 0, false);
        }
    }

    /// Returns the tool calls of a session whose content was not shown.
    pub fn changed(&self, session: &str) -> Vec<String> {
        let of_session = self.known.iter().filter(|((of, _), _)| of == session);
        of_session
            .filter(|(_, call)| call.is_changed)
            .map(|((_, id), _)| id.clone())
            .collect()
    }

    /// Forgets the oldest content of other tool calls, if all is too much.
    fn forget_old(&mut self, current: &Key) {
        for key in &self.order {
            if self.bytes <= CONTENT_BYTES {
                return;
            }
            if let Some(call) = self.known.get_mut(key).filter(|_| key != current) {
                self.bytes -= call.bytes;
                (call.content, call.bytes, call.is_changed) = (Vec::new(), 0, false);
            }
        }
    }
}
