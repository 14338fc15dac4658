//! Connections of clients, one task each: [`acp`] for editors, [`app`] for clients of the app protocol.
//!
//! In: [transports](crate::transport), and who is at their other end. Out: requests to the runtime, and messages for clients. Owns:
//! how long a client may be silent, or take nothing. Never: waits for a client's reading with anything but what is for that client.

pub mod acp;
pub mod app;
pub mod link;
mod pulse;

use std::time::Duration;

/// How long a client has to take what is left for it when its connection ends from this side.
pub const LAST_WORDS: Duration = Duration::from_secs(1);

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client has gone.
    Gone,
    /// It takes nothing of what is sent.
    Stalled,
    /// It gave no sign of life.
    Silent,
    /// It asks on and on, and does not read the answers.
    Flooding,
    /// Its credentials hold no more.
    Expired,
    /// The daemon stops.
    Stopping,
    /// It sent a message that is longer than the limit.
    TooLong,
    /// It sent a binary message where text is spoken.
    Binary,
    /// A thread that it follows cannot be read any more.
    Lost,
}

impl End {
    /// As it is counted; nothing for a client that went by itself.
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
