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

/// What the connection wants done. One after another: a message may belong behind what was sent before.
#[derive(Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one of them is made for each request, and handed on at once"
)]
pub enum PeerOutput {
    /// Send one message.
    Send(Bytes),
    /// Send one message that asks the editor what an agent asked of a thread: from then on the editor may have done it. If
    /// the thread counts the connection as gone it must not be sent, and [`Peer::request_not_sent`] hears of it.
    Ask {
        /// Whose agent.
        thread: ThreadId,
        /// The agent's callback.
        call: u64,
        /// The message.
        text: Bytes,
    },
    /// The editor has answered what the agent asked, see [`Peer::order`].
    Answered {
        /// Whose agent.
        thread: ThreadId,
        /// The agent's callback.
        call: u64,
        /// The answer as it came, but for the name of a terminal.
        result: Result<RawJson, RpcError>,
    },
    /// Carry out a request; its reply goes to [`Peer::reply`] under `token`. Requests about the same thread are carried
    /// out in the order in which they come.
    Call {
        /// Names the reply.
        token: u64,
        /// What is wanted.
        request: Request,
        /// Whether all that was sent before must have left by then.
        after_sent: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    New,
    Greeting,
    Ready,
}

/// Where an answer goes: mostly to a request, under its id.
#[derive(Debug)]
pub(super) enum ReplyTo {
    Initialize(RawJson),
    Open(RawJson, OpenMode),
    /// What the agent answered, or nothing.
    Result(RawJson),
    Sessions(RawJson),
    Deleted(RawJson, ThreadId),
    Prompt(String),
}

/// A prompt of this connection, from when it came until its turn is over.
#[derive(Debug)]
pub(super) struct Prompt {
    /// The editor's id for the request; none once it was answered.
    pub(super) id: Option<RawJson>,
    pub(super) thread: ThreadId,
    /// The turn's id by us.
    pub(super) name: String,
    /// The turn, once it is known.
    pub(super) turn: Option<TurnId>,
    /// Whether it is to end as soon as its turn is known.
    pub(super) cancelled: bool,
}

/// One connection: reads messages, keeps the handshake and the sessions that are open, writes answers.
#[derive(Debug)]
pub struct Peer {
    principal: String,
    pub(super) role: Role,
    /// Names the connection among all others, for the ids of its turns.
    pub(super) connection: String,
    pub(super) phase: Phase,
    pub(super) client: Client,
    pub(super) sessions: BTreeMap<ThreadId, Session>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) prompts_so_far: u64,
    /// What agents asked, that the editor has and has not answered, by the numbers in their ids.
    pub(super) delegations: BTreeMap<u64, Delegation>,
    pub(super) last_delegation: u64,
    /// Orders for sessions that are about to be open.
    pub(super) early: BTreeMap<ThreadId, Vec<EditorCommand>>,
    /// What is left of what the connection began with.
    pub(super) start: ConnectionStart,
    /// What came while `initialize` was not answered.
    unread: Vec<String>,
    pub(super) waiting: BTreeMap<u64, ReplyTo>,
    next_token: u64,
    pub(super) out: Queue<PeerOutput>,
}

impl Peer {
    /// A connection of `principal`, before its handshake. No other connection has, or had, the name `connection`.
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

    /// Says what the connection begins with.
    #[must_use]
    pub fn starting(self, start: ConnectionStart) -> Self {
        Self { start, ..self }
    }

    /// Who is at the other end; nameless before the handshake.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Who it is, for the record.
    pub fn caller(&self) -> ClientOrigin {
        ClientOrigin {
            principal: self.principal.clone(),
            client: self.client.name.clone(),
        }
    }

    /// Names the connection among all others.
    pub fn connection(&self) -> &str {
        &self.connection
    }

    /// What it may do.
    pub fn role(&self) -> Role {
        self.role
    }

    /// What is to be done next.
    pub fn poll_output(&mut self) -> Option<PeerOutput> {
        self.out.pop()
    }

    /// Takes one message. What comes while `initialize` is not answered waits for that.
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

    /// Keeps a message until the connection is ready, as far as there is room.
    fn waits(&mut self, text: &str) -> bool {
        let bytes: usize = self.unread.iter().map(String::len).sum();
        let has_room = self.unread.len() < EDITOR_EARLY && bytes + text.len() <= EDITOR_EARLY_BYTES;
        if has_room {
            self.unread.push(text.to_owned());
        }
        has_room
    }

    /// Takes what came before `initialize` was answered.
    pub(super) fn read_on(&mut self) {
        for text in std::mem::take(&mut self.unread) {
            self.handle_text(&text);
        }
    }

    /// A thread cannot be followed any further.
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

    /// Ends what this connection has begun in a session. One that has begun nothing there ends what runs.
    pub(super) fn cancel(&mut self, thread: ThreadId) {
        // Those that wait are taken back first: else they would begin.
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

    /// The turn of a prompt is known, which it may be twice.
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

    /// The connection has nothing to do with a session any more: its prompts end, and nothing of it is sent.
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
        // An error is no decision: others may still answer.
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

    /// What is answered to nobody has no token that is waited for.
    pub(super) fn call(&mut self, request: Request, reply_to: Option<ReplyTo>) {
        let token = self.next_token;
        self.next_token += 1;
        if let Some(reply_to) = reply_to {
            self.waiting.insert(token, reply_to);
        }
        // The names of prompts are known to the client before anything can happen to them.
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
        // ACP has words for these.
        error.code = match failure.code {
            ErrorCode::Handshake => ErrorCode::InvalidRequest.rpc(),
            ErrorCode::Unsupported => ErrorCode::MethodNotFound.rpc(),
            _ => error.code,
        };
        let detail = failure.detail.as_deref();
        // The whole of it in one string, for clients that show that and nothing else.
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
