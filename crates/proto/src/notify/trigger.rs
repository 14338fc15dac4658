//! What a notification is about.

use acpd_model::{Millis, RequestId, Seq, ThreadId, TurnId};
use serde::{Deserialize, Serialize};

/// What a person is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TriggerKind {
    /// The agent completed a turn.
    Done,
    /// A turn failed, was refused, reached a limit, or was interrupted by an error.
    Failed,
    /// A question waits for an answer.
    Waiting,
}

impl TriggerKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Done, Self::Failed, Self::Waiting];

    /// Returns the name that configurations and messages use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
        }
    }
}

/// The turn or the question that a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A turn that ended.
    Turn(TurnId),
    /// A question that waits.
    Question(RequestId),
}

/// An event of which people are notified. It names the event, and holds nothing of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    /// The thread.
    pub thread: ThreadId,
    /// What happened.
    pub kind: TriggerKind,
    /// The turn or the question.
    pub subject: Subject,
    /// The event.
    pub seq: Seq,
    /// When it happened, by the daemon's clock.
    pub at: Millis,
}
