//! A limit of bytes per second, with a burst.
//!
//! In: bytes that were used, and the current time. Out: when more may be used, and how long none might be. Owns: the time at which all
//! used bytes are paid for. Never: reads a clock, or refuses bytes: what exceeds the burst is a debt, and time pays it.

use std::time::Duration;

use tokio::time::Instant;

/// The bytes that one user may use.
#[derive(Debug)]
pub struct Rate {
    /// Bytes per second; 0 means no limit.
    per_sec: u64,
    burst_bytes: usize,
    /// How long it takes to pay for the burst.
    burst: Duration,
    /// When all used bytes are paid for.
    paid_at: Option<Instant>,
    /// The time of all debts, with what is left of the last one.
    owed: Duration,
}

impl Rate {
    /// Allows `burst` bytes at once, and `per_sec` bytes per second from then on. With 0 per second there is no limit.
    pub fn new(per_sec: usize, burst: usize) -> Self {
        let mut rate = Self {
            per_sec: per_sec as u64,
            burst_bytes: burst,
            burst: Duration::ZERO,
            paid_at: None,
            owed: Duration::ZERO,
        };
        rate.burst = rate.time_of(burst);
        rate
    }

    /// Replaces the bytes per second. What is not paid for yet takes as long as the new number says.
    pub fn set_per_sec(&mut self, per_sec: usize, now: Instant) {
        if self.per_sec == per_sec as u64 {
            return;
        }
        self.owed = self.time_in_debt(now);
        let unpaid = self
            .paid_at
            .take()
            .map(|paid_at| paid_at.saturating_duration_since(now));
        let bytes = unpaid.map_or(0, |unpaid| {
            unpaid.as_nanos() * u128::from(self.per_sec) / 1_000_000_000
        });
        self.per_sec = per_sec as u64;
        self.burst = self.time_of(self.burst_bytes);
        self.spend(usize::try_from(bytes).unwrap_or(usize::MAX), now);
    }

    /// Counts used bytes.
    pub fn spend(&mut self, bytes: usize, now: Instant) {
        if self.per_sec > 0 {
            let in_debt = self.time_in_debt(now);
            let from = self.paid_at.map_or(now, |paid_at| paid_at.max(now));
            self.paid_at = from.checked_add(self.time_of(bytes)).or(self.paid_at);
            self.owed = in_debt + self.left(now);
        }
    }

    /// Returns how long there was debt until now.
    pub fn time_in_debt(&self, now: Instant) -> Duration {
        self.owed.saturating_sub(self.left(now))
    }

    /// Returns the same for the time when the current debt is over.
    pub fn owed(&self) -> Duration {
        self.owed
    }

    fn left(&self, now: Instant) -> Duration {
        self.debt(now).map_or(Duration::ZERO, |due| due - now)
    }

    /// Returns when more bytes may be used, if not now.
    pub fn debt(&self, now: Instant) -> Option<Instant> {
        let paid_at = self.paid_at.filter(|paid_at| *paid_at > now + self.burst)?;
        paid_at.checked_sub(self.burst)
    }

    fn time_of(&self, bytes: usize) -> Duration {
        let nanos = (bytes as u64).saturating_mul(1_000_000_000);
        Duration::from_nanos(nanos.checked_div(self.per_sec).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_at_once_then_so_many_bytes_a_second() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut rate = Rate::new(1000, 5000);
        assert_eq!(rate.debt(at(0)), None);
        rate.spend(5000, at(0));
        assert_eq!(rate.debt(at(0)), None, "the burst");
        rate.spend(1, at(0));
        assert_eq!(rate.debt(at(0)), Some(at(1)));
        assert_eq!(rate.debt(at(1)), None);
        // A single use may be larger than the burst.
        rate.spend(10_000, at(1));
        assert_eq!(rate.debt(at(1)), Some(at(10_001)));
        assert_eq!(rate.debt(at(10_000)), Some(at(10_001)));
        assert_eq!(rate.debt(at(10_001)), None);
    }

    /// Over any time, no more than the burst and the rate is used, but for the last use.
    #[test]
    fn usage_is_bounded() {
        let start = Instant::now();
        let (mut now, mut used) = (start, 0);
        let mut rate = Rate::new(1000, 5000);
        for bytes in (1..400).cycle().take(2000) {
            if let Some(due) = rate.debt(now) {
                now = due;
            }
            rate.spend(bytes, now);
            used += bytes;
            let allowed = 5000 + (now - start).as_millis() + 400;
            assert!(used as u128 <= allowed, "{used} of {allowed}");
        }
        // Idle time saves up no more than the burst.
        now += Duration::from_hours(1);
        rate.spend(5001, now);
        assert!(rate.debt(now).is_some());
    }

    #[test]
    fn the_time_of_all_debts_is_known() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let secs = Duration::from_secs;
        let mut rate = Rate::new(1000, 5000);
        rate.spend(8000, at(0));
        assert_eq!((rate.time_in_debt(at(0)), rate.owed()), (secs(0), secs(3)));
        rate.spend(1000, at(1));
        assert_eq!((rate.time_in_debt(at(1)), rate.owed()), (secs(1), secs(4)));
        assert_eq!(rate.time_in_debt(at(8)), secs(4));
        rate.spend(7000, at(8));
        assert_eq!((rate.time_in_debt(at(8)), rate.owed()), (secs(4), secs(7)));
        assert_eq!(rate.time_in_debt(at(9)), secs(5));
    }

    #[test]
    fn another_rate_counts_at_once() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let mut rate = Rate::new(1000, 5000);
        rate.spend(13_000, at(0));
        assert_eq!(rate.debt(at(1)), Some(at(8)));
        rate.set_per_sec(7000, at(1));
        assert_eq!(rate.debt(at(1)), Some(at(2)));
        assert_eq!(rate.time_in_debt(at(3)), Duration::from_secs(2));
        rate.spend(8000, at(3));
        rate.set_per_sec(0, at(3));
        assert_eq!(rate.debt(at(3)), None);
        rate.set_per_sec(1000, at(3));
        assert_eq!(rate.debt(at(3)), None);
    }

    #[test]
    fn without_a_rate_there_is_no_limit() {
        let now = Instant::now();
        let mut rate = Rate::new(0, 5000);
        rate.spend(usize::MAX, now);
        assert_eq!(rate.debt(now), None);
    }
}
