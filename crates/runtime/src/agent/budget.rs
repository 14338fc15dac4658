//! How many bytes an agent's callbacks may bring into memory.
//!
//! In: how much a callback is about to read. Out: a charge, held until its answer is in the agent's pipe. Owns: the budget of
//! one process. Never: makes one agent wait for another one.

use std::sync::Arc;

use acpd_model::limits::AGENT_CALL_BYTES;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budget of one process. Callbacks that do not fit wait in their order.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Semaphore>);

/// A part of a budget, given back when this is dropped.
#[derive(Debug)]
pub struct Charge(OwnedSemaphorePermit);

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AGENT_CALL_BYTES as usize)))
    }
}

impl Budget {
    /// Takes so many bytes once they are free; one that wants more than the whole budget gets all of it.
    pub async fn take(&self, bytes: u64) -> Charge {
        let room = Arc::clone(&self.0);
        match room.acquire_many_owned(whole(bytes)).await {
            Ok(permit) => Charge(permit),
            // It is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    /// Takes so many bytes if they are free now, and nobody waits for them.
    pub fn try_take(&self, bytes: u64) -> Option<Charge> {
        let room = Arc::clone(&self.0);
        room.try_acquire_many_owned(whole(bytes)).ok().map(Charge)
    }
}

impl Charge {
    /// Gives back all but so many bytes.
    pub fn shrink(&mut self, bytes: u64) {
        let excess = self.0.num_permits().saturating_sub(whole(bytes) as usize);
        drop(self.0.split(excess));
    }
}

fn whole(bytes: u64) -> u32 {
    u32::try_from(bytes).map_or(AGENT_CALL_BYTES, |bytes| bytes.min(AGENT_CALL_BYTES))
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
}
