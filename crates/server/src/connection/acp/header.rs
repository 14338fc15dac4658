//! What a connection may say before its first message, on one line: `{"acpd": {...}}`. It is no ACP, and is answered by
//! nothing; `acpd acp` says it, and so may every other client of the socket or of the WebSocket.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acpd_model::{ErrorCode, Failure, RawJson, Seq, ThreadId};
use acpd_proto::surface::acp::PendingPrompt;
use serde::Deserialize;

/// What the connection is for, and what it goes on from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ConnectionHeader {
    /// The agent's name.
    pub agent: Option<String>,
    /// What relative paths are relative to.
    pub cwd: Option<PathBuf>,
    /// The thread that the first `session/new` opens, instead of making one.
    pub thread: Option<ThreadId>,
    /// Whether it has done so; then the thread says for what agent the connection is, and no more.
    pub opened: bool,
    /// Whether the connection wants to know, beside the messages, up to where it has seen its threads, and how its
    /// prompts are called: `_acpd/mark` and `_acpd/prompt`. With these it can go on elsewhere.
    pub marks: bool,
    /// After which event of a thread `session/resume` goes on, where that is not its last one.
    pub after: BTreeMap<ThreadId, Seq>,
    /// Prompts of a connection that was lost, whose answers are to come here once their threads are resumed.
    pub prompts: Vec<LostPrompt>,
}

/// A prompt without an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LostPrompt {
    /// The id of the request.
    pub id: RawJson,
    /// Its session.
    pub thread: ThreadId,
    /// What `_acpd/prompt` called it.
    pub name: String,
}

impl From<LostPrompt> for PendingPrompt {
    fn from(LostPrompt { id, thread, name }: LostPrompt) -> Self {
        Self {
            id,
            thread,
            client_turn_id: name,
        }
    }
}

impl ConnectionHeader {
    /// Reads a first line; `None` if it is none of these, but a message.
    pub fn read(line: &str) -> Option<Result<Self, Failure>> {
        #[derive(Deserialize)]
        struct Line {
            acpd: RawJson,
            method: Option<serde::de::IgnoredAny>,
        }
        let line: Line = serde_json::from_str(line).ok()?;
        if line.method.is_some() {
            return None;
        }
        let read = line.acpd.read();
        Some(read.map_err(|error| {
            Failure::new(
                ErrorCode::InvalidRequest,
                format!("invalid \"acpd\" header in the first line: {error}"),
            )
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_none() {
        for line in [
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#,
            r#"{"acpd":{},"method":"initialize"}"#,
            "{}",
            "nonsense",
            "",
        ] {
            assert_eq!(ConnectionHeader::read(line), None, "{line}");
        }
    }

    #[test]
    fn it_says_all_or_nothing_and_a_slip_of_the_pen_is_told() {
        assert_eq!(
            ConnectionHeader::read(r#"{"acpd":{}}"#),
            Some(Ok(ConnectionHeader::default()))
        );
        let read = ConnectionHeader::read(r#"{"acpd":{"agent":"a","cwd":"/x","marks":true}}"#);
        let read = read.unwrap().unwrap();
        assert_eq!((read.agent.as_deref(), read.marks), (Some("a"), true));
        let wrong = ConnectionHeader::read(r#"{"acpd":{"agnet":"a"}}"#)
            .unwrap()
            .unwrap_err();
        assert!(wrong.message.contains("agnet"), "{wrong}");
    }
}
