//! The properties that all requests of one kind share, besides the role that they need.

/// The order in which requests execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// No fixed order: no other request depends on it.
    Free,
    /// In the order of arrival on its connection, among requests for the same thread.
    Thread,
}

impl Order {
    /// Returns the name of this order in schemas.
    pub fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Thread => "thread",
        }
    }
}

/// How large an answer can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSize {
    /// At most about [`SMALL_ANSWER_BYTES`](acpd_model::limits::SMALL_ANSWER_BYTES), or the report of work that the client has started.
    Small,
    /// It is read or made for the client, and can be larger: it needs room before.
    Large,
    /// The same, but the handler learns the size or when it can be read, and takes the room.
    Measured,
    /// As large, but making it waits for a disk or an agent that may never answer: it needs room once it is made.
    Late,
}

/// What becomes of requests of one kind if the client reaches one thread only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedAccess {
    /// They are refused.
    Refused,
    /// They are permitted if they name the shared thread.
    ThatThread,
    /// They are permitted. Their answers contain the shared thread and no other.
    Limited,
}
