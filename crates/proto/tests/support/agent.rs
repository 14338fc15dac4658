//! The actions of an agent in a scene.

use acpd_model::{Failure, TurnId};
use acpd_proto::projection::SessionChange;
use acpd_proto::thread::{AgentExit, HostReply, Input, TerminalEvent};
use acpd_proto::wire::{Found, Line, LineDecoder, Message, read_ends, read_unclean};
use serde_json::Value;

use super::scene::Scene;

/// The session that agents in scenes open.
pub const SESSION: &str = "s-1";

/// A response to `initialize` that declares every capability that the daemon uses.
pub const FULL: &str = concat!(
    r#"{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1"},"agentCapabilities":{"loadSession":true,"#,
    r#""promptCapabilities":{"image":true,"audio":true,"embeddedContext":true},"#,
    r#""sessionCapabilities":{"resume":{},"additionalDirectories":{}}}}"#
);

/// Returns a chunk of the agent's message.
pub fn message(text: &str) -> String {
    let text = Value::from(text);
    format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{text}}}}}"#)
}

/// Returns a chunk of the agent's reasoning.
pub fn thought(text: &str) -> String {
    let text = Value::from(text);
    format!(r#"{{"sessionUpdate":"agent_thought_chunk","content":{{"type":"text","text":{text}}}}}"#)
}

/// Returns a `tool_call`, or with `update` a `tool_call_update`. `more` contains further members, each after a comma.
pub fn tool(id: &str, update: bool, more: &str) -> String {
    let kind = if update { "tool_call_update" } else { "tool_call" };
    format!(r#"{{"sessionUpdate":"{kind}","toolCallId":"{id}"{more}}}"#)
}

/// Returns the ids and methods of the requests in a line of an agent, clean or not.
fn requests_in(line: &Line<'_>) -> Vec<(String, String)> {
    let found = |found: Found| match found {
        Found::Request { id } => vec![(id, "unreadable".to_owned())],
        Found::Answer { .. } | Found::Other => Vec::new(),
    };
    let texts = match *line {
        Line::TooLong { head, tail, .. } => return found(read_ends(head, tail)),
        Line::Whole(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if Message::parse(text).is_ok() => vec![text.to_owned()],
            _ => match read_unclean(bytes) {
                Ok(mended) => mended.texts,
                Err(unreadable) => return found(unreadable.found),
            },
        },
    };
    let request = |text: &String| match Message::parse(text) {
        Ok(Message::Request { id, method, .. }) => Some((id.get().to_owned(), method.to_string())),
        _ => None,
    };
    texts.iter().filter_map(request).collect()
}

impl Scene {
    /// Creates the thread, and opens its agent's session.
    pub fn open_session(&mut self) {
        self.open_session_with(SessionChange::default());
    }

    /// Like [`Scene::open_session`], with session parameters for the agent.
    pub fn open_session_with(&mut self, change: SessionChange) {
        let call = self.create_with(change);
        self.answer("initialize", FULL);
        self.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert!(self.replies[&call].is_ok());
    }

    /// Opens the session, and starts a first turn whose prompt the agent has received.
    pub fn open_turn(&mut self) {
        self.open_session();
        self.prompt("do it");
    }

    /// The agent writes a line.
    pub fn says(&mut self, line: &str) {
        self.says_bytes(line.as_bytes());
    }

    /// The agent writes bytes that may not be valid text.
    pub fn says_bytes(&mut self, line: &[u8]) {
        self.hears(&Line::Whole(line));
    }

    /// The agent's stdout delivers bytes, which may contain several lines or parts of one.
    pub fn streams(&mut self, bytes: &[u8], decoder: &mut LineDecoder) {
        decoder.push(bytes);
        while let Some(line) = decoder.next_line() {
            self.hears(&line);
        }
    }

    fn hears(&mut self, line: &Line<'_>) {
        for (id, method) in requests_in(line) {
            let id: Value = serde_json::from_str(&id).unwrap_or_default();
            let open = self.called.entry(id.to_string()).or_default();
            open.push(method);
            // Which of several requests with one id is answered, an agent cannot tell either.
            if open.len() > 1 {
                open.fill("_repeated".to_owned());
            }
        }
        let now = self.now;
        let agent = self.agent.as_mut().expect("a process runs");
        agent.handle_line(line, now);
        self.settle();
    }

    /// The agent sends an update in the usual form.
    pub fn update(&mut self, update: &str) {
        self.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","update":{update}}}}}"#
        ));
    }

    /// The agent sends a chunk of its message.
    pub fn chunk(&mut self, text: &str) {
        self.update(&message(text));
    }

    /// The agent sends a request with this `id`, which is JSON.
    pub fn calls(&mut self, id: &str, method: &str, params: &str) {
        self.says(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
    }

    /// The agent requests permission for its tool call `tool`, with options of all four kinds.
    pub fn asks_permission(&mut self, id: &str, tool: &str) {
        let options = concat!(
            r#"[{"optionId":"aa","name":"Always","kind":"allow_always"},{"optionId":"ao","name":"Once","kind":"allow_once"},"#,
            r#"{"optionId":"ro","name":"No","kind":"reject_once"},{"optionId":"ra","name":"Never","kind":"reject_always"}]"#
        );
        let call = format!(r#"{{"toolCallId":"{tool}","title":"rm x","kind":"execute","status":"pending"}}"#);
        let params = format!(r#"{{"sessionId":"{SESSION}","toolCall":{call},"options":{options}}}"#);
        self.calls(id, "session/request_permission", &params);
    }

    /// Returns the id of the oldest open request of `method` to the agent.
    pub fn open_request(&self, method: &str) -> u64 {
        let found = self.open.iter().find(|(_, open)| *open == method);
        *found
            .unwrap_or_else(|| panic!("no open {method}: {:?}", self.open))
            .0
    }

    /// Returns whether a request of `method` to the agent is open.
    pub fn awaits(&self, method: &str) -> bool {
        self.open.values().any(|open| open == method)
    }

    /// The agent responds to the open request of `method`. If it is a prompt, its turn ends.
    pub fn answer(&mut self, method: &str, result: &str) {
        let id = self.open_request(method);
        self.open.remove(&id);
        self.says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        self.end_tail(method);
    }

    /// The agent responds to the prompt. Its turn is still open.
    pub fn answers_prompt(&mut self, reason: &str) {
        let id = self.open_request("session/prompt");
        self.open.remove(&id);
        self.says(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"{reason}"}}}}"#
        ));
    }

    /// Lets the time pass for which a turn stays open after the response to its prompt.
    fn end_tail(&mut self, method: &str) {
        if method == "session/prompt" && self.tail > 0 {
            self.later(self.tail);
        }
    }

    /// The agent responds to the open request of `method` with an error.
    pub fn refuse(&mut self, method: &str, code: i64, text: &str) {
        self.refuse_with(method, &format!(r#"{{"code":{code},"message":"{text}"}}"#));
    }

    /// Like [`Scene::refuse`], with exactly this error object.
    pub fn refuse_with(&mut self, method: &str, error: &str) {
        let id = self.open_request(method);
        self.open.remove(&id);
        self.says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
        self.end_tail(method);
    }

    /// The agent ends the turn.
    pub fn stops_with(&mut self, reason: &str) {
        self.answer("session/prompt", &format!(r#"{{"stopReason":"{reason}"}}"#));
    }

    /// The agent responds to the request `id` with its own line.
    pub fn says_answer(&mut self, id: u64, line: &str) {
        self.open.remove(&id);
        self.says(line);
    }

    /// The agent responds to its open prompt with this line, in which `ID` stands for the id.
    pub fn answers_prompt_with(&mut self, line: &[u8]) {
        let id = self.open_request("session/prompt");
        let at = line
            .windows(2)
            .position(|two| two == b"ID")
            .expect("the line has an ID");
        self.open.remove(&id);
        self.says_bytes(&[&line[..at], id.to_string().as_bytes(), &line[at + 2..]].concat());
    }

    /// The agent responds to nothing that it was sent so far.
    pub fn forgets_requests(&mut self) {
        self.open.clear();
    }

    /// Returns the open prompt and its turn.
    pub fn open_prompt(&self) -> Option<(u64, TurnId)> {
        let (id, _) = self.open.iter().find(|(_, method)| *method == "session/prompt")?;
        Some((*id, self.prompts[id]))
    }

    /// The agent's process exits.
    pub fn exits(&mut self, reason: &str) {
        self.agent = None;
        self.waiting.clear();
        let (reason, stderr) = (reason.to_owned(), "last words\n".to_owned());
        self.handle(Input::AgentExited(AgentExit { reason, stderr }));
    }

    /// Completes the oldest pending host call.
    pub fn host_replies(&mut self, result: Result<HostReply, Failure>) {
        let (call, _) = self.waiting.remove(0);
        self.handle(Input::Host { call, result });
    }

    /// Delivers an event of a terminal.
    pub fn terminal_says(&mut self, terminal_id: &str, event: TerminalEvent) {
        let terminal_id = terminal_id.to_owned();
        self.handle(Input::Terminal { terminal_id, event });
    }
}
