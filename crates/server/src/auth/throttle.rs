//! How often something may happen, each caller for itself: some at once, then one every so often.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use acpd_model::limits::THROTTLED;
use acpd_proto::time::Instant;

/// Remembers at most [`THROTTLED`] callers, for each only until when its past weighs on it.
#[derive(Debug)]
pub struct Throttle<K> {
    /// How many at once.
    burst: u32,
    /// How long each of them weighs.
    each: Duration,
    until: HashMap<K, Instant>,
}

impl<K: Hash + Eq + Clone> Throttle<K> {
    /// `burst` at once, one more each `each`.
    pub fn new(burst: u32, each: Duration) -> Self {
        Self {
            burst,
            each,
            until: HashMap::new(),
        }
    }

    /// Whether one more is allowed; else how long it is to wait. Does not count it.
    pub fn check(&self, who: &K, now: Instant) -> Result<(), Duration> {
        let weight = self
            .until
            .get(who)
            .map_or(Duration::ZERO, |until| until.saturating_sub(now));
        let over = (weight + self.each).saturating_sub(self.each * self.burst);
        if over.is_zero() { Ok(()) } else { Err(over) }
    }

    /// Counts one.
    pub fn count(&mut self, who: &K, now: Instant) {
        if !self.until.contains_key(who) && self.until.len() >= THROTTLED {
            self.until.retain(|_, until| *until > now);
        }
        if !self.until.contains_key(who) && self.until.len() >= THROTTLED {
            // Whoever has the least on it is forgotten.
            let least = self
                .until
                .iter()
                .min_by_key(|(_, until)| **until)
                .map(|(who, _)| who.clone());
            least.map(|who| self.until.remove(&who));
        }
        let until = self.until.entry(who.clone()).or_default();
        // Weighs no more than what closes the door, so that nobody is held up for longer than one waits for all.
        *until = ((*until).max(now) + self.each).min(now + self.each * self.burst);
    }

    /// Counts one if it is allowed; else says how long it is to wait.
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
