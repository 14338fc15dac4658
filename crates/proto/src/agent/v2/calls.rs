//! The content of tool calls, which version 2 sends in pieces and version 1 as a whole.

use acpd_model::RawJson;
use acpd_model::item::ToolStatus;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::known::{self, Known, is_default};
use super::parts::is_due;

/// Tool calls that are known, of all sessions of a process. An update of an older one begins a new call.
const CALLS: usize = 4096;
/// Bytes of content that are kept, of all tool calls, unless one message has more. The content of the oldest call is forgotten first, and
/// then replaced by what follows. No piece is added to a call that has so many bytes itself.
const CONTENT_BYTES: usize = 4 << 20;
/// About the bytes of a call in a memo, beside its id and its content.
const MEMO_BYTES: usize = 48;
/// Calls that a memo has, unless more have not ended.
const MEMO_CALLS: usize = 1024;
/// Bytes of the content of calls that have ended, in a memo.
const ENDED_BYTES: usize = 64 << 10;

/// The session, and the agent's id of the tool call.
type Key = known::Key<String>;

/// The tool calls of a process.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Calls {
    known: Known<String, Call>,
    /// The bytes of all content.
    bytes: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Call {
    /// The content, in the form of version 2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    content: Vec<RawJson>,
    /// The bytes of it.
    #[serde(skip)]
    bytes: usize,
    /// The bytes that were shown last, with what the terminals in it showed.
    #[serde(skip_serializing_if = "is_default")]
    shown: usize,
    /// The bytes that came since.
    #[serde(skip_serializing_if = "is_default")]
    grown: usize,
    #[serde(skip_serializing_if = "is_default")]
    is_changed: bool,
    #[serde(skip_serializing_if = "is_default")]
    status: ToolStatus,
    /// Whether a note says what its status is in version 2.
    #[serde(skip_serializing_if = "is_default")]
    has_status_note: bool,
}

impl Call {
    /// Returns whether it has ended and shows all of its content.
    fn has_ended(&self) -> bool {
        self.status.is_final() && !self.is_changed
    }
}

impl Serialize for Calls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.known.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut known: Known<String, Call> = Known::deserialize(deserializer)?;
        let mut bytes = 0;
        known.visit(|_, call| {
            call.bytes = size(&call.content);
            bytes += call.bytes;
            true
        });
        Ok(Self { known, bytes })
    }
}

impl Calls {
    /// Adds a tool call. Returns whether it was known.
    pub fn add(&mut self, session: &str, id: &str) -> bool {
        let key = (session.to_owned(), id.to_owned());
        if self.known.contains(&key) {
            return true;
        }
        if self.known.len() == CALLS
            && let Some(oldest) = self.known.remove_oldest(|_| true)
        {
            self.bytes -= oldest.bytes;
        }
        self.known.entry(key);
        false
    }

    /// Returns whether a tool call is known.
    pub fn contains(&self, session: &str, id: &str) -> bool {
        self.known.contains(&(session.to_owned(), id.to_owned()))
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
        let bytes = size(&content);
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
        let mut bytes = self.bytes;
        if bytes <= CONTENT_BYTES {
            return;
        }
        self.known.visit(|key, call| {
            if key != current {
                bytes -= call.bytes;
                (call.content, call.bytes, call.is_changed) = (Vec::new(), 0, false);
            }
            bytes > CONTENT_BYTES
        });
        self.bytes = bytes;
    }

    /// Removes for a memo what matters only if an agent changes calls that have long ended.
    pub fn forget_ended(&mut self) {
        let mut ended = self.ended_bytes();
        let bytes = &mut self.bytes;
        self.known.visit(|_, call| {
            if ended > ENDED_BYTES && call.has_ended() {
                ended -= call.bytes;
                *bytes -= call.bytes;
                (call.content, call.bytes) = (Vec::new(), 0);
            }
            ended > ENDED_BYTES
        });
        self.known
            .shrink(MEMO_CALLS, |call| call.has_ended() && call.content.is_empty());
    }

    /// Returns about how many bytes they have in a memo.
    pub fn memo_bytes(&self) -> usize {
        let ended = self.ended_bytes();
        let entry = |((_, id), call): (&Key, &Call)| (id.len() + MEMO_BYTES, call.has_ended());
        let entries = self.known.iter().map(entry);
        let (mut of_ended, mut of_others, mut others) = (0, 0, 0);
        for (bytes, has_ended) in entries {
            if has_ended {
                of_ended += bytes;
            } else {
                of_others += bytes;
                others += 1;
            }
        }
        // Those that have ended make room.
        let kept = MEMO_CALLS.saturating_sub(others);
        let all = self.known.len() - others;
        if all > kept {
            of_ended = of_ended / all * kept;
        }
        self.bytes - ended + ended.min(ENDED_BYTES) + of_ended + of_others
    }

    fn ended_bytes(&self) -> usize {
        let ended = self.known.iter().filter(|(_, call)| call.has_ended());
        ended.map(|(_, call)| call.bytes).sum()
    }
}

fn size(content: &[RawJson]) -> usize {
    content.iter().map(|piece| piece.get().len()).sum()
}
