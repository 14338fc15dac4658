//! What turns and threads are doing, or how they ended.

use serde::{Deserialize, Serialize};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// The agent ended the turn normally.
    Completed,
    /// A client cancelled the turn.
    Interrupted,
    /// The turn ended with an error, a crash or a timeout.
    Failed,
    /// The agent refused to continue.
    Refused,
    /// The turn reached a limit of the model or of the agent.
    Limited,
}

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ThreadStatus {
    /// No turn is running. The next turn starts at once.
    #[default]
    Idle,
    /// A turn is running.
    Running,
    /// A turn is running and waits for an answer of the user.
    Waiting,
    /// The thread is about to be deleted and accepts no more requests.
    Deleting,
    /// The thread's log cannot be written, or part of it cannot be read. Only shown, never stored.
    Failed,
}

impl ThreadStatus {
    /// Returns whether work remains: a turn is running, or the thread is about to be deleted.
    pub fn is_active(self) -> bool {
        self != Self::Idle
    }
}
