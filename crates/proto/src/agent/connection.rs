//! The connection to one agent process, from `initialize` to its end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use acpd_model::{Failure, RawJson, TurnId, event::Binding};

use super::acp_version::AcpVersion;
use super::call::Call;
use super::capabilities::Capabilities;
use super::elicitation_modes::ElicitationModes;
use super::halves::Half;
use super::opening::{SignInRetry, method};
use super::quirks::Quirks;
use super::replay::SessionReplay;
use super::request::{AgentRequest, ConfigValue, RequestContext};
use super::system_prompt::PromptSource;
use super::update::Update;
use super::v2;
use crate::time::{Instant, Now, earliest};
use crate::wire::{self, Flaw, Pending, RpcError};

/// Seconds that the user has to sign in to an agent.
const SIGN_IN_SECS: u64 = 600;
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
    /// ACP's `SystemPrompt`.
    pub system_prompt: Option<RawJson>,
    /// Where it comes from.
    pub prompt_source: PromptSource,
    /// Values of options that users chose, in the order in which they apply; sent to agents that take them with the request.
    pub config_options: Vec<(String, ConfigValue)>,
    /// Whether the thread has had a session, which may be given up now.
    pub bound: bool,
    /// The session to resume, if there was one.
    pub earlier_session: Option<String>,
    /// Whether that session is a copy for this thread alone. If the agent does not open it, it may fork it instead.
    pub is_copy: bool,
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
    /// The modes of elicitation that the agent is offered.
    pub elicitation: ElicitationModes,
    /// The versions of ACP that the agent is offered.
    pub acp: AcpVersion,
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
            system_prompt: None,
            prompt_source: PromptSource::default(),
            config_options: Vec::new(),
            pending_session: false,
            bound: false,
            earlier_session: None,
            is_copy: false,
            leave_out: Vec::new(),
            foreign: false,
            patience,
            quirks: Quirks::default(),
            mode: None,
            elicitation: ElicitationModes::ALL,
            acp: AcpVersion::default(),
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
    /// Sends `session/cancel` for the work of a subagent that permits it.
    CancelSubagent {
        /// The agent's id for the subagent's session.
        session: String,
    },
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
    /// While the session opens, whether a user has to answer something first. That time does not count as the agent's.
    WaitForUser(bool),
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
                of(&start.mcp_servers)
                    + of(start.meta.as_slice())
                    + of(start.members.as_slice())
                    + of(start.system_prompt.as_slice())
                    + start
                        .config_options
                        .iter()
                        .map(|(id, value)| id.len() + value.bytes())
                        .sum::<usize>()
            }
            Self::Prompt { prompt, meta, .. } => of(prompt) + of(meta.as_slice()),
            Self::Request { request, .. } => request.bytes(),
            Self::Notify { method, params } => method.len() + of(params.as_slice()),
            Self::CancelSubagent { session } => session.len(),
            Self::Cancel | Self::WaitForUser(_) | Self::Close | Self::Answer { .. } => 0,
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
    /// During a sign-in, the agent printed an address or a code that the user needs.
    SignInPrinted(String),
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
    /// A session that may be one of a subagent sent an update or a request.
    Subagent {
        /// The agent's id for the session.
        session: String,
        /// What it sent.
        event: Box<AgentEvent>,
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
        /// The params, unchanged but for accounts of the user.
        params: Option<RawJson>,
    },
    /// The shared process accepts no new threads and will end: an idle thread should unload its agent.
    Retiring,
    /// The agent wrote more than its rate allows, so that it is read more slowly.
    Slowed,
    /// The agent wrote a line that is not clean, and whose messages are used all the same. Reported once.
    Mended {
        /// What was wrong with it.
        flaw: Flaw,
        /// The line, truncated.
        text: String,
    },
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

impl AgentEvent {
    /// Returns whether the agent has answered a prompt.
    pub fn ends_prompt(&self) -> bool {
        matches!(self, Self::PromptEnded { .. })
    }
}

/// An open session.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The agent's id for the session.
    pub session_id: String,
    /// The method that opened it.
    pub how: Binding,
    /// The result of `initialize`, in the form of version 1.
    pub agent: RawJson,
    /// The result of the method that opened the session, in the form of version 1.
    pub session: RawJson,
    /// The version of ACP that the agent speaks, if it is not 1.
    pub protocol: Option<u32>,
    /// The capabilities that the agent declared.
    pub capabilities: Capabilities,
    /// The configured mode, as in [`Start`].
    pub mode: Option<String>,
    /// Why the agent did not receive the system prompt of an earlier process.
    pub prompt_left_out: Option<Failure>,
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
    pub(super) calls: BTreeMap<u64, RawJson>,
    pub(super) next_call: u64,
    /// The result of `initialize`, in the form of version 1.
    pub(super) agent: Option<RawJson>,
    /// What translates, if the agent speaks version 2.
    pub(super) v2: Option<Box<v2::Translator>>,
    pub(super) capabilities: Capabilities,
    pub(super) session: Option<String>,
    /// Whether the process has no other thread's session, so that every other session is one of a subagent.
    pub(super) is_alone: bool,
    /// The sessions of subagents in a process that other threads use as well.
    pub(super) subagents: BTreeSet<String>,
    /// The earlier session, after all attempts to resume it failed. Later updates of it are ignored.
    pub(super) given_up: Option<String>,
    /// Why the system prompt of an earlier process is left out.
    pub(super) prompt_left_out: Option<Failure>,
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
    /// Whether the opening waits until a user has answered a question.
    pub(super) waits_for_user: bool,
    /// Whether a refused sign-in is tried once more, and when.
    pub(super) sign_in_retry: SignInRetry,
    failed: bool,
    /// Whether the thread knows that the agent writes lines that are not clean.
    pub(super) has_noted_flaw: bool,
    /// The last line without a message, until the session is open: it may say why the start fails.
    pub(super) stray: Option<String>,
    /// The first half of a surrogate pair at the end of the agent's last chunk.
    pub(super) half: Option<Box<Half>>,
    events: Vec<AgentEvent>,
    writes: Vec<u8>,
}

impl AgentConnection {
    /// Creates a connection and starts the handshake.
    pub fn new(start: Start, now: Now) -> Self {
        Self::begin(start, 0, true, now)
    }

    /// Like `new`, for one of several threads in a process. Counts the ids of our requests from `first_id`.
    pub(super) fn with_ids(start: Start, first_id: u64, now: Now) -> Self {
        Self::begin(start, first_id, false, now)
    }

    fn begin(start: Start, first_id: u64, is_alone: bool, now: Now) -> Self {
        let mut connection = Self {
            start,
            pending: Pending::starting_at(first_id),
            calls: BTreeMap::new(),
            next_call: 0,
            agent: None,
            v2: None,
            capabilities: Capabilities::default(),
            session: None,
            is_alone,
            subagents: BTreeSet::new(),
            given_up: None,
            prompt_left_out: None,
            prefix: String::new(),
            remaining_bindings: VecDeque::new(),
            replay: SessionReplay::default(),
            pending_session: None,
            waits_for_sign_in: false,
            waits_for_user: false,
            sign_in_retry: SignInRetry::default(),
            failed: false,
            has_noted_flaw: false,
            stray: None,
            half: None,
            events: Vec::new(),
            writes: Vec::new(),
        };
        connection.initialize(now.mono);
        connection
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
            AgentCommand::WaitForUser(waits) => self.wait_for_user(waits, now.mono),
            AgentCommand::Close => self.close(),
            AgentCommand::Prompt { turn, prompt, meta } => {
                let prompt = match &mut self.v2 {
                    Some(v2) => v2.prompt(turn, prompt),
                    None => prompt,
                };
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
                if let Some(v2) = &mut self.v2 {
                    v2.cancel();
                }
                let session = self.session.clone().unwrap_or_default();
                self.cancel(&session);
            }
            AgentCommand::CancelSubagent { session } => self.cancel(&session),
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
        self.time_sign_in(now);
        while let Some((id, sent)) = self.pending.expired(now.mono) {
            let seconds = self.start.patience.as_secs();
            match sent {
                Sent::Initialize => {
                    self.fail(self.too_slow("initialize"));
                }
                Sent::Open(how @ (Binding::Resume | Binding::Load | Binding::Fork)) => {
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

    /// Returns whether the answer to the request with this number is still used. That of a request that timed out is not.
    pub(super) fn waits_for(&self, id: u64) -> bool {
        let sent = self.pending.get(id);
        sent.is_some_and(|sent| !matches!(sent, Sent::GivenUp))
    }

    /// Returns whether a user is signing in.
    pub fn is_signing_in(&self) -> bool {
        let mut sent = self.pending.notes();
        sent.any(|sent| matches!(sent, Sent::Ask { signs_in: true, .. }))
    }

    fn ask(&mut self, ask: u64, request: &AgentRequest, now: Now) {
        if let Err(failure) = request.check(&self.capabilities, &self.start.names.id) {
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
                    system_prompt: self.start.system_prompt.as_ref(),
                };
                let params = wire::object(|params| other.fill(params, context));
                let (method, params) = self.in_its_version(&method, params);
                wire::request_with(&mut line, id, &method, Some(&params));
            }
        }
        self.write(line);
    }

    /// Returns a request of version 1, its method and its params, in the version that the agent speaks.
    pub(super) fn in_its_version(&self, method: &str, params: RawJson) -> (String, RawJson) {
        match &self.v2 {
            Some(_) => v2::request(method, &params),
            None => (method.to_owned(), params),
        }
    }

    fn cancel(&mut self, session: &str) {
        let mut line = Vec::new();
        wire::notification(&mut line, "session/cancel", |params| {
            params.put("sessionId", session);
        });
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

    /// Returns the failure of an agent that did not answer a request of its start in time.
    fn too_slow(&self, method: &str) -> Failure {
        let Start { names, patience, .. } = &self.start;
        let agent = &names.id;
        let seconds = patience.as_secs();
        let advice = format!(
            "\"acpd agents doctor {agent}\" shows what it does; agent_start_secs in [limits] gives it more time"
        );
        Failure::agent(format!(
            "the agent {agent:?} did not answer {method} within {seconds} s"
        ))
        .with_detail(match &self.stray {
            Some(line) => format!("it wrote a line that is not a message: {line}\n{advice}"),
            None => advice,
        })
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        if !self.failed {
            self.failed = true;
            self.event(AgentEvent::Failed(failure));
        }
    }

    pub(super) fn event(&mut self, event: AgentEvent) {
        if self.half.is_some() {
            self.before_event(&event);
        }
        self.events.push(event);
    }

    /// Adds an event that does not concern the text that the agent is writing.
    pub(super) fn push_event(&mut self, event: AgentEvent) {
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
