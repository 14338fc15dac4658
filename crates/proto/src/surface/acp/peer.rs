//! One connection of an editor.

use std::collections::BTreeMap;

use acpd_model::event::ClientOrigin;
use acpd_model::limits::{EDITOR_EARLY, EDITOR_EARLY_BYTES, EDITOR_REQUESTS};
use acpd_model::{ErrorCode, Failure, RawJson, Role, ThreadId, TurnId};
use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;

use super::answer;
use super::delegated::{Delegation, number_of};
use super::encode::one_line;
use super::handshake::{self, Client};
use super::methods::kind_of;
use super::session::{OpenMode, Session};
use super::start::ConnectionStart;
use crate::queue::Queue;
use crate::surface::request::Request;
use crate::thread::EditorCommand;
use crate::wire::{self, Message, RpcError};

/// An output of the connection. Outputs must be processed in order, because a message may depend on an earlier one.
#[derive(Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one of them is made for each request, and handed on at once"
)]
pub enum PeerOutput {
    /// Sends one message.
    Send(Bytes),
    /// Sends the editor an agent's request. From then on the editor may have executed it. If the thread counts the
    /// connection as gone, do not send the message and call [`Peer::request_not_sent`].
    Ask {
        /// The thread whose agent sent the request.
        thread: ThreadId,
        /// The number of the agent's request.
        call: u64,
        /// The message.
        text: Bytes,
    },
    /// The editor has responded to an agent's request, see [`Peer::order`].
    Answered {
        /// The thread whose agent sent the request.
        thread: ThreadId,
        /// The number of the agent's request.
        call: u64,
        /// The editor's response, unchanged except for the id of a terminal.
        result: Result<RawJson, RpcError>,
    },
    /// Executes a request; its reply goes to [`Peer::reply`] under `token`. Requests for the same thread execute in the
    /// order of these outputs.
    Call {
        /// Identifies the reply.
        token: u64,
        /// The request.
        request: Request,
        /// Whether all earlier messages must have been sent before the request executes.
        after_sent: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    New,
    Greeting,
    Ready,
}

/// The destination of a reply: usually a response under the id of the editor's request.
#[derive(Debug)]
pub(super) enum ReplyTo {
    Initialize(RawJson),
    Open(RawJson, OpenMode),
    /// The agent's result, or an empty one.
    Result(RawJson),
    Sessions(RawJson),
    Deleted(RawJson, ThreadId),
    Prompt(String),
}

/// A prompt of this connection, from its arrival until its turn ends.
#[derive(Debug)]
pub(super) struct Prompt {
    /// The editor's id for the request; `None` once it has a response.
    pub(super) id: Option<RawJson>,
    pub(super) thread: ThreadId,
    /// The daemon's own id for the turn, as `client_turn_id`.
    pub(super) name: String,
    /// The turn, once it is known.
    pub(super) turn: Option<TurnId>,
    /// Whether to interrupt the turn as soon as it is known.
    pub(super) cancelled: bool,
}

/// One connection: reads messages, keeps the handshake and the open sessions, and writes responses.
#[derive(Debug)]
pub struct Peer {
    principal: String,
    pub(super) role: Role,
    /// Identifies the connection among all others; part of the ids of its turns.
    pub(super) connection: String,
    pub(super) phase: Phase,
    pub(super) client: Client,
    pub(super) sessions: BTreeMap<ThreadId, Session>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) prompts_so_far: u64,
    /// Agent requests that the editor has received and not answered, by the numbers in their ids.
    pub(super) delegations: BTreeMap<u64, Delegation>,
    pub(super) last_delegation: u64,
    /// Commands for sessions that are about to open.
    pub(super) early: BTreeMap<ThreadId, Vec<EditorCommand>>,
    /// The part of the connection's start state that is not used yet.
    pub(super) start: ConnectionStart,
    /// Messages that arrived before the response to `initialize`.
    unread: Vec<String>,
    pub(super) waiting: BTreeMap<u64, ReplyTo>,
    next_token: u64,
    pub(super) out: Queue<PeerOutput>,
}

impl Peer {
    /// Creates a connection of `principal`, before its handshake. The name `connection` must be unique, also among past
    /// connections.
    pub fn new(principal: String, role: Role, connection: String) -> Self {
        Self {
            principal,
            role,
            connection,
            phase: Phase::New,
            client: Client::default(),
            sessions: BTreeMap::new(),
            prompts: Vec::new(),
            prompts_so_far: 0,
            delegations: BTreeMap::new(),
            last_delegation: 0,
            early: BTreeMap::new(),
            start: ConnectionStart::default(),
            unread: Vec::new(),
            waiting: BTreeMap::new(),
            next_token: 0,
            out: Queue::default(),
        }
    }

    /// Sets the connection's start state.
    #[must_use]
    pub fn starting(self, start: ConnectionStart) -> Self {
        Self { start, ..self }
    }

    /// Returns the editor, which has no name before the handshake.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the editor as the originator of events.
    pub fn caller(&self) -> ClientOrigin {
        ClientOrigin {
            principal: self.principal.clone(),
            client: self.client.name.clone(),
        }
    }

    /// Returns the name of the connection, which is unique.
    pub fn connection(&self) -> &str {
        &self.connection
    }

    /// Returns the role of the connection.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<PeerOutput> {
        self.out.pop()
    }

    /// Handles one message. Messages that arrive before the response to `initialize` are queued.
    pub fn handle_text(&mut self, text: &str) {
        if self.phase == Phase::Greeting && self.waits(text) {
            return;
        }
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => {
                if let Err(failure) = self.request(id, &method, params) {
                    self.refuse(&id.into(), &failure);
                }
            }
            Ok(Message::Notification { method, params }) => self.notification(&method, params),
            Ok(Message::Response { id, result }) => self.response(id, result),
            Err(_) if self.delegation_malformed(text) => {}
            Err(malformed) => {
                let code = if malformed.is_json {
                    ErrorCode::InvalidRequest
                } else {
                    ErrorCode::ParseError
                };
                self.refuse(&RawJson::trusted("null"), &Failure::new(code, malformed.reason));
            }
        }
    }

    /// Queues a message until the connection is ready, if there is room. Returns whether there was.
    fn waits(&mut self, text: &str) -> bool {
        let bytes: usize = self.unread.iter().map(String::len).sum();
        let has_room = self.unread.len() < EDITOR_EARLY && bytes + text.len() <= EDITOR_EARLY_BYTES;
        if has_room {
            self.unread.push(text.to_owned());
        }
        has_room
    }

    /// Handles the messages that arrived before the response to `initialize`.
    pub(super) fn read_on(&mut self) {
        for text in std::mem::take(&mut self.unread) {
            self.handle_text(&text);
        }
    }

    /// Closes a session whose thread can no longer be followed, and fails its open requests with `failure`.
    pub fn lost(&mut self, thread: ThreadId, failure: &Failure) {
        self.forget_delegations(thread);
        let ended = self.prompts.extract_if(.., |prompt| prompt.thread == thread);
        let ids: Vec<RawJson> = ended.filter_map(|prompt| prompt.id).collect();
        for id in &ids {
            self.refuse(id, failure);
        }
        if let Some(opening) = self.sessions.remove(&thread).and_then(|session| session.opening) {
            self.refuse(&opening.id, failure);
        }
    }

    fn request(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>) -> Result<(), Failure> {
        let invalid = |message| Err(Failure::new(ErrorCode::InvalidRequest, message));
        match (self.phase, method) {
            (Phase::New, "initialize") => {
                self.client = Client::read(params.map(RawValue::get));
                self.phase = Phase::Greeting;
                self.call(Request::Initialize, Some(ReplyTo::Initialize(id.into())));
                return Ok(());
            }
            (_, "initialize") => return invalid("the connection is initialized already"),
            (Phase::New, _) => return invalid("the connection is not initialized yet"),
            (Phase::Greeting, _) => {
                let message = format!("{EDITOR_EARLY} messages wait for the answer to initialize already");
                return Err(Failure::new(ErrorCode::Overloaded, message));
            }
            (Phase::Ready, _) => {}
        }
        let openings = self
            .sessions
            .values()
            .filter(|session| session.opening.is_some())
            .count();
        if self.waiting.len() + self.prompts.len() + openings >= EDITOR_REQUESTS {
            let message = format!("too many requests in flight on this connection (limit {EDITOR_REQUESTS})");
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        self.need(kind_of(method)?.role(), method)?;
        let (request, reply_to) = self.read(id.into(), method, params)?;
        self.call(request, Some(reply_to));
        Ok(())
    }

    fn need(&self, role: Role, what: &str) -> Result<(), Failure> {
        if self.role.may(role) {
            return Ok(());
        }
        let message = format!(
            "{what} needs the role {role}; this connection has the role {}",
            self.role
        );
        Err(Failure::new(ErrorCode::Forbidden, message))
    }

    /// Cancels this connection's prompts in a session. If it has none there, interrupts the running turn.
    pub(super) fn cancel(&mut self, thread: ThreadId) {
        // Queued prompts are cancelled first; otherwise they would start.
        let own: Vec<usize> = (0..self.prompts.len())
            .rev()
            .filter(|at| self.prompts[*at].thread == thread)
            .collect();
        if own.is_empty() {
            self.call(Request::Interrupt { thread, turn: None }, None);
        }
        for at in own {
            self.cancel_prompt(at);
        }
    }

    pub(super) fn cancel_prompt(&mut self, at: usize) {
        let prompt = &mut self.prompts[at];
        let thread = prompt.thread;
        match prompt.turn {
            Some(turn) => self.call(
                Request::Interrupt {
                    thread,
                    turn: Some(turn),
                },
                None,
            ),
            None => prompt.cancelled = true,
        }
    }

    /// Records the turn of a prompt. The daemon may report the same turn twice.
    pub(super) fn turn_known(&mut self, name: &str, turn: TurnId) {
        let Some(at) = self.prompts.iter().position(|prompt| prompt.name == name) else {
            return;
        };
        let prompt = &mut self.prompts[at];
        prompt.turn = Some(turn);
        let (thread, cancelled) = (prompt.thread, std::mem::take(&mut prompt.cancelled));
        if prompt.id.is_none() {
            self.prompts.remove(at);
        }
        if cancelled {
            self.call(
                Request::Interrupt {
                    thread,
                    turn: Some(turn),
                },
                None,
            );
        }
    }

    /// Closes a session on this connection: cancels its prompts and stops sending its messages.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        self.forget_delegations(thread);
        if self.sessions.remove(&thread).is_none() {
            return;
        }
        if self.prompts.iter().any(|prompt| prompt.thread == thread) {
            self.cancel(thread);
        }
        let cancelled = RawJson::trusted(r#"{"stopReason":"cancelled"}"#);
        let own = self.prompts.iter_mut().filter(|prompt| prompt.thread == thread);
        let ids: Vec<RawJson> = own.filter_map(|prompt| prompt.id.take()).collect();
        for id in &ids {
            self.answer(id, &cancelled);
        }
        self.prompts
            .retain(|prompt| prompt.id.is_some() || prompt.turn.is_none());
    }

    fn response(&mut self, id: &RawValue, result: Result<&RawValue, RpcError>) {
        let result = match result {
            result if number_of(id.get()).is_some() => return self.delegation_answered(id.get(), result),
            result => result.ok(),
        };
        let Some(request) = handshake::question_id(id.get()) else {
            return;
        };
        let session = self.sessions.get_mut(&request.thread);
        let Some(question) = session.and_then(|session| session.asked.remove(&request)) else {
            return;
        };
        // An error is not a decision: other clients can still answer.
        if let Some(answer) = result.and_then(|result| answer::read(question, result.get())) {
            let scope = None;
            self.call(
                Request::Answer {
                    request,
                    answer,
                    scope,
                },
                None,
            );
        }
    }

    /// Executes a request. Without `reply_to`, the connection ignores the reply.
    pub(super) fn call(&mut self, request: Request, reply_to: Option<ReplyTo>) {
        let token = self.next_token;
        self.next_token += 1;
        if let Some(reply_to) = reply_to {
            self.waiting.insert(token, reply_to);
        }
        // The client must know a prompt's name before the prompt has any effect.
        let after_sent = self.start.checkpoints && matches!(request, Request::StartTurn(_));
        self.out.push(PeerOutput::Call {
            token,
            request,
            after_sent,
        });
    }

    pub(super) fn answer(&mut self, id: &RawJson, result: &RawJson) {
        let mut out = Vec::with_capacity(result.get().len() + 64);
        wire::response(&mut out, id.get(), result.get());
        self.send(out);
    }

    pub(super) fn refuse(&mut self, id: &RawJson, failure: &Failure) {
        let own = failure.agent_error.as_ref();
        if let Some(error) = own.and_then(|error| error.read::<RpcError>().ok()) {
            let mut out = Vec::new();
            wire::error_response(&mut out, id.get(), &error);
            return self.send(out);
        }
        let mut error = RpcError::from(failure);
        // ACP has its own codes for these errors.
        error.code = match failure.code {
            ErrorCode::Handshake => ErrorCode::InvalidRequest.rpc(),
            ErrorCode::Unsupported => ErrorCode::MethodNotFound.rpc(),
            _ => error.code,
        };
        let detail = failure.detail.as_deref();
        // The full message in one string, for clients that show only `details`.
        let details = detail.map_or_else(
            || failure.message.clone(),
            |detail| format!("{}: {detail}", failure.message),
        );
        let acpd = json!({ "code": failure.code, "detail": detail });
        error.data = Some(json!({ "details": details, "acpd": acpd }).into());
        let mut out = Vec::new();
        wire::error_response(&mut out, id.get(), &error);
        self.send(out);
    }

    pub(super) fn send(&mut self, mut out: Vec<u8>) {
        one_line(&mut out);
        self.out.push(PeerOutput::Send(out.into()));
    }
}
