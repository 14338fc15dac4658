//! One connection of the app protocol.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::event::ClientOrigin;
use acpd_model::json::well_formed;
use acpd_model::{ErrorCode, Failure, RequestId, Seq, ThreadId};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::encode::{Frame, frames, list_reset_frame, listed_frame, live_frame, seen_frame};
use super::log_state::{log_changed_frame, log_damaged_frame};
use super::notifications::Notification;
use super::params::Response;
use super::strict;
use super::subscribers::subscribers_frame;
use super::table::Method;
use super::wire::Value;
use super::wire::error::{Error, Rejected};
use super::wire::welcome::Initialized;
use crate::queue::Queue;
use crate::surface::contract::{
    ANSWER, ConnectionNotification, Delivery, Exchange, Gate, INITIALIZE, Lane, OpenRequest, Output, Pending,
    Phase, Profile, Source, Steps, Surface, UNKNOWN_METHOD, known_name, unknown_method,
};
use crate::surface::reply::Reply;
use crate::surface::request::{Permissions, Request, RequestKind};
use crate::time::Now;
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

/// A thread that is being opened: the default for requests without a thread until opening it fails.
#[derive(Debug)]
struct Opening {
    thread: ThreadId,
    /// The default before.
    before: Option<ThreadId>,
    /// Whether the client has received events of the thread, so that it stays open whatever the reply is.
    is_open: bool,
}

/// One connection: reads messages, and writes responses.
#[derive(Debug)]
pub struct Peer {
    exchange: Exchange<Self>,
    principal: String,
    client: Client,
    current: Option<ThreadId>,
    /// Threads whose opening has no reply yet, by call.
    opening: BTreeMap<u64, Opening>,
    out: Queue<Output>,
}

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
        self.exchange.gate()
    }

    fn handle_message(&mut self, text: &str, now: Now) {
        let text = &*well_formed(text);
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params, now),
            Ok(Message::Notification { method, .. }) => {
                if &*method == "initialized" && matches!(self.exchange.phase(), Phase::Begun(_)) {
                    self.exchange.enter(Phase::Ready);
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
        if let Some(then) = self.exchange.replied(call) {
            self.opened(call, &reply);
            then(self, reply);
        }
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

    fn handle_notification(&mut self, notice: ConnectionNotification<'_, Frame>) {
        let own;
        let frames = match notice {
            ConnectionNotification::List(frames) => frames,
            ConnectionNotification::Subscribers { thread, at, others } => {
                own = subscribers_frame(thread, at, others);
                std::slice::from_ref(&own)
            }
            ConnectionNotification::Log { thread, at, error } => {
                own = log_changed_frame(thread, at, error);
                std::slice::from_ref(&own)
            }
            ConnectionNotification::Damaged { thread, at, lost } => {
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

impl Steps for Peer {
    fn refuse(&mut self, request: OpenRequest, failure: &Failure) {
        self.send_error(request.id.get(), failure);
        self.exchange.end(request, Some(failure.code));
    }
}

impl Peer {
    /// Creates a connection of `principal`, before its handshake.
    pub fn new(principal: String, permissions: impl Into<Permissions>, gate: Gate) -> Self {
        Self {
            exchange: Exchange::new(gate, permissions.into()),
            principal,
            client: Client::default(),
            current: None,
            opening: BTreeMap::new(),
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
    fn opens(&mut self, call: u64, request: &Request) {
        let opens = if let Request::StartThread(start) = request {
            start.thread
        } else if let Request::OpenThread(open) = request {
            Some(open.thread)
        } else {
            None
        };
        let Some(thread) = opens else { return };
        let before = self.current.replace(thread);
        let opening = Opening {
            thread,
            before,
            is_open: false,
        };
        self.opening.insert(call, opening);
    }

    fn respond(&mut self, request: OpenRequest, response: Vec<u8>) {
        self.out.push(Output::Send(response.into()));
        self.exchange.end(request, None);
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
        self.client.approvals && self.exchange.permissions().may(RequestKind::Answer)
    }

    fn request(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>, now: Now) {
        let listed = Method::find(method);
        let name = known_name(method, listed.map(|listed| listed.name));
        let request = match self.exchange.begin(name, id, now.mono) {
            Ok(request) => request,
            Err(failure) => return self.send_error(id.get(), &failure),
        };
        let params = params.map_or("{}", RawValue::get);
        if name == INITIALIZE {
            return self.initialize(request, params);
        }
        let read = listed
            .ok_or_else(|| unknown_method(method))
            .and_then(|listed| Ok((self.read(listed, params)?, listed.result)));
        match read {
            Ok((read, result)) => self.call(read, move |peer, reply| {
                match reply.and_then(|reply| result.respond(request.id.get(), &reply)) {
                    Ok(response) => peer.respond(request, response),
                    Err(failure) => peer.refuse(request, &failure),
                }
            }),
            Err(failure) => self.refuse(request, &failure),
        }
    }

    fn read(&self, method: &Method, params: &str) -> Result<Request, Failure> {
        self.exchange.permissions().check(method.kind, method.name)?;
        let request = method.read(params, self.current)?;
        self.check_reach(&request)?;
        Ok(request)
    }

    /// Checks what is known only after the params were read: whether an answer concerns more than its thread.
    fn check_reach(&self, request: &Request) -> Result<(), Failure> {
        let what = if request.kind() == RequestKind::RevokeRemembered {
            "revoking an answer that applies to other threads"
        } else {
            "remembering an answer for other threads"
        };
        self.exchange.permissions().check_role(request.role(), what)
    }

    fn response(&mut self, id: &RawValue, result: Result<&RawValue, ()>) {
        let Ok(request) = serde_json::from_str::<RequestId>(id.get()) else {
            return self.send_error(
                "null",
                &Failure::new(ErrorCode::InvalidRequest, "a response to no request of ours"),
            );
        };
        let read = self.read_answer(request, result);
        match read.and_then(|read| Ok((read, self.exchange.begin_answer()?))) {
            Ok((read, answer)) => self.call(read, move |peer, reply| {
                let failure = reply.err();
                if let Some(failure) = &failure {
                    peer.late_answer(request, failure);
                }
                peer.exchange
                    .end_answer(answer, failure.map(|failure| failure.code));
            }),
            Err(failure) => {
                self.exchange.count(ANSWER, &failure);
                self.late_answer(request, &failure);
            }
        }
    }

    fn read_answer(&self, request: RequestId, result: Result<&RawValue, ()>) -> Result<Request, Failure> {
        let permissions = self.exchange.permissions();
        permissions.check(RequestKind::Answer, "an answer")?;
        let answer: Request = Response::read(request, result.map(RawValue::get))?.into();
        self.check_reach(&answer)?;
        Ok(answer)
    }

    /// Notifies a client that its message cannot be read: an answer, under the id of its question.
    fn unreadable(&mut self, unreadable: &Unreadable) {
        let failure = unreadable.failure();
        let question = match &unreadable.found {
            Found::Answer { id } => serde_json::from_str::<RequestId>(id).ok(),
            Found::Request { .. } | Found::Other => None,
        };
        if let Some(question) = question {
            self.exchange.count(ANSWER, &failure);
            return self.late_answer(question, &failure);
        }
        self.exchange.count(UNKNOWN_METHOD, &failure);
        self.send_error(unreadable.request_id(), &failure);
    }

    fn call(
        &mut self,
        request: Request,
        then: impl FnOnce(&mut Self, Result<Reply, Failure>) + Send + 'static,
    ) {
        let output = self.exchange.call(request, then);
        if let Output::Request { call, request, .. } = &output {
            self.opens(*call, request);
        }
        self.out.push(output);
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

    fn initialize(&mut self, request: OpenRequest, params: &str) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct InitializeParams {
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
        let hello: InitializeParams = match strict::read(params) {
            Ok(hello) => hello,
            Err(failure) => return self.refuse(request, &failure),
        };
        self.client = Client {
            name: hello.client_info.name.chars().take(200).collect(),
            approvals: hello.capabilities.approvals,
            subscribers: hello.capabilities.subscribers,
            opted_out: hello.capabilities.opt_out_notification_methods,
        };
        self.exchange.enter(Phase::Begun(unconfirmed));
        let mut out = Vec::new();
        let mut message = Object::open(&mut out);
        message.raw("jsonrpc", "\"2.0\"").raw("id", request.id.get());
        let role = self.exchange.permissions().role;
        let welcome = Initialized::of(self.exchange.limits(), &self.principal, role);
        message.with("result", |out| welcome.write(out));
        message.close();
        self.respond(request, out);
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

/// Returns the failure of requests between the response to `initialize` and the client's notification.
fn unconfirmed() -> Failure {
    let message = "Not initialized: send the initialized notification first";
    Failure::new(ErrorCode::Handshake, message)
}
