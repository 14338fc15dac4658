//! One error type for all failures of this crate.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol;

/// A failure of a request, a subscription or a connection. Its text is a sentence for users.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The daemon refused the request.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// There is no connection, or it broke. If it broke before the response, the daemon may have executed the request.
    #[error("{0}")]
    Disconnected(String),
    /// The daemon closed the connection, for example because it stops. It may have executed requests without a response.
    #[error("the daemon closed the connection: {}", if reason.is_empty() { "it gave no reason" } else { reason })]
    ClosedByDaemon {
        /// The daemon's reason; empty if it gave none.
        reason: String,
    },
    /// The daemon sent nothing for longer than its pings take, or than [`Options::silence`](crate::Options::silence).
    #[error("the daemon sent nothing for {} s", silence.as_secs())]
    Silent {
        /// The time.
        silence: Duration,
    },
    /// The program's own connector opened no connection.
    #[error("{0}")]
    Connect(ConnectError),
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
    /// The daemon does not accept these credentials.
    #[error("{0}")]
    Unauthenticated(String),
    /// The daemon uses another version of the protocol.
    #[error(
        "the daemon uses version {daemon} of the protocol, this client version {}: use the client of the daemon's release",
        protocol::PROTOCOL_VERSION
    )]
    ProtocolVersion {
        /// The daemon's version.
        daemon: u64,
    },
    /// The request is larger than the daemon accepts.
    #[error(
        "{method} has {bytes} bytes, and the daemon accepts {limit}: send less, or upload files as attachments"
    )]
    RequestTooLarge {
        /// Name of the method.
        method: String,
        /// Size of the request.
        bytes: usize,
        /// The daemon's limit.
        limit: u64,
    },
    /// A message of the daemon is larger than this client accepts.
    #[error("a message of the daemon has more than {limit} bytes: raise Options::max_message_bytes")]
    MessageTooLarge {
        /// The limit.
        limit: usize,
    },
    /// The daemon sent something that this client cannot read, or the params of a request cannot be written.
    #[error("{0}")]
    Malformed(String),
    /// The address is invalid.
    #[error("{0}")]
    Address(String),
    /// This client follows the thread already.
    #[error("this client follows the thread {0} already: read the existing subscription, or drop it first")]
    AlreadyFollowed(String),
}

/// Why a program's own connector opened no connection.
#[derive(Clone, Debug)]
pub struct ConnectError {
    reason: Arc<dyn StdError + Send + Sync>,
    is_retryable: bool,
}

impl ConnectError {
    /// A failure that may pass: the client tries again.
    pub fn retryable(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            reason: reason.into().into(),
            is_retryable: true,
        }
    }

    /// A failure that no retry mends, such as a wrong token: the client closes.
    pub fn permanent(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            reason: reason.into().into(),
            is_retryable: false,
        }
    }

    /// Returns the connector's error.
    pub fn reason(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.reason
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl StdError for ConnectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.reason.source()
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::retryable(error)
    }
}

/// The daemon's reason for refusing a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Refusal {
    /// Stable code, such as `not_found`.
    pub code: String,
    /// One sentence for users.
    pub message: String,
    /// Code of JSON-RPC.
    pub rpc_code: i64,
    /// Whether the same request may succeed later.
    pub is_retryable: bool,
    /// Further explanation.
    pub detail: Option<String>,
}

impl Error {
    /// Returns a stable code: the daemon's, or the name of the failure, such as `disconnected`.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.code,
            Self::Disconnected(_) | Self::ClosedByDaemon { .. } | Self::Silent { .. } | Self::Connect(_) => {
                "disconnected"
            }
            Self::Closed => "closed",
            Self::Unauthenticated(_) => "unauthenticated",
            Self::ProtocolVersion { .. } => "protocol_version",
            Self::RequestTooLarge { .. } | Self::MessageTooLarge { .. } => "too_large",
            Self::Malformed(_) => "malformed",
            Self::Address(_) => "invalid_address",
            Self::AlreadyFollowed(_) => "already_followed",
        }
    }

    /// Returns whether the same request or connection may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.is_retryable,
            Self::Disconnected(_) | Self::ClosedByDaemon { .. } | Self::Silent { .. } => true,
            Self::Connect(error) => error.is_retryable,
            _ => false,
        }
    }
}

impl From<protocol::Error> for Error {
    fn from(error: protocol::Error) -> Self {
        let (code, is_retryable, detail) = match error.data {
            Some(data) => (data.code, data.retryable, data.detail),
            None => ("internal".to_owned(), false, None),
        };
        Self::Refused(Box::new(Refusal {
            code,
            message: error.message,
            rpc_code: error.code,
            is_retryable,
            detail,
        }))
    }
}
