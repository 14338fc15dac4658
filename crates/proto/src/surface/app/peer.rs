//! One connection of the app protocol.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::collections::free_if_empty;
use acpd_model::event::ClientOrigin;
use acpd_model::json::well_formed;
use acpd_model::{ErrorCode, Failure, RawJson, RequestId, Role, Seq, ThreadId};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::encode::{Frame, frames, list_reset_frame, listed_frame, live_frame, seen_frame};
use super::log_state::{log_changed_frame, log_damaged_frame};
use super::notifications::Notification;
use super::params::Response;
use super::results::ResultType;
use super::strict;
use super::subscribers::subscribers_frame;
use super::table::Method;
use super::wire::Value;
use super::wire::error::{Error, Rejected};
use super::wire::welcome::Initialized;
use crate::queue::Queue;
use crate::surface::contract::{
    ANSWER, Delivery, Gate, Lane, Notice, Output, Pending, Profile, Source, Surface, Token, UNKNOWN_METHOD,
};
use crate::surface::reply::Reply;
use crate::surface::request::{Permissions, Request, RequestKind};
use crate::time::{Instant, Now};
use crate::wire::{Found, Message, Object, Unreadable, read_unclean_message};

/// The client of the connection.
#[derive(Debug, Default)]
struct Client {
    /// The client's name, as it reported it.
    name: String,
    /// Whether the client answers questions.
    approvals: bool,
    /// Whether the client wants to be notified of other subscribers of its threads.
    subscribers: bool,
    opted_out: BTreeSet<String>,
}

#[derive(Debug)]
enum Phase {
    New,
    Greeted,
    Ready,
}

/// Destination of a result.
#[derive(Debug)]
enum ReplyTo {
    /// To a request, under its id, as a result of that type.
    Request(RawJson, ResultType),
    /// A response to a question. The client is notified only if it failed.
    Response(RequestId),
}

/// A thread that is being opened: the default for requests without a thread until opening it fails.
#[derive(Debug)]
struct Opening {
    thread: ThreadId,
    /// The default before.
    before: Option<ThreadId>,
    /// Whether the client has received events of the thread, so that it stays open whatever the reply is.
    is_open: bool,
}

/// One connection: reads messages, enforces the handshake, and writes responses.
#[derive(Debug)]
pub struct Peer {
    gate: Gate,
    principal: String,
    permissions: Permissions,
    phase: Phase,
    client: Client,
    current: Option<ThreadId>,
    /// Threads whose opening has no reply yet, by call.
    opening: BTreeMap<u64, Opening>,
    waiting: BTreeMap<u64, (Token, ReplyTo)>,
    next_call: u64,
    out: Queue<Output>,
}

const INITIALIZE: &str = "initialize";

impl Surface for Peer {
    type Frame = Frame;

    fn encode(_: Lane, source: Source<'_>) -> Vec<Frame> {
        match source {
            Source::Events { thread, events } => frames(thread, events),
            Source::Shown {
                thread,
                turn,
                at,
                update,
            } => vec![live_frame(thread, turn, at, update)],
            Source::Listed {
                thread,
                at,
                summary,
                with_metadata,
            } => vec![listed_frame(thread, at, summary, with_metadata)],
            Source::Seen { at, threads } => vec![seen_frame(at, threads)],
            Source::ListReset => vec![list_reset_frame()],
        }
    }

    fn seq(frame: &Frame) -> Seq {
        frame.seq
    }

    fn lane(&self) -> Lane {
        Lane::App
    }

    fn profile(&self) -> Profile {
        Profile {
            origin: ClientOrigin {
                principal: self.principal.clone(),
                client: self.client.name.clone(),
            },
            may_answer: self.answers(),
            sees_subscribers: self.client.subscribers,
            abilities: None,
        }
    }

    fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    fn handle_message(&mut self, text: &str, now: Now) {
        let text = &*well_formed(text);
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => {
                if let Err(failure) = self.request(id, &method, params, now.mono) {
                    let known = Method::find(&method).map(|method| method.name);
                    let initialize = (&*method == INITIALIZE).then_some(INITIALIZE);
                    let method = known.or(initialize).unwrap_or(UNKNOWN_METHOD);
                    self.gate.count(method, Some(failure.code));
                    self.send_error(id.get(), &failure);
                }
            }
            Ok(Message::Notification { method, .. }) => {
                if &*method == "initialized" && matches!(self.phase, Phase::Greeted) {
                    self.phase = Phase::Ready;
                }
            }
            Ok(Message::Response { id, result }) => self.response(id, result.map_err(|_| ())),
            Err(_) => match read_unclean_message(text) {
                Ok(mended) => mended
                    .texts
                    .iter()
                    .for_each(|text| self.handle_message(text, now)),
                Err(unreadable) => self.unreadable(&unreadable),
            },
        }
    }

    fn handle_reply(&mut self, call: u64, reply: Result<Reply, Failure>) {
        let Some((token, reply_to)) = self.waiting.remove(&call) else {
            return;
        };
        free_if_empty(&mut self.waiting);
        self.opened(call, &reply);
        let error = match reply_to {
            ReplyTo::Request(id, result) => {
                self.respond(&id, reply.and_then(|reply| result.respond(id.get(), &reply)))
            }
            ReplyTo::Response(request) => reply.err().map(|failure| {
                self.late_answer(request, &failure);
                failure.code
            }),
        };
        self.gate.end(token, error);
    }

    fn handle_frames(&mut self, delivery: Delivery<'_, Frame>) {
        for opening in self.opening.values_mut() {
            opening.is_open |= opening.thread == delivery.thread;
        }
        self.out.reserve(delivery.frames.len());
        for frame in delivery.frames {
            if let Some(text) = self.select(frame, delivery.pending) {
                self.out.push(Output::Send(text.clone()));
            }
        }
    }

    fn handle_notice(&mut self, notice: Notice<'_, Frame>) {
        let own;
        let frames = match notice {
            Notice::List(frames) => frames,
            Notice::Subscribers { thread, at, others } => {
                own = subscribers_frame(thread, at, others);
                std::slice::from_ref(&own)
            }
            Notice::Log { thread, at, error } => {
                own = log_changed_frame(thread, at, error);
                std::slice::from_ref(&own)
            }
            Notice::Damaged { thread, at, lost } => {
                own = log_damaged_frame(thread, at, lost);
                std::slice::from_ref(&own)
            }
        };
        for frame in frames {
            if let Some(text) = self.select(frame, &Pending::all()) {
                self.out.push(Output::Send(text.clone()));
            }
        }
    }

    fn handle_closed(&mut self, _: ThreadId, why: &Failure) {
        // The last event of a deleted thread says so. Otherwise the client would wait for events that never come; after
        // a reconnect, it receives the error.
        if why.code != ErrorCode::NotFound {
            self.out.push(Output::End);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }
}

impl Peer {
    /// Creates a connection of `principal`, before its handshake.
    pub fn new(principal: String, permissions: impl Into<Permissions>, gate: Gate) -> Self {
        Self {
            gate,
            principal,
            permissions: permissions.into(),
            phase: Phase::New,
            client: Client::default(),
            current: None,
            opening: BTreeMap::new(),
            waiting: BTreeMap::new(),
            next_call: 0,
            out: Queue::default(),
        }
    }

    /// Restores the default for requests without a thread if a thread could not be opened, or takes the new one.
    fn opened(&mut self, call: u64, reply: &Result<Reply, Failure>) {
        let opening = self.opening.remove(&call);
        if self.opening.is_empty() {
            self.opening = BTreeMap::new();
        }
        match (opening, reply) {
            (Some(opening), Err(_)) if !opening.is_open && self.current == Some(opening.thread) => {
                self.current = opening.before;
            }
            // A repeated request to start a thread: it exists under another id.
            (Some(opening), Ok(Reply::Opened(opened))) if self.current == Some(opening.thread) => {
                self.current = Some(opened.live.thread);
            }
            // A fork: its thread was unknown until now.
            (None, Ok(Reply::Opened(opened))) => self.current = Some(opened.live.thread),
            _ => {}
        }
    }

    /// Makes the thread that a request opens the default for the requests that follow.
    fn opens(&mut self, call: u64, request: &mut Request) {
        let thread = match request {
            Request::StartThread(start) => *start.thread.insert(self.gate.thread_id()),
            Request::OpenThread(open) => open.thread,
            _ => return,
        };
        let before = self.current.replace(thread);
        let opening = Opening {
            thread,
            before,
            is_open: false,
        };
        self.opening.insert(call, opening);
    }

    /// Sends the result of a request, or why it failed, which is returned.
    fn respond(&mut self, id: &RawJson, response: Result<Vec<u8>, Failure>) -> Option<ErrorCode> {
        match response {
            Ok(response) => {
                self.out.push(Output::Send(response.into()));
                None
            }
            Err(failure) => {
                self.send_error(id.get(), &failure);
                Some(failure.code)
            }
        }
    }

    /// Returns the message of a frame for this client, if any. A client that answers questions always receives open ones,
    /// even if it opted out of the notification.
    fn select<'f>(&self, frame: &'f Frame, pending: &Pending) -> Option<&'f Bytes> {
        match frame.ask.as_deref() {
            Some((request, asking)) if self.answers() && pending.is_open(frame.seq, *request) => Some(asking),
            _ if self.client.opted_out.contains(frame.method) => None,
            _ => Some(&frame.text),
        }
    }

    /// Returns whether the client receives questions as requests: it answers them, and its role allows that.
    fn answers(&self) -> bool {
        self.client.approvals && self.permissions.may(RequestKind::Answer)
    }

    fn request(
        &mut self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        now: Instant,
    ) -> Result<(), Failure> {
        self.gate.admit(now)?;
        match (&self.phase, method) {
            (Phase::New, "initialize") => return self.initialize(id, params),
            (Phase::New, _) => return Err(Failure::new(ErrorCode::Handshake, "Not initialized")),
            (Phase::Greeted | Phase::Ready, "initialize") => {
                return Err(Failure::new(ErrorCode::Handshake, "Already initialized"));
            }
            (Phase::Greeted, _) => {
                return Err(Failure::new(
                    ErrorCode::Handshake,
                    "Not initialized: send the initialized notification first",
                ));
            }
            (Phase::Ready, _) => {}
        }
        let method = Method::find(method)
            .ok_or_else(|| Failure::new(ErrorCode::MethodNotFound, format!("unknown method {method:?}")))?;
        self.permissions.check_scope(method.kind)?;
        self.check_role(method.role(), method.name)?;
        let request = method.read(params.map_or("{}", RawValue::get), self.current)?;
        self.call(request, method.name, ReplyTo::Request(id.into(), method.result))
    }

    fn check_role(&self, needed: Role, what: &str) -> Result<(), Failure> {
        let role = self.permissions.role;
        if role.may(needed) {
            return Ok(());
        }
        let message = format!("{what} needs the role {needed}; this token has the role {role}");
        Err(Failure::new(ErrorCode::Forbidden, message))
    }

    fn response(&mut self, id: &RawValue, result: Result<&RawValue, ()>) {
        let Ok(request) = serde_json::from_str::<RequestId>(id.get()) else {
            return self.send_error(
                "null",
                &Failure::new(ErrorCode::InvalidRequest, "a response to no request of ours"),
            );
        };
        let called = self
            .permissions
            .check_scope(RequestKind::Answer)
            .and_then(|()| self.check_role(RequestKind::Answer.role(), "an answer"))
            .and_then(|()| Response::read(request, result.map(RawValue::get)))
            .and_then(|answered| self.call(answered.into(), ANSWER, ReplyTo::Response(request)));
        if let Err(failure) = called {
            self.gate.count(ANSWER, Some(failure.code));
            self.late_answer(request, &failure);
        }
    }

    /// Notifies a client that its message cannot be read: an answer, under the id of its question.
    fn unreadable(&mut self, unreadable: &Unreadable) {
        let failure = unreadable.failure();
        let question = match &unreadable.found {
            Found::Answer { id } => serde_json::from_str::<RequestId>(id).ok(),
            Found::Request { .. } | Found::Other => None,
        };
        if let Some(question) = question {
            self.gate.count(ANSWER, Some(failure.code));
            return self.late_answer(question, &failure);
        }
        self.gate.count(UNKNOWN_METHOD, Some(failure.code));
        self.send_error(unreadable.request_id(), &failure);
    }

    fn call(&mut self, mut request: Request, method: &'static str, reply_to: ReplyTo) -> Result<(), Failure> {
        // The role for the method was checked before its params. Only such answers need a higher role.
        self.check_role(request.role(), "an answer that holds beyond its thread")?;
        let id = match &reply_to {
            ReplyTo::Request(id, _) => Some(id.get()),
            ReplyTo::Response(_) => None,
        };
        let token = self.gate.begin(method, id)?;
        let call = self.next_call;
        self.next_call += 1;
        self.opens(call, &mut request);
        self.waiting.insert(call, (token, reply_to));
        self.out.push(Output::Request {
            call,
            request: Box::new(request),
            after_sent: false,
        });
        Ok(())
    }

    /// Notifies a client that its answer failed, because a JSON-RPC response has no response of its own.
    fn late_answer(&mut self, request: RequestId, failure: &Failure) {
        let rejected = Notification::RequestRejected(Rejected {
            request_id: request,
            thread_id: request.thread,
            error: failure.into(),
        });
        if self.client.opted_out.contains(rejected.method()) {
            return;
        }
        let mut out = Vec::new();
        rejected.write(&mut out, None);
        self.out.push(Output::Send(out.into()));
    }

    fn initialize(&mut self, id: &RawValue, params: Option<&RawValue>) -> Result<(), Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Hello {
            client_info: Info,
            #[serde(default)]
            capabilities: Capabilities,
        }
        #[derive(Deserialize)]
        struct Info {
            name: String,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Capabilities {
            approvals: bool,
            subscribers: bool,
            opt_out_notification_methods: BTreeSet<String>,
        }
        // Unlike other requests, this one accepts unknown members: a newer client asks by it what this daemon knows.
        let hello: Hello = strict::read(params.map_or("{}", RawValue::get))?;
        self.client = Client {
            name: hello.client_info.name.chars().take(200).collect(),
            approvals: hello.capabilities.approvals,
            subscribers: hello.capabilities.subscribers,
            opted_out: hello.capabilities.opt_out_notification_methods,
        };
        self.phase = Phase::Greeted;
        let mut out = Vec::new();
        let mut message = Object::open(&mut out);
        message.raw("jsonrpc", "\"2.0\"").raw("id", id.get());
        let welcome = Initialized::of(self.gate.limits(), &self.principal, self.permissions.role);
        message.with("result", |out| welcome.write(out));
        message.close();
        self.out.push(Output::Send(out.into()));
        self.gate.count(INITIALIZE, None);
        Ok(())
    }

    fn send_error(&mut self, id: &str, failure: &Failure) {
        let mut out = Vec::new();
        let mut message = Object::open(&mut out);
        message.raw("jsonrpc", "\"2.0\"").raw("id", id);
        message.with("error", |out| Error::from(failure).write(out));
        message.close();
        self.out.push(Output::Send(out.into()));
    }
}
