//! Limits the daemon's memory for data on its way to one agent process.
//!
//! In: the number of bytes that a callback is about to read, or that a command carries. Out: a charge, held until those
//! bytes are in the agent's pipe. Owns: the budget of one process. Never: makes one agent wait for another, or a
//! callback for a command.

use std::sync::Arc;

use acpd_model::limits::{AGENT_CALL_BYTES, AGENT_COMMAND_BYTES};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budget of one process. Requests that do not fit wait in order.
///
/// Callbacks and commands have separate parts. A thread that waits for capacity for a command handles no callback
/// answers. So answers that must still pass through the thread must never hold that capacity. A command holds its
/// capacity only on the way to the pipe: the agent frees it by reading, which it does while it waits for an answer.
#[derive(Debug, Clone)]
pub struct Budget {
    callbacks: Arc<Semaphore>,
    commands: Arc<Semaphore>,
}

/// A part of a budget, returned on drop.
#[derive(Debug)]
pub struct Charge(OwnedSemaphorePermit);

impl Default for Budget {
    fn default() -> Self {
        Self {
            callbacks: Arc::new(Semaphore::new(AGENT_CALL_BYTES as usize)),
            commands: Arc::new(Semaphore::new(AGENT_COMMAND_BYTES as usize)),
        }
    }
}

impl Budget {
    /// Waits for `bytes` of the callback budget. A request larger than the whole budget receives all of it.
    pub async fn take(&self, bytes: u64) -> Charge {
        take(&self.callbacks, whole(bytes, AGENT_CALL_BYTES)).await
    }

    /// Reserves `bytes` of the callback budget if they are free now and no other callback waits.
    pub fn try_take(&self, bytes: u64) -> Option<Charge> {
        let room = Arc::clone(&self.callbacks);
        room.try_acquire_many_owned(whole(bytes, AGENT_CALL_BYTES))
            .ok()
            .map(Charge)
    }

    /// Waits for `bytes` of the command budget. A request larger than the whole budget receives all of it.
    pub async fn take_for_command(&self, bytes: u64) -> Charge {
        take(&self.commands, whole(bytes, AGENT_COMMAND_BYTES)).await
    }

    /// Returns whether a further command must wait.
    pub fn is_full_of_commands(&self) -> bool {
        // Free bytes are assigned to a waiting command immediately, so the semaphore never shows them as available.
        self.commands.available_permits() == 0
    }
}

async fn take(room: &Arc<Semaphore>, bytes: u32) -> Charge {
    match Arc::clone(room).acquire_many_owned(bytes).await {
        Ok(permit) => Charge(permit),
        // The semaphore is never closed.
        Err(_) => std::future::pending().await,
    }
}

impl Charge {
    /// Returns all but `bytes` to the budget.
    pub fn shrink(&mut self, bytes: u64) {
        let kept = usize::try_from(bytes).unwrap_or(usize::MAX);
        drop(self.0.split(self.0.num_permits().saturating_sub(kept)));
    }
}

fn whole(bytes: u64, most: u32) -> u32 {
    u32::try_from(bytes).map_or(most, |bytes| bytes.min(most))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const ALL: u64 = AGENT_CALL_BYTES as u64;

    #[tokio::test]
    async fn what_does_not_fit_waits_in_its_order() {
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
    async fn one_that_is_larger_than_all_gets_all() {
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
