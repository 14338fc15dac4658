//! Lifetimes that began while the clock was ahead.
//!
//! In: when a credential was created and when it expires, and a time that is known to be right. Out: the same by that time. Never:
//! reads a clock.

use acpd_model::limits::CLOCK_SLACK_MILLIS;

/// Returns whether `at` is later than `now` by more than a clock is corrected: the clock was ahead.
pub(super) fn is_ahead(at: i64, now: i64) -> bool {
    at > now.saturating_add(CLOCK_SLACK_MILLIS)
}

/// Lets a lifetime that began while the clock was ahead begin now. Returns whether it did.
pub(super) fn correct(created_at: &mut i64, expires_at: &mut i64, now: i64) -> bool {
    let is_ahead = is_ahead(*created_at, now);
    if is_ahead {
        *expires_at = now.saturating_add(expires_at.saturating_sub(*created_at));
        *created_at = now;
    }
    is_ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_as_long_as_it_was() {
        const YEAR: i64 = 365 * 24 * 3600 * 1000;
        let (mut created, mut expires) = (YEAR, YEAR + 60_000);
        assert!(correct(&mut created, &mut expires, 5) && !correct(&mut created, &mut expires, 6));
        assert_eq!((created, expires), (5, 60_005));
        // A correction by NTP.
        created = 5 + CLOCK_SLACK_MILLIS;
        assert!(!correct(&mut created, &mut expires, 5));
    }
}
