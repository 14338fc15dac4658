//! One connection of an editor.

use std::collections::BTreeMap;

use acpd_model::event::ClientOrigin;
use acpd_model::json::well_formed;
use acpd_model::limits::{EDITOR_EARLY, EDITOR_EARLY_BYTES};
use acpd_model::{ErrorCode, Failure, RawJson, RequestId, Seq, ThreadId, TurnId};
use serde_json::json;
use serde_json::value::RawValue;

use super::answer;
use super::delegated::{Delegation, number_of};
use super::encode::{frames, live_frames};
use super::encode_v2;
use super::frame::{Frame, QuestionKind};
use super::handshake::{self, Client};
use super::session::Session;
use super::start::ConnectionStart;
use super::version::Version;
use crate::queue::Queue;
use crate::surface::contract::{
    self, Delegated, Delivery, Exchange, Gate, Lane, OpenRequest, Output, Phase, Profile, Source, Steps,
    Surface, UNKNOWN_METHOD,
};
use crate::surface::reply::Reply;
use crate::surface::request::{Permissions, Request, RequestKind};
use crate::thread::{Answer, EditorCommand, InterruptOptions};
use crate::time::{Instant, Now};
use crate::wire::{self, Found, Message, RpcError, Unreadable, one_line};

/// The JSON-RPC code of an internal error.
const INTERNAL: i64 = -32603;

/// A step of what an editor asks for.
pub(super) type Step = contract::Step<Peer>;

/// A prompt of this connection, from its arrival until its turn ends.
#[derive(Debug)]
pub(super) struct Prompt {
    /// The editor's request; `None` once it has a response.
    pub(super) request: Option<OpenRequest>,
    pub(super) thread: ThreadId,
    /// Identifies the prompt on this connection.
    pub(super) number: u64,
    /// The id for the turn, as `client_turn_id`: the editor's key, which it may repeat, or the daemon's own.
    pub(super) name: String,
    /// The turn, once it is known.
    pub(super) turn: Option<TurnId>,
    /// Whether to interrupt the turn as soon as it is known.
    pub(super) cancelled: bool,
}

/// One connection: reads messages, keeps the open sessions, and writes responses.
#[derive(Debug)]
pub struct Peer {
    pub(super) exchange: Exchange<Self>,
    principal: String,
    /// Identifies the connection among all others; part of the ids of its turns.
    pub(super) connection: String,
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
    /// Messages that arrived before the response to `initialize`, and when.
    unread: Vec<(Instant, String)>,
    /// When the message that is being handled arrived.
    pub(super) now: Instant,
    pub(super) out: Queue<Output>,
}

impl Surface for Peer {
    type Frame = Frame;

    fn encode(lane: Lane, source: Source<'_>) -> Vec<Frame> {
        let is_v2 = lane == Lane::AcpV2;
        match source {
            Source::Events { thread, events } if is_v2 => encode_v2::frames(thread, events),
            Source::Events { thread, events } => frames(thread, events),
            Source::Shown {
                thread, turn, update, ..
            } if is_v2 => encode_v2::live_frames(thread, turn, update),
            Source::Shown {
                thread, turn, update, ..
            } => live_frames(thread, turn, update),
            // ACP has no message for these.
            Source::Listed { .. } | Source::Seen { .. } | Source::ListReset => Vec::new(),
        }
    }

    fn seq(frame: &Frame) -> Seq {
        frame.seq
    }

    fn lane(&self) -> Lane {
        match self.client.version {
            Version::One => Lane::Acp,
            Version::Two => Lane::AcpV2,
        }
    }

    fn profile(&self) -> Profile {
        Profile {
            origin: ClientOrigin {
                principal: self.principal.clone(),
                client: self.client.name.clone(),
            },
            may_answer: self.exchange.permissions().may(RequestKind::Answer),
            sees_subscribers: false,
            abilities: Some(self.client.abilities()),
        }
    }

    fn gate(&mut self) -> &mut Gate {
        self.exchange.gate()
    }

    /// Handles one message. Messages that arrive before the response to `initialize` are queued.
    fn handle_message(&mut self, text: &str, now: Now) {
        self.now = now.mono;
        if !matches!(self.exchange.phase(), Phase::Begun(_)) || !self.waits(text) {
            self.message(text);
        }
    }

    fn handle_reply(&mut self, call: u64, reply: Result<Reply, Failure>) {
        if let Some(then) = self.exchange.replied(call) {
            then(self, reply);
        }
    }

    fn handle_frames(&mut self, delivery: Delivery<'_, Frame>) {
        self.deliver(&delivery);
    }

    fn handle_delegated(&mut self, thread: ThreadId, command: Delegated) {
        match command {
            Delegated::Command(command) => self.order(thread, command),
            Delegated::NotSent { call } => self.forget_delegation(thread, call),
        }
    }

    /// Closes a session whose thread can no longer be followed, and fails its open requests.
    fn handle_closed(&mut self, thread: ThreadId, why: &Failure) {
        self.forget_delegations(thread);
        let ended = self.prompts.extract_if(.., |prompt| prompt.thread == thread);
        let requests: Vec<OpenRequest> = ended.filter_map(|prompt| prompt.request).collect();
        for request in requests {
            self.refuse(request, why);
        }
        if let Some(opening) = self.sessions.remove(&thread).and_then(|session| session.opening) {
            self.refuse(opening.request, why);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }
}

impl Steps for Peer {
    fn refuse(&mut self, request: OpenRequest, failure: &Failure) {
        self.send_error(&request.id, failure);
        self.exchange.end(request, Some(failure.code));
    }
}

impl Peer {
    /// Creates a connection of `principal`, before its handshake. The name `connection` must be unique, also among past
    /// connections.
    pub fn new(
        principal: String,
        permissions: impl Into<Permissions>,
        connection: String,
        gate: Gate,
    ) -> Self {
        Self {
            exchange: Exchange::new(gate, permissions.into()),
            principal,
            connection,
            client: Client::default(),
            sessions: BTreeMap::new(),
            prompts: Vec::new(),
            prompts_so_far: 0,
            delegations: BTreeMap::new(),
            last_delegation: 0,
            early: BTreeMap::new(),
            start: ConnectionStart::default(),
            unread: Vec::new(),
            now: Instant::default(),
            out: Queue::default(),
        }
    }

    /// Sets the connection's start state.
    #[must_use]
    pub fn starting(self, start: ConnectionStart) -> Self {
        Self { start, ..self }
    }

    fn message(&mut self, text: &str) {
        let text = &*well_formed(text);
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params),
            Ok(Message::Notification { method, params }) => self.notification(&method, params),
            Ok(Message::Response { id, result }) => self.response(id, result),
            Err(_) if self.delegation_malformed(text) => {}
            Err(_) => match wire::read_unclean_message(text) {
                Ok(mended) => mended.texts.iter().for_each(|text| self.message(text)),
                Err(unreadable) => self.unreadable(&unreadable),
            },
        }
    }

    /// Queues a message until the connection is ready, if there is room. Returns whether there was.
    fn waits(&mut self, text: &str) -> bool {
        let bytes: usize = self.unread.iter().map(|(_, text)| text.len()).sum();
        let has_room = self.unread.len() < EDITOR_EARLY && bytes + text.len() <= EDITOR_EARLY_BYTES;
        if has_room {
            self.unread.push((self.now, text.to_owned()));
        }
        has_room
    }

    /// Handles the messages that arrived before the response to `initialize`.
    pub(super) fn read_on(&mut self) {
        for (arrived, text) in std::mem::take(&mut self.unread) {
            self.now = arrived;
            self.message(&text);
        }
    }

    /// Cancels this connection's prompts in a session. If it has none there, interrupts the running turn.
    pub(super) fn cancel(&mut self, thread: ThreadId) {
        if self.client.version == Version::Two {
            return self.cancel_foreground(thread);
        }
        // Queued prompts are cancelled first; otherwise they would start.
        let own: Vec<usize> = (0..self.prompts.len())
            .rev()
            .filter(|at| self.prompts[*at].thread == thread)
            .collect();
        if own.is_empty() {
            self.interrupt(thread, None);
        }
        for at in own {
            self.cancel_prompt(at);
        }
    }

    pub(super) fn cancel_prompt(&mut self, at: usize) {
        let prompt = &mut self.prompts[at];
        let thread = prompt.thread;
        match prompt.turn {
            Some(turn) => self.interrupt(thread, Some(turn)),
            None => prompt.cancelled = true,
        }
    }

    /// Records the turn of the prompts that `is_meant` selects. The daemon may report the same turn twice.
    pub(super) fn turn_known(&mut self, is_meant: impl Fn(&Prompt) -> bool, turn: TurnId) {
        let mut cancelled = None;
        for prompt in self.prompts.iter_mut().filter(|prompt| is_meant(prompt)) {
            prompt.turn = Some(turn);
            if std::mem::take(&mut prompt.cancelled) {
                cancelled = Some(prompt.thread);
            }
        }
        self.drop_left();
        if let Some(thread) = cancelled {
            self.interrupt(thread, Some(turn));
        }
    }

    /// Drops the prompts that have their responses, and whose turns are known.
    fn drop_left(&mut self) {
        self.prompts
            .retain(|prompt| prompt.request.is_some() || prompt.turn.is_none());
    }

    pub(super) fn interrupt(&mut self, thread: ThreadId, turn: Option<TurnId>) {
        let options = InterruptOptions::default();
        self.call(
            Request::Interrupt {
                thread,
                turn,
                options,
            },
            |_, _| {},
        );
    }

    /// Closes a session on this connection: cancels its prompts and stops sending its messages.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        self.forget_delegations(thread);
        if self.client.version == Version::Two {
            self.close_foreground(thread);
        }
        let Some(session) = self.sessions.remove(&thread) else {
            return;
        };
        if let Some(opening) = session.opening {
            let message = "the session was closed before it was open: open it again";
            self.refuse(opening.request, &Failure::new(ErrorCode::Conflict, message));
        }
        if self.client.version == Version::Two {
            return self.drop_left();
        }
        if self.prompts.iter().any(|prompt| prompt.thread == thread) {
            self.cancel(thread);
        }
        let cancelled = RawJson::trusted(r#"{"stopReason":"cancelled"}"#);
        let own = self.prompts.iter_mut().filter(|prompt| prompt.thread == thread);
        let requests: Vec<OpenRequest> = own.filter_map(|prompt| prompt.request.take()).collect();
        for request in requests {
            self.answer(request, &cancelled);
        }
        self.drop_left();
    }

    fn response(&mut self, id: &RawValue, result: Result<&RawValue, RpcError>) {
        let result = match result {
            result if number_of(id.get()).is_some() => return self.delegation_answered(id.get(), result),
            result => result.ok(),
        };
        let Some((request, question)) = self.take_question(id.get()) else {
            return;
        };
        // An error is not a decision: other clients can still answer.
        let Some(result) = result.map(RawValue::get) else {
            return;
        };
        let refuses = self.client.version == Version::Two
            && question == QuestionKind::Permission
            && answer::is_unknown_outcome(result);
        let answer = if refuses {
            Some(Answer::Decline { always: false })
        } else {
            answer::read(question, result)
        };
        if let Some(answer) = answer {
            self.answer_question(request, answer);
        }
    }

    /// Returns the question that the editor answers under this id; its later answers are ignored.
    fn take_question(&mut self, id: &str) -> Option<(RequestId, QuestionKind)> {
        let request = handshake::question_id(id)?;
        let session = self.sessions.get_mut(&request.thread)?;
        Some((request, session.asked.remove(&request)?))
    }

    fn answer_question(&mut self, request: RequestId, answer: Answer) {
        let command = Request::Answer {
            request,
            answer,
            scope: None,
        };
        let answer = self.exchange.adopt_answer();
        self.call(command, move |peer, reply| {
            let error = reply.err().map(|failure| failure.code);
            peer.exchange.end_answer(answer, error);
        });
    }

    /// Handles a message that cannot be read. An editor whose answer it was has closed its question, and learns of no error:
    /// nothing is allowed, and the agent does not wait for another answer.
    fn unreadable(&mut self, unreadable: &Unreadable) {
        let failure = unreadable.failure();
        match &unreadable.found {
            Found::Answer { id } if number_of(id).is_some() => {
                let error = RpcError::new(
                    INTERNAL,
                    format!("the editor's answer cannot be read: {}", unreadable.reason),
                );
                self.delegation_answered(id, Err(error));
            }
            Found::Answer { id } if let Some((request, _)) = self.take_question(id) => {
                self.answer_question(request, Answer::Cancel);
            }
            // An answer gets none.
            Found::Answer { .. } => self.exchange.count(UNKNOWN_METHOD, &failure),
            Found::Request { .. } | Found::Other => {
                self.exchange.count(UNKNOWN_METHOD, &failure);
                self.send_error(&RawJson::trusted(unreadable.request_id()), &failure);
            }
        }
    }

    /// Makes a request to the daemon. Its reply goes to `then`.
    pub(super) fn call(
        &mut self,
        request: Request,
        then: impl FnOnce(&mut Self, Result<Reply, Failure>) + Send + 'static,
    ) {
        // The client must know a prompt's name before the prompt has any effect.
        let is_late = self.start.checkpoints && matches!(request, Request::StartTurn(_));
        let mut output = self.exchange.call(request, then);
        if let Output::Request { after_sent, .. } = &mut output {
            *after_sent = is_late;
        }
        self.out.push(output);
    }

    pub(super) fn answer(&mut self, request: OpenRequest, result: &RawJson) {
        let mut out = Vec::with_capacity(result.get().len() + 64);
        wire::response(&mut out, request.id.get(), result.get());
        self.send(out);
        self.exchange.end(request, None);
    }

    /// Answers a request with the error of an agent.
    pub(super) fn answer_error(&mut self, request: OpenRequest, error: &RpcError) {
        let mut out = Vec::new();
        wire::error_response(&mut out, request.id.get(), error);
        self.send(out);
        self.exchange.end(request, Some(ErrorCode::AgentFailed));
    }

    pub(super) fn send_error(&mut self, id: &RawJson, failure: &Failure) {
        let own = failure.agent_error.as_ref();
        if let Some(error) = own.and_then(|error| error.read::<RpcError>().ok()) {
            let mut out = Vec::new();
            wire::error_response(&mut out, id.get(), &error);
            return self.send(out);
        }
        let mut error = RpcError::from(failure);
        // ACP has its own codes for these errors.
        if failure.code == ErrorCode::Handshake {
            error.code = ErrorCode::InvalidRequest.rpc();
        } else if failure.code == ErrorCode::Unsupported {
            error.code = ErrorCode::MethodNotFound.rpc();
        }
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
        self.out.push(Output::Send(out.into()));
    }
}
