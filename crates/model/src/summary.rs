//! What a list of threads shows: small, kept beside the log so that listing never reads events.

use serde::{Deserialize, Serialize};

use crate::event::{Millis, TurnStatus};
use crate::json::RawJson;

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ThreadStatus {
    /// Nothing; it takes a turn at once.
    #[default]
    Idle,
    /// A turn runs.
    Running,
    /// A turn runs and a person is being asked.
    Waiting,
    /// It is about to vanish, and takes nothing any more.
    Deleting,
}

impl ThreadStatus {
    /// Whether something is left to be done: a turn runs, or the thread is about to vanish.
    pub fn is_active(self) -> bool {
        self != Self::Idle
    }
}

/// A thread at a glance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Name of the agent in the configuration.
    pub agent: String,
    /// Working directory.
    pub cwd: String,
    /// Set by a person, else by the agent, else cut from the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The client's own grouping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The client's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// What it is doing.
    pub status: ThreadStatus,
    /// How the last turn ended that is over; none if there was none, or if it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TurnStatus>,
    /// The agent's id for the session that it was last bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When it was made, or split off another one, milliseconds since the epoch.
    pub created_at: Millis,
    /// When a turn last started or ended, milliseconds since the epoch.
    pub updated_at: Millis,
    /// Turns that are part of the conversation: those that were dropped are not counted.
    pub turns: u32,
    /// Whether it was put away.
    #[serde(default)]
    pub archived: bool,
}
