//! Why an agent is terminated that holds up others, or can no longer work.

use std::time::Duration;

use acpd_host::ProcessExit;
use acpd_model::limits::{AGENT_STALL_SECS, LONG_LINE_BYTES};

/// How long the agent may read nothing while there is no capacity for more.
pub(crate) const STALL: Duration = Duration::from_secs(if cfg!(test) { 2 } else { AGENT_STALL_SECS });

/// Why an agent is terminated that holds up others, or can no longer work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stalled {
    /// It has stopped reading its stdin, and there is no capacity for more.
    Input {
        /// Bytes that the agent has not read.
        bytes: usize,
    },
    /// It paused within a long line, and there is no room for those of other agents.
    Output,
    /// It has closed its stdin, so it receives nothing more.
    Closed,
}

impl Stalled {
    /// Returns the reason of the end of a process that was stopped for this.
    pub fn reason(self, ended: &ProcessExit) -> String {
        match self {
            // It was about to exit, and did so by itself.
            Self::Closed if ended.by_itself => ended.reason.clone(),
            _ => self.to_string(),
        }
    }
}

impl std::fmt::Display for Stalled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input { bytes } => write!(
                f,
                "the agent has stopped reading its stdin: it read none of {bytes} waiting bytes for {} s, so acpd terminated it",
                STALL.as_secs()
            ),
            Self::Output => write!(
                f,
                "the agent paused for {AGENT_STALL_SECS} s within a line of more than {} MiB while other agents waited for room, so acpd terminated it",
                LONG_LINE_BYTES >> 20
            ),
            Self::Closed => f.write_str("the agent has closed its stdin, so acpd terminated it"),
        }
    }
}
