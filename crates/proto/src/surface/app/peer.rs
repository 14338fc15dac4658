//! One connection of the app protocol.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use acpd_model::event::ClientOrigin;
use acpd_model::{ErrorCode, Failure, Limits, RawJson, RequestId, Role, ThreadId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::encode::Frame;
use super::notifications::Notification;
use super::params::Response;
use super::results::ResultType;
use super::subscribers::Subscriber;
use super::table::Method;
use super::wire::Value;
use super::wire::error::{Error, Rejected};
use super::wire::welcome::Initialized;
use crate::queue::Queue;
use crate::surface::reply::Reply;
use crate::surface::request::{Request, RequestKind};
use crate::time::{Instant, Now};
use crate::wire::{Message, Object};

/// The client of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    /// The client's name, as it reported it.
    pub name: String,
    /// Whether the client answers questions.
    pub approvals: bool,
    /// Whether the client wants to be notified of other subscribers of its threads.
    pub subscribers: bool,
    opted_out: BTreeSet<String>,
}

/// An output of the connection.
#[derive(Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one of them is made for each request, and handed on at once"
)]
pub enum PeerOutput {
    /// Sends one message.
    Send(Vec<u8>),
    /// Carries out a request. Its result goes to [`Peer::reply`] with `token`.
    Call {
        /// Identifies the result.
        token: u64,
        /// The request.
        request: Request,
    },
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

/// One connection: reads messages, enforces the handshake and the limits, and writes responses.
#[derive(Debug)]
pub struct Peer {
    limits: Limits,
    principal: String,
    role: Role,
    phase: Phase,
    client: Client,
    current: Option<ThreadId>,
    recent: VecDeque<Instant>,
    waiting: BTreeMap<u64, (&'static str, ReplyTo)>,
    next_token: u64,
    out: Queue<PeerOutput>,
    handled: Vec<Handled>,
}

/// The outcome of a client's request, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handled {
    /// The method; [`UNKNOWN_METHOD`] for unknown methods, [`ANSWER`] for an answer to a question.
    pub method: &'static str,
    /// The error, if the request failed.
    pub error: Option<ErrorCode>,
}

/// Represents every unknown method, and messages that are not requests.
pub const UNKNOWN_METHOD: &str = "unknown";
/// Represents a response to one of the daemon's own requests.
pub const ANSWER: &str = "answer";
const INITIALIZE: &str = "initialize";

impl Peer {
    /// Creates a connection of `principal`, before its handshake.
    pub fn new(principal: String, role: Role, limits: Limits) -> Self {
        Self {
            limits,
            principal,
            role,
            phase: Phase::New,
            client: Client::default(),
            current: None,
            recent: VecDeque::new(),
            waiting: BTreeMap::new(),
            next_token: 0,
            out: Queue::default(),
            handled: Vec::new(),
        }
    }

    /// Returns the client, which has no name before the handshake.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the client as the originator of events.
    pub fn caller(&self) -> ClientOrigin {
        ClientOrigin {
            principal: self.principal.clone(),
            client: self.client.name.clone(),
        }
    }

    /// Returns the client as other subscribers see it.
    pub fn subscriber(&self) -> Subscriber {
        Subscriber {
            who: self.caller(),
            may_answer: self.answers(),
        }
    }

    /// Returns the role of the connection.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Handles one message of the client.
    pub fn handle_text(&mut self, text: &str, now: Now) {
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => {
                if let Err(failure) = self.request(id, &method, params, now.mono) {
                    let known = Method::find(&method).map(|method| method.name);
                    let initialize = (&*method == INITIALIZE).then_some(INITIALIZE);
                    self.handled(known.or(initialize).unwrap_or(UNKNOWN_METHOD), Some(failure.code));
                    self.send_error(id.get(), &failure);
                }
            }
            Ok(Message::Notification { method, .. }) => {
                if &*method == "initialized" && matches!(self.phase, Phase::Greeted) {
                    self.phase = Phase::Ready;
                }
            }
            Ok(Message::Response { id, result }) => self.response(id, result.map_err(|_| ())),
            Err(malformed) => {
                let code = if malformed.is_json {
                    ErrorCode::InvalidRequest
                } else {
                    ErrorCode::ParseError
                };
                self.handled(UNKNOWN_METHOD, Some(code));
                self.send_error("null", &Failure::new(code, malformed.reason));
            }
        }
    }

    /// Returns the outcomes of requests since the last call.
    pub fn take_handled(&mut self) -> Vec<Handled> {
        std::mem::take(&mut self.handled)
    }

    fn handled(&mut self, method: &'static str, error: Option<ErrorCode>) {
        self.handled.push(Handled { method, error });
    }

    /// Sends the result of a [`PeerOutput::Call`] to the client.
    pub fn reply(&mut self, token: u64, reply: Result<Reply, Failure>) {
        let Some((method, reply_to)) = self.waiting.remove(&token) else {
            return;
        };
        let error = match reply_to {
            ReplyTo::Request(id, result) => self.respond(&id, reply.and_then(|reply| result.write(reply))),
            ReplyTo::Response(request) => reply.err().map(|failure| {
                self.late_answer(request, &failure);
                failure.code
            }),
        };
        self.handled(method, error);
    }

    /// Sends the result of a request, or why it failed, which is returned.
    fn respond(&mut self, id: &RawJson, result: Result<RawJson, Failure>) -> Option<ErrorCode> {
        match result {
            Ok(result) => {
                let mut out = Vec::new();
                crate::wire::response(&mut out, id.get(), result.get());
                self.out.push(PeerOutput::Send(out));
                None
            }
            Err(failure) => {
                self.send_error(id.get(), &failure);
                Some(failure.code)
            }
        }
    }

    /// Sets the default for requests without a thread, and returns the previous one.
    pub fn set_current(&mut self, thread: Option<ThreadId>) -> Option<ThreadId> {
        std::mem::replace(&mut self.current, thread)
    }

    /// Returns the default for requests without a thread.
    pub fn current(&self) -> Option<ThreadId> {
        self.current
    }

    /// Returns the message of a frame for this client, if any. `pending` says whether a question is still open. A client that
    /// answers questions always receives open ones, even if it opted out of the notification.
    pub fn select<'f>(
        &self,
        frame: &'f Frame,
        pending: impl Fn(RequestId) -> bool,
    ) -> Option<&'f bytes::Bytes> {
        match frame.ask.as_deref() {
            Some((request, asking)) if self.answers() && pending(*request) => Some(asking),
            _ if self.client.opted_out.contains(frame.method) => None,
            _ => Some(&frame.text),
        }
    }

    /// Returns whether the client receives questions as requests: it answers them, and its role allows that.
    fn answers(&self) -> bool {
        self.client.approvals && self.role.may(RequestKind::Answer.role())
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<PeerOutput> {
        self.out.pop()
    }

    fn request(
        &mut self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        now: Instant,
    ) -> Result<(), Failure> {
        self.admit(now)?;
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
        self.check_role(method.role(), method.name)?;
        let request = method.read(params.map_or("{}", RawValue::get), self.current)?;
        self.call(request, method.name, ReplyTo::Request(id.into(), method.result))
    }

    fn check_role(&self, needed: Role, what: &str) -> Result<(), Failure> {
        if self.role.may(needed) {
            return Ok(());
        }
        let message = format!(
            "{what} needs the role {needed}; this token has the role {}",
            self.role
        );
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
            .check_role(RequestKind::Answer.role(), "an answer")
            .and_then(|()| Response::read(request, result.map(RawValue::get)))
            .and_then(|answered| self.call(answered.into(), ANSWER, ReplyTo::Response(request)));
        if let Err(failure) = called {
            self.handled(ANSWER, Some(failure.code));
            self.late_answer(request, &failure);
        }
    }

    fn call(&mut self, request: Request, method: &'static str, reply_to: ReplyTo) -> Result<(), Failure> {
        // The role for the method was checked before its params. Only such answers need a higher role.
        self.check_role(request.role(), "an answer that holds beyond its thread")?;
        let most = self.limits.requests_in_flight;
        if self.waiting.len() >= most {
            let message = format!("too many requests in flight on this connection (limit {most})");
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        let token = self.next_token;
        self.next_token += 1;
        self.waiting.insert(token, (method, reply_to));
        self.out.push(PeerOutput::Call { token, request });
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
        self.out.push(PeerOutput::Send(out));
    }

    fn admit(&mut self, now: Instant) -> Result<(), Failure> {
        let window = Duration::from_secs(self.limits.request_window_secs);
        while self.recent.front().is_some_and(|at| *at + window <= now) {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.limits.requests_per_window as usize {
            let message = format!(
                "more than {} requests in {} s on this connection",
                self.limits.requests_per_window, self.limits.request_window_secs
            );
            return Err(Failure::new(ErrorCode::RateLimited, message));
        }
        self.recent.push_back(now);
        Ok(())
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
        let hello: Hello = serde_json::from_str(params.map_or("{}", RawValue::get))
            .map_err(|error| Failure::invalid_params(format!("invalid params: {error}")))?;
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
        let welcome = Initialized::of(&self.limits, &self.principal, self.role);
        message.with("result", |out| welcome.write(out));
        message.close();
        self.out.push(PeerOutput::Send(out));
        self.handled(INITIALIZE, None);
        Ok(())
    }

    fn send_error(&mut self, id: &str, failure: &Failure) {
        let mut out = Vec::new();
        let mut message = Object::open(&mut out);
        message.raw("jsonrpc", "\"2.0\"").raw("id", id);
        message.with("error", |out| Error::from(failure).write(out));
        message.close();
        self.out.push(PeerOutput::Send(out));
    }
}
