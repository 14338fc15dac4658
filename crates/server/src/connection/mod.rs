//! Connections of clients, one task each: a [`Connection`](driver::Connection) of any protocol. [`acp`] sets up those of
//! editors.
//!
//! In: [transports](crate::transport), and the identity of their clients. Out: requests to the runtime, and messages for clients.
//! Owns: how long a client may be silent or accept nothing. Never: waits until a client reads.

pub mod acp;
mod delegated;
pub mod driver;
mod followed;
pub mod link;
mod pulse;
mod requests;

use std::time::Duration;

/// How long a client has to receive the rest of its messages when the daemon closes the connection.
pub const LAST_WORDS: Duration = Duration::from_secs(1);

/// The reason for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client disconnected.
    Gone,
    /// The client accepted nothing for too long.
    Stalled,
    /// The client did not respond to a ping.
    Silent,
    /// The client sent many requests and did not read the responses.
    Flooding,
    /// The client's credentials expired or were revoked.
    Expired,
    /// The daemon stops.
    Stopping,
    /// The client sent a message that exceeds the limit.
    TooLong,
    /// The client sent a binary message.
    Binary,
    /// A thread that the client follows cannot be read any more.
    Lost,
}

impl End {
    /// Returns the reason in metrics, or `None` for a client that disconnected by itself.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Gone => None,
            Self::Stalled => Some("stalled"),
            Self::Silent | Self::Expired => Some("silent"),
            Self::Flooding => Some("flooding"),
            Self::Stopping => Some("stopping"),
            Self::TooLong => Some("too_long"),
            Self::Binary => Some("binary"),
            Self::Lost => Some("lost"),
        }
    }
}
