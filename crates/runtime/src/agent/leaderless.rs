//! The end of an agent whose process has exited while a descendant holds its output open, or that has closed its stdin.
//!
//! In: the process, and when the agent wrote something. Out: the moment from which the agent counts as ended. Owns: that
//! time. Never: ends a process.

use std::time::Duration;

use acpd_proto::time::Instant;
use futures_util::future::BoxFuture;

use crate::agent::agent_clock::AgentClock;
use crate::host::AgentProcess;

/// Silence that ends such an agent. What it wrote before is in the pipe and is read at once; the time
/// is for a descendant that still writes the agent's output.
const SILENCE: Duration = Duration::from_secs(2);

/// Watches the process of an agent.
pub(crate) struct Leaderless<'a> {
    gone: BoxFuture<'a, ()>,
    clock: AgentClock,
    /// When the agent wrote something last, the process exited, or the agent closed its stdin. `None` while it works.
    since: Option<Instant>,
}

impl<'a> Leaderless<'a> {
    /// Watches this process.
    pub fn new(process: &'a mut dyn AgentProcess, clock: AgentClock) -> Self {
        Self {
            gone: process.gone(),
            clock,
            since: None,
        }
    }

    /// Restarts the time of silence, because the agent wrote something.
    pub fn heard(&mut self) {
        if let Some(since) = &mut self.since {
            *since = self.clock.now().mono;
        }
    }

    /// Ends the agent after the same silence, because it receives nothing more.
    pub fn give_up(&mut self) {
        self.since.get_or_insert_with(|| self.clock.now().mono);
    }

    /// Waits until the agent can do nothing more and was silent since. Cancel safe.
    pub async fn silent(&mut self) {
        let since = match self.since {
            Some(since) => since,
            None => {
                (&mut self.gone).await;
                *self.since.insert(self.clock.now().mono)
            }
        };
        let end = since + SILENCE;
        while self.clock.now().mono < end {
            tokio::time::sleep_until(self.clock.instant(end)).await;
        }
    }
}
