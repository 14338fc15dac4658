//! The rules of `session/update`, apart from its schema.

use serde_json::Value;

use super::session::{Role, Session};
use crate::rule::Rule;
use crate::version::Version;

/// Rules that an update was checked against, with the faults.
pub(super) type Found = Vec<(Rule, Option<String>)>;

/// Checks an update of an open session.
pub(super) fn check(version: Version, session: &mut Session, kind: &str, update: &Value) -> Found {
    session.updates += 1;
    let mut found = Vec::new();
    tool_call(version, session, kind, update, &mut found);
    terminals(version, session, kind, update, &mut found);
    messages(session, kind, update, &mut found);
    state(session, kind, update, &mut found);
    found
}

fn text<'a>(update: &'a Value, name: &str) -> Option<&'a str> {
    update.get(name).and_then(Value::as_str)
}

fn tool_call(version: Version, session: &mut Session, kind: &str, update: &Value, found: &mut Found) {
    let Some(id) = text(update, "toolCallId") else {
        return;
    };
    match (kind, version) {
        // In version 2, the first update creates the call.
        ("tool_call", _) | ("tool_call_update", Version::Two) => session.call(id),
        ("tool_call_update" | "tool_call_content_chunk", _) => {
            let fault = (!session.has_call(id)).then(|| format!("no tool call {id:?}"));
            found.push((Rule::ToolCall, fault));
            // One fault a call is enough.
            session.call(id);
        }
        _ => {}
    }
}

fn terminals(version: Version, session: &mut Session, kind: &str, update: &Value, found: &mut Found) {
    if let Some(id) = text(update, "terminalId") {
        match kind {
            "terminal_update" => session.terminal(id),
            "terminal_output_chunk" => {
                let fault = session
                    .has_terminal(id)
                    .is_none()
                    .then(|| format!("no terminal {id:?}"));
                found.push((Rule::Terminal, fault));
            }
            _ => {}
        }
    }
    // In version 2, a call may show a terminal whose updates follow.
    if version == Version::Two || !matches!(kind, "tool_call" | "tool_call_update") {
        return;
    }
    let content = update.get("content").and_then(Value::as_array);
    for id in content
        .into_iter()
        .flatten()
        .filter_map(|block| text(block, "terminalId"))
    {
        let fault = session
            .has_terminal(id)
            .is_none()
            .then(|| format!("no terminal {id:?}"));
        found.push((Rule::Terminal, fault));
    }
}

fn messages(session: &mut Session, kind: &str, update: &Value, found: &mut Found) {
    let role = match kind {
        "user_message" | "user_message_chunk" => Role::User,
        "agent_message" | "agent_message_chunk" | "agent_thought" | "agent_thought_chunk" => Role::Agent,
        _ => return,
    };
    if let Some(id) = text(update, "messageId") {
        let fault = session
            .message(id, role)
            .then(|| format!("{id:?} is a message of the other side"));
        found.push((Rule::Message, fault));
    }
}

fn state(session: &mut Session, kind: &str, update: &Value, found: &mut Found) {
    match kind {
        "state_update" => {
            let state = text(update, "state").unwrap_or_default();
            if matches!(state, "running" | "requires_action") {
                session.started += 1;
            }
            if state == "idle" {
                session.stop_reason = text(update, "stopReason").map(str::to_owned);
            }
            state.clone_into(&mut session.state);
        }
        "replay_complete" => session.replays += 1,
        "current_mode_update" => {
            let mode = text(update, "currentModeId").unwrap_or_default();
            // The modes of a session that is being loaded come with the answer.
            if !session.modes.is_empty() {
                let fault = (!session.modes.contains(mode)).then(|| format!("no mode {mode:?}"));
                found.push((Rule::Choice, fault));
            }
            session.mode = Some(mode.to_owned());
        }
        _ => {}
    }
}
