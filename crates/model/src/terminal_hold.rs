//! What the log has about a terminal that outlives the daemon.

use serde::{Deserialize, Serialize};

/// A terminal that a shim holds. The secret to reach it follows from that of its agent and from the id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalHold {
    /// The thread's id for the terminal.
    pub id: String,
    /// Bytes of output that are kept.
    pub limit: u64,
    /// Bytes of output that the log has. What was written behind them follows when a daemon attaches.
    #[serde(default, skip_serializing_if = "is_none")]
    pub seen: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(seen: &u64) -> bool {
    *seen == 0
}
