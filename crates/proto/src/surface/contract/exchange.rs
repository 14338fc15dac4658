//! The requests of one connection: those of the client that have no response yet, and those to the daemon that have no reply.
//!
//! In: what a surface has read of its client's messages, and replies. Out: what may be done now, or the failure that the surface
//! writes. Owns: the handshake's phase, the client's permissions, the calls that wait, and the gate. Never: knows how a protocol
//! writes an error.

use std::collections::BTreeMap;
use std::fmt;

use acpd_model::collections::free_if_empty;
use acpd_model::{ErrorCode, Failure, Limits, RawJson};
use serde_json::value::RawValue;

use super::gate::{ANSWER, Gate, Token, UNKNOWN_METHOD};
use super::output::Output;
use crate::surface::reply::Reply;
use crate::surface::request::{Permissions, Request};
use crate::time::Instant;

/// The first request of a connection, in every protocol.
pub(in crate::surface) const INITIALIZE: &str = "initialize";

/// Characters of an unknown method's name that a failure shows. The name is the client's, and as long as its message.
const NAME_CHARS: usize = 80;

/// How far the handshake is.
#[derive(Debug, Clone, Copy)]
pub(in crate::surface) enum Phase {
    /// The client has not sent `initialize`, or it failed.
    New,
    /// The handshake has begun. Until it has ended, all requests fail with this.
    Begun(fn() -> Failure),
    /// The client may make requests.
    Ready,
}

/// A request of the client that has no response yet. Its surface must answer it once, and then [end](Exchange::end) it.
#[derive(Debug)]
#[must_use = "a request must be answered and ended"]
pub(in crate::surface) struct OpenRequest {
    /// The client's id for the request, as the client wrote it.
    pub id: RawJson,
    token: Token,
}

impl OpenRequest {
    /// Returns the name of the method in metrics.
    pub fn method(&self) -> &'static str {
        self.token.method()
    }
}

/// An answer of the client to a question that the daemon has not confirmed yet. It has no response.
#[derive(Debug)]
#[must_use = "an answer must be ended"]
pub(in crate::surface) struct OpenAnswer(Token);

/// What a connection does with a reply of the daemon.
pub(in crate::surface) type Then<P> = Box<dyn FnOnce(&mut P, Result<Reply, Failure>) + Send>;

/// The requests of a connection `P`.
pub(in crate::surface) struct Exchange<P> {
    gate: Gate,
    permissions: Permissions,
    phase: Phase,
    waiting: BTreeMap<u64, Then<P>>,
    next_call: u64,
}

impl<P> fmt::Debug for Exchange<P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Exchange")
            .field("gate", &self.gate)
            .field("permissions", &self.permissions)
            .field("phase", &self.phase)
            .field("waiting", &self.waiting.keys())
            .finish_non_exhaustive()
    }
}

impl<P> Exchange<P> {
    /// Creates the exchange of a connection before its handshake.
    pub fn new(gate: Gate, permissions: Permissions) -> Self {
        Self {
            gate,
            permissions,
            phase: Phase::New,
            waiting: BTreeMap::new(),
            next_call: 0,
        }
    }

    /// Returns the connection's gate.
    pub fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    /// Returns the limits of the daemon.
    pub fn limits(&self) -> &Limits {
        self.gate.limits()
    }

    /// Returns what the client may do.
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// Returns how far the handshake is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Goes to another phase of the handshake.
    pub fn enter(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Starts a request of the client. It fails, in this order, if the handshake forbids it now, if the client sends too many
    /// requests in a short time, if another one in progress has this id, and if too many are in progress. A failed request is
    /// counted here, and has no other effect.
    ///
    /// The handshake comes before the rate: a client that sends requests too early learns the cause, and can still begin the
    /// handshake. Refusing a request costs the same for either reason, and `initialize` itself has to keep to the rate.
    pub fn begin(
        &mut self,
        method: &'static str,
        id: &RawValue,
        now: Instant,
    ) -> Result<OpenRequest, Failure> {
        match self.admit(method, id.get(), now) {
            Ok(token) => Ok(OpenRequest { id: id.into(), token }),
            Err(failure) => {
                self.gate.count(method, Some(failure.code));
                Err(failure)
            }
        }
    }

    fn admit(&mut self, method: &'static str, id: &str, now: Instant) -> Result<Token, Failure> {
        self.check_phase(method)?;
        self.gate.admit(now)?;
        self.gate.begin(method, Some(id))
    }

    fn check_phase(&self, method: &str) -> Result<(), Failure> {
        let is_greeting = method == INITIALIZE;
        let refused = |message: &str| Err(Failure::new(ErrorCode::Handshake, message));
        match self.phase {
            Phase::New if is_greeting => Ok(()),
            Phase::New => refused("Not initialized"),
            Phase::Begun(_) | Phase::Ready if is_greeting => refused("Already initialized"),
            Phase::Begun(failure) => Err(failure()),
            Phase::Ready => Ok(()),
        }
    }

    /// Continues a request that an earlier connection of the client has sent.
    pub fn adopt(&mut self, method: &'static str, id: RawJson) -> OpenRequest {
        let token = self.gate.adopt(method);
        OpenRequest { id, token }
    }

    /// Starts an answer to a question, unless too many requests are in progress.
    pub fn begin_answer(&mut self) -> Result<OpenAnswer, Failure> {
        self.gate.begin(ANSWER, None).map(OpenAnswer)
    }

    /// Starts an answer to a question that the client has received and not answered. It is never refused: a user must be able to
    /// say yes and no.
    pub fn adopt_answer(&mut self) -> OpenAnswer {
        OpenAnswer(self.gate.adopt(ANSWER))
    }

    /// Ends a request that was answered.
    pub fn end(&mut self, request: OpenRequest, error: Option<ErrorCode>) {
        self.gate.end(request.token, error);
    }

    /// Ends an answer, which may have failed.
    pub fn end_answer(&mut self, OpenAnswer(token): OpenAnswer, error: Option<ErrorCode>) {
        self.gate.end(token, error);
    }

    /// Counts a message of the client that failed before it was a request or an answer.
    pub fn count(&mut self, method: &'static str, failure: &Failure) {
        self.gate.count(method, Some(failure.code));
    }

    /// Makes a request to the daemon, and gives a new thread its id. The reply goes to `then`.
    pub fn call(
        &mut self,
        mut request: Request,
        then: impl FnOnce(&mut P, Result<Reply, Failure>) + Send + 'static,
    ) -> Output {
        let call = self.next_call;
        self.next_call += 1;
        self.waiting.insert(call, Box::new(then));
        if let Request::StartThread(start) = &mut request {
            start.thread = Some(self.gate.thread_id());
        }
        Output::Request {
            call,
            request: Box::new(request),
            after_sent: false,
        }
    }

    /// Returns what is done with the reply under this number; `None` if nothing waits for it, such as after an earlier reply.
    pub fn replied(&mut self, call: u64) -> Option<Then<P>> {
        let then = self.waiting.remove(&call);
        free_if_empty(&mut self.waiting);
        then
    }
}

/// Returns the name of a method in metrics, which must not contain a client's words. `listed` is its name in the protocol's table.
pub(in crate::surface) fn known_name(method: &str, listed: Option<&'static str>) -> &'static str {
    let initialize = (method == INITIALIZE).then_some(INITIALIZE);
    listed.or(initialize).unwrap_or(UNKNOWN_METHOD)
}

/// Returns as much of a client's name for a method as a failure shows.
pub(in crate::surface) fn shown_name(method: &str) -> &str {
    let end = method.char_indices().nth(NAME_CHARS);
    end.map_or(method, |(end, _)| &method[..end])
}

/// Returns the failure for a method that the protocol does not have, or acpd does not.
pub(in crate::surface) fn unknown_method(method: &str) -> Failure {
    let message = format!("unknown method {:?}", shown_name(method));
    Failure::new(ErrorCode::MethodNotFound, message)
}
