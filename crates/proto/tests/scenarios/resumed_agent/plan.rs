//! What happens between a thread and its agent, and what a connection that is never interrupted makes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use acpd_model::{RawJson, TurnId};
use acpd_proto::agent::{AgentCommand, AgentConnection, AgentEvent, AgentRequest, Start};
use acpd_proto::time::Now;
use acpd_proto::wire::{Line, Message, RpcError};

/// A part of it.
#[derive(Debug, Clone)]
pub enum Step {
    /// The agent writes a line.
    Line(Vec<u8>),
    /// The thread gives a command.
    Command(AgentCommand),
    /// So many milliseconds pass.
    Wait(u64),
}

/// A step, and the number of steps that the log had before it: a thread gives a command because of something that is stored.
#[derive(Debug, Clone)]
pub struct Planned {
    pub step: Step,
    pub after: usize,
}

/// All steps of a connection whose session is open, and the output of one that is never interrupted.
#[derive(Debug)]
pub struct Plan {
    pub start: Start,
    /// The connection before the first step.
    pub memo: String,
    pub now: Now,
    pub steps: Vec<Planned>,
    pub events: Vec<AgentEvent>,
    pub lines: Vec<String>,
}

/// Carries out a step.
pub fn apply(connection: &mut AgentConnection, step: &Step, now: &mut Now) {
    match step {
        Step::Line(line) => connection.handle_line(&Line::Whole(line), *now),
        Step::Command(command) => connection.handle_command(command.clone(), *now),
        Step::Wait(millis) => {
            now.mono += Duration::from_millis(*millis);
            now.wall += i64::try_from(*millis).unwrap();
            connection.handle_timeout(*now);
        }
    }
}

/// Takes the lines that a connection has written.
pub fn written(connection: &mut AgentConnection) -> Vec<String> {
    let writes = String::from_utf8(connection.take_writes()).unwrap();
    writes.lines().map(str::to_owned).collect()
}

/// Plays the steps as they are added.
pub struct Player {
    plan: Plan,
    connection: AgentConnection,
    now: Now,
    /// The agent's open requests: our number, the agent's id, and the number of steps with its line.
    calls: BTreeMap<u64, (String, usize)>,
    /// The requests that the agent has received and not answered.
    pub requests: Vec<(u64, String)>,
    turn: Option<TurnId>,
    turns: u32,
    /// Whether the prompt of the turn was cancelled.
    is_cancelled: bool,
    asks: u64,
    /// The number of steps with the end of the last turn, with the last request that was withdrawn, and with the last pause.
    turn_end: usize,
    withdrawn: usize,
    pause: usize,
    /// Whether a command comes after all lines before it.
    in_order: bool,
}

impl Player {
    /// Opens the session of an agent with these answers.
    pub fn open(start: Start, hello: &str, session: &str, in_order: bool) -> Self {
        let mut now = Now {
            mono: Duration::from_secs(1_000_000),
            wall: 1_700_000_000_000,
        };
        let mut connection = AgentConnection::new(start.clone(), now);
        for (id, result) in [hello, session].into_iter().enumerate() {
            assert!(!connection.is_resumable());
            assert_eq!(written(&mut connection).len(), 1);
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            apply(&mut connection, &Step::Line(line.into()), &mut now);
        }
        let events = connection.take_events();
        assert!(matches!(events[0], AgentEvent::Opened(_)), "{events:?}");
        assert!(connection.is_resumable());
        let plan = Plan {
            start,
            memo: serde_json::to_string(&connection.memo(now)).unwrap(),
            now,
            steps: Vec::new(),
            events: Vec::new(),
            lines: Vec::new(),
        };
        Self {
            plan,
            connection,
            now,
            calls: BTreeMap::new(),
            requests: Vec::new(),
            turn: None,
            turns: 0,
            is_cancelled: false,
            asks: 0,
            turn_end: 0,
            withdrawn: 0,
            pause: 0,
            in_order,
        }
    }

    fn add(&mut self, step: Step, after: usize) {
        let before = self.plan.steps.len();
        apply(&mut self.connection, &step, &mut self.now);
        let events = self.connection.take_events();
        let is_command = matches!(step, Step::Command(_));
        // What a command causes at once is not between two lines.
        let after = if is_command && (self.in_order || !events.is_empty()) {
            before
        } else {
            after.max(self.pause)
        };
        for event in &events {
            self.note(event, before + 1);
        }
        for line in written(&mut self.connection) {
            if let Ok(Message::Request { id, method, .. }) = Message::parse(&line) {
                self.requests
                    .push((id.get().parse().unwrap(), method.to_string()));
            }
            self.plan.lines.push(line);
        }
        self.plan.events.extend(events);
        self.plan.steps.push(Planned { step, after });
    }

    fn note(&mut self, event: &AgentEvent, steps: usize) {
        match event {
            AgentEvent::Subagent { event, .. } => self.note(event, steps),
            AgentEvent::CallbackReceived { call, .. } | AgentEvent::CallbackRefused { call, .. } => {
                self.calls.insert(*call, (String::new(), steps));
            }
            AgentEvent::PromptEnded { .. } => (self.turn, self.turn_end) = (None, steps),
            _ => {}
        }
    }

    /// The agent writes a line.
    pub fn line(&mut self, line: &[u8]) {
        let before: Vec<u64> = self.calls.keys().copied().collect();
        self.add(Step::Line(line.to_vec()), 0);
        let text = std::str::from_utf8(line).unwrap_or_default();
        let id = match Message::parse(text) {
            Ok(Message::Request { id, .. }) => id.get().to_owned(),
            _ => String::new(),
        };
        for (call, (known, _)) in &mut self.calls {
            if !before.contains(call) {
                known.clone_from(&id);
            }
        }
        if line.windows(16).any(|part| part == b"$/cancel_request") {
            self.withdrawn = self.plan.steps.len();
        }
    }

    /// The agent sends an update.
    pub fn update(&mut self, session: &str, update: &str) {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{update}}}}}"#
        );
        self.line(line.as_bytes());
    }

    /// The agent answers one of its open requests.
    pub fn reply(&mut self, at: usize, answer: &str) {
        if !self.requests.is_empty() {
            let (id, _) = self.requests.remove(at % self.requests.len());
            self.line(format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#).as_bytes());
        }
    }

    pub fn command(&mut self, command: AgentCommand) {
        self.add(Step::Command(command), 0);
    }

    /// The thread closes the session, unless it did.
    pub fn close(&mut self) {
        let is_close = |planned: &Planned| matches!(planned.step, Step::Command(AgentCommand::Close));
        if !self.plan.steps.iter().any(is_close) {
            self.command(AgentCommand::Close);
        }
    }

    /// The thread cancels the prompt, once.
    pub fn cancel(&mut self) {
        if self.turn.is_some() && !std::mem::replace(&mut self.is_cancelled, true) {
            self.command(AgentCommand::Cancel);
        }
    }

    pub fn ask(&mut self, request: AgentRequest) {
        self.asks += 1;
        let ask = self.asks;
        self.command(AgentCommand::Request { ask, request });
    }

    /// The thread sends a prompt, unless a turn runs. Returns whether it did.
    pub fn prompt(&mut self, blocks: Vec<RawJson>) -> bool {
        if self.turn.is_some() {
            return false;
        }
        self.turns += 1;
        let turn = TurnId(self.turns);
        self.turn = Some(turn);
        self.is_cancelled = false;
        let command = AgentCommand::Prompt {
            turn,
            prompt: blocks,
            meta: None,
        };
        self.add(Step::Command(command), self.turn_end);
        true
    }

    /// The thread answers a callback: the oldest one with the same id, if the agent repeats ids.
    pub fn answer(&mut self, at: usize, result: Result<RawJson, RpcError>) {
        let Some((id, _)) = self.calls.values().nth(at % self.calls.len().max(1)).cloned() else {
            return;
        };
        let oldest = self.calls.iter().find(|(_, (known, _))| *known == id);
        if let Some((call, (_, received))) = oldest.map(|(call, known)| (*call, known.clone())) {
            self.calls.remove(&call);
            let after = received.max(self.withdrawn);
            self.add(Step::Command(AgentCommand::Answer { call, result }), after);
        }
    }

    /// The thread answers the callback with this id.
    pub fn answer_to(&mut self, id: &str, result: Result<RawJson, RpcError>) {
        if let Some(at) = self.calls.values().position(|(known, _)| known == id) {
            self.answer(at, result);
        }
    }

    /// Returns whether a callback with this id is open.
    pub fn is_open(&self, id: &str) -> bool {
        self.calls.values().any(|(known, _)| known == id)
    }

    pub fn wait(&mut self, millis: u64) {
        let steps = self.plan.steps.len();
        self.add(Step::Wait(millis), steps);
        self.pause = steps + 1;
    }

    pub fn finish(self) -> Plan {
        self.plan
    }
}
