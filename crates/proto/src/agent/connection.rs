//! The connection to one agent process, from `initialize` to its end.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use acpd_model::limits::{MALFORMED_BYTES, SIGN_IN_SECS};
use acpd_model::{Failure, RawJson, TurnId, event::Binding};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::call::Call;
use super::capabilities::Capabilities;
use super::opening::{SignInRetry, method};
use super::quirks::Quirks;
use super::replay::SessionReplay;
use super::request::{AgentRequest, RequestContext};
use super::update::Update;
use crate::time::{Instant, Now, earliest};
use crate::wire::{self, Line, Message, Pending, RpcError};

/// The time limit for a user to sign in.
const SIGN_IN: Duration = Duration::from_secs(SIGN_IN_SECS);

/// The names of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentNames {
    /// The name that commands and requests use.
    pub id: String,
    /// The name that clients display.
    pub title: String,
}

impl From<&str> for AgentNames {
    fn from(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: id.to_owned(),
        }
    }
}

/// The parameters for opening a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The agent's names, for messages to the user.
    pub names: Box<AgentNames>,
    /// The absolute working directory.
    pub cwd: String,
    /// Additional directories of the workspace.
    pub additional_directories: Vec<String>,
    /// ACP `McpServer` objects.
    pub mcp_servers: Vec<RawJson>,
    /// `_meta` of the request that opens the session; passed on unchanged.
    pub meta: Option<RawJson>,
    /// More members of the request that opens the session, as an object; passed on unchanged.
    pub members: Option<RawJson>,
    /// Whether the session is opened only after [`AgentCommand::Open`].
    pub pending_session: bool,
    /// The session to resume, if there was one.
    pub earlier_session: Option<String>,
    /// Methods that must not be used to resume that session, because they broke an earlier process.
    pub leave_out: Vec<Binding>,
    /// Whether another program created that session. Then no new session is opened in its place, and `session/load`
    /// is preferred because it replays the conversation.
    pub foreign: bool,
    /// The time limit for each step of the start.
    pub patience: Duration,
    /// Quirks of the agent from the configuration, in addition to the known ones.
    pub quirks: Quirks,
    /// The mode of a session in which no user has chosen one, from the configuration.
    pub mode: Option<String>,
}

impl Start {
    /// Starts a new session of `agent` in `cwd`, with defaults for all other parameters.
    pub fn new(agent: &str, cwd: impl Into<String>, patience: Duration) -> Self {
        Self {
            names: Box::new(AgentNames::from(agent)),
            cwd: cwd.into(),
            additional_directories: Vec::new(),
            mcp_servers: Vec::new(),
            meta: None,
            members: None,
            pending_session: false,
            earlier_session: None,
            leave_out: Vec::new(),
            foreign: false,
            patience,
            quirks: Quirks::default(),
            mode: None,
        }
    }
}

/// A command from the thread to the agent's connection.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentCommand {
    /// Opens the session of an agent that was started without one, see [`Start`].
    Open(Box<Start>),
    /// Sends a prompt.
    Prompt {
        /// The turn of the prompt; the response refers to it.
        turn: TurnId,
        /// ACP content blocks.
        prompt: Vec<RawJson>,
        /// `_meta` of the prompt; passed on unchanged.
        meta: Option<RawJson>,
    },
    /// Sends `session/cancel` for the running turn.
    Cancel,
    /// Sends another request; the response is [`AgentEvent::Answered`].
    Request {
        /// Identifies the request in the response.
        ask: u64,
        /// The request.
        request: AgentRequest,
    },
    /// Sends an extension notification.
    Notify {
        /// The method; its name begins with `_`.
        method: String,
        /// The params, passed on unchanged.
        params: Option<RawJson>,
    },
    /// Closes the agent's session, if the agent supports that. This ends the work that the session started; some
    /// agents end it only then.
    Close,
    /// Answers a callback.
    Answer {
        /// The number of the callback.
        call: u64,
        /// The result or the error.
        result: Result<RawJson, RpcError>,
    },
}

impl AgentCommand {
    /// Returns the size of the contents, in bytes. An answer counts as 0, because its callback has already reserved
    /// the memory.
    pub fn bytes(&self) -> usize {
        let of = |texts: &[RawJson]| texts.iter().map(|text| text.get().len()).sum::<usize>();
        match self {
            Self::Open(start) => {
                of(&start.mcp_servers) + of(start.meta.as_slice()) + of(start.members.as_slice())
            }
            Self::Prompt { prompt, meta, .. } => of(prompt) + of(meta.as_slice()),
            Self::Request { request, .. } => request.bytes(),
            Self::Notify { method, params } => method.len() + of(params.as_slice()),
            Self::Cancel | Self::Close | Self::Answer { .. } => 0,
        }
    }
}

/// An event from the agent's connection.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The agent answered `initialize` with this result, and the session is deferred.
    Initialized(RawJson),
    /// The session is open: the agent accepts prompts.
    Opened(Box<Opened>),
    /// A request to resume the earlier session with this method was sent.
    ResumeStarted(Binding),
    /// One method failed to resume the earlier session; the next one is tried.
    ResumeFailed {
        /// The failed method.
        how: Binding,
        /// The agent's error.
        error: RpcError,
        /// Whether the daemon made the error, because the agent did not answer in time.
        late: bool,
    },
    /// The agent opens no session until a client signs in with [`AgentRequest::Authenticate`].
    SignInRequired(Failure),
    /// The agent answered an [`AgentCommand::Request`].
    Answered {
        /// The number from the command.
        ask: u64,
        /// The result, or the agent's error.
        result: Result<RawJson, RpcError>,
    },
    /// The start of the agent failed; its process cannot be used.
    Failed(Failure),
    /// The agent sent an update.
    Update(Update),
    /// The agent replayed an update of the earlier conversation, while it resumes the session.
    Replayed(Update),
    /// The agent ended a turn.
    PromptEnded {
        /// The turn that ended.
        turn: TurnId,
        /// ACP's prompt response, or the agent's error.
        result: Result<RawJson, RpcError>,
    },
    /// The agent sent a request; the thread must answer with [`AgentCommand::Answer`].
    CallbackReceived {
        /// The connection's number for the callback.
        call: u64,
        /// The parsed request.
        request: Call,
        /// The agent's original params, if an editor can answer the request instead.
        params: Option<RawJson>,
    },
    /// The agent cancelled a callback.
    CallbackWithdrawn {
        /// The connection's number for the callback.
        call: u64,
    },
    /// The agent sent a request that cannot be parsed or is not supported; the thread must send
    /// [`AgentCommand::Answer`] with this error.
    CallbackRefused {
        /// The connection's number for the callback.
        call: u64,
        /// The request's method.
        method: String,
        /// The error for the agent.
        error: RpcError,
        /// The params, unchanged.
        params: Option<RawJson>,
    },
    /// The agent sent an update of a session that does not belong to this thread.
    Foreign {
        /// The params, unchanged.
        params: Option<RawJson>,
    },
    /// The agent sent a notification other than `session/update`.
    Notified {
        /// The notification's method.
        method: String,
        /// The params, unchanged.
        params: Option<RawJson>,
    },
    /// The shared process accepts no new threads and will end: an idle thread should unload its agent.
    Retiring,
    /// The agent sent an invalid message, or a response to an unknown request.
    Malformed {
        /// Why the line is invalid.
        reason: String,
        /// The line, truncated.
        text: String,
        /// The length of the whole line, in bytes.
        bytes: u64,
    },
}

/// An open session.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The agent's id for the session.
    pub session_id: String,
    /// The method that opened it.
    pub how: Binding,
    /// The result of `initialize`.
    pub agent: RawJson,
    /// The result of the method that opened the session.
    pub session: RawJson,
    /// The capabilities that the agent declared.
    pub capabilities: Capabilities,
    /// The configured mode, as in [`Start`].
    pub mode: Option<String>,
}

/// The request that a response belongs to.
#[derive(Debug)]
pub(super) enum Sent {
    Initialize,
    Open(Binding),
    /// An attempt to resume the earlier session that timed out: its response is ignored.
    GivenUp,
    Prompt(TurnId),
    Ask {
        ask: u64,
        signs_in: bool,
        method: String,
    },
    /// The response is ignored.
    Close,
}

/// The client side of ACP for one agent process with one session.
#[derive(Debug)]
pub struct AgentConnection {
    pub(super) start: Start,
    pub(super) pending: Pending<Sent>,
    /// Unanswered callbacks: our number → the agent's id, as the agent wrote it.
    calls: BTreeMap<u64, RawJson>,
    next_call: u64,
    /// The result of `initialize`.
    pub(super) agent: Option<RawJson>,
    pub(super) capabilities: Capabilities,
    pub(super) session: Option<String>,
    /// The earlier session, after all attempts to resume it failed. Later updates of it are ignored.
    pub(super) given_up: Option<String>,
    /// The prefix of a line that is an update of our session in the usual form.
    pub(super) prefix: String,
    /// Methods to open the session that were not tried yet.
    pub(super) remaining_bindings: VecDeque<Binding>,
    /// Detects updates that the agent replays from an earlier session and that the log already contains.
    pub(super) replay: SessionReplay,
    /// The session, while it is open but must not be used yet.
    pub(super) pending_session: Option<Opened>,
    /// Whether the opening waits until a client signs in.
    pub(super) waits_for_sign_in: bool,
    /// Whether a refused sign-in is tried once more, and when.
    pub(super) sign_in_retry: SignInRetry,
    failed: bool,
    events: Vec<AgentEvent>,
    writes: Vec<u8>,
}

impl AgentConnection {
    /// Creates a connection and starts the handshake.
    pub fn new(start: Start, now: Now) -> Self {
        Self::with_ids(start, 0, now)
    }

    /// Like `new`, but counts the ids of our requests from `first_id`.
    pub(super) fn with_ids(start: Start, first_id: u64, now: Now) -> Self {
        let mut connection = Self {
            start,
            pending: Pending::starting_at(first_id),
            calls: BTreeMap::new(),
            next_call: 0,
            agent: None,
            capabilities: Capabilities::default(),
            session: None,
            given_up: None,
            prefix: String::new(),
            remaining_bindings: VecDeque::new(),
            replay: SessionReplay::default(),
            pending_session: None,
            waits_for_sign_in: false,
            sign_in_retry: SignInRetry::default(),
            failed: false,
            events: Vec::new(),
            writes: Vec::new(),
        };
        connection.initialize(now.mono);
        connection
    }

    /// Handles one line of the agent's stdout.
    pub fn handle_line(&mut self, line: &Line<'_>, now: Now) {
        self.end_history(now);
        match line {
            Line::Whole(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.handle_text(text, now),
                Err(_) => self.malformed("not UTF-8", &String::from_utf8_lossy(bytes), bytes.len() as u64),
            },
            Line::TooLong { head, bytes } => {
                self.malformed("longer than the limit", &String::from_utf8_lossy(head), *bytes);
            }
        }
    }

    /// Carries out a command of the thread.
    pub fn handle_command(&mut self, command: AgentCommand, now: Now) {
        match command {
            AgentCommand::Request { ask, request } => self.ask(ask, &request, now),
            AgentCommand::Notify { method, params } => {
                let mut line = Vec::new();
                wire::notification_with(&mut line, &method, params.as_ref());
                self.write(line);
            }
            AgentCommand::Open(start) => self.open(*start, now),
            AgentCommand::Close => self.close(),
            AgentCommand::Prompt { turn, prompt, meta } => {
                let id = self.pending.open(Sent::Prompt(turn), None);
                let session = self.session.as_deref().unwrap_or_default();
                let mut line = Vec::new();
                wire::request(&mut line, id, "session/prompt", |params| {
                    params
                        .put("sessionId", session)
                        .put("prompt", &prompt)
                        .json("_meta", meta.as_ref());
                });
                self.write(line);
            }
            AgentCommand::Cancel => {
                let session = self.session.as_deref().unwrap_or_default();
                let mut line = Vec::new();
                wire::notification(&mut line, "session/cancel", |params| {
                    params.put("sessionId", session);
                });
                self.write(line);
            }
            AgentCommand::Answer { call, result } => {
                let Some(id) = self.calls.remove(&call) else {
                    return;
                };
                let mut line = Vec::new();
                match result {
                    Ok(result) => wire::response(&mut line, id.get(), result.get()),
                    Err(error) => wire::error_response(&mut line, id.get(), &error),
                }
                self.write(line);
            }
        }
    }

    /// Expires requests that the agent did not answer in time.
    pub fn handle_timeout(&mut self, now: Now) {
        self.end_history(now);
        self.sign_in_again(now);
        while let Some((id, sent)) = self.pending.expired(now.mono) {
            let seconds = self.start.patience.as_secs();
            match sent {
                Sent::Initialize => {
                    self.fail(self.too_slow("initialize"));
                }
                Sent::Open(how @ (Binding::Resume | Binding::Load)) => {
                    self.pending.wait_on(id, Sent::GivenUp);
                    let error = RpcError::new(-32603, format!("it did not answer within {seconds} s"));
                    self.resume_failed(how, error, true, now);
                }
                Sent::Open(how) => {
                    self.fail(self.too_slow(method(how)));
                }
                Sent::Ask {
                    ask,
                    method,
                    signs_in,
                } => {
                    let seconds = if signs_in { SIGN_IN_SECS } else { seconds };
                    let error = RpcError::new(
                        -32603,
                        format!("the agent did not answer {method} within {seconds} s"),
                    );
                    self.event(AgentEvent::Answered {
                        ask,
                        result: Err(error),
                    });
                }
                Sent::Prompt(_) | Sent::Close | Sent::GivenUp => {}
            }
        }
    }

    /// Returns the pending events for the thread.
    pub fn take_events(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns the bytes to write to the agent's stdin: always whole lines.
    pub fn take_writes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.writes)
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let sessions = earliest(self.pending.deadline(), self.replay.deadline());
        earliest(sessions, self.sign_in_retry.deadline())
    }

    fn handle_text(&mut self, text: &str, now: Now) {
        if let Some(Ok(update)) = self.usual_update(text).map(|update| Update::parse(update, None)) {
            return self.update(update, now);
        }
        match Message::parse(text) {
            Ok(Message::Notification { method, params }) => self.handle_notification(&method, params, now),
            Ok(Message::Request { id, method, params }) => self.handle_request(id, &method, params),
            Ok(Message::Response { id, result }) => match self.pending.close(id) {
                Some(sent) => self.handle_response(sent, result, now),
                None => self.malformed(
                    "an answer to a request that was never made",
                    text,
                    text.len() as u64,
                ),
            },
            Err(malformed) => {
                // The parser's own words name a column of a line that the user does not see.
                let reason = if malformed.is_json {
                    &malformed.reason
                } else {
                    "not JSON"
                };
                self.malformed(reason, text, text.len() as u64);
            }
        }
    }

    /// Returns the `update` object of a line in the form that nearly all updates have, without parsing the line.
    fn usual_update<'t>(&self, text: &'t str) -> Option<&'t str> {
        if self.prefix.is_empty() {
            return None;
        }
        let update = text.strip_prefix(self.prefix.as_str())?.strip_suffix("}}")?;
        update.starts_with('{').then_some(update)
    }

    fn handle_notification(&mut self, method: &str, params: Option<&RawValue>, now: Now) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            session_id: wire::Text<'a>,
            #[serde(borrow)]
            update: &'a RawValue,
        }
        if method == "$/cancel_request" {
            return self.withdraw(params);
        }
        let params_text = params.map(RawValue::get);
        let parsed = params_text
            .filter(|_| method == "session/update")
            .and_then(|text| serde_json::from_str::<Params<'_>>(text).ok())
            .filter(|params| params.update.get() != "null");
        let Some(Params { session_id, update }) = parsed else {
            return self.notified(method, params);
        };
        if self.given_up.as_deref() == Some(&*session_id) {
            return;
        }
        // While our session's id is unknown, only our session is being opened, so the update belongs to it.
        if self.session.as_deref().is_some_and(|ours| *ours != *session_id) {
            return self.event(AgentEvent::Foreign {
                params: params.map(RawJson::from),
            });
        }
        let usual = rebuild_params(&session_id, update.get());
        let raw_params = params.filter(|raw| raw.get() != usual).map(RawJson::from);
        match Update::parse(update.get(), raw_params) {
            Ok(update) => self.update(update, now),
            Err(error) => self.malformed(&error.to_string(), update.get(), update.get().len() as u64),
        }
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>) {
        self.event(AgentEvent::Notified {
            method: method.to_owned(),
            params: params.map(RawJson::from),
        });
    }

    /// An update may arrive before the response with its session's id; this connection has only one session.
    fn update(&mut self, update: Update, now: Now) {
        let repeats = self.replay.repeats(&update, now.mono);
        self.event(if repeats {
            AgentEvent::Replayed(update)
        } else {
            AgentEvent::Update(update)
        });
    }

    /// Makes the session usable after the replay of the earlier one has ended.
    fn end_history(&mut self, now: Now) {
        if self.replay.expire(now.mono)
            && let Some(opened) = self.pending_session.take()
        {
            self.event(AgentEvent::Opened(Box::new(opened)));
        }
    }

    fn handle_request(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>) {
        let call = self.next_call;
        self.next_call += 1;
        self.calls.insert(call, id.into());
        match Call::parse(method, params, self.session.as_deref(), self.given_up.as_deref()) {
            Ok(request) => {
                let params = params.filter(|_| request.is_delegatable()).map(RawJson::from);
                self.event(AgentEvent::CallbackReceived {
                    call,
                    request,
                    params,
                });
            }
            Err(error) => {
                let params = params.map(RawJson::from);
                self.event(AgentEvent::CallbackRefused {
                    call,
                    method: method.to_owned(),
                    error,
                    params,
                });
            }
        }
    }

    fn withdraw(&mut self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: RawJson,
        }
        let id = params.and_then(|raw| serde_json::from_str::<Params>(raw.get()).ok());
        let call = id.and_then(|id| {
            self.calls
                .iter()
                .find(|(_, ours)| **ours == id.request_id)
                .map(|(call, _)| *call)
        });
        match call {
            Some(call) => self.event(AgentEvent::CallbackWithdrawn { call }),
            None => self.notified("$/cancel_request", params),
        }
    }

    fn ask(&mut self, ask: u64, request: &AgentRequest, now: Now) {
        if let Err(failure) = request.check(&self.capabilities) {
            let result = Err(RpcError::from(&failure));
            return self.event(AgentEvent::Answered { ask, result });
        }
        let method = request.method().to_owned();
        let signs_in = matches!(request, AgentRequest::Authenticate { .. });
        // The user may have to open a browser first.
        let patience = if signs_in { SIGN_IN } else { self.start.patience };
        let sent = Sent::Ask {
            ask,
            signs_in,
            method: method.clone(),
        };
        let id = self.pending.open(sent, Some(now.mono + patience));
        let mut line = Vec::new();
        match request {
            AgentRequest::Passthrough { params, .. } | AgentRequest::Extension { params, .. } => {
                wire::request_with(&mut line, id, &method, params.as_ref());
            }
            other => {
                let context = RequestContext {
                    session: self.session.as_deref().unwrap_or_default(),
                    cwd: &self.start.cwd,
                    additional_directories: self.directories(),
                    mcp_servers: &self.start.mcp_servers,
                    meta: self.start.meta.as_ref(),
                    members: self.start.members.as_ref(),
                };
                wire::request(&mut line, id, &method, |params| other.fill(params, context));
            }
        }
        self.write(line);
    }

    fn close(&mut self) {
        let Some(session) = self.session.clone().filter(|_| self.capabilities.close) else {
            return;
        };
        let id = self.pending.open(Sent::Close, None);
        let mut line = Vec::new();
        wire::request(&mut line, id, "session/close", |params| {
            params.put("sessionId", &session);
        });
        self.write(line);
    }

    fn handle_response(&mut self, sent: Sent, result: Result<&RawValue, RpcError>, now: Now) {
        match (sent, result) {
            (Sent::Initialize, Ok(result)) => self.initialized(result, now),
            (Sent::Initialize, Err(error)) if self.tries_sign_in_again(&error, now) => {}
            (Sent::Initialize, Err(error)) => {
                self.fail(Failure::agent(format!("the agent refused initialize: {error}")));
            }
            (Sent::Open(how), Ok(result)) => self.opened(how, result, now),
            (Sent::Open(how), Err(error)) => self.not_opened(how, &error, now),
            (Sent::Prompt(turn), result) => {
                let result = result.map(RawJson::from);
                self.event(AgentEvent::PromptEnded { turn, result });
            }
            (Sent::Ask { ask, signs_in, .. }, result) => {
                let signed_in = signs_in && result.is_ok();
                let result = result.map(RawJson::from);
                self.event(AgentEvent::Answered { ask, result });
                if signed_in {
                    self.signed_in(now);
                }
            }
            (Sent::Close | Sent::GivenUp, _) => {}
        }
    }

    /// Returns the failure of an agent that did not answer a request of its start in time.
    fn too_slow(&self, method: &str) -> Failure {
        let Start { names, patience, .. } = &self.start;
        let agent = &names.id;
        let seconds = patience.as_secs();
        Failure::agent(format!(
            "the agent {agent:?} did not answer {method} within {seconds} s"
        ))
        .with_detail(format!(
            "\"acpd agents doctor {agent}\" shows what it does; agent_start_secs in [limits] gives it more time"
        ))
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        if !self.failed {
            self.failed = true;
            self.event(AgentEvent::Failed(failure));
        }
    }

    fn malformed(&mut self, reason: &str, text: &str, bytes: u64) {
        let text = text[..text.floor_char_boundary(MALFORMED_BYTES)].to_owned();
        self.event(AgentEvent::Malformed {
            reason: reason.to_owned(),
            text,
            bytes,
        });
    }

    pub(super) fn event(&mut self, event: AgentEvent) {
        self.events.push(event);
    }

    pub(super) fn write(&mut self, mut line: Vec<u8>) {
        // Line breaks can occur only between the tokens of a client's JSON; in the agent's stdin they would end the
        // message.
        for byte in &mut line {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line.push(b'\n');
        if self.writes.is_empty() {
            self.writes = line;
        } else {
            self.writes.append(&mut line);
        }
    }
}

fn rebuild_params(session: &str, update: &str) -> String {
    let session = serde_json::Value::from(session);
    format!(r#"{{"sessionId":{session},"update":{update}}}"#)
}
