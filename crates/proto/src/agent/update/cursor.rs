//! Cursors: positions of the agent's session, for requests that act at one.

use acpd_model::event::CursorSide;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{UpdateKind, Wire};
use crate::agent::bounds::name;
use crate::wire::Text;

/// A cursor that the agent announces, or a change of what it can be used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorUpdate {
    /// The agent's id for the cursor.
    pub id: String,
    /// The place of the cursor; `None` if the update names none, or none that the daemon can find.
    pub anchor: Option<CursorAnchor>,
    /// Whether the agent forks its session at the cursor; `None` if that stays as it was.
    pub forks: Option<bool>,
}

/// The message or tool call that a cursor is next to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorAnchor {
    /// What has the id.
    pub kind: &'static str,
    /// The agent's id.
    pub id: String,
    /// The side on which the cursor is.
    pub side: CursorSide,
}

/// An anchor of any type; each has only one of the ids.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Anchor<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    message_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    compaction_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    position: Option<Text<'a>>,
}

/// Reads a `cursor_update`; `None` if it does not follow ACP.
pub(super) fn cursor(wire: &Wire<'_>) -> Option<UpdateKind> {
    let anchor = match wire.anchor {
        Some(anchor) => read_anchor(anchor)?,
        None => None,
    };
    Some(UpdateKind::Cursor(Box::new(CursorUpdate {
        id: wire.cursor_id.to_name()?,
        anchor,
        forks: wire.capabilities.and_then(forks),
    })))
}

/// Reads an anchor. The outer `None` is an error, and the inner one an anchor of a type or a position that is not known: there is no place
/// for it.
#[expect(clippy::option_option, reason = "an unknown anchor is not an error")]
fn read_anchor(anchor: &RawValue) -> Option<Option<CursorAnchor>> {
    let anchor: Anchor<'_> = serde_json::from_str(anchor.get()).ok()?;
    let (kind, id) = match &*anchor.kind {
        "user_message" => ("user", anchor.message_id),
        "agent_message" => ("agent", anchor.message_id),
        "agent_thought" => ("thought", anchor.message_id),
        "tool_call" => ("call", anchor.tool_call_id),
        // These are no items of a thread.
        "session_message" => return anchor.message_id.map(|_| None),
        "compaction" => return anchor.compaction_id.map(|_| None),
        _ => return Some(None),
    };
    let (id, position) = (name(&id?)?, anchor.position?);
    let side = match &*position {
        "before" => CursorSide::Before,
        "after" => CursorSide::After,
        _ => return Some(None),
    };
    Some(Some(CursorAnchor { kind, id, side }))
}

/// Reads whether the capabilities of a cursor, or `null` for none, include a fork. Other values change nothing.
fn forks(capabilities: &RawValue) -> Option<bool> {
    #[derive(Deserialize)]
    struct Capabilities<'a> {
        #[serde(borrow, default)]
        fork: Option<&'a RawValue>,
    }
    match serde_json::from_str::<Option<Capabilities<'_>>>(capabilities.get()).ok()? {
        None => Some(false),
        Some(Capabilities { fork }) => Some(fork.is_some_and(|fork| fork.get().starts_with('{'))),
    }
}
