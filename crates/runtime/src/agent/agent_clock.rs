//! The time of one agent process, which stands still while the daemon does not read the process because it wrote too much.
//!
//! In: the daemon's clock, and the process's budget. Out: the time that counts for what the process must do, and when such a time
//! comes. Owns: the latest time that it returned. Never: goes backwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use acpd_proto::time::{Instant, Now};

use crate::clock::Clock;
use crate::host::budget::Budget;

/// The clock of one agent process.
#[derive(Debug, Clone)]
pub(crate) struct AgentClock {
    clock: Clock,
    budget: Budget,
    /// In nanoseconds.
    latest: Arc<AtomicU64>,
}

impl AgentClock {
    /// Creates the clock of the process with this budget.
    pub fn new(clock: Clock, budget: Budget) -> Self {
        Self {
            clock,
            budget,
            latest: Arc::default(),
        }
    }

    /// Returns the current time, without the time in debt.
    pub fn now(&self) -> Now {
        let mut now = self.clock.now();
        let mono = now.mono.saturating_sub(self.budget.time_in_debt());
        // Both clocks were read one after the other, and a pause of the host counts for one of them.
        let nanos = u64::try_from(mono.as_nanos()).unwrap_or(u64::MAX);
        let latest = self.latest.fetch_max(nanos, Ordering::Relaxed);
        now.mono = Duration::from_nanos(latest.max(nanos));
        now
    }

    /// Returns when this time comes, if the process gets into no further debt.
    pub fn instant(&self, at: Instant) -> tokio::time::Instant {
        self.clock.instant(at.saturating_add(self.budget.owed()))
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::limits::AGENT_BURST_BYTES;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_agent_clock_stops_in_debt() {
        let per_sec = 1 << 20;
        let budget = Budget::new(&Budget::total(), per_sec);
        let clock = AgentClock::new(Clock::start(), budget.clone());
        let begun = clock.now().mono;
        let deadline = begun + Duration::from_secs(5);
        budget.spend(AGENT_BURST_BYTES + 60 * per_sec);
        let due = clock.instant(deadline);
        tokio::time::sleep(Duration::from_secs(59)).await;
        assert!(clock.now().mono < begun + Duration::from_secs(1));
        assert!(budget.debt().is_some());
        tokio::time::sleep_until(due).await;
        assert!(budget.debt().is_none() && clock.now().mono >= deadline);
        assert!(clock.now().mono < deadline + Duration::from_secs(1));
    }
}
