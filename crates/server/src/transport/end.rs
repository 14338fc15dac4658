//! The reasons for the end of a connection.

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
            Self::Silent => Some("silent"),
            Self::Flooding => Some("flooding"),
            Self::Expired => Some("expired"),
            Self::Stopping => Some("stopping"),
            Self::TooLong => Some("too_long"),
            Self::Binary => Some("binary"),
            Self::Lost => Some("lost"),
        }
    }
}
