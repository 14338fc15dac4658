//! One turn on its own thread: what the script of a turn can do.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::calls::{Calls, Signal};
use crate::out::Out;
use crate::session::{Shared, lock};
use crate::wire::{self, RpcError, RpcResult};

/// The reason why a turn ends before its last step.
#[derive(Debug)]
pub enum End {
    /// Respond to the prompt with this stop reason.
    Stop(String),
    /// Respond to the prompt with an error.
    Fail(RpcError),
}

impl End {
    /// Returns the stop reason of a cancelled turn.
    pub fn cancelled() -> Self {
        Self::Stop("cancelled".into())
    }
}

/// Whether a turn continues.
pub type Flow = Result<(), End>;

/// Returns the response to the prompt of a turn that has ended this way.
pub fn response(flow: Flow) -> RpcResult {
    match flow {
        Ok(()) => Ok(json!({ "stopReason": "end_turn" })),
        Err(End::Stop(reason)) => Ok(json!({ "stopReason": reason })),
        Err(End::Fail(error)) => Err(error),
    }
}

/// The user's choice in a permission request.
#[derive(Debug)]
pub enum Choice {
    /// The option with this id.
    Option(String),
    /// The client returned an error.
    Failed(RpcError),
}

/// A running turn.
#[derive(Debug)]
pub struct Turn {
    /// The session's id.
    pub id: String,
    /// The session's working directory.
    pub cwd: String,
    /// The turn's session.
    pub session: Shared,
    /// The prompt's content blocks.
    pub prompt: Vec<Value>,
    /// The pause between chunks of text, in milliseconds.
    pub pace: u64,
    /// Whether the turn ignores cancellations.
    pub deaf: bool,
    /// The id of the messages of the turn, if the agent gives them one.
    pub message_id: Option<String>,
    number: u64,
    tools: u64,
    cancelled: bool,
    /// Messages that the user sent during the turn, and no step has read.
    steered: VecDeque<String>,
    out: Arc<Out>,
    calls: Arc<Calls>,
    inbox: Receiver<Signal>,
    signals: Sender<Signal>,
    answers: HashMap<u64, RpcResult>,
}

impl Turn {
    /// Creates the turn for a prompt that the session has already counted; does not start it.
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
            deaf: false,
            message_id: None,
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

    /// Returns the sender for cancellations and responses.
    pub fn signals(&self) -> Sender<Signal> {
        self.signals.clone()
    }

    /// Returns the text blocks of the prompt.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.prompt
            .iter()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|block| block.get("text")?.as_str())
    }

    /// Returns an absolute path; resolves a relative one against the working directory.
    pub fn path(&self, path: &str) -> String {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.cwd.trim_end_matches('/'))
        }
    }

    /// Returns a new tool call id, unique in this session.
    pub fn tool_id(&mut self) -> String {
        self.tools += 1;
        format!("call-{}-{}", self.number, self.tools)
    }

    /// Sends a `session/update`.
    pub fn update(&self, update: &Value) {
        self.out.send(&wire::update(&self.id, update));
    }

    /// Sends any other message.
    pub fn send(&self, message: &Value) {
        self.out.send(message);
    }

    /// Sends bytes unchanged.
    pub fn raw(&self, bytes: &[u8]) {
        self.out.raw(bytes);
    }

    /// Adds a chunk of the answer to the session's history.
    pub fn remember(&self, text: &str) {
        lock(&self.session).said(text);
    }

    /// Sends one chunk of the answer, and adds it to the history.
    pub fn say(&self, text: &str) {
        self.remember(text);
        let mut update = wire::chunk("agent_message_chunk", &wire::text(text));
        if let Some(id) = &self.message_id {
            update["messageId"] = json!(id);
        }
        self.update(&update);
    }

    /// Sends one chunk of a thought.
    pub fn think(&self, text: &str) {
        self.update(&wire::chunk("agent_thought_chunk", &wire::text(text)));
    }

    /// Sends a partial update of a tool call.
    pub fn tool_update(&self, id: &str, fields: Value) {
        let mut update = fields;
        update["sessionUpdate"] = json!("tool_call_update");
        update["toolCallId"] = json!(id);
        self.update(&update);
    }

    /// Waits, unless the turn is cancelled. With 0 it only checks for a cancellation.
    pub fn pause(&mut self, ms: u64) -> Flow {
        // A time that overflows the clock means forever.
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

    /// Waits for a message of the user during the turn, unless the turn is cancelled.
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

    /// Sends a request to the client, with the session id added to its params; returns its id.
    pub fn ask(&self, method: &str, params: Value) -> u64 {
        let mut params = params;
        params["sessionId"] = json!(self.id);
        let id = self.calls.open(&self.signals);
        self.out.send(&wire::request(id, method, &params));
        id
    }

    /// Waits for a response, even after a cancellation: a client must always respond, and one that does not must fail
    /// the test.
    pub fn answer(&mut self, call: u64) -> RpcResult {
        self.wait(call, false)
            .unwrap_or_else(|| Err(RpcError::new(wire::INTERNAL_ERROR, "the connection is gone")))
    }

    /// Waits for a response or a cancellation; `None` if the cancellation came first.
    pub fn answer_or_cancel(&mut self, call: u64) -> Option<RpcResult> {
        self.wait(call, true)
    }

    /// Sends a request and waits for its response.
    pub fn call(&mut self, method: &str, params: Value) -> RpcResult {
        let call = self.ask(method, params);
        self.answer(call)
    }

    /// Requests permission. A cancelled request ends the turn.
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

    fn wait(&mut self, call: u64, until_cancel: bool) -> Option<RpcResult> {
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
