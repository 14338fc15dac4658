//! The replies to clients' commands.

use acpd_model::event::{Directories, Fidelity, LeaseHolder, SessionParams, ThreadForked, TurnStatus};
use acpd_model::{ItemId, Millis, RawJson, Seq, TurnId};
use acpd_policy::{Explanation, Policy, RememberedRule};
use serde::Serialize;

use crate::projection::{Choices, Live};

/// The reply to a client's command.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The command is done.
    Done,
    /// The turn that was started or queued.
    Turn(TurnView),
    /// The input for the running turn was accepted.
    Steered {
        /// The turn that contains the input.
        turn: TurnId,
        /// How the input reaches the agent.
        delivery: SteerDelivery,
    },
    /// The command line of a user that was started.
    CommandStarted {
        /// The command's item.
        item: ItemId,
        /// The turn that contains the item.
        turn: TurnId,
    },
    /// The sign-in in progress.
    SignIn {
        /// Whether there is one.
        in_progress: bool,
        /// The lines with addresses and codes that the agent has printed for it.
        lines: Vec<String>,
    },
    /// The point where another thread is forked.
    Fork(Box<ForkPoint>),
    /// How well the agent remembers the remaining turns after the last ones were dropped.
    RolledBack(Fidelity),
    /// How the policy decides a tool call.
    Explained(Box<Explanation>),
    /// The remembered answers of the thread and of its agent.
    Remembered(Vec<RememberedRule>),
    /// The editor that holds the lease now.
    Lease(Option<LeaseHolder>),
    /// The agent's response, unchanged.
    Agent(RawJson),
}

/// The point where another thread is forked, and what the agent may do in the fork.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkPoint {
    /// Describes the fork in the new thread's log.
    pub forked: ThreadForked,
    /// The last event that both threads share; `None` for the end of the last turn that is copied.
    pub until: Option<Seq>,
    /// The directories that the thread works in now.
    pub directories: Directories,
    /// The params of the session now, which the agent of the fork gets too.
    pub params: SessionParams,
    /// The thread's own policy.
    pub policy: Option<Policy>,
    /// Remembered answers that outlive a session.
    pub remembered: Vec<RememberedRule>,
    /// What users chose for the session now.
    pub choices: Choices,
    /// The thread's own name now, which the fork has too if it gets none.
    pub name: Option<String>,
}

/// The contents of a thread that is forked from another one.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkContents {
    /// The other thread's state after the last event that both share.
    pub live: Box<Live>,
    /// The point where the shared events end.
    pub point: ForkPoint,
    /// The new thread's own name.
    pub name: Option<String>,
}

/// How input for a running turn reaches the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SteerDelivery {
    /// As part of the turn that runs.
    Steered,
    /// As a separate turn, after the queued ones.
    Queued,
}

/// A summary of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnView {
    /// The turn's id.
    pub id: TurnId,
    /// `None` while the turn is queued or runs.
    pub status: Option<TurnStatus>,
    /// Whether the turn is queued.
    pub queued: bool,
    /// The time when the turn started.
    pub started_at: Option<Millis>,
}
