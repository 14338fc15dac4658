//! One turn, in a thread of its own: what a scenario works with.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::calls::{Calls, Signal};
use crate::out::Out;
use crate::session::{Shared, lock};
use crate::wire::{self, Answer, RpcError};

/// How a turn ends before its last step.
#[derive(Debug)]
pub enum End {
    /// With this stop reason.
    Stop(String),
    /// With an error as the answer to the prompt.
    Fail(RpcError),
}

impl End {
    /// The client wanted it so.
    pub fn cancelled() -> Self {
        Self::Stop("cancelled".into())
    }
}

/// Whether a scenario goes on.
pub type Flow = Result<(), End>;

/// What the person chose.
#[derive(Debug)]
pub enum Choice {
    /// The option of this id.
    Option(String),
    /// The client could not ask.
    Failed(RpcError),
}

/// What the main loop must know to start a turn, and to end it.
#[derive(Debug)]
pub struct Outcome {
    /// The prompt's answer.
    pub answer: Answer,
    /// Messages to send after the answer, each after a pause in milliseconds.
    pub late: Vec<(u64, Value)>,
    /// Exit with this code once the answer is out.
    pub exit: Option<i32>,
}

/// A running turn.
#[derive(Debug)]
pub struct Turn {
    /// The session's id.
    pub id: String,
    /// The session's working directory.
    pub cwd: String,
    /// The session itself.
    pub session: Shared,
    /// The prompt's content blocks.
    pub prompt: Vec<Value>,
    /// The pause between the demo's chunks, in milliseconds.
    pub pace: u64,
    /// Whether the client knows boolean options.
    pub booleans: bool,
    /// Whether a cancel does not end the turn.
    pub deaf: bool,
    /// See [`Outcome::late`].
    pub late: Vec<(u64, Value)>,
    /// See [`Outcome::exit`].
    pub exit: Option<i32>,
    number: u64,
    tools: u64,
    cancelled: bool,
    /// What the person said in mid-turn and no step has taken.
    steered: VecDeque<String>,
    out: Arc<Out>,
    calls: Arc<Calls>,
    inbox: Receiver<Signal>,
    signals: Sender<Signal>,
    answers: HashMap<u64, Answer>,
}

impl Turn {
    /// The turn for a prompt of this session, which has been counted already; it is not started yet.
    pub fn new(session: &Shared, prompt: Vec<Value>, out: &Arc<Out>, calls: &Arc<Calls>) -> Self {
        let (signals, inbox) = channel();
        let (id, cwd, number) = {
            let session = lock(session);
            (session.id.clone(), session.cwd.clone(), session.turns)
        };
        Self {
            id,
            cwd,
            session: session.clone(),
            prompt,
            pace: 0,
            booleans: false,
            deaf: false,
            late: Vec::new(),
            exit: None,
            number,
            tools: 0,
            cancelled: false,
            steered: VecDeque::new(),
            out: out.clone(),
            calls: calls.clone(),
            inbox,
            signals,
            answers: HashMap::new(),
        }
    }

    /// Where to send a cancel.
    pub fn signals(&self) -> Sender<Signal> {
        self.signals.clone()
    }

    /// The text blocks of the prompt.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.prompt
            .iter()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|block| block.get("text")?.as_str())
    }

    /// An absolute path, from one that is relative to the working directory or absolute.
    pub fn path(&self, path: &str) -> String {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.cwd.trim_end_matches('/'))
        }
    }

    /// A tool call id that this session has not had.
    pub fn tool_id(&mut self) -> String {
        self.tools += 1;
        format!("call-{}-{}", self.number, self.tools)
    }

    /// Sends a `session/update`.
    pub fn update(&self, update: &Value) {
        self.out.send(&wire::update(&self.id, update));
    }

    /// Sends a message that is no update.
    pub fn send(&self, message: &Value) {
        self.out.send(message);
    }

    /// Sends bytes as they are.
    pub fn raw(&self, bytes: &[u8]) {
        self.out.raw(bytes);
    }

    /// Adds a piece of the answer to the session's history.
    pub fn remember(&self, text: &str) {
        lock(&self.session).said(text);
    }

    /// Sends one piece of the answer, and remembers it.
    pub fn say(&self, text: &str) {
        self.remember(text);
        self.update(&wire::chunk("agent_message_chunk", &wire::text(text)));
    }

    /// Sends one piece of a thought.
    pub fn think(&self, text: &str) {
        self.update(&wire::chunk("agent_thought_chunk", &wire::text(text)));
    }

    /// Sends a sparse update of a tool call.
    pub fn tool_update(&self, id: &str, fields: Value) {
        let mut update = fields;
        update["sessionUpdate"] = json!("tool_call_update");
        update["toolCallId"] = json!(id);
        self.update(&update);
    }

    /// Waits, unless the turn is cancelled. With 0 it only looks whether it is.
    pub fn pause(&mut self, ms: u64) -> Flow {
        // A time that no clock can name is as good as for ever.
        let until = Instant::now().checked_add(Duration::from_millis(ms));
        loop {
            while let Ok(signal) = self.inbox.try_recv() {
                self.take(signal);
            }
            if self.cancelled && !self.deaf {
                return Err(End::cancelled());
            }
            let left = until.map_or(Duration::MAX, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Ok(());
            }
            if let Ok(signal) = self.inbox.recv_timeout(left) {
                self.take(signal);
            }
        }
    }

    /// Waits for words in mid-turn, unless the turn is cancelled.
    pub fn words(&mut self) -> Result<String, End> {
        loop {
            if let Some(words) = self.steered.pop_front() {
                return Ok(words);
            }
            if self.cancelled && !self.deaf {
                return Err(End::cancelled());
            }
            match self.inbox.recv() {
                Ok(signal) => self.take(signal),
                Err(_) => return Err(End::cancelled()),
            }
        }
    }

    /// Sends a request to the client; the session id is added to its params.
    pub fn ask(&self, method: &str, params: Value) -> u64 {
        let mut params = params;
        params["sessionId"] = json!(self.id);
        let id = self.calls.open(&self.signals);
        self.out.send(&wire::request(id, method, &params));
        id
    }

    /// Waits for an answer, cancelled or not: a client owes one in any case, and one that forgets it must not
    /// get away with it.
    pub fn answer(&mut self, call: u64) -> Answer {
        self.wait(call, false)
            .unwrap_or_else(|| Err(RpcError::new(wire::INTERNAL_ERROR, "the connection is gone")))
    }

    /// Waits for an answer or a cancel; `None` if the latter came first.
    pub fn answer_or_cancel(&mut self, call: u64) -> Option<Answer> {
        self.wait(call, true)
    }

    /// Asks and waits.
    pub fn call(&mut self, method: &str, params: Value) -> Answer {
        let call = self.ask(method, params);
        self.answer(call)
    }

    /// Asks for permission. A cancelled question ends the turn.
    pub fn permission(&mut self, tool_call: &Value, options: &Value) -> Result<Choice, End> {
        let params = json!({ "toolCall": tool_call, "options": options });
        let answer = match self.call("session/request_permission", params) {
            Ok(answer) => answer,
            Err(error) => return Ok(Choice::Failed(error)),
        };
        let outcome = &answer["outcome"];
        match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
            (Some("cancelled"), _) => Err(End::cancelled()),
            (Some("selected"), Some(option)) => Ok(Choice::Option(option.to_owned())),
            _ => Err(End::Fail(RpcError::params(format!(
                "no permission outcome: {answer}"
            )))),
        }
    }

    /// Packs up what is left to do after the last step.
    pub fn finish(self, flow: Flow) -> Outcome {
        let answer = match flow {
            Ok(()) => Ok(json!({ "stopReason": "end_turn" })),
            Err(End::Stop(reason)) => Ok(json!({ "stopReason": reason })),
            Err(End::Fail(error)) => Err(error),
        };
        Outcome {
            answer,
            late: self.late,
            exit: self.exit,
        }
    }

    fn wait(&mut self, call: u64, until_cancel: bool) -> Option<Answer> {
        loop {
            if let Some(answer) = self.answers.remove(&call) {
                return Some(answer);
            }
            if until_cancel && self.cancelled && !self.deaf {
                return None;
            }
            let signal = self.inbox.recv().ok()?;
            self.take(signal);
        }
    }

    fn take(&mut self, signal: Signal) {
        match signal {
            Signal::Cancel => self.cancelled = true,
            Signal::Steer(words) => self.steered.push_back(words),
            Signal::Answer(call, answer) => {
                self.answers.insert(call, answer);
            }
        }
    }
}
