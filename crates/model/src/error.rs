//! What can go wrong, as a client sees it: a closed set of codes, each with one JSON-RPC number.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::RawJson;

/// The closed set. The text form is stable and stands in `error.data.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The message is not JSON.
    ParseError,
    /// The message is JSON, but no JSON-RPC 2.0 request, or a batch.
    InvalidRequest,
    /// No method of this name.
    MethodNotFound,
    /// The params do not fit the method.
    InvalidParams,
    /// Our own fault; the daemon's log has the details under an error id.
    Internal,
    /// No credentials, or wrong ones.
    Unauthenticated,
    /// The agent opens no session until somebody signs in to it.
    SignInRequired,
    /// A queue is full; the same request may succeed later.
    Overloaded,
    /// The thing that was named does not exist.
    NotFound,
    /// A request before `initialize`, or a second `initialize`.
    Handshake,
    /// The thing is in a state that rules the request out.
    Conflict,
    /// The question was answered before.
    AlreadyResolved,
    /// Too many requests on this connection.
    RateLimited,
    /// The agent, or this daemon, cannot do that.
    Unsupported,
    /// The caller's role, or a policy, does not allow it.
    Forbidden,
    /// The agent could not be started, exited, or did not answer in time.
    AgentFailed,
}

impl ErrorCode {
    /// The JSON-RPC error number.
    pub fn rpc(self) -> i64 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::Unauthenticated | Self::SignInRequired => -32000,
            Self::Overloaded => -32001,
            Self::NotFound => -32002,
            Self::Handshake => -32003,
            Self::Conflict | Self::AlreadyResolved => -32004,
            Self::RateLimited => -32005,
            Self::Unsupported => -32006,
            Self::Forbidden => -32007,
            Self::AgentFailed => -32008,
        }
    }

    /// Its text form.
    pub fn word(self) -> &'static str {
        match self {
            Self::ParseError => "parse_error",
            Self::InvalidRequest => "invalid_request",
            Self::MethodNotFound => "method_not_found",
            Self::InvalidParams => "invalid_params",
            Self::Internal => "internal",
            Self::Unauthenticated => "unauthenticated",
            Self::SignInRequired => "sign_in_required",
            Self::Overloaded => "overloaded",
            Self::NotFound => "not_found",
            Self::Handshake => "handshake",
            Self::Conflict => "conflict",
            Self::AlreadyResolved => "already_resolved",
            Self::RateLimited => "rate_limited",
            Self::Unsupported => "unsupported",
            Self::Forbidden => "forbidden",
            Self::AgentFailed => "agent_failed",
        }
    }

    /// Whether the same request may succeed later without any other change.
    pub fn retryable(self) -> bool {
        matches!(self, Self::Overloaded | Self::RateLimited | Self::AgentFailed)
    }
}

/// A failure that is told to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Failure {
    /// Which of the closed set.
    pub code: ErrorCode,
    /// One clear sentence.
    pub message: String,
    /// What explains it further, such as the end of an agent's stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The agent's own JSON-RPC error, as it came, where that is what failed: for editors, who speak its language.
    #[serde(skip)]
    pub agent_error: Option<RawJson>,
}

impl Failure {
    /// A failure of kind `code`, told as `message`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            agent_error: None,
        }
    }

    /// Adds the agent's own error.
    #[must_use]
    pub fn with_agent_error(mut self, error: RawJson) -> Self {
        self.agent_error = Some(error);
        self
    }

    /// Adds what explains it further; an empty text adds nothing.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into()).filter(|text| !text.is_empty());
        self
    }

    /// [`ErrorCode::NotFound`].
    pub fn not_found(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::NotFound, format!("{what} does not exist"))
    }

    /// [`ErrorCode::InvalidParams`].
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// [`ErrorCode::AgentFailed`].
    pub fn agent(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::AgentFailed, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
