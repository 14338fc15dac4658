//! What a policy or a remembered answer applies to.

use serde::{Deserialize, Serialize};

/// Scope of a policy or a remembered answer, from the innermost to the outermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Scope {
    /// One session of an agent. Only remembered answers have this scope.
    Session,
    /// One thread.
    Thread,
    /// Every thread of one agent.
    Agent,
    /// Every agent.
    Daemon,
}

impl Scope {
    pub(super) const ALL: [Self; 4] = [Self::Session, Self::Thread, Self::Agent, Self::Daemon];

    /// Returns the name of the scope.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Thread => "thread",
            Self::Agent => "agent",
            Self::Daemon => "daemon",
        }
    }
}
