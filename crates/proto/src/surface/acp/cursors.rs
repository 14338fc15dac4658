//! Cursors that acpd offers to editors: one after each turn, at which `session/fork` forks the thread, whatever its agent can.
//!
//! In: the messages and tool calls that an editor receives, the ends of turns, rollbacks, ids of cursors. Out: `cursor_update`s, and the
//! turn of a cursor. Owns: what the editor received last in a turn, and the cursors that it has. Never: offers a cursor next to something
//! that the editor does not have. An id is that of its turn, which no other turn of the thread ever has.

use std::collections::BTreeSet;

use acpd_model::text::clip;
use acpd_model::{
    Event, EventKind, Failure, ItemEvent, ItemId, ItemStart, MessageType, RawJson, ThreadId, TurnId,
};
use bytes::Bytes;

use super::peer::Peer;
use crate::wire::{self, inside, member};

/// Bytes of an unknown cursor in an error.
const SHOWN_BYTES: usize = 80;

/// A message or a tool call, as the anchor of a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// ACP's type of the anchor.
    kind: &'static str,
    /// The name of the member with the id.
    member: &'static str,
    /// The id under which editors know it.
    id: Box<str>,
}

impl Anchor {
    /// Returns the message or tool call that begins with an event.
    pub(super) fn of(event: &Event) -> Option<Self> {
        // A subagent's items are in another session, or within its call.
        if event.lane.is_some() {
            return None;
        }
        let EventKind::Item(ItemEvent::Started { item, start, .. }) = &event.kind else {
            return None;
        };
        let (kind, member, id) = match start {
            ItemStart::Message { role, message_id, .. } => {
                let kind = match role {
                    MessageType::UserMessage => "user_message",
                    MessageType::AgentMessage => "agent_message",
                    MessageType::AgentThought => "agent_thought",
                };
                (kind, "messageId", message_id.as_deref())
            }
            ItemStart::ToolCall { tool_call_id, .. } => {
                ("tool_call", "toolCallId", Some(tool_call_id.as_str()))
            }
            ItemStart::FileChange { .. } | ItemStart::TerminalCommand { .. } => return None,
        };
        let id = id.filter(|_| !event.repeats_id);
        let id = id.map_or_else(|| item.to_string().into(), Box::from);
        Some(Self { kind, member, id })
    }
}

/// The cursors of a session on a connection.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    /// What the editor received last, and its turn.
    last: Option<(TurnId, Anchor)>,
    /// The turns after which the editor has a cursor.
    offered: BTreeSet<TurnId>,
}

impl Cursors {
    /// Records that the editor receives a message or a tool call. The rest of an answer may come while a later turn runs, of which it
    /// is not the last.
    pub fn begins(&mut self, turn: Option<TurnId>, anchor: &Anchor) {
        let is_later = |(last, _): &(TurnId, Anchor)| turn.is_some_and(|turn| turn < *last);
        if self.last.as_ref().is_some_and(is_later) {
            return;
        }
        self.last = turn.map(|turn| (turn, anchor.clone()));
    }

    /// Records that the editor does not have the id of what comes last.
    pub fn lacks_last(&mut self) {
        self.last = None;
    }

    /// Returns where to offer the cursor of a turn that has ended.
    fn end(&mut self, turn: TurnId) -> Option<Anchor> {
        let (_, anchor) = self.last.take_if(|(last, _)| *last == turn)?;
        self.offered.insert(turn);
        Some(anchor)
    }

    /// Returns the turns after `kept`, whose cursors are no longer offered.
    fn drop_after(&mut self, kept: Option<TurnId>) -> BTreeSet<TurnId> {
        self.last = None;
        let first = TurnId(kept.map_or(0, |kept| kept.0).saturating_add(1));
        self.offered.split_off(&first)
    }
}

impl Peer {
    /// Offers the cursor at the end of a turn.
    pub(super) fn offer_cursor(&mut self, thread: ThreadId, turn: Option<TurnId>) {
        let session = self.sessions.get_mut(&thread);
        let anchor = session
            .zip(turn)
            .and_then(|(session, turn)| session.cursors.end(turn));
        let (Some(turn), Some(anchor)) = (turn, anchor) else {
            return;
        };
        self.update_cursor(thread, turn, |update| {
            update.object("anchor", |place| {
                place
                    .plain("type", anchor.kind)
                    .put(anchor.member, &*anchor.id)
                    .plain("position", "after");
            });
            update.object("capabilities", |capabilities| {
                capabilities.raw("fork", "{}");
            });
        });
    }

    /// Withdraws the cursors of turns that are no longer part of the conversation.
    pub(super) fn withdraw_cursors(&mut self, thread: ThreadId, kept: Option<TurnId>) {
        let session = self.sessions.get_mut(&thread);
        let dropped = session.map(|session| session.cursors.drop_after(kept));
        for turn in dropped.into_iter().flatten() {
            self.update_cursor(thread, turn, |update| {
                update.raw("capabilities", "null");
            });
        }
    }

    fn update_cursor(&mut self, thread: ThreadId, turn: TurnId, fill: impl FnOnce(&mut wire::Object<'_>)) {
        let mut out = Vec::new();
        wire::notification(&mut out, "session/update", |params| {
            params.put("sessionId", &thread).object("update", |update| {
                update
                    .plain("sessionUpdate", "cursor_update")
                    .put("cursorId", &turn);
                fill(update);
            });
        });
        wire::one_line(&mut out);
        self.hand_over(thread, out.into(), None);
    }
}

/// Returns the turn of a cursor.
pub(super) fn turn_of(cursor: &str) -> Result<TurnId, Failure> {
    cursor.parse().map_err(|_| unknown(cursor))
}

/// Returns the failure for the editor whose fork after `turn` has failed. ACP wants the same code for all that are not the session's cursors.
pub(super) fn refused(turn: Option<TurnId>, failure: Failure) -> Failure {
    let cursor = turn.map(|turn| turn.to_string());
    match cursor.filter(|cursor| failure.message.starts_with(cursor)) {
        Some(cursor) => unknown(&cursor).with_detail(failure.message),
        None => failure,
    }
}

fn unknown(cursor: &str) -> Failure {
    let shown = clip(cursor, SHOWN_BYTES);
    Failure::invalid_params(format!(
        "session/fork: the session has no cursor {shown:?}: take one of its last cursor_update, or fork it without a cursorId"
    ))
}

/// Returns a chunk of a message with the id of its item, if the agent has given the message none.
pub(super) fn with_message_id(message: &Bytes, item: ItemId) -> Option<Bytes> {
    let text = std::str::from_utf8(message).ok()?;
    let params = inside(text, text, "params")?;
    let update = inside(text, params, "update")?;
    let json = RawJson::trusted(update);
    if member(&json, "messageId").is_some_and(|id| id.starts_with('"')) {
        return None;
    }
    let named = wire::spliced(&json, &[("messageId", &format!("\"{item}\""))]);
    let start = update.as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..start], &text[start + update.len()..]);
    Some([before, named.get(), after].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(id: &str) -> Anchor {
        Anchor {
            kind: "agent_message",
            member: "messageId",
            id: id.into(),
        }
    }

    #[test]
    fn the_rest_of_an_earlier_turn_takes_no_cursor_from_a_later_one() {
        let mut cursors = Cursors::default();
        cursors.begins(Some(TurnId(1)), &anchor("a"));
        assert_eq!(cursors.end(TurnId(1)), Some(anchor("a")));
        cursors.begins(Some(TurnId(2)), &anchor("b"));
        cursors.begins(Some(TurnId(1)), &anchor("a"));
        assert_eq!(cursors.end(TurnId(2)), Some(anchor("b")));
        assert_eq!(cursors.end(TurnId(1)), None);
    }
}
