//! Failures as a client sees them: a closed set of codes, each with one JSON-RPC error number.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::RawJson;

/// The closed set of error codes. The text form is stable and appears in `error.data.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The message is not JSON.
    ParseError,
    /// The message is JSON, but not a JSON-RPC 2.0 request, or it is a batch.
    InvalidRequest,
    /// The requested method does not exist.
    MethodNotFound,
    /// The params do not fit the method.
    InvalidParams,
    /// The daemon itself failed. Its log has the details under an error id.
    Internal,
    /// The credentials are missing or wrong.
    Unauthenticated,
    /// The agent opens no session until the user signs in to it.
    SignInRequired,
    /// A queue is full. The same request may succeed later.
    Overloaded,
    /// The named thread, request, agent or other object does not exist.
    NotFound,
    /// The client sent a request before `initialize`, or a second `initialize`.
    Handshake,
    /// The object is in a state that does not permit the request.
    Conflict,
    /// The question already has an answer.
    AlreadyResolved,
    /// The connection sent too many requests.
    RateLimited,
    /// The agent, or this daemon, does not support the request.
    Unsupported,
    /// The caller's role, or a policy, does not allow it.
    Forbidden,
    /// The agent could not be started, exited, or did not answer in time.
    AgentFailed,
    /// The daemon cannot write or read its log at the moment. Nothing was done.
    Storage,
}

impl ErrorCode {
    /// Returns the JSON-RPC error number.
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
            Self::Storage => -32009,
        }
    }

    /// Returns the text form of the code, as in `error.data.code`.
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
            Self::Storage => "storage",
        }
    }

    /// Returns whether the same request may succeed later without any other change.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::Overloaded | Self::RateLimited | Self::AgentFailed | Self::Storage
        )
    }
}

/// A failure that the caller receives as an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Failure {
    /// The error code, one of the closed set.
    pub code: ErrorCode,
    /// One sentence that explains the failure.
    pub message: String,
    /// Further explanation, such as the end of an agent's stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The agent's own JSON-RPC error, unchanged, if the agent failed. Editors receive it, since they speak ACP too.
    #[serde(skip)]
    pub agent_error: Option<RawJson>,
}

impl Failure {
    /// Creates a failure with the code `code` and the text `message`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            agent_error: None,
        }
    }

    /// Adds the agent's own JSON-RPC error.
    #[must_use]
    pub fn with_agent_error(mut self, error: RawJson) -> Self {
        self.agent_error = Some(error);
        self
    }

    /// Adds a further explanation. An empty text adds nothing.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into()).filter(|text| !text.is_empty());
        self
    }

    /// Creates a failure with [`ErrorCode::NotFound`]; `what` names the missing object.
    pub fn not_found(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::NotFound, format!("{what} does not exist"))
    }

    /// Creates a failure with [`ErrorCode::InvalidParams`].
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// Creates a failure with [`ErrorCode::AgentFailed`].
    pub fn agent(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::AgentFailed, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
