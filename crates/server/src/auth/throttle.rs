//! Rate limits per caller: a burst at once, then one operation per interval.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use acpd_proto::time::Instant;

/// Callers that a throttle remembers.
const THROTTLED: usize = 4096;

/// Stores at most [`THROTTLED`] callers, each until its past operations no longer count.
#[derive(Debug)]
pub struct Throttle<K> {
    /// The number of operations that a caller can do at once.
    burst: u32,
    /// How long each operation counts.
    each: Duration,
    until: HashMap<K, Instant>,
}

impl<K: Hash + Eq + Clone> Throttle<K> {
    /// Allows `burst` operations at once, and one more every `each`.
    pub fn new(burst: u32, each: Duration) -> Self {
        Self {
            burst,
            each,
            until: HashMap::new(),
        }
    }

    /// Fails with the time to wait if another operation exceeds the rate. Does not count the operation.
    pub fn check(&self, who: &K, now: Instant) -> Result<(), Duration> {
        let weight = self
            .until
            .get(who)
            .map_or(Duration::ZERO, |until| until.saturating_sub(now));
        let over = (weight + self.each).saturating_sub(self.each * self.burst);
        if over.is_zero() { Ok(()) } else { Err(over) }
    }

    /// Counts one operation.
    pub fn count(&mut self, who: &K, now: Instant) {
        if !self.until.contains_key(who) && self.until.len() >= THROTTLED {
            self.until.retain(|_, until| *until > now);
        }
        if !self.until.contains_key(who) && self.until.len() >= THROTTLED {
            // Drops the caller that would be allowed first.
            let least = self
                .until
                .iter()
                .min_by_key(|(_, until)| **until)
                .map(|(who, _)| who.clone());
            least.map(|who| self.until.remove(&who));
        }
        let until = self.until.entry(who.clone()).or_default();
        // The weight is capped at the burst, so that the wait never exceeds `each`.
        *until = ((*until).max(now) + self.each).min(now + self.each * self.burst);
    }

    /// Counts one operation if the rate allows it; otherwise fails with the time to wait.
    pub fn take(&mut self, who: &K, now: Instant) -> Result<(), Duration> {
        self.check(who, now)?;
        self.count(who, now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(secs: u64) -> Instant {
        Duration::from_secs(secs)
    }

    #[test]
    fn some_at_once_then_one_every_so_often_and_each_for_itself() {
        let mut throttle = Throttle::new(3, Duration::from_secs(10));
        for _ in 0..3 {
            assert_eq!(throttle.take(&"a", at(100)), Ok(()));
        }
        assert_eq!(throttle.take(&"a", at(100)), Err(Duration::from_secs(10)));
        assert_eq!(throttle.take(&"a", at(109)), Err(Duration::from_secs(1)));
        assert_eq!(throttle.take(&"b", at(109)), Ok(()));
        assert_eq!(throttle.take(&"a", at(110)), Ok(()));
        assert_eq!(throttle.take(&"a", at(110)), Err(Duration::from_secs(10)));
        assert_eq!(throttle.take(&"a", at(1000)), Ok(()));
    }

    #[test]
    fn however_much_is_counted_the_wait_is_bounded() {
        let mut throttle = Throttle::new(3, Duration::from_secs(10));
        for _ in 0..100 {
            throttle.count(&"a", at(1));
        }
        assert_eq!(throttle.check(&"a", at(1)), Err(Duration::from_secs(10)));
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut throttle = Throttle::new(1, Duration::from_secs(10));
        throttle.count(&usize::MAX, at(5));
        for who in 0..THROTTLED + 9 {
            throttle.count(&who, at(1));
        }
        assert_eq!(throttle.until.len(), THROTTLED);
        assert!(
            throttle.check(&usize::MAX, at(6)).is_err(),
            "who has most on it stays"
        );
    }
}
