//! Limits the daemon's memory for data on its way to one agent process.
//!
//! In: the number of bytes that a callback is about to read, or that a command carries. Out: a charge, held until those
//! bytes are in the agent's pipe. Owns: the budget of one process. Never: makes a callback wait for a command.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acpd_model::Limits;
use acpd_model::limits::{AGENT_BURST_BYTES, AGENT_CALL_BYTES, AGENT_COMMAND_BYTES, CALL_BYTES, LINE_BYTES};
use tokio::time::{Instant, sleep_until};

use crate::live_limits::LiveLimits;
use crate::rate::Rate;
pub use crate::room::Charge;
use crate::room::Room;

/// How long a changed rate may go unnoticed by what waits for the end of a debt.
const CHECK: Duration = Duration::from_secs(1);

/// The budget of one process. Requests that do not fit wait in order.
///
/// Callbacks and commands have separate parts. A thread that waits for capacity for a command handles no callback
/// answers. So answers that must still pass through the thread must never hold that capacity. A command holds its
/// capacity only on the way to the pipe: the agent frees it by reading, which it does while it waits for an answer.
///
/// The callbacks of all processes share a total. A process that does not read its answers holds at most its own part of it,
/// until it is ended because it reads nothing.
///
/// What the process writes, and what the log stores for it, has a rate of bytes. The process is not read while it has used more.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    callbacks: Room,
    commands: Room,
    /// For the long lines of all processes.
    lines: Room,
    /// Has the current rate.
    limits: LiveLimits,
    rate: Mutex<Rate>,
}

/// The room that all processes of a daemon share.
#[derive(Debug)]
pub struct Total {
    callbacks: Room,
    lines: Room,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(&Self::total(), 0)
    }
}

impl Budget {
    /// Creates the budget of a process, which may use `bytes_per_sec`; 0 means no limit.
    pub fn new(total: &Total, bytes_per_sec: usize) -> Self {
        let limits = Limits {
            agent_bytes_per_sec: bytes_per_sec,
            ..Limits::default()
        };
        Self::within(total, LiveLimits::fixed(limits))
    }

    /// Creates the budget of a process that may use as many bytes per second as the limits say at each time.
    pub fn within(total: &Total, limits: LiveLimits) -> Self {
        let bytes_per_sec = limits.now().agent_bytes_per_sec;
        Self(Arc::new(Parts {
            callbacks: total.callbacks.part(AGENT_CALL_BYTES),
            commands: Room::new(AGENT_COMMAND_BYTES),
            lines: total.lines.clone(),
            limits,
            rate: Mutex::new(Rate::new(bytes_per_sec, AGENT_BURST_BYTES)),
        }))
    }

    /// Returns the room for all processes of a daemon.
    pub fn total() -> Total {
        Total {
            callbacks: Room::new(CALL_BYTES),
            // One byte more than lines take. It is free as long as none waits.
            lines: Room::new(LINE_BYTES + 1),
        }
    }

    /// Waits for `bytes` of the callback budget. A request larger than the whole budget receives all of it.
    pub async fn take(&self, bytes: u64) -> Charge {
        self.0.callbacks.take(bytes).await
    }

    /// Reserves `bytes` of the callback budget if they are free now and no other callback waits.
    pub fn try_take(&self, bytes: u64) -> Option<Charge> {
        self.0.callbacks.try_take(bytes)
    }

    /// Waits for `bytes` of the command budget. A request larger than the whole budget receives all of it.
    pub async fn take_for_command(&self, bytes: u64) -> Charge {
        self.0.commands.take(bytes).await
    }

    /// Waits for room for a long line of up to `bytes`.
    pub async fn take_for_line(&self, bytes: u64) -> Charge {
        self.0.lines.take(bytes.min(u64::from(LINE_BYTES))).await
    }

    /// Returns whether a long line waits.
    pub fn has_waiting_line(&self) -> bool {
        self.0.lines.is_full()
    }

    /// Counts bytes that the process has written, or that the log stores for it.
    pub fn spend(&self, bytes: usize) {
        self.rate(|rate, now| rate.spend(bytes, now));
    }

    /// Returns when the process may write more, if not now.
    pub fn debt(&self) -> Option<Instant> {
        self.rate(|rate, now| rate.debt(now))
    }

    /// Returns for how long the process might not write until now.
    pub fn time_in_debt(&self) -> Duration {
        self.rate(|rate, now| rate.time_in_debt(now))
    }

    /// Returns the same for the time when the process may write again.
    pub fn owed(&self) -> Duration {
        self.rate(|rate, _| rate.owed())
    }

    /// Waits until the process may write more. Cancel safe.
    pub async fn paid(&self) {
        while let Some(due) = self.debt() {
            sleep_until(due.min(Instant::now() + CHECK)).await;
        }
    }

    fn rate<T>(&self, act: impl FnOnce(&mut Rate, Instant) -> T) -> T {
        let per_sec = self.0.limits.now().agent_bytes_per_sec;
        let mut rate = self.0.rate.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        rate.set_per_sec(per_sec, now);
        act(&mut rate, now)
    }

    /// Returns whether a further command must wait.
    pub fn is_full_of_commands(&self) -> bool {
        self.0.commands.is_full()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const ALL: u64 = AGENT_CALL_BYTES as u64;

    #[tokio::test]
    async fn excess_callbacks_wait_in_order() {
        let budget = Budget::default();
        let mut first = budget.take(ALL - 10).await;
        let mut large = Box::pin(budget.take(100));
        let mut small = Box::pin(budget.take(1));
        assert!(large.as_mut().now_or_never().is_none());
        assert!(small.as_mut().now_or_never().is_none(), "it came later");
        first.shrink(ALL - 100);
        let large = large.now_or_never().expect("there is room now");
        assert!(small.as_mut().now_or_never().is_none());
        assert!(budget.try_take(1).is_none());
        drop(large);
        assert!(small.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_callback_larger_than_the_budget_gets_all_of_it() {
        let budget = Budget::default();
        for bytes in [ALL, ALL + 1, u64::MAX] {
            let all = budget.take(bytes).now_or_never().expect("it fits alone");
            assert!(budget.try_take(1).is_none(), "{bytes}");
            drop(all);
        }
        let mut held = budget.take(u64::MAX).await;
        held.shrink(u64::MAX);
        assert!(budget.try_take(1).is_none(), "nothing was given back");
    }

    #[tokio::test]
    async fn all_processes_share_a_total() {
        let total = Budget::total();
        let budgets: Vec<Budget> = (0..=CALL_BYTES / AGENT_CALL_BYTES)
            .map(|_| Budget::new(&total, 0))
            .collect();
        let mut held: Vec<Charge> = budgets.iter().map_while(|budget| budget.try_take(ALL)).collect();
        assert_eq!(held.len() + 1, budgets.len());
        let last = budgets.last().unwrap();
        let mut waiting = Box::pin(last.take(1));
        assert!(waiting.as_mut().now_or_never().is_none());
        held.pop();
        assert!(waiting.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reload_changes_the_rate_of_a_process_in_debt() {
        let limits = |agent_bytes_per_sec| Limits {
            agent_bytes_per_sec,
            ..Limits::default()
        };
        let (sender, receiver) = tokio::sync::watch::channel(Arc::new(limits(1 << 20)));
        let budget = Budget::within(&Budget::total(), LiveLimits::new(receiver));
        budget.spend(AGENT_BURST_BYTES + (3600 << 20));
        let begun = Instant::now();
        let mut paid = Box::pin(budget.paid());
        assert!(paid.as_mut().now_or_never().is_none());
        sender.send(Arc::new(limits(0))).unwrap();
        paid.await;
        assert!(begun.elapsed() <= 2 * CHECK);
    }

    #[tokio::test]
    async fn a_command_that_waits_keeps_no_callback_waiting() {
        let budget = Budget::default();
        let taken = budget.take_for_command(u64::from(AGENT_COMMAND_BYTES) - 10).await;
        assert!(!budget.is_full_of_commands());
        let mut large = Box::pin(budget.take_for_command(100));
        assert!(large.as_mut().now_or_never().is_none());
        assert!(
            budget.is_full_of_commands(),
            "what is free is the waiting command's"
        );
        assert!(budget.try_take(ALL).is_some());
        drop(taken);
        assert!(large.now_or_never().is_some());
        assert!(!budget.is_full_of_commands());
    }
}
