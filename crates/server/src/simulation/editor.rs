//! An editor: a client of ACP. It speaks only text, and has one session.

use std::collections::BTreeMap;
use std::sync::MutexGuard;

use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::time::Instant;

use super::line::{Common, Line, Record};

/// One connection.
pub struct Editor {
    line: Line<Seen>,
    last_id: u64,
}

/// What came over a connection.
#[derive(Default)]
pub struct Seen {
    pub common: Common,
    /// Requests that wait for their response, and whether each was cancelled.
    pub pending: BTreeMap<u64, (&'static str, bool)>,
    /// The session, once it is open.
    pub session: Option<String>,
    /// Open questions.
    pub questions: Vec<Value>,
}

impl Editor {
    /// Takes over the editor's end of a connection, and opens a session in `cwd`.
    pub async fn connect(io: DuplexStream, began: Instant, cwd: &str) -> Self {
        let mut editor = Self {
            line: Line::new(io, Seen::default(), began),
            last_id: 0,
        };
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        editor.request("initialize", hello).await;
        let session = json!({ "cwd": cwd, "mcpServers": [] });
        editor.request("session/new", session).await;
        editor
    }

    /// Returns what came so far.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.line.record()
    }

    /// Sends a prompt, unless one waits for its answer.
    pub async fn prompt(&mut self) {
        let session = {
            let seen = self.seen();
            let waits = seen
                .pending
                .values()
                .any(|(method, _)| *method == "session/prompt");
            seen.session.clone().filter(|_| !waits)
        };
        if let Some(session) = session {
            let prompt = json!([{ "type": "text", "text": "go" }]);
            let params = json!({ "sessionId": session, "prompt": prompt });
            self.request("session/prompt", params).await;
        }
    }

    /// Cancels the turn.
    pub async fn cancel(&mut self) {
        let session = {
            let mut seen = self.seen();
            for (method, is_cancelled) in seen.pending.values_mut() {
                *is_cancelled |= *method == "session/prompt";
            }
            seen.session.clone()
        };
        if let Some(session) = session {
            let params = json!({ "sessionId": session });
            self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
                .await;
        }
    }

    /// Answers the newest open question.
    pub async fn answer(&mut self, option: usize) {
        let question = self.seen().questions.pop();
        if let Some(question) = question {
            let option = &question["params"]["options"][option]["optionId"];
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome }))
                .await;
        }
    }

    /// Stops or continues to read.
    pub fn read(&self, reads: bool) {
        self.line.read(reads);
    }

    /// Returns whether it reads.
    pub fn is_reading(&self) -> bool {
        self.line.is_reading()
    }

    /// Sends a request.
    pub async fn request(&mut self, method: &'static str, params: Value) {
        self.last_id += 1;
        let id = self.last_id;
        self.seen().pending.insert(id, (method, false));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
    }

    async fn send(&mut self, message: &Value) {
        self.line.send(&message.to_string()).await;
    }
}

impl Record for Seen {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn handle(&mut self, line: &str) {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        match (message["method"].as_str(), message["id"].as_u64()) {
            (None, Some(id)) => match self.pending.remove(&id) {
                None => self
                    .common
                    .break_rule(format!("a response without a request: {line}")),
                Some(("session/new", _)) => {
                    self.session = message["result"]["sessionId"].as_str().map(str::to_owned);
                }
                Some(_) => {}
            },
            (Some("session/request_permission"), _) => self.questions.push(message),
            (Some(_), _) => {
                let about = message["params"]["sessionId"].as_str();
                if about.is_some() && self.session.is_some() && about != self.session.as_deref() {
                    self.common.break_rule(format!("about another session: {line}"));
                }
            }
            (None, None) => self
                .common
                .break_rule(format!("neither request nor response: {line}")),
        }
    }
}
