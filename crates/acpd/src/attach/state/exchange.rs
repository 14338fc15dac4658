//! Requests of the state, their replies and failures, in the types of the app protocol.
//!
//! In: errors of the client, and the response to `initialize`. Out: what of them concerns the state. Never: sends anything.

use acpd_client::Error;
use acpd_client::protocol::{
    Delivery, Initialized, ItemAnswerParams, ItemApproveParams, LanesListed, Role, Thread,
    ThreadConfigSetParams, ThreadLanesParams, ThreadListParams, ThreadReadParams, ThreadResumed,
    ThreadStartParams, ThreadSummary, Turn, TurnInterruptParams, TurnQueueSteerParams, TurnStartParams,
    TurnSteerParams,
};
use acpd_model::ErrorCode;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    StartTurn(TurnStartParams),
    Steer(TurnSteerParams),
    SteerQueued(TurnQueueSteerParams),
    Interrupt(TurnInterruptParams),
    ReadPage(ThreadReadParams),
    ListLanes(ThreadLanesParams),
    ListThreads(ThreadListParams),
    StartThread(Box<ThreadStartParams>),
    SetOption(ThreadConfigSetParams),
    Approve(ItemApproveParams),
    Answer(ItemAnswerParams),
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The request was carried out.
    Done,
    Turn(Box<Turn>),
    Steered(Delivery),
    /// A new thread, or a page of one.
    Thread(Box<Thread>),
    Threads(Vec<ThreadSummary>),
    Lanes(LanesListed),
    Followed(Box<ThreadResumed>),
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub message: String,
    pub kind: FailureKind,
}

/// The kinds of failures that the state treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection was lost. The daemon may have carried out the request.
    Lost,
    /// Something does not exist: the thread, or what the request names in it.
    NotFound,
    /// The access to the thread is gone.
    Forbidden,
    /// The question has an answer already.
    Resolved,
    Other,
}

impl Failure {
    /// Creates a failure that has no special meaning.
    pub fn other(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: FailureKind::Other,
        }
    }

    /// Returns whether the thread, or the access to it, is gone.
    pub fn is_final(&self) -> bool {
        matches!(self.kind, FailureKind::NotFound | FailureKind::Forbidden)
    }
}

impl FailureKind {
    /// Returns the kind of an error of the client.
    pub fn of(error: &Error) -> Self {
        let refusal = match error {
            Error::Refused(refusal) => refusal,
            Error::RequestTooLarge { .. } | Error::Malformed(_) | Error::AlreadyFollowed(_) => {
                return Self::Other;
            }
            // The connection is lost, or the client is closed, which its state says as well.
            _ => return Self::Lost,
        };
        let is = |known: ErrorCode| refusal.code == known.word();
        if is(ErrorCode::NotFound) {
            Self::NotFound
        } else if is(ErrorCode::Forbidden) || is(ErrorCode::Unauthenticated) {
            Self::Forbidden
        } else if is(ErrorCode::AlreadyResolved) {
            Self::Resolved
        } else {
            Self::Other
        }
    }
}

/// What the daemon of a connection permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Whether the daemon sends a prompt in place of an earlier one. An older one would add it to the conversation.
    pub replaces_turns: bool,
    /// Whether this client may answer questions.
    pub may_answer: bool,
}

impl Abilities {
    /// Reads the response to `initialize`.
    pub fn of(server: &Initialized) -> Self {
        Self {
            replaces_turns: server.capabilities.replaces_turns,
            // A role that is newer than this program has at least as many rights as the roles that it knows.
            may_answer: server.identity.role != Role::Observer,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(code: &str) -> Error {
        let data = json!({ "code": code, "retryable": false });
        let error = json!({ "code": -32000, "message": "no", "data": data });
        let error: acpd_client::protocol::Error = serde_json::from_value(error).expect("it is an error");
        error.into()
    }

    #[test]
    fn an_error_that_ends_the_connection_is_no_refusal() {
        for (error, kind) in [
            (refused("not_found"), FailureKind::NotFound),
            (refused("forbidden"), FailureKind::Forbidden),
            (refused("unauthenticated"), FailureKind::Forbidden),
            (refused("already_resolved"), FailureKind::Resolved),
            (refused("conflict"), FailureKind::Other),
            (refused("newer_than_this"), FailureKind::Other),
            (Error::Malformed("x".to_owned()), FailureKind::Other),
            (Error::Disconnected("x".to_owned()), FailureKind::Lost),
            (Error::Unauthenticated("x".to_owned()), FailureKind::Lost),
            (Error::Closed, FailureKind::Lost),
        ] {
            assert_eq!(FailureKind::of(&error), kind, "{error:?}");
        }
    }

    #[test]
    fn only_an_observer_may_not_answer() {
        let limits = json!({
            "messageBytes": 1, "requestsPerWindow": 1, "requestWindowSecs": 1, "queuedTurns": 1, "requestsInFlight": 1,
            "threadCommands": 1, "outboundQueue": 1, "liveBatches": 1, "connections": 1, "pingSecs": 1, "pongSecs": 1,
            "writeSecs": 1,
        });
        for (role, may_answer) in [("observer", false), ("approver", true), ("emperor", true)] {
            let server = json!({
                "protocolVersion": 1, "serverInfo": { "name": "acpd", "version": "9" }, "limits": limits,
                "capabilities": { "streaming": true, "tools": true, "approvals": true, "replacesTurns": true },
                "identity": { "principal": "owner", "role": role },
            });
            let server: Initialized = serde_json::from_value(server).expect("it is a response");
            let expected = Abilities {
                replaces_turns: true,
                may_answer,
            };
            assert_eq!(Abilities::of(&server), expected, "{role}");
        }
    }
}
