//! The state machine of a shared process, with the events of each thread.

use std::collections::BTreeMap;
use std::time::Duration;

use acpd_model::{RawJson, TurnId};
use acpd_proto::agent::{
    AcpVersion, AgentCommand, AgentEvent, Chunk, ChunkContent, Seat, SeatEvent, SharedAgent, Start,
    UpdateKind,
};
use acpd_proto::time::Now;
use acpd_proto::wire::Line;
use serde_json::{Value, json};

use crate::support::{message, schema};

const GRACE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_mins(1);

/// The state machine of a shared process, and the events that each thread has received.
pub struct Stage {
    pub agent: SharedAgent,
    pub now: Now,
    /// The lines that the process received, in order.
    sent: Vec<Value>,
    /// The number of lines that [`Stage::next`] has returned.
    looked: usize,
    heard: BTreeMap<Seat, Vec<AgentEvent>>,
    pub left: Vec<Seat>,
    /// The agent's open requests: id → method.
    called: BTreeMap<String, String>,
}

impl Stage {
    pub fn new() -> Self {
        Self {
            agent: SharedAgent::new(GRACE),
            now: Now {
                mono: Duration::from_secs(5),
                wall: 1_700_000_000_000,
            },
            sent: Vec::new(),
            looked: 0,
            heard: BTreeMap::new(),
            left: Vec::new(),
            called: BTreeMap::new(),
        }
    }

    /// Collects all output. Every line must be valid ACP.
    pub fn settle(&mut self) {
        while let Some((seat, news)) = self.agent.poll_event() {
            assert!(!self.left.contains(&seat), "nothing follows the end");
            match news {
                SeatEvent::Events(mut events) => {
                    events.retain(|event| !matches!(event, AgentEvent::ResumeStarted(_)));
                    if !events.is_empty() {
                        self.heard.entry(seat).or_default().append(&mut events);
                    }
                }
                SeatEvent::Left => self.left.push(seat),
            }
        }
        let writes = String::from_utf8(self.agent.take_writes()).unwrap();
        for line in writes.split_inclusive('\n') {
            let line = line.strip_suffix('\n').expect("whole lines");
            let line: Value = serde_json::from_str(line).unwrap();
            let answers = match line.get("method") {
                Some(_) => None,
                None => Some(
                    self.called
                        .remove(&line["id"].to_string())
                        .expect("it asked that"),
                ),
            };
            schema::check_sent(AcpVersion::One, &line, answers.as_deref());
            if line["method"].is_string() && line.get("id").is_some() {
                let known = self
                    .sent
                    .iter()
                    .any(|sent| sent["id"] == line["id"] && sent["method"].is_string());
                assert!(!known, "an id is used once in a process: {line}");
            }
            self.sent.push(line);
        }
    }

    pub fn join_as(&mut self, cwd: &str, earlier: Option<&str>) -> Seat {
        self.join_with(Start {
            earlier_session: earlier.map(str::to_owned),
            ..Start::new("demo", cwd, PATIENCE)
        })
    }

    /// Adds a thread whose session is a copy of another thread's.
    pub fn join_copy(&mut self, copy: &str) -> Seat {
        self.join_with(Start {
            earlier_session: Some(copy.to_owned()),
            is_copy: true,
            ..Start::new("demo", "/workspace", PATIENCE)
        })
    }

    fn join_with(&mut self, start: Start) -> Seat {
        let seat = self.agent.join(start, self.now);
        self.settle();
        seat
    }

    pub fn join(&mut self) -> Seat {
        self.join_as("/workspace", None)
    }

    /// Adds a thread with an open session.
    pub fn opened(&mut self, session: &str) -> Seat {
        let seat = self.join();
        if self.agent_has_not_met_us() {
            self.greets();
        }
        self.opens(session);
        self.heard.remove(&seat);
        seat
    }

    pub fn agent_has_not_met_us(&self) -> bool {
        self.sent.len() == 1
    }

    pub fn command(&mut self, seat: Seat, command: AgentCommand) {
        self.agent.handle_command(seat, command, self.now);
        self.settle();
    }

    pub fn prompt(&mut self, seat: Seat, turn: u32) -> Value {
        let prompt = vec![RawJson::parse(r#"{"type":"text","text":"do it"}"#).unwrap()];
        let turn = TurnId(turn);
        self.command(
            seat,
            AgentCommand::Prompt {
                turn,
                prompt,
                meta: None,
            },
        );
        self.next("session/prompt")
    }

    pub fn answers_call(&mut self, seat: Seat, call: u64, result: &Value) {
        let result = Ok(RawJson::from(result));
        self.command(seat, AgentCommand::Answer { call, result });
    }

    pub fn leave(&mut self, seat: Seat) {
        self.agent.leave(seat, self.now);
        self.settle();
    }

    pub fn later(&mut self, millis: u64) {
        self.now.mono += Duration::from_millis(millis);
        self.agent.handle_timeout(self.now);
        self.settle();
        assert!(self.agent.poll_timeout().is_none_or(|at| at > self.now.mono));
    }

    pub fn says(&mut self, line: &str) {
        if let Ok(message) = serde_json::from_str::<Value>(line)
            && let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id"))
        {
            self.called.insert(id.to_string(), method.to_owned());
        }
        self.agent.handle_line(&Line::Whole(line.as_bytes()), self.now);
        self.settle();
    }

    pub fn notifies(&mut self, method: &str, params: &Value) {
        self.says(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    pub fn calls(&mut self, id: &Value, method: &str, params: &Value) {
        self.says(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
    }

    pub fn chunk(&mut self, session: &str, text: &str) {
        let update = message(text);
        self.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{update}}}}}"#
        ));
    }

    pub fn answer(&mut self, to: &Value, result: &Value) {
        self.says(&json!({ "jsonrpc": "2.0", "id": to["id"], "result": result }).to_string());
    }

    pub fn refuse(&mut self, to: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.says(&json!({ "jsonrpc": "2.0", "id": to["id"], "error": error }).to_string());
    }

    pub fn greets(&mut self) {
        let hello = self.next("initialize");
        self.answer(
            &hello,
            &hello_of(&json!({ "close": {}, "resume": {}, "fork": {} })),
        );
    }

    /// The agent opens the next new session.
    pub fn opens(&mut self, session: &str) {
        let new = self.next("session/new");
        self.answer(&new, &json!({ "sessionId": session }));
    }

    pub fn next_is(&self) -> Option<&Value> {
        self.sent.get(self.looked)
    }

    /// Returns the next line that the process received, which must have this method.
    pub fn next(&mut self, method: &str) -> Value {
        let line = self
            .next_is()
            .unwrap_or_else(|| panic!("no {method} was sent"))
            .clone();
        assert_eq!(line["method"], method, "{line}");
        self.looked += 1;
        line
    }

    /// Returns the next line, which must be the response to this request of the agent.
    pub fn next_answer(&mut self, id: &Value) -> Value {
        let line = self.next_is().expect("it was answered").clone();
        assert_eq!((&line["id"], line.get("method")), (id, None), "{line}");
        self.looked += 1;
        line
    }

    pub fn nothing_was_sent(&self) {
        assert_eq!(self.next_is(), None);
    }

    pub fn take(&mut self, seat: Seat) -> Vec<AgentEvent> {
        self.heard.remove(&seat).unwrap_or_default()
    }

    /// Returns the agent's text to a thread, and checks that there is no other event.
    pub fn said(&mut self, seat: Seat) -> String {
        let text = |event: AgentEvent| match event {
            AgentEvent::Update(update) => match update.kind {
                UpdateKind::Chunk(Chunk {
                    content: ChunkContent::Text(text),
                    ..
                }) => text,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        self.take(seat).into_iter().map(text).collect()
    }

    pub fn only(&mut self, seat: Seat) -> AgentEvent {
        let mut events = self.take(seat);
        assert_eq!(events.len(), 1, "{events:?}");
        events.remove(0)
    }

    pub fn called(&mut self, seat: Seat) -> u64 {
        match self.only(seat) {
            AgentEvent::CallbackReceived { call, .. } => call,
            other => panic!("{other:?}"),
        }
    }

    pub fn silent(&self) {
        assert!(self.heard.is_empty(), "{:?}", self.heard);
    }
}

pub fn hello_of(session: &Value) -> Value {
    json!({ "protocolVersion": 1, "agentInfo": { "name": "fake", "version": "1" },
        "agentCapabilities": { "loadSession": true, "sessionCapabilities": session } })
}

pub fn read_params(session: &str) -> Value {
    json!({ "sessionId": session, "path": "/workspace/x" })
}

/// Returns two threads with open sessions.
pub fn two() -> (Stage, Seat, Seat) {
    let mut s = Stage::new();
    let a = s.opened("s-a");
    let b = s.opened("s-b");
    s.nothing_was_sent();
    s.silent();
    (s, a, b)
}
