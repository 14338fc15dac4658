//! Delays between attempts.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Exponential delays between attempts, with an upper limit, and with random jitter of up to a half.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Delay before the first attempt.
    pub first: Duration,
    /// Maximum delay before any attempt.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            max: Duration::from_secs(30),
        }
    }
}

impl Backoff {
    /// Returns the delay before an attempt; the first one has number 0.
    pub(crate) fn delay(&self, attempt: u32) -> Duration {
        let full = self.first.saturating_mul(1 << attempt.min(20)).min(self.max);
        // Clients that lost the same daemon should not return at the same moment. The keys of hashers are random.
        let random = RandomState::new().hash_one(attempt) % 1000;
        let jitter = full / 2 * u32::try_from(random).unwrap_or_default() / 1000;
        full / 2 + jitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_the_limit() {
        let backoff = Backoff::default();
        for (attempt, full) in [(0, 250), (1, 500), (4, 4000), (10, 30_000), (u32::MAX, 30_000)] {
            let full = Duration::from_millis(full);
            let delay = backoff.delay(attempt);
            assert!(full / 2 <= delay && delay <= full, "attempt {attempt}: {delay:?}");
        }
    }
}
