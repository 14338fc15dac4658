//! The optional header line before the first message of a connection: `{"acpd": {...}}`. It is not part of ACP, and the
//! daemon does not respond to it. `acpd acp` sends it; every client of the socket or the WebSocket can send it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use acpd_model::{ErrorCode, Failure, RawJson, Seq, ThreadId, TurnId};
use acpd_proto::surface::acp::PendingPrompt;
use serde::Deserialize;

/// The purpose of a connection, and the state that it resumes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ConnectionHeader {
    /// The agent's name.
    pub agent: Option<String>,
    /// The base of relative paths.
    pub cwd: Option<PathBuf>,
    /// The thread that the first `session/new` opens instead of creating one.
    pub thread: Option<ThreadId>,
    /// Whether the earlier connection has opened `thread` already. The thread then only determines the agent.
    pub opened: bool,
    /// Whether the daemon also sends the position of each thread and the name of each prompt: `_acpd/mark` and
    /// `_acpd/prompt`. A client can resume with them on another connection.
    pub marks: bool,
    /// The event of each thread after which `session/resume` continues, if it is not the last one.
    pub after: BTreeMap<ThreadId, Seq>,
    /// The threads whose marks said that their session was opened early: before the agent had opened it, without its modes and models.
    pub early: BTreeSet<ThreadId>,
    /// The turn of the last prompt in each thread whose response of version 2 the editor has. It is in the response.
    pub own: BTreeMap<ThreadId, TurnId>,
    /// Prompts of a lost connection. Their responses go to this connection once their threads are resumed.
    pub prompts: Vec<LostPrompt>,
}

/// A prompt without a response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LostPrompt {
    /// The id of the request.
    pub id: RawJson,
    /// The session of the prompt.
    pub thread: ThreadId,
    /// The prompt's name from `_acpd/prompt`.
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
    /// Parses a first line. Returns `None` if the line is a message and not a header.
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
    fn messages_are_not_headers() {
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
    fn a_header_with_an_unknown_member_is_refused() {
        assert_eq!(
            ConnectionHeader::read(r#"{"acpd":{}}"#),
            Some(Ok(ConnectionHeader::default()))
        );
        let read = ConnectionHeader::read(r#"{"acpd":{"agent":"a","cwd":"/x","marks":true}}"#);
        let read = read.unwrap().unwrap();
        assert_eq!((read.agent.as_deref(), read.marks), (Some("a"), true));
        let thread = ThreadId(uuid::Uuid::from_u128(7));
        let read = ConnectionHeader::read(&format!(r#"{{"acpd":{{"early":["{thread}"]}}}}"#));
        assert_eq!(read.unwrap().unwrap().early, BTreeSet::from([thread]));
        let read = ConnectionHeader::read(&format!(r#"{{"acpd":{{"own":{{"{thread}":"turn_2"}}}}}}"#));
        assert_eq!(read.unwrap().unwrap().own, BTreeMap::from([(thread, TurnId(2))]));
        let wrong = ConnectionHeader::read(r#"{"acpd":{"agnet":"a"}}"#)
            .unwrap()
            .unwrap_err();
        assert!(wrong.message.contains("agnet"), "{wrong}");
    }
}
