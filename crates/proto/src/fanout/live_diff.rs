//! When the diff of a running turn is shown live: often while it is small, and never at a cost that grows with the square
//! of the changes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use acpd_model::limits::{LIVE_DIFF_BYTES_PER_SEC, LIVE_DIFF_MILLIS};

use crate::time::Instant;

/// The pace of a turn's live diffs. A diff is shown [`LIVE_DIFF_MILLIS`] after the first change that it is about. It also
/// waits until it is paid for: by the size of the changes since the last one, and by time, at [`LIVE_DIFF_BYTES_PER_SEC`].
#[derive(Debug, Default)]
pub struct LiveDiff {
    /// Size of the diff, in bytes.
    size: usize,
    /// Bytes of the changes that were not shown yet, each as a diff of its own.
    unshown: usize,
    /// When the first of these changes happened.
    unshown_since: Instant,
    /// When the diff was shown last, and a digest of it.
    shown: Option<(Instant, u64)>,
}

impl LiveDiff {
    /// Records a change whose own diff has `bytes`. The diff of the turn has now `size` bytes.
    pub fn note(&mut self, bytes: usize, size: usize, now: Instant) {
        if self.unshown == 0 {
            self.unshown_since = now;
        }
        self.unshown += bytes;
        self.size = size;
    }

    /// Returns when the diff is due; `None` if nothing has changed since it was shown.
    pub fn deadline(&self) -> Option<Instant> {
        if self.unshown == 0 {
            return None;
        }
        let settled = self.unshown_since + Duration::from_millis(LIVE_DIFF_MILLIS);
        let paid_from = self.shown.map_or(self.unshown_since, |(at, _)| at);
        let unpaid = self.size.saturating_sub(self.unshown) as u64;
        let paid = paid_from + Duration::from_micros(unpaid * 1_000_000 / LIVE_DIFF_BYTES_PER_SEC);
        Some(settled.max(paid))
    }

    /// Returns whether the diff is due.
    pub fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// Records that `diff` is the current one. Returns `false` if clients have it already: the changes were in its part
    /// that is left out.
    pub fn show(&mut self, diff: &str, now: Instant) -> bool {
        let mut hasher = DefaultHasher::new();
        diff.hash(&mut hasher);
        let digest = hasher.finish();
        self.unshown = 0;
        if self.shown.is_some_and(|(_, shown)| shown == digest) {
            return false;
        }
        self.shown = Some((now, digest));
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(millis: u64) -> Instant {
        Duration::from_millis(1000 + millis)
    }

    #[test]
    fn a_small_diff_is_shown_a_moment_after_each_change() {
        let mut live = LiveDiff::default();
        assert_eq!(live.deadline(), None);
        live.note(100, 100, ms(0));
        live.note(100, 200, ms(240));
        assert_eq!(live.deadline(), Some(ms(250)), "from the first change on");
        assert!(!live.is_due(ms(249)) && live.is_due(ms(250)));
        assert!(live.show("a", ms(250)));
        assert_eq!(live.deadline(), None);
        live.note(100, 300, ms(260));
        assert_eq!(live.deadline(), Some(ms(510)));
    }

    #[test]
    fn a_large_diff_waits_until_it_is_paid_for() {
        let rate = usize::try_from(LIVE_DIFF_BYTES_PER_SEC).unwrap();
        let mut live = LiveDiff::default();
        live.note(4 * rate, 4 * rate, ms(0));
        assert_eq!(live.deadline(), Some(ms(250)), "the change pays for it");
        assert!(live.show("a", ms(250)));
        live.note(rate, 5 * rate, ms(1000));
        assert_eq!(live.deadline(), Some(ms(4250)), "time pays for the rest");
        live.note(2 * rate, 7 * rate, ms(1100));
        assert_eq!(live.deadline(), Some(ms(4250)));
        live.note(5 * rate, 7 * rate, ms(1200));
        assert_eq!(live.deadline(), Some(ms(1250)));
    }

    #[test]
    fn a_diff_that_clients_have_is_not_shown_again() {
        let mut live = LiveDiff::default();
        live.note(100, 100, ms(0));
        assert!(live.show("cut", ms(250)));
        live.note(100, 100, ms(300));
        assert!(!live.show("cut", ms(550)));
        assert_eq!(live.deadline(), None);
        live.note(100, 100, ms(600));
        assert!(live.show("other", ms(850)));
    }

    proptest! {
        /// All live diffs together cost at most the changes and a rate.
        #[test]
        fn the_cost_is_linear(changes in prop::collection::vec((1usize..100_000, 0usize..3000), 1..200)) {
            let (mut live, mut now, mut changed, mut shown, mut size) = (LiveDiff::default(), ms(0), 0, 0, 0);
            let begun = now;
            for (number, (bytes, pause)) in changes.into_iter().enumerate() {
                changed += bytes;
                size += bytes;
                live.note(bytes, size, now);
                let next = now + Duration::from_millis(pause as u64);
                if let Some(due) = live.deadline().filter(|due| *due <= next) {
                    prop_assert!(live.show(&number.to_string(), due));
                    shown += size;
                }
                now = next;
            }
            let rate = usize::try_from(LIVE_DIFF_BYTES_PER_SEC).unwrap();
            let time = usize::try_from(now.saturating_sub(begun).as_millis()).unwrap() * rate / 1000;
            prop_assert!(shown <= changed + time + 1, "{shown} of {changed}");
        }
    }
}
