//! Subagents: what an agent reports of their sessions, and the messages between sessions.

use acpd_model::RawJson;
use acpd_model::event::{LaneState, Patch, SubagentPatch};
use acpd_model::json;
use acpd_model::limits::{AGENT_STATE_BYTES, PATH_BYTES};
use acpd_model::text::clip;
use serde::Deserialize;
use serde_json::Value;

use super::UpdateKind;
use crate::agent::bounds::is_name;

/// Bytes that are read of a subagent's title.
const TITLE_BYTES: usize = 256;
/// Bytes that are read of a subagent's description.
const DESCRIPTION_BYTES: usize = 1024;
/// Bytes that are read of the word for a state, and of the reason why work has stopped.
const WORD_BYTES: usize = 64;
/// Bytes of all directories of a subagent. A longer list counts as absent.
const DIRECTORIES_BYTES: usize = 8 << 10;

/// A report on a subagent (`subagent_update`).
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentUpdate {
    /// The agent's id for the subagent's session.
    pub session: String,
    /// What the agent changes. Without the members of a first patch.
    pub patch: SubagentPatch,
}

/// A message between two sessions (`session_message`).
#[derive(Debug, Clone, PartialEq)]
pub struct SessionMessage {
    /// The id of the message in the session that reports it.
    pub id: String,
    /// The session that has sent it.
    pub sender: Patch<String>,
    /// The whole content; empty if the update leaves it as it is.
    pub content: Vec<RawJson>,
}

/// The members of `subagent_update`. A member of another type counts as absent, as in ACP's own types.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    session_id: String,
    #[serde(default)]
    title: Patch<Value>,
    #[serde(default)]
    description: Patch<Value>,
    #[serde(default)]
    capabilities: Patch<Value>,
    #[serde(default)]
    state: Patch<Value>,
    #[serde(default)]
    cwd: Patch<Value>,
    #[serde(default)]
    additional_directories: Patch<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    message_id: String,
    #[serde(default)]
    sender_session_id: Patch<Value>,
    #[serde(default)]
    content: Option<RawJson>,
}

/// Reads `subagent_update`.
pub(super) fn subagent(text: &str) -> Option<UpdateKind> {
    let report: Report = read(text)?;
    if !is_name(&report.session_id) || report.session_id.is_empty() {
        return None;
    }
    let path = |value: Value| string(value).filter(|path| path.len() <= PATH_BYTES);
    let patch = SubagentPatch {
        title: changed(report.title, |value| {
            string(value).map(|text| clip(&text, TITLE_BYTES))
        }),
        description: changed(report.description, |value| {
            string(value).map(|text| clip(&text, DESCRIPTION_BYTES))
        }),
        state: changed(report.state, |value| state(&value)),
        cwd: changed(report.cwd, path),
        directories: changed(report.additional_directories, directories),
        may_cancel: match report.capabilities {
            Patch::Unchanged => None,
            Patch::Cleared => Some(false),
            Patch::Set(value) => value.is_object().then(|| value["cancel"].is_object()),
        },
        ..SubagentPatch::default()
    };
    Some(UpdateKind::Subagent(Box::new(SubagentUpdate {
        session: report.session_id,
        patch,
    })))
}

/// Reads `session_message`.
pub(super) fn session_message(text: &str) -> Option<UpdateKind> {
    let message: Sent = read(text)?;
    if !is_name(&message.message_id) {
        return None;
    }
    let content: Vec<RawJson> = message
        .content
        .and_then(|content| content.read().ok())
        .unwrap_or_default();
    Some(UpdateKind::SessionMessage(SessionMessage {
        id: message.message_id,
        sender: changed(message.sender_session_id, |value| {
            string(value).filter(|session| is_name(session))
        }),
        content: content
            .into_iter()
            .filter(|block| block.get().starts_with('{'))
            .collect(),
    }))
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    (text.len() <= AGENT_STATE_BYTES)
        .then(|| json::read(text).ok())
        .flatten()
}

/// Returns a change whose value can be read. Any other leaves the member as it is.
fn changed<T>(patch: Patch<Value>, read: impl FnOnce(Value) -> Option<T>) -> Patch<T> {
    match patch {
        Patch::Unchanged => Patch::Unchanged,
        Patch::Cleared => Patch::Cleared,
        Patch::Set(value) => read(value).map_or(Patch::Unchanged, Patch::Set),
    }
}

fn string(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn state(value: &Value) -> Option<LaneState> {
    let state = value["state"].as_str()?;
    let reason = value["stopReason"].as_str();
    Some(LaneState {
        state: clip(state, WORD_BYTES),
        stop_reason: reason.map(|reason| clip(reason, WORD_BYTES)),
    })
}

fn directories(value: Value) -> Option<Vec<String>> {
    let directories: Vec<String> = serde_json::from_value(value).ok()?;
    let bytes: usize = directories
        .iter()
        .map(|path| size_of::<String>() + path.len())
        .sum();
    (bytes <= DIRECTORIES_BYTES).then_some(directories)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(members: &str) -> Option<SubagentUpdate> {
        let text = format!(r#"{{"sessionUpdate":"subagent_update"{members}}}"#);
        match subagent(&text)? {
            UpdateKind::Subagent(update) => Some(*update),
            _ => None,
        }
    }

    #[test]
    fn a_report_is_a_patch() {
        let update = report(
            r#","sessionId":"c","title":"review","description":null,"state":{"state":"idle","stopReason":"end_turn"},"cwd":"/w","capabilities":{"cancel":{}}"#,
        );
        let SubagentUpdate { session, patch } = update.unwrap();
        assert_eq!(session, "c");
        assert_eq!(patch.title, Patch::Set("review".to_owned()));
        assert_eq!(patch.description, Patch::Cleared);
        assert_eq!(patch.directories, Patch::Unchanged);
        assert_eq!(patch.may_cancel, Some(true));
        let state = patch.state.set().unwrap();
        assert_eq!((state.state.as_str(), state.is_at_work()), ("idle", false));
    }

    #[test]
    fn members_of_another_type_count_as_absent() {
        let SubagentUpdate { patch, .. } = report(
            r#","sessionId":"c","title":7,"state":"running","cwd":[],"additionalDirectories":{},"capabilities":1"#,
        )
        .unwrap();
        assert_eq!(patch, SubagentPatch::default());
        assert_eq!(report(r#","title":"x""#), None);
        assert_eq!(report(r#","sessionId":"""#), None);
        let long = "x".repeat(1 << 20);
        assert_eq!(report(&format!(r#","sessionId":"{long}""#)), None);
    }

    #[test]
    fn long_texts_are_cut() {
        let long = "x".repeat(100_000);
        let update = report(&format!(
            r#","sessionId":"c","title":"{long}","description":"{long}","cwd":"/{long}","additionalDirectories":["/{long}"]"#
        ));
        let SubagentUpdate { patch, .. } = update.unwrap();
        assert!(
            patch.bytes() <= TITLE_BYTES + DESCRIPTION_BYTES,
            "{}",
            patch.bytes()
        );
    }
}
